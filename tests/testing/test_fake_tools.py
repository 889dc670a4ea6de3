"""The tools of the fake editor, and what it holds against the server that calls them."""

import asyncio
import json

import pytest
from tiny_server import TinyServer

from outrider.testing.editor import profiles
from outrider.testing.editor.answers import Dismiss, Fail, Late, Never, Reply, Wrong
from outrider.testing.editor.connections import InProcess
from outrider.testing.editor.fake_editor import FakeEditor
from outrider.testing.scenario import client_tool

CALL = {
    "sessionId": "ses_1", "turnId": "turn_1", "callId": "call_1", "id": "open_1", "name": "weather", "input": {"a": None},
}  # fmt: skip


@pytest.fixture
async def started(tmp_path):
    """Starts an editor with a tool and a tiny server: `await started(profile, tool_answers)`."""
    editors = []

    async def start(profile, tool_answers):
        servers = []

        def build(outgoing):
            servers.append(TinyServer(lambda message: outgoing.send(json.dumps(message).encode())))
            return servers[0]

        editor = FakeEditor(profile, tmp_path, options={"tools": [client_tool("weather")]})
        editor.tool_answers = tool_answers
        await editor.start(InProcess(build))
        editors.append(editor)
        return editor, servers[0]

    yield start
    for editor in editors:
        editor.watch.violations.clear()
        await editor.stop()


async def asked(server, **changed):
    params = {key: value for key, value in {**CALL, **changed}.items() if value != "absent"}
    server.send(id=f"t{len(server.log)}", method="outrider/tool", params=params)
    for _ in range(20):
        await asyncio.sleep(0)


def responses(server):
    return [
        {key: message[key] for key in ("result", "error") if key in message}
        for message in server.log
        if "method" not in message
    ]


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        ("sunny", [{"result": {"content": "sunny"}}]),
        (Wrong("gone"), [{"result": {"content": "gone", "isError": True}}]),
        (Dismiss(), [{"result": None}]),
        (Reply(5), [{"result": 5}]),
        (Fail(message="broken"), [{"error": {"code": -32603, "message": "broken"}}]),
        (Never(), []),
        (Late("sunny"), []),
    ],
    ids=str,
)
async def test_a_tool_answers_as_it_is_told(answer, response, started):
    editor, server = await started(profiles.STOCK, [answer])
    await asked(server)
    assert responses(server) == response
    (call,) = editor.tool_calls
    assert (call.id, call.call_id, call.name, call.input) == ("open_1", "call_1", "weather", {"a": None})
    assert call.answered == bool(response)
    assert editor.watch.violations == []
    if isinstance(answer, Late):
        editor.answer_tool(call)
        await asyncio.sleep(0)
        assert responses(server) == [{"result": {"content": "sunny"}}]


async def test_an_editor_without_answers_knows_no_tools(started):
    for profile, response in ((profiles.STOCK, "error"), (profiles.EGLOT, "result")):
        editor, server = await started(profile, None)
        await asked(server)
        assert [list(one) for one in responses(server)] == [[response]]
        assert editor.tool_calls == []


@pytest.mark.parametrize(
    ("profile", "count"),
    [("answers-tools-twice", 2), ("answers-tools-garbage", 1), ("answers-tools-error", 1)],
)
async def test_a_hostile_editor_answers_wrongly(profile, count, started):
    _, server = await started(profiles.PROFILES[profile], lambda _: "sunny")
    await asked(server)
    assert len(responses(server)) == count
    if count == 1:
        assert responses(server) != [{"result": {"content": "sunny"}}]


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"name": "read_file"}, "the client registered no tool 'read_file'"),
        ({"input": "absent"}, "input"),
        ({"more": 1}, "more"),
        ({"again": None}, "null at .again"),
    ],
)
async def test_a_wrong_call_of_the_server_is_noticed(changed, says, started):
    editor, server = await started(profiles.STOCK, None)
    await asked(server, **changed)
    assert any(says in violation for violation in editor.watch.violations), editor.watch.violations


async def test_a_call_that_is_asked_twice_is_noticed(started):
    editor, server = await started(profiles.STOCK, lambda _: Never())
    await asked(server)
    assert editor.watch.violations == []
    server.send(method="$/cancelRequest", params={"id": editor.tool_calls[0].request_id})
    await asyncio.sleep(0)
    assert editor.tool_calls[0].withdrawn
    server.send(id="again", method="outrider/tool", params=CALL)
    await asyncio.sleep(0)
    assert editor.watch.violations == ["outrider/tool: open_1 was asked before on this connection"]
