"""What is known of a turn, its calls and its jobs; `state.py` folds it from the log."""

from dataclasses import dataclass, field
from typing import Any, Literal

from outrider.agent.account import Account
from outrider.ports.editor import ToolAnswer
from outrider.ports.model import ToolCall
from outrider.workspace.review import Review
from outrider_protocol.events import Context, JobFinished, Mode, Outcome, Phase, Usage

JOB_CHARACTERS = 60
"""Characters of a job's command that name it."""
ENDED_WITH = {
    "cancelled": "was ended, because the task that started it was cancelled",
    "closed": "was ended with the session",
    "interrupted": "ended when the server stopped; its effect is unknown",
}
"""What became of a job, in words."""


@dataclass(slots=True)
class CallState:
    """How far a tool call came."""

    call: ToolCall
    requested: bool = False
    started: bool = False
    finished: bool = False
    approved: str | None = None
    """Digest of what the person said yes to."""
    choosing: bool = False
    """Whether what they said last is that they choose in the editor, which the texts will tell."""
    rejected: tuple[str, str | None, Review | None] | None = None
    """Digest of what the person rejected, their note, and what they said about single hunks."""
    reviews: list[Review] = field(default_factory=list[Review])
    """What the person decided about single hunks of what they allowed."""
    notes: list[str] = field(default_factory=list[str])
    """What the person said with a yes to all of it."""
    asked_for: list[str] = field(default_factory=list[str])
    """The ids of the changes that the latest approval was asked for."""
    answered: tuple[str, str] | None = None
    """The latest question of the call that was answered, and the answer."""
    changed: bool = False
    """Whether its command changed files itself; what it only touched, such as a cache, counts if nothing else changed."""
    is_job: bool = False
    """Whether what it started runs in the background."""
    handed: bool = False
    """Whether the client was asked to run it."""
    returned: ToolAnswer | None = None
    """What came of that."""
    proposed: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The data of each `edit.proposed` of the latest time it was worked out."""
    proposed_at: int = 0
    """Seq of the last of them."""
    applying: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The data of each `edit.applying`, by change, while it is not known how that went."""
    in_place: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The data of what ended its changes that are in place, by change."""


@dataclass(slots=True)
class TurnState:
    """How far a turn came."""

    turn_id: str
    prompt: str
    mode: Mode
    model: str
    context: Context | None = None
    limits: dict[str, Any] | None = None
    started: bool = False
    asked: bool = False
    """Whether the model was asked, so that the task is in the conversation."""
    phase: Phase = "start"
    parked: bool = False
    outcome: Outcome | None = None
    reason: str = ""
    summary: str = ""
    steps: int = 0
    account: Account = field(default_factory=Account)
    """The sum over its requests."""
    only_thought: bool = False
    """Whether the latest step came to neither text nor calls."""
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    """Calls of the latest response."""
    response: dict[str, Any] | None = None
    """The data of the latest response, while the model was not asked again."""
    evidence: Literal["no_changes", "unverified", "checked", "check_failed"] = "no_changes"
    """Whether a command was run since the last change, and how it went."""
    started_at: str = ""

    @property
    def usage(self) -> Usage:
        """What its requests cost so far."""
        return self.account.usage


@dataclass(frozen=True, slots=True)
class JobState:
    """A background job whose end is not known."""

    job_id: str
    turn_id: str
    command: str

    @property
    def named(self) -> str:
        """For a person and the model."""
        line = next(iter(self.command.strip().splitlines()), "")
        shown = line if len(line) <= JOB_CHARACTERS else f"{line[: JOB_CHARACTERS - 1]}…"
        return f"{self.job_id} (`{shown}`)"

    def ended(self, status: Literal["cancelled", "closed", "interrupted"]) -> JobFinished:
        """Its end, with what it belonged to."""
        return JobFinished(job_id=self.job_id, status=status, told=f"{self.named} {ENDED_WITH[status]}.")
