"""A small file of the user's in their configuration folder: whether it changed, and putting another text in its place."""

import contextlib
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Final

LOCK_SECONDS: Final = 5.0
MOST_BYTES: Final = 1_000_000

Stamp = tuple[int, int, int]


def stamp(path: Path) -> Stamp | None:
    """What tells one state of a file from the next; None where there is none. Blocks."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@contextlib.contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold a file against other processes that change it; its folder is made. Blocks.

    Raises:
        OSError: The folder cannot be made, or another process holds the file too long (`filelock.Timeout`).
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_SECONDS):
        yield


def replace_text(path: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all. Blocks.

    Raises:
        OSError: It cannot be written.
    """
    target = Path(os.path.realpath(path))  # a link to a file that is kept elsewhere stays one
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
