"""How language servers write down files and places."""

from pathlib import Path
from string import ascii_letters, digits
from typing import Any, Final, TypeGuard, cast
from urllib.parse import unquote, urlsplit

from outrider.ports.editor import Encoding
from outrider.ports.text import Place

_CODECS: Final[dict[Encoding, tuple[str, int]]] = {
    "utf-8": ("utf-8", 1),
    "utf-16": ("utf-16-le", 2),
    "utf-32": ("utf-32-le", 4),
}
"""For each encoding the codec, and the bytes of one unit."""
_PLAIN: Final = frozenset(f"{ascii_letters}{digits}_.-~/")
"""What stands for itself in a path of a URI."""
_NOT_WHOLE: Final = frozenset({"", "."})
"""Parts of a path that its spelling leaves out."""


def path_of(uri: str) -> Path | None:
    """The path of a `file:` URI in any spelling; None for anything else."""
    if uri.startswith("file:///") and not any(sign in uri for sign in "%?#\0"):
        return Path(uri[len("file://") :])
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc.lower() not in {"", "localhost"}:
        return None
    path = unquote(uri[len("file:") :].removeprefix(f"//{parts.netloc}"), errors="surrogateescape")
    return Path(path) if path.startswith("/") and "\0" not in path else None


def spelled(uri: str) -> str | None:
    """The URI of a file in our spelling; None for what is no file."""
    given = uri[len("file://") :]
    if (
        uri.startswith("file:///")
        and _PLAIN.issuperset(given)
        and _NOT_WHOLE.isdisjoint(given.split("/")[1:])
    ):
        return uri  # as nearly all are, and an answer names hundreds
    path = path_of(uri)
    return None if path is None else path.as_uri()


def units(line: str, column: int, encoding: Encoding) -> int:
    """How an encoding counts the characters before a column of a line."""
    if encoding == "utf-32" or line.isascii():
        return min(column, len(line))
    codec, size = _CODECS[encoding]
    return len(line[:column].encode(codec, "surrogatepass")) // size


def column(line: str, character: int, encoding: Encoding) -> int:
    """The column that an encoding calls `character`; beyond the line it is its end, in a character its beginning."""
    if encoding == "utf-32" or line.isascii():
        return min(character, len(line))
    codec, size = _CODECS[encoding]
    return len(line.encode(codec, "surrogatepass")[: character * size].decode(codec, "ignore"))


def lines_of(text: str, most: int = -1) -> list[str]:
    r"""The lines of a text, without their ends. Only `\r\n`, `\n` and `\r` end one (LSP 3.17, "Text Documents").

    Args:
        text: The text.
        most: How many are wanted; one more is all the rest. Without it they are all.
    """
    return (text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text).split("\n", most)


class Text:
    """A text and where its lines begin."""

    def __init__(self, text: str, most: int = -1) -> None:
        """Split a text into lines; `most` says how many of them are asked for, where that is known."""
        self.text, self._lines = text, lines_of(text, most)
        self._reached = 0, 0
        """The line that was asked for last, and where it begins."""

    def line(self, number: int) -> str:
        """A line without its end; empty where there is none."""
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def offset(self, place: Place, encoding: Encoding) -> int:
        """The offset of a place; beyond the last line it is the end (LSP 3.17, "Position").

        Who asks for several does so in their order: it goes on from the line of the one before.
        """
        if place.line >= len(self._lines):
            return len(self.text)
        line, at = self._reached if self._reached[0] <= place.line else (0, 0)
        passed = self._lines[line : place.line]
        if "\r" not in self.text:
            at += sum(map(len, passed)) + len(passed)
        else:
            for one in passed:
                at += len(one)
                at += 2 if self.text.startswith("\r\n", at) else 1
        self._reached = place.line, at
        return at + column(self._lines[place.line], place.character, encoding)


def place_of(value: Any) -> Place | None:
    """A position as it stands on the wire; None where it has not the shape."""
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    line, character = given.get("line"), given.get("character")
    return Place(line, character) if _is_number(line) and _is_number(character) else None


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
