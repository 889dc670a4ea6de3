"""Models that speak the messages dialect of Anthropic.

Signed and redacted thinking goes back as it came and where it stood, with the answer it belongs to. What stays
the same from step to step is marked for the provider's cache.

Source: "Messages", "Streaming messages", "Extended thinking", "Prompt caching" and "Web search tool" of the Anthropic API reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from outrider.models.answer import CallBlock, OpenCall, TextBlock, Verbatim, blocks_of
from outrider.models.dialects.decoder import Decoder
from outrider.models.dialects.http_model import Call, HttpModel, completed
from outrider.models.http.failures import stream_failure
from outrider.models.http.payload import (
    call_id,
    count,
    encoded,
    index,
    mapping,
    mappings,
    object_of,
    string,
    tool_name,
)
from outrider.models.images import base64_of
from outrider.models.routing.families import answer_limit
from outrider.models.searches import SEARCH
from outrider.models.thinking import Told
from outrider.ports.model import FinishReason, Message, ModelFailure, ModelItem, ModelRequest, Tokens

_LONGEST_ID = 64
_MARK = {"type": "ephemeral"}
_MARKED_MESSAGES = 2
"""The last one, and the one that was the last before: a cache is looked for only some blocks back from a mark."""
_EMPTY = "(empty)"
_THOUGHTS = ("thinking", "redacted_thinking")
"""What no answer may end with."""
_FINISH_REASONS: dict[str, FinishReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
    "pause_turn": "length",  # a long answer with searches in it, which goes on when it is asked to
}
_SEARCH: Final = "web_search_20250305"
_MOST_SEARCHES: Final = 8
"""In one answer; after ten the provider pauses it."""


class AnthropicModel(HttpModel):
    """One model of a provider, for one conversation at a time."""

    def _call(self, request: ModelRequest) -> Call:
        return Call("/messages", encoded(self._body(request)))

    def _decoder(self) -> Decoder:
        return AnthropicDecoder(self._ids, source=self.source, model=self.name)

    def _answer_limit(self, request: ModelRequest) -> int:
        return request.max_tokens or answer_limit(self._model)

    def _told(self, request: ModelRequest) -> Told:
        told = super()._told(request)
        if not told.thinks or request.temperature is None or told.shortfall is not None:
            return told
        return replace(told, shortfall="does not accept a temperature while thinking, so none is sent")

    def _conversation(self, request: ModelRequest) -> dict[str, str | None]:
        # The vendor's own servers know no such key; OpenRouter takes its own in this dialect, too.
        return super()._conversation(request) if self._server.name == "openrouter" else {}

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        system = [_text(m.text) for m in request.messages if m.role == "system" and m.text.strip()]
        if system:
            system[-1]["cache_control"] = _MARK
        tools: list[dict[str, Any]] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)}
            for tool in request.tools
        ]
        if self._is_to_search(request):
            tools.append({"type": _SEARCH, "name": SEARCH, "max_uses": _MOST_SEARCHES})
        thinking = self._told(request)
        fields: dict[str, Any] = {
            "max_tokens": self._answer_limit(request),
            # A request to think with a temperature is refused.
            "temperature": None if thinking.thinks else request.temperature,
            **thinking.fields,
            **self._conversation(request),
            **self._settings.extra_body,
            "model": self._model,
            "stream": True,
            "system": system or None,
            "tools": tools or None,
            "messages": _messages(request, self.name),
        }
        if not tools and (called := _called(request.messages)):
            # Calls in the conversation are refused where no tools are declared, as for a summary.
            fields |= {"tools": called, "tool_choice": {"type": "none"}}
        return {key: value for key, value in fields.items() if value is not None}


def _messages(request: ModelRequest, model: str) -> list[dict[str, Any]]:
    """The turns: what is not the model's own is the user's, and neighbours of one side are one message."""
    turns: list[dict[str, Any]] = []
    for message in completed(request.messages):
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, model, request)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        turn["content"] = turn["content"] or [_text(_EMPTY)]
    for turn in [turn for turn in turns if turn["role"] == "user"][-_MARKED_MESSAGES:]:
        turn["content"][-1] = {**turn["content"][-1], "cache_control": _MARK}
    return turns


def _called(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Declarations of the tools that were called, which say nothing else."""
    names = dict.fromkeys(tool_name(call.name) for message in messages for call in message.tool_calls)
    return [{"name": name, "input_schema": {"type": "object"}} for name in names]


def _blocks(message: Message, model: str, request: ModelRequest) -> list[dict[str, Any]]:
    contents = request.images
    if message.role == "tool":
        given = call_id(message.tool_call_id or "", _LONGEST_ID)
        content = _shown(message, contents) if message.images else message.text
        result: dict[str, Any] = {"type": "tool_result", "tool_use_id": given, "content": content}
        return [{**result, "is_error": True} if message.tool_call_id in request.failed else result]
    if message.role != "assistant":
        return _shown(message, contents)
    blocks: list[dict[str, Any]] = []
    for block in blocks_of(message, model):
        match block:
            case Verbatim():
                blocks.append(dict(block.block))
            case TextBlock():
                if block.text.strip():  # text of nothing but white space is refused
                    blocks.append({**_text(block.text), **block.extra})
            case CallBlock(call):
                use = {"id": call_id(call.id, _LONGEST_ID), "name": tool_name(call.name)}
                blocks.append({"type": "tool_use", **use, "input": object_of(call.arguments)})
    if blocks and blocks[-1].get("type") in _THOUGHTS:
        blocks.append(_text(_EMPTY))
    return blocks


def _shown(message: Message, contents: Mapping[str, bytes]) -> list[dict[str, Any]]:
    blocks = [_text(message.text)] if message.text.strip() else []
    for image in message.images:
        source = {"type": "base64", "media_type": image.media_type, "data": base64_of(image, contents)}
        blocks.append({"type": "image", "source": source})
    return blocks


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@dataclass(slots=True)
class _Kept:
    """A block that goes back word for word."""

    block: dict[str, Any]
    pieces: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """What came of its texts since it began."""


class AnthropicDecoder(Decoder):
    """Decodes the events of one message."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Make a decoder; see `Decoder`."""
        super().__init__(*args, **named)
        self._calls: dict[int, OpenCall] = {}
        self._given: set[int] = set()
        """Calls whose arguments stood in their first event, which counts unless they come in pieces too."""
        self._kept: list[_Kept] = []
        self._growing: dict[int, _Kept] = {}
        self._quotes: dict[int, dict[str, Any]] = {}
        """What goes back with a text: the places it cites."""
        self._usage: dict[str, Any] = {}
        self._begun = False
        """Whether any block came."""
        self._stop: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""
        return self._done or self._stop is not None

    def _take(self, chunk: dict[str, Any], items: list[ModelItem]) -> None:
        number = index(chunk.get("index")) or 0
        match chunk.get("type"):
            case "message_start" if self._begun and not self._done:
                # A proxy asked again, and put the second answer behind what it had of the first one.
                what = f"the stream of {self._source} restarted its answer"
                items.append(ModelFailure("cut_stream", what))
            case "message_start":
                self._take_message(mapping(chunk.get("message")), items)
            case "message":  # from a server that does not stream
                self._take_message(chunk, items)
                self._done = True
            case "content_block_start":
                self._begin(number, mapping(chunk.get("content_block")), items)
            case "content_block_delta":
                self._go_on(number, mapping(chunk.get("delta")), items)
            case "message_delta":
                self._note(mapping(chunk.get("delta")), chunk.get("usage"))
            case "message_stop":
                self._done = True
            case "error":
                items.append(stream_failure(chunk, source=self._source))
            case _ if chunk.get("error"):
                items.append(stream_failure(chunk, source=self._source))
            case _:
                pass  # ping, plus what is new

    def _take_message(self, message: dict[str, Any], items: list[ModelItem]) -> None:
        for number, block in enumerate(mappings(message.get("content"))):
            self._begin(number, block, items)
        self._note(message, message.get("usage"))

    def _note(self, message: dict[str, Any], usage: object) -> None:
        self._stop = string(message.get("stop_reason")) or self._stop
        self._usage |= {key: value for key, value in mapping(usage).items() if value is not None}

    def _begin(self, number: int, block: dict[str, Any], items: list[ModelItem]) -> None:
        kind = block.get("type")
        self._begun = True
        self._calls.pop(number, None)
        self._growing.pop(number, None)
        self._given.discard(number)
        self._quotes.pop(number, None)
        if kind == "text":
            cited = mappings(block.get("citations"))
            self._quotes[number] = {"citations": cited} if cited else {}
            self._answer.begin_text(self._quotes[number])
            self._answer.add_text(string(block.get("text")), items)
        elif kind == "tool_use":
            call = self._answer.begin_call(string(block.get("id")), string(block.get("name")))
            if given := block.get("input"):
                call.arguments.append(encoded(given).decode())
                self._given.add(number)
            self._calls[number] = call
        elif isinstance(kind, str):
            kept = self._growing[number] = _Kept(dict(block))
            self._kept.append(kept)
            self._answer.keep(kept.block)
            self._answer.add_reasoning(string(block.get("thinking")), items)

    def _go_on(self, number: int, delta: dict[str, Any], items: list[ModelItem]) -> None:
        match delta.get("type"):
            case "text_delta":
                self._answer.add_text(string(delta.get("text")), items)
            case "input_json_delta":
                piece = string(delta.get("partial_json"))
                if call := self._calls.get(number):
                    if piece and number in self._given:
                        self._given.discard(number)
                        call.arguments.clear()
                    call.arguments.append(piece)
                else:
                    self._add(number, "input", piece)
            case "thinking_delta":
                thought = string(delta.get("thinking"))
                self._add(number, "thinking", thought)
                self._answer.add_reasoning(thought, items)
            case "citations_delta" if number in self._quotes:
                self._quotes[number].setdefault("citations", []).append(delta.get("citation"))
            case _:
                # Signatures, and whatever else blocks are made of that go back as they came.
                for key in delta.keys() - {"type"}:
                    self._add(number, key, string(delta[key]))

    def _add(self, number: int, key: str, piece: str) -> None:
        if (kept := self._growing.get(number)) and piece:
            kept.pieces.setdefault(key, []).append(piece)

    def _end(self, items: list[ModelItem]) -> None:
        for kept in self._kept:
            block = kept.block
            for key, pieces in kept.pieces.items():
                whole = "".join(pieces)
                block[key] = object_of(whole) if key == "input" else string(block.get(key)) + whole
            if block.get("type") == "thinking" and not block.get("signature"):
                self._answer.drop(block)  # it was cut off, and is refused without its signature
        self._count()
        self._answer.end(items, _FINISH_REASONS.get(self._stop or "", "stop"), self._tokens)

    @property
    def tokens(self) -> Tokens | None:
        """What the provider counted so far: it begins an answer with the tokens of the request."""
        if self._usage:
            self._count()
        return self._tokens

    def _count(self) -> None:
        given, made = count(self._usage.get("input_tokens")), count(self._usage.get("output_tokens"))
        self._told = replace(self._told, finish_reason=self._stop, input_tokens=given, output_tokens=made)
        if given is None and made is None:
            return
        read = count(self._usage.get("cache_read_input_tokens"))
        written = count(self._usage.get("cache_creation_input_tokens"))
        details = mapping(self._usage.get("output_tokens_details"))
        # The provider counts apart what it read from its cache or wrote to it.
        self._tokens = Tokens(
            input=(given or 0) + (read or 0) + (written or 0),
            output=made or 0,
            cached=read,
            reasoning=count(details.get("thinking_tokens")),
        )
