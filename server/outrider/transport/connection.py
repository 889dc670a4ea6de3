"""What a connection with a client is made of, whatever is spoken over it."""

from collections.abc import Callable
from typing import Protocol

from outrider.ports.framing import FramingProblem


class Framing(Protocol):
    """Cuts a stream of bytes into the bodies of messages. It never raises: what does not belong is reported."""

    def feed(self, data: bytes) -> list[bytes | FramingProblem]:
        """Take the next bytes; give what is complete now."""
        ...

    def at_end(self) -> FramingProblem | None:
        """What is wrong with how the stream ended: a message that was cut off."""
        ...


NEARLY_EMPTY = 32 * 1024
"""Bytes waiting below which the client counts as keeping up."""

MOST_WAITING = 64 * 1024 * 1024
"""Bytes waiting, without the longest message, above which the client counts as gone."""


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
