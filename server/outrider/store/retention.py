"""How long texts of files are kept: what a session changed can be taken back for that long.

Events and conversations stay. The sessions that were not used for longest lose their texts first, their oldest ones
first; never one that is open anywhere or has a turn that did not end.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from outrider.ports.clock import Clock
from outrider.store.log import Store
from outrider.store.problem import StoreReadError
from outrider.store.reader import SessionRow
from outrider_protocol.settings import StoreSettings

MOST_PIECES = 500
"""Pieces of work of one run; each holds up the log for some milliseconds. What is left waits for the next run."""
FIRST_SECONDS, PAUSE_SECONDS = 30.0, 3600.0
"""When it is looked the first time, and how long until the next."""

_MOST_NAMED = 5
_ENDED = frozenset({None, "completed", "cancelled", "budget_exhausted", "failed", "refused"})
_log = logging.getLogger(__name__)


class Retention:
    """Gives up what is kept no longer, in the background."""

    def __init__(
        self, store: Store, clock: Clock, limits: StoreSettings, tell: Callable[[str], None]
    ) -> None:
        """Begin with a log.

        Args:
            store: The log.
            clock: The time that it has.
            limits: How much is kept, and for how long.
            tell: Tells the user, once, that there was too much.
        """
        self._store = store
        self._clock = clock
        self._limits = limits
        self._tell = tell
        self._told = False
        self._task = asyncio.create_task(self._run(), name="give up old texts")

    async def close(self) -> None:
        """End."""
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _run(self) -> None:
        clock = self._clock
        begun, counted = clock.now(), clock.monotonic()
        await clock.sleep(FIRST_SECONDS)
        while True:
            try:
                # A clock that is put years forward meanwhile makes no session old.
                passed = timedelta(seconds=clock.monotonic() - counted)
                went = await give_up_old_texts(self._store, min(clock.now(), begun + passed), self._limits)
                if went and not self._told:
                    self._told = True
                    self._tell(_too_much(went, self._limits))
            except StoreReadError as problem:
                _log.warning("Could not delete old texts: %s", problem)
            await self._clock.sleep(PAUSE_SECONDS)


async def give_up_old_texts(
    store: Store, now: datetime, limits: StoreSettings, *, pieces: int = MOST_PIECES
) -> list[str]:
    """Give up texts until they are as few, and as young, as is stated; and give the room back.

    Args:
        store: The log.
        now: What time it is.
        limits: How much is kept, and for how long.
        pieces: Pieces of work, at most.

    Returns:
        The sessions that lost texts because there were too many, the one that was not used for longest first.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    went: list[str] = []
    for session in reversed(await store.sessions()):
        if session.last_turn_state not in _ENDED:
            continue
        is_old = _is_old(session, now, limits.keep_days)
        if not is_old and await store.texts_size() <= limits.max_bytes:
            break  # those that follow are younger, and nothing is too much
        if (lock := store.lock(session.session_id)) is None:
            continue
        before = pieces
        try:
            while pieces > 0 and (is_old or await store.texts_size() > limits.max_bytes):
                pieces -= 1
                if not await store.give_up_texts(session.session_id):
                    break
        finally:
            lock.release()
        if pieces < before and not is_old:
            went.append(session.session_id)
    while pieces > 0 and await store.give_room_back():
        pieces -= 1
    return went


def _too_much(went: list[str], limits: StoreSettings) -> str:
    count = "one session" if len(went) == 1 else f"{len(went)} sessions"
    return (
        f"The stored texts of changed files reached the limit of {limits.max_bytes:,} bytes (store.maxBytes). "
        f"Those of {count}, the least recently used, were deleted, so their changes can no longer be undone: "
        f"{', '.join(went[:_MOST_NAMED])}{' and more' if len(went) > _MOST_NAMED else ''}."
    )


def _is_old(session: SessionRow, now: datetime, days: float) -> bool:
    with suppress(ValueError, TypeError, OverflowError):
        return datetime.fromisoformat(session.last_at) < now - timedelta(days=days)
    return False
