"""What did not hold in a scenario, as it is shown to a person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that did not hold."""

    where: str
    """The step, the answer or the expectation, as a place in the scenario file."""
    expected: str
    actual: str
    diff: str = ""
    """How the two differ, line by line, where that says more than the two do."""

    def __str__(self) -> str:
        """The failure in lines: `where`, and below it the difference, or both sides."""
        said = self.diff or f"expected: {self.expected}\nactual:   {self.actual}"
        return f"{self.where}\n" + "\n".join(f"  {line}" for line in visible(said).split("\n"))


def counted(count: int, noun: str) -> str:
    """`1 answer`, `2 answers`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_NAMES: Final[Mapping[int, str]] = {
    **{code: chr(0x2400 + code) for code in range(32) if code != 10},
    127: "␡",
    **{code: f"\\x{code:02x}" for code in range(128, 160)},
    **{
        code: f"\\u{code:04x}"
        for code in (0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF)
    },
}


def visible(text: str) -> str:
    """`text` with control characters, and those that turn the writing around, made visible; line ends stay."""
    return text.translate(_NAMES).encode("utf-8", "backslashreplace").decode("utf-8")
