"""A provider that never stops sending: the answer has an end all the same, and a cancel is obeyed at once."""

import asyncio
import zlib

import pytest

from outrider.models.dialects.http_model import MOST_CHARACTERS
from outrider.models.http import provider
from outrider.testing.scenario import embedded, start_session
from provider_server import ProviderServer, Said, data
from replayed import keep_sessions

PIECE = "word " * 4_000
CHUNK = data({"choices": [{"index": 0, "delta": {"content": PIECE}}]})
SILENT = b": nothing to say\n\n" * 4_000
TOO_MUCH = f"provider p: sent more than {MOST_CHARACTERS:,} characters in one answer"


def endless(chunk, *, before=b"", packed=False):
    """An answer that goes on with `chunk` until the client hangs up."""

    async def answer(connection):
        squeezed = zlib.compressobj(9, zlib.DEFLATED, 31) if packed else None
        encoding = b"content-encoding: gzip\r\n" if packed else b""
        await connection.send(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n%sconnection: close\r\n\r\n" % encoding
        )
        await connection.send(before)
        while True:
            await connection.send(squeezed.compress(chunk * 20) if squeezed else chunk)

    return answer


@pytest.fixture
async def session(workspace):
    """A session and its one provider."""
    async with ProviderServer() as wire:
        settings = {
            "providers": {"p": {"kind": "openai-chat", "baseUrl": wire.url}},
            "retry": {"attempts": 1},
            "testing": None,
        }
        connection = embedded(workspace)
        async with start_session("stock", workspace, "p/m", settings, connection=connection) as editor:
            yield editor, wire
        await keep_sessions(workspace.parent / editor.options["stateDir"])


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
async def test_an_answer_has_an_end(session, packed):
    editor, wire = session
    wire.plays("openai-chat", endless(CHUNK, packed=packed))
    done = await editor.run("Go on for ever", seconds=60)
    assert done["outcome"] == "failed"
    assert editor.events_of("model.failed")[-1]["data"]["message"] == TOO_MUCH
    assert len(editor.events_of("model.reset")[-1]["data"]["text"]) <= MOST_CHARACTERS
    await asyncio.wait_for(wire.left.wait(), 10)


async def test_an_answer_that_says_nothing_has_an_end_too(session, monkeypatch):
    monkeypatch.setattr(provider, "MOST_BYTES", 2 * 1024**2)
    editor, wire = session
    wire.plays("openai-chat", endless(SILENT))
    done = await editor.run("Go on for ever", seconds=60)
    assert done["outcome"] == "failed"
    assert (
        editor.events_of("model.failed")[-1]["data"]["message"]
        == "provider p: sent more than 2 MB in one answer"
    )


async def test_what_comes_after_the_end_is_not_waited_for(session):
    editor, wire = session
    hello = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
    wire.plays("openai-chat", endless(SILENT, before=data(hello) + b"data: [DONE]\n\n"))
    done = await editor.run("Say hello", seconds=60)
    assert done["outcome"] == "completed"
    assert done["summary"] == "Hello."


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
async def test_a_cancel_is_obeyed_at_once(session, monkeypatch, packed):
    monkeypatch.setattr("outrider.models.dialects.http_model.MOST_CHARACTERS", 10**12)
    editor, wire = session
    wire.plays("openai-chat", endless(CHUNK, packed=packed), Said("Here again."))
    started = await editor.command("outrider.run", {"prompt": "Go on for ever"})
    await asyncio.wait_for(wire.asked.wait(), 10)
    async with asyncio.timeout(10):
        done = await editor.command("outrider.cancel", {"turnId": started["turnId"]})
        assert done["outcome"] == "cancelled"
        await wire.left.wait()
    assert (await editor.run("And now?", seconds=60))["outcome"] == "completed"
