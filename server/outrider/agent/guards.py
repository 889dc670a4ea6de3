"""Bounds on a model that goes round in circles or answers with nothing. Each is a count, never a guess."""

from collections.abc import Sequence
from dataclasses import dataclass

from outrider.ports.model import ToolCall

SAME_STEP_LIMIT = 3
"""The same calls with the same results, so often in a row: the next ones are not run."""
SAME_STEP_END = 6
"""So often: the turn fails."""
REPAIR_LIMIT = 3
"""Empty, cut off or malformed answers in a row that are put up with."""

EMPTY_NUDGE = "Your last answer was empty. Go on with the task, or answer with what you have."
CUT_NUDGE = "Your last answer was cut off by its length limit. Go on from where it stopped."
REPEATED = (
    "Not run: this call was made {count} times in a row with the same result. Do something else, or answer with "
    "what you know."
)


@dataclass(slots=True)
class RepeatGuard:
    """Counts steps that are the same as the one before, in what was asked and in what came back."""

    _last: tuple[object, ...] = ()
    count: int = 0

    def same_as_before(self, calls: Sequence[ToolCall]) -> bool:
        """Whether these calls were the last step's too, and that step had been repeated often enough."""
        return self.count >= SAME_STEP_LIMIT and bool(self._last) and self._last[0] == _signature(calls)

    def note(self, calls: Sequence[ToolCall], results: Sequence[str]) -> None:
        """Take note of a step that was run."""
        step = (_signature(calls), tuple(results))
        self.count = self.count + 1 if step == self._last else 1
        self._last = step

    def note_skipped(self) -> None:
        """Take note of a step that was not run, because it was the same again."""
        self.count += 1

    @property
    def hopeless(self) -> bool:
        """Whether the turn should end."""
        return self.count >= SAME_STEP_END


@dataclass(slots=True)
class RepairGuard:
    """Counts bad answers in a row."""

    count: int = 0

    def note(self, *, bad: bool) -> bool:
        """Take note of an answer; True if the turn should end."""
        self.count = self.count + 1 if bad else 0
        return self.count >= REPAIR_LIMIT


def _signature(calls: Sequence[ToolCall]) -> tuple[tuple[str, str], ...]:
    return tuple((call.name, call.arguments) for call in calls)
