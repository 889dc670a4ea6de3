"""Text of a model without its marks of Markdown, for messages, which editors show as they are."""

import re

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
_ITEM = re.compile(r"^(\s*)[-*+]\s+")
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`|\*\*(?=\S)(?P<bold>[^*\n]*[^*\s])\*\*|\[(?P<link>[^][\n]+)\]\([^)\s]{1,1000}\)"
)
"""What may stand in a link is bounded: in a long line of opening brackets each would else be looked through to its end."""


def unmarked(text: str) -> str:
    """The words of a text: fences, headings, bold, code and links lose their marks, and what stands in code stays.

    Args:
        text: Markdown, or what a model took for it.
    """
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if line.lstrip().startswith(fence):
                fence = ""
            else:
                lines.append(line)
        elif mark is not None:
            fence = mark[1]
        else:
            lines.append(_INLINE.sub(_inner, _ITEM.sub(r"\1• ", _HEADING.sub("", line, count=1), count=1)))
    return "\n".join(lines)


def _inner(found: re.Match[str]) -> str:
    return found["code"] or _INLINE.sub(_inner, found["bold"] or found["link"])
