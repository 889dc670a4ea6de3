"""The undo of renames: another file at the new name, what stands in the way, and what is said of it."""

import pytest
from scripting import DONE, call, step

from outrider.workspace.history.histories import GONE

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
OTHER = "ANOTHER FILE OF THE PERSON\n"


def rename(path, to):
    return step(call("rename_file", **{"from": path, "to": to}))


@pytest.fixture
async def renamed(begin, workspace):
    """A session that renamed `a.txt` to `b.txt`."""

    async def start(answers=(), profile="stock"):
        (workspace / "a.txt").write_text(TEN)
        editor = await begin(profile, [rename("a.txt", "b.txt"), DONE], FULL, answers=list(answers))
        await editor.run("Go.")
        return editor

    return start


@pytest.mark.parametrize("answer", ["Keep mine", "Open both", None])
async def test_another_file_of_the_person_is_not_renamed_by_an_undo(answer, renamed, workspace):
    editor = await renamed([answer] if answer else [])
    (workspace / "b.txt").unlink()
    (workspace / "b.txt").write_text(OTHER)
    undone = await editor.command("outrider.undo", {})
    assert not (workspace / "a.txt").exists()
    assert (workspace / "b.txt").read_text() == OTHER
    (conflict,) = undone["conflicts"]
    assert (conflict["path"], "another file" in conflict["reason"]) == ("b.txt", True)
    (question,) = editor.questions
    assert OTHER.strip() in question.message


async def test_another_file_of_the_person_is_not_renamed_by_a_redo(renamed, workspace):
    editor = await renamed(["Keep mine"])
    await editor.command("outrider.undo", {})
    (workspace / "a.txt").unlink()
    (workspace / "a.txt").write_text(OTHER)
    redone = await editor.command("outrider.redo", {})
    assert (workspace / "a.txt").read_text() == OTHER
    assert [one["path"] for one in redone["conflicts"]] == ["a.txt"]


async def test_with_a_yes_what_may_be_another_file_gets_the_name(renamed, workspace):
    editor = await renamed(["Take the undo"])
    (workspace / "b.txt").write_text(OTHER)
    undone = await editor.command("outrider.undo", {})
    assert undone["conflicts"] == []
    assert (workspace / "a.txt").read_text() == OTHER
    assert not (workspace / "b.txt").exists()


@pytest.mark.parametrize("now", ["line 1\nmine\nline 10\n", TEN + OTHER * 100, ""])
async def test_nobody_is_asked_about_the_file_with_changes_in_it(now, renamed, workspace):
    editor = await renamed()
    (workspace / "b.txt").write_text(now)
    await editor.command("outrider.undo", {})
    assert (workspace / "a.txt").read_text() == now
    assert editor.questions == []


async def test_a_kept_new_file_does_not_get_the_name_of_a_deleted_one(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    made = step(call("write_file", path="b.txt", content="new\n"))
    turns = [rename("a.txt", "b.txt"), step(call("delete_file", path="b.txt")), made, DONE]
    editor = await begin("stock", turns, FULL, answers=["Keep mine"] * 3)
    await editor.run("Go.")
    (workspace / "b.txt").write_text("new\nmine\n")
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "b.txt").read_text() == "new\nmine\n"
    assert not (workspace / "a.txt").exists()
    assert "the file was created again since" in [one["reason"] for one in undone["conflicts"]]


@pytest.mark.parametrize("profile", ["stock", "neovim-0.11", "vscode", "helix-25.07", "eglot"])
@pytest.mark.parametrize(
    "raw", [b"\xef\xbb\xbfone\ntwo\n", b"one\r\ntwo\r\n", b"one\ntwo\n"], ids=["mark", "returns", "plain"]
)
async def test_a_rename_of_an_open_file_is_undone_to_the_byte(profile, raw, begin, workspace):
    (workspace / "a.txt").write_bytes(raw)
    editor = await begin(profile, [rename("a.txt", "b.txt"), DONE], FULL)
    editor.open("a.txt")
    await editor.run("Go.")
    assert (workspace / "b.txt").read_bytes() == raw
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert not (workspace / "b.txt").exists()
    assert (workspace / "a.txt").read_bytes() == raw


@pytest.mark.parametrize("profile", ["stock", "vscode"])
async def test_a_file_with_a_mark_that_a_command_deleted_once_renamed_comes_back(profile, begin, workspace):
    (workspace / "a.txt").write_bytes(b"\xef\xbb\xbfone\n")
    rm = step(call("run_command", command="rm -f b.txt"))
    editor = await begin(profile, [rename("a.txt", "b.txt"), rm, DONE], FULL)
    editor.open("a.txt")
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert (workspace / "a.txt").read_bytes() == b"\xef\xbb\xbfone\n"
    assert not (workspace / "b.txt").exists()


@pytest.mark.parametrize("profile", ["stock", "vscode", "neovim-0.11"])
async def test_nothing_is_put_aside_for_a_rename_that_cannot_be_made(profile, renamed, workspace):
    editor = await renamed(["Take the undo"], profile)
    (workspace / "a.txt").write_text("mine\n")
    editor.open("b.txt")
    editor.type("b.txt", "unsaved\n", at=(0, 0))
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "a.txt").read_text() == "mine\n"
    assert not (workspace / "a.mine.txt").exists()
    assert "unsaved changes" in undone["notUndoable"][0]["reason"]
    editor.answers = []
    assert editor.questions == []


async def test_what_was_put_aside_is_named(renamed, workspace):
    editor = await renamed(["Take the undo"])
    (workspace / "a.txt").write_text("mine\n")
    undone = await editor.command("outrider.undo", {})
    assert (workspace / "a.mine.txt").read_text() == "mine\n"
    (named,) = undone["notUndoable"]
    assert (named["what"], "a.mine.txt" in named["reason"]) == ("a.txt", True)


async def test_the_undo_of_a_rename_that_another_one_followed_says_so(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    editor = await begin("stock", [rename("a.txt", "t.txt"), rename("t.txt", "u.txt"), DONE], FULL)
    await editor.run("Go.")
    (workspace / "t.txt").write_text(OTHER)
    undone = await editor.command("outrider.undo", {"scope": "hunk", "id": "chg_1"})
    assert undone["notUndoable"] == [{"what": "a.txt", "reason": "it is now named u.txt"}]
    assert (workspace / "t.txt").read_text() == OTHER


@pytest.mark.parametrize("how", ["delete", "rename"])
async def test_a_private_folder_comes_back_private_file_by_file(how, begin, workspace):
    (workspace / "d/in").mkdir(parents=True)
    (workspace / "d/c.txt").write_text("c\n")
    (workspace / "d/z.txt").write_text("z\n")
    for folder in ("d/in", "d"):
        (workspace / folder).chmod(0o700)
    calls = {"delete": step(call("delete_file", path="d")), "rename": rename("d", "e")}
    editor = await begin("stock", [calls[how], DONE], FULL)
    await editor.run("Go.")
    first = (await editor.command("outrider.changes", {}))["changes"][0]["changeId"]
    await editor.command("outrider.undo", {"id": first})
    assert (workspace / "d").stat().st_mode & 0o777 == 0o700
    await editor.command("outrider.undo", {})
    modes = [(workspace / folder).stat().st_mode & 0o777 for folder in ("d", "d/in")]
    assert modes == [0o700, 0o700]


async def test_the_undo_of_a_session_takes_back_what_a_deletion_held(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    edit = step(call("edit_file", path="a.txt", old="line 3", new="L3"))
    turns = [step(call("delete_file", path="a.txt")), DONE, edit, DONE]
    editor = await begin("stock", turns, FULL, answers=["Take the redo"])
    await editor.run("Go.")
    await editor.command("outrider.undo", {})
    await editor.run("Go on.", sessionId=editor.session_id)
    await editor.command("outrider.redo", {"id": "chg_1"})
    assert not (workspace / "a.txt").exists()
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert (workspace / "a.txt").read_text() == TEN


async def test_the_action_in_a_file_that_a_command_moved_brings_the_other_one_back(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    editor = await begin("stock", [step(call("run_command", command="mv a.txt b.txt")), DONE], FULL)
    (workspace / "a.txt").write_text(TEN + "mine\n")
    await editor.run("Go.")
    editor.open("b.txt")
    assert await editor.code_actions("b.txt")
    await editor.take_action("Outrider: undo this change")
    assert (workspace / "a.txt").read_text() == TEN + "mine\n"
    assert not (workspace / "b.txt").exists()
    await editor.command("outrider.redo", {"scope": "hunk", "id": "chg_1"})
    assert (workspace / "b.txt").read_text() == TEN + "mine\n"
    assert not (workspace / "a.txt").exists()


async def test_of_equal_files_that_a_command_moved_the_one_of_the_same_name_comes_back(begin, workspace):
    for name in "abcde":
        (workspace / f"{name}.txt").write_text(TEN)
    move = step(call("run_command", command="mkdir to && mv ?.txt to/"))
    editor = await begin("stock", [move, DONE], FULL)
    await editor.run("Go.")
    changes = (await editor.command("outrider.changes", {}))["changes"]
    for name in "cbead":
        made = next(one["changeId"] for one in changes if one["path"] == f"to/{name}.txt")
        await editor.command("outrider.undo", {"scope": "hunk", "id": made})
        assert (workspace / f"{name}.txt").read_text() == TEN
        assert not (workspace / f"to/{name}.txt").exists()


async def test_a_file_that_a_command_moved_stays_where_the_other_one_cannot_come_back(begin, workspace):
    (workspace / "a.txt").write_text(TEN)
    move = step(call("run_command", command="mv a.txt b.txt"))
    editor = await begin("stock", [move, DONE], FULL, answers=["Keep mine"] * 2)
    await editor.run("Go.")
    (workspace / "a.txt").write_text("mine\n")
    changes = (await editor.command("outrider.changes", {}))["changes"]
    made = next(one["changeId"] for one in changes if one["operation"] == "create")
    undone = await editor.command("outrider.undo", {"scope": "hunk", "id": made})
    assert (workspace / "a.txt").read_text() == "mine\n"
    assert (workspace / "b.txt").read_text() == TEN
    assert [one["path"] for one in undone["conflicts"]] == ["a.txt"]
    assert [one["what"] for one in undone["notUndoable"]] == ["b.txt"]


async def test_a_file_that_somebody_renamed_is_said_to_be_gone_from_its_name_and_the_other_one_stays(
    begin, workspace
):
    edit = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")
    editor = await begin("stock", [step(edit), DONE], FULL, answers=["Keep mine", "Take the undo"])
    editor.open("tariff.py")
    await editor.run("Go.")
    editor.save("tariff.py")
    editor.close("tariff.py")
    (workspace / "tariff.py").rename(workspace / "rates.py")
    editor.open("rates.py")
    undone = await editor.command("outrider.undo", {})
    assert [(one["path"], one["reason"]) for one in undone["conflicts"]] == [("tariff.py", GONE)]
    assert "deleted or renamed.\nWith the undo it is created again:" in editor.questions[0].message
    await editor.command("outrider.undo", {})
    assert editor.disk("tariff.py").endswith("hours * 3\n")
    assert editor.disk("rates.py") == editor.text("rates.py")
    assert editor.text("rates.py").endswith("hours * 2\n")
