"""Tools and their arguments: what is taken, what is refused, and how it is said."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.tools.all import own_tools

TOOLS = {tool.name: tool for tool in own_tools().offered(read_only=False)}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted({key for tool in TOOLS.values() for key in tool.spec().schema["properties"]})


def test_a_read_only_turn_is_offered_what_has_no_effect():
    assert {tool.effect for tool in own_tools().offered(read_only=True)} == {"read", "ask"}
    assert set(TOOLS) - {tool.name for tool in own_tools().offered(read_only=True)} == {
        "edit_file", "apply_patch", "insert_lines", "write_file", "delete_file", "rename_file", "run_command",
        "kill_job",
    }  # fmt: skip


@pytest.mark.parametrize("name", TOOLS)
def test_the_schema_of_a_tool_is_one_and_explains_itself(name):
    spec = TOOLS[name].spec()
    jsonschema.Draft202012Validator.check_schema(dict(spec.schema))
    assert spec.description
    assert spec.schema["additionalProperties"] is False
    assert "title" not in json.dumps(
        {key: value for key, value in spec.schema.items() if key != "properties"}
    )
    for key, value in spec.schema["properties"].items():
        assert value.get("description"), f"{name}.{key} is not explained"


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
