"""Where the lines of an edit are in a text, layer by layer, and what stands there after it.

First as they are written, then without the space at their ends, then without indentation, then token by token, so that
white space between tokens and the shape of quotation marks do not count. A place where a token differs is never found.
Whether one place is enough is for others to say.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Literal

from outrider.workspace.text.diff import changed_ranges
from outrider.workspace.text.lines import split_lines
from outrider.workspace.text.matching.tokens import is_in_word, spelled

_TAB_WIDTHS = (4, 2, 8, 3)
"""Columns a tab may stand for, the likely ones first."""


@dataclass(frozen=True, slots=True)
class Reindent:
    """A way to indent lines: columns are counted, shifted, and written as the file writes them."""

    remove: str = ""
    """What every line loses at its beginning."""
    add: str = ""
    """What it gets there."""
    tab_width: int = 0
    """Columns of a tab, where tabs and spaces have to be changed into each other; 0: they stay."""
    to_tabs: bool = False
    shift: int = 0
    """Columns that are added."""

    def line(self, line: str) -> str | None:
        """A line with the indentation of the place; None if it stands too far to the left for that."""
        if not line.strip(" \t"):
            return line
        if not self.tab_width:
            return self.add + line[len(self.remove) :] if line.startswith(self.remove) else None
        columns = _columns(indent_of(line), self.tab_width) + self.shift
        if columns < 0:
            return None
        tabs, spaces = divmod(columns, self.tab_width) if self.to_tabs else (0, columns)
        return "\t" * tabs + " " * spaces + line.lstrip(" \t")


SAME = Reindent()


def indent_of(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def reindent_between(pairs: Iterable[tuple[str, str]]) -> Reindent | None:
    """What leads from the indentation of lines to that of others; None if nothing does for all of them.

    Args:
        pairs: Each line as the edit has it, and as the file has it. Blank ones do not count.
    """
    indents = [
        (indent_of(old), indent_of(now)) for old, now in pairs if old.strip(" \t") and now.strip(" \t")
    ]
    if all(old == now for old, now in indents):
        return SAME
    return next((way for way in _ways(indents) if _leads(way, indents)), None)


def _ways(indents: list[tuple[str, str]]) -> Iterable[Reindent]:
    old, now = indents[0]
    if now.endswith(old):
        yield Reindent(add=now[: len(now) - len(old)])
    if old.endswith(now):
        yield Reindent(remove=old[: len(old) - len(now)])
    # Where a shift of nothing explains it, a tab has that width; else it is a matter of taste, and asked in order.
    to_tabs = any("\t" in indent for _, indent in indents)
    converted = [
        Reindent(tab_width=width, to_tabs=to_tabs, shift=_columns(now, width) - _columns(old, width))
        for width in _TAB_WIDTHS
    ]
    yield from sorted(converted, key=lambda way: way.shift != 0)


def _leads(way: Reindent, indents: list[tuple[str, str]]) -> bool:
    return all(way.line(f"{old}x") == f"{now}x" for old, now in indents)


def _columns(indent: str, tab_width: int) -> int:
    columns = 0
    for character in indent:
        columns += tab_width - columns % tab_width if character == "\t" else 1
    return columns


Layer = Literal["exact", "line_ends", "trailing_space", "indentation", "spacing"]
"""In which respect a place is what was looked for; each layer is tried where those before it found nothing."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A line of an edit, without its end, and what becomes of it: it stays, goes, or comes."""

    mark: Literal[" ", "-", "+"]
    line: str


class TooMuchWorkError(Exception):
    """What is looked for in a text has so many possible places that looking on would take too long."""


_STEPS = 2_000_000
_STEPS_OF_A_LINE = 20
"""Lines that are compared in one text, in all: a constant, and so many for each line of it. About a second."""


class _Index:
    """Lines, and where each of them stands."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self._places: dict[str, list[int]] = {}
        for at, line in enumerate(lines):
            self._places.setdefault(line, []).append(at)

    def places(self, line: str) -> Sequence[int]:
        """Where a line stands, from top to bottom."""
        return self._places.get(line, ())

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._places)

    def places_of_beginning(self, beginning: str) -> list[int]:
        """Where lines stand that begin so, without a word being cut, from top to bottom."""
        found: list[int] = []
        for line in self._sorted[bisect_left(self._sorted, beginning) :]:
            if not line.startswith(beginning):
                break
            if not is_in_word(line, len(beginning)):
                found += self._places[line]
        return sorted(found)


class Text:
    """A text as lines: what stands on them, how each ends, and where it begins. Divided when somebody looks.

    It keeps what was found, and counts what finding cost, so that many searches in one text take linear time together.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.known: dict[tuple[str, ...], Found] = {}
        self._spent = 0

    def spend(self, steps: int) -> None:
        """Count comparisons of lines.

        Raises:
            TooMuchWorkError: there were too many of them.
        """
        self._spent += steps
        if self._spent > _STEPS + _STEPS_OF_A_LINE * len(self.lines):
            raise TooMuchWorkError

    @cached_property
    def exact(self) -> _Index:
        """Its lines as they are."""
        return _Index(self.lines)

    @cached_property
    def trimmed(self) -> _Index:
        """Its lines without space at their ends."""
        return _Index([line.rstrip(" \t") for line in self.lines])

    @cached_property
    def bare(self) -> _Index:
        """Its lines without indentation, and without space at their ends."""
        return _Index([line.strip(" \t") for line in self.lines])

    @cached_property
    def stripped(self) -> _Index:
        """Its lines without white space of any kind around them."""
        return _Index([line.strip() for line in self.lines])

    @cached_property
    def spelled(self) -> _Index:
        """Its lines as tokens."""
        return _Index([spelled(line) for line in self.lines])

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
        return self._usual_end

    @cached_property
    def _usual_end(self) -> str:
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
    """Where lines are in a text; no windows where they are nowhere.

    Args:
        text: The text.
        wanted: The lines, without line ends; at least one.

    Raises:
        TooMuchWorkError: too much was looked for in this text already.
    """
    key = tuple(wanted)
    if (known := text.known.get(key)) is None:
        known = text.known[key] = _find(text, wanted)
    return known


def _find(text: Text, wanted: Sequence[str]) -> Found:
    if found := _equal(text, text.exact, wanted):
        return Found("exact", [Window(start, start + len(wanted), SAME) for start in found])
    if not any(line.strip(" \t") for line in wanted):
        return Found("spacing", [])
    if found := _equal(text, text.trimmed, [line.rstrip(" \t") for line in wanted]):
        return Found("trailing_space", [Window(start, start + len(wanted), SAME) for start in found])
    found = _equal(text, text.bare, [line.strip(" \t") for line in wanted])
    if windows := _reindented(text, wanted, found):
        return Found("indentation", windows)
    found = _equal(text, text.spelled, [spelled(line) for line in wanted])
    return Found("spacing", _reindented(text, wanted, found))


def _equal(text: Text, index: _Index, wanted: Sequence[str]) -> list[int]:
    """Where `wanted` begins among the lines of an index, overlapping places too."""
    # Where the rarest of the lines is, the others are compared.
    rarest = min(range(len(wanted)), key=lambda at: len(index.places(wanted[at])))
    places = index.places(wanted[rarest])
    text.spend(len(wanted) + len(places) * (1 + len(wanted) // 16))
    wanted = list(wanted)
    starts = (at - rarest for at in places if at >= rarest)
    return [start for start in starts if index.lines[start : start + len(wanted)] == wanted]


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
