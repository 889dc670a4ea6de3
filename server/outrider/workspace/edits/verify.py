"""What became of an edit that a client was sent, judged by the texts that its document went through. Pure.

A client may apply it, leave it out, apply a part of it, or put it in where its places were before somebody typed.
Its answer says nothing of that; the texts do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from outrider.ports.text import Hunk, PlacedEdit
from outrider.workspace.text.diff import apply_hunks, text_hunks
from outrider.workspace.text.lines import Encoding, Lines
from outrider.workspace.text.merge import merge

MOST_TEXTS = 50
"""Texts between the sending and the end that are kept: the first ones, as an edit is applied soon or not at all."""


def before_the_end(text: str, hunks: Sequence[Hunk]) -> list[Hunk]:
    """Hunks that leave the same text, but touch the place after its last line end only where there is no other way.

    For an editor without a line there (Vim counts none after the last line end), Neovim 0.10 and 0.11 add an empty line,
    or leave one.
    """
    line_end = "\r\n" if text.endswith("\r\n") else "\n"
    if not hunks or hunks[-1].end < len(text) or not text.endswith(line_end):
        return list(hunks)
    *others, last = hunks
    size = len(line_end)
    start, end, new = last.start, last.end - size, last.new
    if line_end == "\n" and new.endswith("\r\n"):
        return list(hunks)  # half of its line end would be left
    if new.endswith(line_end) and last.start <= end:
        new = new[:-size]
    elif (new.endswith(line_end) or not new) and text.endswith(line_end, 0, last.start):
        start, new = last.start - size, f"{line_end}{new}"[: len(new)]
    else:
        return list(hunks)
    if others and others[-1].end >= start:
        first = others.pop()
        start, new = first.start, first.new + text[first.end : start] + new
    return [*others, Hunk(start, end, text[start:end], new)]


def places_of(text: str, hunks: Sequence[Hunk], encoding: Encoding) -> list[PlacedEdit]:
    """Hunks of a text as they are sent."""
    lines = Lines(text)
    return [
        PlacedEdit(lines.place_of(hunk.start, encoding), lines.place_of(hunk.end, encoding), hunk.new)
        for hunk in hunks
    ]


@dataclass(frozen=True, slots=True)
class Misplaced:
    """An edit that was put in where its places were before somebody typed, or a part of one."""

    typed: str
    """The text that it was put into."""
    after: str
    """The text that it left."""


class Landing:
    """One edit on its way: tell it every text of the document, and it says what became of the edit."""

    def __init__(
        self,
        before: str,
        planned: str,
        hunks: Sequence[Hunk],
        edits: Sequence[PlacedEdit],
        encoding: Encoding,
    ) -> None:
        """Wait for an edit.

        Args:
            before: The text it was worked out for.
            planned: The text it leaves there.
            hunks: What it changes.
            edits: The same as it is sent.
            encoding: What the places count.
        """
        self.found: str | None = None
        """The text in which the edit was in place first."""
        self.into: str | None = None
        """The text that it was put into, where that is known and not the one it was worked out for."""
        self.misplaced: Misplaced | None = None
        self._before = before
        self._planned = planned
        self._hunks = hunks
        self._edits = edits
        self._encoding: Encoding = encoding
        self._texts = [before]
        self._judged = 1
        self._is_answered = False

    @property
    def is_known(self) -> bool:
        """Whether it has come to its end."""
        return self.found is not None or self.misplaced is not None

    def saw(self, text: str, *, between: bool = False) -> None:
        """Take note of a text of the document.

        Args:
            text: The text.
            between: Whether more of the same notification follows; it is judged when that is whole.
        """
        if self.is_known:
            return
        if text != self._texts[-1] and len(self._texts) < MOST_TEXTS:
            self._texts.append(text)
        if text == self._planned and self._leads(0, len(self._texts) - 1):
            self.found = text
        if between:
            return
        for number in range(self._judged, len(self._texts)):
            self._judge(number)
        self._judged = len(self._texts)
        # Before the answer it may be typing alone that looks so, among lines that repeat.
        if self._is_answered and not self.is_known and is_in_place(self._before, self._planned, text):
            self.found = text

    def answered(self) -> None:
        """The editor has said that it is through with it."""
        self._is_answered = True

    def conclude(self) -> None:
        """Nothing more is waited for: what came may be a part of the edit, at the right place or at a wrong one."""
        for number, typed in enumerate(() if self.is_known else self._texts[:-1]):
            steps = {step for way in self._ways(typed) for step in islice(way, MOST_TEXTS)}
            there = [text for text in self._texts[number + 1 :] if text in steps]
            if there:
                self.misplaced = Misplaced(typed, there[-1])
                return

    def is_doubtful(self, now: str) -> bool:
        """Whether a text looks as if the edit were in it, at a place that somebody's typing had moved.

        Nothing can be put right then: what the edit took away there is not known.
        """
        if now == self._before:
            return False
        changes = text_hunks(self._before, now)
        planned, lines, shift = Lines(self._planned), Lines(now), 0
        is_past_end = False
        for hunk in self._hunks:
            place = planned.place_of(hunk.start + shift, self._encoding)
            shift += len(hunk.new) - len(hunk.old)
            at = lines.offset_of(place, self._encoding)
            if lines.place_of(at, self._encoding) != place and hunk.new:
                # Past the end of a line it is put in at the end, and takes nothing away.
                is_past_end = True
                came = any(one.new.count(hunk.new) > one.old.count(hunk.new) for one in changes)
                if not came or not now.endswith(hunk.new, 0, at):
                    return False
            elif now[at : at + len(hunk.new)] != hunk.new:
                return False
        removes = any(hunk.old for hunk in self._hunks)
        return is_past_end or not removes or any(one.old for one in changes)

    def _judge(self, number: int) -> None:
        """See whether one of the texts is an earlier one with the edit put in by its places."""
        text = self._texts[number]
        if self.is_known:
            return
        sources = [one for one in range(1, number) if self._put_into(self._texts[one]) == text]
        if not sources:
            return
        # Putting it in where it is already may change nothing; so it is the first text, if all others lead there.
        typed = self._texts[next((one for one in sources if self._leads(one, number)), sources[-1])]
        if text in right_texts(self._before, typed, self._planned):
            self.found, self.into = text, typed if typed != self._before else None
        else:
            self.misplaced = Misplaced(typed, text)

    def _leads(self, source: int, number: int) -> bool:
        """Whether the texts between two of them are those of an edit that is put in bit by bit."""
        between = self._texts[source + 1 : number]
        return not between or any(
            between == list(islice(way, len(between))) for way in self._ways(self._texts[source])
        )

    def _ways(self, text: str) -> Iterator[Iterator[str]]:
        """The texts after each hunk that is put into a text by its places, from the last hunk on and from the first."""
        hunks = self._placed(text)
        numbers = range(1, len(hunks) + 1)
        yield (apply_hunks(text, hunks[-number:]) for number in numbers)
        yield (apply_hunks(text, hunks[:number]) for number in numbers)

    def _put_into(self, text: str) -> str:
        return apply_hunks(text, self._placed(text))

    def _placed(self, text: str) -> list[Hunk]:
        lines = Lines(text)
        spans = [
            (lines.offset_of(edit.start, self._encoding), lines.offset_of(edit.end, self._encoding))
            for edit in self._edits
        ]
        return [
            Hunk(start, end, text[start:end], edit.new)
            for (start, end), edit in zip(spans, self._edits, strict=True)
        ]


def right_texts(before: str, typed: str, planned: str) -> list[str]:
    """The texts that have both changes of `before`, that to `typed` and that to `planned`; none where they overlap."""
    merged = merge(before, typed, planned)
    right = [] if merged.conflicts else [merged.text]
    ours, theirs = text_hunks(before, planned), text_hunks(before, typed)
    if any(one.start < other.end and other.start < one.end for one in ours for other in theirs):
        return right
    for is_first in (False, True):
        moved: list[Hunk] = []
        for hunk in ours:
            shift = sum(
                len(other.new) - len(other.old)
                for other in theirs
                if other.end <= hunk.start
                # Of two insertions at one place either may stand first.
                and not (is_first and other.start == hunk.end)
            )
            moved.append(Hunk(hunk.start + shift, hunk.end + shift, hunk.old, hunk.new))
        right.append(apply_hunks(typed, moved))
    return right


def is_in_place(before: str, planned: str, now: str) -> bool:
    """Whether the change from `before` to `planned` is in `now`, a text that others may have changed as well."""
    if now == planned:
        return True
    merged = merge(before, now, planned)
    if not merged.conflicts and merged.text != now:
        return False  # bringing it in would still change something
    others = text_hunks(planned, now)
    # Among lines that repeat, an absent change can look like a present one and some typing; it is farther away.
    if _size(others) >= _size(text_hunks(before, now)):
        return False
    shift = 0
    for hunk in text_hunks(before, planned):
        start = hunk.start + shift
        end = start + len(hunk.new)
        shift += len(hunk.new) - len(hunk.old)
        for other in others:
            if hunk.new and other.start < end and other.end > start:
                return False
            # Of a deletion nothing is left to be seen, unless the text is still there.
            if not hunk.new and other.start <= start <= other.end and hunk.old in other.new:
                return False
    return True


def clashes(before: str, planned: str, now: str) -> bool:
    """Whether others changed `before` where the change to `planned` does."""
    return now != before and bool(merge(before, now, planned).conflicts)


def without_part(before: str, planned: str, now: str) -> str | None:
    """`now` without those hunks of the change from `before` to `planned` that are in it; None: there are none.

    What others changed stays. Only for a change that is not in place as a whole.
    """
    found = part_in(before, text_hunks(before, planned), now)
    return None if found is None else found[1]


def part_in(before: str, hunks: Sequence[Hunk], now: str) -> tuple[list[int], str] | None:
    """Which of the hunks, counted from 0, are in `now`, and `now` without them; None: there are none.

    What others changed stays.
    """
    if now == before:
        return None
    numbers = [
        number for number, hunk in enumerate(hunks) if is_in_place(before, apply_hunks(before, [hunk]), now)
    ]
    there = [hunks[number] for number in numbers]
    part = apply_hunks(before, there)
    if not there or not is_in_place(before, part, now):
        return None
    others = text_hunks(part, now)
    back: list[Hunk] = []
    shift = 0
    for hunk in there:
        start = hunk.start + shift
        shift += len(hunk.new) - len(hunk.old)
        # Nothing of the others is in the hunk, so it is whole, as far away as what they put before it.
        start += sum(len(other.new) - len(other.old) for other in others if other.end <= start)
        if now[start : start + len(hunk.new)] != hunk.new:
            return None
        back.append(Hunk(start, start + len(hunk.new), hunk.new, hunk.old))
    return numbers, apply_hunks(now, back)


def _size(hunks: list[Hunk]) -> int:
    return sum(len(hunk.old) + len(hunk.new) for hunk in hunks)
