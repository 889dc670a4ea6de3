"""Committed events and live frames, as they travel inside the process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from outrider_protocol import logged
from outrider_protocol.log import (
    Logged,
    LoggedEvent,
    from_old_log,
    from_wire,
    logged_event,
    to_wire,
    wire_text,
)

__all__ = [
    "EventListener", "FrameListener", "Logged", "LoggedEvent", "StreamFrame", "from_old_log", "from_wire",
    "logged_event", "messages_of", "to_wire", "wire_text",
]  # fmt: skip


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


def messages_of(event: LoggedEvent, event_at: Callable[[int], LoggedEvent]) -> list[str]:
    """The content hashes of all messages that an event names, in order.

    `model.requested` may name only those added since an earlier event; older logs name all of them each time.

    Args:
        event: A `model.requested`, or a `context.*`, `conversation.restored` or `budget.exhausted` with messages; others name none.
        event_at: Gives the event of the same session with a seq.
    """
    tails: list[list[str]] = []
    messages = _named(event)
    while not isinstance(messages, list):
        tails.append(messages["added"])
        messages = _named(event_at(messages["after"]))
    return [*messages, *(digest for tail in reversed(tails) for digest in tail)]


def _named(event: LoggedEvent) -> list[str] | logged.AddedMessages:
    match event.type:
        case "model.requested":
            return event.data["messages"]
        case "conversation.restored":
            return event.data["messages"]
        case "context.compacted" | "context.pruned" | "context.trimmed" | "budget.exhausted":
            return event.data.get("messages", [])
        case _:
            return []


EventListener = Callable[[LoggedEvent], None]
FrameListener = Callable[[StreamFrame], None]
