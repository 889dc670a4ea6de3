"""How else a secret may be written, where many stand in a text, and what is left of one where a text was cut. Pure."""

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote

from outrider.ports.patterns import WORD, Match, Subject, linear

SHORTEST_KEY = 8
"""Characters of the shortest value of the environment that is looked for; a shorter one may stand anywhere."""
CUT = linear("secrets.cut", r"(\n\[… \d+ bytes are missing here …\]\n| \[… \d+ characters\]|…)")
"""Where a text was cut before it came into the log: a title, a detail, the output of a command."""

_HEX = linear("secrets.percent", r"%[0-9A-F]{2}")
# The tables of the library's `html` take 300 kB.
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_QUOTES = str.maketrans({'"': "&quot;", "'": "&#x27;"})
_IN_QUOTES = linear("secrets.in-quotes", r'["$`\\]')
_BARE = linear("secrets.bare", rf"[^{WORD}@%+:,./-]")
_LINE_END = linear(
    "secrets.line-end", r"(?m)(?:^|[^A-Za-z0-9+/=_-])([A-Za-z0-9+/_-]{8,}={0,2})[\"',\\]{0,2}\r?$"
)
"""What may be a line of Base64, or of hexadecimal digits, that goes on in the next one (RFC 2045, section 6.8), whatever is put before it."""


def forms(value: str) -> dict[str, str]:
    """How else a text may be written, and what that is called."""
    found: dict[str, str] = {}
    for form, name in _written(value):
        if form != value:
            found.setdefault(form, name)
    return found


def _written(value: str) -> Iterator[tuple[str, str]]:
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        yield from ((twice, "in JSON in JSON"), (once, "in JSON"))
    if "/" in value:  # some programs escape it too (RFC 8259, section 7)
        yield json.dumps(value)[1:-1].replace("/", "\\/"), "in JSON"
    for safe in ("", "/", "!*'()"):  # RFC 3986 lets some stand, and other programs other ones
        quoted = quote(value, safe=safe, errors="surrogatepass")
        yield quoted, "in a URL"
        yield _HEX.sub(lambda found: found.group().lower(), quoted), "in a URL"
    yield from ((value.translate(signs), "in HTML") for signs in (_HTML | _QUOTES, _HTML))
    yield from ((form, "in a shell") for form in _in_a_shell(value))
    yield from dict.fromkeys(base64_forms(value), "in base64").items()
    in_hex = value.encode("utf-8", "surrogatepass").hex()
    yield from ((in_hex, "in hex"), (in_hex.upper(), "in hex"))


def _in_a_shell(value: str) -> Iterator[str]:
    """How a shell writes a value that it is to read again: in quotes of either kind, and with each sign escaped."""
    yield value.replace("'", "'\\''")
    yield value.replace("'", "'\"'\"'")
    yield _IN_QUOTES.sub(_escaped, value)
    yield _BARE.sub(_escaped, value)
    yield _BARE.sub(_escaped, value).replace("\\=", "=")


def _escaped(match: Match) -> str:
    return f"\\{match[0]}"


def base64_forms(text: str) -> Iterator[str]:
    """What a text looks like within Base64 (RFC 4648), wherever in a group of three bytes it begins."""
    content = text.encode("utf-8", "surrogatepass")
    for offset in range(3):
        # The characters at both ends hold bits of what stands beside it.
        encoded = base64.b64encode(bytes(offset) + content).decode()
        inner = encoded[-(-offset * 8 // 6) : (offset + len(content)) * 8 // 6]
        yield inner
        yield inner.translate({ord("+"): "-", ord("/"): "_"})


def pieces(form: str) -> Iterator[str]:
    """Every piece of a form by which it is known where it is broken into lines."""
    for start in range(len(form) - SHORTEST_KEY + 1):
        yield form[start : start + SHORTEST_KEY]


def wrapped(text: str, forms: Mapping[str, Sequence[str]]) -> Iterator[tuple[int, int, str]]:
    """Where lines of a text hold a part of a form that is broken into lines, and which; no two overlap.

    Args:
        text: The text.
        forms: The forms, by each of their `pieces`.
    """
    for match in _LINE_END.finditer(text) if forms else ():
        line, (first, last) = match.group(1), match.span(1)
        likely = {*forms.get(line[:SHORTEST_KEY], ()), *forms.get(line[-SHORTEST_KEY:], ())}
        for form in sorted(likely, key=lambda form: (-len(form), form)):
            if line in form:
                start, end = first, last
            elif length := end_at_beginning(line, form):
                start, end = first, first + length
            elif length := beginning_at_end(line, form):
                start, end = last - length, last
            else:
                continue
            yield start, end, form
            break


def is_cut_in(text: str, secret: str) -> bool:
    """Whether a text was cut within a secret."""
    if "…" not in text:
        return False
    parts = CUT.split(text)[::2]
    return any(beginning_at_end(part, secret) for part in parts[:-1]) or any(
        end_at_beginning(part, secret) for part in parts[1:]
    )


def beginning_at_end(text: str, secret: str) -> int:
    """How much of the beginning of a secret a text ends with; 0 where that may be anything."""
    last = text[-SHORTEST_KEY:]
    start = secret.rfind(last, 0, -1) if len(last) == SHORTEST_KEY else -1
    while start >= 0:
        length = start + SHORTEST_KEY
        if text.endswith(secret[:length]):
            return length
        start = secret.rfind(last, 0, length - 1)
    return 0


def end_at_beginning(text: str, secret: str) -> int:
    """How much of the end of a secret a text begins with; 0 where that may be anything."""
    first = text[:SHORTEST_KEY]
    start = secret.find(first, 1) if len(first) == SHORTEST_KEY else -1
    while start >= 0:
        if text.startswith(secret[start:]):
            return len(secret) - start
        start = secret.find(first, start + 1)
    return 0


# --- many at once ------------------------------------------------------------------------------------------------

_PART = 4
"""Bytes of a part. What is twice as long, less one, has a whole part in it wherever it begins."""
_WINDOW = 2 * _PART - 1
_MOST_OF_A_PART = 16
"""Texts that are filed under one part, so that a place in a text is compared with few of them."""


class Needles:
    """Texts that are looked for all at once: what that costs hardly depends on how many there are.

    One thread may add some while another looks for them: it finds those that were there when it began.

    Each is filed under the parts of a window in it. A text in which it stands has one of those parts at a place that four divides.
    """

    def __init__(self) -> None:
        self._by_part: dict[int, list[tuple[int, bytes, str]]] = {}
        """By a part: where it stands in which texts."""
        self._others: list[str] = []
        """Those that are too short for that, or under whose parts there is no room."""

    def add(self, needle: str) -> None:
        """Look for a text from now on; it is added once."""
        content = _bytes(needle)
        last = len(content) - _WINDOW
        # The end of a setting says more than its beginning, which is the name.
        for window in dict.fromkeys((last, 0, last // 2)) if last >= 0 else ():
            parts = {
                part: start
                for start in range(window, window + _PART)
                for part in memoryview(content[start : start + _PART]).cast("I")
            }
            if all(len(self._by_part.get(part, ())) < _MOST_OF_A_PART for part in parts):
                for start in range(window, window + _PART):
                    (part,) = memoryview(content[start : start + _PART]).cast("I")
                    self._by_part.setdefault(part, []).append((start, content, needle))
                return
        self._others.append(needle)

    def places(self, text: str) -> list[tuple[int, int, str]]:
        """Where they stand in a text: from, to, and which. They may overlap; one that overlaps itself is there once."""
        found: list[tuple[int, int, str]] = []
        for needle in self._others:
            at = text.find(needle)
            while at >= 0:
                found.append((at, at + len(needle), needle))
                at = text.find(needle, at + len(needle))
        if not self._by_part:
            return found
        content = _bytes(text)
        parts = memoryview(content)[: len(content) // _PART * _PART].cast("I")
        known = {part for part in set(parts) if part in self._by_part}
        if not known:
            return found
        subject = Subject(text)
        last: dict[str, int] = {}
        places: set[tuple[int, int, str]] = set()
        for number, part in enumerate(parts):
            if part in known:
                for offset, wanted, needle in self._by_part[part]:
                    start = number * _PART - offset
                    if start >= 0 and content.startswith(wanted, start):
                        places.add((start, start + len(wanted), needle))
        for start, end, needle in sorted(places):
            if start >= last.get(needle, 0):
                last[needle] = end
                found.append((subject.character(start), subject.character(end), needle))
        return found


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
