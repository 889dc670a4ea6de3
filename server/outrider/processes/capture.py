"""Keeps the head and the tail of an output that may be of any size, in bounded memory."""

import re

_BROKEN_END = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")
_BROKEN_START = re.compile(rb"\A[\x80-\xbf]{1,3}")


class Capture:
    """An output as it comes: the first half of `limit` bytes and the last half."""

    def __init__(self, limit: int) -> None:
        self._head_limit = (limit + 1) // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cut rarely: each cut moves what stays.
        if len(self._tail) > 2 * self._tail_limit + 65536:
            self._cut()

    @property
    def truncated(self) -> bool:
        """Whether something is missing."""
        return self._total > self._head_limit + self._tail_limit

    def text(self) -> str:
        """What was kept, decoded; what is missing is marked with its size."""
        self._cut()
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        # A character that the cut went through counts as missing, instead of showing as damage.
        head = _without_broken_end(bytes(self._head))
        tail = _BROKEN_START.sub(b"", bytes(self._tail))
        missing = self._total - len(head) - len(tail)
        return f"{head.decode('utf-8', 'replace')}\n[… {missing} bytes are missing here …]\n{tail.decode('utf-8', 'replace')}"

    def _cut(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]


def _without_broken_end(head: bytes) -> bytes:
    end = _BROKEN_END.search(head)
    if end is None:
        return head
    try:
        end.group().decode()
    except UnicodeDecodeError:
        return head[: end.start()]
    return head
