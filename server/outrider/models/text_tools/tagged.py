"""Calls in tags, with one tag for each argument.

    <function=read_file><parameter=path>a.py</parameter></function>                           rows of `Tags`
    <|open|>call tool="read_file" index="1"<|sep|><|open|>argument key="path" type="string"<|sep|>…   (Kimi K3 too)
    <tool_call>read_file<arg_key>path</arg_key><arg_value>a.py</arg_value></tool_call>        `pairs`: GLM, Hunyuan
    ]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.py]<]minimax[>[</path>…                MiniMax M3

The text of an argument is raw, and the tool's schema tells its value. An argument ends at its end tag if a tag of the
call follows, so that it can hold such tags itself.

MiniMax M3 has a token before each tag, so that what a value holds is never taken for one. Its objects have a tag for
each field, its lists one called `item` for each item, and a field that comes twice is a list.

Sources: chat templates of Qwen3-Coder, Seed-OSS, MiniMax M2 and M3, GLM 4.5 to 5, Hunyuan 3 and 4, Kimi K3; encodings
of DeepSeek V3.2 and V4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from outrider.models.text_tools.message import Handler, Handlers, Reading, sections
from outrider.models.text_tools.source import DEEPEST, Mismatch, Source, Stops, mapping, value, written
from outrider.models.text_tools.tools import LONGEST_NAME, Call, Item, Tools, arguments_of, calls_in, named

_LONGEST_HEAD = 1000
_WRAPPERS = ("arguments", "input")


@dataclass(frozen=True)
class Tags:
    """How calls of one kind are written."""

    openings: tuple[str, ...]
    """How a call begins, up to its name."""
    end: str
    argument_openings: tuple[str, ...]
    argument_end: str
    around: Mapping[str, str] = field(default_factory=dict[str, str])
    """How sections of such calls begin and end."""
    closes: tuple[str, ...] = ()
    """Other tags that end a call."""
    head_end: str = ">"
    """What ends the tags that begin a call or an argument."""
    whole: tuple[str, str] | None = None
    """How a JSON object with all arguments begins and ends."""
    tokens: bool = False
    """Whether the tags are tokens that no argument holds, and tell its type."""
    lines: bool = True
    """Whether the line breaks next to the tags of an argument belong to the tags."""

    @property
    def after(self) -> tuple[str, ...]:
        """What may stand behind a call."""
        return (*self.around.values(), *self.closes)

    @cached_property
    def stops(self) -> Stops:
        """Where an argument may end."""
        others = (self.end, *("\n" + opening for opening in self.argument_openings))
        return Stops((self.argument_end, *(() if self.tokens else others)))

    @cached_property
    def handlers(self) -> Handlers:
        """Handlers of these calls, and of the tags around them."""

        def read(reading: Reading) -> list[Item]:
            return [tagged_call(reading, self)]

        calls: Handlers = dict.fromkeys(self.openings, read)
        return sections(self.around, calls)


FUNCTION = Tags(
    openings=("<function=", "<function name="),
    end="</function>",
    argument_openings=("<parameter=", "<parameter name="),
    argument_end="</parameter>",
    around={"<seed:tool_call>": "</seed:tool_call>"},
    closes=("</tool_call>",),
)
INVOKE = Tags(
    openings=("<invoke name=",),
    end="</invoke>",
    argument_openings=("<parameter name=",),
    argument_end="</parameter>",
    around={"<minimax:tool_call>": "</minimax:tool_call>", "<function_calls>": "</function_calls>"},
)
OWN = Tags(
    openings=("<call tool=",),
    end="</call>",
    argument_openings=("<arg name=",),
    argument_end="</arg>",
)
K3_THOUGHT_END = "<|close|>think<|sep|>"
K3 = Tags(
    openings=("<|open|>call tool=",),
    end="<|close|>call<|sep|>",
    argument_openings=("<|open|>argument key=",),
    argument_end="<|close|>argument<|sep|>",
    around={"<|open|>tools<|sep|>": "<|close|>tools<|sep|>"},
    head_end="<|sep|>",
    whole=("<|open|>json", "<|close|>json<|sep|>"),
    tokens=True,
    lines=False,
)


def dsml(space: str, *around: str) -> Tags:
    """The tags of DeepSeek V3.2 and later.

    Args:
        space: What stands before each name.
        around: The names of the tags around calls.
    """
    return Tags(
        openings=(f"<｜DSML｜{space}invoke name=",),
        end=f"</｜DSML｜{space}invoke>",
        argument_openings=(f"<｜DSML｜{space}parameter name=",),
        argument_end=f"</｜DSML｜{space}parameter>",
        around={f"<｜DSML｜{space}{name}>": f"</｜DSML｜{space}{name}>" for name in around},
        lines=False,
    )


def tagged_call(reading: Reading, tags: Tags) -> Call:
    """Read a call.

    Raises:
        Mismatch: If it is none, or it is cut off.
    """
    source, tools = reading.source, reading.tools
    name, _ = _head(source, tags, tags.openings)
    arguments: dict[str, Any] = {}
    ended = False
    while not ended:
        source.space()
        if source.literal(tags.end) or (arguments and source.standing(*tags.after)):
            break
        if not arguments and source.peek() == "{":
            arguments = dict(_whole(source))
            source.space()
            source.literal(tags.end)
            break
        if tags.whole and source.literal(tags.whole[0]):
            source.upto("<>\n", _LONGEST_HEAD)
            source.must(tags.head_end)
            arguments |= _whole(source)
            source.space()
            source.must(tags.whole[1])
            continue
        key, attributes = _head(source, tags, tags.argument_openings)
        text, ended = _argument(source, tags)
        if tags.tokens and "type=" in attributes:
            arguments[key] = text if 'type="string"' in attributes else written(text)
        else:
            undeclared = "value" if 'string="false"' in attributes else "string"
            arguments[key] = tools.argument(name, key, text, undeclared=undeclared)
    return Call(name, _unwrapped(arguments, name, tools))


def _whole(source: Source) -> Mapping[str, Any]:
    """Read all arguments as one JSON object."""
    found = arguments_of(value(source))
    if found is None:
        raise Mismatch
    return found


def _head(source: Source, tags: Tags, openings: tuple[str, ...]) -> tuple[str, str]:
    """Read an opening tag: the name in it, which may hold spaces, and the attributes after it."""
    source.must(*openings)
    head = source.upto("<>\n", _LONGEST_HEAD).strip()
    source.must(tags.head_end)
    quote = head[:1]
    if quote in ('"', "'") and quote in head[1:]:
        name, _, attributes = head[1:].partition(quote)
    else:
        name, _, attributes = head.partition(" ") if "=" in head else (head, "", "")
    name = name.strip("\"' ")
    if not name or any(char in "=\"'" for char in name):
        raise Mismatch
    return name, attributes


def _argument(source: Source, tags: Tags) -> tuple[str, bool]:
    """Read the text of an argument, with its end tag; also whether the call ended with it."""
    parts: list[str] = []
    ended = False
    while True:
        text, stop = source.until(tags.stops)
        parts.append(text)
        if not stop:
            raise Mismatch
        if stop not in (tags.argument_end, tags.end):
            parts = [_without_drifted_end("".join(parts), tags.argument_end)]
            break
        source.take(len(stop))
        gap = source.space()
        ended = stop == tags.end
        following = tags.after if ended else (tags.end, *tags.argument_openings, *tags.after)
        if tags.tokens or source.standing(*following) or (ended and not source.peek()):
            break
        parts += (stop, gap)
    text = "".join(parts)
    if tags.lines:
        text = text.removeprefix("\r\n" if text.startswith("\r") else "\n")
        text = text.removesuffix("\r\n" if text.endswith("\r\n") else "\n")
    return text, ended


def _without_drifted_end(text: str, end: str) -> str:
    """An argument without what stands for its end tag, such as `</parameter1>`."""
    bare = text.rstrip()
    at = bare.rfind("</")
    rest = bare[at:].removesuffix(">").removeprefix(end[:-1]) if at >= 0 else "/"
    return text[:at] if all(char.isalnum() or char == "_" for char in rest) else text


def _unwrapped(arguments: dict[str, Any], name: str, tools: Tools) -> Mapping[str, Any]:
    """The arguments, or those in the only one, if that just stands around the real ones."""
    if len(arguments) == 1 and tools.has(name):
        ((key, inner),) = arguments.items()
        if key in _WRAPPERS and key not in tools.parameters(name):
            found = mapping(written(inner) if isinstance(inner, str) else inner)
            if found is not None and found.keys() <= tools.parameters(name).keys():
                return found
    return arguments


# GLM and Hunyuan: keys and values in tags of their own.


def pairs(opening: str) -> Handler:
    """Reads a call with a tag for each key and each value.

    Args:
        opening: How the call begins. Without `>` a suffix follows, which all tags of the call have: some checkpoints
            of Hunyuan write `<tool_call:opensource>`.
    """

    def read(reading: Reading) -> list[Item]:
        source, tools = reading.source, reading.tools
        source.must(opening)
        tags = _Pair("" if opening.endswith(">") else _suffix(source))
        source.space()
        if source.peek() == "{":  # as other families write it
            items = calls_in(value(source), tools, bare=True)
            source.space()
            source.literal(tags.end)
            return items
        name = source.upto("<>{\\\n", LONGEST_NAME).strip()
        _gap(source)
        source.literal(tags.separator, ">")
        odd = any(not char.isalnum() and char not in "_.:/-" for char in name)
        if odd and not (tools.has(name) or (tools.knows(name) and source.standing(tags.key))):
            raise Mismatch
        if name and source.behind_space() == "{":  # as GLM 5 may
            arguments: dict[str, Any] = dict(_whole(source))
            source.space()
            source.literal(tags.end)
            return [named(name, arguments, tools)]
        arguments = {}
        while True:
            _gap(source)
            if source.literal(tags.end) or (arguments and source.standing(tags.opening)):
                return [named(name, arguments, tools)]
            key, text, ended = _pair(source, tags, tools.parameters(name) if tools.has(name) else None)
            arguments[key] = tools.argument(name, key, text, undeclared="value")
            if ended:
                return [named(name, arguments, tools)]

    return read


def _suffix(source: Source) -> str:
    """Read the rest of a tag that has a suffix, from its colon on."""
    suffix = source.upto("<>\n", LONGEST_NAME)
    source.must(">")
    return f":{suffix}"


def suffixed_section(reading: Reading) -> list[Item]:
    """Reads the beginning of a section of calls whose tags have a suffix, with its first call."""
    reading.source.must("<tool_calls:")
    _suffix(reading.source)
    reading.source.space()
    return pairs("<tool_call:")(reading)


def suffixed_section_end(reading: Reading) -> list[Item]:
    """Reads the end of such a section; it is text if there was no call."""
    reading.source.must("</tool_calls:")
    _suffix(reading.source)
    if not reading.sink.calls:
        raise Mismatch
    return []


class _Pair:
    """The tags of GLM and Hunyuan with their suffix."""

    def __init__(self, suffix: str) -> None:
        self.opening, self.end = f"<tool_call{suffix}>", f"</tool_call{suffix}>"
        self.separator = f"<tool_sep{suffix}>"
        self.key, self.key_end = f"<arg_key{suffix}>", f"</arg_key{suffix}>"
        self.value, self.value_end = f"<arg_value{suffix}>", f"</arg_value{suffix}>"
        self.key_stops = Stops((self.key_end, "\n"))
        self.value_stops = Stops((self.value_end, self.key, self.end))


def _gap(source: Source) -> str:
    """Read white space between tags, also as a backslash and an `n`."""
    gap = source.space()
    while source.literal("\\n"):
        gap += "\\n" + source.space()
    return gap


def _pair(source: Source, tags: _Pair, declared: Mapping[str, Any] | None) -> tuple[str, str, bool]:
    """Read a key and its value; also whether the call ended with it.

    An end tag in the value is its own if nothing of the call follows. A value without its end tag ends before the
    next declared key, or with the call, if nothing follows that and no other tag stands in it.
    """
    source.must(tags.key)
    key, _ = source.until(tags.key_stops)
    source.must(tags.key_end)
    _gap(source)
    source.must(tags.value)
    parts: list[str] = []
    while True:
        text, stop = source.until(tags.value_stops)
        parts.append(text)
        if not stop:
            raise Mismatch
        begin = source.at
        source.take(len(stop))
        if stop == tags.key:
            found = source.upto("<\n", LONGEST_NAME)
            is_next = source.literal(tags.key_end) and (_gap(source), source.standing(tags.value))[1]
            if is_next and (declared is None or found.strip() in declared):
                source.at = begin
                return key.strip(), "".join(parts).rstrip("\n"), False
            source.at = begin + len(stop)
            parts.append(stop)
            continue
        gap = _gap(source)
        whole = len(parts) == 1 and not any(tag in text for tag in ("</", "<arg_", "<tool_call"))
        if stop == tags.end and whole and not source.peek():
            return key.strip(), "".join(parts).rstrip("\n"), True
        if stop == tags.value_end and source.standing(tags.key, tags.end, tags.opening):
            return key.strip(), "".join(parts), False
        parts += (stop, gap)


def k3_thought_end(reading: Reading) -> list[Item]:
    """Reads the end of a thought of Kimi K3; if it began in the prompt, everything before it was the thought."""
    reading.source.must(K3_THOUGHT_END)
    if not reading.sink.thinks:
        reading.sink.rethink()
    return []


# MiniMax M3.

M3_PREFIX = "]<]minimax[>["
_M3_STOPS = Stops([M3_PREFIX])
_ITEM = "item"


def m3_section(reading: Reading) -> list[Item]:
    """Reads what stands behind the token of MiniMax M3: a call, or the beginning or end of a section of calls."""
    source = reading.source
    closes, name, called = _m3_tag(source)
    if name == "tool_call" and closes and reading.sink.calls:
        return []
    if name == "tool_call" and not closes:
        source.space()
        closes, name, called = _m3_tag(source)
    if closes or name != "invoke" or not called:
        raise Mismatch
    arguments: dict[str, Any] = {}
    while True:
        source.space()
        closes, name, _ = _m3_tag(source)
        if closes and name == "invoke":
            return [Call(called, arguments)]
        if closes:
            raise Mismatch
        declared = reading.tools.parameters(called).get(name)
        arguments[name] = _m3_value(source, reading.tools, called, declared, name)


def _m3_tag(source: Source) -> tuple[bool, str, str]:
    """Read a tag, from its token on: whether it closes, its name, and what it calls."""
    source.must(M3_PREFIX)
    source.space()
    source.must("<")
    inside = source.upto("<>\n", _LONGEST_HEAD)
    source.must(">")
    bare = inside.removeprefix("/").strip()
    name, _, rest = bare.partition(" ")
    attribute, equals, called = rest.partition("=")
    if not name or name.strip("/\"'=") != name or "=" in name or (rest and not equals):
        raise Mismatch
    if attribute.strip() not in ("", "name"):
        raise Mismatch
    return inside.startswith("/"), name, called.strip(" \"'")


def _m3_value(source: Source, tools: Tools, tool: str, declared: Any, name: str, depth: int = 0) -> Any:
    """Read what stands in the tag `name`, to its end; `declared` is its schema."""
    if depth > DEEPEST:
        raise Mismatch
    may_list = tools.may_be(tool, declared, "array")
    parts: list[str] = []
    fields: dict[str, list[Any]] = {}
    while True:
        text, stop = source.until(_M3_STOPS)
        parts.append(text)
        if not stop:
            raise Mismatch
        closes, inner, _ = _m3_tag(source)
        if closes:
            break
        schema = tools.within(tool, declared, None if may_list and inner == _ITEM else inner)
        fields.setdefault(inner, []).append(_m3_value(source, tools, tool, schema, inner, depth + 1))
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
