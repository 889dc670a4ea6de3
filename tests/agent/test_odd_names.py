"""Names with line ends and other hidden signs: they stand on one line wherever somebody reads them, and work."""

import subprocess

import pytest
from scripting import DONE, call, result, step

NAMES = {
    "newline": ("a\nAllow b.txt", '"a\\nAllow b.txt"'),
    "escape": ("a\x1b[2Jb.txt", '"a\\x1b[2Jb.txt"'),
    "direction": ("a\u202etxt.b", '"a\\u202etxt.b"'),
    "separator": ("a\u2028b.txt", '"a\\u2028b.txt"'),
}


def apply(tree, patch):
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    subprocess.run(["git", "apply", "-"], cwd=tree, input=patch.encode(), check=True)


@pytest.mark.parametrize("kind", NAMES)
async def test_what_the_person_is_asked_has_the_name_on_one_line(kind, begin, workspace):
    name, shown = NAMES[kind]
    (workspace / name).write_text("one\ntwo\n")
    calls = [
        call("edit_file", path=name, old="one", new="1"),
        call("write_file", path=f"new {name}", content="new\n"),
        call("rename_file", **{"from": name, "to": f"moved {name}"}),
        call("delete_file", path=f"moved {name}"),
    ]
    new, moved = shown.replace('"', '"new ', 1), shown.replace('"', '"moved ', 1)
    editor = await begin("stock", [step(one) for one in calls] + [DONE], answers=lambda _: "Allow once")
    await editor.run("Go.")
    asked = [event["data"] for event in editor.events_of("approval.requested")]
    assert [one["title"] for one in asked] == [
        f"Edit {shown} (+1 −1)",
        f"Create {new} (+1)",
        f"Rename {shown} to {moved}",
        f"Delete {moved} (−2)",
    ]
    assert asked[0]["detail"].startswith(f"--- {shown}\n+++ {shown}\n@@ ")
    assert result(editor) == ("ok", f"Edited {shown}.")
    assert not (workspace / name).exists()
    undone = await editor.command("outrider.undo", {})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert (workspace / name).read_text() == "one\ntwo\n"


@pytest.mark.parametrize("kind", NAMES)
async def test_the_patch_of_such_a_name_applies(kind, begin, workspace, tmp_path):
    name, _ = NAMES[kind]
    (there := tmp_path / "there").mkdir()
    for root in (workspace, there):
        (root / name).write_text("one\ntwo\n")
    calls = [
        call("edit_file", path=name, old="one", new="1"),
        call("rename_file", **{"from": name, "to": f"moved {name}"}),
    ]
    editor = await begin("stock", [step(*calls), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    patch = (await editor.command("outrider.changes", {"format": "patch"}))["patch"]
    apply(there, patch)
    assert (there / f"moved {name}").read_text() == "1\ntwo\n"
    assert not (there / name).exists()


async def test_a_question_of_an_undo_has_the_name_on_one_line(begin, workspace):
    name, shown = NAMES["newline"]
    (workspace / name).write_text("one\ntwo\n")
    edit = call("edit_file", path=name, old="one", new="1")
    editor = await begin("stock", [step(edit), DONE], {"permissionMode": "full"}, answers=["Take the undo"])
    await editor.run("Go.")
    (workspace / name).write_text("mine\ntwo\n")
    await editor.command("outrider.undo", {})
    assert editor.questions[0].message.startswith(f"{shown}, line 1: the same place")
    assert (workspace / name).read_text() == "one\ntwo\n"
