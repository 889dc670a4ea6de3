"""The answer to `initialize` that is given before the server is imported: the same as the server's own, or none."""

import json
import os
import subprocess
import sys
import tempfile

import pytest
from fakes import Client

from outrider.lsp import early
from outrider.ports.framing import framed
from outrider.testing.editor.profiles import PROFILES
from outrider.transport import early as transport_early

PLAIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}


def started(*pieces, client=None, monkeypatch):
    """What `early.start` makes of a client that sends these pieces and then nothing more; its answers beside it."""
    with tempfile.TemporaryFile() as sent, tempfile.TemporaryFile() as answers:
        sent.write(b"".join(pieces))
        sent.seek(0)
        monkeypatch.setattr(transport_early, "take_over", lambda: (sent.fileno(), answers.fileno()))
        start = early.start(client)
        answers.seek(0)
        return start, answers.read()


def message(**changes):
    return framed(json.dumps(PLAIN | changes).encode())


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
async def test_every_client_gets_the_answer_that_the_server_itself_gives(profile, monkeypatch):
    params = {"processId": None, "rootUri": None, "capabilities": profile.capabilities}
    body = message(params=params)
    start, answer = started(body, monkeypatch=monkeypatch)
    assert (start.answered, start.read) == (1, body)
    real = await Client().initialize(**params)
    assert json.loads(answer.partition(b"\r\n\r\n")[2]) == real


async def test_what_was_answered_early_is_not_answered_again():
    client = Client(answered=1)
    client.request("initialize", {"capabilities": {}})
    client.notify("initialized", {})
    assert (await client.execute("outrider.status"))["result"] == {"echo": {}}
    assert [one["id"] for one in client.outbox.messages if "method" not in one] == [2]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_message_may_come_in_pieces(size):
    script = "from outrider.lsp import early; print(early.start(None)[2:], flush=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    body = message(id="ä1")
    with process:
        for start in range(0, len(body), size):
            process.stdin.write(body[start : start + size])
            process.stdin.flush()
        answer = process.stdout.read()
        told = process.stderr.read()
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["id"] == "ä1"
    assert told.decode() == f"{(body, 'ä1')}\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"x" * 100_000,
        b"Content-Length: 99999999\r\n\r\n",
        b"Content-Length: 20\r\n\r\n{}",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Type: a\r\nContent-Length: 2\r\n\r\n{}",
        framed(b"[" * 100_000),
        framed(b"\xff\xfe"),
        framed(b'{"jsonrpc": "2.0", "id": NaN, "method": "initialize", "params": {"capabilities": {}}}'),
        framed(json.dumps([PLAIN]).encode()),
        message(method="shutdown"),
        message(id=None),
        message(id=True),
        message(jsonrpc="1.0"),
        message(params=[]),
        message(params={}),
        message(params={"capabilities": [1]}),
        message(params={"capabilities": {}, "initializationOptions": 3}),
        message(more=1),
    ],
)
def test_anything_odd_is_left_to_the_server(sent, monkeypatch):
    start, answer = started(sent, monkeypatch=monkeypatch)
    assert (start.answered, answer) == (None, b"")
    assert sent.startswith(start.read)
    assert start.read or not sent


def test_nothing_is_waited_for_when_the_client_is_gone(monkeypatch):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    monkeypatch.setattr(transport_early, "_LOOK_SECONDS", 0.01)
    ours_in, theirs_out = os.pipe()
    monkeypatch.setattr(transport_early, "take_over", lambda: (ours_in, ours_in))
    try:
        assert early.start(gone.pid).answered is None
    finally:
        os.close(ours_in)
        os.close(theirs_out)


def test_what_follows_the_first_message_is_handed_on(monkeypatch):
    both = message() + framed(b'{"jsonrpc": "2.0", "method": "initialized", "params": {}}')
    start, _ = started(both, monkeypatch=monkeypatch)
    assert (start.answered, start.read) == (1, both)


def test_little_is_imported_before_the_answer():
    script = "import sys; from outrider.lsp import early, options; print(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(told.stdout.split())
    assert "outrider.lsp.early" in loaded
    assert loaded.isdisjoint(
        {"asyncio", "dataclasses", "logging", "lsprotocol", "pygls", "pydantic", "attrs"}
    )
