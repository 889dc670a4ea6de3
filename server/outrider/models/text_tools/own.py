"""Bracketed calls, and Outrider's own format for every model that was trained on none.

    [USE read_file tool: path="a.py"]        [calls read_file tool with path=a.py]

    <call tool="edit_file">
    <arg name="path">a.py</arg>
    <arg name="new">
    print("as it is, nothing escaped")
    </arg>
    </call>

Source: the bracketed forms are those that Loader reads.
"""

import re
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.hermes import TOOL_CALL
from outrider.models.text_tools.reading import Handler, Reading, prose
from outrider.models.text_tools.shapes import named, take
from outrider.models.text_tools.source import Mismatch, Wait
from outrider.models.text_tools.xml import FUNCTION, Tags, tagged

OWN = Tags(
    openings=("<call tool=",),
    end="</call>",
    argument_openings=("<arg name=",),
    argument_end="</arg>",
)


def outrider(reading: Reading) -> Wait[None]:
    """Reads a message in Outrider's own format."""
    yield from prose(reading, tagged(OWN))


_VERBS = tuple(
    f"[{form}" for verb in ("use", "calls", "call") for form in (verb, verb.upper(), verb.capitalize())
)
_NAME = re.compile(r"[\w.-]*")
_COLON = re.compile(r"[\s:]*")
_COMMA = re.compile(r"[\s,]*")
_BARE = re.compile(r"[^,\]\n]*")
_LONGEST_NAME = 256


def _bracketed_call(reading: Reading) -> Wait[None]:
    source, tools = reading.source, reading.tools
    yield from source.must(*_VERBS)
    if not (yield from source.space()):
        raise Mismatch
    name = tools.named_like((yield from source.run(_NAME, _LONGEST_NAME)))
    yield from source.space()
    yield from source.must("tool", "TOOL", "Tool")
    if not name:
        raise Mismatch
    yield from source.run(_COLON)
    if (yield from source.literal("with", "WITH", "With")):
        yield from source.run(_COLON)
    arguments: dict[str, Any] = {}
    if (yield from source.peek()) == "{":
        arguments = yield from literal.value(source)
        yield from source.space()
    while not (yield from source.literal("]")):
        key = yield from source.run(_NAME, _LONGEST_NAME)
        yield from source.space()
        yield from source.must("=", ":")
        if not key:
            raise Mismatch
        yield from source.space()
        following = yield from source.peek()
        if following in ("[", "{"):
            arguments[key] = yield from literal.value(source, python=True)
        else:
            if following in ("'", '"'):
                text = yield from literal.string(source)
            else:
                text = (yield from source.run(_BARE)).strip()
            arguments[key] = tools.argument(name, key, text)
        yield from source.run(_COMMA)
    take(reading, [named(name, arguments, tools, known=True)])


_BRACKETED: dict[str, Handler] = {**dict.fromkeys(_VERBS, _bracketed_call), **TOOL_CALL, **tagged(FUNCTION)}


def bracket(reading: Reading) -> Wait[None]:
    """Reads a message of bracketed calls."""
    yield from prose(reading, _BRACKETED)
