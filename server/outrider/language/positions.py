"""How language servers write down files and places."""

from functools import cached_property
from pathlib import Path
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


def path_of(uri: str) -> Path | None:
    """The path of a `file:` URI in any spelling; None for anything else."""
    if uri.startswith("file:///") and not any(sign in uri for sign in "%?#\0"):
        return Path(uri[len("file://") :])  # as nearly all are, and an answer names hundreds
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


def lines_of(text: str) -> list[str]:
    r"""The lines of a text, without their ends. Only `\r\n`, `\n` and `\r` end one (LSP 3.17, "Text Documents")."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class Text:
    """A text and where its lines begin."""

    def __init__(self, text: str) -> None:
        """Split a text into lines."""
        self.text, self._lines = text, lines_of(text)

    @cached_property
    def _starts(self) -> list[int]:
        """Where the lines begin: most texts are only asked for lines."""
        starts, at = [0], 0
        for line in self._lines[:-1]:
            at += len(line)
            at += 2 if self.text.startswith("\r\n", at) else 1
            starts.append(at)
        return starts

    def line(self, number: int) -> str:
        """A line without its end; empty where there is none."""
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    @property
    def count(self) -> int:
        """How many lines there are."""
        return len(self._lines)

    def offset(self, place: Place, encoding: Encoding) -> int:
        """The offset of a place; beyond the last line it is the end (LSP 3.17, "Position")."""
        if place.line >= len(self._starts):
            return len(self.text)
        return self._starts[place.line] + column(self._lines[place.line], place.character, encoding)


def place_of(value: Any) -> Place | None:
    """A position as it stands on the wire; None where it has not the shape."""
    if not isinstance(value, dict):
        return None
    given = cast("dict[str, Any]", value)
    line, character = given.get("line"), given.get("character")
    return Place(line, character) if _is_number(line) and _is_number(character) else None


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
