"""How long one result may be: what is too long keeps its head and its tail, in whole lines where it has some. Pure."""

from typing import Final

SLACK: Final = 1_024
"""Bytes that a result may have beyond its limit: tools keep to it themselves, and say something besides."""
LEFT_OUT: Final = (
    "\n[… {size} bytes are missing here …]\n{tail}\n[{lines} lines are left out in the middle, because one result may have "
    "{limit} bytes. To see them, ask for less at once: a narrower path or pattern, or fewer lines.]"
)
"""Its mark is the one by which the halves of a secret are found that a cut went through."""


def shortened(text: str, limit: int) -> str:
    """A text with its middle left out, and the size of that told, where it is longer than a result may be.

    Args:
        text: The result of a tool.
        limit: Bytes in UTF-8.
    """
    encoded = text.encode("utf-8", "surrogatepass")
    if len(encoded) <= limit + SLACK:
        return text
    half = max(limit, 2) // 2
    head = _decoded(encoded[:half])
    tail = _decoded(encoded[-half:])
    # A line that the cut goes through goes with the middle, unless it is all that there is.
    head = head[: head.rfind("\n") + 1] or head
    tail = tail[tail.find("\n") + 1 :] or tail
    middle = text[len(head) : len(text) - len(tail)]
    size = len(middle.encode("utf-8", "surrogatepass"))
    lines = middle.count("\n") + (not middle.endswith("\n"))
    return head.removesuffix("\n") + LEFT_OUT.format(lines=lines, size=size, tail=tail, limit=limit)


def _decoded(part: bytes) -> str:
    """What is whole in a piece of a text; half a character at either end is none of it."""
    start = next((at for at, byte in enumerate(part[:4]) if byte & 0xC0 != 0x80), 0)
    for end in range(len(part), max(len(part) - 4, start), -1):
        try:
            return part[start:end].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            continue
    return ""
