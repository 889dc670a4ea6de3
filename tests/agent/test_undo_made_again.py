"""A file that somebody deleted since: an undo that makes it again makes it as it was."""

import pytest
from scripting import DONE, call, step

from outrider.workspace.history.histories import GONE

FULL = {"permissionMode": "full"}
TAKE = {"Take the undo", "Take the redo"}


def taking(question):
    return next(title for title in question.titles if title in TAKE)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
async def test_an_edited_file_in_utf_16_is_made_again_in_it(encoding, begin, workspace):
    raw = "\ufeffGrüße\nzwei\n".encode(encoding)
    (workspace / "wide.txt").write_bytes(raw)
    edit = call("edit_file", path="wide.txt", old="zwei", new="drei")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=taking)
    await editor.run("Go.")
    (workspace / "wide.txt").unlink()
    assert (await editor.command("outrider.undo", {}))["conflicts"] == []
    assert (workspace / "wide.txt").read_bytes() == raw


@pytest.mark.parametrize("how", ["edit", "chmod"])
async def test_an_edited_program_is_made_again_as_one(how, begin, workspace):
    program = workspace / "run.sh"
    program.write_text("echo 1\necho 2\n")
    program.chmod(0o755)
    edit = call("edit_file", path="run.sh", old="echo 2", new="echo 3")
    if how == "chmod":
        edit = call("run_command", command="sed -i s/2/3/ run.sh; chmod 700 run.sh")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=taking)
    await editor.run("Go.")
    assert program.read_text() == "echo 1\necho 3\n"
    program.unlink()
    await editor.command("outrider.undo", {})
    assert (program.read_text(), program.stat().st_mode & 0o777) == ("echo 1\necho 2\n", 0o755)
    program.unlink()
    await editor.command("outrider.redo", {})
    assert program.stat().st_mode & 0o777 == (0o755 if how == "edit" else 0o700)


LINES = "".join(f"line {number}\n" for number in range(1, 13))
TWO = call("edit_file", path="ten.txt", edits=[
    {"old": "line 2\n", "new": "two\n"}, {"old": "line 6\n", "new": "six\n"},
])  # fmt: skip
LATER = call("edit_file", path="ten.txt", old="line 10", new="ten", called="later")


async def test_what_comes_back_is_shown_with_all_of_its_hunks(begin, workspace):
    (workspace / "ten.txt").write_text(LINES)
    editor = await begin("stock", [step(TWO), step(LATER), DONE], FULL, answers=taking)
    await editor.run("Go.")
    changed = editor.disk("ten.txt")
    for command, text in (("outrider.undo", LINES), ("outrider.redo", changed)):
        (workspace / "ten.txt").unlink()
        done = await editor.command(command, {})
        assert (editor.disk("ten.txt"), done["conflicts"]) == (text, [])
        assert editor.questions[-1].message.endswith(f"it is created again:\n{text}".rstrip("\n"))
    assert len(editor.questions) == 2


async def test_a_file_that_is_gone_is_named_once(begin, workspace):
    (workspace / "ten.txt").write_text(LINES)
    editor = await begin("stock", [step(TWO), step(LATER), DONE], FULL, answers=["Keep mine"])
    await editor.run("Go.")
    (workspace / "ten.txt").unlink()
    undone = await editor.command("outrider.undo", {})
    assert [one["reason"] for one in undone["conflicts"]] == [GONE]


async def test_a_later_change_of_the_session_in_the_way_is_named(begin, workspace):
    (workspace / "ten.txt").write_text(LINES)
    again = call("edit_file", path="ten.txt", old="ten\n", new="10\n", called="again")
    editor = await begin("stock", [step(LATER), step(again), DONE], FULL, answers=["Keep mine"])
    await editor.run("Go.")
    first, second = (await editor.command("outrider.changes", {}))["changes"]
    undone = await editor.command("outrider.undo", {"id": first["changeId"]})
    by = f"by a later change of this session, {second['changeId']}#1"
    assert [one["reason"] for one in undone["conflicts"]] == [f"the same place was changed since {by}"]


async def test_a_file_that_the_undo_deletes_is_said_to_go(begin, workspace):
    editor = await begin(
        "stock",
        [step(call("write_file", path="new.txt", content="new\n")), DONE],
        FULL,
        answers=["Keep mine"],
    )
    await editor.run("Go.")
    (workspace / "new.txt").write_text("mine\n")
    await editor.command("outrider.undo", {})
    assert editor.questions[-1].message.endswith("As it is now:\nmine\nWith the undo the file is deleted.")


NEW = call("write_file", path="neu/a b.txt", content="made\n", called="new")


@pytest.mark.parametrize("besides", [False, True])
async def test_a_made_file_that_somebody_moved_away_is_named_and_not_made_twice(besides, begin, workspace):
    (workspace / "ten.txt").write_text(LINES)
    editor = await begin("stock", [step(NEW, *([LATER] if besides else [])), DONE], FULL)
    await editor.run("Go.")
    (workspace / "neu" / "a b.txt").rename(workspace / "mine.txt")
    undone = await editor.command("outrider.undo", {})
    assert [(one["what"], one["reason"]) for one in undone["notUndoable"]] == [
        ("neu/a b.txt", "it no longer exists: someone deleted or moved it")
    ]
    assert [one["path"] for one in undone["undone"]] == ["ten.txt"] * besides
    assert not (workspace / "neu").exists()
    redone = await editor.command("outrider.redo", {})
    assert [one["path"] for one in redone["undone"]] == ["ten.txt"] * besides
    assert [one["what"] for one in redone["notUndoable"]] == ["neu/a b.txt"]
    assert not (workspace / "neu").exists()
    assert (workspace / "mine.txt").read_text() == "made\n"


async def test_a_rename_says_how_it_stands(begin, workspace):
    rename = call("rename_file", **{"from": "tariff.py", "to": "rates.py"})
    editor = await begin("stock", [step(rename), DONE], FULL)
    await editor.run("Go.")

    async def stands():
        (change,) = (await editor.command("outrider.changes", {}))["changes"]
        return change["state"], change["undoable"]

    assert await stands() == ("applied", True)
    await editor.command("outrider.undo", {})
    assert await stands() == ("undone", False)
    await editor.command("outrider.redo", {})
    (workspace / "rates.py").unlink()
    assert await stands() == ("conflict", False)


async def test_both_versions_are_named_where_they_cannot_be_shown(begin, workspace):
    (workspace / "ten.txt").write_text(LINES)
    editor = await begin("never-shows-document", [step(LATER), DONE], FULL, answers=["Open both"])
    await editor.run("Go.")
    (workspace / "ten.txt").write_text(LINES.replace("line 10", "mine"))
    await editor.command("outrider.undo", {})
    papers = [str(path) for path in (workspace / ".outrider").glob("*.txt")]
    assert len(papers) == 2
    assert any(all(path in said.text for path in papers) for said in editor.said)


@pytest.mark.parametrize(
    ("profile", "raw"),
    [
        ("vscode", b"\xef\xbb\xbf" + LINES.encode()),
        ("neovim-0.11", b"\xef\xbb\xbf" + LINES.encode()),
        ("neovim-0.11", LINES.replace("\n", "\r\n").encode()),
        ("eglot", LINES.replace("\n", "\r\n").encode()),
        ("vscode", b"\xef\xbb\xbf" + LINES.replace("\n", "\r\n").encode()),
    ],
)
async def test_a_file_that_was_open_then_is_made_again_with_what_its_document_did_not_show(
    profile, raw, begin, workspace
):
    path = workspace / "ten.txt"
    path.write_bytes(raw)
    editor = await begin(profile, [step(LATER), DONE], FULL, answers=["Take the undo"])
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.save("ten.txt")
    edited = path.read_bytes()
    editor.close("ten.txt")
    path.unlink()
    undone = await editor.command("outrider.undo", {})
    assert undone["conflicts"] == []
    assert path.read_bytes() == raw
    await editor.command("outrider.redo", {})
    assert path.read_bytes() == edited
