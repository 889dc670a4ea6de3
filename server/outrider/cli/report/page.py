"""The page of a report: one file, no scripts, nothing from elsewhere. Everything in it is text of a stranger."""

import base64
import hashlib
import html
from collections.abc import Iterable
from importlib import resources
from typing import Any, Final, cast

from outrider.cli.diffs import diff_lines
from outrider.cli.render import counted, essential_argument
from outrider.cli.report import words
from outrider.cli.report.model import Asked, Call, Edit, Note, Report, Spent, Step, Turn
from outrider.cli.terminal import plain_output, visible
from outrider.ports.patterns import linear

_EMPTY: Final = frozenset({"meta", "rect"})


class Html(str):
    """A piece of HTML that was made here, from escaped text alone."""

    __slots__ = ()


def text(value: str) -> Html:
    """A text, with every character spelled out that acts, or that makes it read differently from what it is."""
    return Html(html.escape(visible(value), quote=True))


def tag(element: str, /, *children: "Html | str | None", **attributes: str | float | bool | None) -> Html:
    """An element.

    Args:
        element: Such as `p`; a constant of the caller.
        children: Its content; a text is escaped, None is left out.
        attributes: Its attributes, `class_` for `class` and `aria_label` for `aria-label`. None and False are left
            out, True has no value.
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if element in _EMPTY:
        return Html(f"<{element}{given} />")
    return Html(f"<{element}{given}>{joined(*children)}</{element}>")


def joined(*children: "Html | str | None") -> Html:
    """Pieces one behind the other; a text is escaped, None is left out."""
    return Html(
        "".join(child if isinstance(child, Html) else text(child) for child in children if child is not None)
    )


def _attribute(key: str, value: str | float | bool | None) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{text(str(value)).replace(chr(10), " ")}"'


END_LINES = 20
END_CHARACTERS = 4_000
"""Of the end of a longer text: what went wrong often stands there."""
MOST_LINES = 400
"""Lines of one output or one change that are shown."""
MOST_CHARACTERS = 30_000
"""Characters of one."""
LEAST_SHOWN = 0.001
"""Seconds of a call below which its time is no news."""
LONGEST_TITLE = 140
"""Characters of a heading made of a task."""

_PLAN_MARKS = {"done": ("[x]", "done"), "in_progress": ("[>]", "in progress"), "pending": ("[ ]", "to do")}
_EDIT_WORDS = {
    "proposed": "proposed, not made",
    "applying": "started; it is unknown whether it was made",
    "applied": "made",
    "merged": "made, together with what someone else wrote",
    "rejected": "not made",
}


def page_of(report: Report) -> str:
    """The whole page."""
    style = resources.files("outrider.cli.report").joinpath("style.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    first = report.turns[0].prompt if report.turns else ""
    title = _title(first) or f"Session {report.session_id}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} – Outrider"),
        tag("style", Html(style)),
    )
    main = tag(
        "main",
        *(_turn(report, turn) for turn in report.turns),
        _outside(report),
    )
    body = tag("body", _head(report, title), main, _foot(report))
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


# --- head and foot -------------------------------------------------------------------------------------------


def _head(report: Report, title: str) -> Html:
    said, colour = words.outcome(report.turns[-1]) if report.turns else ("no task was given", "warn")
    models = ", ".join(report.models) or "no model"
    undone = report.taken_back
    under = tag(
        "p",
        tag("span", said, class_=f"badge {colour}"),
        tag("span", f"undone: {counted(undone, 'change')}", class_="badge warn") if undone else None,
        tag("span", models, class_="mono soft"),
        tag("span", _time(report.at), class_="soft num"),
        class_="under",
    )
    return tag(
        "header",
        tag("p", f"Session {report.session_id}", class_="eyebrow"),
        tag("h1", title),
        under,
        _facts(report),
        _contents(report),
    )


def _facts(report: Report) -> Html:
    spent, tokens = report.spent, report.tokens
    steps = sum(step.purpose == "main" for turn in report.turns for step in turn.steps)
    calls = sum(len(step.calls) for turn in report.turns for step in turn.steps)
    waits = any(turn.parked for turn in report.turns)
    counted_tokens = bool(tokens.given or tokens.made)
    facts: list[tuple[str, str, str | None]] = [
        ("Time", words.duration(report.seconds), None),
        ("Model", words.duration(spent.model), None),
        ("Tools", words.duration(spent.tools), None),
        ("Waiting for the user", words.duration(spent.waiting), "still waiting" if waits else None),
        ("Steps", f"{steps:,}", counted(calls, "tool call")),
        (
            "Tokens in",
            f"{tokens.given:,}" if counted_tokens else "unknown",
            f"{tokens.cached:,} of them cached" if tokens.cached is not None else None,
        ),
        ("Tokens out", f"{tokens.made:,}" if counted_tokens else "unknown", None),
        ("Cost", words.cost(tokens), None),
    ]
    return tag(
        "dl",
        *(
            tag("div", tag("dt", name), tag("dd", value, tag("small", more) if more else None))
            for name, value, more in facts
        ),
        class_="facts",
    )


def _contents(report: Report) -> Html | None:
    if len(report.turns) < 2:
        return None
    lines = (
        tag(
            "li",
            tag("a", _title(turn.prompt) or turn.id, href=f"#t{turn.number}"),
            " ",
            tag("span", words.outcome(turn)[0], class_="soft"),
        )
        for turn in report.turns
    )
    return tag("nav", tag("h4", "Turns"), tag("ol", *lines), aria_label="Turns")


def _foot(report: Report) -> Html:
    folders = ", ".join(report.folders)
    taken = "; ".join(f"{kind}: {counted(count, 'place')}" for kind, count in report.removed.items())
    lines = [
        f"Session {report.session_id} of Outrider {report.version or report.program}, {counted(report.events, 'event')}"
        + (f", permission mode {report.permission_mode}" if report.permission_mode else "")
        + (f", in {folders}" if folders else "")
        + ".",
        f"Taken out before this page was made: {taken}." if taken else None,
        "Times are UTC. Waiting is the time until the user answered; time while no process had the session open is not counted.",
    ]
    return tag("footer", *(tag("p", line) for line in lines if line))


# --- turns ---------------------------------------------------------------------------------------------------


def _turn(report: Report, turn: Turn) -> Html:
    said, colour = words.outcome(turn)
    alone = len(report.turns) == 1  # the head of the page says all this already
    badge = None if alone else tag("span", said, class_=f"badge {colour}")
    steps = turn.steps
    summary = turn.summary.strip()
    if steps and summary in (steps[-1].text.strip(), steps[-1].failure or ""):
        summary = ""
    return tag(
        "section",
        tag("h2", "What happened" if alone else f"Turn {turn.number}", " ", badge),
        None if alone and turn.prompt == _title(turn.prompt) else _task(turn),
        None if alone else _turn_facts(turn),
        _context(turn),
        _plan(turn),
        _timeline(turn) if len(steps) > 1 else None,
        *(_note(item) if isinstance(item, Note) else _step(turn, item) for item in turn.items),
        tag("div", tag("h4", "Summary"), _prose(summary), class_="summary") if summary else None,
        id=f"t{turn.number}",
    )


def _task(turn: Turn) -> Html:
    return tag("div", tag("h4", "Task"), _prose(turn.prompt), class_="task")


def _turn_facts(turn: Turn) -> Html:
    facts = [words.day_and_time(turn.at), turn.mode and f"mode {turn.mode}", turn.model]
    facts += [words.duration(turn.seconds), words.tokens(turn.tokens)]
    return tag("p", " · ".join(fact for fact in facts if fact), class_="meta num")


def _context(turn: Turn) -> Html | None:
    return tag("p", f"Given with it: {', '.join(turn.given)}.", class_="meta") if turn.given else None


def _plan(turn: Turn) -> Html | None:
    if not turn.plan:
        return None
    points: list[Html] = []
    for text, status in turn.plan:
        mark, meaning = _PLAN_MARKS.get(status, ("[ ]", status))
        points.append(
            tag("li", tag("span", mark, class_="mark", title=meaning), tag("span", text), class_=status)
        )
    return tag("div", tag("h4", "Plan"), tag("ul", *points, class_="plan"))


def _timeline(turn: Turn) -> Html:
    steps = turn.steps
    longest = max(step.spent.total for step in steps)
    columns = [
        ("Step", ""),
        ("", "bar"),
        ("Model", "time"),
        ("Tools", "time"),
        ("Waiting", "time"),
        ("Calls", "what"),
    ]
    keys = {"Model": "model", "Tools": "tools", "Waiting": "wait"}
    head = tag(
        "tr",
        *(
            tag(
                "th",
                tag("span", class_=f"key {keys[name]}") if name in keys else None,
                name or "Share of time",
                scope="col",
                class_=class_ or None,
            )
            for name, class_ in columns
        ),
    )
    rows = [
        tag(
            "tr",
            tag("th", tag("a", _step_name(step), href=f"#{_anchor(turn, step)}"), scope="row"),
            tag("td", _bar(step.spent, longest), class_="bar"),
            *_times(step.spent),
            tag("td", _calls_in_words(step.calls), class_="what"),
        )
        for step in steps
    ]
    foot = tag(
        "tr",
        tag("th", "All", scope="row"),
        tag("td", class_="bar"),
        *_times(turn.spent),
        tag("td", class_="what"),
    )
    return tag(
        "div",
        tag(
            "table",
            tag("caption", "Where the time went, step by step"),
            tag("thead", head),
            tag("tbody", *rows),
            tag("tfoot", foot),
        ),
        class_="table",
        tabindex=0,
        role="region",
        aria_label="Where the time went",
    )


def _times(spent: Spent) -> list[Html]:
    return [
        tag("td", words.duration(value) if value else "–", class_="time")
        for value in (spent.model, spent.tools, spent.waiting)
    ]


def _bar(spent: Spent, longest: float) -> Html:
    x, parts = 0.0, list[Html]()
    for value, name in ((spent.model, "model"), (spent.tools, "tools"), (spent.waiting, "wait")):
        width = 100 * value / longest if longest else 0.0
        if width > 0:
            width = max(width, 0.6)
            parts.append(tag("rect", x=f"{x:.2f}%", y=0, width=f"{width:.2f}%", height="100%", class_=name))
            x += width
    return tag("svg", *parts, aria_hidden="true", focusable="false")


def _calls_in_words(calls: Iterable[Call]) -> str:
    names: dict[str, int] = {}
    for call in calls:
        names[call.name] = names.get(call.name, 0) + 1
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in names.items())


def _note(note: Note) -> Html:
    return tag(
        "div",
        tag("p", note.text, " ", tag("time", words.time_of_day(note.at), datetime=note.at)),
        tag("blockquote", note.quote) if note.quote else None,
        class_=f"note {note.kind}",
    )


# --- steps ---------------------------------------------------------------------------------------------------


def _step(turn: Turn, step: Step) -> Html:
    meta = [
        f"model {words.duration(step.spent.model)}" if step.spent.model else "",
        f"tools {words.duration(step.spent.tools)}" if step.spent.tools else "",
        f"waiting {words.duration(step.spent.waiting)}" if step.spent.waiting else "",
        words.tokens(step.tokens),
        f"ended: {step.finish_reason}" if step.finish_reason not in (None, "stop", "tool_calls") else "",
    ]
    head = tag(
        "header",
        tag("h3", _step_name(step)),
        tag("p", " · ".join(part for part in meta if part), class_="meta num"),
    )
    unanswered = step.answered_at is None and not step.calls
    return tag(
        "article",
        head,
        _folded(f"Asked: {step.chosen}", step.choice) if step.chosen else None,
        _folded("Reasoning", step.reasoning) if step.reasoning else None,
        *(_withdrawn(text, reason) for text, reason in step.withdrawn),
        _prose(step.text) if step.text.strip() else None,
        tag("p", f"The model did not answer: {step.failure} ({step.failure_kind})", class_="note error")
        if step.failure is not None
        else None,
        tag("p", "No answer is in the log.", class_="note warning") if unanswered else None,
        tag("div", *(_call(call) for call in step.calls), class_="calls") if step.calls else None,
        id=_anchor(turn, step),
    )


def _withdrawn(text: str, reason: str) -> Html:
    return tag(
        "div", tag("p", f"A text was withdrawn ({reason})."), _folded("The text", text), class_="note warning"
    )


def _call(call: Call) -> Html:
    status = call.status or "no result"
    telling = _telling(call)
    summary = tag(
        "summary",
        tag("span", status, class_=f"status {words.status_class(call.status)}"),
        tag("span", call.name, class_="name"),
        " ",
        tag("span", telling, class_="arg"),
        tag("span", words.duration(call.seconds), class_="took") if call.seconds >= LEAST_SHOWN else None,
    )
    edited = bool(call.edits) and call.status == "ok"
    told = call.status == "ok" and call.name == "ask_user" and bool(call.asked)
    body = tag(
        "div",
        *(_asked(asked, call, telling) for asked in call.asked),
        *(_edit(edit) for edit in call.edits),
        None if told else _input(call, telling),
        tag("p", call.content, class_="soft") if edited else None if told else _output(call),
        class_="body",
    )
    is_open = (
        bool(call.edits)
        or call.status in {"error", "denied", "interrupted"}
        or any(a.kind == "question" for a in call.asked)
    )
    return tag("details", summary, body, class_="call", open=is_open)


def _telling(call: Call) -> str:
    """The one argument that says what a call is about."""
    points: Any = call.arguments.get("items")
    if call.name == "update_plan" and isinstance(points, list):
        return counted(len(cast("list[Any]", points)), "point")
    return essential_argument(call.name, call.input)


def _input(call: Call, telling: str) -> Html | None:
    told = len(call.arguments) == 1 and telling in set(map(str, call.arguments.values()))
    return None if told and len(telling) < LONGEST_TITLE else _folded("Input", words.pretty(call.input))


def _output(call: Call) -> Html | None:
    if not call.content.strip():
        return tag("p", "No output.", class_="soft") if call.finished_at else None
    return joined(tag("h4", "Output"), *_box(plain_output(call.content)))


def _asked(asked: Asked, call: Call, telling: str) -> Html:
    said, colour = words.resolution(asked)
    resolved = tag("span", said, class_=colour)
    if asked.kind == "approval":
        title = None if asked.title.endswith(telling) or call.edits else f"{asked.title}: "
        shown = "" if call.edits else asked.detail.strip()
        return joined(
            tag("p", tag("span", "Approval: ", class_="soft"), title, resolved),
            tag("p", "Their note: ", tag("strong", asked.note)) if asked.note else None,
            _folded("What was shown", f"{asked.title}\n\n{shown}") if shown else None,
        )
    options = f"Options: {', '.join(asked.options)}" if asked.options else None
    answer = [tag("strong", asked.answer), " – "] if asked.answer is not None else []
    return joined(
        tag("p", tag("span", "Question: ", class_="soft"), tag("strong", asked.title)),
        tag("p", options, class_="soft") if options else None,
        tag("p", tag("span", "Answer: ", class_="soft"), *answer, resolved),
    )


def _edit(edit: Edit) -> Html:
    path = f"{edit.path} → {edit.to}" if edit.to else edit.path
    lines = diff_lines(edit.hunks)
    added, removed = sum(line.startswith("+") for line in lines), sum(line.startswith("-") for line in lines)
    state = _EDIT_WORDS.get(edit.state, edit.state)
    where = (
        {"buffer": " in the open buffer", "disk": " on disk"}.get(edit.where or "", "")
        if edit.state != "rejected"
        else ""
    )
    undoes = ", undoing an earlier change" if edit.undoes else ""
    verb = {"create": "Create", "delete": "Delete", "rename": "Rename"}.get(edit.operation, "Edit")
    colour = "good" if edit.state in {"applied", "merged"} else "warn"
    shown, rest = lines[:MOST_LINES], len(lines) - MOST_LINES
    diff = tag("pre", *(_diff_line(line) for line in shown), class_="diff", tabindex=0) if lines else None
    return joined(
        tag(
            "p",
            f"{verb} ",
            tag("code", path),
            f" (+{added} −{removed}) – ",
            tag("span", f"{state}{where}{undoes}", class_=colour),
            f": {edit.reason}" if edit.reason else None,
        ),
        diff,
        tag(
            "p",
            f"{counted(rest, 'more line')} left out here; an export of the session has the whole.",
            class_="cut",
        )
        if rest > 0
        else None,
    )


def _diff_line(line: str) -> Html:
    kept = line[:MOST_CHARACTERS] + "\n"
    return tag({"+": "ins", "-": "del"}.get(line[:1], "span"), kept)


def _outside(report: Report) -> Html | None:
    if not report.outside:
        return None
    items = (
        _note(item) if isinstance(item, Note) else tag("div", _edit(item), class_="note info")
        for item in report.outside
    )
    return tag("section", tag("h2", "Outside the turns"), *items)


# --- pieces --------------------------------------------------------------------------------------------------


_CODE_BLOCK = linear("report.code-block", r"(?ms)^```[^\n`]*\n(.*?)^```[ \t]*$\n?")
_STRESSED = linear("report.stressed", r"`([^`\n]+)`|\*\*([^*\n]+)\*\*")


def _prose(text: str) -> Html:
    """What somebody wrote, as it is, but for the code and the stressed words of Markdown."""
    # Every second part is what stood in a code block.
    parts = _CODE_BLOCK.split(text.strip("\n"))
    pieces = (
        tag("pre", part, class_="box") if index % 2 else _words(part) for index, part in enumerate(parts)
    )
    return tag("div", *pieces, class_="said")


def _words(text: str) -> Html:
    pieces: list[Html | str] = []
    done = 0
    for match in _STRESSED.finditer(text):
        code, stressed = match.groups()
        pieces += [text[done : match.start()], tag("code", code) if code else tag("strong", stressed)]
        done = match.end()
    return joined(*pieces, text[done:])


def _folded(name: str, text: str) -> Html:
    return tag("details", tag("summary", name), *_box(text), class_="fold")


def _box(text: str) -> list[Html]:
    kept, note = words.cut(text, MOST_LINES, MOST_CHARACTERS)
    box = tag("pre", kept, class_="box", tabindex=0)
    if not note:
        return [box]
    end = words.end(text[len(kept) :], END_LINES, END_CHARACTERS)
    return [
        box,
        tag("p", note, class_="cut"),
        tag("p", "It ends:", class_="cut"),
        tag("pre", end, class_="box", tabindex=0),
    ]


def _title(prompt: str) -> str:
    """The first line of a task."""
    line = " ".join(prompt.strip().partition("\n")[0].split())
    return line if len(line) <= LONGEST_TITLE else f"{line[: LONGEST_TITLE - 1]}…"


def _time(ts: str) -> Html:
    return tag("time", words.day_and_time(ts), datetime=ts)


def _step_name(step: Step) -> str:
    return f"Step {step.number}" if step.purpose == "main" else f"Request: {step.purpose}"


def _anchor(turn: Turn, step: Step) -> str:
    return f"t{turn.number}r{turn.steps.index(step) + 1}"
