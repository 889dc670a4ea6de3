"""The document in which changes are reviewed, before they are made or after: what it says, and what the user made of it.

It is text that they write in. What is not clear in it is said with its line, and never guessed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from outrider.workspace.edits.review import Proposed
from outrider.workspace.text.diff import LineHunk
from outrider.workspace.text.lines import split_lines
from outrider_protocol.events import ReviewedHunk

AROUND = 3
"""Lines around a hunk that are shown."""
NO_END = "\\ No newline at end of file"
REASON = "reason:"
APPLY = "apply the review"
"""How the title of the action begins."""
MOST_SAID = 12
"""Lines of a question that stand above its diff and in a document."""
MOST_GONE = 50
"""Hunks that are not in place any more that a document names."""
LEAVE_OUT = "undo what is left out"
"""How that of the action begins for changes that were made."""

_HEAD = re.compile(r"\[(?P<mark>[^\]]*)\]\s+(?P<id>\S+)")
_TAKE, _LEAVE = frozenset({"x", "X"}), frozenset({"", " "})

_HELP = f"""\
# [x] accepts a change, [ ] rejects it. After “{REASON}” you can give a reason.
# Lines with + are inserted: edit them as you want, each with its +.
# Then take the code action “{APPLY}” in this document."""

_HELP_AFTER = f"""\
# [x] keeps a change, [ ] undoes it.
# Then take the code action “{LEAVE_OUT}” in this document."""


@dataclass(frozen=True, slots=True)
class UnderReview:
    """An edit that waits for the user, or what a turn changed."""

    title: str
    changes: tuple[Proposed, ...]
    texts: Mapping[str, str]
    """The text that each change was worked out for, by its id; of one that was made the text as it is now."""
    is_made: bool = False
    """Whether the changes were made, so that they can only be kept or undone."""
    together: bool = False
    """Whether they are several edits of one step, which are decided about together."""
    said: Sequence[str] = ()
    """What the question says above its diffs: what it would break, what to be careful of."""
    gone: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of changes that were made: hunks that are not in place any more, by their ids: where they were, and why they are not."""

    def had(self, name: str) -> bool:
        """Whether a hunk is one of a change that was made, in place or not."""
        changes = {one.rpartition("#")[0] for one in self.gone} | {one.change_id for one in self.changes}
        return self.is_made and name.rpartition("#")[0] in changes

    def bodies(self) -> "Iterator[tuple[str, str, _Body]]":
        """Each hunk: its id, its place in words, its lines."""
        for change in self.changes:
            for name, hunk in zip(change.ids, change.hunks, strict=True):
                text = self.texts.get(change.change_id, "")
                yield name, change.where(hunk), _Body(change, hunk, text, is_made=self.is_made)


def above_the_diff(detail: str) -> list[str]:
    """The lines of a question's detail that come before its first diff."""
    lines = detail.split("\n")
    first = next((number for number, line in enumerate(lines) if line.startswith("--- ")), 0)
    return lines[:first][:MOST_SAID]


@dataclass(frozen=True, slots=True)
class Unclear:
    """What in the document says nothing, and where."""

    message: str


def written(edit: UnderReview, before: str = "") -> str:
    """The document as it is at first: all is taken.

    Args:
        edit: What it is about.
        before: The document as it is so far: what is left out in it still is.
    """
    left_out = {block.name for block in _blocks(before) if isinstance(block, _Block) and block.mark in _LEAVE}
    parts = [f"# {_one_line(edit.title)}\n#\n{_HELP_AFTER if edit.is_made else _HELP}\n"]
    if edit.said:
        parts[0] += "\n".join(["#", *(f"# {_one_line(one)}" for one in edit.said)]) + "\n"
    if edit.gone:
        told = [f"# - {_one_line(why)}" for why in list(edit.gone.values())[:MOST_GONE]]
        more = len(edit.gone) - len(told)
        told += [f"# - {more} more"] if more else []
        parts[0] += "\n".join(["#", "# Not here, as it is not in place as Outrider wrote it:", *told]) + "\n"
    for name, where, body in edit.bodies():
        mark = " " if name in left_out else "x"
        lines = [f"[{mark}] {name} {_one_line(where)}", *([] if edit.is_made else [REASON]), *body.lines()]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def read(text: str, edit: UnderReview) -> list[ReviewedHunk] | Unclear:
    """What the user decided: the hunks that are not simply taken.

    Of changes that were made those that are gone count as well: who undoes them says why they cannot be.

    Args:
        text: The document as it is now.
        edit: What it is about.
    """
    bodies = {name: body for name, _, body in edit.bodies()}
    decided: dict[str, ReviewedHunk | None] = {}
    for block in _blocks(text):
        if isinstance(block, Unclear):
            return block
        if block.name not in bodies and not edit.had(block.name):
            return Unclear(f"line {block.number}: there is no change {block.name}")
        if block.name in decided:
            return Unclear(f"line {block.number}: {block.name} appears twice")
        one = block.left_out(bodies.get(block.name)) if edit.is_made else block.decided(bodies[block.name])
        if isinstance(one, Unclear):
            return one
        decided[block.name] = one
    if missing := [name for name in bodies if name not in decided]:
        return Unclear(f"{missing[0]} is missing; [ ] rejects a change")
    return [one for one in decided.values() if one is not None]


class _Body:
    """The lines of a hunk, as they stand in the document."""

    def __init__(self, change: Proposed, hunk: LineHunk, text: str, *, is_made: bool) -> None:
        lines, first = split_lines(text), hunk.line - 1
        last = first + len(split_lines(hunk.added if is_made else hunk.removed))
        self.takes_text = change.operation in {"edit", "create"} and not is_made
        self.above = _marked(" ", lines[max(0, first - AROUND) : first] if change.operation == "edit" else [])
        self.removed = _marked("-", split_lines(hunk.removed))
        self.added = _marked("+", split_lines(hunk.added))
        self.below = _marked(" ", lines[last : last + AROUND] if change.operation == "edit" else [])

    def lines(self) -> list[str]:
        """All of them."""
        return [*self.above, *self.removed, *self.added, *self.below]


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands below the mark of a hunk."""

    number: int
    """The line of its mark, from 1."""
    mark: str
    name: str
    lines: list[str]

    def decided(self, body: _Body) -> ReviewedHunk | Unclear | None:
        """What the user decided; None where it is simply taken."""
        if self.mark not in _TAKE | _LEAVE:
            return Unclear(f"line {self.number}: [x] accepts it and [ ] rejects it, but it has [{self.mark}]")
        said = list(takewhile(lambda line: line.startswith(REASON), self.lines))
        reason = "\n".join(filter(None, (line.removeprefix(REASON).strip() for line in said))) or None
        added = self._added(len(said), body)
        if isinstance(added, Unclear):
            return added
        if self.mark in _LEAVE:
            if added != body.added:
                return Unclear(f"line {self.number}: {self.name} is rejected, but its lines were edited")
            return ReviewedHunk(id=self.name, decision="reject", reason=reason)
        text = None if added == body.added else _text(added)
        return (
            ReviewedHunk(id=self.name, decision="take", reason=reason, text=text)
            if reason or text is not None
            else None
        )

    def left_out(self, body: _Body | None) -> ReviewedHunk | Unclear | None:
        """What the user decided about a change that was made; None where it is kept.

        The lines around it may have changed since it was shown; they are not compared.
        """
        if self.mark not in _TAKE | _LEAVE:
            return Unclear(f"line {self.number}: [x] keeps it and [ ] undoes it, but it has [{self.mark}]")
        if body is not None:
            marked = [line for line in self.lines if line.startswith(("-", "+"))]
            shown = [line for line in (*body.removed, *body.added) if line != NO_END]
            if [line.rstrip() for line in marked] != [line.rstrip() for line in shown]:
                return Unclear(f"line {self.number}: {self.name} can be kept or undone, but not edited")
        return ReviewedHunk(id=self.name, decision="reject") if self.mark in _LEAVE else None

    def _added(self, start: int, body: _Body) -> list[str] | Unclear:
        """The lines with + as they are now; all others must be as they were."""
        at = self._passed(start, [*body.above, *body.removed])
        if isinstance(at, Unclear):
            return at
        added = list(takewhile(lambda line: line.startswith(("+", "\\")), self.lines[at:]))
        if NO_END in added[:-1] or any(line.startswith("\\") and line != NO_END for line in added):
            return Unclear(f"{self._line(at)}: “{NO_END}” belongs below the last line with +")
        if added != body.added and not body.takes_text:
            return Unclear(f"{self._line(at)}: {self.name} can be accepted or rejected, but not edited")
        end = self._passed(at + len(added), body.below)
        if isinstance(end, Unclear):
            return end
        if left := [number for number, line in enumerate(self.lines[end:], end) if line.strip()]:
            return Unclear(f"{self._line(left[0])}: only lines with + may be edited; keep the others")
        return added

    def _passed(self, at: int, expected: Sequence[str]) -> int | Unclear:
        for line in expected:
            # Editors take away spaces at the end of a line.
            here = self.lines[at] if at < len(self.lines) else ""
            if here.rstrip() != line.rstrip():
                return Unclear(f"{self._line(at)}: only lines with + may be edited; this one was “{line}”")
            at += 1
        return at

    def _line(self, index: int) -> str:
        return f"line {self.number + 1 + index}"


def _blocks(text: str) -> Iterator[_Block | Unclear]:
    block: _Block | None = None
    for number, whole in enumerate(split_lines(text), 1):
        line = whole.rstrip("\r\n")
        if line.startswith("["):
            if block is not None:
                yield block
            head = _HEAD.match(line)
            if head is None:
                yield Unclear(f"line {number}: a change begins with [x] or [ ] and its id")
                return
            block = _Block(number, head["mark"], head["id"], [])
        elif block is not None:
            block.lines.append(line)
        elif line.strip() and not line.startswith("#"):
            yield Unclear(f"line {number}: it belongs to no change")
            return
    if block is not None:
        yield block


def _marked(mark: str, lines: Sequence[str]) -> list[str]:
    marked = [mark + line.rstrip("\r\n").encode("utf-8", "replace").decode() for line in lines]
    return [*marked, NO_END] if lines and not lines[-1].endswith(("\n", "\r")) else marked


def _text(added: Sequence[str]) -> str:
    lines = [line[1:] for line in added if line != NO_END]
    return "\n".join(lines) + ("\n" if lines and NO_END not in added else "")


def _one_line(text: str) -> str:
    return " ".join(text.split())
