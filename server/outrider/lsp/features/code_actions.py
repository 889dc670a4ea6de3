"""Code actions: how a client without a plugin gives tasks, answers, cancels and undoes.

They are asked for at every move of the cursor, so they are made from what is in memory; where changes are is worked
out once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from outrider.agent.changes.undo import UndoneTurn, older_turn
from outrider.agent.interaction import plan_document, review_document
from outrider.agent.interaction.inbox import yes_and_no
from outrider.agent.interaction.review_document import Unclear, UnderReview
from outrider.agent.interaction.shown_documents import FOLDER, Paper, note_below, paper_of, written_below
from outrider.agent.session.session import Refused, Session
from outrider.app import App
from outrider.lsp.features.task_actions import (
    SHORT_PROMPT,
    action,
    cancelled,
    short,
    subject,
    task_actions,
    waited_for,
    with_note,
)
from outrider.ports.text import Place
from outrider.store.problem import StoreReadError
from outrider.workspace.text.lines import offset_of, split_lines
from outrider_protocol import (
    ACTION_KIND,
    ACTION_PREFIX,
    ALWAYS_ALLOW,
    ANSWER,
    ANSWER_IN_DOCUMENT,
    CANCEL,
    CONTINUE,
    DECISIONS,
    OPEN,
    PLAN,
    REDO,
    REJECT,
    RESUME,
    RETRY,
    REVIEW,
    RUN,
    UNDO,
    allow_all,
)  # fmt: skip
from outrider_protocol.events import ReviewedHunk

_INSTRUCTION = re.compile(
    r"(?:^\s*[\"*]|(?<!\S)(?:#+|//+|--+|;+|%+|/\*+|<!--|\(\*|\{-))\s*outrider:", re.IGNORECASE
)
"""The beginning of a comment that is an instruction, in whatever comment signs the language has, maybe behind code. No part
of it can match in two ways, as lines may be long."""
_COMMENT_ENDS = ("*/", "-->", "*)", "-}")
CHOOSE_MODEL = "choose a model…"
_MOST_DIAGNOSTICS = 5
_MOST_COMMANDS = 8
_LONGEST_PROBLEM = 120


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the actions are asked for."""

    uri: str
    start: Place
    end: Place

    @property
    def range(self) -> dict[str, Any]:
        """The range as LSP writes it."""
        return {
            "start": {"line": self.start.line, "character": self.start.character},
            "end": {"line": self.end.line, "character": self.end.character},
        }


async def code_actions(
    app: App, cursor: Cursor, diagnostics: Sequence[dict[str, Any]], only: Sequence[str] | None
) -> list[dict[str, Any]]:
    """The actions at a place.

    Args:
        app: The house.
        cursor: The place or the selection.
        diagnostics: What the client passes along of the diagnostics there.
        only: The kinds that are wanted, None for all.
    """
    paper = _paper_at(app, cursor)
    if paper is not None and paper[0].kind == "task":
        told = app.task_document.told_in(paper[1])
        sessions = _for_sessions(app, await _hunks_here(app, cursor), told.session_id if told else None)
        actions = [
            *_to_a_model(app),
            *task_actions(app, paper[1], cursor.end.line),
            *sessions,
            *_for_resting(app, paper[1]),
        ]
        return _of_kinds(only, actions)
    written = [] if paper is None else await _for_paper(app, *paper)
    # A plain yes beside a review that is being written would throw away what the user wrote.
    reviewed = paper[0].item_id if paper is not None and paper[0].kind == "review" and written else None
    waiting = list(_for_open_item(app, reviewed))
    # What was written for an item is what the user came for; else what waits for them comes first.
    is_first = paper is not None and paper[0].kind in {"review", "answer"}
    actions = [
        *(written if is_first else ()),
        *waiting,
        *(() if is_first else written),
        *_to_a_model(app),
        *_for_place(app, cursor, diagnostics),
        *await _for_change(app, cursor),
        *_for_sessions(app, await _hunks_here(app, cursor), None),
        *_for_resting(app, ""),
    ]
    return _of_kinds(only, actions)


def _of_kinds(only: Sequence[str] | None, actions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one for one in actions if only is None or any(_is_kind(one["kind"], kind) for kind in only)]


def _is_kind(kind: str, wanted: str) -> bool:
    return not wanted or kind == wanted or kind.startswith(f"{wanted}.")


def _paper_at(app: App, cursor: Cursor) -> tuple[Paper, str] | None:
    """The document with actions that the cursor is in, and its text."""
    if f"/{FOLDER}/" not in cursor.uri:
        return None
    paper = paper_of(app.services.workspace.folders, Path(unquote(urlsplit(cursor.uri).path)))
    document = app.services.workspace.documents.get(cursor.uri)
    return None if paper is None or document is None else (paper, document.text)


async def _for_paper(app: App, paper: Paper, content: str) -> list[dict[str, Any]]:
    if paper.kind == "setup":  # saving it does what it asks for
        return []
    if paper.kind == "changes":
        return await _for_changes(app, paper.item_id or "", content)
    if paper.kind == "review":
        return await _for_review(app, paper.item_id or "", content)
    if paper.kind == "plan":
        return _for_plan(app, paper.item_id or "", content)
    if not (text := written_below(content)):
        return []
    argument = {"id": paper.item_id, "answer": text}
    return [action(f"answer “{short(text)}”", "refactor.rewrite", ANSWER, argument)]


def _for_plan(app: App, path: str, text: str) -> list[dict[str, Any]]:
    """The start of a plan, or why it cannot be started yet."""
    plan = plan_document.read(text)
    argument = {"uri": Path(path).as_uri()}
    if not isinstance(plan, plan_document.PlanProblem):
        steps = f"{len(plan.steps)} step{'s' * (len(plan.steps) > 1)}"
        return [action(f"start this plan ({steps})", "refactor.rewrite", PLAN, argument)]
    if app.services.runtime.editor.traits.can_disable_actions:
        return [_disabled(plan_document.START, "refactor.rewrite", plan.message)]
    why = short(plan.message, _LONGEST_PROBLEM)
    return [action(f"start this plan: not yet, {why}", "refactor.rewrite", PLAN, argument)]


async def _for_review(app: App, item_id: str, text: str) -> list[dict[str, Any]]:
    try:
        edit = await app.sessions.under_review(item_id)
    except StoreReadError:  # without the log nothing can be approved
        return []
    if edit is None:
        item = next((one for one in app.sessions.waiting if one.id == item_id), None)
        note = note_below(text)
        return list(with_note(item, note)) if item is not None and item.kind == "approval" and note else []
    decided = review_document.read(text, edit)
    of_all = {"together": True} if edit.together else {}
    no: dict[str, Any] = {"id": item_id, "decision": "reject", **of_all}
    if isinstance(decided, Unclear):
        if app.services.runtime.editor.traits.can_disable_actions:
            not_yet = _disabled(review_document.APPLY, "refactor.rewrite", decided.message)
        else:
            not_yet = action(
                f"apply the review: not yet. {short(decided.message, _LONGEST_PROBLEM)}",
                "refactor.rewrite",
                OPEN,
                {"what": "review", "id": item_id},
            )
        return [not_yet, action("reject all", "refactor.rewrite", ANSWER, no)]
    yes: dict[str, Any] = {"id": item_id, "decision": "allow_once", **of_all}
    if decided:
        yes["review"] = [one.to_wire() for one in decided]
    if reasons := [one for one in decided if one.reason]:
        no["review"] = [{"id": one.id, "decision": "reject", "reason": one.reason} for one in reasons]
    return [
        action(f"apply the review ({_counted(edit, decided)})", "refactor.rewrite", ANSWER, yes),
        action("reject all", "refactor.rewrite", ANSWER, no),
    ]


async def _for_changes(app: App, turn_id: str, text: str) -> list[dict[str, Any]]:
    """The undo of what is left out of the changes of a turn."""
    try:
        found = await app.sessions.made_by(turn_id)
    except StoreReadError:
        return []
    if isinstance(found, Refused):
        return []
    session_id, made = found
    left_out, again = review_document.read(text, made), {"what": "changes", "id": turn_id}
    if isinstance(left_out, Unclear):
        why = short(left_out.message, _LONGEST_PROBLEM)
        return [action(f"show the changes anew: {why}", "refactor.rewrite", OPEN, again)]
    if not left_out:
        return []
    there = {name for change in made.changes for name in change.ids}
    possible = sum(one.id in there for one in left_out)
    if not possible:
        why = short(made.gone.get(left_out[0].id, "it is not in place any more"), _LONGEST_PROBLEM)
        return [action(f"show the changes anew: {why}", "refactor.rewrite", OPEN, again)]
    what = {"sessionId": session_id, "ids": [one.id for one in reversed(left_out)], "says": True}
    count = f"{possible} of {len(there)}"
    return [action(f"undo what is left out ({count})", "refactor.rewrite", UNDO, waited_for(app, what))]


def _counted(edit: UnderReview, decided: Sequence[ReviewedHunk]) -> str:
    hunks = sum(len(change.hunks) for change in edit.changes)
    left_out = sum(one.decision == "reject" for one in decided)
    amended = sum(one.text is not None for one in decided)
    parts = [f"{hunks - left_out} of {hunks} accepted", *([f"{amended} of them edited"] if amended else [])]
    return ", ".join(parts)


def _disabled(title: str, kind: str, reason: str) -> dict[str, Any]:
    return {"title": f"{ACTION_PREFIX}{title}", "kind": kind, "disabled": {"reason": reason}}


def _for_commands(app: App, cursor: Cursor, text: str) -> Iterator[dict[str, Any]]:
    """The custom commands, for a selection; what was listed last, as nothing is read here."""
    encoding = app.services.workspace.documents.encoding
    if offset_of(text, cursor.start, encoding) >= offset_of(text, cursor.end, encoding):
        return
    app.services.brought.commands.look_soon()
    for command in app.services.brought.commands.known[:_MOST_COMMANDS]:
        argument = {
            "prompt": f"/{command.name}",
            "context": {"selection": {"uri": cursor.uri, "range": cursor.range}},
        }
        about = f": {short(command.description)}" if command.description else ""
        yield action(f"/{command.name}{about}", "refactor.rewrite", RUN, _continued(app, argument))


def _to_a_model(app: App) -> Iterator[dict[str, Any]]:
    """The way to a model, where none is set that can be had."""
    if app.lacks_model:
        yield action(CHOOSE_MODEL, ACTION_KIND, OPEN, {"what": "setup"})


def _going_on(app: App, text: str, argument: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The other ways to give a task than in the conversation that goes on: in a new one, or in a fork of that one.

    Args:
        app: The services of the server.
        text: What the task is called.
        argument: The task, which names no session.
    """
    if (latest := app.sessions.latest) is None:
        return
    yield action(f"as a new task: {text}", "refactor.rewrite", RUN, argument)
    session = next((one for one in app.sessions.running if one.id == latest), None)
    if session is None or session.record.state.current is None:
        forked = {**argument, "fork": {"sessionId": latest}}
        yield action(f"fork from here: {text}", "refactor.rewrite", RUN, forked)


def _continued(app: App, argument: dict[str, Any]) -> dict[str, Any]:
    """A task in this client's latest conversation; in a new one where it has none."""
    return {**argument, "continue": True} if app.sessions.latest is not None else argument


def _for_place(app: App, cursor: Cursor, diagnostics: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    document = app.services.workspace.documents.get(cursor.uri)
    path = app.services.workspace.folders.display_of(cursor.uri)
    if document is None or f"{FOLDER}/" in path:
        return
    selection = {"uri": cursor.uri, "range": cursor.range}
    if found := _instruction(document.text, cursor.start.line, cursor.end.line):
        line, text = found
        # What it says comes first, as titles and messages show the beginning alone.
        place = f"the comment in {path}, line {line + 1}"
        prompt = f"{text} (this is what {place}, asks for: do it, and remove the comment)"
        argument = {"prompt": prompt, "context": {"selection": selection}}
        yield action(f"do “{short(text)}”", "refactor.rewrite", RUN, _continued(app, argument))
        yield from _going_on(app, f"“{short(text)}”", argument)
    for item in diagnostics[:_MOST_DIAGNOSTICS]:
        message = str(item.get("message", "")).strip()
        if message:
            context = {"selection": selection, "diagnostics": [{"uri": cursor.uri, "items": [item]}]}
            prompt = f"Fix this problem in {path}: {message}"
            yield action(
                f"fix “{short(message)}”",
                "quickfix",
                RUN,
                _continued(app, {"prompt": prompt, "context": context}),
                diagnostics=[item],
            )
    yield from _for_commands(app, cursor, document.text)
    encoding = app.services.workspace.documents.encoding
    if offset_of(document.text, cursor.start, encoding) < offset_of(document.text, cursor.end, encoding):
        argument = {
            "prompt": f"Explain the selected text of {path}.",
            "mode": "explore",
            "context": {"selection": selection},
        }
        yield action("explain selection", ACTION_KIND, RUN, _continued(app, argument))
    yield action("write a task…", ACTION_KIND, OPEN, {"what": "task"})


def _instruction(text: str, first: int, last: int) -> tuple[int, str] | None:
    lines = re.split(r"\r\n|\n|\r", text)
    for number in range(first, min(last, first + 200, len(lines) - 1) + 1):
        if match := _INSTRUCTION.search(lines[number]):
            text = lines[number][match.end() :].strip()
            end = next((one for one in _COMMENT_ENDS if text.endswith(one)), "")
            if text := text.removesuffix(end).rstrip():
                return number, text
    return None


async def _for_change(app: App, cursor: Cursor) -> list[dict[str, Any]]:
    document = app.services.workspace.documents.get(cursor.uri)
    if document is None or not app.sessions.running:
        return []
    path, lines = (
        app.services.workspace.folders.display_of(cursor.uri),
        range(cursor.start.line + 1, cursor.end.line + 2),
    )
    try:
        found = await app.sessions.hunk_at(path, document.text, lines)
    except StoreReadError:  # who takes a change back is told why it cannot be
        return []
    if found is None:
        return []
    argument = {"sessionId": found[0], "scope": "hunk", "id": found[1]}
    return [action("undo this change", ACTION_KIND, UNDO, waited_for(app, argument))]


async def _hunks_here(app: App, cursor: Cursor) -> set[tuple[str, bool]]:
    """The sessions with hunks in the document, and whether there are undone ones: the editor's own undo counts."""
    document = app.services.workspace.documents.get(cursor.uri)
    if document is None or not app.sessions.running:
        return set()
    path = app.services.workspace.folders.display_of(cursor.uri)
    try:
        found = await app.sessions.hunks_in(path, document.text)
    except StoreReadError:
        return set()
    return {(session_id, hunk.undone) for session_id, hunk in found}


def _for_sessions(app: App, here: set[tuple[str, bool]], in_sight: str | None) -> Iterator[dict[str, Any]]:
    """What is done to the conversation in sight, or else to the latest of which it can be done."""
    running = sorted(app.sessions.running, key=lambda session: session.id == in_sight)
    for session in reversed(running):
        if turn_id := session.record.state.current:
            if session.retry_in is not None:
                yield action("retry now", ACTION_KIND, RETRY, {"turnId": turn_id})
            yield action("cancel turn", ACTION_KIND, CANCEL, cancelled(turn_id))
            break
    else:
        yield from _failed(running)
    for session in reversed(running):
        parts = session.record.state.journal.to_undo("turn", None)
        if (session.id, False) in here or parts:
            yield _undo_turn(app, session.id, older_turn(session.record.state, parts))
            if parts and (turn_id := parts[0].record.turn_id) is not None:
                yield action("show what changed", ACTION_KIND, OPEN, {"what": "changes", "id": turn_id})
            break
    for session in reversed(running):
        if (session.id, True) in here or session.record.state.journal.to_redo():
            yield action("redo", ACTION_KIND, REDO, waited_for(app, {"sessionId": session.id}))
            break


def _undo_turn(app: App, session_id: str, named: UndoneTurn | None) -> dict[str, Any]:
    """The undo of a turn, of a certain one where its title names one: the latest that began needs no name."""
    argument = {"sessionId": session_id, "scope": "turn"}
    if named is None:
        return action("undo turn", ACTION_KIND, UNDO, waited_for(app, argument))
    what, argument = short(named.prompt, SHORT_PROMPT), {**argument, "id": named.turn_id}
    return action(f"undo turn “{what}”", ACTION_KIND, UNDO, waited_for(app, argument))


def _failed(running: list[Session]) -> Iterator[dict[str, Any]]:
    """What failed last, once more: the model could not be reached, or had no key, and now it may."""
    if not running or not (turns := list(running[-1].turns.values())):
        return
    turn = turns[-1]
    if turn.outcome == "budget_exhausted":
        what = short(turn.prompt, SHORT_PROMPT)
        yield action(f"continue “{what}”", ACTION_KIND, CONTINUE, {"sessionId": running[-1].id})
    if turn.outcome != "failed":
        return
    argument: dict[str, Any] = {"prompt": turn.prompt, "mode": turn.mode, "sessionId": running[-1].id}
    if turn.context is not None:
        argument["context"] = turn.context.to_wire()
    yield action(f"try again “{short(turn.prompt, SHORT_PROMPT)}”", ACTION_KIND, RUN, argument)


def _for_resting(app: App, task_text: str) -> Iterator[dict[str, Any]]:
    """What can be done about the turn that was cut off last, unless the task document shows it and offers that itself."""
    told = app.task_document.told_in(task_text)
    for one in app.sessions.resting:
        if told is None or told.session_id != one.session_id:
            what, session = short(one.prompt, SHORT_PROMPT), {"sessionId": one.session_id}
            yield action(f"resume “{what}”", ACTION_KIND, RESUME, session)
            yield action(f"cancel “{what}”", ACTION_KIND, CANCEL, cancelled(one.turn_id))
            if one.undoes is not None:
                yield _undo_turn(app, one.session_id, one.undoes)
            if one.can_redo:
                yield action(f"redo “{what}”", ACTION_KIND, REDO, waited_for(app, session))
            return


def _for_open_item(app: App, reviewed: str | None) -> Iterator[dict[str, Any]]:
    # What is reviewed is decided about in its document, with the edits that were asked about together with it.
    open_items = app.sessions.waiting
    groups = {item.group for item in open_items if item.id == reviewed and item.group}
    if not (waiting := [item for item in open_items if item.id != reviewed and item.group not in groups]):
        return
    item, what = waiting[0], subject(waiting[0])
    together = [one for one in waiting if item.group and one.group == item.group]
    if len(together) > 1:
        of_all, what = {"id": item.id, "together": True}, f"{what} and {len(together) - 1} more"
        yield action(
            f"{allow_all(len(together))} — {what}", ACTION_KIND, ANSWER, {**of_all, "decision": "allow_once"}
        )
        if app.services.runtime.editor.traits.can_show_documents:
            yield action(f"{REVIEW} — {what}", ACTION_KIND, OPEN, {"what": "review", "id": item.id})
        yield action(f"{REJECT} — {what}", ACTION_KIND, ANSWER, {**of_all, "decision": "reject"})
        return
    if item.kind == "approval":
        titles = [title for title in item.options if title in DECISIONS and title != ALWAYS_ALLOW]
        if app.services.runtime.editor.traits.can_show_documents:
            # A client that shows no questions has no other way to see what it is asked for.
            yes, no = yes_and_no(titles)
            titles = [yes, REVIEW, no]
        for title in titles[:3]:
            if title == REVIEW:
                yield action(f"{title} — {what}", ACTION_KIND, OPEN, {"what": "review", "id": item.id})
            else:
                argument = {"id": item.id, "decision": DECISIONS[title]}
                yield action(f"{title} — {what}", ACTION_KIND, ANSWER, argument)
        return
    for option in item.options[: 2 if item.allow_free_form else 3]:
        yield action(f"{short(option)} — {what}", ACTION_KIND, ANSWER, {"id": item.id, "answer": option})
    if item.allow_free_form:
        yield action(f"{ANSWER_IN_DOCUMENT} — {what}", ACTION_KIND, OPEN, {"what": "answer", "id": item.id})


UNDO_LENS: Final = "undo this change"
REDO_LENS: Final = "redo this change"


async def code_lenses(app: App, uri: str) -> list[dict[str, Any]]:
    """The lenses of a document; none where the settings want none."""
    document = app.services.workspace.documents.get(uri)
    path = app.services.workspace.folders.display_of(uri)
    if document is None or not app.settings.now.code_lens or f"{FOLDER}/" in path:
        return []
    try:
        found = await app.sessions.hunks_in(path, document.text)
    except StoreReadError:  # who takes a change back is told why it cannot be
        return []
    last = max(len(split_lines(document.text)), 1)
    lenses: list[dict[str, Any]] = []
    for session_id, hunk in found:
        place = {"line": min(hunk.line, last) - 1, "character": 0}
        title = f"{ACTION_PREFIX}{REDO_LENS if hunk.undone else UNDO_LENS}"
        argument = {"sessionId": session_id, "scope": "hunk", "id": hunk.id}
        command = {"title": title, "command": REDO if hunk.undone else UNDO, "arguments": [argument]}
        lenses.append({"range": {"start": place, "end": place}, "command": command})
    return sorted(lenses, key=lambda lens: lens["range"]["start"]["line"])
