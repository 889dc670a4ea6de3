"""Where the lines of an edit are in a text, layer by layer, and what stands there after it.

First as they are written, then without the space at their ends, then without indentation, then almost. Whether one
place is enough is for others to say.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from outrider.workspace.diff import changed_ranges, split_lines
from outrider.workspace.matching.indentation import SAME, Reindent, reindent_between
from outrider.workspace.matching.similarity import similar_windows

Layer = Literal["exact", "line_ends", "trailing_space", "indentation", "similarity"]
"""In which respect a place is what was looked for; each layer is tried where those before it found nothing."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A line of an edit, without its end, and what becomes of it: it stays, goes, or comes."""

    mark: Literal[" ", "-", "+"]
    line: str


class Text:
    """A text as lines: what stands on them, how each ends, and where it begins. Divided when somebody looks."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends."""
        return [line.rstrip("\r\n") for line in self._whole]

    @cached_property
    def ends(self) -> list[str]:
        """How each line ends; empty for a last one that does not."""
        return [line[len(bare) :] for line, bare in zip(self._whole, self.lines, strict=True)]

    @cached_property
    def offsets(self) -> list[int]:
        """Where each line begins, and where the text ends."""
        return [0, *accumulate(map(len, self._whole))]

    @cached_property
    def _whole(self) -> list[str]:
        return split_lines(self.text)

    def line_at(self, offset: int) -> int:
        """The line, from 0, that an offset is on."""
        return max(0, min(bisect_right(self.offsets, offset), len(self.lines)) - 1)

    def end_at(self, start: int, end: int) -> str:
        """The line end of the lines `start:end`: theirs, that of a neighbour, or what is usual in the text."""
        for near in (self.ends[start:end], self.ends[end : end + 1], self.ends[max(0, start - 1) : start]):
            if found := next(filter(None, near), ""):
                return found
        usual = Counter(filter(None, self.ends)).most_common(1)
        return usual[0][0] if usual else "\n"


@dataclass(frozen=True, slots=True)
class Window:
    """Lines of a text that are the wanted ones."""

    start: int
    end: int
    reindent: Reindent


@dataclass(frozen=True, slots=True)
class Found:
    """All places of the first layer that has any, from top to bottom; they may overlap."""

    layer: Layer
    windows: list[Window]


def find(text: Text, wanted: Sequence[str]) -> Found:
    """Where lines are in a text; `similarity` without windows where they are nowhere.

    Args:
        text: The text.
        wanted: The lines, without line ends; at least one.
    """
    if found := _equal(text.lines, wanted):
        return Found("exact", [Window(start, start + len(wanted), SAME) for start in found])
    if not any(line.strip(" \t") for line in wanted):
        return Found("similarity", [])
    bare, want = [line.rstrip(" \t") for line in text.lines], [line.rstrip(" \t") for line in wanted]
    if found := _equal(bare, want):
        return Found("trailing_space", [Window(start, start + len(wanted), SAME) for start in found])
    found = _equal([line.strip(" \t") for line in text.lines], [line.strip(" \t") for line in wanted])
    if windows := _reindented(text, wanted, found):
        return Found("indentation", windows)
    return Found("similarity", _reindented(text, wanted, similar_windows(text.lines, wanted)))


def _equal(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where `wanted` begins in `lines`, overlapping places too."""
    hay, needle = "\n".join(["", *lines, ""]), "\n".join(["", *wanted, ""])
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    found: list[int] = []
    at = hay.find(needle)
    while at >= 0:
        found.append(bisect_right(starts, at) - 1)
        at = hay.find(needle, at + 1)
    return found


def _reindented(text: Text, wanted: Sequence[str], starts: Iterable[int]) -> list[Window]:
    windows: list[Window] = []
    for start in starts:
        there = text.lines[start : start + len(wanted)]
        reindent = reindent_between(zip(wanted, there, strict=True))
        if reindent is not None:
            windows.append(Window(start, start + len(wanted), reindent))
    return windows


def marked_between(old: Sequence[str], new: Sequence[str]) -> list[Marked]:
    """What makes lines into others, line by line."""
    marked: list[Marked] = []
    position = 0
    for one in changed_ranges(old, new):
        marked += [Marked(" ", line) for line in old[position : one.start]]
        marked += [Marked("-", line) for line in old[one.start : one.end]]
        marked += [Marked("+", line) for line in new[one.new_start : one.new_end]]
        position = one.end
    return marked + [Marked(" ", line) for line in old[position:]]


def with_its_ends(text: Text, other: str) -> str:
    """Another text whose lines end as in a text that it replaces: those that stay as there, new ones as most do.

    Args:
        text: The text.
        other: The other one. Whether its last line ends is for it to say.
    """
    new = Text(other)
    counted = Counter(filter(None, text.ends))
    usual = max(counted, key=lambda end: counted[end], default="\n")
    ends = [usual] * len(new.lines)
    if len(counted) > 1:
        position = new_position = 0
        for one in [*changed_ranges(text.lines, new.lines), None]:
            same = text.ends[position : one.start if one else None]
            ends[new_position : new_position + len(same)] = [end or usual for end in same]
            if one is not None:
                position, new_position = one.end, one.new_end
    kept = zip(new.lines, ends, new.ends, strict=True)
    return "".join(line + (end if ended else "") for line, end, ended in kept)


def rewrite(text: Text, window: Window, marked: Iterable[Marked]) -> list[str] | str:
    """The lines that stand in a window after an edit whose lines go over all of its; each but a last one ends.

    What stays is left as the text has it; what comes gets the indentation and the line end of the place.

    Returns:
        The lines with their ends; a text names the line that cannot be indented like the place.
    """
    end = text.end_at(window.start, window.end)
    lines: list[str] = []
    position = window.start
    for one in marked:
        if one.mark == "+":
            indented = window.reindent.line(one.line)
            if indented is None:
                return one.line
            lines.append(indented + end)
            continue
        if one.mark == " ":
            lines.append(text.lines[position] + (text.ends[position] or end))
        position += 1
    if position != window.end:
        raise ValueError("the edit does not go over the lines of the window")
    return lines
