"""What stands in several events, and in commands: usage, rules, open items, places, and what the person looked at."""

from typing import Any, Literal

from pydantic import Field

from outrider_protocol.wire import Wire


class Usage(Wire):
    """Tokens spent. `cost` is absent where it is unknown."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost: float | None = None
    estimated: bool | None = None
    """True where a provider did not count some of it, so that it was estimated from the length of the texts."""


class RulePattern(Wire):
    """What a rule is about."""

    tool: str
    """A tool's name; `edit`, `read` or `execute` for all of that kind."""
    command: str | None = None
    """Of `run_command`: the words that the command of each part begins with, quoted as in a shell."""
    exact: bool | None = None
    """Whether these are all its words."""
    script: str | None = None
    """Of a command that runs a file of the workspace: the SHA-256 of its content, or `any`."""
    path: str | None = None
    """A glob over paths, relative to a workspace folder or absolute: `*` stays within a name, `**` does not."""
    host: str | None = None
    """A host; `*.example.org` for those below it."""


class Open(Wire):
    """An open item: something that waits for the person, or for a tool of the client."""

    id: str
    kind: Literal["approval", "question", "tool"]
    turn_id: str
    call_id: str | None = None
    title: str
    detail: str = ""
    options: list[str] = Field(default_factory=list[str])
    allow_free_form: bool = False
    document_uri: str | None = None
    """A document that shows the item in full."""
    always: list[RulePattern] | None = None
    """Of an approval: exactly the rules that `Always allow…` would save; absent where it is not offered."""


class Position(Wire):
    """A place in a document, zero-based, in the negotiated position encoding."""

    line: int = Field(ge=0)
    character: int = Field(ge=0)


class Range(Wire):
    """A stretch of a document; the end is exclusive."""

    start: Position
    end: Position


class Selection(Wire):
    """A selected range."""

    uri: str
    range: Range


class Diagnostics(Wire):
    """Diagnostics of one document, as LSP `Diagnostic` objects."""

    uri: str
    items: list[dict[str, Any]]


class Context(Wire):
    """What the person was looking at when the task was given."""

    selection: Selection | None = None
    documents: list[str] = Field(default_factory=list[str])
    diagnostics: list[Diagnostics] = Field(default_factory=list[Diagnostics])
