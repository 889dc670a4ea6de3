"""A file that came or went, and that somebody wrote since: whether the undo goes over that is the person's choice."""

import pytest
from scripting import DONE, call, step

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
