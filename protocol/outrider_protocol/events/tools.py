"""Events of tool calls, and of what they ask the user or the client."""

import json
from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_core import to_jsonable_python

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import InputField, RulePattern, Verdict
from outrider_protocol.wire import Wire

ToolStatus = Literal["ok", "error", "denied", "cancelled", "interrupted", "skipped"]
"""How a tool call ended."""


Decision = Literal["allow_once", "allow_session", "allow_always", "reject", "put_back", "keep"]
"""A decision about an approval."""


Scope = Literal["workspace", "everywhere"]
"""Where a rule holds: in the folder it was made in, or in all."""


HunkDecision = Literal["take", "reject"]


class ToolRequested(EventData):
    """The model called a tool."""

    TYPE = "tool.requested"
    call_id: str
    name: str
    """The tool."""
    input: Any
    """The arguments; their text if they were not valid JSON, or `null`."""

    @field_validator("input", mode="before")
    @classmethod
    def _text_of_odd_values(cls, value: Any) -> Any:
        # What is None is left out on the wire, and this key must be there.
        if value is None:
            return "null"
        try:
            to_jsonable_python(value)
        except (ValueError, RecursionError):  # hundreds of levels deep, or a key with half a surrogate pair
            return json.dumps(value)
        return value


class ToolStarted(EventData):
    """The call passed its checks and approval; its effect begins."""

    TYPE = "tool.started"
    call_id: str


CheckKind = Literal["test", "types", "lint", "build", "other"]
"""What a command checks; `other` is no evidence."""


class CheckFailure(Wire):
    """What a failed check says is wrong at a line. The words are the check's own."""

    path: str
    """The file."""
    line: int
    """The line, from 1, in the file as it was then."""
    column: int | None = None
    """The column as the check counts it, mostly from 1."""
    message: str
    """What is wrong."""
    severity: Literal["error", "warning"] = "error"
    """How bad it is."""


class Connection(Wire):
    """What a command wanted of a host through the proxy of `sandbox.network`."""

    host: str
    """Its name or address, in lower case; `…` for those that are too many."""
    port: int
    """Of the host."""
    times: int
    """Connections."""
    sent: int
    """Bytes that went there."""
    received: int
    """Bytes that came from there."""
    problem: str | None = None
    """Why it was refused or failed."""


class Ran(Wire):
    """A command that ran, as evidence."""

    kind: CheckKind
    """What it checks, by its words and by what the project declares."""
    command: str
    """The check in it, without what only shows its output."""
    exit_code: int | None = None
    """Its exit code; absent if it was ended."""
    failures: list[CheckFailure] | None = None
    """Of a check that failed: what it says is wrong in files of the workspace, 100 at most."""
    connections: list[Connection] | None = None
    """The hosts of `sandbox.network`, and others, that it wanted to reach."""


class ReadText(Wire):
    """A text that a call read, as it was then."""

    path: str
    hash: str
    """Content hash."""


class WireImage(Wire):
    """An image. Its bytes are in the log's store, not in any event or export."""

    name: str
    """Its path."""
    hash: str
    """Content hash."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    size: int
    """Bytes."""


class Recalled(Wire):
    """A question that the user was not asked, because they had answered it before."""

    question: str
    """The question, as it is shown."""
    answer: str
    """What they answered, which counts again."""


class ToolFinished(EventData):
    """The result of a call. Every call has exactly one."""

    TYPE = "tool.finished"
    call_id: str
    name: str
    """The tool."""
    status: ToolStatus
    """How it ended."""
    content: str
    """What the model gets."""
    read: list[ReadText] | None = None
    """Files whose whole text is in `content`."""
    images: list[WireImage] | None = None
    """Images that the model gets with it."""
    ran: Ran | None = None
    """For a command that came to its end: what it checked, and how that went."""
    masked: int | None = None
    """How many placeholders for secrets are in `content`."""
    verdict: Verdict | None = None
    """For an edit: what it does to the problems that language servers find. In an error: why it was not asked for yet."""
    recalled: Recalled | None = None
    """For a question that the user had answered before: that answer, which users are shown instead of `content`."""


class ApprovalRequested(EventData):
    """An effect needs a yes."""

    TYPE = "approval.requested"
    id: str
    """The open item."""
    call_id: str
    digest: str
    """Hash of what is shown: for an edit its hunks, for a command argv, folder, environment and the workspace scripts
    that it runs."""
    title: str
    """What it is about."""
    summary: str | None = None
    """One line that says what will happen, if the title is long."""
    detail: str
    """All of it, such as the diff."""
    options: list[str]
    """Titles to choose from."""
    grant: str | None = None
    """What `Allow for this session` would cover; absent if not offered."""
    always: list[RulePattern] | None = None
    """The rules that `Always allow…` would save; absent if not offered."""
    change_ids: list[str] | None = None
    """For an edit: its changes, each with an earlier `edit.proposed`; absent in old logs."""
    reviewed: bool | None = None
    """True if the edit is asked again as it was reviewed."""
    group: str | None = None
    """For edits of one step that are asked about together: the id of the first of them."""
    trial: Verdict | None = None
    """For an edit: what it would do to the problems that language servers find; absent where that is not known."""


class ReviewedHunk(Wire):
    """A decision about one hunk of an edit."""

    id: str
    """The change and the number of the hunk in its `edit.proposed`, from 1: `chg_3#2`. A create, delete or rename is
    one hunk."""
    decision: HunkDecision
    """Take it or leave it out."""
    reason: str | None = None
    """Why, for the model."""
    text: str | None = None
    """With `take`: whole lines in place of the hunk's `added`."""


class ApprovalResolved(EventData):
    """An effect was allowed or rejected. A rule that forbids comes without a request."""

    TYPE = "approval.resolved"
    id: str
    """The open item."""
    call_id: str
    decision: Decision | Literal["choose"]
    """`choose` is in logs of 0.1 alone: the user ticked hunks in the editor."""
    by: Literal["person", "rule", "mode"]
    """Who decided: the user (`person`), a rule or the permission mode."""
    channel: str | None = None
    """How the answer came: `message`, `command`, `action`, `document`."""
    rule: str | None = None
    """By rule or mode: why, in words."""
    rules: list[str] | None = None
    """By rule: the ids of the rules that decided."""
    scope: Scope | None = None
    """With `allow_always`: where the rules that were saved hold."""
    grant: str | None = None
    """By rule: the session grant that covers it."""
    note: str | None = None
    """The note for the model."""
    review: list[ReviewedHunk] | None = None
    """Decisions about single hunks; other hunks follow `decision`."""
    digest: str | None = None
    """Of what was allowed, if the review changed it."""
    instead: str | None = None
    """The item that is asked in its place after a restart, because what was asked has changed. Nobody rejected it."""


class QuestionAsked(EventData):
    """A question to the user."""

    TYPE = "question.asked"
    id: str
    """The open item."""
    call_id: str | None = None
    question: str
    """The question."""
    detail: str | None = None
    """What the options mean, a line for each that says so."""
    options: list[str] = Field(default_factory=list[str])
    """Answers to choose from; the recommended one is first."""
    allow_free_form: bool = True
    """Whether any text is an answer."""
    fields: list[InputField] | None = None
    """For a question of an MCP server: the values it wants."""
    url: str | None = None
    """For a question of an MCP server: the page that it wants opened."""


class InputWanted(EventData):
    """An MCP server wants something of the user in the middle of a call. Questions follow."""

    TYPE = "input.wanted"
    call_id: str
    server: str
    """The server."""
    questions: list[str]
    """What is asked, in order."""
    keys: list[str]
    """What the server calls each of them; empty texts in the older revisions."""
    state: str | None = None
    """What the server wants back with the answers. With it the call goes on, after a restart too; without it, it is made again."""


class QuestionAnswered(EventData):
    """The user answered."""

    TYPE = "question.answered"
    id: str
    """The open item."""
    call_id: str | None = None
    answer: str
    """The answer."""
    channel: str | None = None
    """As in `approval.resolved`."""


class ToolAsked(EventData):
    """A call went to the client, whose tool it is. It is asked again under the same id after a restart."""

    TYPE = "tool.asked"
    id: str
    """The open item."""
    call_id: str
    name: str
    """The tool."""


class ToolAnswered(EventData):
    """The client, or somebody in its place, gave the result of such a call."""

    TYPE = "tool.answered"
    id: str
    """The open item."""
    call_id: str
    status: Literal["ok", "error"]
    """Whether it went wrong."""
    content: str
    """The result, cut to `limits.outputBytes`: `tool.finished` may come much later, or after a crash."""
    channel: str | None = None
    """How it came: `client` for the answer to `outrider/tool`, else as for an approval."""
