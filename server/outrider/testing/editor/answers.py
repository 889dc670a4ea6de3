"""What the fake editor's user says to a question and its tools give, and the record of what was asked."""

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
    """Nothing now: `FakeEditor.answer_late` gives this title, or this content of a tool."""

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


@dataclass(frozen=True, slots=True)
class Wrong:
    """Of a tool: a result that says that it went wrong."""

    content: str


Answer = str | Dismiss | Never | Late | Reply | Fail
"""A title, or one of the other ways a question can end."""


@dataclass(slots=True)
class Question:
    """A `window/showMessageRequest` or an `outrider/ask` as it was asked."""

    request_id: str | int
    message: str
    titles: tuple[str, ...]
    actions: tuple[dict[str, Any], ...] = field(repr=False)
    item: dict[str, Any] | None = field(default=None, repr=False)
    """Of an `outrider/ask`: the open item."""
    answer: Answer | None = None
    """What the user was told to say; None while nobody has decided."""
    answered: bool = False
    """Whether a response went out."""
    withdrawn: bool = False
    """Whether the server took it back (`$/cancelRequest`), which editors ignore."""
    replaced: bool = False
    """Whether a later question took its place on the screen (Helix); nobody can answer it then."""


Answers = list[Answer] | Callable[[Question], Answer]
"""Answers in the order of the questions, or a function that decides."""


ToolAnswer = str | Wrong | Dismiss | Never | Late | Reply | Fail
"""What a tool of the editor gives: a content, or one of the other ways a call can end. `Dismiss` is null."""


@dataclass(slots=True)
class ToolCall:
    """An `outrider/tool` as it was asked."""

    request_id: str | int
    id: str
    """The open item."""
    call_id: str
    name: str
    input: dict[str, Any]
    again: bool
    """Whether the server says that it was asked before."""
    answer: ToolAnswer | None = None
    """What the editor was told to answer; None while nobody has decided."""
    answered: bool = False
    """Whether a response went out."""
    withdrawn: bool = False
    """Whether the server took it back (`$/cancelRequest`)."""


ToolAnswers = list[ToolAnswer] | Callable[[ToolCall], ToolAnswer]
"""Answers in the order of the calls, or a function that decides; a list that has run out gives `Dismiss`."""
