r"""Putting one text in the place of another, in a text that may not have it exactly as it was written.

The old text is looked for in layers: as it stands; with other line ends; with other space at the ends of lines; with
another indentation, which the new text gets too; and at last with other white space between the same tokens, or other
quotation marks. The first layer that finds anything decides, and it decides only where it finds one place: there is no
guess between two.
Everything is literal: `$`, `\1` and the like mean themselves.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from outrider.workspace.text.matching.blocks import (
    Layer,
    Text,
    TooMuchWorkError,
    Window,
    find,
    marked_between,
    rewrite,
)
from outrider.workspace.text.matching.nearest import explain_miss, numbered, several
from outrider.workspace.text.matching.tokens import is_in_word

_LAYERS: dict[Layer, str] = {
    "exact": "",
    "line_ends": "apart from line ends",
    "trailing_space": "apart from space at the ends of lines",
    "indentation": "apart from its indentation, which was applied to the new text too",
    "spacing": "apart from white space or the shape of quotation marks",
}


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text to put in the place of another."""

    old: str
    new: str
    replace_all: bool = False
    """Whether more than one place may match, and all are replaced."""
    whole_words: bool = False
    """Whether only places count that neither begin nor end inside of a word."""


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start:end` of the text before became the characters `new_start:new_end`."""

    start: int
    end: int
    new_start: int
    new_end: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new text, and where it differs from the one before; the rest is the same."""

    text: str
    spans: tuple[Span, ...]
    layer: Layer = "exact"
    notes: tuple[str, ...] = field(default=(), compare=False)
    """What was not exactly as it was written, for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class MatchProblem:
    """Why nothing was replaced, and what would help."""

    message: str


@dataclass(frozen=True, slots=True)
class _Spot:
    start: int
    end: int
    new: str


def found_how(layer: Layer) -> str:
    """How a place was found, for whoever looked for it; empty where there is nothing to say."""
    return _LAYERS[layer] if layer not in {"exact", "line_ends"} else ""


def replace(text: str, wish: Replacement) -> Replaced | MatchProblem:
    """Put a text in the place of another.

    Args:
        text: The text.
        wish: What to replace, and by what. Line ends of what comes are made those of the place.
    """
    old = wish.old
    if not old:
        return MatchProblem("old is empty; to write a whole file use write_file")
    there = Text(text)
    spots = _as_it_stands(there, wish)
    if spots and wish.whole_words:
        words = [one for one in spots if not (is_in_word(text, one.start) or is_in_word(text, one.end))]
        if not words:
            return MatchProblem(
                f"old is only in longer words, {len(spots)} times; without whole_words they would match:\n"
                f"{several(there.lines, [there.line_at(one.start) for one in spots])}"
            )
        spots = words
    if spots:
        return _decide(there, "exact", spots, wish)
    if spots := _with_other_line_ends(there, wish):
        return _decide(there, "line_ends", spots, wish)
    return _by_lines(there, wish)


def replace_in_order(text: str, wishes: Sequence[Replacement]) -> Replaced | MatchProblem:
    """Make several replacements, each in what the one before left; all of them, or none.

    None may touch what an earlier one put in: it would not be clear which of the two was meant for that place.
    """
    spans: list[tuple[Span, int]] = []
    layers: list[Layer] = ["exact"]
    notes: list[str] = []
    start = text
    for index, wish in enumerate(wishes):
        done = replace(text, wish)
        name = f"edits[{index}]: " if len(wishes) > 1 else ""
        if isinstance(done, MatchProblem):
            return MatchProblem(f"{name}{done.message}")
        for span, earlier in spans:
            if any(_touch(span, new) for new in done.spans):
                line = Text(text).line_at(span.new_start) + 1
                return MatchProblem(
                    f"{name}old overlaps what edits[{earlier}] inserts at line {line}; combine the two edits"
                )
        spans = [(_moved(span, done.spans), earlier) for span, earlier in spans]
        spans += [(new, index) for new in done.spans]
        layers.append(done.layer)
        notes += [f"{name}{note}" for note in done.notes]
        text = done.text
    # Where each one is in the first text does not matter any more: it is one change now.
    whole = Span(0, len(start), 0, len(text))
    layer = max(layers, key=list(_LAYERS).index)
    return Replaced(
        text, (whole,) if len(wishes) > 1 else tuple(span for span, _ in spans), layer, tuple(notes)
    )


def _touch(earlier: Span, new: Span) -> bool:
    """Whether a replacement takes something of what an earlier one put in, or spans a place where it took all."""
    if earlier.new_start == earlier.new_end:
        return new.start < earlier.new_start < new.end
    return new.start < earlier.new_end and new.end > earlier.new_start


def _moved(span: Span, by: Sequence[Span]) -> Span:
    shift = sum(
        (one.new_end - one.new_start) - (one.end - one.start) for one in by if one.end <= span.new_start
    )
    return Span(span.start, span.end, span.new_start + shift, span.new_end + shift)


def insert_lines(text: str, after_line: int, new: str) -> Replaced | MatchProblem:
    """Put whole lines into a text, with its line ends; whether it ends with one stays as it is.

    Args:
        text: The text.
        after_line: The line that they come after, from 1; 0 for the top.
        new: The lines; a line end after the last one makes no difference.
    """
    there = Text(text)
    if after_line > len(there.lines):
        return MatchProblem(f"after_line {after_line} is after the last line, which is {len(there.lines)}")
    if not there.lines:
        return Replaced(new, (Span(0, 0, 0, len(new)),))
    at = there.offsets[after_line]
    end = there.end_at(max(0, after_line - 1), after_line)
    put = _plain(new).removesuffix("\n").replace("\n", end)
    put = put + end if after_line == 0 or there.ends[after_line - 1] else end + put
    return Replaced(text[:at] + put + text[at:], (Span(at, at, at, at + len(put)),))


# --- the layers ----------------------------------------------------------------------------------------------


def _as_it_stands(there: Text, wish: Replacement) -> list[_Spot]:
    return [
        _Spot(start, start + len(wish.old), _with_ends(there, start, start + len(wish.old), wish.new))
        for start in _places(there.text, wish.old)
        if not (_cuts_end(there.text, start) or _cuts_end(there.text, start + len(wish.old)))
    ]


def _with_other_line_ends(there: Text, wish: Replacement) -> list[_Spot]:
    """Places that are `old` when every line ends alike, the last one of the file too."""
    plain = "".join(f"{line}\n" for line in there.lines)
    offsets = list(accumulate((len(line) + 1 for line in there.lines), initial=0))
    unended = bool(there.ends) and not there.ends[-1]

    def offset_of(place: int) -> int:
        line = bisect_right(offsets, place) - 1
        return len(there.text) if line == len(there.lines) else there.offsets[line] + place - offsets[line]

    spots: list[_Spot] = []
    old = _plain(wish.old)
    for place in _places(plain, old):
        start, end = offset_of(place), offset_of(place + len(old))
        new = _plain(wish.new)
        if unended and place + len(old) == len(plain):
            new = new.removesuffix("\n")
        spots.append(_Spot(start, end, _with_ends(there, start, end, new)))
    return spots


def _by_lines(there: Text, wish: Replacement) -> Replaced | MatchProblem:
    old, new = _plain(wish.old), _plain(wish.new)
    is_ended = old.endswith("\n")
    wanted = old.removesuffix("\n").split("\n")
    coming = [] if is_ended and not new else (new.removesuffix("\n") if is_ended else new).split("\n")
    try:
        found = find(there, wanted)
    except TooMuchWorkError:
        return MatchProblem("old matches in too many places; make it longer, or use other lines")
    if not found.windows:
        return MatchProblem(explain_miss(there.lines, wanted, "old"))
    marked = marked_between(wanted, coming)
    spots: list[_Spot] = []
    for window in found.windows:
        lines = rewrite(there, window, marked)
        if isinstance(lines, str):
            return MatchProblem(
                f"old was found at line {window.start + 1} with less indentation, and this line of new cannot be "
                f"dedented as far: {lines!r}"
            )
        spots.append(_spot(there, window, lines, is_ended=is_ended))
    return _decide(there, found.layer, spots, wish)


def _spot(there: Text, window: Window, lines: list[str], *, is_ended: bool) -> _Spot:
    last = there.ends[window.end - 1]
    start, end = there.offsets[window.start], there.offsets[window.end]
    if not is_ended:
        end -= len(last)
    new = "".join(lines)
    if not is_ended or not last:
        new = new.removesuffix("\n").removesuffix("\r")
    return _Spot(start, end, new)


def _decide(there: Text, layer: Layer, spots: list[_Spot], wish: Replacement) -> Replaced | MatchProblem:
    if len(spots) > 1 and not wish.replace_all:
        starts = [there.line_at(spot.start) for spot in spots]
        how = f" {_LAYERS[layer].partition(',')[0]}" if layer != "exact" else ""
        return MatchProblem(
            f"old matches {len(spots)} times{how}; make it longer, so that only one place matches, or set replace_all:\n"
            f"{several(there.lines, starts)}"
        )
    parts: list[str] = []
    spans: list[Span] = []
    position = length = 0
    for spot in spots:
        if spot.start < position:
            continue
        parts += (there.text[position : spot.start], spot.new)
        length += spot.start - position
        spans.append(Span(spot.start, spot.end, length, length + len(spot.new)))
        length, position = length + len(spot.new), spot.end
    parts.append(there.text[position:])
    notes: tuple[str, ...] = ()
    if how := found_how(layer):
        notes = (f"old was found {how}. It replaced:\n{_replaced(there, spans)}",)
    return Replaced("".join(parts), tuple(spans), layer, notes)


def _replaced(there: Text, spans: Sequence[Span]) -> str:
    """The lines that the first of these places had."""
    first = spans[0]
    shown = numbered(
        there.lines, there.line_at(first.start), there.line_at(max(first.start, first.end - 1)) + 1
    )
    return shown + (f"\n     … and {len(spans) - 1} more places" if len(spans) > 1 else "")


def _places(text: str, old: str) -> list[int]:
    """Where `old` begins, overlapping places too: two ways to understand an edit are one too many."""
    found: list[int] = []
    place = text.find(old)
    while place >= 0:
        found.append(place)
        place = text.find(old, place + 1)
    return found


def _cuts_end(text: str, at: int) -> bool:
    """Whether a place is in the middle of a line end."""
    return text[max(0, at - 1) : at + 1] == "\r\n"


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _with_ends(there: Text, start: int, end: int, new: str) -> str:
    """`new` with the line ends of the place."""
    if "\n" not in new:
        return new
    if "\r" not in there.text:
        return new.replace("\r\n", "\n") if "\n" in there.text else new
    first, last = there.line_at(start), there.line_at(max(start, end - 1))
    return new.replace("\r\n", "\n").replace("\n", there.end_at(first, last + 1))
