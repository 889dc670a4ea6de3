"""A command line, looked up in the workspace: where its parts read, and which scripts of the workspace it runs."""

import asyncio
import glob
import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Final

from outrider.permissions.commands import Command, Part
from outrider.permissions.programs.git import looks_at_files, without_folders
from outrider.permissions.programs.options import Reads
from outrider.permissions.programs.patterns import runs_scripts
from outrider.permissions.programs.readers import only_reads
from outrider.permissions.programs.versions import why_switched
from outrider.permissions.rules import RUN
from outrider.permissions.secret_files import is_secret_file
from outrider.permissions.shell.builtins import BUILTINS
from outrider.permissions.shell.model import CommandLine, Handed, Program, Word
from outrider.permissions.shell.reading import read_command
from outrider.processes.search_path import found_as, is_of
from outrider.tools.git.history import GitHistory, Past
from outrider.tools.git.nested import why_git_runs_more
from outrider.tools.git.settings import find_repository
from outrider.tools.git.texts import GitTexts, WhyShut, as_they_were
from outrider.workspace.paths import OWN_FOLDER, Folders, PathProblem
from outrider_protocol.events import RulePattern

MOST_MATCHES: Final = 2000
"""Files that one pattern may stand for."""
MOST_BELOW: Final = 20_000
"""Names below the folders of one program that are looked at."""
SCRIPT_BYTES: Final = 5_000_000
_SPLIT: Final = re.compile(r"[\s'\"\\]")
_SHOWN: Final = 200
"""Characters of a part that an approval shows."""


def _shut_by_name(names: Sequence[str]) -> str | None:
    return "files of that name hold secrets" if any(map(is_secret_file, names)) else None


def look_at(
    text: str,
    folders: Folders,
    cwd: Path,
    why_shut: WhyShut = _shut_by_name,
    search_path: str = "",
    past: Past | None = None,
) -> Command:
    """Take a command line apart, and look its paths up. Blocks; nothing runs.

    Args:
        text: The command line.
        folders: The workspace folders.
        cwd: Where it would run.
        why_shut: Which files are shut; without it those with names of secrets.
        search_path: The `PATH` by which its programs are found.
        past: What is known of the commits there (`Command.past`).
    """
    line = read_command(text)
    called = [without_folders(program) for program in line.programs]
    reading = {id(program): only_reads(program) for program, _ in called}
    stays = not line.problems and not any(isinstance(one, str) for one in reading.values())
    places: dict[Path, _Place] = {}

    def place_of(folder: Path) -> "_Place":
        if folder not in places:
            places[folder] = _Place(folders, folder, why_shut, search_path, past, reading, stays=stays)
        return places[folder]

    where = [place_of(cwd)]
    reads: list[str | None] = []
    scripts: dict[str, str] = {}
    ran: list[str | None] = []
    closed: list[str | None] = []
    for number, (program, within) in enumerate(called):
        whys: list[str | None] = []
        shut: list[str | None] = []
        found: dict[str, str] = {}
        for place in where if not line.goes else map(place_of, folders_on_the_way(line, cwd, number)):
            inner = place_of(place.below(within)) if within else place
            # Each of several goes on from where the one before it went.
            whys += [place.why_outside(str(place.below(within[: far + 1]))) for far in range(len(within))]
            whys.append(inner.why_not(program))
            shut += [inner.names_shut(program), inner.comes_to_shut(program)]
            for word in runs_scripts(program):
                found |= inner.hashed(word)
        reads.append(next(filter(None, whys), None))
        closed.append(next(filter(None, shut), None))
        ran.append(_together(list(found.values())) if found else None)
        scripts |= found
    return Command(line, reads, scripts, ran, closed, _wanted_past(places))


def folders_on_the_way(line: CommandLine, cwd: Path, number: int) -> list[Path]:
    """The folders where a program of a line may run.

    Args:
        line: The line.
        cwd: Where it begins.
        number: Which of its programs.
    """
    found = [cwd]
    for _, folder in takewhile(lambda gone: gone[0] < number, line.goes):
        # As bash does, which takes a name away for each `..`, though the name may be that of a link.
        there = [Path(os.path.normpath(one / folder)) for one in found]
        found = there if line.is_sure else list(dict.fromkeys([*found, *there]))
    return found


def _wanted_past(
    places: Mapping[Path, "_Place"],
) -> tuple[Path, tuple[str, ...], tuple[str, ...]] | None:
    """What is to be known of the commits; nothing where they are those of several repositories."""
    wanting = {folder: place.git for folder, place in places.items() if place.git.commits is not None}
    if len({find_repository(os.path.realpath(folder)) for folder in wanting}) != 1:
        return None
    words = (word for git in wanting.values() for word in git.commits or ())
    few = (word for git in wanting.values() for word in git.few)
    return next(iter(wanting)), tuple(dict.fromkeys(words)), tuple(dict.fromkeys(few))


def _together(hashes: Sequence[str]) -> str:
    """The hash of what a program runs; of an interpreter of the workspace and its script it is one of both."""
    if len(hashes) == 1:
        return hashes[0]
    return hashlib.sha256(" ".join(hashes).encode()).hexdigest()


async def look_with_past(
    look: Callable[[Past | None], Command], history: GitHistory, search_path: str
) -> Command:
    """Look a command line up; where git would show what earlier commits hold, git is asked which files those are.

    Args:
        look: Looks it up, in a thread, with what is known of the commits (`look_at`).
        history: Knows of the commits.
        search_path: The `PATH` by which git is found.
    """
    command = await asyncio.to_thread(look, None)
    if command.past is None:
        return command
    folder, words, few = command.past
    past = await history.of(folder, words, search_path, few)
    return await asyncio.to_thread(look, past)


class _Place:
    """A folder where a part of a line runs."""

    def __init__(
        self,
        folders: Folders,
        base: Path,
        why_shut: WhyShut,
        search_path: str,
        past: Past | None,
        reading: Mapping[int, Reads | str],
        *,
        stays: bool,
    ) -> None:
        self._folders = folders
        self._base = str(base)
        self._beside = os.path.join(self._base, "")  # noqa: PTH118 - a text, with the sign at its end
        self._why_shut = why_shut
        self._search_path = search_path
        self._roots = [os.path.realpath(folder.path) for folder in folders.folders]
        self.git = GitTexts(os.path.realpath(base), self._roots, why_shut, past, stays=stays)
        self._known: dict[str, str | None] = {}
        self._real: dict[str, str] = {}
        self._shut: dict[str, str | None] = {}
        self._of_git: dict[bool, str | None] = {}
        self._theirs: dict[str, str | None] = {}
        self._reads = reading
        """By the identity of a program, for as long as its line is looked at."""
        self._handed: dict[Handed, tuple[str | None, str | None]] = {}
        self._below: dict[Reads, tuple[str | None, str | None]] = {}

    def why_outside(self, path: str) -> str | None:
        """Why a path is no place inside the workspace that may be seen, None if it is."""
        return self._outside_path(path)

    def below(self, within: Sequence[Word]) -> Path:
        """The folder to which git goes first, by the words that name it."""
        return Path(self._base).joinpath(*(word.text or "" for word in within))

    def why_not(self, program: Program) -> str | None:
        """Why a program is not known to only read inside the workspace, None if it is."""
        reads = self._reads[id(program)]
        if isinstance(reads, str):
            return reads
        if self._search_path and (theirs := self._why_theirs(program)):
            return theirs
        outside = None
        for word in reads.paths:
            if (outside := self._outside(word)) is not None:
                break
        if outside is None and program.name == "git":
            return self._why_git_runs_more(program) or (
                self.git.why_not(program, reads) if reads.tracked else None
            )
        return outside or (self._why_not_below(reads) if reads.below else None)

    def _why_theirs(self, program: Program) -> str | None:
        """Why a program is another one than its name says: the workspace has put it into the search path."""
        if not program.argv:
            return None
        names = [
            *program.through,
            *([] if not program.through and program.name in BUILTINS else [program.name]),
        ]
        return next((why for name in names if name is not None and (why := self._why_their(name))), None)

    def _why_their(self, name: str) -> str | None:
        if name not in self._theirs:
            file = next(found_as(name, self._search_path, self._base), None)
            is_theirs = file is not None and is_of(file, self._roots)
            self._theirs[name] = (
                f"{name} is a file of the workspace here, {file}"
                if is_theirs
                else why_switched(name, file, os.path.realpath(self._base))
            )
        return self._theirs[name]

    def names_shut(self, program: Program) -> str | None:
        """Why a file that is named in the words of a program is shut, None if none is."""
        for word in (*program.argv[1:], *program.reads, *program.writes):
            if word.text is not None:
                if (why := self._named_shut(word.text)) is not None:
                    return why
                for path in as_they_were(word.text) if program.name == "git" else ():
                    if why := self._why_shut((self._joined(path),)):
                        return f"{path} is shut, as it was too: {why}"
            elif word.is_glob:
                matches = islice(self._matches(word), MOST_MATCHES + 1)
                if why := next(filter(None, map(self._named_shut, matches)), None):
                    return why
            elif (
                word.handed is not None and word.handed.is_sure and (why := self._handed_over(word.handed)[1])
            ):
                return why
        return None

    def comes_to_shut(self, program: Program) -> str | None:
        """Why a file is shut whose text a program shows without a word that names it, None if it shows none."""
        reads = self._reads[id(program)]
        if isinstance(reads, str):
            return None  # where it looks is not known
        if reads.below:
            return self._looked_below(reads)[1]
        return self.git.shut(program, reads) if reads.tracked else None

    def _named_shut(self, text: str) -> str | None:
        if text not in self._shut:
            self._shut[text] = self._why_path_shut(text) or next(
                filter(None, map(self._why_path_shut, _paths_in(text))), None
            )
        return self._shut[text]

    def _joined(self, text: str) -> str:
        return text if text.startswith("/") else self._beside + text

    def _why_path_shut(self, text: str) -> str | None:
        path = self._joined(text)
        if not os.path.lexists(path):
            return None
        why = self._why_shut((os.path.normpath(path), self._resolved(text)))
        return None if why is None else f"{text} is shut: {why}"

    def _why_not_below(self, reads: Reads) -> str | None:
        """Why a program that goes through folders may come to a file that it must not show."""
        unsure, shut = self._looked_below(reads)
        return shut or unsure

    def _looked_below(self, reads: Reads) -> tuple[str | None, str | None]:
        """Why nobody knows what a program comes to in its folders, and to which shut file it comes."""
        if reads not in self._below:
            self._below[reads] = self._look_below(reads)
        return self._below[reads]

    def _look_below(self, reads: Reads) -> tuple[str | None, str | None]:
        left, unsure = MOST_BELOW, None
        # A hidden folder that another program hands over is named, and so looked at.
        hidden = reads.hidden or any(word.handed is not None for word in reads.paths)
        for text in [text for word in reads.paths for text in self._texts(word)]:
            waiting = [self._resolved(text)]
            while waiting:
                try:
                    found = list(os.scandir(waiting.pop()))
                except OSError:  # it is no folder, or cannot be read
                    continue
                left -= len(found)
                if left < 0:
                    return f"{text} holds too many files to look for secrets", None
                for one in found:
                    if one.name.startswith(".") and not hidden:
                        continue
                    if one.is_symlink():
                        if reads.follows:
                            unsure = f"it follows links, such as {one.name}"
                    elif one.is_dir():
                        if one.name != ".git":
                            waiting.append(one.path)
                    elif (why := self._why_shut((one.path,))) is not None:
                        path = os.path.relpath(one.path, os.path.realpath(self._base))
                        return unsure, f"it comes to {path}, which is shut: {why}"
        return unsure, None

    def _why_git_runs_more(self, program: Program) -> str | None:
        nested = looks_at_files(program.argv[1:])
        if nested not in self._of_git:
            self._of_git[nested] = why_git_runs_more(os.path.realpath(self._base), nested=nested)
        return self._of_git[nested]

    def _texts(self, word: Word) -> list[str]:
        if word.handed is not None:
            return list(word.handed.roots)
        return [word.text] if word.text is not None else list(islice(self._matches(word), MOST_MATCHES + 1))

    def _matches(self, word: Word) -> Iterator[str]:
        return glob.iglob(word.source, root_dir=self._base)  # noqa: PTH207 - matches as bash does

    def hashed(self, word: Word) -> dict[str, str]:
        """The hash of a script, by its path, if it is one of the workspace."""
        if word.text is None:
            return {}
        located = self._folders.locate_now(self._joined(word.text))
        if isinstance(located, PathProblem) or not located.inside or located.resolved is None:
            return {}
        try:
            if not located.resolved.is_file() or located.resolved.stat().st_size > SCRIPT_BYTES:
                return {}
            return {located.display: hashlib.sha256(located.resolved.read_bytes()).hexdigest()}
        except OSError:
            return {}

    def _outside(self, word: Word) -> str | None:
        if word.text is not None:
            return self._outside_path(word.text)
        if word.handed is not None:
            unsure, shut = self._handed_over(word.handed)
            return shut or unsure
        if not word.is_glob or _leads_out(word.source):
            return f"where {word.source} lies is not known"
        matches = list(islice(self._matches(word), MOST_MATCHES + 1))
        if len(matches) > MOST_MATCHES:
            return f"{word.source} stands for too many files"
        if any(match.startswith("-") for match in matches):
            return f"{word.source} stands for a file that is called like an option"
        return next((problem for match in matches if (problem := self._outside_path(match))), None)

    def _handed_over(self, handed: Handed) -> tuple[str | None, str | None]:
        """Why a file below some folders may be one outside, or no name at all to what takes it over; and which one is shut."""
        if handed not in self._handed:
            self._handed[handed] = self._look_handed(handed)
        return self._handed[handed]

    def _look_handed(self, handed: Handed) -> tuple[str | None, str | None]:
        if problem := next(filter(None, map(self._outside_path, handed.roots)), None):
            return problem, None
        left, waiting = MOST_BELOW, [self._resolved(root) for root in handed.roots]
        odd = next((root for root in handed.roots if handed.splits and _SPLIT.search(root)), None)
        unsure: str | None = None
        while waiting:
            try:
                found = list(os.scandir(folder := waiting.pop()))
            except OSError:  # it is no folder, or cannot be read
                continue
            left -= len(found)
            if left < 0:
                return "it comes to too many files to look for secrets", None
            at_top = handed.is_bare and folder == os.path.realpath(self._base)
            for one in found:
                is_folder = one.is_dir(follow_symlinks=False)
                fits = handed.name is None or fnmatchcase(one.name, handed.name)
                if (
                    ((fits or is_folder) and handed.splits and _SPLIT.search(one.name))
                    or (at_top and fits and one.name.startswith("-"))
                    # Of a folder for which a pattern stands `ls` says the names in it.
                    or (at_top and fits and handed.name is not None and one.is_dir())
                ):
                    odd = odd or one.name
                # Of git's objects it gives the names alone.
                if is_folder and not (one.name == "objects" and folder.endswith("/.git")):
                    waiting.append(one.path)
                if is_folder or not fits:
                    continue
                if is_link := one.is_symlink():
                    if handed.files:
                        continue
                    why = self._why_shut((one.path, self._resolved(one.path)))
                else:
                    why = self._why_shut((one.path,))
                if why is not None:
                    path = os.path.relpath(one.path, os.path.realpath(self._base))
                    return unsure, f"it comes to {path}, which is shut: {why}"
                if is_link and unsure is None and (why := self._outside_path(one.path)) is not None:
                    unsure = f"it comes to {why}"
        said = None if odd is None else f"{odd!r} may be taken for something else than the name of a file"
        return said or unsure, None

    def _outside_path(self, text: str) -> str | None:
        if text not in self._known:
            self._known[text] = self._looked_up(text)
        return self._known[text]

    def _resolved(self, text: str) -> str:
        """The real path. There may be hundreds of them in a few folders, so each folder is looked up once."""
        folder, _, name = (whole := self._joined(text)).rpartition("/")
        folder = folder or "/"
        if name in {"", ".", ".."}:
            return os.path.realpath(whole)
        path = os.path.join(self._real_folder(folder), name)  # noqa: PTH118
        return os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114

    def _real_folder(self, folder: str) -> str:
        if folder not in self._real:
            above, name = os.path.split(folder)
            if not name or name in {".", ".."} or folder == self._base:
                self._real[folder] = os.path.realpath(folder)
            else:
                path = os.path.join(self._real_folder(above), name)  # noqa: PTH118
                self._real[folder] = os.path.realpath(path) if os.path.islink(path) else path  # noqa: PTH114
        return self._real[folder]

    def _root_of(self, path: str) -> str | None:
        return next((root for root in self._roots if path == root or path.startswith(f"{root}/")), None)

    def _looked_up(self, text: str) -> str | None:
        resolved = self._resolved(text)
        root = self._root_of(resolved)
        if root is None or resolved[len(root) + 1 :].partition("/")[0].casefold() == OWN_FOLDER:
            return f"{text} is outside the workspace"
        why = self._why_shut((self._joined(text), resolved))
        return None if why is None else f"{text} is shut: {why}"


def _leads_out(pattern: str) -> bool:
    """Whether a pattern may stand for the folder above: up to bash 5.1, and where it is told to, `.*` does."""
    return pattern.startswith("/") or any(
        name.startswith(".") and fnmatchcase("..", name) for name in pattern.split("/")
    )


def _paths_in(text: str) -> list[str]:
    """What in a word may be a path, beside the whole: what follows a sign that programs write before one."""
    if text[:1] != "-" and "=" not in text and ":" not in text and "@" not in text:
        return []
    found = [text.rpartition(sign)[2] for sign in "=:@" if sign in text]
    return [*found, text[2:]] if text.startswith("-") and len(text) > 2 else found


def secret_files_named(line: CommandLine, cwd: Path) -> list[Path]:
    """The files with names of secrets that the words of a command line name, as far as they are known."""
    bases = folders_on_the_way(line, cwd, len(line.programs))
    bases = [cwd, *bases]
    found: dict[Path, None] = {}
    for program in line.programs:
        for word in (*program.argv[1:], *program.reads):
            texts = [word.text] if word.text is not None else []
            if word.is_glob:
                matches = (glob.iglob(word.source, root_dir=base) for base in bases)  # noqa: PTH207
                texts = list(islice(chain.from_iterable(matches), MOST_MATCHES))
            paths = (path for text in texts for path in (text, *_paths_in(text)))
            found |= {base / path: None for path in paths if is_secret_file(path) for base in bases}
    return list(found)


def rules_for(command: Command) -> tuple[RulePattern, ...]:
    """The rules that would allow a command from now on; empty where none can."""
    return tuple(
        RulePattern(tool=RUN, command=pattern.text, exact=True if pattern.is_exact else None, script=script)
        for pattern, script in command.allowing
    )


def described(command: Command, parts: list[Part]) -> str:
    """What a command line is made of, and why it asks, for a person."""
    marks = {"allow": "goes", "ask": "asks", "deny": "is forbidden"}
    lines: list[str] = []
    if command.line.problems:
        lines.append(f"Nobody can say for certain what it runs: {'; '.join(command.line.problems)}.")
    for part in parts:
        through = f" (through {', '.join(part.program.through)})" if part.program.through else ""
        shown = " ".join(word.source for word in part.program.argv) or part.program.source
        shown = " ".join(shown.split())
        shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 1]}…"
        lines.append(f"- {shown}{through}: {marks[part.decision]}, {part.reason}")
    lines += [
        f"It runs {path} as it is now (SHA-256 {digest[:16]})." for path, digest in command.scripts.items()
    ]
    return "\n".join(lines)
