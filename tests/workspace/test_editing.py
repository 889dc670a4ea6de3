import asyncio
import fcntl
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from outrider.ports.clock import SteppingClock
from outrider.ports.editor import Answered, Applied, DocumentEdit, EditorTraits, Unanswered
from outrider.ports.text import Place
from outrider.workspace.disk import disk
from outrider.workspace.documents.documents import ContentChange, DocumentStore
from outrider.workspace.edits.apply import PART_GONE, PART_STAYS, Editing
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.edits.verify import is_in_place
from outrider.workspace.text.lines import offset_of
from outrider.workspace.text.merge import merge

TEXT = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
AFTER = TEXT.replace("return 1", "return 10").replace("return 2", "return 20")


class Clock(SteppingClock):
    """Time that passes by itself while somebody waits."""

    def __init__(self) -> None:
        super().__init__(datetime(2026, 1, 1, tzinfo=UTC))
        self.asleep = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asleep.set()
        await super().sleep(seconds)
        await asyncio.sleep(0)

    def timeout(self, seconds: float | None) -> Any:
        if seconds is not None:
            asyncio.get_running_loop().call_soon(
                lambda: asyncio.get_running_loop().call_soon(self.advance, seconds)
            )
        return super().timeout(seconds)


class Person:
    """An editor of the simplest kind, which applies edits and answers as it is told."""

    def __init__(self, documents: DocumentStore, traits: EditorTraits) -> None:
        self.traits = traits
        self.documents = documents
        self.edits: list[tuple[str, list[DocumentEdit]]] = []
        self.said: list[str] = []
        self.applies = True
        self.claims: bool | None = None
        self.late = False
        self.before: Callable[[], None] | None = None
        self.after: Callable[[], None] | None = None

    def type(self, uri: str, line: int, text: str) -> None:
        document = self.documents.get(uri)
        assert document is not None
        place = Place(line, 0)
        self.documents.change(uri, document.version + 1, [ContentChange(place, place, text)])

    async def catch_up(self, uris: Sequence[str]) -> bool:
        return False

    async def apply(self, label: str, edits: Sequence[DocumentEdit]) -> Applied:
        self.edits.append((label, list(edits)))
        (edit,) = edits
        if self.before:
            self.before()
        document = self.documents.get(edit.uri)
        if self.applies and document is not None and document.version == edit.version:
            if self.late:
                asyncio.get_running_loop().call_soon(self._put_in, edit)
            else:
                self._put_in(edit)
        if self.after:
            self.after()
        claimed = self.applies if self.claims is None else self.claims
        return Applied(claimed, None if claimed else "it did not like it")

    def _put_in(self, edit: DocumentEdit) -> None:
        document = self.documents.get(edit.uri)
        assert document is not None
        text, encoding = document.text, self.documents.encoding
        for one in reversed(edit.edits):
            first, last = offset_of(text, one.start, encoding), offset_of(text, one.end, encoding)
            text = text[:first] + one.new + text[last:]
        self.documents.change(edit.uri, edit.version + 1, [ContentChange(None, None, text)])

    async def ask(self, *args: object, **more: object) -> Answered | Unanswered:
        raise NotImplementedError

    async def show(self, uri: str, *, take_focus: bool = False) -> bool:
        raise NotImplementedError

    def say(self, level: object, text: str) -> None:
        self.said.append(text)


TRAITS = EditorTraits(can_apply_edits=True, can_show_documents=True, settle_seconds=1.0, debounce_seconds=0.0)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def person(desk: Any) -> Person:
    return Person(desk.documents, TRAITS)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def editing(desk: Any, person: Person, clock: Clock) -> Editing:
    return Editing(desk.overlay, desk.documents, person, clock)


def edit(desk: Any, name: str = "a.py", before: str = TEXT, after: str = AFTER) -> Change:
    return Change("edit", desk.at(name), None, before, after)


# --- open documents ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_an_open_document_is_edited_in_the_editor_in_small_hunks(
    desk: Any, person: Person, editing: Editing, encoding: Any
) -> None:
    desk.documents.encoding = encoding
    desk.write("a.py", TEXT)
    uri = desk.open("a.py", "# 😀é\n" + TEXT.replace("1", "'😀' + 1"), version=7)
    text = desk.documents.get(uri).text
    done = await editing.write(edit(desk, before=text, after=text.replace("+ 1", "+ 10")), "Outrider: task")
    assert done == Written("buffer", text.replace("+ 1", "+ 10"), merged=False, uri=uri)
    ((label, (sent,)),) = person.edits
    assert (label, sent.version) == ("Outrider: task", 7)
    assert [one.new for one in sent.edits] == ["0"]
    assert desk.root.joinpath("a.py").read_text() == TEXT


async def test_a_change_that_arrives_after_the_answer_is_waited_for(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.late = True
    assert await editing.write(edit(desk), "") == Written("buffer", AFTER, merged=False, uri=uri)


async def test_a_claim_without_the_text_is_not_believed(desk: Any, person: Person, editing: Editing) -> None:
    desk.write("a.py", TEXT)
    desk.open("a.py")
    person.applies, person.claims = False, True
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, done.current) == ("not_applied", TEXT)


async def test_a_refusal_is_told_with_its_reason(desk: Any, person: Person, editing: Editing) -> None:
    desk.write("a.py", TEXT)
    desk.open("a.py")
    person.applies = False
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert done.kind == "not_applied"
    assert "did not like it" in done.message


async def test_the_text_counts_even_against_a_refusal(desk: Any, person: Person, editing: Editing) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.claims = False
    assert await editing.write(edit(desk), "") == Written("buffer", AFTER, merged=False, uri=uri)


async def test_typing_just_after_the_edit_is_merged_not_mistaken(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.late = True
    person.after = lambda: asyncio.get_running_loop().call_soon(person.type, uri, 3, "# hello\n") and None
    done = await editing.write(edit(desk), "")
    assert isinstance(done, Written)
    assert done.after == AFTER


async def test_an_edit_that_is_typed_over_at_once_was_in_place(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.after = lambda: desk.documents.change(uri, 9, [ContentChange(None, None, "all new\n")]) and None
    assert await editing.write(edit(desk), "") == Written("buffer", AFTER, merged=False, uri=uri)


async def test_typing_that_comes_with_the_edit_is_kept_beside_it(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.applies, person.claims = False, True
    both = AFTER.replace("return 20\n", "return 20  # mine\n")
    person.after = lambda: desk.documents.change(uri, 2, [ContentChange(None, None, both)]) and None
    assert await editing.write(edit(desk), "") == Written("buffer", both, merged=True, uri=uri)


async def test_a_stale_edit_that_was_skipped_is_found_out(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.claims = True
    person.before = lambda: person.type(uri, 0, "# typed\n")
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, done.current) == ("changed", "# typed\n" + TEXT)


HALF = TEXT.replace("return 1", "return 10")


def half(desk: Any, person: Person, uri: str, *, allows: int, typed: str = "") -> None:
    """Have only a part of the first edit applied, and of those after it none before number `allows`."""
    person.applies, person.claims = False, True

    def after() -> None:
        if len(person.edits) == 1:
            desk.documents.change(uri, 2, [ContentChange(None, None, typed + HALF)])
        person.applies = len(person.edits) >= allows - 1

    person.after = after


@pytest.mark.parametrize("typed", ["", "# mine\n"])
async def test_half_an_edit_is_completed(desk: Any, person: Person, editing: Editing, typed: str) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    half(desk, person, uri, allows=2, typed=typed)
    done = await editing.write(edit(desk), "")
    without = typed + TEXT if typed else None
    assert done == Written("buffer", typed + AFTER, merged=bool(typed), uri=uri, without=without)
    assert desk.documents.get(uri).text == typed + AFTER


@pytest.mark.parametrize("typed", ["", "# mine\n"])
async def test_half_an_edit_that_cannot_be_completed_is_taken_back(
    desk: Any, person: Person, editing: Editing, typed: str
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    half(desk, person, uri, allows=3, typed=typed)
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, done.message, done.current) == ("not_applied", PART_GONE, typed + TEXT)
    assert desk.documents.get(uri).text == typed + TEXT


@pytest.mark.parametrize("typed", ["", "# mine\n"])
async def test_half_an_edit_that_stays_is_told_as_what_it_is(
    desk: Any, person: Person, editing: Editing, typed: str
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    half(desk, person, uri, allows=9, typed=typed)
    done = await editing.write(edit(desk), "")
    assert done == Written(
        "buffer", typed + HALF, merged=False, uri=uri, without=typed + TEXT, stays=PART_STAYS
    )
    assert person.said == [f"Outrider: a.py: {PART_STAYS}."]
    assert len(person.edits) == 3


async def test_typing_that_was_held_back_stops_the_edit(desk: Any, person: Person, clock: Clock) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.traits = replace(TRAITS, debounce_seconds=0.15)
    editing = Editing(desk.overlay, desk.documents, person, clock)
    writing = asyncio.create_task(editing.write(edit(desk), ""))
    await clock.asleep.wait()
    person.type(uri, 0, "# unsent\n")
    done = await writing
    assert isinstance(done, NotWritten)
    assert (done.kind, done.current, person.edits) == ("changed", "# unsent\n" + TEXT, [])


async def test_another_text_is_never_written_over(desk: Any, person: Person, editing: Editing) -> None:
    desk.write("a.py", TEXT)
    desk.open("a.py", "something else\n")
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, done.current, person.edits) == ("changed", "something else\n", [])


async def test_a_document_closed_meanwhile_is_not_applied(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", TEXT)
    uri = desk.open("a.py")
    person.before = lambda: desk.documents.close(uri)
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert done.kind == "not_applied"


async def test_mixed_line_ends_of_an_open_document_are_left_alone(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("a.py", "a\r\nb\n")
    desk.open("a.py")
    done = await editing.write(edit(desk, before="a\r\nb\n", after="x\r\nb\n"), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, person.edits) == ("unsupported", [])


async def test_a_document_opened_through_a_link_is_edited_in_its_buffer(
    desk: Any, person: Person, editing: Editing
) -> None:
    desk.write("real/a.py", TEXT)
    (desk.root / "linked").symlink_to("real")
    uri = desk.open("linked/a.py")
    done = await editing.write(edit(desk, "real/a.py"), "")
    assert done == Written("buffer", AFTER, merged=False, uri=uri)


async def test_a_client_without_edits_gets_its_saved_documents_changed_on_the_disk(
    desk: Any, person: Person, clock: Clock
) -> None:
    path = desk.write("a.py", ("\ufeff" + TEXT).replace("\n", "\r\n"))
    uri = desk.open("a.py", TEXT)
    person.traits = replace(TRAITS, can_apply_edits=False)
    editing = Editing(desk.overlay, desk.documents, person, clock)
    assert await editing.write(edit(desk), "") == Written("disk", AFTER, merged=False)
    assert path.read_bytes().decode() == ("\ufeff" + AFTER).replace("\n", "\r\n")
    desk.documents.change(uri, 2, [ContentChange(None, None, AFTER + "# unsaved\n")])
    done = await editing.write(edit(desk, before=AFTER + "# unsaved\n", after=TEXT), "")
    assert isinstance(done, NotWritten)
    assert done.kind == "unsupported"


@pytest.mark.parametrize("operation", ["delete", "rename"])
async def test_an_open_document_goes_only_if_nothing_in_it_is_unsaved(
    desk: Any, editing: Editing, operation: Any
) -> None:
    path = desk.write("a.py", TEXT)
    uri = desk.open("a.py", TEXT + "# unsaved\n")
    to, after = (desk.at("b.py"), TEXT) if operation == "rename" else (None, None)
    for before in (TEXT, TEXT + "# unsaved\n"):
        done = await editing.write(Change(operation, desk.at("a.py"), to, before, after), "")
        assert isinstance(done, NotWritten)
        assert done.kind == "changed"
    desk.documents.change(uri, 2, [ContentChange(None, None, TEXT)])
    done = await editing.write(Change(operation, desk.at("a.py"), to, TEXT, after), "")
    assert done == Written("disk", after, merged=False)
    assert not path.exists()
    assert (desk.root / "b.py").exists() == (operation == "rename")


async def test_an_untitled_buffer_can_be_edited_and_nothing_else(desk: Any, editing: Editing) -> None:
    missing = await editing.write(edit(desk, "untitled:U"), "")
    made = await editing.write(Change("create", desk.at("untitled:U"), None, None, "x"), "")
    assert isinstance(missing, NotWritten)
    assert isinstance(made, NotWritten)
    assert (missing.kind, made.kind) == ("missing", "unsupported")
    uri = desk.open("untitled:U", TEXT)
    assert await editing.write(edit(desk, "untitled:U"), "") == Written(
        "buffer", AFTER, merged=False, uri=uri
    )
    gone = await editing.write(Change("delete", desk.at("untitled:U"), None, AFTER, None), "")
    assert isinstance(gone, NotWritten)


@st.composite
def typed_into(draw: st.DrawFn) -> tuple[str, str, str]:
    """A text, the same after a planned change, and after somebody's typing."""
    lines = draw(
        st.lists(st.sampled_from(["a\n", "b\n", "\n", "x = 1\n", "x = 2\n"]), min_size=1, max_size=12)
    )

    def changed() -> str:
        new = list(lines)
        for _ in range(draw(st.integers(1, 2))):
            at = draw(st.integers(0, len(new)))
            new[at : at + draw(st.integers(0, 2))] = draw(
                st.lists(st.sampled_from(["x = 1\n", "n\n", "a\n"]), max_size=2)
            )
        return "".join(new)

    return "".join(lines), changed(), changed()


@given(typed_into())
def test_a_change_counts_as_present_only_where_it_is(texts: tuple[str, str, str]) -> None:
    before, planned, typed = texts
    assume(planned != before)
    assert is_in_place(before, planned, planned)
    assert not is_in_place(before, planned, before)
    both = merge(before, typed, planned)
    if not both.conflicts and both.text not in {typed, planned} and typed != before:
        assert not (is_in_place(before, planned, typed) and not is_in_place(before, planned, both.text))


@pytest.mark.parametrize(
    ("before", "planned", "now", "present"),
    [
        ("b\n", "a\n", "b\na\n", False),  # not applied, and the same line typed after it
        ("a\nb\nc\n", "long and new\nb\nC\n", "long and new\nb\nc\n", False),  # the small half is missing
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", False),
        ("a\nb\nc\n", "a\nc\n", "a\nc\nd\n", True),
        ("x = f(1)\n", "x = g(1)\n", "x = g(1)  # mine\n", True),
        ("a\n", "a\nb", "a\nb\n", True),  # the editor ends the last line
        ("x = 1\n\n", "a\nx = 1\n", "x = 1\na\n\nx = 1\n", False),  # all its lines were typed, elsewhere
    ],
)
def test_presence_is_judged_by_the_text(before: str, planned: str, now: str, present: bool) -> None:
    assert is_in_place(before, planned, now) == present


# --- closed files --------------------------------------------------------------------------------------------


async def test_a_closed_file_is_replaced_as_a_whole_and_keeps_its_mode(desk: Any, editing: Editing) -> None:
    path = desk.write("a.sh", TEXT)
    path.chmod(0o750)
    assert await editing.write(edit(desk, "a.sh"), "") == Written("disk", AFTER, merged=False)
    assert path.read_text() == AFTER
    assert path.stat().st_mode & 0o7777 == 0o750
    assert names(desk.root) == ["a.sh"]


async def test_a_closed_file_that_changed_is_left_alone(desk: Any, editing: Editing) -> None:
    path = desk.write("a.py", TEXT + "more\n")
    for change in (
        edit(desk),
        Change("delete", desk.at("a.py"), None, TEXT, None),
        Change("rename", desk.at("a.py"), desk.at("b.py"), TEXT, TEXT),
    ):
        done = await editing.write(change, "")
        assert isinstance(done, NotWritten)
        assert (done.kind, done.current) == ("changed", TEXT + "more\n")
    assert names(desk.root) == ["a.py"]
    assert path.read_text() == TEXT + "more\n"


async def test_a_file_that_changes_while_it_is_written_is_left_alone(
    desk: Any, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.write("a.py", TEXT)
    fsync = os.fsync

    def slow_fsync(file: int) -> None:
        path.write_text("quicker\n")
        fsync(file)

    monkeypatch.setattr(disk.os, "fsync", slow_fsync)
    done = await editing.write(edit(desk), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, path.read_text(), names(desk.root)) == ("changed", "quicker\n", ["a.py"])


async def test_of_many_writers_at_once_one_wins_and_the_others_know(desk: Any, editing: Editing) -> None:
    path = desk.write("a.py", TEXT)
    done = await asyncio.gather(*(editing.write(edit(desk, after=f"{number}\n"), "") for number in range(20)))
    written = [one for one in done if isinstance(one, Written)]
    assert [one.after for one in written] == [path.read_text()]
    assert {one.kind for one in done if isinstance(one, NotWritten)} == {"changed"}
    assert names(desk.root) == ["a.py"]


async def test_a_writer_that_never_goes_on_is_not_waited_for_forever(
    desk: Any, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.write("a.py", TEXT)
    monkeypatch.setattr(disk, "_LOCK_TRIES", 2)
    held = os.open(desk.root, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    done = await editing.write(edit(desk), "")
    os.close(held)
    assert isinstance(done, NotWritten)
    assert (done.kind, path.read_text(), names(desk.root)) == ("failed", TEXT, ["a.py"])


async def test_texts_are_written_byte_for_byte(desk: Any, editing: Editing) -> None:
    before = "\ufeffa\r\nb\n\x0c\u2028c\rd"
    path = desk.write("a.txt", before)
    done = await editing.write(edit(desk, "a.txt", before, before.replace("c", "é")), "")
    assert isinstance(done, Written)
    assert path.read_bytes() == before.replace("c", "é").encode()


async def test_creating_makes_folders_and_never_replaces(desk: Any, editing: Editing) -> None:
    change = Change("create", desk.at("new/deep/a.py"), None, None, TEXT)
    assert await editing.write(change, "") == Written("disk", TEXT, merged=False, made_folder="new")
    assert (desk.root / "new/deep/a.py").stat().st_mode & 0o111 == 0
    done = await editing.write(replace(change, after="other"), "")
    assert isinstance(done, NotWritten)
    assert (done.kind, done.current) == ("exists", TEXT)
    desk.open("new/deep/b.py", "not saved")
    done = await editing.write(replace(change, located=desk.at("new/deep/b.py")), "")
    assert isinstance(done, NotWritten)
    assert done.kind == "exists"


async def test_no_folders_are_made_outside_the_workspace(desk: Any, editing: Editing, tmp_path: Path) -> None:
    outside = await desk.folders.locate(str(tmp_path / "other" / "a.py"))
    done = await editing.write(Change("create", outside, None, None, TEXT), "")
    assert isinstance(done, NotWritten)
    assert not (tmp_path / "other").exists()


async def test_renaming_never_replaces(desk: Any, editing: Editing) -> None:
    desk.write("a.py", TEXT)
    desk.write("b.py", "other")
    change = Change("rename", desk.at("a.py"), desk.at("b.py"), TEXT, TEXT)
    done = await editing.write(change, "")
    assert isinstance(done, NotWritten)
    assert done.kind == "exists"
    assert (desk.root / "b.py").read_text() == "other"
    done = await editing.write(replace(change, to=desk.at("sub/c.py")), "")
    assert done == Written("disk", TEXT, merged=False, made_folder="sub")
    assert names(desk.root) == ["b.py", "sub"]


async def test_without_hard_links_files_are_made_and_renamed_too(
    desk: Any, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(disk.os, "link", no_links)
    made = Change("create", desk.at("a.py"), None, None, TEXT)
    assert isinstance(await editing.write(made, ""), Written)
    assert isinstance(await editing.write(made, ""), NotWritten)
    moved = Change("rename", desk.at("a.py"), desk.at("b.py"), TEXT, TEXT)
    assert isinstance(await editing.write(moved, ""), Written)
    assert names(desk.root) == ["b.py"]


async def test_a_link_put_in_the_way_is_not_followed(desk: Any, editing: Editing, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_text(TEXT)
    desk.write("sub/a.py", TEXT)
    change, made = edit(desk, "sub/a.py"), Change("create", desk.at("sub/n.py"), None, None, TEXT)
    (desk.root / "sub").rename(desk.root / "was")
    (desk.root / "sub").symlink_to(outside)
    for one in (change, made):
        assert isinstance(await editing.write(one, ""), NotWritten)
    assert (outside / "a.py").read_text() == TEXT
    assert names(outside) == ["a.py"]


async def test_a_link_is_neither_deleted_nor_renamed(desk: Any, editing: Editing) -> None:
    path = desk.write("a.py", TEXT)
    (desk.root / "l.py").symlink_to("a.py")
    done = await editing.write(Change("delete", desk.at("l.py"), None, TEXT, None), "")
    assert isinstance(done, NotWritten)
    assert path.exists()
    assert await editing.write(edit(desk, "l.py"), "") == Written("disk", AFTER, merged=False)
    assert path.read_text() == AFTER
    assert (desk.root / "l.py").is_symlink()


@pytest.mark.parametrize(
    ("name", "before", "after", "kind"),
    [
        ("gone.py", TEXT, AFTER, "missing"),
        ("a.py", TEXT, "\ud800", "failed"),
        ("locked.py", TEXT, AFTER, "failed"),
        ("sub", TEXT, AFTER, "failed"),
        (".outrider/task.md", TEXT, AFTER, "unsupported"),
    ],
)
async def test_what_cannot_be_written_is_said(
    desk: Any, editing: Editing, name: str, before: str, after: str, kind: str
) -> None:
    for one in ("a.py", "locked.py", "sub/x.py", ".outrider/task.md"):
        desk.write(one, TEXT)
    (desk.root / "locked.py").chmod(0o444)
    done = await editing.write(edit(desk, name, before, after), "")
    assert isinstance(done, NotWritten)
    assert done.kind == kind


async def test_a_full_disk_leaves_the_old_text(
    desk: Any, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = desk.write("a.py", TEXT)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(disk.os, "write", full)
    done = await editing.write(edit(desk), "")
    monkeypatch.undo()
    assert isinstance(done, NotWritten)
    assert done.kind == "failed"
    assert "No space left" in done.message
    assert (path.read_text(), names(desk.root)) == (TEXT, ["a.py"])
