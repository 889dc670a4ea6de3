"""A file that came or went, and that somebody wrote since: whether the undo goes over that is the user's choice."""

import pytest
from scripting import DONE, call, step

from outrider.workspace.paths import path_of

FULL = {"permissionMode": "full"}
MAKE = call("write_file", path="new.txt", content="new\n", called="make")
DROP = call("delete_file", path="ten.txt", called="drop")


async def made_and_changed(begin, workspace, answers):
    editor = await begin("stock", [step(MAKE), DONE], FULL, answers=answers)
    await editor.run("Go.")
    (workspace / "new.txt").write_text("new\nmine\n")
    return editor


async def dropped_and_made_again(begin, workspace, answers):
    (workspace / "ten.txt").write_text("ten\n")
    editor = await begin("stock", [step(DROP), DONE], FULL, answers=answers)
    await editor.run("Go.")
    (workspace / "ten.txt").write_text("mine\n")
    return editor


CASES = {
    "made": (made_and_changed, "new.txt", "new\nmine\n", None, "new\nmine\n"),
    "dropped": (dropped_and_made_again, "ten.txt", "mine\n", "ten\n", None),
}


def read(path):
    return path.read_text() if path.exists() else None


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("answer", ["Keep mine", "Open both", None])
async def test_promise_4_without_a_yes_what_somebody_wrote_stays(case, answer, begin, workspace):
    begun, name, mine, _, _ = CASES[case]
    editor = await begun(begin, workspace, [answer] if answer else [])
    undone = await editor.command("outrider.undo", {})
    assert read(workspace / name) == mine
    assert [one["path"] for one in undone["conflicts"]] == [name]
    (question,) = editor.questions
    assert question.titles == ("Keep mine", "Take the undo", "Open both")
    assert "mine" in question.message
    if answer == "Open both":
        assert len(editor.shown) == 2


@pytest.mark.parametrize("case", CASES)
async def test_with_a_yes_the_undo_goes_over_it_and_a_redo_brings_the_change_again(case, begin, workspace):
    begun, name, _, undone_text, redone_text = CASES[case]
    editor = await begun(begin, workspace, ["Take the undo"])
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], [one["path"] for one in undone["undone"]]) == ([], [name])
    assert read(workspace / name) == undone_text
    changes = (await editor.command("outrider.changes", {}))["changes"]
    assert [hunk["state"] for change in changes for hunk in change["hunks"]] == ["undone"]
    await editor.command("outrider.redo", {})
    assert read(workspace / name) == redone_text


@pytest.mark.parametrize("case", CASES)
async def test_what_is_written_while_the_question_is_open_is_not_gone_over(case, begin, workspace):
    begun, name, mine, _, _ = CASES[case]

    def person(_question):
        (workspace / name).write_text(
            f"{mine}more\n" if len(editor.questions) == 1 else read(workspace / name)
        )
        return "Take the undo" if len(editor.questions) == 1 else "Keep mine"

    editor = await begun(begin, workspace, [])
    editor.answers = person
    undone = await editor.command("outrider.undo", {})
    assert read(workspace / name) == f"{mine}more\n"
    assert len(undone["conflicts"]) == 1
    assert len(editor.questions) == 2


# --- an edit of a file that is gone -----------------------------------------------------------------------------

LINES = "".join(f"line {number}\n" for number in range(1, 8))
TWO = call(
    "edit_file",
    path="ten.txt",
    edits=[{"old": "line 2\n", "new": "line two\n"}, {"old": "line 6\n", "new": "line six\n"}],
)
GONE = "the file no longer exists: it was deleted or renamed"


async def edited_and_gone(begin, workspace, answers, *, moved=False, profile="stock"):
    (workspace / "ten.txt").write_text(LINES)
    editor = await begin(profile, [step(TWO), DONE], FULL, answers=answers)
    await editor.run("Go.")
    if moved:
        (workspace / "ten.txt").rename(workspace / "mine.txt")
    else:
        (workspace / "ten.txt").unlink()
    return editor


@pytest.mark.parametrize("moved", [False, True])
async def test_an_edit_of_a_file_that_is_gone_comes_back_as_it_was_with_a_yes(moved, begin, workspace):
    editor = await edited_and_gone(begin, workspace, ["Take the undo"], moved=moved)
    changed = read(workspace / "mine.txt")
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert undone["undone"] == [{"path": "ten.txt", "hunks": 2}]
    assert read(workspace / "ten.txt") == LINES
    assert read(workspace / "mine.txt") == changed
    (question,) = editor.questions
    assert question.titles == ("Keep mine", "Take the undo", "Open both")
    assert GONE in question.message
    changes = (await editor.command("outrider.changes", {}))["changes"]
    assert {hunk["state"] for change in changes for hunk in change["hunks"]} == {"undone"}
    await editor.command("outrider.redo", {})
    assert read(workspace / "ten.txt") == LINES.replace("2\n", "two\n").replace("6\n", "six\n")
    await editor.command("outrider.undo", {})
    assert read(workspace / "ten.txt") == LINES
    assert len(editor.questions) == 1


@pytest.mark.parametrize("answer", ["Keep mine", "Open both", None])
async def test_without_a_yes_a_file_that_is_gone_stays_gone_and_is_asked_about_once(answer, begin, workspace):
    editor = await edited_and_gone(begin, workspace, [answer] if answer else [])
    undone = await editor.command("outrider.undo", {})
    assert read(workspace / "ten.txt") is None
    assert [(one["path"], one["reason"]) for one in undone["conflicts"]] == [("ten.txt", GONE)]
    assert len(editor.questions) == 1
    if answer == "Open both":
        papers = [read(path_of(one["uri"])) for one in editor.shown]
        assert papers == ["", LINES]


async def test_a_redo_of_an_edit_of_a_file_that_is_gone_is_asked_too(begin, workspace):
    editor = await edited_and_gone(begin, workspace, ["Take the undo", "Take the redo"])
    await editor.command("outrider.undo", {})
    (workspace / "ten.txt").unlink()
    redone = await editor.command("outrider.redo", {})
    assert redone["conflicts"] == []
    assert editor.questions[-1].titles == ("Keep mine", "Take the redo", "Open both")
    assert read(workspace / "ten.txt") == LINES.replace("2\n", "two\n").replace("6\n", "six\n")


async def test_a_file_that_is_made_while_it_is_asked_about_is_not_gone_over(begin, workspace):
    editor = await edited_and_gone(begin, workspace, [])

    def person(_question):
        (workspace / "ten.txt").write_text("")
        return "Take the undo"

    editor.answers = person
    undone = await editor.command("outrider.undo", {})
    assert read(workspace / "ten.txt") == ""
    assert len(undone["conflicts"]) == 2
    assert len(editor.questions) == 1


async def test_a_new_file_that_the_person_deleted_is_not_asked_about(begin, workspace):
    edit = call("edit_file", path="new.txt", old="new\n", new="newer\n")
    editor = await begin("stock", [step(MAKE), step(edit), DONE], FULL)
    await editor.run("Go.")
    (workspace / "new.txt").unlink()
    await editor.command("outrider.undo", {})
    assert (read(workspace / "new.txt"), editor.questions) == (None, [])


# --- a rename whose old path is taken ---------------------------------------------------------------------------

MOVE = call("rename_file", **{"from": "tariff.py", "to": "rates.py"})


async def renamed_and_made_again(begin, workspace, answers, profile="stock"):
    before = read(workspace / "tariff.py")
    editor = await begin(profile, [step(MOVE), DONE], FULL, answers=answers)
    await editor.run("Go.")
    (workspace / "tariff.py").write_text("mine\n")
    return editor, before


@pytest.mark.parametrize("answer", ["Keep mine", "Open both", None])
async def test_without_a_yes_a_name_that_is_taken_stays_taken(answer, begin, workspace):
    editor, before = await renamed_and_made_again(begin, workspace, [answer] if answer else [])
    undone = await editor.command("outrider.undo", {})
    assert (read(workspace / "tariff.py"), read(workspace / "rates.py")) == ("mine\n", before)
    assert [one["reason"] for one in undone["conflicts"]] == ["tariff.py exists again"]
    (question,) = editor.questions
    assert question.titles == ("Keep mine", "Take the undo", "Open both")
    if answer == "Open both":
        assert [path_of(one["uri"]).name for one in editor.shown] == ["tariff.py", "rates.py"]


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("profile", ["stock", "vscode", "neovim-0.11"])
async def test_with_a_yes_what_has_the_name_is_kept_beside_it(profile, is_open, begin, workspace):
    (workspace / "tariff.mine.py").write_text("older\n")
    editor, before = await renamed_and_made_again(begin, workspace, ["Take the undo"], profile)
    if is_open:
        editor.open("tariff.py")
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["undone"]) == ([], [{"path": "tariff.py", "hunks": 1}])
    assert "tariff.mine-2.py" in editor.questions[0].message
    kept = {"tariff.py": before, "tariff.mine.py": "older\n", "tariff.mine-2.py": "mine\n", "rates.py": None}
    assert {name: read(workspace / name) for name in kept} == kept
    (change,) = (await editor.command("outrider.changes", {}))["changes"]
    assert (change["path"], change["reason"]) == ("tariff.py", "it is already undone")
    assert (await editor.command("outrider.changes", {"format": "patch"}))["patch"] == ""
    redone = await editor.command("outrider.redo", {})
    assert redone["conflicts"] == []
    assert read(workspace / "rates.py") == before
    assert read(workspace / "tariff.mine-2.py") == "mine\n"


async def test_what_the_session_made_where_a_name_comes_back_is_still_its_own(begin, workspace):
    again = call("write_file", path="tariff.py", content="again\n")
    editor = await begin("stock", [step(MOVE), step(again), DONE], FULL, answers=["Take the undo"])
    before = read(workspace / "tariff.py")
    await editor.run("Go.")
    moved, made = (await editor.command("outrider.changes", {}))["changes"]
    await editor.command("outrider.undo", {"id": moved["changeId"]})
    assert (read(workspace / "tariff.py"), read(workspace / "tariff.mine.py")) == (before, "again\n")
    undone = await editor.command("outrider.undo", {"id": made["changeId"]})
    assert undone["conflicts"] == []
    assert (read(workspace / "tariff.py"), read(workspace / "tariff.mine.py")) == (before, None)


@pytest.mark.parametrize("kind", ["folder", "link", "bytes"])
async def test_what_cannot_be_put_aside_is_named_with_the_reason(kind, begin, workspace):
    editor, before = await renamed_and_made_again(begin, workspace, ["Take the undo"])
    path = workspace / "tariff.py"
    path.unlink()
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("rates.py")
    else:
        path.write_bytes(b"\0\1\2")
    undone = await editor.command("outrider.undo", {})
    assert (undone["undone"], editor.questions) == ([], [])
    (one,) = undone["conflicts"] or undone["notUndoable"]
    assert "tariff.py" in f"{one}"
    assert read(workspace / "rates.py") == before
