"""Which files the workspace has and what is in them, at one moment and at a later one: what came, went or changed.

Files are those that a search looks at: ignored ones are none of them. Everything is bounded, in number, in size and in
time, and what was not looked at is said. Contents are kept only of a small workspace, and read again only where the
mark of a file moved. No names of files are judged here.
"""

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from outrider.ports.clock import Clock
from outrider.workspace.disk import DiskProblem, read_bytes
from outrider.workspace.marks import Mark, mark_from
from outrider.workspace.search import Search, SearchProblem

MOST_FILES = 50_000
"""Files that are looked at."""
LOOK_SECONDS = 3.0
"""How long one look may take."""
MOST_FILES_KEPT = 2_000
"""Files of a workspace whose contents are kept."""
MOST_BYTES_KEPT = 16 * 1024 * 1024
"""Bytes of a workspace whose contents are kept."""

_CLOCK_STEP = 20_000_000
"""Nanoseconds by which the time of a file may be behind."""
_IGNORE_FILES = frozenset({".gitignore", ".ignore", ".rgignore"})


@dataclass(frozen=True, slots=True)
class Counted:
    """A file at one moment."""

    mark: Mark
    mode: int
    """Its permission bits."""
    content: bytes | None = None
    """None where it is not kept."""


@dataclass(frozen=True, slots=True)
class Count:
    """All files at one moment, by their path."""

    at: int
    """When it began, in nanoseconds since the epoch."""
    files: Mapping[str, Counted]
    unseen: str = ""
    """Why not all files are in it, if they are not."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a file between two moments."""

    path: Path
    kind: Literal["changed", "created", "deleted", "mode"]
    before: Counted | None
    after: Counted | None
    is_sure: bool = True
    """False where it may have been there before, ignored."""


@dataclass(slots=True)
class Census:
    """The files of one workspace. What was read is kept for the next time."""

    search: Search
    clock: Clock
    leaves_out: Callable[[str], bool]
    """Which names are not looked at."""
    _kept: dict[str, Counted] = field(default_factory=dict[str, Counted])
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(self, *, contents: bool) -> Count:
        """Look at all files.

        Args:
            contents: Whether contents are wanted; they are given where the workspace is small.
        """
        at = time.time_ns()
        try:
            async with self.clock.timeout(LOOK_SECONDS), self._looking:
                listed = await self.search.files()
                if isinstance(listed, SearchProblem):
                    return Count(at, {}, listed.message)
                counted = await asyncio.to_thread(self._count, at, listed.paths, listed.truncated)
                if not contents:
                    return counted
                return await asyncio.to_thread(self._with_contents, counted)
        except TimeoutError:
            return Count(at, {}, f"to look at all files took more than {LOOK_SECONDS:g} s")

    def _count(self, at: int, paths: Sequence[str], truncated: bool) -> Count:
        files: dict[str, Counted] = {}
        end = time.monotonic() + LOOK_SECONDS
        for number, path in enumerate(paths):
            if number % 1000 == 0 and time.monotonic() > end:
                return Count(at, files, f"to look at all files took more than {LOOK_SECONDS:g} s")
            if len(files) >= MOST_FILES:
                truncated = True
                break
            if self.leaves_out(path):
                continue
            try:
                status = os.lstat(path)
            except OSError:
                continue  # it went away meanwhile
            if stat.S_ISREG(status.st_mode):
                files[path] = Counted(mark_from(status), stat.S_IMODE(status.st_mode) & 0o777)
        unseen = f"the workspace has more than {MOST_FILES} files" if truncated else ""
        return Count(at, files, unseen)

    def _with_contents(self, count: Count) -> Count:
        size = sum(one.mark.size for one in count.files.values())
        if count.unseen or len(count.files) > MOST_FILES_KEPT or size > MOST_BYTES_KEPT:
            self._kept = {}
            return count
        end = time.monotonic() + LOOK_SECONDS
        files: dict[str, Counted] = {}
        for path, one in count.files.items():
            known = self._kept.get(path)
            content = known.content if known is not None and known.mark.holds(one.mark) else None
            if content is None and time.monotonic() < end:
                read = read_bytes(Path(path), MOST_BYTES_KEPT)
                content = None if isinstance(read, DiskProblem) else read
            files[path] = Counted(one.mark, one.mode, content)
        self._kept = files
        return Count(count.at, files)


def differences(before: Count, after: Count) -> Iterator[Difference]:
    """What became of the files between two moments. Reads those of which that cannot be told by their marks. Blocks.

    Args:
        before: The one moment.
        after: The later one.
    """
    gone = {one.mark.file for path, one in before.files.items() if path not in after.files}
    ignoring = _ignore_files(before) != _ignore_files(after)
    for path, was in before.files.items():
        now = after.files.get(path)
        if now is None:
            try:
                status = os.lstat(path)
            except OSError:
                yield Difference(Path(path), "deleted", was, None)
                continue
            # It is ignored now, or was not looked at.
            now = Counted(mark_from(status), stat.S_IMODE(status.st_mode) & 0o777)
        if kind := _difference(path, was, now):
            yield Difference(Path(path), kind, was, now)
        if kind != "mode" and was.mode != now.mode:
            yield Difference(Path(path), "mode", was, now)
    if before.unseen:
        return  # nobody knows what was there
    for path, now in after.files.items():
        if path not in before.files:
            is_new = now.mark.changed_at >= before.at - _CLOCK_STEP or now.mark.file in gone
            yield Difference(Path(path), "created", None, now, is_sure=is_new and not ignoring)


def _ignore_files(count: Count) -> dict[str, Mark]:
    return {path: one.mark for path, one in count.files.items() if path.rpartition("/")[2] in _IGNORE_FILES}


def _difference(path: str, was: Counted, now: Counted) -> Literal["changed", "mode"] | None:
    if not was.mark.holds(now.mark):
        if was.content is None:
            return "changed" if was.mark.written != now.mark.written else None
        if was.mark.size != now.mark.size or read_bytes(Path(path), len(was.content)) != was.content:
            return "changed"
    return "mode" if was.mode != now.mode else None
