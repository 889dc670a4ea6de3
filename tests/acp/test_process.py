"""`outrider acp` as a process, as clients start it."""

import asyncio
import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
from acp.schema import ClientCapabilities
from acp_turns import EDIT, run

from acp import spawn_agent_process
from outrider import __version__
from outrider.acp.capabilities import initialize_result
from outrider.acp.early import _answer
from outrider.testing.acp.fake_client import AcpEditor
from outrider.testing.scenario import scripted, surroundings_of

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}


@asynccontextmanager
async def process(workspace, *arguments, program=("-m", "outrider")):
    running = await asyncio.create_subprocess_exec(
        sys.executable, *program, "acp", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        env=surroundings_of(workspace), limit=2**24,
    )  # fmt: skip
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
        await running.wait()
        running._transport.close()


def send(running, *messages):
    for message in messages:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        running.stdin.write(line + b"\n")


async def read(running):
    return json.loads(await asyncio.wait_for(running.stdout.readline(), 30))


async def test_with_the_client_of_the_sdk(workspace, tariff):
    model = scripted(workspace, [EDIT, {"text": "Done."}])
    fake = AcpEditor("zed", workspace, answers=["Allow once"])
    arguments = ("-m", "outrider", "acp", "--model", model)
    async with spawn_agent_process(fake, sys.executable, *arguments, env=surroundings_of(workspace)) as (
        connection,
        _,
    ):
        answer = await connection.initialize(protocol_version=1, client_capabilities=ClientCapabilities())
        assert answer.agent_info.version == __version__
        made = await connection.new_session(cwd=str(workspace), mcp_servers=[])
        fake._prompts["sdk"] = made.session_id
        ended = await connection.prompt(
            session_id=made.session_id, prompt=[{"type": "text", "text": "Two an hour."}]
        )
        assert ended.stop_reason == "end_turn"
    assert "hours * 2" in tariff.read_text()


async def test_the_first_answer_is_the_same_before_and_after_the_import(workspace):
    """It is given before the SDK is loaded, where the first message is plain."""
    assert json.loads(_answer(INITIALIZE))["result"] == initialize_result(__version__)
    for first in (INITIALIZE, {**INITIALIZE, "id": "a" * 2_000_000}):
        async with process(workspace) as running:
            send(running, first)
            told = await read(running)
            assert told["result"] == initialize_result(__version__) and told["id"] == first["id"]
            running.stdin.close()
            assert await asyncio.wait_for(running.wait(), 30) == 0
            assert await running.stdout.read() == b""


async def test_lines_that_are_none_and_one_that_is_too_long(workspace):
    async with process(workspace, "--model", scripted(workspace, [{"text": "Hello."}])) as running:
        send(running, b"nonsense", b"", b"[1]", INITIALIZE)
        assert [(await read(running)).get("error", {}).get("code") for _ in range(3)] == [
            -32700,
            -32600,
            None,
        ]
        send(
            running,
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "session/new",
                "params": {"cwd": str(workspace), "mcpServers": []},
            },
        )
        session_id = (await read(running))["result"]["sessionId"]
        big = {"sessionId": session_id, "prompt": [{"type": "text", "text": "x" * 10_000_000}]}
        send(running, {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": big})
        small = {"sessionId": session_id, "prompt": [{"type": "text", "text": "Hello."}]}
        send(running, {"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": small})
        answers = {}
        while 3 not in answers:
            message = await read(running)
            if "method" not in message:
                answers[message["id"]] = message
        assert "the limit is 4000000" in answers[2]["error"]["message"]
        assert answers[3]["result"]["stopReason"] == "end_turn"


async def test_nothing_is_left_when_the_client_goes_away_in_the_middle(workspace, tariff):
    """A command of the model ends with it."""
    sleeping = {"tool_calls": [{"name": "run_command", "input": {"command": "echo asleep; sleep 600"}}]}
    arguments = ("--model", scripted(workspace, [sleeping, {"text": "Done."}]), "--permission-mode", "full")
    async with process(workspace, *arguments) as running:
        send(running, INITIALIZE)
        await read(running)
        send(
            running,
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "session/new",
                "params": {"cwd": str(workspace), "mcpServers": []},
            },
        )
        session_id = (await read(running))["result"]["sessionId"]
        prompt = {"sessionId": session_id, "prompt": [{"type": "text", "text": "Sleep."}]}
        send(running, {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": prompt})
        while "tool_call_update" not in (told := json.dumps(await read(running))) or "asleep\\n" not in told:
            pass
        started = psutil.Process(running.pid).children(recursive=True)
        assert started
        running.stdin.close()
        assert await asyncio.wait_for(running.wait(), 30) == 0
    _, alive = psutil.wait_procs(started, timeout=2)
    assert not [one for one in alive if one.status() != psutil.STATUS_ZOMBIE]


async def test_a_command_line_that_is_wrong(workspace):
    async with process(workspace, "--permission-mode", "everything") as running:
        _, said = await asyncio.wait_for(running.communicate(), 30)
        assert running.returncode == 2 and b"--permission-mode" in said


async def test_without_what_windows_lacks_it_edits_and_offers_no_commands(workspace):
    model = scripted(workspace, [EDIT, run("touch made"), {"text": "Done."}])
    without = Path(__file__).parents[1] / "lsp" / "serve_without_posix.py"
    arguments = ("--model", model, "--permission-mode", "auto-edit")
    async with process(workspace, *arguments, program=(str(without),)) as running:
        send(
            running,
            INITIALIZE,
            {
                **INITIALIZE,
                "id": 1,
                "method": "session/new",
                "params": {"cwd": str(workspace), "mcpServers": []},
            },
        )
        session_id = (await answer(running, 1))["result"]["sessionId"]
        text = {"sessionId": session_id, "prompt": [{"type": "text", "text": "Two an hour."}]}
        send(running, {**INITIALIZE, "id": 2, "method": "session/prompt", "params": text})
        assert (await answer(running, 2))["result"]["stopReason"] == "end_turn"
    assert "hours * 2" in (workspace / "tariff.py").read_text()
    assert not (workspace / "made").exists()


async def answer(running, number):
    while (message := await read(running)).get("id") != number:
        pass
    return message
