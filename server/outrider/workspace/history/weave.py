"""Every line that a text ever had, each with who put it there and who took it away.

What one change did can be switched off and on again, in any order, and the lines of everybody else stay as they
are: nothing is looked for again, so nothing can be found at a wrong place. With everything off it is the first text.
Whether the last line has an end is a value of its own, as editors add that end when they save: it makes no line another one.
(The idea is that of the weave in M. Rochkind, "The Source Code Control System", 1975.)
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from outrider.workspace.diff import (
    LineRange,
    changed_ranges,
    has_end,
    same_ends,
    split_lines,
    without_end,
)

_FIRST = 0
"""The strand of the first text; it is always on."""


@dataclass(slots=True)
class _Line:
    text: str
    by: int
    """The strand that put it there."""
    gone: list[int] = field(default_factory=list[int])
    """The strands that take it away."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a strand is in the text as it is now."""

    line: int
    """The first line, from 1; for what shows no line the one that it stands before."""
    now: str
    """What stands there."""
    switched: str
    """What would stand there if the strand were switched and nobody had gone over its lines."""

    def reads_like(self, other: "Place") -> bool:
        """Whether the same stands there, and would stand there, on whatever line."""
        return (self.now, self.switched) == (other.now, other.switched)


class Weave:
    """A text and the strands that made it what it is. A strand is what one hunk took away and put there."""

    def __init__(self, text: str) -> None:
        """Begin with a text."""
        lines = split_lines(text)
        self._lines = [_Line(line, _FIRST) for line in lines]
        self._on = [True]
        self._text: str | None = text
        """The text as it is now, until something is switched or put."""
        self._returns = "\r" in text and _have_returns(lines)
        """Whether a line ends with a carriage return alone, so that it may become one with the next."""
        self._unended = not has_end(text)
        """Whether one of its texts had a last line without an end."""
        self._ends = {_FIRST: not self._unended}
        """Whether the last line has an end, by the strands that say so for a line that was there before them."""
        self._end = _line_end(lines)
        """What stands between lines of which the first had no end in its own text. It must never become another one."""

    @property
    def text(self) -> str:
        """The text as it is now."""
        if self._text is None:
            self._text = "".join(self._shown(self._visible()))
        return self._text

    def is_on(self, strand: int) -> bool:
        """Whether a strand is in the text."""
        return self._on[strand]

    def switch(self, strand: int) -> None:
        """Take a strand out of the text, or put it back."""
        self._on[strand] = not self._on[strand]
        self._text = None

    def switch_all(self, strands: Iterable[int]) -> None:
        """Switch several strands."""
        for one in strands:
            self.switch(one)

    @property
    def standing(self) -> bytes:
        """Which strands are in the text."""
        return bytes(self._on)

    def go_back_to(self, standing: bytes, text: str) -> bool:
        """Let the strands stand as they stood once, if that comes to `text` line by line; else nothing changes."""
        now, text_now = self._on, self._text
        # What came later was not in it.
        self._on = [bool(one) for one in standing.ljust(len(now), b"\0")]
        self._text = None
        if self._shown(self._visible()) == split_lines(text):
            return True
        self._on, self._text = now, text_now
        return False

    def put(self, text: str) -> list[int]:
        """Make the text `text`; gives a strand for each hunk, from top to bottom."""
        return self._put(text, recognise=False)

    def empty(self) -> int:
        """A strand that changes no line."""
        self._on.append(True)
        return len(self._on) - 1

    def catch_up(self, text: str) -> None:
        """Make the text `text`, as somebody else left it. What is the exact reverse of a strand switches that one."""
        # The same text may be other lines where one ends with a carriage return alone.
        if text != self.text or (self._returns and self._shown(self._visible()) != split_lines(text)):
            self._put(text, recognise=True)

    def _put(self, text: str, *, recognise: bool) -> list[int]:
        visible = self._visible()
        shown, new = self._shown(visible), split_lines(text)
        self._returns = self._returns or ("\r" in text and _have_returns(new))
        self._unended = self._unended or not has_end(text)
        self._end = self._end or _line_end(shown) or _line_end(new)
        if recognise:
            ranges = changed_ranges(self._whole(shown), self._whole(new))
        else:
            ranges = self._without_ends(changed_ranges(shown, new), shown, new)
        self._text = None
        strands: list[int] = []
        first, touched = len(self._on), self._touched() if recognise else {}
        for one in ranges:
            added = self._whole(new[one.new_start : one.new_end])
            if self._reversed(touched, visible, one.start, one.end, added):
                strands.append(_FIRST)
            else:
                strands.append(len(self._on))
                self._on.append(True)
        spans = self._spans() if any(one.start == one.end for one in ranges) else {}
        for one, strand in reversed(list(zip(ranges, strands, strict=True))):
            if strand < first:
                continue
            for index in visible[one.start : one.end]:
                self._lines[index].gone.append(strand)
            at = visible[one.end - 1] + 1 if one.start < one.end else self._between(visible, one.start, spans)
            added = [_Line(line, strand) for line in new[one.new_start : one.new_end]]
            self._lines[at:at] = added
        if text and self._unended and has_end(text) != self._is_ended(self._visible()):
            self._set_end(has_end(text), None if recognise else strands[-1])
            self._text = None
        return strands

    def _whole(self, lines: list[str]) -> list[str]:
        """Lines that all have an end."""
        if not lines or has_end(lines[-1]):
            return lines
        return [*lines[:-1], lines[-1] + (self._end or "\n")]

    def _without_ends(self, ranges: list[LineRange], shown: list[str], new: list[str]) -> list[LineRange]:
        """The same ranges, of which the last one has no lines that only get an end, or lose it."""
        old, come = self._whole(shown), self._whole(new)
        if not ranges or (old is shown and come is new):
            return ranges
        *others, last = ranges
        head, tail = same_ends(old[last.start : last.end], come[last.new_start : last.new_end])
        trimmed = LineRange(last.start + head, last.end - tail, last.new_start + head, last.new_end - tail)
        return [*others, trimmed]

    def _between(self, visible: Sequence[int], number: int, spans: dict[int, tuple[int, int]]) -> int:
        """Where lines come in that stand before the visible line of that number, from 0.

        Hidden lines may be there, which belong to hunks on either side: what is put beside a hunk is not within it.
        """
        first = visible[number - 1] + 1 if number else 0
        last = visible[number] if number < len(visible) else len(self._lines)
        if first == last:
            return last

        def within(at: int) -> tuple[int, list[int]]:
            """The strands that have lines on both sides, the latest first, which is taken back first."""
            those = sorted((one for one, (start, end) in spans.items() if start < at <= end), reverse=True)
            return len(those), those

        return min(range(last, first - 1, -1), key=within)

    def _spans(self) -> dict[int, tuple[int, int]]:
        """The first and the last line of each strand."""
        return {strand: (own[0], own[-1]) for strand, own in self._touched().items()}

    def _reversed(
        self,
        touched: dict[int, list[int]],
        visible: Sequence[int],
        start: int,
        end: int,
        new: Sequence[str],
    ) -> bool:
        """Switch the strand whose switching changes just these lines into `new`; False if there is none."""
        above = visible[start - 1] if start else -1
        below = visible[end] if end < len(visible) else len(self._lines)
        for strand, own in sorted(touched.items(), reverse=True):
            hides, shows = self._switching(strand, own)
            between = all(above < index < below for index in shows) and bool(hides or shows)
            as_new = self._whole([self._lines[index].text for index in shows]) == list(new)
            if between and as_new and hides == list(visible[start:end]):
                self.switch(strand)
                return True
        return False

    def _touched(self) -> dict[int, list[int]]:
        """The lines that each strand put there or takes away."""
        touched: dict[int, list[int]] = {}
        for index, line in enumerate(self._lines):
            for strand in (line.by, *line.gone):
                if strand != _FIRST:
                    touched.setdefault(strand, []).append(index)
        return touched

    def _switching(self, strand: int, touched: Sequence[int]) -> tuple[list[int], list[int]]:
        """Which lines are hidden and which come up when a strand is switched."""
        before = {index for index in touched if self._is_visible(self._lines[index])}
        self.switch(strand)
        after = {index for index in touched if self._is_visible(self._lines[index])}
        self.switch(strand)
        return sorted(before - after), sorted(after - before)

    def is_held(self, strand: int) -> bool:
        """Whether switching a strand would meet what somebody else did to the same lines since."""
        turning_on = not self._on[strand]
        own = [index for index, line in enumerate(self._lines) if line.by == strand or strand in line.gone]
        for line in (self._lines[index] for index in own):
            if any(self._on[other] for other in line.gone if other != strand):
                return True
            if turning_on and strand in line.gone and not self._on[line.by]:
                return True
        between = self._lines[own[0] + 1 : own[-1]] if own else []
        if any(line.by > strand and self._is_visible(line) for line in between):
            return True
        if self._is_in_what_was_replaced(strand, own):
            return True
        if not self._returns:
            return False
        self.switch(strand)
        runs_together = any(
            one.endswith("\r") and other.startswith("\n")
            for one, other in pairwise(self._shown(self._visible()))
        )
        self.switch(strand)
        return runs_together  # two lines would become one

    def _is_in_what_was_replaced(self, strand: int, own: Sequence[int]) -> bool:
        """Whether lines would come up with lines on either side that one later strand took away: in the middle of it."""
        _, shows = self._switching(strand, own)
        if not shows:
            return False
        above, below = (
            {other for line in lines for other in line.gone if other > strand and self._on[other]}
            for lines in (self._lines[: shows[0]], self._lines[shows[-1] + 1 :])
        )
        return bool(above & below)

    def is_covered(self, strand: int) -> bool:
        """Whether nothing is left of what a strand put there, though it is on."""
        put = [line for line in self._lines if line.by == strand]
        return self._on[strand] and bool(put) and not any(self._is_visible(line) for line in put)

    def place(self, strand: int) -> Place:
        """Where a strand is, with what others wrote over it."""
        now, shown = self._visible(), self._shown(self._visible())
        switched, shown_then = self._switched(strand)
        touched = set(now) ^ set(switched)
        touched = touched or {index for index, line in enumerate(self._lines) if _is_of(line, strand)}
        if not touched and strand in self._ends:
            touched = set(now[-1:])
        first, last = (min(touched), max(touched) + 1) if touched else (0, 0)
        return Place(
            bisect_left(now, first) + 1,
            "".join(shown[bisect_left(now, first) : bisect_left(now, last)]),
            "".join(shown_then[bisect_left(switched, first) : bisect_left(switched, last)]),
        )

    def forced(self, strand: int) -> str:
        """The text with a strand switched and without the strands that went over its lines.

        The lines that those took away come back with them, so that no line goes but theirs and the strand's own.
        """
        return "".join(self._switched(strand)[1])

    def go_over(self, strand: int) -> None:
        """Switch a strand, and take those out of the text that went over its lines."""
        self.switch_all({strand, *self.over(strand)})

    def over(self, strand: int) -> set[int]:
        """The strands that went over the lines of a strand, and over theirs."""
        later: dict[int, set[int]] = {}
        for line in self._lines:
            if line.gone:
                whose = strand if strand in line.gone else line.by
                later.setdefault(whose, set()).update(one for one in line.gone if self._on[one])
        over, found = set[int](), [strand]
        while found:
            one = found.pop()
            new = {other for other in later.get(one, ()) if other > one} - over
            over |= new
            found += new
        return over

    def later(self, strand: int, *, everywhere: bool) -> set[int]:
        """The later strands that went over the lines of a strand, or put lines between them, or anywhere."""
        own = [index for index, line in enumerate(self._lines) if _is_of(line, strand)]
        lines = self._lines if everywhere or not own else self._lines[own[0] : own[-1] + 1]
        put = {line.by for line in lines if line.by > strand and self._is_visible(line)}
        return self.over(strand) | put

    def _switched(self, strand: int) -> tuple[list[int], list[str]]:
        """What would be visible with a strand switched and without those over it, and as it would be shown."""
        switched = {strand, *self.over(strand)}
        self.switch_all(switched)
        visible = self._visible()
        shown = self._shown(visible)
        self.switch_all(switched)
        return visible, shown

    def _is_visible(self, line: _Line) -> bool:
        return self._on[line.by] and not any(self._on[strand] for strand in line.gone)

    def _visible(self) -> list[int]:
        on, is_visible = self._on, self._is_visible
        # Most lines were taken away by nobody.
        return [
            index
            for index, line in enumerate(self._lines)
            if (is_visible(line) if line.gone else on[line.by])
        ]

    def _shown(self, visible: Sequence[int]) -> list[str]:
        """Lines as they follow one another: what was the last one of its text without an end may be in the middle."""
        lines = [self._lines[index].text for index in visible]
        if not self._unended or not lines:
            return lines
        end = self._end or "\n"
        lines = [line if has_end(line) else line + end for line in lines]
        if not self._is_ended(visible):
            lines[-1] = without_end(lines[-1])
        return lines

    def _is_ended(self, visible: Sequence[int]) -> bool:
        """Whether the last line has an end: as it was put there, or as it was said since. An empty line is nothing else."""
        line = self._lines[visible[-1]]
        said = max(strand for strand in self._ends if self._on[strand])
        return self._ends[said] or not without_end(line.text) if said >= line.by else has_end(line.text)

    def _set_end(self, ended: bool, strand: int | None) -> None:
        """Let the last line have an end or none.

        Args:
            ended: Whether it has one.
            strand: The strand that says so; None: somebody else, who may have reversed another one that did just this.
        """
        if strand is None:
            alone = self._ends.keys() - self._touched().keys() - {_FIRST}
            for one in sorted(alone, reverse=True):
                self.switch(one)
                if self._is_ended(self._visible()) is ended:
                    return
                self.switch(one)
            strand = self.empty()
        self._ends[strand] = ended


def _is_of(line: _Line, strand: int) -> bool:
    """Whether a strand put a line there or takes it away."""
    return line.by == strand or strand in line.gone


def _line_end(lines: Sequence[str]) -> str:
    """The line end that a text begins with; empty where it has none."""
    first = lines[0] if lines else ""
    return first[len(first.rstrip("\r\n")) :]


def _have_returns(lines: Sequence[str]) -> bool:
    return any(line.endswith("\r") for line in lines)
