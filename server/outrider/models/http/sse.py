"""Server-sent events: bytes in, the data of whole events out; and lines, for the one dialect that sends those.

Knows nothing of what the data mean. It must never block, and never give other events because the bytes came
in other pieces. Own code instead of httpx-sse, which is as fast but gives one event at a time of a whole
response: it drops a last event that no empty line ended, has no bound for an event without end, and does not
say which events arrived together.

Source: WHATWG HTML, section 9.2.6 "Interpreting an event stream".
"""

import re

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NAME = re.compile(rb"[\w.-]+")
_SIGNS_OF_LIFE = frozenset({b"ping", b"keepalive", b"keep-alive", b"heartbeat"})
"""Events that say nothing, whatever their data."""
_OTHER_FIELDS = (b":", b"event:", b"id:", b"retry:")
_OF_JSON = re.compile(rb'["\\{}]')
_BETWEEN_JSON = b" \t\r\n,[]"


class SseSplitter:
    """Splits one stream into the data of its events; the other fields and comments are left out.

    The name of an event becomes the `type` of its data where that has none. A stream of bare JSON, which no event
    can begin with, is split into its objects.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._bare: JsonSplitter | None = None
        self._started = False
        self._after_carriage_return = False

    @property
    def pending(self) -> int:
        """Bytes of the event that is not complete yet."""
        return self._bare.pending if self._bare else len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes.

        Returns:
            The data of each event they complete; lines of one event are joined by a line feed.
        """
        if self._bare:
            return self._bare.feed(chunk)
        if self._after_carriage_return and chunk:
            self._after_carriage_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_carriage_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        rest = self._rest
        if self._started and not rest and _is_one_event(chunk):
            return [chunk[6:-2]]
        seen = max(len(rest) - 1, 0)
        rest += chunk
        if not self._started:
            if len(rest) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(rest):
                return []
            if rest.startswith(_BYTE_ORDER_MARK):
                del rest[: len(_BYTE_ORDER_MARK)]
                seen = 0
            if not (begun := rest.lstrip()):
                return []
            self._started = True
            if begun.startswith((b"{", b"[")):
                self._bare = JsonSplitter()
                return self._bare.feed(bytes(begun))
        end = rest.rfind(b"\n\n", seen)
        if end < 0:
            return []
        whole = bytes(rest[:end])
        del rest[: end + 2]
        payloads: list[bytes] = []
        for event in whole.split(b"\n\n"):
            if event.startswith(b"data: ") and b"\n" not in event:
                payloads.append(event[6:])
            elif not event.startswith(b":") or b"\n" in event:  # not a comment alone
                payloads += _data_of(event)
        return payloads

    def finish(self) -> list[bytes]:
        """Give the data of a last event that no empty line ended; some servers leave it out."""
        if self._bare:
            return self._bare.finish()
        event = bytes(self._rest)
        self._rest.clear()
        return _data_of(event)


def _is_one_event(chunk: bytes) -> bool:
    """Whether these bytes are one whole event with one line of data, as most servers send each token."""
    return chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") and chunk.count(b"\n") == 2


def _data_of(event: bytes) -> list[bytes]:
    if event.lstrip()[:1] == b"{":
        return [event]  # an error that a server or a proxy put into the stream as it was
    found: list[bytes] = []
    name, lines = b"", list[bytes]()
    for line in event.split(b"\n"):
        if line == b"data":
            lines.append(b"")
        elif line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"event:"):
            if name and lines:
                # Servers that forget the empty line between events.
                found += _named(name, lines)
                lines = []
            name = line[6:].strip()
        elif line.startswith(b"error:"):
            # No field of the standard: llama.cpp ends a stream with it that broke.
            lines.append(b'{"error":%s}' % line[6:])
    return found + _named(name, lines)


def _named(name: bytes, lines: list[bytes]) -> list[bytes]:
    """The data of one event, with its name as their type; of two types in one object the latter counts."""
    if not lines or name in _SIGNS_OF_LIFE:
        return []
    data = b"\n".join(lines)
    inside = data.strip().removeprefix(b"{")
    if name == b"message" or not _NAME.fullmatch(name) or len(inside) == len(data.strip()):
        return [data]
    comma = b"" if inside.lstrip()[:1] == b"}" else b","
    return [b'{"type":"%s"%s%s' % (name, comma, inside)]


class JsonSplitter:
    """Splits a stream of JSON into its objects, whether they follow each other or are one list."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._seen = 0
        self._depth = 0
        self._in_text = False

    @property
    def pending(self) -> int:
        """Bytes of the object that is not complete yet."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; gives the objects they complete."""
        rest, found = self._rest, list[bytes]()
        rest += chunk
        begun, at = 0, self._seen
        while sign := _OF_JSON.search(rest, at):
            at = sign.end()
            if self._in_text:
                if sign[0] == b"\\":
                    at += 1
                elif sign[0] == b'"':
                    self._in_text = False
            elif sign[0] == b'"':
                self._in_text = True
            elif sign[0] == b"{":
                self._depth += 1
            elif sign[0] == b"}" and self._depth:
                self._depth -= 1
                if not self._depth:
                    found.append(bytes(rest[begun:at]).lstrip(_BETWEEN_JSON))
                    begun = at
        self._seen = max(at, len(rest)) - begun
        del rest[:begun]
        return found

    def finish(self) -> list[bytes]:
        """Give what is left, if that is more than the end of a list."""
        left = bytes(self._rest).strip(_BETWEEN_JSON)
        self._rest.clear()
        return [left] if left else []


class LineSplitter:
    """Splits one stream into its lines (NDJSON), with the same face as `SseSplitter`; empty lines are left out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    @property
    def pending(self) -> int:
        """Bytes of the line that is not complete yet."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes; gives the lines they complete."""
        end = chunk.rfind(b"\n")
        if end < 0:
            self._rest += chunk
            return []
        whole = bytes(self._rest) + chunk[:end]
        self._rest[:] = chunk[end + 1 :]
        return [line for line in map(_content_of, whole.split(b"\n")) if line]

    def finish(self) -> list[bytes]:
        """Give a last line that nothing ended."""
        line = _content_of(bytes(self._rest))
        self._rest.clear()
        return [line] if line else []


def _content_of(line: bytes) -> bytes:
    """What a line says; of a line of server-sent events, which a gateway may make of such a stream, that is its data."""
    line = line.strip()
    if line[:1] in (b"{", b"["):
        return line
    return b"" if line.startswith(_OTHER_FIELDS) else line.removeprefix(b"data:").lstrip()
