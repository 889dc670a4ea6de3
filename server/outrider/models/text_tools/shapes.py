"""The shapes in which a call is written as JSON."""

import json
import re
from collections.abc import Mapping
from typing import Any

from outrider.models.text_tools import literal
from outrider.models.text_tools.parallel import several, without_prefix
from outrider.models.text_tools.reading import Call, Reading
from outrider.models.text_tools.source import LINE, Mismatch, Torn, Wait
from outrider.models.text_tools.tools import Tools

_NAMES = ("name", "tool_name", "function_name", "tool", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "params", "input", "tool_input")
_LONGEST_NAME = 256
_BETWEEN = re.compile(r"[\s,;]*")
_OF_A_CALL = {*_NAMES, "id", "type"}
"""What a call has besides its arguments; with more it may be a tool that is described."""
_MISSING: Any = object()
_NONE: Mapping[str, Any] = {}


def call_of(found: Any, tools: Tools, *, known: bool, bare: bool = False) -> Call | None:
    """The call that a JSON value is.

    Args:
        found: The value.
        tools: What may be called.
        known: Whether it must be one of them.
        bare: Whether the arguments may be left out if the tool needs none, as far as that is known.

    Returns:
        The call; None if the value is something else, such as the definition of a tool.
    """
    fields = literal.mapping(found)
    if fields is None:
        return None
    inner = literal.mapping(fields.get("function"))
    if inner is not None:
        return call_of(inner, tools, known=known, bare=bare)
    name = next((fields[key] for key in _NAMES if isinstance(fields.get(key), str)), "")
    arguments = arguments_of(next((fields[key] for key in _ARGUMENTS if key in fields), _MISSING))
    if (
        arguments is None
        and bare
        and not any(key in fields for key in _ARGUMENTS)
        and (tools.has(name.strip()) or (tools.knows(name.strip()) and fields.keys() <= _OF_A_CALL))
    ):
        arguments = None if tools.required(name.strip()) else _NONE
    if arguments is None or _is_definition(arguments):
        return None
    return named(name, arguments, tools, known=known)


def named(name: str, arguments: Mapping[str, Any], tools: Tools, *, known: bool) -> Call | None:
    """A call of `name`; None if that is no name, or of no tool where it must be one."""
    name = name.strip()
    name = without_prefix(name, tools)
    if not name or len(name) > _LONGEST_NAME or "\n" in name:
        return None
    if known and not tools.knows(name) and several(name, arguments, tools) is None:
        return None
    return Call(name, arguments)


def arguments_of(found: Any) -> Mapping[str, Any] | None:
    """The arguments that a JSON value is: an object, one written as a string, or nothing; None if neither."""
    if isinstance(found, str):
        if not found.strip():
            return {}
        try:
            found = literal.of_text(found)
        except Mismatch:
            return None
    if found is None:
        return {}
    return literal.mapping(found)


def _is_definition(arguments: Mapping[str, Any]) -> bool:
    """Whether these are the schema of a tool that is described, instead of called."""
    return arguments.get("type") == "object" and isinstance(arguments.get("properties"), Mapping)


def json_calls(reading: Reading, *, known: bool = False, bare: bool = False) -> Wait[None]:
    """Read a JSON value, and take it for one or several calls.

    Args:
        reading: The message.
        known: Whether only tools count that there are.
        bare: Whether the arguments may be left out if a tool needs none; in a list they always may.

    Raises:
        Mismatch: If there is no call in it.
    """
    take_json((yield from literal.value(reading.source)), reading, known=known, bare=bare)


def further_calls(reading: Reading, *, known: bool = False, bare: bool = False) -> Wait[None]:
    """Read objects that follow a call, with commas or semicolons between them at most; what is no call is text.

    Args:
        reading: The message.
        known: See `json_calls`.
        bare: See `json_calls`.
    """
    source = reading.source
    while (yield from source.behind_space(also=",;")) == "{":
        mark = source.record()
        yield from source.run(_BETWEEN)
        try:
            yield from json_calls(reading, known=known, bare=bare)
        except Mismatch as mismatch:
            if isinstance(mismatch, Torn):
                yield from source.run(LINE)
            reading.sink.text(source.since(mark))
            return


def take_json(found: Any, reading: Reading, *, known: bool, bare: bool = False) -> None:
    """Take a JSON value for a call, a list of them, or an object around such a list; what is none is text.

    Raises:
        Mismatch: If there is no call in it.
    """
    around = literal.mapping(found) or {}
    inner = next((around[key] for key in ("tool_calls", "tool_call") if key in around), None)
    listed = literal.listed(found if inner is None else inner)
    ones = [found if inner is None else inner] if listed is None else listed
    calls = [call_of(one, reading.tools, known=known, bare=bare or listed is not None) for one in ones]
    if not any(calls):
        raise Mismatch
    for one, call in zip(ones, calls, strict=True):
        if call:
            reading.sink.call(call.name, call.arguments)
        else:
            reading.sink.text(json.dumps(one, ensure_ascii=False) + "\n")


def take(reading: Reading, calls: list[Call | None]) -> None:
    """Take `calls`.

    Raises:
        Mismatch: If one of them is none.
    """
    if None in calls:
        raise Mismatch
    for call in calls:
        if call is not None:
            reading.sink.call(call.name, call.arguments)
