"""The requests that go to the client beside those of LSP, and their answers."""

from typing import Any

from outrider_protocol import SAVE_REQUEST, TOOL_REQUEST
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


class SaveParams(Wire):
    """`outrider/save`: save open documents, as the person would."""

    uris: list[str]
    """The documents, as the client spells them."""


class SaveFailure(Wire):
    """A document that could not be saved."""

    uri: str
    reason: str


class SaveReply(Wire):
    """What came of it. It is only believed as far as `didSave` or the disk bears it out."""

    saved: list[str]
    """The documents that are saved now."""
    failed: list[SaveFailure] | None = None
    """Those that are not, and why."""


REQUESTS: dict[str, tuple[type[Wire], type[Wire]]] = {
    TOOL_REQUEST: (ToolParams, ToolReply),
    SAVE_REQUEST: (SaveParams, SaveReply),
}
"""Params and result of each."""
