"""Which files the commits of a repository hold or held, by their names, as git tells them.

What git shows of earlier commits may be the text of a file that holds secrets and that is not tracked any more. What is known of
a repository is kept, and only what is new is looked at again.
"""

import asyncio
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Final

from outrider.permissions.secret_files import is_secret_file
from outrider.ports.clock import Clock
from outrider.processes import SpawnProblem, Supervisor, collect
from outrider.tools.git.settings import find_repository

SECONDS: Final = 10.0
"""How long git may take to tell the names; a repository that takes longer is asked about."""
MOST_BYTES: Final = 64_000_000
"""Of what it tells."""
_SETTINGS: Final = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "GIT_NO_LAZY_FETCH": "1",  # what is missing here is on another machine
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_BEHIND_NAME: Final = re.compile(r"[~^:]|@\{")
"""What may follow the name of a revision (gitrevisions(7))."""
_BETWEEN: Final = re.compile(r"\.\.\.?")
MOST_SINGLE: Final = 8
"""Commits of one line whose own files are looked up."""
MOST_KEPT: Final = 8
"""Such commits that are remembered."""
_ALWAYS_KNOWN: Final = frozenset({"", "@", "HEAD"})


@dataclass(frozen=True, slots=True)
class Held:
    """The files of a commit."""

    files: tuple[str, ...]
    """Those that it holds."""
    before: tuple[str, ...]
    """Those that the commits right before it hold."""


@dataclass(frozen=True, slots=True)
class Past:
    """What is known of a repository's commits."""

    files: tuple[str, ...]
    """The files that any of them holds, from the top of the repository on; a folder may be among them."""
    secret: tuple[str, ...]
    """Those with names of secrets."""
    strange: frozenset[str]
    """Of the words that were asked for, those that are the name of no commit: it may be that of a text."""
    held: Mapping[str, "Held"] = field(default_factory=dict[str, "Held"])
    """The files of single commits, by the name of the commit; as far as that was looked up."""


@dataclass(slots=True)
class _Known:
    tips: set[str] = field(default_factory=set[str])
    """Commits that were looked at, with all that led to them."""
    files: dict[str, None] = field(default_factory=dict[str, None])
    secret: tuple[str, ...] = ()
    is_too_big: bool = False
    held: dict[str, Held] = field(default_factory=dict[str, Held])
    """The files of single commits, by their ids."""


class GitHistory:
    """What is known of the commits of repositories."""

    def __init__(self, supervisor: Supervisor, clock: Clock) -> None:
        self._supervisor = supervisor
        self._clock = clock
        self._repositories: dict[str, _Known] = {}

    async def of(
        self, folder: Path, words: Sequence[str], search_path: str, few: Sequence[str] = ()
    ) -> Past | None:
        """What the commits hold that git may show.

        Args:
            folder: Where git runs. The settings there start nothing.
            words: Arguments that may name commits.
            search_path: The `PATH` by which git is found.
            few: Those of which the files of the single commits are wanted too.

        Returns:
            The names, or None where git does not tell them.
        """
        found = await asyncio.to_thread(find_repository, str(folder))
        git = shutil.which("git", path=search_path or None)
        if found is None or git is None:
            return None
        known = self._repositories.setdefault(str(found[1]), _Known())
        if known.is_too_big:
            return None
        run = _Git(git, folder, search_path, self._supervisor, self._clock)
        tips = await run.lines(["rev-list", "--no-walk=unsorted", "--all", "--reflog"])
        named = await run.commits(_names(words))
        if tips is None or named is None:
            return None
        commits, strange = named
        if new := {*tips, *commits} - known.tips:
            wanted = [*sorted(new), *(f"^{one}" for one in sorted(known.tips))]
            told = await run.output(["rev-list", "--objects", "--stdin"], wanted)
            if told is None:
                known.is_too_big = True
                return None
            await asyncio.to_thread(_take_in, known, told)
            known.tips |= new
        return Past(
            tuple(known.files),
            known.secret,
            frozenset(word for word in words if not strange.isdisjoint(_names([word]))),
            await _single(run, known, few) if few else {},
        )


@dataclass(frozen=True, slots=True)
class _Git:
    """Asks git something."""

    program: str
    folder: Path
    search_path: str
    supervisor: Supervisor
    clock: Clock

    async def output(self, arguments: Sequence[str], given: Iterable[str] = ()) -> bytes | None:
        """What it prints; None where it fails, or it is too much."""
        done = await collect(
            self.supervisor,
            [self.program, *_SETTINGS, *arguments],
            cwd=self.folder,
            env={**_ENVIRONMENT, "PATH": self.search_path},
            clock=self.clock,
            stdin="".join(f"{line}\n" for line in given).encode("utf-8", "surrogateescape"),
            seconds=SECONDS,
            limit=MOST_BYTES,
        )
        if isinstance(done, SpawnProblem) or done.timed_out or done.truncated or done.code != 0:
            return None
        return done.stdout

    async def lines(self, arguments: Sequence[str], given: Iterable[str] = ()) -> list[str] | None:
        """The lines that it prints."""
        output = await self.output(arguments, given)
        return None if output is None else output.decode("utf-8", "surrogateescape").splitlines()

    async def commits(self, names: Sequence[str]) -> tuple[set[str], set[str]] | None:
        """The commits of some names, and the names that are those of none."""
        if not names:
            return set(), set()
        told = await self.lines(["cat-file", "--batch-check=%(objectname) %(objecttype)"], names)
        if told is None or len(told) != len(names):
            return None
        commits, others = set[str](), set[str]()
        for name, line in zip(names, told, strict=True):
            if line.endswith((" commit", " tag")) and " " not in name:
                commits.add(line.partition(" ")[0])
            else:
                others.add(name)
        return commits, others


def ends_of(word: str) -> list[str] | None:
    """The names of the one or two commits that a word names for a comparison; None where it names others by them."""
    if "..." in word or word.startswith("^") or re.search(r"\^[!@-]", word):
        return None
    return [name or "HEAD" for name in word.split("..")]


async def _single(run: _Git, known: _Known, words: Sequence[str]) -> dict[str, Held]:
    """The files of the commits that words name."""
    names = list(dict.fromkeys(name for word in words for name in ends_of(word) or ()))
    names = [name for name in names if not set(name) & set(": \n")]
    told = await run.lines(
        ["cat-file", "--batch-check=%(objectname)"], [f"{name}^{{commit}}" for name in names]
    )
    if told is None or len(told) != len(names) or len(names) > MOST_SINGLE:
        return {}
    found: dict[str, Held] = {}
    for name, commit in zip(names, told, strict=True):
        if " " in commit:  # there is none
            continue
        if commit not in known.held and (files := await _held(run, commit)) is not None:
            if len(known.held) >= MOST_KEPT:
                known.held.clear()
            known.held[commit] = files
        if commit in known.held:
            found[name] = known.held[commit]
    return found


async def _held(run: _Git, commit: str) -> Held | None:
    told = await run.lines(["rev-list", "--no-walk", "--parents", commit])
    if not told:
        return None
    found: list[tuple[str, ...]] = []
    for one in told[0].split():
        listed = await run.output(["ls-tree", "-r", "-z", "--name-only", "--full-tree", one])
        if listed is None:
            return None
        found.append(await asyncio.to_thread(_listed, listed))
    return Held(found[0], await asyncio.to_thread(lambda: tuple(dict.fromkeys(chain(*found[1:])))))


def _listed(told: bytes) -> tuple[str, ...]:
    return tuple(filter(None, told.decode("utf-8", "surrogateescape").split("\0")))


def _names(words: Sequence[str]) -> list[str]:
    """The names of revisions in words; nothing is needed for those that are reached in any case."""
    names = [
        _BEHIND_NAME.split(one, maxsplit=1)[0]
        for word in words
        for one in _BETWEEN.split(word.removeprefix("^"))
    ]
    return [name for name in dict.fromkeys(names) if name not in _ALWAYS_KNOWN]


def _take_in(known: _Known, told: bytes) -> None:
    for line in told.decode("utf-8", "surrogateescape").split("\n"):
        if name := line.partition(" ")[2]:
            known.files[name] = None
    folders = {name.rpartition("/")[0] for name in known.files}
    known.secret = tuple(name for name in known.files if is_secret_file(name) and name not in folders)
