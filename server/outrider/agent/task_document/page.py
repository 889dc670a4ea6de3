"""The transcript of the task document, above the mark. It is made of the log and of what waits for an answer."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from outrider.agent.interaction.inbox import rule_told
from outrider.agent.interaction.quoting import code, fenced, quoted, short
from outrider.agent.interaction.shown_documents import MARK
from outrider.agent.task_document.conversation import Conversation, Step, Task
from outrider.workspace.text.diff import changed_ranges
from outrider.workspace.text.lines import split_lines
from outrider_protocol import ALWAYS_ALLOW, ALWAYS_EVERYWHERE, ALWAYS_HERE, REVIEW
from outrider_protocol.events import Open

MOST_TASKS = 20
"""The latest tasks, which are in it; those before them are only in the log."""
MOST_CHARACTERS = 100_000
"""Of an answer or of what an item is about."""
_LINE = 160
_WORDS = 4000
_OURS = re.compile(
    r"# (Outrider|A task for Outrider)$|Conversation `|Write a task below the line, and take|## Task \d|## Waits for you: |>|"
    r"- [`“\[…]|- (asked|you said|undone|redone|taken back|brought back|left as it is) “|… \d+ earlier tasks|(Plan|Answer|Answer, cut off|What went wrong|Since then):$|"
    r"Running[.:]|Waits for its turn|(Completed|Cancelled|Budget exhausted|Failed|Refused) \(|`.*` and `.*` would save:|"
    r"Code actions here: |Take a choice |Write an answer below |Outrider (is waiting|waits) for you: |"
    r"The task (runs in another|was (interrupted|cut off))|Not done: |Your editor (does not apply|takes no) edits"
)
"""How the lines of a page begin, in documents of earlier versions too."""
_NAME = re.compile(r"^Conversation `([^`\s]+)`")

_PLAN_MARKS = {"done": "x", "in_progress": "~"}


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
    """What waits for the user."""
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
    lines: list[str] = []
    left_out = max(0, len(told.tasks) - MOST_TASKS)
    if left_out:
        lines += [f"… {left_out} earlier tasks. `outrider report {told.session_id}` has all of them.", ""]
    for number, task in list(enumerate(told.tasks.values(), 1))[left_out:]:
        lines += _task(number, task)
    return lines


def _task(number: int, task: Task) -> list[str]:
    mode = f" ({task.mode})" if task.mode != "agent" else ""
    lines = [f"## Task {number}{mode}", "", *quoted(task.prompt, MOST_CHARACTERS), ""]
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
    # What the user said is nowhere else to be read.
    came = f": {short(step.came_of_it, _WORDS)}" if step.came_of_it else ""
    return f"- {step.what} “{short(step.about, _WORDS)}”{came}"


def _result(task: Task) -> str:
    if not task.outcome:
        return "Running." if task.started else "Waits for its turn."
    words = f"{task.outcome.replace('_', ' ').capitalize()} ({short(task.verdict, _LINE) or task.reason.replace('_', ' ')})"
    return f"{words}, {_spent(task)}."


def _spent(task: Task) -> str:
    steps = f"{task.requests} {'step' if task.requests == 1 else 'steps'}"
    tokens = f", {task.tokens} tokens" if task.tokens else ""
    return f"{steps}{tokens}" + (f", cost {task.cost:.4f}" if task.cost is not None else "")


def _item(item: Open, whose: str) -> list[str]:
    lines = [f"## Waits for you: {item.kind} `{item.id}`{whose}", "", *quoted(item.summary or item.title)]
    if item.detail:
        language = "diff" if item.detail.startswith(("--- ", "diff ", "@@ ")) else ""
        lines += [">", *fenced(item.detail.strip("\n"), language, MOST_CHARACTERS)]
    if item.options and item.kind != "approval":
        lines += [">", *(row for option in item.options for row in quoted(f"- {short(option, _LINE)}"))]
    lines.append("")
    if item.kind == "approval":
        titles = [title for title in item.options if title != REVIEW]
        if rules := item.always if ALWAYS_ALLOW in titles else None:
            at = titles.index(ALWAYS_ALLOW)
            titles[at : at + 1] = [ALWAYS_HERE, ALWAYS_EVERYWHERE]
            told = [f"> - allow {short(rule_told(rule), _LINE)}" for rule in rules]
            lines += [f"`{ALWAYS_HERE}` and `{ALWAYS_EVERYWHERE}` would save:", "", *told, ""]
        lines.append(f"Code actions here: {', '.join(code(title, _LINE) for title in [*titles, REVIEW])}.")
    elif item.allow_free_form:
        choose = "Take a choice as a code action here, or write" if item.options else "Write"
        lines.append(f"{choose} an answer below the line at the end and take the code action `answer “…”`.")
    else:
        lines.append("Take a choice as a code action here.")
    return lines


def _state(told: Conversation | None, standing: Standing) -> list[str]:
    lines: list[str] = []
    task = told.unfinished if told is not None else None
    if standing.items:
        count = len(standing.items)
        lines.append(f"Outrider is waiting for you: {count} open {'item' if count == 1 else 'items'}.")
    elif task is not None and standing.is_open:
        lines.append(f"Running: {_spent(task)}. What you send now goes to the running task.")
    elif task is not None and standing.is_elsewhere:
        lines.append(
            "The task runs in another window. What you send now goes to it; `join the task` asks its questions here, too."
        )
    elif task is not None:
        lines.append(
            "The task was interrupted: take the code action `resume the task`, or `cancel the task`."
        )
    if standing.problem:
        lines.append(f"Not done: {short(standing.problem, 4 * _LINE)}")
    if standing.on_disk:
        lines.append(
            "Your editor does not apply edits, so this is written to disk: save your text, and reload the file to see changes."
        )
    return lines


@dataclass(frozen=True, slots=True)
class Parts:
    """A document, taken apart."""

    above: list[str]
    """The lines above the mark, without their ends."""
    below: str | None
    """The text below the line of the mark; None where there is no mark."""
    end: str = "\n"
    """How the line of the mark ends."""

    @property
    def draft(self) -> str:
        """What the user wrote below the mark."""
        return (self.below or "").strip()


def taken_apart(text: str) -> Parts:
    """A document in its parts. The first mark counts: a transcript holds none, as texts of others are quoted in it."""
    lines = split_lines(text)
    above = [line.rstrip() for line in lines]
    at = next((number for number, line in enumerate(above) if line.strip() == MARK), None)
    if at is None:
        return Parts(above, None)
    return Parts(above[:at], "".join(lines[at + 1 :]), "\r\n" if lines[at].endswith("\r\n") else "\n")


def is_in(page: Page, text: str) -> bool:
    """Whether a document has all lines of a page in their order; others may be between them."""
    return _is_among(page, taken_apart(text).above)


def sections_in(text: str, page: Page) -> list[tuple[Section, range]]:
    """The sections of a page that a document has word for word, and the numbers of their lines there.

    Only there a yes is to what can be read.
    """
    above = taken_apart(text).above
    found: list[tuple[Section, range]] = []
    at = 0
    for section in page.sections:
        wanted = [line.rstrip() for line in page.lines[section.start : section.end]]
        size = len(wanted)
        start = next((n for n in range(at, len(above) - size + 1) if above[n : n + size] == wanted), None)
        if start is not None:
            at = start + size
            found.append((section, range(start, at + 1)))
    return found


def renewed(text: str, page: Page, known: Sequence[Page] = (), taken: Sequence[str] = ()) -> str:
    """A document with another page above the mark.

    Args:
        text: The document as it is.
        page: The new page.
        known: Earlier pages, of which lines may be in the document.
        taken: Texts at the beginning of the draft that an action has taken, one after the other.
    """
    parts = taken_apart(text)
    draft = without(parts.below or "", taken)
    if misplaced := "\n".join(_misplaced(parts, [*known, page])).strip():
        draft = f"{parts.end}{misplaced.replace(chr(10), parts.end)}{parts.end}{draft}"
    above = "".join(f"{line}{parts.end}" for line in [*page.lines, MARK])
    return above + (draft or parts.end)


def without(draft: str, taken: Sequence[str]) -> str:
    """A draft without the texts that it begins with and that were taken; where it begins otherwise, it stays to the letter."""
    for one in taken:
        start = len(draft) - len(draft.lstrip())
        rest = draft[start + len(one) :]
        if draft.startswith(one, start) and (not rest or rest[0] in "\r\n"):
            draft = draft[:start] + (rest[2:] if rest.startswith("\r\n") else rest.removeprefix("\n"))
    return draft


def _misplaced(parts: Parts, known: Sequence[Page]) -> list[str]:
    """The lines above the mark that the user wrote."""
    ours = {line.rstrip() for page in known for line in page.lines} - {""}
    page = next((one for one in reversed(known) if _is_among(one, parts.above)), None)
    if (
        page is None
    ):  # it was changed, or is of an earlier process: a line that could be ours is not the user's
        foreign = [line for line in parts.above if line not in ours]
        return foreign if parts.below is None else [line for line in foreign if not may_be_ours(line)]
    lines = [line.rstrip() for line in page.lines]
    blocks = [parts.above[one.new_start : one.new_end] for one in changed_ranges(lines, parts.above)]
    # A block with lines of other pages alone is what is left of an edit that was made in part.
    return [line for block in blocks if set(block) - ours - {""} for line in block]


def _is_among(page: Page, above: list[str]) -> bool:
    ours = [line.rstrip() for line in page.lines]
    if not set(ours) - {""} <= set(above):  # at once, as comparing takes long in a long document
        return False
    return not any(any(ours[one.start : one.end]) for one in changed_ranges(ours, above))
