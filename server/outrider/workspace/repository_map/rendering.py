"""The map as text: each file with its names, so many as there is room for. Pure.

Names alone are told, never a line of a file, and nothing in them can break out of its line.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from outrider.workspace.repository_map.graph import Ranked
from outrider.workspace.repository_map.tags import Definition

_SHORT_KINDS: Final[Mapping[str, str]] = {"method": "", "property": ""}
"""Kinds that go without saying, inside of what holds them."""


def blocks_of(
    ranked: Sequence[Ranked], definitions: Mapping[str, Sequence[Definition]], size: int
) -> list[str]:
    """The map, in one block of lines for each file; the file with the most important name comes first.

    Args:
        ranked: Definitions, the most important first.
        definitions: All definitions of each file, by path.
        size: The most bytes of all blocks together.
    """
    # Each definition makes the text longer, so the most that fit are found by halving.
    fits, too_many = 0, len(ranked) + 1
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _size(_rendered(ranked[:middle], definitions)) <= size:
            fits = middle
        else:
            too_many = middle
    return _rendered(ranked[:fits], definitions)


def visible(text: str) -> str:
    """A name with everything in it that does not print, or that could pass for the end of a line, spelled out."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


def _size(blocks: Sequence[str]) -> int:
    return sum(len(block.encode("utf-8", "replace")) + 1 for block in blocks)


def _rendered(ranked: Sequence[Ranked], definitions: Mapping[str, Sequence[Definition]]) -> list[str]:
    wanted: dict[str, set[int]] = {}
    for one in ranked:
        numbers = wanted.setdefault(one.path, set())
        at: int | None = one.number
        while at is not None:  # what holds it is its heading
            numbers.add(at)
            at = definitions[one.path][at].within
    return [_block(path, definitions[path], numbers) for path, numbers in wanted.items()]


def _block(path: str, definitions: Sequence[Definition], numbers: set[int]) -> str:
    lines = [visible(path)]
    held: dict[int, list[int]] = {}
    for number in sorted(numbers):
        top = _top(definitions, number)
        held.setdefault(top, []).extend([number] if number != top else [])
    for top, inner in held.items():
        one = definitions[top]
        members = ", ".join(_member(definitions[number]) for number in inner)
        lines.append(f"  {one.kind} {visible(one.name)} {one.line}{': ' if members else ''}{members}")
    return "\n".join(lines)


def _top(definitions: Sequence[Definition], number: int) -> int:
    while (within := definitions[number].within) is not None:
        number = within
    return number


def _member(one: Definition) -> str:
    kind = _SHORT_KINDS.get(one.kind, f"{one.kind} ")
    return f"{kind}{visible(one.name)} {one.line}"
