"""What the model was asked, rebuilt from the log, is what was sent: message by message, and to the byte."""

import dataclasses
import json

import pytest

from outrider.models import scripted as server_side
from outrider.testing.invocations import read_invocations
from outrider.testing.scenario import scripted, start_session
from provider_server import ProviderServer, Said

EDIT = ("call_a", "edit_file", {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"})
READS = [("call_b", "read_file", {"path": "README.md"}), ("call_c", "search", {"pattern": 'ho"urs é😀\n'})]


def state_dir(editor):
    return editor.root.parent / editor.options["stateDir"]


def as_sent(message):
    """A message as the dialect of chat completions has it."""
    sent = {"role": message.role, "content": message.text}
    if message.tool_calls:
        sent["content"] = message.text or None
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        sent["tool_call_id"] = message.tool_call_id
    return sent


def tool_as_sent(tool):
    function = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


@pytest.mark.parametrize("connection", ["in-process", "stdio"])
@pytest.mark.parametrize("given", [{"temperature": 0.3, "maxTokens": 512}, {}], ids=["set", "unset"])
async def test_it_equals_the_bodies_that_a_provider_received(given, connection, workspace):
    said = [Said(calls=READS), Said(calls=[EDIT]), *map(Said, ("Done. é😀", "Two left.", "And again."))]
    async with ProviderServer() as server:
        server.plays("openai-chat", *said)
        provider = {"kind": "openai-chat", "baseUrl": server.url, **given}
        settings = {"providers": {"local": provider}, "testing": None}
        async with start_session(
            "stock", workspace, "local/small", settings, answers=["Reject"], connection=connection
        ) as editor:
            await editor.run("Correct the price 😀.")
            assert len(await read_invocations(state_dir(editor), editor.session_id)) == 3, "while it runs"
            await editor.run("What is left?", sessionId=editor.session_id, mode="explore")
            await editor.run("Again.", sessionId=editor.session_id)
        invocations = await read_invocations(state_dir(editor), editor.session_id)
    assert len(invocations) == len(server.bodies) == 5
    for invocation, body in zip(invocations, server.bodies, strict=True):
        assert [as_sent(message) for message in invocation.messages] == body["messages"]
        assert [tool_as_sent(tool) for tool in invocation.tools] == body["tools"]
        assert (invocation.temperature, invocation.max_tokens) == (
            body.get("temperature"),
            body.get("max_tokens"),
        )
        assert (invocation.temperature, invocation.max_tokens) == (
            given.get("temperature"),
            given.get("maxTokens"),
        )
        assert (invocation.mode == "stream") is body["stream"]
        assert (invocation.purpose, invocation.model) == ("main", f"local/{body['model']}")
    assert "edit_file" not in invocations[3].tool_names, "explore is offered no edits"
    assert invocations[2].last.role == "tool"
    assert [invocation.turn_id for invocation in invocations] == [
        event["turnId"] for event in editor.events_of("model.requested")
    ]


async def test_it_equals_what_a_model_was_handed(workspace, monkeypatch):
    """A spy at the model's door, over every purpose, and a conversation that the loop goes on changing."""
    handed = []
    stream = server_side.ScriptedModel.stream

    def spy(self, request):
        handed.append(dataclasses.replace(request, messages=tuple(request.messages)))
        return stream(self, request)

    monkeypatch.setattr(server_side.ScriptedModel, "stream", spy)
    lone = {"name": "read_file", "arguments": '{"path": "\\ud800"'}
    turns = [
        {
            "text": "Looking.",
            "reasoning": "Hm.",
            "tool_calls": [lone, {"name": "list_files", "input": {"path": "."}}],
        },
        {"tool_calls": [{"name": "list_files", "input": {"path": "tests"}}]},
    ]
    model = scripted(workspace, turns, purposes={"summary": [{"text": "Not done."}]})
    async with start_session("stock", workspace, model, {"limits": {"steps": 2}}) as editor:
        result = await editor.run("Look around.")
        assert (result["outcome"], result["summary"]) == ("budget_exhausted", "Not done.")
        invocations = await read_invocations(state_dir(editor), editor.session_id)
    assert [invocation.purpose for invocation in invocations] == ["main", "main", "summary"]
    for invocation, request in zip(invocations, handed, strict=True):
        assert invocation.messages == request.messages
        assert [dataclasses.asdict(tool) for tool in invocation.tools] == [
            json.loads(json.dumps(dataclasses.asdict(tool))) for tool in request.tools
        ]
        assert (invocation.purpose, invocation.temperature, invocation.max_tokens) == (
            request.purpose,
            request.temperature,
            request.max_tokens,
        )
    assert invocations[1].messages[2].reasoning == "Hm."
    assert invocations[2].tools == ()


async def test_a_folder_without_a_log_holds_none(tmp_path):
    assert await read_invocations(tmp_path, "ses_1") == []
    assert list(tmp_path.iterdir()) == []


async def test_a_session_that_is_not_there_has_none(workspace):
    async with start_session("stock", workspace, scripted(workspace, [{"text": "Hi."}])) as editor:
        await editor.run("Hi")
        assert len(await read_invocations(state_dir(editor), editor.session_id)) == 1
        assert await read_invocations(state_dir(editor), "ses_2") == []
