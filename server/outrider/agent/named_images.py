"""Which images a task names: paths in its words that end like one. Pure: whether there is such a file is found out later."""

import re
from typing import Final
from urllib.parse import unquote

MOST_NAMES: Final = 50
"""Paths of one task that are looked for."""
MOST_WORDS: Final = 50_000
"""Characters of a task that are looked through."""

_END = r"\.(?:png|jpe?g|gif|webp)"
_LONGEST = 500
"""Characters of a path; it bounds the search as well."""
_PATH = re.compile(
    rf"""
      \bhttps?://\S+                                                                # an address is no path
    | (?:(?<=\]\()|(?<=\]\(\ ))(?:<(?P<angle>[^<>\n]{{1,{_LONGEST}}}?{_END})>       # of a link or an image in Markdown
        | (?P<link>[^\s<>"']{{1,{_LONGEST}}}?{_END})(?=[\s)]))
    | (?P<uri>\bfile:[^\s<>"'`]{{1,{_LONGEST}}}?{_END})(?!\w|[./-]\w)
    | "(?P<double>[^"\n]{{1,{_LONGEST}}}?{_END})" | “(?P<curly>[^“”\n]{{1,{_LONGEST}}}?{_END})”
    | `(?P<code>[^`\n]{{1,{_LONGEST}}}?{_END})` | (?<!\w)'(?P<single>[^'\n]{{1,{_LONGEST}}}?{_END})'
    | (?<![^\s"'`<>()\[\]{{}}|,;:=“”])(?P<bare>[^\s"'`<>()\[\]{{}}|,;:=“”]{{1,{_LONGEST}}}?{_END})(?!\w|[./-]\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)


def named_images(prompt: str) -> list[str]:
    """The paths, in the order in which they come: bare, with `@` before them, in quotes, and as targets in Markdown.

    A path that can be read in two ways is there twice, the likelier way first.
    """
    found: dict[str, None] = {}
    for match in _PATH.finditer(prompt[:MOST_WORDS]):
        path = match[match.lastgroup] if match.lastgroup else ""
        found |= dict.fromkeys(_readings(path, encoded=match.lastgroup in {"angle", "link"}))
        if len(found) >= MOST_NAMES:
            break
    return list(found)[:MOST_NAMES]


def _readings(path: str, *, encoded: bool) -> list[str]:
    path = path.strip()
    if encoded and "%" in path:
        return [unquote(path), path]
    return [path.removeprefix("@"), path] if path.startswith("@") else [path] if path else []
