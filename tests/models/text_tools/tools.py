"""The tools of the cases."""

from typing import Any

from outrider.models.text_tools import FORMATS, Call, Item, tool_of
from outrider.ports.model import ReadAnew, ReasoningDelta, TextDelta, ToolSpec

DEFINITIONS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "opts": {"type": "object"},
                    "flag": {"type": "boolean"},
                },
                "required": ["city"],
            },
        },
    },
    {"name": "get_time", "schema": {"type": "object", "properties": {}}},
    {
        "name": "bash",
        "input_schema": {
            "type": "object",
            "properties": {"command": {"type": "string"}},
            "required": ["command"],
        },
    },
]
TOOLS: list[ToolSpec] = [tool for tool in map(tool_of, DEFINITIONS) if tool]


def read(form: str, pieces: list[str], *, cut_off: bool = False) -> list[Item]:
    """What a message that comes in `pieces` is read as."""
    parser = FORMATS[form].parser(TOOLS)
    return [item for piece in pieces for item in parser.feed(piece)] + parser.finish(cut_off=cut_off)


def outcome(items: list[Item]) -> dict[str, Any]:
    """The same in the form of the cases; what was withdrawn is not in it."""
    begins = max((number for number, one in enumerate(items, 1) if isinstance(one, ReadAnew)), default=0)
    items = items[begins:]
    return {
        "calls": [{"name": one.name, "arguments": one.arguments} for one in items if isinstance(one, Call)],
        "content": "".join(one.text for one in items if isinstance(one, TextDelta)),
        "reasoning": "".join(one.text for one in items if isinstance(one, ReasoningDelta)),
    }
