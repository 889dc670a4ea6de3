"""Committed events and live frames, as they travel inside the process."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

_ID_KEYS: Final = ("id", "callId", "changeId", "messageId", "pendingId")


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of a session's log. `data` is JSON-ready and must not be changed."""

    seq: int
    ts: str
    session_id: str
    turn_id: str | None
    type: str
    data: dict[str, Any]

    def names(self) -> Iterator[str]:
        """Every id in it."""
        yield self.session_id
        if self.turn_id is not None:
            yield self.turn_id
        yield from (self.data[key] for key in _ID_KEYS if key in self.data)
        yield from (call["id"] for call in self.data.get("toolCalls", ()))


@dataclass(frozen=True, slots=True)
class StreamFrame:
    """A piece of text as it comes; not logged."""

    session_id: str
    turn_id: str
    source_id: str
    """The message or the call it belongs to."""
    kind: Literal["text", "reasoning", "output"]
    offset: int
    text: str


EventListener = Callable[[LoggedEvent], None]
FrameListener = Callable[[StreamFrame], None]
