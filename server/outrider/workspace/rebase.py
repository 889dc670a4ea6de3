"""Where a place of the text that was last seen is now, and whether somebody else has changed it since. Pure."""

from dataclasses import dataclass

from outrider.workspace.diff import changed_ranges, ended_lines, has_end, split_lines


@dataclass(frozen=True, slots=True)
class Clash:
    """Lines `start:end` of the text as it is now, from 0, that both changed."""

    start: int
    end: int


def clash(seen: str, now: str, after: str) -> Clash | None:
    """The first place of `now` that the change from `now` to `after` and the one from `seen` to `now` have in common.

    Changes of whole lines are compared. Those that only touch have nothing in common, and neither have an insertion
    and a change right beside it; two insertions at one point have. That the last line got an end, or lost it, is no
    change of that line.

    Args:
        seen: The text for which the change was made.
        now: The text for which it was worked out.
        after: The text that it leaves.
    """
    was, lines, becomes = ended_lines(seen, now, after)
    # Both are worked out from `now`, so that taking exactly the other change back is found among lines that moved.
    others = [(one.start, one.end) for one in changed_ranges(lines, was)]
    for change in changed_ranges(lines, becomes):
        for start, end in others:
            if (start < change.end and change.start < end) or (start, end) == (change.start, change.end):
                return Clash(min(start, change.start), max(end, change.end))
    if lines and has_end(now) not in {has_end(seen), has_end(after)}:
        return Clash(len(lines) - 1, len(lines))
    return None


def carried_over(seen: str, now: str, after_line: int) -> int | Clash:
    """The line of `now` after which comes what was meant to come after a line of `seen`.

    A replaced line right beside the place does not change it; lines put in or taken out there do, as for `clash`.

    Args:
        seen: The text whose lines were counted.
        now: The text as it is.
        after_line: A line of `seen`, from 1; 0 for the top.

    Returns:
        That line, from 1, or the place that was changed. A line that `seen` does not have is at the end of `now`.
    """
    # Whether a line has an end makes no difference to what comes after it.
    lines = [line.rstrip("\r\n") for line in split_lines(now)]
    counted = [line.rstrip("\r\n") for line in split_lines(seen)]
    if lines == counted:
        return after_line
    if after_line > len(counted):
        return Clash(len(lines), len(lines))
    moved = 0
    for other in changed_ranges(lines, counted):
        start, end = other.new_start, other.new_end
        if end < after_line:
            moved = other.end - end
        elif start <= after_line:
            replaced = start < end and other.start < other.end
            if not replaced or start < after_line < end:
                return Clash(other.start, other.end)
            return other.end if after_line == end else other.start
    return after_line + moved
