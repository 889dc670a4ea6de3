"""The lines of a text, and how places and offsets in it belong together.

Imports nothing that takes time: it is there before `initialize` is answered.
"""

import re
from functools import cached_property
from itertools import accumulate
from typing import Literal

from outrider.ports.text import Place

Encoding = Literal["utf-8", "utf-16", "utf-32"]

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")
_OTHER_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_ASTRAL = re.compile("[\U00010000-\U0010ffff]")


def split_lines(text: str) -> list[str]:
    r"""The lines of a text with their terminators; they join to the text again.

    Only `\r\n`, `\n` and `\r` end a line (LSP 3.17, "Text Documents"). No line follows a final terminator.
    """
    return text.splitlines(keepends=True) if _is_plain(text) else _LINE.findall(text)


def _is_plain(text: str) -> bool:
    # `str.splitlines` is much faster, and splits at these as well.
    return not any(mark in text for mark in _OTHER_ENDS)


class Lines:
    """The places of one text: where its lines begin, and how places and offsets belong together."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._has_returns = "\r" in text
        self._known = (0, 0)
        """Where a line begins, and its number."""

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0, *accumulate(map(len, split_lines(self._text)))]
        if not self._text.endswith(("\r", "\n")) and self._text:
            starts.pop()  # the end of the last line begins no other one
        return starts

    def offset_of(self, place: Place, encoding: Encoding) -> int:
        """The offset of a place; see `offset_of`."""
        if place.line >= len(self._starts):
            return len(self._text)
        start = self._starts[place.line]
        return start + index_in_line(self._content(place.line), place.character, encoding)

    def place_of(self, offset: int, encoding: Encoding) -> Place:
        """The place of an offset; see `place_of`."""
        text, offset = self._text, max(0, min(offset, len(self._text)))
        if self._has_returns and text[max(0, offset - 1) : offset + 1] == "\r\n":
            offset -= 1
        start = text.rfind("\n", 0, offset) + 1
        if self._has_returns:
            start = max(start, text.rfind("\r", 0, offset) + 1)
        return Place(self._number(start), _units(text[start:offset], encoding))

    def _number(self, start: int) -> int:
        """The number of the line that begins there. Line ends are counted: that is faster than to divide the text."""
        known, number = self._known if start >= self._known[0] else (0, 0)
        number += self._text.count("\n", known, start)
        if self._has_returns:
            number += self._text.count("\r", known, start) - self._text.count("\r\n", known, start)
        self._known = start, number
        return number

    def _content(self, line: int) -> str:
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._text)
        return without_end(self._text[self._starts[line] : end])


def offset_of(text: str, place: Place, encoding: Encoding) -> int:
    """The offset in `text` of a place.

    A character past the end of its line means the end of the line, before its terminator; a line past the last
    one means the end of the text; the middle of a character (half a surrogate pair) means its beginning
    (LSP 3.17, "Position").
    """
    return Lines(text).offset_of(place, encoding)


def place_of(text: str, offset: int, encoding: Encoding) -> Place:
    r"""The place of an offset of `text`; between `\r` and `\n` it is the end of the line."""
    return Lines(text).place_of(offset, encoding)


def without_end(line: str) -> str:
    """A line without its terminator."""
    return line[:-2] if line.endswith("\r\n") else line[:-1] if line.endswith(("\n", "\r")) else line


def index_in_line(content: str, units: int, encoding: Encoding) -> int:
    """How many characters of `content` lie before the code unit `units`."""
    if encoding == "utf-32" or content.isascii():
        return min(units, len(content))
    if encoding == "utf-16":
        index = units
        for count, match in enumerate(_ASTRAL.finditer(content)):
            if match.start() + count >= units:
                break
            index -= 1
        return min(index, len(content))
    encoded = content.encode("utf-8", "surrogatepass")
    if units >= len(encoded):
        return len(content)
    while encoded[units] & 0xC0 == 0x80:  # a continuation byte
        units -= 1
    return len(encoded[:units].decode("utf-8", "surrogatepass"))


def _units(content: str, encoding: Encoding) -> int:
    if encoding == "utf-32" or content.isascii():
        return len(content)
    if encoding == "utf-16":
        return len(content.encode("utf-16-le", "surrogatepass")) // 2
    return len(content.encode("utf-8", "surrogatepass"))
