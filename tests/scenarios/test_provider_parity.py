"""The same scenario over two providers: the scripted model, and chat completions over HTTP."""

import pytest
from provider_server import ChatServer
from suite import read, without_golden

from outrider.testing.expectations import judge
from outrider.testing.play import play

PARITY = [
    "bash_confirmation_prompt_denied",
    "f3_custom_tool_of_the_client",
    "f4_confirmation_denied",
    "f8_provider_parity",
    "multi_tool_turn_roundtrip",
    "tool_results_keep_their_calls",
    "write_file_allowed",
]


def course(events):
    """What happened, without what may differ from provider to provider: ids, times and names."""
    return [
        (
            event["type"],
            {key: data[key] for key in ("name", "input", "status", "content", "text") if key in data},
        )
        for event in events
        for data in [event["data"]]
    ]


@pytest.mark.parametrize("name", PARITY)
async def test_every_provider_carries_the_same_turn(name, tmp_path):
    (tmp_path / "scripted").mkdir()
    (tmp_path / "chat").mkdir()
    scenario = without_golden(read(name))
    scripted = await play(scenario, tmp_path / "scripted")
    assert "\n".join(map(str, judge(scenario.expect, scripted))) == ""
    async with ChatServer(scenario.model.turns) as server:
        chat = await play(without_golden(read(name, **server.settings)), tmp_path / "chat")
    assert "\n".join(map(str, judge(scenario.expect, chat))) == ""
    assert course(chat.events) == course(scripted.events)
    assert chat.files == scripted.files
    # Each result stands in the next request, under the id that the model gave its call.
    for request in server.requests:
        called = [call["id"] for message in request["messages"] for call in message.get("tool_calls", [])]
        assert [m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"] == called
    given = [call.id for turn in scenario.model.turns for call in turn.tool_calls]
    assert [call["id"] for m in server.requests[-1]["messages"] for call in m.get("tool_calls", [])] == given
