"""Reading patches, in the two forms that models write: the envelope, and the unified diff, git's headers included.

It reads what is there and looks at no file. What it cannot read it says, with the line of the patch.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from outrider.workspace.matching.blocks import Marked

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
    return found or PatchProblem(f"it holds no file: {HELP}")


class _Reader:
    """The lines of a patch, from top to bottom."""

    def __init__(self, written: Sequence[str]) -> None:
        self.lines = [line.removesuffix("\r") for line in written]
        self.at = 0
        # A patch that ends its own lines so says nothing of the files in it.
        is_own = next((line for line in written if line.strip()), "").endswith("\r")
        self._written = self.lines if is_own else written

    @property
    def is_over(self) -> bool:
        return self.at >= len(self.lines)

    @property
    def now(self) -> str:
        return "" if self.is_over else self.lines[self.at]

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
        line = reader.now.rstrip()
        if line == _END:
            reader.take()
            reader.skip_blank()
            if not reader.is_over:
                raise reader.bad(f"something follows '{_END}'")
            return files
        if line.startswith(_ADD):
            files.append(_added(reader))
        elif line.startswith(_DELETE):
            files.append(FilePatch("delete", _named(reader, _DELETE)))
        elif line.startswith(_UPDATE):
            files.append(_updated(reader))
        else:
            raise reader.bad(
                f"here begins a file, with '{_ADD}', '{_UPDATE}' or '{_DELETE}', not with {line!r}"
            )


def _named(reader: _Reader, keyword: str) -> str:
    if path := reader.now.removeprefix(keyword).strip():
        reader.take()
        return path
    raise reader.bad("a path is missing")


def _added(reader: _Reader) -> FilePatch:
    path = _named(reader, _ADD)
    start = reader.at
    while not reader.is_over and not reader.now.startswith("***"):
        if not reader.now.startswith("+"):
            if not reader.now.strip():
                break
            raise reader.bad("every line of a new file begins with +")
        reader.take()
    return FilePatch("add", path, content=reader.added(start))


def _updated(reader: _Reader) -> FilePatch:
    path, to = _named(reader, _UPDATE), None
    if reader.now.startswith(_MOVE):
        to = _named(reader, _MOVE)
    hunks: list[PatchHunk] = []
    while not reader.is_over and not _is_envelope_mark(reader.now):
        if hunk := _envelope_hunk(reader):
            hunks.append(hunk)
    if not hunks and to is None:
        raise reader.bad(f"{path} has no hunk")
    return FilePatch("update", path, to, tuple(hunks))


def _is_envelope_mark(line: str) -> bool:
    return line.startswith((_ADD, _UPDATE, _DELETE)) or line.rstrip() == _END


def _envelope_hunk(reader: _Reader) -> PatchHunk | None:
    headers: list[str] = []
    while reader.now.startswith("@@"):
        header = reader.take()[2:].strip()
        if header and not _LOOSE_RANGE.fullmatch(header):  # its line numbers are as good as their author
            headers.append(header.removesuffix("@@").rstrip())
    lines: list[Marked] = []
    at_end = False
    while not reader.is_over and not reader.now.startswith("@@") and not _is_envelope_mark(reader.now):
        if reader.now.rstrip() == _END_OF_FILE:
            reader.take()
            at_end = True
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


def _unified_file(reader: _Reader) -> FilePatch:
    moved: dict[str, str] = {}
    is_git = reader.now.startswith("diff --git ")
    created = deleted = is_program = False
    if is_git:
        names = _git_names(reader.take())
        while not reader.is_over and not _is_file_header(reader, 0) and not _begins_file(reader):
            line = reader.now
            if line.startswith(("old mode ", "new mode ", "copy from ", "GIT binary patch", "Binary files ")):
                raise reader.bad(f"this cannot be done: {line!r}")
            if line.endswith(" mode 120000"):
                raise reader.bad("links cannot be made or deleted")
            if line.startswith("new file mode ") and line[14:] not in _MODES:
                raise reader.bad(f"this cannot be done: {line!r}; a new file has the mode 100644 or 100755")
            is_program = is_program or line == f"new file mode {_PROGRAM}"
            created, deleted = (
                created or line.startswith("new file "),
                deleted or line.startswith("deleted file "),
            )
            for keyword in ("rename from ", "rename to "):
                if line.startswith(keyword):
                    moved[keyword] = _unquoted(line.removeprefix(keyword))
            if line.startswith("@@ "):
                raise reader.bad("a hunk without a file: the lines '--- a/FILE' and '+++ b/FILE' are missing")
            reader.take()
    else:
        names = ("", "")
    if _is_file_header(reader, 0):
        names = _names(reader.take()[4:], reader.take()[4:])
    elif "rename from " not in moved and not created and not deleted:
        raise reader.bad("the lines '--- a/FILE' and '+++ b/FILE' are missing")
    old, new = names
    start = reader.at
    hunks = _unified_hunks(reader)
    if "rename from " in moved and "rename to " in moved:
        return FilePatch("update", moved["rename from "], moved["rename to "], hunks)
    if created or old == _NOWHERE:
        return FilePatch("add", new, content=_content(reader, start, hunks), is_program=is_program)
    if deleted or new == _NOWHERE:
        return FilePatch("delete", old, hunks=hunks)
    if old != new:
        raise reader.bad(f"it names two files, {old} and {new}, and does not say that one is renamed")
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
