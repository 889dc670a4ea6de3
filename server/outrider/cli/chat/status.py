"""The status line: what runs, how long, what it took; a fold over the events of a session."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from outrider.cli.render import essential_argument
from outrider.cli.terminal import one_line
from outrider_protocol import logged

_THOUSAND: Final = 1000
IDLE: Final = "ready"


@dataclass(slots=True)
class Status:
    """How a session stands."""

    now: Callable[[], float]
    """The time in seconds since the epoch."""
    doing: str = IDLE
    turn_id: str | None = None
    model: str = ""
    tokens: int = 0
    """Of all requests of the conversation, in and out."""
    cost: float = 0.0
    used: int = 0
    """Tokens of the last request with its answer."""
    window: int = 0
    queue: list[tuple[str, str, bool]] = field(default_factory=list[tuple[str, str, bool]])
    """What waits: its id, its text, and whether it is for the running turn."""
    _began: float = 0.0

    @property
    def is_running(self) -> bool:
        """Whether a turn runs or waits for the user."""
        return self.turn_id is not None

    def event(self, event: logged.WireEvent) -> None:
        """Take in an event of the session."""
        match event["type"]:
            case "turn.queued":
                self.queue.append((event.get("turnId", ""), event["data"]["prompt"], False))
            case "steering.received" if event["data"]["state"] == "removed":
                self._left([event["data"]["pendingId"]])
            case "steering.received":
                self.queue.append((event["data"]["pendingId"], event["data"]["text"], True))
            case "turn.started":
                self._left([event.get("turnId", "")])
                self.turn_id, self.doing = event.get("turnId"), "begins"
                self._began = datetime.fromisoformat(event["ts"]).timestamp()
            case "turn.finished":
                self._left([event.get("turnId", "")])
                if event.get("turnId") == self.turn_id:
                    self.turn_id, self.doing = None, IDLE
                    self.queue = [one for one in self.queue if not one[2]]
            case "turn.parked":
                self.doing = "waits for you"
            case "model.requested":
                if event["data"]["purpose"] == "main":
                    self._left(event["data"]["steering"])
                    self.window = event["data"].get("contextWindow", self.window)
                self.model, self.doing = event["data"]["model"], "thinks"
            case "model.responded":
                self._responded(event["data"])
            case "tool.requested":
                name = event["data"]["name"]
                argument = one_line(essential_argument(name, event["data"]["input"]))
                self.doing = f"{name} {argument}".strip()
            case "approval.requested" | "question.asked":
                self.doing = "waits for you"
            case "approval.resolved" | "question.answered":
                self.doing = "works"
            case _:
                pass

    def line(self, width: int) -> str:
        """The status in one line of `width` cells: what matters least is left out first."""
        parts = [self.doing]
        if self.is_running:
            parts.append(_duration(self.now() - self._began))
        details = [
            f"{_short(self.tokens)} tokens" if self.tokens else "",
            f"{max(0, 100 - round(100 * self.used / self.window))} % context left"
            if self.window and self.used
            else "",
            f"${self.cost:.2f}" if self.cost >= 0.005 else "",
            one_line(self.model.partition(":")[2].rpartition("/")[2] or self.model),
        ]
        for detail in filter(None, details):
            if len(" · ".join([*parts, detail])) <= width:
                parts.append(detail)
        line = " · ".join(parts)
        return line if len(line) <= width else line[: width - 1] + "…"

    def _responded(self, data: logged.ModelResponded) -> None:
        if (usage := data.get("usage")) is None:
            return
        self.tokens += usage["inputTokens"] + usage["outputTokens"]
        self.cost += usage.get("cost") or 0.0
        if data["purpose"] == "main":
            self.used = usage["inputTokens"] + usage["outputTokens"]

    def _left(self, ids: list[str]) -> None:
        self.queue = [one for one in self.queue if one[0] not in ids]


def _duration(seconds: float) -> str:
    whole = max(0, int(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60}:{whole % 60:02} min"


def _short(number: int) -> str:
    return str(number) if number < _THOUSAND else f"{number / _THOUSAND:.1f}k"
