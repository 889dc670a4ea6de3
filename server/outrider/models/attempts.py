"""Models that are asked one after the other: what passes is tried again once, and what does not goes to the next.

What was shown of an answer that broke off is withdrawn by who hears of the second attempt. It must never ask again
where the request itself is at fault, nor keep anybody from cancelling.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_random

from outrider.models.failures import bucket_of
from outrider.models.routing.choose import ANSWER_RESERVE
from outrider.models.wrapper import Wrapper
from outrider.ports.clock import Clock
from outrider.ports.model import (
    FellBack,
    Model,
    ModelFailure,
    ModelItem,
    ModelRequest,
    ModelResponse,
    Retried,
)

ATTEMPTS = 2
"""Of one request to one model."""
_DELAY = wait_random(0.5, 2.0)
"""Seconds before the second one, where the provider does not say."""
_MORE = wait_random(0, 0.5)
"""Seconds more than it says: it told others the same."""


class Attempts(Wrapper):
    """A list of models behind the face of one. The one that answered last is asked first from then on."""

    def __init__(self, models: Sequence[Model], *, clock: Clock) -> None:
        """Put models in a row.

        Args:
            models: At least one, in the order they are asked. A script is not asked twice: its next answer is for
                the next request.
            clock: What a second attempt waits on.
        """
        self._models = models
        self._clock = clock
        self._current = 0

    @property
    def _model(self) -> Model:
        return self._models[self._current]

    @property
    def vision(self) -> bool:
        """Whether one of them takes images."""
        return any(model.vision for model in self._models)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask.

        Yields:
            Deltas, `Switched` as it comes, `Retried` before each further attempt and `FellBack` before each further
            model, then one `ModelResponse` or one `ModelFailure`. A model that stands in for another is not sent what
            is too long for it: the next one that it fits is asked, and where it fits none, it fails as if one had refused it.
        """
        while True:
            failure: ModelFailure | None = None
            wait = 0.0

            async def put_off(seconds: float) -> None:
                nonlocal wait
                wait = seconds

            async for attempt in self._retrying(put_off):
                if failure is not None:
                    number = attempt.retry_state.attempt_number
                    # Said before the wait: who looks on would think that nothing happens.
                    yield Retried(self.name, failure.kind, number, failure.tokens, wait)
                    await self._clock.sleep(wait)
                failure = None
                async with aclosing(self._model.stream(self._fitting(request))) as items:
                    async for item in items:
                        if isinstance(item, ModelFailure):
                            failure = item
                            break
                        yield item
                        if isinstance(item, ModelResponse):
                            return
                failure = failure or ModelFailure("protocol", f"{self.name} ended without an answer")
                attempt.retry_state.set_result(failure)
            assert failure is not None  # noqa: S101 - there is always a first attempt
            if bucket_of(failure) == "surface" or self._current == len(self._models) - 1:
                yield failure
                return
            before, left = self.name, range(self._current + 1, len(self._models))
            fitting = next((one for one in left if _fits(request, self._models[one])), None)
            self._current = left[0] if fitting is None else fitting
            yield FellBack(before, self.name, failure.kind, failure.tokens)
            if fitting is None:
                yield ModelFailure("context_overflow", f"the request is too long for {self.name}")
                return

    def left_over(self) -> int:
        """Scripted answers of the first model that were not asked for."""
        return self._models[0].left_over()

    async def close(self) -> None:
        """Let go of the connections of all."""
        for model in self._models:
            await model.close()

    def _fitting(self, request: ModelRequest) -> ModelRequest:
        limits = [limit for limit in (self.max_tokens, request.at_most) if limit is not None]
        return replace(request, temperature=self.temperature, max_tokens=min(limits, default=None))

    def _retrying(self, sleep: Callable[[float], Awaitable[None]]) -> AsyncRetrying:
        most = 1 if is_script(self.name) else ATTEMPTS
        return AsyncRetrying(
            sleep=sleep,
            stop=stop_after_attempt(most),
            wait=_delay,
            retry=retry_if_result(lambda failure: bucket_of(failure) == "retry"),
            retry_error_callback=lambda _: None,
        )


def is_script(name: str) -> bool:
    """Whether that is the name of a model whose answers stand in a file."""
    return name.startswith(("scripted:", "recorded:"))


def _fits(request: ModelRequest, model: Model) -> bool:
    """Whether a model takes it: it was made for another window, and may be refused, or lose its beginning without a word."""
    return (request.tokens or 0) <= model.context_window * (1 - ANSWER_RESERVE)


def _delay(state: RetryCallState) -> float:
    failure = state.outcome.result() if state.outcome else None
    asked_for = failure.retry_after if isinstance(failure, ModelFailure) else None
    return _DELAY(state) if asked_for is None else asked_for + _MORE(state)
