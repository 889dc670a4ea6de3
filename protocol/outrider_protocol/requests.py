"""The request that goes to the client beside those of LSP, and its answer."""

from typing import Any

from outrider_protocol.wire import Wire


class ToolParams(Wire):
    """`outrider/tool`: run a tool that the client registered."""

    session_id: str
    turn_id: str
    call_id: str
    """The call, by the id the model gave it."""
    id: str
    """The open item: what `outrider.answer` takes, and the same when the call is asked again."""
    name: str
    """The tool."""
    input: dict[str, Any]
    """The arguments; they fit the tool's `inputSchema`."""
    again: bool | None = None
    """True where the call was asked before a restart, so that the client may have run it."""


class ToolReply(Wire):
    """What came of it. Anything else counts as no answer."""

    content: str
    """What the model gets."""
    is_error: bool | None = None
    """Whether it went wrong."""
