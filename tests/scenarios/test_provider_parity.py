"""The same scenario over every provider: the scripted model, and each dialect over HTTP."""

import pytest
from suite import read, without_golden

from outrider.testing.scenario_files.expectations import judge
from outrider.testing.scenario_files.play import play
from provider_server import IN_DIALECT, ProviderServer, Said, tells

PARITY = [
    "bash_confirmation_prompt_denied",
    "f3_custom_tool_of_the_client",
    "f4_confirmation_denied",
    "f8_provider_parity",
    "multi_tool_turn_roundtrip",
    "tool_results_keep_their_calls",
    "write_file_allowed",
]

WITH_OBJECTS = {"ollama", "gemini"}
"""Dialects whose calls hold an object, not its text."""


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


def said(turn):
    """One answer of a script, as a provider says it."""
    calls = [(call.id, call.name, call.arguments or call.input or {}) for call in turn.tool_calls]
    return Said(turn.text, calls, turn.reasoning or "")


def is_object(arguments):
    return not isinstance(arguments, str)


@pytest.mark.parametrize("kind", sorted(IN_DIALECT))
@pytest.mark.parametrize("name", PARITY)
async def test_every_provider_carries_the_same_turn(name, kind, tmp_path):
    (tmp_path / "scripted").mkdir()
    (tmp_path / "served").mkdir()
    scenario = without_golden(read(name))
    answers = [said(turn) for turn in scenario.model.turns]
    if kind in WITH_OBJECTS and not all(is_object(call[2]) for answer in answers for call in answer.calls):
        pytest.skip("arguments that are no JSON cannot be said in this dialect")
    scripted = await play(scenario, tmp_path / "scripted")
    assert "\n".join(map(str, judge(scenario.expect, scripted))) == ""
    async with ProviderServer() as server:
        server.plays(kind, *answers)
        server.known["/api/show"] = tells({"capabilities": ["tools"]})
        # Ids and clock are real, as with any provider.
        near = {"kind": kind, "baseUrl": server.url}
        settings = {"model": "near/model", "providers": {"near": near}, "testing": None, "reminders": False}
        settings["languageServers"] = {"*": {"enabled": False}}  # which ones there are is up to the machine
        served = await play(without_golden(read(name, **settings)), tmp_path / "served")
    if kind != "gemini":  # which has no ids of calls
        assert "\n".join(map(str, judge(scenario.expect, served))) == ""
    assert course(served.events) == course(scripted.events)
    assert served.run.files == scripted.run.files
    if kind != "openai-chat":
        return
    # Each result stands in the next request, under the id that the model gave its call.
    for request in server.bodies:
        called = [call["id"] for message in request["messages"] for call in message.get("tool_calls", [])]
        assert [m["tool_call_id"] for m in request["messages"] if m["role"] == "tool"] == called
    given = [call.id for turn in scenario.model.turns for call in turn.tool_calls]
    assert [call["id"] for m in server.bodies[-1]["messages"] for call in m.get("tool_calls", [])] == given
