"""One turn: prepare → assistant ⇄ tools → verify → finish.

The model ends a turn by answering without tool calls; no word of its text steers the loop. Every path ends in
exactly one `turn.finished`, and every call has its one result by then.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from outrider.agent.context.budget import Budget
from outrider.agent.context.fitting import Fitting
from outrider.agent.context.model_call import Asker
from outrider.agent.context.offer import Offer, is_small
from outrider.agent.context.workspace_news import InstructionsNear, MapOfTurn, SinceChecks, look_around
from outrider.agent.customization.hooks import Came, Outcome, decided
from outrider.agent.interaction.plan_document import drafted
from outrider.agent.loop import recovery
from outrider.agent.loop.circles import REPEATED, RepeatGuard, goes_round
from outrider.agent.loop.titling import Titling
from outrider.agent.loop.tool_context import TurnContext
from outrider.agent.services import Services
from outrider.agent.state.evidence import said_of_errors
from outrider.agent.state.record import Record
from outrider.agent.state.state import without_reason
from outrider.agent.state.turn_state import HELD_BY_HOOK, TurnState
from outrider.models.catalog import ModelProblem
from outrider.ports.model import (
    REMINDER,
    FinishReason,
    Message,
    Model,
    ModelFailure,
    ModelResponse,
    Tokens,
    ToolCall,
    ToolSpec,
)  # fmt: skip
from outrider.ports.text import one_line
from outrider.tools.executor import Executor
from outrider_protocol import logged
from outrider_protocol.events import (
    BudgetExhausted,
    CheckCall,
    ErrorRaised,
    HookCall,
    HookFinished,
    HookStarted,
    Phase,
    PlanUpdated,
    ToolFinished,
    ToolRequested,
    ToolStatus,
    TurnFinished,
    TurnPhase,
    VerifyFinished,
    VerifyStarted,
)  # fmt: skip
from outrider_protocol.events import (
    Outcome as TurnOutcome,
)
from outrider_protocol.settings import HookPoint

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
"""Empty, cut off or malformed answers in a row that are put up with, where each comes to the same."""
MOST_BAD = 12
"""The same where the model is told something new each time."""

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
    """Those that came to nothing new."""
    _row: int = 0
    """All of them."""
    _told: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])
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

    def note(self, *, bad: bool, told: Sequence[str] = ()) -> bool:
        """Take note of an answer; True if the turn should end.

        Args:
            bad: Whether it is one.
            told: What came back from its calls. Who is told something new, as with each name of another harness, may do better next.
        """
        if not bad:
            self.count, self._row, self._told = 0, 0, set()
            return False
        is_news = bool(told) and tuple(told) not in self._told
        self._told.add(tuple(told))
        self._row += 1
        self.count = max(self.count, 1) if is_news else self.count + 1
        return self.count >= REPAIR_LIMIT or self._row >= MOST_BAD


MOST_REPAIRS: Final = 3
"""How often failed checks go back to the model."""
CHECKS_FAILED: Final = (
    "[You stopped, and the checks of this task were run. These failed:]\n\n{came}\n\n"
    "Repair what makes them fail, or say what keeps you from it."
)
CHECKS_ANSWERED: Final = (
    "[Checks of this task that did not run, or that the user said something about:]\n\n{came}\n\n"
    "Do what follows from what the user said, or say what is left."
)
"""The model is told so of a check that did not fail."""

REMINDER_TEXT: Final = "[Before you end: {left}. Do what is left: {how}. If nothing can be checked or done, say why in one sentence; your answer above stands.]"
_CHECK: Final = "run the narrowest check that covers the change, mend what fails"
_PLAN: Final = "bring the plan up to date with `update_plan`"

MOST_HELD: Final = 3
"""How often hooks may have a turn go on that would end."""
HELD: Final = (
    "[You stopped, but this turn does not end yet:]\n\n{refused}\n\n"
    "Do what follows from that, or say what keeps you from it."
)
ENDED_ALL_THE_SAME: Final = "[The turn ended all the same: {refused}]"

PLAN_REMINDER: Final = (
    "[Before you end: write the plan with `write_plan`, so that the user can change and start it. If there is nothing to plan, say so in one "
    "sentence; your answer above stands.]"
)
GO_ON: Final = "[You were stopped before the task was done. The user asks you to go on where you stopped.]"
"""What the model is told where a turn goes on with another one."""
MOST_ERRORS: Final = 5
"""Errors that are named in it."""

log = logging.getLogger(__name__)

SUMMARY_SECONDS = 60.0
"""How long the model may take for the summary of a turn whose budget is spent."""
SUMMARY_REQUEST = "Say in a few sentences what was done, what was found, and what is left to do."


@dataclass(frozen=True, slots=True)
class Finish:
    """How a turn ends."""

    outcome: TurnOutcome
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
        self._since_checks = SinceChecks(services, record, turn_id)
        self._context = context
        context.knowledge.conversation = conversation
        self._budget = budget
        self.id = turn_id
        self._read_only = self._state.mode != "agent"
        self._registry = services.tools.now(self._state.mode)
        self._left_out: frozenset[str] = frozenset()
        self._tools: list[ToolSpec] = []
        self._repeats = RepeatGuard()
        self._repairs = RepairGuard()
        self._nudge: str | None = None
        self._in_short = False
        """Whether the model is told in short what every request has."""
        self._refused_end = ""
        """Why a hook refused that the turn ends, where it ends all the same."""
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
            if self._cancel_reason is not None:
                raise asyncio.CancelledError
            finish = await self._loop()
            await self._since_checks.settle()
        except asyncio.CancelledError:
            if self.suspended:
                return
            await self._end_jobs()
            finish = Finish("cancelled", self._cancel_reason or "cancelled")
        except Exception as problem:
            log.exception("turn %s failed", self.id)
            finish = Finish("failed", "internal_error", f"Outrider failed: {type(problem).__name__}.")
        finally:
            await self._context.verdicts.end()
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

    async def _begin(self, *, resumed: bool) -> Finish | None:
        """Open the model, and come to where its first answer, or the next one after a restart, is wanted."""
        opened = await self._open_model()
        if isinstance(opened, ModelProblem):
            return Finish("failed", "model_unavailable", opened.message)
        self._budget.start(opened.context_window)
        self._in_short = is_small(self._budget.context_window)
        with self._budget.held():
            session_id, seconds = self._record.state.session_id, self._budget.limits.ask_seconds
            await self._services.tools.prepare(session_id, self.id, seconds)
        mode, registry = self._state.mode, self._services.tools.now(self._state.mode)
        useful = {tool.name for tool in await registry.offered_now(mode)}
        self._left_out = frozenset(tool.name for tool in registry.offered(mode)) - useful
        self._asker = Asker(self._services, self._record, opened, self.id, Offer(()), self._budget)
        self._look_at_tools()
        self._context.knowledge.model = opened
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
        if resumed:
            await recovery.settle(self._context, self._services, self._state, self._registry, may_ask=True)
            if problem := await self._record.failing():
                return Finish("failed", "store_failed", problem)
        else:
            self._enter("prepare", "started")
        if not self._state.asked:
            await self._prepare()
            if self._state.refused:
                return Finish("refused", "hook_refused", self._state.refused)
        return None

    async def _loop(self) -> Finish:
        resumed = self._state.phase != "start"
        if ended := await self._begin(resumed=resumed):
            return ended
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
                reason = await self._goes_back() or await self._held_by_hooks()
                if not reason:
                    return await self._completed(self._state.answer or response.text)
            response = None

    def _look_at_tools(self) -> None:
        """Offer the tools that there are now."""
        mode = self._state.mode
        self._registry = self._services.tools.now(mode, self._record.state.looked_up)
        offered = self._registry.offered(mode)
        specs = [tool.spec() for tool in offered if tool.name not in self._left_out]
        if specs != self._tools:
            self._tools = specs
            self._asker.offers(Offer(specs, in_short=self._in_short))

    async def _tell_of_servers(self) -> None:
        """Say once in a session why an MCP server does not run, which language server is missing, and where none may run."""
        told = self._record.state.told_errors
        languages = self._services.languages
        troubles = {
            "mcp_server": self._services.brought.servers.troubles(late=not self._state.steps),
            "language_server": await languages.lacking(),
            "untrusted_folder": await languages.undecided(),
        }
        for code, messages in troubles.items():
            for message in messages:
                if without_reason(message) not in told:
                    self._append(ErrorRaised(code=code, message=message))

    async def _completed(self, answer: str) -> Finish:
        """End the turn with its answer. The document of a plan is written from that, where the model wrote none."""
        turn = self._state
        if turn.mode == "plan" and turn.plan_path is None:
            draft = drafted(answer)
            steps = [one.text for one in (self._record.state.plan if turn.planned else draft.steps)]
            if steps:
                await self._context.user.write_plan(turn.prompt, steps, draft.files, draft.checks, answer)
        if self._refused_end:
            answer = f"{answer}\n\n{ENDED_ALL_THE_SAME.format(refused=self._refused_end)}".lstrip()
        return Finish("completed", turn.evidence.state, answer)

    async def _next_response(self) -> ModelResponse | Finish:
        """Ask the model for its next step; a `Finish` ends the turn."""
        if problem := await self._record.failing():
            return Finish("failed", "store_failed", problem)
        await self._context.verdicts.tell()
        await look_around(self._services, self._record, self.id)
        await self._instructions.look()
        await self._map.look(self._conversation)
        self._titling.look(between_steps=True)
        self._take_in_what_is_new()
        self._look_at_tools()
        await self._tell_of_servers()
        await self._asker.route("main", self._conversation)
        await self._suit_window()
        if small := self._budget.too_small(self._conversation[0]):
            self._append_too_long(small[0])
            return Finish("failed", "window_too_small", small[1])
        if spent := self._budget.spent(self._state.steps, self._state.account):
            return await self._wrap_up(spent)
        if spent := await self._fitting.fit():
            return await self._wrap_up(spent)
        await self._asker.prepare(self._conversation)
        steering = await self._take_in_steering()
        response = await self._asker.ask("main", self._conversation, steering)
        shortened_for = set[str]()  # once for each model: one that stands in for another may take less
        while isinstance(response, ModelFailure) and response.kind == "context_overflow":
            await self._suit_window()
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
        calls = tuple(
            state.call for state in self._state.calls.values() if state.check is None and not state.fills
        )
        return ModelResponse(
            data["text"], calls, cast("FinishReason", data["finishReason"]), data.get("reasoning")
        )

    # --- phases ------------------------------------------------------------------------------------------------

    async def _prepare(self) -> None:
        if self._state.steps_given is not None:
            self._append(PlanUpdated(items=self._state.steps_given))
        await self._context.user.ask_for_trust()
        if not self._record.state.requested:
            await self._hooks("sessionStart")
        await self._hooks("turnStart", prompt=self._state.task)
        await self._run_calls(
            [one.call for one in self._state.calls.values() if one.fills and not one.finished]
        )
        if self._state.told:
            await self._write_system()
            last_word = self._to_go_on()
        else:
            _, task = await asyncio.gather(self._write_system(), self._message_of_task())
            last_word = [task]
        # What happened since the turn before comes before that.
        await look_around(self._services, self._record, self.id)
        self._take_in_what_is_new()
        self._record.state.since = last_word

    async def _message_of_task(self) -> Message:
        """The message that brings the task, with its pictures and without secrets."""
        briefing, state, masking = self._services.briefing, self._state, self._record.masking
        task, pictures = await asyncio.gather(
            briefing.task(state.task, state.context, self._context.commands, self._conversation),
            briefing.images(state.task, state.context),
        )
        self._asker.bring({image.hash: content for image, content in pictures})
        task = replace(task, images=task.images or tuple(image for image, _ in pictures))
        await masking.look(task.text)
        return task.reworded(masking.without_secrets)

    def _to_go_on(self) -> list[Message]:
        """What is said where the task is in the conversation, and the model goes on where the turn before it stopped."""
        before = self._record.state.turns[self._state.continues or ""]
        # A request that failed is made again as it was.
        is_same = before.outcome == "failed" and self._conversation[-1].role != "assistant"
        return [] if is_same else [Message("user", GO_ON)]

    async def _write_system(self) -> None:
        """Begin the conversation with the system message as it is now."""
        system = await self._services.briefing.system(
            self._state.mode,
            self._services.policy.trust.trusts,
            self._context.commands,
            in_short=self._in_short,
        )
        await self._record.masking.look(system.text)
        system = system.reworded(self._record.masking.without_secrets)
        if self._conversation[:1] != [system]:
            self._conversation[:1] = [system]
            self._budget.counter.forget()

    async def _suit_window(self) -> None:
        """Say in short what every request has, or in full, where the model that is asked now has another window."""
        in_short = is_small(self._budget.context_window)
        if in_short != self._in_short:
            self._in_short = in_short
            self._asker.offers(Offer(self._tools, in_short=in_short))
            await self._write_system()

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
        results: list[str] = []
        calls = [state.call for state in self._state.calls.values() if not state.fills]
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
            await self._run_hooked([call for call in calls if not self._state.calls[call.id].finished])
            results = [message.text for message in self._record.state.since if message.role == "tool"]
            if self._repeats.note(calls, results, response.text):
                return await self._ended_by("repeated_text", "The model kept saying the same.")
        bad = response.finish_reason == "length" or all(self._is_malformed(call) for call in calls)
        if self._repairs.note(bad=bad, told=results):
            return await self._ended_by("malformed_calls", "The model kept making calls that cannot be run.")
        return None

    def _left_undone(self) -> str:
        """What the model is told, once in a turn, of what it left undone; empty where there is nothing."""
        turn = self._state
        if turn.reminded or self._read_only or self._budget.spent(turn.steps, turn.account):
            return ""
        can_run = "run_command" in self._registry
        unchecked = can_run and not turn.checks and turn.evidence.is_missing
        errors = said_of_errors(len(turn.evidence.left))
        if errors:
            errors += f" ({'; '.join(map(_named, turn.evidence.left[:MOST_ERRORS]))})"
        count = len(turn.open_items(self._record.state.plan))
        points = f"{count} point{'s' * (count > 1)} of the plan {'are' if count > 1 else 'is'} open"
        left = ["nothing has checked your last change"] * unchecked + [errors] * bool(errors)
        if not left and not count:
            return ""
        how = [_CHECK] * bool(left) + [_PLAN] * (count > 0)
        return REMINDER_TEXT.format(left=" and ".join([*left, *[points] * (count > 0)]), how=", ".join(how))

    async def _goes_back(self) -> str:
        """Why the model is asked once more that would end the turn: a check of the task failed, or it is told what it left undone."""
        await self._context.verdicts.settle()
        await self._since_checks.settle()
        if came := await self._run_checks():
            return came
        wanted = self._services.runtime.settings().reminders and self._asker.takes_reminders
        turn = self._state
        if wanted and turn.mode == "plan" and turn.plan_path is None and not turn.reminded:
            self._nudge = PLAN_REMINDER
            return REMINDER
        if wanted and (left := self._left_undone()):
            self._nudge = left
            return REMINDER
        return ""

    async def _held_by_hooks(self) -> str:
        """Run the hooks of the end of a turn; why the model is asked once more: one of them refuses that it ends."""
        turn = self._state
        refused = (await self._hooks("turnEnd", again=turn.held_by_hooks > 0)).refused
        if refused and turn.held_by_hooks < MOST_HELD and not self._budget.spent(turn.steps, turn.account):
            self._nudge = HELD.format(refused=refused)
            return HELD_BY_HOOK
        self._refused_end = refused
        return ""

    async def _run_checks(self) -> str:
        """Run the checks of the task after a change; why the model is asked once more: one failed, or the user said something about one."""
        turn = self._state
        if not turn.verifying and not await self._begin_checks():
            return ""
        await self._run_calls(
            [one.call for one in turn.calls.values() if one.check is not None and not one.finished]
        )
        calls = {one.check: one for one in turn.calls.values() if one.check is not None}
        failed = {command: one.came for command, one in calls.items() if turn.evidence.failed(command)}
        lacking = {command for command, _ in turn.evidence.lacking}
        answered = {
            command: one.came
            for command, one in calls.items()
            if command not in failed and (one.is_commented or command in lacking)
        }
        why = "check_failed" if failed else ""
        why = why or ("check_answered" if any(one.is_commented for one in calls.values()) else "")
        told = None
        if why and turn.attempts <= MOST_REPAIRS:
            told = "\n\n".join(
                text.format(came="\n\n".join(f"$ {command}\n{output}" for command, output in came.items()))
                for text, came in ((CHECKS_FAILED, failed), (CHECKS_ANSWERED, answered))
                if came
            )
            await self._record.masking.look(told)
        self._append(VerifyFinished(attempt=turn.attempts, failed=list(failed), told=told))
        return why if told is not None else ""

    async def _begin_checks(self) -> bool:
        """Name the checks that are to be run now: those of the task and the settings, and of the workspace; False if none are."""
        turn = self._state
        if not turn.evidence.changed or self._read_only or turn.attempts > MOST_REPAIRS:
            return False
        here = await self._context.user.checks_of_workspace()
        checks = list(dict.fromkeys([*(turn.checks or ()), *here.allowed]))
        if turn.evidence.is_settled(checks):
            return False
        attempt = turn.attempts + 1
        calls = [
            CheckCall(id=f"{self.id}_check_{attempt}_{number}", command=one)
            for number, one in enumerate(checks, 1)
        ]
        self._append(VerifyStarted(attempt=attempt, calls=calls, ignored=list(here.ignored) or None))
        return True

    async def _run_hooked(self, calls: list[ToolCall]) -> None:
        """Run the calls of a response, with the hooks before and after each."""
        told: list[str] = []
        for call in calls:
            if not self._state.calls[call.id].hooked:
                outcome = await self._hooks("beforeTool", call)
                told += outcome.told
                if outcome.refused:
                    self._skip([call], f"Not run: {outcome.refused}", "denied")
        left = [self._state.calls[call.id] for call in calls if not self._state.calls[call.id].finished]
        await self._run_calls([one.call for one in left])
        for one in left:
            told += (await self._hooks("afterTool", one.call, result=one.came, status=one.status)).told
        if told:
            self._append(HookFinished(on="afterTool", told="\n".join(told)))

    async def _hooks(self, on: HookPoint, call: ToolCall | None = None, **given: Any) -> Outcome:
        """Run the hooks of a point; gives what they decided."""
        hooks, turn = self._services.policy.hooks, self._state
        about = (
            {}
            if call is None
            else {"callId": call.id, "tool": call.name, "arguments": _parsed(call.arguments)}
        )
        folder = next(iter(self._services.workspace.folders.folders), None)
        cwd = str(folder.path) if folder is not None else ""
        whole = {"sessionId": self._record.state.session_id, "mode": turn.mode, **about, **given}
        runs = await hooks.at(on, call.name if call is not None else "", whole, cwd)
        if not runs:
            return Outcome()
        call_id = call.id if call is not None else None
        named = [
            HookCall(
                id=f"{self.id}_hook_{turn.hook_runs + number}",
                command=one.line,
                hook=one.hook.command,
                refuses=one.hook.refuses_on_failure or None,
                seconds=one.hook.seconds,
            )
            for number, one in enumerate(runs, 1)
        ]
        self._append(HookStarted(on=on, call_id=call_id, calls=named))
        await self._run_calls([turn.calls[one.id].call for one in named])
        hooks.ended(runs)
        states = [turn.calls[one.id] for one in named]
        outcome = decided(
            [(run.hook, Came(s.status, s.exit_code, s.came)) for run, s in zip(runs, states, strict=True)],
            call.name if call is not None else "",
        )
        changed = None
        if outcome.arguments is not None and call is not None and on == "beforeTool":
            before = _parsed(call.arguments)
            known = cast("dict[str, Any]", before) if isinstance(before, dict) else {}
            changed = json.dumps({**known, **outcome.arguments})
        late = on not in {"beforeTool", "afterTool"}  # the results of a step come first
        self._append(
            HookFinished(
                on=on,
                call_id=call_id,
                refused=outcome.refused or None,
                asks=outcome.asks or None,
                arguments=changed,
                told="\n".join(outcome.told) or None if late else None,
            )
        )
        return outcome

    async def _run_calls(self, calls: list[ToolCall]) -> None:
        self._request(calls)
        # How much one result may have follows the window of the model that reads it.
        if not calls:
            return
        context = replace(self._context, limits=self._budget.of_results())
        await self._since_checks.look()
        await Executor(self._registry, context).execute(calls)
        await self._since_checks.count()

    async def _wrap_up(self, spent: BudgetExhausted) -> Finish:
        """End a turn whose budget is spent, with a summary as good as can be had."""
        if spent.limit == "contextWindow":
            self._append_too_long(spent)
        else:
            self._append(spent)
        fallback = f"Stopped before the task was finished: {spent.limit} is spent ({spent.used:g} of {spent.allowed:g})."
        if spent.limit == "contextWindow":
            way_out = "If the model can take more, set `contextWindow` of its provider; else give it a smaller task."
            return Finish("budget_exhausted", spent.limit, f"{fallback} {way_out}")
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
        turn = self._state
        calls = [call.call for call in turn.calls.values() if not call.finished]
        status: ToolStatus = "cancelled" if finish.outcome == "cancelled" else "interrupted"
        self._skip(calls, f"Not finished: the turn ended ({finish.reason}).", status)
        if turn.phase != "finish":
            self._enter("finish", finish.reason)
        self._append(
            TurnFinished(
                outcome=finish.outcome,
                reason=finish.reason,
                summary=finish.summary,
                usage=turn.usage,
                done=turn.shown(turn.open_items(self._record.state.plan))
                if turn.checks is not None
                else None,
            )
        )

    def _with_jobs(self, summary: str) -> str:
        """A summary that names the jobs that are left running."""
        running = ", ".join(job.named for job in self._record.state.jobs.values())
        ends = "Still running, until the session or its server ends"
        return f"{summary}\n\n{ends}: {running}.".lstrip() if running else summary

    def _is_malformed(self, call: ToolCall) -> bool:
        tool = self._registry.get(call.name)
        return (
            call.refused is not None or isinstance(tool, str) or isinstance(tool.parse(call.arguments), str)
        )


def _named(one: logged.Problem) -> str:
    return f"{one_line(one['path'])}:{one['line']}: {one['message']}"


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return arguments
