"""One test for each trap of pygls 2.1 that the protocol class closes, from bytes to messages."""

import asyncio
import gc
import json

import pytest
from fakes import Client, eventually
from hypothesis import given, settings
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
METHODS = (
    "initialize", "initialized", "shutdown", "textDocument/didOpen", "textDocument/didChange",
    "textDocument/didSave", "textDocument/didClose", "workspace/executeCommand", "textDocument/codeAction",
    "workspace/didChangeConfiguration", "workspace/didChangeWorkspaceFolders", "$/setTrace", "$/cancelRequest",
    "window/workDoneProgress/cancel", "$/unknown", "no/such", "",
)  # fmt: skip


async def started(**capabilities):
    client = Client()
    await client.initialize(capabilities)
    return client


async def error_of(client, msg_id):
    return (await client.response(msg_id))["error"]


async def still_works(client):
    assert (await client.execute("outrider.status", {}))["result"] == {"echo": {}}


async def test_cancel_reaches_the_coroutine_of_a_command():
    client = await started()
    waiting = client.request("workspace/executeCommand", {"command": "outrider.wait", "arguments": [{}]})
    await still_works(client)
    client.notify("$/cancelRequest", {"id": waiting})
    assert (await error_of(client, waiting))["code"] == -32800
    assert client.bridge.cancelled == ["wait"]


async def test_a_request_cancelled_before_it_began_is_answered_once():
    client = await started()
    await still_works(client)
    waiting = client.request("workspace/executeCommand", {"command": "outrider.wait", "arguments": [{}]})
    client.notify("$/cancelRequest", {"id": waiting})
    assert (await error_of(client, waiting))["code"] == -32800
    await still_works(client)
    assert sum(message.get("id") == waiting for message in client.outbox.messages) == 1


@pytest.mark.parametrize(
    "params", [None, {}, {"id": None}, {"id": []}, {"id": 99}, [], "x", {"id": {"a": 1}}]
)
async def test_a_cancel_of_nothing_is_nothing(params):
    client = await started()
    client.notify("$/cancelRequest", params)
    await still_works(client)


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({}, "params.textDocument"),
        (None, "params"),
        ([], "params"),
        ("text", "params"),
        (
            {
                "textDocument": {"uri": "file:///a"},
                "range": {"start": 1, "end": 2},
                "context": {"diagnostics": []},
            },
            "params.range.start.line",
        ),
        (
            {
                "textDocument": {"uri": "file:///a"},
                "range": {"start": {"line": -1, "character": 0}, "end": {"line": 0, "character": 0}},
                "context": {"diagnostics": []},
            },
            "params.range.start",
        ),
    ],
)
async def test_params_that_do_not_structure_get_an_answer_that_says_where(params, path):
    client = await started()
    error = (await client.call("textDocument/codeAction", params))["error"]
    assert error["code"] == -32602
    assert error["data"]["path"] == path
    assert error["data"]["problem"]


@pytest.mark.parametrize(
    ("params", "path"),
    [
        (None, "command"),
        ([], "command"),
        ({"command": 5}, "command"),
        ({"command": "outrider.nothing"}, "command"),
        ({"command": ["outrider.status"]}, "command"),
        ({"command": "outrider.status", "arguments": {}}, "arguments"),
        ({"command": "outrider.status", "arguments": ["text"]}, "arguments[0]"),
        ({"command": "outrider.status", "arguments": [[]]}, "arguments[0]"),
        ({"command": "outrider.status", "arguments": [False]}, "arguments[0]"),
        ({"command": "outrider.status", "arguments": [{}, {}]}, "arguments[1]"),
        ({"command": "outrider.status", "workDoneToken": {}}, "workDoneToken"),
        ({"command": "outrider.status", "workDoneToken": True}, "workDoneToken"),
    ],
)
async def test_a_command_call_that_is_wrong_says_where(params, path):
    client = await started()
    error = (await client.call("workspace/executeCommand", params))["error"]
    assert (error["code"], error["data"]["path"]) == (-32602, path)
    assert client.bridge.calls == []


@pytest.mark.parametrize("extra", [{}, {"arguments": []}, {"arguments": None}, {"arguments": [None]}])
async def test_a_command_without_arguments_gets_an_empty_object(extra):
    client = await started()
    answer = await client.call("workspace/executeCommand", {"command": "outrider.status", **extra})
    assert answer["result"] == {"echo": {}}


async def test_arguments_reach_the_command_as_they_are():
    client = await started()
    argument = {"jsonrpc": "1.0", "id": 1, "method": "x", "a-b": {"jsonrpc": "2.0", "class": [1, "ü𝄞", None]}}
    answer = await client.execute("outrider.status", argument)
    assert answer["result"] == {"echo": argument}


async def test_the_work_done_token_reaches_the_command():
    client = await started()
    for token in ("$ublime-1", 7):
        await client.call("workspace/executeCommand", {"command": "outrider.status", "workDoneToken": token})
    assert [call[2] for call in client.bridge.calls] == ["$ublime-1", 7]


async def test_an_error_of_a_command_goes_out_as_it_is():
    client = await started()
    assert (await client.execute("outrider.steer"))["error"] == {
        "code": -32803,
        "message": "there is no running turn",
        "data": {"reason": "no_running_turn"},
    }


async def test_an_internal_error_tells_the_log_and_not_the_client(caplog):
    client = await started()
    error = (await client.execute("outrider.run"))["error"]
    assert error["code"] == -32603
    assert "data" not in error
    assert "secret" not in error["message"]
    assert "secret.py" in caplog.text
    assert all(message.get("method") != "window/showMessage" for message in client.outbox.messages)


async def test_a_result_that_is_no_json_is_an_internal_error():
    client = await started()
    assert (await client.execute("outrider.doctor"))["error"]["code"] == -32603
    client.bridge.commands["outrider.doctor"] = lambda _: float("inf")
    assert (await client.execute("outrider.doctor"))["error"]["code"] == -32603
    deep = []
    for _ in range(100_000):
        deep = [deep]
    client.bridge.commands["outrider.doctor"] = lambda _: deep
    assert (await client.execute("outrider.doctor"))["error"]["code"] == -32603


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"\xff\xfe", b'"\xed\xa0\x80"', b"[" * 200_000, b'{"a":' * 200_000, b'{"jsonrpc": NaN}',
        b"-Infinity", b"9" * 10_000, b"nul", b'{"id": 1}{}',
    ],
)  # fmt: skip
async def test_what_is_no_json_gets_a_parse_error_without_an_id(body):
    client = await started()
    before = len(client.outbox.messages)
    client.send_raw(body)
    (message,) = client.outbox.messages[before:]
    assert message["id"] is None
    assert message["error"]["code"] == -32700
    await still_works(client)


@pytest.mark.parametrize(
    "message",
    [
        [], [{"jsonrpc": "2.0", "id": 1, "method": "shutdown"}], 1, None, "text", True, {},
        {"jsonrpc": "2.0"}, {"jsonrpc": "2.0", "id": None, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"}, {"jsonrpc": "2.0", "id": True, "method": "shutdown"},
        {"jsonrpc": "2.0", "id": [1], "method": "shutdown"}, {"jsonrpc": "2.0", "method": 7},
    ],
)  # fmt: skip
async def test_what_is_no_message_is_an_invalid_request(message):
    client = await started()
    client.send(message)
    assert client.outbox.messages[-1]["id"] is None
    assert client.outbox.messages[-1]["error"]["code"] == -32600
    await still_works(client)


@pytest.mark.parametrize(
    "extra", [{}, {"jsonrpc": "1.0", "method": "shutdown"}, {"jsonrpc": "2.0", "method": None}]
)
async def test_an_invalid_request_with_an_id_is_answered_under_it(extra):
    client = await started()
    client.send({"id": "x", "method": "shutdown", **extra})
    assert (await error_of(client, "x"))["code"] == -32600


async def test_nothing_but_initialize_comes_first():
    client = Client()
    assert (await client.execute("outrider.status"))["error"]["code"] == -32002
    assert (await client.call("shutdown"))["error"]["code"] == -32002
    assert (await client.call("no/such"))["error"]["code"] == -32002
    client.notify("textDocument/didOpen", {})
    await client.initialize()
    await still_works(client)


async def test_initialize_comes_once():
    client = await started()
    assert (await client.call("initialize", {"capabilities": {}}))["error"]["code"] == -32600
    await still_works(client)


@pytest.mark.parametrize(
    "params",
    [
        None,
        [],
        {},
        {"capabilities": None},
        {"capabilities": []},
        {"capabilities": {}, "initializationOptions": []},
    ],
)
async def test_an_initialize_that_is_wrong_can_be_repeated(params):
    client = Client()
    assert (await client.call("initialize", params))["error"]["code"] == -32602
    await client.initialize()
    await still_works(client)


async def test_nothing_comes_after_shutdown():
    client = await started()
    await client.call("shutdown")
    for method in ("shutdown", "workspace/executeCommand", "no/such", "initialize"):
        assert (await client.call(method))["error"]["code"] == -32600


async def test_shutdown_with_work_in_flight_succeeds_and_ends_it():
    client = await started()
    await still_works(client)
    waiting = [client.request("workspace/executeCommand", {"command": "outrider.wait"}) for _ in range(3)]
    await still_works(client)
    assert (await client.call("shutdown"))["result"] is None
    for msg_id in waiting:
        assert (await error_of(client, msg_id))["code"] == -32800
    assert client.bridge.cancelled == ["wait"] * 3
    assert client.bridge.closed == ["shutdown"]


async def test_unknown_methods():
    client = await started()
    assert (await client.call("no/such", {"a": 1}))["error"]["code"] == -32601
    assert (await client.call("$/such"))["error"]["code"] == -32601
    before = len(client.outbox.messages)
    client.notify("$/whatever", [1])
    client.notify("no/such", None)
    assert len(client.outbox.messages) == before


async def test_an_id_in_use_is_not_used_twice():
    client = await started()
    client.request("workspace/executeCommand", {"command": "outrider.wait"}, msg_id="same")
    await still_works(client)
    client.request("workspace/executeCommand", {"command": "outrider.wait"}, msg_id="same")
    assert (await error_of(client, "same"))["code"] == -32600


async def test_ids_of_our_requests_are_large_numbers():
    client = await started(workspace={"configuration": True})
    request = await client.asked("workspace/configuration")
    assert request["id"] == 1_000_000_000


MALFORMED = [
    {}, {"result": 1, "error": {"code": 1, "message": "x"}}, {"error": None}, {"error": "text"}, {"error": {}},
    {"error": {"code": "1", "message": "x"}}, {"error": {"code": 1}}, {"error": []}, {"result": 1, "jsonrpc": 2},
]  # fmt: skip


@pytest.mark.parametrize("response", MALFORMED)
async def test_a_malformed_response_ends_the_wait_as_an_error(response):
    client = await started(window={"showDocument": {"support": True}})
    await still_works(client)
    asking = asyncio.ensure_future(client.bridge.editor.ask("Really?", ["Allow once"], seconds=5))
    request = await client.asked("window/showMessageRequest")
    client.send({"jsonrpc": "2.0", "id": request["id"], **response})
    assert (await asking).why == "error"


async def test_a_result_beside_a_null_error_is_a_result():
    client = await started()
    await still_works(client)
    asking = asyncio.ensure_future(client.bridge.editor.ask("Really?", ["Allow once"], seconds=5))
    request = await client.asked("window/showMessageRequest")
    client.send({"jsonrpc": "2.0", "id": request["id"], "result": {"title": "Allow once"}, "error": None})
    assert (await asking).title == "Allow once"


@pytest.mark.parametrize("msg_id", [1_000_000_000, "unknown", 5, None, [], {}, 1.5, -1])
async def test_a_response_to_nothing_is_ignored(msg_id):
    client = await started()
    before = len(client.outbox.messages)
    client.send({"jsonrpc": "2.0", "id": msg_id, "result": {"title": "x"}})
    client.send({"jsonrpc": "2.0", "id": msg_id, "error": {"code": -32700, "message": "what?"}})
    assert len(client.outbox.messages) == before
    await still_works(client)


async def test_a_late_answer_shows_no_error_and_is_told():
    client = await started()
    await still_works(client)
    told = []
    answer = await client.bridge.editor.ask("Really?", ["Yes", "No"], seconds=0.01, late=told.append)
    assert answer.why == "timeout"
    request = await client.asked("window/showMessageRequest")
    for title in ("Perhaps", "Yes", "No"):
        client.answer(request, {"title": title})
    assert told == []  # the first answer used the question up
    await client.bridge.editor.ask("Really?", ["Yes", "No"], seconds=0.01, late=told.append)
    client.answer(await client.asked("window/showMessageRequest"), {"title": "Yes"})
    assert told == ["Yes"]
    assert all(message.get("method") != "window/showMessage" for message in client.outbox.messages)


async def test_nothing_is_left_of_what_is_done():
    client = await started(workspace={"configuration": True})
    client.answer(await client.asked("workspace/configuration"), [None])
    uri = "file:///a.py"
    client.notify(
        "textDocument/didOpen",
        {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": ""}},
    )
    for number in range(50):
        change = {"textDocument": {"uri": uri, "version": number + 2}, "contentChanges": [{"text": "x"}]}
        client.notify("textDocument/didChange", change)
        client.notify("workspace/didChangeConfiguration", {"settings": {"outrider": {}}})
        await client.execute("outrider.status")
        await client.bridge.editor.ask("Really?", ["Yes"], seconds=0.0)
    await asyncio.sleep(0)
    protocol = client.server.protocol
    left = {name: len(value) for name, value in vars(protocol).items() if isinstance(value, dict | set)}
    assert {name: size for name, size in left.items() if size} == {}
    gc.collect()
    assert len(asyncio.all_tasks()) == 1


async def test_an_async_notification_that_fails_is_logged_and_shown_to_nobody(caplog):
    client = await started()
    await still_works(client)

    async def broken(values):
        raise RuntimeError("broken inside")

    client.bridge.configure = broken
    client.notify("workspace/didChangeConfiguration", {"settings": {"outrider": {"events": True}}})
    await still_works(client)
    assert "broken inside" in caplog.text
    assert all(message.get("method") != "window/showMessage" for message in client.outbox.messages)


async def test_text_goes_out_unescaped_and_half_pairs_escaped():
    client = await started()
    bodies = []
    client.outbox.send = bodies.append
    client.notify("no/such")
    client.bridge.commands["outrider.status"] = lambda _: "日本語 𝄞"
    client.request("workspace/executeCommand", {"command": "outrider.status"})
    client.bridge.commands["outrider.doctor"] = lambda _: "\ud834"
    client.request("workspace/executeCommand", {"command": "outrider.doctor"})
    await eventually(lambda: len(bodies) == 2)
    assert "日本語 𝄞".encode() in bodies[0]
    assert json.loads(bodies[1])["result"] == "\ud834"


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(METHODS), JSON, st.booleans())
def test_every_request_gets_one_response_whatever_it_holds(method, params, initialized):
    async def run():
        client = Client()
        if initialized:
            await client.initialize()
        client.notify(method, params)
        before = len(client.outbox.messages)
        client.request(method, params, msg_id="it")
        await client.response("it")
        answers = [message for message in client.outbox.messages[before:] if message.get("id") == "it"]
        assert len(answers) == 1
        assert ("result" in answers[0]) != ("error" in answers[0])
        assert answers[0].get("error", {}).get("code") != -32603
        await client.close()

    asyncio.run(run())


@settings(max_examples=200, deadline=None)
@given(
    JSON
    | st.fixed_dictionaries(
        {}, optional=dict.fromkeys(("jsonrpc", "id", "method", "params", "result", "error"), JSON)
    )
)
def test_no_message_raises(message):
    async def run():
        client = Client()
        await client.initialize()
        client.send(message)
        await still_works(client)
        await client.close()

    asyncio.run(run())
