"""What is known of a turn, its calls and its jobs; `state.py` folds it from the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from outrider.ports.editor import ToolAnswer
from outrider.ports.model import Tokens, ToolCall
from outrider.workspace.edits.review import Review
from outrider_protocol import logged
from outrider_protocol.commands import WaitResult
from outrider_protocol.events import Context, JobFinished, Mode, Open, Outcome, Phase, Usage
from outrider_protocol.settings import Thinking

UNKNOWN: logged.Usage = {"inputTokens": 0, "outputTokens": 0}
"""Of a request that costs something, and nobody can tell how much."""


@dataclass(frozen=True, slots=True)
class Account:
    """The sum over some requests, those that failed included."""

    usage: Usage = field(default_factory=Usage)
    """`cost` is absent as soon as that of one request is unknown: a sum that leaves something out is none."""
    known_cost: float = 0.0
    """What is known of it, which is what a limit goes by."""
    requests: int = 0

    def with_request(self, one: logged.Usage | None) -> "Account":
        """The account with a request, whose usage stands on the wire so; None where nothing was used."""
        if one is None:
            return self
        total, cost = self.usage, one.get("cost")
        known = cost is not None and (self.requests == 0 or total.cost is not None)
        return Account(
            Usage(
                input_tokens=total.input_tokens + one["inputTokens"],
                output_tokens=total.output_tokens + one["outputTokens"],
                cached_tokens=_plus(total.cached_tokens, one.get("cachedTokens")),
                reasoning_tokens=_plus(total.reasoning_tokens, one.get("reasoningTokens")),
                estimated=total.estimated or one.get("estimated"),
                cost=round((total.cost or 0.0) + cost, 9) if known and cost is not None else None,
            ),
            round(self.known_cost + (cost or 0.0), 9),
            self.requests + 1,
        )


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


def on_wire(usage: Usage) -> logged.Usage:
    """What a request used, as events say it."""
    return cast("logged.Usage", usage.to_wire())


def usage_of(tokens: Tokens | None) -> Usage | None:
    """A response's tokens, as they stand on the wire."""
    if tokens is None:
        return None
    return Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cached_tokens=tokens.cached,
        reasoning_tokens=tokens.reasoning,
        cost=tokens.cost,
        estimated=tokens.estimated or None,
    )


JOB_CHARACTERS = 60
"""Characters of a job's command that name it."""
ENDED_WITH = {
    "cancelled": "was ended because its task was cancelled",
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
    """Digest of what the user said yes to."""
    rejected: tuple[str, str | None, Review | None] | None = None
    """Digest of what the user rejected, their note, and what they said about single hunks."""
    reviews: list[Review] = field(default_factory=list[Review])
    """What the user decided about single hunks of what they allowed."""
    notes: list[str] = field(default_factory=list[str])
    """What the user said with a yes to all of it."""
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
    proposed: list[logged.EditProposed] = field(default_factory=list[logged.EditProposed])
    """The data of each `edit.proposed` of the latest time it was worked out."""
    proposed_at: int = 0
    """Seq of the last of them."""
    applying: dict[str, logged.EditApplying] = field(default_factory=dict[str, logged.EditApplying])
    """The data of each `edit.applying`, by change, while it is not known how that went."""
    in_place: dict[str, logged.EditApplied | logged.EditMerged] = field(
        default_factory=dict[str, logged.EditApplied | logged.EditMerged]
    )
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
    thinking: Thinking | None = None
    """How much the model is to think, where the run said so."""
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
    response: logged.ModelResponded | None = None
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
        """For a user and the model."""
        line = next(iter(self.command.strip().splitlines()), "")
        shown = line if len(line) <= JOB_CHARACTERS else f"{line[: JOB_CHARACTERS - 1]}…"
        return f"{self.job_id} (`{shown}`)"

    def ended(self, status: Literal["cancelled", "closed", "interrupted"]) -> JobFinished:
        """Its end, with what it belonged to."""
        return JobFinished(job_id=self.job_id, status=status, told=f"{self.named} {ENDED_WITH[status]}.")


def wait_result(turn: TurnState, open_items: Sequence[Open]) -> WaitResult:
    """How a turn stands, as `outrider.wait` says it."""
    if turn.outcome is not None:
        return WaitResult(
            turn_id=turn.turn_id,
            outcome=turn.outcome,
            reason=turn.reason,
            summary=turn.summary,
            usage=turn.usage,
        )
    if turn.parked:
        mine = [item for item in open_items if item.turn_id == turn.turn_id]
        return WaitResult(turn_id=turn.turn_id, outcome="needs_input", open=mine, usage=turn.usage)
    return WaitResult(turn_id=turn.turn_id)
