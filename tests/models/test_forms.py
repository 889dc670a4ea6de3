"""Whatever a conversation has become, no dialect sends what its provider refuses for its form alone."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.test_requests import MODELS, READ
from outrider.models.answer import CallBlock, TextBlock, Verbatim, provider_data
from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider
from outrider.ports.clock import SteppingClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Message, ModelRequest, ToolCall
from outrider_protocol.settings import ProviderSettings

NAME = "some-model"
THOUGHTS = {
    "anthropic": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
    ],
    "openai-responses": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "s", "summary": []}],
    "gemini": [{"text": "hm", "thought": True, "thoughtSignature": "s"}],
    "openai-chat": [{"reasoning_details": [{"data": "s"}]}],
    "ollama": [],
}
texts = st.sampled_from(["", " ", "\n", "Well."])
ids = st.sampled_from(["a", "b", "call_9", "x" * 70, "ä b"])
calls = st.lists(
    st.builds(
        ToolCall,
        ids,
        st.sampled_from(["read", "go on", "ä" * 70]),
        st.sampled_from(["{}", '{"x": ', "[1]", ""]),
    ),
    max_size=3,
    unique_by=lambda call: call.id,
)


@st.composite
def answers(draw, kind):
    """Answers as the fold of a log keeps them, with blocks of this model's or of another one's."""
    text, made = draw(texts), tuple(draw(calls))
    blocks = [*([TextBlock(text)] if text else []), *map(CallBlock, made)]
    for thought in draw(st.lists(st.sampled_from(THOUGHTS[kind]), max_size=2)) if THOUGHTS[kind] else ():
        blocks.insert(draw(st.integers(0, len(blocks))), Verbatim(thought))
    model = f"local/{draw(st.sampled_from([NAME, 'another']))}"
    return Message("assistant", text, made, reasoning="hm", provider_data=provider_data(model, blocks, made))


def talks(kind):
    """Conversations: a step may lack results, and have strange ones, and texts of the user among them."""
    result = st.builds(lambda text, given: Message("tool", text, tool_call_id=given), texts, ids)
    said = st.builds(lambda text: Message("user", text), st.sampled_from(["Go on.", "Stop that."]))
    step = st.tuples(answers(kind), st.lists(st.one_of(result, said), max_size=4), said)
    begin = [Message("system", "Be kind."), Message("user", "hello")]
    return st.lists(step, max_size=4).map(
        lambda steps: [*begin, *(one for answer, rest, last in steps for one in (answer, *rest, last))]
    )


def body_of(kind, messages, tools):
    settings_ = ProviderSettings(kind=kind, base_url="http://127.0.0.1:9/v1")
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    provider = HttpProvider("local", settings_, clock=clock, secrets=Keys({}))
    model = MODELS[kind](provider, NAME, ids=SequentialIds())
    return json.loads(model._call(ModelRequest("main", messages, tools)).body)


def check_chat(body):
    waiting = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        if message["role"] == "assistant":
            made = message.get("tool_calls", [])
            assert made or message["content"].strip()
            assert all(isinstance(json.loads(one["function"]["arguments"]), dict) for one in made)
            waiting = [one["id"] for one in made]
    assert not waiting


def check_ollama(body):
    waiting = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [one["id"] for one in message.get("tool_calls", [])]
        assert all(isinstance(one["function"]["arguments"], dict) for one in message.get("tool_calls", []))


def check_anthropic(body):
    waiting = []
    for number, message in enumerate(body["messages"]):
        blocks = message["content"]
        assert message["role"] == ("assistant" if number % 2 else "user")
        assert blocks
        assert all(block["text"].strip() for block in blocks if block["type"] == "text")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        assert results == waiting
        assert all(block["type"] == "tool_result" for block in blocks[: len(results)])
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert blocks[-1]["type"] not in ("thinking", "redacted_thinking")
    assert body["messages"][-1]["role"] == "user"
    assert body.get("tools") or not any("tool_use" in str(message) for message in body["messages"])


def check_gemini(body):
    waiting = []
    for content in body["contents"]:
        assert content["parts"]
        given = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        assert given == waiting
        waiting = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
    assert body["contents"][0]["role"] == body["contents"][-1]["role"] == "user"


def check_responses(body):
    waiting, before = [], ""
    for item in body["input"]:
        if before == "reasoning":
            assert item["type"] in ("reasoning", "function_call") or item["role"] == "assistant"
        if item["type"] == "function_call":
            waiting.append(item["call_id"])
        elif item["type"] == "function_call_output":
            assert item["call_id"] == waiting.pop(0)
        elif item.get("role") == "user":
            assert not waiting
        before = item["type"]
    assert not waiting
    assert before != "reasoning"


CHECKS = {
    "openai-chat": check_chat,
    "openai-responses": check_responses,
    "anthropic": check_anthropic,
    "gemini": check_gemini,
    "ollama": check_ollama,
}


@pytest.mark.parametrize("kind", sorted(CHECKS))
def test_no_request_has_a_form_that_is_refused(kind):
    @settings(max_examples=150, deadline=None, derandomize=True)
    @given(messages=talks(kind), offered=st.booleans())
    def holds(messages, offered):
        CHECKS[kind](body_of(kind, messages, (READ,) if offered else ()))

    holds()
