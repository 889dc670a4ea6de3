"""Differences as a terminal shows them: the lines of hunks, and what an approval tells of each file."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from outrider.cli.terminal import visible
from outrider.ports.text import cut_lines
from outrider_protocol import logged

NO_LINE_END: Final = "\\ No newline at end of file"
FILE_LINES: Final = 200
"""Lines that are shown of each of several files which are approved together; a file alone is shown in full."""

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(slots=True)
class FileDiff:
    """The part of a unified diff that is about one file."""

    path: str
    lines: list[str] = field(default_factory=list[str])
    """Its hunks."""
    added: int = 0
    removed: int = 0


def diff_lines(hunks: Sequence[logged.WireHunk]) -> list[str]:
    """Hunks as the lines of a unified diff without context."""
    lines: list[str] = []
    shift = 0
    for hunk in hunks:
        removed, added = (_split(text) for text in (hunk["removed"], hunk["added"]))
        line = hunk["line"]
        lines.append(f"@@ -{line},{len(removed)} +{line + shift},{len(added)} @@")
        lines += _marked("-", hunk["removed"])
        lines += _marked("+", hunk["added"])
        shift += len(added) - len(removed)
    return lines


def told_and_diffs(detail: str) -> tuple[list[str], list[FileDiff]]:
    """The detail of an approval: what it says, and the unified diffs below it, one for each file.

    A diff is read by the numbers of lines that its hunks give, so that no line of a file passes for a heading.
    """
    told: list[str] = []
    files: list[FileDiff] = []
    old = new = 0
    lines = detail.rstrip("\n").split("\n") if detail.strip() else []
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        file = files[-1] if files else None
        if file is not None and (old > 0 or new > 0 or line == NO_LINE_END):
            file.lines.append(line)
            mark = " " if line == NO_LINE_END else line[:1]
            file.added += mark == "+"
            file.removed += mark == "-"
            old -= line != NO_LINE_END and mark != "+"
            new -= line != NO_LINE_END and mark != "-"
        elif file is not None and (found := _HUNK.fullmatch(line)):
            old, new = (int(count or 1) for count in found.groups())
            file.lines.append(line)
        elif line.startswith("--- ") and following.startswith("+++ "):
            files.append(FileDiff(line.removeprefix("--- ")))
        elif file is None:
            told.append(line)
        elif line != f"+++ {file.path}":
            file.lines.append(line)
    return told, files


def counts(added: int, removed: int) -> str:
    """How many lines came and went."""
    return f"(+{added} −{removed})"


def counts_of(hunks: Iterable[logged.WireHunk]) -> str:
    """How many lines came and went with hunks."""
    added, removed = 0, 0
    for hunk in hunks:
        added += len(_split(hunk["added"]))
        removed += len(_split(hunk["removed"]))
    return counts(added, removed)


def cut(lines: Sequence[str], most: int | None) -> list[str]:
    """The first lines, and how many follow; long ones are cut, too, unless all is to be shown."""
    if most is None:
        return list(lines)
    shown = cut_lines(lines)[:most]
    return shown if len(lines) <= most else [*shown, f"… {len(lines) - most} further lines"]


def diff_style(line: str) -> str:
    """The colour of a line of a diff."""
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")


def _marked(mark: str, text: str) -> list[str]:
    lines = [f"{mark}{visible(line)}" for line in _split(text)]
    return [*lines, NO_LINE_END] if text and not text.endswith(("\n", "\r")) else lines


def _split(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
