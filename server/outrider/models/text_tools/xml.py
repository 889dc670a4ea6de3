"""Calls in tags of their own, with one tag for each argument.

    <function=read_file>
    <parameter=path>
    a.py
    </parameter>
    </function>

The text of an argument is raw; the tool's schema says what it is worth. An argument ends at its end tag if a
tag of the call follows, so that it may hold such a tag itself.

Sources: chat templates of Qwen3-Coder, MiniMax M2, DeepSeek V3.2.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from outrider.models.text_tools import literal
from outrider.models.text_tools.reading import Call, Handler, Reading, standing
from outrider.models.text_tools.shapes import arguments_of, take
from outrider.models.text_tools.source import Mismatch, Stops, Wait
from outrider.models.text_tools.tools import Tools, written

_HEAD = re.compile(r"[^<>\n]*")
_NAMED = re.compile(r"""\s*["']?([^"'=]+?)["']?(?:\s+(.*))?\s*""")
_LONGEST_HEAD = 1000
_WRAPPERS = ("arguments", "input")


@dataclass(frozen=True)
class Tags:
    """How a call is written."""

    openings: tuple[str, ...]
    """How a call begins, up to its name."""
    end: str
    argument_openings: tuple[str, ...]
    argument_end: str
    around: tuple[str, ...] = ()
    """The end of what stands around calls."""
    lines: bool = True
    """Whether the line breaks next to an argument's tags belong to them."""
    undeclared: Literal["string", "value"] = "string"
    """What an argument is that the schema does not have."""

    @cached_property
    def stops(self) -> Stops:
        """Where an argument may end."""
        return Stops([self.argument_end, self.end, *("\n" + opening for opening in self.argument_openings)])


FUNCTION = Tags(
    openings=("<function=", "<function name="),
    end="</function>",
    argument_openings=("<parameter=", "<parameter name="),
    argument_end="</parameter>",
    around=("</tool_call>",),
)


def tagged(tags: Tags) -> Mapping[str, Handler]:
    """What reads calls in `tags`, by the markers with which they begin."""

    def handler(reading: Reading) -> Wait[None]:
        yield from tagged_call(reading, tags)

    return dict.fromkeys(tags.openings, handler)


def tagged_call(reading: Reading, tags: Tags) -> Wait[None]:
    """Read a call.

    Raises:
        Mismatch: If it is none, or it is cut off.
    """
    source, tools = reading.source, reading.tools
    name, _ = yield from _head(reading, tags.openings)
    arguments: dict[str, Any] = {}
    ended = False
    while not ended:
        yield from source.space()
        if (yield from source.literal(tags.end)):
            break
        if arguments and (yield from standing(source, tags.around)):
            break
        if not arguments and (yield from source.peek()) == "{":
            whole = arguments_of((yield from literal.value(source)))
            if whole is None:
                raise Mismatch
            arguments = dict(whole)
            yield from source.space()
            yield from source.literal(tags.end)
            break
        key, attributes = yield from _head(reading, tags.argument_openings)
        text, ended = yield from _text(reading, tags)
        undeclared = "value" if 'string="false"' in attributes else tags.undeclared
        arguments[key] = tools.argument(name, key, text, undeclared=undeclared)
    take(reading, [Call(name, _unwrapped(arguments, name, tools))])


def _head(reading: Reading, openings: tuple[str, ...]) -> Wait[tuple[str, str]]:
    """The name in a tag, and the attributes after it."""
    source = reading.source
    yield from source.must(*openings)
    head = _NAMED.fullmatch((yield from source.run(_HEAD, _LONGEST_HEAD)))
    yield from source.must(">")
    if not head:
        raise Mismatch
    return head.group(1).strip(), head.group(2) or ""


def _text(reading: Reading, tags: Tags) -> Wait[tuple[str, bool]]:
    """The text of an argument, and whether the call ended with it."""
    source = reading.source
    parts: list[str] = []
    following = (tags.end, *tags.argument_openings, *tags.around)
    ended = False
    while True:
        stop = yield from source.until(tags.stops, parts.append)
        if not stop:
            raise Mismatch
        if stop not in (tags.argument_end, tags.end):
            parts = [_without_drifted_end("".join(parts), tags.argument_end)]
            break
        source.take(len(stop))
        gap = yield from source.space()
        ended = stop == tags.end
        after = tags.around if ended else following
        if (yield from standing(source, after)) or (ended and not (yield from source.peek())):
            break
        parts.extend((stop, gap))
    text = "".join(parts)
    if tags.lines:
        text = re.sub(r"\A\r?\n|\r?\n\Z", "", text)
    return text, ended


def _without_drifted_end(text: str, end: str) -> str:
    """An argument without what may stand for its end tag, such as `</parameter1>`."""
    bare = text.rstrip()
    at = bare.rfind("</")
    drifted = at >= 0 and re.fullmatch(re.escape(end[:-1]) + r"\w*>?", bare[at:])
    return text[:at] if drifted else text


def _unwrapped(arguments: dict[str, Any], name: str, tools: Tools) -> Mapping[str, Any]:
    """The arguments; what is in a single one that only stands around the real ones."""
    if len(arguments) == 1 and tools.has(name):
        ((key, inner),) = arguments.items()
        if key in _WRAPPERS and key not in tools.parameters(name):
            found = literal.mapping(written(inner) if isinstance(inner, str) else inner)
            if found is not None and found.keys() <= tools.parameters(name).keys():
                return found
    return arguments
