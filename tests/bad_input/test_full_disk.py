"""A file system that is filled in the middle of a turn: nothing is half written, the turn says so, and there is room again afterwards."""

import subprocess

import pytest

from outrider.testing import call, scripted, start_session
from outrider.testing.editor.wire_client import RpcError

FULL = {"permissionMode": "full", "reminders": False}
OLD, NEW = "x = 1\n" * 20, "x = 2\n" * 20


def step(*calls):
    return {"tool_calls": list(calls)}


@pytest.fixture
def small(tmp_path):
    """A file system of 1.5 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1536k", "none", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def filling(folder):
    return call(
        "run_command", command=f"head -c 100000000 /dev/zero 2>/dev/null > '{folder}/fill'", id="fill"
    )


def results(editor):
    return [(one["data"]["status"], one["data"]["content"]) for one in editor.events_of("tool.finished")]


async def test_that_of_the_workspace(small):
    workspace = small / "workspace"
    workspace.mkdir()
    (workspace / "a.py").write_text(OLD)
    (workspace / "b.py").write_text("y = 1\n")
    patch = (
        "*** Begin Patch\n*** Update File: b.py\n@@\n-y = 1\n+y = 5\n*** Add File: c.py\n"
        + "+q = 1\n" * 9000
        + "*** End Patch"
    )
    turns = [
        step(call("edit_file", path="a.py", old=OLD, new=NEW)),
        step(filling(workspace)),
        step(call("write_file", path="new.py", content="z = 1\n" * 9000)),
        step(call("edit_file", path="b.py", old="y = 1", new="y = 2")),
        step(call("apply_patch", patch=patch)),
        {"text": "Done."},
    ]
    beside = small.parent / "beside"
    beside.mkdir()
    settings = {**FULL, "stateDir": str(small.parent / "state")}
    async with start_session("stock", workspace, scripted(beside, turns), settings) as editor:
        assert (await editor.run("Go."))["outcome"] == "completed"
        came = results(editor)
        assert [status for status, _ in came[2:]] == ["error"] * 3
        assert all("No space left on device" in content for _, content in came[2:])
        assert sorted(path.name for path in workspace.iterdir()) == ["a.py", "b.py", "fill"]
        assert (workspace / "b.py").read_text() == "y = 1\n"
        full = await editor.command("outrider.undo", {})
        assert "a.py" in [one["what"] for one in full["notUndoable"]]
        assert (workspace / "a.py").read_text() == NEW
        (workspace / "fill").unlink()
        assert (await editor.command("outrider.undo", {}))["undone"] == [{"path": "a.py", "hunks": 1}]
        assert (workspace / "a.py").read_text() == OLD


async def test_that_of_the_log(small):
    workspace = small.parent / "workspace"
    workspace.mkdir()
    (workspace / "a.py").write_text(OLD)
    turns = [
        step(call("edit_file", path="a.py", old=OLD, new=NEW)),
        step(filling(small)),
        *(
            step(call("edit_file", path="a.py", old="x = 2\n", new="x = 3\n", replace_all=True))
            for _ in range(2)
        ),
        {"text": "Done."},
    ]
    settings = {**FULL, "stateDir": str(small / "state")}
    async with start_session("stock", workspace, scripted(workspace, turns), settings) as editor:
        ended = await editor.run("Go.")
        assert (ended["outcome"], ended["reason"]) == ("failed", "store_failed")
        assert "Free disk space" in ended["summary"]
        assert (workspace / "a.py").read_text() == NEW
        with pytest.raises(RpcError) as problem:
            await editor.command("outrider.undo", {})
        assert problem.value.data["reason"] == "store_failed"
        (small / "fill").unlink()
        assert (await editor.command("outrider.undo", {}))["undone"] == [{"path": "a.py", "hunks": 1}]
        assert (workspace / "a.py").read_text() == OLD
