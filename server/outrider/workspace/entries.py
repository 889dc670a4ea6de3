"""What a workspace has besides the files that a search looks at: links, folders, and files that are shut.

Seen from outside alone: where a link leads, which mode a folder has and whether it is empty, size and times of a file
that is shut. Nothing is followed and no content is read. Folders that hold nothing but ignored files are none of it.
"""

import os
import stat
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from pathlib import Path
from re import compile as compiled
from typing import Literal

from outrider.workspace.disk import LEFT_OVER
from outrider.workspace.paths import OWN_FOLDER

_left_over = compiled(translate(LEFT_OVER)).match


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
                    elif may_be_ignored and not self.leaves_out(path) and not _left_over(name):
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
        if was.kind == "shut" and _numbers(was.status) != _numbers(now.status):
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


def _numbers(status: os.stat_result) -> tuple[int, ...]:
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
