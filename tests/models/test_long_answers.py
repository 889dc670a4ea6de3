"""Long answers take time in proportion to their length, in every dialect and whatever their pieces."""

import json
import time

import pytest

from outrider.models.dialects.openai_chat import ChatDecoder
from outrider.models.http.sse import SseSplitter
from outrider.ports.ids import SequentialIds

SMALL, LARGE = 100_000, 1_000_000
MOST = 20
"""Times as much processor time as for a tenth of the length; a quadratic decoder takes 100 times as much."""


def chat(delta, finish=None):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def call(arguments, **more):
    return chat({"tool_calls": [{"index": 0, "function": {"arguments": arguments, **more}}]})


def details(text):
    return chat({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text}]})


PIECES = {
    "text": lambda piece: chat({"content": piece}),
    "reasoning": lambda piece: chat({"reasoning_content": piece}),
    "signed reasoning": details,
    "arguments": lambda piece: call(piece, name="write_file"),
}


def decoded(make, size):
    """What comes of an answer in pieces of 20 characters, and the processor time that it took."""
    decoder = ChatDecoder(SequentialIds(), model="p/deepseek-v4")
    payloads = [json.dumps(make("lorem ipsum dolor si")).encode()] * (size // 20)
    began = time.process_time()
    for payload in payloads:
        decoder.feed(payload)
    decoder.feed(json.dumps(chat({}, "stop")).encode())
    items = decoder.finish()
    return items[-1], time.process_time() - began


@pytest.mark.parametrize("kind", PIECES)
def test_ten_times_the_answer_takes_ten_times_the_time(kind):
    decoded(PIECES[kind], SMALL)
    _, small = decoded(PIECES[kind], SMALL)
    answer, large = decoded(PIECES[kind], LARGE)
    whole = answer.text or answer.reasoning or answer.tool_calls[0].arguments
    assert len(whole) == LARGE
    assert large / small <= MOST


def test_an_event_of_4_mb_in_small_chunks_is_split_in_linear_time():
    def split(size):
        splitter = SseSplitter()
        event = b"data: " + b"x" * size + b"\n\n"
        began = time.process_time()
        found = [
            one
            for start in range(0, len(event), 1_000)
            for one in splitter.feed(event[start : start + 1_000])
        ]
        assert [len(one) for one in found] == [size]
        return time.process_time() - began

    split(400_000)
    assert split(4_000_000) / split(400_000) <= MOST
