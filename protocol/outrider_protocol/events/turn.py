"""Events of a turn, from the queue to its end."""

from typing import Any, Literal

from pydantic import Field

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import Context, Open, Usage
from outrider_protocol.settings import Limits, PermissionMode, Thinking
from outrider_protocol.wire import Wire

Mode = Literal["agent", "plan", "explore"]
"""What a turn may do: everything, or only read, to answer with a plan or an answer."""


Phase = Literal["start", "prepare", "assistant", "tools", "verify", "finish"]
"""Where a turn is."""


Outcome = Literal["completed", "cancelled", "budget_exhausted", "failed", "refused"]
"""How a turn ended."""

REASONS_OF_OUTCOMES: dict[str, str] = {
    "completed": "`no_changes`; `checked`: a command succeeded after the last change, and changed no text itself; `check_failed`: the "
    "latest one after it failed; `unverified`: none ran.",
    "cancelled": "The `reason` of the cancel, or where it came from.",
    "budget_exhausted": "The budget, such as `limits.steps` or `contextWindow` (a model's `context_overflow`). There is a summary.",
    "failed": "From the model: `auth`, `unknown_model`, `rate_limit`, `quota`, `overloaded`, `bad_request`, `no_tools`, `no_images`, "
    "`connection`, `setup` (proxy or certificates), `timeout`, `stalled`, `cut_stream`, `protocol`, `script_exhausted`, "
    "`script_expectation`, `model_unavailable`; from the log: `store_failed`; from the loop: `empty_responses`, `only_reasoning`, "
    "`cut_off`, `repeated_answers`, `malformed_calls`, `repeated_calls`, `repeated_text`, `internal_error`.",
    "refused": "`model_refused`; the model's failure is `refused`.",
}
"""Each outcome of a turn, and the `reason` of its `turn.finished`."""


class TurnSettings(Wire):
    """What a turn goes by besides its own values."""

    permission_mode: PermissionMode
    """The mode."""
    limits: Limits
    """The limits."""


class TurnQueued(EventData):
    """A task waits for the running turn."""

    TYPE = "turn.queued"
    prompt: str
    """The task."""
    mode: Mode
    """Its mode."""
    model: str
    context: Context | None = None
    """What the user was looking at."""
    limits: dict[str, Any] | None = None
    """Limits of its own."""
    thinking: Thinking | None = None
    """How much the model thinks, if the task says so."""


class TurnStarted(EventData):
    """A turn began."""

    TYPE = "turn.started"
    prompt: str
    """The task."""
    mode: Mode
    """Its mode."""
    model: str
    context: Context | None = None
    """What the user was looking at."""
    limits: dict[str, Any] | None = None
    """Limits of its own."""
    thinking: Thinking | None = None
    """How much the model thinks, if the task says so."""
    settings: TurnSettings | None = None
    """What the settings say at its start."""


class SettingsChanged(EventData):
    """The mode became narrower during the turn, and counts at once."""

    TYPE = "settings.changed"
    permission_mode: PermissionMode
    """The mode."""


class TurnPhase(EventData):
    """The turn went from one phase to the next."""

    TYPE = "turn.phase"
    from_: Phase = Field(validation_alias="from", serialization_alias="from")
    """The phase before."""
    to: Phase
    """The phase now."""
    reason: str
    """`started`, `prepared`, `tool_calls`, `tool_results`, `repair`, `steering`, `answered`, `resumed`, or the reason
    of its end."""


class TurnParked(EventData):
    """The turn waits for the user."""

    TYPE = "turn.parked"
    open: list[Open]
    """What waits."""


class TurnResumed(EventData):
    """An open item was answered; the turn continues."""

    TYPE = "turn.resumed"
    id: str
    """The open item."""


class TurnFinished(EventData):
    """The turn is over; exactly one for each turn."""

    TYPE = "turn.finished"
    outcome: Outcome
    """How it ended."""
    reason: str
    """Why, see [how a turn ends](#how-a-turn-ends)."""
    summary: str
    """The model's last words, mostly."""
    usage: Usage
    """What it used."""
