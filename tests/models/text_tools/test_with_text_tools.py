"""A model that only writes text, wrapped: the same items and the same events as of one that calls tools."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest

from models.text_tools.tools import TOOLS
from outrider.models.catalog import Catalog
from outrider.models.text_tools import FORMATS, Call
from outrider.models.wrappers import TextToolModel, as_text
from outrider.ports.ids import SequentialIds
from outrider.ports.model import (
    Message,
    Model,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    Part,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)
from outrider.testing import call, run_scenario, say


class Writer:
    """A model that says what it is told to."""

    name, context_window, temperature, max_tokens = "local/writer", 1000, None, None

    def __init__(self, items: Sequence[ModelItem]) -> None:
        self.items = items
        self.requests: list[ModelRequest] = []
        self.closed = False

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        self.requests.append(request)
        for item in self.items:
            yield item

    def broken_off(self, request: ModelRequest, characters: int) -> None:
        return None

    @property
    def retry_in(self) -> float | None:
        """None: it makes each request once."""
        return None

    def retry_now(self) -> bool:
        """False: it makes each request once."""
        return False

    def left_over(self) -> int:
        return 3

    async def close(self) -> None:
        self.closed = True


REQUEST = ModelRequest("main", [Message("system", "Be good."), Message("user", "Go.")], TOOLS, 0.5, 99)
TEXT = 'I look.\n<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>'


async def answer(*items: ModelItem, form: str = "hermes") -> list[ModelItem]:
    model = TextToolModel(Writer(items), FORMATS[form], ids=SequentialIds())
    return [item async for item in model.stream(REQUEST)]


def response(text: str, finish: Any = "stop") -> ModelResponse:
    return ModelResponse(text, (), finish)


async def test_text_goes_out_at_once_and_a_call_never_as_text() -> None:
    items = await answer(*map(TextDelta, TEXT), response(TEXT))
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == "I look."
    assert items[-1] == ModelResponse(
        "I look.", (ToolCall("call_1", "bash", '{"command": "ls"}'),), "tool_calls"
    )


async def test_an_answer_that_came_whole_is_read_as_well() -> None:
    items = await answer(response(TEXT))
    assert items[:-1] == [TextDelta("I look.")]
    assert isinstance(items[-1], ModelResponse) and items[-1].tool_calls


async def test_what_the_length_limit_cut_off_is_no_call() -> None:
    cut = TEXT[:-20]
    assert (await answer(TextDelta(cut), response(cut, "length")))[-1] == ModelResponse(cut, (), "length")


async def test_both_kinds_of_reasoning_are_reasoning() -> None:
    items = await answer(ReasoningDelta("a"), TextDelta("<think>b</think>c"), response("<think>b</think>c"))
    assert items == [
        ReasoningDelta("a"),
        ReasoningDelta("b"),
        TextDelta("c"),
        ModelResponse("c", (), "stop", "ab"),
    ]


async def test_a_failure_stays_one() -> None:
    failure = ModelFailure("overloaded", "busy")
    assert await answer(TextDelta("a"), failure) == [TextDelta("a"), failure]


async def test_it_is_the_model_it_wraps() -> None:
    writer = Writer([])
    model: Model = TextToolModel(writer, FORMATS["outrider"], ids=SequentialIds())
    assert (model.name, model.context_window, model.temperature, model.max_tokens, model.left_over()) == (
        "local/writer",
        1000,
        None,
        None,
        3,
    )
    await model.close()
    assert writer.closed


def test_the_conversation_goes_back_as_text() -> None:
    calls = (ToolCall("a", "bash", '{"command": "ls"}'), ToolCall("b", "get_time", "not JSON"))
    messages = [
        Message("user", "Go."),
        Message("assistant", "I look.", calls, reasoning="hm"),
        Message("tool", "x.py", tool_call_id="a"),
        Message("tool", "12:00", tool_call_id="b"),
        Message("user", "Be quick."),
        Message("assistant", "Done."),
    ]
    form = FORMATS["outrider"]
    request = as_text(ModelRequest("main", messages, TOOLS, 0.5, 99), form)
    written = form.write([Call("bash", {"command": "ls"}), Call("get_time", {})])
    assert request == ModelRequest(
        "main",
        [
            Message.of_parts("system", [Part("tools", form.prompt(TOOLS))]),
            Message("user", "Go."),
            Message("assistant", f"I look.\n\n{written}", reasoning="hm"),
            Message(
                "user", f"{form.result('bash', 'x.py')}\n\n{form.result('get_time', '12:00')}\n\nBe quick."
            ),
            Message("assistant", "Done."),
        ],
        (),
        0.5,
        99,
    )
    assert as_text(REQUEST, form).messages[0].text.startswith("Be good.\n\n# Tools")


FILES = {"tariff.py": "def price(hours):\n    return hours * 3\n"}
READ = {"path": "tariff.py"}
FIX = {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"}


async def played(script: list[Any]) -> tuple[Any, ...]:
    run = await run_scenario("Correct it.", script, workspace=FILES, on_confirmation=lambda item: True)
    told = [
        (event["type"], event["data"].get("name"), event["data"].get("status"), event["data"].get("content"))
        for event in run.events
        if event["type"] != "model.requested"
    ]
    return run.outcome, run.response, run.files, told


@pytest.mark.parametrize("form", FORMATS)
async def test_the_loop_cannot_tell_text_calls_from_native_ones(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    native = await played([call("read_file", **READ), call("edit_file", **FIX), say("Corrected.")])
    real = Catalog.open

    async def wrapped(self: Catalog, reference: str | None, **named: Any) -> Any:
        return TextToolModel(
            await real(self, reference, **named),
            FORMATS[form],
            ids=SequentialIds(),  # pyright: ignore
        )

    monkeypatch.setattr(Catalog, "open", wrapped)
    write = FORMATS[form].write
    texts = [write([Call("read_file", READ)]), write([Call("edit_file", FIX)]), "Corrected."]
    assert await played([say(text) for text in texts]) == native
