"""A server is killed while a command runs in mode `auto`, which asked nothing as all can be undone: what the command took away is offered."""

import pytest
from crash_scenario import whole_log
from test_kill import home

from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario import scripted, start_session
from replayed import keep_sessions, replay_sessions
from sandboxes import needs_bubblewrap

pytestmark = needs_bubblewrap
AUTO = {
    "permissionMode": "auto",
    "sandbox": "auto",
    "testing": {"clock": None, "ids": "random", "sandboxes": ["bubblewrap"]},
}
COMMAND = "rm -r deep gone.bin; echo new > old.txt; echo it is done; sleep 600"
BEFORE = {"gone.bin": b"\0gone", "deep/gone.txt": b"gone\n", "old.txt": b"old\n", "kept.txt": b"kept\n"}


def now(workspace):
    return {name: path.read_bytes() for name in BEFORE if (path := workspace / name).is_file()}


async def begun(editor):
    """Run the command until it has done its harm, and kill its server."""
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: any("it is done" in one["text"] for one in editor.frames), "output")
    editor.connection.kill()
    await editor.wait_for(lambda: editor.ended, "end of the connection")
    await editor.connection.close()
    return started


def state(workspace):
    return workspace.parent / f"{workspace.name}.state"


def server(workspace):
    return Stdio(env=home(workspace), cwd=workspace.parent)


@pytest.fixture
def model(workspace):
    (workspace / "deep").mkdir()
    for name, content in BEFORE.items():
        (workspace / name).write_bytes(content)
    call = {"id": "run", "name": "run_command", "input": {"command": COMMAND}}
    return scripted(workspace, [{"text": "", "tool_calls": [call]}, {"text": "Done."}])


@pytest.mark.parametrize("answer", ["Put back", "Keep"])
async def test_what_it_took_away_is_offered_when_the_turn_goes_on(workspace, model, answer):
    async with start_session("stock", workspace, model, AUTO, connection=server(workspace)) as editor:
        started = await begun(editor)
        assert now(workspace) == {"old.txt": b"new\n", "kept.txt": b"kept\n"}
        editor.answers = [answer]
        await editor.reconnect(server(workspace))
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        (question,) = editor.questions
        assert "was interrupted when the server stopped" in question.message
        for name in ("gone.bin (deleted)", "deep/gone.txt (deleted)", "old.txt (changed)"):
            assert name in question.message
        assert "kept.txt" not in question.message
        put = answer == "Put back"
        assert now(workspace) == (BEFORE if put else {"old.txt": b"new\n", "kept.txt": b"kept\n"})
        log = await whole_log(editor, started["sessionId"])
        (finished,) = [one["data"] for one in log if one["type"] == "tool.finished"]
        assert finished["status"] == "interrupted"
        assert "gone.bin" in finished["content"]
        assert ("they were restored" if put else "the user kept them") in finished["content"]
    await keep_sessions(state(workspace))
    await replay_sessions(state(workspace))
    assert not list(state(workspace).glob("copies-*"))


async def test_an_undo_of_something_else_leaves_the_offer(workspace, model):
    async with start_session("stock", workspace, model, AUTO, connection=server(workspace)) as editor:
        started = await begun(editor)
        session = {"sessionId": started["sessionId"]}
        await editor.reconnect(server(workspace))
        await editor.command("outrider.undo", {**session, "scope": "session"})
        assert not editor.questions
        editor.answers = ["Put back"]
        await editor.command("outrider.resume", session)
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        assert now(workspace) == BEFORE


async def test_they_are_gone_with_their_session(workspace, model):
    async with start_session("stock", workspace, model, AUTO, connection=server(workspace)) as editor:
        started = await begun(editor)
        assert list(state(workspace).glob("copies-*.before"))
        await editor.reconnect(server(workspace))
        await editor.command("outrider.delete", {"sessionId": started["sessionId"]})
        assert not list(state(workspace).glob("copies-*"))
