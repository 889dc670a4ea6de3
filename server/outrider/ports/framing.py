"""The base protocol of LSP: headers, an empty line, a body (LSP 3.17, "Base Protocol").

Takes bytes in whatever pieces they come and never reads or writes itself. Nothing a client sends raises here:
what does not belong is reported and passed over.
"""

import re
from dataclasses import dataclass
from typing import Final

MOST_BODY: Final = 64 * 1024 * 1024
"""Bytes of the largest message that is taken."""
_MOST_LINE: Final = 64 * 1024
_KEPT_OF_LINE: Final = 64
_HEADER: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:")
_LENGTH_INSIDE: Final = re.compile(rb"(?<!-)content-length:\s*\d+\s*$", re.IGNORECASE)
_LONGEST_EXIT: Final = 200
"""Bytes of a message that says no more than `exit`."""
_BASE_HEADERS: Final = (b"content-length", b"content-type")


@dataclass(frozen=True, slots=True)
class FramingProblem:
    """Something that is no message."""

    text: str


def framed(body: bytes) -> bytes:
    """The body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """Cuts a stream of bytes into the bodies of messages."""

    def __init__(self, *, strict: bool = False) -> None:
        """Begin at the start of a stream.

        Args:
            strict: Whether anything but the two headers of the base protocol makes the stream `broken`. Else
                other headers are ignored, and noise is passed over up to the next `Content-Length`.
        """
        self.broken = False
        """Whether nothing more is read from this stream."""
        self._strict = strict
        self._buffer = bytearray()
        self._length: int | None = None
        self._in_body = False
        self._to_skip = 0

    def feed(self, data: bytes) -> list[bytes | FramingProblem]:
        """Take the next bytes; give what is complete now."""
        self._buffer += data
        found: list[bytes | FramingProblem] = []
        while not self.broken and self._step(found):
            pass
        return found

    def at_end(self) -> FramingProblem | None:
        """What is wrong with how the stream ended: a message that was cut off."""
        if self.broken or not (self._buffer or self._in_body or self._to_skip):
            return None
        return FramingProblem(f"the stream ended inside a message, {len(self._buffer)} bytes into it")

    def _step(self, found: list[bytes | FramingProblem]) -> bool:
        # True while there may be more to find in the buffer.
        if self._to_skip:
            skipped = min(self._to_skip, len(self._buffer))
            del self._buffer[:skipped]
            self._to_skip -= skipped
            return not self._to_skip
        if self._in_body:
            length = self._length or 0
            if len(self._buffer) < length:
                return False
            found.append(bytes(self._buffer[:length]))
            del self._buffer[:length]
            self._in_body, self._length = False, None
            return True
        end = self._buffer.find(b"\n")
        if end < 0:
            if len(self._buffer) > _MOST_LINE:
                self._reject(found, bytes(self._buffer))
                del self._buffer[:-_KEPT_OF_LINE]
            return False
        line = bytes(self._buffer[:end]).rstrip(b"\r")
        del self._buffer[: end + 1]
        self._header(line, found)
        return True

    def _header(self, line: bytes, found: list[bytes | FramingProblem]) -> None:
        if not line:
            if self._length is not None:
                self._begin_body(found)
            elif self._strict:
                self._reject(found, line)
            return
        name, _, value = line.partition(b":")
        name = name.strip().lower()
        if name == b"content-length":
            self._content_length(value.strip(), line, found)
        elif not self._strict and (inside := _LENGTH_INSIDE.search(line)):
            self._reject(found, line[: inside.start()])
            self._header(inside[0], found)
        elif not _HEADER.match(line) or (self._strict and name not in _BASE_HEADERS):
            self._reject(found, line)

    def _content_length(self, value: bytes, line: bytes, found: list[bytes | FramingProblem]) -> None:
        if value.isdigit() and len(value) <= 18:
            self._length = int(value)
        else:
            self._length = None
            self._reject(found, line)

    def _begin_body(self, found: list[bytes | FramingProblem]) -> None:
        if (length := self._length or 0) <= MOST_BODY:
            self._in_body = True
            return
        found.append(FramingProblem(f"a message of {length} bytes was ignored: the limit is {MOST_BODY}"))
        self._to_skip, self._length = length, None
        self.broken = self._strict

    def _reject(self, found: list[bytes | FramingProblem], what: bytes) -> None:
        shown = ascii(what[:80].decode("utf-8", "replace"))
        found.append(FramingProblem(f"expected a header of the base protocol, got {shown}"))
        self.broken = self._strict


def may_be_exit(body: bytes) -> bool:
    """Whether a message may be the notification `exit`."""
    return len(body) < _LONGEST_EXIT and b'"exit"' in body
