"""Bounds on a model that goes round in circles or answers with nothing. Each is a count, never a guess."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from outrider.ports.model import ModelResponse, ToolCall

SAME_STEP_LIMIT = 3
"""The same calls with the same results, so often in a row: the next ones are not run."""
SAME_STEP_END = 6
"""So often: the turn fails."""
REPAIR_LIMIT = 3
"""Empty, cut off or malformed answers in a row that are put up with."""

Flaw = Literal["empty", "only_reasoning", "cut_off", "repeated"]


@dataclass(frozen=True, slots=True)
class Repair:
    """What is done about an answer that is no answer."""

    nudge: str
    """What the model is told."""
    reason: str
    """Why the turn fails when it happens too often in a row."""
    summary: str


FLAWS: Final[Mapping[Flaw, Repair]] = {
    "empty": Repair(
        "Your last answer was empty. Go on with the task, or answer with what you have.",
        "empty_responses",
        "The model's answers were empty.",
    ),
    "only_reasoning": Repair(
        "Your last answer held only reasoning, which nobody sees. Go on with the task: call a tool, or answer.",
        "only_reasoning",
        "The model's answers held only reasoning.",
    ),
    "cut_off": Repair(
        "Your last answer was cut off by its length limit. Go on from where it stopped.",
        "cut_off",
        "The model's answers were cut off by their length limit.",
    ),
    "repeated": Repair(
        "Your last answer is the same as the one before it, and was cut off again. Say it shorter, or take a smaller step.",
        "repeated_answers",
        "The model gave the same answer again and again, cut off each time.",
    ),
}
"""An answer without calls that a turn cannot end with, by name. One that declines ends the turn as refused, and what is
called again with the same result is bounded by `RepeatGuard`."""
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
    _cut_off: str | None = None

    def flaw_of(self, response: ModelResponse) -> Flaw | None:
        """What is wrong with an answer without calls; None if it is one."""
        before, self._cut_off = self._cut_off, None
        if response.finish_reason == "length":
            self._cut_off = response.text
            return "repeated" if before is not None and before == response.text else "cut_off"
        if response.text.strip():
            return None
        return "only_reasoning" if (response.reasoning or "").strip() else "empty"

    def note(self, *, bad: bool) -> bool:
        """Take note of an answer; True if the turn should end."""
        self.count = self.count + 1 if bad else 0
        return self.count >= REPAIR_LIMIT


def _signature(calls: Sequence[ToolCall]) -> tuple[tuple[str, str], ...]:
    return tuple((call.name, call.arguments) for call in calls)
