"""An answer that grows: text, reasoning, calls and blocks put together while they come, in whatever dialect.

It must never give a call without an id of its own, nor a text that cannot be encoded.
"""

from dataclasses import dataclass, field
from typing import Any

from outrider.models.dialects.kept import Block, CallBlock, TextBlock, Verbatim, provider_data
from outrider.models.payload import is_object, mended
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    ModelItem,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    Tokens,
    ToolCall,
)


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
        return is_object("".join(self.arguments))


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
