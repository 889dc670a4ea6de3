"""What a report tells, folded from the events of a session. Knows nothing of HTML.

It takes logs of old and of newer programs: what is missing is left out, what is unknown is passed over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from outrider.cli import answering
from outrider.cli.report import times
from outrider.cli.report.times import Stretch
from outrider.ports.model import READ_ANEW
from outrider_protocol.export import Export
from outrider_protocol.notifications import Event

Data = dict[str, Any]
NoteKind = Literal["info", "wait", "warning", "error", "person"]
EditState = Literal["proposed", "applying", "applied", "merged", "rejected"]


@dataclass(slots=True)
class Tokens:
    """Tokens of answers. What no provider counted stays None."""

    given: int = 0
    made: int = 0
    cached: int | None = None
    cost: float | None = None
    unpriced: bool = False
    """Whether an answer came without its cost."""
    estimated: bool = False
    """Whether some of them were counted by nobody."""

    def add(self, usage: Data | None) -> None:
        """Take in the usage of one answer."""
        if not usage:
            return
        self.given += usage.get("inputTokens", 0)
        self.made += usage.get("outputTokens", 0)
        self.estimated = self.estimated or bool(usage.get("estimated"))
        if (cached := usage.get("cachedTokens")) is not None:
            self.cached = (self.cached or 0) + cached
        if (cost := usage.get("cost")) is not None:
            self.cost = (self.cost or 0) + cost
        else:
            self.unpriced = True


@dataclass(slots=True)
class Spent:
    """Where time went, in seconds. Waiting is the person's; what a process was not there for is no time at all."""

    model: float = 0.0
    tools: float = 0.0
    waiting: float = 0.0

    @property
    def total(self) -> float:
        """All of it."""
        return self.model + self.tools + self.waiting


@dataclass(slots=True)
class Asked:
    """An approval or a question, and what came of it."""

    id: str
    kind: Literal["approval", "question"]
    title: str
    detail: str
    options: list[str]
    at: str
    resolved_at: str | None = None
    decision: str | None = None
    answer: str | None = None
    by: str | None = None
    channel: str | None = None
    rule: str | None = None
    note: str | None = None
    is_replaced: bool = False
    """Whether another one was asked in its place."""

    @property
    def waited(self) -> list[Stretch]:
        """The time until the answer."""
        return times.stretch(self.at, self.resolved_at)


@dataclass(slots=True)
class Edit:
    """A change of a file, and how far it came."""

    change_id: str
    path: str
    operation: str
    to: str | None
    state: EditState
    hunks: list[Data]
    at: str
    where: str | None = None
    reason: str | None = None
    undoes: str | None = None


@dataclass(slots=True)
class Call:
    """A tool call."""

    id: str
    name: str
    input: Any
    at: str
    started_at: str | None = None
    finished_at: str | None = None
    status: str | None = None
    content: str = ""
    asked: list[Asked] = field(default_factory=list[Asked])
    edits: list[Edit] = field(default_factory=list[Edit])
    seconds: float = 0.0
    """Without the waiting for the person."""

    @property
    def arguments(self) -> Data:
        """Its arguments by name; none where the input is no object."""
        given: Any = self.input
        return cast("Data", given) if isinstance(given, dict) else {}


@dataclass(slots=True)
class Note:
    """Something that happened between steps."""

    kind: NoteKind
    text: str
    at: str
    quote: str | None = None
    """What somebody said."""


@dataclass(slots=True)
class Step:
    """One answer of the model and the calls it asked for."""

    number: int
    purpose: str
    message_id: str
    model: str
    at: str
    answered_at: str | None = None
    chosen: str = ""
    """The model that was chosen for it, where there was a choice."""
    choice: str = ""
    """Why it was that one, and which others there were."""
    text: str = ""
    reasoning: str | None = None
    finish_reason: str | None = None
    failure: str | None = None
    failure_kind: str = ""
    withdrawn: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Texts that were taken back, each with the reason."""
    calls: list[Call] = field(default_factory=list[Call])
    tokens: Tokens = field(default_factory=Tokens)
    spent: Spent = field(default_factory=Spent)


@dataclass(slots=True)
class Turn:
    """One task."""

    id: str
    number: int
    prompt: str = ""
    mode: str = ""
    model: str = ""
    given: list[str] = field(default_factory=list[str])
    """What the person was looking at, in words."""
    at: str = ""
    finished_at: str | None = None
    last_at: str = ""
    outcome: str | None = None
    reason: str = ""
    summary: str = ""
    parked: bool = False
    queued: bool = False
    items: list[Step | Note] = field(default_factory=list["Step | Note"])
    plan: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Text and status of each point, as it was at the end."""
    tokens: Tokens = field(default_factory=Tokens)
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0
    """From its start to its end, without the time when no process had it."""

    @property
    def steps(self) -> list[Step]:
        """Its steps, in order."""
        return [item for item in self.items if isinstance(item, Step)]


@dataclass(slots=True)
class Report:
    """A session, told."""

    session_id: str
    program: str
    version: str = ""
    """Version of the program that began the session."""
    folders: list[str] = field(default_factory=list[str])
    permission_mode: str = ""
    at: str = ""
    last_at: str = ""
    turns: list[Turn] = field(default_factory=list[Turn])
    outside: list[Edit | Note] = field(default_factory=list["Edit | Note"])
    """What belongs to no turn, such as an undo."""
    tokens: Tokens = field(default_factory=Tokens)
    spent: Spent = field(default_factory=Spent)
    seconds: float = 0.0
    events: int = 0
    removed: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def taken_back(self) -> int:
        """How many changes an undo has taken back."""
        outside = (item for item in self.outside if isinstance(item, Edit))
        return sum(edit.undoes is not None and edit.state in {"applied", "merged"} for edit in outside)

    @property
    def models(self) -> list[str]:
        """The models that were asked, each once."""
        asked = [step.model for turn in self.turns for step in turn.steps if step.model]
        return list(dict.fromkeys([*asked, *(turn.model for turn in self.turns if turn.model)]))


def report_of(export: Export) -> Report:
    """Fold the events of a session into what there is to tell."""
    fold = _Fold(Report(export.session_id, export.program, removed=dict(export.removed)))
    for event in export.events:
        fold.take(event)
    return fold.finished()


class _Fold:
    """A report in the making."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._turns: dict[str, Turn] = {}
        self._steps: dict[str, Step] = {}
        """By message."""
        self._current: dict[str, Step] = {}
        """The latest step of the loop, by turn."""
        self._calls: dict[str, Call] = {}
        self._asked: dict[str, Asked] = {}
        self._edits: dict[str, Edit] = {}
        self._routed: Data | None = None
        """The latest choice of a model, which the request after it has."""
        self._away: list[Stretch] = []
        """When no process had the session."""

    def take(self, event: Event) -> None:
        report, data = self._report, event.data
        if event.type == "session.restored":
            self._away += times.stretch(report.last_at, event.ts)
        report.at, report.last_at = report.at or event.ts, event.ts
        report.events += 1
        if event.turn_id is not None:
            self._turn(event).last_at = event.ts
        family = event.type.partition(".")[0]
        match family:
            case "session":
                self._session(event, data)
            case "turn":
                self._turn_event(event, data)
            case "model":
                self._model(event, data)
            case "tool":
                self._tool(event, data)
            case "approval" | "question":
                self._ask(event, data)
            case "edit":
                self._edit(event, data)
            case _:
                self._other(event, data)

    def finished(self) -> Report:
        report = self._report
        every_waiting: list[Stretch] = []
        for turn in report.turns:
            calls = [call for step in turn.steps for call in step.calls]
            waiting = times.joined(part for call in calls for asked in call.asked for part in asked.waited)
            away = times.without(self._away, waiting)
            for step in turn.steps:
                self._add_up(step, waiting, away)
                _sum_tokens(turn.tokens, step.tokens)
                turn.spent.model += step.spent.model
                turn.spent.tools += step.spent.tools
            turn.spent.waiting = times.seconds(waiting)
            whole = times.stretch(turn.at, turn.finished_at or turn.last_at)
            turn.seconds = times.seconds(times.without(whole, away))
            every_waiting += waiting
            _sum_tokens(report.tokens, turn.tokens)
            report.spent.model += turn.spent.model
            report.spent.tools += turn.spent.tools
            report.seconds += turn.seconds
        report.spent.waiting = times.seconds(every_waiting)
        return report

    def _add_up(self, step: Step, waiting: list[Stretch], away: list[Stretch]) -> None:
        off = [*waiting, *away]
        working: list[Stretch] = []
        for call in step.calls:
            at_work = times.without(times.stretch(call.started_at, call.finished_at), off)
            call.seconds = times.seconds(at_work)
            working += at_work
        step.spent.model = times.seconds(times.without(times.stretch(step.at, step.answered_at), away))
        step.spent.tools = times.seconds(working)
        asked = [part for call in step.calls for asked in call.asked for part in asked.waited]
        step.spent.waiting = times.seconds(asked)

    # --- the events ------------------------------------------------------------------------------------------

    def _turn(self, event: Event) -> Turn:
        turn = self._turns.get(event.turn_id or "")
        if turn is None:
            turn = Turn(event.turn_id or "", len(self._turns) + 1, at=event.ts, last_at=event.ts)
            self._turns[turn.id] = turn
            self._report.turns.append(turn)
        return turn

    def _note(self, event: Event, kind: NoteKind, text: str, quote: str | None = None) -> None:
        note = Note(kind, text, event.ts, quote)
        if event.turn_id is None:
            self._report.outside.append(note)
        else:
            self._turn(event).items.append(note)

    def _session(self, event: Event, data: Data) -> None:
        report = self._report
        report.folders = _texts(data.get("folders")) or report.folders
        report.permission_mode = str(data.get("permissionMode", report.permission_mode))
        match event.type:
            case "session.started":
                report.version = str(data.get("version", ""))
            case "session.restored":
                turn = self._turns.get(str(data.get("turnId", "")))
                note = Note("info", "The session was opened again by another process.", event.ts)
                (turn.items if turn else cast("list[Any]", report.outside)).append(note)
            case "session.titled":
                self._note(event, "info", _title_told(data))
                tokens = report.tokens if event.turn_id is None else self._turn(event).tokens
                tokens.add(data.get("usage"))
            case "session.forked":
                self._note(event, "info", f"The session began as a copy of {data.get('fromSessionId')}.")
            case "session.closed" if data.get("leftOver"):
                self._note(
                    event, "warning", f"{data['leftOver']} answers of the script were never asked for."
                )
            case _:
                pass

    def _turn_event(self, event: Event, data: Data) -> None:
        turn = self._turn(event)
        match event.type:
            case "turn.queued" | "turn.started":
                turn.prompt, turn.mode = str(data.get("prompt", "")), str(data.get("mode", ""))
                turn.model, turn.given = str(data.get("model", "")), _given(data.get("context"))
                turn.queued = event.type == "turn.queued"
                turn.at = event.ts
            case "turn.parked":
                turn.parked = True
                titles = [str(item.get("title", "")) for item in _objects(data.get("open"))]
                self._note(event, "wait", f"Parked: it waits for an answer to {_listed(titles)}.")
            case "turn.resumed":
                turn.parked = False
                self._note(event, "wait", "Answered: the turn goes on.")
            case "turn.finished":
                turn.outcome, turn.reason = str(data.get("outcome", "")), str(data.get("reason", ""))
                turn.summary, turn.finished_at = str(data.get("summary", "")), event.ts
                turn.parked = turn.queued = False
            case _:
                pass

    def _model(self, event: Event, data: Data) -> None:
        message_id = str(data.get("messageId", ""))
        step = self._steps.get(message_id)
        if event.type == "model.requested" or (step is None and event.type in _ANSWERS):
            step = self._begin_step(event, message_id, data)
        if step:
            step.tokens.add(data.get("usage"))
        match event.type:
            case "model.responded" if step:
                step.answered_at, step.text = event.ts, str(data.get("text", ""))
                step.reasoning = data.get("reasoning")
                step.finish_reason = data.get("finishReason")
            case "model.failed" if step:
                step.answered_at = event.ts
                step.failure, step.failure_kind = str(data.get("message", "")), str(data.get("kind", ""))
            case "model.reset" if data.get("reason") == READ_ANEW:
                pass  # what was withdrawn is in the answer, as what it is
            case "model.reset" if step:
                step.withdrawn.append((str(data.get("text", "")), str(data.get("reason", ""))))
            case "model.retried":
                self._note(event, "warning", answering.again(data))
            case "model.fellBack":
                self._note(event, "warning", answering.instead(data))
            case "model.switched":
                self._note(event, "info", answering.switched(data))
            case "model.routed":
                self._routed = data
            case _:
                pass

    def _begin_step(self, event: Event, message_id: str, data: Data) -> Step:
        turn, purpose = self._turn(event), str(data.get("purpose", "main"))
        number = sum(step.purpose == "main" for step in turn.steps) + 1
        step = Step(number, purpose, message_id, str(data.get("model", turn.model)), event.ts)
        if self._routed and self._routed.get("purpose") == purpose:
            step.chosen, step.choice = answering.chosen(self._routed), answering.choice(self._routed)
        self._routed = None
        self._steps[message_id] = step
        if purpose == "main":
            self._current[turn.id] = step
        turn.items.append(step)
        return step

    def _tool(self, event: Event, data: Data) -> None:
        call_id = str(data.get("callId", ""))
        call = self._calls.get(call_id)
        if call is None:
            call = Call(call_id, str(data.get("name", "")), data.get("input"), event.ts)
            self._calls[call_id] = call
            step = self._current.get(event.turn_id or "")
            (step or self._begin_step(event, f"before {call_id}", {})).calls.append(call)
        match event.type:
            case "tool.started":
                call.started_at = call.started_at or event.ts
            case "tool.finished":
                call.finished_at, call.status = event.ts, str(data.get("status", ""))
                call.content = str(data.get("content", ""))
            case _:
                pass

    def _ask(self, event: Event, data: Data) -> None:
        asked = self._asked.get(str(data.get("id", "")))
        kind: Literal["approval", "question"] = (
            "approval" if event.type.startswith("approval.") else "question"
        )
        if asked is None:
            title = str(data.get("title", data.get("question", "")))
            detail, options = str(data.get("detail", "")), _texts(data.get("options"))
            asked = Asked(str(data.get("id", "")), kind, title, detail, options, event.ts)
            self._asked[asked.id] = asked
            if call := self._calls.get(str(data.get("callId", ""))):
                call.asked.append(asked)
            else:
                self._note(event, "wait", f"Asked: {title}")
        if event.type in ("approval.resolved", "question.answered"):
            asked.resolved_at = event.ts
            asked.decision, asked.answer = data.get("decision"), data.get("answer")
            asked.by, asked.channel = data.get("by", "person"), data.get("channel")
            asked.rule, asked.note = data.get("rule"), data.get("note")
            asked.is_replaced = "instead" in data

    def _edit(self, event: Event, data: Data) -> None:
        change_id = str(data.get("changeId", ""))
        edit = self._edits.get(change_id)
        state = cast("EditState", event.type.partition(".")[2])
        if edit is None:
            operation, path = str(data.get("operation", "edit")), str(data.get("path", ""))
            edit = Edit(change_id, path, operation, data.get("to"), state, [], event.ts)
            self._edits[change_id] = edit
            if call := self._calls.get(str(data.get("callId", ""))):
                call.edits.append(edit)
            else:
                self._report.outside.append(edit)
        edit.state, edit.hunks = state, _objects(data.get("hunks"))
        edit.where, edit.reason = data.get("where", edit.where), data.get("reason", edit.reason)
        edit.undoes = data.get("undoes", edit.undoes)

    def _other(self, event: Event, data: Data) -> None:
        match event.type:
            case "plan.updated" if event.turn_id is not None:
                self._turn(event).plan = [
                    (str(item.get("text", "")), str(item.get("status", "pending")))
                    for item in _objects(data.get("items"))
                ]
            case "steering.received":
                taken_back = data.get("state") == "removed"
                text = (
                    "A message to the running turn was taken back."
                    if taken_back
                    else "The person said meanwhile:"
                )
                self._note(event, "person", text, str(data.get("text", "")))
            case "settings.changed":
                self._note(event, "info", f"The permission mode became {data.get('permissionMode')}.")
            case "workspace.changed":
                self._note(
                    event,
                    "info",
                    f"{data.get('path')} was changed by {_BY.get(data.get('by', ''), 'somebody else')}.",
                )
            case "workspace.renamed":
                self._note(
                    event, "info", f"{data.get('path')} was renamed to {data.get('to')} in the editor."
                )
            case "workspace.touched":
                names = [str(one.get("path")) for one in data.get("files") or ()]
                more = f" and {data.get('more')} more" if data.get("more") else ""
                unseen = f" What else is not known: {data.get('unseen')}." if data.get("unseen") else ""
                self._note(
                    event,
                    "info",
                    f"A command changed what no undo takes back: {', '.join(names) or 'nothing by name'}{more}.{unseen}",
                )
            case "context.compacted":
                sizes = f"{data.get('before')} to {data.get('after')} tokens"
                self._note(event, "info", f"Older messages were summarised: {sizes}.")
            case "context.pruned":
                self._note(
                    event, "info", f"Output of {len(data.get('callIds') or ())} older calls was left out."
                )
            case "budget.exhausted":
                said = (
                    f"The budget {data.get('limit')} is spent: {data.get('used')} of {data.get('allowed')}."
                )
                self._note(event, "warning", said)
            case "error":
                self._note(event, "error", f"{data.get('message')} ({data.get('code')})")
            case _:
                pass


_BY = {
    "editor": "somebody in the editor",
    "disk": "another program",
    "command": "the command",
    "undo": "an undo",
}
_ANSWERS = ("model.responded", "model.failed", "model.reset")


def _sum_tokens(total: Tokens, one: Tokens) -> None:
    total.given += one.given
    total.made += one.made
    if one.cached is not None:
        total.cached = (total.cached or 0) + one.cached
    if one.cost is not None:
        total.cost = (total.cost or 0) + one.cost
    total.unpriced = total.unpriced or one.unpriced
    total.estimated = total.estimated or one.estimated


def _title_told(data: Data) -> str:
    """Who was asked for a title, as which tier's model, what came of it, and who had failed before."""
    routed = cast("Data", data.get("routed") or {})
    tier = f" (tier {routed['tier']})" if routed.get("tier") else ""
    named = (
        f"named the session “{data['title']}”"
        if data.get("title")
        else f"named no title: {data.get('reason')}"
    )
    failed = "".join(
        f"; {one.get('model')} failed before: {one.get('reason')}" for one in _objects(data.get("failed"))
    )
    return f"{data.get('model')}{tier} {named}{failed}."


def _given(context: Any) -> list[str]:
    fields = cast("Data", context) if isinstance(context, dict) else {}
    given = [
        f"a selection in {uri}" for one in _objects([fields.get("selection")]) if (uri := one.get("uri"))
    ]
    given += [f"the document {uri}" for uri in _texts(fields.get("documents"))]
    return given + [f"diagnostics of {one.get('uri')}" for one in _objects(fields.get("diagnostics"))]


def _objects(value: Any) -> list[Data]:
    if not isinstance(value, list):
        return []
    return [cast("Data", item) for item in cast("list[Any]", value) if isinstance(item, dict)]


def _texts(value: Any) -> list[str]:
    return [str(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _listed(titles: Iterable[str]) -> str:
    return ", ".join(f"“{title}”" for title in titles) or "a question"
