"""A wall clock that is put forward and back in the middle of a turn: what has a limit in seconds goes by the other clock, and the log comes again."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

import pytest
from scripting import DONE, FIX, call, results, step, types

from outrider.ports.clock import SystemClock
from outrider.testing.editor.answers import Never
from outrider.testing.scenario import embedded
from provider_server import ProviderServer, Said, fails
from replayed import replay_sessions

FULL = {"permissionMode": "full", "testing": {"clock": None, "ids": "sequential"}}
JUMPS = [timedelta(), timedelta(days=3650), timedelta(days=-3650), timedelta(hours=1), timedelta(seconds=-30)]


class Jumping(SystemClock):
    """A clock whose time of day jumps at each reading."""

    def __init__(self, jumps=JUMPS):
        self._jumps = cycle(jumps)

    def now(self):
        return datetime.now(UTC) + next(self._jumps)


async def test_limits_in_seconds_are_not_spent_by_a_jump_and_the_log_is_replayed(begin, workspace):
    turns = [
        step(call("read_file", path="tariff.py")),
        step(FIX),
        step(call("run_command", command="echo hello; sleep 0.1", timeout=30, called="run")),
        step(call("wait", seconds=0.1, called="wait")),
        DONE,
    ]
    editor = await begin("stock", turns, FULL, connection=embedded(workspace, clock=Jumping()))
    ended = await editor.run("Go.", limits={"seconds": 60})
    assert (ended["outcome"], results(editor)["run"][0], results(editor)["wait"][0]) == (
        "completed",
        "ok",
        "ok",
    )
    assert "budget.exhausted" not in types(editor)
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    listed = (await editor.command("outrider.sessions", {}))["sessions"]
    assert [one["state"] for one in listed] == ["idle"]
    await editor.stop()
    await replay_sessions(Path(editor.options["stateDir"]))


async def test_a_limit_in_seconds_is_spent_although_the_clock_goes_back(begin, workspace):
    turns = [step(call("wait", seconds=0.2)), step(call("wait", seconds=0.3)), DONE]
    back = embedded(workspace, clock=Jumping([timedelta(hours=-hours) for hours in range(1000)]))
    editor = await begin("stock", turns, FULL, connection=back)
    ended = await editor.run("Go.", limits={"seconds": 0.1})
    assert (ended["outcome"], ended["reason"]) == ("budget_exhausted", "limits.seconds")
    await editor.stop()
    await replay_sessions(Path(editor.options["stateDir"]))


async def test_a_question_waits_as_long_as_was_set(begin, workspace):
    asked = step(call("ask_user", question="Which?", options=["this", "that"], called="asked"))
    editor = await begin(
        "stock", [asked, DONE], {**FULL, "limits": {"askSeconds": 0.3}},
        connection=embedded(workspace, clock=Jumping()), answers=[Never()],
    )  # fmt: skip
    begun = asyncio.get_running_loop().time()
    waiting = await editor.run("Go.")
    assert waiting["outcome"] == "needs_input"
    assert 0.2 <= asyncio.get_running_loop().time() - begun < 20
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "answer": "this"})
    assert (await editor.wait_turn())["outcome"] == "completed"


@pytest.mark.parametrize("after", ["0", "Thu, 01 Jan 1970 00:00:00 GMT"])
async def test_a_provider_is_asked_again_however_the_clock_stands(begin, workspace, after):
    async with ProviderServer() as server:
        server.plays("openai-chat", fails(503, b"{}", f"retry-after: {after}\r\n"), Said("Done."))
        near = {"kind": "openai-chat", "baseUrl": server.url}
        settings = {"model": "near/m", "providers": {"near": near}, "testing": None, "modelTitles": False}
        editor = await begin("stock", [], settings, connection=embedded(workspace, clock=Jumping()))
        assert (await editor.run("Go."))["summary"] == "Done."
        (retried,) = editor.events_of("model.retried")
        assert retried["data"]["reason"]
