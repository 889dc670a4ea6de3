"""A client that comes in late puts the log and what is sent live together by seq, without a gap and without doubles."""

import asyncio

import pytest
from scripting import DONE, FIX, step

from outrider.store.log import Store
from outrider.testing.answers import Never


@pytest.fixture
def slow_reads(monkeypatch):
    """Lets reads of the log wait, between the read and its answer, as on a busy machine; gives the gate and the sign."""
    gate, came = asyncio.Event(), asyncio.Event()
    gate.set()
    events = Store.events

    async def slow(self, *given):
        found = await events(self, *given)
        came.set()
        await gate.wait()
        return found

    monkeypatch.setattr(Store, "events", slow)
    return gate, came


async def test_what_is_committed_while_the_log_is_read_is_sent_after_the_answer(begin, slow_reads):
    gate, came = slow_reads
    editor = await begin("stock", [step(FIX), DONE], {"limits": {"askSeconds": 0.05}}, answers=[Never()])
    await editor.run("Go.")
    gate.clear()
    came.clear()
    reads = [editor.command_nowait("outrider.events", {"sessionId": editor.session_id}) for _ in range(2)]
    await came.wait()
    seen = len(editor.events)
    await editor.command("outrider.steer", {"sessionId": editor.session_id, "text": "Mind the nights."})
    assert len(editor.events) == seen, "it came before an answer that lacks it"
    gate.set()
    await editor.event("steering.received")
    for read in reads:
        assert read.done
        answer = await read
        live = [event for event in editor.events if event["seq"] >= answer["nextSeq"]]
        together = [*answer["events"], *live]
        assert [event["seq"] for event in together] == list(range(1, len(together) + 1))
        assert together[-1]["type"] == "steering.received"
    await editor.command("outrider.cancel", {"turnId": editor.turn_id})
