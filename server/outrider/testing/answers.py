"""What the fake editor's person says to a question, and the record of what was asked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Dismiss:
    """The question is closed without an answer; what goes over the wire is the profile's way of saying so."""


@dataclass(frozen=True, slots=True)
class Never:
    """No answer at all, ever."""


@dataclass(frozen=True, slots=True)
class Late:
    """The question stays on the screen; `FakeEditor.answer_late` gives this title."""

    title: str


@dataclass(frozen=True, slots=True)
class Reply:
    """Exactly this result, however wrong."""

    result: Any


@dataclass(frozen=True, slots=True)
class Fail:
    """A JSON-RPC error."""

    code: int = -32603
    message: str = "the editor could not ask"


Answer = str | Dismiss | Never | Late | Reply | Fail
"""A title, or one of the other ways a question can end."""


@dataclass(slots=True)
class Question:
    """A `window/showMessageRequest` as it was asked."""

    request_id: str | int
    message: str
    titles: tuple[str, ...]
    actions: tuple[dict[str, Any], ...] = field(repr=False)
    answer: Answer | None = None
    """What the person was told to say; None while nobody has decided."""
    answered: bool = False
    """Whether a response went out."""
    withdrawn: bool = False
    """Whether the server took it back (`$/cancelRequest`), which editors ignore."""
    replaced: bool = False
    """Whether a later question took its place on the screen (Helix); nobody can answer it then."""


Answers = list[Answer] | Callable[[Question], Answer]
"""Answers in the order of the questions, or a function that decides."""
