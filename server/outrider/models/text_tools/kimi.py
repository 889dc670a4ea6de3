"""Calls of Kimi.

    <|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>{…}<|tool_call_end|>…    K2
    <|open|>tools<|sep|><|open|>call tool="NAME" index="1"<|sep|>                                                       K3
    <|open|>argument key="KEY" type="string"<|sep|>VALUE<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>

K3 writes its thoughts, its answer and its calls into channels; the first mostly begins in the prompt.

Sources: chat templates of Kimi K2 and K3.
"""

import re
from collections.abc import Mapping
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.reading import Handler, Reading, prose, section, section_end, standing
from outrider.models.text_tools.shapes import arguments_of, named, take
from outrider.models.text_tools.source import Mismatch, Stops, Wait
from outrider.models.text_tools.tools import written

_LONGEST_NAME = 256

_K2_CALL = "<|tool_call_begin|>"
_K2_CALL_END = "<|tool_call_end|>"
_K2_ARGUMENTS = "<|tool_call_argument_begin|>"
_K2_SECTIONS = {
    "<|tool_calls_section_begin|>": "<|tool_calls_section_end|>",
    "<|tool_call_section_begin|>": "<|tool_call_section_end|>",
}
_K2_ID_RUN = re.compile(r"[^<]*")
_K2_ID = re.compile(r"(?:functions\.)?(\S+?):\d+")


def _kimi_call(reading: Reading) -> Wait[None]:
    source, tools = reading.source, reading.tools
    yield from source.must(_K2_CALL)
    call_id = (yield from source.run(_K2_ID_RUN, _LONGEST_NAME)).strip()
    yield from source.must(_K2_ARGUMENTS)
    yield from source.space()
    arguments: Mapping[str, Any] | None = {}
    if not (yield from standing(source, (_K2_CALL_END,))):
        arguments = arguments_of((yield from literal.value(source)))
        yield from source.space()
    yield from source.literal(_K2_CALL_END)
    if arguments is None:
        raise Mismatch
    found = _K2_ID.fullmatch(call_id)
    bare = call_id.removeprefix("functions.")
    name = found.group(1) if found else tools.only(arguments) if call_id.isdecimal() else bare
    take(reading, [named(name or "", arguments, tools, known=not found)])


_K2: dict[str, Handler] = {
    **{begin: section(begin, [_K2_CALL], end) for begin, end in _K2_SECTIONS.items()},
    **{end: section_end(end) for end in _K2_SECTIONS.values()},
    _K2_CALL: _kimi_call,
}


_SEP = "<|sep|>"
_TOOLS, _TOOLS_END = "<|open|>tools<|sep|>", "<|close|>tools<|sep|>"
_CALL, _CALL_END = "<|open|>call ", "<|close|>call<|sep|>"
_ARGUMENT, _ARGUMENT_END = "<|open|>argument ", Stops(["<|close|>argument<|sep|>"])
_JSON, _JSON_END = "<|open|>json", "<|close|>json<|sep|>"
_ATTRIBUTES_END = Stops([_SEP, "\n"])
_ATTRIBUTE = re.compile(r'\s*(\w+)="([^"]*)"')
_THOUGHT_END = "<|close|>think<|sep|>"
_CHANNELS = ("<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|close|>message<|sep|>")


def _attributes(reading: Reading) -> Wait[Mapping[str, str]]:
    """Read the attributes of a tag, to its end."""
    parts: list[str] = []
    yield from reading.source.until(_ATTRIBUTES_END, parts.append)
    yield from reading.source.must(_SEP)
    found = _ATTRIBUTE.findall("".join(parts))
    return {key: value.replace("&quot;", '"').replace("&amp;", "&") for key, value in found}


def _k3_call(reading: Reading) -> Wait[None]:
    source, tools = reading.source, reading.tools
    yield from source.must(_CALL)
    name = (yield from _attributes(reading)).get("tool", "")
    arguments: dict[str, Any] = {}
    while True:
        yield from source.space()
        if (yield from source.literal(_CALL_END)):
            break
        if (yield from source.literal(_JSON)):
            yield from _attributes(reading)
            whole = arguments_of((yield from literal.value(source)))
            yield from source.space()
            yield from source.must(_JSON_END)
            if whole is None:
                raise Mismatch
            arguments |= whole
            continue
        yield from source.must(_ARGUMENT)
        about = yield from _attributes(reading)
        parts: list[str] = []
        yield from source.until(_ARGUMENT_END, parts.append)
        yield from source.must(*_ARGUMENT_END.all)
        key, kind, text = about.get("key", ""), about.get("type"), "".join(parts)
        if not key:
            raise Mismatch
        if kind:
            arguments[key] = text if kind == "string" else written(text)
        else:
            arguments[key] = tools.argument(name, key, text)
    take(reading, [named(name, arguments, tools, known=False)])


def _thought_end(reading: Reading) -> Wait[None]:
    """Reads the end of a thought; where its beginning stood in the prompt, all before it was the thought."""
    yield from reading.source.must(_THOUGHT_END)
    if not reading.sink.thinks:
        reading.sink.rethink()


def _left_out(marker: str) -> Handler:
    def handler(reading: Reading) -> Wait[None]:
        yield from reading.source.must(marker)

    return handler


_K3: dict[str, Handler] = {
    _TOOLS: section(_TOOLS, [_CALL], _TOOLS_END),
    _TOOLS_END: section_end(_TOOLS_END),
    _CALL: _k3_call,
    _THOUGHT_END: _thought_end,
    **{marker: _left_out(marker) for marker in _CHANNELS},
}


def kimi(reading: Reading) -> Wait[None]:
    """Reads a message of Kimi, which may call in the middle of a thought."""
    yield from prose(reading, {**_K2, **_K3}, waking=(*_K2_SECTIONS, _TOOLS, _THOUGHT_END, _CHANNELS[0]))
