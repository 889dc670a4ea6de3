"""What a session knows apart from its conversation, so that no summary has to carry it: a fold over the events.

The model is told of it afresh after each compaction.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Any, Final

from outrider.ports.events import LoggedEvent
from outrider_protocol.settings import EditFormat

MOST_APPROVALS: Final = 20
"""Decisions of the person that are kept, the latest."""

Decided = tuple[str, str, str]
"""What was asked, what was decided, and the person's note."""


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


@dataclass(slots=True)
class Memory:
    """It, up to the latest event."""

    touches: list[Touch] = field(default_factory=list[Touch])
    """In their order."""
    approvals: deque[Decided] = field(default_factory=lambda: deque[Decided](maxlen=MOST_APPROVALS))
    said: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What the person said to a running turn and the model has got, by turn."""
    instructions: dict[str, str] = field(default_factory=dict[str, str])
    """What the model was told of the instructions of folders below the workspace's own, by path."""
    last: LastCount | None = None
    model: str | None = None
    context_window: int | None = None
    edit_format: EditFormat | None = None
    """Those of the latest main request."""
    _titles: dict[str, str] = field(default_factory=dict[str, str])
    _queued: dict[str, str] = field(default_factory=dict[str, str])
    _lines: dict[str, tuple[int | None, int | None]] = field(
        default_factory=dict[str, tuple[int | None, int | None]]
    )
    _requested: tuple[str, int] | None = None

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event; those of other types change nothing."""
        data = event.data
        match event.type:
            case "model.requested":
                self._asked(event)
            case "model.fellBack" if self._requested is not None:
                self._requested = (data["to"], self._requested[1])
            case "model.responded" if data.get("purpose", "main") == "main":
                self._answered(data)
            case "context.compacted" | "context.pruned" | "context.trimmed" if "messages" in data:
                self.last = None
            case "tool.requested" if data["name"] == "read_file":
                self._lines[data["callId"]] = _range(data["input"])
            case "tool.finished":
                first, last = self._lines.pop(data["callId"], (None, None))
                self.touches += [
                    Touch(data["callId"], one["path"], first=first, last=last) for one in data.get("read", ())
                ]
            case "edit.applied" | "edit.merged" if "callId" in data and "undoes" not in data:
                paths = [data["path"], *([data["to"]] if "to" in data else [])]
                self.touches += [Touch(data["callId"], path, changed=True) for path in paths]
            case "approval.requested":
                self._titles[data["id"]] = data["title"]
            case "approval.resolved" if data["by"] == "person":
                title = self._titles.pop(data["id"], data["callId"])
                self.approvals.append((title, data["decision"], data.get("note", "")))
            case "steering.received":
                if data.get("state", "queued") == "queued":
                    self._queued[data["pendingId"]] = data["text"]
                else:
                    self._queued.pop(data["pendingId"], None)
            case "instructions.found":
                self.instructions[data["path"]] = data["told"]
            case _:
                pass

    def _asked(self, event: LoggedEvent) -> None:
        data = event.data
        if data["purpose"] != "main":
            return
        self._requested = (data["model"], len(data["messages"]))
        self.model, self.context_window = data["model"], data.get("contextWindow")
        self.edit_format = data.get("editFormat")
        for pending in data.get("steering", ()):
            if (text := self._queued.pop(pending, None)) is not None:
                self.said.setdefault(event.turn_id or "", []).append(text)

    def _answered(self, data: dict[str, Any]) -> None:
        usage = data.get("usage")
        if usage and usage["inputTokens"] > 0 and not usage.get("estimated") and self._requested is not None:
            model, messages = self._requested
            self.last = LastCount(model, messages, usage["inputTokens"], usage["outputTokens"])
        self._requested = None


def _range(given: Any) -> tuple[int | None, int | None]:
    if not isinstance(given, dict):
        return None, None
    first, last = given.get("start_line"), given.get("end_line")  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] -- plain JSON
    return (first if isinstance(first, int) else None, last if isinstance(last, int) else None)
