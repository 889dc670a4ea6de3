"""A model that is asked over HTTP, in whatever dialect: what is the same for all of them.

A dialect is a subclass that says where its requests go, how they are written and how an answer is read.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from outrider.models.dialects.decoder import Decoder
from outrider.models.provider import HttpProvider
from outrider.models.routing.facts import Facts
from outrider.ports.ids import Ids
from outrider.ports.model import ModelFailure, ModelItem, ModelRequest, ReasoningDelta, TextDelta, Tokens
from outrider_protocol.settings import EditFormat, ProviderSettings


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
    ) -> None:
        """Make a model.

        Args:
            provider: Where it is served; shared with other models and closed by who made it.
            model: Its name, as the provider writes it.
            ids: Makes the ids of calls that came without one.
            settings: The provider's, where something about this model is set in another way.
            reasons: Whether it thinks before it answers; None where only its name may tell.
        """
        self._provider = provider
        self._settings = settings or provider.settings
        self._model = model
        self._ids = ids
        self._reasons = reasons

    @abstractmethod
    def _call(self, request: ModelRequest) -> Call:
        """The request as this dialect writes it."""

    @abstractmethod
    def _decoder(self) -> Decoder:
        """What reads the answer."""

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
        decoder = self._decoder()
        call = self._call(request)
        failure: ModelFailure | None = None
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
