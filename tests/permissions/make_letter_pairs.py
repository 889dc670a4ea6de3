"""Makes `server/outrider/permissions/secrets/letter_pairs.py` anew: how seldom one letter follows another in what people write.

    python tests/permissions/make_letter_pairs.py FOLDER...

The folders hold source code and prose of any projects. Nothing of their texts is kept but how often two letters stand side by side in the different
words that are in them.
"""

import math
import re
import string
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

TARGET = Path(__file__).parents[2] / "server" / "outrider" / "permissions" / "letter_pairs.py"
CLASSES = string.ascii_lowercase + string.ascii_uppercase + "0_"
"""Each letter by itself, all digits as one, all signs as one."""
DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
"""Stand for 0 to 63."""
SUFFIXES = frozenset({".py", ".go", ".md", ".ts", ".js", ".rs", ".txt", ".lua", ".rst"})
MOST_BYTES = 300_000
WORD = re.compile(r"[A-Za-z0-9_.\-/+=~!@#%^&*]{4,80}")


def main() -> None:
    """Write the table."""
    words: set[str] = set()
    for folder in sys.argv[1:]:
        for path in Path(folder).rglob("*"):
            if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size < MOST_BYTES:
                words.update(WORD.findall(path.read_text("utf-8", "replace")))
    # What is mostly digits is a number, a hash or a key, which is not what this is about.
    words = {word for word in words if sum(map(str.isdigit, word)) * 4 <= len(word) + 4}
    pairs = Counter((_class(a), _class(b)) for word in words for a, b in pairwise(word))
    lines = ["".join(DIGITS[_cost(pairs, a, b)] for b in CLASSES) for a in CLASSES]
    TARGET.write_text(
        '"""How seldom one letter follows another in the words of programs and of prose. Data only.\n\n'
        f"Counted in {len(words)} different words by `tests/permissions/make_letter_pairs.py`, which makes this file anew.\n"
        '"""\n\n'
        "from typing import Final\n\n"
        f'CLASSES: Final = "{CLASSES}"\n'
        '"""Each letter by itself, all digits as one, all signs as one."""\n'
        f'DIGITS: Final = "{DIGITS}"\n'
        '"""Stand for 0 to 63 quarters of a bit."""\n'
        "PAIRS: Final = (\n" + "\n".join(f'    "{line}"' for line in lines) + "\n)\n"
        '"""One row for each class that may come first, one digit in it for each that may follow: the information in that, in quarters of a bit."""\n',
        "utf-8",
    )


def _class(sign: str) -> str:
    return "0" if sign.isdigit() else sign if sign.isalpha() else "_"


def _cost(pairs: Counter[tuple[str, str]], a: str, b: str) -> int:
    of_a = sum(pairs[a, other] for other in CLASSES)
    return min(63, round(-4 * math.log2((pairs[a, b] + 0.5) / (of_a + len(CLASSES) / 2))))


if __name__ == "__main__":
    main()
