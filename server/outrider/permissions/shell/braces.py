"""Braces that stand for several words, as they are mostly written; others are words that nobody knows."""

import re
from typing import Final

from outrider.permissions.shell.model import Word

BRACES: Final = re.compile(
    rb"(?P<before>[A-Za-z0-9_./-]*)\{(?:(?P<words>[A-Za-z0-9_./-]*(?:,[A-Za-z0-9_./-]*)+)|(?P<first>[1-9]?\d)\.\.(?P<last>[1-9]?\d))\}"
    rb"(?P<after>[A-Za-z0-9_./-]*)(?=[|&;()<> \t\n]|\Z)"
)
"""Such braces, with what stands right before and behind them (Bash Reference Manual, "Brace Expansion")."""


def spelled_out(braces: re.Match[bytes]) -> list[Word]:
    """The words that braces stand for; one that would be empty is none."""
    if braces["words"] is not None:
        inner = braces["words"].decode().split(",")
    else:
        first, last = int(braces["first"]), int(braces["last"])
        inner = [str(one) for one in range(first, last + 1) or range(first, last - 1, -1)]
    before, after = braces["before"].decode(), braces["after"].decode()
    texts = (f"{before}{one}{after}" for one in inner)
    return [Word(text, text) for text in texts if text]
