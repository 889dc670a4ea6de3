"""What is known of a turn, its calls and its jobs; `state.py` folds it from the log."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, cast

from outrider.agent.state.evidence import Evidence, FileChange
from outrider.agent.state.memory import Mark
from outrider.ports.editor import ToolAnswer
from outrider.ports.model import Tokens, ToolCall
from outrider.workspace.edits.review import Review
from outrider.workspace.watch.read_state import Seen
from outrider_protocol import logged
from outrider_protocol.commands import WaitResult
from outrider_protocol.events import (
    Context,
    Done,
    Invoked,
    JobFinished,
    Mode,
    Open,
    Outcome,
    Phase,
    PlanItem,
    Usage,
)
from outrider_protocol.settings import Autonomy, Thinking

HELD_BY_HOOK: Final = "held_by_hook"
"""Why a model is asked once more that would have ended its turn: a hook refused that."""

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
    started_at: str = ""
    """When, as its event says."""
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
    wanted: logged.InputWanted | None = None
    """Of a tool of an MCP server: what the server wanted of the user last."""
    inputs: dict[str, str] = field(default_factory=dict[str, str])
    """What the user said to that so far, by the question."""
    answered: tuple[str, str] | None = None
    """The latest question of the call that was answered, and the answer."""
    changes: list[FileChange] = field(default_factory=list[FileChange])
    """What its command did to texts."""
    touched: bool = False
    """Whether its command changed anything else, where nothing was changed before."""
    check: str | None = None
    """The command, if it is a check of the turn and no call of the model."""
    fills: bool = False
    """Whether it is a command line whose output goes into the text of a custom command, and no call of the model."""
    hooked: bool = False
    """Whether the hooks before it have run."""
    asks: str = ""
    """Why a hook has the user asked about it."""
    status: str = ""
    """How it ended."""
    exit_code: int | None = None
    """Of a command: its exit code."""
    came: str = ""
    """What came of a call that is not the model's."""
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

    @property
    def is_commented(self) -> bool:
        """Whether the user said something with a yes or a no to it."""
        return bool(self.notes) or (self.rejected is not None and bool(self.rejected[1]))


def seconds_between(earlier: str, later: str) -> float:
    """The seconds between the times of two events; 0 where the first is not known."""
    if not earlier:
        return 0.0
    return round((datetime.fromisoformat(later) - datetime.fromisoformat(earlier)).total_seconds(), 3)


def same_words(text: str) -> str:
    """A text without regard to case and spaces, to see whether two are the same question or answer."""
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Before:
    """What the model knew when a turn began, apart from the messages, for a conversation that goes back to there."""

    seen: Seen
    memory: Mark
    answers: dict[str, str]


@dataclass(slots=True)
class TurnState:
    """How far a turn came."""

    turn_id: str
    prompt: str
    mode: Mode
    model: str
    continues: str | None = None
    """The turn that it goes on with, whose task and steps are in the conversation."""
    before: Before | None = None
    """What was known when it began."""
    told: bool = False
    """Whether its task was in the conversation before it began."""
    forgotten: bool = False
    """Whether the conversation went back to before it."""
    context: Context | None = None
    limits: dict[str, Any] | None = None
    thinking: Thinking | None = None
    """How much the model is to think, where the run said so."""
    invoked: Invoked | None = None
    """The custom command that the prompt calls."""
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
    autonomy: Autonomy = "balanced"
    """How often the model may ask the user."""
    steps_given: list[PlanItem] | None = None
    """The steps that its plan begins with."""
    own_steps: Sequence[PlanItem] = ()
    """The steps of the user, which stay in the plan; of a turn that goes on those of the one before it, too."""
    plan_document: str | None = None
    """Their document."""
    brief: list[str] = field(default_factory=list[str])
    """What the user answered to the model's questions in it, each with its question."""
    planned: bool = False
    """Whether it, or the turn that it goes on with, has updated the plan."""
    plan_path: str | None = None
    """The plan document that it wrote."""
    asked_at: list[int] = field(default_factory=list[int])
    """The step of each question that the model asked the user."""
    checks: list[str] | None = None
    """The commands that decide whether it is done; None in old logs, where any command counted as a check."""
    hook_runs: int = 0
    """How many hooks have run."""
    refused: str = ""
    """Why a hook refused the task."""
    held_by_hooks: int = 0
    """How often the model was asked once more because a hook refused that the turn ends."""
    attempts: int = 0
    """How often its checks were begun."""
    verifying: bool = False
    """Whether they run."""
    reminded: bool = False
    """Whether the model was told what it left undone."""
    held_back: bool = False
    """Whether an edit was not asked for, because of the errors that it would bring, and none was asked for since."""
    answer: str = ""
    """What it had answered before that, as long as it did nothing since."""
    evidence: Evidence = field(default_factory=Evidence)
    done: logged.Done | None = None
    """What its end said that shows that it is done."""
    started_at: str = ""

    @property
    def usage(self) -> Usage:
        """What its requests cost so far."""
        return self.account.usage

    def open_items(self, plan: Sequence[PlanItem]) -> list[str]:
        """The items of the session's plan that are open, as far as they are this turn's: none where it left the plan alone."""
        return [item.text for item in plan if item.status != "done"] if self.planned else []

    def shown(self, open_items: Sequence[str]) -> Done:
        """What shows that it is done.

        Args:
            open_items: The items of its plan that are open.
        """
        written = "no plan was written" if self.plan_path is None else f"wrote a plan: {self.plan_path}"
        return self.evidence.done(open_items, written if self.mode == "plan" else "")

    @property
    def task(self) -> str:
        """What the model gets as the task: the prompt, or what the custom command says that it calls."""
        if self.invoked is None:
            return self.prompt
        text, parts, at = self.invoked.text, list[str](), 0
        for output, call in zip(self.invoked.outputs or (), self.calls.values(), strict=False):
            parts += [text[at : output.at], call.came]
            at = output.at
        return "".join([*parts, text[at:]])


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
            done=Done.from_wire(turn.done) if turn.done is not None else None,
        )
    if turn.parked:
        mine = [item for item in open_items if item.turn_id == turn.turn_id]
        return WaitResult(turn_id=turn.turn_id, outcome="needs_input", open=mine, usage=turn.usage)
    return WaitResult(turn_id=turn.turn_id)
