"""Which files the workspace has and what is in them, at one moment and at a later one: what came, went or changed.

Files are those that a search looks at: ignored ones are none of them. Everything is bounded, in number, in size and in
time, and what was not looked at is said. Contents are kept only of a small workspace, and read again only where the
mark of a file moved. Links, folders and shut files are seen from outside alone. No names of files are judged here.
"""

import asyncio
import os
import re
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from outrider.ports.clock import Clock
from outrider.ports.globs import name_pattern
from outrider.ports.patterns import linear
from outrider.workspace.disk.disk import LEFT_OVER, read_bytes
from outrider.workspace.disk.file_stat import GRANULARITY
from outrider.workspace.paths import OWN_FOLDER
from outrider.workspace.search import Files, Search, SearchProblem

_LEFT_OVER: Final = linear("workspace.left-over", name_pattern(LEFT_OVER))


@dataclass(frozen=True, slots=True)
class Entry:
    """A link, a folder or a shut file at one moment."""

    kind: Literal["link", "folder", "shut"]
    status: os.stat_result
    to: str = ""
    """Where a link leads, as it is written in it."""
    is_empty: bool = False
    """Whether nothing at all is in a folder."""


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """What became of one between two moments."""

    path: Path
    kind: Literal["link", "folder", "shut"]
    how: Literal["changed", "created", "deleted", "mode"]
    before: Entry | None
    after: Entry | None


@dataclass(slots=True)
class Walk:
    """One look at the folders of a workspace."""

    listed: Iterable[str]
    """The files that a search looks at."""
    counted: Container[str]
    """Those of them that are looked at as files."""
    is_shut: Callable[[str], bool]
    """Which files are shut, by path."""
    leaves_out: Callable[[str], bool]
    """Which paths are not looked at, by path; folders end with a slash."""
    end: float
    """The monotonic time at which it is given up, in seconds."""
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def through(self, roots: Iterable[str]) -> bool:
        """Look through these folders and those in them; False where it took too long. Blocks."""
        holding = {path.rpartition("/")[0] for path in self.listed}
        for folder in list(holding):
            # Each one above it holds the file, too.
            while (folder := folder.rpartition("/")[0]) and folder not in holding:
                holding.add(folder)
        tops = set(roots)
        folders = list(tops)
        while folders:
            if time.monotonic() > self.end:
                return False
            folder = folders.pop()
            try:
                folders += self._look(folder, may_be_ignored=folder not in holding and folder not in tops)
            except OSError:
                continue  # it went away, or is closed to us
        return True

    def _look(self, folder: str, *, may_be_ignored: bool) -> list[str]:
        found: dict[str, Entry] = {}
        below: list[str] = []
        is_empty = True
        with os.scandir(folder) as entries:
            for entry in entries:
                is_empty = False
                path, name = entry.path, entry.name
                if path in self.counted:
                    continue
                if name in {".git", OWN_FOLDER} or not _is_readable(name):
                    continue
                if entry.is_symlink():
                    if not self.leaves_out(path):
                        found[path] = Entry(
                            "link", entry.stat(follow_symlinks=False), to=_told(str(Path(path).readlink()))
                        )
                elif entry.is_dir(follow_symlinks=False):
                    if not self.leaves_out(f"{path}/"):
                        below.append(path)
                elif entry.is_file(follow_symlinks=False):
                    if self.is_shut(path):
                        if not self.leaves_out(path):
                            found[path] = Entry("shut", entry.stat(follow_symlinks=False))
                    elif may_be_ignored and not self.leaves_out(path) and not _LEFT_OVER.fullmatch(name):
                        return []
        found[folder] = Entry("folder", Path(folder).stat(), is_empty=is_empty)
        self.entries.update(found)
        return below


def entry_differences(
    before: Mapping[str, Entry],
    after: Mapping[str, Entry],
    since: int,
    were_files: Mapping[str, os.stat_result],
) -> Iterator[EntryDifference]:
    """What became of links, folders and shut files between two moments. Blocks, for a look at those that are missing.

    Args:
        before: The one moment.
        after: The later one.
        since: When the first look began, in nanoseconds since the epoch: what is older was there, and ignored.
        were_files: The files that a search looked at then.
    """
    for path, was in before.items():
        now = after.get(path)
        if now is None or now.kind != was.kind:
            # What is as it was and is not in the later look lies among ignored files now, or can be looked at.
            if not _is_still(path, was) and (was.kind != "folder" or was.is_empty):
                yield EntryDifference(Path(path), was.kind, "deleted", was, None)
            continue
        if was.kind == "link" and was.to != now.to:
            yield EntryDifference(Path(path), "link", "changed", was, now)
        if was.kind == "shut" and _identity(was.status) != _identity(now.status):
            yield EntryDifference(Path(path), "shut", "changed", was, now)
        if was.kind != "link" and _mode(was.status) != _mode(now.status):
            yield EntryDifference(Path(path), was.kind, "mode", was, now)
    for path, now in after.items():
        was = before.get(path)
        is_known = path in were_files or (was is not None and was.kind == now.kind)
        if is_known or now.status.st_ctime_ns < since or (now.kind == "folder" and not now.is_empty):
            continue
        yield EntryDifference(Path(path), now.kind, "created", None, now)


def folders_only_in(one: Mapping[str, Entry], other: Mapping[str, Entry], path: Path) -> dict[Path, int]:
    """The folders above a file that are in one look and not in another, the topmost first, with their permission bits.

    Args:
        one: The one look.
        other: The other one; what it has under none of its names is not there then, or holds ignored files alone.
        path: The file.
    """
    found: dict[Path, int] = {}
    for folder in path.parents:
        entry = one.get(str(folder))
        if entry is None or entry.kind != "folder" or str(folder) in other:
            break
        found[folder] = _mode(entry.status)
    return dict(reversed(found.items()))


def _is_still(path: str, was: Entry) -> bool:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode) == stat.S_IFMT(was.status.st_mode)
    except OSError:
        return False


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _mode(status: os.stat_result) -> int:
    return stat.S_IMODE(status.st_mode) & 0o777


def _is_readable(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _told(target: str) -> str:
    return target.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


MOST_FILES = 20_000
"""Files that are looked at; where there are more, none is."""
LOOK_SECONDS = 3.0
"""How long one look may take."""
MOST_FILES_KEPT = 2_000
"""Files of a workspace whose contents are kept."""
MOST_BYTES_KEPT = 16 * 1024 * 1024
"""Bytes of a workspace whose contents are kept."""

_CACHE_FOLDERS = re.compile(
    r"/(?:__pycache__|node_modules|\.venv|\.tox|\.nox|\.gradle"
    r"|\.(?:pytest|mypy|ruff|parcel|import_linter)_cache|\.hypothesis)/"
)
_CACHE_ENDS = (".pyc", ".pyo")
_CACHE_FILES = frozenset({".coverage", ".DS_Store"})
"""What programs put aside for themselves and make anew: nobody misses it, and it would hide what matters."""
CLOCK_STEP = 20_000_000
"""Nanoseconds by which the time of a file may be behind."""
_IGNORE_FILES = ("/.gitignore", "/.ignore", "/.rgignore")
_TOO_SLOW = f"checking all files took more than {LOOK_SECONDS:g} s"


@dataclass(frozen=True, slots=True)
class Count:
    """All files at one moment."""

    at: int
    """When it began, in nanoseconds since the epoch."""
    files: Mapping[str, os.stat_result]
    """What the system says of each, by its path."""
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])
    """What is in them, where that is kept."""
    unseen: str = ""
    """Why not all files are in it, if they are not."""
    entries: Mapping[str, Entry] = field(default_factory=dict[str, Entry])
    """The links, folders and shut files besides, by their paths."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of a file between two moments."""

    path: Path
    kind: Literal["changed", "created", "deleted", "mode"]
    before: os.stat_result | None
    after: os.stat_result | None
    content: bytes | None = None
    """What was in it, where that was kept."""
    is_sure: bool = True
    """False where it may have been there before, ignored."""


@dataclass(slots=True)
class Census:
    """The files of one workspace. What was read is kept for the next time."""

    search: Search
    clock: Clock
    is_shut: Callable[[str], bool]
    """Which files are shut, by path: they are seen from outside alone."""
    leaves_out: Callable[[str], bool] = lambda _: False
    """Which paths are not looked at at all; those of folders end with a slash."""
    _last: Count = field(default_factory=lambda: Count(0, {}))
    """What was read last, and when."""
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
                    return Count(at, {}, unseen=listed.message)
                if listed.truncated or len(listed.paths) + len(listed.odd) > MOST_FILES:
                    self._last = Count(0, {})
                    return Count(at, {}, unseen=f"the workspace has more than {MOST_FILES} files")
                count = await asyncio.to_thread(self._count, at, listed)
                return await asyncio.to_thread(self._with_contents, count) if contents else count
        except TimeoutError:
            return Count(at, {}, unseen=_TOO_SLOW)

    def _count(self, at: int, listed: Files) -> Count:
        files: dict[str, os.stat_result] = {}
        end = time.monotonic() + LOOK_SECONDS
        are_caches: dict[str, bool] = {}
        paths = (*listed.paths, *listed.odd)
        for number, path in enumerate(paths):
            folder, _, name = path.rpartition("/")
            if (is_cache := are_caches.get(folder)) is None:
                is_cache = are_caches[folder] = _CACHE_FOLDERS.search(f"{folder}/") is not None
            if is_cache or name.endswith(_CACHE_ENDS) or name in _CACHE_FILES:
                continue
            if self.is_shut(path) or self.leaves_out(path):
                continue
            if number % 1000 == 0 and time.monotonic() > end:
                return Count(at, files, unseen=_TOO_SLOW)
            try:
                status = os.lstat(path)
            except OSError:
                continue  # it went away meanwhile
            if stat.S_ISREG(status.st_mode):
                files[path] = status
        walk = Walk(paths, files, self.is_shut, self._is_left_out, end)
        is_done = walk.through(listed.folders)
        return Count(at, files, unseen="" if is_done else _TOO_SLOW, entries=walk.entries)

    def _is_left_out(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        is_cache = (
            name in _CACHE_FILES or name.endswith(_CACHE_ENDS) or _CACHE_FOLDERS.search(path) is not None
        )
        return is_cache or self.leaves_out(path)

    def _with_contents(self, count: Count) -> Count:
        size = sum(status.st_size for status in count.files.values())
        if count.unseen or len(count.files) > MOST_FILES_KEPT or size > MOST_BYTES_KEPT:
            self._last = Count(0, {})
            return count
        end = time.monotonic() + LOOK_SECONDS
        contents: dict[str, bytes] = {}
        for path, status in count.files.items():
            content = self._last.contents.get(path)
            if content is None or not _holds(self._last, path, status):
                if time.monotonic() > end:
                    continue
                content = read_bytes(Path(path), MOST_BYTES_KEPT)
            if isinstance(content, bytes):
                contents[path] = content
        self._last = replace(count, contents=contents)
        return self._last


def differences(before: Count, after: Count) -> Iterator[Difference]:
    """What became of the files between two moments. Reads those of which that cannot be told from outside. Blocks.

    Args:
        before: The one moment.
        after: The later one.
    """
    gone = {_file(status) for path, status in before.files.items() if path not in after.files}
    for path, was in before.files.items():
        now = after.files.get(path)
        if now is not None and _holds(before, path, now):
            continue
        content = before.contents.get(path)
        if now is None:
            try:
                now = os.lstat(path)  # it is ignored now, or was not looked at
            except OSError:
                yield Difference(Path(path), "deleted", was, None, content)
                continue
        if _is_written(path, was, now, content):
            yield Difference(Path(path), "changed", was, now, content)
        # What took its place, such as a link, has a mode of its own.
        if stat.S_ISREG(now.st_mode) and stat.S_IMODE(was.st_mode) != stat.S_IMODE(now.st_mode):
            yield Difference(Path(path), "mode", was, now)
    created = [path for path in after.files if path not in before.files]
    ignoring = bool(created) and _ignore_files(before) != _ignore_files(after)
    for path in created:
        now, shut = after.files[path], before.entries.get(path)
        if shut is not None and shut.kind == "shut":
            # It was there, and nothing of what was in it is known.
            if _numbers(shut.status)[:-1] != _numbers(now)[:-1]:
                yield Difference(Path(path), "changed", shut.status, now)
            continue
        is_new = now.st_ctime_ns >= before.at - CLOCK_STEP or _file(now) in gone
        yield Difference(Path(path), "created", None, now, is_sure=is_new and not ignoring)


def _holds(count: Count, path: str, now: os.stat_result) -> bool:
    """Whether a file that looks like this now cannot have been written since that look; see `marks`."""
    was = count.files[path]
    # One by one, as this is asked of every file.
    return (
        was.st_ctime_ns == now.st_ctime_ns
        and was.st_mtime_ns == now.st_mtime_ns
        and was.st_size == now.st_size
        and was.st_ino == now.st_ino
        and was.st_dev == now.st_dev
        and count.at - max(was.st_mtime_ns, was.st_ctime_ns) > GRANULARITY
    )


def _is_written(path: str, was: os.stat_result, now: os.stat_result, content: bytes | None) -> bool:
    if content is None:
        return _numbers(was)[:-1] != _numbers(now)[:-1]
    return was.st_size != now.st_size or read_bytes(Path(path), len(content)) != content


def _numbers(status: os.stat_result) -> tuple[int, ...]:
    return (*_file(status), status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _file(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _ignore_files(count: Count) -> dict[str, tuple[int, ...]]:
    return {path: _numbers(one) for path, one in count.files.items() if path.endswith(_IGNORE_FILES)}
