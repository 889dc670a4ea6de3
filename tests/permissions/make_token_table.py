"""Makes `server/outrider/permissions/secrets/token_table.py` anew from the rules of gitleaks.

    python tests/permissions/make_token_table.py gitleaks.toml "2026-07-22, commit b58d3f1"

What is taken are facts: which sign a service puts into its tokens, of which letters the rest is, and how long it is. The rules themselves are not
copied. A rule that has no sign of its own is left out: it knows a secret only by the words before it, which `secret_shapes.py` does too.
"""

import re
import string
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from re import _parser as parser  # pyright: ignore

TARGET = Path(__file__).parents[2] / "server" / "outrider" / "permissions" / "token_table.py"
DIGITS, LOWER, UPPER = string.digits, string.ascii_lowercase, string.ascii_uppercase
ALPHABETS = {
    "digit": DIGITS,
    "hex": DIGITS + "abcdefABCDEF",
    "lower": DIGITS + LOWER,
    "upper": DIGITS + UPPER,
    "alnum": DIGITS + LOWER + UPPER,
    "word": DIGITS + LOWER + UPPER + "_",
    "url": DIGITS + LOWER + UPPER + "_-",
    "base64": DIGITS + LOWER + UPPER + "+/=",
    "dotted": DIGITS + LOWER + UPPER + "_-.=~",
    "any": DIGITS + LOWER + UPPER + "_-.=~+/%@:",
}
LEFT_OUT = {
    "airtable-personnal-access-token": "its sign is the beginning of many names",
    "authress-service-client-access-key#ext_": "its sign is the beginning of many names",
    "authress-service-client-access-key#sc_": "its sign is the beginning of many names",
    "curl-auth-header": "known by the words around it",
    "curl-auth-user": "known by the words around it",
    "freemius-secret-key": "known by the words around it",
    "generic-api-key": "known by the words around it",
    "dropbox-long-lived-api-token": "its sign is ten times the letter A, as in much Base64",
    "gocardless-api-token": "its sign is the beginning of many names",
    "jwt": "JSON in Base64: its own row in tokens.py",
    "jwt-base64": "JSON in Base64, twice: its own row in tokens.py",
    "kubernetes-secret-yaml": "known by the words around it",
    "nuget-config-password": "known by the words around it",
    "lob-api-key": "its sign is the beginning of many names",
    "lob-pub-api-key": "its sign is the beginning of many names",
    "mailchimp-api-key": "its sign is the beginning of many names",
    "microsoft-teams-webhook": "an address: its own row in tokens.py",
    "private-key": "a block: secret_shapes.py",
    "sidekiq-sensitive-url": "a password in an address",
    "slack-webhook-url": "an address: its own row in tokens.py",
    "twitter-bearer-token": "its sign is the letter A many times, as in much Base64",
}  # fmt: skip
"""Rules that are not taken, or one of their signs, and why."""
FEW = 6
"""Letters one of which stands in a place of a sign: as many signs."""
KEYWORDS = re.compile(r".*\(\?:=\|>\|.*?\)\[\\x60'\"\\s=\]\{0,5\}(?=\()", re.DOTALL)
END = re.compile(
    r"\(\?:\[\\x60'\"\\s;\]\|\\\\\[nr\]\|\$(?:\|\\b)?\)\Z"
    r"|\(\?:\[\^[^\]]*\]\|\\z\)\Z|\(\?:\$\|\[[^\]]*\]\)\Z"
)
BEGIN = re.compile(r"\A\(\?:\^\|\[[^\]]*\]\)")
STRONG = 4
"""Letters of a sign after which any length is one; a shorter sign needs the exact length."""
MOST = 1000
"""Letters of a token that are looked at."""

Part = str | tuple[frozenset[str], int, int]
Sign = tuple[str, str, str, int]
"""A sign, the alphabet behind it, and alphabet and number of the letters before it."""
Row = tuple[str, str, int, int, str, int]


def main() -> None:
    """Write the table."""
    source, version = Path(sys.argv[1]), sys.argv[2]
    target = Path(sys.argv[3]) if len(sys.argv) > 3 else TARGET
    rows: dict[Sign, tuple[int, int, str]] = {}
    left: list[str] = []
    for rule in tomllib.loads(source.read_text("utf-8"))["rules"]:
        found = list(_rows(rule["id"], rule.get("regex", ""))) if rule["id"] not in LEFT_OUT else []
        for sign, rest, fewest, most, *lead in found:
            # Where the same letters follow, the shortest says enough.
            row = (sign, rest, *lead)
            known = rows.get(row, (fewest, most, rule["id"]))
            both = 0 if 0 in {most, known[1]} else max(most, known[1])
            rows[row] = min(fewest, known[0]), both, known[2]
        if not found:
            left.append(rule["id"])
    target.write_text(_module(version, rows), "utf-8")
    print(f"{len(rows)} rows; without a sign of their own, or left out: {', '.join(left)}")


def _module(version: str, rows: "dict[Sign, tuple[int, int, str]]") -> str:
    lines = [
        f"    {(sign, rest, fewest, most, *lead, rule)!r},".replace("'", '"')
        for (sign, rest, *lead), (fewest, most, rule) in sorted(rows.items())
    ]
    return (
        '"""Tokens of services: which sign is in them, of which letters the rest is, and how long it is. Data only.\n\n'
        f"Facts from the rules of gitleaks (MIT licence, https://github.com/gitleaks/gitleaks, config/gitleaks.toml, {version}),\n"
        'put together by `tests/permissions/make_token_table.py`, which makes this file anew.\n"""\n\n'
        "from typing import Final\n\n"
        "GITLEAKS: Final[tuple[tuple[str, str, int, int, str, int, str], ...]] = (\n"
        + "\n".join(lines)
        + "\n)  # fmt: skip\n"
        '"""Sign; alphabet, fewest and most letters behind it (0: any); alphabet and number of the letters before it; the rule."""\n'
    )


def _rows(rule: str, regex: str) -> Iterator[Row]:
    """The rows of a rule: none where its tokens have no sign."""
    keyword = KEYWORDS.match(regex)
    body = BEGIN.sub("", END.sub("", regex[keyword.end() :] if keyword else regex))
    folded = body.startswith("(?i)") or (keyword is not None and regex.startswith("(?i)"))
    # What RE2 writes in another way than `re`: flags in the middle, classes of POSIX, the end.
    body = body.replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[:alnum:]", "A-Za-z0-9").replace("\\z", "\\Z")
    body = body.replace("(?i)", "").replace("(?-i:", "(?:").replace("(?i:", "(?:")
    mixed = "(?i" in regex and not folded
    try:
        tree = parser.parse(body.removesuffix("|"))
    except re.error:
        return
    for parts in _flat(tree):
        row = _row(_joined(parts), folded or mixed, keyword is not None)
        if row and f"{rule}#{row[0]}" not in LEFT_OUT:
            yield row


def _flat(tree) -> list[list[Part]]:
    """All ways through a pattern, as texts and repeated letters."""
    ways: list[list[Part]] = [[]]
    for name, value in tree:
        match str(name):
            case "LITERAL":
                more: list[list[Part]] = [[chr(value)]]
            case "IN":
                letters = _letters(value)
                more = (
                    [[letter] for letter in sorted(letters)] if len(letters) <= FEW else [[(letters, 1, 1)]]
                )
            case "ANY":  # a point that somebody forgot to escape
                more = [["."]]
            case "MAX_REPEAT" | "MIN_REPEAT":
                fewest, most, inner = value
                most = min(int(most), MOST)
                more = []
                for way in _flat(inner):
                    if len(way) == 1 and not isinstance(way[0], str):
                        more.append([(way[0][0], fewest, most)])
                    elif most == 1:
                        more += [way, *([[]] if not fewest else [])]
                    else:
                        more.append(way * max(1, fewest))
            case "SUBPATTERN":
                more = _flat(value[3])
            case "BRANCH":
                more = [way for branch in value[1] for way in _flat(branch)]
            case _:  # places: the borders of words and lines
                more = [[]]
        ways = [[*way, *one] for way in ways for one in more][:64]
    return ways


def _letters(items) -> frozenset[str]:
    found: set[str] = set()
    for name, value in items:
        match str(name):
            case "LITERAL":
                found.add(chr(value))
            case "RANGE":
                found.update(map(chr, range(value[0], value[1] + 1)))
            case "CATEGORY":
                kind = str(value)
                found.update(
                    DIGITS
                    if "DIGIT" in kind
                    else ALPHABETS["word"]
                    if "CATEGORY_WORD" in kind
                    else ALPHABETS["any"]
                )
            case _:
                found.update(ALPHABETS["any"])
    return frozenset(found)


def _joined(parts: list[Part]) -> list[Part]:
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _row(parts: list[Part], folded: bool, keyword: bool) -> Row | None:
    if not parts:
        return None
    places = [index for index, part in enumerate(parts) if isinstance(part, str) and len(part) > 1]
    if not places:
        return None
    at = places[0] if places[0] == 0 else max(places, key=lambda index: len(str(parts[index])))
    sign, before, behind = str(parts[at]), parts[:at], parts[at + 1 :]
    lead, fewest_before, most_before = _measured(before, folded)
    rest, fewest, most = _measured(behind, folded)
    strong = len(sign) >= STRONG and (not sign.isalnum() or not sign.islower())
    weak = len(sign) + fewest + fewest_before < 20 or (
        keyword and not (strong or (len(sign) >= 3 and not sign.isalnum()))
    )
    if weak or (before and fewest_before != most_before and fewest_before < 5):
        return None
    open_ended = strong and not before
    return sign, rest, fewest, 0 if open_ended or most >= MOST else most, lead, fewest_before


def _measured(parts: list[Part], folded: bool) -> tuple[str, int, int]:
    letters: set[str] = set()
    fewest = most = 0
    for part in parts:
        if isinstance(part, str):
            letters |= set(part)
            fewest, most = fewest + len(part), most + len(part)
        else:
            letters |= part[0]
            fewest, most = fewest + part[1], most + part[2]
    if folded:
        letters |= {letter.lower() for letter in letters} | {letter.upper() for letter in letters}
    if not letters:
        return "", 0, 0
    fits = [name for name, known in ALPHABETS.items() if letters <= set(known)]
    return (fits or ["any"])[0], fewest, most


if __name__ == "__main__":
    main()
