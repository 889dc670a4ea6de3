"""What comes out of a tool call."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from outrider.ports.model import Image
from outrider_protocol.events import ToolStatus


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The one result of a call: `content` is what the model reads."""

    status: ToolStatus
    content: str
    read: dict[str, str] = field(default_factory=dict[str, str])
    """The whole texts that stand behind `content`, by path."""
    images: tuple[Image, ...] = ()
    """What the model is shown with `content`."""
    image_contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    """The contents of `images`, by hash."""


def ok(content: str, read: dict[str, str] | None = None) -> ToolResult:
    """It worked."""
    return ToolResult("ok", content, read or {})


def error(content: str) -> ToolResult:
    """It did not, and the model can do something about it."""
    return ToolResult("error", content)
