"""Models that speak the chat completions dialect of OpenAI, which most providers and local servers offer."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from outrider.models.answer import CallBlock, OpenCall, Verbatim, blocks_of
from outrider.models.dialects.decoder import Decoder
from outrider.models.dialects.http_model import Call, HttpModel, completed
from outrider.models.http.chat_servers import SHORT_ID, ChatServer
from outrider.models.http.failures import stream_failure
from outrider.models.http.payload import (
    call_id,
    count,
    encoded,
    is_object,
    mapping,
    mappings,
    object_of,
    string,
    tool_name,
)
from outrider.models.images import behind_results, data_url
from outrider.models.thinking import text_of, wants_thoughts
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    Message,
    ModelFailure,
    ModelItem,
    ModelRequest,
    Tokens,
    ToolCall,
    ToolSpec,
)

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
_SAYS = (
    "content",
    "tool_calls",
    "function_call",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
)
"""Keys of a delta that say something of the answer."""
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
        self._kept: dict[str, list[str] | list[_KeptBlock]] = {}
        """What goes back word for word: the pieces of a text, or blocks."""
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
            self._answer.keep({key: _whole(pieces) for key, pieces in self._kept.items()})
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
            delta = choice.get("delta")
            if not self._in_pieces and _says_more(choice.get("message"), delta):
                delta = choice["message"]
            self._in_pieces = self._in_pieces or bool(delta and delta is choice.get("delta"))
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

    def _feed_reasoning(self, delta: dict[str, Any], items: list[ModelItem]) -> None:
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if isinstance(reasoning, str):
            if reasoning and self._thoughts_kept:
                key = "reasoning_content" if delta.get("reasoning_content") else "reasoning"
                cast("list[str]", self._kept.setdefault(key, list[str]())).append(reasoning)
            self._thinks_aloud = self._thinks_aloud or bool(reasoning)
            self._answer.add_reasoning(reasoning, items)
        if not self._thinks_aloud:
            for detail in mappings(delta.get("reasoning_details")):
                self._answer.add_reasoning(string(detail.get("text") or detail.get("summary")), items)

    def _feed_delta(self, delta: dict[str, Any], items: list[ModelItem]) -> None:
        self._feed_reasoning(delta, items)
        for key in _KEPT_LISTS:
            if given := delta.get(key):
                blocks = cast("list[_KeptBlock]", self._kept.setdefault(key, list[_KeptBlock]()))
                _join_pieces(blocks, mappings(given))
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


def _says_more(message: object, delta: object) -> bool:
    """Whether the answer is in `message`: Perplexity puts an empty `delta` beside it in an answer that is not streamed."""
    return bool(message) and not any(mapping(delta).get(key) for key in _SAYS)


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


class _KeptBlock:
    """A block that goes back as it came, while its pieces come."""

    def __init__(self, piece: dict[str, Any]) -> None:
        self.fields = dict(piece)
        self._texts: dict[str, list[str]] = {}

    def add(self, piece: dict[str, Any]) -> None:
        """Go on with a piece."""
        for key, value in piece.items():
            if key in _TEXTS_IN_PIECES and isinstance(value, str) and isinstance(self.fields.get(key), str):
                self._texts.setdefault(key, [self.fields[key]]).append(value)
            elif value is not None:
                self.fields[key] = value
                self._texts.pop(key, None)

    def whole(self) -> dict[str, Any]:
        """The block, its keys in the order they came."""
        return {**self.fields, **{key: "".join(pieces) for key, pieces in self._texts.items()}}


def _whole(pieces: list[str] | list[_KeptBlock]) -> str | list[dict[str, Any]]:
    blocks = [one.whole() for one in pieces if isinstance(one, _KeptBlock)]
    return blocks or "".join(one for one in pieces if isinstance(one, str))


def _join_pieces(kept: list[_KeptBlock], pieces: list[dict[str, Any]]) -> None:
    """Add pieces of blocks: one of the same type and index as the last one goes on with it, unless it has another id."""
    for piece in pieces:
        last = kept[-1].fields if kept else {}
        same = all(last.get(key) == piece.get(key) for key in ("type", "index"))
        same = same and piece.get("id") in (None, "", last.get("id"))
        if not last or not same:
            kept.append(_KeptBlock(piece))
        else:
            kept[-1].add(piece)


CACHE_MARK = {"type": "ephemeral"}
MARKED_MESSAGES = 2


class ChatRequestEncoder:
    """Encodes the requests of one conversation."""

    def __init__(
        self,
        model: str,
        extra_body: Mapping[str, Any],
        *,
        server: ChatServer | None = None,
        full_name: str = "",
        marks: bool = False,
    ) -> None:
        """Make an encoder.

        Args:
            model: The model, as the provider names it.
            extra_body: Further keys of the body; null leaves out a key that would be there by default.
            server: What is peculiar about who is asked.
            full_name: `provider/name` of the model, which gets back what it wants back.
            marks: Whether what a prompt cache should keep is marked, as Anthropic and Alibaba Cloud want it. Texts are
                lists of one part then, in every message, so that a message stays the same when its mark moves on.
        """
        self._model = model
        self._extra_body = extra_body
        self._server = server or ChatServer()
        self._full_name = full_name
        self._marks = marks
        self._kept: list[Message] = []
        """What the last request had before its last step, or nothing where marks move. The next one mostly begins with it."""
        self._kept_parts: list[bytes] = []
        """Its encoding."""
        self._latest: dict[tuple[str, bool], bytes] = {}
        """Encodings of the rest of it by digest, with and without a mark."""
        self._head: tuple[object, bytes] = (None, b"")
        """What stands before the messages, which changes with nothing but its first value."""

    def encode(self, request: ModelRequest, further: Mapping[str, Any] | None = None) -> bytes:
        """The whole body. The messages stand last, after all that stays the same from step to step.

        Args:
            request: The request.
            further: Further keys of the body, which `extra_body` may change.
        """
        messages, kept = list(request.messages), len(self._kept)
        if self._marks or messages[:kept] != self._kept:  # the same objects are compared in no time
            self._kept_parts, kept = [], 0
        last = 0 if self._marks else _last_step(messages, kept)
        self._kept_parts += self._encoded(messages[kept:last], request.images)[1]
        self._kept = messages[:last]
        self._latest, parts = self._encoded(messages[last:], request.images)
        varying = (request.tools, request.temperature, request.max_tokens, further)
        if self._head[0] != varying:
            self._head = (varying, encoded(self._head_fields(request, further or {}))[:-1])
        return b"".join([self._head[1], b',"messages":[', b",".join([*self._kept_parts, *parts]), b"]}"])

    def _encoded(
        self, messages: Sequence[Message], images: Mapping[str, bytes]
    ) -> tuple[dict[tuple[str, bool], bytes], list[bytes]]:
        """Messages from the beginning of a step on, each one written: by their digests and marks, and in order."""
        found: dict[tuple[str, bool], bytes] = {}
        parts: list[bytes] = []
        role = ""
        messages = behind_results(completed(messages))
        marked = _marked(messages) if self._marks else frozenset[int]()
        for number, message in enumerate(messages):
            if (role, message.role) == ("tool", "user") and (between := self._server.answer_after_tools):
                parts.append(encoded({"role": "assistant", "content": between}))
            role = message.role
            key = message.digest, number in marked
            part = self._latest.get(key) or encoded(self._message(message, images, marked=key[1]))
            found[key] = part
            parts.append(part)
        return found, parts

    def _head_fields(self, request: ModelRequest, further: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": self._model,
            "stream": True,
            "stream_options": {"include_usage": True} if self._server.usage_asked else None,
            "temperature": request.temperature,
            self._server.answer_limit: request.max_tokens,
            **dict(self._server.further),
            **further,
            **self._extra_body,
        }
        # What the decoder and the loop rely on is not for settings to change.
        fields |= {"model": self._model, "stream": True, "tools": _tools(request.tools) or None}
        fields.pop("messages", None)
        return {key: value for key, value in fields.items() if value is not None}

    def _message(self, message: Message, contents: Mapping[str, bytes], *, marked: bool) -> dict[str, Any]:
        fields: dict[str, Any] = {"role": message.role, "content": message.text}
        if self._marks and message.role != "assistant":
            fields["content"] = [{"type": "text", "text": message.text}]
        if message.images:
            shown = [
                {"type": "image_url", "image_url": {"url": data_url(image, contents)}}
                for image in message.images
            ]
            fields["content"] = [{"type": "text", "text": message.text}, *shown]
        if marked:
            fields["content"] = [
                *fields["content"][:-1],
                {**fields["content"][-1], "cache_control": CACHE_MARK},
            ]
        if message.role == "tool":
            fields["tool_call_id"] = self._id(message.tool_call_id or "")
        if message.role != "assistant":
            return fields
        fields["content"] = text = text_of(message, self._full_name)
        calls: list[dict[str, Any]] = []
        for block in blocks_of(message, self._full_name):
            if isinstance(block, Verbatim):
                fields = {**block.block, **fields}
            elif isinstance(block, CallBlock):
                calls.append({**self._tool_call(block.call), **block.extra})
        if calls:
            # Null, not "": some servers refuse empty text beside calls, none refuses null there.
            fields |= {"content": text or None, "tool_calls": calls}
            if back := self._server.reasoning_back:
                fields[back] = message.reasoning or ""
        return fields

    def _tool_call(self, call: ToolCall) -> dict[str, Any]:
        arguments = call.arguments
        if not is_object(arguments):
            arguments = encoded(object_of(arguments)).decode()
        function = {"name": tool_name(call.name), "arguments": arguments}
        return {"id": self._id(call.id), "type": "function", "function": function}

    def _id(self, given: str) -> str:
        most = self._server.id_length
        return given if most is None else call_id(given, most, exactly=most == SHORT_ID)


def _last_step(messages: Sequence[Message], kept: int) -> int:
    """Where the model's last answer stands that is sent: what comes before it is written in the same way the next time."""
    for number in range(len(messages) - 1, kept, -1):
        message = messages[number]
        if message.role == "assistant" and (message.tool_calls or message.text.strip()):
            return number
    return kept


def _marked(messages: Sequence[Message]) -> frozenset[int]:
    """The messages that end what a cache should keep: the system message, and the last two that are not the model's.

    The latter are the end of this request and that of the one before: a cache is looked for only some blocks back
    from a mark.
    """
    system = [number for number, one in enumerate(messages) if one.role == "system" and one.text][-1:]
    others = [number for number, one in enumerate(messages) if one.role in ("user", "tool") and one.text]
    # Results of one step follow each other: the last of each stretch ends a request.
    later = set(others)
    ends = [number for number in others if number + 1 not in later]
    return frozenset([*system, *ends[-MARKED_MESSAGES:]])


def _tools(tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.schema),
            },
        }
        for tool in tools
    ]


class OpenAiChatModel(HttpModel):
    """One model of a provider, for one conversation at a time."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Make a model; see `HttpModel`."""
        super().__init__(*args, **named)
        given, server = self._provider.settings, self._server
        marks = server.takes_marks(self._model) if given.cache_marks is None else given.cache_marks
        self._encoder = ChatRequestEncoder(
            self._model, given.extra_body, server=server, full_name=self.name, marks=marks
        )

    @property
    def thinks_in_text(self) -> bool:
        """Whether thoughts may stand in the text of answers."""
        return self._server.thoughts_in_text

    def _call(self, request: ModelRequest) -> Call:
        return Call(
            "/chat/completions",
            self._encoder.encode(request, {**self._told(request).fields, **self._conversation(request)}),
        )

    def _decoder(self) -> Decoder:
        return ChatDecoder(self._ids, source=self.source, model=self.name)
