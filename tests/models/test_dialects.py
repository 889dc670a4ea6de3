"""The decoders of all dialects: what the wire does now and then, any split, and anything at all."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from outrider.models.decode import decode, main
from outrider.models.searches import searches_in_words, searches_of
from outrider.ports.model import ProviderData
from provider_server import IN_DIALECT, USAGE, Said, data

KINDS = sorted(IN_DIALECT)
SSE_KINDS = [kind for kind in KINDS if kind != "ollama"]
SAID = Said("Hällo 😀", [("a", "read", {"x": 1}), ("b", "read", {"y": "ü"})], "hm 😀", "c2ln")
FOLDED = {"gemini": ["call_1", "call_2"]}
"""Ids where the dialect has none."""


def checked(kind, got, said=SAID):
    assert (got["ok"], got["text"], got["reasoning"]) == (True, said.text, said.reasoning)
    assert [(call["name"], call["arguments"]) for call in got["tool_calls"]] == [
        (name, arguments) for _, name, arguments in said.calls
    ]
    assert [call["id"] for call in got["tool_calls"]] == FOLDED.get(kind, [call[0] for call in said.calls])
    assert got["usage"] == dict(zip(("input_tokens", "output_tokens"), USAGE, strict=True))


@pytest.mark.parametrize("change", ["crlf", "cr", "comments", "no last line end", "byte order mark"])
@pytest.mark.parametrize("kind", SSE_KINDS)
def test_the_form_of_a_stream_does_not_matter(kind, change):
    body = IN_DIALECT[kind](SAID)
    match change:
        case "crlf":
            body = body.replace(b"\n", b"\r\n")
        case "cr":
            body = body.replace(b"\n", b"\r")
        case "comments":
            body = b": hello\n\n" + body.replace(b"\n\n", b"\n\n: keep-alive\n\n")
        case "no last line end":
            body = body.removesuffix(b"data: [DONE]\n\n").rstrip()
        case _:
            body = b"\xef\xbb\xbf" + body
    for split in (None, 1):
        checked(kind, decode(kind, body, split=split))


def test_lines_may_end_in_any_way():
    body = IN_DIALECT["ollama"](SAID)
    for changed in (body.replace(b"\n", b"\r\n"), body.rstrip(), body.replace(b"\n", b"\n\n")):
        checked("ollama", decode("ollama", changed, split=1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_that_breaks_off_is_no_answer(kind):
    body = IN_DIALECT[kind](SAID)
    whole = decode(kind, body)
    for end in range(0, len(body), 7):
        got = decode(kind, body[:end])
        same = all(got[key] == whole[key] for key in ("text", "reasoning", "tool_calls"))
        assert not got["ok"] or same, body[:end][-80:]


IN_STREAM = {
    "openai-chat": {"error": {"code": 503, "message": "odd"}},
    "openai-responses": {"type": "error", "code": "server_error", "message": "odd"},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "odd"}},
    "ollama": {"error": "odd"},
    "gemini": {"error": {"code": 503, "status": "UNAVAILABLE", "message": "odd"}},
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_in_a_stream_that_began_well(kind):
    begun = IN_DIALECT[kind](Said("Hello"))[:-400]
    cut = begun[: begun.rfind(b"\n", 0, len(begun) - 2) + 1]
    error = json.dumps(IN_STREAM[kind]).encode()
    got = decode(kind, cut + (error + b"\n" if kind == "ollama" else b"\n\ndata: " + error + b"\n\n"))
    assert (got["ok"], got["error"]["kind"]) == (False, "overloaded")
    assert "odd" in got["error"]["message"]


@pytest.mark.parametrize(
    ("kind", "finish", "reason"),
    [
        ("anthropic", "max_tokens", "length"),
        ("anthropic", "model_context_window_exceeded", "length"),
        ("anthropic", "refusal", "refused"),
        ("anthropic", "stop_sequence", "stop"),
        ("gemini", "MAX_TOKENS", "length"),
        ("gemini", "SAFETY", "refused"),
        ("gemini", "OTHER", "stop"),
        ("ollama", "length", "length"),
        ("openai-responses", "incomplete", "length"),
        ("openai-chat", "content_filter", "refused"),
    ],
)
def test_finish_reasons(kind, finish, reason):
    got = decode(kind, IN_DIALECT[kind](Said("Hello", finish=finish)))
    assert (got["finish_reason"], got["response"]["finishReason"]) == (finish, reason)


def test_a_call_decides_what_an_end_is():
    for kind in KINDS:
        got = decode(kind, IN_DIALECT[kind](SAID))
        assert got["response"]["finishReason"] == "tool_calls", kind


# --- one dialect each ------------------------------------------------------------------------------------------


def kept(got):
    return got["response"]["providerData"]


def test_anthropic_thinking_is_kept_where_it_stood():
    got = decode("anthropic", IN_DIALECT["anthropic"](SAID))
    assert kept(got) == [
        {"type": "thinking", "thinking": SAID.reasoning, "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "redacted c2ln"},
        ["text", len(SAID.text)],
        ["call", 0],
        ["call", 1],
    ]
    assert kept(decode("anthropic", IN_DIALECT["anthropic"](replace(SAID, reasoning="")))) is None


def anthropic(*events, stop="end_turn"):
    start = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "output_tokens": 1}}}
    return data(start, *events, {"type": "message_delta", "delta": {"stop_reason": stop}})


def test_anthropic_thinking_that_was_cut_off_is_not_kept():
    begun = {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}}
    got = decode("anthropic", anthropic(begun, delta, stop="max_tokens"))
    assert (got["reasoning"], kept(got)) == ("hm", None)


def test_anthropic_tools_of_the_provider_are_kept_and_not_run():
    begun = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": '{"query": "x"}'}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    got = decode(
        "anthropic",
        anthropic(
            {"type": "content_block_start", "index": 0, "content_block": begun},
            {"type": "content_block_delta", "index": 0, "delta": piece},
            {"type": "content_block_start", "index": 1, "content_block": result},
        ),
    )
    assert got["tool_calls"] == []
    assert kept(got) == [{**begun, "input": {"query": "x"}}, result]


def test_anthropic_counts_its_cache_apart():
    usage = {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    start = {"type": "message_start", "message": {"usage": {**usage, "output_tokens": 1}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}}
    got = decode("anthropic", data(start, end, {"type": "message_stop"}))
    assert got["usage"] == {"input_tokens": 5, "output_tokens": 9}
    counted = got["response"]["usage"]
    assert (counted["inputTokens"], counted["outputTokens"], counted["cachedTokens"]) == (125, 9, 100)


def test_anthropic_answer_that_was_not_streamed():
    use = {"type": "tool_use", "id": "a", "name": "read", "input": {"x": 1}}
    content = [{"type": "text", "text": "Hello"}, use]
    body = {"type": "message", "content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 5}}
    got = decode("anthropic", json.dumps(body).encode())
    assert (got["text"], got["tool_calls"][0]["arguments"]) == ("Hello", {"x": 1})


def test_gemini_signatures_stay_on_their_parts():
    def chunk(*parts, **more):
        return {"candidates": [{"content": {"parts": list(parts)}, "index": 0, **more}]}

    call = {"functionCall": {"name": "read", "args": {"x": 1}}}
    got = decode(
        "gemini",
        data(
            chunk({"text": "He"}),
            chunk({"text": "llo"}),
            chunk({"text": "!", "thoughtSignature": "s1"}),
            chunk({**call, "thoughtSignature": "s2"}, call),
            chunk({"text": "", "thoughtSignature": "s3"}, finishReason="STOP"),
        ),
    )
    assert kept(got) == [
        ["text", 5],
        ["text", 1, {"thoughtSignature": "s1"}],
        ["call", 0, {"thoughtSignature": "s2"}],
        ["call", 1],
        ["text", 0, {"thoughtSignature": "s3"}],
    ]


@pytest.mark.parametrize(
    ("chunk", "kind"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "refused"),
        ({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL"}]}, "overloaded"),
    ],
)
def test_gemini_without_an_answer(chunk, kind):
    assert decode("gemini", data(chunk))["error"]["kind"] == kind


def test_gemini_counts_thoughts_apart_and_may_send_a_list():
    usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "thoughtsTokenCount": 10}
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": "He"}]}}, {"index": 1, "content": {}}]},
        {"candidates": [{"content": {"parts": [{"text": "llo"}]}, "finishReason": "STOP"}]},
        {"usageMetadata": usage},
    ]
    got = decode("gemini", json.dumps(chunks).encode())
    assert (got["text"], got["usage"]) == ("Hello", {"input_tokens": 5, "output_tokens": 7})
    assert (got["response"]["usage"]["outputTokens"], got["response"]["usage"]["reasoningTokens"]) == (17, 10)


def test_responses_items_that_came_whole_count_once():
    message = {
        "type": "message",
        "content": [{"type": "output_text", "text": "Hello"}],
        "phase": "final_answer",
    }
    call = {"type": "function_call", "call_id": "a", "name": "read", "arguments": '{"x": 1}'}
    last = {"status": "completed", "output": [message, call]}
    items = [
        {"type": "response.output_item.done", "output_index": number, "item": item}
        for number, item in enumerate(last["output"])
    ]
    end = {"type": "response.completed", "response": last}
    for events in ([*items, end], [end], [last | {"object": "response"}]):
        got = decode("openai-responses", data(*events))
        assert (got["text"], got["tool_calls"][0]["arguments"]) == ("Hello", {"x": 1})
        assert kept(got) == [["text", 5, {"phase": "final_answer"}], ["call", 0]]


def test_responses_reasoning_goes_back_only_where_it_says_something():
    for more, wanted in (({"encrypted_content": "c2ln"}, True), ({}, False)):
        item = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], **more}
        end = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
        got = decode("openai-responses", data(end))
        assert (got["reasoning"], kept(got)) == ("hm", [item] if wanted else None)


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ({"status": "failed", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, "rate_limit"),
        ({"status": "failed", "error": {"code": "server_error", "message": "odd"}}, "overloaded"),
        ({"status": "failed"}, "overloaded"),
    ],
)
def test_responses_that_failed(response, kind):
    end = {"type": "response.failed", "response": response}
    assert decode("openai-responses", data(end))["error"]["kind"] == kind


def test_chat_keeps_signed_reasoning_and_what_stands_on_calls():
    def chunk(finish=None, **delta):
        return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    signed = {"google": {"thought_signature": "s"}}
    function = {"name": "read", "arguments": "{}"}
    got = decode(
        "openai-chat",
        data(
            chunk(reasoning="h", reasoning_details=[{"type": "reasoning.text", "text": "h", "index": 0}]),
            chunk(reasoning="m", reasoning_details=[{"type": "reasoning.text", "text": "m", "index": 0}]),
            chunk(
                reasoning_details=[
                    {"type": "reasoning.text", "signature": "s", "index": 0},
                    {"type": "reasoning.encrypted", "data": "d", "index": 1},
                ]
            ),
            chunk("tool_calls", tool_calls=[{"id": "a", "function": function, "extra_content": signed}]),
        ),
    )
    first = {"type": "reasoning.text", "text": "hm", "index": 0, "signature": "s"}
    second = {"type": "reasoning.encrypted", "data": "d", "index": 1}
    assert kept(got) == [["call", 0, {"extra_content": signed}], {"reasoning_details": [first, second]}]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2, "prompt_cache_hit_tokens": 3}, (5, 2, 3, None)),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 2,
                "total_tokens": 17,
                "completion_tokens_details": {"reasoning_tokens": 10},
            },
            (5, 12, None, 10),
        ),
        (
            {
                "prompt_tokens": 5,
                "completion_tokens": 12,
                "total_tokens": 17,
                "completion_tokens_details": {"reasoning_tokens": 10},
            },
            (5, 12, None, 10),
        ),
    ],
)
@pytest.mark.parametrize("place", ["chunk", "x_groq", "choice"])
def test_chat_usage_has_many_forms_and_places(usage, counted, place):
    choice = {"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}
    last = {"choices": [choice | ({"usage": usage} if place == "choice" else {})]}
    last |= (
        {"usage": usage} if place == "chunk" else {"x_groq": {"usage": usage}} if place == "x_groq" else {}
    )
    got = decode("openai-chat", data(last))["response"]["usage"]
    assert (got["inputTokens"], got["outputTokens"], got["cachedTokens"], got["reasoningTokens"]) == counted


# --- anything ---------------------------------------------------------------------------------------------------

ARGUMENTS = st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=8), max_size=3)
SAIDS = st.builds(
    Said,
    text=st.text(max_size=30),
    reasoning=st.text(max_size=20),
    signed=st.sampled_from(["", "c2lnbmVk"]),
    calls=st.lists(ARGUMENTS, max_size=3).map(
        lambda all_: [(f"id_{number}", "read", arguments) for number, arguments in enumerate(all_)]
    ),
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=40, deadline=None)
@given(said=SAIDS, split=st.integers(1, 40))
def test_no_split_changes_a_result(kind, said, split):
    body = IN_DIALECT[kind](said)
    whole = decode(kind, body)
    assert decode(kind, body, split=split) == whole
    assert (whole["text"], whole["reasoning"]) == (said.text, said.reasoning)
    assert [call["arguments"] for call in whole["tool_calls"]] == [call[2] for call in said.calls]


KEYS = st.sampled_from(
    [
        "choices",
        "delta",
        "index",
        "message",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "name",
        "id",
        "usage",
        "error",
        "type",
        "candidates",
        "parts",
        "text",
        "functionCall",
        "args",
        "thoughtSignature",
        "thought",
        "item",
        "output_index",
        "response",
        "output",
        "summary",
        "content_block",
        "thinking",
        "signature",
        "partial_json",
        "done",
        "reasoning_details",
        "finish_reason",
        "finishReason",
        "stop_reason",
        "status",
    ]
)
WORDS = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "response.output_item.added",
        "response.output_item.done",
        "response.completed",
        "response.function_call_arguments.delta",
        "tool_use",
        "text",
        "thinking",
        "function_call",
        "reasoning",
        "message",
        "input_json_delta",
        "signature_delta",
        "stop",
        "length",
        "STOP",
    ]
)
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | WORDS | st.text(max_size=3) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(payloads=st.lists(ODD, max_size=5))
def test_no_json_breaks_a_decoder(kind, payloads):
    lines = [json.dumps(payload).encode() for payload in payloads]
    body = b"\n".join(lines) if kind == "ollama" else b"".join(b"data: %s\n\n" % line for line in lines)
    for text in (body, json.dumps(payloads).encode()):
        got = decode(kind, text)
        assert got["ok"] is (got["error"] is None)
        json.dumps(got, ensure_ascii=False).encode()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=200), start=st.integers(0, 400))
def test_no_bytes_break_a_decoder(kind, body, start):
    good = IN_DIALECT[kind](SAID)
    for text in (body, good[:start] + body + good[start:]):
        assert decode(kind, text) == decode(kind, text, split=1) or text.lstrip()[:1] in (b"{", b"[")


# --- the command ------------------------------------------------------------------------------------------------


def test_the_command_reads_a_file(tmp_path, capsys):
    path = tmp_path / "body.bin"
    path.write_bytes(IN_DIALECT["anthropic"](SAID))
    assert main(["anthropic", str(path), "--split", "3"]) == 0
    checked("anthropic", json.loads(capsys.readouterr().out))
    path.write_bytes(b'{"type":"error","error":{"type":"authentication_error","message":"no"}}')
    assert main(["anthropic", str(path), "--status", "401"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["kind"] == "auth"


@pytest.mark.parametrize("wrong", [["telepathy"], ["gemini", "nowhere"], ["gemini", "--split", "0"]])
def test_the_command_says_what_is_wrong(wrong, capsys):
    with pytest.raises(SystemExit) as end:
        main(wrong)
    assert end.value.code == 2
    assert "error:" in capsys.readouterr().err


# --- searches of the provider ------------------------------------------------------------------------------------


def told(blocks):
    data = ProviderData("some/model", json.dumps(blocks))
    return [(one.query, list(one.pages), one.problem) for one in searches_of(data)]


def test_anthropic_searches_are_told_with_the_pages_that_they_found():
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    page = {
        "type": "web_search_result",
        "url": "https://a.example/x",
        "title": "A\u202e",
        "encrypted_content": "e",
    }
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": [page]}
    cited = {"type": "web_search_result_location", "url": page["url"], "cited_text": "so"}
    got = decode(
        "anthropic",
        anthropic(
            {"type": "content_block_start", "index": 0, "content_block": use},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"query": "what is new"}'}},
            {"type": "content_block_start", "index": 1, "content_block": result},
            {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": "It is "}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "citations_delta", "citation": cited}},
            {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "so."}},
        ),
    )  # fmt: skip
    assert (got["text"], got["tool_calls"]) == ("It is so.", [])
    assert kept(got) == [
        {**use, "input": {"query": "what is new"}},
        result,
        ["text", 9, {"citations": [cited]}],
    ]
    assert told(kept(got)) == [("what is new", [("https://a.example/x", "A\\u202e")], None)]


def test_anthropic_search_that_failed_and_an_answer_that_was_paused():
    use = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    failed = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": failed}
    blocks = [
        {"type": "content_block_start", "index": number, "content_block": block}
        for number, block in enumerate((use, result))
    ]
    got = decode("anthropic", anthropic(*blocks, stop="pause_turn"))
    assert told(kept(got)) == [("x", [], "max_uses_exceeded")]
    # It is asked to go on, as after any answer that was cut off.
    assert (got["finish_reason"], got["response"]["finishReason"]) == ("pause_turn", "length")


def test_openai_searches_are_told_and_go_back_as_they_came():
    search = {
        "type": "web_search_call",
        "id": "ws_1",
        "status": "completed",
        "action": {"type": "search", "query": "a", "queries": ["a", "b"], "sources": [{"type": "url", "url": "https://a.example"}]},
    }  # fmt: skip
    opened = {"type": "web_search_call", "id": "ws_2", "status": "failed", "action": {"type": "open_page", "url": "https://b.example"}}  # fmt: skip
    said = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "So.", "annotations": [{"type": "url_citation", "url": "https://a.example", "title": "A", "start_index": 0, "end_index": 3}]}]}  # fmt: skip
    begun = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "web_search_call", "id": "ws_1", "status": "in_progress"}}  # fmt: skip
    got = decode(
        "openai-responses",
        data(
            begun,
            {"type": "response.web_search_call.searching", "output_index": 0, "item_id": "ws_1"},
            {"type": "response.output_item.done", "output_index": 0, "item": search},
            {"type": "response.output_item.done", "output_index": 1, "item": opened},
            {"type": "response.output_item.done", "output_index": 2, "item": said},
            {
                "type": "response.completed",
                "response": {"status": "completed", "output": [search, opened, said]},
            },
        ),
    )
    assert (got["text"], got["tool_calls"]) == ("So.", [])
    assert kept(got) == [search, opened, ["text", 3]]
    assert told(kept(got)) == [
        ("a", [("https://a.example", None)], None),
        ("b", [], None),
        (None, [("https://b.example", None)], "failed"),
    ]


ODD = st.sampled_from(
    [None, 3, "x", [], {}, {"query": 3}, {"queries": "x"}, {"queries": [1, None, {}]}, {"sources": {}}, {"sources": [1, {"url": []}]},
     {"url": {}}, {"url": "u"}, [None, {"url": "u", "title": []}], {"error_code": []}, {"query": "x" * 9_999}]
)  # fmt: skip


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "type": st.sampled_from(["server_tool_use", "web_search_tool_result", "web_search_call"]),
                "name": st.just("web_search"),
            },
            optional=dict.fromkeys(("id", "tool_use_id", "input", "content", "action", "status"), ODD),
        ),
        max_size=8,
    )
)
def test_whatever_a_provider_says_of_searches_is_told_or_left_out(blocks):
    assert len(told(blocks)) <= 20


def test_searches_in_words():
    pages = [{"url": "https://a.example"}, {"url": "https://b.example", "title": "B"}]
    searches = [
        {"query": "x", "pages": pages},
        {"pages": pages[:1]},
        {"query": "y", "pages": [], "problem": "unavailable"},
    ]
    assert searches_in_words({"searches": searches}) == [
        "searched the web for “x”: https://a.example, https://b.example",
        "opened https://a.example",
        "searched the web for “y” (failed: unavailable)",
    ]
