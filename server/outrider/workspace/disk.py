"""Files, touched carefully: whole contents, no link followed, nothing replaced that was not looked at.

Everything here blocks and belongs in a thread. Paths are real paths (`Located.resolved`): a link anywhere in
them means that somebody swapped it since it was resolved, and nothing is done.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DiskKind = Literal[
    "not_found", "directory", "too_big", "vanished", "unreadable", "exists", "changed", "failed"
]

_FOLDER_FLAGS = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", 0)
_NEW_FILE_MODE = 0o666
_NEW_FOLDER_MODE = 0o777


@dataclass(frozen=True, slots=True)
class DiskProblem:
    """Why it could not be done; `message` follows a name and a space."""

    kind: DiskKind
    message: str


def read_bytes(path: Path, limit: int) -> bytes | DiskProblem:
    """The content of a regular file of at most `limit` bytes."""
    try:
        with _folder(path.parent) as folder:
            return _read(folder, path.name, limit)
    except OSError as problem:
        return _problem(problem)


def _read(folder: int, name: str, limit: int) -> bytes | DiskProblem:
    # Without O_NONBLOCK the opening of a FIFO waits for a writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    file = os.open(name or ".", flags, dir_fd=folder)
    try:
        status = os.fstat(file)
        if stat.S_ISDIR(status.st_mode):
            return DiskProblem("directory", "is a folder")
        if not stat.S_ISREG(status.st_mode):
            return DiskProblem("unreadable", "is no regular file")
        if status.st_size > limit:
            return DiskProblem("too_big", f"is too big: {status.st_size} bytes of at most {limit}")
        content = bytearray()
        while chunk := os.read(file, min(1 << 20, limit + 1 - len(content))):
            content += chunk
        if len(content) > limit:
            return DiskProblem("too_big", f"is too big: more than {limit} bytes")
        return bytes(content)
    finally:
        os.close(file)


@contextmanager
def _folder(path: Path, *, create: bool = False) -> Generator[int, None, None]:
    """An open folder, reached name by name without following a link."""
    current = os.open(path.anchor, _FOLDER_FLAGS)
    try:
        for name in path.parts[1:]:
            try:
                below = os.open(name, _FOLDER_FLAGS, dir_fd=current)
            except FileNotFoundError:
                if not create:
                    raise
                os.mkdir(name, _NEW_FOLDER_MODE, dir_fd=current)
                below = os.open(name, _FOLDER_FLAGS, dir_fd=current)
            os.close(current)
            current = below
        yield current
    finally:
        os.close(current)


def _problem(problem: OSError) -> DiskProblem:
    match problem.errno:
        case errno.ENOENT:
            return DiskProblem("not_found", "does not exist")
        case errno.ENOTDIR:
            # Either a file lies where a folder is wanted, or a folder became a link.
            return DiskProblem("not_found", "does not exist: a name on the way to it is no folder")
        case errno.ELOOP:
            return DiskProblem("vanished", "became a link, which is not followed")
        case _:
            return DiskProblem("unreadable", f"cannot be used: {os.strerror(problem.errno or 0)}")
