"""A model that is asked over HTTP, in whatever dialect: what is the same for all of them.

A dialect is a subclass that says where its requests go, how they are written and how an answer is read.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Final

from outrider.models.dialects.decoder import Decoder
from outrider.models.http.chat_servers import chat_server
from outrider.models.http.provider import HttpProvider
from outrider.models.routing.facts import Facts
from outrider.models.searches import SEARCH
from outrider.models.thinking import Told, Way, told, way_of
from outrider.ports.ids import Ids
from outrider.ports.model import (
    Limited,
    Message,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    Tokens,
)
from outrider_protocol.choices import EditFormat
from outrider_protocol.settings import ProviderSettings, Thinking

MOST_CHARACTERS: Final = 5_000_000
"""Characters of the text and the thoughts of one answer. No model of today writes a fifth of it; all of it must fit in one message
to a client, however it is escaped."""
_NOT_TOLD = Told({}, thinks=False)
"""Nothing is set: it is left to the model."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it goes over the wire."""

    path: str
    body: bytes
    query: str = ""


class HttpModel(ABC):
    """One model of a provider, for one conversation at a time."""

    lines: bool = False
    """Whether answers come as lines, not as server-sent events."""

    def __init__(
        self,
        provider: HttpProvider,
        model: str,
        *,
        ids: Ids,
        settings: ProviderSettings | None = None,
        reasons: bool | None = None,
        thinking: Thinking | None = None,
        searches: bool = False,
    ) -> None:
        """Make a model.

        Args:
            provider: Where it is served; shared with other models and closed by who made it.
            model: Its name, as the provider writes it.
            ids: Makes the ids of calls that came without one.
            settings: The provider's, where something about this model is set in another way.
            reasons: Whether it thinks before it answers; None where only its name may tell.
            thinking: How much it thinks where a request does not say; None leaves it to the model.
            searches: Whether its provider searches the web for it where a request may.
        """
        self._provider = provider
        self._settings = settings or provider.settings
        self._model = model
        self._ids = ids
        self._reasons = reasons
        self._thinking: Thinking | None = thinking
        self._server = chat_server(provider.settings.base_url)
        self._searches = searches

    @abstractmethod
    def _call(self, request: ModelRequest) -> Call:
        """The request as this dialect writes it."""

    @abstractmethod
    def _decoder(self) -> Decoder:
        """What reads the answer."""

    def _way(self) -> Way | None:
        """How the model is told how much to think; None where that is not known."""
        return way_of(self._settings.kind, self._server.name, self._model)

    def _told(self, request: ModelRequest) -> Told:
        """What a request says of thinking."""
        wanted = self._thinking
        if request.thinking is not None:
            wanted = request.thinking
        # An answer with a limit of its own, such as a title, has no room for thoughts.
        if wanted is None or (request.at_most is not None and wanted != "off"):
            return _NOT_TOLD
        return told(self._way(), wanted, answer=self._answer_limit(request))

    def _answer_limit(self, request: ModelRequest) -> int | None:
        """The most tokens of an answer, where a request says so."""
        return request.max_tokens

    def _conversation(self, request: ModelRequest) -> dict[str, str | None]:
        """The key of the conversation, for a provider whose cache goes by one."""
        key = self._server.conversation_key
        return {} if key is None else {key: request.conversation}

    def _is_to_search(self, request: ModelRequest) -> bool:
        """Whether a request offers the search of the provider; not beside a tool of that name, or where no tool is offered."""
        names = {tool.name for tool in request.tools}
        return self._searches and request.may_search and bool(names) and SEARCH not in names

    async def _prepare(self, request: ModelRequest) -> ModelFailure | None:
        """Find out what has to be known before the request; why it cannot be made, if so."""
        return None

    @property
    def name(self) -> str:
        """`provider/name`."""
        return f"{self._provider.name}/{self._model}"

    @property
    def facts(self) -> Facts | None:
        """What its server told of it; None where it was not asked."""
        return None

    @property
    def thinks_in_text(self) -> bool:
        """Whether thoughts may stand in the text of answers, as from servers that do not tell them apart."""
        return False

    @property
    def source(self) -> str:
        """Who answers, for messages."""
        return f"provider {self._provider.name}"

    @property
    def context_window(self) -> int:
        """Tokens it can take, its answer included."""
        return self._settings.context_window

    @property
    def temperature(self) -> float | None:
        """Sampling temperature of its requests, None for the provider's own."""
        return self._settings.temperature

    @property
    def max_tokens(self) -> int | None:
        """The most tokens of one answer, None for the provider's own."""
        return self._settings.max_tokens

    @property
    def tool_format(self) -> str | None:
        """None: its tools go beside the text."""
        return None

    @property
    def takes_reminders(self) -> bool:
        """True."""
        return True

    @property
    def edit_format(self) -> EditFormat | None:
        """None: nothing is known of it here."""
        return None

    @property
    def vision(self) -> bool:
        """False: nothing is known of it here."""
        return False

    async def look(self, request: ModelRequest) -> None:
        """Have the server tell of the model before that request, where it is asked at all."""
        await self._prepare(request)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask. Deltas that arrived together are joined.

        Yields:
            Deltas, then one `ModelResponse` or one `ModelFailure`.
        """
        if problem := await self._prepare(request):
            yield problem
            return
        if shortfall := self._told(request).shortfall:
            yield Limited(self.name, f"{self.name} {shortfall}")
        decoder = self._decoder()
        call = self._call(request)
        failure: ModelFailure | None = None
        characters = 0
        asked = self._provider.post(
            call.path,
            call.body,
            over=lambda: decoder.is_over,
            query=call.query,
            lines=self.lines,
        )
        async with aclosing(asked) as answer:
            async for payloads in answer:
                if isinstance(payloads, ModelFailure):
                    failure = payloads
                    break
                for item in _fed(decoder, payloads):
                    if isinstance(item, ModelFailure):
                        failure = self._provider.redacted(item)
                        break
                    if isinstance(item, TextDelta | ReasoningDelta):
                        characters += len(item.text)
                    if characters > MOST_CHARACTERS:
                        too_much = (
                            f"{self.source}: sent more than {MOST_CHARACTERS:,} characters in one answer"
                        )
                        failure = ModelFailure("protocol", too_much)
                        break
                    yield item
                if failure is not None:
                    break
        if failure is not None and not (decoder.is_whole and failure.kind in ("cut_stream", "stalled")):
            yield replace(failure, tokens=decoder.tokens)
            return
        for item in decoder.finish():
            if isinstance(item, ModelFailure):
                yield replace(self._provider.redacted(item), tokens=decoder.tokens)
            else:
                yield item

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """None: its provider was not asked how much it was."""
        return None

    @property
    def retry_in(self) -> float | None:
        """None: it makes each request once."""
        return None

    def retry_now(self) -> bool:
        """False: it makes each request once."""
        return False

    def left_over(self) -> int:
        """Nothing is scripted: 0."""
        return 0

    async def close(self) -> None:  # noqa: B027 - not for a dialect to change
        """Nothing of its own to let go of: the connections are the provider's."""


def _fed(decoder: Decoder, payloads: Sequence[bytes]) -> list[ModelItem]:
    """What the decoder makes of payloads that arrived together; of one it is mostly one delta, which is nothing to join."""
    if len(payloads) == 1:
        items = decoder.feed(payloads[0])
        return items if len(items) < 2 else _joined(items)
    return _joined(item for payload in payloads for item in decoder.feed(payload))


def _joined(items: Iterable[ModelItem]) -> list[ModelItem]:
    """`items` up to the first failure, with deltas of one kind that follow each other made one."""
    joined: list[ModelItem] = []
    texts: list[str] = []
    kind: type[TextDelta | ReasoningDelta] | None = None
    for item in items:
        if not isinstance(item, TextDelta | ReasoningDelta) or type(item) is not kind:
            if kind is not None:
                joined.append(kind("".join(texts)))
            kind, texts = None, []
        if isinstance(item, TextDelta | ReasoningDelta):
            kind = type(item)
            texts.append(item.text)
        else:
            joined.append(item)
            break
    if kind is not None:
        joined.append(kind("".join(texts)))
    return joined


NO_RESULT = "There is no result: the call was not run, or its result no longer exists."


def completed(messages: Sequence[Message]) -> Sequence[Message]:
    """`messages` with the results of each answer right behind it, missing ones filled in and stray ones left out."""
    done: list[Message] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if message.role == "tool":
            continue  # the result of no call
        if message.role == "assistant" and not message.tool_calls and not message.text.strip():
            continue  # white space, which says nothing
        done.append(message)
        if not message.tool_calls:
            continue
        results: dict[str | None, Message] = {}
        others: list[Message] = []
        while position < len(messages) and messages[position].role not in ("assistant", "system"):
            later = messages[position]
            position += 1
            if later.role == "tool":
                results.setdefault(later.tool_call_id, later)
            else:
                others.append(later)
        done += [
            results.get(call.id) or Message("tool", NO_RESULT, tool_call_id=call.id)
            for call in message.tool_calls
        ]
        done += others
    return done
