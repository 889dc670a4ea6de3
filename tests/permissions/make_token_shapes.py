"""Makes `token_shapes.txt` anew: what the secrets look like that gitleaks knows, to measure how many are found.

    python tests/permissions/make_token_shapes.py gitleaks.toml "2026-07-22, commit b58d3f1"

It shares nothing with `make_token_table.py`, and leaves no rule out: also secrets are measured that the table lacks. Taken are facts, of which letters a
secret is and how many they are: a line has a rule, whether its secret is known by its `sign` or only by a `word` before it, and its shape, in literal
letters and classes with a number.
"""

import string
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from re import _parser as parser  # pyright: ignore

TARGET = Path(__file__).with_name("token_shapes.txt")
ALNUM = frozenset(string.ascii_letters + string.digits)
VISIBLE = frozenset(map(chr, range(33, 127)))
MOST_WAYS = 12
"""Ways through one rule that are kept, spread over all of them."""
MOST_LETTERS = 300


def main() -> None:
    """Write the shapes."""
    source, version = Path(sys.argv[1]), sys.argv[2]
    lines = [
        f"# Facts from gitleaks (MIT licence, https://github.com/gitleaks/gitleaks, config/gitleaks.toml, {version})"
    ]
    for rule in tomllib.loads(source.read_text("utf-8"))["rules"]:
        if "regex" in rule:
            kind = "word" if r"[\w.-]{0,50}?" in rule["regex"] else "sign"
            ways = list(dict.fromkeys("".join(way) for way in _ways(_secret(rule["regex"]))))
            lines += (f"{rule['id']} {kind} {way}" for way in ways[:: -(-len(ways) // MOST_WAYS)] if way)
    TARGET.write_text("\n".join(lines) + "\n", "utf-8")


def _secret(regex: str):
    """The part of a rule that is the secret: its first group, or all of it."""
    for ours, go in (
        ("(?:", "(?-i:"),
        ("(?:", "(?i:"),
        ("", "(?i)"),
        ("A-Za-z0-9", "[:alnum:]"),
        ("$", r"\z"),
        ("`", r"\x60"),
    ):
        regex = regex.replace(go, ours)
    tree = parser.parse(regex)
    for name, value in tree:
        if str(name) == "SUBPATTERN" and value[0] == 1:
            return value[3]
    return tree


def _ways(tree) -> Iterator[list[str]]:
    if not tree:
        yield []
        return
    (name, value), rest = tree[0], tree[1:]
    match str(name):
        case "LITERAL":
            heads = [[_literal(chr(value))]]
        case "IN" | "ANY" | "NOT_LITERAL":
            heads = [[_class(_letters(name, value)) + "{1}"]]
        case "MAX_REPEAT" | "MIN_REPEAT":
            fewest, most, inner = value
            most = min(int(most), max(fewest + 8, 8), MOST_LETTERS)
            if len(inner) == 1 and str(inner[0][0]) in {"IN", "ANY", "NOT_LITERAL"}:
                heads = [[f"{_class(_letters(*inner[0]))}{{{min(fewest, MOST_LETTERS)},{most}}}"]]
            else:
                heads = [way * max(fewest, 1) for way in _ways(list(inner))] + ([[]] if not fewest else [])
        case "SUBPATTERN":
            heads = list(_ways(list(value[3])))
        case "BRANCH":
            heads = [way for branch in value[1] for way in _ways(list(branch))]
        case _:  # places: the borders of words and lines
            heads = [[]]
    tails = list(_ways(list(rest)))[:200]
    yield from ([*head, *tail] for head in heads[:200] for tail in tails)


def _letters(name, value) -> frozenset[str]:
    if str(name) != "IN":
        return ALNUM
    found: set[str] = set()
    for kind, one in value:
        match str(kind):
            case "LITERAL":
                found.add(chr(one))
            case "RANGE":
                found.update(map(chr, range(one[0], one[1] + 1)))
            case "CATEGORY":
                found.update(string.digits if str(one).endswith("CATEGORY_DIGIT") else ALNUM)
            case _:  # all but some
                return ALNUM
    return frozenset(found & VISIBLE) or ALNUM


def _class(letters: frozenset[str]) -> str:
    text = "".join(sorted(letters)).replace("]", "").replace("[", "")
    for all_of in (string.digits, string.ascii_uppercase, string.ascii_lowercase, "ABCDEF", "abcdef"):
        text = text.replace(all_of, f"{all_of[0]}-{all_of[-1]}")
    return f"[{text}]"


def _literal(letter: str) -> str:
    return (
        letter
        if letter in VISIBLE and letter not in "[]{}"
        else f"[{letter}]{{1}}"
        if letter in "{}"
        else "_"
    )


if __name__ == "__main__":
    main()
