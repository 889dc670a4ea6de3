"""The notifications to a client that set `events: true`."""

from typing import Any, Literal

from outrider_protocol.wire import Wire


class Event(Wire):
    """`outrider/event`: one committed event of a session's log."""

    v: Literal[1] = 1
    """1. It changes when a key changes its meaning."""
    seq: int
    """Per session, from 1, without gaps."""
    ts: str
    """RFC 3339, milliseconds, `Z`."""
    session_id: str
    turn_id: str | None = None
    """The turn, if it belongs to one."""
    type: str
    """One of the [event types](#events)."""
    data: dict[str, Any]
    """What that type says."""


class Frame(Wire):
    """Text as it arrives.

    Frames are not logged. Those of one `messageId` and `kind`, joined since the last `model.reset`, equal the text in
    the log.
    """

    session_id: str
    turn_id: str
    message_id: str | None = None
    """For `text` and `reasoning`: the model's answer."""
    call_id: str | None = None
    """For `output`: the tool call."""
    kind: Literal["text", "reasoning", "output"]
    """Which stream of that answer or call."""
    offset: int
    """Unicode code points of this stream sent before."""
    text: str
    """The piece."""


class Left(Wire):
    """A session of another process is watched no longer: it was released there, or that process ended.

    It comes after the last event of that process.
    """

    session_id: str
    unfinished: bool
    """Whether its turn has not ended. `outrider.resume` goes on with it here."""
