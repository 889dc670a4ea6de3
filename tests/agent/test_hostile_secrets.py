"""Texts that were made to keep the search for secrets busy: the server goes on to answer, and to be cancelled."""

import asyncio
import time

import pytest
from scripting import DONE, call, result, step

LINES = {
    "signs": "sk-" * 20_000,
    "signs with digits": "sk-a1A_" * 9_000,
    "blocks": "-----BEGIN PRIVATE KEY-----" * 2_200,
    "lines of blocks": "-----BEGIN PRIVATE KEY-----\n" * 7_000,
    "cuts": "…" * 60_000,
    "names": "token=" * 10_000,
}
MOST_SECONDS = 10.0
"""For a machine that is busy with other things: before it was linear, an answer took minutes."""


@pytest.mark.parametrize("kind", LINES)
async def test_status_and_cancel_are_answered_whatever_a_command_prints(begin, workspace, kind):
    (workspace / "a.txt").write_text(LINES[kind])
    turns = [
        step(call("run_command", command="cat a.txt; cat a.txt", called="cat")),
        step(call("read_file", path="a.txt", called="read")),
        step(call("run_command", command="cat a.txt; sleep 60", called="sleep")),
        DONE,
    ]
    editor = await begin("stock", turns, {"permissionMode": "full"})
    running = asyncio.create_task(editor.run("Look at it"))
    longest = 0.0
    while len(editor.events_of("tool.started")) < 3:
        began = time.monotonic()
        await editor.command("outrider.status", {})
        longest = max(longest, time.monotonic() - began)
    began = time.monotonic()
    await editor.command("outrider.cancel", {"turnId": editor.events_of("turn.started")[0]["turnId"]})
    await editor.event("turn.finished")
    assert time.monotonic() - began < MOST_SECONDS
    assert longest < MOST_SECONDS
    assert (await running)["outcome"] == "cancelled"
    assert result(editor)[0] == "ok"
