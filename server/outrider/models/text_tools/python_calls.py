"""Calls written as Python: Llama 3.2 and 4, LFM2, and what else takes after them.

    [read_file(path="a.py"), list_dir()]

Without tokens around it, such a list counts only if it calls a tool that there is, and begins a line or ends the
message: behind other text with more to come, and as an item, it is spoken of. `[name](…)` is a link. A call that cannot be read does
not take the others with it. Nothing is evaluated.

Sources: prompt formats of Llama 3.2 and 4; chat template of LFM2.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.reading import Call, Handler, Reading, prose, section_end, standing
from outrider.models.text_tools.shapes import named, take_json
from outrider.models.text_tools.source import Mismatch, Source, Stops, Wait
from outrider.models.text_tools.tools import Tools

NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_NAME_RUN = re.compile(r"[\w.\-]*")
_LONGEST_NAME = 256
_PLAIN = re.compile(r"""[^"'()\[\]{}\\]*""")
_CLOSE = {"(": ")", "[": "]", "{": "}"}
_DEEPEST = 200
_STRINGS = "|".join(
    rf"{quote * 3}(?:[^{quote}\\]+|\\.|{quote}(?!{quote * 2}))*(?:{quote * 3}|\\?\Z)"
    rf"|{quote}(?:[^{quote}\\]+|\\.)*(?:{quote}|\\?\Z)"
    for quote in "\"'"
)
_PIECE = re.compile(rf"""{_STRINGS}|[^"'()\[\]{{}},]+|.""", re.DOTALL)
_PIECE_OF_CODE = re.compile(rf"""{_STRINGS}|\#[^\n]*|[^"'()\[\]{{}};\n\#]+|.""", re.DOTALL)


def call(source: Source) -> Wait[Call]:
    """Read a call with arguments by name.

    Raises:
        Mismatch: If it is none.
    """
    name = yield from source.run(_NAME_RUN, _LONGEST_NAME)
    if not NAME.fullmatch(name):
        raise Mismatch
    yield from source.space()
    yield from source.must("(")
    arguments: dict[str, Any] = {}
    yield from source.space()
    while not (yield from source.literal(")")):
        key = yield from source.run(_NAME_RUN, _LONGEST_NAME)
        yield from source.space()
        yield from source.must("=")
        if not key.isidentifier() or key in arguments:
            raise Mismatch
        arguments[key] = yield from literal.value(source, python=True)
        yield from source.space()
        if not (yield from source.literal(",")) and (yield from source.peek()) != ")":
            raise Mismatch
        yield from source.space()
    return Call(name, arguments)


def call_of_text(text: str) -> Call | None:
    """The call that `text` is; None if it is none."""
    source = Source()
    source.push(text.strip())
    source.end()
    reading = call(source)
    try:
        next(reading)
    except StopIteration as done:
        found: Call = done.value
        try:
            next(source.peek())
        except StopIteration as rest:
            return None if rest.value else found
    except Mismatch:
        return None
    return None


def closed(source: Source, expected: list[str]) -> Wait[str]:
    """Read to the last of the brackets that are `expected`, the innermost last; those in strings do not count.

    Raises:
        Mismatch: If they do not match, or the text ends before.
    """
    parts: list[str] = []
    while expected:
        parts.append((yield from source.run(_PLAIN)))
        found = yield from source.peek()
        if not found:
            raise Mismatch
        parts.append(source.take(1))
        if found in "\"'":
            parts.append((yield from _quoted(source, found)))
        elif found in _CLOSE:
            expected.append(_CLOSE[found])
            if len(expected) > _DEEPEST:
                raise Mismatch
        elif found != "\\" and found != expected.pop():
            raise Mismatch
    return "".join(parts)


def _quoted(source: Source, quote: str) -> Wait[str]:
    """Read a string from behind its first quote on, to its end."""
    parts: list[str] = []
    end = quote
    if (yield from source.literal(quote)):
        if not (yield from source.literal(quote)):
            return quote
        parts, end = [quote * 2], quote * 3
    while True:
        parts.append((yield from source.run(literal.IN_STRING[quote])))
        if not (yield from source.peek()):
            raise Mismatch
        if (yield from source.literal(end)):
            return "".join((*parts, end))
        found = source.take(1)
        parts.append(found)
        if found == "\\" and (yield from source.fill(1)):
            parts.append(source.take(1))


def parts_of(inside: str) -> Iterator[str]:
    """What stands between the commas of a list, given without its brackets."""
    return _parted(_PIECE.finditer(inside), ",")


def statements(code: str) -> Iterator[str]:
    """The statements of a piece of Python, without its comments."""
    return _parted((piece for piece in _PIECE_OF_CODE.finditer(code) if piece.group()[0] != "#"), ";\n")


def _parted(pieces: Iterable[re.Match[str]], between: str) -> Iterator[str]:
    depth, parts = 0, list[str]()
    for match in pieces:
        piece = match.group()
        if piece in _CLOSE:
            depth += 1
        elif piece in _CLOSE.values():
            depth -= 1
        if piece in between and depth == 0:
            yield "".join(parts)
            parts = []
        else:
            parts.append(piece)
    if "".join(parts).strip():
        yield "".join(parts)


def take_list(reading: Reading, text: str, *, known: bool, loose: bool = False) -> None:
    """Take the calls of a list; what is none among them is text.

    Args:
        reading: The message.
        text: The list, with its brackets.
        known: Whether only tools count that there are.
        loose: Whether a string may hold quotes of its own kind, where its end is clear all the same.

    Raises:
        Mismatch: If there is none.
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        raise Mismatch
    found = [(part, _call_of_part(part, reading.tools, known, loose)) for part in parts_of(text[1:-1])]
    if not any(one for _, one in found):
        raise Mismatch
    for part, one in found:
        if one:
            reading.sink.call(one.name, one.arguments)
        else:
            reading.sink.text(part.strip() + "\n")


def _call_of_part(part: str, tools: Tools, known: bool, loose: bool) -> Call | None:
    found = call_of_text(part) or (_loose_call(part.strip()) if loose else None)
    if found is None:
        return None
    name = found.name
    if not tools.has(name) and name.endswith(".call"):
        name = name[: -len(".call")]
    return named(name, found.arguments, tools, known=known)


_LOOSE_CALL = re.compile(r"([A-Za-z_][\w.\-]*)\s*\((.*)\)", re.DOTALL)
_LOOSE_KEY = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*")
_LOOSE_END = {quote: re.compile(rf"(?<!\\){quote}(?=\s*(?:,\s*[A-Za-z_]\w*\s*=|\Z))") for quote in ('"', "'")}
_OWN_QUOTE = {quote: re.compile(rf"(?<!\\){quote}") for quote in ('"', "'")}


def _loose_call(text: str) -> Call | None:
    """A call whose strings end where the next argument or nothing follows, whatever quotes they hold."""
    whole = _LOOSE_CALL.fullmatch(text)
    if not whole:
        return None
    rest, at = whole.group(2), 0
    arguments: dict[str, Any] = {}
    while at < len(rest):
        key = _LOOSE_KEY.match(rest, at)
        quote = rest[key.end() : key.end() + 1] if key else ""
        end = _LOOSE_END[quote].search(rest, key.end() + 1) if key and quote in _LOOSE_END else None
        if not key or not end:
            return None
        body = _OWN_QUOTE[quote].sub("\\\\" + quote, rest[key.end() + 1 : end.start()])
        try:
            arguments[key.group(1)] = literal.of_text(quote + body + quote, python=True)
        except Mismatch:
            return None
        at = end.end()
        comma = rest[at:].lstrip()
        at = len(rest) - len(comma) + 1 if comma else len(rest)
    return Call(whole.group(1), arguments)


_LINE_SPACE = re.compile(r"[ \t]*")
_AFTER_LIST = ("", *"\n\r,;<[`")
"""What may stand right behind a list of calls: `[name(…)](…)` is a link, `[name(…)]: …` says what it does."""
_TOKEN = ("<|",)
"""With what a token begins that a server left in the text."""


def _bare_list(reading: Reading) -> Wait[None]:
    """Reads a list without tokens around it."""
    source = reading.source
    begins_line = source.on_blank_line
    mark = source.record()
    yield from source.must("[")
    yield from source.space()
    if not NAME.fullmatch((yield from source.run(_NAME_RUN, _LONGEST_NAME))):
        raise Mismatch
    yield from source.space()
    yield from source.must("(")
    try:
        yield from closed(source, ["]", ")"])
    except Mismatch:
        if (yield from source.peek()) or reading.cut_off:
            raise
    text = source.since(mark)
    gap = yield from source.run(_LINE_SPACE)
    after = yield from source.peek()
    if (not gap and after not in _AFTER_LIST) or reading.sink.begins_item:
        raise Mismatch
    if not begins_line:
        gap += yield from source.space()
        if (yield from source.peek()) and not (yield from standing(source, _TOKEN)):
            raise Mismatch
    take_list(reading, text, known=True)
    reading.sink.text(gap)


def in_tokens(opening: str, end: str, *, loose: bool = False) -> Handler:
    """Reads a list of calls between tokens, written as Python or as JSON."""
    stops = Stops([end])

    def handler(reading: Reading) -> Wait[None]:
        source = reading.source
        yield from source.must(opening)
        parts: list[str] = []
        if (yield from source.until(stops, parts.append)):
            yield from source.must(end)
        elif reading.cut_off:
            raise Mismatch
        text = "".join(parts).strip()
        try:
            found = literal.of_text(text)
        except Mismatch:
            while text.startswith("[[") and text.endswith("]]"):
                text = text[1:-1]
            take_list(reading, text if text.startswith("[") else f"[{text}]", known=False, loose=loose)
        else:
            if found:
                take_json(found, reading, known=False)
        if loose and len(text) <= _LONGEST_ECHO:
            yield from source.literal(text + end)

    return handler


_LONGEST_ECHO = 10_000
"""How long a list may be that LFM2 says once more, without the first token, before it ends."""
BARE: dict[str, Handler] = {"[": _bare_list}
_LFM2: dict[str, Handler] = {
    "<|tool_call_start|>": in_tokens("<|tool_call_start|>", "<|tool_call_end|>", loose=True),
    "<|tool_call_end|>": section_end("<|tool_call_end|>"),
}


def pythonic(reading: Reading) -> Wait[None]:
    """Reads a message of Llama 3.2 or 4, or of what writes as they do."""
    token = {"<|python_start|>": in_tokens("<|python_start|>", "<|python_end|>")}
    yield from prose(reading, {**token, **BARE})


def lfm2(reading: Reading) -> Wait[None]:
    """Reads a message of LFM2."""
    yield from prose(reading, {**_LFM2, **BARE})
