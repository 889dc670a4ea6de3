import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.models.dialects.openai_chat import ChatDecoder
from outrider.models.http.sse import SseSplitter
from outrider.ports.ids import SequentialIds
from outrider.ports.model import (
    ModelFailure,
    ModelItem,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    Tokens,
    ToolCall,
)


def chunk(delta: Any = None, finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def call(index: int | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    place = {} if index is None else {"index": index}
    return chunk({"tool_calls": [{**place, **fields, "function": function}]})


def decode(*chunks: Any, done: bool = True) -> list[ModelItem]:
    payloads = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in chunks]
    decoder = ChatDecoder(SequentialIds())
    items: list[ModelItem] = []
    for payload in [*payloads, b"[DONE]"] if done else payloads:
        items += decoder.feed(payload)
        if items and isinstance(items[-1], ModelFailure):
            return items
    return items + decoder.finish()


def response(*chunks: Any, done: bool = True) -> ModelResponse:
    last = decode(*chunks, done=done)[-1]
    assert isinstance(last, ModelResponse), last
    return last


def failure(*chunks: Any, done: bool = True) -> ModelFailure:
    last = decode(*chunks, done=done)[-1]
    assert isinstance(last, ModelFailure), last
    return last


def test_text_and_reasoning_come_as_deltas_and_whole():
    items = decode(
        chunk({"role": "assistant", "content": None}),
        chunk({"reasoning_content": "Let me "}),
        chunk({"reasoning": "see."}),
        chunk({"content": "It "}),
        chunk({"content": "works."}),
        chunk(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4}},
    )
    assert items == [
        ReasoningDelta("Let me "),
        ReasoningDelta("see."),
        TextDelta("It "),
        TextDelta("works."),
        ModelResponse("It works.", (), "stop", "Let me see.", Tokens(10, 4)),
    ]


def test_the_same_reasoning_under_two_names_counts_once():
    assert response(chunk({"reasoning_content": "hm", "reasoning": "hm"})).reasoning == "hm"


def test_usage_with_details():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 12},
        "cost": 0.25,
    }
    assert response(chunk({"content": "a"}, "stop", usage=usage)).tokens == Tokens(100, 20, 64, 12, 0.25)


def test_usage_of_nulls_and_nonsense_is_unknown():
    usage = {"prompt_tokens": None, "completion_tokens": "7", "prompt_tokens_details": None, "cost": True}
    tokens = response(chunk(finish="stop", usage=usage)).tokens
    assert tokens is not None
    assert (tokens.input, tokens.output, tokens.cached, tokens.reasoning) == (0, 0, None, None)


def test_calls_are_assembled_by_index():
    made = response(
        call(0, id="a", name="read", arguments=""),
        call(1, id="b", name="list", arguments='{"x"'),
        call(0, arguments='{"p":'),
        call(1, arguments=":2}"),
        call(0, arguments="1}"),
        chunk(finish="tool_calls"),
    )
    assert made.tool_calls == (ToolCall("a", "read", '{"p":1}'), ToolCall("b", "list", '{"x":2}'))
    assert made.finish_reason == "tool_calls"


CALL_QUIRKS = {
    "several calls at one index": [
        call(0, id="a", name="read", arguments="{}"),
        call(0, id="b", name="list", arguments="{}"),
    ],
    "no index": [
        call(id="a", name="read", arguments="{"),
        call(id="a", arguments="}"),
        call(id="b", name="list", arguments="{}"),
    ],
    "two without index in one delta": [
        chunk(
            {
                "tool_calls": [
                    {"id": "a", "function": {"name": "read", "arguments": "{}"}},
                    {"id": "b", "function": {"name": "list", "arguments": {}}},
                ]
            }
        )
    ],
    "id and name repeated": [
        call(0, id="a", name="read", arguments="{"),
        call(0, id="a", name="read", arguments="}"),
        call(1, id="b", name="list", arguments="{}"),
        call(1, id="b", name="list", arguments=""),
    ],
    "a new id in each delta": [
        call(0, id="a", name="read", arguments="{"),
        call(0, id="other", arguments="}"),
        call(1, id="b", name="list", arguments="{}"),
    ],
    "nulls": [
        call(0, id="a", name="read", arguments=None, type=None),
        call(0, id=None, name=None, arguments="{}"),
        call(1, id="b", name="list", arguments="{}"),
        chunk({"tool_calls": None}),
        chunk({"tool_calls": [{"index": 0, "function": None}]}),
    ],
    "one call without a list": [
        chunk({"tool_calls": {"index": 0, "id": "a", "function": {"name": "read", "arguments": {}}}}),
        call(1, id="b", name="list", arguments={}),
    ],
}


@pytest.mark.parametrize("quirk", CALL_QUIRKS)
def test_two_calls_in_every_dialect(quirk: str):
    made = response(*CALL_QUIRKS[quirk], chunk(finish="tool_calls"))
    assert made.tool_calls == (ToolCall("a", "read", "{}"), ToolCall("b", "list", "{}"))


def test_calls_without_ids_or_index_get_ids():
    made = response(call(name="read", arguments='{"a":1}'), call(name="read", arguments='{"a":2}'))
    assert made.tool_calls == (
        ToolCall("call_1", "read", '{"a":1}'),
        ToolCall("call_2", "read", '{"a":2}'),
    )


def test_an_id_that_two_calls_share_is_made_two():
    made = response(
        call(0, id="a", name="read", arguments="{}"), call(1, id="a", name="list", arguments="{}")
    )
    assert [c.id for c in made.tool_calls] == ["a", "call_1"]


def test_a_call_of_nothing_is_none():
    made = response(chunk({"tool_calls": [{"index": 0}]}), chunk({"content": "a"}, "stop"))
    assert (made.tool_calls, made.finish_reason) == ((), "stop")


def test_arguments_that_are_not_json_stay_as_they_came():
    made = response(call(0, id="a", name="read", arguments='{"p'), chunk(finish="tool_calls"))
    assert made.tool_calls[0].arguments == '{"p'


@pytest.mark.parametrize(
    ("said", "calls", "meant"),
    [
        ("stop", False, "stop"),
        ("stop", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("function_call", True, "tool_calls"),
        ("eos", False, "stop"),
        ("length", False, "length"),
        ("length", True, "length"),
        ("content_filter", False, "refused"),
        (None, True, "tool_calls"),
    ],
)
def test_finish_reasons(said: str | None, calls: bool, meant: str):
    opening = [call(0, id="a", name="read", arguments="{")] if calls else [chunk({"content": "a"})]
    assert response(*opening, chunk(finish=said)).finish_reason == meant


def test_a_refusal_is_said_and_refused():
    items = decode(chunk({"refusal": "I cannot "}), chunk({"refusal": "do that."}), chunk(finish="stop"))
    assert items[:2] == [TextDelta("I cannot "), TextDelta("do that.")]
    assert items[-1] == ModelResponse("I cannot do that.", (), "refused")


def test_content_as_parts():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "yes"},
        {"type": "image"},
        None,
    ]
    assert decode(chunk({"content": parts}))[:2] == [ReasoningDelta("hm"), TextDelta("yes")]


def test_only_the_first_candidate_counts():
    other = {"choices": [{"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}]}
    made = response(chunk({"content": "yes"}), other, chunk(finish="stop"), other)
    assert (made.text, made.finish_reason) == ("yes", "stop")


def test_an_answer_that_is_not_streamed():
    whole = {"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
    assert response(whole, done=False).text == "hi"


def test_events_that_lost_their_empty_lines():
    both = json.dumps(chunk({"content": "a"})) + "\n" + json.dumps(chunk({"content": "b"}, "stop"))
    assert response(both.encode() + b"\n[DONE]", done=False).text == "ab"


def test_halves_of_a_character_sent_apart_are_joined():
    items = decode(
        rb'{"choices":[{"delta":{"content":"a\ud83d"}}]}', rb'{"choices":[{"delta":{"content":"\ude00"}}]}'
    )
    assert items[:2] == [TextDelta("a"), TextDelta("😀")]
    assert decode(rb'{"choices":[{"delta":{"content":"a\ud83d"}}]}')[-1] == ModelResponse(
        "a\ufffd", (), "stop"
    )


def test_a_stream_that_ends_early_is_no_answer():
    assert failure(chunk({"content": "a"}), done=False).kind == "cut_stream"
    assert failure(call(0, id="a", name="read", arguments="{}"), done=False).kind == "cut_stream"
    assert failure(done=False).kind == "cut_stream"


def test_a_finish_without_done_is_an_answer():
    assert response(chunk({"content": "a"}, "stop"), done=False).text == "a"


def test_an_error_in_the_stream():
    said = failure(chunk({"content": "a"}), chunk(error={"code": 502, "message": "upstream is down"}))
    assert said == ModelFailure("overloaded", "the provider broke off with an error: upstream is down")
    error = {"code": "context_length_exceeded", "message": "maximum context length is 10"}
    assert failure({"error": error}).kind == "context_overflow"
    assert failure({"object": "error", "message": "no"}).message.endswith("no")
    assert failure({"error": "rate limited", "type": "rate_limit_error"}).kind == "rate_limit"
    assert failure(chunk(finish="error")).kind == "overloaded"


def test_an_event_that_is_not_json_is_not_passed_over():
    said = failure(chunk({"content": "a"}), b'{"choices": [')
    assert said.kind == "protocol"
    assert "'{\"choices\": ['" in said.message


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def odd(**shapes: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects with those keys, or something else altogether."""
    return st.fixed_dictionaries({}, optional=shapes) | json_values


call_shapes = odd(
    index=st.integers(0, 2) | json_values,
    id=st.sampled_from(["a", "b", ""]) | json_values,
    function=odd(name=st.sampled_from(["f", "g", ""]) | json_values, arguments=st.text() | json_values),
)
delta_shapes = odd(
    content=st.text(st.characters()) | st.lists(odd(text=st.text(), thinking=json_values)) | json_values,
    reasoning=st.text() | json_values,
    refusal=json_values,
    tool_calls=st.lists(call_shapes, max_size=3) | json_values,
)
chunk_shapes = odd(
    choices=st.lists(odd(index=json_values, delta=delta_shapes, finish_reason=json_values), max_size=2)
    | json_values,
    usage=odd(prompt_tokens=json_values, completion_tokens=json_values, cost=json_values),
    error=json_values,
)


@given(st.lists(chunk_shapes | st.binary(max_size=20), max_size=6), st.booleans())
def test_no_payload_breaks_the_decoder(chunks: list[Any], done: bool):
    items = decode(*chunks, done=done)
    last = items[-1]
    assert isinstance(last, ModelResponse | ModelFailure)
    assert not any(isinstance(item, ModelResponse | ModelFailure) for item in items[:-1])
    if isinstance(last, ModelResponse):
        shown = "".join(item.text for item in items if isinstance(item, TextDelta))
        assert last.text == shown
        shown.encode()
        ids = [c.id for c in last.tool_calls]
        assert len(set(ids)) == len(ids)
        assert all(ids)


STREAM = b"".join(
    b"data: " + json.dumps(each, ensure_ascii=False).encode() + b"\r\n\r\n"
    for each in (
        chunk({"reasoning": "grübel"}),
        chunk({"content": "fünf 😀"}),
        call(0, id="a", name="read", arguments='{"p":"ä'),
        call(0, arguments='"}'),
        chunk(finish="tool_calls"),
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
    )
)


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_split_of_the_bytes_gives_the_same_items(places: list[int]):
    ends = sorted({0, len(STREAM), *places})
    assert _items([STREAM[a:b] for a, b in pairwise(ends)]) == _items([STREAM])


def test_a_split_after_every_byte_gives_the_same_items():
    assert _items([bytes([byte]) for byte in STREAM]) == _items([STREAM])


def _items(pieces: list[bytes]) -> list[ModelItem]:
    splitter, decoder = SseSplitter(), ChatDecoder(SequentialIds())
    payloads = [data for piece in pieces for data in splitter.feed(piece)] + splitter.finish()
    return [item for data in payloads for item in decoder.feed(data)] + decoder.finish()
