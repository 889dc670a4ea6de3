"""A session: its log, its queue, one turn at a time, and what the user can do to it."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from outrider.agent.changes.current_state import Standing
from outrider.agent.changes.renames import Following, Renamed
from outrider.agent.changes.undo import UndoneTurn, take_back
from outrider.agent.context.budget import Budget, patched
from outrider.agent.interaction.inbox import Channel, Inbox, Refusal, SavedRules, decision_title
from outrider.agent.interaction.quoting import short
from outrider.agent.loop import recovery
from outrider.agent.loop.titling import Titling
from outrider.agent.loop.tool_context import TurnContext, shared_by
from outrider.agent.loop.turn import Turn
from outrider.agent.services import Services
from outrider.agent.session.end_hooks import run_end_hooks
from outrider.agent.state.record import Record
from outrider.agent.state.state import SessionState
from outrider.agent.state.turn_state import TurnState, wait_result
from outrider.models.catalog import ModelProblem
from outrider.permissions.policy.decide import narrowest
from outrider.permissions.policy.ledger import LedgerProblem
from outrider.permissions.policy.rules import Rule
from outrider.ports.model import Message, Model, content_hash
from outrider.ports.text import visible
from outrider.processes import Job, Jobs
from outrider.store.locks import SessionLock
from outrider.tools.client import definition_of
from outrider.tools.run_command.connections import connections, refused_hosts
from outrider.tools.run_command.jobs import how_it_ended
from outrider_protocol.choices import PermissionMode
from outrider_protocol.commands import (
    AnswerParams,
    ContinueParams,
    ModelLatency,
    PendingSteering,
    QueueParams,
    RunParams,
    RunResult,
    SessionStatus,
    UndoParams,
    UndoResult,
    WaitResult,
)  # fmt: skip
from outrider_protocol.events import (
    ConversationRestored,
    Invoked,
    JobFinished,
    Mode,
    Open,
    Outcome,
    QueueChanged,
    QueuedRun,
    Scope,
    SessionClosed,
    SessionRestored,
    SessionStarted,
    SettingsChanged,
    SteeringReceived,
    TurnFinished,
    TurnParked,
    TurnQueued,
    TurnResumed,
    TurnSettings,
    TurnStarted,
    Usage,
)  # fmt: skip

log = logging.getLogger(__name__)

RefusedFor = Literal[
    "unknown_id", "already_resolved", "invalid", "no_token", "no_running_turn", "session_in_use", "model_unavailable", "store_failed",
    "nothing_to_undo", "not_latest", "too_large", "no_map", "not_waiting", "turn_running", "nothing_to_continue", "not_supported",
    "not_connected",
]  # fmt: skip

TITLE_CHARACTERS = 60
"""Characters of a task that a message quotes."""
REASONS_OF_A_LEAVE = {"remove": "removed from the queue", "steer": "told to the running turn"}
"""Why a task left the queue, by what was done to it."""
CANCEL_SECONDS = 5.0
"""How long a cancel may take before it is answered all the same."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something asked of a session is not done."""

    reason: RefusedFor
    message: str
    data: Mapping[str, str] = field(default_factory=dict[str, str])
    """What else the response's error says."""


class Session:
    """One session, open in this process."""

    def __init__(
        self,
        services: Services,
        record: Record,
        lock: SessionLock,
        *,
        show: Callable[[Open], Coroutine[Any, Any, str | None]],
        on_unwritten_end: Callable[[str], None] = lambda _: None,
        on_work_done: Callable[["Session"], None] = lambda _: None,
    ) -> None:
        """Open a session whose log is folded into `record.state`.

        Args:
            services: The house.
            record: The session's log.
            lock: The right to run it.
            show: Opens the document of an open item.
            on_unwritten_end: Is told the id of a turn that ended, where no event can tell of it.
            on_work_done: Is told when a piece of work in the background has come to its end.
        """
        self._on_work_done = on_work_done
        self.uses = 0
        """How many use it now: it does not rest meanwhile."""
        self._on_unwritten_end = on_unwritten_end
        self._services = services
        self._runtime = services.runtime
        self._record = record
        self._lock: SessionLock | None = lock
        self._conversation: list[Message] = []
        self._touched: dict[str, int] = {}
        self._turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._model: Model | None = None
        self._cancelled_early: dict[str, str] = {}
        self._closing = False
        self._latest_mode: Mode | None = None
        """The mode of the latest turn that ran in this process."""
        self._undoing = asyncio.Lock()
        self._giving = asyncio.Lock()
        """Keeps tasks in the order in which they came, though a long one is looked through first."""
        self._ending = asyncio.Event()
        self._waiters: list[asyncio.Future[None]] = []
        self._titling = Titling(services, record, self._watch)
        self.jobs = Jobs(services.runtime.supervisor, services.runtime.deadlines, self._job_is_over)
        self._shared = shared_by(services.runtime, services.policy, self.id)
        self.inbox = Inbox(
            record,
            services.runtime.editor,
            show=show,
            on_asked=self._wake,
            on_parked=self._on_parked,
            on_answered=self._on_answered,
            watch=self._watch,
            rules=SavedRules(str(services.policy.ledger.path), self._save_rules),
        )

    @property
    def id(self) -> str:
        """The session's id."""
        return self._record.state.session_id

    @property
    def record(self) -> Record:
        """The session's log."""
        return self._record

    @property
    def is_idle(self) -> bool:
        """Whether it has nothing to do and nothing to wait for."""
        state = self._record.state
        is_busy = bool(self._tasks) or self._undoing.locked() or bool(self.jobs.running)
        return state.current is None and not state.queue and not is_busy

    @property
    def holds(self) -> bool:
        """Whether this process has the right to run it; else it rests here, and another process may go on with it."""
        return self._lock is not None

    def hold(self, lock: SessionLock) -> None:
        """Take the right to run it, if nobody else has gone on with it since."""
        self._lock = lock

    def rest(self) -> None:
        """Let others go on with it. All that is known of it stays here, in case nobody does."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def turns(self) -> dict[str, TurnState]:
        """The turns so far."""
        return self._record.state.turns

    # --- opening and closing -------------------------------------------------------------------------------------

    def begin(self, real: list[str] | None) -> None:
        """Record that the session exists; `real` are the real paths of its folders, if links lead there."""
        self._record.append(
            SessionStarted(
                folders=[folder.uri for folder in self._services.workspace.folders.folders],
                real_folders=real,
                permission_mode=self._runtime.settings().permission_mode,
                version=self._runtime.version,
                tools_hash=next(iter(tools := self._client_tools()), None),
            ),
            blobs=tools,
        )

    async def restore(self, *, rests: bool = False) -> Refused | None:
        """Come back from the log: the conversation is read, and what was cut off outside a turn is looked up.

        Args:
            rests: Whether its turn stays cut off. What had begun in it is looked up all the same, as an undo must know it.
        """
        state = self._record.state
        # An undo needs nothing of the conversation, which may be damaged.
        if not rests and (problem := await self.recall()):
            return problem
        if not rests and state.current in await self._runtime.store.marked_failed():
            self._record.failed_before = (
                "This turn cannot continue: part of it could not be written to the log."
            )
        real = await self._services.workspace.folders.linked()
        self._record.append(
            SessionRestored(
                turn_id=None if rests else state.current,
                rests=rests or None,
                folders=[folder.uri for folder in self._services.workspace.folders.folders],
                real_folders=real,
                permission_mode=self._runtime.settings().permission_mode,
                limits=self._runtime.settings().limits,
                tools_hash=next(iter(tools := self._client_tools()), None),
            ),
            blobs=tools,
        )
        for job in list(state.jobs.values()):
            self._record.append(job.ended("interrupted"), turn_id=state.current)
        context = self._context("Outrider")
        for data in list(state.undoing.values()):
            await recovery.settle_change(context, self._runtime.store, data)
        if rests and state.turn is not None:
            registry = self._services.tools.now(state.turn.mode)
            await recovery.settle(
                self._context("Outrider", state.current), self._services, state.turn, registry, may_ask=False
            )
        self._touched.update(await recovery.look_at_documents(context, state.journal))
        return None

    async def recall(self) -> Refused | None:
        """Read the conversation so far from the log."""
        requested = self._record.state.requested
        blobs = await self._runtime.store.blobs(requested)
        if missing := [digest for digest in requested if digest not in blobs]:
            return Refused("store_failed", f"the log of {self.id} lacks {len(missing)} of its messages")
        self._conversation = [Message.decode(blobs[digest]) for digest in requested]
        return None

    async def end_turns(self, reason: str) -> None:
        """End the turns that have not ended, without going on with any: what had begun in them is cancelled."""
        for turn in self._record.state.queue:
            await self.cancel(turn.turn_id, reason)
        if (turn := self._record.state.turn) is not None:
            self._cancelled_early[turn.turn_id] = reason
            self._launch(turn)
            await self._ended(turn)

    def go_on(self) -> None:
        """Let the turn that was cut off run on, or the next one of the queue."""
        if (turn := self._record.state.turn) is not None:
            self._launch(turn)
        else:
            self._next()

    async def close(self, reason: str) -> None:
        """Let go of the session: a running turn is cancelled, one that waits for the user waits for its resume."""
        self._closing = True
        self._ending.set()
        self.jobs.hush()
        with contextlib.suppress(TimeoutError):  # an undo is brought to its end, without further questions
            async with self._runtime.deadlines.timeout(CANCEL_SECONDS), self._undoing:
                pass
        if self._turn is not None and self._task is not None:
            if waiting := self.inbox.open:
                self._on_parked(waiting)
                self._turn.suspended = True
            self._turn.cancel(reason)
            await asyncio.wait([self._task], timeout=CANCEL_SECONDS)
        await self._titling.end()
        await self.jobs.end()
        for job in list(self._record.state.jobs.values()):
            self._record.append(job.ended("closed"))
        await self._run_end_hooks(reason)
        await self._shared.close()
        for task in self._tasks:
            task.cancel()
        left_over = self._model.left_over() if self._model is not None else 0
        if self._record.state.last_seq:
            self._record.append(SessionClosed(reason=reason, left_over=left_over or None))
        await self._record.settled()
        if self._model is not None:
            await self._model.close()
        self.rest()

    async def _run_end_hooks(self, reason: str) -> None:
        """Run the hooks at the end, if a turn ran here: a session that was only looked at has begun nothing that ends."""
        if self._latest_mode is None or not self._services.policy.hooks.any:
            return
        context = self._context("Outrider: the end of the session", mode=self._latest_mode)
        problems = await run_end_hooks(self._services.policy.hooks, context, self.id, reason)
        for problem in problems:
            self._runtime.editor.say("warning", f"Outrider: {problem}.")

    async def abandon(self) -> None:
        """Let go without a word, as a process does that is killed."""
        self._closing = True
        if self._turn is not None:
            self._turn.suspended = True
        await self.jobs.end()
        await self._shared.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._model is not None:
            await self._model.close()
        self.rest()

    # --- what the user can do ----------------------------------------------------------------------------------

    async def run(
        self, params: RunParams, turn_id: str, model: str, invoked: Invoked | None = None
    ) -> RunResult | Refused:
        """Give the session a task; a busy session queues it. `invoked` is the custom command that it calls."""
        fields: dict[str, Any] = {
            "prompt": params.prompt,
            "mode": params.mode,
            "model": model,
            "context": params.context,
            "limits": params.limits.to_wire() if params.limits else None,
            "thinking": params.thinking,
            "invoked": invoked,
            "plan": params.plan,
            "plan_document": params.plan_document,
            "checks": list(dict.fromkeys([*(params.acceptance or ()), *self._runtime.settings().verify])),
        }
        return await self._give(turn_id, fields)

    async def go_on_with(self, params: ContinueParams, turn_id: str, model: str) -> RunResult | Refused:
        """Begin a turn that goes on where the latest one stopped before its task was done."""
        latest = self._record.state.latest
        if self._record.state.current is not None or self._record.state.queue:
            return Refused("turn_running", f"a turn of {self.id} runs or waits")
        if latest is None or latest.outcome in {None, "completed"}:
            return Refused(
                "nothing_to_continue", f"the latest turn of {self.id} has not stopped before its end"
            )
        limits = params.limits.to_wire() if params.limits else None
        fields = {
            "prompt": latest.prompt,
            "mode": latest.mode,
            "model": model,
            "context": latest.context,
            "limits": limits,
            "thinking": params.thinking or latest.thinking,
            "checks": latest.checks,
            "continues": latest.turn_id,
        }
        return await self._give(turn_id, fields)

    async def _give(self, turn_id: str, fields: dict[str, Any]) -> RunResult | Refused:
        async with self._giving:
            if not self._record.state.last_seq:
                self.begin(await self._services.workspace.folders.linked())
            invoked: Invoked | None = fields.get("invoked")
            await self._record.masking.look(fields["prompt"], invoked.text if invoked else "")
            busy = self._record.state.current is not None or bool(self._record.state.queue)
            if busy:
                self._record.append(TurnQueued(**fields), turn_id=turn_id)
            else:
                settings = self._settings()
                self._record.append(TurnStarted(**fields, settings=settings), turn_id=turn_id)
        if problem := await self._record.settled():
            # The log takes these two when it can be written again; until then nobody has seen the turn.
            self._record.append(
                TurnFinished(outcome="failed", reason="store_failed", summary=problem, usage=Usage()),
                turn_id=turn_id,
            )
            return Refused("store_failed", problem)
        if not busy:
            self._launch(self.turns[turn_id])
        return RunResult(session_id=self.id, turn_id=turn_id, queued=True if busy else None)

    async def steer(self, text: str, instead_of: str | None = None) -> str | Refused:
        """Say something to the running turn, in place of a text that the model has not seen yet; gives the id of the text."""
        if self._record.state.current is None:
            return Refused("no_running_turn", f"{self.id} has no running turn")
        pending_id = instead_of or self._runtime.ids.new("pend")
        self._record.append(
            SteeringReceived(pending_id=pending_id, text=text), turn_id=self._record.state.current
        )
        problem = await self._record.settled()
        return Refused("store_failed", problem) if problem else pending_id

    async def unsteer(self, pending_id: str) -> str | Refused:
        """Take a steering text back that the model has not seen yet."""
        text = self._record.state.steering.get(pending_id)
        if text is None:
            return Refused("unknown_id", f"{pending_id} is unknown, withdrawn, or already sent to the model")
        self._record.append(
            SteeringReceived(pending_id=pending_id, text=text, state="removed"),
            turn_id=self._record.state.current,
        )
        problem = await self._record.settled()
        return Refused("store_failed", problem) if problem else pending_id

    async def requeue(self, params: QueueParams) -> Refused | None:
        """Change what waits for the running turn."""
        async with self._giving:
            await self._record.masking.look(params.text or "")
            state = self._record.state
            if params.id in state.steering:
                return await self._change_steering(params)
            queue = {turn.turn_id: turn.prompt for turn in state.queue}
            if params.id not in queue:
                return Refused(
                    "unknown_id", f"{params.id} does not wait in {self.id}: it has begun, or is unknown"
                )
            if params.action in {"remove", "steer"}:
                if params.action == "steer" and isinstance(
                    told := await self.steer(queue[params.id]), Refused
                ):
                    return told
                await self.cancel(params.id, REASONS_OF_A_LEAVE[params.action])
                return None
            if params.text is not None:
                queue[params.id] = params.text
            order = list(queue)
            if params.to is not None:
                order.remove(params.id)
                order.insert(params.to, params.id)
            changed = [QueuedRun(turn_id=one, prompt=queue[one]) for one in order]
            self._record.append(QueueChanged(queue=changed))
            problem = await self._record.settled()
        return Refused("store_failed", problem) if problem else None

    async def _change_steering(self, params: QueueParams) -> Refused | None:
        if params.action == "remove":
            done = await self.unsteer(params.id)
        elif params.text is not None:
            done = await self.steer(params.text, params.id)
        else:
            return Refused(
                "invalid", f"{params.id} is a text for the running turn: it can be edited and removed"
            )
        return done if isinstance(done, Refused) else None

    async def go_back(self, to: SessionState, gone: Sequence[str]) -> Refused | None:
        """Let the conversation be what it was before some turns.

        Args:
            to: The session as it was then.
            gone: The turns that leave the conversation, in order.
        """
        later = [*to.since, *to.news]
        messages = [*to.requested, *(message.digest for message in later)]
        restored = ConversationRestored(turns=list(gone), messages=messages, plan=to.plan)
        self._record.append(restored, blobs={message.digest: message.encoded for message in later})
        if problem := await self._record.settled():
            return Refused("store_failed", problem)
        return await self.recall()

    async def cancel(self, turn_id: str, reason: str) -> Outcome:
        """End a turn, running, parked or queued; gives its outcome, the same however often it is asked."""
        turn = self.turns[turn_id]
        if not turn.started and turn.outcome is None:
            self._record.append(
                TurnFinished(outcome="cancelled", reason=reason, summary="", usage=Usage()), turn_id=turn_id
            )
            self._wake()
        elif turn.outcome is None:
            if self._turn is None or self._turn.id != turn_id:  # its start is being committed
                self._cancelled_early[turn_id] = reason
            else:
                self.jobs.hush(turn_id)
                self._titling.cancel()
                self._turn.cancel(reason)
            await self._ended(turn)
        if turn.outcome != "cancelled":
            await self.jobs.kill_those_of(turn_id)
        await self._record.settled()
        return turn.outcome or "cancelled"

    def retry_now(self, turn_id: str) -> Refused | None:
        """Ask the model again at once, where a turn waits for its next attempt."""
        if self._record.state.current != turn_id:
            return Refused("no_running_turn", f"the turn {turn_id} is not running")
        if self._model is None or not self._model.retry_now():
            return Refused("not_waiting", f"the turn {turn_id} is not waiting to retry its model")
        return None

    @property
    def retry_in(self) -> float | None:
        """Seconds until the running turn asks its model again after a failure; None where it does not wait for that."""
        return None if self._model is None or self._record.state.current is None else self._model.retry_in

    async def _ended(self, turn: TurnState) -> None:
        try:
            async with self._runtime.deadlines.timeout(CANCEL_SECONDS):
                while turn.outcome is None:
                    await self._news()
        except TimeoutError:
            log.warning("%s does not end", turn.turn_id)

    def answer(self, params: AnswerParams, channel: Channel) -> Refusal | None:
        """Answer an open item."""
        review = params.review or ()
        if params.decision is not None:
            title = decision_title(params.decision)
            return self.inbox.answer(
                params.id,
                "decision",
                title,
                params.note,
                channel,
                review,
                params.scope,
                together=params.together,
            )
        if params.answer is not None:
            return self.inbox.answer(params.id, "answer", params.answer, None, channel, review)
        return self.inbox.answer(params.id, "error", params.error or "", None, channel, review)

    async def answer_when_asked(self, params: AnswerParams, channel: Channel) -> Refusal | None:
        """Answer an open item; after a resume as soon as its turn comes to ask it again."""
        try:
            async with self._runtime.deadlines.timeout(CANCEL_SECONDS):
                while params.id in self._record.state.open:
                    if any(item.id == params.id for item in self.inbox.open):
                        return self.answer(params, channel)
                    await self._news()
        except TimeoutError:
            pass
        return Refusal("unknown_id", f"{params.id} is no longer open: the change it asked about has changed")

    def settings_changed(self, old: PermissionMode, new: PermissionMode) -> None:
        """Record a narrower permission mode, which the running turn goes by at once."""
        if self._record.state.current is not None and narrowest(old, new) != old:
            self._record.append(SettingsChanged(permission_mode=new), turn_id=self._record.state.current)

    async def undo(
        self, params: UndoParams, looked: Standing | None, *, redo: bool, is_latest: bool = True
    ) -> UndoResult | Refused:
        """Take changes back, or take that back.

        Args:
            params: What is taken back.
            looked: How the files were just seen, where they were.
            redo: Whether it is brought back.
            is_latest: Whether this session is the latest one, or was named.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        what = "redo" if redo else "undo"
        async with self._undoing:
            context, state = self._context(f"Outrider: {what}"), self._record.state
            taking = take_back(
                self._services, context, state, self._ending, params, looked, redo=redo, is_latest=is_latest
            )
            result = await taking
            if isinstance(result, UndoneTurn):
                data = {"sessionId": self.id, "turnId": result.turn_id, "prompt": result.prompt}
                message = (
                    f"the latest turn has nothing to undo; “{short(result.prompt, TITLE_CHARACTERS)}” has"
                )
                return Refused("not_latest", message, data)
            if result is None:
                why = "is undone" if redo else "is in place"
                message = f"there is nothing to {what}: no change of {self.id} {why}"
                return Refused("nothing_to_undo", message)
            problem = await self._record.settled()
            return Refused("store_failed", problem) if problem else result

    async def renamed(self, renamed: Renamed) -> None:
        """Follow what was renamed in the editor; an undo that runs is brought to its end first."""
        async with self._undoing:
            await Following(self._services, self._record, self._touched).follow(renamed)

    # --- what there is to see ------------------------------------------------------------------------------------

    def status(self) -> SessionStatus:
        """What the session is doing now."""
        state = self._record.state
        asked = [*self._asked, *self._services.policy.trust.open_in(state.current)]
        return status_of(state, asked, self.retry_in)

    async def wait(self, turn_id: str, seconds: float | None) -> WaitResult:
        """Wait until a turn has finished or is parked, for `seconds` at most."""
        try:
            async with self._runtime.deadlines.timeout(seconds):
                while (result := wait_result(self.turns[turn_id], self._asked)).outcome is None:
                    await self._news()
        except TimeoutError:
            return wait_result(self.turns[turn_id], [])
        problem = await self._record.settled()
        if problem and result.outcome not in {"failed", "needs_input"}:
            return result.model_copy(
                update={"outcome": "failed", "reason": "store_failed", "summary": problem}
            )
        return result

    @property
    def _asked(self) -> list[Open]:
        return self.inbox.as_asked(self._record.state.open.values())

    # --- inside --------------------------------------------------------------------------------------------------

    def _launch(self, turn: TurnState) -> None:
        """Start the task of a turn whose `turn.started` is recorded."""
        settings = self._runtime.settings()
        budget = Budget(patched(settings.limits, turn.limits), self._runtime.clock)
        label, self._latest_mode = f"Outrider: {_first_line(turn.prompt)}", turn.mode
        context = self._context(label, turn.turn_id, budget, turn.mode)
        self._turn = Turn(
            self._services,
            self._record,
            self._conversation,
            context,
            budget,
            turn.turn_id,
            self._titling,
            open_model=lambda: self._open_model(turn.model),
        )
        if reason := self._cancelled_early.pop(turn.turn_id, None):
            self._turn.cancel(reason)
        self._task = self._watch(self._run(self._turn))

    async def _open_model(self, reference: str) -> Model | ModelProblem:
        opened = await self._services.models.open(reference, self._record.state)
        if not isinstance(opened, ModelProblem):
            before, self._model = self._model, opened
            if before is not None:
                await before.close()
        return opened

    async def _run(self, turn: Turn) -> None:
        try:
            await turn.run()
        except Exception:
            log.exception("the end of a turn of %s was not fully recorded", self.id)
            said = "Outrider failed."
            failed = TurnFinished(outcome="failed", reason="internal_error", summary=said, usage=Usage())
            self._record.append(failed, turn_id=self._record.state.current)
        if turn.suspended:
            return
        self._titling.look()
        if problem := await self._record.settled():
            await self._runtime.store.mark_failed(turn.id)
            self._runtime.editor.say("error", f"Outrider cannot write its log: {problem}")
            self._on_unwritten_end(turn.id)
        elif self._record.failed_before is not None:
            self._record.failed_before = None
            await self._runtime.store.unmark_failed(turn.id)
        await self._services.policy.ledger.write_hits()
        self._wake()
        if not self._closing:
            self._next()

    def _next(self) -> None:
        """Start the turn that has waited longest."""
        if self._record.state.current is None and (queue := self._record.state.queue):
            turn = queue[0]
            self._record.append(
                TurnStarted(
                    prompt=turn.prompt,
                    mode=turn.mode,
                    model=turn.model,
                    context=turn.context,
                    limits=turn.limits,
                    thinking=turn.thinking,
                    invoked=turn.invoked,
                    settings=self._settings(),
                    checks=turn.checks,
                    plan=turn.steps_given,
                    plan_document=turn.plan_document,
                    continues=turn.continues,
                ),
                turn_id=turn.turn_id,
            )
            self._launch(self.turns[turn.turn_id])

    def _client_tools(self) -> dict[str, bytes]:
        """The definitions of the tools that the client registered, by their content hash; empty where there are none."""
        tools = self._runtime.settings().tools
        encoded = json.dumps([definition_of(tool) for tool in tools], ensure_ascii=False).encode()
        return {content_hash(encoded): encoded} if tools else {}

    def _settings(self) -> TurnSettings:
        settings = self._runtime.settings()
        return TurnSettings(
            permission_mode=settings.permission_mode, limits=settings.limits, autonomy=settings.autonomy
        )

    def _context(
        self, label: str, turn_id: str | None = None, budget: Budget | None = None, mode: Mode = "agent"
    ) -> TurnContext:
        """What a turn sees, and what belongs to none."""
        budget = budget or Budget(self._runtime.settings().limits, self._runtime.clock)
        session = (self._services, self._record, self.inbox, self._touched, self.jobs, self._shared)
        return TurnContext.of(*session, budget, turn_id=turn_id, label=label, mode=mode)

    async def _save_rules(self, item: Open, scope: Scope) -> None:
        """Save the rules of an approval that was always allowed; if that fails, it was allowed this time."""
        folders = self._services.workspace.folders.folders
        workspace = str(folders[0].path) if scope == "workspace" and folders else None
        rules = [
            Rule("allow", one.tool, one.command, bool(one.exact), one.script, one.path, one.host, workspace)
            for one in item.always or ()
        ]
        saved = await self._services.policy.ledger.add(rules)
        if isinstance(saved, LedgerProblem):
            self._runtime.editor.say(
                "warning", f"Outrider allowed it this time, but could not save the rule: {saved.message}"
            )

    def _job_ended(self, job: Job) -> None:
        """Record how a job ended by itself, or that somebody ended it."""
        state = self._record.state
        if (known := state.jobs.get(job.id)) is None:
            return
        refused = refused_hosts(job.order.way.reached if job.order.way else ())
        told = (
            None
            if job.is_watched
            else "; ".join((f"{known.named} has ended: {how_it_ended(job)}", *refused)) + "."
        )
        finished = JobFinished(
            job_id=job.id,
            status="lost" if job.status == "running" else job.status,
            exit_code=job.exit_code,
            signal=job.signal,
            seconds=round(job.seconds, 3),
            output=visible(job.output),
            told=told,
            connections=connections(job.order.way.reached) if job.order.way else None,
        )
        self._record.append(finished, turn_id=known.turn_id if known.turn_id == state.current else None)

    def _on_parked(self, items: Sequence[Open]) -> None:
        turn = self._record.state.turn
        if turn is not None and not turn.parked:
            self._record.append(TurnParked(open=list(items)), turn_id=turn.turn_id)
            self._titling.look()
        self._wake()

    def _on_answered(self, item: Open) -> None:
        turn = self._record.state.turn
        if turn is not None and turn.parked:
            self._record.append(TurnResumed(id=item.id), turn_id=turn.turn_id)

    async def _news(self) -> None:
        """Wait until a turn finished or parked, or an item is asked."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _job_is_over(self, job: Job) -> None:
        self._job_ended(job)
        self._on_work_done(self)

    def _watch(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a background task: it is kept, and its failure is reported."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            log.error("a background task of %s failed", self.id, exc_info=problem)
        if not self._closing:
            self._on_work_done(self)


def status_of(state: SessionState, asked: list[Open], retry_in: float | None = None) -> SessionStatus:
    """What a session is doing, by its log.

    Args:
        state: The session.
        asked: What waits for an answer.
        retry_in: Seconds until it asks its model again, if it waits for that.
    """
    turn = state.turn
    return SessionStatus(
        session_id=state.session_id,
        state="idle" if turn is None else "parked" if turn.parked else "running",
        turn_id=turn.turn_id if turn else None,
        phase=turn.phase if turn else None,
        queue=[QueuedRun(turn_id=queued.turn_id, prompt=queued.prompt) for queued in state.queue],
        steering=[PendingSteering(pending_id=key, text=text) for key, text in state.steering.items()],
        open=asked,
        plan=state.plan,
        usage=state.account.usage,
        retry_in=None if retry_in is None else round(retry_in, 1),
        latencies=[
            ModelLatency(
                model=model,
                requests=pace.requests,
                first_token_ms=round(pace.first_token_ms, 1),
                tokens_per_second=pace.tokens_per_second and round(pace.tokens_per_second, 1),
            )
            for model, pace in state.paces.items()
        ],
    )


def _first_line(prompt: str, length: int = 50) -> str:
    line = next(iter(prompt.strip().splitlines()), "")
    return line if len(line) <= length else f"{line[: length - 1]}…"
