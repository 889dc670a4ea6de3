"""Events of what the model is told: plan, instructions, map, steering, and what was left out to make room."""

from typing import Literal

from pydantic import Field

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import Verdict
from outrider_protocol.wire import Wire


class PlanItem(Wire):
    """One point of the plan."""

    text: str = Field(min_length=1)
    """What is to be done."""
    status: Literal["pending", "in_progress", "done"] = "pending"
    """How far it is."""


class PlanUpdated(EventData):
    """The plan is now this."""

    TYPE = "plan.updated"
    items: list[PlanItem]
    """The whole plan."""


class PlanWritten(EventData):
    """A planning turn wrote its document. The user may have changed it since; `outrider.plan` starts what it says then."""

    TYPE = "plan.written"
    path: str
    """The document, in the first workspace folder."""
    goal: str
    """What is to be reached."""
    brief: list[str]
    """What the user answered in the turn, each with its question."""
    steps: list[str]
    """The steps, in order."""
    files: list[str]
    """What is changed in which file."""
    checks: list[str]
    """Commands that decide whether it is done."""


class InstructionsFound(EventData):
    """A folder that the model reached has instructions of its own."""

    TYPE = "instructions.found"
    path: str
    """The file."""
    told: str
    """What the model gets with its next request."""


class MapDrawn(EventData):
    """A map of the workspace's names was ready for a turn."""

    TYPE = "map.drawn"
    told: str
    """What the model gets with its next request."""


class VerdictFound(EventData):
    """Language servers came to a verdict on edits after their results were given, or looked again at problems that are left."""

    TYPE = "verdict.found"
    verdict: Verdict
    """What the edits do to the problems."""
    told: str | None = None
    """What the model gets with its next request; absent where that is nothing new."""


class ContextCompacted(EventData):
    """Older messages were replaced by a summary."""

    TYPE = "context.compacted"
    before: int
    """About how many tokens the request had."""
    after: int
    """About how many it has now."""
    reason: str
    """`full`: the window is nearly full; `overflow`: the provider found the request too long."""
    by: Literal["model", "house"] | None = None
    """Who wrote the summary: the model, or the server (`house`) if the model gave none."""
    messages: list[str] | None = None
    """Content hashes of all messages as they are now; absent in old logs."""
    context_window: int | None = None
    """Tokens of a request and its answer."""


class ContextPruned(EventData):
    """Older tool output was replaced or cut."""

    TYPE = "context.pruned"
    call_ids: list[str]
    """The calls whose output it was."""
    reason: str
    """As in `context.compacted`."""
    before: int | None = None
    """As in `context.compacted`."""
    after: int | None = None
    """As in `context.compacted`."""
    messages: list[str] | None = None
    """As in `context.compacted`."""
    context_window: int | None = None
    """As in `context.compacted`."""


class TrimmedPart(Wire):
    """A part of the first messages that was left out or cut."""

    kind: str
    """`instructions`, `open`, `selection`, `diagnostics` or `image`."""
    name: str | None = None
    """Which one of its kind."""
    left: int
    """Characters of it that are left."""


class ContextTrimmed(EventData):
    """Parts of the first messages were left out, because the rest alone does not fit."""

    TYPE = "context.trimmed"
    parts: list[TrimmedPart]
    """What was left out or cut."""
    reason: str
    """As in `context.compacted`."""
    before: int
    """As in `context.compacted`."""
    after: int
    """As in `context.compacted`."""
    given: list[str]
    """Content hashes of the changed messages, as they were."""
    messages: list[str]
    """As in `context.compacted`."""
    context_window: int
    """As in `context.compacted`."""


class ConversationRestored(EventData):
    """The session went back to before a message: the model forgets some turns. Their events stay, and so do their changes."""

    TYPE = "conversation.restored"
    turns: list[str]
    """The turns that left the conversation, in order."""
    messages: list[str]
    """Content hashes of all messages as they are now."""
    plan: list[PlanItem]
    """The plan as it was then."""


class BudgetExhausted(EventData):
    """A budget of the turn is spent."""

    TYPE = "budget.exhausted"
    limit: str
    """The setting, such as `limits.steps`, or `contextWindow` if a request cannot be made short enough."""
    allowed: float
    """What was allowed."""
    used: float
    """What was used."""
    messages: list[str] | None = None
    """For `contextWindow`: content hashes of the messages that do not fit."""
    context_window: int | None = None
    """For `contextWindow`: tokens of a request and its answer."""


class SteeringReceived(EventData):
    """A text for the running turn: queued, or withdrawn before the model had it. The same id again replaces its text."""

    TYPE = "steering.received"
    pending_id: str
    """Its id."""
    text: str
    """The text."""
    state: Literal["queued", "removed"] = "queued"
    """`removed`: withdrawn before the model had it."""


class ErrorRaised(EventData):
    """Something went wrong that the user should know."""

    TYPE = "error"
    code: str
    """What kind of error."""
    message: str
    """It in words."""
