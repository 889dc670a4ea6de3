"""An open folder, and what is done with the names in it. Nothing here follows a link.

Two ways, by what the system has. With folder descriptors a folder is opened once, name by name, and stays the one that it is,
whatever happens to its path. Without them (Windows) every step goes by the path: it must be its own real path before the step
and after it, and what was opened must be what lies there. Who swaps a folder for a link between the two looks is noticed
afterwards only; such links need a right there that people mostly do not have.
"""

import errno
import hashlib
import os
import stat
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

    def link(self, name: str, other: Self, new: str) -> None:
        """Give a file a further name in this or another folder, which must not exist."""
        ...

    def move(self, name: str, other: Self, new: str) -> None:
        """Give a file another name in this or another folder."""
        ...

    def set_mode(self, mode: int) -> None:
        """Give the folder itself these permission bits, if it has others."""
        ...

    def lock(self) -> int | None:
        """A descriptor to lock for as long as nobody else may write in it; None where there is none."""
        ...

    def sync(self) -> None:
        """Have its names on the disk, as far as the system can."""
        ...

    def close(self) -> None:
        """Let it go."""
        ...


def root(path: Path) -> Folder:
    """The folder that a path begins at."""
    if HAS_DESCRIPTORS:
        return _ByDescriptor(os.open(path.anchor, _FOLDER_FLAGS))
    return _ByPath(Path(path.anchor))


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

    def link(self, name: str, other: Self, new: str) -> None:
        os.link(
            name,
            new,
            src_dir_fd=self._folder,
            dst_dir_fd=other._folder,
            follow_symlinks=False,
        )

    def move(self, name: str, other: Self, new: str) -> None:
        os.rename(name, new, src_dir_fd=self._folder, dst_dir_fd=other._folder)

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

    def link(self, name: str, other: Self, new: str) -> None:
        with self._held(), other._held():
            other._of(new).hardlink_to(self._of(name))

    def move(self, name: str, other: Self, new: str) -> None:
        with self._held(), other._held():
            self._of(name).rename(other._of(new))

    def set_mode(self, mode: int) -> None:
        with self._held():
            self._path.chmod(mode)

    def lock(self) -> int | None:
        # A folder cannot be locked there, so a file of the person stands for it.
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
            raise OSError(errno.ELOOP, "a link on the way")

    @contextmanager
    def _held(self) -> Generator[None]:
        self._check()
        yield
        self._check()
