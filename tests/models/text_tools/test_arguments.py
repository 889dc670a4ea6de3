"""What the text of an argument is worth by its schema, and which values are read at all."""

from typing import Any

import pytest

from outrider.models.text_tools import FORMATS, Call, read_message, tool_of
from outrider.models.text_tools.source import Mismatch, of_text
from outrider.models.text_tools.tools import Tools


def tools(schema: dict[str, Any]) -> Tools:
    tool = tool_of({"name": "f", "parameters": schema})
    assert tool
    return Tools([tool])


@pytest.mark.parametrize(
    ("schema", "text", "worth"),
    [
        ({"type": "string"}, '{"a": 1}', '{"a": 1}'),
        ({"type": "string"}, "null", "null"),
        ({"type": "integer"}, " 42 ", 42),
        ({"type": "integer"}, "042 apples", "042 apples"),
        ({"type": "int"}, "42", 42),
        ({"type": "number"}, "3.5", 3.5),
        ({"type": "number"}, "3.0", 3),
        ({"type": "number"}, '"123"', 123),
        ({"type": "number"}, "1e999", "1e999"),
        ({"type": "boolean"}, "True", True),
        ({"type": "boolean"}, "no", False),
        ({"type": "boolean"}, "maybe", "maybe"),
        ({"type": "object"}, "{'a': None}", {"a": None}),
        ({"type": "array"}, "[1, 2", "[1, 2"),
        ({"type": "array"}, '"[1]"', [1]),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["string", "object"]}, "7", "7"),
        ({"type": ["string", "integer"]}, "7", 7),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, '{"a": 1}', {"a": 1}),
        ({"enum": ["7", 8]}, "7", "7"),
        ({"enum": ["7", 8]}, "8", 8),
        ({"const": 7}, "7", 7),
        ({"$ref": "#/$defs/a~1b"}, "7", 7),
        ({"$ref": "#/$defs/round"}, "7", "7"),
        ({}, "7", "7"),
    ],
)
def test_an_argument_by_its_schema(schema: dict[str, Any], text: str, worth: Any) -> None:
    defs = {"a/b": {"type": "integer"}, "round": {"$ref": "#/$defs/round"}}
    found = tools({"properties": {"x": schema}, "$defs": defs}).argument("f", "x", text)
    assert (found, type(found)) == (worth, type(worth))


def test_properties_behind_references_and_in_combinations() -> None:
    schema = {
        "$defs": {"one": {"properties": {"x": {"type": "integer"}}}},
        "allOf": [{"$ref": "#/$defs/one"}, {"properties": {"y": {"type": "boolean"}}}],
    }
    assert tools(schema).argument("f", "x", "1") == 1
    assert tools(schema).argument("f", "y", "true") is True


NS = "]<]minimax[>["


@pytest.mark.parametrize(
    ("schema", "inside", "worth"),
    [
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, "<n>7</n>", {"n": 7}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "<n>7</n>", {"n": "7"}),
        ({"type": "object", "properties": {"item": {"type": "integer"}}}, "<item>7</item>", {"item": 7}),
        ({"type": "array", "items": {"type": "integer"}}, "<item>7</item><item>8</item>", [7, 8]),
        ({"type": "array", "items": {"type": "array"}}, "<item><item>7</item></item>", [["7"]]),
        ({"type": "array"}, "", []),
        ({"type": "array"}, "[1, 2]", [1, 2]),
        ({"type": "object"}, "", {}),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "string"}, "", ""),
        ({}, "<item>7</item>", ["7"]),
        ({"type": "object"}, "<a>7</a><a>8</a><b>9</b>", {"a": ["7", "8"], "b": "9"}),
    ],
)
def test_nested_arguments_of_minimax_by_their_schemas(
    schema: dict[str, Any], inside: str, worth: Any
) -> None:
    tool = tool_of({"name": "f", "parameters": {"properties": {"x": schema}}})
    assert tool
    text = f'<tool_call>\n<invoke name="f"><x>{inside}</x></invoke>\n</tool_call>'.replace("<", f"{NS}<")
    assert read_message(FORMATS["minimax-xml"], text, [tool]) == [Call("f", {"x": worth})]


@pytest.mark.parametrize(
    ("form", "text", "called"),
    [
        ("hermes", '<tool_call>{"name": "f"}</tool_call>', ["f"]),
        ("hermes", '<tool_call>{"name": "f", "description": "Does it."}</tool_call>', []),
        (
            "harmony",
            '<|start|>assistant to=math.sum<|channel|>commentary<|message|>{"a": 1}<|call|>',
            ["math.sum"],
        ),
        ("harmony", "<|start|>assistant<|channel|>commentary to=browser<|message|>{}<|call|>", []),
    ],
)
def test_every_name_counts_where_nothing_is_known_of_tools(form: str, text: str, called: list[str]) -> None:
    found = read_message(FORMATS[form], text, None)
    assert [one.name for one in found if isinstance(one, Call)] == called


def test_what_no_schema_knows() -> None:
    none = tools({})
    assert none.argument("f", "x", "[1]") == "[1]"
    assert none.argument("f", "x", "[1]", undeclared="value") == [1]
    assert none.argument("f", "x", "2025-08-01", undeclared="value") == "2025-08-01"


@pytest.mark.parametrize(
    ("text", "python", "found"),
    [
        ('{"a": "b\nc",}', False, {"a": "b\nc"}),
        (r'"\ud83d\ude00 \d \' \/"', False, r"😀 \d ' /"),
        (
            "(1, 'a' \"b\", {1, 2}, {}, (3), 07, 1_000, '''x'y''')",
            True,
            [1, "ab", [1, 2], {}, 3, 7, 1000, "x'y"],
        ),
        ("[True, none]", False, None),
        ("{a: 1}", False, None),
        ("{1: 2}", False, None),
        ("{1: 2}", True, {"1": 2}),
        ("NaN", False, None),
        ("b'x'", True, None),
        ("[1 2]", False, None),
        ("[" * 100 + "]" * 100, False, None),
        ("1" * 5000, False, None),
        ('"open', False, None),
        ("[1] 2", False, None),
        ("__import__('os')", True, None),
    ],
)
def test_a_value(text: str, python: bool, found: Any) -> None:
    if found is None:
        with pytest.raises(Mismatch):
            of_text(text, python=python)
    else:
        assert of_text(text, python=python) == found


def test_definitions_of_any_usual_form() -> None:
    for key in ("parameters", "schema", "input_schema", "inputSchema"):
        tool = tool_of({"name": "f", "description": "d", key: {"type": "object"}})
        assert tool and (tool.description, tool.schema) == ("d", {"type": "object"})
    assert tool_of({"type": "function", "function": {}}) is None
    assert tool_of("nonsense") is None
