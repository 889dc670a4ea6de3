"""What a session did, as its task document tells it: a fold over the events of its log."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

from outrider.ports.events import LoggedEvent

MOST_STEPS = 60
"""Steps of a task that are kept; of a longer one it is told how many came before."""
_NAMES_IT = ("path", "command", "pattern", "from", "question", "url", "query")
"""Arguments of a call that say what it is about."""


@dataclass(slots=True)
class Step:
    """One thing that happened in a task."""

    what: str
    about: str = ""
    came_of_it: str = ""
    """A call's status, an answer; empty while there is none."""
    is_call: bool = False


@dataclass(slots=True)
class Task:
    """One turn."""

    turn_id: str
    prompt: str
    mode: str
    started: bool = False
    steps: list[Step] = field(default_factory=list[Step])
    earlier: int = 0
    """Steps that are not kept any more."""
    requests: int = 0
    tokens: int = 0
    cost: float | None = None
    plan: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Status and text of each point."""
    outcome: str = ""
    """Empty while it runs."""
    reason: str = ""
    answer: str = ""
    cut_off: str = ""
    """The text that the model was in the middle of when it was stopped."""
    since: list[Step] = field(default_factory=list[Step])
    """What happened after its end."""
    calls: dict[str, Step] = field(default_factory=dict[str, Step])
    """The steps that are calls which have not ended."""

    def did(self, step: Step) -> None:
        """Take in a step."""
        if self.outcome:
            self.since = [*self.since, step][-MOST_STEPS:]
            return
        self.steps.append(step)
        if len(self.steps) > MOST_STEPS:
            del self.steps[0]
            self.earlier += 1


@dataclass(slots=True)
class Conversation:
    """One session."""

    session_id: str
    last_seq: int = 0
    tasks: dict[str, Task] = field(default_factory=dict[str, Task])
    steering: dict[str, str] = field(default_factory=dict[str, str])
    """What was said to the running task and it has not seen."""
    asked: dict[str, str] = field(default_factory=dict[str, str])
    """What each item was asked about."""
    changed: bool = False
    """Whether anything was changed in files."""
    brings_back: bool = False
    """Whether what is taken back last is an undo."""

    @property
    def unfinished(self) -> Task | None:
        """The task that has begun and not ended."""
        return next((task for task in self.tasks.values() if task.started and not task.outcome), None)

    @property
    def queued(self) -> list[Task]:
        """The tasks that wait for their turn."""
        return [task for task in self.tasks.values() if not task.started and not task.outcome]

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event."""
        self.last_seq = event.seq
        if handler := _FOLDS.get(event.type):
            handler(self, event.data, self.tasks.get(event.turn_id or ""), event.turn_id or "")


_Fold = Callable[[Conversation, dict[str, Any], Task | None, str], None]


def _begun(told: Conversation, data: dict[str, Any], _task: Task | None, turn_id: str) -> None:
    told.tasks.pop(turn_id, None)  # it is told where it begins, not where it was put into the queue
    told.tasks[turn_id] = Task(turn_id, data["prompt"], data["mode"], started=True)


def _queued(told: Conversation, data: dict[str, Any], _task: Task | None, turn_id: str) -> None:
    told.tasks[turn_id] = Task(turn_id, data["prompt"], data["mode"])


def _responded(_told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task is None:
        return
    usage: dict[str, Any] = data.get("usage") or {}
    task.requests += data.get("purpose", "main") == "main"
    task.tokens += usage.get("inputTokens", 0) + usage.get("outputTokens", 0)
    if (cost := usage.get("cost")) is not None:
        task.cost = (task.cost or 0) + cost
    if data["finishReason"] == "cancelled":
        task.cut_off = data["text"]
    elif data["toolCalls"] and data["text"].strip():  # without calls it is the answer
        task.did(Step(data["text"]))


def _called(_told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task is not None:
        step = Step(str(data["name"]), _about(data["input"]), is_call=True)
        task.calls[data["callId"]] = step
        task.did(step)


def _about(given: Any) -> str:
    values = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return next((value for key in _NAMES_IT if isinstance(value := values.get(key), str)), "")


def _ended(_told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task is not None and (step := task.calls.pop(data["callId"], None)):
        step.came_of_it = data["status"]


def _asked(told: Conversation, data: dict[str, Any], _task: Task | None, _turn_id: str) -> None:
    told.asked[data["id"]] = data.get("title") or data.get("question") or ""


def _decided(told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task is not None and data["by"] == "person":
        note = f": {data['note']}" if data.get("note") else ""
        words = str(data["decision"]).replace("_", " ")
        task.did(Step("asked", told.asked.pop(data["id"], ""), f"{words}{note}"))


def _answered(told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task is not None:
        task.did(Step("asked", told.asked.pop(data["id"], ""), data["answer"]))


def _planned(told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task := task or told.unfinished:
        task.plan = [(item.get("status", "pending"), item["text"]) for item in data["items"]]


def _steered(told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if data["state"] == "queued":
        told.steering[data["pendingId"]] = data["text"]
        if task is not None:
            task.did(Step("you said", data["text"]))
    else:
        told.steering.pop(data["pendingId"], None)


def _finished(_told: Conversation, data: dict[str, Any], task: Task | None, _turn_id: str) -> None:
    if task is not None:
        task.outcome, task.reason, task.answer = data["outcome"], data["reason"], data["summary"]
        task.calls.clear()


def _changed(told: Conversation, _data: dict[str, Any], _task: Task | None, _turn_id: str) -> None:
    told.changed = True


def _taking(told: Conversation, data: dict[str, Any], _task: Task | None, _turn_id: str) -> None:
    told.brings_back = data.get("redo") is True


def _undone(told: Conversation, data: dict[str, Any], _task: Task | None, _turn_id: str) -> None:
    if not told.tasks or not (data["undone"] or data["conflicts"] or data["notUndoable"]):
        return
    task = next(reversed(told.tasks.values()))
    for one in data["undone"]:
        hunks = one["hunks"]
        what = "brought back" if told.brings_back else "taken back"
        task.did(Step(what, one["path"], f"{hunks} {'change' if hunks == 1 else 'changes'}"))
    for one in data["conflicts"]:
        task.did(Step("left as it is", f"{one['path']}, line {one['line']}", one["reason"]))
    for one in data["notUndoable"]:
        task.did(Step("left as it is", one["what"], one["reason"]))


_FOLDS: dict[str, _Fold] = {
    "turn.queued": _queued,
    "turn.started": _begun,
    "model.responded": _responded,
    "tool.requested": _called,
    "tool.finished": _ended,
    "approval.requested": _asked,
    "approval.resolved": _decided,
    "question.asked": _asked,
    "question.answered": _answered,
    "plan.updated": _planned,
    "steering.received": _steered,
    "edit.applied": _changed,
    "edit.merged": _changed,
    "undo.requested": _taking,
    "undo.finished": _undone,
    "turn.finished": _finished,
}
TOLD = frozenset({*_FOLDS, "tool.asked", "tool.answered", "turn.parked", "turn.resumed", "session.restored"})
"""Types of events after which the document says something else."""
