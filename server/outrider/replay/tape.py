"""The recorded log as a tape: how far the replay has come, and when what came from outside is due."""

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from outrider.ports.events import Logged, messages_of
from outrider.ports.events import LoggedEvent as AnyEvent
from outrider.ports.model import Message
from outrider.store.exported import encode_content, events_of
from outrider.tools.client import defined
from outrider_protocol.export import Export
from outrider_protocol.settings import ClientTool

LoggedEvent = Logged[dict[str, Any]]
"""An event as a replay compares it: key by key, whatever it is."""
_FROM_OUTSIDE: Final = frozenset({
    "session.started", "session.restored", "session.closed", "turn.queued", "turn.started", "steering.received",
    "settings.changed", "approval.resolved", "question.answered", "tool.answered", "workspace.renamed",
    "workspace.changed", "workspace.touched", "instructions.found", "map.drawn", "session.titled", "sandbox.absent",
    "auto.limited", "error", "job.started", "job.finished", "session.renamed", "session.forked", "session.imported",
    "queue.changed", "conversation.restored", "verdict.found",
})  # fmt: skip
"""Events that tell of what came from outside."""
_TELLING: Final = frozenset({
    "job.finished", "session.titled", "session.renamed", "verdict.found", "workspace.renamed", "workspace.touched",
})  # fmt: skip
"""Those that come while a turn is doing something else: it goes on as if they had not come."""
_ELSEWHERE: Final = frozenset({"session.restored", "session.forked", "session.imported"})
"""Events before which the process came to its end that wrote what is before them."""
_WAITING: Final = frozenset({
    *_ELSEWHERE, "session.closed", "approval.resolved", "question.answered", "tool.answered",
})  # fmt: skip
"""Inputs that wait until the session has come so far."""
_FOLLOWS: Final = {
    ("turn.phase", "to", "finish"), ("tool.finished", "status", "cancelled"), ("job.finished", "status", "cancelled"),
    ("job.finished", "status", "closed"), ("model.responded", "finishReason", "cancelled"),
}  # fmt: skip
"""What follows from a cancel or from the end of a session, and comes before its event: type, key and value."""


@dataclass(frozen=True, slots=True)
class Input:
    """Something that came from outside."""

    due: int
    """The seq after which it came."""
    event: LoggedEvent
    """The event that tells of it."""


class Tape:
    """A recorded log, read from front to back."""

    def __init__(self, export: Export) -> None:
        """Put it in at its beginning."""
        self.typed: Sequence[AnyEvent] = events_of(export)
        self.events = cast("Sequence[LoggedEvent]", self.typed)
        self.contents, self.program = export.contents, export.program
        self.position = 0
        """Seq of the last event that came again."""
        self.is_over = False
        """Whether nothing that follows counts: the process that wrote the log ended here, or an event differs."""
        self.is_cut = False
        """Whether the process is ending: no port waits any more."""
        self.holding = 0
        """How many ports wait for their time."""
        self.inputs = sorted(_inputs(self.events), key=lambda one: one.due)
        self._fed = 0
        self._moved = asyncio.Event()

    # --- what it says ----------------------------------------------------------------------------------------

    @property
    def next(self) -> LoggedEvent | None:
        """The event that comes next, None at the end."""
        return self.events[self.position] if self.position < len(self.events) else None

    def ahead(self) -> Iterator[LoggedEvent]:
        """The events that come, up to where the process that wrote them ended."""
        for event in self.events[self.position :]:
            if event.type in _ELSEWHERE and event.seq > self.position + 1:
                return
            yield event

    def behind(self, seq: int | None = None) -> Iterator[LoggedEvent]:
        """The events up to `seq`, by default those that came again; the latest first."""
        return reversed(self.events[: self.position if seq is None else seq])

    def first_ahead(self, *types: str, **data: Any) -> LoggedEvent | None:
        """The next event of one of these types whose data has these values."""
        for event in self.ahead():
            if event.type in types and all(event.data.get(key) == value for key, value in data.items()):
                return event
        return None

    @property
    def has_ended(self) -> bool:
        """Whether the process that wrote the log came no further than this."""
        coming = next((one for one in self.events[self.position :] if one.type != "workspace.renamed"), None)
        return coming is None or coming.type in _ELSEWHERE

    @property
    def is_cancelled(self) -> bool:
        """Whether the turn is on its way to be cancelled, or its process to end."""
        ended = self.first_ahead("turn.finished")
        return self.is_cut or ended is None or ended.data["outcome"] == "cancelled"

    def text(self, digest: str | None) -> str | None:
        """The content of that hash; None for none."""
        return None if digest is None else self.contents[digest]

    def messages(self, event: LoggedEvent) -> list[str]:
        """The content hashes of all messages that an event names, in order."""
        return messages_of(cast("AnyEvent", event), lambda seq: self.typed[seq - 1])

    def message(self, digest: str) -> Message:
        """The message of that hash."""
        return Message.decode(encode_content(self.contents[digest]))

    def client_tools(self, seq: int) -> list[ClientTool]:
        """The tools that the client had registered at that event."""
        begun = (one for one in self.behind(seq) if one.type in {"session.started", "session.restored"})
        listed = json.loads(self.text(next(begun).data.get("toolsHash")) or "[]")
        return [tool for tool in map(defined, listed) if tool is not None]

    # --- moving on -------------------------------------------------------------------------------------------

    def skip_to(self, position: int) -> None:
        """Begin after that event: what came before is taken over."""
        self.position, self._fed = position, sum(one.due < position for one in self.inputs)

    def advance(self) -> None:
        """The next event came again."""
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

    async def moved(self) -> None:
        """Wait until something of the tape is another."""
        await self._moved.wait()

    def tells(self, event: LoggedEvent) -> bool:
        """Whether an event only tells of what came from outside, and no turn waited for it."""
        return event.type in _TELLING and any(one.event is event for one in self.inputs)

    def _is_fed(self, seq: int) -> bool:
        """Whether all is let in that came before an event."""
        coming = self.to_feed
        return coming is None or coming.due >= seq

    async def reached(self, event: LoggedEvent | None) -> None:
        """Wait until all is let in that came before `event`; for ever where there is none, or nothing counts any more.

        Raises:
            CancelledError: The process of then ended in the meantime.
        """
        await self._hold(lambda: event is not None and not self.is_over and self._is_fed(event.seq))

    async def parked(self) -> None:
        """Wait until the turn is about to park; for ever where it does not."""
        parked = self.first_ahead("turn.parked")
        await self._hold(lambda: parked is not None and not self.is_over and self.next is parked)

    async def due_is_fed(self) -> None:
        """Wait until all is let in that came before the next event, but for what waits itself for the session."""

        def is_there() -> bool:
            coming = self.to_feed
            return coming is None or coming.due > self.position or coming.event.type in _WAITING

        await self._hold(is_there)

    async def _hold(self, is_there: Callable[[], bool]) -> None:
        self.holding += 1
        self.wake()
        try:
            while not (self.is_cut or is_there()):
                await self.moved()
        finally:
            self.holding -= 1
        if self.is_cut:
            raise asyncio.CancelledError

    def wake(self) -> None:
        """Let everyone who waits look again."""
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()


class Recorded:
    """A port that says what a tape says."""

    def __init__(self, tape: Tape) -> None:
        """Answer from a tape."""
        self._tape = tape


def _inputs(events: Sequence[LoggedEvent]) -> Iterator[Input]:
    queued: set[str | None] = set()
    is_taken_in = False
    for event in events:
        due, data = event.seq - 1, event.data
        is_taken_in = event.type == "session.imported" or (is_taken_in and event.type != "turn.started")
        match event.type:
            case "turn.queued":
                queued.add(event.turn_id)
            case "turn.finished" if is_taken_in:
                continue  # the turns end that the file has only the beginning of
            case "turn.started" if event.turn_id in queued:
                continue  # it follows from the end of the turn before
            case "approval.resolved" if data["by"] != "person":
                continue
            case "job.finished" if data["status"] in {"cancelled", "closed", "interrupted"}:
                continue  # it ended with its turn, its session or the server
            case "turn.finished" if data["outcome"] == "cancelled":
                due = _cancelled_after(events, event)
            case "session.closed":
                due = _before_what_follows(events, event)
            case kind if kind in _FROM_OUTSIDE:
                pass
            case kind if kind.startswith(("edit.", "undo.")) and event.turn_id is None:
                pass
            case _:
                continue
        if due is not None:
            yield Input(due, event)


def _before_what_follows(events: Sequence[LoggedEvent], end: LoggedEvent) -> int:
    """The seq of the last event before an end that does not follow from what brought it about."""
    seq = end.seq - 1
    while (one := events[seq - 1]).turn_id == end.turn_id and any(
        (one.type, key, one.data.get(key)) in _FOLLOWS for key in ("to", "status", "finishReason")
    ):
        seq -= 1
    return seq


def _cancelled_after(events: Sequence[LoggedEvent], finished: LoggedEvent) -> int | None:
    """The seq after which the cancel came that ended a turn; None if it came before a restart."""
    seq = _before_what_follows(events, finished)
    last, settled = events[seq - 1], events[seq - 2]
    if last.type == "tool.finished" and seq > 1 and settled.type.startswith("edit."):
        # An edit that had begun was brought to its end, and nothing came after it: the cancel came before.
        change = ("edit.applying", settled.data["changeId"])
        begun = (e.seq for e in events[seq - 2 :: -1] if (e.type, e.data.get("changeId")) == change)
        return next(begun, settled.seq)
    return None if last.type == "session.restored" and finished.data["reason"] == "cancelled" else seq
