"""The headless client: time-outs, errors and ends of the conversation."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from outrider.lsp.client import Client, CommandError, RequestTimeoutError, ServerGoneError
from outrider.ports.clock import SteppingClock, SystemClock


class ShortClock(SystemClock):
    """Real time in which every time-out is over at once, but for the longest ones."""

    def timeout(self, seconds):
        return super().timeout(0.2 if seconds is not None and seconds < 50 else seconds)


async def test_a_program_that_is_not_there_is_a_clear_error(tmp_path):
    with pytest.raises(ServerGoneError, match=r"could not be started: /no/such/server: No such"):
        async with Client.start(tmp_path, {}, server=["/no/such/server"]):
            pass


async def test_a_command_that_is_not_answered_ends_after_its_time(tmp_path, canned):
    server = canned({"run": [{"hang": True}], "deafToCancel": True})
    async with Client.start(tmp_path, {}, server=server, clock=ShortClock()) as client:
        await client.command("outrider.run", {"prompt": "x"}, seconds=None)
        with pytest.raises(RequestTimeoutError, match=r"outrider\.cancel within 5 seconds"):
            await client.command("outrider.cancel", {"turnId": "turn_1"}, seconds=5)
    said = (tmp_path / "scenario.json.said").read_text()
    assert '"$/cancelRequest", "params": {"id": 3}' in said


async def test_a_time_out_is_of_the_injected_clock(tmp_path, canned):
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    server = canned({"run": [{"hang": True}], "deafToCancel": True})
    async with Client.start(tmp_path, {}, server=server, clock=clock) as client:
        await client.command("outrider.run", {"prompt": "x"})
        waiting = asyncio.create_task(client.command("outrider.cancel", {"turnId": "turn_1"}, seconds=9))
        await asyncio.sleep(0)
        clock.advance(10)
        with pytest.raises(RequestTimeoutError):
            await waiting
        client.kill()


async def test_a_server_that_ignores_its_end_is_ended(tmp_path):
    deaf = (
        "import signal,sys,time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "n=int(sys.stdin.buffer.readline().split(b':')[1]); sys.stdin.buffer.readline(); sys.stdin.buffer.read(n)\n"
        'b=b\'{"jsonrpc":"2.0","id":1,"result":{}}\'\n'
        "sys.stdout.buffer.write(b'Content-Length: %d\\r\\n\\r\\n%s' % (len(b), b)); sys.stdout.flush()\n"
        "while True: time.sleep(60)\n"
    )
    server = [sys.executable, "-c", deaf]
    async with Client.start(tmp_path, {}, server=server, clock=ShortClock()) as client:
        pass
    with pytest.raises(ServerGoneError, match="code -9"):
        raise await client.gone()


async def test_an_answer_that_is_no_object_is_an_error(tmp_path, canned):
    async with Client.start(tmp_path, {}, server=canned({"commands": {"outrider.doctor": []}})) as client:
        with pytest.raises(ServerGoneError, match=r"answered outrider.doctor with “\[\]”"):
            await client.command("outrider.doctor")


async def test_what_the_log_says_of_a_failure_is_quoted_though_it_comes_after_the_answer(tmp_path):
    late = (
        "import json,sys,threading,time\n"
        "def read():\n"
        "  n=int(sys.stdin.buffer.readline().split(b':')[1]); sys.stdin.buffer.readline()\n"
        "  return json.loads(sys.stdin.buffer.read(n))\n"
        "def say(m):\n"
        "  b=json.dumps({'jsonrpc':'2.0',**m}).encode(); print(f'Content-Length: {len(b)}\\r\\n\\r', flush=True)\n"
        "  sys.stdout.buffer.write(b); sys.stdout.flush()\n"
        "say({'id': read()['id'], 'result': {}})\n"
        "asked={}\n"
        "while 'id' not in asked: asked=read()\n"
        "say({'id': asked['id'], 'error': {'code': -32603, 'message': 'it failed; see the log'}})\n"
        "time.sleep(0.3)\n"
        "print('ValueError: the disk is odd', file=sys.stderr, flush=True)\n"
        "while True: time.sleep(60)\n"
    )
    async with Client.start(tmp_path, {}, server=[sys.executable, "-c", late]) as client:
        with pytest.raises(CommandError, match="see the log; its last words:\n  ValueError: the disk is odd"):
            await client.command("outrider.doctor")
        client.kill()


@pytest.mark.parametrize("error", ["no", {}, {"code": "x", "message": 3}, {"code": 1, "data": []}])
async def test_an_error_of_any_shape_is_an_error(tmp_path, canned, error):
    server = canned({"commands": {"outrider.doctor": {"error": error}}})
    async with Client.start(tmp_path, {}, server=server) as client:
        with pytest.raises(CommandError, match=r"outrider.doctor failed"):
            await client.command("outrider.doctor")


async def test_a_callback_that_fails_ends_the_conversation_with_its_cause(tmp_path, canned):
    def fail(event):
        raise RuntimeError("the screen is full")

    async with Client.start(tmp_path, {}, server=canned({}), on_event=fail) as client:
        with pytest.raises(RuntimeError, match="the screen is full"):
            await client.command("outrider.run", {"prompt": "x"})
        with pytest.raises(RuntimeError, match="the screen is full"):
            await client.command("outrider.run", {"prompt": "x"})


async def test_a_question_handler_that_fails_is_no_yes(tmp_path, canned):
    async def fail(question):
        raise RuntimeError("no keyboard")

    ask = {"ask": "Run: x", "titles": ["Allow once"], "then": {"null": []}}
    async with Client.start(tmp_path, {}, server=canned({"run": [ask]}), on_question=fail) as client:
        await client.command("outrider.run", {"prompt": "x"})
        assert str(await client.gone()) == "no keyboard"
    said = (tmp_path / "scenario.json.said").read_text()
    assert "RuntimeError in the client" in said


async def test_a_question_that_the_server_withdraws_is_dropped(tmp_path, canned):
    asked, dropped = asyncio.Event(), asyncio.Event()

    async def wait(question):
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()

    ask = '{"jsonrpc":"2.0","id":"q","method":"window/showMessageRequest","params":{"message":"?","actions":[]}}'
    cancel = '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"q"}}'
    steps = [{"raw": f"Content-Length: {len(body)}\r\n\r\n{body}"} for body in (ask, cancel)]
    scenario = {"run": steps[:1], "commands": {"outrider.status": {}}, "after outrider.status": steps[1:]}
    async with Client.start(tmp_path, {}, server=canned(scenario), on_question=wait) as client:
        await client.command("outrider.run", {"prompt": "x"})
        await asked.wait()
        await client.command("outrider.status")
        await dropped.wait()
        await client.command("outrider.status")
    assert '"code": -32800' in (tmp_path / "scenario.json.said").read_text()


async def test_the_last_words_are_those_of_a_server_that_talked_much(tmp_path: Path):
    talk = "import sys\nfor n in range(1000): print('line', n, file=sys.stderr)\nprint('x'*9999, file=sys.stderr)"
    with pytest.raises(ServerGoneError) as gone:
        async with Client.start(tmp_path, {}, server=[sys.executable, "-c", talk]):
            pass
    assert "line 999" in str(gone.value)
    assert "line 900" not in str(gone.value)
