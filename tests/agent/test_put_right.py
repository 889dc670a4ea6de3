"""Typing while an edit that landed at a wrong place, or in part, is put right."""

import pytest
from scripting import DONE, call, result, results, step

FULL = {"permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
EDIT = call("edit_file", path="ten.txt", called="edit", edits=[
    {"old": "line 2\n", "new": "L2\n"}, {"old": "line 9\n", "new": "L9\n"},
])  # fmt: skip


@pytest.fixture
def typing(begin, workspace):
    """An editor whose user types before the first edit, and before and after the repair of it."""

    async def start(profile, beside):
        (workspace / "ten.txt").write_text(TEN)
        editor = await begin(profile, [step(EDIT), DONE], FULL)
        editor.open("ten.txt")
        apply, edits = editor._apply_edit, []

        def type_around(number, params):
            edits.append(params)
            if len(edits) == 1:
                editor.type("ten.txt", "# mine\n", at=(0, 0), unsent=True)
            if len(edits) == 2:
                line = editor.text("ten.txt").split("\n").index(beside)
                editor.type("ten.txt", "before\n", at=(line, 0), unsent=True)
            apply(number, params)
            if len(edits) == 2:
                editor.type("ten.txt", "after\n", at=(5, 0), unsent=True)

        editor._apply_edit = type_around
        return editor, edits

    return start


@pytest.mark.parametrize("profile", ["vim-lsp", "types-before-edit-applies"])
async def test_promise_4_what_is_typed_between_the_hunks_of_a_repair_stays(profile, typing):
    editor, edits = await typing(profile, "line 5")
    await editor.run("Go.")
    editor.settle()
    assert len(edits) >= 2
    text = editor.text("ten.txt")
    assert [text.count(f"{one}\n") for one in ("# mine", "before", "after")] == [1, 1, 1], results(editor)


@pytest.mark.parametrize("beside", ["line 3", "line 10"])
async def test_promise_4_what_is_typed_right_at_a_repair_stays_or_is_shown(beside, typing):
    editor, _ = await typing("vim-lsp", beside)
    await editor.run("Go.", seconds=30)
    editor.settle()
    shown = "\n".join(one.text for one in editor.said if one.shown)
    for typed in ("# mine\n", "before\n", "after\n"):
        assert typed in editor.text("ten.txt") + shown


async def test_promise_4_an_edit_of_which_only_parts_are_applied_each_time_is_completed(begin, workspace):
    (workspace / "ten.txt").write_text(TEN)
    edits = [{"old": f"line {one}\n", "new": f"L{one}\n"} for one in (2, 5, 8)]
    editor = await begin("applies-part", [step(call("edit_file", path="ten.txt", edits=edits)), DONE], FULL)
    editor.open("ten.txt")
    await editor.run("Go.", seconds=30)
    assert result(editor)[0] == "ok"
    assert editor.text("ten.txt") == TEN.replace("line 2", "L2").replace("line 5", "L5").replace(
        "line 8", "L8"
    )


@pytest.mark.parametrize(
    ("new", "wanted"), [("two\nmore\n", "one\ntwo\nmore\n"), ("", "one\n")], ids=["append", "delete"]
)
@pytest.mark.parametrize("profile", ["stock", "neovim-0.10", "neovim-0.11", "vscode"])
async def test_an_edit_at_the_end_of_an_open_file_goes_and_comes_back_to_the_byte(
    profile, new, wanted, begin, workspace
):
    (workspace / "two.txt").write_text("one\ntwo\n")
    edit = call("edit_file", path="two.txt", old="two\n", new=new)
    editor = await begin(profile, [step(edit), DONE], FULL)
    editor.open("two.txt")
    await editor.run("Go.")
    assert editor.text("two.txt") == wanted
    assert "Someone else" not in result(editor)[1]
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert editor.text("two.txt") == "one\ntwo\n"
