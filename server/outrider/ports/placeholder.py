"""What stands for a secret in a text, and what a text says that stands beside the exact one. Pure."""

import re
from collections.abc import Mapping
from itertools import pairwise

MARKER = "[secret {}]"
"""Stands for a secret; the same for the same secret. No shape of a secret fits it."""
PLACEHOLDER = re.compile(r"\[secret \d{1,9}(?:\.\d{1,5})?(?: in [A-Za-z0-9 ]{3,20})?\]")


def originals(shown: str, exact: str) -> Mapping[str, str] | None:
    """What each placeholder of a text stands for, by the text itself; None where the two do not fit.

    Args:
        shown: The text with placeholders.
        exact: The text without. A placeholder stands for the same within one line wherever it is.
    """
    if shown == exact:
        return {}
    found: dict[str, str] = {}
    lines, others = shown.split("\n"), exact.split("\n")
    if len(lines) != len(others):
        return None
    for line, other in zip(lines, others, strict=True):
        if line == other:
            continue
        match = _shape(line).fullmatch(other)
        if match is None:
            return None
        for placeholder, group in zip(dict.fromkeys(PLACEHOLDER.findall(line)), match.groups(), strict=True):
            if found.setdefault(placeholder, group) != group:
                return None
    return found


def _shape(line: str) -> re.Pattern[str]:
    """What a line with placeholders may be."""
    numbers: dict[str, int] = {}
    ends = [0, *(end for match in PLACEHOLDER.finditer(line) for end in match.span()), len(line)]
    parts: list[str] = []
    for index, (start, end) in enumerate(pairwise(ends)):
        piece = line[start:end]
        if index % 2 == 0:
            parts.append(re.escape(piece))
        elif piece in numbers:
            parts.append(f"(?:\\{numbers[piece]})")
        else:
            numbers[piece] = len(numbers) + 1
            parts.append("(.+?)")
    return re.compile("".join(parts), re.DOTALL)
