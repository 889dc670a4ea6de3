import asyncio
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from outrider.models.scripted import ScriptedModel, ScriptProblem, load_script
from outrider.ports.clock import SteppingClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import (
    Message,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    Tokens,
    ToolCall,
    ToolSpec,
)
from outrider_protocol.script import Script

HELLO = ModelRequest("main", [Message("user", "hello")])


def model(clock: SteppingClock, *turns: dict[str, Any], cursor: int = 0, **more: Any) -> ScriptedModel:
    script = Script.model_validate({"turns": list(turns), **more})
    return ScriptedModel("scripted:a.json", script, clock=clock, ids=SequentialIds(), cursor=cursor)


async def ask(scripted: ScriptedModel, request: ModelRequest = HELLO) -> list[ModelItem]:
    return [item async for item in scripted.stream(request)]


async def test_the_smallest_turn(clock: SteppingClock):
    call = {"name": "read_file", "input": {"path": "ä.py"}}
    items = await ask(model(clock, {"text": "Look.", "tool_calls": [call]}))
    made = (ToolCall("call_1", "read_file", '{"path": "ä.py"}'),)
    assert items == [TextDelta("Look."), ModelResponse("Look.", made, "tool_calls")]


async def test_everything_a_turn_can_say(clock: SteppingClock):
    items = await ask(
        model(
            clock,
            {
                "text": "abcde",
                "reasoning": "hmm",
                "chunk": 2,
                "delay": 0.5,
                "tool_calls": [{"name": "f", "arguments": '{"broken', "id": "tc"}, {"name": "g"}],
                "finish_reason": "length",
                "usage": {"input_tokens": 10, "outputTokens": 5, "cached_tokens": 3},
            },
        )
    )
    assert items[:-1] == [
        ReasoningDelta("hm"),
        ReasoningDelta("m"),
        TextDelta("ab"),
        TextDelta("cd"),
        TextDelta("e"),
    ]
    calls = (ToolCall("tc", "f", '{"broken'), ToolCall("call_1", "g", "{}"))
    assert items[-1] == ModelResponse("abcde", calls, "length", "hmm", Tokens(10, 5, 3))
    assert clock.monotonic() == 2.5


async def test_a_filtered_answer_is_refused(clock: SteppingClock):
    assert (await ask(model(clock, {"finish_reason": "content_filter"})))[-1] == ModelResponse(
        "", (), "refused"
    )


async def test_the_cursor(clock: SteppingClock):
    scripted = model(clock, {"text": "a"}, {"text": "b"}, {"text": "c"}, cursor=1)
    assert scripted.left_over() == 2
    assert (await ask(scripted))[0] == TextDelta("b")
    assert (await ask(scripted))[0] == TextDelta("c")
    assert scripted.left_over() == 0
    assert await ask(scripted) == [
        ModelFailure("script_exhausted", "the script scripted:a.json has 3 turns; call 4 has no answer")
    ]
    assert scripted.left_over() == 0


async def test_purposes_have_their_own_cursor(clock: SteppingClock):
    scripted = model(clock, {"text": "a"}, purposes={"summary": [{"text": "Sum."}]})
    summary = ModelRequest("summary", HELLO.messages)
    assert (await ask(scripted, summary))[0] == TextDelta("Sum.")
    assert [item.kind for item in await ask(scripted, summary) if isinstance(item, ModelFailure)] == [
        "script_exhausted"
    ]
    assert (await ask(scripted))[0] == TextDelta("a")


@pytest.mark.parametrize(
    ("last", "step"),
    [
        (None, "none"),
        (Message("assistant", "Let me\nsee."), "Let me see"),
        (Message("assistant", "", (ToolCall("a", "f", "{}"), ToolCall("b", "g", "{}"))), "f, g"),
    ],
)
async def test_a_summary_that_is_not_scripted(last: Message | None, step: str, clock: SteppingClock):
    request = ModelRequest("summary", [*HELLO.messages, *([last] if last else [])])
    text = (await ask(model(clock), request))[0]
    assert isinstance(text, TextDelta)
    assert text.text == f"Stopped before the task was finished. Last step: {step}."


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, "", "auth"),
        (404, "", "unknown_model"),
        (408, "", "timeout"),
        (413, "prompt is too long", "context_overflow"),
        (429, "", "rate_limit"),
        (503, "", "overloaded"),
    ],
)
async def test_an_http_fault(status: int, body: str, kind: str, clock: SteppingClock):
    turn = {"text": "never", "fault": {"kind": "http", "status": status, "body": body}}
    items = await ask(model(clock, turn))
    assert [item.kind for item in items if isinstance(item, ModelFailure)] == [kind]
    assert len(items) == 1


@pytest.mark.parametrize(("after", "shown"), [(0, ""), (3, "abc"), (99, "abcdef")])
async def test_a_cut(after: int, shown: str, clock: SteppingClock):
    items = await ask(model(clock, {"text": "abcdef", "chunk": 2, "fault": {"kind": "cut", "after": after}}))
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == shown
    assert isinstance(items[-1], ModelFailure)
    assert items[-1].kind == "cut_stream"


async def test_a_stall_ends_with_the_time_out_of_its_place(clock: SteppingClock):
    scripted = model(
        clock,
        {"text": "ab", "fault": {"kind": "stall"}},
        {"text": "ab", "fault": {"kind": "stall", "after": 1}},
        {"text": "ab", "delay": 500},
    )
    assert await ask(scripted) == [ModelFailure("stalled", "nothing came from scripted:a.json for 120 s")]
    assert await ask(scripted) == [
        TextDelta("a"),
        ModelFailure("stalled", "nothing came from scripted:a.json for 60 s"),
    ]
    assert (await ask(scripted))[-1] == ModelFailure("stalled", "nothing came from scripted:a.json for 120 s")


async def test_a_short_stall_is_a_pause(clock: SteppingClock):
    turn = {"text": "ab", "fault": {"kind": "stall", "after": 1, "seconds": 30}}
    assert await ask(model(clock, turn)) == [
        TextDelta("a"),
        TextDelta("b"),
        ModelResponse("ab", (), "stop"),
    ]
    assert clock.monotonic() == 30


EXPECTED = ModelRequest(
    "main",
    [
        Message("user", "fix it"),
        Message("assistant", "", (ToolCall("a", "read_file", '{"path":"b.py"}'),)),
        Message("tool", "x = 1", tool_call_id="a"),
    ],
    [ToolSpec("read_file", "", {}), ToolSpec("search", "", {})],
)


@pytest.mark.parametrize(
    "expect",
    [
        {},
        {"tools": ["search", "read_file"]},
        {"message_count": 3},
        {"tool_call_ids": ["a"]},
        {"last_message_contains": "x = 1"},
        {"last_message_contains": ["x", "= 1"]},
        {"messages_contain": ["fix", "b.py"]},
        {"messages_lack": "secret"},
    ],
)
async def test_an_expectation_that_holds(expect: dict[str, Any], clock: SteppingClock):
    assert isinstance((await ask(model(clock, {"expect": expect}), EXPECTED))[-1], ModelResponse)


@pytest.mark.parametrize(
    ("expect", "said"),
    [
        ({"tools": ["search"]}, "expected the tools ['search'], the request offers ['read_file', 'search']"),
        ({"message_count": 2}, "expected 2 messages, the request has 3"),
        ({"tool_call_ids": []}, "expected results of the calls [], the request has ['a']"),
        ({"tool_call_ids": ["b"]}, "expected results of the calls ['b'], the request has ['a']"),
        (
            {"last_message_contains": ["x", "fix"]},
            "expected the last message to contain 'fix', it is 'x = 1'",
        ),
        (
            {"messages_contain": "nowhere"},
            "expected a message that contains 'nowhere', none of 3 does; the last is 'x = 1'",
        ),
        (
            {"messages_lack": ["nowhere", "b.py"]},
            "expected no message that contains 'b.py', messages[1] (assistant) does",
        ),
    ],
)
async def test_an_expectation_that_does_not_hold(expect: dict[str, Any], said: str, clock: SteppingClock):
    items = await ask(model(clock, {"text": "a", "expect": expect}), EXPECTED)
    assert items == [ModelFailure("script_expectation", f"scripted:a.json, main call 1: {said}")]


async def test_a_long_stream_can_be_cancelled(clock: SteppingClock):
    shown: list[ModelItem] = []
    begun = asyncio.Event()

    async def listen() -> None:
        async for item in model(clock, {"text": "x" * 1_000_000, "chunk": 1}).stream(HELLO):
            shown.append(item)
            begun.set()

    listening = asyncio.create_task(listen())
    await begun.wait()
    listening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await listening
    assert len(shown) < 10


async def test_the_same_script_gives_the_same_items():
    async def play() -> tuple[list[ModelItem], float]:
        clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
        turn = {"text": "abc", "chunk": 1, "delay": 1, "tool_calls": [{"name": "f"}]}
        return await ask(model(clock, turn)), clock.monotonic()

    assert await play() == await play()


async def test_a_script_is_read(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"turns": [{"text": "ä"}]}).encode())
    script = await load_script(path)
    assert isinstance(script, Script)
    assert script.turns[0].text == "ä"


async def problem(path: Path) -> str:
    loaded = await load_script(path)
    assert isinstance(loaded, ScriptProblem), loaded
    assert loaded.message.startswith(str(path))
    return loaded.message.removeprefix(str(path))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ({"turns": [{}, {}, {"tool_calls": [{}]}]}, "turns[2].tool_calls[0].name: is missing"),
        ({}, "turns: is missing"),
        ([], "the file: Input should be a valid dictionary or instance of Script"),
        ({"turns": [], "speed": 2}, "speed: there is no such key"),
        ({"turns": [{"texts": ""}]}, "turns[0].texts: there is no such key; did you mean `text`?"),
        ({"turns": [{"chunk": 0}]}, "turns[0].chunk: Input should be greater than or equal to 1"),
        (
            {"turns": [{"fault": {"kind": "http", "status": 200}}]},
            "turns[0].fault.status: Input should be greater than or equal to 400",
        ),
        ({"turns": [{"fault": {"kind": "http"}}]}, "turns[0].fault.status: is missing"),
        (
            {"turns": [{"tool_calls": [{"name": "f", "input": {}, "arguments": ""}]}]},
            "turns[0].tool_calls[0]: `input` and `arguments` exclude each other",
        ),
        (
            {"purposes": {"a.b": [{"text": 1}]}, "turns": []},
            'purposes["a.b"][0].text: Input should be a valid string',
        ),
        (
            {"turns": [{"text": n} for n in range(5)]},
            "; ".join(f"turns[{n}].text: Input should be a valid string" for n in range(3)) + "; and 2 more",
        ),
    ],
)
async def test_a_damaged_or_newer_script_says_where(script: Any, said: str, tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(script))
    assert await problem(path) == f": {said}"


async def test_an_expectation_of_the_wrong_type_says_where(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"turns": [{"expect": {"messages_lack": 5}}]}))
    assert (await problem(path)).startswith(": turns[0].expect.messages_lack: Input should be a valid string")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"turns": [\n}', ":2:1: not JSON: Expecting value"),
        (b"", ":1:1: not JSON: Expecting value"),
        (b'{"turns": "\xff"}', ": not UTF-8 at byte 11"),
        (b"[" * 200_000, ": not JSON: "),
        (b" " * 10_000_001, ": larger than 10 MB"),
    ],
)
async def test_a_file_that_is_no_json(content: bytes, said: str, tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    assert (await problem(path)).startswith(said)


async def test_what_is_no_file(tmp_path: Path):
    assert await problem(tmp_path / "none.json") == ": there is no such script"
    assert await problem(tmp_path) == ": not a regular file"
    os.mkfifo(tmp_path / "pipe")
    assert await problem(tmp_path / "pipe") == ": not a regular file"
