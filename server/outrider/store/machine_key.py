"""The key for hashes that mean something on this machine alone. It is a file that only its owner reads."""

import contextlib
import logging
import os
import secrets
from pathlib import Path

log = logging.getLogger(__name__)

NAME = "machine.key"
BYTES = 32


def machine_key(state_dir: Path) -> bytes:
    """The key of this machine, made where there is none. Blocks.

    Where the file cannot be read or written it is another one in each process: hashes of before mean nothing then.
    """
    path = state_dir / NAME
    try:
        if not path.exists():
            _write(path, secrets.token_bytes(BYTES))
        key = path.read_bytes()
        if len(key) == BYTES:
            return key
        log.warning("%s has %d bytes instead of %d, so it is not used", path, len(key), BYTES)
    except OSError as problem:
        log.warning("%s cannot be used: %s", path, problem.strerror)
    return secrets.token_bytes(BYTES)


def _write(path: Path, key: bytes) -> None:
    """Write it whole or not at all; what another process wrote meanwhile stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    own = path.with_name(f"{NAME}.{os.getpid()}")
    descriptor = os.open(own, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        with contextlib.suppress(FileExistsError):
            os.link(own, path)
    finally:
        own.unlink(missing_ok=True)
