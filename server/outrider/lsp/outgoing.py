"""Where messages leave the server. Whatever stands behind it, sending never waits."""

from collections.abc import Callable
from typing import Protocol

NEARLY_EMPTY = 32 * 1024
"""Bytes waiting below which the client counts as keeping up."""

MOST_WAITING = 64 * 1024 * 1024
"""Bytes waiting above which the client counts as gone."""


class Outgoing(Protocol):
    """The way to the client."""

    @property
    def backlog(self) -> int:
        """Bytes that were sent and that the client has not taken yet."""
        ...

    def send(self, body: bytes) -> None:
        """Queue the JSON text of one message."""
        ...

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call `callback` once, on the event loop, when nothing waits any more."""
        ...
