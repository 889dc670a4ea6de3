"""An open folder, and what is done with the names in it. Nothing here follows a link.

Two ways, by what the system has. With folder descriptors a folder is opened once, name by name, and stays the one that it is,
whatever happens to its path. Without them (Windows) every step goes by the path: it must be its own real path before the step
and after it, and what was opened must be what lies there. Who swaps a folder for a link between the two looks is noticed
afterwards only; such links need a right there that people mostly do not have.
"""

import ctypes
import errno
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, Self


def flags(*names: str) -> int:
    """Those of the flags of `os.open` that the system has."""
    return sum({getattr(os, name, 0) for name in names})


HAS_DESCRIPTORS = os.open in os.supports_dir_fd
_FOLDER_FLAGS = flags("O_DIRECTORY", "O_NOFOLLOW", "O_CLOEXEC", "O_PATH")
_READABLE_FLAGS = flags("O_DIRECTORY", "O_CLOEXEC")
_ALWAYS = flags("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT")


_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What a file system without hard links says, and every one of a folder."""
_CANNOT = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM})
"""What a system, a file system or a filter of system calls says that has no move which replaces nothing."""
_MOVES = {"linux": ("renameat2", 1), "darwin": ("renameatx_np", 4)}
"""The call that moves and replaces nothing, and its flag: renameat2(2), RENAME_NOREPLACE; renameatx_np(2), RENAME_EXCL."""


class Folder(Protocol):
    """An open folder. Whatever fails raises `OSError`, as the calls of `os` do."""

    def open(self, name: str, wanted: int, mode: int = 0o666) -> int:
        """A descriptor of a file in it, with these flags of `os.open`; a link is not followed."""
        ...

    def status(self, name: str) -> os.stat_result:
        """What the system knows of a name in it; of a link itself."""
        ...

    def names(self) -> "list[os.DirEntry[str]]":
        """The names in it."""
        ...

    def target(self, name: str) -> str:
        """Where a link in it points to, as it says itself."""
        ...

    def point(self, name: str, target: str) -> None:
        """Make a link in it that says where it leads."""
        ...

    def make(self, name: str) -> None:
        """Make a folder in it."""
        ...

    def below(self, name: str) -> Self:
        """A folder in it, opened."""
        ...

    def remove_folder(self, name: str) -> None:
        """Remove a folder in it that is empty."""
        ...

    def unlink(self, name: str) -> None:
        """Take a name away."""
        ...

    def replace(self, name: str, new: str) -> None:
        """Put a file in the place of another one, at once."""
        ...

    def move(self, name: str, other: Self, new: str) -> None:
        """Give what has a name another one in this or another folder, which must not exist."""
        ...

    def set_mode(self, mode: int) -> None:
        """Give the folder itself these permission bits, if it has others."""
        ...

    def lock(self) -> int | None:
        """A descriptor to lock for as long as nobody else may write in it; None where there is none."""
        ...

    def sync(self) -> None:
        """Have its names on disk, as far as the system can."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


def root(path: Path) -> Folder:
    """The folder that a path begins at."""
    if HAS_DESCRIPTORS:
        return _ByDescriptor(os.open(path.anchor, _FOLDER_FLAGS))
    return _ByPath(Path(path.anchor))


def _moved(folder: int, name: str, other: int, new: str) -> bool:
    """Move a name where there is none yet, in one step; False where the system cannot.

    Raises:
        FileExistsError: There is one.
        OSError: It cannot be moved.
    """
    called, flag = _MOVES.get(sys.platform, ("", 0))
    call = getattr(ctypes.CDLL(None, use_errno=True), called, None) if called else None
    if call is None:
        return False
    if call(folder, os.fsencode(name), other, os.fsencode(new), flag) == 0:
        return True
    problem = ctypes.get_errno()
    if problem in _CANNOT:
        return False
    raise OSError(problem, os.strerror(problem))


class _ByDescriptor:
    """A folder that stays the one it is."""

    def __init__(self, descriptor: int) -> None:
        self._folder = descriptor

    def open(self, name: str, wanted: int, mode: int = 0o666) -> int:
        return os.open(name or ".", wanted | _ALWAYS, mode, dir_fd=self._folder)

    def status(self, name: str) -> os.stat_result:
        return os.stat(name, dir_fd=self._folder, follow_symlinks=False)

    def names(self) -> "list[os.DirEntry[str]]":
        readable = self._readable()
        try:
            with os.scandir(readable) as found:
                entries = list(found)
                for one in entries:  # an entry looks up what it is by the descriptor, which is closed then
                    one.is_dir(follow_symlinks=False)
                return entries
        finally:
            os.close(readable)

    def target(self, name: str) -> str:
        return os.readlink(name, dir_fd=self._folder)

    def point(self, name: str, target: str) -> None:
        os.symlink(target, name, dir_fd=self._folder)

    def make(self, name: str) -> None:
        os.mkdir(name, dir_fd=self._folder)

    def below(self, name: str) -> Self:
        return type(self)(os.open(name, _FOLDER_FLAGS, dir_fd=self._folder))

    def remove_folder(self, name: str) -> None:
        os.rmdir(name, dir_fd=self._folder)

    def unlink(self, name: str) -> None:
        os.unlink(name, dir_fd=self._folder)

    def replace(self, name: str, new: str) -> None:
        os.replace(name, new, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def move(self, name: str, other: Self, new: str) -> None:
        if _moved(self._folder, name, other._folder, new):
            return
        try:
            os.link(name, new, src_dir_fd=self._folder, dst_dir_fd=other._folder, follow_symlinks=False)
        except OSError as problem:
            if problem.errno not in _NO_LINKS:
                raise
            with suppress(FileNotFoundError):
                other.status(new)
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
            os.rename(name, new, src_dir_fd=self._folder, dst_dir_fd=other._folder)
        else:
            os.unlink(name, dir_fd=self._folder)

    def set_mode(self, mode: int) -> None:
        if stat.S_IMODE(os.stat(".", dir_fd=self._folder).st_mode) & 0o777 != mode:
            os.chmod(".", mode, dir_fd=self._folder)

    def lock(self) -> int | None:
        with suppress(PermissionError):  # a folder that cannot be read can still be written
            return self._readable()
        return None

    def sync(self) -> None:
        # Some file systems cannot do it; then there is nothing more to be had.
        with suppress(OSError):
            readable = self._readable()
            try:
                os.fsync(readable)
            finally:
                os.close(readable)

    def close(self) -> None:
        os.close(self._folder)

    def _readable(self) -> int:
        return os.open(".", os.O_RDONLY | _READABLE_FLAGS, dir_fd=self._folder)


class _ByPath:
    """A folder that is where its path says, before each step and after it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._check()

    def open(self, name: str, wanted: int, mode: int = 0o666) -> int:
        path = self._of(name)
        with self._held():
            if path.is_symlink():
                raise OSError(errno.ELOOP, "a link")
            if path.is_dir():  # which Windows does not open at all
                raise IsADirectoryError(errno.EISDIR, "a folder")
            descriptor = os.open(path, wanted | _ALWAYS, mode)
            try:
                self._check()
                if not os.path.samestat(path.lstat(), os.fstat(descriptor)):
                    raise OSError(errno.ELOOP, "swapped meanwhile")
            except OSError:
                os.close(descriptor)
                if wanted & os.O_EXCL:  # it was made there just now
                    path.unlink(missing_ok=True)
                raise
        return descriptor

    def status(self, name: str) -> os.stat_result:
        with self._held():
            return self._of(name).lstat()

    def names(self) -> "list[os.DirEntry[str]]":
        with self._held(), os.scandir(self._path) as found:
            return list(found)

    def target(self, name: str) -> str:
        with self._held():
            return str(self._of(name).readlink())

    def point(self, name: str, target: str) -> None:
        with self._held():
            self._of(name).symlink_to(target)

    def make(self, name: str) -> None:
        with self._held():
            self._of(name).mkdir()

    def below(self, name: str) -> Self:
        with self._held():
            path = self._of(name)
            if not stat.S_ISDIR(path.lstat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, "no folder")
            return type(self)(path)

    def remove_folder(self, name: str) -> None:
        with self._held():
            self._of(name).rmdir()

    def unlink(self, name: str) -> None:
        with self._held():
            self._of(name).unlink()

    def replace(self, name: str, new: str) -> None:
        with self._held():
            self._of(name).replace(self._of(new))

    def move(self, name: str, other: Self, new: str) -> None:
        with self._held(), other._held():
            if os.path.lexists(other._of(new)):  # Windows itself refuses it, too
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            self._of(name).rename(other._of(new))

    def set_mode(self, mode: int) -> None:
        with self._held():
            self._path.chmod(mode)

    def lock(self) -> int | None:
        # A folder cannot be locked there, so a file of the user stands for it.
        name = hashlib.sha256(os.path.normcase(str(self._path)).encode("utf-8", "surrogatepass")).hexdigest()[
            :24
        ]
        path = Path(tempfile.gettempdir()) / f"outrider-{name}.lock"
        return os.open(path, os.O_RDWR | os.O_CREAT | _ALWAYS, 0o600)

    def sync(self) -> None:
        """Nothing: a folder cannot be opened there."""

    def close(self) -> None:
        """Nothing is open."""

    def _of(self, name: str) -> Path:
        return self._path / name

    def _check(self) -> None:
        if os.path.normcase(self._path.resolve()) != os.path.normcase(self._path):
            raise OSError(errno.ELOOP, "a link in the path")

    @contextmanager
    def _held(self) -> Generator[None]:
        self._check()
        yield
        self._check()


if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> None:
        """Lock an open file against other processes.

        Raises:
            BlockingIOError: Another process has it.
        """
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "locked") from error

else:
    import fcntl

    def try_lock(descriptor: int) -> None:
        """Lock an open file against other processes.

        Raises:
            BlockingIOError: Another process has it.
            OSError: The file system has no locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
