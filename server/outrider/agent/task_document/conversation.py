"""What a session did, as its task document tells it: a fold over the events of its log."""

from dataclasses import dataclass, field
from typing import Any, cast

from outrider.ports.events import LoggedEvent
from outrider_protocol import logged

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
    verdict: str = ""
    """What shows that it is done, in one line."""
    answer: str = ""
    cut_off: str = ""
    """The text that the model was in the middle of when it was stopped."""
    since: list[Step] = field(default_factory=list[Step])
    """What happened after its end."""
    calls: dict[str, Step] = field(default_factory=dict[str, Step])
    """The steps that are calls which have not ended."""

    def finished(self, data: logged.TurnFinished) -> None:
        """Take note of its end."""
        self.outcome, self.reason, self.answer = data["outcome"], data["reason"], data["summary"]
        if (done := data.get("done")) is not None:
            self.verdict = done["line"]

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
        turn_id = event.turn_id or ""
        task = self.tasks.get(turn_id)
        match event.type:
            case "turn.queued" | "turn.started":
                # It is told where it begins, not where it was put into the queue.
                self.tasks.pop(turn_id, None)
                began = event.type == "turn.started"
                self.tasks[turn_id] = Task(turn_id, event.data["prompt"], event.data["mode"], started=began)
            case "queue.changed":
                self._reordered(event.data)
            case "conversation.restored":
                self.tasks = {key: one for key, one in self.tasks.items() if key not in event.data["turns"]}
            case "model.responded" if task is not None:
                _responded(task, event.data)
            case "tool.requested" if task is not None:
                step = Step(event.data["name"], _about(event.data["input"]), is_call=True)
                task.calls[event.data["callId"]] = step
                task.did(step)
            case "tool.finished" if task is not None:
                _call_finished(task, event.data)
            case "approval.requested":
                self.asked[event.data["id"]] = event.data["title"]
            case "approval.resolved" if task is not None and event.data["by"] == "person":
                self._decided(task, event.data)
            case "question.asked":
                self.asked[event.data["id"]] = event.data["question"]
            case "question.answered" if task is not None:
                task.did(Step("asked", self.asked.pop(event.data["id"], ""), event.data["answer"]))
            case "plan.updated":
                if task := task or self.unfinished:
                    task.plan = [(item["status"], item["text"]) for item in event.data["items"]]
            case "steering.received" if event.data["state"] == "queued":
                self.steering[event.data["pendingId"]] = event.data["text"]
                if task is not None:
                    task.did(Step("you said", event.data["text"]))
            case "steering.received":
                self.steering.pop(event.data["pendingId"], None)
            case "edit.applied" | "edit.merged":
                self.changed = True
            case "undo.requested":
                self.brings_back = event.data["redo"]
            case "undo.finished":
                self._undone(event.data)
            case "turn.finished" if task is not None:
                task.finished(event.data)
                task.calls.clear()
            case _:
                pass

    def _decided(self, task: Task, data: logged.ApprovalResolved) -> None:
        note = f": {said}" if (said := data.get("note")) else ""
        words = data["decision"].replace("_", " ")
        task.did(Step("asked", self.asked.pop(data["id"], ""), f"{words}{note}"))

    def _reordered(self, data: logged.QueueChanged) -> None:
        for one in data["queue"]:
            if (queued := self.tasks.pop(one["turnId"], None)) is not None:
                queued.prompt = one["prompt"]
                self.tasks[queued.turn_id] = queued

    def _undone(self, data: logged.UndoFinished) -> None:
        if not self.tasks or not (data["undone"] or data["conflicts"] or data["notUndoable"]):
            return
        task = next(reversed(self.tasks.values()))
        for one in data["undone"]:
            hunks = one["hunks"]
            what = "redone" if self.brings_back else "undone"
            task.did(Step(what, one["path"], f"{hunks} {'change' if hunks == 1 else 'changes'}"))
        for one in data["conflicts"]:
            task.did(Step("left as it is", f"{one['path']}, line {one['line']}", one["reason"]))
        for one in data["notUndoable"]:
            task.did(Step("left as it is", one["what"], one["reason"]))


def _call_finished(task: Task, data: logged.ToolFinished) -> None:
    if step := task.calls.pop(data["callId"], None):
        step.came_of_it = data["status"]
    if recalled := data.get("recalled"):
        task.did(Step("asked", recalled["question"], f"as before: {recalled['answer']}"))


def _responded(task: Task, data: logged.ModelResponded) -> None:
    usage = data.get("usage")
    task.requests += data["purpose"] == "main"
    if usage is not None:
        task.tokens += usage["inputTokens"] + usage["outputTokens"]
        if (cost := usage.get("cost")) is not None:
            task.cost = (task.cost or 0) + cost
    for one in data.get("searches", []):
        opened = one["pages"][0]["url"] if one["pages"] else ""
        task.did(Step("web_search", one.get("query", opened)))
    if data["finishReason"] == "cancelled":
        task.cut_off = data["text"]
    elif data["toolCalls"] and data["text"].strip():  # without calls it is the answer
        task.did(Step(data["text"]))


def _about(given: Any) -> str:
    values = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    return next((value for key in _NAMES_IT if isinstance(value := values.get(key), str)), "")


TOLD = frozenset(
    {
        "turn.queued", "turn.started", "turn.parked", "turn.resumed", "turn.finished", "model.responded",
        "tool.requested", "tool.finished", "tool.asked", "tool.answered", "approval.requested", "approval.resolved",
        "question.asked", "question.answered", "plan.updated", "steering.received", "edit.applied", "edit.merged",
        "undo.requested", "undo.finished", "session.restored", "queue.changed", "conversation.restored",
    }
)  # fmt: skip
"""Types of events after which the document says something else."""
