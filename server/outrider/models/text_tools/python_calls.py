"""Calls with a name and its arguments in brackets.

    [read_file(path="a.py"), list_dir()]                          Python: Llama 3.2 and 4, LFM2, OLMo 3, Gemma 2 and 3
    call:read_file{path:<|"|>a.py<|"|>,lines:[1,2]}                FunctionGemma, Gemma 4
    [USE read_file tool: path="a.py"]                             bracketed

A list of Python calls without markup counts only if it calls a known tool, and begins a line or ends the message:
behind other text with more to come, and in an item of a list, the text only speaks of it. `[name(…)](…)` is a link.
A call that cannot be read does not take the others with it. Nothing is evaluated.

Sources: prompt formats of Llama 3.2 and 4; chat templates of LFM2, OLMo 3, FunctionGemma and Gemma 4; "Function calling
with Gemma" of Google's documentation. The bracketed forms are those that Loader reads.
"""

from collections.abc import Iterator
from typing import Any

from outrider.models.text_tools.message import Handler, Reading
from outrider.models.text_tools.source import (
    QUOTES,
    Mismatch,
    Source,
    Stops,
    of_text,
    string,
    string_body,
    value,
)
from outrider.models.text_tools.tools import (
    LONGEST_NAME,
    Call,
    Item,
    Tools,
    calls_in,
    named,
    with_a_call,
)
from outrider.ports.model import TextDelta

_CLOSE = {"(": ")", "[": "]", "{": "}"}
_DEEPEST_LIST = 200
_LONGEST_ECHO = 10_000
"""How long a list may be that LFM2 repeats, without its first token."""


def _is_name(text: str) -> bool:
    return text[:1].isascii() and (text[:1].isalpha() or text[:1] == "_")


def one_call(source: Source) -> Call:
    """Read a Python call with arguments by name.

    Raises:
        Mismatch: If it is none.
    """
    name = source.word(".-", LONGEST_NAME)
    if not _is_name(name):
        raise Mismatch
    source.space()
    source.must("(")
    arguments: dict[str, Any] = {}
    source.space()
    while not source.literal(")"):
        key = source.word(".-", LONGEST_NAME)
        source.space()
        source.must("=")
        if not key.isidentifier() or key in arguments:
            raise Mismatch
        arguments[key] = value(source, "python")
        source.space()
        if not source.literal(",") and source.peek() != ")":
            raise Mismatch
        source.space()
    return Call(name, arguments)


def call_of_text(text: str) -> Call | None:
    """The call that `text` is; None if it is none."""
    source = Source(text.strip())
    try:
        found = one_call(source)
    except Mismatch:
        return None
    return None if source.peek() else found


def _calls_of_code(code: str, tools: Tools, *, known: bool = False, loose: bool = False) -> list[Item]:
    """The calls in a list or in lines of Python; what is no call among them is text.

    Args:
        code: The code.
        tools: What may be called.
        known: Whether only known tools count.
        loose: Whether a string may hold quotes of its own kind if its end is clear all the same.

    Raises:
        Mismatch: If there is no call in it.
    """
    code = code.strip()
    is_list = code.startswith("[")
    if is_list and not code.endswith("]"):
        raise Mismatch
    items: list[Item] = []
    for part in _parts(code[1:-1], ",") if is_list else _parts(code, ",;\n", comments=True):
        found = call_of_text(part) or (_loose_call(part) if loose else None)
        name = found.name if found else ""
        name = name if tools.has(name) else name.removesuffix(".call")
        try:
            items.append(named(name, found and found.arguments, tools, known=known))
        except Mismatch:
            items.append(TextDelta(part + "\n"))
    return with_a_call(items)


def _parts(code: str, between: str, *, comments: bool = False) -> Iterator[str]:
    """What stands between the characters of `between` outside of brackets and strings, without comments."""
    depth = start = at = 0
    parts: list[str] = []
    while at <= len(code):
        char = code[at : at + 1]
        if not char or (char in between and depth == 0) or (char == "#" and comments):
            parts.append(code[start:at])
            if char == "#":
                end = code.find("\n", at)
                at = len(code) if end < 0 else end
            else:
                part = "".join(parts).strip()
                if part:
                    yield _unprinted(part) if comments else part
                parts, at = [], at + 1
            start = at
        elif char in QUOTES:
            at = _behind_string(code, at)
        else:
            depth += (char in _CLOSE) - (char in ")]}")
            at += 1


def _behind_string(code: str, at: int) -> int:
    """Where the string ends that begins at `at`; the end of the code if nowhere."""
    end = code[at] * 3 if code.startswith(code[at] * 3, at) else code[at]
    at += len(end)
    while at < len(code) and not code.startswith(end, at):
        at += 2 if code[at] == "\\" else 1
    return min(len(code), at + len(end))


def _unprinted(statement: str) -> str:
    """A statement without `print(…)` around it, or the variable to which its result goes."""
    variable, equals, rest = statement.partition("=")
    if equals and variable.strip().isidentifier() and _is_name(rest.strip()):
        statement = rest.strip()
    if statement.startswith("print(") and statement.endswith(")"):
        return statement[len("print(") : -1]
    return statement


def _loose_call(text: str) -> Call | None:
    """A call whose strings end where the next argument or nothing follows, whatever quotes they hold."""
    source = Source(text[:-1])
    name = source.word(".-", LONGEST_NAME)
    source.space()
    if not (_is_name(name) and source.literal("(") and text.endswith(")")):
        return None
    arguments: dict[str, Any] = {}
    try:
        while (source.space(","), source.peek())[1]:
            key = source.word(most=LONGEST_NAME)
            source.space()
            source.must("=")
            source.space()
            quote = source.must(*QUOTES)
            arguments[key] = of_text(f"{quote}{_loose_body(source, quote)}{quote}", python=True)
    except Mismatch:
        return None
    return Call(name, arguments) if all(map(_is_name, arguments)) else None


def _loose_body(source: Source, quote: str) -> str:
    """Read a string from behind its quote on, with its end; quotes within are given with a backslash."""
    parts: list[str] = []
    while True:
        parts.append(source.upto(quote))
        source.must(quote)
        behind = source.at
        if not parts[-1].endswith("\\"):
            source.space()
            comma = source.literal(",")
            source.space()
            follows = bool(comma and source.word()) and (source.space(), source.peek() == "=")[1]
            is_end = follows or (not comma and not source.peek())
            source.at = behind
            if is_end:
                return "".join(parts)
            parts.append("\\")
        parts.append(quote)


def bare_list(reading: Reading) -> list[Item]:
    """Reads a list of Python calls without markup."""
    source, sink = reading.source, reading.sink
    begins_line, begins_item = source.on_blank_line, sink.line.begins_item
    start = source.at
    source.must("[")
    if source.peek() == "[":
        source.any_of("[")
        source.at -= 1  # the last of them may begin a list
        raise Mismatch
    source.space()
    if not _is_name(source.word(".-", LONGEST_NAME)):
        raise Mismatch
    source.space()
    source.must("(")
    try:
        _close(source, ["]", ")"])
    except Mismatch:
        if source.peek() or reading.cut_off:
            raise
    code = source.text[start : source.at]
    gap = source.any_of(" \t")
    # `[name(…)](…)` is a link, and `[name(…)]: …` tells what it does.
    if begins_item or (not gap and source.peek() not in ("", *"\n\r,;<[`")):
        raise Mismatch
    if not begins_line:
        gap += source.space()
        if source.peek() and not source.standing("<|"):  # a token that a server left in the text
            raise Mismatch
    return [*_calls_of_code(code, reading.tools, known=True), TextDelta(gap)]


def _close(source: Source, expected: list[str]) -> None:
    """Read to the last of the closing brackets that are `expected`, the innermost last; those in strings do not count.

    Raises:
        Mismatch: If they do not match, or the text ends before.
    """
    while expected:
        source.upto("\"'()[]{}")
        found = source.peek()
        if not found:
            raise Mismatch
        if found in QUOTES:
            string_body(source, source.take(1), python=True, raw=True)
            continue
        source.take(1)
        if found in _CLOSE:
            expected.append(_CLOSE[found])
            if len(expected) > _DEEPEST_LIST:
                raise Mismatch
        elif found != expected.pop():
            raise Mismatch


def code_in(opening: str, end: str, *, loose: bool = False) -> Handler:
    """Reads calls between markers, as a list or lines of Python or as JSON.

    Args:
        opening: The marker before them.
        end: The marker after them.
        loose: Whether the last string of a call may hold quotes of its own kind, and the calls may be repeated.
    """
    stops = Stops([end])

    def read(reading: Reading) -> list[Item]:
        source, tools = reading.source, reading.tools
        source.must(opening)
        text, stop = source.until(stops)
        if not stop and reading.cut_off:
            raise Mismatch
        source.literal(end)
        text = text.strip().removesuffix(end.strip())
        try:
            found = of_text(text)
        except Mismatch:
            while text.startswith("[[") and text.endswith("]]"):
                text = text[1:-1]
            items = _calls_of_code(text, tools, loose=loose)
        else:
            items = calls_in(found, tools) if found else []
        if loose and len(text) <= _LONGEST_ECHO:
            source.literal(text + end)
        return items

    return read


# Gemma.

_GEMMA_ENDS = ("<end_function_call>", "<tool_call|>", "<turn|>")


def gemma_call(opening: str, *, typed: bool = False, known: bool = False) -> Handler:
    """Reads a call of FunctionGemma or Gemma 4, between tokens or without some of them.

    Args:
        opening: What it begins with.
        typed: Whether strings may stand for other values where the schema says nothing.
        known: Whether it must be a known tool.
    """

    def read(reading: Reading) -> list[Item]:
        source, tools = reading.source, reading.tools
        source.must(opening)
        begun = source.literal(":")
        source.space()
        if opening.endswith(">") and not source.literal("call:") and not begun and opening != "<call>":
            raise Mismatch
        name = source.word(".:/-", LONGEST_NAME)
        source.space()
        if source.peek() != "{":
            raise Mismatch
        fields: dict[str, Any] = value(source, "gemma")
        source.literal(*_GEMMA_ENDS)
        if not name or (known and not tools.knows(name)):
            raise Mismatch
        undeclared = "value" if typed else "string"
        arguments = {
            key: tools.argument(name, key, one, undeclared=undeclared) if isinstance(one, str) else one
            for key, one in fields.items()
        }
        return [Call(name, arguments)]

    return read


# Bracketed calls.

_VERBS = ("use", "calls", "call")
BRACKETED = tuple(f"[{form}" for verb in _VERBS for form in (verb, verb.upper(), verb.capitalize()))


def bracketed_call(reading: Reading) -> list[Item]:
    """Reads `[USE NAME tool: KEY=VALUE, …]` and forms like it."""
    source, tools = reading.source, reading.tools
    source.must(*BRACKETED)
    if not source.space():
        raise Mismatch
    name = tools.named_like(source.word(".-", LONGEST_NAME))
    source.space()
    source.must("tool", "TOOL", "Tool")
    if not name:
        raise Mismatch
    source.space(":")
    if source.literal("with", "WITH", "With"):
        source.space(":")
    arguments: dict[str, Any] = {}
    if source.peek() == "{":
        arguments = value(source)
        source.space()
    while not source.literal("]"):
        key = source.word(".-", LONGEST_NAME)
        source.space()
        source.must("=", ":")
        if not key:
            raise Mismatch
        source.space()
        following = source.peek()
        if following in _CLOSE and following != "(":
            arguments[key] = value(source, "python")
        else:
            text = string(source) if following in QUOTES else source.upto(",]\n").strip()
            arguments[key] = tools.argument(name, key, text)
        source.space(",")
    return [named(name, arguments, tools, known=True)]
