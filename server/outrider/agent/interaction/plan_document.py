"""The plan document: what a planning turn comes to, as Markdown that the user edits and starts. Pure.

It is text that they write in, and may come from a repository: what it says is a task in words and commands that are allowed as any
other. What is not clear in it is said with its line, and never guessed.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from outrider.agent.state.turn_state import same_words
from outrider.ports.text import visible
from outrider_protocol.events import PlanItem

MOST_CHARACTERS: Final = 200_000
MOST_STEPS: Final = 100
START: Final = "start this plan"
"""How the title of its action begins."""
_HELP: Final = "<!-- Change what you like. Then take the code action “Outrider: start this plan” here, or run: outrider run --plan {path} -->"
_GOAL, _BRIEF, _STEPS, _FILES, _CHECKS, _NOTES = "goal", "brief", "steps", "files", "checks", "notes"
_HEADINGS: Final = (_GOAL, _BRIEF, _STEPS, _FILES, _CHECKS, _NOTES)
_BULLETS: Final = ("- ", "* ", "+ ")
_OPEN, _DONE = ("[ ] ",), ("[x] ", "[X] ")
_FENCES: Final = ("```", "~~~")


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a plan."""

    text: str
    done: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What the document says."""

    goal: str
    brief: tuple[str, ...] = ()
    """What the user answered, each with its question."""
    steps: tuple[Step, ...] = ()
    files: tuple[str, ...] = ()
    """What is changed in which file."""
    checks: tuple[str, ...] = ()
    """Commands that decide whether it is done."""
    notes: str = ""
    """What else it says."""


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """Why a document is no plan that can be started."""

    message: str


def written(plan: Plan, path: str) -> str:
    """The document of a plan that lies at `path`."""
    parts = [
        f"# Plan: {_line(plan.goal) or 'untitled'}",
        _HELP.format(path=path),
        f"## Goal\n\n{_quoted(plan.goal)}",
    ]
    if plan.brief:
        parts.append("## Brief\n\n" + "\n".join(f"- {_line(one)}" for one in plan.brief))
    parts.append(
        "## Steps\n\n" + "\n".join(f"- [{'x' if one.done else ' '}] {_line(one.text)}" for one in plan.steps)
    )
    if plan.files:
        parts.append("## Files\n\n" + "\n".join(f"- {_line(one)}" for one in plan.files))
    parts.append(
        "## Checks\n\n"
        + (
            "\n".join(f"- `{_line(one)}`" for one in plan.checks)
            or "<!-- One command a line, as in: - `pytest -q` -->"
        )
    )
    if plan.notes:
        parts.append(f"## Notes\n\n{_quoted(plan.notes)}")
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def read(text: str) -> Plan | PlanProblem:
    """What a document says."""
    if len(text) > MOST_CHARACTERS:
        return PlanProblem(f"it has more than {MOST_CHARACTERS:,} characters")
    found: dict[str, list[str]] = {}
    for heading, line, _ in _under_headings(text):
        found.setdefault(heading, []).append(line)
    if _STEPS not in found:
        return PlanProblem("it has no heading “## Steps” with the steps below it, each as “- [ ] …”")
    steps: list[Step] = []
    for item in _items(found[_STEPS]):
        marked = f"{item} "
        done = marked.startswith(_DONE)
        steps.append(Step(item[4:].strip() if done or marked.startswith(_OPEN) else item, done))
    steps = [one for one in steps if one.text]
    if not steps:
        return PlanProblem("there is no step under “## Steps”: write each as “- [ ] …”")
    if len(steps) > MOST_STEPS:
        return PlanProblem(f"it has {len(steps)} steps; {MOST_STEPS} are the most")
    checks: list[str] = []
    for item in _items(found.get(_CHECKS, [])):
        command = item[1:-1] if len(item) > 2 and item[0] == item[-1] == "`" else item
        if "`" in command and command is item:
            return PlanProblem(
                f"the check “{_line(item)[:80]}” is not clear: write the command alone, as “- `pytest -q`”"
            )
        checks.append(command.strip())
    return Plan(
        visible("\n".join(_unquoted(found.get(_GOAL, []))).strip()),
        tuple(map(visible, _items(found.get(_BRIEF, [])))),
        tuple(Step(visible(one.text), one.done) for one in steps),
        tuple(map(visible, _items(found.get(_FILES, [])))),
        tuple(dict.fromkeys(filter(None, checks))),
        visible("\n".join(_unquoted(found.get(_NOTES, []))).strip()),
    )


def task(plan: Plan, path: str) -> str:
    """The task of carrying a plan out, as the model gets it."""
    title = _line(plan.goal) or path
    steps = "\n".join(
        f"{number}. {one.text}{' (done)' if one.done else ''}" for number, one in enumerate(plan.steps, 1)
    )
    parts = [
        f"Carry out the plan in {path}: {title if len(title) <= 200 else f'{title[:199]}…'}",
        f"The goal:\n{plan.goal}" if plan.goal and plan.goal != title else "",
        "What the user decided:\n" + "\n".join(f"- {one}" for one in plan.brief) if plan.brief else "",
        f"The steps, which the user has approved. They are in your plan: keep it up to date with update_plan as you go.\n{steps}",
        "Files:\n" + "\n".join(f"- {one}" for one in plan.files) if plan.files else "",
        f"Notes:\n{plan.notes}" if plan.notes else "",
        "These commands are run when you stop, and decide whether it is done:\n"
        + "\n".join(f"- {one}" for one in plan.checks)
        if plan.checks
        else "",
    ]
    return "\n\n".join(filter(None, parts))


def with_steps(items: Sequence[PlanItem], steps: Sequence[PlanItem]) -> tuple[list[PlanItem], list[PlanItem]]:
    """A plan of the model with the steps of the user that are not in it, each behind the one that it follows; and those steps."""
    result, at = list(items), 0
    missing: list[PlanItem] = []
    for step in steps:
        places = (
            number for number, one in enumerate(result) if same_words(one.text) == same_words(step.text)
        )
        if (place := next(places, None)) is not None:
            at = place + 1
        else:
            result.insert(at, step)
            missing.append(step)
            at += 1
    return result, [one for one in result if any(one is step for step in missing)]


def ticked(text: str, done: Collection[str]) -> str:
    """A document in which the steps that are done are ticked off; nothing else of it is another.

    Args:
        text: The document.
        done: The texts of the steps that are done.
    """
    wanted = {same_words(one) for one in done}
    lines = text.split("\n")
    places = [(number, line) for heading, line, number in _under_headings(text) if heading == _STEPS]
    for at, item in _placed_items([line for _, line in places]):
        if f"{item} ".startswith(_DONE):
            continue
        is_open = f"{item} ".startswith(_OPEN)
        if same_words(visible(item[4:] if is_open else item)) not in wanted:
            continue
        number = places[at][0]
        mark = _mark_of(lines[number])
        rest = lines[number][len(mark) :]
        if mark:
            lines[number] = f"{mark}[x] {rest.removeprefix('[ ] ')}"
    return "\n".join(lines)


def _mark_of(line: str) -> str:
    """What stands before the text of a point of a list."""
    blank = line[: len(line) - len(line.lstrip())]
    text = line[len(blank) :]
    if text.startswith(_BULLETS):
        length = 2
    else:
        number, dot, _ = text.partition(". ")
        length = len(number) + 2 if dot and number.isdigit() else 0
    if not length:
        return ""
    rest = text[length:]
    return blank + text[:length] + rest[: len(rest) - len(rest.lstrip())]


def drafted(answer: str) -> Plan:
    """The steps, files and checks of a plan that stands in an answer: below those headings, or all points of its lists as steps."""
    found = read(answer)
    if isinstance(found, Plan):
        return found
    points = [_line(one) for one in _items(answer.split("\n")) if one]
    return Plan("", (), tuple(map(Step, points[:MOST_STEPS])), (), (), "")


def _under_headings(text: str) -> Iterator[tuple[str, str, int]]:
    """Each line with the known heading that it stands under, and its number, from 0. Others, and what they hold, are notes."""
    heading, fence = "", ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n")):
        if fence:
            fence = "" if line.strip() == fence else fence
        elif line.lstrip().startswith(_FENCES):
            fence = line.strip()[:3]
        elif line.startswith("#"):
            level = len(line) - len(line.lstrip("#"))
            name = line.strip("# \t").rstrip(":").casefold()
            if level == 1 and not heading:
                continue
            if name in _HEADINGS and level <= 3:
                heading = name
                yield heading, "", number
                continue
            heading = heading if level > 2 and heading else _NOTES
        if heading and not (line.strip().startswith("<!--") and line.strip().endswith("-->")):
            yield heading, line, number


def _items(lines: Sequence[str]) -> list[str]:
    """The points of a list."""
    return [text for _, text in _placed_items(lines)]


def _placed_items(lines: Sequence[str]) -> list[tuple[int, str]]:
    """The points of a list, each with the place of its first line. Lines that are indented, or follow at once without a mark, belong to the one before."""
    found: list[tuple[int, str]] = []
    fenced = ended = False
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith(_FENCES):
            fenced = not fenced
        elif not text:
            ended = True
        elif fenced and not line.startswith((" ", "\t")):
            found.append((number, text))
        elif (point := _point(line)) is not None:
            found.append((number, point))
            ended = False
        elif found and (not ended or line.startswith((" ", "\t"))):
            first, before = found[-1]
            found[-1] = first, f"{before} {text}".strip()
    return found


def _point(line: str) -> str | None:
    """The text of a point of a list that is not below another one."""
    if line[:2] in {"  ", "\t"} or line.startswith("\t"):
        return None
    text = line.strip()
    if text.startswith(_BULLETS):
        return text[2:].strip()
    if text in {"-", "*", "+"}:
        return ""
    number, dot, rest = text.partition(". ")
    return rest.strip() if dot and number.isdigit() else None


def _quoted(text: str) -> str:
    """Some lines of which none can pose as a heading or end the section."""
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def _unquoted(lines: Sequence[str]) -> list[str]:
    return [line.removeprefix(">").removeprefix(" ") if line.startswith(">") else line for line in lines]


def _line(text: str) -> str:
    return " ".join(text.split())
