"""Tells what was drawn at random, such as a key, from what somebody wrote, such as a name in a program. Pure.

Measured is the information in a text by how often its letters follow each other in words (`letter_pairs.py`), over what it would have if each were
drawn at random from its alphabet (C. E. Shannon, "A Mathematical Theory of Communication", 1948, sections 2 and 7). That is positive for what was
drawn at random, about two bits a letter, and negative for words, about one.
"""

import math
from collections.abc import Sequence
from functools import cache
from itertools import accumulate, pairwise
from typing import Final

from outrider.permissions.secrets.letter_pairs import CLASSES, DIGITS, PAIRS

LEAST_MEAN: Final = 0.8
"""Bits a letter from which on a text counts as drawn at random."""
LEAST: Final = 8.0
"""Bits of the whole text."""
_LONGEST: Final = 256
"""Letters of a text that are looked at."""
_SIGNS: Final = 8
"""Signs that may stand in a password, as a rule."""
_HEX: Final = (frozenset("0123456789abcdef"), frozenset("0123456789ABCDEF"))
_COUNT: Final = len(CLASSES)


@cache
def _tables() -> tuple[bytes, list[list[float]]]:
    """The class of each byte, and by a class the cost of each that may follow, in bits. What is not ASCII is a sign."""
    digit, sign = CLASSES.index("0"), CLASSES.index("_")
    of_byte = {code: CLASSES.find(chr(code)) for code in range(128) if chr(code).isalpha()}
    of_byte |= {ord(one): digit for one in "0123456789"}
    within = {digit: math.log2(10), sign: math.log2(_SIGNS)}
    bits = [DIGITS.index(one) / 4 for one in PAIRS]
    rows = [
        [bits[first * _COUNT + second] + within.get(second, 0.0) for second in range(_COUNT)]
        for first in range(_COUNT)
    ]
    return bytes(of_byte.get(code, sign) for code in range(256)), rows


def _costs(text: str) -> list[float]:
    """The information in each letter after the first, in bits."""
    of_byte, rows = _tables()
    classes = text.encode("ascii", "replace").translate(of_byte)
    return [rows[first][second] for first, second in pairwise(classes)]


def costs(text: str) -> Sequence[float]:
    """The information in each beginning of a text, in bits: the first is 0. A stretch has the difference of two."""
    return list(accumulate(_costs(text), initial=0.0))


def surplus(value: str) -> float:
    """Bits a letter that a text has over what its alphabet gives it at random."""
    value = value[:_LONGEST]
    pairs = len(value) - 1
    return (sum(_costs(value)) - pairs * math.log2(_alphabet(value))) / pairs if pairs > 0 else 0.0


def is_random(value: str) -> bool:
    """Whether a text was drawn at random. A number never counts."""
    pairs = min(len(value), _LONGEST) - 1
    mean = surplus(value)
    return mean >= LEAST_MEAN and mean * pairs >= LEAST and any(map(str.isalpha, value))


def _alphabet(value: str) -> int:
    """How many letters there are of the kinds that are in a text."""
    letters = set(value)
    if any(letters <= digits for digits in _HEX):
        return 16
    size = 26 * any(map(str.islower, letters)) + 26 * any(map(str.isupper, letters))
    size += 10 * any(map(str.isdigit, letters)) + _SIGNS * any(not sign.isalnum() for sign in letters)
    return max(2, size)
