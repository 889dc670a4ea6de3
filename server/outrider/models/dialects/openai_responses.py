"""Models that speak the responses dialect of OpenAI, without state at the provider.

Reasoning comes encrypted and goes back as it came, with the items it stood among.

Source: "Create a model response", "Streaming events", "Reasoning models" and "Web search" of the OpenAI API reference.
"""

import re
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
    is_object,
    mapping,
    mappings,
    object_of,
    string,
    tool_name,
)
from outrider.models.images import data_url
from outrider.models.searches import SEARCH
from outrider.ports.model import FinishReason, Message, ModelFailure, ModelItem, ModelRequest, Tokens

_LONGEST_ID = 64
_REASONS = re.compile(r"(^|/)(o\d|gpt-([5-9]|\d\d)|codex)(?!.*chat)")
"""Models that reason, where nobody said whether they do: the others refuse to be asked for it."""
_FINISH_REASONS: dict[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "refused"}
_SOURCES: Final = "web_search_call.action.sources"
"""What an answer shall say of each search: the pages that it found."""
_OF_MESSAGE = ("phase",)
"""What of a message item goes back besides its text."""


class OpenAiResponsesModel(HttpModel):
    """One model of a provider, for one conversation at a time."""

    def _call(self, request: ModelRequest) -> Call:
        return Call("/responses", encoded(self._body(request)))

    def _decoder(self) -> Decoder:
        return ResponsesDecoder(self._ids, source=self.source, model=self.name)

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        system = "\n\n".join(m.text for m in request.messages if m.role == "system" and m.text)
        reasons = bool(_REASONS.search(self._model)) if self._reasons is None else self._reasons
        searches = self._is_to_search(request)
        included = [*(["reasoning.encrypted_content"] if reasons else []), *([_SOURCES] if searches else [])]
        fields: dict[str, Any] = {
            "store": False,
            "include": included or None,
            "temperature": request.temperature,
            "max_output_tokens": request.max_tokens,
            **self._told(request).fields,
            **self._conversation(request),
            **self._settings.extra_body,
            "model": self._model,
            "stream": True,
            "instructions": system or None,
            "tools": [
                *(
                    {
                        "type": "function",
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": dict(tool.schema),
                        "strict": False,
                    }
                    for tool in request.tools
                ),
                *([{"type": SEARCH}] if searches else []),
            ]
            or None,
            "input": _items(request.messages, self.name, request.images),
        }
        return {key: value for key, value in fields.items() if value is not None}


def _items(messages: Sequence[Message], model: str, contents: Mapping[str, bytes]) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    for message in completed(messages):
        if message.role == "tool":
            given = call_id(message.tool_call_id or "", _LONGEST_ID)
            output = _input(message, contents) if message.images else message.text
            items.append({"type": "function_call_output", "call_id": given, "output": output})
        elif message.role == "assistant":
            items += _answered([_item(block) for block in blocks_of(message, model)])
        elif message.role == "user":
            items.append({"type": "message", "role": "user", "content": _input(message, contents)})
    return items


def _input(message: Message, contents: Mapping[str, bytes]) -> list[dict[str, Any]]:
    images = [{"type": "input_image", "image_url": data_url(image, contents)} for image in message.images]
    return [{"type": "input_text", "text": message.text}, *images]


def _item(block: TextBlock | CallBlock | Verbatim) -> dict[str, Any]:
    match block:
        case Verbatim():
            return dict(block.block)
        case TextBlock(text, extra):
            return {"type": "message", "role": "assistant", "content": [_output(text)], **extra}
        case CallBlock(call, extra):
            arguments = call.arguments
            if not is_object(arguments):
                arguments = encoded(object_of(arguments)).decode()
            return {
                "type": "function_call",
                "call_id": call_id(call.id, _LONGEST_ID),
                "name": tool_name(call.name),
                "arguments": arguments,
                **extra,
            }


def _answered(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The items of an answer without reasoning that nothing came of, which is refused."""
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items


def _output(text: str) -> dict[str, Any]:
    return {"type": "output_text", "text": text, "annotations": list[Any]()}


@dataclass(slots=True)
class _Item:
    """One item of the output, while it comes."""

    kind: str
    call: OpenCall | None = None
    kept: dict[str, Any] | None = None
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    names: set[str] = field(default_factory=set[str])
    """What it is called: its id, and that of its call."""
    shown: list[str] = field(default_factory=list[str])
    """What came of its text."""
    thought: bool = False
    closed: bool = False


class ResponsesDecoder(Decoder):
    """Decodes the events of one response."""

    def __init__(self, *args: Any, **named: Any) -> None:
        """Make a decoder; see `Decoder`."""
        super().__init__(*args, **named)
        self._items: dict[int, _Item] = {}
        self._status: str | None = None
        self._why: str | None = None
        self._refused = False

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, so that nothing is lost if the connection breaks now."""
        # Gateways may leave out the last event, not the end of each item.
        items = self._items.values()
        ended = self._done and bool(items) and all(item.closed for item in items)
        return self._status is not None or ended

    @property
    def is_over(self) -> bool:
        """Whether the provider said that nothing more comes."""
        return self._status is not None or self._done

    def _take(self, chunk: dict[str, Any], items: list[ModelItem]) -> None:
        number = self._number(chunk)
        match chunk.get("type"):
            case "response.output_item.added":
                self._begin(number, mapping(chunk.get("item")))
            case "response.output_text.delta":
                self._add_text(number, string(chunk.get("delta")), items)
            case "response.output_text.done" if not self._item(number, "message").shown:
                self._add_text(number, string(chunk.get("text")), items)
            case "response.refusal.delta":
                self._refused = True
                self._add_text(number, string(chunk.get("delta")), items)
            case "response.reasoning_summary_part.added" if self._answer.has_reasoning:
                self._add_thought(number, "\n\n", items)
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._add_thought(number, string(chunk.get("delta")), items)
            case "response.function_call_arguments.delta" | "response.function_call_arguments.done":
                self._add_arguments(number, string(chunk.get("delta")), string(chunk.get("arguments")))
            case "response.output_item.done":
                self._close(number, mapping(chunk.get("item")), items)
            case (
                "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled"
            ) as last:
                self._take_response(mapping(chunk.get("response")), last.removeprefix("response."), items)
            case "error":
                items.append(stream_failure(chunk, source=self._source))
            case None if chunk.get("object") == "response":  # from a server that does not stream
                self._take_response(chunk, "completed", items)
            case None if chunk.get("error"):
                items.append(stream_failure(chunk, source=self._source))
            case _:
                pass  # beginnings and ends of parts, plus what is new

    def _number(self, chunk: dict[str, Any]) -> int:
        """Which item of the output an event is about; gateways leave out the number."""
        if (number := index(chunk.get("output_index"))) is not None:
            return number
        item = mapping(chunk.get("item"))
        names = _names(item) or _names({"id": chunk.get("item_id")})
        known = (number for number, one in self._items.items() if names & one.names)
        latest = max(self._items, default=0)
        return next(known, latest + 1 if item and self._items else latest)

    def _item(self, number: int, kind: str) -> _Item:
        """The item of that number, begun where its beginning was left out."""
        if number not in self._items:
            self._begin(number, {"type": kind})
        return self._items[number]

    def _begin(self, number: int, item: dict[str, Any]) -> None:
        kind = string(item.get("type"))
        begun = self._items[number] = _Item(kind, names=_names(item))
        if kind == "function_call":
            begun.call = self._answer.begin_call(string(item.get("call_id")), string(item.get("name")))
        elif kind == "message":
            self._answer.begin_text(begun.extra)
        else:
            begun.kept = {}
            self._answer.keep(begun.kept)

    def _add_text(self, number: int, text: str, items: list[ModelItem]) -> None:
        self._item(number, "message").shown.append(text)
        self._answer.add_text(text, items)

    def _add_arguments(self, number: int, piece: str, whole: str) -> None:
        """Take a piece of a call's arguments, or all of them, which then count instead of the pieces."""
        if (call := self._item(number, "function_call").call) is None:
            return
        if whole:
            call.arguments.clear()
        call.arguments.append(whole or piece)

    def _add_thought(self, number: int, text: str, items: list[ModelItem]) -> None:
        self._item(number, "reasoning").thought = True
        self._answer.add_reasoning(text, items)

    def _close(self, number: int, item: dict[str, Any], items: list[ModelItem]) -> None:
        """Take an item that is complete: what had not come before comes now."""
        known = self._item(number, string(item.get("type")))
        if known.closed:
            return
        known.closed = True
        known.names |= _names(item)
        if known.call is not None:
            known.call.id = string(item.get("call_id")) or known.call.id or string(item.get("id"))
            known.call.name = string(item.get("name")) or known.call.name
            if arguments := string(item.get("arguments")):
                known.call.arguments[:] = [arguments]
        elif known.kept is not None:
            known.kept |= item
            if not known.thought:
                parts = [*mappings(item.get("summary")), *mappings(item.get("content"))]
                self._answer.add_reasoning("\n\n".join(string(part.get("text")) for part in parts), items)
        else:
            known.extra |= {key: item[key] for key in _OF_MESSAGE if item.get(key) is not None}
            parts = mappings(item.get("content"))
            self._refused = self._refused or any(string(part.get("refusal")) for part in parts)
            whole = "".join(string(part.get("text")) or string(part.get("refusal")) for part in parts)
            if whole.startswith(shown := "".join(known.shown)):
                self._answer.add_text(whole[len(shown) :], items)

    def _take_response(self, response: dict[str, Any], status: str, items: list[ModelItem]) -> None:
        if response.get("error"):
            items.append(stream_failure(response, source=self._source))
            return
        came = dict(self._items)
        for place, item in enumerate(mappings(response.get("output"))):
            number = _found(came, place, item)
            if number is None:
                number = max(self._items, default=-1) + 1
            came.pop(number, None)
            self._close(number, item, items)
        self._status = string(response.get("status")) or status
        self._why = string(mapping(response.get("incomplete_details")).get("reason")) or None
        if usage := mapping(response.get("usage")):
            self._count(usage)

    def _end(self, items: list[ModelItem]) -> None:
        self._told = replace(self._told, finish_reason=self._status)
        if self._status in ("failed", "cancelled"):
            items.append(ModelFailure("overloaded", f"{self._source}: the response is {self._status}"))
            return
        for item in self._items.values():
            if item.kept is not None and not _can_go_back(item.kept):
                self._answer.drop(item.kept)
        cut = _FINISH_REASONS.get(self._why or "", "length")
        reason: FinishReason = cut if self._status == "incomplete" else "stop"
        refused = self._refused and not self._answer.calls
        self._answer.end(items, "refused" if refused else reason, self._tokens)

    def _count(self, usage: dict[str, Any]) -> None:
        given, made = count(usage.get("input_tokens")), count(usage.get("output_tokens"))
        self._told = replace(self._told, input_tokens=given, output_tokens=made)
        self._tokens = Tokens(
            input=given or 0,
            output=made or 0,
            cached=count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
            reasoning=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
        )


def _names(item: Mapping[str, Any]) -> set[str]:
    return {name for key in ("id", "call_id") if (name := string(item.get(key)))}


def _found(came: Mapping[int, _Item], place: int, item: Mapping[str, Any]) -> int | None:
    """Which item that came before is meant by one of the whole response: what is called the same, else one of its kind.

    Servers number them in other ways there. A call of another name is another call.
    """
    names, kind = _names(item), string(item.get("type"))
    if named := [number for number, one in came.items() if names & one.names]:
        return named[0]
    alike = [
        number
        for number, one in came.items()
        if one.kind == kind and not (kind == "function_call" and names and one.names)
    ]
    return place if place in alike else next(iter(alike), None)


def _can_go_back(item: dict[str, Any]) -> bool:
    """Whether an item says something by itself: the provider keeps nothing that a mere id could point at."""
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content") or item.get("content"))
