"""The recorded log as a tape: how far the replay has come, and when what came from outside is due."""

import asyncio
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

from outrider.ports.events import Logged, messages_of
from outrider.ports.events import LoggedEvent as AnyEvent
from outrider.ports.model import Message
from outrider.store.exported import events_of
from outrider.tools.client import defined
from outrider_protocol.export import Export
from outrider_protocol.settings import ClientTool

LoggedEvent = Logged[dict[str, Any]]
"""An event as a replay compares it: key by key, whatever it is."""
_KINDS: Final[Mapping[str, str]] = {
    "session.started": "begin", "session.restored": "restore", "session.closed": "close",
    "turn.queued": "task", "turn.started": "task", "turn.parked": "park", "steering.received": "steer",
    "settings.changed": "settings", "approval.resolved": "approve", "question.answered": "answer",
    "tool.answered": "tool", "workspace.renamed": "renamed",
} | dict.fromkeys(
    ["workspace.changed", "workspace.touched", "instructions.found", "map.drawn", "session.titled", "sandbox.absent",
     "job.started", "job.finished"], "changed"
)  # fmt: skip
"""What an event tells of that came from outside."""
_WAITING: Final = frozenset({"restore", "close", "park", "approve", "answer", "tool"})
"""Inputs that wait until the session has come so far."""


@dataclass(frozen=True, slots=True)
class Input:
    """Something that came from outside."""

    kind: str
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
        self.contents = export.contents
        self.program = export.program
        self.position = 0
        """Seq of the last event that came again."""
        self.is_over = False
        """Whether nothing that follows counts: the process that wrote the log ended here, or an event differs."""
        self.inputs: Sequence[Input] = sorted(_inputs(self.events), key=lambda one: one.due)
        self._fed = self._holding = 0
        self._is_cut = False
        self._waiters: list[asyncio.Future[None]] = []

    # --- what it says ----------------------------------------------------------------------------------------

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
        return coming is None or coming.type == "session.restored"

    def text(self, digest: str | None) -> str | None:
        """The content of that hash; None for none."""
        return None if digest is None else self.contents[digest]

    def messages(self, event: LoggedEvent) -> list[str]:
        """The content hashes of all messages that an event names, in order."""
        return messages_of(cast("AnyEvent", event), lambda seq: self.typed[seq - 1])

    def message(self, digest: str) -> Message:
        """The message of that hash."""
        return Message.decode(self.contents[digest].encode("utf-8", "surrogatepass"))

    def client_tools(self, seq: int) -> list[ClientTool]:
        """The tools that the client had registered at that event."""
        begun = (one for one in self.behind(seq) if one.type in {"session.started", "session.restored"})
        digest = next(begun).data.get("toolsHash")
        listed = [] if digest is None else [defined(one) for one in json.loads(self.contents[digest])]
        return [tool for tool in listed if tool is not None]

    # --- moving on -------------------------------------------------------------------------------------------

    def skip_to(self, position: int) -> None:
        """Begin after that event: what came before is taken over."""
        self.position = position
        self._fed = sum(one.due < position for one in self.inputs)

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

    async def until(self, predicate: Callable[[], bool]) -> None:
        """Wait until something holds; it is looked at whenever the tape moves."""
        while not predicate():
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await waiter

    async def reached(self, event: LoggedEvent | None) -> None:
        """Wait until all is let in that came before `event`; for ever where there is none, or nothing counts any more.

        Raises:
            CancelledError: The process of then ended in the meantime.
        """

        def is_there() -> bool:
            coming = self.to_feed
            return event is not None and not self.is_over and (coming is None or coming.due >= event.seq)

        await self._hold(is_there)

    async def due_is_fed(self) -> None:
        """Wait until all is let in that came before the next event, but for what waits itself for the session."""

        def is_there() -> bool:
            coming = self.to_feed
            return coming is None or coming.due > self.position or coming.kind in _WAITING

        await self._hold(is_there)

    async def _hold(self, is_there: Callable[[], bool]) -> None:
        self._holding += 1
        self.wake()
        try:
            await self.until(lambda: self._is_cut or is_there())
        finally:
            self._holding -= 1
        if self._is_cut:
            raise asyncio.CancelledError

    @property
    def is_holding(self) -> bool:
        """Whether a port waits for its time."""
        return self._holding > 0

    @contextmanager
    def cut(self) -> Generator[None]:
        """The process ends in the block: no port waits any more."""
        self._is_cut = True
        self.wake()
        try:
            yield
        finally:
            self._is_cut = self.is_over = False

    def wake(self) -> None:
        """Let everyone who waits look again."""
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)


def _inputs(events: Sequence[LoggedEvent]) -> Iterator[Input]:
    queued: set[str | None] = set()
    undoing: dict[str, bool] = {}
    """Changes outside a turn that have begun, and whether a restart came since: then what became of them is found out again."""
    for event in events:
        kind, due, data = _KINDS.get(event.type), event.seq - 1, event.data
        match event.type:
            case "turn.queued":
                queued.add(event.turn_id)
            case "turn.started" if event.turn_id in queued:
                continue  # it follows from the end of the turn before
            case "approval.resolved" if data["by"] != "person":
                continue
            case "job.finished" if data["status"] in {"cancelled", "closed", "interrupted"}:
                continue  # it ended with its turn, its session or the server
            case "session.closed":
                due = _before(
                    events, due, lambda one: one.type == "job.finished" and one.data["status"] == "closed"
                )
            case "turn.finished" if data["outcome"] == "cancelled":
                kind, due = "cancel", _cancelled_after(events, event)
            case "session.restored":
                undoing = dict.fromkeys(undoing, True)
            case "workspace.renamed" if _is_aside(events, event):
                kind = "aside"
            case _ if event.type.startswith(("edit.", "undo.")) and event.turn_id is None:
                kind = "undo"
                if event.type == "edit.applying":
                    undoing[data["changeId"]] = False
                elif undoing.pop(data.get("changeId", ""), False):
                    continue
            case _:
                pass
        if kind is not None and due is not None:
            yield Input(kind, due, event)


def _before(events: Sequence[LoggedEvent], seq: int, follows: Callable[[LoggedEvent], bool]) -> int:
    """The seq of the last event up to `seq` that does not follow from what came from outside."""
    while follows(events[seq - 1]):
        seq -= 1
    return seq


def _is_aside(events: Sequence[LoggedEvent], renamed: LoggedEvent) -> bool:
    """Whether no process ran the session when a file that it knew was renamed, or it may be so."""
    others = (one for one in events[renamed.seq :] if one.type != renamed.type)
    before = (one for one in reversed(events[: renamed.seq - 1]) if one.type != renamed.type)
    coming, last = next(others, None), next(before, None)
    was_closed = last is not None and last.type == "session.closed"
    return was_closed or (coming is not None and coming.type == "session.restored")


_OF_CANCEL: Final = {
    "turn.phase": ("to", "finish"),
    "tool.finished": ("status", "cancelled"),
    "job.finished": ("status", "cancelled"),
    "model.responded": ("finishReason", "cancelled"),
}
"""What follows from a cancel, before the end of its turn: the value that it has."""


def _cancelled_after(events: Sequence[LoggedEvent], finished: LoggedEvent) -> int | None:
    """The seq after which the cancel came that ended a turn; None if it came before a restart."""

    def follows(one: LoggedEvent) -> bool:
        key, value = _OF_CANCEL.get(one.type, ("", None))
        return one.turn_id == finished.turn_id and value is not None and one.data[key] == value

    seq = _before(events, finished.seq - 1, follows)
    last, settled = events[seq - 1], events[seq - 2]
    if last.type == "tool.finished" and seq > 1 and settled.type.startswith("edit."):
        # An edit that had begun was brought to its end, and nothing came after it: the cancel came before.
        change = ("edit.applying", settled.data["changeId"])
        begun = (e.seq for e in events[seq - 2 :: -1] if (e.type, e.data.get("changeId")) == change)
        return next(begun, settled.seq)
    return None if last.type == "session.restored" and finished.data["reason"] == "cancelled" else seq
