"""Plays a recorded session again and compares every event with the log, up to the first that differs."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
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
    RecordedClock,
    RecordedEditor,
    RecordedFiles,
    RecordedIds,
    RecordedMessages,
    recorded_settings,
)
from outrider.replay.tape import Input, LoggedEvent, Tape
from outrider.replay.tools import RecordedCalls
from outrider.store.problem import StoreProblem
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.paths import Folder, Folders
from outrider_protocol.commands import AnswerParams, RunParams
from outrider_protocol.events import EVENT_TYPES
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
        place, editor = Path(folder), RecordedEditor(tape)
        client = ClientStart(
            {"permissionMode": "full", "trusted": True, "repositoryMap": {"enabled": False}}, ()
        )
        outside = Outside({}, place / "state", place / "settings.toml")
        app = await start(client, editor, DocumentStore(), outside, lambda _: None)
        if isinstance(app, StoreProblem):
            return ReplayProblem(app.message)
        log = RecordedLog(tape, lambda event: on_event(event) if event.seq >= from_seq else None)
        player = _Player(export, tape, log, editor, app)
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
    for side in (difference.expected, difference.got):
        data: Mapping[str, Any] = side["data"] if side is not None else {}
        if data.get("purpose") == "compaction" or data.get("limit") == "contextWindow":
            return True
        if side is not None and side["type"].startswith("context."):
            return True
    return False


class _Stop(Exception):  # noqa: N818 - it ends the replay and is no error
    """The replay has come to its end, or to a difference."""


class _Player:
    """Lets the inputs in, in their order, and watches what comes of them."""

    def __init__(
        self, export: Export, tape: Tape, log: RecordedLog, editor: RecordedEditor, app: App
    ) -> None:
        self._export, self._tape, self._log, self._editor = export, tape, log, editor
        self._clock, self._calls, files = RecordedClock(tape), RecordedCalls(tape), RecordedFiles(tape)
        self._open_session: Session | None = None
        self._record: Record | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        first, runtime, workspace = tape.events[0], app.services.runtime, copy(app.services.workspace)
        # Nothing is there: whoever looks for a file looks into an empty folder.
        folders = [
            Folder(Path(uri).name, uri, runtime.state_dir / "empty" / str(number))
            for number, uri in enumerate(first.data.get("folders", []))
        ]
        workspace.folders = Folders(folders)
        workspace.texts = workspace.changes = workspace.watch = files
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
            policy=replace(app.services.policy, ruling=self._calls.ruling),
            models=RecordedModel(tape, self._clock),
            briefing=RecordedMessages(tape),
        )

    async def run(self, taken_over: int) -> Replayed:
        """Play the tape; `taken_over` is the seq of the last event before that."""
        tape, store = self._tape, self._services.runtime.store
        contents = {digest: text.encode("utf-8", "surrogatepass") for digest, text in tape.contents.items()}
        store.append(replace(tape.typed[0], seq=1), blobs=contents)
        await store.flush()
        try:
            if taken_over:
                tape.skip_to(taken_over)
                await self._open(self._fold()).recall()
            while (coming := tape.to_feed) is not None:
                await self._reach(coming.due)
                await self._feed(coming)
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

    def _open(self, state: SessionState) -> Session:
        lock = self._services.runtime.store.lock(state.session_id)
        if lock is None:
            raise RuntimeError("the lock of a session in a folder of our own is taken")
        services = replace(self._services, tools=self._calls.registry())
        self._record = self._pen(state)
        self._open_session = Session(services, self._record, lock, show=_show_nothing)
        return self._open_session

    def _pen(self, state: SessionState) -> Record:
        return Record(self._log, self._clock, state, Masking(None, state.secrets))

    def _fold(self) -> SessionState:
        state = SessionState(self._tape.events[0].session_id)
        for event in islice(self._tape.typed, self._tape.position):
            state.apply(event)
        return state

    # --- what came from outside ------------------------------------------------------------------------------

    @property
    def _session(self) -> Session:
        if self._open_session is None:
            raise RuntimeError("no session is open")
        return self._open_session

    async def _feed(self, coming: Input) -> None:
        event, data = coming.event, coming.event.data
        if self._open_session is None and coming.kind not in {"begin", "restore", "aside"}:
            return self._log.differs(event, None)
        match coming.kind:
            case "begin":
                self._open(SessionState(event.session_id)).begin(None)
            case "restore":
                await self._abandon()
                session, rests = self._open(self._fold()), data.get("rests", False)
                if problem := await session.restore(rests=rests):
                    raise RuntimeError(problem.message)
                if not rests:
                    session.go_on()
            case "close":
                await self._session.close(data["reason"])
                self._open_session = None
            case "task":
                keys = ("prompt", "mode", "context", "limits", "thinking")
                params = RunParams.from_wire({key: data[key] for key in keys if key in data})
                self._start(self._session.run(params, event.turn_id or "", data["model"]))
            case "steer" if data.get("state", "queued") == "queued":
                self._start(self._session.steer(data["text"]))
            case "steer":
                self._start(self._session.unsteer(data["pendingId"]))
            case "settings":
                self._session.settings_changed("full", data["permissionMode"])
            case "approve" | "answer" | "tool":
                await self._answer(event)
            case "park":
                await self._until(lambda: self._is_asked(data["open"]) or self._tape.position >= event.seq)
                self._editor.dismiss()
            case "cancel":
                await self._until(lambda: self._can_be_cancelled(event.turn_id or ""))
                self._start(self._session.cancel(event.turn_id or "", data["reason"]))
            case "aside":
                await self._abandon()
                self._record = self._pen(self._fold())
                self._take_over(event)
            case _:
                # It meets files, a user or processes that are not in the log: undo, renames, changes.
                self._take_over(event)
        return None

    def _take_over(self, event: LoggedEvent) -> None:
        if self._record is not None:
            self._record.append(EVENT_TYPES[event.type].from_wire(event.data), turn_id=event.turn_id)

    def _is_asked(self, items: Sequence[Mapping[str, Any]]) -> bool:
        """Whether all these open items wait for the user, on the screen or at the client."""
        waiting = {item.id for item in self._session.inbox.open}
        return all(one["id"] in waiting for one in items) and self._editor.has(items)

    def _can_be_cancelled(self, turn_id: str) -> bool:
        """Whether a turn has come to where it was cancelled: it waits for something there, or in the queue."""
        session = self._session
        return not session.turns[turn_id].started or self._tape.is_holding or bool(session.inbox.open)

    async def _answer(self, event: LoggedEvent) -> None:
        data, inbox = event.data, self._session.inbox
        given = {
            key: data[key] for key in ("id", "decision", "answer", "note", "review", "scope") if key in data
        }
        if event.type == "tool.answered":
            given["error" if data["status"] == "error" else "answer"] = data["content"]
        await self._until(lambda: any(item.id == data["id"] for item in inbox.open))
        otherwise = "client" if event.type == "tool.answered" else "message"
        self._session.answer(AnswerParams.from_wire(given), data.get("channel", otherwise))

    # --- waiting ---------------------------------------------------------------------------------------------

    async def _reach(self, position: int) -> None:
        await self._until(lambda: self._tape.position >= position)
        if self._tape.position < position:
            raise _Stop

    async def _until(self, predicate: Callable[[], bool]) -> None:
        """Wait until something holds; where no event comes for long, the next one is missing."""
        tape = self._tape
        while not predicate() and not self._has_stopped:
            before = tape.position
            try:
                async with asyncio.timeout(STEP_SECONDS):
                    await tape.until(
                        lambda start=before: predicate() or self._has_stopped or tape.position != start
                    )
            except TimeoutError:
                self._log.differs(tape.next, None)
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
        session, self._open_session = self._open_session, None
        self._tape.is_over = True
        with self._tape.cut():
            if session is not None:
                await session.abandon()

    async def _end(self) -> None:
        # These first: a task that is being given would begin its turn in a session that nobody ends any more.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._abandon()


async def _show_nothing(item: Any) -> None:  # noqa: ARG001 - the shape that a session wants
    return None
