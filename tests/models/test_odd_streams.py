"""Streams in forms that no reference has and servers send all the same: the same meaning comes out, however they are split."""

import json

import pytest

from outrider.models.decode import decode

ENDS = ("\n", "\r\n", "\r")


def stream(*events, end="\n", before=""):
    """Events as a server sends them."""
    lines = [f"data: {one if isinstance(one, str) else json.dumps(one)}{end}{end}" for one in events]
    return (before + "".join(lines)).encode()


def read(kind, *events, **form):
    """What comes of a stream, which is the same with every line end and in pieces of every size."""
    told = decode(kind, stream(*events, **form))
    for end in ENDS:
        body = stream(*events, **{**form, "end": end})
        for size in (1, 2, 5, 64, len(body)):
            assert decode(kind, body, split=size) == told, (end, size)
    return told


def chunk(delta=None, finish=None, **more):
    return {"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **more}


def asks(index, call_id=None, name=None, arguments=None):
    fields = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    return chunk({"tool_calls": [fields if index is None else {"index": index, **fields}]})


def calls(told):
    return [(one["id"], one["name"], one["arguments_raw"]) for one in told["tool_calls"]]


# --- chat completions ------------------------------------------------------------------------------------------


def test_calls_at_one_index_whose_pieces_are_mixed_are_told_apart_by_their_ids():
    told = read(
        "openai-chat",
        asks(0, "a", "f", '{"x"'),
        asks(0, "b", "g", '{"y"'),
        asks(0, "a", None, ":1}"),
        asks(0, "b", None, ":2}"),
        chunk(finish="tool_calls"),
    )
    assert calls(told) == [("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')]


def test_an_id_of_its_own_in_every_piece_does_not_part_a_call():
    told = read(
        "openai-chat",
        asks(0, "a", "f", '{"x"'),
        asks(0, "a-2", None, ":"),
        asks(0, "a-3", None, "1}"),
        chunk(finish="tool_calls"),
    )
    assert calls(told) == [("a", "f", '{"x":1}')]


def test_an_answer_that_is_repeated_whole_at_its_end_counts_once():
    message = {"content": "Hello", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
    whole = {"choices": [{"index": 0, "delta": {}, "message": message, "finish_reason": "stop"}]}
    told = read("openai-chat", chunk({"content": "Hello"}), asks(0, "a", "f", "{}"), whole)
    assert (told["text"], calls(told)) == ("Hello", [("a", "f", "{}")])
    alone = read("openai-chat", whole)
    assert (alone["text"], calls(alone)) == ("Hello", [("a", "f", "{}")])


def test_reasoning_that_comes_in_details_alone_is_shown_and_never_twice():
    told = read(
        "openai-chat",
        chunk({"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]}),
        chunk({"reasoning_details": [{"type": "reasoning.summary", "summary": ", so."}]}),
        chunk({"content": "Yes"}, "stop"),
    )
    assert told["reasoning"] == "Hm, so."
    both = {"reasoning": "Hm", "reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]}
    assert read("openai-chat", chunk(both), chunk({"content": "Yes"}, "stop"))["reasoning"] == "Hm"


def test_content_may_be_a_list_of_texts():
    told = read("openai-chat", chunk({"content": ["a", {"type": "text", "text": "b"}, 3, None]}, "stop"))
    assert told["text"] == "ab"


def test_counts_may_be_written_as_decimals():
    usage = {"prompt_tokens": 3.0, "completion_tokens": 2.0, "total_tokens": 5.5}
    told = read("openai-chat", chunk({"content": "a"}, "stop"), {"usage": usage})
    assert told["usage"] == {"input_tokens": 3, "output_tokens": 2}


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        ({"message": "The model is overloaded", "type": "overloaded_error", "code": 529}, "overloaded", "is overloaded"),
        ({"detail": "Too many requests", "status": "rate_limit_exceeded"}, "rate_limit", "Too many requests"),
        ({"error": "the context length is exceeded"}, "context_overflow", "context length"),
        ({"error": {"code": "insufficient_quota", "message": "Pay"}}, "quota", "Pay"),
        ({"object": "error", "message": "gone", "code": 500}, "overloaded", "gone"),
        ("Internal failure", "protocol", "Internal failure"),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_that_began_well_is_one_in_every_form(error, kind, words):
    told = read("openai-chat", chunk({"content": "Hel"}), error)
    assert told["error"]["kind"] == kind
    assert words in told["error"]["message"]
    assert told["text"] == "Hel"
    assert told["tool_calls"] == []


def test_the_line_with_which_llama_cpp_ends_a_broken_stream_is_an_error():
    broken = (
        stream(chunk({"content": "Hel"}))
        + b'error: {"code":500,"message":"slot gone","type":"server_error"}\n\n'
    )
    for size in (1, 3, 1000):
        told = decode("openai-chat", broken, split=size)
        assert told["error"]["kind"] == "overloaded"
        assert "slot gone" in told["error"]["message"]


# --- responses -------------------------------------------------------------------------------------------------


def event(kind, **more):
    return {"type": f"response.{kind}", **more}


def call_item(name, arguments):
    return {
        "type": "function_call",
        "id": f"fc_{name}",
        "call_id": name,
        "name": name,
        "arguments": arguments,
    }


def message_item(text, item_id="msg_1"):
    return {"type": "message", "id": item_id, "content": [{"type": "output_text", "text": text}]}


def completed(*output):
    return event("completed", response={"status": "completed", "output": list(output)})


def streamed(name, arguments, **number):
    return (
        event("output_item.added", item=call_item(name, ""), **number),
        event("function_call_arguments.delta", item_id=f"fc_{name}", delta=arguments, **number),
        event("output_item.done", item=call_item(name, arguments), **number),
    )


TWO = [call_item("f", '{"x":1}'), call_item("g", "{}")]
BOTH = [("f", "f", '{"x":1}'), ("g", "g", "{}")]


@pytest.mark.parametrize(
    "numbers",
    [[{"output_index": 0}, {"output_index": 1}], [{"output_index": 1}, {"output_index": 2}], [{}, {}]],
    ids=["as they are", "from one", "none"],
)
@pytest.mark.parametrize("whole", [TWO, TWO[::-1], [], [{"type": "reasoning", "id": "rs"}, *TWO]])
def test_a_call_is_made_once_however_its_item_is_numbered(numbers, whole):
    first, second = numbers
    told = read(
        "openai-responses",
        *streamed("f", '{"x":1}', **first),
        *streamed("g", "{}", **second),
        completed(*whole),
    )
    assert calls(told) == BOTH


def test_a_text_is_shown_once_however_its_item_is_numbered():
    delta = event("output_text.delta", output_index=0, delta="Hello")
    told = read(
        "openai-responses", delta, completed({"type": "reasoning", "id": "rs"}, message_item("Hello"))
    )
    assert told["text"] == "Hello"
    other = message_item("Hello", "msg_2")
    begun = event("output_item.added", output_index=3, item={"type": "message", "id": "msg_1"})
    delta = event("output_text.delta", output_index=3, delta="Hello")
    assert read("openai-responses", begun, delta, completed(other))["text"] == "Hello"


def test_what_comes_only_when_a_part_is_done_counts():
    told = read(
        "openai-responses",
        event("output_item.added", output_index=0, item={"type": "message", "id": "m"}),
        event("output_text.done", output_index=0, text="Hello"),
        event("output_item.added", output_index=1, item=call_item("f", "")),
        event("function_call_arguments.done", output_index=1, arguments='{"x":1}'),
        completed(),
    )
    assert (told["text"], calls(told)) == ("Hello", [("f", "f", '{"x":1}')])


def test_calls_that_only_the_whole_response_names_are_made():
    told = read("openai-responses", *streamed("f", '{"x":1}', output_index=0), completed(*TWO))
    assert calls(told) == BOTH
