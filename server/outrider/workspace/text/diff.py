r"""Differences between two texts: by lines for people and for the log, by characters for editors.

Lines end where LSP says. The result depends on the two texts alone, is bounded in time, and applied to the one
text always gives the other.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from outrider.ports.text import Hunk, one_line
from outrider.workspace.text.lines import split_lines, without_end

__all__ = [
    "CONTEXT",
    "Difference",
    "LineHunk",
    "LineRange",
    "apply_hunks",
    "changed_ranges",
    "ended_lines",
    "has_end",
    "line_hunks",
    "same_ends",
    "split_lines",
    "text_hunks",
    "unified",
    "unified_hunks",
    "without_end",
]

CONTEXT = 3
"""Lines around a change that are shown."""
_BUDGET = 400_000
"""Steps of a search: some 100 ms. Beyond it, what is left is taken as replaced."""
_MOST_DIFFERENCES = 400
"""Half of the differences that are searched for at once; then unique lines divide the text first."""

_LINE_END = re.compile(r"\r\n?|\n")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")


@dataclass(frozen=True, slots=True)
class LineHunk:
    """Whole lines that are replaced."""

    line: int
    """The first one in the text before, from 1; for an insertion the one it stands before."""
    removed: str
    added: str


@dataclass(frozen=True, slots=True)
class LineRange:
    """The lines `start:end` of one text, which became `new_start:new_end` of the other; all from 0."""

    start: int
    end: int
    new_start: int
    new_end: int


class Difference:
    """What two texts differ in, compared once for all who want to know."""

    def __init__(self, before: str, after: str, context: int = CONTEXT) -> None:
        """Compare two texts; `context` is how many lines around a change are shown."""
        self.skipped, self.old, self.new = _lines_around(before, after, context)
        """How many lines are left out before those that are compared; those of the one text, and of the other."""
        self._context = context
        self._ranges = changed_ranges(self.old, self.new)

    @cached_property
    def hunks(self) -> Sequence[LineHunk]:
        """What has to be done to the lines of the one text to get the other, from top to bottom."""
        return [
            LineHunk(
                self.skipped + one.start + 1,
                "".join(self.old[one.start : one.end]),
                "".join(self.new[one.new_start : one.new_end]),
            )
            for one in self._ranges
        ]

    def unified(self, path: str) -> str:
        """The difference as a unified diff for people; empty where there is none."""
        hunks = _unified(self.old, self.new, self._ranges, _marked, self._context, self.skipped)
        name = one_line(path)
        return "\n".join([f"--- {name}", f"+++ {name}", *hunks]) + "\n" if hunks else ""


def has_end(text: str) -> bool:
    """Whether the last line of a text has an end; where there is no line nothing lacks one."""
    return not text or text.endswith(("\n", "\r"))


def ended_lines(*texts: str) -> tuple[list[str], ...]:
    """The lines of texts that are compared, the last ones with an end, too: as the first that is found in them."""
    known = (found.group() for text in texts if (found := _LINE_END.search(text)))
    end = next(known, "\n")
    return tuple(split_lines(text if has_end(text) else text + end) for text in texts)


def line_hunks(before: str, after: str) -> Sequence[LineHunk]:
    """What has to be done to the lines of `before` to get `after`, from top to bottom."""
    return Difference(before, after, 0).hunks


def _lines_around(before: str, after: str, context: int) -> tuple[int, list[str], list[str]]:
    """The lines of two texts from the first to the last difference.

    Most changes are small, and most texts are not: what is not changed is not even divided into lines.

    Args:
        before: The one text.
        after: The other one.
        context: How many lines on either side are given besides, at least, where there are so many.

    Returns:
        How many lines are left out before them, the lines of the one text, and those of the other.
    """
    head, tail = _same_lines(before, after)
    for _ in range(context):
        head = before.rfind("\n", 0, max(0, head - 1)) + 1
        line = before.find("\n", len(before) - tail)
        tail = len(before) - line - 1 if line >= 0 else 0
    skipped = before[:head]
    return (
        len(split_lines(skipped)) if "\r" in skipped else skipped.count("\n"),
        split_lines(before[head : len(before) - tail]),
        split_lines(after[head : len(after) - tail]),
    )


def text_hunks(before: str, after: str) -> list[Hunk]:
    """The same without what the lines have in common at their ends, so that marks and cursors stay.

    No hunk begins or ends within a line end or a combining sequence.
    """
    first, last = _same_lines(before, after)
    old, new = split_lines(before[first : len(before) - last]), split_lines(after[first : len(after) - last])
    offsets = list(accumulate(map(len, old), initial=first))
    hunks: list[Hunk] = []
    for one in changed_ranges(old, new):
        removed, added = "".join(old[one.start : one.end]), "".join(new[one.new_start : one.new_end])
        head, tail = _common_ends(removed, added)
        start = offsets[one.start] + head
        removed, added = removed[head : len(removed) - tail], added[head : len(added) - tail]
        hunks.append(Hunk(start, start + len(removed), removed, added))
    return hunks


def apply_hunks(text: str, hunks: Iterable[Hunk]) -> str:
    """`text` with `hunks`, which are sorted and do not overlap. ValueError if it does not hold what they replace."""
    parts: list[str] = []
    position = 0
    for hunk in hunks:
        if hunk.start < position or text[hunk.start : hunk.end] != hunk.old:
            raise ValueError(f"the hunk at {hunk.start} does not fit the text")
        parts += (text[position : hunk.start], hunk.new)
        position = hunk.end
    return "".join((*parts, text[position:]))


def unified(before: str, after: str, path: str, context: int = CONTEXT) -> str:
    """The difference as a unified diff for people; empty where there is none."""
    return Difference(before, after, context).unified(path)


def unified_hunks(
    old: Sequence[str],
    new: Sequence[str],
    marked: Callable[[str, Iterable[str]], list[str]],
    context: int = CONTEXT,
) -> list[str]:
    """The hunks of a unified diff, line by line without their ends.

    Args:
        old: The lines before.
        new: The lines after.
        marked: Gives lines with their mark before them.
        context: How many lines around a change are shown.
    """
    return _unified(old, new, changed_ranges(old, new), marked, context, 0)


def _unified(
    old: Sequence[str],
    new: Sequence[str],
    ranges: Sequence[LineRange],
    marked: Callable[[str, Iterable[str]], list[str]],
    context: int,
    skipped: int,
) -> list[str]:
    output: list[str] = []
    for group in _groups(ranges, context):
        first, last = group[0], group[-1]
        start, end = max(0, first.start - context), min(len(old), last.end + context)
        new_start = first.new_start - (first.start - start)
        new_end = last.new_end + (end - last.end)
        spans = _span(skipped + start, skipped + end), _span(skipped + new_start, skipped + new_end)
        output.append(f"@@ -{spans[0]} +{spans[1]} @@")
        position = start
        for one in group:
            output += marked(" ", old[position : one.start])
            output += marked("-", old[one.start : one.end])
            output += marked("+", new[one.new_start : one.new_end])
            position = one.end
        output += marked(" ", old[position:end])
    return output


def _groups(ranges: Sequence[LineRange], context: int) -> list[list[LineRange]]:
    groups: list[list[LineRange]] = []
    for one in ranges:
        if groups and one.start - groups[-1][-1].end <= 2 * context:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _span(start: int, end: int) -> str:
    # An empty range is named by the line before it.
    return f"{start + 1 if end > start else start},{end - start}" if end - start != 1 else f"{start + 1}"


def _marked(mark: str, lines: Iterable[str]) -> list[str]:
    marked: list[str] = []
    for line in lines:
        marked.append(mark + line.removesuffix("\n").removesuffix("\r"))
        if not line.endswith(("\n", "\r")):
            marked.append("\\ No newline at end of file")
    return marked


def changed_ranges(old: Sequence[str], new: Sequence[str]) -> list[LineRange]:
    """The ranges of `old` that are not in `new`, and the other way round, from top to bottom."""
    head, tail = same_ends(old, new)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    gone, come = _Comparison(old, new).compare()
    ranges: list[LineRange] = []
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and not gone[i] and not come[j]:
            i, j = i + 1, j + 1
            continue
        start, new_start = i, j
        while i < len(old) and gone[i]:
            i += 1
        while j < len(new) and come[j]:
            j += 1
        ranges.append(LineRange(head + start, head + i, head + new_start, head + j))
    return ranges


def _same_lines(before: str, after: str) -> tuple[int, int]:
    """How many characters of whole lines two texts share at the beginning and at the end, without overlap."""
    head, tail = same_ends(before, after)
    head = before.rfind("\n", 0, head) + 1
    line = before.find("\n", len(before) - tail)
    return head, len(before) - line - 1 if line >= 0 else 0


def same_ends(one: Sequence[object], other: Sequence[object]) -> tuple[int, int]:
    """How much two sequences share at the beginning and at the end, without overlap."""
    shorter, length, other_length = min(len(one), len(other)), len(one), len(other)
    head = _longest(shorter, lambda start, end: one[start:end] == other[start:end])
    tail = _longest(
        shorter - head,
        lambda start, end: (
            one[length - end : length - start] == other[other_length - end : other_length - start]
        ),
    )
    return head, tail


def _longest(most: int, same: Callable[[int, int], bool]) -> int:
    """How far, up to `most`, everything is the same; halved each time, so that it is compared in big pieces."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if same(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


class _Comparison:
    """One run of the comparison: E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), linear space."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        # Lines that the other text does not have at all are changed in any case, and only slow the search.
        in_old, in_new = set(old), set(new)
        self._gone = bytearray(line not in in_new for line in old)
        self._come = bytearray(line not in in_old for line in new)
        self._old_at = [index for index, flag in enumerate(self._gone) if not flag]
        self._new_at = [index for index, flag in enumerate(self._come) if not flag]
        numbers: dict[str, int] = {}
        self._a = [numbers.setdefault(old[index], len(numbers)) for index in self._old_at]
        self._b = [numbers.setdefault(new[index], len(numbers)) for index in self._new_at]
        self._budget = _BUDGET

    def compare(self) -> tuple[bytearray, bytearray]:
        """Which lines are gone from the old text, and which have come in the new one."""
        boxes = [(0, len(self._a), 0, len(self._b))]
        while boxes:
            boxes += self._divide(*boxes.pop())
        return self._gone, self._come

    def _divide(self, a0: int, a1: int, b0: int, b1: int) -> list[tuple[int, int, int, int]]:
        a, b = self._a, self._b
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
        if a0 < a1 and b0 < b1:
            if (snake := self._middle(a0, a1, b0, b1)) is not None:
                x0, y0, x1, y1 = snake
                return [(a0, x0, b0, y0), (x1, a1, y1, b1)]
            if anchors := self._anchors(a0, a1, b0, b1):
                starts = [(a0, b0), *((x + 1, y + 1) for x, y in anchors)]
                return [(x, u, y, v) for (x, y), (u, v) in zip(starts, [*anchors, (a1, b1)], strict=True)]
        # Nothing better is known than that equal lines at equal places, if any, have stayed.
        same_length = a1 - a0 == b1 - b0
        kept = {x for x in range(a0, a1) if a[x] == b[x - a0 + b0]} if same_length else set[int]()
        for index in range(a0, a1):
            self._gone[self._old_at[index]] = index not in kept
        for index in range(b0, b1):
            self._come[self._new_at[index]] = index - b0 + a0 not in kept
        return []

    def _middle(self, a0: int, a1: int, b0: int, b1: int) -> tuple[int, int, int, int] | None:
        """The middle snake of the shortest way from `a0, b0` to `a1, b1`; None if it is too long."""
        a, b = self._a, self._b
        n, m = a1 - a0, b1 - b0
        delta = n - m
        odd = bool(delta & 1)
        most = min((n + m + 1) // 2, _MOST_DIFFERENCES)
        # Furthest x of each diagonal k; negative diagonals lie at the end of the list.
        forward, backward = [0] * (2 * most + 3), [0] * (2 * most + 3)
        for d in range(most + 1):
            self._budget -= 2 * d + 1
            if self._budget < 0:
                return None
            low, high = -(d - 2 * max(0, d - m)), d - 2 * max(0, d - n)
            for k in range(low, high + 1, 2):
                down = k == -d or (k != d and forward[k - 1] < forward[k + 1])
                x = forward[k + 1] if down else forward[k - 1] + 1
                y = x - k
                x0, y0 = x, y
                while x < n and y < m and a[a0 + x] == b[b0 + y]:
                    x, y = x + 1, y + 1
                forward[k] = x
                if odd and -d < delta - k < d and x + backward[delta - k] >= n:
                    return a0 + x0, b0 + y0, a0 + x, b0 + y
            for k in range(low, high + 1, 2):
                down = k == -d or (k != d and backward[k - 1] < backward[k + 1])
                x = backward[k + 1] if down else backward[k - 1] + 1
                y = x - k
                x0, y0 = x, y
                while x < n and y < m and a[a1 - 1 - x] == b[b1 - 1 - y]:
                    x, y = x + 1, y + 1
                backward[k] = x
                if not odd and -d <= delta - k <= d and x + forward[delta - k] >= n:
                    return a1 - x, b1 - y, a1 - x0, b1 - y0
        return None

    def _anchors(self, a0: int, a1: int, b0: int, b1: int) -> list[tuple[int, int]]:
        """Lines that are once in each part, in an order both share: the longest such sequence."""
        once_a = {value for value, count in Counter(self._a[a0:a1]).items() if count == 1}
        once_b = {value for value, count in Counter(self._b[b0:b1]).items() if count == 1}
        at = {self._b[y]: y for y in range(b0, b1) if self._b[y] in once_b}
        pairs = [(x, at[self._a[x]]) for x in range(a0, a1) if self._a[x] in once_a and self._a[x] in at]
        ends: list[int] = []
        last: list[int] = []
        before: list[int] = []
        for index, (_, y) in enumerate(pairs):
            length = bisect_left(ends, y)
            before.append(last[length - 1] if length else -1)
            ends[length : length + 1] = [y]
            last[length : length + 1] = [index]
        chain: list[tuple[int, int]] = []
        index = last[-1] if last else -1
        while index >= 0:
            chain.append(pairs[index])
            index = before[index]
        return chain[::-1]


def _common_ends(one: str, other: str) -> tuple[int, int]:
    """How many characters two texts share at the beginning and at the end, without overlap."""
    shorter = min(len(one), len(other))
    head = 0
    while head < shorter and one[head] == other[head]:
        head += 1
    while head and not (_may_cut(one, head) and _may_cut(other, head)):
        head -= 1
    tail = 0
    while tail < shorter - head and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    while tail and not (_may_cut(one, len(one) - tail) and _may_cut(other, len(other) - tail)):
        tail -= 1
    return head, tail


def _may_cut(text: str, at: int) -> bool:
    if not 0 < at < len(text):
        return True
    left, right = text[at - 1], text[at]
    if right < "\u0300" and left < "\u0300":
        return not (left == "\r" and right == "\n")
    joined = right in _JOINERS or left == "\u200d" or "\U0001f3fb" <= right <= "\U0001f3ff"
    return not joined and not unicodedata.category(right).startswith("M")
