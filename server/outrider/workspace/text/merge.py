"""Three-way merge of texts by lines. Takes from nobody: where both changed the same place, it stays as `mine`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outrider.workspace.text.diff import LineRange, changed_ranges, ended_lines, has_end
from outrider.workspace.text.lines import without_end


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A place that both sides changed, each in its own way."""

    line: int
    """Where it begins in the merged text, from 1."""
    base: str
    mine: str
    theirs: str


@dataclass(frozen=True, slots=True)
class Merged:
    """What came out."""

    text: str
    conflicts: tuple[MergeConflict, ...]


def merge(base: str, mine: str, theirs: str) -> Merged:
    """Bring what `theirs` changed in `base` into `mine`.

    Changes at different places are combined, identical ones taken once. Changes that overlap, and two insertions
    at one point, are a conflict and left as `mine`. Changes that only touch are combined, unlike in git: their
    order is certain, and a line written right below a change must not keep it from being taken back. Whether the last
    line has an end is a change of its own, as editors add one when they save.
    """
    old, ours, others = ended_lines(base, mine, theirs)
    output: list[str] = []
    conflicts: list[MergeConflict] = []
    position = 0
    for region in _regions(changed_ranges(old, ours), changed_ranges(old, others)):
        output += old[position : region.start]
        position = region.end
        was = old[region.start : region.end]
        my_lines = _lines(ours, region.mine, was)
        their_lines = _lines(others, region.theirs, was)
        if not region.mine:
            output += their_lines
            continue
        if region.theirs and my_lines != their_lines:
            conflicts.append(
                MergeConflict(len(output) + 1, "".join(was), "".join(my_lines), "".join(their_lines))
            )
        output += my_lines
    output += old[position:]
    # An end that `mine` wrote with a line of its own stays, too.
    is_mine = has_end(mine) is not has_end(base) or (has_end(mine) and ours[-1:] == output[-1:] != old[-1:])
    if output and not has_end(mine if mine and is_mine else theirs or mine):
        output[-1] = without_end(output[-1]) or output[-1]
    return Merged("".join(output), tuple(conflicts))


@dataclass(frozen=True, slots=True)
class _Region:
    """Lines `start:end` of the base, and the lines of each side that stand there; None: as in the base."""

    start: int
    end: int
    mine: tuple[int, int] | None
    theirs: tuple[int, int] | None


def _lines(lines: Sequence[str], span: tuple[int, int] | None, base: list[str]) -> list[str]:
    return base if span is None else list(lines[span[0] : span[1]])


def _regions(mine: Sequence[LineRange], theirs: Sequence[LineRange]) -> Iterator[_Region]:
    """The changed places from top to bottom; changes that overlap are one place."""
    waiting = sorted(
        [(one.start, one.end, 0, one) for one in mine] + [(one.start, one.end, 1, one) for one in theirs],
        key=lambda item: item[:3],
    )
    index = 0
    while index < len(waiting):
        start, end = waiting[index][:2]
        sides: tuple[list[LineRange], list[LineRange]] = ([], [])
        while index < len(waiting) and (waiting[index][0] < end or waiting[index][:2] == (start, end)):
            end = max(end, waiting[index][1])
            sides[waiting[index][2]].append(waiting[index][3])
            index += 1
        yield _Region(start, end, _span(sides[0], start, end), _span(sides[1], start, end))


def _span(ranges: Sequence[LineRange], start: int, end: int) -> tuple[int, int] | None:
    if not ranges:
        return None
    first, last = ranges[0], ranges[-1]
    return first.new_start - (first.start - start), last.new_end + (end - last.end)
