"""Promise 4 against editors that put an edit in where its places were before somebody typed."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.ports.clock import SteppingClock
from outrider.ports.editor import Applied, DocumentEdit, EditorTraits
from outrider.ports.text import Place
from outrider.testing.editor.buffers import Buffer
from outrider.workspace.documents.documents import ContentChange, DocumentStore
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.edits.apply import Editing
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.edits.verify import Landing, before_the_end, places_of
from outrider.workspace.paths import Folder, Folders, Located
from outrider.workspace.text.diff import apply_hunks, text_hunks

TRAITS = EditorTraits(can_apply_edits=True, can_show_documents=True, settle_seconds=1.0, debounce_seconds=0.0)
TYPED = re.compile(r"«line \d*»\n|«\d*»")


class Clock(SteppingClock):
    """Time that passes by itself while somebody waits."""

    def timeout(self, seconds: float | None) -> Any:
        if seconds is not None:
            asyncio.get_running_loop().call_soon(
                lambda: asyncio.get_running_loop().call_soon(self.advance, seconds)
            )
        return super().timeout(seconds)


@dataclass
class Plan:
    """How an editor and its user behave, edit by edit; what is beyond the lists happens to no further edit."""

    before: Sequence[Sequence[int]] = ()
    """Where somebody types just before an edit is applied, in per mille of the text."""
    after: Sequence[Sequence[int]] = ()
    does: Sequence[str] = ()
    """`apply`: as if nobody had typed. `skip`: not at all, but claimed. `part`: the first hunk only."""
    sends: str = "each"
    """`each`: a notification for each change. `together`: one with all of them. `whole`: one with the text."""
    own_line: bool = True
    """Whether what is typed is a line of its own."""


@dataclass
class Stale:
    """An editor that never looks at versions."""

    documents: DocumentStore
    buffer: Buffer
    plan: Plan
    traits: EditorTraits = TRAITS
    said: list[str] = field(default_factory=list)
    typed: list[str] = field(default_factory=list)
    edits: int = 0

    async def catch_up(self, uris: Sequence[str]) -> bool:
        return False

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        (edit,) = edits
        number, self.edits = self.edits, self.edits + 1
        self._type(self.plan.before, number)
        does = self.plan.does[number] if number < len(self.plan.does) else "apply"
        wire = [
            {"range": {"start": _wire(one.start), "end": _wire(one.end)}, "newText": one.new}
            for one in edit.edits
        ]
        if does != "skip":
            self.buffer.apply(wire[:1] if does == "part" else wire, number)
        self._type(self.plan.after, number)
        self._send()
        return Applied(claimed=True)

    def _type(self, plan: Sequence[Sequence[int]], number: int) -> None:
        for at in plan[number] if number < len(plan) else ():
            text = self.buffer.text
            offset = len(text) * at // 1000
            new = f"«{len(self.typed)}»"
            if self.plan.own_line:
                offset, new = text.rfind("\n", 0, offset) + 1, f"«line {len(self.typed)}»\n"
            # Nobody types into what was typed before, so that it can be found again.
            if any(found.start() < offset < found.end() for found in TYPED.finditer(text)):
                continue
            self.typed.append(new)
            self.buffer.type(offset, offset, new)

    def _send(self) -> None:
        changes, self.buffer.unsent = self.buffer.unsent, []
        version = self.buffer.version
        if self.plan.sends == "whole" and changes:
            self.documents.change(self.buffer.uri, version, [ContentChange(None, None, self.buffer.text)])
            return
        each = [
            ContentChange(_place(one["range"]["start"]), _place(one["range"]["end"]), one["text"])
            for one in changes
        ]
        for some in [each] if self.plan.sends == "together" else [[one] for one in each]:
            self.documents.change(self.buffer.uri, version, some)

    def say(self, level: object, text: str) -> None:
        self.said.append(text)


def _wire(place: Place) -> dict[str, int]:
    return {"line": place.line, "character": place.character}


def _place(position: dict[str, int]) -> Place:
    return Place(position["line"], position["character"])


@dataclass
class Outcome:
    """What came of one edit."""

    done: Written | NotWritten
    text: str
    editor: Stale


async def outcome(before: str, planned: str, plan: Plan) -> Outcome:
    documents = DocumentStore()
    uri = "untitled:U"
    documents.open(uri, "", 1, before)
    buffer = Buffer(uri, None, before, 1, "utf-16", "keep")
    editor = Stale(documents, buffer, plan)
    folders = Folders([Folder("work", "file:///nowhere", Path("/nowhere"))])
    overlay = Overlay(folders, documents)
    editing: Any = Editing(overlay, documents, editor, Clock(datetime(2026, 1, 1, tzinfo=UTC)))  # pyright: ignore[reportArgumentType]
    located = folders.locate_now(uri)
    assert isinstance(located, Located)
    done = await editing.write(Change("edit", located, None, before, planned), "")
    now = documents.get(uri)
    assert now is not None
    assert now.text == buffer.text
    return Outcome(done, now.text, editor)


def untyped(text: str) -> str:
    return TYPED.sub("", text)


TEXT = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
AFTER = TEXT.replace("return 1", "return 10").replace("def g", "def h").replace("return 2", "return 20")


@pytest.mark.parametrize("sends", ["each", "together"])
async def test_an_edit_at_a_wrong_place_is_put_right(sends: str) -> None:
    got = await outcome(TEXT, AFTER, Plan(before=[[0]], sends=sends))
    assert got.text == "«line 0»\n" + AFTER
    assert got.done == Written("buffer", got.text, merged=True, uri="untitled:U", without="«line 0»\n" + TEXT)
    assert got.editor.edits == 2


@pytest.mark.parametrize("sends", ["each", "together"])
async def test_what_an_edit_swallowed_of_the_typing_comes_back(sends: str) -> None:
    got = await outcome("a\nb\nc\n", "a\nc\n", Plan(before=[[500]], sends=sends, own_line=False))
    assert got.text == "a\nb«0»\nc\n"
    assert isinstance(got.done, NotWritten)
    assert (got.done.kind, got.done.current) == ("changed", got.text)


async def test_where_every_edit_goes_to_a_wrong_place_it_is_told_what_is_left() -> None:
    got = await outcome(TEXT, AFTER, Plan(before=[[0], [0], [0]]))
    assert isinstance(got.done, Written)
    assert "at the wrong place" in got.done.stays
    assert got.done.after == got.text
    assert got.done.without is not None
    assert got.done.without == "«line 2»\n«line 1»\n«line 0»\n" + TEXT
    assert [said.startswith("Outrider: untitled:U: the editor applied") for said in got.editor.said] == [True]


async def test_what_cannot_be_known_is_never_built_upon() -> None:
    got = await outcome("one\ntwo\nthree\n", "one\ntwo\n3\n", Plan(before=[[0]], sends="whole"))
    assert got.text == "«line 0»\none\n3\nthree\n"
    assert isinstance(got.done, NotWritten)
    assert (got.done.kind, got.done.current) == ("not_applied", got.text)
    assert len(got.editor.said) == 1


async def test_typing_into_one_of_several_hunks_is_told_and_nothing_is_taken_out() -> None:
    """The text shows one of them; the other one may be there, with something typed into it."""
    after = AFTER.replace("def f", "def long_name")
    got = await outcome(TEXT, after, Plan(after=[[150]], sends="whole", own_line=False))
    assert got.text == after.replace("long_name", "long«0»_name")
    assert len(got.editor.typed) == 1
    assert got.editor.edits == 1
    assert isinstance(got.done, Written)
    assert got.done.after == got.text
    assert "it is not certain that all of it" in got.done.stays
    assert got.done.without == got.text.replace("def h", "def g").replace("return 20", "return 2")


@st.composite
def planned(draw: st.DrawFn) -> tuple[str, str]:
    """A text, and what is planned for it."""
    words = ["a\n", "b = 1\n", "\n", "    c = 2\n", "d, é, 😀\n"]
    lines = draw(st.lists(st.sampled_from(words), min_size=2, max_size=10))
    new = list(lines)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(new)))
        inserted = st.lists(st.sampled_from(["b = 22\n", "new\n", "a\n", "    c = 3\n"]), max_size=2)
        new[at : at + draw(st.integers(0, 2))] = draw(inserted)
    return "".join(lines), "".join(new)


PLACES = st.lists(st.lists(st.integers(0, 1000), max_size=2), max_size=4)
PLANS = st.builds(
    Plan,
    before=PLACES,
    after=PLACES,
    does=st.lists(st.sampled_from(["apply", "apply", "skip", "part"]), max_size=4),
    sends=st.sampled_from(["each", "together"]),
    own_line=st.booleans(),
)


@settings(max_examples=400)
@given(planned(), PLANS)
async def test_promise_4_nothing_typed_is_lost_and_what_is_there_is_what_is_said(
    texts: tuple[str, str], plan: Plan
) -> None:
    before, after = texts
    got = await outcome(before, after, plan)
    done, text = got.done, got.text
    if isinstance(done, Written) and not done.stays:
        assert untyped(text) == after
        assert all(one in text for one in got.editor.typed)
    elif isinstance(done, Written):
        assert done.without is not None
        assert untyped(done.without) == before
    elif done.kind == "changed":
        assert untyped(text) == before
        assert all(one in text for one in got.editor.typed)
    else:
        assert untyped(text) == before or got.editor.said


ENDS = st.sampled_from(["", "\n", "\r\n"])


@given(
    st.lists(st.sampled_from(["a", "b", ""]), max_size=6),
    st.lists(st.sampled_from(["a", "b", ""]), max_size=6),
    ENDS,
    ENDS,
)
def test_hunks_that_are_sent_leave_the_same_text_and_keep_off_the_line_after_the_last_one(
    old, new, end, new_end
):
    line_end = end or "\n"
    before, planned = line_end.join(old) + end, (new_end or line_end).join(new) + new_end
    hunks = text_hunks(before, planned)
    sent = before_the_end(before, hunks)
    assert apply_hunks(before, sent) == planned
    assert all(one.end <= other.start for one, other in pairwise(sent))
    assert not any(one.new.endswith("\r") for one in sent)
    is_other = line_end == "\n" and planned.endswith("\r\n")
    last_line_end = before.endswith(line_end) and planned.endswith(line_end) and not is_other
    if sent and last_line_end and len(before) > len(line_end):
        # The line end of the last line stays, so nothing need come behind it.
        assert sent[-1].end < len(before)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_an_append_is_sent_as_an_insertion_behind_the_last_line(line_end):
    text = line_end.join(["one", "two", ""])
    (hunk,) = before_the_end(text, text_hunks(text, f"{text}three{line_end}"))
    assert (hunk.start, hunk.end, hunk.new) == (len(text) - len(line_end),) * 2 + (f"{line_end}three",)


def test_an_edit_that_typing_has_brought_past_the_end_of_a_line_is_doubtful():
    before = "def price(hours):\n    return hours * 3\n"
    planned = before.replace("* 3", "* 2")
    hunks = text_hunks(before, planned)
    places = places_of(before, hunks, "utf-16")
    landing = Landing(before, planned, hunks, places, "utf-16")
    typed = "# typed\n" + before
    assert not landing.is_doubtful(typed)
    # The place of the 3 is behind the end of the line that is there now.
    assert landing.is_doubtful(typed.replace("hours):", "hours):2"))
    assert not landing.is_doubtful(typed.replace("hours):", "hours):7"))
