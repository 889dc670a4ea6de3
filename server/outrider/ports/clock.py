"""Time, injected so that tests own it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The only source of time for everything above this floor."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """Raise TimeoutError in the block when it takes longer than `seconds`; None waits for ever."""
        ...


def rfc3339(moment: datetime) -> str:
    """`moment` (UTC) as an event's `ts`: milliseconds and `Z`."""
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


class SystemClock:
    """The real time."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only go forward."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """Raise TimeoutError in the block when it takes longer than `seconds`; None waits for ever."""
        return asyncio.timeout(
            seconds
        )  # each piece of each answer passes through one, so there is nothing around it


class SteppingClock:
    """A clock for tests: it stands still but for a fixed step at each reading, `sleep` and `advance`.

    `sleep` moves it forward at once instead of waiting, so a script with delays runs in no time; a `timeout`
    fires when the clock passes its deadline, whoever moved it.
    """

    def __init__(self, start: datetime, step: timedelta = timedelta(milliseconds=1)) -> None:
        self._now = start
        self._start = start
        self._step = step
        self._deadlines: dict[object, tuple[datetime, Callable[[], None]]] = {}

    def now(self) -> datetime:
        """The time of day; each reading moves it by one step."""
        moment = self._now
        self._now += self._step
        return moment

    def monotonic(self) -> float:
        """Seconds since the start, without moving the clock."""
        return (self._now - self._start).total_seconds()

    def reach(self, moment: datetime) -> None:
        """Go on after `moment`, if that is later than now."""
        self._now = max(self._now, moment + self._step)

    async def sleep(self, seconds: float) -> None:
        """Move forward by `seconds` and let others run."""
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move forward by `seconds`, and let the deadlines that are passed fire, the earliest first."""
        self._now += timedelta(seconds=seconds)
        passed = sorted(
            ((when, key) for key, (when, _) in self._deadlines.items() if when <= self._now),
            key=lambda pair: pair[0],
        )
        for _, key in passed:
            self._deadlines.pop(key)[1]()

    @asynccontextmanager
    async def timeout(self, seconds: float | None) -> AsyncGenerator[None, None]:
        """Raise TimeoutError in the block once the clock has moved `seconds` further; None waits for ever."""
        async with asyncio.timeout(None) as scope:
            key = object()
            loop = asyncio.get_running_loop()
            if seconds is not None and seconds <= 0:
                scope.reschedule(loop.time())
            elif seconds is not None:
                deadline = self._now + timedelta(seconds=seconds)
                self._deadlines[key] = (deadline, lambda: scope.reschedule(loop.time()))
            try:
                yield
            finally:
                self._deadlines.pop(key, None)
