"""Refuses a change of a file that somebody else has changed at the same place since the model saw it.

The model learns what is there now and makes the change anew; a change at another place goes through.
"""

import asyncio

from outrider.tools.context import Action, ReadContext, SeenText, ToolContext, ToolResult, error
from outrider.workspace.documents.overlay import as_seen, is_saved_as
from outrider.workspace.edits.change import Change
from outrider.workspace.paths import Located
from outrider.workspace.text.encoding import apart
from outrider.workspace.text.lines import split_lines
from outrider.workspace.watch.read_state import Clash, carried_over, clash

AROUND = 3
"""Lines around the place that are shown."""
MOST_CHARACTERS = 4000
"""Of the text that is shown."""


async def refused(action: Action, context: ToolContext) -> ToolResult | None:
    """Why a change that was worked out must not happen, for the model; None where it may.

    Args:
        action: What a call is about to do.
        context: The turn.
    """
    moved = {change.to.display: change.located.display for change in action.changes if change.to is not None}
    for change in action.changes:
        name = change.located.display
        # Mostly that is just the text that is there.
        before = change.contents.get("before")
        at_hand = {} if before is None else {before[0]: change.before or ""}
        seen = await context.knowledge.seen(moved.get(name, name), at_hand)
        if problem := await _clash(change, seen, action):
            return problem
    return None


async def line_now(located: Located, text: str, after_line: int, context: ReadContext) -> int | ToolResult:
    """The line of a text after which lines are to come, given by its number in the text that the model has last seen.

    Args:
        located: The file.
        text: Its text as it is.
        after_line: The line as the model counts, from 1; 0 for the top.
        context: The turn.

    Returns:
        The line of `text`, from 1, or why there is none: somebody else has changed the place.
    """
    seen = await context.knowledge.seen(located.display)
    known = None if seen is None or seen.text is None else as_seen(seen.text, text)
    if known is None or known == text:
        return after_line
    at = await asyncio.to_thread(carried_over, known, text, after_line)
    return _changed(located.display, text, at) if isinstance(at, Clash) else at


async def _clash(change: Change, seen: SeenText | None, action: Action) -> ToolResult | None:
    if change.before is None or change.operation not in {"edit", "delete"}:
        return None
    unread = seen is None or not seen.whole
    if action.whole and unread and change.before:  # from an empty file nothing goes
        name = change.located.shown
        return error(
            f"{name} exists, and you have not read its current text, so it was not replaced. Read it with read_file and then "
            "write it again, or change a part of it with edit_file."
        )
    # An editor may hide the mark of a file and the kind of its line ends, then or now.
    known = None if seen is None or seen.text is None else as_seen(seen.text, change.before)
    is_same = known is not None and change.operation == "delete" and is_saved_as(known, change.before)
    if seen is None or known == change.before or is_same:
        return None
    if action.whole or change.after is None or known is None:
        return _changed(change.located.display, change.before, Clash(0, len(split_lines(change.before))))
    place = await asyncio.to_thread(clash, known, change.before, change.after)
    return None if place is None else _changed(change.located.display, change.before, place)


def _changed(name: str, text: str, place: Clash) -> ToolResult:
    lines = split_lines(apart(text)[1])
    first, last = max(0, place.start - AROUND), min(len(lines), place.end + AROUND)
    shown = "".join(f"{number:>6}\t{line}" for number, line in enumerate(lines[first:last], start=first + 1))
    if len(shown) > MOST_CHARACTERS:
        shown = (
            f"{shown[:MOST_CHARACTERS]}\n[{len(shown) - MOST_CHARACTERS} further characters: read the file]"
        )
    now = f"Lines {first + 1} to {last} are now:\n{shown}" if shown else "It is empty now."
    return error(f"{name} was not changed: someone else changed this place since you last read it. {now}")
