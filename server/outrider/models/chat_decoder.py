"""The stream of a chat completion, payload by payload, as model items.

Strict on meaning, lenient on form: servers that speak this dialect differ in ids, indices, nulls and in what
they repeat. A payload never raises; a stream that breaks off is never taken for a whole answer.

Source: the chat completion chunk object of the OpenAI API reference.
"""

import json
from dataclasses import dataclass, field
from typing import Any, cast

from outrider.models.failures import stream_failure
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    ModelFailure,
    ModelItem,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    Tokens,
    ToolCall,
)

END_OF_STREAM = b"[DONE]"
"""The data of the last event; not every server sends it."""

_FINISH_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refused",
    "refusal": "refused",
}
"""Those that stand whatever else came; every other one means `tool_calls` if there are calls, else `stop`."""


@dataclass(slots=True)
class _OpenCall:
    id: str
    name: str
    arguments: list[str] = field(default_factory=list[str])

    def is_whole(self) -> bool:
        try:
            return isinstance(json.loads("".join(self.arguments)), dict)
        except (ValueError, RecursionError):
            return False


class _TextParts:
    """Text put together from deltas; halves of a surrogate pair that were sent apart are joined."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._half = ""

    def add(self, text: str) -> str:
        """What can be shown of the text so far and was not given before."""
        if not text.isascii() or self._half:
            text = self._half + text
            self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
            text = _mended(text.removesuffix(self._half))
        if text:
            self.parts.append(text)
        return text

    def end(self) -> str:
        """What was held back, once nothing more comes."""
        rest = _mended(self._half)
        self._half = ""
        if rest:
            self.parts.append(rest)
        return rest


class ChatDecoder:
    """Decodes one stream. After a `ModelFailure` it must not be fed any more."""

    def __init__(self, ids: Ids, *, source: str = "the provider") -> None:
        self._ids = ids
        self._source = source
        self._text = _TextParts()
        self._reasoning = _TextParts()
        self._calls: list[_OpenCall] = []
        self._by_index: dict[int, _OpenCall] = {}
        self._finish: str | None = None
        self._refused = False
        self._tokens: Tokens | None = None
        self._fed = False
        self._done = False

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""
        return self._done or self._finish is not None

    def feed(self, payload: bytes) -> list[ModelItem]:
        """Take the data of one event; gives the deltas it holds, or a failure as the last item."""
        try:
            chunk: object = json.loads(payload.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return self._feed_unreadable(payload)
        self._fed = True
        return self._feed_chunk(cast("dict[str, Any]", chunk)) if isinstance(chunk, dict) else []

    def finish(self) -> list[ModelItem]:
        """Say that the stream ended; gives what was held back, then the response or the failure."""
        if not self.is_whole:
            what = "ended in the middle of an answer" if self._fed else "ended before an answer came"
            return [ModelFailure("cut_stream", f"the stream of {self._source} {what}")]
        if self._finish == "error":
            return [ModelFailure("overloaded", f"{self._source} ended the answer with an error")]
        items: list[ModelItem] = []
        if rest := self._reasoning.end():
            items.append(ReasoningDelta(rest))
        if rest := self._text.end():
            items.append(TextDelta(rest))
        calls = self._finished_calls()
        reason = _FINISH_REASONS.get(self._finish or "", "tool_calls" if calls else "stop")
        items.append(
            ModelResponse(
                text="".join(self._text.parts),
                tool_calls=calls,
                finish_reason="refused" if self._refused and not calls else reason,
                reasoning="".join(self._reasoning.parts) or None,
                tokens=self._tokens,
            )
        )
        return items

    def _feed_unreadable(self, payload: bytes) -> list[ModelItem]:
        stripped = payload.strip()
        if stripped == END_OF_STREAM:
            self._done = True
            return []
        if not stripped:
            return []
        lines = stripped.split(b"\n")
        if len(lines) > 1:
            # Servers that forget the empty line between events.
            items: list[ModelItem] = []
            for line in lines:
                items += self.feed(line)
                if items and isinstance(items[-1], ModelFailure):
                    break
            return items
        shown = stripped[:80].decode("utf-8", "replace")
        return [ModelFailure("protocol", f"{self._source} sent an event that is not JSON: {shown!r}")]

    def _feed_chunk(self, chunk: dict[str, Any]) -> list[ModelItem]:
        if chunk.get("error") or chunk.get("object") == "error":
            return [stream_failure(chunk, source=self._source)]
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            self._tokens = _tokens(cast("dict[str, Any]", usage))
        items: list[ModelItem] = []
        for choice in _mappings(chunk.get("choices")):
            if choice.get("index") not in (0, None):
                continue  # a further candidate (n > 1)
            reason = choice.get("finish_reason")
            if isinstance(reason, str) and reason:
                self._finish = reason
            # `message` is what a server sends that does not stream.
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                self._feed_delta(cast("dict[str, Any]", delta), items)
        return items

    def _feed_delta(self, delta: dict[str, Any], items: list[ModelItem]) -> None:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str):
            self._add_reasoning(reasoning, items)
        content = delta.get("content")
        if isinstance(content, str):
            self._add_text(content, items)
        elif content is not None:
            for part in _mappings(content):
                self._feed_part(part, items)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            self._add_text(refusal, items)
        calls = delta.get("tool_calls")
        if calls:
            for call in _mappings(calls):
                self._feed_call(call)

    def _feed_part(self, part: dict[str, Any], items: list[ModelItem]) -> None:
        text = part.get("text")
        if isinstance(text, str):
            self._add_text(text, items)
        for thought in _mappings(part.get("thinking")):
            text = thought.get("text")
            if isinstance(text, str):
                self._add_reasoning(text, items)

    def _add_text(self, text: str, items: list[ModelItem]) -> None:
        if text and (shown := self._text.add(text)):
            items.append(TextDelta(shown))

    def _add_reasoning(self, text: str, items: list[ModelItem]) -> None:
        if text and (shown := self._reasoning.add(text)):
            items.append(ReasoningDelta(shown))

    def _feed_call(self, delta: dict[str, Any]) -> None:
        function = _mapping(delta.get("function"))
        call_id, name = _string(delta.get("id")), _string(function.get("name"))
        arguments = function.get("arguments")
        if arguments is None:
            fragment = ""
        elif isinstance(arguments, str):
            fragment = arguments
        else:
            fragment = json.dumps(arguments, ensure_ascii=False)
        index = delta.get("index")
        if isinstance(index, int):
            call = self._by_index.get(index)
        else:
            known = (c for c in self._calls if call_id and c.id == call_id)
            call = next(known, self._calls[-1] if self._calls else None)
        if call is None or _begins_another(call, call_id, name, fragment):
            call = _OpenCall(call_id, name)
            self._calls.append(call)
            if isinstance(index, int):
                self._by_index[index] = call
        call.id = call.id or call_id
        call.name = call.name or name
        if fragment:
            call.arguments.append(fragment)

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """The calls, each with an id of its own: results could not be matched otherwise."""
        used: set[str] = set()
        calls: list[ToolCall] = []
        for call in self._calls:
            arguments = _mended("".join(call.arguments))
            if not (call.name or arguments):
                continue
            call_id = _mended(call.id)
            if not call_id or call_id in used:
                call_id = self._ids.new("call")
            used.add(call_id)
            calls.append(ToolCall(call_id, _mended(call.name), arguments))
        return tuple(calls)


def _begins_another(call: _OpenCall, call_id: str, name: str, fragment: str) -> bool:
    """Whether a delta that points at `call` is a new call: some servers give every call the same index.

    Only a delta with a name can begin one; ids alone prove nothing, since some servers make one per delta.
    """
    if not (name and call.name):
        return False
    if call_id and call.id:
        return call_id != call.id
    return name != call.name or (bool(fragment) and call.is_whole())


def _tokens(usage: dict[str, Any]) -> Tokens:
    cost = usage.get("cost")
    return Tokens(
        input=_count(usage.get("prompt_tokens")) or 0,
        output=_count(usage.get("completion_tokens")) or 0,
        cached=_count(_mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
        reasoning=_count(_mapping(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        cost=float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e9 else None,
    )


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _mappings(value: object) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [cast("dict[str, Any]", v) for v in cast("list[Any]", value) if isinstance(v, dict)]
    return [cast("dict[str, Any]", value)] if isinstance(value, dict) else []


def _mended(text: str) -> str:
    """`text` with surrogate pairs joined and lone halves replaced, so that it can be encoded."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
