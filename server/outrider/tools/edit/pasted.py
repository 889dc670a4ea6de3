"""Texts into which the model pasted the line numbers that `read_file` shows before each line."""

import asyncio

from outrider.ports.patterns import linear
from outrider.tools.context import Action, ToolResult, error
from outrider.tools.edit.changes import action_for
from outrider.workspace.edits.change import Change
from outrider.workspace.text.diff import line_hunks, split_lines

_AS_SHOWN = linear("pasted.as_shown", r"^ *[0-9]+\t")
_WIDTH = 6
"""Of the numbers, which stand to the right: other columns of numbers are not so wide."""


async def action_for_text(*changes: Change, note: str = "", whole: bool = False) -> Action | ToolResult:
    """The action that makes changes of texts, or why it makes none: what they put in has line numbers, which would be in the files."""
    for change in changes:
        if change.after and await asyncio.to_thread(has_line_numbers, change.before or "", change.after):
            return error(
                f"{change.located.shown}: the new lines begin with line numbers, as read_file shows them. Nothing was changed: give "
                "the text without the numbers and the tab after them. If the file is to have them, write it with a command."
            )
    return await action_for(*changes, note=note, whole=whole)


def has_line_numbers(before: str, after: str) -> bool:
    """Whether each line that a change puts in begins with its number, as `read_file` shows it, and no line did before."""
    if "\t" not in after:
        return False
    added = [line for hunk in line_hunks(before, after) for line in split_lines(hunk.added) if line.strip()]
    numbers = [_number(line) for line in added]
    first = numbers[0] if numbers else None
    if first is None or numbers != list(range(first, first + len(numbers))):
        return False
    return all(_number(line) is None for line in split_lines(before))


def _number(line: str) -> int | None:
    """The number that a line begins with as `read_file` shows it; None if it has none."""
    shown = _AS_SHOWN.search(line[: 4 * _WIDTH])
    return int(shown.group()) if shown and len(shown.group()) > _WIDTH else None
