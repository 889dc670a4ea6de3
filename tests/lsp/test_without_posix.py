"""Without what Windows lacks the server starts, works on what is open in the editor, and says what it cannot do."""

import sys
from pathlib import Path

import pytest

from outrider.testing.connections import Stdio
from outrider.testing.scenario import scripted, start_session

ENTRY = Path(__file__).with_name("serve_without_posix.py")
FIX = {
    "name": "edit_file",
    "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"},
    "id": "fix",
}
RUN = {"name": "run_command", "input": {"command": "touch made"}, "id": "run"}
CLOSED = {"name": "read_file", "input": {"path": "README.md"}, "id": "closed"}


@pytest.mark.timeout(60)
async def test_the_server_works_on_open_documents_and_says_what_it_cannot_do(workspace):
    turns = [{"tool_calls": [FIX, RUN, CLOSED]}, {"text": "Done."}]
    server = Stdio([sys.executable, str(ENTRY)])
    async with start_session(
        "stock", workspace, scripted(workspace, turns), connection=server, answers=["Allow once"]
    ) as editor:
        editor.open("tariff.py")
        done = await editor.run("Go.")
        assert done["outcome"] == "completed", done
        assert "hours * 2" in editor.text("tariff.py")
        told = {event["data"]["callId"]: event["data"] for event in editor.events_of("tool.finished")}
        assert told["fix"]["status"] == "ok"
        assert "There is no tool 'run_command'" in told["run"]["content"]
        assert "is not open in the editor" in told["closed"]["content"]
        assert not (workspace / "made").exists()
        names = {tool["name"] for tool in (await editor.command("outrider.tools"))["tools"]}
        assert not names & {"run_command", "read_job", "kill_job"}
        checks = {one["name"]: one for one in (await editor.command("outrider.doctor"))["checks"]}
        assert "not run on Windows" in checks["commands"]["detail"]
        assert "open in the editor" in checks["commands"]["detail"]
