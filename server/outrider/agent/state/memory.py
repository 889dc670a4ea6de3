"""What a session knows apart from its conversation, so that no summary has to carry it: a fold over the events.

The model is told of it afresh after each compaction.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from outrider.ports.events import LoggedEvent
from outrider_protocol import logged

MOST_APPROVALS: Final = 20
"""Decisions of the user that are kept, the latest."""

Decided = tuple[str, str, str]
"""What was asked, what was decided, and the user's note."""


@dataclass(frozen=True, slots=True)
class Touch:
    """A call that read or changed a file."""

    call_id: str
    path: str
    changed: bool = False
    first: int | None = None
    last: int | None = None
    """Of a read in part: the lines that were asked for."""

    def supersedes(self, read: "Touch") -> bool:
        """Whether an earlier read of the file is of no more use after it."""
        if self.changed:
            return True
        return (self.first or 1) <= (read.first or 1) and (
            self.last is None or (read.last is not None and self.last >= read.last)
        )


@dataclass(frozen=True, slots=True)
class LastCount:
    """What the provider counted for the latest main request."""

    model: str
    messages: int
    input: int
    output: int


@dataclass(frozen=True, slots=True)
class Mark:
    """How far it was at some time."""

    touches: int
    instructions: dict[str, str]


@dataclass(slots=True)
class Memory:
    """It, up to the latest event."""

    touches: list[Touch] = field(default_factory=list[Touch])
    """In their order."""
    approvals: deque[Decided] = field(default_factory=lambda: deque[Decided](maxlen=MOST_APPROVALS))
    said: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What the user said to a running turn and the model has got, by turn."""
    instructions: dict[str, str] = field(default_factory=dict[str, str])
    """What the model was told of the instructions of folders below the workspace's own, by path."""
    last: LastCount | None = None
    model: str | None = None
    context_window: int | None = None
    """Those of the latest main request."""
    _titles: dict[str, str] = field(default_factory=dict[str, str])
    _queued: dict[str, str] = field(default_factory=dict[str, str])
    _lines: dict[str, tuple[int | None, int | None]] = field(
        default_factory=dict[str, tuple[int | None, int | None]]
    )
    _requested: tuple[str, int] | None = None
    _messages: int = 0
    """How many messages the conversation had when it was last named."""

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event; those of other types change nothing."""
        match event.type:
            case "model.requested" if event.data["purpose"] == "main":
                self._asked(event.data, event.turn_id or "")
            case "model.fellBack" if self._requested is not None:
                self._requested = (event.data["to"], self._requested[1])
            case "model.responded" if event.data["purpose"] == "main":
                self._answered(event.data.get("usage"))
            case "context.compacted" | "context.pruned" | "context.trimmed" if "messages" in event.data:
                self.last = None
                self._messages = len(event.data["messages"])
            case "tool.requested" if event.data["name"] == "read_file":
                self._lines[event.data["callId"]] = _range(event.data["input"])
            case "tool.finished":
                call_id = event.data["callId"]
                first, last = self._lines.pop(call_id, (None, None))
                read = event.data.get("read", ())
                self.touches += [Touch(call_id, one["path"], first=first, last=last) for one in read]
            case "edit.applied" | "edit.merged" if "callId" in event.data and "undoes" not in event.data:
                paths = [event.data["path"], *([event.data["to"]] if "to" in event.data else [])]
                self.touches += [Touch(event.data["callId"], path, changed=True) for path in paths]
            case "approval.requested":
                self._titles[event.data["id"]] = event.data["title"]
            case "approval.resolved" if event.data["by"] == "person":
                title = self._titles.pop(event.data["id"], event.data["callId"])
                self.approvals.append((title, event.data["decision"], event.data.get("note", "")))
            case "steering.received" if event.data["state"] == "queued":
                self._queued[event.data["pendingId"]] = event.data["text"]
            case "steering.received":
                self._queued.pop(event.data["pendingId"], None)
            case "instructions.found":
                self.instructions[event.data["path"]] = event.data["told"]
            case _:
                pass

    def mark(self) -> Mark:
        """How far it is."""
        return Mark(len(self.touches), dict(self.instructions))

    def back_to(self, mark: Mark, messages: int) -> None:
        """Forget what came after a mark: the conversation has so many messages again."""
        del self.touches[mark.touches :]
        self.instructions = dict(mark.instructions)
        self.last, self._messages = None, messages

    def _asked(self, data: logged.ModelRequested, turn_id: str) -> None:
        named = data["messages"]
        self._messages = len(named) if isinstance(named, list) else self._messages + len(named["added"])
        self._requested = (data["model"], self._messages)
        self.model, self.context_window = data["model"], data.get("contextWindow")
        for pending in data["steering"]:
            if (text := self._queued.pop(pending, None)) is not None:
                self.said.setdefault(turn_id, []).append(text)

    def _answered(self, usage: logged.Usage | None) -> None:
        if usage and usage["inputTokens"] > 0 and not usage.get("estimated") and self._requested is not None:
            model, messages = self._requested
            self.last = LastCount(model, messages, usage["inputTokens"], usage["outputTokens"])
        self._requested = None


def _range(given: Any) -> tuple[int | None, int | None]:
    if not isinstance(given, dict):
        return None, None
    first, last = given.get("start_line"), given.get("end_line")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] -- plain JSON
    return (first if isinstance(first, int) else None, last if isinstance(last, int) else None)
