"""Files that the command line writes for the person: whole or not at all, and for nobody else to read."""

import contextlib
import errno
import os
import secrets
from pathlib import Path

_NO_LINKS = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})
"""What a file system without hard links says."""


def write_file(path: Path, content: bytes, *, force: bool) -> str | None:
    """Write a file in one go, with the mode 0600. Blocks.

    Args:
        path: Where; its folder must exist.
        content: The whole of it.
        force: Whether a file that is there may be replaced.

    Returns:
        Why it could not be written. Nothing was changed then.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            return f"{path} is not a file"
        if target.exists() and not force:
            return f"{path} exists already; --force replaces it"
        temporary = target.with_name(f".outrider-{secrets.token_hex(8)}")
        try:
            _write_new(temporary, content)
            if force:
                temporary.replace(target)
            else:
                _name_new(target, temporary)
        finally:
            with contextlib.suppress(FileNotFoundError):
                temporary.unlink()
    except FileExistsError:
        return f"{path} exists already; --force replaces it"
    except (OSError, RuntimeError, ValueError) as error:  # such as a loop of links, a NUL in the name
        return f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
    return None


def _name_new(target: Path, temporary: Path) -> None:
    """Give the file its name, unless somebody made one of that name meanwhile."""
    try:
        target.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        temporary.replace(target)


def _write_new(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
