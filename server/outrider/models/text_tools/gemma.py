"""Calls of Gemma.

    <start_function_call>call:NAME{path:<escape>a.py<escape>,lines:[1,2]}<end_function_call>        FunctionGemma
    <|tool_call>call:NAME{path:<|"|>a.py<|"|>,lines:[1,2]}<tool_call|>                              Gemma 4
    ```tool_code … NAME(path="a.py") … ```, a list of such calls, or JSON                           Gemma 2 and 3

Sources: chat templates of FunctionGemma and Gemma 4; "Function calling with Gemma" of Google's documentation.
"""

import re
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.hermes import whole_json
from outrider.models.text_tools.python_calls import BARE, statements, take_list
from outrider.models.text_tools.reading import Call, Handler, Reading, prose
from outrider.models.text_tools.shapes import take
from outrider.models.text_tools.source import Mismatch, Source, Stops, Wait

_NAME = re.compile(r"[\w.:/-]*")
_LONGEST_NAME = 256
_KEY = re.compile(r"""[^:{}\[\],<"']*""")
_BARE = re.compile(r"[^{}\[\],<]*")
_ENDS = ("<end_function_call>", "<tool_call|>", "<turn|>")
_QUOTES = {"<escape>": Stops(["<escape>"]), '<|"|>': Stops(['<|"|>'])}


def _function_call(opening: str, *, typed: bool = False, known: bool = False) -> Handler:
    """Reads a call between tokens, or without some of them.

    Args:
        opening: What it begins with.
        typed: Whether strings may stand for other values where the schema says nothing.
        known: Whether it must be of a tool that there is.
    """

    def handler(reading: Reading) -> Wait[None]:
        source, tools = reading.source, reading.tools
        yield from source.must(opening)
        begun = yield from source.literal(":")
        yield from source.space()
        if (
            opening.endswith(">")
            and not (yield from source.literal("call:"))
            and not begun
            and opening != "<call>"
        ):
            raise Mismatch
        name = yield from source.run(_NAME, _LONGEST_NAME)
        yield from source.space()
        yield from source.must("{")
        fields = yield from _fields(source, 0)
        yield from source.literal(*_ENDS)
        if not name or (known and not tools.knows(name)):
            raise Mismatch
        undeclared = "value" if typed else "string"
        arguments = {
            key: tools.argument(name, key, one, undeclared=undeclared) if isinstance(one, str) else one
            for key, one in fields.items()
        }
        take(reading, [Call(name, arguments)])

    return handler


def _fields(source: Source, depth: int) -> Wait[dict[str, Any]]:
    """An object, from behind its bracket on."""
    fields: dict[str, Any] = {}
    while True:
        yield from source.space()
        if (yield from source.literal("}")):
            return fields
        key = yield from _quoted(source)
        if key is None:
            key = (yield from source.run(_KEY)).strip()
        yield from source.space()
        yield from source.must(":")
        if not key:
            raise Mismatch
        fields[key] = yield from _value(source, depth + 1)
        yield from source.space()
        yield from source.literal(",")


def _value(source: Source, depth: int) -> Wait[Any]:
    if depth > literal.DEEPEST:
        raise Mismatch
    yield from source.space()
    text = yield from _quoted(source)
    if text is not None:
        return text
    if (yield from source.literal("{")):
        return (yield from _fields(source, depth))
    if (yield from source.literal("[")):
        items: list[Any] = []
        while True:
            yield from source.space()
            if (yield from source.literal("]")):
                return items
            items.append((yield from _value(source, depth + 1)))
            yield from source.space()
            if not (yield from source.literal(",")) and (yield from source.peek()) != "]":
                raise Mismatch
    bare = (yield from source.run(_BARE)).strip()
    if not (yield from source.peek()):
        raise Mismatch
    try:
        return literal.of_text(bare)
    except Mismatch:
        return bare


def _quoted(source: Source) -> Wait[str | None]:
    """A string in any of the quotes, None if none stands here."""
    quote = yield from source.literal(*_QUOTES)
    if quote:
        parts: list[str] = []
        if not (yield from source.until(_QUOTES[quote], parts.append)):
            raise Mismatch
        yield from source.must(quote)
        return "".join(parts)
    if (yield from source.peek()) in ("'", '"'):
        return (yield from literal.string(source))
    return None


_PRINTED = re.compile(r"print\((.*)\)", re.DOTALL)
_ASSIGNED = re.compile(r"\A[A-Za-z_]\w*\s*=\s*(?=[A-Za-z_])")
_FENCE_END = Stops(["```"])


def _tool_code(reading: Reading) -> Wait[None]:
    """Reads a code block of calls."""
    source = reading.source
    yield from source.must("```tool_code")
    parts: list[str] = []
    if (yield from source.until(_FENCE_END, parts.append)):
        yield from source.must("```")
    elif reading.cut_off:
        raise Mismatch
    code = "".join(parts).strip()
    if not code.startswith("["):
        code = f"[{','.join(_unprinted(one) for one in statements(code) if one.strip())}]"
    take_list(reading, code, known=False)


def _unprinted(statement: str) -> str:
    statement = _ASSIGNED.sub("", statement.strip())
    printed = _PRINTED.fullmatch(statement)
    return printed.group(1) if printed else statement


def _list(reading: Reading) -> Wait[None]:
    """Reads a list of calls, as Python or as JSON."""
    if (yield from reading.source.behind_space(1)) == "{":
        yield from whole_json(reading)
    else:
        yield from BARE["["](reading)


_CALLS: dict[str, Handler] = {
    "<start_function_call>": _function_call("<start_function_call>", typed=True),
    "<|tool_call>": _function_call("<|tool_call>"),
    "<call>": _function_call("<call>", known=True),
    "```tool_code": _tool_code,
}


def gemma(reading: Reading) -> Wait[None]:
    """Reads a message of Gemma."""
    yield from prose(
        reading, _CALLS, whole={"{": whole_json, "[": _list, "call:": _function_call("call:", known=True)}
    )
