"""Messages in channels, as gpt-oss writes them.

    <|channel|>analysis<|message|>…<|end|>
    <|start|>assistant<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>
    <|start|>assistant<|channel|>final<|message|>…<|return|>

What is sent to a function is a call, on whatever channel; `analysis` is reasoning, all else the answer.

Source: "OpenAI harmony response format" of the openai/harmony repository.
"""

import re
from collections.abc import Mapping
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.parallel import PREFIX, WRAPPERS
from outrider.models.text_tools.reading import Reading, standing
from outrider.models.text_tools.shapes import arguments_of, named
from outrider.models.text_tools.source import Mismatch, Stops, Wait

_OPENINGS = ("<|start|>", "<|channel|>")
_MESSAGE = "<|message|>"
_ENDS = ("<|end|>", "<|call|>", "<|return|>")
_OUTSIDE = Stops([*_OPENINGS, *_ENDS])
_HEADER = Stops([_MESSAGE, *_ENDS, "\n"])
_BODY = Stops([*_ENDS, *_OPENINGS])
_TO = re.compile(r"to=([\w.:/-]+)")
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)")
_NO_TOOLS = ("", "assistant", "user", "browser", "python")
"""Who else is spoken to: the sides of a conversation, and tools that a host brings along."""
_BEGINNINGS = (" to=functions.", "to=functions.", "analysis<|message|>", "final<|message|>")
"""How a text begins if `<|start|>assistant` or `<|channel|>` stands in the prompt already."""


def harmony(reading: Reading) -> Wait[None]:
    """Reads a message of gpt-oss, which may be several of its own."""
    source, sink = reading.source, reading.sink
    spoken = False
    if (yield from standing(source, _BEGINNINGS)):
        spoken = yield from _part(reading, spoken)
    while True:
        stop = yield from source.until(_OUTSIDE, sink.text)
        if not stop:
            return
        if stop in _ENDS:
            source.take(len(stop))
        else:
            spoken = yield from _part(reading, spoken)


def _part(reading: Reading, spoken: bool) -> Wait[bool]:
    """Read one message, from its header on; whether text was spoken up to here."""
    source, sink, tools = reading.source, reading.sink, reading.tools
    source.record()
    header: list[str] = []
    stop = yield from source.until(_HEADER, header.append)
    if stop != _MESSAGE:
        sink.text(source.recorded())
        return True
    source.take(len(_MESSAGE))
    head = "".join(header)
    to, channel = _TO.search(head), _CHANNEL.search(head)
    name = to.group(1) if to else ""
    if name.startswith(PREFIX) or name in WRAPPERS or (name not in _NO_TOOLS and tools.knows(name)):
        body: list[str] = []
        end = yield from source.until(_BODY, body.append)
        arguments = None if reading.cut_off and not end else _arguments("".join(body))
        call = named(name, arguments, tools, known=False) if arguments is not None else None
        raw = source.recorded()
        if call is None:
            sink.text(raw)
            return True
        sink.call(call.name.removeprefix(PREFIX), call.arguments)
        return spoken
    source.recorded()
    thought = (channel.group(1) if channel else head.strip()) == "analysis"
    if thought:
        sink.reasoning("")
    elif spoken:
        sink.text("\n")
    yield from source.until(_BODY, sink.reasoning if thought else sink.text)
    return spoken or not thought


def _arguments(text: str) -> Mapping[str, Any] | None:
    try:
        return arguments_of(literal.of_text(text) if text.strip() else {})
    except Mismatch:
        return None
