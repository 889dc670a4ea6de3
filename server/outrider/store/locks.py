"""One lock per session, held by the process that runs it. The system frees it when the process dies, however."""

import logging
import re
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from outrider.ports.model import content_hash

_log = logging.getLogger(__name__)
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
        _log.warning("The lock of session %r cannot be taken: %s", session_id, error)
        return None
    return SessionLock(held)


def _file_name(session_id: str) -> str:
    # Ids may come from a client. Ours are plain; of any other only the hash becomes a name.
    if _PLAIN.fullmatch(session_id):
        return f"{session_id}.lock"
    return f"other.{content_hash(session_id.encode('utf-8', 'surrogatepass'))}.lock"
