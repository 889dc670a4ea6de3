"""Texts and changes of texts. Offsets count characters (code points) of the Python string."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

_HIDING: Final = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # ECMA-48: controls, and ESC, with which sequences begin
    # Unicode: Default_Ignorable_Code_Point, Bidi_Control
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff"
)
_SELECTORS: Final = "\ufe00-\ufe0f"
# One of them chooses how the sign before it looks (UTS #51, section 2); of ASCII only a digit, `#` and `*` have a choice.
_STRAY_SELECTOR: Final = rf"(?<![^\x00-\x7f{_SELECTORS}]|[0-9#*])[{_SELECTORS}]"
_HIDDEN: Final = re.compile(
    f"[{_HIDING}]|{_STRAY_SELECTOR}"
    "|\r(?!\n)"
    "|(?<![^\x00-\x7f])[\u200c\u200d]|[\u200c\u200d](?![^\x00-\x7f])"  # they join what is not ASCII: letters, emoji
)
_STRICTLY: Final = f"{_HIDING}\r\u200c\u200d"
_HIDDEN_OR_JOINING: Final = re.compile(f"[{_STRICTLY}]|{_STRAY_SELECTOR}")
_LIKE_A_BLANK: Final = (
    "\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"  # Unicode: General_Category Zs, but for the blank itself
    "\u2800\U00013441\U00013442\U0001d159"  # signs without ink: of Braille, hieroglyphs and music
    # Unicode: General_Category Cf that is not above; some are drawn around the signs beside them
    "\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f"
)
_HIDDEN_OR_LIKE_A_BLANK: Final = re.compile(f"[{_STRICTLY}{_LIKE_A_BLANK}]|{_STRAY_SELECTOR}")

_COLOURS: Final = re.compile(r"\x1b\[[0-9;:]*[mK]")
"""ECMA-48: SGR, and EL, which ends a coloured line."""


def visible(text: str) -> str:
    """A text with every character spelled out that would not be seen, as in a string of Python. Lines stay lines."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN.sub(_as_in_python, text)


def spelled_out(text: str) -> str:
    """The same of questions and names: there nothing joins, and no line ends with a return."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_JOINING.sub(_as_in_python, text)


def spelled_out_for_a_yes(text: str) -> str:
    """The same of what a yes allows: there nothing is taken for a blank either, as prose and names may have others."""
    if text.isascii() and text.isprintable():
        return text
    return _HIDDEN_OR_LIKE_A_BLANK.sub(_as_in_python, text)


def without_colours(text: str) -> str:
    """A text without what only colours it on a terminal."""
    return _COLOURS.sub("", text) if "\x1b[" in text else text


def _as_in_python(found: re.Match[str]) -> str:
    return found.group().encode("unicode_escape").decode("ascii")


LineEnd = Literal["\n", "\r\n"]
TextEncoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
"""How a text lies in a file; UTF-16 always has a byte order mark."""

LINE_CHARACTERS = 200
"""Characters of a line where a text is to be short."""
_SPELLED = re.compile(rb"\\x([0-9a-f]{2})")
_LEAD = 40
"""Those of them that stand before the place where a line differs from what was there."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A text of the workspace as it was at one moment."""

    uri: str
    path: str
    """As the model and the user write it (design §6)."""
    text: str
    source: Literal["buffer", "disk"]
    version: int | None = None
    """The document's version, for a buffer."""
    unsaved: bool = False
    """Whether the buffer differs from the disk."""
    read_only: str | None = None
    """Why the agent must not edit it, if it must not."""
    encoding: TextEncoding = "utf-8"
    """How it lies on disk."""


@dataclass(frozen=True, slots=True)
class Hunk:
    """A replacement: the characters `start:end` of a text, which are `old`, become `new`."""

    start: int
    end: int
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Place:
    """A position as LSP counts: zero-based line, character in the negotiated encoding."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """A replacement as LSP counts."""

    start: Place
    end: Place
    new: str


def one_line(name: str) -> str:
    """A name in which nothing hides and that has no line ends: in quotes, where one is spelled out."""
    spelled = spelled_out(name).replace("\n", "\\n").replace("\t", "\\t")
    return name if spelled == name else f'"{spelled}"'


def is_utf_8(name: str) -> bool:
    """Whether a name is the text that its bytes are, so that it can be written down."""
    return not any("\udc80" <= sign <= "\udcff" for sign in name)


def bytes_spelled_out(name: str) -> str:
    r"""A name in which bytes that are no UTF-8 stand as their numbers, such as `a\xff.txt`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def bytes_put_back(name: str) -> str:
    """The name that `bytes_spelled_out` spells so; the same name where it is none that was spelled out."""
    raw = _SPELLED.sub(lambda found: bytes([int(found[1], 16)]), name.encode("utf-8", "surrogateescape"))
    put_back = raw.decode("utf-8", "surrogateescape")
    return put_back if bytes_spelled_out(put_back) == name else name


def cut_lines(lines: Sequence[str], most: int = LINE_CHARACTERS) -> list[str]:
    """The lines of a text or of a diff, each of `most` characters and the number of those that are left out.

    Of a line of a diff that comes for another one the part is left where they begin to differ.
    """
    starts = [0] * len(lines)
    at = 0
    while at < len(lines):
        middle = _end_of("-", lines, at)
        end = _end_of("+", lines, middle)
        for old, new in zip(range(at, middle), range(middle, end), strict=False):
            if max(len(lines[old]), len(lines[new])) > most:
                starts[old] = starts[new] = max(0, _same(lines[old][1:], lines[new][1:]) - _LEAD)
        at = max(end, at + 1)
    return [_cut_line(line, start, most) for line, start in zip(lines, starts, strict=True)]


def _same(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def _end_of(mark: str, lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at].startswith(mark):
        at += 1
    return at


def _cut_line(line: str, start: int, most: int) -> str:
    if len(line) <= most:
        return line
    start = min(start, len(line) - most)
    mark, begin = (line[:1], start + 1) if start else ("", 0)
    before = f"{mark}… {start} characters … " if start else ""
    left = len(line) - begin - most
    after = f" … {left} further characters" if left > 0 else ""
    return f"{before}{line[begin : begin + most]}{after}"
