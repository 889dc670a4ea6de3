"""An undo that does nothing says why."""

import os
import sys

import pytest
from scripting import DONE, call, step

from outrider.agent.undo.below import REASON
from outrider.testing.editor.answers import Dismiss
from outrider.workspace.editing import UNSAVED

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
RENAME = call("rename_file", **{"from": "tariff.py", "to": "rates.py"})


def named(undone):
    return {one["what"]: one["reason"] for one in undone["notUndoable"]}


@pytest.mark.parametrize("profile", ["stock", "vscode", "neovim-0.11"])
async def test_promise_5_a_renamed_file_that_is_unsaved_now_is_named(profile, begin, workspace):
    editor = await begin(profile, [step(RENAME), DONE], FULL)
    await editor.run("Go.")
    editor.open("rates.py")
    editor.type("rates.py", "# mine\n", at=(0, 0))
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == []
    assert named(undone) == {"tariff.py": f"rates.py was not renamed: {unsaved('undo')}"}
    assert editor.text("rates.py").startswith("# mine\n")

    editor.save("rates.py")
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    assert (workspace / "tariff.py").read_text().startswith("# mine\n")


async def test_promise_5_what_a_command_deleted_under_an_open_document_comes_back_or_is_named(
    begin, workspace
):
    editor = await begin("stock", [step(call("run_command", command="rm tariff.py")), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "tariff.py").exists() or named(undone) == {"tariff.py": REASON}


@pytest.mark.parametrize("edits_too", [False, True])
async def test_promise_5_what_a_command_did_under_an_unsaved_document_is_named(edits_too, begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    calls = [call("run_command", command="sed -i 's/line 3/L3/' ten.txt")]
    if edits_too:
        calls.append(call("write_file", path="new.txt", content="new\n"))
    editor = await begin("stock", [step(*calls), DONE], FULL)
    editor.open("ten.txt")
    editor.type("ten.txt", "mine\n", at=(8, 0))
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert named(undone) == {"ten.txt": REASON}
    assert [one["path"] for one in undone["undone"]] == ["new.txt"] * edits_too
    assert editor.disk("ten.txt") == TEN.replace("line 3", "L3")

    editor.save("ten.txt")
    assert named(await editor.command("outrider.undo", {"scope": "session"})) == {}
    assert editor.disk("ten.txt") == editor.text("ten.txt") == TEN.replace("line 9", "mine\nline 9")


def unsaved(what):
    return f"{UNSAVED}: save it first, then {what}"


@pytest.mark.parametrize("profile", ["stock", "vscode", "neovim-0.11"])
async def test_nobody_is_asked_about_a_new_file_with_unsaved_text_and_what_helps_is_said(
    profile, begin, workspace
):
    make = call("write_file", path="new.txt", content="new\n")
    editor = await begin(profile, [step(make), DONE], FULL, answers=["Take the undo"])
    await editor.run("Go.")
    editor.open("new.txt")
    editor.type("new.txt", "mine\n", at=(1, 0))
    (conflict,) = (await editor.command("outrider.undo", {}))["conflicts"]
    reason = f"the new file was changed since, so it is not deleted; {unsaved('undo')}"
    assert (conflict["path"], conflict["reason"], editor.questions) == ("new.txt", reason, [])
    assert (editor.text("new.txt"), editor.disk("new.txt")) == ("new\nmine\n", "new\n")

    editor.save("new.txt")
    assert (await editor.command("outrider.undo", {}))["conflicts"] == []
    assert (len(editor.questions), (workspace / "new.txt").exists()) == (1, False)


async def test_nobody_is_asked_about_unsaved_text_where_a_file_comes_back_or_goes(begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    delete = call("delete_file", path="ten.txt")
    editor = await begin("stock", [step(delete), DONE], FULL, answers=["Take the undo", "Take the redo"])
    await editor.run("Go.")
    (workspace / "ten.txt").write_text("again\n")
    editor.open("ten.txt")
    editor.type("ten.txt", "mine\n", at=(1, 0))
    (conflict,) = (await editor.command("outrider.undo", {}))["conflicts"]
    assert conflict["reason"] == f"the file exists again; {unsaved('undo')}"
    editor.save("ten.txt")
    editor.close("ten.txt")
    assert (await editor.command("outrider.undo", {}))["conflicts"] == []
    assert editor.disk("ten.txt") == TEN
    editor.open("ten.txt")
    editor.type("ten.txt", "mine\n", at=(1, 0))
    (conflict,) = (await editor.command("outrider.redo", {}))["conflicts"]
    assert conflict["reason"] == f"the file was changed since, so it is not deleted; {unsaved('redo')}"
    assert len(editor.questions) == 1


async def test_a_file_where_a_rename_wants_its_folder_is_what_is_named(begin, workspace):
    (workspace / "d").mkdir()
    (workspace / "d/c.txt").write_text(TEN)
    rename = call("rename_file", **{"from": "d/c.txt", "to": "x.txt"})
    editor = await begin("stock", [step(rename), DONE], FULL)
    await editor.run("Go.")
    (workspace / "d").rmdir()
    (workspace / "d").write_text("mine\n")
    (reason,) = named(await editor.command("outrider.undo", {})).values()
    assert reason == "d/c.txt does not exist: a name on the way to it is no folder"


async def test_an_untitled_document_that_is_gone_is_named_and_nobody_is_asked(begin):
    edit = call("edit_file", path="untitled:Untitled-1", old="two", new="2")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=["Take the undo"])
    editor.open_untitled("Untitled-1", "one\ntwo\nthree")
    await editor.run("Go.")
    editor.close(next(iter(editor.desk.buffers)))
    undone = await editor.command("outrider.undo", {})
    reason = "untitled:Untitled-1 is not open in the editor any more"
    assert named(undone) == {"untitled:Untitled-1": reason}
    assert (undone["conflicts"], editor.questions) == ([], [])


@pytest.mark.parametrize("end", ["\r\n", "\r"])
async def test_a_question_shows_no_mark_and_no_returns(end, begin, workspace):
    (workspace / "two.txt").write_bytes(f"\ufeffone{end}two{end}".encode())
    editor = await begin(
        "stock", [step(call("delete_file", path="two.txt")), DONE], FULL, answers=["Keep mine"]
    )
    await editor.run("Go.")
    (workspace / "two.txt").write_text("again\n")
    await editor.command("outrider.undo", {})
    (question,) = editor.questions
    assert question.message.endswith("As it is now:\nagain\nWith the undo:\none\ntwo")


async def two_conflicts(begin, workspace, answers):
    (workspace / "ten.txt").write_text(TEN)
    edits = [{"old": f"line {number}\n", "new": f"L{number}\n"} for number in (2, 6)]
    editor = await begin(
        "stock", [step(call("edit_file", path="ten.txt", edits=edits)), DONE], FULL, answers=answers
    )
    await editor.run("Go.")
    (workspace / "ten.txt").write_text(TEN.replace("line 2", "mine 2").replace("line 6", "mine 6"))
    undone = await editor.command("outrider.undo", {})
    return editor, [one["reason"] for one in undone["conflicts"]]


async def test_a_conflict_that_nobody_was_asked_about_says_so(begin, workspace):
    editor, reasons = await two_conflicts(begin, workspace, lambda _: Dismiss())
    assert len(editor.questions) == 1
    assert reasons == [
        "the same place was changed since",
        "the same place was changed since; not asked about, as a question before it stayed open",
    ]


async def test_a_conflict_that_was_decided_about_says_no_more(begin, workspace):
    editor, reasons = await two_conflicts(begin, workspace, lambda _: "Keep mine")
    assert len(editor.questions) == 2
    assert reasons == ["the same place was changed since"] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="only there Python knows extended attributes")
async def test_what_a_deleted_file_had_besides_its_text_is_named(begin, workspace):
    for name in ("a.sh", "b.sh"):
        (workspace / name).write_text(TEN)
    try:
        os.setxattr(workspace / "a.sh", "user.mine", b"1")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    (workspace / "a.sh").chmod(0o4755)
    steps = [step(call("delete_file", path="a.sh"), call("delete_file", path="b.sh")), DONE]
    editor = await begin("stock", steps, FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert named(undone) == {"a.sh": "it was made again without what it had besides: setuid, user.mine"}
    assert [one["path"] for one in undone["undone"]] == ["b.sh", "a.sh"]
    assert (workspace / "a.sh").stat().st_mode & 0o7777 == 0o755
    await editor.command("outrider.redo", {})
    assert named(await editor.command("outrider.undo", {})) == {}
