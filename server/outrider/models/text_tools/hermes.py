"""Calls as JSON in tags: Hermes and Qwen, Granite.

    <tool_call>{"name": "read_file", "arguments": {"path": "a.py"}}</tool_call>

Models drift: other tags around the same JSON, the function's name in its tag, or no tag at all. JSON without
one of the true tags counts only for a tool that there is, with nothing after it. A missing end tag does no
harm: the JSON tells where it ends.

Sources: NousResearch/Hermes-Function-Calling; chat templates of Qwen 2.5 and 3, Granite 3 and 4.
"""

import re

from outrider.models.text_tools.reading import Handler, Reading, prose, section_end, standing
from outrider.models.text_tools.shapes import further_calls, json_calls
from outrider.models.text_tools.source import Wait
from outrider.models.text_tools.xml import FUNCTION, tagged, tagged_call

_BEHIND = re.compile(r"[\s}\]]*")
"""White space, and brackets too many."""
_LOOSE_TAGS = ("tool", "tools", "response", "json", "JSON", "xml")


def in_tag(opening: str, end: str, *, known: bool = False) -> Handler:
    """Reads a tag in which JSON stands, or functions' own tags."""

    def handler(reading: Reading) -> Wait[None]:
        source = reading.source
        yield from source.must(opening)
        yield from source.space()
        if (yield from source.peek()) == "<":
            yield from tagged_call(reading, FUNCTION)
        else:
            if (yield from standing(source, ("{{",))):
                source.take(1)  # as early templates showed it
            yield from json_calls(reading, known=known, bare=True)
            yield from further_calls(reading, known=known, bare=True)
        yield from source.run(_BEHIND)
        yield from source.literal(end)

    return handler


def whole_json(reading: Reading) -> Wait[None]:
    """Reads JSON that stands for itself."""
    yield from json_calls(reading, known=True)


LISTED: dict[str, Handler] = {"[": whole_json}
"""A list that stands for itself, as where a server left out the token before it."""
TOOL_CALL = {"<tool_call>": in_tag("<tool_call>", "</tool_call>")}
_FUNCTION_CALL = {"<function_call>": in_tag("<function_call>", "</function_call>")}
_LOOSE: dict[str, Handler] = {
    **{f"<{tag}>": in_tag(f"<{tag}>", f"</{tag}>", known=True) for tag in _LOOSE_TAGS},
    "{": whole_json,
}


def hermes(reading: Reading) -> Wait[None]:
    """Reads a message of Hermes or Qwen."""
    yield from prose(
        reading, {**TOOL_CALL, **_FUNCTION_CALL, **tagged(FUNCTION), **_END_OF_CALL}, whole=_LOOSE
    )


def qwen3_coder(reading: Reading) -> Wait[None]:
    """Reads a message of Qwen3-Coder."""
    yield from prose(reading, {**TOOL_CALL, **tagged(FUNCTION), **_END_OF_CALL})


_END_OF_CALL = {"</tool_call>": section_end("</tool_call>")}


def granite(reading: Reading) -> Wait[None]:
    """Reads a message of Granite."""
    token = {"<|tool_call|>": in_tag("<|tool_call|>", "<|end_of_text|>")}
    yield from prose(reading, {**token, **TOOL_CALL, **_FUNCTION_CALL, **_END_OF_CALL}, whole=LISTED)
