"""Time, injected so that tests own it."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
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

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[None]:
        """Raise TimeoutError in the block when it takes longer than `seconds`; None waits for ever."""
        ...


def rfc3339(moment: datetime) -> str:
    """`moment` (UTC) as an event's `ts`: milliseconds and `Z`."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
