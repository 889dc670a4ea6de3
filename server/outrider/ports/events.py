"""Committed events and live frames, as they travel inside the process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event of a session's log. `data` is JSON-ready and must not be changed."""

    seq: int
    ts: str
    session_id: str
    turn_id: str | None
    type: str
    data: dict[str, Any]


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
