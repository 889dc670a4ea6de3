"""What no client should send. It is refused by its place, and the agent goes on."""

import json

import pytest
from acp.exceptions import RequestError
from acp_turns import EDIT

DONE = {"text": "Done."}


def answers_to(client, number):
    return [one for one in client.pipe.messages if one.get("id") == number and "method" not in one]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"nonsense", -32700),
        (b"\xff\xfe", -32700),
        (b'{"a":', -32700),
        (b"[1]", -32600),
        (b"1", -32600),
        (b"null", -32600),
        (b'"text"', -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":7}', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"session/new"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"session/new"}', -32600),
        (b'{"jsonrpc":"2.0","id":5,"method":"session/teleport","params":{}}', -32601),
        (b'{"jsonrpc":"2.0","id":5,"method":"session/new","params":[]}', -32602),
        (b'{"jsonrpc":"2.0","id":5,"method":"session/new"}', -32602),
        (b'{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":1}}', -32600),
        (b"[" * 100_000, -32700),
    ],
)  # fmt: skip
async def test_a_line_that_is_no_request(acp, line, code):
    async with acp("plain", [DONE]) as client:
        before = len(client.pipe.messages)
        client.send_line(line)
        await client.until(lambda: len(client.pipe.messages) > before)
        assert client.pipe.messages[before]["error"]["code"] == code
        assert await client.prompt(await client.new_session(), "Hello.") == "end_turn"


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","id":"x","result":{}}',
        b'{"jsonrpc":"2.0","id":99,"error":"broken"}',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s_gone"}}',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":[]}',
        b'{"jsonrpc":"2.0","method":"session/cancel"}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":7}',
        b"{}",
    ],
)
async def test_a_line_that_nobody_waits_for(acp, line):
    async with acp("plain", [DONE]) as client:
        client.send_line(line)
        assert await client.prompt(await client.new_session(), "Hello.") == "end_turn"


@pytest.mark.parametrize(
    "cwd",
    ["relative", "", None, 7, "/does/not/exist", "/etc/passwd", "/a\0b"],
)
async def test_a_folder_that_cannot_be_worked_in(acp, cwd):
    async with acp("plain", [DONE]) as client:
        with pytest.raises(RequestError) as refused:
            await client.request("session/new", {"cwd": cwd, "mcpServers": []})
        assert refused.value.code == -32602 and refused.value.data["path"] == "cwd"


async def test_more_folders_that_cannot_be_worked_in(acp, workspace):
    async with acp("plain", [DONE]) as client:
        for more in ("x", ["x"], [3]):
            with pytest.raises(RequestError, match="additionalDirectories"):
                await client.request("session/new", {"cwd": str(workspace), "additionalDirectories": more})


async def test_meta_is_no_param(acp, workspace):
    """The keys of `_meta` belong to whoever wrote them."""
    async with acp("plain", [DONE]) as client:
        with pytest.raises(RequestError, match="cwd"):
            await client.request("session/new", {"_meta": {"cwd": str(workspace)}, "mcpServers": []})
        session_id = await client.new_session()
        with pytest.raises(RequestError, match="prompt"):
            meta = {"prompt": [{"type": "text", "text": "Hello."}]}
            await client.request("session/prompt", {"sessionId": session_id, "_meta": meta})


async def test_requests_out_of_order(acp, workspace):
    async with acp("plain", [DONE]) as client:
        for method in ("session/prompt", "session/close", "session/set_mode", "session/set_config_option"):
            with pytest.raises(RequestError, match="is open"):
                await client.request(method, {"sessionId": "s_none", "modeId": "ask"})
        for method in ("session/load", "session/resume"):
            for session_id in ("s_none", "../../etc", 7, None):
                with pytest.raises(RequestError):
                    await client.request(
                        method, {"sessionId": session_id, "cwd": str(workspace), "mcpServers": []}
                    )
        for cursor in ("x", "-1", 7, ""):
            with pytest.raises(RequestError, match="cursor"):
                await client.request("session/list", {"cursor": cursor})
        assert await client.prompt(await client.new_session(), "Hello.") == "end_turn"


async def test_a_request_before_initialize(acp, workspace):
    from outrider.acp.agent import Agent

    async with acp("plain", [DONE]) as client:
        other = type(client.pipe)()
        agent = Agent(other)
        agent.receive(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {}}).encode())
        told = await other.queue.get()
        await agent.close()
        assert told["error"]["message"] == "the first request must be initialize"


@pytest.mark.parametrize("params", [None, [], {}, {"protocolVersion": "1"}, {"protocolVersion": -1}])
async def test_an_initialize_that_says_nothing(acp, params):
    from outrider.acp.agent import Agent

    async with acp("plain", [DONE]) as client:
        other = type(client.pipe)()
        agent = Agent(other)
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        agent.receive(json.dumps(message).encode())
        told = await other.queue.get()
        await agent.close()
        assert told["error"]["code"] == -32602


async def test_closed_during_a_request_for_permission(acp, tariff):
    async def close(_):
        await client.request("session/close", {"sessionId": client.updates[-1]["sessionId"]})
        return "Allow once"

    async with acp("zed", [EDIT, DONE], close) as client:
        assert await client.prompt(await client.new_session(), "Two an hour.") == "cancelled"
        assert "hours * 3" in tariff.read_text()
        assert await client.prompt(await client.new_session(), "/status") == "end_turn"


async def test_control_characters_of_a_model_do_not_reach_the_client(acp):
    async with acp("plain", [{"text": "a\x1b]0;x\x07b\u202ec"}]) as client:
        await client.prompt(await client.new_session(), "Hello.")
        assert not {"\x1b", "\x07", "\u202e"} & set(client.said())
