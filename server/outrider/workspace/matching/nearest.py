"""What to say about a text that was looked for: where it is several times, or what there is in its stead."""

import re
from collections import Counter
from collections.abc import Sequence

from outrider.workspace.diff import changed_ranges
from outrider.workspace.matching.similarity import plain, similarity

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
        return f"{what} was not found: it begins its lines with line numbers, which are not part of the text"
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
    for _, negative in sorted(windows, reverse=True)[:_CANDIDATES]:
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
