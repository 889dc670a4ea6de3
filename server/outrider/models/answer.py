"""An answer that grows: text, reasoning, calls and blocks put together while they come, in whatever dialect.

It must never give a call without an id of its own, nor a text that cannot be encoded.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from outrider.models.http.payload import is_object, mended
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    Message,
    ModelItem,
    ModelResponse,
    ProviderData,
    ReasoningDelta,
    TextDelta,
    Tokens,
    ToolCall,
)


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A piece of the text."""

    text: str
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class CallBlock:
    """A call."""

    call: ToolCall
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A block that goes back as it came."""

    block: Mapping[str, Any]


Block = TextBlock | CallBlock | Verbatim

THOUGHT_IN_TEXT: Final = Verbatim({"thoughts": "in_text"})
"""Notes that the thoughts of an answer stood in its text."""


def provider_data(model: str, blocks: Sequence[Block], calls: Sequence[ToolCall]) -> ProviderData | None:
    """What has to be kept of an answer; None where its text and then its calls are all of it.

    Args:
        model: The model that answered, `provider/name`.
        blocks: All blocks of the answer, in their order.
        calls: The calls of the answer.
    """
    texts = [block for block in blocks if isinstance(block, TextBlock) and not block.extra]
    asked = [block for block in blocks if isinstance(block, CallBlock) and not block.extra]
    if len(texts) <= 1 and list(blocks) == [*texts, *asked]:
        return None
    numbers = {call.id: number for number, call in enumerate(calls)}
    listed: list[Any] = []
    for block in blocks:
        match block:
            case Verbatim():
                listed.append(dict(block.block))
            case TextBlock():
                listed.append(["text", len(block.text), *([dict(block.extra)] if block.extra else [])])
            case CallBlock():
                listed.append(["call", numbers[block.call.id], *([dict(block.extra)] if block.extra else [])])
    return ProviderData(model, mended(json.dumps(listed, ensure_ascii=False, separators=(",", ":"))))


def blocks_of(message: Message, model: str) -> list[Block]:
    """The blocks of an assistant's message: as they came if `model` wrote them, else its text and its calls."""
    return [block for block in _kept(message, model) if block != THOUGHT_IN_TEXT]


def thought_in_text(message: Message, model: str) -> bool:
    """Whether it is noted that the thoughts of an assistant's message stood in its text, as `model` wrote it."""
    return THOUGHT_IN_TEXT in _kept(message, model)


def _kept(message: Message, model: str) -> list[Block]:
    kept = message.provider_data
    if kept is not None and kept.model == model:
        try:
            blocks = list(_restored(message, json.loads(kept.blocks)))
        except (ValueError, TypeError, IndexError, RecursionError):
            blocks = []  # the log is on a disk that others can write
        if _fits(message, blocks):
            return blocks
    text: list[Block] = [TextBlock(message.text)] if message.text else []
    return [*text, *(CallBlock(call) for call in message.tool_calls)]


def _restored(message: Message, listed: list[Any]) -> Iterator[Block]:
    start = 0
    for item in listed:
        if isinstance(item, dict):
            yield Verbatim(cast("dict[str, Any]", item))
            continue
        kind, number, *rest = item
        extra = dict(rest[0]) if rest else {}
        if kind == "text":
            text = message.text[start : start + number]
            if len(text) != number:
                raise ValueError("the text was cut")
            yield TextBlock(text, extra)
            start += number
        else:
            yield CallBlock(message.tool_calls[int(number)], extra)


def _fits(message: Message, blocks: Sequence[Block]) -> bool:
    """Whether the blocks hold the whole message: its text may have been cut, and its calls left out."""
    texts = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    calls = [block.call for block in blocks if isinstance(block, CallBlock)]
    return bool(blocks) and texts == message.text and set(calls) == set(message.tool_calls)


@dataclass(slots=True)
class OpenCall:
    """A call whose arguments are still coming."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    """What else goes back with it."""

    def is_whole(self) -> bool:
        """Whether its arguments are an object by now."""
        # Asked at each piece where a server repeats the name: most pieces end no object.
        ends_so = bool(self.arguments) and self.arguments[-1].rstrip().endswith("}")
        return ends_so and is_object("".join(self.arguments))


@dataclass(slots=True)
class _OpenText:
    length: int
    extra: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Told:
    """What a provider said of an answer in its own words and by its own count, which differ between providers."""

    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Parts:
    """Text put together from deltas; halves of a surrogate pair that were sent apart are joined."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._half = ""

    def add(self, text: str) -> str:
        """What can be shown of the text so far and was not given before."""
        if not text.isascii() or self._half:
            text = self._half + text
            self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
            text = mended(text.removesuffix(self._half))
        if text:
            self.parts.append(text)
        return text

    def end(self) -> str:
        """What was held back, once nothing more comes."""
        rest = mended(self._half)
        self._half = ""
        if rest:
            self.parts.append(rest)
        return rest


class Answer:
    """One answer. Deltas are added to the list of items that is given."""

    def __init__(self, ids: Ids, model: str) -> None:
        """Make an empty answer of `model` (`provider/name`); `ids` names calls that came without an id."""
        self._ids = ids
        self._model = model
        self._text = _Parts()
        self._reasoning = _Parts()
        self._blocks: list[_OpenText | OpenCall | dict[str, Any]] = []

    @property
    def calls(self) -> list[OpenCall]:
        """The calls so far."""
        return [block for block in self._blocks if isinstance(block, OpenCall)]

    def add_text(self, text: str, items: list[ModelItem]) -> None:
        """Add to the text."""
        if text and (shown := self._text.add(text)):
            self._lengthen(shown)
            items.append(TextDelta(shown))

    def add_reasoning(self, text: str, items: list[ModelItem]) -> None:
        """Add to the reasoning."""
        if text and (shown := self._reasoning.add(text)):
            items.append(ReasoningDelta(shown))

    @property
    def has_reasoning(self) -> bool:
        """Whether any reasoning came."""
        return bool(self._reasoning.parts)

    def begin_text(self, extra: dict[str, Any] | None = None) -> None:
        """Begin a block of text; `extra` goes back with it, and may be added to until the end."""
        self._blocks.append(_OpenText(0, {} if extra is None else extra))

    def begin_call(self, call_id: str, name: str) -> OpenCall:
        """Begin a call."""
        call = OpenCall(call_id, name)
        self._blocks.append(call)
        return call

    def keep(self, block: dict[str, Any]) -> None:
        """Add a block that goes back word for word. It may be added to until the end."""
        self._blocks.append(block)

    def drop(self, block: dict[str, Any]) -> None:
        """Leave out a block that was kept."""
        self._blocks = [other for other in self._blocks if other is not block]

    def end(self, items: list[ModelItem], finish_reason: FinishReason, tokens: Tokens | None) -> None:
        """Give what was held back, then the response.

        Args:
            items: Where it is added.
            finish_reason: Why the provider stopped; `stop` and `tool_calls` are told apart here, by whether there are calls.
            tokens: What the provider counted.
        """
        if rest := self._reasoning.end():
            items.append(ReasoningDelta(rest))
        if rest := self._text.end():
            self._lengthen(rest)
            items.append(TextDelta(rest))
        text = "".join(self._text.parts)
        blocks: list[Block] = []
        used: set[str] = set()
        start = 0
        for block in self._blocks:
            if isinstance(block, dict):
                blocks.append(Verbatim(block))
            elif isinstance(block, OpenCall):
                if call := self._finished(block, used):
                    blocks.append(CallBlock(call, block.extra))
            elif block.length or block.extra:
                blocks.append(TextBlock(text[start : start + block.length], block.extra))
                start += block.length
        calls = tuple(block.call for block in blocks if isinstance(block, CallBlock))
        if finish_reason in ("stop", "tool_calls"):
            finish_reason = "tool_calls" if calls else "stop"
        items.append(
            ModelResponse(
                text=text,
                tool_calls=calls,
                finish_reason=finish_reason,
                reasoning="".join(self._reasoning.parts) or None,
                tokens=tokens,
                provider_data=provider_data(self._model, blocks, calls),
            )
        )

    def _lengthen(self, shown: str) -> None:
        last = self._blocks[-1] if self._blocks else None
        if isinstance(last, _OpenText):
            last.length += len(shown)
        else:
            self._blocks.append(_OpenText(len(shown), {}))

    def _finished(self, call: OpenCall, used: set[str]) -> ToolCall | None:
        """The call with an id of its own: results could not be matched otherwise."""
        arguments = mended("".join(call.arguments))
        if not (call.name or arguments):
            return None
        call_id = mended(call.id)
        if not call_id or call_id in used:
            call_id = self._ids.new("call")
        used.add(call_id)
        return ToolCall(call_id, mended(call.name), arguments if arguments.strip() else "{}")
