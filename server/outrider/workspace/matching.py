"""Finding the text that an edit names. Exact, or not at all: a miss is explained, never guessed away."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from outrider.workspace.documents import split_lines

_CANDIDATES = 12
"""Places that are compared thoroughly when nothing matches."""
_SHOWN_LINES = 12
_SHOWN_WIDTH = 200
_NAMED_MATCHES = 10
_NUMBERED = re.compile(r"\s*\d+(?:\t|\s*[|:│→])")
_WORD = re.compile(r"\w+")
_LOOKALIKES = str.maketrans("‘’“”–—\u00a0\u2212", "''\"\"-- -")


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new text, and how many places were changed in it."""

    text: str
    count: int


@dataclass(frozen=True, slots=True)
class MatchProblem:
    """Why nothing was replaced, and what would help."""

    message: str


def replace_exact(text: str, old: str, new: str, *, replace_all: bool) -> Replaced | MatchProblem:
    r"""Replace `old` by `new`, both taken literally.

    Args:
        text: The text.
        old: What to look for. Its line ends, and those of `new`, are taken to be those of `text`.
        new: What to put in its place.
        replace_all: Whether more than one place may match, and all are replaced.
    """
    if not old:
        return MatchProblem("old is empty; to write a whole file use write_file")
    old, new = _with_line_ends_of(text, old, new)
    places = _places(text, old)
    if not places:
        return MatchProblem(_explain_miss(text, old))
    if len(places) > 1 and not replace_all:
        lines = [text.count("\n", 0, place) + 1 for place in places[:_NAMED_MATCHES]]
        more = ", …" if len(places) > _NAMED_MATCHES else ""
        return MatchProblem(
            f"old matches {len(places)} times (lines {', '.join(map(str, lines))}{more}); make it longer, "
            "so that only one place matches, or set replace_all"
        )
    return Replaced(text.replace(old, new), text.count(old))


def _with_line_ends_of(text: str, old: str, new: str) -> tuple[str, str]:
    both = text.count("\n")
    paired = text.count("\r\n")
    plain_old, plain_new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    paired_old, paired_new = plain_old.replace("\n", "\r\n"), plain_new.replace("\n", "\r\n")
    if not both:
        return old, new
    if not paired:
        return plain_old, plain_new
    if paired == both:
        return paired_old, paired_new
    # Mixed line ends: those of the place decide, and the more frequent ones where it has none.
    if "\n" in old:
        return (paired_old, paired_new) if paired_old in text else (plain_old, plain_new)
    return old, paired_new if 2 * paired > both else plain_new


def _places(text: str, old: str) -> list[int]:
    """Where `old` begins, overlapping places too: two ways to understand an edit are one too many."""
    found: list[int] = []
    place = text.find(old)
    while place >= 0:
        found.append(place)
        place = text.find(old, place + 1)
    return found


def _explain_miss(text: str, old: str) -> str:
    wanted = [line.rstrip("\r\n") for line in split_lines(old)]
    lines = [line.rstrip("\r\n") for line in split_lines(text)]
    if sum(bool(_NUMBERED.match(line)) for line in wanted) == len(wanted):
        return "old was not found: it begins its lines with line numbers, which are not part of the text"
    if not lines:
        return "old was not found: the file is empty"
    start, end = _nearest(lines, wanted)
    shown = [
        f"{number:>6}\t{line[:_SHOWN_WIDTH]}" for number, line in enumerate(lines[start:end], start=start + 1)
    ]
    if len(shown) > _SHOWN_LINES:
        shown[_SHOWN_LINES:] = ["     …"]
    difference = _difference(lines[start:end], wanted)
    return f"old was not found. The nearest lines now{difference}:\n" + "\n".join(shown)


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
    joined = "\n".join(wanted)[: 40 * _SHOWN_WIDTH]
    best, best_ratio = 0, -1.0
    for _, negative in sorted(windows, reverse=True)[:_CANDIDATES]:
        candidate = "\n".join(lines[-negative : -negative + size])[: 40 * _SHOWN_WIDTH]
        matcher = difflib.SequenceMatcher(None, candidate, joined, autojunk=True)
        ratio = matcher.ratio() if len(joined) <= 2000 else matcher.quick_ratio()
        if ratio > best_ratio:
            best, best_ratio = -negative, ratio
    return best, best + size


def _words(line: str) -> set[str]:
    return set(_WORD.findall(line.casefold()))


def _difference(lines: Sequence[str], wanted: Sequence[str]) -> str:
    """What a careful reader would notice first."""
    ours, theirs = "\n".join(lines), "\n".join(wanted)
    if "".join(ours.split()) == "".join(theirs.split()):
        return " (only white space differs)"
    if ours.casefold() == theirs.casefold():
        return " (only upper and lower case differ)"
    if ours.translate(_LOOKALIKES) == theirs.translate(_LOOKALIKES):
        return " (only quotation marks, dashes or special spaces differ)"
    for number, (line, want) in enumerate(zip(lines, wanted, strict=False), start=1):
        if line != want:
            return f" (line {number} of old differs: {want[:_SHOWN_WIDTH]!r})"
    return ""
