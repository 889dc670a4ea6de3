"""Plays a recorded session again and compares every event with the log, up to the first that differs."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from outrider.agent.services import Services
from outrider.agent.session.session import Session
from outrider.agent.state.record import Record
from outrider.agent.state.state import SessionState
from outrider.app import App, start
from outrider.permissions.secrets.masking import Masking
from outrider.ports.events import LoggedEvent as AnyEvent
from outrider.ports.outside import ClientStart, Outside
from outrider.replay.log import Difference, RecordedLog
from outrider.replay.model import RecordedModel
from outrider.replay.ports import (
    RecordedChecks,
    RecordedClock,
    RecordedEditor,
    RecordedFiles,
    RecordedHooks,
    RecordedIds,
    RecordedMessages,
    RecordedPlans,
    RecordedVerdicts,
    recorded_settings,
)
from outrider.replay.tape import LoggedEvent, Tape
from outrider.replay.tools import RecordedCalls
from outrider.store.exported import encode_content
from outrider.store.problem import StoreProblem
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.paths import Folder, Folders
from outrider_protocol.commands import AnswerParams, ContinueParams, RunParams
from outrider_protocol.events import EVENT_TYPES, Invoked
from outrider_protocol.export import Export

STEP_SECONDS: Final = 10.0
"""Real seconds that may pass without an event before the replay counts as stuck."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far a replay came."""

    events: int
    """Events that were computed again and are the same."""
    taken_over: int
    """Events that were not computed again: those before the first turn that was wanted."""
    difference: Difference | None
    unknown_from: int | None = None
    """The seq from which on an export without its secrets does not tell what the session would do; None: it does."""


@dataclass(frozen=True, slots=True)
class ReplayProblem:
    """Why there is nothing to replay."""

    message: str


async def play(
    export: Export, *, from_seq: int = 1, on_event: Callable[[AnyEvent], None] = lambda _: None
) -> Replayed | ReplayProblem:
    """Run a session again from its log alone.

    Args:
        export: The session.
        from_seq: The first event wanted; what lies before the turn that holds it is taken over, not run.
        on_event: Called with each event, from `from_seq` on, that is the same.

    Raises:
        Exception: What `on_event` raised. It ends the replay, and the session that is replayed knows nothing of it.
    """
    if not export.events:
        return ReplayProblem("the log is empty")
    if not 1 <= from_seq <= len(export.events):
        return ReplayProblem(f"there is no event {from_seq}: the log has {len(export.events)}")
    tape = Tape(export)
    with tempfile.TemporaryDirectory(prefix="outrider-replay-") as folder:
        place = Path(folder)
        client = ClientStart(
            {"permissionMode": "full", "trusted": True, "repositoryMap": {"enabled": False}}, ()
        )
        outside = Outside({}, place / "state", place / "settings.toml")
        app = await start(client, RecordedEditor(tape), DocumentStore(), outside, lambda _: None)
        if isinstance(app, StoreProblem):
            return ReplayProblem(app.message)
        log = RecordedLog(tape, lambda event: on_event(event) if event.seq >= from_seq else None)
        player = _Player(export, tape, log, app)
        try:
            return await player.run(_quiet_before(tape, from_seq))
        finally:
            await app.close("replayed")


def _quiet_before(tape: Tape, from_seq: int) -> int:
    """The last seq before `from_seq` after which nothing is running or waiting; 0 is the beginning."""
    state, quiet = SessionState(tape.events[0].session_id), 0
    for event in islice(tape.typed, from_seq - 1):
        state.apply(event)
        if state.current is None and not state.queue and not state.undoing and event.type == "turn.finished":
            quiet = event.seq
    return quiet


def _goes_by_lengths(difference: Difference) -> bool:
    """Whether it is about what was left out of the conversation, which the lengths of its texts decide."""
    return any(
        side["type"].startswith("context.")
        or side["data"].get("purpose") == "compaction"
        or side["data"].get("limit") == "contextWindow"
        for side in (difference.expected, difference.got)
        if side is not None
    )


def _continued(session_id: str, data: Mapping[str, Any]) -> ContinueParams:
    """What was asked for where a turn went on with another one."""
    given = {key: data[key] for key in ("limits", "thinking") if key in data}
    return ContinueParams.from_wire({"sessionId": session_id, **given})


class _Stop(Exception):  # noqa: N818 - it ends the replay and is no error
    """The replay has come to its end, or to a difference."""


class _Player:
    """Lets the inputs in, in their order, and watches what comes of them."""

    def __init__(self, export: Export, tape: Tape, log: RecordedLog, app: App) -> None:
        self._export, self._tape, self._log = export, tape, log
        log.let_in = self._take_over
        self._clock, self._calls = RecordedClock(tape), RecordedCalls(tape)
        self._session: Session | None = None
        self._record: Record | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        first, runtime, workspace = tape.events[0], app.services.runtime, copy(app.services.workspace)
        # Nothing is there: whoever looks for a file looks into an empty folder.
        self._empty = runtime.state_dir / "empty"
        workspace.folders, files = self._folders_of(first), RecordedFiles(tape)
        workspace.texts = workspace.changes = workspace.watch = workspace.cut_off = files
        self._services: Services = replace(
            app.services,
            runtime=replace(
                runtime,
                clock=self._clock,
                ids=RecordedIds(tape),
                settings=lambda: recorded_settings(tape),
                version=first.data.get("version", tape.program),
            ),
            workspace=workspace,
            policy=replace(
                app.services.policy,
                ruling=self._calls.ruling,
                checks=RecordedChecks(tape),
                hooks=RecordedHooks(tape),
            ),
            models=RecordedModel(tape),
            tools=self._calls,
            briefing=RecordedMessages(tape),
            plans=RecordedPlans(tape),
            judges=self._judges,
        )

    def _folders_of(self, event: LoggedEvent) -> Folders:
        uris = event.data.get("folders", [])
        return Folders(
            [Folder(Path(uri).name, uri, self._empty / str(number)) for number, uri in enumerate(uris)]
        )

    async def run(self, taken_over: int) -> Replayed:
        """Play the tape; `taken_over` is the seq of the last event before that."""
        tape, store = self._tape, self._services.runtime.store
        contents = {digest: encode_content(text) for digest, text in tape.contents.items()}
        store.append(replace(tape.typed[0], seq=1), blobs=contents)
        await store.flush()
        try:
            if taken_over:
                tape.skip_to(taken_over)
                await self._open().recall()
            while (coming := tape.to_feed) is not None:
                await self._reach(coming.due)
                if tape.position < coming.event.seq:  # else a restart has found it out by itself
                    await self._feed(coming.event)
                tape.fed()
            await self._reach(len(tape.events))
        except _Stop:
            pass
        finally:
            await self._end()
        if self._log.fault is not None:
            raise self._log.fault
        events, difference = tape.position - taken_over, self._log.difference
        if self._export.removed and difference is not None and _goes_by_lengths(difference):
            return Replayed(events, taken_over, None, difference.seq)
        return Replayed(events, taken_over, difference)

    def _judges(self, _record: Record, _turn_id: str | None) -> RecordedVerdicts:
        return RecordedVerdicts(self._tape)

    def _open(self) -> Session:
        """A session that knows what came so far."""
        state = SessionState(self._tape.events[0].session_id)
        for event in islice(self._tape.typed, self._tape.position):
            state.apply(event)
        lock = self._services.runtime.store.lock(state.session_id)
        if lock is None:
            raise RuntimeError("the lock of a session in a folder of our own is taken")
        self._record = Record(self._log, self._clock, state, Masking(None, state.secrets))
        self._session = Session(self._services, self._record, lock, show=lambda _: asyncio.sleep(0))
        return self._session

    # --- what came from outside ------------------------------------------------------------------------------

    async def _feed(self, event: LoggedEvent) -> None:
        if self._tape.has_ended:
            await self._abandon()
        if event.type == "session.started":
            self._open().begin(None)
        elif event.type == "session.restored":
            # An imported session was begun in others.
            self._services.workspace.folders = self._folders_of(event)
            session, rests = self._open(), event.data.get("rests", False)
            if problem := await session.restore(rests=rests):
                raise RuntimeError(problem.message)
            if self._tape.events[event.seq - 2].type == "session.imported":
                ended = self._tape.first_ahead("turn.finished")
                self._start(session.end_turns(ended.data["reason"] if ended else ""))
            elif not rests:
                session.go_on()
        elif self._session is not None:
            await self._tell(self._session, event)
        else:
            self._take_over(event)

    def _take_over(self, event: LoggedEvent) -> None:
        """It meets files, a user or processes that are not in the log: undo, renames, changes."""
        if self._record is None:
            self._log.differs(event, None)
        else:
            self._record.append(EVENT_TYPES[event.type].from_wire(event.data), turn_id=event.turn_id)

    async def _tell(self, session: Session, event: LoggedEvent) -> None:
        turn_id, data = event.turn_id or "", event.data
        match event.type:
            case "session.closed":
                await session.close(data["reason"])
                self._session = None
            case "turn.queued" | "turn.started" if "continues" in data:
                self._start(session.go_on_with(_continued(session.id, data), turn_id, data["model"]))
            case "turn.queued" | "turn.started":
                keys = ("prompt", "mode", "context", "limits", "thinking", "plan", "planDocument")
                given = {key: data[key] for key in keys if key in data}
                params = RunParams.from_wire({**given, "acceptance": data.get("checks", [])})
                invoked = Invoked.from_wire(data["invoked"]) if "invoked" in data else None
                self._start(session.run(params, turn_id, data["model"], invoked))
            case "steering.received" if data.get("state", "queued") == "queued":
                known = session.record.state.steering
                self._start(
                    session.steer(data["text"], data["pendingId"] if data["pendingId"] in known else None)
                )
            case "conversation.restored":
                self._take_over(event)
                await session.recall()
            case "steering.received":
                self._start(session.unsteer(data["pendingId"]))
            case "settings.changed":
                session.settings_changed("full", data["permissionMode"])
            case "turn.finished":
                # It had come to where it was cancelled: it waits for something there, or in the queue.
                turn, inbox = session.turns[turn_id], session.inbox
                await self._until(lambda: not turn.started or self._tape.holding > 0 or bool(inbox.open))
                self._start(session.cancel(turn_id, data["reason"]))
            case "approval.resolved" | "question.answered" | "tool.answered":
                given = {key: data[key] for key in AnswerParams.model_fields if key in data}
                if event.type == "tool.answered":
                    given["error" if data["status"] == "error" else "answer"] = data["content"]
                await self._until(lambda: any(item.id == data["id"] for item in session.inbox.open))
                otherwise = "client" if event.type == "tool.answered" else "message"
                session.answer(AnswerParams.from_wire(given), data.get("channel", otherwise))
            case _:
                self._take_over(event)

    # --- waiting ---------------------------------------------------------------------------------------------

    async def _reach(self, position: int) -> None:
        await self._until(lambda: self._tape.position >= position)

    async def _until(self, predicate: Callable[[], bool]) -> None:
        """Wait until something holds; where no event comes for long, the next one is missing.

        Raises:
            _Stop: It does not come to that.
        """
        while not (predicate() or self._has_stopped):
            try:
                async with asyncio.timeout(STEP_SECONDS):
                    await self._tape.moved()
            except TimeoutError:
                self._log.differs(self._tape.next, None)
        if self._has_stopped:
            raise _Stop

    @property
    def _has_stopped(self) -> bool:
        return self._log.difference is not None or self._log.fault is not None

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _abandon(self) -> None:
        """The process that wrote the log up to here is gone, with or without a word."""
        tape, session, self._session = self._tape, self._session, None
        tape.is_over = tape.is_cut = True
        tape.wake()
        if session is not None:
            await session.abandon()
        tape.is_over = tape.is_cut = False

    async def _end(self) -> None:
        # These first: a task that is being given would begin its turn in a session that nobody ends any more.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._abandon()
