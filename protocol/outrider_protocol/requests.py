"""The requests that go to the client beside those of LSP, and their answers."""

from typing import Any

from pydantic import model_validator

from outrider_protocol import ASK_REQUEST, DIAGNOSTICS_REQUEST, SAVE_REQUEST, TOOL_REQUEST
from outrider_protocol.events import Decision, Diagnostics, Open, ReviewedHunk, Scope
from outrider_protocol.wire import Wire


class ToolParams(Wire):
    """Run a tool that the client registered."""

    session_id: str
    turn_id: str
    call_id: str
    """The call, by the id the model gave it."""
    id: str
    """The open item that `outrider.answer` takes. It stays the same when the call is asked again."""
    name: str
    """The tool."""
    input: dict[str, Any]
    """The arguments; they fit `inputSchema`."""
    again: bool | None = None
    """True if an earlier server asked for it: the client may have run it. Keep results by `id` to run nothing twice."""


class ToolReply(Wire):
    """Anything else counts as no answer."""

    content: str
    """What the model gets, cut to `limits.outputBytes`."""
    is_error: bool | None = None
    """Whether it went wrong."""


class SaveParams(Wire):
    """Save open documents as the user would, formatters included."""

    uris: list[str]
    """The documents, as the client spells them."""


class SaveFailure(Wire):
    """A document that could not be saved."""

    uri: str
    """The document."""
    reason: str
    """Why it was not saved."""


class SaveReply(Wire):
    """It is believed only as far as `didSave` or the disk confirms it."""

    saved: list[str]
    """Documents saved now."""
    failed: list[SaveFailure] | None = None
    """The others."""


class AskParams(Wire):
    """Show an open item to the user, in the client's own way."""

    session_id: str
    item: Open
    """The item with all of its `detail`. Control and direction characters in it are made visible."""


class AskReply(Wire):
    """Null or any other shape is no answer."""

    decision: Decision | None = None
    """For an approval: one of the item's `options`, as in `outrider.answer`."""
    answer: str | None = None
    """For a question: one of its options, or any text with `allowFreeForm`."""
    note: str | None = None
    """A note for the model."""
    review: list[ReviewedHunk] | None = None
    """For an edit: decisions about single hunks."""
    scope: Scope | None = None
    """With `allow_always`: where its rules hold. Show the rules (`always`) before."""

    @model_validator(mode="after")
    def _one_of(self) -> "AskReply":
        if (self.decision is None) == (self.answer is None):
            raise ValueError("give either decision (for an approval) or answer (for a question)")
        return self


class DiagnosticsParams(Wire):
    """Give what the editor shows of all language servers and linters."""

    uris: list[str] | None = None
    """Only of these documents, as the client spells them, or as file URIs; absent: of all."""


class DiagnosticsReply(Wire):
    """Null or any other shape is an error for the model, never "no problems"."""

    diagnostics: list[Diagnostics]
    """What is shown now, with positions in the negotiated encoding. A document without problems may be absent."""


REQUESTS: dict[str, tuple[type[Wire], type[Wire]]] = {
    TOOL_REQUEST: (ToolParams, ToolReply),
    ASK_REQUEST: (AskParams, AskReply),
    SAVE_REQUEST: (SaveParams, SaveReply),
    DIAGNOSTICS_REQUEST: (DiagnosticsParams, DiagnosticsReply),
}
"""Params and result of each."""
