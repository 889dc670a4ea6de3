"""Calls of a provider's own kind, by names that are offered: a call of several at once is those calls."""

import json

import pytest

from outrider.models.wrappers import as_meant
from outrider.ports.ids import SequentialIds
from outrider.ports.model import ModelResponse, ProviderData, ToolCall, ToolSpec

OFFERED = [ToolSpec("read_file", "", {"type": "object"}), ToolSpec("search", "", {"type": "object"})]
KEPT = ProviderData("my/a", "[]")


def meant(*calls, offered=OFFERED):
    asked = tuple(ToolCall(f"c{number}", *call) for number, call in enumerate(calls))
    answer = ModelResponse("", asked, "tool_calls", provider_data=KEPT)
    return as_meant(answer, offered, SequentialIds())


def called(answer):
    return [(call.name, json.loads(call.arguments)) for call in answer.tool_calls]


def uses(*calls):
    return json.dumps({"tool_uses": [{"recipient_name": name, "parameters": given} for name, given in calls]})


@pytest.mark.parametrize(
    "name", ["multi_tool_use.parallel", "multi_tool_use_parallel", "functions.multi_tool_use.parallel"]
)
def test_a_call_of_several_is_those_calls(name):
    answer = meant(
        ("search", '{"pattern": "x"}'),
        (name, uses(("functions.read_file", {"path": "ä"}), ("search", {}))),
        ("read_file", "{}"),
    )
    assert called(answer) == [
        ("search", {"pattern": "x"}),
        ("read_file", {"path": "ä"}),
        ("search", {}),
        ("read_file", {}),
    ]
    assert len({call.id for call in answer.tool_calls}) == 4
    assert answer.provider_data is None


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "{",
        "[]",
        '{"tool_uses": []}',
        '{"tool_uses": {}}',
        '{"tool_uses": [1]}',
        '{"tool_uses": [{"recipient_name": "read_file", "parameters": []}, {"recipient_name": 1}]}',
        uses(("functions.read_file", {}), ("functions.launch", {})),
        uses(("multi_tool_use.parallel", {})),
    ],
)
def test_what_is_no_such_call_is_told_to_be_unknown(arguments):
    answer = meant(("multi_tool_use.parallel", arguments))
    assert [call.name for call in answer.tool_calls] == ["multi_tool_use.parallel"]


def test_a_tool_of_that_name_is_what_is_called():
    own = ToolSpec("multi_tool_use_parallel", "", {"type": "object"})
    given = uses(("read_file", {}))
    assert called(meant(("multi_tool_use_parallel", given), offered=[*OFFERED, own])) == [
        ("multi_tool_use_parallel", json.loads(given))
    ]
    prefixed = ToolSpec("functions.read_file", "", {"type": "object"})
    answer = meant(("functions.read_file", "{}"), offered=[*OFFERED, prefixed])
    assert called(answer) == [("functions.read_file", {})]


def test_a_tool_with_its_namespace_is_that_tool():
    answer = meant(("functions.read_file", "{}"), ("functions.launch", "{}"))
    assert [call.name for call in answer.tool_calls] == ["read_file", "functions.launch"]
    assert answer.provider_data is KEPT


def test_nothing_is_changed_where_no_tools_are_offered():
    answer = meant(("functions.read_file", "{}"), offered=[])
    assert called(answer) == [("functions.read_file", {})]
