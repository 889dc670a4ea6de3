"""A turn that a crash cut off, and an undo before it goes on: nothing of it runs, and what is not known is named."""

import os

import pytest
from crash_scenario import RANDOM_IDS, cut_log, to_the_end, whole_log

from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario import embedded, scripted, start_session
from replayed import keep_sessions, replay_sessions

FULL = {**RANDOM_IDS, "permissionMode": "full"}
BEFORE = "one\ntwo\nthree\n"
TURNS = [
    {"tool_calls": [{"name": "read_file", "input": {"path": "a.txt"}, "id": "c_1"}]},
    {"tool_calls": [
        {"name": "edit_file", "input": {"path": "a.txt", "old": "two", "new": "TWO"}, "id": "c_2"},
        {"name": "edit_file", "input": {"path": "b.txt", "old": "two", "new": "TWO"}, "id": "c_3"},
        {"name": "write_file", "input": {"path": "c.txt", "content": "new\n"}, "id": "c_4"},
    ]},
    {"text": "Done."},
]  # fmt: skip


def read(workspace):
    names = ("a.txt", "b.txt", "c.txt")
    return [(workspace / name).read_text() if (workspace / name).exists() else None for name in names]


async def cut_off(workspace, tmp_path, *, in_place):
    """Cut the log of a turn after its second `edit.applying`; the file has it or not. Gives session, turn, settings, last."""
    for name in ("a.txt", "b.txt"):
        (workspace / name).write_text(BEFORE)
    model = scripted(workspace, TURNS)
    async with start_session("stock", workspace, model, FULL) as editor:
        await editor.run("Go.")
        events = await whole_log(editor, editor.session_id)
        session_id, turn_id = editor.session_id, editor.turn_id
    last = [event["seq"] for event in events if event["type"] == "edit.applying"][1]
    cut_log(workspace.parent / f"{workspace.name}.state", tmp_path / "cut", last)
    (workspace / "c.txt").unlink()
    if not in_place:
        (workspace / "b.txt").write_text(BEFORE)
    return session_id, turn_id, model, {**FULL, "stateDir": str(tmp_path / "cut")}, last


@pytest.mark.parametrize("in_place", [True, False])
async def test_an_undo_lets_no_turn_go_on_that_was_cut_off(in_place, workspace, tmp_path):
    session_id, turn_id, model, settings, last = await cut_off(workspace, tmp_path, in_place=in_place)
    given = {"sessionId": session_id, "scope": "session"}
    async with start_session("stock", workspace, model, settings) as editor:
        undone = await editor.command("outrider.undo", given)
        paths = {one["path"] for one in undone["undone"]}
        assert paths == ({"a.txt", "b.txt"} if in_place else {"a.txt"})
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert read(workspace) == [BEFORE, BEFORE, None]
        assert (await editor.command("outrider.status"))["sessions"] == []
        await editor.command("outrider.redo", given)
        assert read(workspace)[0] != BEFORE
        await editor.command("outrider.undo", given)
        assert (await editor.wait_turn(turn_id)).get("outcome") is None
    async with start_session("stock", workspace, model, settings) as editor:
        (listed,) = (await editor.command("outrider.sessions"))["sessions"]
        assert (listed["state"], listed.get("outcome")) == ("closed", None)
        assert read(workspace) == [BEFORE, BEFORE, None]
        since = [event["type"] for event in (await whole_log(editor, session_id))[last:]]
        assert not {one for one in since if one.startswith(("turn.", "model."))}
        status = await editor.command("outrider.resume", {"sessionId": session_id})
        assert status["turnId"] == turn_id
        assert (await to_the_end(editor, turn_id))["outcome"] == "completed"
        log = await whole_log(editor, session_id)
        told = [event["data"].get("told", "") for event in log if event["type"] == "workspace.changed"]
        assert any("a.txt" in one and "+two" in one for one in told), told
        assert read(workspace)[2] == "new\n"
    await keep_sessions(tmp_path / "cut")


async def test_an_undo_at_the_end_of_its_server_cancels_nothing(workspace, tmp_path):
    session_id, turn_id, model, settings, _ = await cut_off(workspace, tmp_path, in_place=True)
    (workspace / "a.txt").write_text(BEFORE.replace("two", "TWO, mine"))
    async with start_session("stock", workspace, model, settings) as editor:
        editor.command_nowait("outrider.undo", {"sessionId": session_id})
        await editor.question()
    async with start_session("stock", workspace, model, settings) as editor:
        log = await whole_log(editor, session_id)
        assert [event["type"] for event in log[-2:]] == ["undo.finished", "session.closed"]
        await editor.command("outrider.resume", {"sessionId": session_id})
        assert (await to_the_end(editor, turn_id))["outcome"] == "completed"


async def test_what_a_command_changed_that_died_with_its_server_is_named(workspace):
    command = "echo mine > made.txt; echo; sleep 60"
    calls = [{"name": "run_command", "input": {"command": command}, "id": "c_1"}]
    model = scripted(workspace, [{"tool_calls": calls}, {"text": "Done."}])
    connection = Stdio(cwd=workspace.parent)
    async with start_session("stock", workspace, model, FULL, connection=connection) as editor:
        editor.command_nowait("outrider.run", {"prompt": "Go."})
        session_id = (await editor.event("tool.started"))["sessionId"]
        await editor.wait_for((workspace / "made.txt").exists, "the command's file")
        connection.kill()
        await editor.wait_for(lambda: editor.ended, "end of the connection")
        connection.fault = None
        await connection.close()
        await editor.reconnect(embedded(workspace, env=dict(os.environ)))
        what = f"what `{command}` changed"
        given = {"sessionId": session_id}
        changes = await editor.command("outrider.changes", given)
        assert [one["what"] for one in changes["notUndoable"]] == [what]
        undone = await editor.command("outrider.undo", {})
        reason = "the server stopped while it ran, so its changes are unknown"
        assert undone["notUndoable"] == [{"what": what, "reason": reason}]
        status = await editor.command("outrider.resume", given)
        outcome = await to_the_end(editor, status["turnId"])
        assert (outcome["outcome"], outcome["reason"]) == ("completed", "unverified")
        log = await whole_log(editor, session_id)
        (result,) = [event["data"] for event in log if event["type"] == "tool.finished"]
        assert result["status"] == "interrupted"
        assert result["content"].startswith(f"`{command}` was interrupted when the server stopped")
        assert (await editor.command("outrider.changes", given))["notUndoable"] == undone["notUndoable"]
    await replay_sessions(workspace.parent / f"{workspace.name}.state")


@pytest.mark.parametrize("redo", [False, True], ids=["undo", "redo"])
async def test_of_edits_that_were_taken_back_together_each_is_found_out(redo, workspace, tmp_path):
    names = [f"{name}.txt" for name in ("done", "not_done", "typed_in", "altered")]
    after = BEFORE.replace("two", "TWO")
    edits = [
        {"name": "edit_file", "input": {"path": name, "old": "two", "new": "TWO"}, "id": f"c_{name}"}
        for name in names
    ]
    for name in names:
        (workspace / name).write_text(BEFORE)
    model = scripted(workspace, [{"tool_calls": edits}, {"text": "Done."}])
    async with start_session("stock", workspace, model, FULL) as editor:
        await editor.run("Go.")
        await editor.command("outrider.undo", {})
        if redo:
            await editor.command("outrider.redo", {})
        events = await whole_log(editor, editor.session_id)
        session_id = editor.session_id
    begun = [event["seq"] for event in events if event["type"] == "edit.applying"][-len(names) :]
    assert begun == list(range(begun[0], begun[0] + len(names))), "one after the other"
    cut_log(workspace.parent / f"{workspace.name}.state", tmp_path / "cut", begun[-1])
    was, wanted = (BEFORE, after) if redo else (after, BEFORE)
    for name, text in zip(names, [wanted, was, f"mine\n{wanted}", "mine\n"], strict=True):
        (workspace / name).write_text(text)
    async with start_session(
        "stock", workspace, model, {**FULL, "stateDir": str(tmp_path / "cut")}, answers=["Keep mine"]
    ) as editor:
        await editor.command("outrider.resume", {"sessionId": session_id})
        since = (await whole_log(editor, session_id))[begun[-1] :]
        became = {one["data"]["path"]: one["type"] for one in since if one["type"].startswith("edit.")}
        assert became == dict(
            zip(names, ["edit.applied", "edit.rejected", "edit.merged", "edit.rejected"], strict=True)
        )
        given = {"sessionId": session_id, "scope": "session"}
        again = await editor.command("outrider.redo" if redo else "outrider.undo", given)
        assert [one["path"] for one in again["undone"]] == ["not_done.txt"]
        assert [one["path"] for one in again["conflicts"]] == ["altered.txt"]
        left = [(workspace / name).read_text() for name in names]
        assert left == [wanted, wanted, f"mine\n{wanted}", "mine\n"]
    await keep_sessions(tmp_path / "cut")
