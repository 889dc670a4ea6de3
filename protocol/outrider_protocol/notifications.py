"""The two notifications to a client that set `events: true`."""

from typing import Any, Literal

from outrider_protocol.wire import Wire


class Event(Wire):
    """`outrider/event`: one committed event of a session's log."""

    v: Literal[1] = 1
    seq: int
    """Per session, from 1, without gaps."""
    ts: str
    """RFC 3339, milliseconds, `Z`."""
    session_id: str
    turn_id: str | None = None
    type: str
    data: dict[str, Any]


class Frame(Wire):
    """`outrider/stream`: text as it comes. Frames are not logged; the log has the whole.

    The frames of one `messageId` and `kind`, joined since the last `model.reset`, equal the text in the log.
    """

    session_id: str
    turn_id: str
    message_id: str | None = None
    call_id: str | None = None
    kind: Literal["text", "reasoning", "output"]
    offset: int
    """Characters of this stream sent before."""
    text: str
