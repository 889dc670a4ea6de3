"""Server-sent events: bytes in, the data of whole events out; and lines, for the one dialect that sends those.

Knows nothing of what the data mean. It must never block, and never give other events because the bytes came
in other pieces. Own code instead of httpx-sse, which is as fast but gives one event at a time of a whole
response: it drops a last event that no empty line ended, has no bound for an event without end, and does not
say which events arrived together.

Source: WHATWG HTML, section 9.2.6 "Interpreting an event stream".
"""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class SseSplitter:
    """Splits one stream into the data of its events; the other fields and comments are left out."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._started = False
        self._after_carriage_return = False

    @property
    def pending(self) -> int:
        """Bytes of the event that is not complete yet."""
        return len(self._rest)

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes.

        Returns:
            The data of each event they complete; lines of one event are joined by a line feed.
        """
        if self._after_carriage_return and chunk:
            self._after_carriage_return = False
            chunk = chunk.removeprefix(b"\n")
        if b"\r" in chunk:
            self._after_carriage_return = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        rest = self._rest
        seen = max(len(rest) - 1, 0)
        rest += chunk
        if not self._started:
            if len(rest) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(rest):
                return []
            self._started = True
            if rest.startswith(_BYTE_ORDER_MARK):
                del rest[: len(_BYTE_ORDER_MARK)]
                seen = 0
        end = rest.rfind(b"\n\n", seen)
        if end < 0:
            return []
        whole = bytes(rest[:end])
        del rest[: end + 2]
        payloads: list[bytes] = []
        for event in whole.split(b"\n\n"):
            if event.startswith(b"data: ") and b"\n" not in event:
                payloads.append(event[6:])
            else:
                payloads += _data_of(event)
        return payloads

    def finish(self) -> list[bytes]:
        """Give the data of a last event that no empty line ended; some servers leave it out."""
        event = bytes(self._rest)
        self._rest.clear()
        return _data_of(event)


def _data_of(event: bytes) -> list[bytes]:
    lines: list[bytes] = []
    for line in event.split(b"\n"):
        if line == b"data":
            lines.append(b"")
        elif line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"error:"):
            # No field of the standard: llama.cpp ends a stream with it that broke.
            lines.append(b'{"error":%s}' % line[6:])
    return [b"\n".join(lines)] if lines else []


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
        return [line for line in map(bytes.strip, whole.split(b"\n")) if line]

    def finish(self) -> list[bytes]:
        """Give a last line that nothing ended."""
        line = bytes(self._rest).strip()
        self._rest.clear()
        return [line] if line else []
