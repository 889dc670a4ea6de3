"""Which files and folders of the workspace nothing may see without an explicit yes: what a read-only sandbox hides.

Folders that are wholly shut count as one. Nothing is followed. A folder is read again only where its change time moved, so that a
look at thousands of files that did not change costs one call of the system for each folder.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from outrider.workspace.disk.file_stat import GRANULARITY
from outrider.workspace.paths import OWN_FOLDER

MOST_FOLDERS: Final = 20_000
"""Folders that one look goes through."""
LOOK_SECONDS: Final = 2.0
_GIT: Final = ".git"
_ATTRIBUTES: Final = ".gitattributes"
_OBJECTS: Final = ("objects", "lfs", "modules")
"""What of a `.git` holds texts of files (gitrepository-layout(5)); the repositories of submodules lie below the last."""
_ANY_NAME: Final = "\ufffe"
"""A name that no rule is about, unless it is about all names of a folder."""
MOST_ATTRIBUTES: Final = 200_000
"""Bytes of one file of attributes."""

WhyHidden = Callable[[Sequence[str]], str | None]
"""Why a file of these absolute paths is shut for every tool, None if it is not."""


@dataclass(frozen=True, slots=True)
class HiddenPlaces:
    """What is shut at one moment, by real paths."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    """Those of which every file is shut, and Outrider's own."""
    objects: tuple[str, ...] = ()
    """Where git keeps the texts of all files, packed: folders in which only git may read."""
    attributes: tuple[str, ...] = ()
    """Files that may have git show a file as a text that is to be none (gitattributes(5))."""
    is_whole: bool = True
    """Whether a bound left nothing out."""

    def below(self, folder: str) -> str | None:
        """A shut file or folder in a folder, or that it is itself or lies in; None where there is none."""
        inside = "" if folder == "/" else folder
        for path in (*self.files, *self.folders):
            if path == folder or path.startswith(f"{inside}/"):
                return path
        return next((path for path in self.folders if folder.startswith(f"{path}/")), None)


@dataclass(slots=True)
class _Folder:
    """What was read of a folder."""

    path: str
    status: tuple[int, ...]
    at: int
    folders: list[str] = field(default_factory=list[str])
    hidden_folders: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])
    attributes: str | None = None
    has_git: bool = False


@dataclass(slots=True)
class HiddenFiles:
    """Looks for them; what was read is kept for the next look."""

    why_hidden: WhyHidden
    rules: Callable[[], object] = lambda: None
    """What stands for the rules by which files are shut: when it changes, all is read again."""
    _by: object = None
    _folders: dict[str, _Folder] = field(default_factory=dict[str, _Folder])
    _attributes: dict[str, tuple[tuple[int, ...], bool]] = field(
        default_factory=dict[str, tuple[tuple[int, ...], bool]]
    )

    def look(self, roots: Sequence[Path]) -> HiddenPlaces:
        """Look through some folders. Blocks.

        Args:
            roots: The real paths of the workspace folders.
        """
        by = self.rules()
        known = self._folders if by == self._by else {}
        found: dict[str, _Folder] = {}
        end = time.monotonic() + LOOK_SECONDS
        waiting = [*map(str, roots)]
        while waiting and len(found) < MOST_FOLDERS:
            if len(found) % 500 == 0 and time.monotonic() > end:
                break
            folder = waiting.pop()
            if folder not in found and (read := self._read(folder, known.get(folder))) is not None:
                found[folder] = read
                waiting += read.folders
        self._folders, self._by = found, by
        texts = [path for read in found.values() for path in self._of_git(read)]
        files = [path for read in found.values() for path in read.files]
        others = _other_names(files, found, end)
        return HiddenPlaces(
            tuple(files) if others is None else (*files, *others),
            tuple(path for read in found.values() for path in read.hidden_folders),
            tuple(path for read in found.values() for path in _objects_of(read)),
            tuple(texts),
            is_whole=not waiting and others is not None,
        )

    def _read(self, folder: str, known: _Folder | None) -> _Folder | None:
        try:
            status = os.lstat(folder)
            numbers = (status.st_dev, status.st_ino, status.st_ctime_ns)
            if known is not None and known.status == numbers and known.at - status.st_ctime_ns > GRANULARITY:
                return known
            read = _Folder(folder, numbers, time.time_ns())
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._take(entry, read)
        except OSError:
            return None  # it went away, or is closed to us, and so to a command
        return read

    def _take(self, entry: "os.DirEntry[str]", read: _Folder) -> None:
        if entry.name == _GIT:
            read.has_git = True
        elif entry.is_dir(follow_symlinks=False):
            is_own = entry.name.casefold() == OWN_FOLDER
            shut = is_own or self.why_hidden((f"{entry.path}/{_ANY_NAME}",)) is not None
            (read.hidden_folders if shut else read.folders).append(entry.path)
        else:
            if entry.name == _ATTRIBUTES:
                read.attributes = entry.path
            if not entry.is_symlink() and self.why_hidden((entry.path,)) is not None:
                read.files.append(entry.path)

    def _of_git(self, read: _Folder) -> list[str]:
        paths = [] if read.attributes is None else [read.attributes]
        if read.has_git:
            paths.append(f"{read.path}/{_GIT}/info/attributes")
        return [path for path in paths if self._shows_texts(path)]

    def _shows_texts(self, path: str) -> bool:
        """Whether a file of attributes may say that some file is a text for `git diff`."""
        try:
            status = os.stat(path)  # noqa: PTH116 - at each command
        except OSError:
            return False
        numbers = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        kept = self._attributes.get(path)
        if kept is None or kept[0] != numbers:
            kept = self._attributes[path] = (numbers, _says_diff(path, status.st_size))
        return kept[1]


def _objects_of(read: _Folder) -> Iterator[str]:
    """What of the repository of a folder, or that a folder is, holds the texts of files."""
    if read.has_git:
        folder = f"{read.path}/{_GIT}"
    elif {f"{read.path}/{name}" for name in ("objects", "refs")} <= {*read.folders}:
        folder = read.path
    else:
        return
    for name in _OBJECTS:
        path = f"{folder}/{name}"
        if os.path.isdir(path) and not os.path.islink(path):  # noqa: PTH112, PTH114 - at each command
            yield path


def _other_names(files: Sequence[str], folders: Iterable[str], end: float) -> list[str] | None:
    """The further names that hard links give to some files in some folders; None where it takes too long. Blocks.

    Such files are rare, so this is read anew each time.
    """
    linked: set[tuple[int, int]] = set()
    for path in files:
        with suppress(OSError):
            status = os.lstat(path)
            if status.st_nlink > 1:
                linked.add((status.st_dev, status.st_ino))
    if not linked:
        return []
    known, numbers, found = set(files), {number for _, number in linked}, list[str]()
    for folder in folders:
        if time.monotonic() > end:
            return None
        with suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if entry.inode() in numbers and entry.path not in known:
                    status = entry.stat(follow_symlinks=False)
                    if (status.st_dev, status.st_ino) in linked:
                        found.append(entry.path)
    return found


def _says_diff(path: str, size: int) -> bool:
    if size > MOST_ATTRIBUTES or not os.path.isfile(path):  # noqa: PTH113 - a link of the workspace may lead to a device
        return True
    try:
        lines = Path(path).read_text("utf-8", "replace").splitlines()
    except OSError:
        return True
    words = (word for line in lines if not line.startswith("#") for word in line.split()[1:])
    return any(word.lstrip("!").partition("=")[0] == "diff" for word in words)
