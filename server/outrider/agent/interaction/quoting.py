"""Texts of others in our Markdown. Every line of theirs begins with `>`, so that no other line of the document can be theirs.

What a model, a tool or a repository says could else look like a heading of ours, an open item, or the mark.
"""

import re

from outrider.ports.text import visible

_BACKTICKS = re.compile("`+")


def quoted(text: str, most: int | None = None) -> list[str]:
    """A text as lines of a quotation, in which nothing hides.

    Args:
        text: The text.
        most: How many characters of it are shown at most; None: all.
    """
    cut = most is not None and len(text) > most
    # By lines: most of them are plain, which is seen at once. What else some editors take for a line end is spelled out.
    lines = [visible(line.rstrip("\r")) for line in (text[:most] if cut else text).strip("\r\n").split("\n")]
    return [f"> {line}".rstrip() for line in [*lines, *([_more(text, most)] if cut else [])]]


def fenced(text: str, language: str, most: int | None = None) -> list[str]:
    """A text as a block of code within a quotation."""
    fence = _fence(text)
    return [f"> {fence}{language}", *quoted(text, most), f"> {fence}"]


def code_block(text: str) -> str:
    """A text as a block of code, out of which it cannot get."""
    fence = _fence(text)
    return f"{fence}\n{text}\n{fence}"


def _fence(text: str) -> str:
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=0)
    return "`" * max(3, longest + 1)


def short(text: str, most: int) -> str:
    """A text within a line of ours."""
    beginning = text[: 8 * most]  # more of it is not looked at
    line = " ".join(visible(beginning).split())
    return line if len(line) <= most and beginning == text else f"{line[: most - 1]}…"


def code(text: str, most: int) -> str:
    """A name or a path within a line of ours, as code."""
    return f"`{short(text, most).replace('`', '´')}`"


def _more(text: str, most: int | None) -> str:
    return f"… {len(text) - (most or 0)} further characters"
