"""What becomes of the files below a folder, whoever does it: for those who read them by themselves and have to be told.

Where the system tells of changes nothing else is looked at. Elsewhere each look goes through all folders. Not for several tasks at once,
and no look may be cancelled: what it found would be lost.
"""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

from outrider.ports.language import CHANGED, CREATED, DELETED, merged
from outrider.workspace.disk.file_stat import GRANULARITY
from outrider.workspace.watch.notices import Notice, Notices

MOST_ENTRIES: Final = 300_000
"""Files and folders that are gone through; in a larger folder only those files are looked at that are asked about."""
_PASSED: Final = frozenset({"node_modules", "__pycache__"})
_MADE: Final = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""Files of folders in which a program installs or builds something."""


class DiskChanges:
    """What became of the files below one folder since it was asked last; the first time nothing has."""

    def __init__(self, folder: str, counts: Callable[[str], bool]) -> None:
        """Begin with nothing known.

        Args:
            folder: The folder.
            counts: Whether files of a name are looked for.
        """
        self._folder, self._counts = folder, counts
        self._root = folder
        """Its real path: a folder that is reached through a link is not watched."""
        self._notices: Notices | None = None
        self._files: dict[str, dict[str, int]] = {}
        """For each folder its files, each with what it looked like."""
        self._others: dict[str, int] = {}
        """The same of files that were asked about, and lie elsewhere."""
        self._began = 0
        self._left = MOST_ENTRIES
        self._is_too_large = False
        self._found: dict[str, int] = {}

    async def taken(self, paths: Collection[str] = ()) -> Mapping[str, int]:
        """The paths that were made, changed or deleted since the last time.

        Args:
            paths: Files that are looked at themselves, as the system does not tell of everything.
        """
        told = self._notices.taken() if self._notices is not None else None
        if told or paths or (told is None and not self._is_too_large):
            await asyncio.to_thread(self._look, told, paths)
        found, self._found = self._found, {}
        return {self._folder + path[len(self._root) :]: kind for path, kind in found.items()}

    def _look(self, told: Sequence[Notice] | None, paths: Collection[str]) -> None:
        if not self._began:
            self._root = os.path.realpath(self._folder)
            self._notices = Notices.begin()
            self._began = time.time_ns() - GRANULARITY
            self._all()
            self._found = {}
        elif told is None:
            if self._notices is not None:
                self._notices = Notices.begin()
            self._all()
        else:
            named = {one.path for one in told if one.is_name}
            for path in dict.fromkeys(one.path for one in told):
                self._look_at(path, may_be_folder=path in named)
        for path in paths:
            if path.startswith(f"{self._folder}/"):
                self._compare(self._root + path[len(self._folder) :])

    def _all(self) -> None:
        if self._is_too_large:
            return
        self._again(self._root)
        if self._notices is not None and not self._notices.is_whole:
            self._notices = None  # the system has a limit

    def _look_at(self, path: str, *, may_be_folder: bool) -> None:
        """Look at what something is told of."""
        folder, _, name = path.rpartition("/")
        if may_be_folder and (path in self._files or _is_folder(path)):
            if path == self._root or self._is_entered(name):
                self._again(path)
        elif folder in self._files and self._counts(name):
            self._compare(path, is_told=True)

    def _again(self, folder: str) -> None:
        """Go through a folder, and compare it with what it was."""
        before = self._taken_out(folder)
        self._left = MOST_ENTRIES
        self._go_through(folder)
        if self._left <= 0:
            self._files, self._notices, self._is_too_large = {}, None, True
            return
        now = {one: self._files[one] for one in self._files if _is_in(one, folder)}
        for one in before.keys() | now.keys():
            then, here = before.get(one, {}), now.get(one, {})
            for name in then.keys() | here.keys():
                if then.get(name) != here.get(name):
                    kind = CREATED if name not in then else CHANGED if name in here else DELETED
                    self._note(f"{one}/{name}", kind)

    def _taken_out(self, folder: str) -> dict[str, dict[str, int]]:
        return {one: self._files.pop(one) for one in [*self._files] if _is_in(one, folder)}

    def _go_through(self, folder: str) -> None:
        waiting = [folder]
        while waiting and self._left > 0:
            here = waiting.pop()
            if self._notices is not None:
                self._notices.watch(here)  # before it is looked at, so that nothing comes unseen
            try:
                with os.scandir(here) as entries:
                    listed = list(entries)
            except OSError:
                continue
            self._left -= len(listed)
            if here != self._root and any(one.name in _MADE for one in listed):
                continue
            self._files[here] = {}
            for entry in listed:
                if entry.is_dir(follow_symlinks=False):
                    waiting += [entry.path] if self._is_entered(entry.name) else []
                elif self._counts(entry.name) and (look := _look_of(entry)) is not None:
                    self._files[here][entry.name] = look

    @staticmethod
    def _is_entered(name: str) -> bool:
        return not name.startswith(".") and name not in _PASSED

    def _compare(self, path: str, *, is_told: bool = False) -> None:
        """Look at one file."""
        folder, _, name = path.rpartition("/")
        look, files = _look_of(path), self._files.get(folder)
        if files is None or not self._counts(name):
            self._compare_other(path, look)
            return
        known = files.pop(name, None)
        if look is not None:
            files[name] = look
        if known != look or (is_told and look is not None):
            self._note(path, DELETED if look is None else CREATED if known is None else CHANGED)

    def _compare_other(self, path: str, look: int | None) -> None:
        """A file that is looked at for the first time has changed if it was written since all this began."""
        known = self._others.get(path)
        if look is None:
            if self._others.pop(path, None) is not None:
                self._note(path, DELETED)
            return
        self._others[path] = look
        if (_written_at(path) > self._began) if known is None else known != look:
            self._note(path, CHANGED)

    def _note(self, path: str, kind: int) -> None:
        self._found[path] = merged(self._found.get(path), kind)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114 - one of many


def _look_of(file: "os.DirEntry[str] | str") -> int | None:
    """What a file looks like from outside; None where there is none."""
    try:
        found = os.stat(file) if isinstance(file, str) else file.stat()  # noqa: PTH116 - one of many
    except OSError:
        return None
    return hash((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns))


def _written_at(path: str) -> int:
    try:
        found = os.stat(path)  # noqa: PTH116 - one of many
    except OSError:
        return 0
    return max(found.st_mtime_ns, found.st_ctime_ns)


class FolderChanges:
    """The same of several folders, which may come and go."""

    def __init__(self, counts: Callable[[str], bool]) -> None:
        """Begin with none.

        Args:
            counts: Whether files of a name are looked for.
        """
        self._counts = counts
        self._folders: dict[str, DiskChanges] = {}

    async def taken(self, folders: Iterable[str], paths: Collection[str] = ()) -> dict[str, int]:
        """The paths below some folders that were made, changed or deleted since they were asked about last.

        Args:
            folders: The folders.
            paths: Files that are looked at themselves.
        """
        wanted = list(folders)
        self._folders = {one: self._folders.get(one) or DiskChanges(one, self._counts) for one in wanted}
        found: dict[str, int] = {}
        for one in self._folders.values():
            found.update(await one.taken(paths))
        return found
