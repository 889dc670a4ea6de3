"""An answer that is one text, read as it comes: what of it is said, thought and called.

A server may tell the reasoning apart by itself; then nothing in the text is taken for it.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

from outrider.models.text_tools import Call, Item, TextToolParser
from outrider.models.thinking import apart, noted
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    Message,
    ModelItem,
    ModelResponse,
    ProviderData,
    ReadAnew,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)

MakeParser = Callable[[bool], TextToolParser]
"""Makes what reads an answer; it is told whether the answer begins within a thought."""


async def read_answer(
    items: AsyncGenerator[ModelItem, None],
    parser: MakeParser,
    ids: Ids,
    *,
    model: str,
    opened: bool,
    only_tags: bool = False,
) -> AsyncGenerator[ModelItem, None]:
    """Read an answer.

    Args:
        items: What the model says; closed by who gives them.
        parser: Makes what reads it.
        ids: Makes the ids of calls.
        model: Its name, by which it is noted where its thoughts stood.
        opened: Whether the answers of this model begin within a thought.
        only_tags: Whether nothing but a tag is anything else than text, so that before the first `<` nothing has to be read.

    Yields:
        Deltas of text and reasoning, `ReadAnew` where one was shown as the other, then the response; all else as it came.
    """
    answer = _Answer(parser, ids, model=model, opened=opened, is_plain=only_tags and not opened)
    async for item in items:
        match item:
            case TextDelta(text):
                for found in answer.text(text):
                    yield found
            case ReasoningDelta(text):
                answer.reasoning(text)
                yield item
            case ModelResponse():
                for found in answer.end(item):
                    yield found
            case _:
                yield item


class _Answer:
    """One answer being read."""

    def __init__(self, parser: MakeParser, ids: Ids, *, model: str, opened: bool, is_plain: bool) -> None:
        self._is_plain = is_plain
        """Whether all that came so far is text, and the parser has not read it."""
        self._make = parser
        self._ids = ids
        self._model = model
        self._told_apart = False
        """Whether its server gave thoughts as such."""
        self._opened = opened
        self._parser: TextToolParser | None = None
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[ToolCall] = []

    def text(self, text: str) -> list[ModelItem]:
        if self._is_plain and "<" not in text:
            self._texts.append(text)
            return [TextDelta(text)] if text else []
        if not self._is_plain:
            return self._sorted(self._reader().feed(text))
        # What stands before the tag counts for what it is, so it is read as well, though it was given already.
        self._is_plain, before, self._texts = False, "".join(self._texts), list[str]()
        reader = self._reader()
        return _without(before, self._sorted([*reader.feed(before), *reader.feed(text)]))

    def reasoning(self, text: str) -> None:
        """Take what the server gave as such."""
        self._thoughts.append(text)
        self._told_apart, self._opened = True, False
        self._reader().told_apart()

    def end(self, response: ModelResponse) -> list[ModelItem]:
        items: list[ModelItem] = []
        if self._parser is None and not any(self._texts):
            items += self.text(response.text)
        cut_off = response.finish_reason == "length"
        if not self._is_plain:
            items += self._sorted(self._reader().finish(cut_off=cut_off))
        calls = (*response.tool_calls, *self._calls)
        reason: FinishReason = response.finish_reason
        if calls and not cut_off:
            reason = "tool_calls"
        elif not calls and reason == "tool_calls":
            reason = "stop"
        text = "".join(self._texts)
        answer = ModelResponse(
            text,
            calls,
            reason,
            "".join(self._thoughts) or response.reasoning,
            response.tokens,
            response.provider_data if text == response.text else self._thoughts_of(response, text, calls),
        )
        told_apart = self._told_apart or response.reasoning
        items.append(answer if told_apart else noted(answer, self._model))
        return items

    def _thoughts_of(
        self, response: ModelResponse, text: str, calls: Sequence[ToolCall]
    ) -> ProviderData | None:
        whole = Message("assistant", response.text, response.tool_calls, provider_data=response.provider_data)
        return apart(whole, text, calls, self._model)

    def _reader(self) -> TextToolParser:
        if self._parser is None:
            self._parser = self._make(self._opened)
        return self._parser

    def _sorted(self, found: Iterable[Item]) -> list[ModelItem]:
        items: list[ModelItem] = []
        for item in found:
            match item:
                case Call():
                    self._calls.append(ToolCall(self._ids.new("call"), item.name, item.arguments_json))
                    continue
                case TextDelta():
                    self._texts.append(item.text)
                case ReasoningDelta():
                    self._thoughts.append(item.text)
                case ReadAnew():
                    self._texts, self._thoughts, self._calls = [], [], []
            items.append(item)
        return items


def _without(given: str, items: Iterable[ModelItem]) -> list[ModelItem]:
    """Items without the text at their beginning that was given already."""
    left, known = list[ModelItem](), len(given)
    for item in items:
        if isinstance(item, TextDelta) and known:
            known, text = max(0, known - len(item.text)), item.text[known:]
            left += [TextDelta(text)] if text else []
        else:
            left.append(item)
    return left
