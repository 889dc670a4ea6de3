"""A path that several files had, one after the other: each comes and goes as itself, with its encoding and its mode."""

import pytest
from file_steps import delete, edit, rename, run, write
from scripting import DONE

from outrider.testing.editor.wire_client import RpcError
from outrider.workspace.history.histories import GONE

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
UTF_16 = "\ufeffgrüß\nzwei\n".encode("utf-16-be")


def take(question):
    return next(title for title in question.titles if title.startswith("Take"))


async def changes(editor):
    return (await editor.command("outrider.changes", {"sessionId": editor.session_id}))["changes"]


def there(workspace):
    return {path.name: path.read_text() for path in workspace.glob("*.txt")}


@pytest.mark.parametrize("anew", [[], [delete("f.txt")]], ids=["made anew", "made anew and deleted"])
@pytest.mark.parametrize("raw", [UTF_16, b"plain\n"], ids=["utf-16", "mode"])
async def test_a_file_that_was_made_anew_comes_back_in_its_encoding_and_mode(raw, anew, begin, workspace):
    (workspace / "f.txt").write_bytes(raw)
    (workspace / "f.txt").chmod(0o755)
    editor = await begin("stock", [delete("f.txt"), write("f.txt", "new\n"), *anew, DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert (workspace / "f.txt").read_bytes() == raw
    assert (workspace / "f.txt").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("new", ["", "new\n"])
async def test_a_deletion_taken_back_over_a_new_file_takes_that_back_too(new, begin, workspace):
    (workspace / "a.txt").write_bytes(UTF_16)
    editor = await begin("stock", [delete("a.txt"), write("a.txt", new), DONE], FULL, answers=take)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "hunk", "id": "chg_1#1"})
    assert undone["undone"] == [{"path": "a.txt", "hunks": 2}]
    assert (workspace / "a.txt").read_bytes() == UTF_16
    assert [one["hunks"][0]["state"] for one in await changes(editor)] == ["undone", "undone"]
    with pytest.raises(RpcError, match="nothing_to_undo"):
        await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "a.txt").read_bytes() == UTF_16
    await editor.command("outrider.redo", {"scope": "session"})
    assert ((workspace / "a.txt").read_text(), len(editor.questions)) == (new, 1)
    await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "a.txt").read_bytes() == UTF_16


async def test_a_new_file_brought_back_over_the_one_that_was_there_deletes_that_again(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    editor = await begin("stock", [delete("a.txt"), write("a.txt", "new\n"), DONE], FULL, answers=take)
    await editor.run("Go.")
    await editor.command("outrider.undo", {"scope": "session"})
    redone = await editor.command("outrider.redo", {"id": "chg_2#1"})
    assert (redone["conflicts"], there(workspace)["a.txt"]) == ([], "new\n")
    assert [one["hunks"][0]["state"] for one in await changes(editor)] == ["conflict", "applied"]
    await editor.command("outrider.undo", {"scope": "session"})
    assert there(workspace)["a.txt"] == TEN


@pytest.mark.parametrize("once_more", [[], [write("a.txt", "m 12\n")]], ids=["", "made once more"])
async def test_a_deleted_file_comes_back_without_lines_of_those_that_had_its_path_later(
    once_more, begin, workspace
):
    (workspace / "a.txt").write_text("x\n")
    turns = [delete("a.txt"), write("a.txt", "m 5\n"), edit("a.txt", "m 5", "m 5\nmore"), DONE]
    editor = await begin("stock", [*turns, *once_more, DONE], FULL, answers=take)
    await editor.run("Go.")
    await editor.command("outrider.undo", {"scope": "hunk", "id": "chg_2#1"})
    assert not (workspace / "a.txt").exists()
    await editor.run("Go on.", sessionId=editor.session_id)
    await editor.command("outrider.undo", {"scope": "hunk", "id": "chg_1#1"})
    assert (workspace / "a.txt").read_text() == "x\n"
    await editor.command("outrider.redo", {"scope": "hunk", "id": "chg_2#1"})
    assert (workspace / "a.txt").read_text() == "m 5\nmore\n"


@pytest.mark.parametrize("answer", ["Take the undo", "Keep mine"])
async def test_a_deleted_file_comes_back_where_it_was_and_not_over_the_one_that_was_moved_on(
    answer, begin, workspace
):
    (workspace / "f.txt").write_text(TEN)
    turns = [delete("f.txt"), write("f.txt", "gee\n"), rename("f.txt", "c.txt"), DONE]
    editor = await begin("stock", turns, FULL, answers=lambda _: answer)
    await editor.run("Go.")
    await editor.command("outrider.undo", {"scope": "hunk", "id": "chg_1#1"})
    assert (there(workspace), editor.questions) == ({"f.txt": TEN, "c.txt": "gee\n"}, [])
    states = {one["operation"]: (one.get("state"), one.get("reason")) for one in await changes(editor)}
    assert states["rename"] == ("conflict", "f.txt exists again")


async def test_a_new_file_that_nobody_touched_is_taken_back(begin, workspace):
    turns = [write("a.txt", "m 5\n"), edit("a.txt", "m 5", "m 5\nmore"), DONE, write("a.txt", "m 12\n"), DONE]
    editor = await begin("stock", turns, FULL, answers=take)
    await editor.run("Go.")
    await editor.command("outrider.undo", {"scope": "hunk", "id": "chg_1#1"})
    assert [hunk["state"] for one in await changes(editor) for hunk in one["hunks"]] == ["undone"] * 2
    await editor.run("Go on.", sessionId=editor.session_id)
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["conflicts"], len(editor.questions)) == ([], 1)
    assert not (workspace / "a.txt").exists()


async def test_an_old_file_that_a_checkout_brings_over_a_new_one_is_that_old_file(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    turns = [edit("a.txt", "line 2", "two"), delete("a.txt"), write("a.txt", "new\n"), DONE]
    editor = await begin("stock", turns, FULL)
    await editor.run("Go.")
    (workspace / "a.txt").write_text(TEN.replace("line 2", "two"))
    states = [hunk["state"] for one in await changes(editor) for hunk in one["hunks"]]
    assert states == ["applied", "undone", "undone"]
    await editor.command("outrider.undo", {"scope": "session"})
    assert ((workspace / "a.txt").read_text(), editor.questions) == (TEN, [])


async def test_what_is_in_the_way_of_a_file_is_said_of_its_changes(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    turns = [edit("a.txt", "line 2", "two"), delete("a.txt"), DONE]
    editor = await begin("stock", turns, FULL)
    await editor.run("Go.")
    reasons = [one.get("reason") for one in await changes(editor)]
    assert reasons == [GONE, None]
    (workspace / "a.txt").write_text("mine\n")
    reasons = [one.get("reason") for one in await changes(editor)]
    assert reasons == ["the file was created again since", "the file exists again"]


async def test_everything_that_is_left_of_a_file_is_named(begin, workspace):
    (workspace / "f.txt").write_bytes("grün\n".encode("latin-1"))
    (workspace / "f.txt").chmod(0o755)
    editor = await begin("stock", [run("rm f.txt; printf 'neu\\n' > f.txt"), DONE], FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (workspace / "f.txt").read_bytes() == b"neu\n"
    mode, text = sorted(one["reason"] for one in undone["notUndoable"])
    assert "755" in mode + text
    assert "unknown" in mode + text


async def test_an_undo_puts_no_mark_of_utf_16_into_a_file_that_is_none_any_more(begin, workspace):
    (workspace / "f.txt").write_bytes(UTF_16)
    turns = [edit("f.txt", "zwei", "drei"), run("printf 'g\\n' > f.txt"), DONE]
    editor = await begin("stock", turns, FULL, answers=take)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert ((workspace / "f.txt").read_bytes(), editor.questions) == (b"g\n", [])
    (conflict,) = undone["conflicts"]
    assert "the file was UTF-16 and" in conflict["reason"]
