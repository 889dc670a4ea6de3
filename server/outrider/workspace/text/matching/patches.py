"""Reading patches, in the two forms that models write: the envelope, and the unified diff, git's headers included.

It reads what is there and looks at no file. What it cannot read it says, with the line of the patch.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal

from outrider.workspace.text.matching.blocks import (
    SAME,
    Marked,
    Text,
    TooMuchWorkError,
    Window,
    find,
    rewrite,
)
from outrider.workspace.text.matching.nearest import explain_miss, numbered, several
from outrider.workspace.text.matching.replacing import found_how

_BEGIN, _END, _END_OF_FILE = "*** Begin Patch", "*** End Patch", "*** End of File"
_ADD, _UPDATE, _DELETE, _MOVE = "*** Add File:", "*** Update File:", "*** Delete File:", "*** Move to:"
_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LOOSE_RANGE = re.compile(r"-\d+(?:,\d+)? \+\d+(?:,\d+)?(?: @@.*)?")
_ESCAPE = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_NOWHERE = "/dev/null"
_PROGRAM = "100755"
_MODES = ("100644", _PROGRAM)
HELP = (
    "a patch begins with '*** Begin Patch' and ends with '*** End Patch', or it is a unified diff with lines "
    "'--- a/FILE' and '+++ b/FILE'"
)


@dataclass(frozen=True, slots=True)
class PatchHunk:
    """One stretch of lines of a file, and what becomes of them."""

    lines: tuple[Marked, ...]
    line: int | None = None
    """Where it says that it begins in the old text, from 1; after which line it is, if it replaces none."""
    headers: tuple[str, ...] = ()
    """Lines that stand above it in the file, from the outside to the inside."""
    at_end: bool = False
    """Whether it says that it ends where the file ends."""
    ends: bool | None = None
    """Whether it says that the file ends with a line end after it; None: it does not say."""

    @property
    def old(self) -> list[str]:
        """The lines that have to be there."""
        return [one.line for one in self.lines if one.mark != "+"]


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What becomes of one file."""

    operation: Literal["add", "update", "delete"]
    path: str
    to: str | None = None
    """Where an updated file goes, if it is moved."""
    hunks: tuple[PatchHunk, ...] = ()
    """Those of an update; a file that is deleted may have one, which says what is in it."""
    content: str = ""
    """The text of a new file."""
    is_program: bool = False
    """Whether a new file is one to run."""


@dataclass(frozen=True, slots=True)
class PatchProblem:
    """Why a patch cannot be read."""

    message: str


class _UnreadableError(Exception):
    pass


def parse(patch: str) -> list[FilePatch] | PatchProblem:
    """The files of a patch, in order."""
    reader = _Reader(patch.removesuffix("\n").split("\n"))
    reader.skip_blank()
    try:
        found = _envelope(reader) if reader.now.strip() == _BEGIN else _unified(reader)
    except _UnreadableError as problem:
        return PatchProblem(str(problem))
    return found or PatchProblem(f"it contains no file: {HELP}")


class _Reader:
    """The lines of a patch, from top to bottom."""

    margin: str | None = None
    """What white space stands before the marks of an envelope: that before the first one, before all of them."""

    def __init__(self, written: Sequence[str]) -> None:
        self.lines = [line.removesuffix("\r") for line in written]
        self.at = 0
        self._last = max((at for at, line in enumerate(self.lines) if line.strip()), default=-1)
        # A patch that ends its own lines so says nothing of the files in it.
        is_own = next((line for line in written if line.strip()), "").endswith("\r")
        self._written = self.lines if is_own else written

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.lines)

    @property
    def now(self) -> str:
        return "" if self.is_over else self.lines[self.at]

    @property
    def mark(self) -> str:
        """The line, where it is a mark of an envelope, without white space around it; else nothing."""
        line = self.now.removeprefix(self.margin or "").rstrip()
        if line.startswith((_ADD, _UPDATE, _DELETE)) or line in {_END, _END_OF_FILE}:
            return line
        # A line of a hunk may read so, too, but not the last one of the patch.
        return _END if self.at == self._last and line.strip() == _END else ""

    def peek(self, ahead: int) -> str:
        return self.lines[self.at + ahead] if self.at + ahead < len(self.lines) else ""

    def take(self) -> str:
        self.at += 1
        return self.lines[self.at - 1]

    def added(self, start: int) -> str:
        """The text that the lines from one of them up to here add, to the byte."""
        return "".join(f"{line[1:]}\n" for line in self._written[start : self.at] if line.startswith("+"))

    def skip_blank(self) -> None:
        while not self.is_over and not self.now.strip():
            self.at += 1

    def bad(self, what: str) -> _UnreadableError:
        return _UnreadableError(f"line {min(self.at + 1, len(self.lines))} of the patch: {what}")


# --- the envelope --------------------------------------------------------------------------------------------


def _envelope(reader: _Reader) -> list[FilePatch]:
    reader.take()
    files: list[FilePatch] = []
    while True:
        reader.skip_blank()
        if reader.is_over:
            raise reader.bad(f"it ends without '{_END}'")
        if reader.margin is None:
            reader.margin = reader.now[: -len(reader.now.lstrip())]
        line = reader.mark or reader.now.strip()
        if line == _END:
            reader.take()
            reader.skip_blank()
            if not reader.is_over:
                raise reader.bad(f"there is text after '{_END}'")
            return files
        if line.startswith(_ADD):
            files.append(_added(reader))
        elif line.startswith(_DELETE):
            files.append(FilePatch("delete", _named(reader, _DELETE)))
        elif line.startswith(_UPDATE):
            files.append(_updated(reader))
        else:
            raise reader.bad(
                f"a file must begin here, with '{_ADD}', '{_UPDATE}' or '{_DELETE}', not with {line!r}"
            )


def _named(reader: _Reader, keyword: str) -> str:
    if path := reader.now.strip().removeprefix(keyword).strip():
        reader.take()
        return path
    raise reader.bad("a path is missing")


def _added(reader: _Reader) -> FilePatch:
    path = _named(reader, _ADD)
    start = reader.at
    while not reader.is_over and not reader.mark and not reader.now.startswith("***"):
        if not reader.now.startswith("+"):
            if not reader.now.strip():
                break
            raise reader.bad("every line of a new file begins with +")
        reader.take()
    return FilePatch("add", path, content=reader.added(start))


def _updated(reader: _Reader) -> FilePatch:
    path, to = _named(reader, _UPDATE), None
    if reader.now.removeprefix(reader.margin or "").startswith(_MOVE):
        to = _named(reader, _MOVE)
    hunks: list[PatchHunk] = []
    while not reader.is_over and not reader.mark:
        if hunk := _envelope_hunk(reader):
            hunks.append(hunk)
    if not hunks and to is None:
        raise reader.bad(f"{path} has no hunk")
    return FilePatch("update", path, to, tuple(hunks))


def _envelope_hunk(reader: _Reader) -> PatchHunk | None:
    headers: list[str] = []
    while reader.now.startswith("@@"):
        header = reader.take()[2:].strip()
        if header and not _LOOSE_RANGE.fullmatch(header):  # its line numbers are as good as their author
            headers.append(header.removesuffix("@@").rstrip())
    lines: list[Marked] = []
    at_end = False
    while not reader.is_over and not reader.now.startswith("@@"):
        if reader.mark == _END_OF_FILE:
            reader.take()
            at_end = True
            break
        if reader.mark:
            break
        lines.append(_marked(reader))
    while lines and lines[-1] == Marked(" ", "") and not at_end and _is_blank_before_mark(reader):
        lines.pop()
    if not lines and not headers:
        return None
    if not any(one.mark != " " for one in lines):
        raise reader.bad("a hunk changes nothing: it has no line with + or -")
    return PatchHunk(tuple(lines), headers=tuple(headers), at_end=at_end)


def _is_blank_before_mark(reader: _Reader) -> bool:
    # An empty line between two hunks or files is there for the eye.
    return reader.at > 0 and reader.lines[reader.at - 1] == ""


def _marked(reader: _Reader) -> Marked:
    line = reader.now
    if not line:
        reader.take()
        return Marked(" ", "")
    if line[0] not in " +-":
        raise reader.bad(f"a line of a hunk begins with a space, + or -, not with {line[0]!r}")
    reader.take()
    return Marked("+" if line[0] == "+" else "-" if line[0] == "-" else " ", line[1:])


# --- unified diffs -------------------------------------------------------------------------------------------


def _unified(reader: _Reader) -> list[FilePatch]:
    files: list[FilePatch] = []
    while not reader.is_over:
        if reader.now.startswith("diff --git ") or _is_file_header(reader, 0):
            files.append(_unified_file(reader))
        elif reader.now.startswith("@@ "):
            raise reader.bad("a hunk without a file: the lines '--- a/FILE' and '+++ b/FILE' are missing")
        else:
            reader.take()  # a commit message, or what a tool says about itself
    return files


def _is_file_header(reader: _Reader, ahead: int) -> bool:
    return reader.peek(ahead).startswith("--- ") and reader.peek(ahead + 1).startswith("+++ ")


@dataclass(slots=True)
class _GitHeader:
    """What the lines say that git writes before the header of a file."""

    names: tuple[str, str] = ("", "")
    moved: dict[str, str] = field(default_factory=dict[str, str])
    """The names of a rename, by the keyword before them."""
    created: bool = False
    deleted: bool = False
    is_program: bool = False


def _git_header(reader: _Reader) -> _GitHeader:
    header = _GitHeader(_git_names(reader.take()))
    while not reader.is_over and not _is_file_header(reader, 0) and not _begins_file(reader):
        line = reader.now
        if line.startswith(("old mode ", "new mode ", "copy from ", "GIT binary patch", "Binary files ")):
            raise reader.bad(f"this cannot be done: {line!r}")
        if line.endswith(" mode 120000"):
            raise reader.bad("links cannot be made or deleted")
        if line.startswith("new file mode ") and line[14:] not in _MODES:
            raise reader.bad(f"this cannot be done: {line!r}; a new file has the mode 100644 or 100755")
        header.is_program = header.is_program or line == f"new file mode {_PROGRAM}"
        header.created = header.created or line.startswith("new file ")
        header.deleted = header.deleted or line.startswith("deleted file ")
        for keyword in ("rename from ", "rename to "):
            if line.startswith(keyword):
                header.moved[keyword] = _unquoted(line.removeprefix(keyword))
        if line.startswith("@@ "):
            raise reader.bad("a hunk without a file: the lines '--- a/FILE' and '+++ b/FILE' are missing")
        reader.take()
    return header


def _unified_file(reader: _Reader) -> FilePatch:
    header = _git_header(reader) if _begins_file(reader) else _GitHeader()
    names, moved = header.names, header.moved
    if _is_file_header(reader, 0):
        names = _names(reader.take()[4:], reader.take()[4:])
    elif "rename from " not in moved and not header.created and not header.deleted:
        raise reader.bad("the lines '--- a/FILE' and '+++ b/FILE' are missing")
    old, new = names
    start = reader.at
    hunks = _unified_hunks(reader)
    if "rename from " in moved and "rename to " in moved:
        return FilePatch("update", moved["rename from "], moved["rename to "], hunks)
    if header.created or old == _NOWHERE:
        return FilePatch("add", new, content=_content(reader, start, hunks), is_program=header.is_program)
    if header.deleted or new == _NOWHERE:
        return FilePatch("delete", old, hunks=hunks)
    if old != new:
        raise reader.bad(f"it names two files, {old} and {new}, but does not rename one to the other")
    if not hunks:
        raise reader.bad(f"{old} has no hunk")
    return FilePatch("update", old, hunks=hunks)


def _begins_file(reader: _Reader) -> bool:
    return reader.now.startswith("diff --git ")


def _git_names(line: str) -> tuple[str, str]:
    """The names of `diff --git a/x b/x`, which is the same name twice wherever nothing else tells them."""
    both = line.removeprefix("diff --git ")
    if both.startswith('"'):
        return _names(*both.split('" "', 1)) if '" "' in both else ("", "")
    half = (len(both) - 1) // 2
    return _names(both[:half], both[half + 1 :])


def _names(old: str, new: str) -> tuple[str, str]:
    old, new = (_unquoted(name.partition("\t")[0].strip()) for name in (old, new))
    with_letters = (old.startswith("a/") or old == _NOWHERE) and (new.startswith("b/") or new == _NOWHERE)
    return (old.removeprefix("a/"), new.removeprefix("b/")) if with_letters else (old, new)


def _unquoted(name: str) -> str:
    """A name as git quotes it where it has unusual characters."""
    if len(name) < 2 or not (name.startswith('"') and name.endswith('"')):
        return name

    def plain(found: re.Match[bytes]) -> bytes:
        escape = found[1]
        return bytes([int(escape, 8) & 0xFF]) if escape.isdigit() else _ESCAPES.get(escape, escape)

    return _ESCAPE.sub(plain, name[1:-1].encode()).decode("utf-8", "replace")


def _unified_hunks(reader: _Reader) -> tuple[PatchHunk, ...]:
    hunks: list[PatchHunk] = []
    while reader.now.startswith("@@"):
        found = _RANGE.match(reader.now)
        if found is None:
            raise reader.bad("a hunk begins with '@@ -LINE,COUNT +LINE,COUNT @@'")
        reader.take()
        counts = (int(found[2] or 1), int(found[4] or 1))
        hunks.append(_body(reader, int(found[1]), _as_counted(reader, *counts)))
    return tuple(hunks)


def _as_counted(reader: _Reader, old: int, new: int) -> int | None:
    """How many lines the hunk has by its counts; None if they are wrong."""
    ahead = 0
    while old > 0 or new > 0:
        if reader.at + ahead >= len(reader.lines):
            return None
        mark = reader.peek(ahead)[:1] or " "
        if mark not in " +-\\":
            return None
        old, new = old - (mark in " -"), new - (mark in " +")
        ahead += 1
    if reader.peek(ahead).startswith("\\"):
        ahead += 1
    following = reader.peek(ahead)
    is_end = not following or following.startswith(("@@", "diff --git ")) or _is_file_header(reader, ahead)
    return ahead if (old, new) == (0, 0) and (is_end or following[0] not in " +-") else None


def _body(reader: _Reader, line: int, counted: int | None) -> PatchHunk:
    end = None if counted is None else reader.at + counted
    lines: list[Marked] = []
    unended: set[str] = set()
    while not reader.is_over and (reader.at < end if end is not None else _is_in_hunk(reader)):
        if reader.now.startswith("\\"):
            reader.take()
            unended |= {"-", "+"} if not lines or lines[-1].mark == " " else {lines[-1].mark}
        else:
            lines.append(_marked(reader))
    while end is None and lines and lines[-1] == Marked(" ", "") and reader.lines[reader.at - 1] == "":
        lines.pop()
        reader.at -= 1
    reader.skip_blank()
    if not lines:
        raise reader.bad("a hunk has no lines")
    return PatchHunk(
        tuple(lines),
        line=line,
        at_end="-" in unended,
        ends="+" not in unended if unended else None,
    )


def _is_in_hunk(reader: _Reader) -> bool:
    return not reader.now.startswith(("@@", "diff --git ")) and not _is_file_header(reader, 0)


def _content(reader: _Reader, start: int, hunks: Sequence[PatchHunk]) -> str:
    if any(one.mark != "+" for hunk in hunks for one in hunk.lines):
        raise reader.bad("every line of a new file begins with +")
    content = reader.added(start)
    return content.removesuffix("\n") if hunks and hunks[-1].ends is False else content


_MOST_REASONS: Final = 20
"""Hunks that do not fit, or not exactly, and are named."""
_EXPLAINED: Final = 3
"""Hunks of which the nearest lines are looked for."""


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
    placed = _Placed()
    notes: list[str] = []
    reasons: list[str] = []
    for number, hunk in enumerate(hunks, start=1):
        name = f"hunk {number}" if len(hunks) > 1 else "the hunk"
        try:
            found = _place(there, hunk, name, placed, is_explained=len(reasons) < _EXPLAINED)
        except TooMuchWorkError:
            reasons.append(
                f"{name} and those before it match in too many places. Add unique context lines around "
                "the change, or use several smaller patches."
            )
            break
        if isinstance(found, str):
            reasons.append(found)
            if len(reasons) == _MOST_REASONS and number < len(hunks):
                reasons.append(f"The {len(hunks) - number} hunks after hunk {number} were not checked.")
                break
            continue
        window, note = found
        placed.add(window, hunk)
        notes += [f"{name} {note}"] if note else []
    if len(notes) > _MOST_REASONS:
        notes[_MOST_REASONS:] = [
            f"{len(notes) - _MOST_REASONS} more hunks were not found exactly as written."
        ]
    return Unfit(tuple(reasons)) if reasons else _put_in(there, placed.hunks, tuple(notes))


class _Placed:
    """The hunks that have their place, in the order of the patch."""

    def __init__(self) -> None:
        self.hunks: list[tuple[Window, PatchHunk]] = []
        self._taken: list[tuple[int, int]] = []
        """The lines that are replaced, from top to bottom: they do not overlap."""
        self._points: list[int] = []
        """Where lines are put in between others."""

    def add(self, window: Window, hunk: PatchHunk) -> None:
        self.hunks.append((window, hunk))
        if window.start < window.end:
            insort(self._taken, (window.start, window.end))
        else:
            insort(self._points, window.start)

    @property
    def end(self) -> int:
        """Where the hunk before ends."""
        return self.hunks[-1][0].end if self.hunks else 0

    def leaves(self, window: Window) -> bool:
        """Whether no hunk takes something of a window."""
        before = bisect_left(self._taken, (window.end, 0)) - 1
        if before >= 0 and self._taken[before][1] > window.start:
            return False
        point = bisect_right(self._points, window.start)
        return point == len(self._points) or self._points[point] >= window.end


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
    there: Text, hunk: PatchHunk, name: str, placed: _Placed, *, is_explained: bool
) -> tuple[Window, str] | str:
    """Where a hunk belongs, and what is to be said of it; a text says why it is not known."""
    if not hunk.old:
        return _place_insertion(there, hunk, name)
    found = find(there, hunk.old)
    if not found.windows:
        return explain_miss(there.lines, hunk.old, name) if is_explained else f"{name} was not found"
    windows = _fitting(there, hunk, found.windows, placed)
    if not windows:
        return f"{name} overlaps another hunk, at line {found.windows[0].start + 1}"
    if len(windows) > 1:
        return (
            f"{name} fits at {len(windows)} places; give it more lines around the change, or an @@ line:\n"
            f"{several(there.lines, [one.start for one in windows])}"
        )
    (window,) = windows
    how = found_how(found.layer)
    if not how:
        return window, ""
    return window, f"was found {how}. It replaced:\n{numbered(there.lines, window.start, window.end)}"


def _fitting(there: Text, hunk: PatchHunk, windows: Sequence[Window], placed: _Placed) -> list[Window]:
    """Those of the windows that the hunk can be meant for: one, none that is left, or several."""
    if hunk.at_end and windows[-1].end == len(there.lines) and placed.leaves(windows[-1]):
        return [windows[-1]]
    if hunk.headers and (below := _below(there, hunk.headers, windows, placed)):
        windows = below
    # Hunks stand in the order of the file.
    first_below = bisect_left(windows, placed.end, key=lambda one: one.start) if placed.hunks else 0
    below = list(islice(_left(there, windows, first_below, placed), 2))
    if len(below) == 1:
        return below
    return list(_left(there, windows, 0, placed))


def _left(there: Text, windows: Sequence[Window], start: int, placed: _Placed) -> Iterator[Window]:
    """The windows, from one of them on, of which no hunk takes anything."""
    for number in range(start, len(windows)):
        there.spend(1)
        if placed.leaves(windows[number]):
            yield windows[number]


def _place_insertion(there: Text, hunk: PatchHunk, name: str) -> tuple[Window, str] | str:
    length = len(there.lines)
    if hunk.at_end or not there.lines:
        return Window(length, length, SAME), ""
    if hunk.line is None and not hunk.headers:
        return Window(
            length, length, SAME
        ), "only adds lines and has no context: they were added at the end of the file."
    if hunk.headers and (at := _headers(there, hunk.headers)):
        if len(at) > 1:
            return f"{name} fits below {len(at)} places:\n{several(there.lines, at)}"
        return Window(at[0] + 1, at[0] + 1, SAME), ""
    return f"{name} only adds lines; add context lines that show where"


def _below(there: Text, headers: Sequence[str], windows: Sequence[Window], placed: _Placed) -> list[Window]:
    """The windows that are the first ones left below the lines that are named, from top to bottom."""
    found: dict[Window, None] = {}
    for at in _headers(there, headers):
        start = bisect_left(windows, at, key=lambda one: one.start)
        if (window := next(_left(there, windows, start, placed), None)) is not None:
            found[window] = None
    return list(found)


def _headers(there: Text, headers: Sequence[str]) -> list[int]:
    """Where the last of these lines stands, each below the one before; the lines from 0."""

    def named(header: str) -> Sequence[int]:
        found = there.stripped.places(header.strip()) or there.stripped.places_of_beginning(header.strip())
        there.spend(len(found) + 1)
        return found

    places = list(named(headers[0]))
    for header in headers[1:]:
        deeper = named(header)
        below = (bisect_right(deeper, at) for at in places)
        places = list(dict.fromkeys(deeper[number] for number in below if number < len(deeper)))
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
                (f"this line cannot be dedented as far as line {window.start + 1} requires: {put!r}",)
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
