"""An undo that does nothing says why."""

import os
import sys

import pytest
from scripting import DONE, call, step

from outrider.agent.changes.current_state import REASON
from outrider.testing.editor.answers import Dismiss
from outrider.testing.editor.wire_client import RpcError
from outrider.workspace.edits.apply import UNSAVED

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


PRICE = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")


def undo_turns(actions):
    return [one for one in actions if one["title"].startswith("Outrider: undo turn")]


async def test_an_undo_of_the_latest_turn_alone_names_the_older_one_that_it_would_undo(begin, workspace):
    editor = await begin("stock", [step(PRICE), DONE, DONE], FULL)
    await editor.run("Fix the price.")
    session, fixed = editor.session_id, editor.turn_id
    (offered,) = undo_turns(await editor.code_actions("README.md"))
    assert offered["title"] == "Outrider: undo turn", "the latest one needs no name"
    await editor.run("Say something.", sessionId=session)
    after = (workspace / "tariff.py").read_text()
    with pytest.raises(RpcError) as refused:
        await editor.command("outrider.undo", {"sessionId": session, "latest": True})
    assert refused.value.data == {
        "reason": "not_latest",
        "sessionId": session,
        "turnId": fixed,
        "prompt": "Fix the price.",
    }
    assert "“Fix the price.”" in refused.value.message
    assert (workspace / "tariff.py").read_text() == after
    (offered,) = undo_turns(await editor.code_actions("README.md"))
    assert offered["title"] == "Outrider: undo turn “Fix the price.”"
    await editor.take_action(offered["title"])
    assert (workspace / "tariff.py").read_text() != after
    with pytest.raises(RpcError) as refused:
        await editor.command("outrider.undo", {"sessionId": session, "latest": True})
    assert refused.value.data["reason"] == "nothing_to_undo"


async def test_an_undo_of_the_latest_turn_alone_undoes_that_one(begin, workspace):
    before = (workspace / "tariff.py").read_text()
    editor = await begin("stock", [DONE, step(PRICE), DONE], FULL)
    await editor.run("Say something.")
    await editor.run("Fix the price.", sessionId=editor.session_id)
    undone = await editor.command("outrider.undo", {"latest": True})
    assert [one["path"] for one in undone["undone"]] == ["tariff.py"]
    assert (workspace / "tariff.py").read_text() == before


async def test_without_a_session_that_of_an_older_one_is_named_too(begin):
    editor = await begin("stock", [step(PRICE), DONE], FULL)
    await editor.run("Fix the price.")
    first, fixed = editor.session_id, editor.turn_id
    await editor.run("Fix it once more.")
    assert editor.session_id != first
    with pytest.raises(RpcError) as refused:
        await editor.command("outrider.undo", {"latest": True})
    data = refused.value.data
    assert (data["reason"], data["sessionId"], data["turnId"]) == ("not_latest", first, fixed)


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
    assert reason == "d/c.txt does not exist: a part of its path is not a folder"


async def test_an_untitled_document_that_is_gone_is_named_and_nobody_is_asked(begin):
    edit = call("edit_file", path="untitled:Untitled-1", old="two", new="2")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=["Take the undo"])
    editor.open_untitled("Untitled-1", "one\ntwo\nthree")
    await editor.run("Go.")
    editor.close(next(iter(editor.desk.buffers)))
    undone = await editor.command("outrider.undo", {})
    reason = "untitled:Untitled-1 is no longer open in the editor"
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
        "the same place was changed since; not asked about, because an earlier question was not answered",
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
    assert named(undone) == {"a.sh": "it was restored without: setuid, user.mine"}
    assert [one["path"] for one in undone["undone"]] == ["b.sh", "a.sh"]
    assert (workspace / "a.sh").stat().st_mode & 0o7777 == 0o755
    await editor.command("outrider.redo", {})
    assert named(await editor.command("outrider.undo", {})) == {}


READ_TEN = step(call("read_file", path="ten.txt"))
EDIT_TEN = step(call("edit_file", path="ten.txt", old="line 3", new="L3"))


@pytest.mark.parametrize("types", [False, True])
async def test_promise_5_an_edit_below_a_document_that_was_opened_with_the_old_text_is_named(
    types, begin, workspace
):
    """The editor read the file before the edit was on disk, and told of the document after it."""
    path = workspace / "ten.txt"
    path.write_text(TEN)
    editor = await begin("stock", [READ_TEN, EDIT_TEN, DONE], FULL)
    await editor.run("Go.")
    edited = path.read_text()
    path.write_text(TEN)
    editor.open("ten.txt")
    path.write_text(edited)
    if types:
        editor.type("ten.txt", "mine\n", at=(8, 0))
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["undone"], named(undone)) == ([], {"ten.txt": REASON})
    assert path.read_text() == edited


async def test_promise_5_a_rename_is_not_undone_below_an_unsaved_document_of_the_old_path(begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    rename = step(call("rename_file", **{"from": "ten.txt", "to": "moved.txt"}))
    editor = await begin("stock", [rename, DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.")
    editor.type("ten.txt", "in the old tab\n", at=(0, 0))
    (workspace / "moved.txt").write_text(f"in the new file\n{TEN}")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    (conflict,) = undone["conflicts"]
    assert conflict["path"] == "moved.txt"
    assert "ten.txt is open in the editor with other text" in conflict["reason"]
    assert undone["undone"] == []
    assert not (workspace / "ten.txt").exists()
    editor.close("ten.txt")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert undone["undone"] == [{"path": "ten.txt", "hunks": 1}]
    assert (workspace / "ten.txt").read_text() == f"in the new file\n{TEN}"


@pytest.mark.parametrize(
    ("agent", "now", "hunks", "after"),
    [
        ("1\n2\n3\n", "1\n2\n3 MINE\n", 0, "1\n2\n3 MINE\n"),
        ("ONE\n2\n3\n", "ONE\n2\n3 MINE\n", 1, "1\n2\n3 MINE\n"),
    ],
)
async def test_an_undo_counts_only_what_it_changed(agent, now, hunks, after, begin, workspace):
    (workspace / "two.txt").write_text("1\n2\n3")
    write = step(call("write_file", path="two.txt", content=agent, overwrite=True))
    editor = await begin("stock", [step(call("read_file", path="two.txt")), write, DONE], FULL)
    await editor.run("Go.")
    (workspace / "two.txt").write_text(now)
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert sum(one["hunks"] for one in undone["undone"]) == hunks
    (conflict,) = undone["conflicts"]
    assert conflict["line"] == 3
    assert (workspace / "two.txt").read_text() == after


FUNCTION = "def b():\n    x = 2\n    return x\n\n"
CODE = f"def a():\n    return 1\n\n{FUNCTION}def c():\n    return 3\n"


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    ("takes", "now", "is_named"),
    [
        ("cut", CODE.replace("x = 2", "x = 22"), True),
        ("cut", CODE.replace("def b", "# mine\ndef b"), False),
        ("cut", CODE.replace(FUNCTION, "") + f"\n{FUNCTION}", True),
        ("empty", f"# mine\n{CODE}", False),
        ("empty", CODE.replace("def b", "# mine\ndef b"), False),
        ("command", f"# mine\n{CODE}", False),
    ],
)
async def test_promise_5_what_the_user_brought_back_is_not_put_in_again(
    opened, takes, now, is_named, begin, workspace
):
    (workspace / "code.py").write_text(CODE)
    calls = {
        "cut": call("edit_file", path="code.py", old=FUNCTION, new=""),
        "empty": call("write_file", path="code.py", content="", overwrite=True),
        "command": call("run_command", command=": > code.py"),
    }
    script = [step(call("read_file", path="code.py")), step(calls[takes]), DONE]
    editor = await begin("stock", script, FULL)
    if opened:
        editor.open("code.py")
    await editor.run("Go.")
    if opened and takes == "command":
        editor.reload("code.py")
    if opened:
        text = editor.text("code.py")
        editor.type("code.py", now, **({"replace": text} if text else {}))
    else:
        (workspace / "code.py").write_text(now)
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (editor.text("code.py") if opened else (workspace / "code.py").read_text()) == now
    assert undone["undone"] == []
    assert bool(undone["conflicts"]) is is_named
