"""What all code actions have in common."""

from typing import Any

from outrider.app import App
from outrider_protocol import ACTION_PREFIX


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


def short(text: str, length: int = 60) -> str:
    """A text as a part of a title."""
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"
