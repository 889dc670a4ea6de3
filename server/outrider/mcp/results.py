"""What a server gives, without the SDK's types: definitions of tools, prompts and resources, contents, and what it asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    digest: str
    """Of all that the server says of it: another one is another tool."""
    unusable: str | None = None
    """Why arguments cannot be held against its schema."""
    says: str = ""
    """What the server says of its effect (`readOnlyHint` and so on), for the user alone."""


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """An argument of a prompt."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class PromptDefinition:
    """A prompt as its server describes it."""

    name: str
    description: str
    arguments: tuple[PromptArgument, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of a result."""

    name: str
    media_type: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Given:
    """What came of a request."""

    text: str
    pictures: tuple[Picture, ...] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """One value that a server asks the user for."""

    name: str
    title: str
    description: str
    kind: Literal["text", "integer", "number", "boolean", "choice", "choices"]
    required: bool
    options: tuple[tuple[str, str], ...] = ()
    """Values and what they are called."""
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a server asks the user for, in the middle of a call."""

    key: str
    message: str
    fields: tuple[Field, ...] = ()
    url: str = ""
    """A page that the user is to open; empty where fields are asked for."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the user said to that."""

    action: Literal["accept", "decline", "cancel"]
    values: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a call has come."""

    done: float
    total: float | None
    message: str

    @property
    def line(self) -> str:
        """For the user."""
        of = f"{self.done:g}/{self.total:g}" if self.total else f"{self.done:g}"
        return f"{of} {self.message}".strip()


@dataclass(frozen=True, slots=True)
class Lists:
    """What a server has."""

    tools: Sequence[ToolDefinition] = ()
    prompts: Sequence[PromptDefinition] = ()
    has_resources: bool = False
    problems: Sequence[str] = ()
