"""Placeholders of secrets in what the model wants: put back in the file where the secret was, refused everywhere else.

A secret that the user gave in their own words may go where they say yes to it. A placeholder is never written to a file, and no command and no tool of the
client gets one: it means nothing there.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.ports.secrets import PLACEHOLDER
from outrider.tools.context import Action, ReadContext, ToolResult, error
from outrider.tools.registry import Tool
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import PathProblem

MOST_FILES = 50
"""Files in which a secret is looked for that was known before a restart; those that were known last."""
MOST_CHARACTERS = 1_000_000
"""Of a text that is looked through for it."""
_STAYS = (
    "stands for a secret that is hidden from you. It can be kept or moved within its file, but not used anywhere else. Leave it out, "
    "or ask the user to insert it."
)


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call, with the secrets that its placeholders stand for."""

    arguments: str
    secrets: Mapping[str, str] = field(default_factory=dict[str, str])
    """What was put in, by its placeholder."""


async def put_in(tool: Tool[Any], arguments: str, context: ReadContext) -> Given | ToolResult:
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


def checked(action: Action, secrets: Mapping[str, str], context: ReadContext) -> Action | ToolResult:
    """Check what an edit does with secrets.

    Args:
        action: What the call is about to do.
        secrets: The secrets that were put into its arguments, by their placeholders.
        context: The turn.

    Returns:
        The action, which the user is asked about where it writes a secret that they gave; or why it must not happen.
    """
    written: list[str] = []
    for change in action.changes:
        names = " ".join(place.display for place in (change.located, change.to) if place is not None)
        if in_name := [
            *context.masking.placeholders(names),
            *(one for one, secret in secrets.items() if secret in names),
        ]:
            return error(f"Nothing was changed: {in_name[0]} {_STAYS}")
        if change.after is None or change.after == change.before:
            continue
        before = change.before or ""
        unknown = [
            one
            for hunk in change.difference.hunks
            for one in context.masking.placeholders(hunk.added)
            if one not in hunk.removed
        ]
        more = [one for one, secret in secrets.items() if change.after.count(secret) > before.count(secret)]
        wrong = [*unknown, *(one for one in more if not context.masking.is_from_user(secrets[one]))]
        if wrong:
            return error(f"{change.located.display} was not changed: {wrong[0]} {_STAYS}")
        written += (f"{one} to {change.located.display}" for one in more)
    if not written:
        return action
    told = f"it writes what you gave as {', '.join(written)}: the secret itself, not the placeholder"
    access = replace(action.access, grant=None, writes_secret=told)
    return replace(action, access=access, covers="", always=())


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


async def _look_for_them(placeholders: Sequence[str], context: ReadContext) -> None:
    """Look through the files that the session knows, until it is known again what the placeholders stand for."""
    for path in list(reversed(context.knowledge.known_paths()))[:MOST_FILES]:
        located = await context.workspace.folders.locate(path)
        if isinstance(located, PathProblem) or not located.inside:
            continue
        snapshot = await context.workspace.overlay.read(located)
        if not isinstance(snapshot, ReadProblem):
            if is_secret_file(located.display):
                context.masking.learn_settings(snapshot.text)
            context.masking.masked(snapshot.text[:MOST_CHARACTERS])
        if all(context.masking.original(one) is not None for one in placeholders):
            return
