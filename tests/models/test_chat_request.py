import json
from collections.abc import Mapping
from typing import Any

import pytest

from outrider.models.dialects.openai_chat import ChatRequestEncoder
from outrider.ports.model import Message, ModelRequest, ToolCall, ToolSpec

READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {"type": "string"}}})
TALK = [
    Message("system", "Be brief."),
    Message("user", "Read ä.txt"),
    Message("assistant", "", (ToolCall("c1", "read_file", '{"path":"ä.txt"}'),)),
    Message("tool", "content", tool_call_id="c1"),
]


def sent(messages: list[Message], extra: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return json.loads(ChatRequestEncoder("m", extra or {}).encode(ModelRequest("main", messages, **fields)))


def test_the_whole_body():
    assert sent(TALK, tools=[READ], temperature=0.5, max_tokens=100) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "max_tokens": 100,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "read_file",
                    "description": "Reads.",
                    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Read ä.txt"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": '{"path":"ä.txt"}'},
                    }
                ],
            },
            {"role": "tool", "content": "content", "tool_call_id": "c1"},
        ],
    }


def test_what_is_not_set_is_not_sent():
    assert sorted(sent([])) == ["messages", "model", "stream", "stream_options"]


def test_extra_keys_add_and_null_takes_away_but_the_stream_stays_one():
    body = sent(
        TALK[:1],
        {"seed": 7, "stream_options": None, "stream": False, "messages": [], "model": "other", "tools": [1]},
    )
    assert body == {
        "model": "m",
        "stream": True,
        "seed": 7,
        "messages": [{"role": "system", "content": "Be brief."}],
    }


@pytest.mark.parametrize("arguments", ['{"path', "[1]", '"text"', "NaN", "[" * 100_000])
def test_arguments_that_are_no_object_are_sent_as_one(arguments: str):
    call = ToolCall("c", "read_file", arguments)
    message = sent([Message("assistant", "", (call,))])["messages"][0]
    assert json.loads(message["tool_calls"][0]["function"]["arguments"]) == {"invalid_arguments": arguments}


def test_empty_arguments_are_an_empty_object():
    message = sent([Message("assistant", "", (ToolCall("c", "list", " "),))])["messages"][0]
    assert message["tool_calls"][0]["function"]["arguments"] == "{}"


def test_a_name_no_tool_can_have_is_made_one():
    calls = (ToolCall("c", "read file!", "{}"), ToolCall("d", "", "{}"), ToolCall("e", "x" * 100, "{}"))
    message = sent([Message("assistant", "hm", calls)])["messages"][0]
    assert [call["function"]["name"] for call in message["tool_calls"]] == [
        "read_file_",
        "unknown",
        "x" * 64,
    ]
    assert message["content"] == "hm"


def test_text_that_cannot_be_encoded_is_sent_without_what_cannot():
    assert sent([Message("user", "a\udcff")])["messages"][0]["content"] == "a?"


def test_a_step_begins_with_the_bytes_of_the_one_before_and_encodes_only_what_is_new(
    monkeypatch: pytest.MonkeyPatch,
):
    encoded: list[Message] = []
    original = ChatRequestEncoder._message  # pyright: ignore[reportPrivateUsage] - counts its calls

    def counted(
        self: ChatRequestEncoder, message: Message, images: Mapping[str, bytes], *, marked: bool
    ) -> dict[str, Any]:
        encoded.append(message)
        return original(self, message, images, marked=marked)

    monkeypatch.setattr(ChatRequestEncoder, "_message", counted)
    encoder = ChatRequestEncoder("m", {})
    before = encoder.encode(ModelRequest("main", TALK[:2], [READ]))
    after = encoder.encode(ModelRequest("main", TALK, [READ]))
    assert after.startswith(before.removesuffix(b"]}"))
    assert encoded == TALK
    encoder.encode(ModelRequest("main", TALK[:1]))
    encoder.encode(ModelRequest("main", TALK[:2]))
    assert encoded == [*TALK, TALK[0], TALK[1]]
