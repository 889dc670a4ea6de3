"""What the result of an edit says besides that it was made: how its place was found, the lines now, new syntax errors."""

import asyncio
from collections.abc import Sequence

from outrider.tools.context import Action, ToolContext
from outrider.workspace.edits.change import Change, Written
from outrider.workspace.text.diff import line_hunks
from outrider.workspace.text.encoding import apart
from outrider.workspace.text.lines import split_lines

NOTE = "\nNote: "
"""What stands before the note of an action."""
NOW = "\nNow in "
"""What stands before the lines of a file."""
FAULT = "\nNew syntax error in "
"""What stands before what cannot be parsed any more."""
VERDICT = "\nLanguage server: "
"""What stands before what an edit did to the problems."""
AROUND = 3
"""Lines around a change that are shown."""
MOST_ADDED = 8
"""Lines of one place that were put in and are shown."""
MOST_LINES = 40
"""That are shown of all changes of a call."""
LINE_WIDTH = 200
"""Characters of a line that are shown."""
MOST_FAULTS = 3
"""Syntax errors that are named in one file."""


async def besides(context: ToolContext, action: Action, done: Sequence[tuple[Change, Written]]) -> str:
    """What the result of an action says after what was done.

    Args:
        context: The turn.
        action: The action.
        done: Its changes, all of which are in place.
    """
    if action.besides is not None:
        return action.besides
    told = f"{NOTE}{action.note}" if action.note else ""
    left = MOST_LINES
    faults = ""
    for change, written in done:
        before = apart((change.before if written.without is None else written.without) or "")[1]
        after = apart(written.after or "")[1]
        if change.operation == "edit" and left > 0:
            lines = await asyncio.to_thread(_lines_now, before, after, left)
            left -= len(lines)
            told += "\n".join([f"{NOW}{change.located.shown}:", *lines]) if lines else ""
        if change.operation in {"edit", "create"}:
            faults += await _faults(context, change, before, after)
    return told + faults


def rest(content: str) -> str:
    """What the content of a result says besides what was done."""
    starts = [at for mark in (NOTE, NOW, FAULT, VERDICT) if (at := content.find(mark)) >= 0]
    return content[min(starts) :] if starts else ""


def _lines_now(before: str, after: str, most: int) -> list[str]:
    """The lines around each place that differs, as they are after it, with their numbers."""
    lines, wanted = split_lines(after), list[int]()
    hunks, shift = line_hunks(before, after), 0
    for hunk in hunks:
        added, start = len(split_lines(hunk.added)), hunk.line - 1 + shift
        end = start + added
        half = MOST_ADDED // 2
        inside = [start, end] if added <= MOST_ADDED else [start, start + half, end - half, end]
        inside[0], inside[-1] = max(0, start - AROUND), min(len(lines), end + AROUND)
        wanted += [n for at in range(0, len(inside), 2) for n in range(inside[at], inside[at + 1])]
        shift += added - len(split_lines(hunk.removed))
    shown: list[str] = []
    last = -1
    for number in sorted(set(wanted)):
        if len(shown) >= most:
            shown.append("     … more lines are changed")
            break
        if shown and number != last + 1:
            shown.append("     …")
        line = lines[number].rstrip("\r\n")
        shown.append(f"{number + 1:>6}\t{line[:LINE_WIDTH]}{'…' if len(line) > LINE_WIDTH else ''}")
        last = number
    return shown


async def _faults(context: ToolContext, change: Change, before: str, after: str) -> str:
    found = await context.workspace.syntax.new_faults(change.located.display, before, after)
    if not found:
        return ""
    lines = split_lines(after)
    told: list[str] = []
    for fault in found[:MOST_FAULTS]:
        line = lines[fault.line - 1].strip()[:LINE_WIDTH] if fault.line <= len(lines) else ""
        what = f"{fault.missing!r} is missing in or before" if fault.missing else "cannot be parsed:"
        told.append(f"line {fault.line} {what} `{line}`")
    more = f" … and {len(found) - MOST_FAULTS} more" if len(found) > MOST_FAULTS else ""
    return f"{FAULT}{change.located.shown}: {'; '.join(told)}{more}"
