"""The recorded log as a tape: how far the replay has come, and what the world did next.

It answers for everything outside the loop, and keeps the order: what came from outside is let in where it came in.
"""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

from outrider.ports.events import LoggedEvent
from outrider.tools.client import defined
from outrider_protocol.export import Export
from outrider_protocol.settings import ClientTool

InputKind = Literal[
    "begin",
    "restore",
    "close",
    "task",
    "steer",
    "settings",
    "approve",
    "answer",
    "tool",
    "park",
    "cancel",
    "undo",
    "changed",
    "renamed",
    "aside",
]

_OF_TYPE: Mapping[str, InputKind] = {
    "session.started": "begin",
    "session.restored": "restore",
    "turn.queued": "task",
    "turn.started": "task",
    "turn.parked": "park",
    "steering.received": "steer",
    "settings.changed": "settings",
    "approval.resolved": "approve",
    "question.answered": "answer",
    "tool.answered": "tool",
    "workspace.changed": "changed",
    "instructions.found": "changed",
    "map.drawn": "changed",
    "session.titled": "changed",
    "workspace.touched": "changed",
    "workspace.renamed": "renamed",
    "job.started": "changed",
    "job.finished": "changed",
}
_WITH_THEIR_OWNER: Final = frozenset({"cancelled", "closed", "interrupted"})
"""Jobs that end so follow from the end of their turn, their session or the server."""


@dataclass(frozen=True, slots=True)
class Input:
    """Something that came from outside."""

    kind: InputKind
    due: int
    """The seq after which it came."""
    event: LoggedEvent
    """The event that tells of it."""


class Tape:
    """A recorded log, read from front to back."""

    def __init__(self, export: Export) -> None:
        """Put a tape in at its beginning."""
        self.events: Sequence[LoggedEvent] = [
            LoggedEvent(one.seq, one.ts, one.session_id, one.turn_id, one.type, one.data)
            for one in export.events
        ]
        self.contents = export.contents
        self.program = export.program
        self.is_redacted = bool(export.removed)
        self.position = 0
        """Seq of the last event that was replayed."""
        self.inputs: Sequence[Input] = sorted(_inputs(self.events), key=lambda one: one.due)
        self._client_tools: dict[str, list[ClientTool]] = {}
        self._fed = 0
        self._waiters: list[asyncio.Future[None]] = []
        self._hanging: set[asyncio.Future[None]] = set()
        self._holding = 0
        self._is_cut = False
        self._is_over = False

    # --- where it is -----------------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        """The recorded session."""
        return self.events[0].session_id

    @property
    def next(self) -> LoggedEvent | None:
        """The event that comes next, None at the end."""
        return self.events[self.position] if self.position < len(self.events) else None

    def ahead(self) -> Iterator[LoggedEvent]:
        """The events that come, up to where the process that wrote them ended."""
        for event in self.events[self.position :]:
            if event.type == "session.restored" and event.seq > self.position + 1:
                return
            yield event

    @property
    def has_ended(self) -> bool:
        """Whether the process that wrote the log came no further than this."""
        coming = next((one for one in self.events[self.position :] if one.type != "workspace.renamed"), None)
        return coming is None or coming.type == "session.restored"

    def first_ahead(self, *types: str, **data: Any) -> LoggedEvent | None:
        """The next event of one of these types whose data has these values."""
        for event in self.ahead():
            if event.type in types and all(event.data.get(key) == value for key, value in data.items()):
                return event
        return None

    def story(self, call_id: str) -> list[LoggedEvent]:
        """What comes of a call."""
        return [event for event in self.ahead() if event.data.get("callId") == call_id]

    def left_open(self, call_id: str) -> list[LoggedEvent]:
        """The questions of a call that were asked up to here and have no answer up to here."""
        past = [event for event in self.events[: self.position] if event.data.get("callId") == call_id]
        answered = {event.data["id"] for event in past if event.type == "question.answered"}
        return [e for e in past if e.type == "question.asked" and e.data["id"] not in answered]

    def behind(self, seq: int) -> Iterator[LoggedEvent]:
        """The events up to `seq`, the latest first."""
        return reversed(self.events[:seq])

    def text(self, digest: str | None) -> str | None:
        """The content of that hash; None for none."""
        return None if digest is None else self.contents[digest]

    def client_tools(self, seq: int) -> list[ClientTool]:
        """The tools that the client had registered at that event."""
        begun = next(
            (one for one in self.behind(seq) if one.type in {"session.started", "session.restored"}), None
        )
        digest = begun.data.get("toolsHash") if begun else None
        if digest is None:
            return []
        if digest not in self._client_tools:
            listed = [defined(one) for one in json.loads(self.contents[digest])]
            self._client_tools[digest] = [tool for tool in listed if tool is not None]
        return self._client_tools[digest]

    # --- moving on -------------------------------------------------------------------------------------------

    def skip_to(self, position: int) -> None:
        """Begin after that event: what came before is taken over."""
        self.position = position
        self._fed = sum(one.due < position for one in self.inputs)

    def advance(self) -> None:
        """The next event was replayed."""
        self.position += 1
        self.wake()

    def fed(self) -> None:
        """The next input was let in."""
        self._fed += 1
        self.wake()

    @property
    def to_feed(self) -> Input | None:
        """The input that has to be let in next."""
        return self.inputs[self._fed] if self._fed < len(self.inputs) else None

    async def until(self, predicate: Callable[[], bool]) -> None:
        """Wait until something holds; it is looked at whenever the tape moves."""
        while not predicate():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    async def fed_before(self, event: LoggedEvent) -> None:
        """Wait until everything is let in that came before `event`."""
        with self._holding_on():
            await self.until(
                lambda: self._is_cut or (first := self.to_feed) is None or first.due >= event.seq
            )
        if self._is_cut:
            raise asyncio.CancelledError

    @property
    def is_holding(self) -> bool:
        """Whether somebody waits for an input, or for what never came."""
        return self._holding > 0

    async def hang(self) -> None:
        """Wait for what never came, until the process that waited for it ends."""
        if self._is_cut:
            raise asyncio.CancelledError
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._hanging.add(waiting)
        try:
            with self._holding_on():
                await waiting
        finally:
            self._hanging.discard(waiting)

    def end(self) -> None:
        """Nothing that follows counts any more."""
        self._is_over = True
        self.wake()

    async def hang_if_over(self) -> None:
        """Hang if nothing that follows counts any more."""
        if self._is_over:
            await self.hang()

    async def hang_if_cut_off(self) -> None:
        """Hang if the turn came no further than this."""
        await self.hang_if_over()
        coming = self.next
        if coming is None or self.has_ended:
            await self.hang()
        elif coming.type == "turn.phase" and coming.data["to"] == "finish":
            ended = self.first_ahead("turn.finished")
            if ended is not None and ended.data["outcome"] == "cancelled":
                await self.hang()

    @contextmanager
    def _holding_on(self) -> Generator[None]:
        self._holding += 1
        self.wake()
        try:
            yield
        finally:
            self._holding -= 1

    @contextmanager
    def cut(self) -> Generator[None]:
        """The process ends in the block: nothing hangs any more."""
        self._is_cut = True
        for waiting in tuple(self._hanging):
            waiting.cancel()
        self.wake()
        try:
            yield
        finally:
            self._is_cut = False

    def wake(self) -> None:
        """Let everyone who waits look again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def _inputs(events: Sequence[LoggedEvent]) -> Iterator[Input]:
    queued: set[str] = set()
    undoing: set[str] = set()
    """Changes outside a turn that have begun."""
    cut_off: set[str] = set()
    """Those of them that a restart came into: what became of them is found out again."""
    for event in events:
        kind = _OF_TYPE.get(event.type)
        match event.type:
            case "turn.queued":
                queued.add(event.turn_id or "")
            case "turn.started" if event.turn_id in queued:
                continue  # it follows from the end of the turn before
            case "approval.resolved" if event.data["by"] != "person":
                continue
            case "job.finished" if event.data["status"] in _WITH_THEIR_OWNER:
                continue
            case "session.closed":
                yield Input("close", _closed_after(events, event), event)
                continue
            case "turn.finished" if event.data["outcome"] == "cancelled":
                if (due := _cancelled_after(events, event)) is not None:
                    yield Input("cancel", due, event)
                continue
            case "session.restored":
                cut_off |= undoing
            case "workspace.renamed" if _is_aside(events, event):
                kind = "aside"
            case _ if event.type.startswith(("edit.", "undo.")) and event.turn_id is None:
                change_id = event.data.get("changeId", "")
                if event.type == "edit.applying":
                    undoing.add(change_id)
                elif change_id in undoing:
                    undoing.remove(change_id)
                    if change_id in cut_off:
                        continue
                kind = "undo"
            case _:
                pass
        if kind is not None:
            yield Input(kind, event.seq - 1, event)


def _is_aside(events: Sequence[LoggedEvent], renamed: LoggedEvent) -> bool:
    """Whether no process ran the session when a file that it knew was renamed, or it may be so."""
    others = (one for one in events[renamed.seq :] if one.type != renamed.type)
    before = (one for one in reversed(events[: renamed.seq - 1]) if one.type != renamed.type)
    coming, last = next(others, None), next(before, None)
    was_closed = last is not None and last.type == "session.closed"
    return was_closed or (coming is not None and coming.type == "session.restored")


def _closed_after(events: Sequence[LoggedEvent], closed: LoggedEvent) -> int:
    """The seq after which a session was closed: its jobs ended with it."""
    seq = closed.seq - 1
    while events[seq - 1].type == "job.finished" and events[seq - 1].data["status"] == "closed":
        seq -= 1
    return seq


def _cancelled_after(events: Sequence[LoggedEvent], finished: LoggedEvent) -> int | None:
    """The seq after which the cancel came that ended a turn; None if it came before a restart."""
    seq = finished.seq - 1
    while _follows_from_cancel(events[seq - 1], finished.turn_id):
        seq -= 1
    last = events[seq - 1]
    if last.type == "tool.finished" and seq > 1 and events[seq - 2].type.startswith("edit."):
        # An edit that had begun was brought to its end, and nothing came after it: the cancel came before.
        return _begun(events, events[seq - 2])
    if last.type == "session.restored" and finished.data["reason"] == "cancelled":
        return None
    return seq


def _follows_from_cancel(event: LoggedEvent, turn_id: str | None) -> bool:
    if event.turn_id != turn_id:
        return False
    data = event.data
    match event.type:
        case "turn.phase":
            return data["to"] == "finish"
        case "tool.finished" | "job.finished":
            return data["status"] == "cancelled"
        case "model.responded":
            return data["finishReason"] == "cancelled"
        case _:
            return False


def _begun(events: Sequence[LoggedEvent], settled: LoggedEvent) -> int:
    for event in events[: settled.seq][::-1]:
        if event.type == "edit.applying" and event.data["changeId"] == settled.data["changeId"]:
            return event.seq
    return settled.seq
