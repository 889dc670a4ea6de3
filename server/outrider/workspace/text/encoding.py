"""How a text lies in the bytes of a file: UTF-8, or UTF-16 with a byte order mark.

Both ways are exact: what is read and written back unaltered is the same to the byte. The mark stays in the text,
as its first character.
"""

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, BOM_UTF32_LE, getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from outrider.ports.text import TextEncoding
from outrider.workspace.text.lines import split_lines

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
        return NoText("binary", "is binary: it contains NUL characters")
    wanted = "UTF-8, nor UTF-16 with a byte order mark" if encoding == "utf-8" else _NAMES[encoding]
    return NoText("encoding", f"is not {wanted} (line {line}), so it cannot be read")


def encode(text: str, encoding: TextEncoding) -> bytes:
    """The bytes of a text. UTF-16 never goes without its mark, which is what it is known by.

    Raises:
        UnicodeEncodeError: The text holds half a character.
    """
    if encoding != "utf-8" and not text.startswith(BOM):
        text = BOM + text
    return text.encode(encoding)


@dataclass(slots=True)
class Part:
    """Lines of a text, without their ends."""

    lines: list[str] = field(default_factory=list[str])
    """Each at most as long as was wanted."""
    cut: dict[int, int] = field(default_factory=dict[int, int])
    """How many characters are missing at the end of a line, by its index in `lines`."""
    more: bool = False
    """Whether the text goes on after them."""
    seen: int = 0
    """How many lines were gone through, those before the part among them."""


def part_of(chunks: Iterable[bytes], first: int, last: int | None, width: int, limit: int) -> Part | NoText:
    """Some lines of a content.

    Args:
        chunks: The content, piece by piece; no more of it is taken than is needed.
        first: The first line wanted, from 1.
        last: The last one; None for all that fit.
        width: The most characters of a line.
        limit: The most bytes of all lines; one line is always given.
    """
    part, size, length, start = Part(), 0, 0, ""
    texts = _texts(chunks)
    for text in texts:
        if isinstance(text, NoText):
            return text
        for piece in split_lines(text):
            bare = piece.rstrip("\r\n")
            number = part.seen + 1
            if (last is not None and number > last) or (size > limit and part.lines):
                part.more = True
                return part
            if number >= first:
                start += bare[: max(0, width - len(start))]
            length += len(bare)
            if bare == piece:
                continue  # it goes on in the next text
            if number >= first:
                size += len(start.encode("utf-8", "replace")) + 8
                _add(part, start, length)
            part.seen, length, start = number, 0, ""
    if length and part.seen + 1 >= first and (last is None or part.seen < last):
        _add(part, start, length)
    part.seen += bool(length)
    return part


def _add(part: Part, start: str, length: int) -> None:
    if length > len(start):
        part.cut[len(part.lines)] = length - len(start)
    part.lines.append(start)


def _texts(chunks: Iterable[bytes]) -> Iterator[str | NoText]:
    """The text, piece by piece; none ends between a carriage return and what may be its line feed."""
    decoder, encoding, held, line, is_first = None, "utf-8", "", 1, True
    for chunk in chunks:
        if decoder is None:
            encoding = encoding_of(chunk)
            decoder = getincrementaldecoder(encoding)()
        try:
            text = held + decoder.decode(chunk)
        except UnicodeDecodeError:
            yield not_text(chunk, encoding, line)
            return
        if "\0" in text:
            yield not_text(chunk, encoding, 0)
            return
        held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        if is_first and text:
            text, is_first = apart(text)[1], False
        line += text.count("\n")
        yield text
    try:
        yield held + (decoder.decode(b"", True) if decoder else "")
    except UnicodeDecodeError:
        yield not_text(b"", encoding, line)
