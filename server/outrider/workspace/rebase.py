"""Whether a change was made for a place that somebody else has changed since the text was last seen. Pure."""

from dataclasses import dataclass

from outrider.workspace.diff import changed_ranges, split_lines


@dataclass(frozen=True, slots=True)
class Clash:
    """Lines `start:end` of the text as it is now, from 0, that both changed."""

    start: int
    end: int


def clash(seen: str, now: str, after: str) -> Clash | None:
    """The first place of `now` that the change from `now` to `after` and the one from `seen` to `now` have in common.

    Changes of whole lines are compared. Those that only touch have nothing in common, and neither have an insertion
    and a change right beside it; two insertions at one point have.

    Args:
        seen: The text for which the change was made.
        now: The text for which it was worked out.
        after: The text that it leaves.
    """
    lines = split_lines(now)
    # Both are worked out from `now`, so that taking exactly the other change back is found among lines that moved.
    others = [(one.start, one.end) for one in changed_ranges(lines, split_lines(seen))]
    for change in changed_ranges(lines, split_lines(after)):
        for start, end in others:
            if (start < change.end and change.start < end) or (start, end) == (change.start, change.end):
                return Clash(min(start, change.start), max(end, change.end))
    return None
