"""How else a secret may be written, and what is left of one where a text was cut. Pure."""

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

SHORTEST_KEY = 8
"""Characters of the shortest value of the environment that is looked for; a shorter one may stand anywhere."""
CUT = re.compile(r"(\n\[… \d+ bytes are missing here …\]\n| \[… \d+ characters\]|…)")
"""Where a text was cut before it came into the log: a title, a detail, the output of a command."""


def forms(value: str) -> Iterator[tuple[str, str]]:
    """How else a text may be written, and what that is called."""
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]
        yield from (
            (form, name) for form, name in ((twice, "in JSON in JSON"), (once, "in JSON")) if form != value
        )
    for safe in ("", "/"):
        if (quoted := quote(value, safe=safe, errors="surrogatepass")) != value:
            yield quoted, "in a URL"
    yield from dict.fromkeys(base64_forms(value), "in base64").items()


def base64_forms(text: str) -> Iterator[str]:
    """What a text looks like within Base64 (RFC 4648), wherever in a group of three bytes it begins."""
    content = text.encode("utf-8", "surrogatepass")
    for offset in range(3):
        # The characters at both ends hold bits of what stands beside it.
        encoded = base64.b64encode(bytes(offset) + content).decode()
        inner = encoded[-(-offset * 8 // 6) : (offset + len(content)) * 8 // 6]
        yield inner
        yield inner.translate({ord("+"): "-", ord("/"): "_"})


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
