"""Promise 4 through the whole house: clients that do something else with an edit than they say."""

from dataclasses import replace

import pytest
from scripting import DONE, FIX, call, result, step

from outrider.lsp import profile as profiles
from outrider.ports.model import content_hash
from outrider.testing.editor.profiles import BAD_EDITS, MOVING, PROFILES, STOCK

PART = replace(STOCK, name="applies-part-once", edit_fault="partly_once")
TWO = call("edit_file", path="tariff.py", edits=[
    {"old": "def price", "new": "def cost"}, {"old": "hours * 3", "new": "hours * 2"},
])  # fmt: skip
FULL = {"permissionMode": "full"}
QUICK = [str(one) for one in BAD_EDITS + MOVING if one.edit_fault != "never_answers"]


@pytest.mark.parametrize("profile", QUICK)
async def test_promise_4_the_result_says_what_is_there(profile, begin):
    editor = await begin(profile, [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    assert (await editor.run("Go.", seconds=30))["outcome"] == "completed"
    editor.settle()
    status, content = result(editor)
    text = editor.text("tariff.py")
    assert ("hours * 2" in text) == (status == "ok"), content
    assert text.count("hours") == 2
    typed = editor.profile.types_before_edit
    if typed is not None:
        assert text.startswith(typed)
    assert editor.disk("tariff.py").endswith("hours * 3\n")
    settled = [event["type"] for event in editor.events if event["type"].startswith("edit.")]
    assert settled[-1] in ({"edit.applied", "edit.merged"} if status == "ok" else {"edit.rejected"})


@pytest.mark.parametrize("profile", ["types-before-edit-applies", "types-before-edit-neovim"])
async def test_promise_4_what_is_typed_into_an_edit_of_a_file_that_was_read_stays_when_it_is_taken_back(
    profile, begin
):
    editor = await begin(profile, [step(call("read_file", path="tariff.py")), step(FIX), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    await editor.run("Go.")
    (merged,) = [event for event in editor.events if event["type"] in {"edit.applied", "edit.merged"}]
    assert merged["data"]["before"] == content_hash(f"# typed\n{text}".encode())
    editor.profile = STOCK
    await editor.command("outrider.undo", {})
    assert editor.text("tariff.py") == f"# typed\n{text}"


@pytest.mark.parametrize("profile", ["stops-reading", "never-creates-progress", "never-shows-document"])
async def test_a_client_that_leaves_something_unanswered_does_not_stop_the_turn(profile, begin):
    editor = await begin(profile, [step(FIX), DONE], FULL)
    pending = editor.command_nowait("outrider.run", {"prompt": "Go."})
    editor.read_on()
    started = await pending
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"


async def test_promise_4_an_edit_that_is_applied_in_part_is_completed_and_taken_back_whole(begin):
    editor = await begin("applies-part", [step(TWO), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    await editor.run("Go.")
    assert result(editor)[0] == "ok"
    assert editor.text("tariff.py") == text.replace("price", "cost").replace("* 3", "* 2")
    editor.profile = STOCK
    await editor.command("outrider.undo", {})
    assert editor.text("tariff.py") == text


@pytest.mark.thorough
async def test_promise_4_a_part_that_stays_is_told_and_can_be_taken_back(begin):
    editor = await begin(PART, [step(TWO), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    await editor.run("Go.", seconds=30)
    status, content = result(editor)
    assert status == "error"
    assert "only a part of an edit" in content
    assert "+def cost(hours):" in content
    assert "hours * 2" not in content
    assert editor.text("tariff.py") == text.replace("price", "cost")
    (listed,) = (await editor.command("outrider.changes", {}))["changes"]
    assert [hunk["added"] for hunk in listed["hunks"]] == ["def cost(hours):\n"]
    assert any(one.shown and "only a part" in one.text for one in editor.said)
    editor.profile = STOCK
    editor.type("tariff.py", "hours * 4", replace="hours * 3")
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    assert editor.text("tariff.py") == text.replace("* 3", "* 4")


@pytest.mark.thorough
async def test_promise_4_of_several_changes_a_part_that_stays_is_named(begin):
    patch = (
        "*** Begin Patch\n*** Add File: new.txt\n+new\n*** Update File: tariff.py\n@@\n-def price(hours):\n"
        "+def cost(hours):\n@@\n-    return hours * 3\n+    return hours * 2\n*** End Patch\n"
    )
    editor = await begin(PART, [step(call("apply_patch", patch=patch)), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.", seconds=30)
    status, content = result(editor)
    assert status == "error"
    assert "Still in place, because it could not be reverted: a part of the edit of tariff.py." in content
    assert "Reverted: new.txt." in content
    assert not (editor.root / "new.txt").exists()


@pytest.mark.parametrize(
    ("profile", "in_one"),
    [("debounces", False), ("neovim-0.11", False), ("vim-lsp", False), ("vim-lsp", True)],
)
async def test_promise_4_an_edit_that_is_typed_into_before_it_is_told_is_there_once(profile, in_one, begin):
    insert = call("insert_lines", path="tariff.py", after_line=0, text="# How much it is.\n")
    editor = await begin(profile, [step(insert), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    editor.auto_settle = False
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: editor.edits, "the edit")
    editor.type("tariff.py", "really ", at=(0, 6), unsent=True)
    buffer = editor.desk.buffer("tariff.py")
    if in_one:
        buffer.unsent[:] = [{"text": buffer.text}]
    editor.settle()
    editor.auto_settle = True

    await editor.wait_turn(started["turnId"])

    assert editor.text("tariff.py") == f"# How really much it is.\n{text}"
    assert len(editor.edits) == 1
    status, content = result(editor)
    assert status == ("error" if in_one else "ok")
    assert ("# How really much it is." in content) == in_one


async def test_an_edit_counts_where_the_editor_tells_of_it_only_with_an_answer(begin):
    editor = await begin("vim-lsp", [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    await editor.command("outrider.run", {"prompt": "Go."})
    # No further request, with which the editor would tell of it too.
    await editor.wait_for(lambda: editor.events_of("turn.finished"), "the end")
    assert result(editor)[0] == "ok"
    assert len(editor.edits) == 1


async def waiting_for_a_key(begin, monkeypatch, after=DONE):
    """An editor that made an edit and has not told of it, and the turn that waits for that."""
    monkeypatch.setattr(profiles, "_SETTLE_SECONDS", 0.05)
    editor = await begin("eglot", [step(FIX), after], FULL)
    editor.open("tariff.py")
    editor.auto_settle = False
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: editor.said, "what the user is to do")
    return editor, started


async def test_an_edit_counts_where_the_editor_tells_of_it_only_after_the_next_key(begin, monkeypatch):
    editor, started = await waiting_for_a_key(begin, monkeypatch)
    assert [one.text for one in editor.said] == [
        "Outrider: press any key, so that the editor reports the edit it made."
    ]
    editor.settle()
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert result(editor)[0] == "ok"
    assert editor.events_of("edit.applied")


async def test_a_turn_is_cancelled_while_its_edit_waits_for_a_key(begin, monkeypatch):
    # A command is a key as well: the turn goes on with it, to a model that takes its time.
    hangs = {"text": "Done.", "fault": {"kind": "hang", "after": 2}}
    editor, started = await waiting_for_a_key(begin, monkeypatch, hangs)
    cancelled = await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert cancelled["outcome"] == "cancelled"


@pytest.mark.parametrize("profile", ["types-before-edit-applies", "types-before-edit-neovim"])
async def test_promise_4_an_edit_at_a_wrong_place_is_put_right_and_taken_back(profile, begin):
    editor = await begin(profile, [step(TWO), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    await editor.run("Go.", seconds=30)
    editor.settle()
    assert result(editor)[0] == "ok"
    assert editor.text("tariff.py") == "# typed\n" + text.replace("price", "cost").replace("* 3", "* 2")
    undone = await editor.command("outrider.undo", {})
    assert (undone["undone"], undone["conflicts"]) == ([{"path": "tariff.py", "hunks": 2}], [])
    assert editor.text("tariff.py") == "# typed\n" + text


async def test_promise_4_an_edit_that_stays_at_a_wrong_place_is_told_and_can_be_taken_back(begin):
    always = replace(PROFILES["types-before-edit-applies"], typing_times=3)
    editor = await begin(always, [step(TWO), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    await editor.run("Go.", seconds=30)
    status, content = result(editor)
    assert status == "error"
    assert "at the wrong place" in content
    assert any(one.shown and "at the wrong place" in one.text for one in editor.said)
    editor.profile = STOCK
    await editor.command("outrider.undo", {})
    assert editor.text("tariff.py") == "# typed\n" * 3 + text


async def test_promise_4_typing_into_one_of_several_hunks_is_left_and_told(begin):
    edits = [{"old": "def price", "new": "def cost_of_it"}, {"old": "hours * 3", "new": "hours * 2"}]
    editor = await begin("vim-lsp", [step(call("edit_file", path="tariff.py", edits=edits)), DONE], FULL)
    editor.open("tariff.py")
    text = editor.text("tariff.py")
    editor.auto_settle = False
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: editor.edits, "the edit")
    editor.type("tariff.py", "NOT_", at=(0, 7), unsent=True)
    buffer = editor.desk.buffer("tariff.py")
    buffer.unsent[:] = [{"text": buffer.text}]
    editor.settle()
    editor.auto_settle = True
    await editor.wait_turn(started["turnId"])
    assert editor.text("tariff.py") == text.replace("price", "cosNOT_t_of_it").replace("* 3", "* 2")
    assert len(editor.edits) == 1
    status, content = result(editor)
    assert status == "error"
    assert "it is not certain that all of it is there" in content
    assert "hours * 2" in content
    await editor.command("outrider.undo", {})
    assert editor.text("tariff.py") == text.replace("price", "cosNOT_t_of_it")
