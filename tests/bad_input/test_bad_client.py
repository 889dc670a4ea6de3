"""A client that dies in the middle: its server ends, no process is left, and the session can be resumed."""

import psutil
import pytest

from outrider.testing.editor.answers import Never
from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario import scripted, start_session

RANDOM_IDS = {"testing": {"ids": None}}
ASK = {"name": "ask_user", "input": {"question": "What?", "options": ["this", "that"]}, "id": "c_1"}
EDIT = {"name": "edit_file", "input": {"path": "README.md", "old": "Parking", "new": "Tariffs"}, "id": "c_1"}
COMMAND = {"name": "run_command", "input": {"command": "echo started; sleep 60 & sleep 60"}, "id": "c_1"}


@pytest.mark.parametrize(
    ("call", "profile", "mode", "moment"),
    [
        (ASK, "stock", "ask", "question.asked"),
        (EDIT, "stock", "ask", "approval.requested"),
        (EDIT, "never-answers-edits", "full", "edit.applying"),
        (COMMAND, "stock", "full", "tool.started"),
    ],
    ids=["question", "approval", "edit", "command"],
)
async def test_a_client_that_dies_leaves_nothing_but_a_session_to_resume(
    workspace, call, profile, mode, moment
):
    model = scripted(workspace, [{"tool_calls": [call]}, {"text": "Done."}])
    settings = {**RANDOM_IDS, "permissionMode": mode}
    connection = Stdio(cwd=workspace.parent)
    how = {"connection": connection, "answers": [Never()]}
    async with start_session(profile, workspace, model, settings, **how) as editor:
        editor.open("README.md")
        started = await editor.command("outrider.run", {"prompt": "Go on"})
        await editor.event(moment)
        if call is COMMAND:
            await editor.wait_for(lambda: editor.frames, "output of the command")
        processes = psutil.Process(connection.process.pid).children(recursive=True)
        connection.end_input()
        await connection.wait()
        await editor.wait_for(lambda: editor.ended, "end of the connection")
    _, alive = psutil.wait_procs(processes, timeout=5)
    assert not alive
    again = {**RANDOM_IDS, "permissionMode": "ask"}
    async with start_session(
        "stock", workspace, model, again, answers=lambda asked: asked.titles[-1]
    ) as editor:
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        result = await editor.wait_turn(started["turnId"])
        if result["outcome"] == "needs_input":
            item = result["open"][0]
            answer = {"decision": "reject"} if item["kind"] == "approval" else {"answer": "this"}
            await editor.command("outrider.answer", {"id": item["id"], **answer})
            result = await editor.wait_turn(started["turnId"])
        assert result["outcome"] in {"completed", "cancelled"}
        page = await editor.command("outrider.events", {"sessionId": started["sessionId"]})
        kinds = [event["type"] for event in page["events"]]
        assert kinds.count("tool.finished") == kinds.count("turn.finished") == 1
        if moment in {"question.asked", "approval.requested"}:
            assert result["outcome"] == "completed", "what waits for the user waits for its resume"
            assert kinds.count(moment) == 1, "it was asked again under another id"
