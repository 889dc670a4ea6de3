"""Putting the hunks of a patch into a text.

Line numbers are only a hint: they count where all of a file's hunks stand exactly at theirs. Else what stands around
a hunk decides, through the same layers as for any edit, and with the lines it names as standing above it; there is
no guess between two places.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from outrider.workspace.matching.blocks import Text, Window, find, rewrite
from outrider.workspace.matching.indentation import SAME
from outrider.workspace.matching.nearest import explain_miss, several
from outrider.workspace.matching.patches import PatchHunk
from outrider.workspace.matching.replacing import found_how


@dataclass(frozen=True, slots=True)
class Patched:
    """The new text."""

    text: str
    notes: tuple[str, ...] = ()
    """What was not exactly as it was written, for whoever wrote it."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why a patch does not fit a text: a reason for each hunk that does not."""

    reasons: tuple[str, ...]


def apply_hunks_of_patch(text: str, hunks: Sequence[PatchHunk]) -> Patched | Unfit:
    """The text after all of the hunks; they are looked for in the text as it is before any of them."""
    there = Text(text)
    if (stated := _as_stated(there, hunks)) is not None:
        return _put_in(there, stated, ())
    placed: list[tuple[Window, PatchHunk]] = []
    notes: list[str] = []
    reasons: list[str] = []
    for number, hunk in enumerate(hunks, start=1):
        name = f"hunk {number}" if len(hunks) > 1 else "the hunk"
        found = _place(there, hunk, name, placed)
        if isinstance(found, str):
            reasons.append(found)
            continue
        window, note = found
        placed.append((window, hunk))
        notes += [f"{name} {note}"] if note else []
    return Unfit(tuple(reasons)) if reasons else _put_in(there, placed, tuple(notes))


def _as_stated(there: Text, hunks: Sequence[PatchHunk]) -> list[tuple[Window, PatchHunk]] | None:
    """The hunks at the lines they name; None if one of them does not stand there exactly."""
    placed: list[tuple[Window, PatchHunk]] = []
    position = 0
    for hunk in hunks:
        old = hunk.old
        if hunk.line is None or (not old and there.lines):
            return None
        start = max(0, hunk.line - 1)
        end = start + len(old)
        if start < position or there.lines[start:end] != old or (hunk.at_end and end != len(there.lines)):
            return None
        placed.append((Window(start, end, SAME), hunk))
        position = end
    return placed


def _place(
    there: Text, hunk: PatchHunk, name: str, placed: Sequence[tuple[Window, PatchHunk]]
) -> tuple[Window, str] | str:
    """Where a hunk belongs, and what is to be said of it; a text says why it is not known."""
    if not hunk.old:
        return _place_insertion(there, hunk, name)
    found = find(there, hunk.old)
    windows = [one for one in found.windows if not any(_overlap(one, other) for other, _ in placed)]
    if not windows and found.windows:
        return f"{name} overlaps another hunk, at line {found.windows[0].start + 1}"
    if not windows:
        return explain_miss(there.lines, hunk.old, name)
    if len(windows) > 1 and hunk.at_end:
        windows = [one for one in windows if one.end == len(there.lines)] or windows
    if len(windows) > 1 and hunk.headers:
        windows = _below(there, hunk.headers, windows) or windows
    if len(windows) > 1 and placed:
        # Hunks stand in the order of the file.
        below = [one for one in windows if one.start >= placed[-1][0].end]
        windows = below if len(below) == 1 else windows
    if len(windows) > 1:
        return (
            f"{name} fits at {len(windows)} places; give it more lines around the change, or an @@ line:\n"
            f"{several(there.lines, [one.start for one in windows])}"
        )
    (window,) = windows
    how = found_how(found.layer)
    return window, f"was found {how}, at line {window.start + 1}." if how else ""


def _place_insertion(there: Text, hunk: PatchHunk, name: str) -> tuple[Window, str] | str:
    length = len(there.lines)
    if hunk.at_end or not there.lines:
        return Window(length, length, SAME), ""
    if hunk.headers and (at := _headers(there, hunk.headers)):
        if len(at) > 1:
            return f"{name} fits below {len(at)} places:\n{several(there.lines, at)}"
        return Window(at[0] + 1, at[0] + 1, SAME), ""
    return f"{name} only adds lines, and has none around them that say where"


def _overlap(one: Window, other: Window) -> bool:
    return one.start < other.end and other.start < one.end


def _below(there: Text, headers: Sequence[str], windows: Sequence[Window]) -> list[Window]:
    """The windows that are the first ones below the lines that are named."""
    first = (
        next((window for window in windows if window.start >= at), None) for at in _headers(there, headers)
    )
    return list(dict.fromkeys(window for window in first if window is not None))


def _headers(there: Text, headers: Sequence[str]) -> list[int]:
    """Where the last of these lines stands, each below the one before; the lines from 0."""
    bare = [line.strip() for line in there.lines]

    def named(header: str) -> list[int]:
        exact = [at for at, line in enumerate(bare) if line == header.strip()]
        return exact or [at for at, line in enumerate(bare) if line.startswith(header.strip())]

    places = named(headers[0])
    for header in headers[1:]:
        deeper = named(header)
        below = (next((one for one in deeper if one > at), None) for at in places)
        places = list(dict.fromkeys(one for one in below if one is not None))
    return places


def _put_in(
    there: Text, placed: Sequence[tuple[Window, PatchHunk]], notes: tuple[str, ...]
) -> Patched | Unfit:
    is_ended = not there.ends or bool(there.ends[-1])
    lines: list[str] = []
    position = 0
    usual = there.end_at(0, len(there.lines))
    for window, hunk in sorted(placed, key=lambda one: (one[0].start, one[0].end)):
        kept = zip(there.lines[position : window.start], there.ends[position : window.start], strict=True)
        lines += [line + (end or usual) for line, end in kept]
        put = rewrite(there, window, hunk.lines)
        if isinstance(put, str):
            return Unfit(
                (f"a line cannot be moved as far to the left as line {window.start + 1} asks: {put!r}",)
            )
        lines += put
        position = window.end
        if window.end == len(there.lines) and hunk.ends is not None:
            is_ended = hunk.ends
    lines += [
        line + (end or usual) for line, end in zip(there.lines[position:], there.ends[position:], strict=True)
    ]
    text = "".join(lines)
    return Patched(text if is_ended else text.removesuffix("\n").removesuffix("\r"), notes)
