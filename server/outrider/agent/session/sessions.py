"""The sessions of a workspace: those that run in this process, and those that are only in the log."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal, get_args
from weakref import WeakValueDictionary

from outrider.agent.changes import listing, net_patch
from outrider.agent.changes.current_state import Standing, standing, stands_in
from outrider.agent.changes.renames import Renamed, event_of, known_files
from outrider.agent.changes.undo import UndoneTurn, lasting, turn_of
from outrider.agent.context.prompt_preview import next_request
from outrider.agent.customization.commands import NotInvoked
from outrider.agent.interaction import shown_documents
from outrider.agent.interaction.inbox import FROM_ANYBODY, Channel, Refusal
from outrider.agent.interaction.quoting import short
from outrider.agent.interaction.review_document import UnderReview, above_the_diff
from outrider.agent.loop.tool_context import Commands, shared_by
from outrider.agent.masking import masking_for
from outrider.agent.services import Services
from outrider.agent.session.joined import Joined
from outrider.agent.session.session import TITLE_CHARACTERS, Refused, Session, status_of
from outrider.agent.state.record import Record
from outrider.agent.state.state import SessionState
from outrider.agent.state.turn_state import TurnState, wait_result
from outrider.models.catalog import ModelProblem
from outrider.ports.events import LoggedEvent, StreamFrame
from outrider.store.locks import SessionLock
from outrider.store.problem import StoreReadError
from outrider.store.reader import SessionRow
from outrider.store.search import Match
from outrider.workspace.edits.review import Proposed
from outrider_protocol.commands import (
    AnswerParams,
    ChangesParams,
    ChangesResult,
    ContinueParams,
    EventsParams,
    EventsResult,
    PromptResult,
    ResendParams,
    RestoreParams,
    RestoreResult,
    RetryParams,
    RetryResult,
    RunParams,
    RunResult,
    SessionMatch,
    SessionsParams,
    SessionsResult,
    SessionStatus,
    SessionSummary,
    UndoParams,
    UndoResult,
    WaitResult,
)  # fmt: skip
from outrider_protocol.events import Open, Outcome
from outrider_protocol.notifications import Event
from outrider_protocol.settings import BY_TIERS, LimitsPatch, Tiers


@dataclass(frozen=True, slots=True)
class Resting:
    """A session whose turn has not ended, and that no process runs."""

    session_id: str
    turn_id: str
    prompt: str
    items: tuple[Open, ...]
    """What it waits for; nothing where the server was stopped while it was at work."""
    last_seq: int
    """The event up to which this is told."""
    undoes: UndoneTurn | None
    """The turn that an undo would take back, which may be one before; None where there is nothing."""
    can_redo: bool

    @classmethod
    def of(cls, state: SessionState, turn: TurnState) -> "Resting":
        """What there is to say of a session.

        Args:
            state: The session, as its log tells.
            turn: The turn that it was left in.
        """
        return cls(
            session_id=state.session_id,
            turn_id=turn.turn_id,
            prompt=turn.prompt,
            items=tuple(state.open.values()),
            last_seq=state.last_seq,
            # Whether a change that had begun is in place is looked up when it is to be taken back.
            undoes=UndoneTurn(turn.turn_id, turn.prompt)
            if any(call.applying for call in turn.calls.values())
            else turn_of(state, state.journal.to_undo("turn", None)),
            can_redo=bool(state.journal.to_redo()),
        )


log = logging.getLogger(__name__)

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
MOST_IDLE = 8
"""Idle sessions that stay open."""
_ALL = SessionsParams()
PAGE = 2000
"""Events read from the log at once."""
LOCKS_TRIED = 10
"""New ids whose lock somebody else may have."""


class Sessions:
    """All sessions of the workspace."""

    def __init__(self, services: Services) -> None:
        """Begin with none open."""
        self._services = services
        self._runtime = services.runtime
        self.on_unwritten_end: Callable[[str], None] = lambda _: None
        """Is told the id of a turn that ended while the log could not be written, so that no event tells of it."""
        self._ended_failed: asyncio.Task[None] | None = None
        self._open: dict[str, Session] = {}
        self._latest: str | None = None
        """The session that was worked in last here."""
        self._going_to_rest: set[asyncio.Task[None]] = set()
        self.on_elsewhere: Callable[[LoggedEvent | StreamFrame], None] = lambda _: None
        """Is told of what another process does in a session of this one, or in one that is joined."""
        self.on_rest: Callable[[str], None] = lambda _: None
        """Is told the id of a session that this process does not run any more."""
        self.joined = Joined(services)
        self.joined.on_told = self._told_elsewhere
        self.joined.on_left = self._left
        self.joined.on_ended = self._ended_elsewhere
        self.on_unwatched: Callable[[SessionState], None] = lambda _: None
        """Is told of a session that was joined and that the other process runs no more."""
        self._known: dict[str, int] = {}
        """The last event that was told here of each session which was open here and is not any more."""
        self._places = listing.Places(services)
        self._opening: dict[str, asyncio.Task[Session | Refused]] = {}
        """Sessions that are being opened from the log."""
        self._in_order: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By session: held while a task is on its way to it, so that a later one does not overtake it."""
        self._aside: dict[str, Session] = {}
        """Sessions that are open for an undo alone, as their turn was cut off and stays so."""
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """Who opens a session from the log has its lock meanwhile, and for the whole time that it is aside."""
        self._resting: dict[str, Resting] = {}
        """Sessions whose turn has not ended and that no process runs, the latest first."""
        self._elsewhere: dict[str, Resting] = {}
        """Sessions whose turn has not ended and that another process runs."""

    @property
    def running(self) -> list[Session]:
        """The sessions that are open in this process, the one that was given a task last at the end."""
        return list(self._open.values())

    @property
    def waiting(self) -> list[Open]:
        """What waits for the user: first the items of the sessions here, then of the log, as far as it was read."""
        asked = [item for session in self.running for item in session.inbox.for_user]
        return [
            *asked,
            *self.joined.waiting,
            *self._services.policy.trust.open,
            *(item for one in self._resting.values() for item in one.items),
        ]

    @property
    def resting(self) -> list[Resting]:
        """The sessions whose turn was cut off or is parked and that no process runs, the latest first, as far as was looked."""
        return list(self._resting.values())

    def is_elsewhere(self, session_id: str) -> bool:
        """Whether another process runs a session with something open, as far as it was looked for."""
        return session_id in self._elsewhere and session_id not in {*self._open, *self._resting}

    def holds(self, session_id: str) -> bool:
        """Whether this process has the right to run a session now."""
        session = self._open.get(session_id) or self._aside.get(session_id)
        return session is not None and session.holds

    async def elsewhere(
        self, *, session_id: str | None = None, turn_id: str | None = None, item_id: str | None = None
    ) -> str | None:
        """The session that is meant, where another process runs it.

        Args:
            session_id: The session.
            turn_id: Or one of its turns.
            item_id: Or an item that is open in it.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        if item_id is not None:
            session_id = await self._asking_elsewhere(item_id)
        elif turn_id is not None:
            if any(turn_id in session.turns and session.holds for session in self.running):
                return None
            session_id = await self._runtime.store.find_turn(turn_id)
        if session_id is None or self.holds(session_id) or self._is_locked_here(session_id):
            return None
        is_known = await self._runtime.store.last_seq(session_id) > 0
        return session_id if is_known and self._is_locked(session_id) else None

    async def _asking_elsewhere(self, item_id: str) -> str | None:
        """The session of another process in which an item is open."""
        for state in self.joined.states:
            if item_id in state.open:
                return state.session_id
        here = [session.record for session in self.running]
        if any(item_id in record.state.open or record.was_resolved(item_id) for record in here):
            return None
        await self.look_for_resting()
        for session_id, there in self._elsewhere.items():
            if any(item.id == item_id for item in there.items):
                return session_id
        # What was asked since the look, or was answered there first, is told by who asked it.
        return next(iter(self._elsewhere), None) if len(self._elsewhere) == 1 else None

    def _told_elsewhere(self, told: LoggedEvent | StreamFrame) -> None:
        self.on_elsewhere(told)

    def _left(self, state: SessionState) -> None:
        self._known[state.session_id] = state.last_seq

    def _ended_elsewhere(self, state: SessionState) -> None:
        # One that goes on here tells of itself.
        if state.session_id not in {*self._open, *self._opening}:
            self.on_unwatched(state)

    def runs(self, session_id: str) -> bool:
        """Whether a session is open in this process."""
        return session_id in self._open

    def get(self, session_id: str) -> Session | Refused:
        """The open session of that id."""
        return self._open.get(session_id) or Refused("unknown_id", f"no session {session_id!r} is open here")

    def uri_of(self, path: str) -> str:
        """The URI of a document of Outrider's by its path in the first workspace folder."""
        return (self._services.workspace.folders.folders[0].path / path).as_uri()

    def that_planned(self, path: str) -> str | None:
        """The session that wrote a plan document, if it is open here and idle: it knows what the plan is about."""
        wrote = (
            one.id
            for one in reversed(self.running)
            if one.is_idle and any(turn.plan_path == path for turn in one.turns.values())
        )
        return next(wrote, None)

    async def run(self, params: RunParams) -> RunResult | Refused:
        """Give a task to a session, or to a new one. Those of one session come to it in their order."""
        if params.continue_ and self._latest is not None:
            params = params.model_copy(update={"session_id": self._latest, "continue_": None})
        if params.session_id is None:
            return await self._given(params)
        async with self._order_of(params.session_id):
            return await self._given(params)

    async def go_on_with(self, params: ContinueParams) -> RunResult | Refused:
        """Begin a turn that goes on where the latest one of a session stopped before its task was done."""
        async with self._order_of(params.session_id):
            model = await self._model_for(params.model)
            if isinstance(model, Refused):
                return model
            async with self._using(params.session_id) as session:
                if isinstance(session, Refused):
                    return session
                return self._began(await session.go_on_with(params, self._runtime.ids.new("turn"), model))

    async def retry(self, params: RetryParams) -> RetryResult | Refused:
        """Have a turn that waits for its next attempt at a model make it at once, or a failed one run again."""
        found = await self.with_turn(params.turn_id)
        if isinstance(found, Refused):
            return found
        state = found.record.state if isinstance(found, Session) else found
        if state.turns[params.turn_id].outcome is None:
            if isinstance(found, SessionState):
                return Refused("no_running_turn", f"the turn {params.turn_id} is not running")
            done = found.retry_now(params.turn_id)
            return done or RetryResult(session_id=state.session_id, turn_id=params.turn_id)
        latest = state.latest
        if latest is None or latest.turn_id != params.turn_id:
            message = f"another turn came after {params.turn_id}"
            return Refused("nothing_to_continue", message)
        began = await self.go_on_with(ContinueParams(session_id=state.session_id, model=params.model))
        if isinstance(began, Refused):
            return began
        return RetryResult(session_id=began.session_id, turn_id=began.turn_id)

    async def restore(self, params: RestoreParams) -> RestoreResult | Refused:
        """Take a session back to before a message.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        async with self._order_of(params.session_id), self._using(params.session_id) as session:
            return session if isinstance(session, Refused) else await self._restored_to(session, params)

    async def resend(self, params: ResendParams) -> RunResult | Refused:
        """Take a session back to before a message, and send another one in its place.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        async with self._order_of(params.session_id):
            model = await self._model_for(params.model)
            if isinstance(model, Refused):
                return model
            to = RestoreParams(session_id=params.session_id, turn_id=params.turn_id, files=params.files)
            async with self._using(params.session_id) as session:
                if isinstance(session, Refused):
                    return session
                restored = await self._restored_to(session, to)
                if isinstance(restored, Refused):
                    return restored
                before = session.turns[params.turn_id]
                task = RunParams(
                    prompt=params.prompt,
                    session_id=params.session_id,
                    context=params.context or before.context,
                    mode=params.mode or before.mode,
                    limits=LimitsPatch.model_validate(before.limits) if before.limits else None,
                    thinking=before.thinking,
                    acceptance=before.checks,
                )
                return self._began(await session.run(task, self._runtime.ids.new("turn"), model))

    async def _restored_to(self, session: Session, params: RestoreParams) -> RestoreResult | Refused:
        state = session.record.state
        turn = state.turns.get(params.turn_id)
        if turn is None or not turn.started or (turn.forgotten and params.conversation):
            return Refused("unknown_id", f"{params.session_id} has no turn {params.turn_id!r} to go back to")
        if (current := state.turn) is not None:
            if not current.parked:
                return _runs(params.session_id)
            await session.cancel(current.turn_id, "the session went back to before it")
        begun = [one for one in state.turns.values() if one.started]
        later = begun[begun.index(turn) :]
        undone = await self._undo_turns(params.session_id, later) if params.files else None
        if isinstance(undone, Refused):
            return undone
        gone = [one.turn_id for one in later if not one.forgotten]
        if params.conversation:
            await session.record.settled()
            before = await self._fold(params.session_id, until=params.turn_id)
            if refused := await session.go_back(before, gone):
                return refused
        return RestoreResult(
            session_id=params.session_id,
            turn_id=params.turn_id,
            prompt=turn.prompt,
            turns=gone if params.conversation else [],
            undo=undone,
        )

    async def _undo_turns(self, session_id: str, turns: Sequence[TurnState]) -> UndoResult | Refused:
        """Undo what some turns changed, the latest first."""
        ids = [turn.turn_id for turn in reversed(turns)]
        return await self._undo_each(UndoParams(session_id=session_id, scope="turn"), ids, redo=False)

    async def undo_after(self, session_id: str, turn_id: str) -> UndoResult | Refused:
        """Undo what was changed by the turns that came after one.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        state = await self._state(session_id)
        if state.turn is not None and not state.turn.parked:
            return _runs(session_id)
        begun = [one for one in state.turns.values() if one.started]
        later = begun[begun.index(state.turns[turn_id]) + 1 :]
        return await self._undo_turns(session_id, later)

    def _order_of(self, session_id: str) -> asyncio.Lock:
        return self._in_order.setdefault(session_id, asyncio.Lock())

    def _began(self, began: RunResult | Refused) -> RunResult | Refused:
        """Take note of the session that was worked in last."""
        if isinstance(began, RunResult) and began.session_id in self._open:
            self._latest = began.session_id
            self._open[began.session_id] = self._open.pop(began.session_id)
        return began

    async def _model_for(self, wanted: str | None) -> str | Refused:
        """The model that a turn names, or that is set; it can be opened."""
        settings, catalog = self._runtime.settings(), self._services.catalog
        model = wanted or (BY_TIERS if settings.tiers != Tiers() else settings.model)
        if model == BY_TIERS:
            opened = await catalog.open_tiers(settings.tiers, settings.model, settings.routing)
        else:
            opened = await catalog.open(model)
        if model is None or isinstance(opened, ModelProblem):
            message = opened.message if isinstance(opened, ModelProblem) else "no model is set"
            return Refused("model_unavailable", message)
        await opened.close()
        return model

    async def _given(self, params: RunParams) -> RunResult | Refused:
        model = await self._model_for(params.model)
        if isinstance(model, Refused):
            return model
        invoked = await self._services.brought.commands.invoked(params.prompt)
        if isinstance(invoked, NotInvoked):
            return Refused("not_connected", invoked.message)
        async with self._using(params.session_id) as session:
            if isinstance(session, Refused):
                return session
            started = await session.run(params, self._runtime.ids.new("turn"), model, invoked)
            if isinstance(started, Refused) and params.session_id is None:
                del self._open[session.id]
                await session.close("no session was started")
        await self._let_go()
        return self._began(started)

    async def _let_go(self) -> None:
        """Close the sessions that have long been idle: each has a conversation in memory, and can be resumed."""
        idle = [session for session in self.running if session.is_idle and not session.uses]
        for session in idle[:-MOST_IDLE]:
            del self._open[session.id]
            await self._put_away(session, "idle")

    async def _put_away(self, session: Session, reason: str) -> None:
        """Close a session; one that rests and that another process went on with is closed there."""
        try:
            is_ours = session.holds or await self._take_up(session)
        except StoreReadError as error:
            log.info("the end of %s is not in the log: %s", session.id, error)
            is_ours = False
        if is_ours:
            await session.close(reason)
        else:
            await session.abandon()
        self._known[session.id] = session.record.state.last_seq
        self.on_rest(session.id)

    @asynccontextmanager
    async def _using(self, session_id: str | None) -> AsyncGenerator[Session | Refused]:
        """A session that this process runs for so long, and longer if it has something to do; None: a new one."""
        session = await self.create() if session_id is None else await self.resume(session_id)
        while session_id is not None and isinstance(session, Session) and not session.holds:
            session = await self.resume(session_id)  # it was let go of before we came to use it
        if isinstance(session, Refused):
            yield session
            return
        session.uses += 1
        try:
            yield session
        finally:
            session.uses -= 1
            self._look_whether_it_rests(session)

    def _look_whether_it_rests(self, session: Session) -> None:
        """Let others go on with a session that has nothing to do."""
        if session.holds and session.is_idle and not session.uses and session.id in self._open:
            resting = asyncio.create_task(self._let_rest(session), name=f"let {session.id} rest")
            self._going_to_rest.add(resting)
            resting.add_done_callback(self._going_to_rest.discard)

    async def _let_rest(self, session: Session) -> None:
        problem = await session.record.settled()
        # What the log has not taken yet must not come after what others write.
        if problem is None and session.is_idle and not session.uses and session.id in self._open:
            session.rest()
            self.on_rest(session.id)

    async def _take_up(self, session: Session) -> bool:
        """Take the right to run a session again that rests here; False if it is not as it was, or another process has it."""
        lock = self._runtime.store.lock(session.id)
        if lock is None:
            return False
        is_as_it_was = False
        try:
            is_as_it_was = await self._runtime.store.last_seq(session.id) == session.record.state.last_seq
        finally:
            if not is_as_it_was:
                lock.release()
        if is_as_it_was:
            session.hold(lock)
        return is_as_it_was

    async def create(self) -> Session | Refused:
        """A new session, which its first task writes into the log: one that never gets any leaves nothing there."""
        store, refused = self._runtime.store, 0
        while refused < LOCKS_TRIED:
            session_id = await self.new_id()
            lock = store.lock(session_id)
            if lock is not None:
                session = self._open[session_id] = self._session(SessionState(session_id), lock)
                return session
            refused += 1
        return Refused("store_failed", "could not lock a session; see the server log")

    async def resume(self, session_id: str, *, end_turns: str | None = None) -> Session | Refused:
        """The session of that id, opened from the log if need be.

        Args:
            session_id: The session.
            end_turns: Why its turns do not go on that have not ended; None lets them.
        """
        opening = self._opening.get(session_id)
        if opening is None and (session := self._open.get(session_id)) and session.holds:
            return session
        if opening is None:
            # In a task of its own, so that who gives up waiting leaves no session half open.
            opening = asyncio.create_task(self._reopen(session_id, end_turns))
            self._opening[session_id] = opening
            opening.add_done_callback(lambda _: self._opening.pop(session_id, None))
        return await asyncio.shield(opening)

    async def _reopen(self, session_id: str, end_turns: str | None) -> Session | Refused:
        async with self._lock_of(session_id):
            if (known := self._open.get(session_id)) is not None:
                if known.holds or await self._take_up(known):
                    return known
                await self._forget(known)  # another process went on with it
            session = await self._restored(session_id)
            if isinstance(session, Refused):
                return session
            self._open[session_id] = session
            await session.record.settled()
            if end_turns is not None:
                await session.end_turns(end_turns)
            session.go_on()
        self._resting.pop(session_id, None)
        return session

    @asynccontextmanager
    async def _for_undo(self, session_id: str) -> AsyncGenerator[Session | Refused]:
        """A session for an undo.

        One whose turn was cut off, or whose conversation cannot be read any more, is open for just that.
        """
        async with self._lock_of(session_id):
            state = None if session_id in self._open else await self._fold(session_id)
            if state is not None and (state.current or state.queue or not await self._is_readable(state)):
                session = await self._restored(session_id, rests=True)
                try:
                    if isinstance(session, Session):
                        self._aside[session_id] = session
                    yield session
                finally:
                    if (left := self._aside.pop(session_id, None)) is not None:
                        await left.close("undo")
                return
        async with self._using(session_id) as session:
            yield session

    async def _is_readable(self, state: SessionState) -> bool:
        """Whether the conversation of a session is in the log, undamaged."""
        requested = set(state.requested)
        return len(await self._runtime.store.blobs(requested, readable=True)) == len(requested)

    def _lock_of(self, session_id: str) -> asyncio.Lock:
        return self._locks.setdefault(session_id, asyncio.Lock())

    async def _restored(self, session_id: str, *, rests: bool = False) -> Session | Refused:
        store = self._runtime.store
        if not await store.last_seq(session_id):
            return Refused("unknown_id", f"there is no session {session_id!r}")
        lock = store.lock(session_id)
        if lock is None:
            return Refused("session_in_use", f"another process runs session {session_id!r}")
        restored = False
        try:
            session = self._session(await self._fold(session_id), lock)
            for event in await self._missed(session):
                self.on_elsewhere(event)
            if problem := await session.restore(rests=rests):
                return problem
            restored = True
        finally:
            if not restored:
                lock.release()
        return session

    async def _missed(self, session: Session) -> list[LoggedEvent]:
        """What another process wrote since the session was open here."""
        known, last = self._known.pop(session.id, None), session.record.state.last_seq
        return (
            [] if known is None or known == last else await self._runtime.store.events(session.id, known + 1)
        )

    def _session(self, state: SessionState, lock: SessionLock) -> Session:
        services = self._services
        record = Record(services.runtime.store, services.runtime.clock, state, masking_for(services, state))
        return Session(
            services,
            record,
            lock,
            show=self._show,
            on_unwritten_end=self.on_unwritten_end,
            on_work_done=self._look_whether_it_rests,
        )

    async def _fold(self, session_id: str, *, until: str | None = None) -> SessionState:
        """A session as its log tells, or as it was when a turn was about to begin."""
        state = SessionState(session_id)
        while events := await self._runtime.store.events(session_id, state.last_seq + 1, PAGE):
            for event in events:
                if event.type == "turn.started" and event.turn_id == until is not None:
                    return state
                state.apply(event)
        return state

    async def with_turn(self, turn_id: str) -> Session | SessionState | Refused:
        """The session a turn belongs to: open, or as its log tells."""
        await self._end_failed()
        for session in self._open.values():
            if turn_id in session.turns and session.id not in self._opening:
                return session
        session_id = await self._runtime.store.find_turn(turn_id)
        if session_id is None:
            return Refused("unknown_id", f"there is no turn {turn_id!r}")
        return await self._fold(session_id)

    async def wait(self, turn_id: str, seconds: float | None) -> WaitResult | Refused:
        """Wait for a turn."""
        found = await self.with_turn(turn_id)
        match found:
            case Refused():
                return found
            case Session():
                return await found.wait(turn_id, seconds)
            case SessionState():
                return wait_result(found.turns[turn_id], list(found.open.values()))

    async def cancel(self, turn_id: str, reason: str) -> Outcome | Refused:
        """End a turn, in a session that is only in the log too."""
        found = await self.with_turn(turn_id)
        if isinstance(found, SessionState):
            if outcome := found.turns[turn_id].outcome:
                return outcome
            async with self._using(found.session_id) as session:
                return session if isinstance(session, Refused) else await session.cancel(turn_id, reason)
        if isinstance(found, Refused):
            return found
        return await found.cancel(turn_id, reason)

    async def answer(self, params: AnswerParams, channel: Channel) -> Refused | None:
        """Answer an open item, after a restart too: its session is resumed then."""
        refused = await self._answer(params, channel)
        if refused is not None and refused.reason == "unknown_id":
            # Somebody may have answered it in this moment, in another process too, which ends its turn and lets go of its session.
            await self._runtime.store.flush()
            if await self._runtime.store.was_answered(params.id):
                return Refused("already_resolved", f"{params.id} was already answered")
        return refused

    async def _answer(self, params: AnswerParams, channel: Channel) -> Refused | None:
        if any(item.id == params.id for item in self._services.policy.trust.open):
            if not self._runtime.editor.traits.takes_approvals:
                return Refused("no_token", FROM_ANYBODY)
            refused = self._services.policy.trust.answer(params.id, params.answer or "")
            return Refused(refused.reason, refused.message) if refused is not None else None
        await self._opened()
        for session in self._open.values():
            if params.id in session.record.state.open:
                return await _taken(session, await session.answer_when_asked(params, channel))
        for session in self._open.values():
            if session.record.was_resolved(params.id):
                log.info("an answer to %s came too late and has no effect", params.id)
                return Refused("already_resolved", f"{params.id} was already answered")
        await self.look_for_resting()
        for session_id, resting in self._resting.items():
            if any(item.id == params.id for item in resting.items):
                async with self._using(session_id) as session:
                    if isinstance(session, Refused):
                        return session
                    return await _taken(session, await session.answer_when_asked(params, channel))
        if any(item.id == params.id for one in self._elsewhere.values() for item in one.items):
            return Refused("session_in_use", f"{params.id} belongs to a session of another process")
        return Refused("unknown_id", f"there is no open item {params.id!r}")

    async def events(self, params: EventsParams) -> EventsResult | Refused:
        """A stretch of a session's log."""
        last = await self._runtime.store.last_seq(params.session_id)
        if not last:
            return Refused("unknown_id", f"there is no session {params.session_id!r}")
        events = await self._runtime.store.events(params.session_id, params.from_seq, params.limit)
        following = params.from_seq + len(events)
        return EventsResult(
            events=[_event(event) for event in events], next_seq=following, more=following <= last
        )

    async def list(self, params: SessionsParams = _ALL) -> SessionsResult:
        """The sessions of this workspace, the latest first."""
        await self._end_failed()
        listed: list[SessionSummary] = []
        rows = [row for row in await self._runtime.store.sessions() if self._is_here(row)]
        await self._look_at(rows)
        found: Mapping[str, Match] = {}
        if (words := (params.query or "").casefold().split()) and rows:
            most = params.limit or len(rows)
            found = await self._runtime.store.search(words, {row.session_id for row in rows}, most)
            rows = [row for row in rows if row.session_id in found]
        for row in rows[: params.limit]:
            state, elsewhere = self._doing(row)
            match = found.get(row.session_id)
            listed.append(
                SessionSummary(
                    session_id=row.session_id,
                    title=row.title,
                    state=state,
                    elsewhere=elsewhere,
                    outcome=row.last_turn_state if row.last_turn_state in OUTCOMES else None,
                    started_at=row.started_at,
                    last_at=row.last_at,
                    turns=row.turns,
                    forked_from=row.forked_from,
                    match=match and SessionMatch(turn_id=match.turn_id, text=match.text),
                )
            )
        return SessionsResult(sessions=listed)

    async def prompt(self, session_id: str) -> PromptResult | Refused:
        """What the model would be sent next in a session, whoever runs it."""
        if not await self._runtime.store.last_seq(session_id):
            return Refused("unknown_id", f"there is no session {session_id!r}")
        # As the session would have them: what its commands share is part of what the model is told.
        shared = shared_by(self._runtime, self._services.policy, f"{session_id}.shown")
        try:
            shown = await next_request(
                self._services,
                await self._fold(session_id),
                self._runtime.settings().model,
                Commands(
                    self._services.runtime, self._services.workspace, self._services.policy.sandbox, shared
                ),
            )
        finally:
            await shared.close()
        return Refused("store_failed", shown) if isinstance(shown, str) else shown

    async def undo(self, params: UndoParams, *, redo: bool) -> UndoResult | Refused:
        """Take changes back in a session; without an id, in the latest one that has changes."""
        if params.ids is not None:
            return await self._undo_each(params, params.ids, redo=redo)
        session_id, looked = params.session_id, None
        if session_id is None:
            session_id, looked = await self._latest_changed(redo=redo)
        if session_id is None:
            if params.id is not None and not await self._knows(params.id):
                return _unknown_change(params.id, "this workspace")
            what = "redo" if redo else "undo"
            return Refused("nothing_to_undo", f"no session of this workspace has anything to {what}")
        async with self._for_undo(session_id) as session:
            if isinstance(session, Refused):
                return _to_do_there(session, "redo" if redo else "undo")
            if params.id is not None and not _names(session.record.state, params.id):
                return _unknown_change(params.id, session_id)
            listed = (await self.list()).sessions if params.latest and params.session_id is None else []
            is_latest = not listed or listed[0].session_id == session_id
            return await session.undo(params, looked, redo=redo, is_latest=is_latest)

    async def _undo_each(self, params: UndoParams, ids: Sequence[str], *, redo: bool) -> UndoResult | Refused:
        """Take several parts back; the first one that cannot be looked for ends it."""
        whole = UndoResult(change_id="", undone=[], conflicts=[], not_undoable=[])
        for one in ids:
            result = await self.undo(params.model_copy(update={"ids": None, "id": one}), redo=redo)
            if isinstance(result, Refused):
                if result.reason == "nothing_to_undo":
                    continue
                return result
            whole = UndoResult(
                change_id=result.change_id or whole.change_id,
                undone=[*whole.undone, *result.undone],
                conflicts=[*whole.conflicts, *result.conflicts],
                not_undoable=[*whole.not_undoable, *result.not_undoable],
            )
        return whole

    async def follow(self, renamed: Renamed) -> None:
        """Have the sessions of this workspace follow what was renamed: those that are open, and those that changed it.

        Not those that another process runs, nor sessions at rest that only read it.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        await self._opened()
        for session_id in list(self._open):
            async with self._using(session_id) as session:
                if isinstance(session, Session):
                    await session.renamed(renamed)
        for row in await self._runtime.store.sessions():
            if self._is_here(row) and row.session_id not in self._open:
                async with self._lock_of(row.session_id):
                    if row.session_id not in self._open:
                        await self._follow_at_rest(row.session_id, renamed)

    async def _follow_at_rest(self, session_id: str, renamed: Renamed) -> None:
        if not await self._runtime.store.changed(session_id, PurePath(renamed.path).name):
            return
        async with self._at_rest(session_id) as record:
            if isinstance(record, Refused):
                log.info("another process runs %s, so the rename is not recorded there", session_id)
                return
            links = await asyncio.to_thread(renamed.links, known_files(record.state))
            if (event := event_of(record.state, renamed, links)) is not None:
                record.append(event)
                await record.settled()

    @asynccontextmanager
    async def log_of(self, session_id: str) -> AsyncGenerator[Record | Refused]:
        """The log of a session, to add to it what changes nothing in its turns: they do not go on by this.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        if session_id in self._open:
            async with self._using(session_id) as session:
                yield session if isinstance(session, Refused) else session.record
            return
        async with self._lock_of(session_id), self._at_rest(session_id) as record:
            yield record

    @asynccontextmanager
    async def _at_rest(self, session_id: str) -> AsyncGenerator[Record | Refused]:
        store = self._runtime.store
        if not await store.last_seq(session_id):
            yield Refused("unknown_id", f"there is no session {session_id!r}")
            return
        lock = store.lock(session_id)
        if lock is None:
            yield Refused("session_in_use", f"another process runs session {session_id!r}")
            return
        try:
            state = await self._fold(session_id)
            yield Record(store, self._runtime.clock, state, masking_for(self._services, state))
        finally:
            lock.release()

    def _is_here(self, row: SessionRow) -> bool:
        """Whether a session is of this workspace."""
        folders = {folder.uri for folder in self._services.workspace.folders.folders}
        return not folders or bool(folders & set(row.folders))

    async def changes(self, params: ChangesParams) -> ChangesResult | Refused:
        """What a session changed, whoever runs it; without an id, the latest one that changed something, else the latest."""
        session_id = params.session_id
        if session_id is None:
            session_ids = [summary.session_id for summary in (await self.list()).sessions]
            if not session_ids:
                return Refused("unknown_id", "there are no sessions in this workspace yet")
            session_id = session_ids[0]
            for one in session_ids:
                journal = (await self._state(one)).journal
                if journal.roots() or journal.lasting():
                    session_id = one
                    break
        elif session_id not in self._open and not await self._runtime.store.last_seq(session_id):
            return Refused("unknown_id", f"there is no session {session_id!r}")
        state = await self._state(session_id)
        if params.turn_id is not None and params.turn_id not in state.turns:
            return Refused("unknown_id", f"there is no turn {params.turn_id!r} in {session_id}")
        if params.format == "patch":
            patch = await net_patch.patch(self._services, state.journal, params.turn_id)
            left_out = list(patch.left_out)
            return ChangesResult(session_id=session_id, patch=patch.text, left_out=left_out or None)
        listed = await listing.listed(self._services, state.journal, params.turn_id)
        left = lasting(state.journal.lasting(params.turn_id))
        return ChangesResult(session_id=session_id, changes=listed, not_undoable=left or None)

    async def made_by(self, turn_id: str) -> tuple[str, UnderReview] | Refused:
        """What is in place of the changes of a turn, with its session.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        found = await self.with_turn(turn_id)
        if isinstance(found, Refused):
            return found
        state = found.record.state if isinstance(found, Session) else found
        listed = await listing.listed(self._services, state.journal, turn_id)
        title = f"What Outrider changed for “{short(state.turns[turn_id].prompt, TITLE_CHARACTERS)}”"
        return state.session_id, await listing.under_review(self._services, title, listed)

    async def changes_paper(self, turn_id: str) -> Path | str | Refused:
        """The document in which some of what a turn changed can be left out; a text says why it cannot be made.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        found = await self.made_by(turn_id)
        if isinstance(found, Refused):
            return found
        if not found[1].changes:
            return Refused("nothing_to_undo", "nothing of what that turn changed is in place")
        return await shown_documents.changes_paper(self._services.workspace.folders, turn_id, found[1])

    async def hunk_at(self, path: str, text: str, lines: range) -> tuple[str, str] | None:
        """The session that is open here and the hunk of it that touch some lines (from 1) of a document."""
        for session in reversed(self.running):
            journal = session.record.state.journal
            hunk = await self._places.hunk_at(session.id, journal, path, text, lines)
            if hunk is not None:
                return session.id, hunk
        return None

    async def paper_of(self, item: Open, *, review: bool) -> Path | str:
        """The document that shows an open item for review, or to answer it in; a text says why it cannot be made."""
        folders = self._services.workspace.folders
        if review:
            return await shown_documents.review_paper(folders, item, await self.under_review(item.id))
        return await shown_documents.answer_paper(folders, item)

    async def _show(self, item: Open) -> str | None:
        """Open the document of an open item; gives its URI, None where it cannot be shown."""
        path = await self.paper_of(item, review=item.kind == "approval")
        if isinstance(path, str):
            self._runtime.warn(path)
            return None
        uri = path.as_uri()
        return uri if await self._runtime.editor.show(uri, take_focus=True) else None

    async def under_review(self, item_id: str) -> UnderReview | None:
        """The edit that an open approval is about; None where there is none.

        Raises:
            StoreReadError: the log cannot be read.
        """
        states = [*(session.record.state for session in self.running), *self.joined.states]
        resting = [one for one in self.resting if any(item.id == item_id for item in one.items)]
        states += [await self._fold(one.session_id) for one in resting]
        for state in states:
            item = state.open.get(item_id)
            if item is None or state.turn is None:
                continue
            together = [
                one for one in state.open.values() if one is item or (item.group and one.group == item.group)
            ]
            calls = [call for one in together if (call := state.turn.calls.get(one.call_id or ""))]
            if calls and all(call.asked_for for call in calls):
                proposed = [
                    data for call in calls for data in call.proposed if data["changeId"] in call.asked_for
                ]
                title = item.title if len(calls) == 1 else f"{len(calls)} edits in one step"
                named = {data["changeId"]: data["before"] for data in proposed if "before" in data}
                texts = await self._runtime.store.blobs(named.values())
                befores = {
                    change_id: texts[digest].decode("utf-8", "surrogatepass")
                    for change_id, digest in named.items()
                    if digest in texts
                }
                changes = tuple(Proposed.of(data) for data in proposed)
                said = [line for one in together for line in above_the_diff(one.detail)]
                return UnderReview(title, changes, befores, together=len(calls) > 1, said=said)
        return None

    async def hunks_in(self, path: str, text: str) -> Sequence[tuple[str, listing.PlacedHunk]]:
        """The hunks in a document of the sessions that are open here, each with its session."""
        placed = [
            (session.id, await self._places.hunks_in(session.id, session.record.state.journal, path, text))
            for session in reversed(self.running)
        ]
        return [(session_id, hunk) for session_id, hunks in placed for hunk in hunks]

    @asynccontextmanager
    async def to_delete(self, session_id: str) -> AsyncGenerator[Sequence[str] | Refused]:
        """A session that is open nowhere while it is deleted, by its turns. One that waits for the user is let go of.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        await self._opened()
        async with self._lock_of(session_id):
            session = self._open.get(session_id)
            if session is not None and (turn := session.record.state.turn) is not None and not turn.parked:
                yield _runs(session_id)
                return
            if session is not None:
                del self._open[session_id]
                await session.abandon()
            async with self._at_rest(session_id) as record:
                yield record if isinstance(record, Refused) else tuple(record.state.turns)
        self._resting.pop(session_id, None)
        if self._latest == session_id:
            self._latest = None

    @property
    def latest(self) -> str | None:
        """The session that this client worked in last."""
        return self._latest

    def go_to(self, session_id: str) -> None:
        """What this client works in from now on."""
        self._latest = session_id

    async def new_id(self) -> str:
        """An id that no session has."""
        # Counted ids begin again with every process; the log may hold them already.
        while await self._runtime.store.last_seq(session_id := self._runtime.ids.new("ses")):
            pass
        return session_id

    async def status(self, session_id: str) -> SessionStatus | Refused:
        """What a session is doing, or where it was left.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        if (session := self._open.get(session_id)) is not None and session.holds:
            return session.status()
        if not await self._runtime.store.last_seq(session_id):
            return Refused("unknown_id", f"there is no session {session_id!r}")
        state = await self._fold(session_id)
        status = status_of(state, list(state.open.values()))
        is_left = state.turn is not None and not self._is_locked(session_id)
        return status.model_copy(update={"state": "parked"}) if is_left else status

    async def _state(self, session_id: str) -> SessionState:
        """A session as it is here, or as its log tells."""
        session = self._open.get(session_id)
        return session.record.state if session else await self._fold(session_id)

    async def _knows(self, change: str) -> bool:
        """Whether an id names a change, or what made changes, in a session of this workspace."""
        for summary in (await self.list()).sessions:
            if _names(await self._state(summary.session_id), change):
                return True
        return False

    async def _latest_changed(self, *, redo: bool) -> tuple[str | None, Standing | None]:
        """The session that an undo means when it names none, the latest with something to take back; and its files.

        Where there is none by the texts, the latest one by its log: what that names is done already.
        """
        by_log: str | None = None
        for summary in (await self.list()).sessions:
            state = await self._state(summary.session_id)
            journal = state.journal
            if not journal.roots() and not journal.lasting():
                continue
            looked = await standing(self._services, state)
            choose = journal.to_redo if redo else journal.to_undo
            if choose("turn", None, stands_in(looked.files)):
                return summary.session_id, looked
            if by_log is None and (choose("turn", None) or (not redo and journal.lasting())):
                by_log = summary.session_id
        return by_log, None

    async def look_for_resting(self) -> None:
        """Find the sessions of this workspace whose turn has not ended and that no process runs now."""
        await self._end_failed()
        folders = {folder.uri for folder in self._services.workspace.folders.folders}
        await self._look_at(
            [row for row in await self._runtime.store.sessions() if folders & set(row.folders)]
        )

    async def _look_at(self, rows: Sequence[SessionRow]) -> None:
        """Take in how the sessions of this workspace stand that are not open here and whose turn has not ended."""
        resting: dict[str, Resting] = {}
        elsewhere: dict[str, Resting] = {}
        for row in rows:
            session_id = row.session_id
            await self._drop_if_moved(row)
            if row.last_turn_state not in {"parked", "running"} or session_id in self._open:
                continue
            is_here = self._is_locked_here(session_id)
            known = self._resting.get(session_id) or self._elsewhere.get(session_id)
            # What this process opens now changes under its own hands; what nobody wrote to is as it was.
            if known is None or (known.last_seq != row.last_seq and not is_here):
                state = await self._fold(session_id)
                known = None if state.turn is None else Resting.of(state, state.turn)
            if known is not None:
                # The lock is looked at each time: opening it here may have failed since, as it runs elsewhere.
                (elsewhere if not is_here and self._is_locked(session_id) else resting)[session_id] = known
        self._resting = {key: one for key, one in resting.items() if key not in self._open}
        self._elsewhere = elsewhere

    async def _drop_if_moved(self, row: SessionRow) -> None:
        """Forget a session that rests here where another process went on with it."""
        session = self._open.get(row.session_id)
        if session is None or session.holds or session.uses or row.last_seq == session.record.state.last_seq:
            return
        async with self._lock_of(row.session_id):
            if self._open.get(row.session_id) is session and not session.holds:
                await self._forget(session)

    async def _forget(self, session: Session) -> None:
        del self._open[session.id]
        self._known[session.id] = session.record.state.last_seq
        await session.abandon()

    async def _end_failed(self) -> None:
        """Let the log know the end of turns that failed in an earlier process because it could not be written.

        They were said to have failed, so nothing goes on with them.
        """
        if self._ended_failed is None:
            self._ended_failed = asyncio.create_task(self._end_marked())
        await asyncio.shield(self._ended_failed)

    async def _end_marked(self) -> None:
        store = self._runtime.store
        for turn_id in await store.marked_failed():
            session_id = await store.find_turn(turn_id)
            state = SessionState("") if session_id is None else await self._fold(session_id)
            if session_id is None or state.current != turn_id:
                await store.unmark_failed(turn_id)
            elif session_id not in self._open and await self._is_of_this_workspace(session_id):
                session = await self.resume(session_id)
                if isinstance(session, Session):
                    await session.wait(turn_id, None)

    async def _is_of_this_workspace(self, session_id: str) -> bool:
        rows = await self._runtime.store.sessions()
        return any(self._is_here(row) for row in rows if row.session_id == session_id)

    def _is_locked_here(self, session_id: str) -> bool:
        return session_id in self._aside or session_id in self._opening

    def _is_locked(self, session_id: str) -> bool:
        lock = self._runtime.store.lock(session_id)
        if lock is not None:
            lock.release()
        return lock is None

    def _doing(self, row: SessionRow) -> tuple[Literal["idle", "running", "parked", "closed"], bool]:
        """What a session is at, as far as was looked, and whether another process is.

        It is parked wherever something of it waits for the user: also while that is asked, before the turn parks, and
        where a process was killed in the middle of asking.
        """
        if (session := self._open.get(row.session_id)) is not None:
            return "parked" if session.inbox.for_user else session.status().state, False
        if (there := self._elsewhere.get(row.session_id)) is not None:
            return "parked" if there.items or row.last_turn_state == "parked" else "running", True
        left = self._resting.get(row.session_id)
        waits = row.last_turn_state == "parked" or (left is not None and bool(left.items))
        return "parked" if waits else "closed", False

    async def _opened(self) -> None:
        """Wait for the sessions that are being opened."""
        await asyncio.gather(*self._opening.values(), return_exceptions=True)

    async def close(self, reason: str) -> None:
        """Let go of all sessions."""
        await self.joined.close()
        aside, self._aside = self._aside, {}
        for session in aside.values():
            await session.close(reason)
        await self._opened()
        await asyncio.gather(*self._going_to_rest)
        for session in self.running:
            await self._put_away(session, reason)
        self._open.clear()


async def _taken(session: Session, refusal: Refusal | None) -> Refused | None:
    if refusal is not None:
        return Refused(refusal.reason, refusal.message)
    problem = await session.record.settled()
    return Refused("store_failed", problem) if problem else None


def _runs(session_id: str) -> Refused:
    return Refused("turn_running", f"a turn of {session_id} runs: cancel it first")


def _event(event: LoggedEvent) -> Event:
    return Event(
        seq=event.seq,
        ts=event.ts,
        session_id=event.session_id,
        turn_id=event.turn_id,
        type=event.type,
        data=dict(event.data),
    )


def _names(state: SessionState, change: str) -> bool:
    return change in state.turns or state.journal.knows(change)


def _to_do_there(refused: Refused, what: str) -> Refused:
    """A refusal, with where it can be done if another process has the session."""
    if refused.reason != "session_in_use":
        return refused
    return Refused(refused.reason, f"{refused.message}: {what} there, or end that process first")


def _unknown_change(change: str, where: str) -> Refused:
    return Refused("unknown_id", f"there is no hunk, change, call or turn {change!r} in {where} with changes")
