"""The part of the task document that is Outrider's, above the mark: made of what is known, and of nothing else."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from outrider.agent.open_items import rule_told
from outrider.agent.task_document.conversation import Conversation, Step, Task
from outrider.agent.task_document.quoting import code, fenced, quoted, short
from outrider_protocol import ALWAYS_ALLOW, ALWAYS_EVERYWHERE, ALWAYS_HERE, CHOOSE, REVIEW
from outrider_protocol.events import Open

WHOLE_TASKS = 3
"""The latest tasks, which are told in full."""
SHORT_TASKS = 20
"""Those before them, of which the beginning of the answer is told; the rest is only in the log."""
MOST_CHARACTERS = 100_000
"""Of an answer or of what an item is about."""
_BEGINNING = 300
_LINE = 160
_WORDS = 4000
_OURS = re.compile(
    r"# (Outrider|A task for Outrider)$|Conversation `|Write a task below the line, and take|## Task \d|## Waits for you: |>|"
    r"- [`“\[…]|- (asked|you said|taken back|brought back|left as it is) “|… \d+ earlier tasks|(Plan|Answer|Answer, cut off|What went wrong|Since then):$|"
    r"Running[.:]|Waits for its turn|(Completed|Cancelled|Budget exhausted|Failed|Refused) \(|`.*` and `.*` would save:|"
    r"Code actions here: |Take a choice |Write an answer below this and|Outrider waits for you: |"
    r"The task (runs in another|was cut off)|Not done: |Your editor takes no edits"
)
"""How the lines of a page begin."""
_NAME = re.compile(r"^Conversation `([^`\s]+)`")

_PLAN_MARKS = {"done": "x", "in_progress": "~"}
_EVIDENCE = {
    "unverified": "nothing was run after the last change",
    "check_failed": "the last command after the last change failed",
}


@dataclass(frozen=True, slots=True)
class Section:
    """The lines `start:end` of the page that are about an open item."""

    item: Open
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """All of it: lines without their ends."""

    lines: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """How things are, besides what the log tells."""

    items: Sequence[Open] = ()
    """What waits for the person."""
    is_open: bool = False
    """Whether the session is open in this process."""
    is_elsewhere: bool = False
    """Whether another one has it."""
    on_disk: bool = False
    """Whether the editor has to load the file anew to see what is new."""
    problem: str = ""
    """Why what was asked for last was not done."""


def page_of(told: Conversation | None, standing: Standing) -> Page:
    """What the document says."""
    lines = ["# Outrider", ""]
    if told is not None:
        lines += [
            f"Conversation `{told.session_id}`. Outrider writes above the line at the end, you below it.",
            "",
        ]
        lines += _tasks(told)
    else:
        lines += ["Write a task below the line, and take the code action `Send` there.", ""]
    sections: list[Section] = []
    for item in standing.items:
        is_other = told is not None and bool(item.turn_id) and item.turn_id not in told.tasks
        about = _item(item, " of another conversation" if is_other else "")
        sections.append(Section(item, len(lines), len(lines) + len(about)))
        lines += [*about, ""]
    if state := _state(told, standing):
        lines += [*state, ""]
    return Page(tuple(lines), tuple(sections))


def session_named(text: str) -> str | None:
    """The session that a document of before says it is about: to be looked up, not to be believed."""
    names = (_NAME.match(line) for line in text.split("\n", 4)[:4])
    return next((found[1] for found in names if found), None)


def may_be_ours(line: str) -> bool:
    """Whether a line may be one of a page, of which nothing else is known any more."""
    return not line.strip() or _OURS.match(line) is not None


def _tasks(told: Conversation) -> list[str]:
    tasks = list(told.tasks.values())
    lines: list[str] = []
    if (left_out := len(tasks) - WHOLE_TASKS - SHORT_TASKS) > 0:
        lines += [
            f"… {left_out} earlier tasks. `outrider report {told.session_id}` tells of all of them.",
            "",
        ]
    for number, task in list(enumerate(tasks, 1))[max(0, left_out) :]:
        lines += _shortly(number, task) if number <= len(tasks) - WHOLE_TASKS else _in_full(number, task)
    return lines


def _heading(number: int, task: Task) -> str:
    return f"## Task {number}{f' ({task.mode})' if task.mode != 'agent' else ''}"


def _shortly(number: int, task: Task) -> list[str]:
    text = task.answer or task.cut_off
    answer = ["", *quoted(short(text, _BEGINNING))] if text else []
    return [_heading(number, task), "", *quoted(short(task.prompt, _LINE)), *answer, "", _result(task), ""]


def _in_full(number: int, task: Task) -> list[str]:
    lines = [_heading(number, task), "", *quoted(task.prompt, MOST_CHARACTERS), ""]
    steps = [_step(step) for step in task.steps]
    if task.earlier:
        steps.insert(0, f"- … {task.earlier} earlier steps")
    if steps:
        lines += [*steps, ""]
    if task.plan:
        lines += [
            "Plan:",
            *(f"- [{_PLAN_MARKS.get(mark, ' ')}] {short(text, _LINE)}" for mark, text in task.plan),
            "",
        ]
    if task.answer:
        heading = "What went wrong:" if task.outcome == "failed" else "Answer:"
        lines += [heading, "", *quoted(task.answer, MOST_CHARACTERS), ""]
    elif task.cut_off:
        lines += ["Answer, cut off:", "", *quoted(task.cut_off, MOST_CHARACTERS), ""]
    if task.outcome or not task.started:  # of the one that runs it is said at the end of the page
        lines += [_result(task), ""]
    if task.since:
        lines += ["Since then:", *map(_step, task.since), ""]
    return lines


def _step(step: Step) -> str:
    if step.is_call:
        about = f" {code(step.about, _LINE)}" if step.about else ""
        return f"- {code(step.what, _LINE)}{about}: {short(step.came_of_it, _LINE) or '…'}"
    if not step.about:
        return f"- “{short(step.what, _LINE)}”"
    # What the person said is nowhere else to be read.
    came = f": {short(step.came_of_it, _WORDS)}" if step.came_of_it else ""
    return f"- {step.what} “{short(step.about, _WORDS)}”{came}"


def _result(task: Task) -> str:
    if not task.outcome:
        return "Running." if task.started else "Waits for its turn."
    words = f"{task.outcome.replace('_', ' ').capitalize()} ({_EVIDENCE.get(task.reason, task.reason.replace('_', ' '))})"
    return f"{words}, {_spent(task)}."


def _spent(task: Task) -> str:
    steps = f"{task.requests} {'step' if task.requests == 1 else 'steps'}"
    tokens = f", {task.tokens} tokens" if task.tokens else ""
    return f"{steps}{tokens}" + (f", cost {task.cost:.4f}" if task.cost is not None else "")


def _item(item: Open, whose: str) -> list[str]:
    lines = [f"## Waits for you: {item.kind} `{item.id}`{whose}", "", *quoted(item.title)]
    if item.detail:
        language = "diff" if item.detail.startswith(("--- ", "diff ", "@@ ")) else ""
        lines += [">", *fenced(item.detail.strip("\n"), language, MOST_CHARACTERS)]
    if item.options and item.kind != "approval":
        lines += [">", *(row for option in item.options for row in quoted(f"- {short(option, _LINE)}"))]
    lines.append("")
    if item.kind == "approval":
        titles = [title for title in item.options if title not in {REVIEW, CHOOSE}]
        if rules := item.always if ALWAYS_ALLOW in titles else None:
            at = titles.index(ALWAYS_ALLOW)
            titles[at : at + 1] = [ALWAYS_HERE, ALWAYS_EVERYWHERE]
            told = [f"> - allow {short(rule_told(rule), _LINE)}" for rule in rules]
            lines += [f"`{ALWAYS_HERE}` and `{ALWAYS_EVERYWHERE}` would save:", "", *told, ""]
        lines.append(f"Code actions here: {', '.join(code(title, _LINE) for title in [*titles, REVIEW])}.")
    elif item.allow_free_form:
        choose = "Take a choice as a code action here, or write" if item.options else "Write"
        lines.append(f"{choose} an answer below this and take the code action `answer “…”`.")
    else:
        lines.append("Take a choice as a code action here.")
    return lines


def _state(told: Conversation | None, standing: Standing) -> list[str]:
    lines: list[str] = []
    task = told.unfinished if told is not None else None
    if standing.items:
        count = len(standing.items)
        lines.append(f"Outrider waits for you: {count} open {'item' if count == 1 else 'items'}.")
    elif task is not None and standing.is_open:
        lines.append(f"Running: {_spent(task)}. What you send now is said to the running task.")
    elif task is not None and standing.is_elsewhere:
        lines.append(
            "The task runs in another window, and is answered there. What you send here needs a new conversation."
        )
    elif task is not None:
        lines.append("The task was cut off: take the code action `resume the task`, or `cancel the task`.")
    if standing.problem:
        lines.append(f"Not done: {short(standing.problem, 4 * _LINE)}")
    if standing.on_disk:
        lines.append(
            "Your editor takes no edits, so this is written on the disk: save what you write, and load the file anew to see what is new."
        )
    return lines
