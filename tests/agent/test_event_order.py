"""A client that comes in late puts the log and what is sent live together by seq, without a gap and without doubles."""

import asyncio

import pytest
from scripting import DONE, FIX, step

from outrider.store.log import Store
from outrider.testing.editor.answers import Never
from outrider.testing.scenario import start_session
from provider_server import ProviderServer, Said, breaks


@pytest.fixture
def slow_reads(monkeypatch):
    """Lets reads of the log wait, between the read and its answer, as on a busy machine; gives the gate and the sign."""
    gate, came = asyncio.Event(), asyncio.Event()
    gate.set()
    events = Store.events

    async def slow(self, *given, **more):
        found = await events(self, *given, **more)
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


async def test_live_text_waits_for_the_events_that_were_held_back_before_it(
    workspace, slow_reads, monkeypatch
):
    gate, came = slow_reads
    order = []
    async with ProviderServer() as server:
        broken = breaks("openai-chat", Said("Hello there, this breaks off."), 700)
        server.plays("openai-chat", Said("Hi."), broken, Said("Hello."))
        settings = {
            "providers": {"first": {"kind": "openai-chat", "baseUrl": server.url}},
            "testing": None,
        }
        async with start_session("stock", workspace, "first/a", settings) as editor:
            await editor.run("First.")
            handle = editor._handle_notification

            def seen(method, params):
                if method == "outrider/stream":
                    order.append(params["text"])
                elif method == "outrider/event" and params["type"] == "model.reset":
                    order.append("<reset>")
                handle(method, params)

            monkeypatch.setattr(editor, "_handle_notification", seen)
            gate.clear()
            came.clear()
            read = editor.command_nowait("outrider.events", {"sessionId": editor.session_id})
            await came.wait()
            started = await editor.command("outrider.run", {"prompt": "Go.", "sessionId": editor.session_id})
            waited = await editor.command("outrider.wait", {"turnId": started["turnId"]})
            assert waited["outcome"] == "completed"
            assert order == [], "it came before an answer that is older"
            gate.set()
            await read
            await editor.wait_turn(started["turnId"])
            assert "".join(order).rpartition("<reset>")[2] == "Hello.", order
