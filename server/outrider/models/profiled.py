"""A model, used by its profile: calls as text where it needs that, its price, and how fast it is.

It stands below the attempts. A provider that says it does not take tools is believed: they are written into the
text from there on, and the request is made again. So it is where an answer ends with a call that nobody read, as its
server handed it on as text, or the model writes another format than it was told of. So is one whose images were
refused, without them. It must never do that for any other failure.
"""

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import takewhile
from typing import Protocol, cast

from outrider.models.dialects.http_model import HttpModel
from outrider.models.images import as_shown, has_images
from outrider.models.routing.profile import OWN_FORMAT, Profile
from outrider.models.text_tools.formats import FORMATS, handed_on
from outrider.models.wrapper import Wrapper
from outrider.models.wrappers import TextToolModel, ThinkingModel, as_meant
from outrider.ports.clock import Clock
from outrider.ports.ids import Ids
from outrider.ports.model import (
    BYTES_PER_TOKEN,
    Latency,
    Model,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    ReadAnew,
    ReasoningDelta,
    Retried,
    Switched,
    TextDelta,
    Tokens,
)
from outrider_protocol.choices import EditFormat
from outrider_protocol.settings import Price, ToolFormat

SHORTEST_STREAM = 0.05
"""Seconds: what took less to come says nothing of how fast a model is."""
LONGEST_READ = 40_000
"""Characters of an answer that is looked through for calls that nobody read."""


class Lessons(Protocol):
    """What is known of a model, and what is learned of it while it is used."""

    def profile(self) -> Profile:
        """What is known of it now: its server may tell more at the first request."""
        ...

    def used(self) -> None:
        """It is asked."""
        ...

    def answered(self, latency: Latency) -> None:
        """An answer was that fast."""
        ...

    def switched(self, form: ToolFormat) -> None:
        """It does not take tools, or writes its calls in another way."""
        ...

    def unseen(self, images: Sequence[str], *, was_refused: bool) -> None:
        """It is not shown the images of a task, by their names; each is told of once.

        Args:
            images: Their names.
            was_refused: Whether its provider refused them.
        """
        ...


class ProfiledModel(Wrapper):
    """One model, for one conversation at a time."""

    def __init__(
        self,
        model: Model,
        lessons: Lessons,
        *,
        clock: Clock,
        ids: Ids,
        opened: set[str],
    ) -> None:
        """Make it.

        Args:
            model: The model as its provider has it; closed with this one.
            lessons: What is known of it, and takes in what shows.
            clock: What its answers are timed by.
            ids: Makes the ids of calls that come as text.
            opened: The names of models whose answers begin within a thought, as far as that showed.
        """
        self._inner = model
        self._lessons = lessons
        self._clock = clock
        self._ids = ids
        self._unseen: set[str] = set()
        """The hashes of images that were told to be unseen."""
        self._opened = opened
        self._refused_images = False
        """Whether an image was refused in this turn."""

    def _profile(self) -> Profile:
        return self._lessons.profile()

    @property
    def _model(self) -> Model:
        return self._inner

    @property
    def tool_format(self) -> str | None:
        """How tools and calls are written into its text, None where they go beside it."""
        form = self._profile().tool_format
        return None if form == "native" else form

    @property
    def edit_format(self) -> EditFormat | None:
        """The kind of tools for edits that suits it, None for all."""
        return self._profile().edit_format

    @property
    def vision(self) -> bool:
        """Whether it takes images, as far as that is known."""
        return self._profile().vision and not self._refused_images

    def _tell_of_unseen(self, request: ModelRequest) -> None:
        """Tell of the images that came since the last answer, where it takes none: those before were told of then."""
        if self.vision:
            return
        new = takewhile(lambda message: message.role != "assistant", reversed(request.messages))
        images = {image.hash: image.name for message in new for image in message.images}
        if names := [name for digest, name in images.items() if digest not in self._unseen]:
            self._unseen |= images.keys()
            self._lessons.unseen(names, was_refused=self._refused_images)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask.

        Yields:
            Deltas, `Switched` where its provider refused tools or its calls were not read, `Retried` where it refused an
            image or an answer came that does not count, then one `ModelResponse` or one `ModelFailure`.
        """
        self._lessons.used()
        if has_images(request) and isinstance(self._inner, HttpModel):
            await self._inner.look(request)
        for number in range(1, 5):
            refused: ModelFailure | None = None
            form, form_written = self.tool_format, self._profile().text_format
            offered = form is None and bool(request.tools)
            shown = as_shown(request, vision=self.vision)
            self._tell_of_unseen(request)
            seen = has_images(shown)
            async with aclosing(self._timed(shown)) as items:
                async for item in items:
                    if isinstance(item, ModelFailure) and (
                        (item.kind == "no_tools" and offered) or (item.kind == "no_images" and seen)
                    ):
                        refused = item
                        break
                    if isinstance(item, ModelResponse) and (unread := self._unread(item, request, form)):
                        refused, form_written = ModelFailure("unread_calls", "", tokens=item.tokens), unread
                        break
                    yield item
            if refused is None:
                return
            if refused.kind != "no_tools":
                yield Retried(self.name, refused.kind, number + 1, refused.tokens)
            if refused.kind == "no_images":
                self._refused_images = True
            else:
                self._lessons.switched(form_written)
                yield Switched(self.name, form_written, refused.kind)

    def _unread(self, answer: ModelResponse, request: ModelRequest, form: str | None) -> ToolFormat | None:
        """The format of the calls that an answer ends with and that nobody read, where the model is to be used in that one.

        It is so once: from its provider's way to a text format, or from our own format to that of its family. Where calls
        of the conversation were read, this one is only shown; and the user's word settles it.

        Args:
            answer: What came.
            request: What it answers.
            form: The text format that it was asked in, None for its provider's way.
        """
        profile = self._profile()
        if (
            answer.tool_calls
            or answer.finish_reason != "stop"
            or len(answer.text) > LONGEST_READ
            or not isinstance(self._inner, HttpModel)
            or profile.sources["tool_format"] == "settings"
            or form not in (None, OWN_FORMAT)
            or (form is None and any(message.tool_calls for message in request.messages))
        ):
            return None
        found = handed_on(answer.text, request.tools, profile.text_format, marked=True)
        return cast("ToolFormat | None", found)

    async def _timed(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        began, first, shown = self._clock.monotonic(), None, 0
        form = self.tool_format
        model, opened = self._inner, self.name in self._opened
        if form is not None and _has_to_do_with_tools(request):
            model = TextToolModel(self._inner, FORMATS[form], ids=self._ids, opened=opened)
        elif isinstance(self._inner, HttpModel) and self._inner.thinks_in_text:
            model = ThinkingModel(self._inner, ids=self._ids, opened=opened)
        async with aclosing(model.stream(request)) as items:
            async for item in items:
                # Each piece of each answer passes here: a tuple, as a union would be built each time.
                if isinstance(item, (TextDelta, ReasoningDelta)):
                    if first is None:
                        first = self._clock.monotonic()
                    shown += len(item.text)
                    yield item
                    continue
                if first is None and isinstance(item, ModelResponse):
                    first = self._clock.monotonic()
                if isinstance(item, ReadAnew):
                    # What showed of this answer is expected of the next one.
                    self._opened ^= {self.name}
                if isinstance(item, ModelResponse):
                    item = as_meant(item, request.tools, self._ids)  # noqa: PLW2901 - it is that answer
                    latency = _latency(began, first or began, self._clock.monotonic(), item.tokens)
                    self._lessons.answered(latency)
                    used = _counted(item.tokens or Tokens(), request, shown + _length_of_calls(item))
                    yield replace(item, tokens=self._priced(used), latency=latency)
                elif isinstance(item, ModelFailure):
                    used = item.tokens if first is None else _counted(item.tokens or Tokens(), request, shown)
                    yield replace(item, tokens=self._priced(used))
                else:
                    yield item

    def broken_off(self, request: ModelRequest, characters: int) -> Tokens | None:
        """An estimate: whoever is cancelled has not said how much it was."""
        return self._priced(_counted(Tokens(), request, characters))

    def _priced(self, tokens: Tokens | None) -> Tokens | None:
        price = self._profile().price
        if tokens is None or tokens.cost is not None or price is None:
            return tokens
        if not tokens.counted and not tokens.estimated and (price.input or price.output):
            return tokens  # what a provider did not count was used all the same: its cost is unknown
        return replace(tokens, cost=cost(price, tokens))


def cost(price: Price, tokens: Tokens) -> float:
    """What a request and its answer cost.

    Args:
        price: The price of the model.
        tokens: As its provider counted them; those from its cache are part of `input`.
    """
    cached = min(tokens.cached or 0, tokens.input)
    for_cached = price.input if price.cached is None else price.cached
    total = (tokens.input - cached) * price.input + cached * for_cached + tokens.output * price.output
    return round(total / 1e6, 9)


def _counted(tokens: Tokens, request: ModelRequest, characters: int) -> Tokens:
    """What a request used; an estimate where its provider counted nothing: a limit must not stand still then."""
    if tokens.counted or request.tokens is None:
        return tokens
    return replace(
        tokens, input=request.tokens, output=math.ceil(characters / BYTES_PER_TOKEN), estimated=True
    )


def _length_of_calls(answer: ModelResponse) -> int:
    return sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)


def _has_to_do_with_tools(request: ModelRequest) -> bool:
    """Whether tools are offered, or were called before: a server that knows none may refuse those too."""
    return bool(request.tools) or any(
        message.tool_calls or message.role == "tool" for message in request.messages
    )


def _latency(began: float, first: float, ended: float, tokens: Tokens | None) -> Latency:
    made = tokens.output if tokens is not None else 0
    rate = made / (ended - first) if made and ended - first >= SHORTEST_STREAM else None
    return Latency(round((first - began) * 1000, 1), None if rate is None else round(rate, 1))
