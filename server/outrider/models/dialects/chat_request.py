"""The body of a chat completion request, as bytes.

Each message is encoded once: a conversation only grows at its end, so a step costs what is new in it and one
join of bytes, and its body begins with the same bytes as the one before, which providers' caches need. The
result of a tool holds text alone, so images follow it. It must never send what a provider refuses for its form alone, such as arguments that are not a JSON object.

Source: "Create chat completion" of the OpenAI API reference.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from outrider.models.chat_servers import SHORT_ID, ChatServer
from outrider.models.dialects.complete import completed
from outrider.models.dialects.kept import CallBlock, Verbatim, blocks_of
from outrider.models.images import behind_results, data_url
from outrider.models.payload import call_id, encoded, is_object, object_of, tool_name
from outrider.models.thoughts_back import text_of
from outrider.ports.model import Message, ModelRequest, ToolCall, ToolSpec


class ChatRequestEncoder:
    """Encodes the requests of one conversation."""

    def __init__(
        self,
        model: str,
        extra_body: Mapping[str, Any],
        *,
        server: ChatServer | None = None,
        full_name: str = "",
    ) -> None:
        """Make an encoder.

        Args:
            model: The model, as the provider names it.
            extra_body: Further keys of the body; null leaves out a key that would be there by default.
            server: What is peculiar about who is asked.
            full_name: `provider/name` of the model, which gets back what it wants back.
        """
        self._model = model
        self._extra_body = extra_body
        self._server = server or ChatServer()
        self._full_name = full_name
        self._messages: dict[str, bytes] = {}
        """Encodings by digest: exactly those of the last request, which bounds them."""
        self._head: tuple[object, bytes] = (None, b"")
        """What stands before the messages, which changes with nothing but its first value."""

    def encode(self, request: ModelRequest) -> bytes:
        """The whole body. The messages stand last, after all that stays the same from step to step."""
        known = self._messages
        self._messages = {}
        parts: list[bytes] = []
        role = ""
        for message in behind_results(completed(request.messages)):
            if (role, message.role) == ("tool", "user") and (between := self._server.answer_after_tools):
                parts.append(encoded({"role": "assistant", "content": between}))
            role = message.role
            digest = message.digest
            part = known.get(digest) or encoded(self._message(message, request.images))
            self._messages[digest] = part
            parts.append(part)
        varying = (request.tools, request.temperature, request.max_tokens)
        if self._head[0] != varying:
            self._head = (varying, encoded(self._head_fields(request))[:-1])
        return b'%s,"messages":[%s]}' % (self._head[1], b",".join(parts))

    def _head_fields(self, request: ModelRequest) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": self._model,
            "stream": True,
            "stream_options": {"include_usage": True} if self._server.usage_asked else None,
            "temperature": request.temperature,
            self._server.answer_limit: request.max_tokens,
            **dict(self._server.further),
            **self._extra_body,
        }
        # What the decoder and the loop rely on is not for settings to change.
        fields |= {"model": self._model, "stream": True, "tools": _tools(request.tools) or None}
        fields.pop("messages", None)
        return {key: value for key, value in fields.items() if value is not None}

    def _message(self, message: Message, contents: Mapping[str, bytes]) -> dict[str, Any]:
        fields: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.images:
            shown = [
                {"type": "image_url", "image_url": {"url": data_url(image, contents)}}
                for image in message.images
            ]
            fields["content"] = [{"type": "text", "text": message.text}, *shown]
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
