"""The tools that settings register: which are taken, which are left out, and what is said about it."""

from typing import Any

import pytest

from outrider.ports.toml import read_user_file
from outrider.settings import Layered, from_layers, narrowed
from outrider_protocol.settings import MOST_TOOLS, SCHEMA_BYTES, Settings

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"name": "weather", "description": "The weather.", "inputSchema": SCHEMA, "effect": "read"}


def one(*tools: Any) -> Layered:
    return from_layers(("initializationOptions", {"tools": list(tools)}))


def names(layered: Layered) -> list[str]:
    return [tool.name for tool in layered.settings.tools]


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(depth):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def test_tools_are_taken_in_their_order() -> None:
    layered = one(WEATHER, {**WEATHER, "name": "a", "effect": "execute"})
    assert names(layered) == ["weather", "a"]
    assert layered.settings.tools[0].input_schema == SCHEMA
    assert layered.messages == ()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": "9lives"}, "tools.1.name: string should match"),
        ({"name": "a" * 65}, "tools.1.name: string should match"),
        ({"name": "a\n"}, "tools.1.name: string should match"),
        ({"name": ""}, "tools.1.name: string should match"),
        ({"name": 5}, "tools.1.name: input should be a valid string"),
        ({"name": "read_file"}, "tools.1.name: read_file is a tool of Outrider"),
        ({"name": "weather"}, "tools.1.name: weather is already registered"),
        ({"description": ""}, "tools.1.description: string should have at least 1 character"),
        ({"description": "x" * 4097}, "tools.1.description: string should have at most 4096 characters"),
        ({"effect": "none"}, "tools.1.effect: input should be 'read', 'edit', 'execute' or 'ask'"),
        ({"title": "x"}, "tools.1.title: there is no such key"),
        ({"inputSchema": True}, "tools.1.inputSchema: input should be a valid dictionary"),
        ({"inputSchema": {}}, "tools.1.inputSchema: must describe an object"),
        ({"inputSchema": {"type": "string"}}, "tools.1.inputSchema: must describe an object"),
        (
            {"inputSchema": {"type": "object", "properties": {"a": {"type": "sting"}}}},
            "tools.1.inputSchema: is not a valid JSON Schema: $.properties.a.type: 'sting' is not valid",
        ),
        ({"inputSchema": {"type": "object", "required": "a"}}, "tools.1.inputSchema: is not a valid JSON Schema: $.required"),
        (
            {"inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://other.example/a.json"}}}},
            "tools.1.inputSchema: refers to https://other.example/a.json, which is outside the schema",
        ),
        (
            {"inputSchema": {"type": "object", "$schema": "https://other.example/dialect"}},
            "tools.1.inputSchema: uses an unknown dialect: https://other.example/dialect",
        ),
        ({"inputSchema": {"type": "object", "$schema": [5]}}, "tools.1.inputSchema: uses an unknown dialect"),
        (
            {"inputSchema": {"type": "object", "$comment": "x" * SCHEMA_BYTES}},
            f"tools.1.inputSchema: has {SCHEMA_BYTES + 34} bytes; the limit is {SCHEMA_BYTES}",
        ),
        ({"inputSchema": {"type": "object", "$comment": "\ud800"}}, "tools.1.inputSchema: cannot be written as JSON"),
        ({"inputSchema": {"type": "object", "default": float("nan")}}, "tools.1.inputSchema: cannot be"),
        ({"inputSchema": nested(600)}, "tools.1.inputSchema: "),
    ],
)  # fmt: skip
def test_a_bad_tool_is_left_out_and_the_rest_stay(wrong: dict[str, Any], says: str) -> None:
    other = {**WEATHER, "name": "other"}
    layered = one(WEATHER, {**WEATHER, "name": "wrong", **wrong}, other)
    assert names(layered) == ["weather", "other"]
    (message,) = layered.messages
    assert message.startswith(f"initializationOptions: {says}")
    assert message.endswith("; this tool is ignored")
    assert len(message) < 400


@pytest.mark.parametrize("key", WEATHER)
def test_every_key_of_a_tool_is_needed(key: str) -> None:
    layered = one({name: value for name, value in WEATHER.items() if name != key})
    assert layered.settings.tools == []
    assert layered.messages == (
        f"initializationOptions: tools.0.{key}: field required; this tool is ignored",
    )


@pytest.mark.parametrize("wrong", [5, "weather", None, [WEATHER]])
def test_what_is_no_tool_is_left_out(wrong: Any) -> None:
    layered = one(wrong, WEATHER)
    assert names(layered) == ["weather"]
    assert layered.messages[0].startswith("initializationOptions: tools.0: input should be")


def test_what_is_no_list_is_ignored() -> None:
    layered = from_layers(("file", {"tools": [WEATHER]}), ("initializationOptions", {"tools": WEATHER}))
    assert names(layered) == ["weather"]
    assert layered.messages[0].startswith("initializationOptions: tools: must be a list; ")
    assert from_layers(("file", {"tools": None})) == Layered(Settings())


def test_there_are_so_many_tools_at_most() -> None:
    layered = one(*({**WEATHER, "name": f"t{number}"} for number in range(MOST_TOOLS + 2)))
    assert len(layered.settings.tools) == MOST_TOOLS
    assert layered.messages[0] == (
        "initializationOptions: tools.64: there are 64 tools already; this one is ignored"
    )


def test_tools_are_merged_by_name_and_each_as_a_whole() -> None:
    layered = from_layers(
        ("file", {"tools": [WEATHER, {**WEATHER, "name": "mine"}]}),
        ("initializationOptions", {"tools": [{**WEATHER, "effect": "execute"}]}),
    )
    assert {tool.name: tool.effect for tool in layered.settings.tools} == {
        "mine": "read",
        "weather": "execute",
    }
    assert layered.messages == ()


def test_a_dialect_that_is_named_is_the_one_that_counts() -> None:
    draft_7 = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "dependencies": {"a": ["b"]},
    }
    assert one({**WEATHER, "inputSchema": draft_7}).messages == ()


def test_the_user_may_register_tools_in_toml(tmp_path: Any) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(
        '[[tools]]\nname = "weather"\ndescription = "The weather."\neffect = "read"\n'
        'inputSchema = {type = "object", default = 2026-01-01}\n'
        '[[tools]]\nname = "other"\ndescription = "Other."\neffect = "read"\ninputSchema = {type = "object"}\n'
    )
    layered = from_layers(("file", read_user_file(path)[0]))
    assert names(layered) == ["other"]
    assert layered.messages[0].startswith("file: tools.0.inputSchema: cannot be written as JSON")


def test_a_workspace_can_neither_add_nor_change_tools() -> None:
    base = one(WEATHER).settings
    layered = narrowed(base, {"tools": [{**WEATHER, "name": "sly"}]})
    assert layered.settings == base
    assert layered.messages == ("workspace settings: tools: cannot be set by the workspace; it is ignored",)
    assert narrowed(base, {"tools": []}).settings == base
    assert narrowed(base, {"tools": [WEATHER]}).messages == (), "that is what holds anyway"
