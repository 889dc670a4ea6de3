"""Placeholders of secrets in what the model wants: put back where the secret was, refused everywhere else.

A placeholder is never written to a file, and no command and no tool of the client gets one: it means nothing there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from outrider.permissions.secret_files import is_secret_file
from outrider.ports.placeholder import PLACEHOLDER
from outrider.tools.context import Action, ToolContext
from outrider.tools.registry import Tool
from outrider.tools.result import ToolResult, error
from outrider.workspace.overlay import ReadProblem
from outrider.workspace.paths import PathProblem

MOST_FILES = 50
"""Files in which a secret is looked for that was known before a restart; those that were known last."""
MOST_CHARACTERS = 1_000_000
"""Of a text that is looked through for it."""
_STAYS = (
    "stands for a secret that is not shown to you. It can stay where it is in its file, and nowhere else. Leave it out, "
    "or have the person put it in."
)


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call, with the secrets that its placeholders stand for."""

    arguments: str
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """What was put in, by its placeholder."""


async def put_in(tool: Tool[Any], arguments: str, context: ToolContext) -> Given | ToolResult:
    """Put the secrets into the arguments of an edit.

    Args:
        tool: What is called.
        arguments: The arguments as the model wrote them.
        context: The turn.

    Returns:
        The arguments, or why the call must not happen.
    """
    placeholders = context.masking.placeholders(arguments)
    if not placeholders or tool.effect in {"read", "ask"}:
        return Given(arguments)
    if tool.effect != "edit" or not tool.is_own:
        return error(f"Not run: {placeholders[0]} {_STAYS}")
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return Given(arguments)  # which is told when they are read
    if any(context.masking.original(one) is None for one in placeholders):
        await _look_for_them(placeholders, context)
    secrets = {one: secret for one in placeholders if (secret := context.masking.original(one)) is not None}
    return Given(json.dumps(_with(secrets, given), ensure_ascii=False), secrets)


def refused(action: Action, secrets: Mapping[str, str], context: ToolContext) -> ToolResult | None:
    """Why an edit must not happen because of its placeholders; None where it may.

    Args:
        action: What the call is about to do.
        secrets: The secrets that were put into its arguments, by their placeholders.
        context: The turn.
    """
    for change in action.changes:
        names = " ".join(place.display for place in (change.located, change.to) if place is not None)
        if in_name := [
            *context.masking.placeholders(names),
            *(one for one, secret in secrets.items() if secret in names),
        ]:
            return error(f"Nothing was changed: {in_name[0]} {_STAYS}")
        if change.after is None or change.after == change.before:
            continue
        for hunk in change.difference.hunks:
            wrong = [
                *(one for one in context.masking.placeholders(hunk.added) if one not in hunk.removed),
                *(
                    one
                    for one, secret in secrets.items()
                    if hunk.added.count(secret) > hunk.removed.count(secret)
                ),
            ]
            if wrong:
                return error(f"{change.located.display} was not changed: {wrong[0]} {_STAYS}")
    return None


def _with(secrets: Mapping[str, str], value: Any) -> Any:
    """A JSON value with the secrets in its strings; a path is left as it is."""
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: secrets.get(match.group(), match.group()), value)
    if isinstance(value, list):
        return [_with(secrets, item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {key: item if key == "path" else _with(secrets, item) for key, item in fields.items()}
    return value


async def _look_for_them(placeholders: Sequence[str], context: ToolContext) -> None:
    """Look through the files that the session knows, until it is known again what the placeholders stand for."""
    for path in list(reversed(context.known_paths()))[:MOST_FILES]:
        located = await context.folders.locate(path)
        if isinstance(located, PathProblem) or not located.inside:
            continue
        snapshot = await context.overlay.read(located)
        if not isinstance(snapshot, ReadProblem):
            if is_secret_file(located.display):
                context.masking.learn_settings(snapshot.text)
            context.masking.masked(snapshot.text[:MOST_CHARACTERS])
        if all(context.masking.original(one) is not None for one in placeholders):
            return
