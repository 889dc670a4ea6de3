"""Calls behind a special token, the arguments as JSON: Mistral; and GLM, its arguments in pairs of tags.

    [TOOL_CALLS][{"name": "NAME", "arguments": {…}}]
    [TOOL_CALLS]NAME{…}        [TOOL_CALLS]NAME[ARGS]{…}        [TOOL_CALLS]NAME[CALL_ID]ID[ARGS]{…}
    <tool_call>NAME <arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>

Sources: chat templates of Mistral v3 to v13 (mistral-common), GLM 4.5 to 4.7.
"""

import re
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.hermes import LISTED
from outrider.models.text_tools.reading import Reading, prose, section_end, standing
from outrider.models.text_tools.shapes import arguments_of, further_calls, json_calls, named, take
from outrider.models.text_tools.source import Mismatch, Stops, Wait

_LONGEST_NAME = 256

_MISTRAL = "[TOOL_CALLS]"
_MISTRAL_NAME = re.compile(r"[\w.:/-]*")
_MISTRAL_ID = re.compile(r"[\w-]*")
_MISTRAL_SEPARATOR = re.compile(r"[\s,]*")


def _mistral_calls(reading: Reading) -> Wait[None]:
    source = reading.source
    while (yield from source.literal(_MISTRAL)):
        yield from source.space()
    if (yield from source.peek()) in ("[", "{"):
        yield from json_calls(reading)
        yield from further_calls(reading)
        return
    name = yield from source.run(_MISTRAL_NAME, _LONGEST_NAME)
    gap = yield from source.space()
    if gap and (yield from source.peek()) == "[" and not (yield from standing(source, _MISTRAL_PARTS)):
        yield from json_calls(reading)
        reading.sink.text(name)
        return
    yield from _mistral_call(reading, name)
    while True:
        mark = source.record()
        yield from source.run(_MISTRAL_SEPARATOR)
        name = yield from source.run(_MISTRAL_NAME, _LONGEST_NAME)
        follows = name and (
            (yield from source.peek()) == "{" or (yield from standing(source, _MISTRAL_PARTS))
        )
        try:
            if not follows:
                raise Mismatch
            yield from _mistral_call(reading, name)
        except Mismatch:
            reading.sink.text(source.since(mark))
            return


_MISTRAL_PARTS = ("[ARGS]", "[CALL_ID]")


def _mistral_call(reading: Reading, name: str) -> Wait[None]:
    """A call from behind its name on."""
    source, tools = reading.source, reading.tools
    if (
        not (yield from source.peek())
        and not reading.cut_off
        and tools.has(name)
        and not tools.required(name)
    ):
        take(reading, [named(name, {}, tools, known=True)])
        return
    if (yield from source.literal("[CALL_ID]")):
        yield from source.run(_MISTRAL_ID, _LONGEST_NAME)
    yield from source.literal("[ARGS]")
    arguments = arguments_of((yield from literal.value(source)))
    if arguments is None:
        raise Mismatch
    take(reading, [named(name, arguments, tools, known=False)])


def mistral(reading: Reading) -> Wait[None]:
    """Reads a message of Mistral."""
    yield from prose(
        reading,
        {_MISTRAL: _mistral_calls, "[/TOOL_CALLS]": section_end("[/TOOL_CALLS]")},
        whole=LISTED,
    )


_GLM_NAME = re.compile(r"[\w.:/-]*")
_GLM_KEY_END = Stops(["</arg_key>", "\n"])
_GLM_VALUE_END = Stops(["</arg_value>"])


def _glm_call(reading: Reading) -> Wait[None]:
    source, tools = reading.source, reading.tools
    yield from source.must("<tool_call>")
    yield from source.space()
    if (yield from source.peek()) == "{":  # as other families write it
        yield from json_calls(reading, bare=True)
        yield from source.space()
        yield from source.literal("</tool_call>")
        return
    name = yield from source.run(_GLM_NAME, _LONGEST_NAME)
    yield from source.literal(">")
    if name and (yield from source.behind_space()) == "{":  # as GLM 5 may
        whole = arguments_of((yield from literal.value(source)))
        yield from source.space()
        yield from source.literal("</tool_call>")
        take(reading, [whole if whole is None else named(name, whole, tools, known=False)])
        return
    arguments: dict[str, Any] = {}
    while True:
        yield from source.space()
        if (yield from source.literal("</tool_call>")):
            break
        if arguments and (yield from standing(source, ("<tool_call>",))):
            break
        yield from source.must("<arg_key>")
        parts: list[str] = []
        yield from source.until(_GLM_KEY_END, parts.append)
        yield from source.must("</arg_key>")
        key = "".join(parts).strip()
        yield from source.space()
        yield from source.must("<arg_value>")
        text = yield from _glm_value(reading)
        arguments[key] = tools.argument(name, key, text, undeclared="value")
    take(reading, [named(name, arguments, tools, known=False)])


def _glm_value(reading: Reading) -> Wait[str]:
    """A value; an end tag inside it is its own if nothing of the call follows."""
    source = reading.source
    parts: list[str] = []
    while (yield from source.until(_GLM_VALUE_END, parts.append)):
        end = yield from source.must("</arg_value>")
        gap = yield from source.space()
        if (yield from standing(source, ("<arg_key>", "</tool_call>", "<tool_call>"))):
            return "".join(parts)
        parts.extend((end, gap))
    raise Mismatch


def glm(reading: Reading) -> Wait[None]:
    """Reads a message of GLM."""
    yield from prose(reading, {"<tool_call>": _glm_call})
