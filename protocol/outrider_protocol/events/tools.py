"""Events of tool calls, and of what they ask the person or the client."""

import json
from typing import Any, Literal

from pydantic import Field, field_validator
from pydantic_core import to_jsonable_python

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import RulePattern
from outrider_protocol.wire import Wire

ToolStatus = Literal["ok", "error", "denied", "cancelled", "interrupted", "skipped"]


Decision = Literal["allow_once", "allow_session", "allow_always", "choose", "reject"]


Scope = Literal["workspace", "everywhere"]
"""Where a rule holds: in the folder it was made in, or in all."""


HunkDecision = Literal["take", "reject"]


class ToolRequested(EventData):
    """The model asked for a tool."""

    TYPE = "tool.requested"
    call_id: str
    name: str
    input: Any
    """The arguments; their text where they were not valid JSON, for `null`, and where nobody could read them."""

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
    """The call passed its checks and its effect begins."""

    TYPE = "tool.started"
    call_id: str


class ReadText(Wire):
    """A text that a call read, as it was then."""

    path: str
    hash: str
    """Content hash."""


class WireImage(Wire):
    """An image that a call gave. Its content lies in the log's store, and in no event or export."""

    name: str
    """Its path."""
    hash: str
    """Content hash."""
    media_type: str
    """`image/png`, `image/jpeg`, `image/gif` or `image/webp`."""
    width: int
    height: int
    """Pixels."""
    size: int
    """Bytes."""


class ToolFinished(EventData):
    """The result of a call. Every call has exactly one."""

    TYPE = "tool.finished"
    call_id: str
    name: str
    status: ToolStatus
    content: str
    read: list[ReadText] | None = None
    """The files whose whole text stands behind `content`."""
    images: list[WireImage] | None = None
    """The images that the model gets with `content`."""
    masked: int | None = None
    """In how many places of `content` a placeholder stands for a secret; absent where none does."""


class ApprovalRequested(EventData):
    """An effect waits for a yes."""

    TYPE = "approval.requested"
    id: str
    call_id: str
    digest: str
    """Hash of what is shown: per hunk the text removed, put in and around; for a command argv, folder, environment."""
    title: str
    detail: str
    options: list[str]
    grant: str | None = None
    """What "Allow for this session" would cover; absent where it is not offered."""
    always: list[RulePattern] | None = None
    """The rules that "Always allow…" would save; absent where it is not offered."""
    change_ids: list[str] | None = None
    """Of an edit: its changes, each with an `edit.proposed` before this; absent for others, and in logs of old."""
    reviewed: bool | None = None
    """True where it is an edit that was reviewed before, and as it was reviewed; what is not in it was rejected."""


class ReviewedHunk(Wire):
    """What the person decided about one hunk of an edit that they were asked about."""

    id: str
    """The change and the number of the hunk in its `edit.proposed`, from 1: `chg_3#2`. One that is created, deleted
    or renamed has just one."""
    decision: HunkDecision
    reason: str | None = None
    """What the model is told about it."""
    text: str | None = None
    """What is put in instead of the hunk's `added`, whole lines; only for `take`."""


class ApprovalResolved(EventData):
    """An effect was allowed or rejected. A rule that forbids comes without a request: `by` is `rule`, and `id` is new."""

    TYPE = "approval.resolved"
    id: str
    call_id: str
    decision: Decision
    by: Literal["person", "rule", "mode"]
    channel: str | None = None
    """How the answer came: `message`, `command`, `action`, `document`."""
    rule: str | None = None
    """By rule or mode: why, in words."""
    rules: list[str] | None = None
    """By rule: the ids of the rules of the ledger, or of a workspace, that decided."""
    scope: Scope | None = None
    """With `allow_always`: where the rules that were saved hold."""
    grant: str | None = None
    """By rule: which "Allow for this session" covers it."""
    note: str | None = None
    review: list[ReviewedHunk] | None = None
    """What was decided about single hunks; those that are not named are as `decision` says."""
    digest: str | None = None
    """Of what was allowed, where the review made it something else than was asked."""
    instead: str | None = None
    """The item that is asked in its place, as what was asked has changed: nobody rejected it, though `decision` closes it."""


class QuestionAsked(EventData):
    """The model or the server asks the person."""

    TYPE = "question.asked"
    id: str
    call_id: str | None = None
    question: str
    options: list[str] = Field(default_factory=list[str])
    allow_free_form: bool = True


class QuestionAnswered(EventData):
    """The person answered."""

    TYPE = "question.answered"
    id: str
    call_id: str | None = None
    answer: str
    channel: str | None = None


class ToolAsked(EventData):
    """A call went to the client, whose tool it is. It is asked again under the same id after a restart."""

    TYPE = "tool.asked"
    id: str
    call_id: str
    name: str


class ToolAnswered(EventData):
    """The client, or somebody in its place, gave the result of such a call."""

    TYPE = "tool.answered"
    id: str
    call_id: str
    status: Literal["ok", "error"]
    content: str
    """The result, cut to `limits.outputBytes`: `tool.finished` may come much later, or after a crash."""
    channel: str | None = None
    """How it came: `client` for the answer to `outrider/tool`, else as for an approval."""
