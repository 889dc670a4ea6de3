"""Events of a turn, from the queue to its end."""

from typing import Any, Literal

from pydantic import Field

from outrider_protocol.events.base import EventData
from outrider_protocol.events.parts import Context, Open, Usage
from outrider_protocol.settings import Limits, PermissionMode
from outrider_protocol.wire import Wire

Mode = Literal["agent", "plan", "explore"]


Phase = Literal["start", "prepare", "assistant", "tools", "verify", "finish"]


Outcome = Literal["completed", "cancelled", "budget_exhausted", "failed", "refused"]


class TurnSettings(Wire):
    """What a turn goes by, beside what it was given itself."""

    permission_mode: PermissionMode
    limits: Limits


class TurnQueued(EventData):
    """A task was given while another turn was running; its `turn.started` follows when it is its time."""

    TYPE = "turn.queued"
    prompt: str
    mode: Mode
    model: str
    context: Context | None = None
    limits: dict[str, Any] | None = None


class TurnStarted(EventData):
    """A turn began."""

    TYPE = "turn.started"
    prompt: str
    mode: Mode
    model: str
    context: Context | None = None
    limits: dict[str, Any] | None = None
    """The limits that this run set for itself."""
    settings: TurnSettings | None = None
    """What the settings say at its start; absent in logs of old."""


class SettingsChanged(EventData):
    """The permission mode became narrower while a turn was running, and counts at once."""

    TYPE = "settings.changed"
    permission_mode: PermissionMode


class TurnPhase(EventData):
    """The turn went from one phase to the next."""

    TYPE = "turn.phase"
    from_: Phase = Field(validation_alias="from", serialization_alias="from")
    to: Phase
    reason: str


class TurnParked(EventData):
    """Nothing more can be done until the person answers."""

    TYPE = "turn.parked"
    open: list[Open]


class TurnResumed(EventData):
    """An open item was answered, the turn goes on."""

    TYPE = "turn.resumed"
    id: str


class TurnFinished(EventData):
    """The turn is over. Every turn has exactly one."""

    TYPE = "turn.finished"
    outcome: Outcome
    reason: str
    summary: str
    usage: Usage
