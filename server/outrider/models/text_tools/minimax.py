"""Calls of MiniMax.

    <tool_calls>
    {"name": "NAME", "arguments": {…}}                                                                   M1
    </tool_calls>
    <minimax:tool_call><invoke name="NAME"><parameter name="KEY">VALUE</parameter></invoke>…             M2
    ]<]minimax[>[<tool_call>]<]minimax[>[<invoke name="NAME">]<]minimax[>[<KEY>VALUE]<]minimax[>[</KEY>…  M3

M3 has a token before each tag, so that what a value holds is never taken for one. Its objects have a tag for each
field, its lists one called `item` for each item, and a field that comes twice is a list.

Sources: chat templates of MiniMax M1, M2 and M3.
"""

import re
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.reading import Call, Handler, Reading, prose, section, section_end, standing
from outrider.models.text_tools.shapes import json_calls, take
from outrider.models.text_tools.source import Mismatch, Stops, Wait
from outrider.models.text_tools.xml import Tags, tagged

INVOKE = Tags(
    openings=("<invoke name=",),
    end="</invoke>",
    argument_openings=("<parameter name=",),
    argument_end="</parameter>",
    around=("</minimax:tool_call>",),
)
_LINE = re.compile(r"[^\n<]*")
_NS = "]<]minimax[>["
_BEFORE_TAG = Stops([_NS])
_TAG = re.compile(r"""(/?)\s*([^\s<>/"'=]+)(?:\s+name\s*=\s*["']?([^"'<>]+)["']?)?\s*""")
_INSIDE_TAG = re.compile(r"[^<>\n]*")
_LONGEST_TAG = 1000
_ITEM = "item"


def minimax(reading: Reading) -> Wait[None]:
    """Reads a message of MiniMax."""
    yield from prose(reading, {"<tool_calls>": _lines_of_json, **_M2, **_M3})


def _lines_of_json(reading: Reading) -> Wait[None]:
    """Reads calls that each stand on a line of their own; what is none between them is text."""
    source, sink = reading.source, reading.sink
    yield from source.must("<tool_calls>")
    before = sink.calls
    while True:
        yield from source.space()
        if (yield from source.literal("</tool_calls>")) or not (yield from source.peek()):
            break
        mark = source.record()
        try:
            yield from json_calls(reading)
        except Mismatch:
            if sink.calls == before:
                raise
            yield from source.run(_LINE)
            if not (line := source.since(mark)):
                return
            sink.text(line + "\n")
    if sink.calls == before:
        raise Mismatch


_M2 = {
    "<minimax:tool_call>": section("<minimax:tool_call>", INVOKE.openings, "</minimax:tool_call>"),
    "</minimax:tool_call>": section_end("</minimax:tool_call>"),
    **tagged(INVOKE),
}


def _spaced_calls(reading: Reading) -> Wait[None]:
    """Reads what stands behind the token of M3: a call, or the beginning or the end of a section of calls."""
    source, tools = reading.source, reading.tools
    mark = source.record()
    closes, name, called = yield from _tag(reading)
    if name == "tool_call":
        yield from source.space()
        if not (reading.sink.calls if closes else (yield from standing(source, (_NS,)))):
            raise Mismatch
        reading.held = "" if closes else source.since(mark)
        return
    if closes or name != "invoke" or not called:
        raise Mismatch
    arguments: dict[str, Any] = {}
    while True:
        yield from source.space()
        closes, name, _ = yield from _tag(reading)
        if closes:
            break
        arguments[name] = yield from _value(reading, called, tools.parameters(called).get(name), name)
    if name != "invoke":
        raise Mismatch
    take(reading, [Call(called, arguments)])


def _tag(reading: Reading) -> Wait[tuple[bool, str, str]]:
    """Read a tag, from its token on: whether it closes, its name, and what it calls."""
    source = reading.source
    yield from source.must(_NS)
    yield from source.space()
    yield from source.must("<")
    found = _TAG.fullmatch((yield from source.run(_INSIDE_TAG, _LONGEST_TAG)))
    yield from source.must(">")
    if not found:
        raise Mismatch
    return bool(found.group(1)), found.group(2), (found.group(3) or "").strip()


def _value(reading: Reading, tool: str, declared: Any, name: str, depth: int = 0) -> Wait[Any]:
    """Read what stands in the tag `name`, to its end; `declared` is its schema."""
    source, tools = reading.source, reading.tools
    if depth > literal.DEEPEST:
        raise Mismatch
    may_list = tools.may_be(tool, declared, "array")
    parts: list[str] = []
    fields: dict[str, list[Any]] = {}
    while True:
        if not (yield from source.until(_BEFORE_TAG, parts.append)):
            raise Mismatch
        closes, inner, _ = yield from _tag(reading)
        if closes:
            break
        schema = tools.within(tool, declared, None if may_list and inner == _ITEM else inner)
        fields.setdefault(inner, []).append((yield from _value(reading, tool, schema, inner, depth + 1)))
    text = "".join(parts)
    if inner != name or (fields and text.strip()):
        raise Mismatch
    if may_list and fields.keys() == {_ITEM}:
        return fields[_ITEM]
    if fields:
        return {key: ones[0] if len(ones) == 1 else ones for key, ones in fields.items()}
    if not text.strip() and not tools.may_be(tool, declared, "string"):
        text = "[]" if may_list else "{}" if tools.may_be(tool, declared, "object") else text
    return tools.worth(tool, declared, text)


_M3: dict[str, Handler] = {_NS: _spaced_calls}
