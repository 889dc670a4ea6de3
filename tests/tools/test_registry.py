"""Tools and their arguments: what is taken, what is refused, and how it is said."""

import json
import time

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.tools.all import own_tools
from outrider.tools.registry import MOST_CONTENT, MOST_WORDS

TOOLS = {tool.name: tool for tool in own_tools().offered("agent")}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for tool in TOOLS.values() for key in tool.spec().schema["properties"]})


def test_a_read_only_turn_is_offered_what_has_no_effect():
    assert {tool.effect for tool in own_tools().offered("explore")} == {"read", "ask"}
    assert set(TOOLS) - {tool.name for tool in own_tools().offered("explore")} == {
        "edit_file", "apply_patch", "insert_lines", "write_file", "delete_file", "rename_file", "rename_symbol",
        "code_actions", "format", "run_command", "kill_job",
    }  # fmt: skip


PLAIN = {"path", "command", "content", "text", "end_line", "question", "job"}
"""Arguments whose names say it."""


@pytest.mark.parametrize("name", TOOLS)
def test_the_schema_of_a_tool_is_one_and_explains_itself(name):
    spec = TOOLS[name].spec()
    jsonschema.Draft202012Validator.check_schema(dict(spec.schema))
    assert spec.description
    assert "title" not in json.dumps(
        {key: value for key, value in spec.schema.items() if key != "properties"}
    )
    for key, value in spec.schema["properties"].items():
        assert value.get("description") or key in PLAIN, f"{name}.{key} is not explained"


@given(st.sampled_from(sorted(TOOLS)), st.dictionaries(st.sampled_from(KEYS), JSON, max_size=4))
def test_arguments_are_taken_exactly_where_the_schema_takes_them(name, given_arguments):
    tool = TOOLS[name]
    parsed = tool.parse(json.dumps(given_arguments))
    if not isinstance(parsed, str):
        taken = parsed.params.model_dump(mode="json", by_alias=True, exclude_unset=True)
        jsonschema.validate(taken, dict(tool.spec().schema))


@given(st.sampled_from(sorted(TOOLS)), st.text(max_size=20))
def test_no_text_of_a_model_breaks_the_parser(name, text):
    assert TOOLS[name].parse(text) is not None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("readfile", "Did you mean read_file"),
        ("run", "There is no tool 'run'."),
        ("search_text", "Did you mean search"),
        ("zzz", "Available: read_file, list_files"),
    ],
)
def test_an_unknown_tool_names_those_that_are_near(name, says):
    said = own_tools().get(name)
    assert isinstance(said, str)
    assert says in said
    assert own_tools().effect(name) is None


CONTENT = {"old", "new", "text", "content", "patch", "command"}
"""Arguments that may be as long as an answer."""


@pytest.mark.parametrize("name", TOOLS)
def test_every_argument_has_a_longest_length(name):
    """What is longer is looked through, masked, logged and shown by many, some of it on the event loop."""
    schema = TOOLS[name].params.model_json_schema()
    for key, shape in schema["properties"].items():
        kinds = [shape, *shape.get("anyOf", ())]
        required = {
            "path": "a",
            "command": "a",
            "pattern": "a",
            "question": "a",
            "job": "a",
            "items": [],
            "from": "a",
            "to": "b",
        }
        required |= {"old": "a", "new": "b", "text": "a", "content": "a", "patch": "a", "after_line": 1}
        required |= {"new_name": "b", "line": 1}
        given = {other: required[other] for other in schema.get("required", ())}
        if name == "edit_file" and key != "edits":
            given |= {"old": "a", "new": "b"}
        if any(kind.get("type") == "string" and "enum" not in kind for kind in kinds):
            most = MOST_CONTENT if key in CONTENT and name != "wait" else MOST_WORDS
            said = TOOLS[name].parse(json.dumps({**given, key: "x" * (most + 1)}))
            assert isinstance(said, str), key
            assert "characters" in said
        if any(kind.get("type") == "array" for kind in kinds):
            assert shape["maxItems"] <= 100, key


def test_a_list_with_too_many_items_is_refused_before_they_are_looked_at():
    items = [{"step": "x"}] * 60_000
    begun = time.process_time()
    said = TOOLS["update_plan"].parse(json.dumps({"items": items}))
    assert said.startswith("items has too many items; the most are 100. It takes: items")
    assert time.process_time() - begun < 1
    assert "a point has more than 1000 characters" in TOOLS["update_plan"].parse(
        '{"items": ["%s"]}' % ("x" * 1001)
    )
