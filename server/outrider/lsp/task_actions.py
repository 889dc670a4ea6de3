"""The code actions of the task document: with them a client that has nothing else has the whole agent.

They are made of what is known here. Of the text only the person's words are taken, and where the cursor is: at an open
item only if that stands there word for word, as a yes is to what can be read.
"""

from collections.abc import Iterator
from typing import Any

from outrider.agent.task_document.conversation import Conversation
from outrider.app import App
from outrider.lsp.offering import SHORT_PROMPT, action, cancelled, short, subject, waited_for, with_note
from outrider_protocol import (
    ACTION_KIND,
    ALLOW_ONCE,
    ALLOW_SESSION,
    ALWAYS_ALLOW,
    ALWAYS_EVERYWHERE,
    ALWAYS_HERE,
    ANSWER,
    CANCEL,
    OPEN,
    REDO,
    REJECT,
    RESUME,
    REVIEW,
    RUN,
    RUN_OUTSIDE,
    STEER,
    UNDO,
)  # fmt: skip
from outrider_protocol.events import Open

_DECISIONS: dict[str, dict[str, str]] = {
    ALLOW_ONCE: {"decision": "allow_once"},
    RUN_OUTSIDE: {"decision": "allow_once"},
    ALLOW_SESSION: {"decision": "allow_session"},
    ALWAYS_HERE: {"decision": "allow_always", "scope": "workspace"},
    ALWAYS_EVERYWHERE: {"decision": "allow_always", "scope": "everywhere"},
    REJECT: {"decision": "reject"},
}


def task_actions(app: App, text: str, line: int) -> list[dict[str, Any]]:
    """The actions of the task document.

    Args:
        app: The house.
        text: The document.
        line: Where the cursor is, from 0.
    """
    document = app.task_document
    document.look()
    found = document.sections_in(text)
    here = next((one for one in found if one.start <= line < one.end), None)
    written = document.written_in(text)
    document.offers(written, *(one.written for one in found))
    told = document.told_in(text)
    if here is not None:
        return [*_answers(here.section.item, here.written or written), *_going_on(app, told)]
    waiting = app.sessions.waiting
    shown = {one.section.item.id: one.written for one in found}
    first = waiting[0] if waiting else None
    actions = list(_elsewhere(first, shown.get(first.id) or written)) if first is not None else []
    for item in waiting[1:]:
        if item.allow_free_form and written:
            actions.append(_answered(item, written))
    return [*actions, *(_sent(app, told, written) if written else ()), *_going_on(app, told)]


def _elsewhere(item: Open, written: str) -> Iterator[dict[str, Any]]:
    """What is offered away from where an item stands: nothing that saves rules, which only stand there."""
    return (one for one in _answers(item, written) if "scope" not in one["command"]["arguments"][0])


def _answers(item: Open, written: str) -> Iterator[dict[str, Any]]:
    what = subject(item)
    if item.allow_free_form and written:
        yield _answered(item, written)
    if item.kind != "approval":
        for option in item.options:
            yield action(f"{short(option)} — {what}", ACTION_KIND, ANSWER, {"id": item.id, "answer": option})
        return
    if written:
        yield from with_note(item, written)
    for option in item.options:
        for title in (ALWAYS_HERE, ALWAYS_EVERYWHERE) if option == ALWAYS_ALLOW else (option,):
            if title in _DECISIONS:
                argument = {"id": item.id, **_DECISIONS[title]}
                yield action(f"{title} — {what}", ACTION_KIND, ANSWER, argument)
    yield action(f"{REVIEW} — {what}", ACTION_KIND, OPEN, {"what": "review", "id": item.id})


def _answered(item: Open, written: str) -> dict[str, Any]:
    argument = {"id": item.id, "answer": written}
    return action(f"answer “{short(written)}” — {subject(item)}", "refactor.rewrite", ANSWER, argument)


def _sent(app: App, told: Conversation | None, written: str) -> Iterator[dict[str, Any]]:
    """What can be done with the text below the mark, in the conversation that is shown above it."""
    what = short(written)
    draft = {"draft": app.task_document.draft}
    session = next((one for one in app.sessions.running if told and one.id == told.session_id), None)
    same = {"sessionId": told.session_id} if told is not None else {}
    sent = {"prompt": written, **same, **draft}
    is_running = session is not None and session.record.state.current is not None
    is_left = (
        told is not None and told.unfinished is not None and not app.sessions.is_elsewhere(told.session_id)
    )
    if session is not None and is_running:
        argument = {"sessionId": session.id, "text": written, **draft}
        yield action(f"Send “{what}” to the running task", "refactor.rewrite", STEER, argument)
    if is_running or is_left:
        yield action(f"Send “{what}” once the task before it is done", "refactor.rewrite", RUN, sent)
    else:
        yield action(f"Send “{what}”", "refactor.rewrite", RUN, sent)
    if is_running:
        return
    if told is not None:
        yield action(
            f"Send “{what}” as a new conversation", "refactor.rewrite", RUN, {"prompt": written, **draft}
        )
    yield action(f"plan “{what}”", "refactor.rewrite", RUN, {**sent, "mode": "plan"})
    yield action(f"explore “{what}”", "refactor.rewrite", RUN, {**sent, "mode": "explore"})


def _going_on(app: App, told: Conversation | None) -> Iterator[dict[str, Any]]:
    """What can be done with a conversation that no process has open, or with what waits in one that is open here."""
    if told is None:
        return
    if any(session.id == told.session_id for session in app.sessions.running):
        for task in told.queued:
            what = short(task.prompt, SHORT_PROMPT)
            yield action(f"cancel “{what}”", ACTION_KIND, CANCEL, cancelled(task.turn_id))
        return
    if told.unfinished is not None and not app.sessions.is_elsewhere(told.session_id):
        yield action("resume the task", ACTION_KIND, RESUME, {"sessionId": told.session_id})
        yield action("cancel the task", ACTION_KIND, CANCEL, cancelled(told.unfinished.turn_id))
    left = next((one for one in app.sessions.resting if one.session_id == told.session_id), None)
    if told.changed if left is None else left.can_undo:
        argument = waited_for(app, {"sessionId": told.session_id, "scope": "turn"})
        yield action("undo turn", ACTION_KIND, UNDO, argument)
    if left is not None and left.can_redo:
        yield action("redo", ACTION_KIND, REDO, waited_for(app, {"sessionId": told.session_id}))
