"""Several models behind the face of one: before each request it is chosen who gets it.

The choice itself is `choose`, which is pure; here is only what it goes by, and the model that it comes to.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType

from outrider.models.retry import Attempts
from outrider.models.wrapper import Wrapper
from outrider.ports.clock import Clock
from outrider.ports.model import FellBack, Model, ModelItem, ModelRequest
from outrider.ports.routing import Need, Routing
from outrider_protocol.settings import RetrySettings, Thinking, Tier

Choose = Callable[[Need, Mapping[str, str]], Routing]
"""Gives the choice for a request; those that failed in this turn are said by name, with how they did."""


class RoutedModel(Wrapper):
    """The models of a turn. One that failed and was stood in for is not asked again, unless no other is left."""

    def __init__(
        self,
        models: Sequence[Model],
        choose: Choose,
        *,
        clock: Clock,
        retry: RetrySettings | None = None,
        thinking: Mapping[Tier, Thinking] = MappingProxyType({}),
    ) -> None:
        """Make it.

        Args:
            models: All models that can be had, at least one.
            choose: Chooses among them.
            clock: What further attempts wait on.
            retry: How long a request is repeated; None for the defaults.
            thinking: How much models think in a tier, where that is set.
        """
        self._models = {model.name: model for model in models}
        self._choose = choose
        self._clock = clock
        self._retry = retry
        self._thinking = thinking
        self._tier: Tier | None = None
        self._failed: dict[str, str] = {}
        self._chosen = Attempts(models[:1], clock=clock, retry=retry)

    @property
    def _model(self) -> Model:
        return self._chosen

    @property
    def vision(self) -> bool:
        """Whether one of them takes images: a request that has some goes to that one."""
        return any(model.vision for model in self._models.values())

    async def route(self, need: Need) -> Routing:
        """Choose who gets the next request."""
        routing = self._choose(need, self._failed)
        self._tier = routing.tier
        self._chosen = Attempts(
            [self._models[name] for name in routing.models], clock=self._clock, retry=self._retry
        )
        return routing

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask those that were chosen.

        Yields:
            What they say, as `Attempts` gives it.
        """
        if request.thinking is None and self._tier is not None:
            request = replace(request, thinking=self._thinking.get(self._tier))
        async with aclosing(self._chosen.stream(request)) as items:
            async for item in items:
                if isinstance(item, FellBack):
                    self._failed[item.model] = item.reason
                yield item

    def left_over(self) -> int:
        """Scripted answers that were not asked for."""
        return sum(model.left_over() for model in self._models.values())

    async def close(self) -> None:
        """Let go of all."""
        for model in self._models.values():
            await model.close()
