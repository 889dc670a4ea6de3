"""How long texts of files are kept: what a session changed can be taken back for that long.

Events and conversations stay. The sessions that were not used for longest lose their texts first, their oldest ones
first; never one that is open anywhere or has a turn that did not end.
"""

import asyncio
import logging
from contextlib import suppress
from datetime import datetime, timedelta

from outrider.ports.clock import Clock
from outrider.store.listing import SessionRow
from outrider.store.log import Store
from outrider.store.problem import StoreReadError

MOST_BYTES = 1024**3
"""Bytes of the log, above which texts are given up."""
KEPT_DAYS = 90
"""Days that a session's texts are kept after its last event."""
MOST_PIECES = 500
"""Pieces of work of one run; each holds up the log for some milliseconds. What is left waits for the next run."""
FIRST_SECONDS, PAUSE_SECONDS = 30.0, 3600.0
"""When it is looked the first time, and how long until the next."""

_ENDED = frozenset({None, "completed", "cancelled", "budget_exhausted", "failed", "refused"})
_log = logging.getLogger(__name__)


class Retention:
    """Gives up what is kept no longer, in the background."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Begin with a log, in the time that it has."""
        self._store = store
        self._clock = clock
        self._task = asyncio.create_task(self._run(), name="give up old texts")

    async def close(self) -> None:
        """End."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        await self._clock.sleep(FIRST_SECONDS)
        while True:
            try:
                await give_up_old_texts(self._store, self._clock.now())
            except StoreReadError as problem:
                _log.warning("Old texts cannot be given up: %s", problem)
            await self._clock.sleep(PAUSE_SECONDS)


async def give_up_old_texts(
    store: Store, now: datetime, *, most_bytes: int = MOST_BYTES, pieces: int = MOST_PIECES
) -> None:
    """Give up texts until the log is as small, and they are as young, as is stated; and give the room back.

    Args:
        store: The log.
        now: What time it is.
        most_bytes: Bytes of the log, above which texts are given up.
        pieces: Pieces of work, at most.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    for session in reversed(await store.sessions()):
        if session.last_turn_state not in _ENDED:
            continue
        is_old = _is_old(session, now)
        if not is_old and await store.size() <= most_bytes:
            continue
        if (lock := store.lock(session.session_id)) is None:
            continue
        try:
            while pieces > 0 and (is_old or await store.size() > most_bytes):
                pieces -= 1
                if not await store.give_up_texts(session.session_id):
                    break
        finally:
            lock.release()
    while pieces > 0 and await store.give_room_back():
        pieces -= 1


def _is_old(session: SessionRow, now: datetime) -> bool:
    with suppress(ValueError, TypeError):
        return datetime.fromisoformat(session.last_at) < now - timedelta(days=KEPT_DAYS)
    return False
