"""A model that only writes text, made one that calls tools.

It is told of its tools in the system message, calls and results go back to it as text, and what it writes is
read by one of the formats of `text_tools`. From outside it is a model like any other.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from outrider.models.dialects.complete import completed
from outrider.models.text_tools import Call, Format, TextToolParser
from outrider.models.text_tools.shapes import arguments_of
from outrider.models.wrapper import Wrapper
from outrider.ports.ids import Ids
from outrider.ports.model import (
    FinishReason,
    Message,
    Model,
    ModelItem,
    ModelRequest,
    ModelResponse,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)


class TextToolModel(Wrapper):
    """A model whose calls are text."""

    def __init__(self, model: Model, form: Format, *, ids: Ids) -> None:
        """Make it.

        Args:
            model: The model that only writes text; closed with this one.
            form: How it writes calls.
            ids: Makes the ids of its calls.
        """
        self._inner = model
        self._form = form
        self._ids = ids

    @property
    def _model(self) -> Model:
        return self._inner

    @property
    def tool_format(self) -> str | None:
        """How tools and calls are written into its text."""
        return self._form.id

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask.

        Yields:
            Deltas of text and reasoning, never of a call's text; then one `ModelResponse` or one `ModelFailure`.
        """
        answer = _Answer(self._form.parser(request.tools), self._ids)
        async with aclosing(self._model.stream(as_text(request, self._form))) as items:
            async for item in items:
                if isinstance(item, TextDelta):
                    for found in answer.feed(item.text):
                        yield found
                elif isinstance(item, ReasoningDelta):
                    answer.reasoning.append(item.text)
                    yield item
                elif isinstance(item, ModelResponse):
                    for found in answer.finish(item):
                        yield found
                else:
                    yield item


class _Answer:
    """One answer being read."""

    def __init__(self, parser: TextToolParser, ids: Ids) -> None:
        self.reasoning: list[str] = []
        self._parser = parser
        self._ids = ids
        self._came = False
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []

    def feed(self, text: str) -> list[TextDelta | ReasoningDelta]:
        self._came = True
        return self._sorted(self._parser.feed(text))

    def finish(self, response: ModelResponse) -> list[ModelItem]:
        items: list[ModelItem] = []
        if not self._came:
            items += self.feed(response.text)
        cut_off = response.finish_reason == "length"
        items += self._sorted(self._parser.finish(cut_off=cut_off))
        calls = (*response.tool_calls, *self._calls)
        reason: FinishReason = response.finish_reason
        if calls and not cut_off:
            reason = "tool_calls"
        elif not calls and reason == "tool_calls":
            reason = "stop"
        reasoning = "".join(self.reasoning) or response.reasoning
        items.append(ModelResponse("".join(self._texts), calls, reason, reasoning, response.tokens))
        return items

    def _sorted(self, found: Sequence[TextDelta | ReasoningDelta | Call]) -> list[TextDelta | ReasoningDelta]:
        items: list[TextDelta | ReasoningDelta] = []
        for item in found:
            if isinstance(item, Call):
                self._calls.append(ToolCall(self._ids.new("call"), item.name, item.arguments_json))
                continue
            (self._texts if isinstance(item, TextDelta) else self.reasoning).append(item.text)
            items.append(item)
        return items


def as_text(request: ModelRequest, form: Format) -> ModelRequest:
    """The request for a model that knows no tools.

    Args:
        request: The request as it would go to a model with tools.
        form: How the model writes calls.

    Returns:
        The same without tools: they are described at the end of the system message; a call is text of its
        message, and a result one of the user. Messages of the user that follow each other are one, because
        the templates of many such models refuse two.
    """
    messages: list[Message] = []
    names: dict[str, str] = {}
    for message in completed(request.messages):
        names.update((call.id, call.name) for call in message.tool_calls)
        said = _as_text(message, names, form)
        if messages and said.role == messages[-1].role == "user":
            before = messages.pop()
            said = Message("user", f"{before.text}\n\n{said.text}", images=before.images + said.images)
        messages.append(said)
    if request.tools:
        described = form.prompt(request.tools)
        if messages and messages[0].role == "system":
            messages[0] = Message("system", f"{messages[0].text}\n\n{described}")
        else:
            messages.insert(0, Message("system", described))
    return replace(request, messages=messages, tools=())


def _as_text(message: Message, names: Mapping[str, str], form: Format) -> Message:
    if message.role == "tool":
        result = form.result(names.get(message.tool_call_id or "", "tool"), message.text)
        return Message("user", result, images=message.images)
    if not message.tool_calls:
        return message
    calls = form.write([_call(call) for call in message.tool_calls])
    text = "\n\n".join(part for part in (message.text, calls) if part)
    return Message(message.role, text, reasoning=message.reasoning)


def _call(call: ToolCall) -> Call:
    """A call that was made; arguments that were none are left out, as its result says what was wrong."""
    return Call(call.name, arguments_of(call.arguments) or {})
