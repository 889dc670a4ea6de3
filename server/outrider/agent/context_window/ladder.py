"""What of the system message and of the tasks is given up, rung by rung, where all else is not enough. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from outrider.ports.model import Message, Part, PartKind

RUNGS: Final[tuple[tuple[PartKind, int], ...]] = (
    ("map", 0),
    ("open", 0),
    ("diagnostics", 0),
    ("instructions", 4_000),
    ("selection", 4_000),
    ("instructions", 0),
    ("selection", 0),
)
"""A kind of part, and how many characters of each are left. Who Outrider is, its mode, where it is and what the task
says are never cut."""
MARK: Final = "left out to save room]"


@dataclass(frozen=True, slots=True)
class Trimmed:
    """Messages with parts that were cut."""

    messages: list[Message]
    parts: list[tuple[PartKind, str | None, int]]
    """The parts that were cut, and how many characters of each are left."""


def trimmed(messages: Sequence[Message], wanted: int) -> Trimmed | None:
    """Cut parts, the least needed first and images before them, until so many bytes are saved; None where there is nothing to cut."""
    result, saved = list(messages), 0
    left: dict[tuple[PartKind, str | None], int] = {}
    for index, message in enumerate(result):
        # Which they were is told by what is open, and the model can read them again.
        if message.images and message.role == "user" and saved < wanted:
            left |= {("image", image.name): 0 for image in message.images}
            result[index] = replace(message, images=())
            saved += message.weight - result[index].weight
    for kind, length in RUNGS:
        if saved >= wanted:
            break
        for index, message in enumerate(result):
            parts = tuple(_cut(part, length) if part.kind == kind else part for part in message.parts)
            if parts == message.parts:
                continue
            for part, was in zip(parts, message.parts, strict=True):
                if part != was:
                    left[kind, part.name] = length
            result[index] = replace(message, text="".join(part.text for part in parts), parts=parts)
            saved += message.weight - result[index].weight
    return Trimmed(result, [(kind, name, length) for (kind, name), length in left.items()]) if left else None


def _cut(part: Part, length: int) -> Part:
    body = part.text.rstrip("\n")
    note = f"[{part.kind}{f' {part.name}' if part.name else ''}: {MARK}"
    if len(body) <= length + len(note) + 1:
        return part
    kept = f"{body[:length]}\n{note}" if length else note
    return replace(part, text=kept + part.text[len(body) :])
