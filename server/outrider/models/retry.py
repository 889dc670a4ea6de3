"""Models that are asked one after the other: a passing failure is tried again, any other goes to the next model.

The text of an attempt that broke off is withdrawn by the caller, who learns of the next attempt by `Retried`. It must
never repeat a request that is itself at fault, nor keep a user from cancelling.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from random import uniform
from typing import Any

from outrider.models.http.failures import bucket_of
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
from outrider_protocol.settings import RetrySettings, is_script

Jitter = Callable[[float, float], float]
"""Gives a number between two."""

BEFORE_FALLING_BACK = 2
"""Attempts at a model that another one can stand in for: that one is quicker than a provider's recovery."""
LONGEST_BEFORE_FALLING_BACK = 20.0
"""Seconds that such a model may ask to wait."""
FIRST_DELAY = 1.0
"""Seconds before the second attempt where the provider does not say; each further delay is twice as long."""
LONGEST_DELAY = 60.0
_SPREAD = (0.5, 1.5)
"""A delay is multiplied by a number between these, as many clients fail at the same moment."""
_LATER = (0.0, 0.5)
"""Seconds added to the time that a provider names: it told others the same."""


class Attempts(Wrapper):
    """A list of models that acts as one. The one that answered last is asked first from then on."""

    def __init__(
        self,
        models: Sequence[Model],
        *,
        clock: Clock,
        retry: RetrySettings | None = None,
        jitter: Jitter = uniform,
    ) -> None:
        """Make a list of models.

        Args:
            models: At least one, in the order they are asked. A script is not asked twice: its next answer is for
                the next request.
            clock: The time between attempts.
            retry: How long and how often the last model is asked; None for the defaults.
            jitter: Spreads the delays.
        """
        self._models = models
        self._clock = clock
        self._retry = retry or RetrySettings()
        self._jitter = jitter
        self._current = 0
        self._pause: _Pause | None = None

    @property
    def _model(self) -> Model:
        return self._models[self._current]

    @property
    def vision(self) -> bool:
        """Whether one of them takes images."""
        return any(model.vision for model in self._models)

    @property
    def retry_in(self) -> float | None:
        """Seconds until the next attempt; None where it does not wait for one."""
        return None if self._pause is None else max(self._pause.until - self._clock.monotonic(), 0.0)

    def retry_now(self) -> bool:
        """Make the next attempt at once; False where it does not wait for one."""
        if self._pause is None:
            return False
        self._pause.ended.set()
        return True

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelItem, None]:
        """Ask.

        Yields:
            Deltas, `Switched` as it comes, `Retried` before each further attempt and `FellBack` before each further
            model, then one `ModelResponse` or one `ModelFailure`. A model that stands in for another is not sent what
            is too long for it: the next one that it fits is asked, and where it fits none, it fails as if one had refused it.
        """
        number, failed_at = 1, 0.0
        while True:
            failure: ModelFailure | None = None
            async with aclosing(self._model.stream(self._fitting(request))) as items:
                async for item in items:
                    if isinstance(item, ModelFailure):
                        failure = item
                        break
                    yield item
                    if isinstance(item, ModelResponse):
                        return
            failure = failure or ModelFailure("protocol", f"{self.name} ended without an answer")
            now = self._clock.monotonic()
            failed_at = now if number == 1 else failed_at
            wait = self._wait_before(number + 1, failure, now - failed_at)
            if wait is not None:
                number += 1
                # Said before the wait, as nothing else can be seen meanwhile.
                yield Retried(
                    self.name, failure.kind, number, failure.tokens, wait, self._most(), failure.message
                )
                await self._wait(wait)
                continue
            if bucket_of(failure) == "surface" or not self._others:
                yield _with_attempts(failure, number)
                return
            before, left = self.name, range(self._current + 1, len(self._models))
            fitting = next((one for one in left if _fits(request, self._models[one])), None)
            self._current = left[0] if fitting is None else fitting
            number = 1
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

    @property
    def _others(self) -> int:
        """Models that can still stand in."""
        return len(self._models) - 1 - self._current

    def _most(self) -> int:
        """Attempts at the current model."""
        if is_script(self.name):
            return 1
        return min(BEFORE_FALLING_BACK, self._retry.attempts) if self._others else self._retry.attempts

    def _wait_before(self, number: int, failure: ModelFailure, passed: float) -> float | None:
        """Seconds to wait before an attempt; None where it is not made.

        Args:
            number: The attempt, from 2.
            failure: How the attempt before it ended.
            passed: Seconds since the first failure.
        """
        left = self._retry.seconds - passed
        if bucket_of(failure) != "retry" or number > self._most() or left <= 0:
            return None
        if (told := failure.retry_after) is None:
            delay = min(FIRST_DELAY * 2 ** min(number - 2, 10), LONGEST_DELAY)
            return min(delay * self._jitter(*_SPREAD), left)
        longest = min(left, LONGEST_BEFORE_FALLING_BACK) if self._others else left
        return None if told > longest else min(told + self._jitter(*_LATER), left)

    async def _wait(self, seconds: float) -> None:
        pause = self._pause = _Pause(self._clock.monotonic() + seconds)
        waiting: list[asyncio.Future[Any]] = [
            asyncio.ensure_future(self._clock.sleep(seconds)),
            asyncio.ensure_future(pause.ended.wait()),
        ]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._pause = None
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    def _fitting(self, request: ModelRequest) -> ModelRequest:
        limits = [limit for limit in (self.max_tokens, request.at_most) if limit is not None]
        return replace(request, temperature=self.temperature, max_tokens=min(limits, default=None))


class _Pause:
    """The time before an attempt."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.ended = asyncio.Event()


def _fits(request: ModelRequest, model: Model) -> bool:
    """Whether a model takes a request that was made for another window; else it may be refused, or silently lose its beginning."""
    return (request.tokens or 0) <= model.context_window * (1 - ANSWER_RESERVE)


def _with_attempts(failure: ModelFailure, number: int) -> ModelFailure:
    """The failure, with how often the model was asked."""
    if number == 1:
        return failure
    return replace(failure, message=f"{failure.message} (asked {number} times)")
