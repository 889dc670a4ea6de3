"""What to say about a text that was looked for: where it is several times, or what there is in its stead."""

import re
from collections import Counter
from collections.abc import Sequence
from heapq import nlargest
from itertools import islice

from outrider.workspace.text.diff import changed_ranges
from outrider.workspace.text.matching.tokens import plain, tokens


def similarity(one: Sequence[str], other: Sequence[str]) -> float:
    """How alike two texts or lists are, from 0 to 1: twice their longest common subsequence by the length of both."""
    if not one or not other:
        return float(one == other)
    return 1.0 if one == other else 2 * _common(one, other) / (len(one) + len(other))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Length of the longest common subsequence, by bits (H. Hyyrö, "Bit-parallel LCS-length computation", 2004)."""
    marks: dict[str, int] = {}
    for index, piece in enumerate(one):
        marks[piece] = marks.get(piece, 0) | 1 << index
    row = full = (1 << len(one)) - 1
    for piece in other:
        found = row & marks.get(piece, 0)
        row = ((row + found) | (row - found)) & full
    return len(one) - row.bit_count()


_CANDIDATES = 40
"""Places that are compared thoroughly when nothing matches."""
_COMPARED = 2000
"""Tokens and characters of each that are compared."""
_PIECE = 4
"""Characters of a piece of a word."""
_MOST_PIECES = 40
_ABOVE = 3
"""Lines that are shown above the first one that differs."""
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
    if any(map(str.strip, wanted)) and all(_NUMBERED.match(line) for line in wanted if line.strip()):
        return (
            f"{what} was not found: its lines begin with line numbers, which are not part of the text. "
            "Give the text without the numbers and the tab after them"
        )
    if not lines:
        return f"{what} was not found: the file is empty"
    start, end = _nearest(lines, wanted)
    there = lines[start:end]
    if hint := _difference(there, wanted):
        return f"{what} was not found. The nearest lines now ({hint}):\n{numbered(lines, start, end)}"
    diff = _short_diff(wanted, there)
    differs = start + changed_ranges(wanted, there)[0].new_start
    shown = max(start, min(differs - _ABOVE, end - _SHOWN_LINES))
    return (
        f"{what} was not found. The nearest lines now:\n{numbered(lines, shown, end)}\n"
        f"What differs (- {what}, + the file):\n{diff}"
    )


def _nearest(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, int]:
    """The stretch of `lines` most like `wanted`, found among those that share most words with it."""
    size = min(len(wanted), len(lines))
    words = {word for line in wanted for word in _words(line)}
    shared = [_words(line) & words for line in lines]
    # A word that is nowhere may be one that is written a little otherwise.
    missing = words.difference(*shared)
    pieces = [
        word[at : at + _PIECE] for word in sorted(missing) for at in range(0, len(word) - _PIECE + 1, 2)
    ]
    if pieces:
        for line, there in zip(lines, shared, strict=True):
            folded = line.casefold()
            there.update(piece for piece in pieces[:_MOST_PIECES] if piece in folded)
    # A word that is on every line says little.
    spread = Counter(word for there in shared for word in there)
    if not spread:
        return 0, size
    scores = [sum(1 / spread[word] ** 0.5 for word in there) for there in shared]
    current = sum(scores[:size])
    windows = [(current, 0)]
    for start in range(1, len(lines) - size + 1):
        current += scores[start + size - 1] - scores[start - 1]
        windows.append((round(current, 6), -start))
    starts = [-negative for _, negative in nlargest(_CANDIDATES, windows)]
    starts += _aligned(lines, wanted, len(lines) - size)
    sought, joined = _tokens(wanted), "\n".join(wanted)[:_COMPARED]

    def likeness(start: int) -> float:
        """How much of what is wanted is there, in place, and how little else."""
        there = lines[start : start + size]
        tokens_there = _common(sought, _tokens(there)) / max(1, len(sought))
        in_place = sum(one == other for one, other in zip(wanted, there, strict=False)) / size
        return 0.75 * tokens_there + 0.05 * in_place + 0.2 * similarity("\n".join(there)[:_COMPARED], joined)

    # Of two that are as good the one that more speaks for comes first.
    best = max(dict.fromkeys(starts), key=likeness)
    return best, best + size


def _aligned(lines: Sequence[str], wanted: Sequence[str], last: int) -> list[int]:
    """Where the wanted lines begin if the rarest of those that are there stand where they should."""
    numbers: dict[str, list[int]] = {line.strip(): [] for line in wanted if line.strip()}
    for number, line in enumerate(lines):
        if (places := numbers.get(line.strip())) is not None:
            places.append(number)
    by_rarity = sorted(
        (len(places), at, place)
        for at, line in enumerate(wanted)
        for places in [numbers.get(line.strip(), [])[:_CANDIDATES]]
        for place in places
    )
    return [max(0, min(place - at, last)) for _, at, place in by_rarity[:_CANDIDATES]]


def _tokens(lines: Sequence[str]) -> list[str]:
    found = (token for line in lines for token in tokens(line[:_COMPARED]) if token.strip())
    return list(islice(found, _COMPARED))


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
        return "only white space, quotation marks or dashes differ"
    return ""


def _short_diff(wanted: Sequence[str], there: Sequence[str]) -> str:
    shown: list[str] = []
    for one in changed_ranges(wanted, there):
        shown += [f"-{line[:_SHOWN_WIDTH]}" for line in wanted[one.start : one.end]]
        shown += [f"+{line[:_SHOWN_WIDTH]}" for line in there[one.new_start : one.new_end]]
    if len(shown) > _SHOWN_LINES:
        shown[_SHOWN_LINES:] = ["…"]
    return "\n".join(shown)
