"""What a user decided about an edit hunk by hunk: which are taken, left out, or put in in other words.

The decisions belong to hunks as they were proposed. They are brought into the edit as it is worked out later by the
text of the hunks, never by their lines; where those are others by then, nothing is guessed, and the user is asked anew.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from outrider.ports.secrets import PLACEHOLDER, originals
from outrider.workspace.edits.change import Change
from outrider.workspace.history.records import hunk_id
from outrider.workspace.text.diff import LineHunk, unified
from outrider.workspace.text.lines import split_lines
from outrider_protocol.events import EditProposed, Operation, ReviewedHunk

MOST_TOLD = 4000
"""Characters of one hunk that the model is told of."""
MOST_TOLD_IN_ALL = 20_000
"""Characters beyond which further hunks are only named."""

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ReviewProblem:
    """Why a review cannot be taken."""

    message: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """A change as it was proposed."""

    change_id: str
    path: str
    operation: Operation
    to: str | None
    hunks: tuple[LineHunk, ...]
    """For anything but an edit the whole file, which is one."""
    numbers: tuple[int, ...] = ()
    """Their numbers, where they are not all that there are, from 1."""

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:
        """That of the data of an `edit.proposed`."""
        event = EditProposed.from_wire(dict(data))
        hunks = tuple(LineHunk(one.line, one.removed, one.added) for one in event.hunks)
        if event.operation != "edit" and not hunks:
            hunks = (LineHunk(1, "", ""),)
        return cls(event.change_id, event.path, event.operation, event.to, hunks)

    @property
    def ids(self) -> list[str]:
        """The ids of its hunks, in order."""
        return [hunk_id(self.change_id, number) for number in self.numbers or range(1, len(self.hunks) + 1)]

    def where(self, hunk: LineHunk) -> str:
        """The place of a hunk, in words."""
        match self.operation:
            case "edit":
                return f"{self.path} line {hunk.line}"
            case "rename":
                return f"the renaming of {self.path} to {self.to}"
            case "create":
                return f"the new file {self.path}"
            case "delete":
                return f"the deletion of {self.path}"


@dataclass(frozen=True, slots=True)
class Review:
    """The decisions about all hunks of changes that were proposed together."""

    changes: tuple[Proposed, ...]
    decided: Mapping[str, ReviewedHunk]
    """By the id of the hunk; one that is not there is taken."""
    note: str | None = None
    """What was said about all of it."""

    @classmethod
    def read(
        cls,
        proposed: Iterable[Mapping[str, Any]],
        decided: Sequence[ReviewedHunk],
        note: str | None = None,
        *,
        rejected: bool = False,
    ) -> "Review | ReviewProblem":
        """Put together what was proposed and what was decided.

        Args:
            proposed: The data of each `edit.proposed`.
            decided: The decisions.
            note: What was said about all of it.
            rejected: Whether all of it is rejected, so that there can only be reasons.
        """
        changes = tuple(Proposed.of(data) for data in proposed)
        known = {one: change for change in changes for one in change.ids}
        for name, count in Counter(one.id for one in decided).items():
            if name not in known:
                return ReviewProblem(f"there is no hunk {name!r} in it; there are {', '.join(known)}")
            if count > 1:
                return ReviewProblem(f"{name} is in it {count} times")
        for one in decided:
            operation = known[one.id].operation
            if one.decision == "take" and rejected:
                return ReviewProblem(f"{one.id} cannot be accepted when the whole edit is rejected")
            if one.text is not None and one.decision == "reject":
                return ReviewProblem(f"{one.id} is rejected, so it cannot have an edited text")
            if one.text is not None and operation in {"delete", "rename"}:
                return ReviewProblem(
                    f"{one.id} is to {operation} a file: it can be accepted or rejected, but not edited"
                )
        return cls(changes, {one.id: one for one in decided}, note)

    @property
    def takes_nothing(self) -> bool:
        """Whether every hunk is rejected."""
        return not any(self.keeps(change.change_id) for change in self.changes)

    def keeps(self, change_id: str) -> bool:
        """Whether something of a change is taken."""
        (change,) = [one for one in self.changes if one.change_id == change_id]
        return any(not self._is_rejected(name) for name in change.ids)

    def why_not(self, change_id: str) -> str:
        """Why a change does not happen, as its event says it."""
        (change,) = [one for one in self.changes if one.change_id == change_id]
        if self.keeps(change_id):
            return "the review rejected all of it"
        reasons = [self.decided[name].reason for name in change.ids]
        said = "; ".join(dict.fromkeys(reason for reason in reasons if reason))
        return f"the user rejected it: {said}" if said else "the user rejected it"

    def amended(self, changes: Sequence[tuple[str, Change]]) -> list[tuple[str, Change]] | None:
        """Changes with the decisions in them, without those that come to nothing; None where they do not fit.

        What is done to a file after a renaming that is rejected is done to it where it is.

        Args:
            changes: The changes as they are worked out now, under the ids they were proposed by.
        """
        left: list[tuple[str, Change]] = []
        stays = {
            change.to.uri: change.located
            for change_id, change in changes
            if change.to is not None and not self.keeps(change_id)
        }
        for was, (change_id, change) in zip(self.changes, changes, strict=True):
            hunks = change.difference.hunks
            if not _is_same(was, change, hunks):
                return None
            if not self.keeps(change_id):
                continue
            if change.operation in {"edit", "create"}:
                after = self._after(was, change, hunks)
                if after == change.before:
                    continue
                place = stays.get(change.located.uri, change.located)
                left.append((change_id, replace(change, located=place, after=after)))
            else:
                left.append((change_id, change))
        if len(left) < len(changes):
            # A folder stays with what stays in it.
            left = [(change_id, replace(change, folder=None)) for change_id, change in left]
        return left

    def told(self, *, done: bool = True) -> str:
        """What was decided, for the model; empty if all was taken without a word.

        Args:
            done: Whether the edit was made so; else nothing was taken.
        """
        said: list[str] = []
        taken: list[str] = []
        room = MOST_TOLD_IN_ALL
        for change in self.changes:
            plain: list[LineHunk] = []
            for name, hunk in zip(change.ids, change.hunks, strict=True):
                one = self.decided.get(name)
                if one is None or (one.decision == "take" and one.text is None and not one.reason):
                    plain.append(hunk)
                    continue
                said.append(_said(change, hunk, one, shown=room > 0, done=done))
                room -= len(said[-1])
            if len(plain) > 1:
                taken.append(f"{change.path} lines {', '.join(str(hunk.line) for hunk in plain)}")
            elif plain:
                taken.append(change.where(plain[0]))
        said += [f"- the user said: {self.note}"] if self.note else []
        taken = [f"- accepted as proposed: {where}" for where in taken] if done else []
        return "\n".join([*said, *taken]) if said else ""

    def reasons(self) -> str:
        """What was said about single hunks, for the model; empty if nothing was."""
        said = [
            f"- {change.where(hunk)}: {self.decided[name].reason}"
            for change in self.changes
            for name, hunk in zip(change.ids, change.hunks, strict=True)
            if name in self.decided and self.decided[name].reason
        ]
        return "\n".join(said)

    def _is_rejected(self, name: str) -> bool:
        one = self.decided.get(name)
        return one is not None and one.decision == "reject"

    def _after(self, was: Proposed, change: Change, hunks: Sequence[LineHunk]) -> str:
        before = change.before or ""
        lines, position = split_lines(before), 0
        parts: list[str] = []
        for name, was_hunk, hunk in zip(was.ids, was.hunks, hunks or was.hunks, strict=True):
            parts += lines[position : hunk.line - 1]
            position = hunk.line - 1 + len(split_lines(hunk.removed))
            one = self.decided.get(name)
            if one is None or (one.decision == "take" and one.text is None):
                parts.append(hunk.added)
            elif one.decision == "reject":
                parts.append(hunk.removed)
            else:
                text = _with_originals(one.text or "", was_hunk, hunk)
                parts.append(fitted(text, hunk, before, is_last=position >= len(lines)))
        return "".join((*parts, *lines[position:]))


def _said(change: Proposed, hunk: LineHunk, one: ReviewedHunk, *, shown: bool, done: bool) -> str:
    reason = f", because: {one.reason}" if one.reason else ""
    if one.decision == "reject":
        diff = _shown(hunk.removed, hunk.added) if shown else ""
        return f"- rejected: {change.where(hunk)}{reason}{diff}"
    if one.text is None:
        what = "accepted as proposed" if done else "they would accept as proposed"
        return f"- {what}: {change.where(hunk)}; they said: {one.reason}"
    if not done:
        diff = _shown(_plain(hunk.added), _plain(fitted(one.text, hunk, "", is_last=False))) if shown else ""
        return f"- they would amend: {change.where(hunk)}{reason}; what you proposed (-) and what they want (+):{diff}"
    if not shown:
        return f"- amended: {change.where(hunk)}{reason}; read the file"
    diff = _shown(_plain(hunk.added), _plain(fitted(one.text, hunk, "", is_last=False)))
    return f"- amended: {change.where(hunk)}{reason}; what you proposed (-) and what is there now (+):{diff}"


def fitted(text: str, hunk: LineHunk, before: str, *, is_last: bool) -> str:
    """A text of the user as whole lines of a file.

    Args:
        text: What they wrote, in whatever line ends.
        hunk: What it is written into; line ends are as there.
        before: The whole text; line ends are as there, where the hunk has none.
        is_last: Whether nothing follows.
    """
    found = next((m for t in (hunk.removed, hunk.added, before) if (m := _LINE_END.search(t))), None)
    end = found[0] if found else "\n"
    lines = _LINE_END.sub(lambda _: end, text)
    ends_open = is_last and not hunk.added.endswith(("\n", "\r"))
    return lines if not lines or lines.endswith(end) or ends_open else lines + end


def _is_same(was: Proposed, change: Change, hunks: Sequence[LineHunk]) -> bool:
    to = change.to.display if change.to is not None else None
    if (was.operation, was.path, was.to) != (change.operation, change.located.display, to):
        return False
    now = [(hunk.removed, hunk.added) for hunk in hunks]
    if change.operation != "edit":
        now = now or [("", "")]
    shown = [(hunk.removed, hunk.added) for hunk in was.hunks]
    # What was shown has placeholders where the text has secrets.
    return len(shown) == len(now) and all(
        originals(one, other) is not None
        for pair, exact in zip(shown, now, strict=True)
        for one, other in zip(pair, exact, strict=True)
    )


def _with_originals(text: str, shown: LineHunk, exact: LineHunk) -> str:
    """A text of the user with the secrets of the hunk that they wrote it for, where they left the placeholders."""
    found = {
        **(originals(shown.removed, exact.removed) or {}),
        **(originals(shown.added, exact.added) or {}),
    }
    return PLACEHOLDER.sub(lambda match: found.get(match.group(), match.group()), text)


def _shown(before: str, after: str) -> str:
    """A small diff, below what it belongs to; cut where it is long."""
    lines = unified(before, after, "").split("\n")[3:-1]
    shown = "".join(f"\n  {line}" for line in lines)
    return shown if len(shown) <= MOST_TOLD else f"{shown[:MOST_TOLD]}\n  […]"


def _plain(text: str) -> str:
    return _LINE_END.sub("\n", text)
