"""The requests that go to the client beside those of LSP, and their answers."""

from typing import Any, Literal

from pydantic import model_validator

from outrider_protocol import ASK_REQUEST, LANGUAGE_REQUEST, SAVE_REQUEST, TOOL_REQUEST
from outrider_protocol.events import Decision, Open, ReviewedHunk, Scope
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


LanguageMethod = Literal[
    "textDocument/diagnostic",
    "workspace/diagnostic",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentSymbol",
    "workspace/symbol",
    "textDocument/hover",
    "textDocument/prepareCallHierarchy",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "textDocument/rename",
    "textDocument/codeAction",
    "codeAction/resolve",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
]
"""What the language servers of an editor can be asked."""

LanguageEncoding = Literal["utf-8", "utf-16", "utf-32"]
"""What columns are counted in, as LSP calls it."""


class LanguageParams(Wire):
    """Ask the editor's own language servers. Nothing is applied, shown or saved."""

    method: LanguageMethod
    """What is asked. `workspace/diagnostic`: all that the editor reports."""
    params: dict[str, Any]
    """As LSP has them for this method."""
    uris: list[str]
    """The documents it is about, as the client spells them, or as file URIs; they need not be open."""
    encoding: LanguageEncoding
    """What columns in `params` are counted in: the encoding of this connection."""


class LanguageReply(Wire):
    """An error or any other shape is no answer."""

    result: Any = None
    """LSP's result of the method, null included. Of diagnostics: full reports. Of `textDocument/codeAction`: no commands.
    `data` comes back as it was given."""
    by: list[str] | None = None
    """Who answered, where that is known."""
    versions: dict[str, int] | None = None
    """For those of `uris` that are open the version that the server was last sent. With another one the answer does not count."""
    encoding: LanguageEncoding | None = None
    """What columns in `result` are counted in; absent: as in the params."""
    unserved: str | None = None
    """Nobody in this editor does this for these documents, and why. A server of Outrider's own is asked then."""


REQUESTS: dict[str, tuple[type[Wire], type[Wire]]] = {
    TOOL_REQUEST: (ToolParams, ToolReply),
    ASK_REQUEST: (AskParams, AskReply),
    SAVE_REQUEST: (SaveParams, SaveReply),
    LANGUAGE_REQUEST: (LanguageParams, LanguageReply),
}
"""Params and result of each."""
