"""The stream of a chat completion, payload by payload, as model items.

Strict on meaning, lenient on form: servers that speak this dialect differ in ids, indices, nulls and in what
they repeat. A payload never raises; a stream that breaks off is never taken for a whole answer.

Source: the chat completion chunk object of the OpenAI API reference.
"""

import json
from dataclasses import replace
from typing import Any, cast

from outrider.models.dialects.answer import OpenCall
from outrider.models.dialects.decoder import Decoder
from outrider.models.failures import stream_failure
from outrider.models.payload import count, mapping, mappings, string
from outrider.models.thoughts_back import wants_thoughts
from outrider.ports.ids import Ids
from outrider.ports.model import FinishReason, ModelFailure, ModelItem, Tokens

_FINISH_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "refused",
    "refusal": "refused",
    "sensitive": "refused",
}
"""Those that stand whatever else came; every other one means `tool_calls` if there are calls, else `stop`."""
_BROKEN_OFF = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
"""Reasons for an end that is none: the server gave up. Those of OpenRouter, Z.ai, DeepSeek and vLLM."""
_KEPT_LISTS = ("reasoning_details", "thinking_blocks")
"""Signed reasoning, as OpenRouter and LiteLLM send it piece by piece; it goes back whole."""
_ONLY = -1
"""Where the one call stands that an answer has in `function_call`, the form before `tool_calls`."""
_TEXTS_IN_PIECES = ("text", "summary", "data", "thinking", "signature")


class ChatDecoder(Decoder):
    """Decodes one stream of chat completion chunks."""

    def __init__(
        self,
        ids: Ids,
        *,
        source: str = "the provider",
        model: str = "",
    ) -> None:
        """Make a decoder; see `Decoder`."""
        super().__init__(ids, source=source, model=model)
        self._by_index: dict[int, list[OpenCall]] = {}
        """The calls of each index, the latest last: some servers give every call the same one."""
        self._kept: dict[str, Any] = {}
        self._thoughts_kept = wants_thoughts(model)
        self._finish: str | None = None
        self._refused = False
        self._in_pieces = False
        """Whether the answer comes in deltas."""
        self._came_whole = False
        """Whether it came from a server that does not stream, which may leave out why it ended."""
        self._thinks_aloud = False
        """Whether its reasoning has a text of its own."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""
        return self._done or self._finish is not None or self._came_whole

    def _end(self, items: list[ModelItem]) -> None:
        if self._finish in _BROKEN_OFF:
            items.append(ModelFailure("overloaded", f"{self._source} gave the answer up: {self._finish}"))
            return
        if self._kept:
            self._answer.keep(self._kept)
        self._told = replace(self._told, finish_reason=self._finish)
        refused = self._refused and not any(call.name for call in self._answer.calls)
        reason = _FINISH_REASONS.get(self._finish or "", "stop")
        self._answer.end(items, "refused" if refused else reason, self._tokens)

    def _take(self, chunk: dict[str, Any], items: list[ModelItem]) -> None:
        if chunk.get("error") or chunk.get("object") == "error" or _is_bare_error(chunk):
            items.append(stream_failure(chunk, source=self._source))
            return
        if stopped := mapping(chunk.get("x_groq")).get("error"):
            items.append(stream_failure({"error": stopped}, source=self._source))
            return
        # Groq and Moonshot have further places for it.
        usage = chunk.get("usage") or mapping(chunk.get("x_groq")).get("usage")
        for choice in mappings(chunk.get("choices")):
            if choice.get("index") not in (0, None):
                continue  # a further candidate (n > 1)
            usage = usage or choice.get("usage")
            reason = choice.get("finish_reason")
            if isinstance(reason, str) and reason:
                self._finish = reason
            # `message` is what a server sends that does not stream; others repeat the whole answer in it at the end.
            delta = choice.get("delta") or (None if self._in_pieces else choice.get("message"))
            self._in_pieces = self._in_pieces or bool(choice.get("delta"))
            self._came_whole = self._came_whole or ("delta" not in choice and bool(choice.get("message")))
            if isinstance(delta, dict):
                self._feed_delta(cast("dict[str, Any]", delta), items)
        if usage:
            self._count(mapping(usage))

    def _count(self, usage: dict[str, Any]) -> None:
        given, made = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
        reasoning = count(mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"))
        total = (given or 0) + (made or 0) + (reasoning or 0)
        # xAI counts the reasoning apart from the rest of the answer.
        apart = reasoning or 0 if usage.get("total_tokens") == total else 0
        cached = (
            mapping(usage.get("prompt_tokens_details")).get("cached_tokens"),
            usage.get("prompt_cache_hit_tokens"),  # DeepSeek
            usage.get("cached_tokens"),  # Moonshot
        )
        cost = usage.get("cost")
        self._tokens = Tokens(
            input=given or 0,
            output=(made or 0) + apart,
            cached=next((n for n in map(count, cached) if n is not None), None),
            reasoning=reasoning,
            cost=float(cost) if isinstance(cost, int | float) and 0 <= cost < 1e9 else None,
        )
        self._told = replace(self._told, input_tokens=given, output_tokens=made)

    def _feed_delta(self, delta: dict[str, Any], items: list[ModelItem]) -> None:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str):
            if reasoning and self._thoughts_kept:
                key = "reasoning_content" if delta.get("reasoning_content") else "reasoning"
                self._kept[key] = self._kept.get(key, "") + reasoning
            self._thinks_aloud = self._thinks_aloud or bool(reasoning)
            self._answer.add_reasoning(reasoning, items)
        if not self._thinks_aloud:
            for detail in mappings(delta.get("reasoning_details")):
                self._answer.add_reasoning(string(detail.get("text") or detail.get("summary")), items)
        for key in _KEPT_LISTS:
            if given := delta.get(key):
                _join_pieces(self._kept.setdefault(key, []), mappings(given))
        content = delta.get("content")
        if isinstance(content, str):
            self._answer.add_text(content, items)
        elif isinstance(content, list):
            for part in cast("list[object]", content):
                if isinstance(part, str):
                    self._answer.add_text(part, items)
                else:
                    self._feed_part(mapping(part), items)
        elif content is not None:
            self._feed_part(mapping(content), items)
        refusal = delta.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._refused = True
            self._answer.add_text(refusal, items)
        if calls := delta.get("tool_calls"):
            named: list[OpenCall] = []
            for call in mappings(calls):
                self._feed_call(call, named)
        elif only := delta.get("function_call"):
            self._feed_call({"index": _ONLY, "function": only}, [])

    def _feed_part(self, part: dict[str, Any], items: list[ModelItem]) -> None:
        self._answer.add_text(string(part.get("text")), items)
        thinking = part.get("thinking")
        self._answer.add_reasoning(string(thinking), items)
        for thought in mappings(thinking):
            self._answer.add_reasoning(string(thought.get("text")), items)

    def _feed_call(self, delta: dict[str, Any], named: list[OpenCall]) -> None:
        """Take a piece of a call; `named` are those that the same delta named before it, and is added to."""
        function = mapping(delta.get("function")) or delta
        call_id, name = string(delta.get("id")), string(function.get("name"))
        arguments = function.get("arguments")
        if arguments is None:
            fragment = ""
        elif isinstance(arguments, str):
            fragment = arguments
        else:
            fragment = json.dumps(arguments, ensure_ascii=False)
        index = delta.get("index")
        if isinstance(index, int):
            calls = self._by_index.get(index, [])
            # An id that names one of them means it; others say nothing.
            known = (c for c in calls if call_id and c.id == call_id)
            call = next(known, calls[-1] if calls else None)
        else:
            calls = self._answer.calls
            known = (c for c in calls if call_id and c.id == call_id)
            call = next(known, calls[-1] if calls else None)
        parted = call is not None and call not in named and _goes_on(call, call_id, name, index)
        if call is None or (not parted and _begins_another(call, call_id, name, fragment)):
            call = self._answer.begin_call(call_id, name)
            if isinstance(index, int):
                self._by_index.setdefault(index, []).append(call)
        call.id = call.id or call_id
        if parted:
            # Its name comes in pieces, or as far as it goes each time.
            call.name = name if name.startswith(call.name) else call.name + name
        call.name = call.name or name
        if name:
            named.append(call)
        if fragment:
            call.arguments.append(fragment)
        if signed := delta.get("extra_content"):  # Gemini's signatures, in its variety of this dialect
            call.extra["extra_content"] = signed


def _is_bare_error(chunk: dict[str, Any]) -> bool:
    """Whether a payload is nothing but an error, without a key that says so."""
    if "choices" in chunk or "usage" in chunk:
        return False
    return any(isinstance(chunk.get(key), str) and chunk[key] for key in ("message", "detail"))


def _goes_on(call: OpenCall, call_id: str, name: str, index: object) -> bool:
    """Whether `name` is a further piece of the name of `call`: that ends where its arguments begin.

    Without an id and an index it is taken for another call, as servers that leave out both send calls whole.
    """
    if not (name and call.name) or name == call.name or "".join(call.arguments).strip():
        return False
    return call_id == call.id if call_id else isinstance(index, int)


def _begins_another(call: OpenCall, call_id: str, name: str, fragment: str) -> bool:
    """Whether a delta that points at `call` is a new call: some servers give every call the same index.

    Only a delta with a name can begin one; ids alone prove nothing, since some servers make one per delta.
    """
    if not (name and call.name):
        return False
    if call_id and call.id:
        return call_id != call.id
    return name != call.name or (bool(fragment) and call.is_whole())


def _join_pieces(kept: list[dict[str, Any]], pieces: list[dict[str, Any]]) -> None:
    """Add pieces of blocks: one of the same type and index as the last one goes on with it, unless it has another id."""
    for piece in pieces:
        last = kept[-1] if kept else {}
        same = all(last.get(key) == piece.get(key) for key in ("type", "index"))
        same = same and piece.get("id") in (None, "", last.get("id"))
        if not last or not same:
            kept.append(dict(piece))
            continue
        for key, value in piece.items():
            if key in _TEXTS_IN_PIECES and isinstance(value, str) and isinstance(last.get(key), str):
                last[key] += value
            elif value is not None:
                last[key] = value
