"""Models that Ollama serves, over its own `/api/chat`, which is the one that lets the context length be set.

What a model can do is asked once, before its first request.

Source: "Generate a chat completion" and "Show model information" of the Ollama API reference.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

from outrider.models.dialects.decoder import Decoder
from outrider.models.dialects.http_model import Call, HttpModel, completed
from outrider.models.http.failures import stream_failure
from outrider.models.http.payload import count, encoded, mapping, mappings, object_of, string, tool_name
from outrider.models.images import base64_of, behind_results
from outrider.models.routing.facts import OLLAMA_WINDOW, Facts, facts_of_shown
from outrider.models.thinking import Way, ollama_way
from outrider.ports.model import FinishReason, Message, ModelFailure, ModelItem, ModelRequest, Tokens

_FINISH_REASONS: dict[str, FinishReason] = {
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refused",
}


class OllamaModel(HttpModel):
    """One model of a server, for one conversation at a time."""

    lines = True
    _known: dict[str, Any] | None = None
    """What the server told of the model."""

    @property
    def facts(self) -> Facts | None:
        """What its server told of it; None until it was asked."""
        return None if self._known is None else facts_of_shown(self._known)

    @property
    def context_window(self) -> int:
        """Tokens it can take, its answer included; never more than it was made for."""
        set_here = "context_window" in self._settings.model_fields_set
        window = self._settings.context_window if set_here else OLLAMA_WINDOW
        made_for = self.facts and self.facts.context_window
        return min(window, made_for or window)

    @property
    def thinks_in_text(self) -> bool:
        """Whether thoughts may stand in the text of answers: some templates have it so."""
        return True

    @property
    def takes_tools(self) -> bool | None:
        """Whether it can call tools; None while it is not known."""
        return self.facts.tools if self.facts else None

    def _way(self) -> Way | None:
        known = self._known or {}
        values = mapping(known.get("thinking")).get("values")
        return ollama_way(
            cast("list[object]", values) if isinstance(values, list) else [],
            thinks=bool(self.facts and self.facts.reasoning),
            name=self._model,
        )

    async def _prepare(self, request: ModelRequest) -> ModelFailure | None:
        if self._known is None:
            shown = await self._provider.look_up(self._path("/show"), encoded({"model": self._model}))
            if isinstance(shown, ModelFailure):
                # A gateway may not have it; the request itself says whether there is the model.
                return shown if shown.kind in ("auth", "connection", "timeout", "stalled") else None
            self._known = mapping(shown)
        if request.tools and self.takes_tools is False:
            return ModelFailure("no_tools", f"{self.source}: the model {self._model} does not support tools")
        return None

    def _call(self, request: ModelRequest) -> Call:
        return Call(self._path("/chat"), encoded(self._body(request)))

    def _decoder(self) -> Decoder:
        return OllamaDecoder(self._ids, source=self.source, model=self.name)

    def _path(self, path: str) -> str:
        # Both forms of its address are common.
        return path if urlsplit(self._settings.base_url).path.rstrip("/").endswith("/api") else f"/api{path}"

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        extra = dict(self._settings.extra_body)
        options = {
            "num_ctx": self.context_window,
            "temperature": request.temperature,
            "num_predict": request.max_tokens,
            **mapping(extra.pop("options", None)),
        }
        fields: dict[str, Any] = {
            "options": {key: value for key, value in options.items() if value is not None},
            **self._told(request).fields,
            **extra,
            "model": self._model,
            "stream": True,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.schema),
                    },
                }
                for tool in request.tools
            ]
            or None,
            "messages": _messages(request.messages, request.images),
        }
        return {key: value for key, value in fields.items() if value is not None}


def _messages(messages: Sequence[Message], contents: Mapping[str, bytes]) -> list[dict[str, Any]]:
    names: dict[str, str] = {}
    listed: list[dict[str, Any]] = []
    # The templates of many models look for images in messages of the user alone.
    for message in behind_results(completed(messages)):
        fields: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.images:
            fields["images"] = [base64_of(image, contents) for image in message.images]
        if message.tool_calls:
            names |= {call.id: call.name for call in message.tool_calls}
            fields["tool_calls"] = [
                {
                    "id": call.id,
                    "function": {"name": tool_name(call.name), "arguments": object_of(call.arguments)},
                }
                for call in message.tool_calls
            ]
            if message.reasoning:
                fields["thinking"] = message.reasoning
        if message.role == "tool":
            given = message.tool_call_id or ""
            fields |= {"tool_name": tool_name(names.get(given, "")), "tool_call_id": given}
        listed.append(fields)
    return listed


class OllamaDecoder(Decoder):
    """Decodes the lines of one answer."""

    _reason: str | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""
        return self._done

    def _take(self, chunk: dict[str, Any], items: list[ModelItem]) -> None:
        if chunk.get("error"):
            items.append(stream_failure(chunk, source=self._source))
            return
        message = mapping(chunk.get("message"))
        self._answer.add_reasoning(string(message.get("thinking")), items)
        self._answer.add_text(string(message.get("content")), items)
        for called in mappings(message.get("tool_calls")):
            function = mapping(called.get("function")) or called
            call = self._answer.begin_call(string(called.get("id")), string(function.get("name")))
            arguments = function.get("arguments")
            call.arguments.append(
                arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
            )
        reason = string(chunk.get("done_reason"))
        if chunk.get("done") is True or reason:
            self._done = True
            self._reason = reason.lower() or self._reason
            self._count(chunk)

    def _end(self, items: list[ModelItem]) -> None:
        self._answer.end(items, _FINISH_REASONS.get(self._reason or "", "stop"), self._tokens)

    def _count(self, chunk: dict[str, Any]) -> None:
        given, made = count(chunk.get("prompt_eval_count")), count(chunk.get("eval_count"))
        self._told = replace(self._told, finish_reason=self._reason, input_tokens=given, output_tokens=made)
        if given is not None or made is not None:
            self._tokens = Tokens(input=given or 0, output=made or 0)
