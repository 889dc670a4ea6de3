"""Models around another model: calls written as text, and thoughts written as text."""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace

from outrider.models.dialects.http_model import completed
from outrider.models.text_answers import read_answer
from outrider.models.text_tools import Call, Format, TextToolParser
from outrider.models.text_tools.formats import thoughts_parser
from outrider.models.text_tools.tools import Tools, arguments_of, several, without_namespace
from outrider.models.thinking import apart, text_of
from outrider.models.wrapper import Wrapper
from outrider.ports.ids import Ids
from outrider.ports.model import (
    Message,
    Model,
    ModelItem,
    ModelRequest,
    ModelResponse,
    Part,
    ToolCall,
    ToolSpec,
)


class TextToolModel(Wrapper):
    """A model whose calls are text."""

    def __init__(self, model: Model, form: Format, *, ids: Ids, opened: bool = False) -> None:
        """Make it.

        Args:
            model: The model that only writes text; closed with this one.
            form: How it writes calls.
            ids: Makes the ids of its calls.
            opened: Whether its answers begin within a thought.
        """
        self._opened = opened
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
            Deltas of text and reasoning, never of a call's text, and `ReadAnew` where a thought was shown as text;
            then one `ModelResponse` or one `ModelFailure`.
        """

        def parser(opened: bool) -> TextToolParser:
            return self._form.parser(request.tools, opened=opened)

        async with (
            aclosing(self._model.stream(as_text(request, self._form, self.name))) as items,
            aclosing(read_answer(items, parser, self._ids, model=self.name, opened=self._opened)) as read,
        ):
            async for item in read:
                yield item


def as_text(request: ModelRequest, form: Format, model: str = "") -> ModelRequest:
    """The request for a model that knows no tools.

    Args:
        request: The request as it would go to a model with tools.
        form: How the model writes calls.
        model: Its name, by which it gets back what it thought in its text, if it wants that.

    Returns:
        The same without tools: they are described at the end of the system message; a call is text of its
        message, and a result one of the user. Messages of the user that follow each other are one, because
        the templates of many such models refuse two.
    """
    messages: list[Message] = []
    names: dict[str, str] = {}
    for message in completed(request.messages):
        names.update((call.id, call.name) for call in message.tool_calls)
        said = _as_text(message, names, form, model)
        if messages and said.role == messages[-1].role == "user":
            before = messages.pop()
            said = replace(_joined(before, said), images=before.images + said.images)
        messages.append(said)
    if request.tools:
        told = Message.of_parts("system", [Part("tools", form.prompt(request.tools))])
        if messages and messages[0].role == "system":
            messages[0] = _joined(messages[0], told)
        else:
            messages.insert(0, told)
    return replace(request, messages=messages, tools=())


def _joined(first: Message, second: Message) -> Message:
    """One message of the texts of two, with what they are made of if that is known of both."""
    text = f"{first.text}\n\n{second.text}"
    if not (first.parts and second.parts):
        return Message(first.role, text)
    *before, last = first.parts
    return Message(first.role, text, parts=(*before, replace(last, text=f"{last.text}\n\n"), *second.parts))


def _as_text(message: Message, names: Mapping[str, str], form: Format, model: str) -> Message:
    if message.role == "tool":
        result = form.result(names.get(message.tool_call_id or "", "tool"), message.text)
        return Message("user", result, images=message.images)
    said = text_of(message, model)
    if not message.tool_calls:
        return message if said == message.text else Message(message.role, said)
    calls = form.write([_call(call) for call in message.tool_calls])
    text = "\n\n".join(part for part in (said, calls) if part)
    return Message(
        message.role,
        text,
        reasoning=message.reasoning if said == message.text else None,
        provider_data=apart(message, text, (), model),
    )


def _call(call: ToolCall) -> Call:
    """A call that was made; arguments that were none are left out, as its result says what was wrong."""
    return Call(call.name, arguments_of(call.arguments) or {})


class ThinkingModel(Wrapper):
    """A model that may think in its text."""

    def __init__(self, model: Model, *, ids: Ids, opened: bool) -> None:
        """Make it.

        Args:
            model: The model; closed with this one.
            ids: Makes ids.
            opened: Whether its answers begin within a thought.
        """
        self._inner = model
        self._ids = ids
        self._opened = opened

    @property
    def _model(self) -> Model:
        return self._inner

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask.

        Yields:
            Deltas, `ReadAnew` where a thought was shown as text, then one `ModelResponse` or one `ModelFailure`.
        """

        def parser(opened: bool) -> TextToolParser:
            return thoughts_parser(opened=opened)

        async with (
            aclosing(self._inner.stream(request)) as items,
            aclosing(
                read_answer(items, parser, self._ids, model=self.name, opened=self._opened, only_tags=True)
            ) as read,
        ):
            async for item in read:
                yield item


def as_meant(answer: ModelResponse, offered: Sequence[ToolSpec], ids: Ids) -> ModelResponse:
    """The answer with `functions.NAME` called NAME, and a call of several at once as those calls.

    Args:
        answer: As the provider gave it.
        offered: The tools that the model knows; a name of one of them stays what it is.
        ids: Makes the ids of calls that stood in another one.
    """
    names = {tool.name for tool in offered}
    if not names or all(call.name in names for call in answer.tool_calls):
        return answer
    tools = Tools(offered)
    calls: list[ToolCall] = []
    for call in answer.tool_calls:
        found = several(call.name, arguments_of(call.arguments) or {}, tools)
        if found is None:
            calls.append(replace(call, name=without_namespace(call.name, tools)))
        else:
            calls += [
                ToolCall(ids.new("call"), name, json.dumps(given, ensure_ascii=False))
                for name, given in found
            ]
    # What goes back word for word counts the calls, so it is kept only where each is still one.
    kept = answer.provider_data if len(calls) == len(answer.tool_calls) else None
    return replace(answer, tool_calls=tuple(calls), provider_data=kept)
