"""What to say about a text that was looked for: where it is several times, or what there is in its stead."""

import re
from collections import Counter
from collections.abc import Sequence
from heapq import nlargest

from outrider.workspace.text.diff import changed_ranges

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


def similar_windows(there: Sequence[str], wanted: Sequence[str]) -> tuple[list[int], int]:
    """Where as many lines begin as are wanted, and are all but the same; nowhere if that would take too long to say.

    Args:
        there: The lines of the text, `plain`.
        wanted: Those that are looked for, without line ends.

    Returns:
        The lines, from 0, and what it cost, in characters and lines.
    """
    wants = [_Wanted(plain(line)) for line in wanted]
    total = sum(want.weight for want in wants)
    if sum(len(want.line.replace(" ", "")) for want in wants) < FEWEST_CHARACTERS:
        return [], total
    # The longest line says most: the others are compared only where it is.
    order = sorted(enumerate(wants), key=lambda one: -one[1].weight)
    least = SIMILAR if len(wants) == 1 else SIMILAR_LINE
    found: list[int] = []
    spent = 0
    for start in range(len(there) - len(wanted) + 1):
        score = 0.0
        for index, want in order:
            ratio, cost = want.likeness(there[start + index], least)
            if (spent := spent + cost) > _BUDGET:
                return [], spent
            if not ratio:
                break
            score += ratio * want.weight
        else:
            if score >= SIMILAR * total:
                found.append(start)
    return found, total + spent


_CANDIDATES = 12
"""Places that are compared thoroughly when nothing matches."""
_COMPARED = 2000
"""Characters of each that are compared."""
_SHOWN_LINES = 12
_SHOWN_WIDTH = 200
_NAMED_MATCHES = 10
_NUMBERED = re.compile(r"\s*\d+(?:\t|\s*[|:│→])")
_WORD = re.compile(r"\w+")


def numbered(lines: Sequence[str], start: int, end: int) -> str:
    """The lines `start:end`, from 0, as they are shown: with their numbers, and not too many of them."""
    shown = [f"{number + 1:>6}\t{lines[number][:_SHOWN_WIDTH]}" for number in range(start, end)]
    if len(shown) > _SHOWN_LINES:
        shown[_SHOWN_LINES:] = ["     …"]
    return "\n".join(shown)


def several(lines: Sequence[str], starts: Sequence[int]) -> str:
    """The places where something is, each by its first line."""
    shown = [numbered(lines, start, start + 1) for start in starts[:_NAMED_MATCHES]]
    if len(starts) > _NAMED_MATCHES:
        shown.append(f"     … and {len(starts) - _NAMED_MATCHES} more")
    return "\n".join(shown)


def explain_miss(lines: Sequence[str], wanted: Sequence[str], what: str) -> str:
    """Why `wanted` is not among `lines`: what is most like it, where, and what differs.

    Args:
        lines: The lines of the text, without line ends.
        wanted: Those that were looked for.
        what: What they are called.
    """
    if wanted and all(_NUMBERED.match(line) for line in wanted):
        return f"{what} was not found: its lines begin with line numbers, which are not part of the text"
    if not lines:
        return f"{what} was not found: the file is empty"
    start, end = _nearest(lines, wanted)
    there = lines[start:end]
    if hint := _difference(there, wanted):
        return f"{what} was not found. The nearest lines now ({hint}):\n{numbered(lines, start, end)}"
    diff = _short_diff(wanted, there)
    return (
        f"{what} was not found. The nearest lines now:\n{numbered(lines, start, end)}\n"
        f"What differs (- {what}, + the file):\n{diff}"
    )


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """The stretch of `lines` most like `wanted`, found among those that share most words with it."""
    size = min(len(wanted), len(lines))
    words = Counter(word for line in wanted for word in _words(line))
    if not words:
        return 0, size
    # A word that is on every line says little.
    spread = Counter(word for line in lines for word in _words(line) if word in words)
    scores = [sum(1 / spread[word] ** 0.5 for word in _words(line) if word in words) for line in lines]
    current = sum(scores[:size])
    windows = [(current, 0)]
    for start in range(1, len(lines) - size + 1):
        current += scores[start + size - 1] - scores[start - 1]
        windows.append((round(current, 6), -start))
    joined = "\n".join(wanted)[:_COMPARED]
    best, best_likeness = 0, -1.0
    for _, negative in nlargest(_CANDIDATES, windows):
        candidate = "\n".join(lines[-negative : -negative + size])[:_COMPARED]
        if (likeness := similarity(candidate, joined)) > best_likeness:
            best, best_likeness = -negative, likeness
    return best, best + size


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line.casefold()))


def _difference(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """What a careful reader would notice first, where it is one thing only."""
    ours, theirs = "\n".join(lines), "\n".join(wanted)
    if "".join(ours.split()) == "".join(theirs.split()):
        return "only white space differs"
    if ours.casefold() == theirs.casefold():
        return "only upper and lower case differ"
    if [plain(line) for line in lines] == [plain(line) for line in wanted]:
        return "only quotation marks, dashes or special spaces differ"
    return ""


def _short_diff(wanted: Sequence[str], there: Sequence[str]) -> str:
    shown: list[str] = []
    for one in changed_ranges(wanted, there):
        shown += [f"-{line[:_SHOWN_WIDTH]}" for line in wanted[one.start : one.end]]
        shown += [f"+{line[:_SHOWN_WIDTH]}" for line in there[one.new_start : one.new_end]]
    if len(shown) > _SHOWN_LINES:
        shown[_SHOWN_LINES:] = ["…"]
    return "\n".join(shown)
