"""Values as models write them: JSON, and what Python's literals add to it.

Lenient about form (either quote, a comma too many, raw line breaks in strings, `True` for `true`), strict
about meaning: what cannot be read is a `Mismatch`, never a guess. Nothing is evaluated.

Source: RFC 8259; "Lexical analysis" of the Python language reference.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, cast

from outrider.models.text_tools.source import Mismatch, Source, Torn, Wait

DEEPEST = 64
"""How far values may be nested."""
_LONGEST_NUMBER = 400

_NUMBER_RUN = re.compile(r"[-+.0-9eE_]*")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"\w*")
_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
}
IN_STRING = {quote: re.compile(rf"[^{quote}\\]*") for quote in ('"', "'")}
"""What stands in a string up to its end or the next backslash, by its quote."""
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_PYTHON_ESCAPES = {**_ESCAPES, "a": "\a", "v": "\v", "\n": "", "0": "\0"}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_PAIR = re.compile("([\ud800-\udbff])([\udc00-\udfff])")


def mapping(found: Any) -> Mapping[str, Any] | None:
    """`found` if it is an object."""
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else None


def listed(found: Any) -> list[Any] | None:
    """`found` if it is a list."""
    return cast("list[Any]", found) if isinstance(found, list) else None


def value(source: Source, *, python: bool = False, depth: int = 0) -> Wait[Any]:
    """Read a value, after white space.

    Args:
        source: Where it stands.
        python: Whether tuples, sets and strings side by side are values too; tuples and sets become lists.
        depth: How deep it lies.

    Returns:
        What `json.loads` would give.

    Raises:
        Mismatch: If no value stands here, it is cut off, nested too deep, or no number JSON has.
    """
    if depth > DEEPEST:
        raise Mismatch
    yield from source.space()
    first = yield from source.peek()
    if first == "{":
        return (yield from _braces(source, python, depth))
    if first == "[" or (first == "(" and python):
        return (yield from _items(source, python, depth))
    if first in IN_STRING:
        return (yield from string(source, python=python))
    if first and first in "-+.0123456789":
        text = yield from source.run(_NUMBER_RUN, _LONGEST_NUMBER)
        return number(text.replace("_", "") if python else text)
    word = yield from source.run(_WORD, _LONGEST_NUMBER)
    if python and word in ("r", "R") and (yield from source.peek()) in IN_STRING:
        return (yield from _raw_string(source))
    if word not in _CONSTANTS:
        raise Mismatch
    return _CONSTANTS[word]


def number(text: str) -> int | float:
    """The number that `text` is.

    Raises:
        Mismatch: If it is none, or not finite.
    """
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        raise Mismatch
    try:
        return int(text)
    except ValueError:
        found = float(text)
    if not math.isfinite(found):
        raise Mismatch
    return found


def _braces(source: Source, python: bool, depth: int) -> Wait[Any]:
    """An object, or a set."""
    source.take(1)
    fields: dict[str, Any] = {}
    members: list[Any] = []
    while True:
        yield from source.space()
        if (yield from source.literal("}")):
            return members or fields
        if python:
            key: Any = yield from value(source, python=True, depth=depth + 1)
        else:
            key = yield from string(source)
        yield from source.space()
        if not members and (yield from source.literal(":")):
            if not isinstance(key, str):
                if isinstance(key, list | dict):
                    raise Mismatch
                key = str(key)
            fields[key] = yield from value(source, python=python, depth=depth + 1)
        elif python and not fields:
            members.append(key)
        else:
            raise Mismatch
        yield from _end_of_item(source, "}")


def _items(source: Source, python: bool, depth: int) -> Wait[Any]:
    """A list, a tuple, or a value in parentheses."""
    close = "]" if source.take(1) == "[" else ")"
    items: list[Any] = []
    comma = ""
    while True:
        yield from source.space()
        if (yield from source.literal(close)):
            return items[0] if close == ")" and len(items) == 1 and not comma else items
        items.append((yield from value(source, python=python, depth=depth + 1)))
        comma = yield from _end_of_item(source, close)


def _end_of_item(source: Source, close: str) -> Wait[str]:
    """Read the comma after an item, if it is not the last one."""
    quoted = source.last in IN_STRING
    yield from source.space()
    comma = yield from source.literal(",")
    following = yield from source.peek()
    if not comma and following != close:
        raise Torn if quoted and following.isalnum() else Mismatch
    return comma


def string(source: Source, *, python: bool = False) -> Wait[str]:
    """Read a string in either kind of quotes, also in three quotes where Python has them.

    Raises:
        Mismatch: If none stands here, or it does not end.
    """
    parts: list[str] = []
    while True:
        quote = yield from source.literal('"', "'")
        if not quote:
            raise Mismatch
        yield from _string_body(source, quote, python, parts)
        if not python:
            break
        yield from source.space()
        if (yield from source.peek()) not in IN_STRING:
            break
    return _PAIR.sub(_joined_pair, "".join(parts))


def _raw_string(source: Source) -> Wait[str]:
    parts: list[str] = []
    yield from _string_body(source, (yield from source.must('"', "'")), True, parts, raw=True)
    return "".join(parts)


def _string_body(
    source: Source, quote: str, python: bool, parts: list[str], *, raw: bool = False
) -> Wait[None]:
    thrice = False
    if python and (yield from source.literal(quote)):
        if not (yield from source.literal(quote)):
            return
        thrice = True
    while True:
        parts.append((yield from source.run(IN_STRING[quote])))
        following = yield from source.peek()
        if following == "\\" and raw:
            if not (yield from source.fill(2)):
                raise Mismatch
            parts.append(source.take(2))
        elif following == "\\":
            source.take(1)
            parts.append((yield from _escape(source, _PYTHON_ESCAPES if python else _ESCAPES)))
        elif not following:
            raise Mismatch
        elif thrice and not (yield from source.literal(quote * 3)):
            parts.append(source.take(1))
        else:
            if not thrice:
                source.take(1)
            return


def _escape(source: Source, known: dict[str, str]) -> Wait[str]:
    """What a backslash and the following mean; the backslash itself stays where they mean nothing."""
    if not (yield from source.fill(1)):
        raise Mismatch
    letter = source.take(1)
    digits = _HEX_DIGITS.get(letter, 0)
    if digits and (letter == "u" or known is _PYTHON_ESCAPES):
        if not (yield from source.fill(digits)):
            raise Mismatch
        text = source.take(digits)
        try:
            return chr(int(text, 16))
        except (ValueError, OverflowError):
            raise Mismatch from None
    return known.get(letter, "\\" + letter)


def _joined_pair(match: re.Match[str]) -> str:
    high, low = match.groups()
    return chr(0x10000 + ((ord(high) - 0xD800) << 10) + (ord(low) - 0xDC00))


def of_text(text: str, *, python: bool = False) -> Any:
    """The value that `text` is, white space around it aside.

    Raises:
        Mismatch: If it is none.
    """
    source = Source()
    source.push(text)
    source.end()
    reading = _whole(source, python)
    try:
        next(reading)
    except StopIteration as done:
        return done.value
    raise Mismatch


def _whole(source: Source, python: bool) -> Wait[Any]:
    found = yield from value(source, python=python)
    yield from source.space()
    if (yield from source.peek()):
        raise Mismatch
    return found
