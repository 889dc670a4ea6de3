"""One lock per session, held by the process that runs it. The system frees it when the process dies, however.

Beside the locks lie the marks of turns whose end could not be written into the log.
"""

import logging
import re
from contextlib import suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from outrider.ports.model import content_hash

_log = logging.getLogger(__name__)
LOCKS = "locks"
"""The folder of the locks, in the folder of the log."""
_FAILED = ".failed"
_PLAIN = re.compile(r"[a-z0-9_-]{1,64}")


class SessionLock:
    """A lock that is held until `release`, the end of this object, or the death of the process."""

    def __init__(self, held: BaseFileLock) -> None:
        self._held = held

    def release(self) -> None:
        """Let others run the session. Does nothing the second time."""
        self._held.release()


def lock_session(folder: Path, session_id: str) -> SessionLock | None:
    """Take the lock of `session_id` in `folder` (created where it is missing), without waiting.

    Returns:
        None where another process, or this one, has it, or where the lock file cannot be made (logged).
    """
    held = FileLock(folder / _file_name(session_id), mode=0o600, thread_local=False)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        held.acquire(blocking=False)
    except Timeout:
        return None
    except OSError as error:
        _log.warning("Could not lock session %r: %s", session_id, error)
        return None
    return SessionLock(held)


def remove_lock(folder: Path, session_id: str) -> None:
    """Remove the file of a lock. Whoever took it in this moment finds that the session is gone."""
    with suppress(OSError):
        (folder / _file_name(session_id)).unlink(missing_ok=True)


def mark_failed(folder: Path, turn_id: str) -> None:
    """Note that a turn failed because the log could not be written. An empty file: it needs no room on a full disk."""
    if not _PLAIN.fullmatch(turn_id):
        return
    try:
        (folder / f"{turn_id}{_FAILED}").touch(mode=0o600)
    except OSError as error:
        _log.warning("Could not record that turn %s failed: %s", turn_id, error)


def marked_failed(folder: Path) -> list[str]:
    """The turns that `mark_failed` noted and the log may not know to have ended."""
    try:
        return sorted(path.name.removesuffix(_FAILED) for path in folder.glob(f"*{_FAILED}"))
    except OSError as error:
        _log.warning("Could not read which turns failed in %s: %s", folder, error)
        return []


def unmark_failed(folder: Path, turn_id: str) -> None:
    """Forget a turn that the log knows to have ended."""
    with suppress(OSError):
        (folder / f"{turn_id}{_FAILED}").unlink(missing_ok=True)


def _file_name(session_id: str) -> str:
    # Ids may come from a client. Ours are plain; of any other only the hash becomes a name.
    if _PLAIN.fullmatch(session_id):
        return f"{session_id}.lock"
    return f"other.{content_hash(session_id.encode('utf-8', 'surrogatepass'))}.lock"
