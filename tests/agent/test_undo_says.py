"""An undo that does nothing says why."""

import pytest
from scripting import DONE, call, step

from outrider.agent.below import REASON

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
    assert "rates.py was not renamed: it is open with unsaved changes" in named(undone)["tariff.py"]
    assert editor.text("rates.py").startswith("# mine\n")

    editor.save("rates.py")
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1, "now": "renamed"}]
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
