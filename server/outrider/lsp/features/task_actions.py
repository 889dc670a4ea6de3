"""The code actions of the task document: with them a client that has nothing else has the whole agent.

They are made of what the server knows. Of the text only the draft is taken, and where the cursor is: an open item has
actions of its own only while the document has it word for word, as a yes is to what can be read.
"""

from collections.abc import Iterator
from typing import Any

from outrider.agent.interaction.inbox import yes_and_no
from outrider.agent.task_document.conversation import Conversation
from outrider.app import App
from outrider_protocol import (
    ACTION_KIND,
    ACTION_PREFIX,
    ALLOW_ONCE,
    ALLOW_SESSION,
    ALWAYS_ALLOW,
    ALWAYS_EVERYWHERE,
    ALWAYS_HERE,
    ANSWER,
    CANCEL,
    DECISIONS,
    KEEP,
    OPEN,
    PUT_BACK,
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

SHORT_PROMPT = 40
"""Characters of a task's prompt in the titles about one that was cut off."""
_IN_THE_EDITOR = "cancelled in the editor"


def action(title: str, kind: str, command: str, argument: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A code action that does a command."""
    titled = f"{ACTION_PREFIX}{title}"
    return {
        "title": titled,
        "kind": kind,
        "command": {"title": titled, "command": command, "arguments": [argument]},
        **more,
    }


def waited_for(app: App, argument: dict[str, Any]) -> dict[str, Any]:
    """What to take back, told whether the answer may wait for it."""
    return {**argument, "wait": False} if app.services.runtime.editor.traits.waits_for_commands else argument


def cancelled(turn_id: str) -> dict[str, Any]:
    """The turn to cancel, and how it is told: the user took an action and knows of no command."""
    return {"turnId": turn_id, "reason": _IN_THE_EDITOR}


def with_note(item: Open, note: str) -> Iterator[dict[str, Any]]:
    """What can be decided of an approval with what the user wrote about it: the model is told that."""
    yes, no = yes_and_no(item.options)
    for title in (no, yes):
        argument = {"id": item.id, "decision": DECISIONS[title], "note": note}
        said = f"{title}, saying “{short(note)}” — {subject(item)}"
        yield action(said, "refactor.rewrite", ANSWER, argument)


def subject(item: Open) -> str:
    """What an item is about, beside a decision: a title that names one itself would name it twice."""
    return short(item.title.removeprefix(f"{RUN_OUTSIDE}: ").removeprefix(f"{PUT_BACK}: "))


def short(text: str, length: int = 60) -> str:
    """A text as a part of a title."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


_DECISIONS: dict[str, dict[str, str]] = {
    ALLOW_ONCE: {"decision": "allow_once"},
    RUN_OUTSIDE: {"decision": "allow_once"},
    ALLOW_SESSION: {"decision": "allow_session"},
    ALWAYS_HERE: {"decision": "allow_always", "scope": "workspace"},
    ALWAYS_EVERYWHERE: {"decision": "allow_always", "scope": "everywhere"},
    REJECT: {"decision": "reject"},
    PUT_BACK: {"decision": "put_back"},
    KEEP: {"decision": "keep"},
}


def task_actions(app: App, text: str, line: int) -> list[dict[str, Any]]:
    """The actions of the task document.

    Args:
        app: The services of the server.
        text: The document.
        line: Where the cursor is, from 0.
    """
    document = app.task_document
    document.look()
    here = next((one.item for one, lines in document.sections_in(text) if line in lines), None)
    written = document.draft_in(text)
    document.offers(written)
    told = document.told_in(text)
    if here is not None:
        return [*_answers(here, written), *_going_on(app, told)]
    waiting = app.sessions.waiting
    actions = list(_elsewhere(waiting[0], written)) if waiting else []
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
    is_elsewhere = told is not None and app.sessions.is_elsewhere(told.session_id)
    is_running = is_elsewhere or (session is not None and session.record.state.current is not None)
    is_left = told is not None and told.unfinished is not None
    if told is not None and is_running:
        argument = {"sessionId": told.session_id, "text": written, **draft}
        yield action(f"Send “{what}” to the running task", "refactor.rewrite", STEER, argument)
    if is_running or is_left:
        yield action(f"Send “{what}” after the running task", "refactor.rewrite", RUN, sent)
    else:
        yield action(f"Send “{what}”", "refactor.rewrite", RUN, sent)
    if is_running and not is_elsewhere:
        return
    if told is not None:
        yield action(
            f"Send “{what}” as a new conversation", "refactor.rewrite", RUN, {"prompt": written, **draft}
        )
        if not (is_running or is_left):
            forked = {"prompt": written, "fork": same, **draft}
            yield action(f"Send “{what}” in a fork from here", "refactor.rewrite", RUN, forked)
    if is_elsewhere:
        return
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
    if app.sessions.is_elsewhere(told.session_id):
        if told.session_id not in {state.session_id for state in app.sessions.joined.states}:
            yield action("join the task", ACTION_KIND, RESUME, {"sessionId": told.session_id})
    elif told.unfinished is not None:
        yield action("resume the task", ACTION_KIND, RESUME, {"sessionId": told.session_id})
        yield action("cancel the task", ACTION_KIND, CANCEL, cancelled(told.unfinished.turn_id))
    left = next((one for one in app.sessions.resting if one.session_id == told.session_id), None)
    if told.changed if left is None else left.undoes is not None:
        argument = waited_for(app, {"sessionId": told.session_id, "scope": "turn"})
        yield action("undo turn", ACTION_KIND, UNDO, argument)
    if left is not None and left.can_redo:
        yield action("redo", ACTION_KIND, REDO, waited_for(app, {"sessionId": told.session_id}))
