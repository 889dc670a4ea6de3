"""Events of what the model is told: plan, instructions, map, steering, and what was left out to make room."""

from typing import Literal

from pydantic import Field

from outrider_protocol.events.base import EventData
from outrider_protocol.wire import Wire


class PlanItem(Wire):
    """One point of the plan."""

    text: str = Field(min_length=1)
    status: Literal["pending", "in_progress", "done"] = "pending"


class PlanUpdated(EventData):
    """The plan is now this."""

    TYPE = "plan.updated"
    items: list[PlanItem]


class InstructionsFound(EventData):
    """A folder that the model came to has instructions of its own."""

    TYPE = "instructions.found"
    path: str
    told: str
    """What the model is told of it with the next request."""


class MapDrawn(EventData):
    """A map of the workspace's names was ready for a turn."""

    TYPE = "map.drawn"
    told: str
    """What the model is told with the next request."""


class ContextCompacted(EventData):
    """Older messages were replaced by a summary."""

    TYPE = "context.compacted"
    before: int
    """About how many tokens the request had."""
    after: int
    reason: str
    """`full`: the window is nearly full; `overflow`: the provider found the request too long."""
    by: Literal["model", "house"] | None = None
    """Who wrote the summary: the model, or the server, because no answer of the model could be used."""
    messages: list[str] | None = None
    """Content hashes of the messages as they are now, in order; absent in logs of old."""
    context_window: int | None = None
    """Tokens that the model can take, as it was reckoned with."""


class ContextPruned(EventData):
    """Older tool output was left out."""

    TYPE = "context.pruned"
    call_ids: list[str]
    reason: str
    """As in `context.compacted`."""
    before: int | None = None
    after: int | None = None
    messages: list[str] | None = None
    context_window: int | None = None


class TrimmedPart(Wire):
    """A part of the first messages that was left out or cut."""

    kind: str
    """`instructions`, `open`, `selection`, `diagnostics`."""
    name: str | None = None
    left: int
    """Characters of it that are left."""


class ContextTrimmed(EventData):
    """Parts of the system message and of the task were left out, because the rest alone does not fit."""

    TYPE = "context.trimmed"
    parts: list[TrimmedPart]
    reason: str
    before: int
    after: int
    given: list[str]
    """Content hashes of the messages that were changed, as they were."""
    messages: list[str]
    context_window: int


class BudgetExhausted(EventData):
    """A budget of the turn is spent."""

    TYPE = "budget.exhausted"
    limit: str
    """The setting, such as `limits.steps`; `contextWindow` where a request is too long whatever is left out."""
    allowed: float
    used: float
    messages: list[str] | None = None
    """Of `contextWindow`: content hashes of the messages that do not fit; absent in logs of old."""
    context_window: int | None = None
    """Of `contextWindow`: tokens that the model can take."""


class SteeringReceived(EventData):
    """A text for the running turn: queued, or taken back before the model saw it."""

    TYPE = "steering.received"
    pending_id: str
    text: str
    state: Literal["queued", "removed"] = "queued"


class ErrorRaised(EventData):
    """Something went wrong that the person should know of."""

    TYPE = "error"
    code: str
    message: str
