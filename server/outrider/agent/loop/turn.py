"""One turn: prepare → assistant ⇄ tools → verify → finish.

The model ends a turn by answering without tool calls; no word of its text steers the loop. Every path ends in
exactly one `turn.finished`, and every call has its one result by then.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from outrider.agent.context.budget import Budget
from outrider.agent.context.fitting import Fitting
from outrider.agent.context.model_call import Asker
from outrider.agent.context.workspace_news import InstructionsNear, MapOfTurn, look_around
from outrider.agent.loop import recovery
from outrider.agent.loop.circles import REPEATED, RepeatGuard, goes_round
from outrider.agent.loop.titling import Titling
from outrider.agent.loop.tool_context import TurnContext
from outrider.agent.services import Services
from outrider.agent.state.record import Record
from outrider.agent.state.turn_state import TurnState
from outrider.models.catalog import ModelProblem
from outrider.ports.model import (
    FinishReason,
    Message,
    Model,
    ModelFailure,
    ModelResponse,
    Tokens,
    ToolCall,
)  # fmt: skip
from outrider.tools.executor import Executor
from outrider_protocol.events import (
    BudgetExhausted,
    Outcome,
    Phase,
    ToolFinished,
    ToolRequested,
    ToolStatus,
    TurnFinished,
    TurnPhase,
)  # fmt: skip

TRANSITIONS: dict[Phase, frozenset[Phase]] = {
    "start": frozenset({"prepare", "finish"}),
    "prepare": frozenset({"assistant", "tools", "finish"}),
    "assistant": frozenset({"assistant", "tools", "verify", "finish"}),
    "tools": frozenset({"assistant", "finish"}),
    "verify": frozenset({"assistant", "finish"}),
    "finish": frozenset(),
}
"""`prepare` leads to `tools` only when a turn goes on after a restart."""


def check(old: Phase, new: Phase) -> None:
    """Raise ValueError unless a turn may go from `old` to `new`."""
    if new not in TRANSITIONS[old]:
        raise ValueError(f"a turn cannot go from {old} to {new}")


REPAIR_LIMIT = 3
"""Empty, cut off or malformed answers in a row that are put up with."""

Flaw = Literal["empty", "only_reasoning", "cut_off", "repeated", "looping"]


@dataclass(frozen=True, slots=True)
class Repair:
    """What is done about an answer that is no answer."""

    nudge: str
    """What the model is told."""
    reason: str
    """Why the turn fails when it happens too often in a row."""
    summary: str


FLAWS: Final[Mapping[Flaw, Repair]] = {
    "empty": Repair(
        "Your last answer was empty. Continue the task, or answer with what you have.",
        "empty_responses",
        "The model's answers were empty.",
    ),
    "only_reasoning": Repair(
        "Your last answer contained only reasoning, which nobody sees. Continue the task: call a tool, or answer.",
        "only_reasoning",
        "The model's answers contained only reasoning.",
    ),
    "cut_off": Repair(
        "Your last answer was cut off by its length limit. Continue where it stopped.",
        "cut_off",
        "The model's answers were cut off by their length limit.",
    ),
    "repeated": Repair(
        "Your last answer is the same as the one before it, and was cut off again. Be shorter, or take a smaller step.",
        "repeated_answers",
        "The model kept giving the same answer, cut off each time.",
    ),
    "looping": Repair(
        "Your last answer said the same over and over until it was cut off. Say it once, or call a tool.",
        "repeated_answers",
        "The model's answers repeated themselves until they were cut off.",
    ),
}
"""An answer without calls that a turn cannot end with, by name. One that declines ends the turn as refused, and what is
called again with the same result is bounded by `RepeatGuard`."""


@dataclass(slots=True)
class RepairGuard:
    """Counts bad answers in a row."""

    count: int = 0
    _cut_off: str | None = None

    def flaw_of(self, response: ModelResponse) -> Flaw | None:
        """What is wrong with an answer without calls; None if it is one."""
        before, self._cut_off = self._cut_off, None
        if response.finish_reason == "length":
            self._cut_off = response.text
            if goes_round(response.text):
                return "looping"
            return "repeated" if before is not None and before == response.text else "cut_off"
        if response.text.strip():
            return None
        return "only_reasoning" if (response.reasoning or "").strip() else "empty"

    def note(self, *, bad: bool) -> bool:
        """Take note of an answer; True if the turn should end."""
        self.count = self.count + 1 if bad else 0
        return self.count >= REPAIR_LIMIT


log = logging.getLogger(__name__)

SUMMARY_SECONDS = 60.0
"""How long the model may take for the summary of a turn whose budget is spent."""
SUMMARY_REQUEST = "Say in a few sentences what was done, what was found, and what is left to do."


@dataclass(frozen=True, slots=True)
class Finish:
    """How a turn ends."""

    outcome: Outcome
    reason: str
    summary: str = ""


class Turn:
    """Runs one turn of a session."""

    def __init__(
        self,
        services: Services,
        record: Record,
        conversation: list[Message],
        context: TurnContext,
        budget: Budget,
        turn_id: str,
        titling: Titling,
        *,
        open_model: Callable[[], Awaitable[Model | ModelProblem]],
    ) -> None:
        """Bind a turn whose `turn.started` is recorded.

        Args:
            services: The house.
            record: The session's log.
            conversation: The messages of the session's latest request; the turn adds to it.
            context: What the tools see.
            budget: What may be spent.
            turn_id: The turn.
            titling: The title of the session.
            open_model: Gives what answers.
        """
        self._services = services
        self._record = record
        self._conversation = conversation
        self._titling = titling
        self._open_model = open_model
        self._asker: Asker
        self._fitting: Fitting
        self._instructions = InstructionsNear(services, record, turn_id, context.user.ask_for_trust)
        self._map = MapOfTurn(services, record, turn_id)
        self._context = context
        self._budget = budget
        self.id = turn_id
        self._read_only = self._state.mode != "agent"
        self._tools = [tool.spec() for tool in services.tools.offered(read_only=self._read_only)]
        self._repeats = RepeatGuard()
        self._repairs = RepairGuard()
        self._nudge: str | None = None
        self._task: asyncio.Task[Any] | None = None
        self._cancel_reason: str | None = None
        self.suspended = False
        """Set when the process lets go of a parked turn, which then has no end yet."""

    @property
    def _state(self) -> TurnState:
        return self._record.state.turns[self.id]

    async def run(self) -> None:
        """Run the turn to its end, or go on where a crash or a restart cut it off."""
        self._task = asyncio.current_task()
        try:
            finish = await self._loop()
        except asyncio.CancelledError:
            if self.suspended:
                return
            await self._end_jobs()
            finish = Finish("cancelled", self._cancel_reason or "cancelled")
        except Exception as problem:
            log.exception("turn %s failed", self.id)
            finish = Finish("failed", "internal_error", f"Outrider failed: {type(problem).__name__}.")
        finally:
            self._map.end()
            self._task = None  # from here on nothing is left to be cancelled
        # What the log does not hold did not happen for anybody who looks later.
        if finish.outcome != "failed" and (problem := await self._record.failing(surely=True)):
            finish = Finish("failed", "store_failed", problem)
        finish = replace(finish, summary=self._with_jobs(finish.summary))
        await self._record.masking.look(finish.summary)
        self._end(finish)

    def cancel(self, reason: str) -> None:
        """Have the turn end soon. Once is enough: a second time would cut off an edit that is brought to its end."""
        if self._cancel_reason is None:
            self._cancel_reason = reason
            # A task that is cancelled before it has begun would never end the turn.
            if self._task is not None:
                self._task.cancel()

    async def _end_jobs(self) -> None:
        """End the jobs of the turn, as it is cancelled."""
        await self._context.jobs.end(self.id)
        for job in list(self._record.state.jobs.values()):
            if job.turn_id == self.id:
                self._append(job.ended("cancelled"))

    async def _loop(self) -> Finish:
        if self._cancel_reason is not None:
            raise asyncio.CancelledError
        opened = await self._open_model()
        if isinstance(opened, ModelProblem):
            return Finish("failed", "model_unavailable", opened.message)
        self._asker = Asker(self._services, self._record, opened, self.id, self._tools, self._budget)
        self._context.knowledge.model = opened
        self._budget.start(opened.context_window)
        self._map.begin(opened.context_window)
        self._count_on()
        self._fitting = Fitting(
            self._services,
            self._record,
            self._asker,
            self._budget,
            self._conversation,
            self.id,
            take_in=self._take_in_what_is_new,
        )
        resumed = self._state.phase != "start"
        if resumed:
            await recovery.settle(self._context, self._services, self._state)
            if problem := await self._record.failing():
                return Finish("failed", "store_failed", problem)
        else:
            self._enter("prepare", "started")
        if not self._state.asked:
            await self._prepare()
        reason = "resumed" if resumed else "prepared"
        response = self._response_before() if resumed else None
        while True:
            self._enter("assistant", reason)
            if response is None:
                response = await self._next_response()
            if isinstance(response, Finish):
                return response
            if response.finish_reason == "refused":
                return Finish("refused", "model_refused", response.text)
            if response.tool_calls:
                self._enter("tools", "tool_calls")
                if problem := await self._step(response):
                    return problem
                reason = "tool_results"
            elif flaw := self._repairs.flaw_of(response):
                if self._repairs.note(bad=True):
                    return await self._ended_by(FLAWS[flaw].reason, FLAWS[flaw].summary)
                self._nudge = FLAWS[flaw].nudge
                reason = "repair"
            elif self._record.state.steering:
                reason = "steering"
            else:
                self._enter("verify", "answered")
                return Finish("completed", self._state.evidence, response.text)
            response = None

    async def _next_response(self) -> ModelResponse | Finish:
        """Ask the model for its next step; a `Finish` ends the turn."""
        if problem := await self._record.failing():
            return Finish("failed", "store_failed", problem)
        await look_around(self._services, self._record, self.id)
        await self._instructions.look()
        await self._map.look(self._conversation)
        self._titling.look(between_steps=True)
        self._take_in_what_is_new()
        await self._asker.route("main", self._conversation)
        if spent := self._budget.spent(self._state.steps, self._state.account):
            return await self._wrap_up(spent)
        if spent := await self._fitting.fit():
            return await self._wrap_up(spent)
        await self._asker.prepare(self._conversation)
        steering = await self._take_in_steering()
        response = await self._asker.ask("main", self._conversation, steering)
        shortened_for = set[str]()  # once for each model: one that stands in for another may take less
        while isinstance(response, ModelFailure) and response.kind == "context_overflow":
            if self._budget.model in shortened_for or not await self._fitting.shrink():
                return self._failed(response)
            shortened_for.add(self._budget.model)
            response = await self._asker.ask("main", self._conversation)
        if isinstance(response, ModelFailure):
            return self._failed(response)
        last = self._record.state.memory.last
        self._budget.counter.take(last.model if last else "", self._conversation, response.tokens)
        self._titling.begin()
        return response

    def _count_on(self) -> None:
        """Take over what the provider counted for the session's latest request."""
        last = self._record.state.memory.last
        if last is not None and 0 < last.messages <= len(self._conversation):
            tokens = Tokens(last.input, last.output)
            self._budget.counter.take(last.model, self._conversation[: last.messages], tokens)

    def _response_before(self) -> ModelResponse | Finish | None:
        """The response that came before a restart and that the turn has not made the next step of yet."""
        data = self._state.response
        if data is None:
            return None
        if data["finishReason"] == "cancelled":
            return Finish("cancelled", "cancelled")
        calls = tuple(state.call for state in self._state.calls.values())
        return ModelResponse(
            data["text"], calls, cast("FinishReason", data["finishReason"]), data.get("reasoning")
        )

    # --- phases ------------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        briefing, state = self._services.briefing, self._state
        await self._context.user.ask_for_trust()
        system = await briefing.system(state.mode, self._services.policy.trust.trusts, self._context.commands)
        task = await briefing.task(state.prompt, state.context, self._context.commands, self._conversation)
        pictures = await briefing.images(state.prompt, state.context)
        self._asker.bring({image.hash: content for image, content in pictures})
        task = replace(task, images=task.images or tuple(image for image, _ in pictures))
        without_secrets = self._record.masking.without_secrets
        await self._record.masking.look(system.text, task.text)
        system, task = system.reworded(without_secrets), task.reworded(without_secrets)
        if self._conversation[:1] != [system]:
            self._conversation[:1] = [system]
            self._budget.counter.forget()
        # What happened since the turn before comes before the task, which is the last word.
        await look_around(self._services, self._record, self.id)
        self._take_in_what_is_new()
        self._record.state.since = [task]

    def _take_in_what_is_new(self) -> None:
        """Bring the conversation up to date."""
        state = self._record.state
        self._conversation.extend([*state.since, *state.news])
        state.since, state.news = [], []
        if self._nudge:
            self._conversation.append(Message("user", self._nudge))
            self._nudge = None

    async def _take_in_steering(self) -> list[str]:
        """Add the texts that the model has not seen, and give their ids."""
        messages: dict[str, Message] = {}
        # More may come while images are read; from the last look on nothing may come between this and the request.
        while missing := [one for one in self._record.state.steering.items() if one[0] not in messages]:
            for pending_id, text in missing:
                messages[pending_id], pictures = await self._services.briefing.steering(text)
                self._asker.bring({image.hash: content for image, content in pictures})
        taken = list(self._record.state.steering)
        self._conversation.extend(messages[pending_id] for pending_id in taken)
        return taken

    async def _step(self, response: ModelResponse) -> Finish | None:
        """Run the calls of a response; a `Finish` ends the turn."""
        calls = [state.call for state in self._state.calls.values()]
        if response.finish_reason == "length":
            self._skip(
                calls, "Not run: the answer was cut off by its length limit before the call was complete."
            )
        elif circle := self._repeats.circle_of(calls):
            self._skip(
                calls, REPEATED[min(circle.length, 2)].format(count=circle.rounds, length=circle.length)
            )
            if self._repeats.note_skipped():
                return await self._ended_by("repeated_calls", "The model kept making the same calls.")
        else:
            await self._run_calls([call for call in calls if not self._state.calls[call.id].finished])
            results = [message.text for message in self._record.state.since if message.role == "tool"]
            if self._repeats.note(calls, results, response.text):
                return await self._ended_by("repeated_text", "The model kept saying the same.")
        bad = response.finish_reason == "length" or all(self._is_malformed(call) for call in calls)
        if self._repairs.note(bad=bad):
            return await self._ended_by("malformed_calls", "The model kept making calls that cannot be run.")
        return None

    async def _run_calls(self, calls: list[ToolCall]) -> None:
        self._request(calls)
        # How much one result may have follows the window of the model that reads it.
        context = replace(self._context, limits=self._budget.of_results())
        await Executor(self._services.tools, context).execute(calls)

    async def _wrap_up(self, spent: BudgetExhausted) -> Finish:
        """End a turn whose budget is spent, with a summary as good as can be had."""
        if spent.limit == "contextWindow":
            self._append_too_long(spent)
        else:
            self._append(spent)
        fallback = f"Stopped before the task was finished: {spent.limit} is spent ({spent.used:g} of {spent.allowed:g})."
        if spent.limit == "contextWindow":
            return Finish("budget_exhausted", spent.limit, fallback)
        told = await self._summary(f"The budget of this task is spent ({spent.limit}), so it ends here.")
        return Finish("budget_exhausted", spent.limit, told or fallback)

    async def _ended_by(self, reason: str, why: str) -> Finish:
        """End a turn that goes in a circle, with a summary as good as can be had behind the reason."""
        self._take_in_what_is_new()
        told = await self._summary(f"{why} So this task ends here.")
        return Finish("failed", reason, f"{why}\n\n{told}".rstrip())

    async def _summary(self, why: str) -> str:
        """What the model says of the turn as it ends; empty where it says nothing."""
        request = [*self._conversation, Message("user", f"{why} {SUMMARY_REQUEST}")]
        if self._budget.too_long(request) is not None:
            return ""
        try:
            async with self._services.runtime.clock.timeout(SUMMARY_SECONDS):
                response = await self._asker.ask("summary", request)
        except TimeoutError:
            return ""
        return response.text.strip() if isinstance(response, ModelResponse) else ""

    def _failed(self, failure: ModelFailure) -> Finish:
        if failure.kind == "refused":
            return Finish("refused", "model_refused", failure.message)
        if failure.kind == "context_overflow":
            self._append_too_long(self._budget.overflow(self._conversation))
            return Finish("budget_exhausted", "contextWindow", failure.message)
        return Finish("failed", failure.kind, failure.message)

    # --- the log -----------------------------------------------------------------------------------------------

    def _append(self, data: Any, blobs: dict[str, bytes] | None = None) -> None:
        self._record.append(data, turn_id=self.id, blobs=blobs)

    def _append_too_long(self, spent: BudgetExhausted) -> None:
        stored = self._record.stored
        self._append(
            spent, {one.digest: one.encoded for one in self._conversation if one.digest not in stored}
        )

    def _enter(self, phase: Phase, reason: str) -> None:
        old = self._state.phase
        check(old, phase)
        self._append(TurnPhase(from_=old, to=phase, reason=reason))

    def _request(self, calls: list[ToolCall]) -> None:
        for call in calls:
            if not self._state.calls[call.id].requested:
                self._append(ToolRequested(call_id=call.id, name=call.name, input=_parsed(call.arguments)))

    def _skip(self, calls: list[ToolCall], why: str, status: ToolStatus = "skipped") -> None:
        self._request(calls)
        for call in calls:
            if not self._state.calls[call.id].finished:
                self._append(ToolFinished(call_id=call.id, name=call.name, status=status, content=why))

    def _end(self, finish: Finish) -> None:
        calls = [call.call for call in self._state.calls.values() if not call.finished]
        status: ToolStatus = "cancelled" if finish.outcome == "cancelled" else "interrupted"
        self._skip(calls, f"Not finished: the turn ended ({finish.reason}).", status)
        if self._state.phase != "finish":
            self._enter("finish", finish.reason)
        self._append(
            TurnFinished(
                outcome=finish.outcome, reason=finish.reason, summary=finish.summary, usage=self._state.usage
            )
        )

    def _with_jobs(self, summary: str) -> str:
        """A summary that names the jobs that are left running."""
        running = ", ".join(job.named for job in self._record.state.jobs.values())
        ends = "Still running, until the session or its server ends"
        return f"{summary}\n\n{ends}: {running}.".lstrip() if running else summary

    def _is_malformed(self, call: ToolCall) -> bool:
        tool = self._services.tools.get(call.name)
        return (
            call.refused is not None or isinstance(tool, str) or isinstance(tool.parse(call.arguments), str)
        )


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
