"""What a model wants back word for word: the blocks of an answer, in their order, through the log and back.

A dialect that has such blocks keeps a list of them: an object stands for itself; `["text", n, extra]` for the
next n characters of the message's text and `["call", i, extra]` for its call number i, each with what else the
provider had put into that block. So a text or the arguments of a call are never stored twice. A message that was
changed since, or that another model wrote, gives its text and its calls, and nothing else. What is noted there for
ourselves goes to nobody.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from outrider.models.payload import mended
from outrider.ports.model import Message, ProviderData, ToolCall


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
