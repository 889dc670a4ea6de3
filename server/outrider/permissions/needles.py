"""Looks for many texts in another one at once: what it costs hardly depends on how many there are. Pure."""

from collections.abc import Iterable

_PART = 4
"""Bytes of a part. What is twice as long, less one, has a whole part in it wherever it begins."""
_ONE_OF = 2 * _PART - 1


class Needles:
    """Texts that are looked for. A text in which one stands has one of its parts at a place that four divides."""

    def __init__(self) -> None:
        self._by_part: dict[int, list[str]] = {}
        self._parts: set[int] = set()
        self._short: list[str] = []

    def add(self, needle: str) -> None:
        """Look for a text from now on; it is added once."""
        content = _bytes(needle)
        if len(content) < _ONE_OF:
            self._short.append(needle)
            return
        # The end of a setting says more than its beginning, which is the name.
        for start in range(len(content) - _ONE_OF, len(content) - _PART + 1):
            (part,) = memoryview(content[start : start + _PART]).cast("I")
            self._by_part.setdefault(part, []).append(needle)
            self._parts.add(part)

    def within(self, text: str) -> list[str]:
        """Those that stand in a text, the longest first."""
        found = {needle for needle in self._likely(text) if needle in text}
        return sorted(found, key=lambda needle: (-len(needle), needle)) if found else []

    def _likely(self, text: str) -> Iterable[str]:
        yield from self._short
        if self._parts:
            content = _bytes(text)
            parts = set(memoryview(content)[: len(content) // _PART * _PART].cast("I"))
            for part in parts & self._parts:
                yield from self._by_part[part]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
