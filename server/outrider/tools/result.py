"""What comes out of a tool call."""

from dataclasses import dataclass, field

from outrider_protocol.events import ToolStatus


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one result of a call: `content` is what the model reads."""

    status: ToolStatus
    content: str
    read: dict[str, str] = field(default_factory=dict[str, str])
    """The whole texts that stand behind `content`, by path."""


def ok(content: str, read: dict[str, str] | None = None) -> ToolResult:
    """It worked."""
    return ToolResult("ok", content, read or {})


def error(content: str) -> ToolResult:
    """It did not, and the model can do something about it."""
    return ToolResult("error", content)
