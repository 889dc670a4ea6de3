"""Without what Windows lacks the server starts, works on what is open in the editor, and says what it cannot do."""

import sys
from pathlib import Path

import pytest

from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario import scripted, start_session

ENTRY = Path(__file__).with_name("serve_without_posix.py")
FIX = {
    "name": "edit_file",
    "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"},
    "id": "fix",
}
RUN = {"name": "run_command", "input": {"command": "touch made"}, "id": "run"}
CLOSED = [
    {"name": "read_file", "input": {"path": "README.md"}, "id": "read"},
    {
        "name": "edit_file",
        "input": {"path": "README.md", "old": "# Parking", "new": "# Parked"},
        "id": "edit",
    },
    {"name": "write_file", "input": {"path": "docs/new/a.md", "content": "one\n"}, "id": "create"},
    {"name": "rename_file", "input": {"from": "docs/new/a.md", "to": "docs/b.md"}, "id": "rename"},
    {"name": "write_file", "input": {"path": "gone.md", "content": "one\n"}, "id": "gone"},
    {"name": "delete_file", "input": {"path": "gone.md"}, "id": "delete"},
    {"name": "read_file", "input": {"path": "way/secret.md"}, "id": "link"},
    {"name": "read_file", "input": {"path": "docs"}, "id": "folder"},
    {"name": "search", "input": {"pattern": "hours"}, "id": "search"},
    {"name": "find_files", "input": {"pattern": "**/*.py"}, "id": "find"},
    {"name": "list_files", "input": {"path": "."}, "id": "list"},
]


@pytest.mark.timeout(60)
async def test_the_server_works_on_open_documents_and_says_what_it_cannot_do(workspace):
    turns = [{"tool_calls": [FIX, RUN]}, {"text": "Done."}]
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
        assert not (workspace / "made").exists()
        names = {tool["name"] for tool in (await editor.command("outrider.tools"))["tools"]}
        assert not names & {"run_command", "read_job", "wait", "kill_job"}
        checks = {one["name"]: one for one in (await editor.command("outrider.doctor"))["checks"]}
        assert "not supported on Windows" in checks["commands"]["detail"]


@pytest.mark.timeout(60)
async def test_files_that_are_closed_are_read_changed_and_brought_back(workspace, tmp_path):
    """Without folder descriptors: by their paths, which may lead nowhere else."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("outside\n")
    (workspace / "way").symlink_to(outside)
    before = (workspace / "README.md").read_text()
    turns = [*({"tool_calls": [one]} for one in CLOSED), {"text": "Done."}]

    def person(question):
        return "Reject" if "secret.md" in question.message else "Allow once"

    server = Stdio([sys.executable, str(ENTRY)])
    async with start_session(
        "stock", workspace, scripted(workspace, turns), connection=server, answers=person
    ) as editor:
        done = await editor.run("Go.")
        assert done["outcome"] == "completed", done
        told = {event["data"]["callId"]: event["data"] for event in editor.events_of("tool.finished")}
        status = {name: one["status"] for name, one in told.items()}
        assert status == dict.fromkeys(("read", "edit", "create", "rename", "gone", "delete", "search", "find", "list"), "ok") | {
            "link": "denied", "folder": "error",
        }, [one["content"][:90] for one in told.values()][-4:]  # fmt: skip
        assert "tariff.py:" in told["search"]["content"]
        assert "tariff.py" in told["find"]["content"]
        assert "README.md" in told["list"]["content"]
        assert before.strip().splitlines()[0] in told["read"]["content"]
        assert (workspace / "README.md").read_text() == before.replace("# Parking", "# Parked")
        assert (workspace / "docs" / "b.md").read_text() == "one\n"
        assert not (workspace / "docs" / "new" / "a.md").exists()
        assert not (workspace / "gone.md").exists()
        assert not list(workspace.rglob(".outrider-*"))
        await editor.command("outrider.undo", {"scope": "turn"})
        assert (workspace / "README.md").read_text() == before
        assert not (workspace / "docs" / "b.md").exists()
