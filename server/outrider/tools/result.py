"""What comes out of a tool call."""

from dataclasses import dataclass

from outrider_protocol.events import ToolStatus


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one result of a call: `content` is what the model reads."""

    status: ToolStatus
    content: str


def ok(content: str) -> ToolResult:
    """It worked."""
    return ToolResult("ok", content)


def error(content: str) -> ToolResult:
    """It did not, and the model can do something about it."""
    return ToolResult("error", content)
