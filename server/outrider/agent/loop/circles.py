"""Sees a model that goes in a circle: the same one to five calls with the same results over and over, or the same words. Pure.

A call that waits is no circle as long as it may be waiting: a command that sleeps, or a look at a job. What it waits for takes
its time in the call, so a hundred of them are not made in a second; one without a wait in it is.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from outrider.ports.model import ToolCall
from outrider.ports.patterns import linear

LONGEST_CIRCLE: Final = 5
"""Steps of the longest pattern that is looked for."""
ROUNDS: Final = 3
"""So often in a row with the same results: the next ones are not run."""
ROUNDS_WAITING: Final = 30
"""The same for steps that wait."""
SKIPPED_LIMIT: Final = 3
"""Steps in a row that were not run: the turn ends."""
SAME_TEXT_LIMIT: Final = 6
"""Steps in a row that say the same words, and get the same results: the turn ends."""
SHORTEST_TEXT: Final = 60
"""Characters; a shorter text may well be said twice."""
LEAST_OF_TEXT: Final = 4
"""Times that the end of a text says the same."""
_END: Final = 4_000
"""Characters of a text that are looked at for that."""

REPEATED: Final = {
    1: "Not run: this call was made {count} times in a row with the same result. If you wait for something to change, wait in "
    "the call, as with `sleep 30` before the command. Else do something else, or answer with what you know.",
    2: "Not run: these {length} calls were made {count} times in turn with the same results. If you wait for something to "
    "change, wait in a call, as with `sleep 30` before the command. Else do something else, or answer with what you know.",
}
"""What the model is told, by the length of its circle, the last one for all longer ones."""
_WAITS: Final = linear("loop.waits", r'(?:^|[\s;&|("])(?:sleep|wait|watch|inotifywait)(?:[\s;&|)"]|$)')
_WAITING_TOOLS: Final = frozenset({"read_job", "wait"})

Signature = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Circle:
    """A pattern that was repeated."""

    length: int
    """In steps."""
    rounds: int


@dataclass(slots=True)
class RepeatGuard:
    """The latest steps of a turn, in what was asked and in what came back."""

    _steps: list[tuple[Signature, tuple[str, ...]]] = field(
        default_factory=list[tuple[Signature, tuple[str, ...]]]
    )
    _skipped: int = 0
    _text: str = ""
    _same: int = 0

    def circle_of(self, calls: Sequence[ToolCall]) -> Circle | None:
        """The circle that these calls would go on with, where it went round often enough."""
        asked, steps = _signature(calls), self._steps
        if all(step[0] != asked for step in steps):
            return None
        for length in range(1, LONGEST_CIRCLE + 1):
            rounds = ROUNDS_WAITING if any(_waits(step[0]) for step in steps[-length:]) else ROUNDS
            latest = steps[-rounds * length :]
            is_long_enough = len(latest) == rounds * length
            if is_long_enough and latest[0][0] == asked and latest[length:] == latest[:-length]:
                return Circle(length, rounds)
        return None

    def note(self, calls: Sequence[ToolCall], results: Sequence[str], text: str) -> bool:
        """Take note of a step that was run; gives whether it said the same with the same results so often that the turn should end."""
        step, said = (_signature(calls), tuple(results)), text.strip()
        is_same = len(said) >= SHORTEST_TEXT and said == self._text and self._steps[-1][1] == step[1]
        self._same = self._same + 1 if is_same and not _waits(step[0]) else 1
        self._text, self._skipped = said, 0
        self._steps.append(step)
        del self._steps[: -ROUNDS_WAITING * LONGEST_CIRCLE]
        return self._same >= SAME_TEXT_LIMIT

    def note_skipped(self) -> bool:
        """Take note of a step that was not run, because it was in the circle again; gives whether the turn should end."""
        self._skipped += 1
        return self._skipped >= SKIPPED_LIMIT


def goes_round(text: str) -> bool:
    """Whether the end of a text is the same words at least four times."""
    end = text[-_END:][::-1]
    # The longest border of each prefix of the text read backwards, as Knuth, Morris and Pratt compute it: linear.
    borders = [0] * len(end)
    for at in range(1, len(end)):
        border = borders[at - 1]
        while border and end[at] != end[border]:
            border = borders[border - 1]
        borders[at] = border + (end[at] == end[border])
        length, period = at + 1, at + 1 - borders[at]
        if length >= max(LEAST_OF_TEXT * period, LEAST_OF_TEXT * SHORTEST_TEXT) and period >= 8:
            return True
    return False


def _signature(calls: Sequence[ToolCall]) -> Signature:
    return tuple((call.name, call.arguments) for call in calls)


def _waits(step: Signature) -> bool:
    return any(name in _WAITING_TOOLS or _WAITS.search(arguments) for name, arguments in step)
