"""A content as what changed in another one: hunks of bytes.

Each hunk is a line `COPIED DROPPED ADDED`, three counts of bytes, and the bytes added. What follows the last hunk is
as in the other content. Finding the hunks takes time that is linear in the contents, and never needs to find the fewest.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

_WIDTHS = (1, 8)
"""How many lines in a row, once in both contents, are the same place. One is enough in most files; where lines repeat,
several in a row may do."""

_NEAR = 16_384
"""Bytes that are searched for what follows a change, before all that is left is compared."""

_LINE = re.compile(rb"[^\n]*\n|[^\n]+")

_Hunk = tuple[int, int, int, int]
"""`start:end` of the old bytes or lines became `start:end` of the new ones."""


def difference(old: bytes, new: bytes) -> bytes:
    """What has to be done to `old` to get `new`."""
    parts: list[bytes] = []
    position = 0
    for start, end, new_start, new_end in _hunks(old, new):
        parts += (
            b"%d %d %d\n" % (start - position, end - start, new_end - new_start),
            new[new_start:new_end],
        )
        position = end
    return b"".join(parts)


def patched(old: bytes, delta: bytes) -> bytes:
    """`old` with a difference.

    Raises:
        ValueError: `delta` is none of `old`.
    """
    parts: list[bytes] = []
    position = at = 0
    while at < len(delta):
        body = delta.index(b"\n", at) + 1
        copied, dropped, added = map(int, delta[at:body].split())
        at, end = body + added, position + copied
        if min(copied, dropped, added) < 0 or end + dropped > len(old) or at > len(delta):
            raise ValueError("a stored difference does not fit")
        parts += (old[position:end], delta[body:at])
        position = end + dropped
    return b"".join((*parts, old[position:]))


def _hunks(old: bytes, new: bytes) -> list[_Hunk]:
    """What differs, from top to bottom, without what its ends have in common."""
    hunks: list[_Hunk] = []
    for start, end, new_start, new_end in _places(old, new):
        head, tail = _common_ends(old[start:end], new[new_start:new_end])
        hunks.append((start + head, end - tail, new_start + head, new_end - tail))
    return hunks


def _places(old: bytes, new: bytes) -> Iterator[_Hunk]:
    """The lines that differ: most changes are small, so that what follows them is found near by."""
    tail = _common_tail(old, new)
    end, new_end = len(old) - tail, len(new) - tail
    x = y = 0
    while x < end or y < new_end:
        same = _common_head(old, new, x, y, min(end - x, new_end - y))
        x, y = x + same, y + same
        if x == end and y == new_end:
            return
        line = old.rfind(b"\n", 0, x) + 1
        line, new_line = (line, y - (x - line)) if x - line <= same else (x - same, y - same)
        nearest = _nearest(old[line : min(end, line + _NEAR)], new[new_line : min(new_end, new_line + _NEAR)])
        if nearest is None:
            yield from _line_places(old, new, (line, end, new_line, new_end))
            return
        x, y = line + nearest[0], new_line + nearest[1]
        yield line, x, new_line, y


def _nearest(old: bytes, new: bytes) -> tuple[int, int] | None:
    """The nearest place where two lines in a row are the same in both."""
    lines, new_lines = _lines(old), _lines(new)
    first: dict[tuple[bytes, bytes], int] = {}
    for index, pair in enumerate(pairwise(lines)):
        first.setdefault(pair, index)
    found: tuple[int, int] | None = None
    for index, pair in enumerate(pairwise(new_lines)):
        if found is not None and index >= sum(found):
            break
        other = first.get(pair)
        if other is not None and (found is None or other + index < sum(found)):
            found = other, index
    if found is None:
        return None
    return sum(map(len, lines[: found[0]])), sum(map(len, new_lines[: found[1]]))


def _lines(content: bytes) -> list[bytes]:
    """Its lines with their ends. Only a line feed ends one: `splitlines` would find lines where `_places` knows none."""
    return content.splitlines(keepends=True) if b"\r" not in content else _LINE.findall(content)


def _line_places(old: bytes, new: bytes, hunk: _Hunk) -> list[_Hunk]:
    """What of a hunk is left if its lines are compared."""
    start, end, new_start, new_end = hunk
    old_lines, new_lines = _lines(old[start:end]), _lines(new[new_start:new_end])
    old_at = list(accumulate(map(len, old_lines), initial=start))
    new_at = list(accumulate(map(len, new_lines), initial=new_start))
    return [
        (old_at[one[0]], old_at[one[1]], new_at[one[2]], new_at[one[3]])
        for one in _line_hunks(old_lines, new_lines)
    ]


def _line_hunks(old: Sequence[bytes], new: Sequence[bytes]) -> list[_Hunk]:
    hunks: list[_Hunk] = [(0, len(old), 0, len(new))] if old or new else []
    for width in _WIDTHS:
        hunks = [smaller for hunk in hunks for smaller in _divided(old, new, hunk, width)]
    return hunks


def _divided(old: Sequence[bytes], new: Sequence[bytes], hunk: _Hunk, width: int) -> list[_Hunk]:
    """What is left of a hunk between the places where both are the same."""
    start, end, new_start, new_end = hunk
    if start == end or new_start == new_end:
        return [hunk]
    hunks: list[_Hunk] = []
    for x, y in _same_places(old, new, hunk, width):
        if x < start or y < new_start:
            continue  # it was passed as what follows an earlier one
        first, new_first = x, y
        while first > start and new_first > new_start and old[first - 1] == new[new_first - 1]:
            first, new_first = first - 1, new_first - 1
        if first > start or new_first > new_start:
            hunks.append((start, first, new_start, new_first))
        start, new_start = x, y
        while start < end and new_start < new_end and old[start] == new[new_start]:
            start, new_start = start + 1, new_start + 1
    if start < end or new_start < new_end:
        hunks.append((start, end, new_start, new_end))
    return hunks


def _same_places(
    old: Sequence[bytes], new: Sequence[bytes], hunk: _Hunk, width: int
) -> list[tuple[int, int]]:
    """Lines, `width` in a row, that are once in both, in an order that both share: the longest such sequence."""
    start, end, new_start, new_end = hunk
    ours = {x: tuple(old[x : x + width]) for x in range(start, end - width + 1)}
    others = {tuple(new[y : y + width]): y for y in range(new_start, new_end - width + 1)}
    counts = Counter(ours.values())
    new_counts = Counter(tuple(new[y : y + width]) for y in range(new_start, new_end - width + 1))
    pairs = [(x, others[key]) for x, key in ours.items() if counts[key] == 1 and new_counts.get(key, 0) == 1]
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, y) in enumerate(pairs):
        length = bisect_left(ends, y)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [y]
        last[length : length + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = last[-1] if last else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _common_ends(one: bytes, other: bytes) -> tuple[int, int]:
    """How many bytes two contents share at the beginning and at the end, without overlap."""
    head = _common_head(one, other, 0, 0, min(len(one), len(other)))
    return head, _common_tail(one[head:], other[head:])


def _common_head(one: bytes, other: bytes, start: int, other_start: int, most: int) -> int:
    """How many bytes from there on are the same: of ever bigger pieces, then of ever smaller ones."""
    same, piece = 0, 64
    while same < most and piece:
        piece = min(piece, most - same)
        x, y = start + same, other_start + same
        if one[x : x + piece] == other[y : y + piece]:
            same, piece = same + piece, piece * 2
            continue
        while piece > 1:
            half = piece // 2
            if one[x : x + half] == other[y : y + half]:
                x, y, piece = x + half, y + half, piece - half
            else:
                piece = half
        return x - start
    return same


def _common_tail(one: bytes, other: bytes) -> int:
    most, length, other_length = min(len(one), len(other)), len(one), len(other)
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        same = one[length - middle : length - low] == other[other_length - middle : other_length - low]
        low, high = (middle, high) if same else (low, middle - 1)
    return low
