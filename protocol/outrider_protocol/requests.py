"""The requests that go to the client beside those of LSP, and their answers."""

from typing import Any

from pydantic import model_validator

from outrider_protocol import ASK_REQUEST, DIAGNOSTICS_REQUEST, SAVE_REQUEST, TOOL_REQUEST
from outrider_protocol.events import Decision, Diagnostics, Open, ReviewedHunk, Scope
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


class AskParams(Wire):
    """`outrider/ask`: put an open item before the person, in the way of the client."""

    session_id: str
    item: Open


class AskReply(Wire):
    """The answer: `decision` for an approval, `answer` for a question. Null stands for none, as does anything else."""

    decision: Decision | None = None
    answer: str | None = None
    note: str | None = None
    review: list[ReviewedHunk] | None = None
    """For an edit, beside a `decision`: what is decided otherwise about single hunks, or said about them."""
    scope: Scope | None = None
    """With `allow_always`: where its rules shall hold; absent means in this workspace."""

    @model_validator(mode="after")
    def _one_of(self) -> "AskReply":
        if (self.decision is None) == (self.answer is None):
            raise ValueError("give either decision (for an approval) or answer (for a question)")
        return self


class DiagnosticsParams(Wire):
    """`outrider/diagnostics`: what the editor shows of all language servers and linters, now."""

    uris: list[str] | None = None
    """Only of these documents, as the client spells them; absent: of all."""


class DiagnosticsReply(Wire):
    """What they report. A document without problems may be absent."""

    diagnostics: list[Diagnostics]


REQUESTS: dict[str, tuple[type[Wire], type[Wire]]] = {
    TOOL_REQUEST: (ToolParams, ToolReply),
    ASK_REQUEST: (AskParams, AskReply),
    SAVE_REQUEST: (SaveParams, SaveReply),
    DIAGNOSTICS_REQUEST: (DiagnosticsParams, DiagnosticsReply),
}
"""Params and result of each."""
