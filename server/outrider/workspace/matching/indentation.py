"""How the indentation of an edit becomes the one of the place it goes to.

An edit names lines with some indentation, the file has the same lines with another one. What leads from the one to
the other has to hold for every line, else there is none.
"""

from collections.abc import Iterable
from dataclasses import dataclass

_TAB_WIDTHS = (4, 2, 8, 3)
"""Columns a tab may stand for, the likely ones first."""


@dataclass(frozen=True, slots=True)
class Reindent:
    """A way to indent lines: columns are counted, shifted, and written as the file writes them."""

    remove: str = ""
    """What every line loses at its beginning."""
    add: str = ""
    """What it gets there."""
    tab_width: int = 0
    """Columns of a tab, where tabs and spaces have to be changed into each other; 0: they stay."""
    to_tabs: bool = False
    shift: int = 0
    """Columns that are added."""

    def line(self, line: str) -> str | None:
        """A line with the indentation of the place; None if it stands too far to the left for that."""
        if not line.strip(" \t"):
            return line
        if not self.tab_width:
            return self.add + line[len(self.remove) :] if line.startswith(self.remove) else None
        columns = _columns(indent_of(line), self.tab_width) + self.shift
        if columns < 0:
            return None
        tabs, spaces = divmod(columns, self.tab_width) if self.to_tabs else (0, columns)
        return "\t" * tabs + " " * spaces + line.lstrip(" \t")


SAME = Reindent()


def indent_of(line: str) -> str:
    """The white space that a line begins with."""
    return line[: len(line) - len(line.lstrip(" \t"))]


def reindent_between(pairs: Iterable[tuple[str, str]]) -> Reindent | None:
    """What leads from the indentation of lines to that of others; None if nothing does for all of them.

    Args:
        pairs: Each line as the edit has it, and as the file has it. Blank ones do not count.
    """
    indents = [
        (indent_of(old), indent_of(now)) for old, now in pairs if old.strip(" \t") and now.strip(" \t")
    ]
    if all(old == now for old, now in indents):
        return SAME
    return next((way for way in _ways(indents) if _leads(way, indents)), None)


def _ways(indents: list[tuple[str, str]]) -> Iterable[Reindent]:
    old, now = indents[0]
    if now.endswith(old):
        yield Reindent(add=now[: len(now) - len(old)])
    if old.endswith(now):
        yield Reindent(remove=old[: len(old) - len(now)])
    # Where a shift of nothing explains it, a tab has that width; else it is a matter of taste, and asked in order.
    to_tabs = any("\t" in indent for _, indent in indents)
    converted = [
        Reindent(tab_width=width, to_tabs=to_tabs, shift=_columns(now, width) - _columns(old, width))
        for width in _TAB_WIDTHS
    ]
    yield from sorted(converted, key=lambda way: way.shift != 0)


def _leads(way: Reindent, indents: list[tuple[str, str]]) -> bool:
    return all(way.line(f"{old}x") == f"{now}x" for old, now in indents)


def _columns(indent: str, tab_width: int) -> int:
    columns = 0
    for character in indent:
        columns += tab_width - columns % tab_width if character == "\t" else 1
    return columns
