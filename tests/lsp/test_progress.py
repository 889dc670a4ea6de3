"""Progress: tokens made, begun, reported, ended and forgotten, and cancelled by the user."""

import asyncio
from datetime import UTC, datetime

from fakes import Client

from outrider.ports.clock import SteppingClock

PROGRESS = {"window": {"workDoneProgress": True}}


async def progress_of(capabilities, clock=None):
    client = Client(clock=clock)
    await client.initialize(capabilities)
    await client.execute("outrider.status")
    return client, client.bridge.progress


def values(client):
    return [m["params"] for m in client.outbox.messages if m.get("method") == "$/progress"]


async def settled():
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_stretch_is_created_begun_reported_and_ended():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client, progress = await progress_of(PROGRESS, clock)
    cancelled = []
    stretch = progress.begin("Outrider", "thinking", lambda: cancelled.append("it"))
    request = await client.asked("window/workDoneProgress/create")
    token = request["params"]["token"]
    await settled()
    assert values(client) == []  # nothing before the answer
    client.answer(request, None)
    await settled()
    stretch.report("one")
    await settled()
    for text in ("two", "three", "four"):
        stretch.report(text)
        await settled()
    clock.advance(0.11)
    await settled()
    client.notify("window/workDoneProgress/cancel", {"token": token})
    assert cancelled == ["it"]
    stretch.end("done")
    stretch.end("again")
    await settled()
    assert values(client) == [
        {
            "token": token,
            "value": {"kind": "begin", "title": "Outrider", "cancellable": True, "message": "thinking"},
        },
        {"token": token, "value": {"kind": "report", "cancellable": True, "message": "one"}},
        {"token": token, "value": {"kind": "report", "cancellable": True, "message": "four"}},
        {"token": token, "value": {"kind": "end", "message": "done"}},
    ]
    client.notify("window/workDoneProgress/cancel", {"token": token})
    assert cancelled == ["it"]  # forgotten


async def test_each_stretch_has_its_own_token():
    client, progress = await progress_of(PROGRESS)
    tokens = set()
    for _ in range(3):
        stretch = progress.begin("Outrider", "", lambda: None)
        request = await client.asked("window/workDoneProgress/create")
        tokens.add(request["params"]["token"])
        client.answer(request, None)
        stretch.end()
    await settled()
    assert len(tokens) == 3
    assert [item["value"]["kind"] for item in values(client)] == ["begin", "end"] * 3


async def test_nothing_is_shown_where_the_client_has_no_progress_or_refuses():
    client, progress = await progress_of({})
    progress.begin("Outrider", "", lambda: None).end()
    await settled()
    assert all(m.get("method") != "window/workDoneProgress/create" for m in client.outbox.messages)
    client, progress = await progress_of(PROGRESS)
    stretch = progress.begin("Outrider", "", lambda: None)
    request = await client.asked("window/workDoneProgress/create")
    client.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": 1, "message": "no"}})
    stretch.report("x")
    stretch.end()
    await settled()
    assert values(client) == []


async def test_a_token_of_the_client_is_not_created():
    client, progress = await progress_of({})
    cancelled = []
    stretch = progress.adopt(7, "Outrider", "waiting", lambda: cancelled.append(7))
    await settled()
    client.notify("window/workDoneProgress/cancel", {"token": 7})
    stretch.end()
    await settled()
    assert cancelled == [7]
    assert [item["value"]["kind"] for item in values(client)] == ["begin", "end"]
    assert all(m.get("method") != "window/workDoneProgress/create" for m in client.outbox.messages)


async def test_stretches_end_with_the_server():
    client, progress = await progress_of({})
    progress.adopt("t", "Outrider", "waiting", lambda: None)
    await settled()
    await client.call("shutdown")
    assert [item["value"]["kind"] for item in values(client)] == ["begin", "end"]
