"""Files, touched carefully: whole contents, no link followed, nothing replaced that was not looked at.

Everything here blocks and belongs in a thread. Paths are real paths (`Located.resolved`): a link anywhere in
them means that somebody swapped it since it was resolved, and nothing is done.
"""

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final, Literal, TypeVar

from outrider.workspace.disk.folder import HAS_DESCRIPTORS, Folder, flags, root, try_lock

DiskKind = Literal[
    "not_found", "directory", "too_big", "vanished", "unreadable", "exists", "changed", "failed"
]

Found = TypeVar("Found")
EntryKind = Literal["file", "directory", "link", "other"]


# Without O_NONBLOCK the opening of a FIFO waits for a writer.
_READ_FLAGS = os.O_RDONLY | flags("O_NONBLOCK")
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS})
_PREFIX, _SUFFIX = ".outrider-", ".tmp"
LEFT_OVER = f"{_PREFIX}*{_SUFFIX}"
"""Glob of the names of files that are being written, or were left by a writer that was killed."""
SWEEP_SECONDS: Final = 60.0
"""How long a folder that was swept is not swept again by this process."""
_MOST_SWEPT: Final = 10_000
swept: dict[tuple[int, int], float] = {}
"""When folders were swept, by device and inode."""
_LEFT = re.compile(rf"{re.escape(_PREFIX)}([1-9][0-9]{{0,9}})-[0-9a-f]{{16}}{re.escape(_SUFFIX)}")
_SPECIAL = {"setuid": stat.S_ISUID, "setgid": stat.S_ISGID, "sticky": stat.S_ISVTX}
_LABEL = "security.selinux"
_CHUNK_BYTES = 1 << 20
_LOCK_TRIES = 400
_LOCK_PAUSE = 0.005
CHANGED = "was changed by someone else in the meantime"
CHANGED_AFTER = "was changed by someone else just after it was written"
_EXISTS = "already exists"
_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class DiskProblem:
    """Why it could not be done; `message` follows a name and a space."""

    kind: DiskKind
    message: str


@dataclass(frozen=True, slots=True)
class Name:
    """A name in a folder, and what stands behind it."""

    name: str
    kind: EntryKind
    target: str = ""
    """Where a link points to, as it says itself."""


def list_folder(path: Path) -> list[Name] | DiskProblem:
    """The names in a folder, in no order; links are not followed."""
    try:
        with _folder(path) as folder:
            return [_name(folder, one) for one in folder.names()]
    except OSError as problem:
        return _problem(problem)


def _name(folder: Folder, one: "os.DirEntry[str]") -> Name:
    if one.is_symlink():
        target = "?"
        with suppress(OSError):
            target = folder.target(one.name)
        return Name(one.name, "link", target)
    if one.is_dir(follow_symlinks=False):
        return Name(one.name, "directory")
    return Name(one.name, "file" if one.is_file(follow_symlinks=False) else "other")


def folder_files(path: Path, most: int) -> list[Path] | DiskProblem:
    """The files in a folder and in those below it, sorted; a problem where there is anything else than files and folders.

    Args:
        path: The folder.
        most: How many are given at most.
    """
    found: list[Path] = []
    waiting = [path]
    while waiting and len(found) < most:
        folder = waiting.pop()
        names = list_folder(folder)
        if isinstance(names, DiskProblem):
            return DiskProblem(names.kind, f"{folder.name} {names.message}")
        for one in sorted(names, key=lambda name: name.name):
            if one.kind in {"link", "other"}:
                what = "a link" if one.kind == "link" else "not a regular file"
                return DiskProblem("unreadable", f"{folder / one.name} is {what}")
            (waiting if one.kind == "directory" else found).append(folder / one.name)
    return sorted(found)[:most]


def folders_in(path: Path, most: int) -> dict[str, int] | DiskProblem:
    """A folder and those below it, by their paths in it, with their permission bits; links are not followed.

    Args:
        path: The folder, which is `.` in what is given.
        most: How many are given at most.
    """
    found: dict[str, int] = {}
    waiting = [path]
    while waiting and len(found) < most:
        folder = waiting.pop()
        names = list_folder(folder)
        if isinstance(names, DiskProblem):
            return DiskProblem(names.kind, f"{folder.name} {names.message}")
        with suppress(OSError):
            found[folder.relative_to(path).as_posix()] = stat.S_IMODE(os.lstat(folder).st_mode) & 0o777
        waiting += [folder / one.name for one in names if one.kind == "directory"]
    return dict(sorted(found.items()))


def make_folders(folders: Iterable[Path]) -> list[Path]:
    """Make folders, as far as they are missing; best effort. Gives those that were made."""
    made: list[Path] = []
    for path in sorted(folders):
        with suppress(OSError), _folder(path.parent) as parent:
            parent.make(path.name)
            made.append(path)
    return made


def set_folder_modes(folders: Mapping[Path, int]) -> None:
    """Give folders their permission bits, as far as they are there; best effort."""
    for path in sorted(folders, reverse=True):  # one that is shut comes after those in it
        with suppress(OSError), _folder(path) as folder:
            folder.set_mode(folders[path])


def remove_folders(folders: Iterable[Path]) -> None:
    """Remove folders, as far as there is nothing in them."""
    for path in sorted(folders, reverse=True):  # a folder comes after those in it
        with suppress(OSError), _folder(path.parent) as parent:
            parent.remove_folder(path.name)


def read_bytes(path: Path, limit: int) -> bytes | DiskProblem:
    """The content of a regular file of at most `limit` bytes."""
    try:
        with _folder(path.parent) as folder:
            return _read(folder, path.name, limit)
    except OSError as problem:
        return _problem(problem)


def look_through(path: Path, look: Callable[[Iterator[bytes]], Found]) -> Found | DiskProblem:
    """What `look` finds in a regular file of any size, which it gets piece by piece."""
    try:
        with _folder(path.parent) as folder:
            file = folder.open(path.name, _READ_FLAGS)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    return DiskProblem("unreadable", "is not a regular file")
                return look(iter(lambda: os.read(file, _CHUNK_BYTES), b""))
            finally:
                os.close(file)
    except OSError as problem:
        return _problem(problem)


def replace(path: Path, before: bytes, after: bytes) -> DiskProblem | None:
    """Replace the content of a file that holds `before`, at once and for good.

    Its mode stays, and where that can be its owner and its extended attributes. Whoever reads it gets the one content or the other, after a loss of power too. Where the file has further names
    (hard links), they keep the old content: nobody knows where they are, and it may be outside the workspace.
    """
    try:
        with _folder(path.parent) as folder:
            if problem := _differs(folder, path.name, before):
                return problem
            like = folder.status(path.name)
            if not like.st_mode & 0o222:
                return DiskProblem("failed", "is write-protected")
            with _new_file(folder, after, (path.name, like)) as temporary, _alone_in(folder):
                if problem := _differs(folder, path.name, before):
                    return problem
                folder.replace(temporary, path.name)
                folder.sync()
                # Another server may make the next change of the file as soon as it may write.
                if _differs(folder, path.name, after):
                    return DiskProblem("changed", CHANGED_AFTER)
    except OSError as problem:
        return _problem(problem)
    return None


def mode_of(path: Path) -> int | None:
    """The permission bits of a regular file; None where there is none."""
    with suppress(OSError):
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            return stat.S_IMODE(status.st_mode) & 0o777
    return None


def besides(path: Path) -> list[str]:
    """What a file has besides its content and its permission bits, by name, sorted; what the system gives by itself is none of it."""
    found: list[str] = []
    with suppress(OSError):
        mode = os.lstat(path).st_mode
        found = [name for name, bit in _SPECIAL.items() if stat.S_ISREG(mode) and mode & bit]
        if sys.platform == "linux":
            found += [one for one in os.listxattr(path, follow_symlinks=False) if one != _LABEL]
    return sorted(found)


def set_mode(path: Path, now: int, mode: int) -> None:
    """Give a regular file other permission bits, if it has those of `now`; best effort."""
    with suppress(OSError), _folder(path.parent) as folder:
        file = folder.open(path.name, _READ_FLAGS)
        try:
            status = os.fstat(file)
            if stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) & 0o777 == now:
                os.fchmod(file, mode)
        finally:
            os.close(file)


def create(path: Path, content: bytes, *, parents: bool, mode: int | None = None) -> DiskProblem | None:
    """Make a file that must not exist.

    Args:
        path: Where.
        content: What it holds.
        parents: Whether to make its folders, too.
        mode: Its permission bits; None: what new files get.
    """
    try:
        with (
            _folder(path.parent, create=parents) as folder,
            _new_file(folder, content, None, mode) as temporary,
            _alone_in(folder),
        ):
            folder.move(temporary, folder, path.name)
            folder.sync()
            # Another server may make the next change of the file as soon as it may write.
            if _differs(folder, path.name, content):
                return DiskProblem("changed", CHANGED_AFTER)
    except OSError as problem:
        return _problem(problem)
    return None


def delete(path: Path, before: bytes) -> DiskProblem | None:
    """Delete a file that holds `before`."""
    try:
        with _folder(path.parent) as folder, _alone_in(folder):
            if problem := _differs(folder, path.name, before):
                return problem
            folder.unlink(path.name)
            folder.sync()
    except OSError as problem:
        return _problem(problem)
    return None


def rename(path: Path, to: Path, before: bytes, *, parents: bool) -> DiskProblem | None:
    """Give a file that holds `before` another name, which must not exist; with its folders where `parents`."""
    try:
        with (
            _folder(path.parent) as folder,
            _folder(to.parent, create=parents) as other,
            _alone_in(folder, other),
        ):
            if problem := _differs(folder, path.name, before):
                return problem
            folder.move(path.name, other, to.name)
            if _differs(other, to.name, before):
                # Somebody wrote it between the look and the move: it goes back, whatever it is now.
                with suppress(OSError):
                    other.move(to.name, folder, path.name)
                return DiskProblem("changed", CHANGED)
            other.sync()
            folder.sync()
    except OSError as problem:
        return _problem(problem)
    return None


def move_aside(path: Path, to: Path) -> DiskProblem | None:
    """Give whatever has a path, a folder or a link too, another place on the same disk, which must not exist. Blocks."""
    try:
        with _folder(path.parent) as folder, _folder(to.parent, create=True) as other:
            folder.move(path.name, other, to.name)
            other.sync()
            folder.sync()
    except OSError as problem:
        return _problem(problem)
    return None


def remove_link(path: Path, target: str) -> DiskProblem | None:
    """Remove a link that says `target`, and nothing else that may have its place by now. Blocks."""
    name = f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    try:
        with _folder(path.parent) as folder:
            folder.move(path.name, folder, name)
            try:
                is_meant = folder.target(name) == target
            except OSError:
                is_meant = False
            if not is_meant:
                folder.move(name, folder, path.name)
                return DiskProblem("changed", CHANGED)
            folder.unlink(name)
            folder.sync()
    except OSError as problem:
        return _problem(problem)
    return None


def make_link(path: Path, target: str) -> DiskProblem | None:
    """Make a link that says `target`; there must be nothing yet. Blocks."""
    try:
        with _folder(path.parent) as folder:
            folder.point(path.name, target)
    except OSError as problem:
        return _problem(problem)
    return None


@contextmanager
def _new_file(
    folder: Folder, content: bytes, like: tuple[str, os.stat_result] | None, mode: int | None = None
) -> Generator[str, None, None]:
    """A file with that content that is on disk, under a name of its own; afterwards the name is gone.

    Args:
        folder: Where it lies.
        content: What it holds.
        like: The file that it is to replace, and its status; None for a new one.
        mode: The permission bits of a new one; None: as the umask says.
    """
    _sweep(folder)
    name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(8)}{_SUFFIX}"
    wanted = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    # The process's umask makes the mode of a new file; one that replaces another is shut until it has its mode.
    file = folder.open(name, wanted, 0o666 if like is None and mode is None else 0o600)
    try:
        with _closing(file) as close:
            # Whoever sweeps sees by the lock that it is still being written, in another container too.
            with suppress(OSError):
                try_lock(file)
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(file, rest) :]
            if like is not None:
                replaced, status = like
                if sys.platform != "win32":
                    with suppress(PermissionError):
                        os.fchown(file, status.st_uid, status.st_gid)
                _copy_attributes(folder, replaced, file)
                _set_file_mode(file, stat.S_IMODE(status.st_mode))
            elif mode is not None:
                _set_file_mode(file, mode & 0o777)
            os.fsync(file)
            if not HAS_DESCRIPTORS:  # Windows moves no file that is open
                close()
            yield name
    finally:
        with suppress(FileNotFoundError):
            folder.unlink(name)


@contextmanager
def _closing(file: int) -> Generator[Callable[[], None], None, None]:
    """Have a descriptor closed at the end, or before, by what is given."""
    waiting = [file]

    def close() -> None:
        while waiting:
            os.close(waiting.pop())

    try:
        yield close
    finally:
        close()


def _set_file_mode(file: int, mode: int) -> None:
    if sys.platform != "win32":  # there a file is write-protected or not, and one that is, is not written
        os.fchmod(file, mode)


def _copy_attributes(folder: Folder, name: str, to: int) -> None:
    """Give a file the extended attributes of another one, access lists among them, as far as that can be."""
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        file = folder.open(name, _READ_FLAGS)
        try:
            for attribute in os.listxattr(file):
                with suppress(OSError):
                    os.setxattr(to, attribute, os.getxattr(file, attribute))
        finally:
            os.close(file)


def _sweep(folder: Folder) -> None:
    """Remove what writers that were killed left in a folder, now and then: it takes a look at all its names."""
    with suppress(OSError):  # a folder that cannot be read can still be written
        status, now = folder.status("."), time.monotonic()
        if now - swept.get(which := (status.st_dev, status.st_ino), -SWEEP_SECONDS) < SWEEP_SECONDS:
            return
        if len(swept) >= _MOST_SWEPT:
            swept.clear()
        swept[which] = now
        for name in [one.name for one in folder.names() if _is_left(folder, one.name)]:
            with suppress(OSError):
                _remove_unlocked(folder, name)


def _is_left(folder: Folder, name: str) -> bool:
    left = _LEFT.fullmatch(name)
    if left is None:
        return False
    if sys.platform != "win32":
        return _is_dead(left)
    # There nobody can be asked whether he lives without being disturbed (`os.kill`), and no file is written for that long.
    with suppress(OSError):
        return time.time() - folder.status(name).st_mtime > _HOUR
    return False


def _is_dead(left: re.Match[str]) -> bool:
    try:
        os.kill(int(left[1]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _remove_unlocked(folder: Folder, name: str) -> None:
    file = folder.open(name, _READ_FLAGS)
    with _closing(file) as close:
        try_lock(file)
        if not HAS_DESCRIPTORS:  # Windows takes no file away that is open
            close()
        folder.unlink(name)


@contextmanager
def _alone_in(*folders: Folder) -> Generator[None, None, None]:
    """Keep other writers of this kind, here and in other processes, from looking and changing at the same time."""
    with ExitStack() as held:
        # All take the locks of two folders in one order, and that of one folder once.
        for folder in dict(
            sorted(((_identity(one), one) for one in folders), key=lambda pair: pair[0])
        ).values():
            if (lock := folder.lock()) is not None:
                held.callback(os.close, lock)
                _take(lock)
        yield


def _identity(folder: Folder) -> tuple[int, int]:
    status = folder.status(".")
    return status.st_dev, status.st_ino


def _take(lock: int) -> None:
    """Take a lock that is never held for long; whoever holds it longer was stopped."""
    for _ in range(_LOCK_TRIES):
        try:
            return try_lock(lock)
        except BlockingIOError:
            time.sleep(_LOCK_PAUSE)
        except OSError:
            return None  # the file system has no locks
    raise BlockingIOError(errno.EAGAIN, "locked")


def _differs(folder: Folder, name: str, before: bytes) -> DiskProblem | None:
    content = _read(folder, name, len(before))
    if isinstance(content, DiskProblem):
        return DiskProblem("changed", CHANGED) if content.kind == "too_big" else content
    return None if content == before else DiskProblem("changed", CHANGED)


def _read(folder: Folder, name: str, limit: int) -> bytes | DiskProblem:
    file = folder.open(name, _READ_FLAGS)
    try:
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            return DiskProblem("directory", "is a folder")
        if not stat.S_ISREG(status.st_mode):
            return DiskProblem("unreadable", "is not a regular file")
        if status.st_size > limit:
            return DiskProblem(
                "too_big",
                f"is too big: {status.st_size} bytes, the limit for reading or editing a whole file is {limit}",
            )
        parts: list[bytes] = []
        left = limit + 1
        wanted = status.st_size + 1  # in one piece, unless it grows
        while chunk := os.read(file, min(wanted, left)):
            parts.append(chunk)
            left, wanted = left - len(chunk), _CHUNK_BYTES
        if left == 0:
            return DiskProblem("too_big", f"is too big: more than {limit} bytes")
        return parts[0] if len(parts) == 1 else b"".join(parts)
    finally:
        os.close(file)


@contextmanager
def _folder(path: Path, *, create: bool = False) -> Generator[Folder, None, None]:
    """An open folder, reached name by name without following a link."""
    current = root(path)
    made: list[Path] = []
    try:
        for depth, name in enumerate(path.parts[1:], start=2):
            try:
                below = current.below(name)
            except FileNotFoundError:
                if not create:
                    raise
                with suppress(FileExistsError):
                    current.make(name)
                    made.append(Path(*path.parts[:depth]))
                below = current.below(name)
            current.close()
            current = below
        yield current
    finally:
        current.close()
        # Where nothing came to lie in them, they were not wanted.
        for one in reversed(made):
            with suppress(OSError), _folder(one.parent) as parent:
                parent.remove_folder(one.name)


def _problem(problem: OSError) -> DiskProblem:
    match problem.errno:
        case errno.ENOENT:
            return DiskProblem("not_found", "does not exist")
        case errno.ENOTDIR:
            # Either a file lies where a folder is wanted, or a folder became a link.
            return DiskProblem("not_found", "does not exist: a part of its path is not a folder")
        case errno.EEXIST:
            return DiskProblem("exists", _EXISTS)
        case errno.EAGAIN:
            return DiskProblem("failed", "is locked by another process that appears stuck")
        case errno.ELOOP:
            return DiskProblem("vanished", "is now a link; links are not followed")
        case errno.ENAMETOOLONG:
            return DiskProblem("failed", "has a name that is too long for the file system")
        case errno.EISDIR:
            return DiskProblem("directory", "is a folder")
        case errno.EXDEV:
            return DiskProblem("failed", "cannot be moved: the new place is on another disk")
        case _ if problem.errno in _FULL:
            return DiskProblem("failed", f"cannot be written: {os.strerror(problem.errno or 0)}")
        case _:
            return DiskProblem("unreadable", f"cannot be used: {os.strerror(problem.errno or 0)}")


def beside(path: Path) -> Path:
    """A path in the same folder that is free. Blocks."""
    names = (f"{path.stem}.mine{f'-{number}' if number > 1 else ''}{path.suffix}" for number in count(1))
    return next(other for name in names if not os.path.lexists(other := path.with_name(name)))
