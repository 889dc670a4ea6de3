"""Models that speak Google's `streamGenerateContent`.

Thought signatures go back on the part they came with: a request in which one is missing is refused.

Source: "Generating content", "Function calling", "Thought signatures", "Grounding with Google Search" and "Tool combination" of the Gemini API
reference.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, Final, cast
from urllib.parse import quote

from outrider.models.answer import CallBlock, OpenCall, TextBlock, Verbatim, blocks_of
from outrider.models.dialects.decoder import PIECE_KEYS, Decoder, PartialArgs
from outrider.models.dialects.http_model import Call, HttpModel, completed
from outrider.models.http.failures import stream_failure
from outrider.models.http.payload import (
    count,
    encoded,
    index,
    mapping,
    mappings,
    object_of,
    string,
    tool_name,
)
from outrider.models.images import base64_of, behind_results
from outrider.models.searches import GROUNDING, MOST
from outrider.ports.model import FinishReason, Image, Message, ModelFailure, ModelItem, ModelRequest, Tokens

_SIGNATURE: Final = "thoughtSignature"
_NO_SIGNATURE = {_SIGNATURE: "skip_thought_signature_validator"}
"""What the API takes for a call that another model made, or that was made without thinking."""
_CAPITAL = re.compile("[A-Z]")
_GENERATION = re.compile(r"gemini-(\d{1,3})")
_FIRST_NEW = 3
"""Generation of the models that refuse a call without one, whose results of functions can hold images, and that take functions and tools of
Google's own in one request."""
_OF_GOOGLE = frozenset({"toolCall", "toolResponse", "tool_call", "tool_response"})
"""Parts in which a tool of Google's own is called, or answers."""
_FINISH_REASONS: dict[str, FinishReason] = {
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "LANGUAGE": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
    "IMAGE_SAFETY": "refused",
    "IMAGE_PROHIBITED_CONTENT": "refused",
    "IMAGE_RECITATION": "refused",
    "MODEL_ARMOR": "refused",
}
_BROKEN = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
    }
)
"""Reasons that mean the model's answer is not there, and may well be if it is asked again."""
_NUMBERED = dict(
    enumerate(
        (
            "STOP",
            "MAX_TOKENS",
            "SAFETY",
            "RECITATION",
            "OTHER",
            "LANGUAGE",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
        ),
        start=1,
    )
) | {10: "MALFORMED_FUNCTION_CALL"}
"""Reasons by their numbers."""
_COUNTS = (
    "promptTokenCount",
    "toolUsePromptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "cachedContentTokenCount",
)
_NOT_TAKEN = frozenset({"image/gif"})
_SCHEMA_KEYS = frozenset({"$schema", "$id", "$comment"})
"""What the API does not take in a schema."""


class GeminiModel(HttpModel):
    """One model of a provider, for one conversation at a time."""

    def _call(self, request: ModelRequest) -> Call:
        name = quote(self._model.removeprefix("models/"), safe="")
        path = f"/models/{name}:streamGenerateContent"
        return Call(path, encoded(self._body(request)), query="alt=sse")

    def _decoder(self) -> Decoder:
        return GeminiDecoder(self._ids, source=self.source, model=self.name)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        system = [{"text": m.text} for m in request.messages if m.role == "system" and m.text]
        extra = dict(self._settings.extra_body)
        generation = {
            "temperature": request.temperature,
            "maxOutputTokens": request.max_tokens,
            **self._told(request).fields,
            **mapping(extra.pop("generationConfig", None)),
        }
        searches = self._is_to_search(request)
        declared = [
            {
                "name": tool.name,
                "description": tool.description,
                "parametersJsonSchema": _schema(tool.schema),
            }
            for tool in request.tools
        ]
        fields: dict[str, Any] = {
            "systemInstruction": {"parts": system} if system else None,
            "generationConfig": {key: value for key, value in generation.items() if value is not None},
            **extra,
            "tools": [
                *([{"functionDeclarations": declared}] if declared else []),
                *([{"googleSearch": {}}] if searches else []),
            ]
            or None,
            "contents": _contents(request.messages, self.name, request.images, searches=searches),
        }
        if searches:  # only so do both kinds of tools go together
            told = mapping(extra.get("toolConfig"))
            fields["toolConfig"] = {**told, "includeServerSideToolInvocations": True}
        return {key: value for key, value in fields.items() if value is not None}


def _contents(
    messages: Sequence[Message], model: str, images: Mapping[str, bytes], *, searches: bool
) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    contents: list[dict[str, Any]] = []
    whole = completed(messages)
    for message in whole if combines_tools(model) else behind_results(whole):
        if message.role == "system":
            continue
        names |= {call.id: call.name for call in message.tool_calls}
        role = "model" if message.role == "assistant" else "user"
        parts = _parts(message, model, names, images, searches=searches)
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    return [content for content in contents if content["parts"]]


def _parts(
    message: Message, model: str, names: Mapping[str, str], images: Mapping[str, bytes], *, searches: bool
) -> list[dict[str, Any]]:
    shown = [_shown(image, images) for image in message.images]
    if message.role == "tool":
        name = tool_name(names.get(message.tool_call_id or "", ""))
        answer: dict[str, Any] = {"name": name, "response": {"result": message.text}}
        if searches:  # beside a tool of its own the provider goes by ids
            answer["id"] = message.tool_call_id or ""
        if inside := [part for part in shown if "inlineData" in part]:
            answer["parts"] = inside
        return [{"functionResponse": answer}, *(part for part in shown if "text" in part)]
    if message.role != "assistant":
        return [*([{"text": message.text}] if message.text else []), *shown]
    parts: list[dict[str, Any]] = []
    blocks = blocks_of(message, model)
    calls = [block for block in blocks if isinstance(block, CallBlock)]
    signed = not combines_tools(model) or any(_SIGNATURE in call.extra for call in calls)
    for block in blocks:
        match block:
            case Verbatim():
                if GROUNDING not in block.block and (searches or not _OF_GOOGLE & block.block.keys()):
                    parts.append(dict(block.block))
            case TextBlock():
                parts.append({"text": block.text, **block.extra})
            case CallBlock(call, extra):
                made = {"name": tool_name(call.name), "args": object_of(call.arguments)}
                made |= {"id": call.id} if searches else {}
                mark = {} if signed else _NO_SIGNATURE
                signed = True  # only the first of parallel calls has one
                parts.append({"functionCall": made, **mark, **extra})
    return parts


def _shown(image: Image, contents: Mapping[str, bytes]) -> dict[str, Any]:
    if image.media_type in _NOT_TAKEN:
        return {"text": f"[{image.name}: this provider does not support {image.media_type}]"}
    return {"inlineData": {"mimeType": image.media_type, "data": base64_of(image, contents)}}


def combines_tools(model: str) -> bool:
    """Whether a model is of a generation that takes tools of Google's own beside others."""
    generation = _GENERATION.search(model)
    return generation is not None and int(generation[1]) >= _FIRST_NEW


def _schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key not in _SCHEMA_KEYS}


def _of(fields: Mapping[str, Any], key: str) -> object:
    """What stands under `key`, which gateways may write as the API's own definition does, `like_this`."""
    found = fields.get(key)
    return fields.get(_snake(key)) if found is None else found


@cache
def _snake(key: str) -> str:
    return _CAPITAL.sub(lambda capital: f"_{capital[0].lower()}", key)


def _reason(value: object) -> str:
    """Why an answer ended, by its name; gateways may write the number that it has in the API's definition."""
    number = index(value)
    return string(value) if number is None else _NUMBERED.get(number, "OTHER" if number else "")


class GeminiDecoder(Decoder):
    """Decodes the chunks of one answer."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Make a decoder; see `Decoder`."""
        super().__init__(*args, **named)
        self._finish: str | None = None
        self._blocked: str | None = None
        self._in_text = False
        self._usage: dict[str, int] = {}
        self._found: dict[str, list[Any]] = {"webSearchQueries": [], "groundingChunks": []}
        """What it searched for, and the pages that it found."""
        self._growing: tuple[OpenCall, PartialArgs] | None = None
        """A call whose arguments come in pieces."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""
        return self._done or self._finish is not None or self._blocked is not None

    @property
    def may_end_here(self) -> bool:
        """Whether the answer counts as complete if the stream ends by itself now."""
        # Without a reason the model has not stopped. But a call comes whole: an answer that made and counted one may lack it.
        called = self._told.output_tokens is not None and bool(self._answer.calls)
        return self.is_whole or called

    def _take(self, chunk: dict[str, Any], items: list[ModelItem]) -> None:
        if chunk.get("error"):
            items.append(stream_failure(chunk, source=self._source))
            return
        # Code Assist and some gateways put each chunk into an envelope.
        chunk = mapping(chunk.get("response")) or chunk
        self._blocked = string(_of(mapping(_of(chunk, "promptFeedback")), "blockReason")) or self._blocked
        for candidate in mappings(chunk.get("candidates")):
            if candidate.get("index") not in (0, None):
                continue
            for part in mappings(mapping(candidate.get("content")).get("parts")):
                self._take_part(part, items)
            self._take_grounding(mapping(_of(candidate, GROUNDING)))
            self._finish = _reason(_of(candidate, "finishReason")) or self._finish
        if usage := mapping(_of(chunk, "usageMetadata")):
            self._count(usage)

    def _take_part(self, part: dict[str, Any], items: list[ModelItem]) -> None:
        signed = string(_of(part, _SIGNATURE))
        signature = {_SIGNATURE: signed} if signed else {}
        text = part.get("text")
        if (called := _of(part, "functionCall")) is not None:
            self._take_call(mapping(called), signature)
            self._in_text = False
        elif part.get("thought") is True:
            self._answer.add_reasoning(string(text), items)
            if signature:
                self._answer.keep({"text": string(text), "thought": True, **signature})
                self._in_text = False
        elif isinstance(text, str):
            # A part with a signature is never put together with its neighbours.
            if signature or not self._in_text:
                self._answer.begin_text(signature)
            self._answer.add_text(text, items)
            self._in_text = not signature
        elif part:
            called_for = mapping(mapping(_of(part, "toolCall")).get("args")).get("queries")
            self._take_grounding({"webSearchQueries": called_for})
            self._answer.keep(part)  # what a tool of Google's own wrote or gave
            self._in_text = False

    def _take_grounding(self, said: Mapping[str, Any]) -> None:
        """Keep what a chunk says of a search; a later chunk may repeat it."""
        for key, told in self._found.items():
            more = _of(said, key)
            for one in cast("list[Any]", more) if isinstance(more, list) else ():
                if one not in told and len(told) < MOST:
                    told.append(one)

    def _take_call(self, called: dict[str, Any], signature: Mapping[str, Any]) -> None:
        pieces, goes_on = mappings(_of(called, "partialArgs")), _of(called, "willContinue") is True
        if called.get("name") or (self._growing is None and called.get("args")):
            call = self._answer.begin_call(string(called.get("id")), string(called.get("name")))
            given = called.get("args")
            call.arguments.append(given if isinstance(given, str) else encoded(mapping(given)).decode())
            call.extra |= signature
            self._growing = (call, PartialArgs(mapping(given))) if goes_on or pieces else None
        if self._growing is not None:
            call, arguments = self._growing
            for piece in pieces:
                arguments.add(
                    {key: _of(piece, key) for key in PIECE_KEYS if {key, _snake(key)} & piece.keys()}
                )
            call.arguments[:] = [arguments.text(ended=not goes_on)]
            self._growing = self._growing if goes_on else None

    def _end(self, items: list[ModelItem]) -> None:
        self._told = replace(self._told, finish_reason=self._finish)
        if self._blocked and self._finish is None:
            items.append(
                ModelFailure("refused", f"{self._source} does not answer this request: {self._blocked}")
            )
        elif self._finish in _BROKEN and not self._answer.calls:
            items.append(ModelFailure("overloaded", f"{self._source} gave no answer: {self._finish}"))
        else:
            if any(self._found.values()):
                self._answer.keep({GROUNDING: self._found})  # for the user; it does not go back
            self._answer.end(items, _FINISH_REASONS.get(self._finish or "", "stop"), self._tokens)

    def _count(self, usage: dict[str, Any]) -> None:
        given, made = count(_of(usage, "promptTokenCount")), count(_of(usage, "candidatesTokenCount"))
        self._told = replace(self._told, input_tokens=given, output_tokens=made)
        # Each is the count so far; the last chunk may leave out what an earlier one told.
        self._usage |= {key: told for key in _COUNTS if (told := count(_of(usage, key))) is not None}
        thought = self._usage.get("thoughtsTokenCount")
        # The provider counts thoughts, and what its own tools read, apart.
        self._tokens = Tokens(
            input=self._usage.get("promptTokenCount", 0) + self._usage.get("toolUsePromptTokenCount", 0),
            output=self._usage.get("candidatesTokenCount", 0) + (thought or 0),
            cached=self._usage.get("cachedContentTokenCount"),
            reasoning=thought,
        )
