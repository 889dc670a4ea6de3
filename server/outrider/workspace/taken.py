"""Which hunks of a change are in a text, where somebody may have taken any of them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

from outrider.ports.text import Hunk
from outrider.workspace.change import Change
from outrider.workspace.diff import split_lines
from outrider.workspace.landing import part_in

MOST_WAYS: Final = 1000
"""Ways to read a text that are followed at once; where lines repeat there may be many."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What of a change is in a text."""

    numbers: tuple[int, ...]
    """Of the hunks, from 1."""
    text: str
    """The text."""
    without: str | None = None
    """The text without them, where it is not the one that the change was worked out for."""


def hunks_of(change: Change) -> list[Hunk]:
    """The hunks of a change as they are numbered and shown, each as the replacement of whole lines."""
    before = change.before or ""
    starts = [0, *accumulate(len(line) for line in split_lines(before))]
    placed = [(starts[hunk.line - 1], hunk) for hunk in change.difference.hunks]
    return [Hunk(start, start + len(hunk.removed), hunk.removed, hunk.added) for start, hunk in placed]


def taken_in(before: str, hunks: Sequence[Hunk], text: str) -> Taken | None:
    """Which hunks are in a text, beside what somebody else wrote there; None if none is known to be.

    Args:
        before: The text that they were worked out for.
        hunks: The hunks, in order.
        text: The text as it is found.
    """
    exactly = numbers_in(before, hunks, text)
    if exactly is not None:
        return Taken(exactly, text) if exactly else None
    found = part_in(before, hunks, text)
    return None if found is None else Taken(tuple(number + 1 for number in found[0]), text, found[1])


def numbers_in(before: str, hunks: Sequence[Hunk], text: str) -> tuple[int, ...] | None:
    """The numbers of the hunks that alone make up the difference of two texts; None where it is another one.

    Where several selections leave the same text it is one of them, always the same.
    """
    # By the place in `text` that was come to: the hunks that were taken on the way, the last one first.
    ways: dict[int, tuple[int, ...]] = {0: ()}
    done = 0
    for number, hunk in enumerate(hunks, 1):
        between, further = before[done : hunk.start], dict[int, tuple[int, ...]]()
        for at, taken in ways.items():
            if not text.startswith(between, at):
                continue
            here = at + len(between)
            if text.startswith(hunk.old, here):
                further.setdefault(here + len(hunk.old), taken)
            if text.startswith(hunk.new, here):
                further.setdefault(here + len(hunk.new), (*taken, number))
        if not further or len(further) > MOST_WAYS:
            return None
        ways, done = further, hunk.end
    return ways.get(len(text) - (len(before) - done)) if text.endswith(before[done:]) else None
