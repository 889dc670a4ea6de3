"""Texts and changes of texts. Offsets count characters (code points) of the Python string."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from outrider.ports.visible import spelled_out

LineEnd = Literal["\n", "\r\n"]
TextEncoding = Literal["utf-8", "utf-16-le", "utf-16-be"]
"""How a text lies in a file; UTF-16 always has a byte order mark."""

LINE_CHARACTERS = 200
"""Characters of a line where a text is to be short."""
_LEAD = 40
"""Those of them that stand before the place where a line differs from what was there."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A text of the workspace as it was at one moment."""

    uri: str
    path: str
    """As the model and the person write it (design §6)."""
    text: str
    source: Literal["buffer", "disk"]
    version: int | None = None
    """The document's version, for a buffer."""
    unsaved: bool = False
    """Whether the buffer differs from the disk."""
    read_only: str | None = None
    """Why the agent must not edit it, if it must not."""
    encoding: TextEncoding = "utf-8"
    """How it lies on the disk."""


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
