"""A part of a file that is too big to be read as a whole: some of its lines, without the rest in memory."""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from outrider.workspace.documents import split_lines
from outrider.workspace.encoding import NoText, apart, encoding_of, not_text


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
