"""What stands in several events, and in commands: usage, rules, open items, places, and what the user looked at."""

from typing import Any, Literal

from pydantic import Field

from outrider_protocol.wire import Wire


class Usage(Wire):
    """Tokens used."""

    input_tokens: int = 0
    """Sent, cached ones included."""
    output_tokens: int = 0
    """Received, reasoning included."""
    cached_tokens: int | None = None
    """Of the input: from the provider's cache."""
    reasoning_tokens: int | None = None
    """Of the output: reasoning."""
    cost: float | None = None
    """Absent if unknown, even for one part of a sum."""
    estimated: bool | None = None
    """True if a provider did not count some of it."""


class RulePattern(Wire):
    """What a rule covers."""

    tool: str
    """A tool's name; `edit`, `read` or `execute` for all of that kind."""
    command: str | None = None
    """For `run_command`: the first words of each part of a command line."""
    exact: bool | None = None
    """Whether these are all its words."""
    script: str | None = None
    """The SHA-256 of the workspace file that the command runs (for an interpreter and its script in the workspace:
    both, separated by a space), or `any`. An allowing rule holds for that content alone. For a tool of an MCP server: the
    SHA-256 of its definition."""
    path: str | None = None
    """A glob, relative to a workspace folder or absolute: `*` stays within a name, `**` does not."""
    host: str | None = None
    """A host in the words of a command, or `*.example.org`. It does not limit an allowed command."""


class InputField(Wire):
    """A value that an MCP server wants of the user."""

    name: str
    """The name of the value."""
    title: str
    """What users call it."""
    description: str | None = None
    """What it is for."""
    kind: Literal["text", "integer", "number", "boolean", "choice", "choices"]
    """What it is; `choices` is a list of options."""
    required: bool
    """Whether it must be given."""
    options: list[str] | None = None
    """For `choice` and `choices`: the values."""
    titles: list[str] | None = None
    """What the options are called, in the same order; absent: as they are."""


class Problem(Wire):
    """A problem that a language server finds in a file."""

    path: str
    line: int
    """From 1."""
    severity: Literal["error", "warning", "information", "hint"]
    """How bad it is."""
    message: str
    """What is wrong, in one line."""
    source: str | None = None
    """Who finds it."""
    code: str | None = None
    """What it is called there."""


class Verdict(Wire):
    """What an edit does to the problems of the files it changes and of those that refer to them."""

    introduced: list[Problem] = Field(default_factory=list[Problem])
    """Problems that it brings, the worst first; at most 20."""
    introduced_count: int = 0
    """How many it brings."""
    fixed: list[Problem] = Field(default_factory=list[Problem])
    """Problems that are gone with it; at most 20."""
    fixed_count: int = 0
    """How many are gone."""
    unjudged: int | None = None
    """Files that refer to the changed ones and were not looked at, as there are more than 20."""
    unfollowed: int | None = None
    """Changed names whose users were not looked for, as there are more than 12."""
    silent: list[str] | None = None
    """Language servers of these files that gave no verdict."""


class Open(Wire):
    """Something that waits for the user or for a client tool."""

    id: str
    """What `outrider.answer` takes."""
    kind: Literal["approval", "question", "tool"]
    """An approval or a question for the user, or a call of a client tool."""
    turn_id: str
    call_id: str | None = None
    title: str
    """What it is about."""
    summary: str | None = None
    """One line that says what will happen; a client shows it in place of a long title."""
    detail: str = ""
    """All of it, such as the diff; for a tool its arguments."""
    options: list[str] = Field(default_factory=list[str])
    """Titles to choose from."""
    allow_free_form: bool = False
    """Whether any text is an answer."""
    document_uri: str | None = None
    """A document that shows all of it."""
    always: list[RulePattern] | None = None
    """For an approval: the rules that `Always allow…` would save; absent if not offered."""
    fields: list[InputField] | None = None
    """For a question of an MCP server: the values it wants. The answer is a JSON object of them, or a line `name: value` for each."""
    url: str | None = None
    """For a question of an MCP server: the page that `Open the page` opens."""
    group: str | None = None
    """For edits of one step that are asked about together: the id of the first of them."""


class Position(Wire):
    """A place in a document, from 0, in the negotiated encoding."""

    line: int = Field(ge=0)
    """The line."""
    character: int = Field(ge=0)
    """The character."""


class Range(Wire):
    """A stretch of a document."""

    start: Position
    """Its start."""
    end: Position
    """Its end, exclusive."""


class Selection(Wire):
    """A selected range."""

    uri: str
    """The document."""
    range: Range
    """The range."""


class Diagnostics(Wire):
    """Diagnostics of one document."""

    uri: str
    """The document."""
    items: list[dict[str, Any]]
    """LSP `Diagnostic` objects."""


class Context(Wire):
    """What the user was looking at."""

    selection: Selection | None = None
    """What is selected."""
    documents: list[str] = Field(default_factory=list[str])
    """URIs of open documents."""
    diagnostics: list[Diagnostics] = Field(default_factory=list[Diagnostics])
    """What is wrong in them."""
