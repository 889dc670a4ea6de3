"""How a text lies in the bytes of a file: UTF-8, or UTF-16 with a byte order mark.

Both ways are exact: what is read and written back unaltered is the same to the byte. The mark stays in the text,
as its first character.
"""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_LE
from dataclasses import dataclass
from typing import Literal

from outrider.ports.text import TextEncoding

BOM = "\ufeff"
_NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16"}


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, and how it lay there."""

    text: str
    encoding: TextEncoding


def apart(text: str) -> tuple[str, str]:
    """The byte order mark of a text, empty where it has none, and the text that a reader knows."""
    rest = text.removeprefix(BOM)
    return text[: len(text) - len(rest)], rest


@dataclass(frozen=True, slots=True)
class NoText:
    """Why bytes are no text; `message` follows a name and a space."""

    kind: Literal["binary", "encoding"]
    message: str


def encoding_of(start: bytes) -> TextEncoding:
    """The encoding of a content that starts so; four bytes are enough."""
    if start.startswith(BOM_UTF16_LE) and not start.startswith(BOM_UTF32_LE):
        return "utf-16-le"
    return "utf-16-be" if start.startswith(BOM_UTF16_BE) else "utf-8"


def decode(content: bytes) -> Decoded | NoText:
    """The text of a whole content."""
    encoding = encoding_of(content)
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as problem:
        return not_text(content, encoding, content[: problem.start].decode(encoding).count("\n") + 1)
    return not_text(content, encoding, 0) if "\0" in text else Decoded(text, encoding)


def not_text(content: bytes, encoding: TextEncoding, line: int) -> NoText:
    """Why a content is not read.

    Args:
        content: The content, or the part of it where that came out.
        encoding: What it was taken for.
        line: The line where it is something else, from 1.
    """
    if (encoding == "utf-8" and b"\0" in content) or not line:
        return NoText("binary", "is binary: it holds NUL characters")
    wanted = "UTF-8, nor UTF-16 with a byte order mark" if encoding == "utf-8" else _NAMES[encoding]
    return NoText("encoding", f"is not {wanted} (line {line}), so it is not read")


def encode(text: str, encoding: TextEncoding) -> bytes:
    """The bytes of a text. UTF-16 never goes without its mark, which is what it is known by.

    Raises:
        UnicodeEncodeError: The text holds half a character.
    """
    if encoding != "utf-8" and not text.startswith(BOM):
        text = BOM + text
    return text.encode(encoding)
