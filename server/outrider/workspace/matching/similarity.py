"""How alike lines are, and where a text has lines that are almost the wanted ones.

It never decides between two places, and says none rather than to search for long.
"""

import re
from collections.abc import Sequence

SIMILAR = 0.9
"""How alike lines have to be altogether to be taken for the wanted ones: twice the length of what they have in
common, in order, by the length of both. White space within a line, and the shape of quotation marks and dashes, do
not count."""
SIMILAR_LINE = 0.75
"""How alike every single one of these lines has to be. A number must be the same: it is never a slip of the pen."""
FEWEST_CHARACTERS = 10
"""A text with fewer of them, white space aside, is too short to be known again."""
_BUDGET = 400_000
"""Characters and lines that are compared in one search: about 0.3 s."""

_LOOKALIKES = str.maketrans("‘’“”–—−\u00a0", "''\"\"--- ")
_NUMBER = re.compile(r"\d+")


def plain(line: str) -> str:
    """A line without what people do not see: runs of white space, shapes of quotation marks and dashes."""
    return " ".join(line.translate(_LOOKALIKES).split())


def similarity(one: str, other: str) -> float:
    """How alike two texts are, from 0 to 1: twice their longest common subsequence by the length of both."""
    if one == other:
        return 1.0
    if not one or not other:
        return 0.0
    return 2 * _common(_marks(one), len(one), other) / (len(one) + len(other))


def _marks(text: str) -> dict[str, int]:
    marks: dict[str, int] = {}
    for index, character in enumerate(text):
        marks[character] = marks.get(character, 0) | 1 << index
    return marks


def _common(marks: dict[str, int], length: int, other: str) -> int:
    """Length of the longest common subsequence, by bits (H. Hyyrö, "Bit-parallel LCS-length computation", 2004)."""
    full = (1 << length) - 1
    row = full
    for character in other:
        found = row & marks.get(character, 0)
        row = ((row + found) | (row - found)) & full
    return length - row.bit_count()


class _Wanted:
    """One wanted line, and how alike it is to others."""

    def __init__(self, line: str) -> None:
        self.line = line
        self.weight = len(line) + 1
        self._numbers = _NUMBER.findall(line)
        self._marks = _marks(line)
        self._known: dict[str, float] = {line: 1.0}

    def likeness(self, other: str, least: float) -> tuple[float, int]:
        """How alike it is to `other`, 0 if less than `least`; and what it cost to find out."""
        if (known := self._known.get(other)) is not None:
            return known, 1
        length, ratio, cost = len(self.line) + len(other), 0.0, 1
        if 2 * min(len(self.line), len(other)) >= least * length and _NUMBER.findall(other) == self._numbers:
            cost += len(other) * (1 + len(self.line) // 500)
            ratio = 2 * _common(self._marks, len(self.line), other) / length
        self._known[other] = ratio if ratio >= least else 0.0
        return self._known[other], cost


def similar_windows(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where as many lines begin as are wanted, and are all but the same; empty if that would take too long to say.

    Args:
        lines: The lines of the text, without line ends.
        wanted: Those that are looked for.
    """
    wants = [_Wanted(plain(line)) for line in wanted]
    total = sum(want.weight for want in wants)
    if sum(len(want.line.replace(" ", "")) for want in wants) < FEWEST_CHARACTERS:
        return []
    # The longest line says most: the others are compared only where it is.
    order = sorted(enumerate(wants), key=lambda one: -one[1].weight)
    least = SIMILAR if len(wants) == 1 else SIMILAR_LINE
    found: list[int] = []
    budget = _BUDGET
    there = [plain(line) for line in lines]
    for start in range(len(lines) - len(wanted) + 1):
        score = 0.0
        for index, want in order:
            ratio, cost = want.likeness(there[start + index], least)
            if (budget := budget - cost) < 0:
                return []
            if not ratio:
                break
            score += ratio * want.weight
        else:
            if score >= SIMILAR * total:
                found.append(start)
    return found
