"""Every line that a text ever had, each with who put it there and who took it away.

What one change did can be switched off and on again, in any order, and the lines of everybody else stay as they
are: nothing is looked for again, so nothing can be found at a wrong place. With everything off it is the first text.
What somebody brings back by hand is the line that it was, not a second one, whatever they type in it or beside it.
Whether the last line has an end is a value of its own, as editors add that end when they save: it makes no line another one.
(The idea is that of the weave in M. Rochkind, "The Source Code Control System", 1975.)
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise

from outrider.workspace.text.diff import LineRange, changed_ranges, has_end, same_ends
from outrider.workspace.text.lines import split_lines, without_end

_AROUND = 1000
"""Lines around a change in which it is looked what else may have stayed, or have come back."""
_FIRST = 0
"""The strand of the first text; it is always on."""


@dataclass(slots=True)
class _Line:
    text: str
    by: int
    """The strand that put it there."""
    since: list[tuple[int, bool]] = field(default_factory=list[tuple[int, bool]])
    """Later strands that take it away (False) or bring it back (True), the earliest first. The last that is on counts."""

    def is_of(self, strand: int) -> bool:
        """Whether a strand put the line there or takes it away."""
        return self.by == strand or (bool(self.since) and (strand, False) in self.since)


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
        self._others = set[int]()
        """The strands of somebody else: those that `catch_up` made."""

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
        visible, shown, new = self._compared(text)
        ranges = self._without_ends(changed_ranges(shown, new), shown, new)
        strands = [self.empty() for _ in ranges]
        spans = self._spans() if any(one.start == one.end for one in ranges) else {}
        for one, strand in reversed(list(zip(ranges, strands, strict=True))):
            for index in visible[one.start : one.end]:
                self._lines[index].since.append((strand, False))
            above = visible[one.start - 1] if one.start else -1
            below = visible[one.start] if one.start < len(visible) else len(self._lines)
            at = visible[one.end - 1] + 1 if one.start < one.end else self._between(above, below, spans)
            self._lines[at:at] = [_Line(line, strand) for line in new[one.new_start : one.new_end]]
        self._end_as(text, strands[-1] if strands else None)
        return strands

    def came_since(self, before: "Weave") -> set[int]:
        """The strands of the lines that are in the text and were not when only other strands were on."""
        there = set(before._visible())
        return {self._lines[index].by for index in self._visible() if index not in there}

    @property
    def shown(self) -> set[int]:
        """The strands of the lines that are in the text."""
        return {self._lines[index].by for index in self._visible()}

    def empty(self) -> int:
        """A strand that changes no line."""
        self._on.append(True)
        return len(self._on) - 1

    def catch_up(self, text: str) -> None:
        """Make the text `text`, as somebody else left it. A strand that they reversed as a whole is switched."""
        # The same text may be other lines where one ends with a carriage return alone.
        if text == self.text and not (self._returns and self._shown(self._visible()) != split_lines(text)):
            return
        visible, shown, new = self._compared(text)
        # Lines far from all that changed are not looked at one by one.
        head, tail = same_ends(shown, new)
        start, tail = max(0, head - _AROUND), max(0, tail - _AROUND)
        above, below = visible[start - 1] if start else -1, [*visible, len(self._lines)][len(visible) - tail]
        visible, shown, new = (
            visible[start : len(visible) - tail],
            shown[start : len(shown) - tail],
            new[start : len(new) - tail],
        )
        there = set(visible)
        kept = self._kept([above, *visible, below], self._whole(shown), self._whole(new))
        stays = {index for index, _ in kept[1:-1]}
        back = stays - there
        begun = {strand for index in back for strand in self._takers(self._lines[index])}
        moved = self._not_switched(back | (there - stays), kept)
        spans: dict[int, tuple[int, int]] | None = None
        strand: int | None = None
        for (above, first), (below, last) in reversed(list(pairwise(kept))):
            if below not in back:
                strand = None  # each place has one of its own
                if last - first == 1 and below - above == 1 and above not in moved:
                    continue  # so it is with most lines
            gone = [index for index in range(above + 1, below) if index in there]
            changed = [index for index in (above, *gone) if index in moved]
            if not changed and last - first == 1:
                continue
            if strand is None:
                strand = self.empty()
                self._others.add(strand)
            for index in changed:
                self._lines[index].since.append((strand, index in back))
            if last - first > 1:
                spans = spans or self._spans()
                at = gone[-1] + 1 if gone else self._between(above, below, spans, begun)
                self._lines[at:at] = [_Line(line, strand) for line in new[first + 1 : last]]
        self._end_as(text, None)

    def _compared(self, text: str) -> tuple[list[int], list[str], list[str]]:
        """The visible lines by number and as they are shown, and those of a text that they become."""
        visible = self._visible()
        shown, new = self._shown(visible), split_lines(text)
        self._returns = self._returns or ("\r" in text and _have_returns(new))
        self._unended = self._unended or not has_end(text)
        self._end = self._end or _line_end(shown) or _line_end(new)
        self._text = None
        return visible, shown, new

    def _kept(self, visible: list[int], shown: list[str], new: list[str]) -> list[tuple[int, int]]:
        """Which lines are which ones of another text, from top to bottom: those that stayed, and those that came back.

        Args:
            visible: The lines that are visible, between those that stay around them.
            shown: Their texts, with an end each.
            new: The lines of the other text, with an end each.

        Returns:
            The lines by their numbers here and there, with the ones around them.
        """
        around = (visible[0], -1), (visible[-1], len(new))
        ranges = changed_ranges(shown, new)
        same = [(visible[number + 1], other) for number, other in _same(ranges, len(shown))]
        added = {line for one in ranges for line in new[one.new_start : one.new_end]}
        hidden = self._may_come_back(visible, added, set(new)) if added else {}
        if not hidden:
            return [around[0], *same, around[1]]
        # A line that was there only once, ever, stands fast; between two of these it is found out what came back.
        counts = Counter(map(self._ended, range(visible[0] + 1, visible[-1]))), Counter(new)
        kept, part, above = [around[0]], list[tuple[int, int]](), around[0]
        for index, other in [*same, around[1]]:
            if other < len(new) and not counts[0][new[other]] == counts[1][new[other]] == 1:
                part.append((index, other))
                continue
            if other - above[1] - 1 > len(part):
                part = self._come_back(
                    part, (above[0], index), new[above[1] + 1 : other], above[1] + 1, hidden
                )
            above = (index, other)
            kept += [*part, above]
            part = []
        return kept

    def _may_come_back(self, visible: list[int], added: set[str], new: set[str]) -> dict[int, int]:
        """The hidden lines that may be among those of another text.

        A blank line or a bracket alone says nothing: it comes back with a line that does, or where nothing else went.
        So each is given with a number for its place, which is 0 where nothing else went.

        Args:
            visible: The lines that are visible, between those that stay around them.
            added: The lines that the other text has more.
            new: All of its lines.
        """
        found: dict[int, int] = {}
        for above, below in pairwise(visible):
            if below - above == 1:
                continue
            texts = {index: self._ended(index) for index in range(above + 1, below)}
            alone = not any(map(_tells, texts.values()))
            if alone or any(text in added and _tells(text) for text in texts.values()):
                found |= {index: 0 if alone else below for index, text in texts.items() if text in new}
        return found

    def _come_back(
        self,
        same: list[tuple[int, int]],
        between: tuple[int, int],
        new: list[str],
        first: int,
        hidden: dict[int, int],
    ) -> list[tuple[int, int]]:
        """Which lines are which of a part of another text, if some come back: what explains most of it with least lost.

        Args:
            same: Which ones are if none comes back.
            between: The lines around it.
            new: The lines of that part.
            first: The number of the first of them.
            hidden: The hidden lines that may come back.
        """
        lines = range(between[0] + 1, between[1])
        own = [index for index in lines if index in hidden or self._is_visible(self._lines[index])]
        texts = [self._ended(index) for index in own]
        pairs = [*_same(changed_ranges(texts, new), len(own)), (len(own), len(new))]
        found, last = list[tuple[int, int]](), -1
        for (number, other), (following, _) in pairwise(pairs):
            # Of equal lines the one that is visible has stayed.
            equal = (
                at for at in range(last + 1, following) if own[at] not in hidden and texts[at] == new[other]
            )
            last = next(equal, number) if own[number] in hidden else number
            found.append((own[last], first + other))
        telling = {hidden.get(index, 0) for index, other in found if _tells(new[other - first])} | {0}
        found = [one for one in found if hidden.get(one[0], 0) in telling]
        return max(same, found, key=lambda pairs: self._explained(pairs, hidden))

    def _explained(self, pairs: Iterable[tuple[int, int]], hidden: Collection[int]) -> int:
        """How much of two texts lines account for that they share: a hidden one is in the other text alone."""
        return sum(
            (1 if index in hidden else 2) * (1 + _tells(self._lines[index].text)) for index, _ in pairs
        )

    def _not_switched(self, moved: set[int], kept: list[tuple[int, int]]) -> set[int]:
        """Switch the strands that were reversed as a whole; gives the other lines that come or go.

        Args:
            moved: The lines that come or go.
            kept: Those that stay or come, with their numbers in the other text.
        """
        moved, ours = set(moved), [index for index, _ in kept]
        for strand, own in sorted(self._touched().items(), reverse=True) if moved else ():
            if moved.isdisjoint(own):
                continue
            hides, shows = self._switching(strand, own)
            if not shows and hides:
                # What only goes was taken back if nothing else went there, and nothing came: else it was altered.
                (above, one), (below, other) = kept[(at := bisect_left(ours, hides[0])) - 1 : at + 1]
                if other - one > 1 or {n for n in range(above + 1, below) if n in moved} != set(hides):
                    continue
            if (hides or shows) and moved.issuperset([*hides, *shows]):
                self.switch(strand)
                moved -= {*hides, *shows}
        return moved

    def _ended(self, index: int) -> str:
        """The text of a line, with an end."""
        return self._whole([self._lines[index].text])[0]

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

    def _between(
        self, above: int, below: int, spans: dict[int, tuple[int, int]], begun: Collection[int] = ()
    ) -> int:
        """Where lines come in that stand between two lines.

        Hidden lines may be there, which belong to hunks on either side: what is put beside a hunk is not within it.
        Where somebody brought back a part of a hunk it is: whether it is one of its lines, changed, cannot be known.
        """

        def within(at: int) -> tuple[int, list[int]]:
            """The strands that have lines on both sides, the latest first, which is taken back first."""
            those = sorted((one for one, (start, end) in spans.items() if start < at <= end), reverse=True)
            return sum(-1 if one in begun else 1 for one in those), those

        return below if below - above == 1 else min(range(below, above, -1), key=within)

    def _spans(self) -> dict[int, tuple[int, int]]:
        """The first and the last line of each strand."""
        return {strand: (own[0], own[-1]) for strand, own in self._touched().items()}

    def _touched(self) -> dict[int, list[int]]:
        """The lines that each strand put there or takes away."""
        touched: dict[int, list[int]] = {}
        for index, line in enumerate(self._lines):
            for strand in (line.by, *(one for one, _ in line.since)):
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
        own = [index for index, line in enumerate(self._lines) if line.is_of(strand)]
        lines = [self._lines[index] for index in own]
        if any(other != strand for line in lines for other in self._takers(line)):
            return True
        if turning_on and any(line.by != strand and not self._on[line.by] for line in lines):
            return True
        if not own and strand in self._ends and (visible := self._visible()):
            return self._lines[visible[-1]].by > strand  # the line that it ended is another one
        between = self._lines[own[0] + 1 : own[-1]] if own else []
        if any(line.by > strand and self._is_visible(line) for line in between):
            return True
        if self._is_in_what_was_replaced(strand, own):
            return True
        self.switch(strand)
        stays = any(self._is_visible(line) and (line.by == strand) != turning_on for line in lines)
        runs_together = self._returns and any(
            one.endswith("\r") and other.startswith("\n")
            for one, other in pairwise(self._shown(self._visible()))
        )
        self.switch(strand)
        return stays or runs_together  # two lines would become one

    def _is_in_what_was_replaced(self, strand: int, own: Sequence[int]) -> bool:
        """Whether lines would come up with lines on either side that one later strand took away: in the middle of it."""
        _, shows = self._switching(strand, own)
        if not shows:
            return False
        above, below = (
            {other for line in lines if line.since for other in self._takers(line) if other > strand}
            for lines in (self._lines[: shows[0]], self._lines[shows[-1] + 1 :])
        )
        return bool(above & below)

    def repeats(self, strand: int) -> bool:
        """Whether most of what would come up with a strand switched was put somewhere else by somebody since."""
        if not any(other > strand for other in self._others):
            return False
        _, shows = self._switching(strand, self._touched().get(strand, ()))
        wanted = Counter(text for index in shows if _tells(text := self._ended(index)))
        put = Counter(
            self._ended(index)
            for index in self._visible()
            if self._lines[index].by in self._others and self._lines[index].by > strand
        )
        return 2 * (wanted & put).total() > wanted.total()

    def is_covered(self, strand: int) -> bool:
        """Whether nothing is left of what a strand put there, though it is on."""
        put = [line for line in self._lines if line.by == strand]
        return self._on[strand] and bool(put) and not any(self._is_visible(line) for line in put)

    def place(self, strand: int) -> Place:
        """Where a strand is, with what others wrote over it."""
        now, shown = self._visible(), self._shown(self._visible())
        switched, shown_then = self._switched(strand)
        touched = set(now) ^ set(switched)
        touched = touched or {index for index, line in enumerate(self._lines) if line.is_of(strand)}
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
        turning_on = not self._on[strand]
        for line in self._lines:
            if line.since:
                whose = strand if line.is_of(strand) else line.by
                # Who brought a line back is in the way only of what would take it away again.
                insists = whose == strand and (line.by == strand) != turning_on
                against = {one for one, shows in line.since if self._on[one] and (insists or not shows)}
                later.setdefault(whose, set()).update(against)
        over, found = set[int](), [strand]
        while found:
            one = found.pop()
            new = {other for other in later.get(one, ()) if other > one} - over
            over |= new
            found += new
        return over

    def later(self, strand: int, *, everywhere: bool) -> set[int]:
        """The later strands that went over the lines of a strand, or put lines between them, or anywhere."""
        own = [index for index, line in enumerate(self._lines) if line.is_of(strand)]
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

    def _takers(self, line: _Line) -> list[int]:
        """The strands that take a line away, and that nobody brought it back from."""
        takers: list[int] = []
        for strand, shows in line.since:
            if self._on[strand]:
                takers = [] if shows else [*takers, strand]
        return takers

    def _is_visible(self, line: _Line) -> bool:
        for strand, shows in reversed(line.since):
            if self._on[strand]:
                return shows
        return self._on[line.by]

    def _visible(self) -> list[int]:
        on, is_visible = self._on, self._is_visible
        # Most lines were taken away by nobody.
        return [
            index
            for index, line in enumerate(self._lines)
            if (is_visible(line) if line.since else on[line.by])
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

    def _end_as(self, text: str, strand: int | None) -> None:
        """Let the last line have an end if that of a text has one; `strand` as in `_set_end`."""
        if text and self._unended and has_end(text) != self._is_ended(self._visible()):
            self._set_end(has_end(text), strand)

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


def _tells(text: str) -> bool:
    """Whether a line says anything by which it is known again."""
    return any(map(str.isalnum, text))


def _same(ranges: Iterable[LineRange], length: int) -> list[tuple[int, int]]:
    """The lines that two texts share, by their numbers in both.

    Args:
        ranges: What differs.
        length: How many lines the first text has.
    """
    same: list[tuple[int, int]] = []
    start = new_start = 0
    for one in [*ranges, LineRange(length, length, -1, -1)]:
        same += zip(range(start, one.start), count(new_start))
        start, new_start = one.end, one.new_end
    return same


def _line_end(lines: Sequence[str]) -> str:
    """The line end that a text begins with; empty where it has none."""
    first = lines[0] if lines else ""
    return first[len(first.rstrip("\r\n")) :]


def _have_returns(lines: Sequence[str]) -> bool:
    return any(line.endswith("\r") for line in lines)
