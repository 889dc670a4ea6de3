"""Stretches of time: where the time of a turn went."""

from collections.abc import Iterable
from datetime import datetime

Stretch = tuple[float, float]
"""From when to when, in seconds since the epoch."""


def moment(ts: str) -> float | None:
    """The moment of an event's `ts`, in seconds since the epoch; None where it is none."""
    try:
        return datetime.fromisoformat(ts).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def stretch(start: str | None, end: str | None) -> list[Stretch]:
    """What lies between two events; nothing where one of them is missing or the clock was put back."""
    first, last = moment(start or ""), moment(end or "")
    return [] if first is None or last is None or last <= first else [(first, last)]


def joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same time in order, without overlaps."""
    result: list[Stretch] = []
    for first, last in sorted(stretches):
        if result and first <= result[-1][1]:
            result[-1] = result[-1][0], max(result[-1][1], last)
        else:
            result.append((first, last))
    return result


def without(stretches: Iterable[Stretch], taken: Iterable[Stretch]) -> list[Stretch]:
    """What of some time is left when other time is taken out of it."""
    left = joined(stretches)
    for begin, end in joined(taken):
        left = [
            part
            for first, last in left
            for part in ((first, min(last, begin)), (max(first, end), last))
            if part[0] < part[1]
        ]
    return left


def seconds(stretches: Iterable[Stretch]) -> float:
    """How long it is altogether, where every moment counts once."""
    return sum(last - first for first, last in joined(stretches))
