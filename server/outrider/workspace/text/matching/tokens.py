"""A line of any language as tokens, to tell what is written otherwise from what is something else."""

import re
from typing import Final

_QUOTES: Final = str.maketrans("‘’“”\u00a0", "''\"\" ")
_LOOKALIKES: Final = _QUOTES | str.maketrans("–—−", "---")
_LOOSE: Final = "()[]{},;:=<>"
"""Signs beside which white space says nothing. Beside others it may: `a -b`, `.x .y`, `rm a *`."""
_TOKEN: Final = re.compile(
    r"""\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|`(?:[^`\\]|\\.)*`?|\s+|[:=<>]+|[()\[\]{},;]|[^\s()\[\]{},;:=<>\"'`]+"""
)


def plain(line: str) -> str:
    """A line without what people do not see: runs of white space, shapes of quotation marks and dashes."""
    return " ".join(line.translate(_LOOKALIKES).split())


def tokens(line: str) -> list[str]:
    """The tokens of a line: strings to the letter, operators, brackets, words, and a blank where white space counts."""
    found = _TOKEN.findall(line.translate(_QUOTES).strip())
    around = zip(["(", *found], found, [*found[1:], ")"], strict=False)
    return [
        " " if token.isspace() else token
        for before, token, after in around
        if not token.isspace() or (before[-1] not in _LOOSE and after[0] not in _LOOSE)
    ]


def spelled(line: str) -> str:
    """A text that two lines share if their tokens are the same."""
    return "\0".join(tokens(line))


def is_in_word(text: str, at: int) -> bool:
    """Whether a place in a text is inside of a word."""
    return 0 < at < len(text) and _is_of_word(text[at - 1]) and _is_of_word(text[at])


def _is_of_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"
