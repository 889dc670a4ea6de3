"""What a report tells, folded from the events of a session. Knows nothing of HTML.

It takes logs of old and of newer programs: an event of another type, or with other data than its type has, is passed over.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from outrider.cli import render
from outrider.cli.report import times
from outrider.cli.report.times import Stretch
from outrider.models.searches import searches_in_words
from outrider.ports.events import Logged, LoggedEvent
from outrider.ports.model import READ_ANEW
from outrider.store.exported import events_of, problem_of_data
from outrider_protocol import logged
from outrider_protocol.export import Export

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

    def add(self, usage: logged.Usage | None) -> None:
        """Take in the usage of one answer."""
        if not usage:
            return
        self.given += usage["inputTokens"]
        self.made += usage["outputTokens"]
        self.estimated = self.estimated or bool(usage.get("estimated"))
        if (cached := usage.get("cachedTokens")) is not None:
            self.cached = (self.cached or 0) + cached
        if (cost := usage.get("cost")) is not None:
            self.cost = (self.cost or 0) + cost
        else:
            self.unpriced = True


@dataclass(slots=True)
class Spent:
    """Where time went, in seconds. Waiting is the user's; what a process was not there for is no time at all."""

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
    hunks: list[logged.WireHunk]
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
    """Without the waiting for the user."""

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
    """What the user was looking at, in words."""
    at: str = ""
    finished_at: str | None = None
    last_at: str = ""
    outcome: str | None = None
    reason: str = ""
    verdict: str = ""
    """What shows that it did what it was to do."""
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
    for event in events_of(export):
        if problem_of_data(event) is None:
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
        self._routed: logged.ModelRouted | None = None
        """The latest choice of a model, which the request after it has."""
        self._away: list[Stretch] = []
        """When no process had the session."""

    def take(self, event: LoggedEvent) -> None:
        report = self._report
        if event.type == "session.restored":
            self._away += times.stretch(report.last_at, event.ts)
        report.at, report.last_at = report.at or event.ts, event.ts
        report.events += 1
        if event.turn_id is not None:
            self._turn(event).last_at = event.ts
        match event.type:
            case "model.requested":
                self._begin_step(event, event.data["messageId"], event.data["purpose"], event.data["model"])
            case "model.responded":
                step = self._step(event, event.data["messageId"], event.data["purpose"])
                step.tokens.add(event.data.get("usage"))
                step.answered_at, step.text = event.ts, event.data["text"]
                step.reasoning, step.finish_reason = event.data.get("reasoning"), event.data["finishReason"]
                for line in searches_in_words(event.data):
                    self._note(event, "info", line)
            case "model.failed":
                step = self._step(event, event.data["messageId"], event.data["purpose"])
                step.tokens.add(event.data.get("usage"))
                step.answered_at = event.ts
                step.failure, step.failure_kind = event.data["message"], event.data["kind"]
            case "model.reset":
                step = self._step(event, event.data["messageId"])
                if (
                    event.data["reason"] != READ_ANEW
                ):  # what was withdrawn then is in the answer, as what it is
                    step.withdrawn.append((event.data["text"], event.data["reason"]))
            case "model.retried":
                self._used(event.data)
                self._note(event, "warning", render.again(event.data))
            case "model.fellBack":
                self._used(event.data)
                self._note(event, "warning", render.instead(event.data))
            case "model.switched":
                self._note(event, "info", render.switched(event.data))
            case "model.routed":
                self._routed = event.data
            case "tool.requested":
                self._call(event, event.data["callId"], event.data["name"], event.data["input"])
            case "tool.started":
                call = self._call(event, event.data["callId"])
                call.started_at = call.started_at or event.ts
            case "tool.finished":
                call = self._call(event, event.data["callId"], event.data["name"])
                call.finished_at, call.status = event.ts, event.data["status"]
                recalled = event.data.get("recalled")
                call.content = render.answered_as_before(recalled) if recalled else event.data["content"]
            case "tool.asked" | "tool.answered":
                self._call(event, event.data["callId"])
            case "approval.requested":
                asked = self._ask(
                    event, event.data["id"], "approval", event.data["callId"], event.data["title"]
                )
                asked.detail, asked.options = event.data["detail"], event.data["options"]
            case "question.asked":
                call_id = event.data.get("callId", "")
                asked = self._ask(event, event.data["id"], "question", call_id, event.data["question"])
                asked.options = event.data["options"]
            case "approval.resolved":
                asked = self._ask(event, event.data["id"], "approval", event.data["callId"])
                asked.resolved_at, asked.decision = event.ts, event.data["decision"]
                asked.by, asked.channel = event.data["by"], event.data.get("channel")
                asked.rule, asked.note = event.data.get("rule"), event.data.get("note")
                asked.is_replaced = "instead" in event.data
            case "question.answered":
                asked = self._ask(event, event.data["id"], "question", event.data.get("callId", ""))
                asked.resolved_at, asked.answer = event.ts, event.data["answer"]
                asked.by, asked.channel = "person", event.data.get("channel")
            case "edit.proposed":
                self._edit(event, event.data, "proposed")
            case "edit.applying":
                self._edit(event, event.data, "applying").undoes = event.data.get("undoes")
            case "edit.applied":
                edit = self._edit(event, event.data, "applied")
                edit.where, edit.undoes = event.data["where"], event.data.get("undoes", edit.undoes)
            case "edit.merged":
                edit = self._edit(event, event.data, "merged")
                edit.undoes = event.data.get("undoes", edit.undoes)
            case "edit.rejected":
                self._edit(event, event.data, "rejected").reason = event.data["reason"]
            case _:
                self._session(event)
                self._turn_event(event)
                self._other(event)

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

    def _turn(self, event: Logged[object]) -> Turn:
        turn = self._turns.get(event.turn_id or "")
        if turn is None:
            turn = Turn(event.turn_id or "", len(self._turns) + 1, at=event.ts, last_at=event.ts)
            self._turns[turn.id] = turn
            self._report.turns.append(turn)
        return turn

    def _note(self, event: Logged[object], kind: NoteKind, text: str, quote: str | None = None) -> None:
        note = Note(kind, text, event.ts, quote)
        if event.turn_id is None:
            self._report.outside.append(note)
        else:
            self._turn(event).items.append(note)

    def _session(self, event: LoggedEvent) -> None:
        report = self._report
        match event.type:
            case "session.started":
                report.folders, report.permission_mode = event.data["folders"], event.data["permissionMode"]
                report.version = event.data["version"]
            case "session.restored":
                report.folders, report.permission_mode = event.data["folders"], event.data["permissionMode"]
                note = Note("info", "The session was opened again by another process.", event.ts)
                if turn := self._turns.get(event.data.get("turnId", "")):
                    turn.items.append(note)
                else:
                    report.outside.append(note)
            case "session.titled":
                self._note(event, "info", _title_told(event.data))
                tokens = report.tokens if event.turn_id is None else self._turn(event).tokens
                tokens.add(event.data.get("usage"))
            case "session.forked":
                self._note(event, "info", f"The session began as a copy of {event.data['fromSessionId']}.")
            case "session.closed" if left := event.data.get("leftOver"):
                self._note(event, "warning", f"{left} answers of the script were never used.")
            case _:
                pass

    def _turn_event(self, event: LoggedEvent) -> None:
        match event.type:
            case "turn.queued" | "turn.started":
                turn = self._turn(event)
                turn.prompt, turn.mode, turn.model = (
                    event.data["prompt"],
                    event.data["mode"],
                    event.data["model"],
                )
                turn.given = _given(event.data.get("context"))
                turn.queued = event.type == "turn.queued"
                turn.at = event.ts
            case "turn.parked":
                self._turn(event).parked = True
                titles = [item["title"] for item in event.data["open"]]
                self._note(event, "wait", f"Parked: waiting for an answer to {_listed(titles)}.")
            case "turn.resumed":
                self._turn(event).parked = False
                self._note(event, "wait", "Answered: the turn continues.")
            case "turn.finished":
                turn = self._turn(event)
                turn.outcome, turn.reason = event.data["outcome"], event.data["reason"]
                turn.verdict = render.verdict(event.data)
                turn.summary, turn.finished_at = event.data["summary"], event.ts
                turn.parked = turn.queued = False
            case _:
                pass

    def _step(self, event: Logged[object], message_id: str, purpose: str = "main") -> Step:
        known = self._steps.get(message_id)
        return known or self._begin_step(event, message_id, purpose, self._turn(event).model)

    def _used(self, data: logged.ModelRetried | logged.ModelFellBack) -> None:
        if (step := self._steps.get(data["messageId"])) is not None:
            step.tokens.add(data.get("usage"))

    def _begin_step(self, event: Logged[object], message_id: str, purpose: str, model: str) -> Step:
        turn = self._turn(event)
        number = sum(step.purpose == "main" for step in turn.steps) + 1
        step = Step(number, purpose, message_id, model, event.ts)
        if self._routed and self._routed["purpose"] == purpose:
            step.chosen, step.choice = render.chosen(self._routed), render.choice(self._routed)
        self._routed = None
        self._steps[message_id] = step
        if purpose == "main":
            self._current[turn.id] = step
        turn.items.append(step)
        return step

    def _call(self, event: Logged[object], call_id: str, name: str = "", given: Any = None) -> Call:
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = Call(call_id, name, given, event.ts)
            step = self._current.get(event.turn_id or "")
            step = step or self._begin_step(event, f"before {call_id}", "main", self._turn(event).model)
            step.calls.append(call)
        return call

    def _ask(
        self,
        event: Logged[object],
        item_id: str,
        kind: Literal["approval", "question"],
        call_id: str,
        title: str = "",
    ) -> Asked:
        asked = self._asked.get(item_id)
        if asked is None:
            asked = self._asked[item_id] = Asked(item_id, kind, title, "", [], event.ts)
            if call := self._calls.get(call_id):
                call.asked.append(asked)
            else:
                self._note(event, "wait", f"Asked: {title}")
        return asked

    def _edit(self, event: Logged[object], data: logged.EditEvent, state: EditState) -> Edit:
        edit = self._edits.get(data["changeId"])
        if edit is None:
            edit = Edit(
                data["changeId"], data["path"], data["operation"], data.get("to"), state, [], event.ts
            )
            self._edits[edit.change_id] = edit
            if call := self._calls.get(data.get("callId", "")):
                call.edits.append(edit)
            else:
                self._report.outside.append(edit)
        edit.state, edit.hunks = state, data["hunks"]
        return edit

    def _other(self, event: LoggedEvent) -> None:
        match event.type:
            case "plan.updated" if event.turn_id is not None:
                self._turn(event).plan = [(item["text"], item["status"]) for item in event.data["items"]]
            case "steering.received":
                taken_back = event.data["state"] == "removed"
                text = (
                    "A message to the running turn was withdrawn."
                    if taken_back
                    else "The user said during the turn:"
                )
                self._note(event, "person", text, event.data["text"])
            case "settings.changed":
                self._note(event, "info", f"The permission mode became {event.data['permissionMode']}.")
            case "workspace.changed":
                by = _BY.get(event.data.get("by", ""), "someone else")
                self._note(event, "info", f"{event.data['path']} was changed by {by}.")
            case "workspace.renamed":
                said = f"{event.data['path']} was renamed to {event.data['to']} in the editor."
                self._note(event, "info", said)
            case "workspace.touched":
                names = ", ".join(one["path"] for one in event.data["files"]) or "nothing by name"
                names += f" and {more} more" if (more := event.data.get("more")) else ""
                unseen = event.data.get("unseen")
                unseen = f" What else changed is unknown: {unseen}." if unseen else ""
                self._note(event, "info", f"A command changed what undo cannot restore: {names}.{unseen}")
            case "context.compacted":
                sizes = f"{event.data['before']} to {event.data['after']} tokens"
                self._note(event, "info", f"Older messages were summarised: {sizes}.")
            case "context.pruned":
                count = len(event.data["callIds"])
                self._note(event, "info", f"Output of {count} older calls was left out.")
            case "budget.exhausted":
                used = f"{event.data['used']} of {event.data['allowed']}"
                self._note(event, "warning", f"The budget {event.data['limit']} is spent: {used}.")
            case "error":
                self._note(event, "error", f"{event.data['message']} ({event.data['code']})")
            case _:
                pass


_BY = {
    "editor": "someone in the editor",
    "disk": "another program",
    "command": "the command",
    "undo": "an undo",
}


def _sum_tokens(total: Tokens, one: Tokens) -> None:
    total.given += one.given
    total.made += one.made
    if one.cached is not None:
        total.cached = (total.cached or 0) + one.cached
    if one.cost is not None:
        total.cost = (total.cost or 0) + one.cost
    total.unpriced = total.unpriced or one.unpriced
    total.estimated = total.estimated or one.estimated


def _title_told(data: logged.SessionTitled) -> str:
    """Who was asked for a title, as which tier's model, what came of it, and who had failed before."""
    tier = routed.get("tier") if (routed := data.get("routed")) else None
    title = data.get("title")
    named = f"named the session “{title}”" if title else f"named no title: {data.get('reason')}"
    failed = "".join(f"; {one['model']} failed before: {one['reason']}" for one in data.get("failed", ()))
    return f"{data['model']}{f' (tier {tier})' if tier else ''} {named}{failed}."


def _given(context: logged.Context | None) -> list[str]:
    if context is None:
        return []
    given = [f"a selection in {context['selection']['uri']}"] if "selection" in context else []
    given += [f"the document {uri}" for uri in context["documents"]]
    return given + [f"diagnostics of {one['uri']}" for one in context["diagnostics"]]


def _listed(titles: Iterable[str]) -> str:
    return ", ".join(f"“{title}”" for title in titles) or "a question"
