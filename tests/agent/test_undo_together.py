"""An undo of edits in many files: written together, and each for itself."""

from scripting import DONE, call, step

from outrider.workspace.edits import on_disk

FULL = {"permissionMode": "full"}
BEFORE = "one\ntwo\nthree\n"
AFTER = BEFORE.replace("two", "TWO")


def edits(names):
    return step(*(call("edit_file", path=name, old="two", new="TWO") for name in names))


async def edited(begin, workspace, names, **how):
    for name in names:
        (workspace / name).write_text(BEFORE)
    editor = await begin("stock", [edits(names), DONE], FULL, **how)
    await editor.run("Go.")
    assert [(workspace / name).read_text() for name in names] == [AFTER] * len(names)
    return editor


def since_undo(editor):
    types = [event["type"] for event in editor.events]
    return [one for one in types[types.index("undo.requested") :] if one.startswith("edit.")]


async def test_edits_of_many_files_are_begun_together_and_all_come_back(begin, workspace):
    names = [f"file_{number}.txt" for number in range(120)]
    editor = await edited(begin, workspace, names)
    undone = await editor.command("outrider.undo", {})
    assert {one["path"]: one["hunks"] for one in undone["undone"]} == dict.fromkeys(names, 1)
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert [(workspace / name).read_text() for name in names] == [BEFORE] * 120
    groups = [*["edit.applying"] * 50, *["edit.applied"] * 50] * 2
    assert since_undo(editor) == [*groups, *["edit.applying"] * 20, *["edit.applied"] * 20]


async def test_what_keeps_one_file_from_coming_back_keeps_no_other(begin, workspace):
    names = ["plain.txt", "typed.txt", "open.txt", "shut.txt", "beside.txt", "gone.txt", "last.txt"]
    editor = await edited(begin, workspace, names, answers=["Keep mine"] * 5)
    editor.open("open.txt")
    editor.type("open.txt", "mine\n", at=(0, 0))
    (workspace / "typed.txt").write_text(AFTER.replace("TWO", "mine"))
    (workspace / "beside.txt").write_text(f"mine\n{AFTER}")
    (workspace / "shut.txt").chmod(0o444)
    (workspace / "gone.txt").unlink()
    undone = await editor.command("outrider.undo", {})
    assert {one["path"] for one in undone["undone"]} == {"plain.txt", "open.txt", "beside.txt", "last.txt"}
    assert {one["path"] for one in undone["conflicts"]} == {"typed.txt", "gone.txt"}
    assert undone["notUndoable"] == [{"what": "shut.txt", "reason": "shut.txt is write-protected"}]
    assert editor.text("open.txt") == f"mine\n{BEFORE}"
    texts = {path.name: path.read_text() for path in workspace.glob("*.txt")}
    assert texts == {
        "plain.txt": BEFORE, "typed.txt": "one\nmine\nthree\n", "open.txt": AFTER, "shut.txt": AFTER,
        "beside.txt": f"mine\n{BEFORE}", "last.txt": BEFORE,
    }  # fmt: skip


async def test_a_file_that_is_changed_while_others_are_written_is_worked_out_again(
    begin, workspace, monkeypatch
):
    names = ["a.txt", "b.txt", "c.txt"]
    editor = await edited(begin, workspace, names)
    write, typed = on_disk.write, []

    def write_while_somebody_types(change, held):
        if change.located.display == "b.txt" and not typed:
            typed.append("mine")
            (workspace / "b.txt").write_text(f"mine\n{AFTER}")
        return write(change, held)

    monkeypatch.setattr(on_disk, "write", write_while_somebody_types)
    undone = await editor.command("outrider.undo", {})
    assert {one["path"] for one in undone["undone"]} == set(names)
    assert [(workspace / name).read_text() for name in names] == [BEFORE, f"mine\n{BEFORE}", BEFORE]
    ends = ["edit.applied", "edit.rejected", "edit.applied"]
    assert since_undo(editor) == [*["edit.applying"] * 3, *ends, "edit.applying", "edit.applied"]


async def test_hunks_of_one_file_go_on_one_after_the_other(begin, workspace):
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text(BEFORE)
    turns = [edits(["a.txt", "b.txt"]), step(call("edit_file", path="a.txt", old="TWO", new="2")), DONE]
    editor = await begin("stock", turns, FULL)
    await editor.run("Go.")
    undone = await editor.command("outrider.undo", {})
    assert {one["path"]: one["hunks"] for one in undone["undone"]} == {"a.txt": 2, "b.txt": 1}
    assert [(workspace / name).read_text() for name in ("a.txt", "b.txt")] == [BEFORE] * 2
