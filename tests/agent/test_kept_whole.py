"""What a cancelled request, a turned link, or many tasks must not leave behind."""

import asyncio

from scripting import DONE, call, step


async def test_a_cancelled_run_still_ends_its_turn(begin):
    editor = await begin("stock", [DONE, DONE])
    await editor.command("outrider.status", {})
    pending = editor.command_nowait("outrider.run", {"prompt": "Go."})
    await asyncio.sleep(0)  # the request is taken up, and cancelled while its start is being committed
    editor.cancel_request(pending)
    await editor.event("turn.finished")
    assert (await editor.run("Again."))["outcome"] == "completed"


async def test_what_was_said_to_a_turn_is_not_told_to_the_next(begin):
    editor = await begin("stock", [step(call("ask_user", question="Which?", options=["a"])), DONE])
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("question.asked")
    await editor.command("outrider.steer", {"sessionId": started["sessionId"], "text": "delete it all"})
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    (session,) = (await editor.command("outrider.status", {}))["sessions"]
    assert session["steering"] == []


async def test_an_undo_does_not_follow_a_link_out_of_the_workspace(begin, workspace):
    outside = workspace.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("new\n")
    editor = await begin(
        "stock",
        [step(call("write_file", path="d/a.txt", content="new\n")), DONE],
        {"permissionMode": "full"},
    )
    await editor.run("Write it.")
    (workspace / "d" / "a.txt").unlink()
    (workspace / "d").rmdir()
    (workspace / "d").symlink_to(outside)
    result = await editor.command("outrider.undo", {})
    assert [one["reason"] for one in result["notUndoable"]] == [
        "a link in its path leads outside the workspace"
    ]
    assert (outside / "a.txt").read_text() == "new\n"


async def test_idle_sessions_are_let_go(begin):
    editor = await begin("stock", [DONE])
    for _ in range(12):
        assert (await editor.run("Go."))["outcome"] == "completed"
    assert len((await editor.command("outrider.status", {}))["sessions"]) <= 9
    assert len((await editor.command("outrider.sessions", {}))["sessions"]) == 12
