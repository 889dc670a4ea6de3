"""Streams in forms that no reference has and servers send all the same: the same meaning comes out, however they are split."""

import json

import pytest

from outrider.models.decode import decode
from outrider.models.http.sse import SseSplitter

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


def test_signed_reasoning_of_several_calls_is_kept_apart_by_its_ids():
    def signed(call_id, part):
        return {
            "type": "reasoning.encrypted",
            "index": 0,
            "data": part,
            **({"id": call_id} if call_id else {}),
        }

    parts = [signed("a", "AA"), signed(None, "A"), signed("b", "BB")]
    told = read(
        "openai-chat",
        *(chunk({"reasoning_details": [part]}) for part in parts),
        chunk({"content": "So"}, "stop"),
    )
    (kept, _) = told["response"]["providerData"][::-1]
    assert kept["reasoning_details"] == [signed("a", "AAA"), signed("b", "BB")]


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
        ({"choices": [], "x_groq": {"id": "r", "error": "over capacity"}}, "overloaded", "over capacity"),
        ({**chunk({}, "stop"), "x_groq": {"id": "r", "error": "stopped early"}}, "overloaded", "stopped early"),
        ("Internal failure", "protocol", "Internal failure"),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_that_began_well_is_one_in_every_form(error, kind, words):
    told = read("openai-chat", chunk({"content": "Hel"}), error)
    assert told["error"]["kind"] == kind
    assert words in told["error"]["message"]
    assert told["text"] == "Hel"
    assert told["tool_calls"] == []


@pytest.mark.parametrize("reason", ["error", "network_error", "insufficient_system_resource", "abort"])
def test_an_answer_that_its_server_gave_up_is_none(reason):
    told = read("openai-chat", chunk({"content": "Hel"}), chunk({}, reason))
    assert (told["ok"], told["error"]["kind"]) == (False, "overloaded")
    assert reason in told["error"]["message"]


@pytest.mark.parametrize(
    ("reason", "meant"), [("sensitive", "refused"), ("model_context_window_exceeded", "length")]
)
def test_an_end_before_the_end_is_no_end_by_itself(reason, meant):
    told = read("openai-chat", chunk(asks(0, "a", "read", "{}")), chunk({}, reason))
    assert told["response"]["finishReason"] == meant


def test_the_line_with_which_llama_cpp_ends_a_broken_stream_is_an_error():
    broken = (
        stream(chunk({"content": "Hel"}))
        + b'error: {"code":500,"message":"slot gone","type":"server_error"}\n\n'
    )
    for size in (1, 3, 1000):
        told = decode("openai-chat", broken, split=size)
        assert told["error"]["kind"] == "overloaded"
        assert "slot gone" in told["error"]["message"]


def test_the_form_before_tool_calls_is_a_call():
    def piece(**fields):
        return chunk({"content": None, "function_call": fields})

    told = read(
        "openai-chat",
        piece(name="get_", arguments=""),
        piece(name="weather"),
        piece(arguments='{"x"'),
        piece(name="get_weather", arguments=":1}"),
        chunk({"function_call": None}, "function_call"),
    )
    assert [(one["name"], one["arguments_raw"]) for one in told["tool_calls"]] == [("get_weather", '{"x":1}')]
    assert told["response"]["finishReason"] == "tool_calls"
    message = {"content": None, "function_call": {"name": "f", "arguments": {"x": 1}}}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "function_call"}]}
    assert [one["arguments"] for one in read("openai-chat", whole)["tool_calls"]] == [{"x": 1}]


def test_a_call_that_stands_in_both_forms_is_made_once():
    both = {
        "function_call": {"name": "f", "arguments": "{}"},
        "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}],
    }
    assert calls(read("openai-chat", chunk(both, "tool_calls"))) == [("a", "f", "{}")]


@pytest.mark.parametrize(
    "pieces",
    [
        [("a", "get_", None), (None, "wea", ""), (None, "ther", '{"x"'), (None, None, ":1}")],
        [("a", "get_", ""), ("a", "weather", '{"x"'), ("a", None, ":1}")],
        [("a", "get_weather", ""), ("a", "get_weather", '{"x"'), ("a", "get_weather", ":1}")],
        [("a", "get_weather", '{"x"'), (None, "get_weather", ":1}")],
        [("a", "get", ""), (None, "get_wea", ""), (None, "get_weather", '{"x":1}')],
    ],
    ids=["in pieces", "in pieces with ids", "repeated", "repeated without id", "as far as it goes"],
)
def test_the_name_of_a_call_may_come_in_pieces_or_again(pieces):
    told = read("openai-chat", *(asks(0, *piece) for piece in pieces), chunk(finish="tool_calls"))
    assert calls(told) == [("a", "get_weather", '{"x":1}')]


def test_names_in_one_delta_are_those_of_several_calls():
    two = [{"index": 0, "function": {"name": name}} for name in ("f", "g")]
    told = read("openai-chat", chunk({"tool_calls": two}), chunk(finish="tool_calls"))
    assert [one["name"] for one in told["tool_calls"]] == ["f", "g"]


def test_a_call_without_an_object_around_its_function():
    flat = {"index": 0, "id": "a", "type": "function", "name": "f", "arguments": "{}"}
    assert calls(read("openai-chat", chunk({"tool_calls": [flat]}, "tool_calls"))) == [("a", "f", "{}")]


@pytest.mark.parametrize("end", [{}, {"finish_reason": ""}, {"finish_reason": None}])
def test_an_answer_that_is_not_streamed_is_whole_without_a_reason_for_its_end(end):
    call = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    whole = {"choices": [{"index": 0, "message": {"content": "Hi", "tool_calls": [call]}, **end}]}
    told = decode("openai-chat", json.dumps(whole).encode())
    assert (told["text"], calls(told), told["response"]["finishReason"]) == (
        "Hi",
        [("a", "f", "{}")],
        "tool_calls",
    )
    for cut in ({"choices": [{"index": 0, "delta": {"content": "Hi"}, **end}]}, {"pathname": "/chat"}):
        assert decode("openai-chat", json.dumps(cut).encode())["error"]["kind"] == "cut_stream"


# --- anthropic -------------------------------------------------------------------------------------------------

MESSAGE = [
    ("message_start", {"message": {"role": "assistant", "usage": {"input_tokens": 3}}}),
    ("ping", {}),
    ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
    ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "Hé"}}),
    ("something_new", {"index": 0, "delta": {"type": "text_delta", "text": "no"}}),
    ("content_block_stop", {"index": 0}),
    ("content_block_start", {"index": 1, "content_block": {"type": "tool_use", "id": "a", "name": "f"}}),
    ("content_block_delta", {"index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'}}),
    ("content_block_stop", {"index": 1}),
    ("message_delta", {"delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 2}}),
    ("message_stop", {}),
]


@pytest.mark.parametrize(
    "form",
    [
        "event: {name}\ndata: {data}\n\n",
        "event:{name}\ndata:{data}\n\n",
        "data: {data}\nevent: {name}\n\n",
        "id: 1\nevent: {name}\nretry: 5\ndata: {data}\n: comment\n\n",
        "event: {name}\ndata: {data}\n",
        "event: ping\ndata: still there\n\nevent: {name}\ndata: {data}\n\n",
    ],
)
def test_the_type_of_an_event_may_stand_beside_its_data_alone(form):
    text = "".join(form.format(name=name, data=json.dumps(data)) for name, data in MESSAGE)
    for end in ENDS:
        body = text.replace("\n", end).encode()
        for size in (1, 2, 5, 64, len(body)):
            told = decode("anthropic", body, split=size)
            assert (told["text"], calls(told)) == ("Hé", [("a", "f", '{"x":1}')]), (end, size)
            assert told["finish_reason"] == "tool_use"


def test_the_type_in_the_data_counts_where_the_two_differ():
    body = (
        b'event: message_stop\ndata: {"type":"error","error":{"type":"overloaded_error","message":"odd"}}\n\n'
    )
    assert decode("anthropic", body)["error"]["kind"] == "overloaded"


def test_what_blocks_of_any_kind_are_made_of_goes_back():
    def block(number, begun, *deltas):
        pieces = [{"type": "content_block_delta", "index": number, "delta": delta} for delta in deltas]
        return [{"type": "content_block_start", "index": number, "content_block": begun}, *pieces]

    cited, place = {"type": "char_location", "cited_text": "Hé"}, {"type": "page_location"}
    end = [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}]
    told = read(
        "anthropic",
        *block(0, {"type": "compaction", "content": None}, *({"type": "compaction_delta", "content": c} for c in ("So ", "far"))),
        *block(1, {"type": "text", "text": "", "citations": []}, {"type": "text_delta", "text": "Hi "}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hé"}, {"type": "citations_delta", "citation": cited}),
        *block(3, {"type": "text", "text": "!", "citations": [place]}),
        *block(4, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, {"type": "input_json_delta", "partial_json": ""}, {"type": "input_json_delta", "partial_json": '{"query":"x"}'}),
        *block(5, {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "encrypted_content": "e"}]}),
        *end,
    )  # fmt: skip
    assert (told["text"], told["tool_calls"]) == ("Hi Hé!", [])
    assert told["response"]["providerData"] == [
        {"type": "compaction", "content": "So far"},
        ["text", 3],
        ["text", 2, {"citations": [cited]}],
        ["text", 1, {"citations": [place]}],
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"type": "web_search_result", "encrypted_content": "e"}]},
    ]  # fmt: skip


def test_a_message_that_begins_again_in_the_middle_is_no_answer():
    start = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 3}}}
    text = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    assert read("anthropic", start, start, text, end)["text"] == "Hi"
    assert read("anthropic", start, text, start, text, end)["error"]["kind"] == "cut_stream"


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


def test_what_was_left_out_of_a_text_comes_with_its_end():
    delta = event("output_text.delta", output_index=0, delta="Hel")
    for last in (
        event("output_item.done", output_index=0, item=message_item("Hello")),
        completed(message_item("Hello")),
    ):
        assert read("openai-responses", delta, last, completed())["text"] == "Hello"
    other = event("output_item.done", output_index=0, item=message_item("Goodbye"))
    assert read("openai-responses", delta, other, completed())["text"] == "Hel"


def test_calls_that_only_the_whole_response_names_are_made():
    told = read("openai-responses", *streamed("f", '{"x":1}', output_index=0), completed(*TWO))
    assert calls(told) == BOTH


def test_an_answer_that_ends_without_its_last_event_is_whole_once_its_items_are():
    text = event("output_item.done", output_index=1, item=message_item("Hello"))
    told = read("openai-responses", *streamed("f", '{"x":1}', output_index=0), text, "[DONE]")
    assert (told["text"], calls(told)) == ("Hello", [("f", "f", '{"x":1}')])
    assert told["response"]["finishReason"] == "tool_calls"


@pytest.mark.parametrize(
    "events",
    [
        ["[DONE]"],
        [*streamed("f", '{"x":1}', output_index=0)],
        [*streamed("f", "{}", output_index=0), *streamed("g", "{}", output_index=1)[:2], "[DONE]"],
        [event("output_text.delta", output_index=0, delta="Hel"), "[DONE]"],
    ],
    ids=["nothing", "no end", "a call is open", "a text is open"],
)
def test_items_that_are_not_done_are_no_answer(events):
    assert read("openai-responses", *events)["error"]["kind"] == "cut_stream"


def test_what_stands_in_the_whole_response_alone_is_taken_once():
    thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm"}]}
    told = read("openai-responses", completed(thought, message_item("Hello"), *TWO))
    assert (told["reasoning"], told["text"], calls(told)) == ("Hm", "Hello", BOTH)
    again = completed(thought, message_item("Hello"), *TWO)
    twice = read("openai-responses", again, again, "[DONE]")
    assert (twice["reasoning"], twice["text"], calls(twice)) == ("Hm", "Hello", BOTH)


# --- gemini ----------------------------------------------------------------------------------------------------


def candidate(*parts, finish=None, **more):
    return {
        "candidates": [{"content": {"parts": list(parts)}, **({"finishReason": finish} if finish else {})}],
        **more,
    }


COUNTS = {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 2}
ASKED = {
    "functionCall": {"name": "f", "args": {"snake_key": {"functionCall": 1}}},
    "thoughtSignature": "c2ln",
}
GEMINI = [
    candidate({"text": "Hm", "thought": True}),
    candidate({"text": "Hé }{] "}),
    candidate(ASKED, {"inlineData": {"mimeType": "image/png", "data": "aaaa"}}),
    candidate(finish="STOP", usageMetadata=COUNTS),
]


def snake(value):
    if isinstance(value, list):
        return [snake(one) for one in value]
    if not isinstance(value, dict):
        return value
    named = {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): one for key, one in value.items()}
    return {key: one if key == "args" else snake(one) for key, one in named.items()}


def test_keys_may_be_written_like_this_or_likeThis():  # noqa: N802
    told, other = read("gemini", *GEMINI), read("gemini", *map(snake, GEMINI))
    assert (told["reasoning"], told["text"], told["finish_reason"]) == ("Hm", "Hé }{] ", "STOP")
    assert told["usage"] == {"input_tokens": 5, "output_tokens": 7}
    assert told["response"]["providerData"][-1] == {"inlineData": {"mimeType": "image/png", "data": "aaaa"}}
    kept = [*other["response"]["providerData"][:-1], told["response"]["providerData"][-1]]
    assert {**other, "response": {**other["response"], "providerData": kept}} == told
    blocked = {"prompt_feedback": {"block_reason": "SAFETY"}}
    assert read("gemini", blocked)["error"]["kind"] == "refused"


@pytest.mark.parametrize(
    "write",
    [
        json.dumps,
        lambda chunks: json.dumps(chunks, indent=2),
        lambda chunks: "[" + ",\r\n".join(json.dumps(one, indent=2) for one in chunks) + "\n]\n",
        lambda chunks: "\n".join(map(json.dumps, chunks)),
        lambda chunks: "\r\n".join(json.dumps(one, ensure_ascii=False) for one in chunks) + "\r\n",
        lambda chunks: "\n\n" + "\n\n".join(json.dumps(one, indent=1) for one in chunks),
        lambda chunks: "\ufeff" + json.dumps(chunks),
    ],
)
def test_a_list_or_lines_in_place_of_events_say_the_same(write):
    told, body = read("gemini", *GEMINI), write(GEMINI).encode()
    for size in (1, 2, 5, 64, len(body)):
        assert decode("gemini", body, split=size) == told, size
    for end in range(len(body) - 400):
        assert not decode("gemini", body[:end])["ok"]


def test_lines_in_place_of_events_are_shown_as_they_come():
    splitter = SseSplitter()
    first, second = (json.dumps(one).encode() for one in GEMINI[:2])
    assert splitter.feed(b"[" + first) == [first]
    assert splitter.feed(b"," + second[:9]) == []
    assert splitter.pending == 10
    assert splitter.feed(second[9:]) == [second]


def test_an_error_that_stands_bare_in_a_stream_of_events_is_one():
    error = {"error": {"code": 503, "status": "UNAVAILABLE", "message": "odd"}}
    for text in (json.dumps(error), json.dumps(error, indent=2)):
        body = stream(GEMINI[0]) + text.encode()
        for size in (1, 7, len(body)):
            assert decode("gemini", body, split=size)["error"]["kind"] == "overloaded"


def test_an_answer_that_gives_no_reason_for_its_end_is_whole_if_it_calls():
    told = read("gemini", candidate({"text": "So."}), candidate(ASKED, usageMetadata=COUNTS))
    assert (told["text"], told["response"]["finishReason"]) == ("So.", "tool_calls")
    for cut in ([candidate({"text": "So."}, usageMetadata=COUNTS)], [{"usageMetadata": COUNTS}], []):
        assert read("gemini", *cut)["error"]["kind"] == "cut_stream"


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        *((one, "overloaded") for one in ("MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL")),
        *((one, "overloaded") for one in ("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE")),
        *((one, "refused") for one in ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")),
        *((one, "refused") for one in ("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR")),
        *((one, "stop") for one in ("STOP", "OTHER", "FINISH_REASON_UNSPECIFIED", "SOMETHING_NEW")),
        ("MAX_TOKENS", "length"),
    ],
)  # fmt: skip
def test_every_reason_of_gemini_for_its_end_means_something(reason, meant):
    told = read("gemini", candidate({"text": "So"}), candidate(finish=reason, usageMetadata=COUNTS))
    assert meant == (told["error"]["kind"] if told["error"] else told["response"]["finishReason"])


def piece(path, goes_on=True, **value):
    return {
        "functionCall": {
            "partialArgs": [{"jsonPath": path, **value}],
            **({"willContinue": True} if goes_on else {}),
        }
    }


BEGUN = {"functionCall": {"name": "f", "willContinue": True}, "thoughtSignature": "c2ln"}
OVER = {"functionCall": {}}


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        ([piece("$.x", stringValue="a ", willContinue=True), piece("$.x", stringValue="b"), OVER], {"x": "a b"}),
        (
            [
                piece("$.files[0].name", stringValue="a"),
                piece("$.files[0].size", numberValue=3.0),
                {"functionCall": {"willContinue": True}},
                piece("$.files[1].name", stringValue="b"),
                piece("$.files[1].tags[0]", stringValue="t", goes_on=False),
            ],
            {"files": [{"name": "a", "size": 3}, {"name": "b", "tags": ["t"]}]},
        ),
        (
            [piece("$['a.b']", boolValue=False), piece('$["c"]', numberValue=0.5), piece("$.d", nullValue="NULL_VALUE"), OVER],
            {"a.b": False, "c": 0.5, "d": None},
        ),
        ([OVER], {}),
        ([piece("$.x", stringValue="cut", willContinue=True)], None),
        ([piece("$.x[3]", numberValue=1), OVER], None),
        ([piece("$.x[3]", nullValue="NULL_VALUE"), OVER], None),
        ([piece("$.x", numberValue=1), piece("$.x.y", numberValue=1), OVER], None),
        ([piece("$..x", numberValue=1), OVER], None),
        ([piece("x", numberValue=1), OVER], None),
        ([piece("$.x"), OVER], None),
    ],
)  # fmt: skip
def test_arguments_of_gemini_may_come_in_pieces(pieces, arguments):
    whole = {"functionCall": {"name": "g", "args": {"y": 1}, "id": "own"}}
    chunks = [candidate(BEGUN), *map(candidate, pieces), candidate(whole), candidate(finish="STOP")]
    told, other = read("gemini", *chunks), read("gemini", *map(snake, chunks))
    assert [(one["name"], one["arguments"]) for one in told["tool_calls"]] == [
        ("f", arguments),
        ("g", {"y": 1}),
    ]
    assert [one["arguments"] for one in other["tool_calls"]] == [arguments, {"y": 1}]
    assert told["response"]["providerData"] == [["call", 0, {"thoughtSignature": "c2ln"}], ["call", 1]]


# --- ollama ----------------------------------------------------------------------------------------------------


def lines(*chunks):
    """What comes of lines, which is the same in pieces of every size."""
    body = "".join(json.dumps(one) + "\n" for one in chunks).encode()
    told = decode("ollama", body)
    for size in (1, 2, 5, 64):
        assert decode("ollama", body, split=size) == told, size
    return told


def wants(name, arguments, **more):
    return {"message": {"tool_calls": [{**more, "function": {"name": name, "arguments": arguments}}]}}


def test_ollama_calls_may_come_one_by_one_with_arguments_as_text():
    told = lines(
        {"message": {"thinking": "Hm"}},
        wants("f", {"x": 1}),
        wants("g", '{"y": "é"}', id="a"),
        wants("g", "", id="a"),
        {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 3},
    )
    assert [(one["id"], one["name"], one["arguments"]) for one in told["tool_calls"]] == [
        ("call_1", "f", {"x": 1}),
        ("a", "g", {"y": "é"}),
        ("call_2", "g", {}),
    ]
    assert (told["reasoning"], told["response"]["finishReason"]) == ("Hm", "tool_calls")


@pytest.mark.parametrize(
    ("end", "meant"),
    [
        ({"done": True}, "stop"),
        ({"done": True, "done_reason": "load"}, "stop"),
        ({"done": True, "done_reason": "LENGTH"}, "length"),
        ({"done_reason": "length"}, "length"),
        ({"done": True, "done_reason": "max_tokens"}, "length"),
        ({"done": True, "done_reason": None}, "stop"),
    ],
)
def test_ollama_ends_in_several_words(end, meant):
    assert lines({"message": {"content": "a"}}, end)["response"]["finishReason"] == meant


def test_an_ollama_line_that_is_an_error_ends_the_answer():
    for error in (
        {"error": "model runner has unexpectedly stopped"},
        {"error": {"message": "odd", "code": 500}},
    ):
        told = lines(wants("f", {}), error, {"done": True})
        assert (told["ok"], told["tool_calls"], told["error"]["kind"]) == (False, [], "overloaded")
    assert decode("ollama", b'{"message":{"content":"a"}}\ngone wrong\n')["error"]["kind"] == "protocol"


# --- signs of life, and streams in other clothes -----------------------------------------------------------------


@pytest.mark.parametrize(
    "sign",
    [
        "ping",
        "PING",
        "[ping]",
        ": ping - 2026-11-22 19:40:00.123456+00:00",
        "keep-alive",
        "heartbeat",
        ": OPENROUTER PROCESSING",
    ],
)
def test_a_sign_of_life_among_the_data_is_passed_over(sign):
    told = read(
        "openai-chat", sign, chunk({"content": "Hel"}), sign, chunk({"content": "lo"}, "stop"), "[DONE]"
    )
    assert (told["ok"], told["text"]) == (True, "Hello")


@pytest.mark.parametrize(
    "text", ["Internal Server Error", "ping failed", '{"choices": [{"delta"', "upstream timeout"]
)
def test_whatever_else_is_no_json_is_an_error(text):
    told = read("openai-chat", chunk({"content": "Hel"}), text, chunk({"content": "lo"}, "stop"), "[DONE]")
    assert (told["ok"], told["error"]["kind"]) == (False, "protocol")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("split", [None, 1, 7])
def test_lines_that_a_gateway_made_events_of_are_read_as_lines(end, split):
    said = {"message": {"role": "assistant", "content": "data: x"}, "done": False}
    called = {"message": {"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": 1}}}]}}
    over = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 4}
    before = ": hello\nretry: 10\nevent: message\nid: 7\n"
    told = decode("ollama", stream(said, called, over, "[DONE]", end=end, before=before), split=split)
    assert (told["text"], calls(told)[0][1:]) == ("data: x", ("f", '{"a": 1}'))
    assert told["usage"] == {"input_tokens": 3, "output_tokens": 4}
    failed = decode("ollama", stream(said, {"error": "model runner has stopped"}, end=end), split=split)
    assert not failed["ok"]


# --- Gemini in other words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "reason", "finish"),
    [(1, "STOP", "stop"), (2, "MAX_TOKENS", "length"), (3, "SAFETY", "refused"), (99, "OTHER", "stop")],
)
def test_the_number_of_a_reason_means_the_reason(number, reason, finish):
    candidate = {"content": {"parts": [{"text": "Hello"}]}, "finishReason": number}
    told = read("gemini", {"candidates": [candidate]})
    assert (told["finish_reason"], told["response"]["finishReason"]) == (reason, finish)
    assert not read("gemini", {"candidates": [{**candidate, "finishReason": 0}]})["ok"]


def test_a_count_that_the_last_chunk_leaves_out_stands():
    part = {"content": {"parts": [{"text": "Hello"}]}}
    told = read(
        "gemini",
        {
            "candidates": [part],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 5, "thoughtsTokenCount": 7},
        },
        {
            "candidates": [{"finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 12, "thoughtsTokenCount": 8},
        },
    )
    usage = told["response"]["usage"]
    assert (usage["inputTokens"], usage["outputTokens"], usage["reasoningTokens"]) == (12, 13, 8)
