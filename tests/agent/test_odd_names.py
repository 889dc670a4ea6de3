"""Names with line ends and other hidden signs: they stand on one line wherever somebody reads them, and work."""

import os
import subprocess
from pathlib import Path
from unicodedata import normalize

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
    assert result(editor) == ("ok", f"Edited {shown}.\nNow in {shown}:\n     1\t1\n     2\ttwo")
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


COMPOSED, DECOMPOSED = (normalize(form, "café") for form in ("NFC", "NFD"))


@pytest.mark.parametrize("opened", [True, False])
@pytest.mark.parametrize(("asked", "there"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
async def test_a_name_in_another_normal_form_is_the_file_that_is_there(
    asked, there, opened, begin, workspace
):
    (workspace / there).mkdir()
    (workspace / there / f"{there}.txt").write_text("one\ntwo\n")
    calls = [
        call("read_file", path=f"{asked}/{asked}.txt"),
        call("edit_file", path=f"{asked}/{asked}.txt", old="one", new="1"),
        call("write_file", path=f"{asked}/new.txt", content="new\n"),
        call("list_files", path=asked),
    ]
    editor = await begin("stock", [step(one) for one in calls] + [DONE], {"permissionMode": "full"})
    if opened:
        editor.open(f"{there}/{there}.txt")
    await editor.run("Go.")
    finished = [event["data"] for event in editor.events_of("tool.finished")]
    assert [one["status"] for one in finished] == ["ok"] * 4
    assert [os.fsencode(one.name) for one in workspace.iterdir() if not one.name.isascii()] == [
        os.fsencode(there)
    ]
    assert sorted(one.name for one in (workspace / there).iterdir()) == sorted([f"{there}.txt", "new.txt"])
    path = workspace / there / f"{there}.txt"
    assert (editor.text(path) if opened else path.read_text()) == "1\ntwo\n"
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert (editor.text(path) if opened else path.read_text()) == "one\ntwo\n"


async def test_of_two_names_that_look_the_same_each_is_itself(begin, workspace):
    for name in (COMPOSED, DECOMPOSED):
        (workspace / name).write_text(f"{len(name)}\n")
    calls = [
        call("edit_file", path=name, old="\n", new=f" is {len(name)}\n") for name in (COMPOSED, DECOMPOSED)
    ]
    editor = await begin("stock", [step(*calls), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    assert [(workspace / name).read_text() for name in (COMPOSED, DECOMPOSED)] == ["4 is 4\n", "5 is 5\n"]


async def test_a_name_that_is_no_utf_8_is_used_as_every_listing_shows_it(begin, workspace):
    odd = Path(os.fsdecode(os.fsencode(workspace) + b"/caf\xe9 \xff.txt"))
    odd.write_text("one\ntwo\n")
    shown = r"caf\xe9 \xff.txt"
    calls = [
        call("list_files", path="."),
        call("find_files", pattern="caf*"),
        call("search", pattern="two"),
        call("read_file", path=shown),
        call("edit_file", path=shown, old="one", new="1"),
        call("run_command", command="echo three >> caf*"),
        call("read_file", path=shown),
    ]
    editor = await begin("stock", [step(one) for one in calls] + [DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    finished = [event["data"] for event in editor.events_of("tool.finished")]
    assert [one["status"] for one in finished] == ["ok"] * len(calls)
    assert all(shown in one["content"] for one in finished[:3])
    assert "three" in finished[-1]["content"]
    assert odd.read_text() == "1\ntwo\nthree\n"
    undone = await editor.command("outrider.undo", {"scope": "session"})
    assert [one["path"] for one in undone["undone"]] == [shown]
    assert odd.read_text().startswith("one\ntwo\n")
    assert [one.name for one in workspace.glob("caf*")] == [odd.name]
