"""Plays a recorded session again and compares every event with the log, up to the first that differs."""

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from outrider.agent.record import Record
from outrider.agent.services import Services
from outrider.agent.session import Session
from outrider.agent.state import SessionState
from outrider.permissions.guarded import Guarded
from outrider.permissions.masking import Masking
from outrider.permissions.secret_files import is_secret_file
from outrider.ports.clock import SystemClock
from outrider.ports.events import LoggedEvent
from outrider.ports.placeholder import originals
from outrider.processes import Supervisor
from outrider.processes.sandbox import Sandbox
from outrider.replay.recorded import RecordedTools
from outrider.replay.recorded_model import RecordedCatalog
from outrider.replay.rewriting import RecordedRewritten
from outrider.replay.rulings import RecordedLedger, RecordedTrust
from outrider.replay.tape import Input, Tape
from outrider.replay.world import (
    NoMaps,
    RecordedBriefing,
    RecordedChoosing,
    RecordedClock,
    RecordedDocuments,
    RecordedEditing,
    RecordedEditor,
    RecordedFolders,
    RecordedIds,
    RecordedOverlay,
    RecordedSettings,
    RecordedSightings,
)
from outrider.store.exported import decode_content
from outrider.store.log import Store
from outrider.store.problem import StoreProblem
from outrider.tools.git.history import GitHistory
from outrider.workspace.census import Census
from outrider.workspace.search import Search
from outrider_protocol.commands import AnswerParams, RunParams
from outrider_protocol.events import EVENT_TYPES, ApprovalResolved, EventData
from outrider_protocol.export import Export

STEP_SECONDS: Final = 10.0
"""Real seconds that may pass without an event before the replay counts as stuck."""

Object = dict[str, Any]

_OF_SECRETS: Final = frozenset({"secrets", "masked"})
"""Keys of an event that say which placeholders are in it."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first event that is not as it was."""

    seq: int
    expected: Object | None
    """Type and data of the log; None where it ends."""
    got: Object | None
    """Type and data of the replay; None where nothing came."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The contents that the replay's event names, by their hashes, as far as the log does not have them before it."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """How far a replay came."""

    events: int
    """Events that were computed again and are the same."""
    taken_over: int
    """Events that were not computed again: those before the first turn that was wanted."""
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class ReplayProblem:
    """Why there is nothing to replay."""

    message: str


async def play(
    export: Export, *, from_seq: int = 1, on_event: Callable[[LoggedEvent], None] = lambda _: None
) -> Replayed | ReplayProblem:
    """Run a session again from its log alone.

    Args:
        export: The session.
        from_seq: The first event wanted; what lies before the turn that holds it is taken over, not run.
        on_event: Called with each event, from `from_seq` on, that is the same.
    """
    if not export.events:
        return ReplayProblem("the log is empty")
    if not 1 <= from_seq <= len(export.events):
        return ReplayProblem(f"there is no event {from_seq}: the log has {len(export.events)}")
    tape = Tape(export)
    player = _Player(tape, lambda event: on_event(event) if event.seq >= from_seq else None)
    with tempfile.TemporaryDirectory(prefix="outrider-replay-") as folder:
        store = await Store.open(Path(folder))
        if isinstance(store, StoreProblem):
            return ReplayProblem(store.message)
        try:
            return await player.run(store, _quiet_before(tape, from_seq))
        finally:
            await store.close()


def _quiet_before(tape: Tape, from_seq: int) -> int:
    """The last seq before `from_seq` after which nothing is running or waiting; 0 is the beginning."""
    state, quiet = SessionState(tape.session_id), 0
    for event in tape.events[: from_seq - 1]:
        state.apply(event)
        if state.current is None and not state.queue and not state.undoing and event.type == "turn.finished":
            quiet = event.seq
    return quiet


class _Stop(Exception):  # noqa: N818 - it ends the replay and is no error
    """The replay has come to its end, or to a difference."""


class _Recorder(Record):
    """A pen that may only write what the log says."""

    def __init__(
        self, store: Store, clock: RecordedClock, state: SessionState, tape: Tape, player: "_Player"
    ):
        super().__init__(store, clock, state, Masking(None, state.secrets))
        self._tape = tape
        self._player = player
        self.muted = False

    def append(
        self, data: EventData, *, turn_id: str | None = None, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Compare an event with the log, and append it."""
        if self.muted or self._player.has_differed:
            return self._only_fold(data, turn_id)
        expected = self._tape.next
        got = {"type": data.TYPE, "turnId": turn_id, "data": data.to_wire()}
        breaks_off = expected is None or (self._tape.has_ended and data.TYPE not in _AT_A_RESTART)
        if self.state.current is not None and breaks_off:
            self.muted = True
            return self._only_fold(data, turn_id)
        if expected is None or not _same(expected, got):
            self._player.differs(expected, got, blobs)
            return self._only_fold(data, turn_id)
        if isinstance(data, ApprovalResolved) and data.digest is not None:
            data = data.model_copy(update={"digest": expected.data["digest"]})
        if places := {key: expected.data[wire] for key, wire in _PLACES.items() if wire in expected.data}:
            data = data.model_copy(update=places)
        if _has_placeholders(expected, got):
            data = EVENT_TYPES[expected.type].from_wire(expected.data)
        super().append(data, turn_id=turn_id, blobs=blobs)
        self._tape.advance()
        self._player.seen(expected)
        return None

    def _only_fold(self, data: EventData, turn_id: str | None) -> None:
        """Take in what does not count any more, so that the loop comes to its next wait with a state that fits."""
        seq, ts = self.state.last_seq + 1, self._tape.events[-1].ts
        self.state.apply(LoggedEvent(seq, ts, self.state.session_id, turn_id, data.TYPE, data.to_wire()))


_AT_A_RESTART: Final = frozenset({"session.restored", "workspace.renamed"})
"""What comes where a process has ended, or the log was taken in the middle of a turn: all else then is not known."""

_PLACES = {
    "place": "place",
    "to_place": "toPlace",
    "real_folders": "realFolders",
    "kept_mode": "keptMode",
    "hidden": "hidden",
}
"""Where links led, and what files are besides their texts: no disk is looked at now."""


def _same(expected: LoggedEvent, got: Object) -> bool:
    if (expected.type, expected.turn_id) != (got["type"], got["turnId"]):
        return False
    wanted, data = (_settled(expected.type, one, expected.data) for one in (expected.data, got["data"]))
    return wanted == data or _reads_as(wanted, data)


def _has_placeholders(expected: LoggedEvent, got: Object) -> bool:
    """Whether an event that is the same has placeholders in the log where the replay has exact texts."""
    settled = [_settled(expected.type, one, expected.data) for one in (expected.data, got["data"])]
    return settled[0] != settled[1] or not expected.data.keys().isdisjoint(_OF_SECRETS)


def _reads_as(shown: Any, exact: Any) -> bool:
    """Whether a value of the log is another one, with placeholders in its texts: only the world knew the secrets."""
    if isinstance(shown, str) and isinstance(exact, str):
        return originals(shown, exact) is not None
    if isinstance(shown, list) and isinstance(exact, list):
        ours, others = cast("list[Any]", shown), cast("list[Any]", exact)
        return len(ours) == len(others) and all(map(_reads_as, ours, others))
    if isinstance(shown, dict) and isinstance(exact, dict):
        wanted, got = cast("Object", shown), cast("Object", exact)
        return wanted.keys() == got.keys() and all(_reads_as(wanted[key], got[key]) for key in wanted)
    return bool(shown == exact)


_MEASURED: Final = frozenset({"limits.seconds", "contextWindow"})
"""Budgets of which is spent what only the log can know to the last unit."""


def _settled(kind: str, data: Object, of_log: Object) -> Object:
    """The data without what only the log can know: a clock that was read between two events, a digest.

    What older logs do not have is left out, too.
    """
    left_out = {*_PLACES.values(), *_OF_SECRETS}
    data = {key: value for key, value in data.items() if key not in left_out}
    if kind == "approval.requested" and "changeIds" not in of_log:
        return {key: value for key, value in data.items() if key != "changeIds"}
    if kind == "approval.resolved" and "instead" not in of_log:
        data = {key: value for key, value in data.items() if key != "instead"}
    if kind == "approval.resolved" and "digest" in data:
        return {**data, "digest": ""}  # of places and texts that are not those of then
    if kind == "budget.exhausted" and data["limit"] in _MEASURED:
        return {**data, "used": None}
    if kind.startswith("context."):
        return {
            **data,
            "before": None,
            "after": None,
        }  # of texts that may be shorter where secrets were removed
    if kind == "turn.finished" and data["reason"] in _MEASURED:
        return {**data, "summary": data["summary"].partition("(")[0]}
    return data


class _Player:
    """Lets the inputs in, in their order, and watches what comes of them."""

    def __init__(self, tape: Tape, on_event: Callable[[LoggedEvent], None]) -> None:
        self._tape = tape
        self._on_event = on_event
        self._difference: Difference | None = None
        self._services: Services
        self._editor = RecordedEditor(tape)
        self._clock = RecordedClock(tape)
        self._settings = RecordedSettings(tape)
        self._session: Session | None = None
        self._record: _Recorder | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    @property
    def has_differed(self) -> bool:
        """Whether the first difference was found."""
        return self._difference is not None

    def differs(
        self, expected: LoggedEvent | None, got: Object | None, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Take note of the first difference; `blobs` are the contents that came with the replay's event."""
        if self._difference is None:
            wanted = expected and {"type": expected.type, "turnId": expected.turn_id, "data": expected.data}
            texts = {digest: decode_content(blob) for digest, blob in (blobs or {}).items()}
            self._difference = Difference(self._tape.position + 1, wanted or None, got, texts)
            self._tape.end()

    def seen(self, event: LoggedEvent) -> None:
        """Pass an event on that is the same."""
        self._on_event(event)

    async def run(self, store: Store, taken_over: int) -> Replayed:
        tape = self._tape
        self._services = self._world(store)
        if taken_over:
            await self._begin_after(taken_over)
        try:
            while self._difference is None and (coming := tape.to_feed) is not None:
                await self._reach(coming.due)
                await self._feed(coming)
                tape.fed()
            await self._reach(len(tape.events))
        except _Stop:
            pass
        finally:
            await self._end()
        return Replayed(tape.position - taken_over, taken_over, self._difference)

    # --- the house -------------------------------------------------------------------------------------------

    def _world(self, store: Store) -> Services:
        tape, documents = self._tape, RecordedDocuments(self._tape)
        folders = RecordedFolders(tape.events[0].data.get("folders", []))
        overlay, supervisor = RecordedOverlay(tape), Supervisor(SystemClock())
        search = Search(folders, documents, overlay, supervisor, SystemClock(), None)
        return Services(
            clock=self._clock,
            deadlines=SystemClock(),
            ids=RecordedIds(tape),
            store=store,
            editor=self._editor,
            documents=documents,
            folders=folders,
            overlay=overlay,
            editing=RecordedEditing(tape),
            choosing=RecordedChoosing(tape),
            sightings=RecordedSightings(tape),
            search=search,
            census=Census(search, SystemClock(), is_secret_file),
            briefing=RecordedBriefing(tape),
            maps=NoMaps(),
            supervisor=supervisor,
            git_history=GitHistory(supervisor, SystemClock()),
            sandbox=Sandbox(supervisor, SystemClock(), []),
            ledger=RecordedLedger(),
            guarded=Guarded([]),
            trust=RecordedTrust(),
            catalog=RecordedCatalog(tape, self._clock),
            tools=RecordedTools(tape),
            env={},
            host="",
            machine_key=None,
            settings=self._settings,
            on_frame=lambda _: None,
            version=tape.events[0].data.get("version", tape.program),
            rewritten=RecordedRewritten(tape) if tape.is_redacted else None,
        )

    def _open(self, state: SessionState) -> Session:
        lock = self._services.store.lock(state.session_id)
        if lock is None:
            raise RuntimeError("the lock of a session in a folder of our own is taken")
        self._record = self._pen(state)
        self._session = Session(self._services, self._record, lock, show=_show_nothing)
        return self._session

    def _pen(self, state: SessionState) -> "_Recorder":
        return _Recorder(self._services.store, self._clock, state, self._tape, self)

    def _fold(self) -> SessionState:
        state = SessionState(self._tape.session_id)
        for event in self._tape.events[: self._tape.position]:
            state.apply(event)
        return state

    async def _begin_after(self, position: int) -> None:
        tape, store = self._tape, self._services.store
        tape.skip_to(position)
        contents = {digest: text.encode("utf-8", "surrogatepass") for digest, text in tape.contents.items()}
        for event in tape.events[:position]:
            store.append(event, blobs=contents)
            contents = {}
        await store.flush()
        session = self._open(self._fold())
        await session.recall()

    # --- what came from outside ------------------------------------------------------------------------------

    async def _feed(self, coming: Input) -> None:
        event, data = coming.event, coming.event.data
        session = self._session
        if session is None and coming.kind not in {"begin", "restore", "aside"}:
            return self.differs(event, None)
        match coming.kind:
            case "begin":
                self._open(SessionState(event.session_id)).begin(None)
            case "restore":
                await self._restore(rests=data.get("rests", False))
            case "close":
                await self._now(session).close(data["reason"])
                self._session = None
            case "task":
                params = RunParams.from_wire(
                    {key: data[key] for key in ("prompt", "mode", "context", "limits") if key in data}
                )
                self._start(self._now(session).run(params, event.turn_id or "", data["model"]))
            case "steer" if data.get("state", "queued") == "queued":
                self._start(self._now(session).steer(data["text"]))
            case "steer":
                self._start(self._now(session).unsteer(data["pendingId"]))
            case "settings":
                old = self._settings_before(event)
                self._now(session).settings_changed(old, data["permissionMode"])
            case "approve":
                given = {
                    key: data[key] for key in ("id", "decision", "note", "review", "scope") if key in data
                }
                await self._answer(AnswerParams.from_wire(given), data.get("channel", "message"))
            case "answer":
                await self._answer(
                    AnswerParams(id=data["id"], answer=data["answer"]), data.get("channel", "message")
                )
            case "tool":
                way = "error" if data["status"] == "error" else "answer"
                given = AnswerParams.from_wire({"id": data["id"], way: data["content"]})
                await self._answer(given, data.get("channel", "client"))
            case "park":
                await self._until(lambda: self._editor.has(data["open"]) or self._tape.position >= event.seq)
                self._editor.dismiss()
            case "cancel":
                await self._until(lambda: self._can_be_cancelled(event.turn_id or ""))
                self._start(self._now(session).cancel(event.turn_id or "", data["reason"]))
            case "aside":
                await self._abandon()
                self._record = self._pen(self._fold())
                self._take_over(event)
            case "undo" | "changed" | "renamed":
                # It meets files and a person that are not in the log: what it did is taken over.
                self._take_over(event)
        return None

    def _take_over(self, event: LoggedEvent) -> None:
        if self._record is not None:
            data = EVENT_TYPES[event.type].from_wire(event.data)
            self._record.append(data, turn_id=event.turn_id, blobs=self._texts(event.data))

    def _can_be_cancelled(self, turn_id: str) -> bool:
        """Whether a turn has come to where it was cancelled: it waits for something there, or in the queue."""
        session = self._now(self._session)
        return not session.turns[turn_id].started or self._tape.is_holding or bool(session.inbox.open)

    def _now(self, session: Session | None) -> Session:
        if session is None:
            raise RuntimeError("no session is open")
        return session

    def _settings_before(self, event: LoggedEvent) -> Any:
        for one in self._tape.behind(event.seq - 1):
            told = one.data.get("settings", one.data)
            if "permissionMode" in told:
                return told["permissionMode"]
        return "full"

    async def _answer(self, params: AnswerParams, channel: Any) -> None:
        inbox = self._now(self._session).inbox
        await self._until(lambda: any(item.id == params.id for item in inbox.open))
        self._now(self._session).answer(params, channel)

    def _texts(self, data: Object) -> dict[str, bytes]:
        texts = {data[key]: self._tape.text(data[key]) for key in ("before", "after") if key in data}
        return {digest: (text or "").encode("utf-8", "surrogatepass") for digest, text in texts.items()}

    async def _restore(self, *, rests: bool) -> None:
        """The process that wrote the log up to here is gone, with or without a word; another one opens it."""
        await self._abandon()
        state = self._fold()
        session = self._open(state)
        await self._services.store.flush()
        if problem := await session.restore(rests=rests):
            raise RuntimeError(problem.message)
        if not rests:
            session.go_on()

    # --- waiting ---------------------------------------------------------------------------------------------

    async def _reach(self, position: int) -> None:
        await self._until(lambda: self._tape.position >= position)
        if self._difference is not None or self._tape.position < position:
            raise _Stop

    async def _until(self, predicate: Callable[[], bool]) -> None:
        """Wait until something holds; where no event comes for long, the next one is missing."""
        while not predicate() and self._difference is None:
            before = self._tape.position
            try:
                async with asyncio.timeout(STEP_SECONDS):
                    await self._tape.until(
                        lambda start=before: (
                            predicate() or self._difference is not None or self._tape.position != start
                        )
                    )
            except TimeoutError:
                self.differs(self._tape.next, None)
        if self._difference is not None:
            raise _Stop

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _abandon(self) -> None:
        if self._record is not None:
            self._record.muted = True
        session, self._session = self._session, None
        with self._tape.cut():
            if session is not None:
                await session.abandon()

    async def _end(self) -> None:
        # These first: a task that is being given would begin its turn in a session that nobody ends any more.
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._abandon()
        with contextlib.suppress(Exception):
            await self._services.supervisor.close()


async def _show_nothing(item: Any) -> None:  # noqa: ARG001 - the shape that a session wants
    return None
