"""What all code actions have in common."""

from collections.abc import Iterator
from typing import Any

from outrider.app import App
from outrider_protocol import ACTION_PREFIX, ALLOW_ONCE, ANSWER, REJECT, RUN_OUTSIDE
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
    return {**argument, "wait": False} if app.services.editor.traits.waits_for_commands else argument


def cancelled(turn_id: str) -> dict[str, Any]:
    """The turn to cancel, and how it is told: the person took an action and knows of no command."""
    return {"turnId": turn_id, "reason": _IN_THE_EDITOR}


def with_note(item: Open, note: str) -> Iterator[dict[str, Any]]:
    """What can be decided of an approval with what the person wrote about it: the model is told that."""
    yes = RUN_OUTSIDE if RUN_OUTSIDE in item.options else ALLOW_ONCE
    for title, decision in ((REJECT, "reject"), (yes, "allow_once")):
        argument = {"id": item.id, "decision": decision, "note": note}
        said = f"{title}, saying “{short(note)}” — {subject(item)}"
        yield action(said, "refactor.rewrite", ANSWER, argument)


def subject(item: Open) -> str:
    """What an item is about, beside a decision: a title that names one itself would name it twice."""
    return short(item.title.removeprefix(f"{RUN_OUTSIDE}: "))


def short(text: str, length: int = 60) -> str:
    """A text as a part of a title."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
