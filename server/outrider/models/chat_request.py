"""The body of a chat completion request, as bytes.

Each message is encoded once: a conversation only grows at its end, so a step costs what is new in it and one
join of bytes, and its body begins with the same bytes as the one before, which providers' caches need. It
must never send what a provider refuses for its form alone, such as arguments that are not a JSON object.

Source: "Create chat completion" of the OpenAI API reference.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from outrider.ports.model import Message, ModelRequest, ToolCall, ToolSpec

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64


class ChatRequestEncoder:
    """Encodes the requests of one conversation."""

    def __init__(self, model: str, extra_body: Mapping[str, Any]) -> None:
        """Make an encoder.

        Args:
            model: The model, as the provider names it.
            extra_body: Further keys of the body; null leaves out a key that would be there by default.
        """
        self._model = model
        self._extra_body = extra_body
        self._messages: dict[str, bytes] = {}
        """Encodings by digest: exactly those of the last request, which bounds them."""
        self._head: tuple[object, bytes] = (None, b"")
        """What stands before the messages, which changes with nothing but its first value."""

    def encode(self, request: ModelRequest) -> bytes:
        """The whole body. The messages stand last, after all that stays the same from step to step."""
        known = self._messages
        self._messages = {}
        parts: list[bytes] = []
        for message in request.messages:
            digest = message.digest
            encoded = known.get(digest) or _encoded_message(message)
            self._messages[digest] = encoded
            parts.append(encoded)
        varying = (request.tools, request.temperature, request.max_tokens)
        if self._head[0] != varying:
            self._head = (varying, _bytes(self._head_fields(request))[:-1])
        return b'%s,"messages":[%s]}' % (self._head[1], b",".join(parts))

    def _head_fields(self, request: ModelRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": self._model,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            **self._extra_body,
        }
        # What the decoder and the loop rely on is not for settings to change.
        fields |= {"model": self._model, "stream": True, "tools": _tools(request.tools) or None}
        fields.pop("messages", None)
        return {key: value for key, value in fields.items() if value is not None}


def _encoded_message(message: Message) -> bytes:
    fields: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        fields["tool_call_id"] = message.tool_call_id or ""
    if message.tool_calls:
        # Null, not "": some servers refuse empty text beside calls, none refuses null there.
        fields["content"] = message.text or None
        fields["tool_calls"] = [_tool_call(call) for call in message.tool_calls]
    return _bytes(fields)


def _tool_call(call: ToolCall) -> dict[str, Any]:
    name = _NOT_IN_NAMES.sub("_", call.name)[:_LONGEST_NAME] or "unknown"
    function = {"name": name, "arguments": _object_text(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _object_text(arguments: str) -> str:
    """`arguments` if they are a JSON object, else an object that shows what they were."""
    if not arguments.strip():
        return "{}"
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid_arguments": arguments}, ensure_ascii=False)


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


def _bytes(fields: Mapping[str, Any]) -> bytes:
    # A lone surrogate (a file name that is not UTF-8) cannot be sent: it becomes a question mark.
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
