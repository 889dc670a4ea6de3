"""Each format, by a table of messages; and what must hold of every message whatever it says."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.text_tools.tools import TOOLS, outcome, read
from outrider.models.text_tools import FORMATS, Call, read_message
from outrider.ports.model import TextDelta

CASES = {
    path.stem: json.loads(path.read_text("utf-8")) for path in Path(__file__).parent.glob("cases/*.json")
}
TABLE = [(form, case) for form, cases in CASES.items() for case in cases]


def splits(text: str, seed: int) -> list[str]:
    cuts = sorted(random.Random(seed).choices(range(len(text) + 1), k=4))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def test_every_format_has_cases() -> None:
    assert CASES.keys() == FORMATS.keys()


@pytest.mark.parametrize(
    ("form", "case"), TABLE, ids=[f"{form}-{case['text'][:40]!r}" for form, case in TABLE]
)
def test_case(form: str, case: dict[str, Any]) -> None:
    expected = {"calls": case["calls"], "content": case["content"], "reasoning": case.get("reasoning", "")}
    text = case["text"]
    assert outcome(read(form, [text])) == expected
    assert outcome(read(form, list(text))) == expected
    for seed in range(5):
        assert outcome(read(form, splits(text, seed))) == expected


MARKUP = sorted(
    {
        *"{}[]()\"'`\\,:\n =",
        *[
            "<tool_call>",
            "</tool_call>",
            "<function=",
            "<parameter=city>",
            "</parameter>",
            "</function>",
            "<think>",
            "</think>",
            "</think>\n",
            "```json\n",
            "```",
            "~~~\n",
            "[TOOL_CALLS]",
            "[ARGS]",
            "<|python_tag|>",
            "<|channel|>",
            "<|message|>",
            "to=functions.bash",
            "<|call|>",
            "<|start|>",
            "<escape>",
            '<|"|>',
            "call:",
            "<|tool_call>",
            "<tool_call|>",
            "<start_function_call>",
            "</arg>",
            "</call>",
            "<tool_calls>",
            "</invoke>",
            "]<]minimax[>[",
            '<invoke name="get_weather">',
            "<item>",
            "</item>",
            "<|open|>tools<|sep|>",
            '<|open|>call tool="get_weather" index="1"<|sep|>',
            '<|open|>argument key="city" type="string"<|sep|>',
            "<|close|>argument<|sep|>",
            "<|close|>call<|sep|>",
            "<|close|>think<|sep|>",
            "<｜DSML｜ calls>",
            '<｜DSML｜ invoke name="bash">',
            "</｜DSML｜ invoke>",
            "<｜tool▁calls▁begin｜>",
            "<｜tool▁call▁begin｜>",
            "<｜tool▁sep｜>",
            "<｜tool▁call▁end｜>",
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "functions.bash:0",
            "<|tool_call_argument_begin|>",
            "<minimax:tool_call>",
            "<|tool_call_start|>",
            "<|tool_call_end|>",
            "<arg_key>",
            "</arg_key>",
            "<arg_value>",
            "</arg_value>",
            "1",
            "1e999",
            "true",
            "None",
            "�",
            "é",
            "\x00",
            "<|tool_call|>",
            "get_weather(",
            "city=",
            "bash",
            "```tool_code\n",
        ],
        *(
            "Action: bash",
            "\nAction Input: ",
            "Final Answer:",
            "Observation:",
            "Thought:",
            "[USE bash tool: ",
        ),
        *('<call tool="bash">', '<arg name="command">', '<invoke name="bash">', '<parameter name="command">'),
        '{"name": "get_time", "arguments": {}}',
    }
)
messages = st.lists(
    st.one_of(
        st.sampled_from(MARKUP), st.sampled_from([case["text"] for _, case in TABLE]), st.text(max_size=5)
    ),
    max_size=12,
).map("".join)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(text=messages, seed=st.integers(0, 1000))
def test_no_message_breaks_a_parser_and_no_split_changes_a_result(form: str, text: str, seed: int) -> None:
    whole = outcome(read(form, [text]))
    assert outcome(read(form, list(text))) == whole
    assert outcome(read(form, splits(text, seed))) == whole
    for call in whole["calls"]:
        assert isinstance(call["name"], str)
        json.dumps(call["arguments"], allow_nan=False)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
weather = st.fixed_dictionaries(
    {
        "city": st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)
        .map(lambda text: text.replace("<", ""))
        .map(str.strip)
    },
    optional={
        "days": st.integers(-99, 99),
        "flag": st.booleans(),
        "opts": st.dictionaries(st.sampled_from("xyz"), values, max_size=3),
    },
)
calls = st.lists(
    st.one_of(weather.map(lambda given: Call("get_weather", given)), st.just(Call("get_time", {}))),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(written=calls)
def test_what_a_format_writes_it_reads(form: str, written: list[Call]) -> None:
    found = read_message(FORMATS[form], FORMATS[form].write(written), TOOLS)
    assert [item for item in found if isinstance(item, Call)] == written
    assert not [item for item in found if isinstance(item, TextDelta)]


@pytest.mark.parametrize("form", FORMATS)
def test_text_before_a_call_goes_out_before_the_call_is_there(form: str) -> None:
    parser = FORMATS[form].parser(TOOLS)
    if form == "harmony":
        parser.feed("<|channel|>commentary<|message|>")
    assert parser.feed("Let me see.") == [TextDelta("Let me see.")]


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_cut_off_is_never_a_call(form: str) -> None:
    text = FORMATS[form].write([Call("bash", {"command": "rm -rf ./build\n"})])
    for end in range(text.index("build")):
        assert outcome(read(form, [text[:end]], cut_off=True))["calls"] == []


def test_without_tools_nothing_bare_is_a_call() -> None:
    text = '{"name": "get_time", "arguments": {}}'
    assert read_message(FORMATS["bare-json"], text, []) == [TextDelta(text)]
    assert read_message(FORMATS["bare-json"], text, None) == [Call("get_time", {})]


def test_prompt_names_the_tools_and_shows_a_call() -> None:
    for form in FORMATS.values():
        prompt = form.prompt(TOOLS)
        assert all(f'"{tool.name}"' in prompt for tool in TOOLS)
        assert form.write([Call("NAME", {"KEY": "VALUE"})]) in prompt
        assert "sunny" in form.result("get_weather", "sunny")
