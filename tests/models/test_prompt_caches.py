"""What requests say for prompt caches: marks where a gateway documents them, the key of a conversation, stable bytes."""

import json

import pytest

from outrider.models.catalog import _DIALECTS as MODELS
from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider
from outrider.ports.clock import SystemClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Message, ModelRequest, ToolCall
from outrider_protocol.settings import ProviderSettings

MARK = {"type": "ephemeral"}
CALLS = (ToolCall("c1", "read_file", '{"path":"a"}'), ToolCall("c2", "read_file", '{"path":"b"}'))
TALK = [
    Message("system", "Be brief."),
    Message("user", "Look."),
    Message("assistant", "I look.", CALLS),
    Message("tool", "a's text", tool_call_id="c1"),
    Message("tool", "no such file", tool_call_id="c2"),
    Message("assistant", "Once more.", (ToolCall("c3", "read_file", "{}"),)),
    Message("tool", "more", tool_call_id="c3"),
]


def model_of(url, name, kind="openai-chat", **more):
    settings = ProviderSettings(kind=kind, base_url=url, **more)
    provider = HttpProvider("p", settings, clock=SystemClock(), secrets=Keys({}))
    return MODELS[kind](provider, name, ids=SequentialIds())


def body(model, messages=TALK, **more):
    return json.loads(model._call(ModelRequest("main", messages, conversation="ses_1", **more)).body)


def marked(messages):
    """The places of the messages that hold a mark."""
    return [number for number, one in enumerate(messages) if "cache_control" in json.dumps(one)]


def unmarked(messages):
    return json.loads(json.dumps(messages).replace(f', "cache_control": {json.dumps(MARK)}', ""))


OPENROUTER = "https://openrouter.ai/api/v1"


@pytest.mark.parametrize(
    ("url", "name", "more", "is_marked"),
    [
        (OPENROUTER, "anthropic/claude-sonnet-4.5", {}, True),
        (OPENROUTER, "qwen/qwen3-max", {}, True),
        (OPENROUTER, "openai/gpt-5.1", {}, False),
        ("http://127.0.0.1:4000/v1", "claude-sonnet-4-5", {}, True),
        ("http://127.0.0.1:4000/v1", "claude-sonnet-4-5", {"cache_marks": False}, False),
        ("http://127.0.0.1:4000/v1", "my-claw", {"cache_marks": True}, True),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-max", {}, True),
        ("https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "qwen3-32b", {}, False),
        ("https://api.openai.com/v1", "gpt-5.1", {}, False),
    ],
)
def test_marks_are_put_where_they_are_documented(url, name, more, is_marked):
    messages = body(model_of(url, name, **more))["messages"]
    # The system message, and where this request and the one before it end: at most four are taken.
    assert marked(messages) == ([0, 4, 6] if is_marked else [])
    if is_marked:
        assert messages[4]["content"] == [{"type": "text", "text": "no such file", "cache_control": MARK}]


def test_a_request_begins_with_the_messages_of_the_one_before_whatever_is_marked():
    model = model_of(OPENROUTER, "anthropic/claude-sonnet-4.5")
    before, after = body(model, TALK[:5])["messages"], body(model)["messages"]
    assert marked(before) == [0, 1, 4]
    assert unmarked(after)[:5] == unmarked(before)
    assert body(model)["messages"] == after


@pytest.mark.parametrize(
    ("kind", "url", "key"),
    [
        ("openai-chat", "https://api.openai.com/v1", "prompt_cache_key"),
        ("openai-responses", "https://api.openai.com/v1", "prompt_cache_key"),
        ("openai-chat", "https://my.openai.azure.com/openai/v1", "prompt_cache_key"),
        ("openai-chat", OPENROUTER, "session_id"),
        ("anthropic", OPENROUTER, "session_id"),
        ("openai-chat", "http://127.0.0.1:4000/v1", None),
        ("anthropic", "https://api.anthropic.com/v1", None),
    ],
)
def test_a_conversation_is_named_where_that_finds_the_cache(kind, url, key):
    found = body(model_of(url, "m", kind))
    names = {one for one in ("prompt_cache_key", "session_id") if one in found}
    assert names == ({key} if key else set())
    if key:
        assert found[key] == "ses_1"
        assert (
            json.loads(model_of(url, "m", kind)._call(ModelRequest("title", TALK[:2])).body).get(key) is None
        )


def test_anthropic_is_told_which_results_are_errors():
    found = body(model_of("https://api.anthropic.com/v1", "claude-sonnet-4-5", "anthropic"), failed={"c2"})
    results = [
        block
        for message in found["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert [one.get("is_error") for one in results] == [None, True, None]
