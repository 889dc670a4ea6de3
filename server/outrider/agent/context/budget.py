"""What a turn may spend: steps, time, tokens, money, and the model's context window."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from outrider.agent.context.tokens import Counter
from outrider.agent.state.turn_state import Account
from outrider.models.routing.choose import ANSWER_RESERVE
from outrider.ports.clock import Clock
from outrider.ports.model import Message
from outrider_protocol.events import BudgetExhausted
from outrider_protocol.settings import Limits, LimitsPatch


def patched(limits: Limits, patch: dict[str, Any] | None) -> Limits:
    """Limits with those of a task in their place, as its event has them."""
    if patch is None:
        return limits
    changed = LimitsPatch.model_validate(patch).model_dump(exclude_none=True)
    return limits.model_copy(update=changed)


STANDING_SHARE: Final = 0.7
"""Share of the context window that the system message and the tools may have; with more, no task can be done in what is left."""
RESULT_SHARE: Final = 0.1
"""Share of the context window that one result of a tool may have."""
RESULT_TOKENS: Final = 10_000
"""What it may have at most, however big the window is."""


@dataclass(slots=True)
class Budget:
    """The accounts of one turn."""

    limits: Limits
    clock: Clock
    counter: Counter = field(default_factory=Counter)
    """How long the requests are."""
    model: str = ""
    """Who gets the next request."""
    _context_window: int = 0
    _too_many: int | None = None
    """Tokens that the provider found too many for a request."""
    _since: float | None = None
    _waiting: int = 0
    _seconds: float = field(default=0.0)

    def start(self, context_window: int) -> None:
        """Start the watch of a turn whose model has that window, in tokens."""
        self._context_window = context_window
        self._since = self.clock.monotonic()

    def asks(self, model: str, context_window: int) -> None:
        """Take over the window, in tokens, of the model that gets the next request."""
        self._context_window, self.model = context_window, model
        self.counter.asks(model)

    @property
    def context_window(self) -> int:
        """Tokens that the model can take; fewer than its profile says where its provider refused as many."""
        return self._context_window if self._too_many is None else min(self._context_window, self._too_many)

    def overflowed(self, tokens: int) -> None:
        """Take note that a request of estimated tokens was too long for its provider."""
        self._too_many = tokens

    def of_results(self) -> Limits:
        """The limits with the bytes that one result may have in the window as it is now."""
        tokens = min(RESULT_SHARE * self.context_window, RESULT_TOKENS)
        most = min(self.limits.output_bytes, self.counter.bytes_in(tokens))
        return self.limits.model_copy(update={"output_bytes": most})

    @contextmanager
    def held(self) -> Generator[None, None, None]:
        """Stop the watch meanwhile: somebody is waited for."""
        if self._waiting == 0:
            self._seconds = self.seconds
            self._since = None
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._since = self.clock.monotonic()

    @property
    def seconds(self) -> float:
        """Time spent so far, without the time spent waiting for the user."""
        running = 0.0 if self._since is None else self.clock.monotonic() - self._since
        return self._seconds + running

    def context_tokens(self, messages: Sequence[Message]) -> int:
        """About how many tokens a request with these messages has, the tools included."""
        return self.counter.tokens(messages)

    def too_small(self, system: Message) -> tuple[BudgetExhausted, str] | None:
        """That no task can be done in the window, and what to do: the tools, and what of the system message is never cut, take most of it."""
        kept = (part.text for part in system.parts if part.kind not in {"work", "instructions"})
        standing = self.counter.of(
            sum(len(text.encode("utf-8", "replace")) for text in kept) + self.counter.tools
        )
        if standing <= STANDING_SHARE * self.context_window:
            return None
        least = -(-int(standing / STANDING_SHARE) // 100) * 100
        account = BudgetExhausted(
            limit="contextWindow",
            allowed=int(STANDING_SHARE * self.context_window),
            used=standing,
            messages=[system.digest],
            context_window=self.context_window,
        )
        return account, (
            f"The context window of the model is too small: it has {self.context_window:,} tokens, and the instructions and tools alone are "
            f"about {standing:,}. If the model can take more, set `contextWindow` of its provider; else choose a model with at least {least:,}."
        )

    def overflow(self, messages: Sequence[Message]) -> BudgetExhausted:
        """The account of a request that was too long for the provider."""
        return self._of_window(messages, self.context_window)

    def too_long(self, messages: Sequence[Message]) -> BudgetExhausted | None:
        """The account of a request that leaves no room for an answer in the window, None where there is room."""
        allowed = int(self.context_window * (1 - ANSWER_RESERVE))
        return self._of_window(messages, allowed) if self.context_tokens(messages) >= allowed else None

    def _of_window(self, messages: Sequence[Message], allowed: int) -> BudgetExhausted:
        return BudgetExhausted(
            limit="contextWindow",
            allowed=allowed,
            used=self.context_tokens(messages),
            messages=[message.digest for message in messages],
            context_window=self.context_window,
        )

    def spent(self, steps: int, account: Account) -> BudgetExhausted | None:
        """The first limit that is spent, None if the turn may go on."""
        limits = self.limits
        accounts: list[tuple[str, float | None, float]] = [
            ("limits.steps", limits.steps, steps),
            ("limits.seconds", limits.seconds, self.seconds),
            ("limits.tokens", limits.tokens, account.usage.input_tokens + account.usage.output_tokens),
            ("limits.cost", limits.cost, account.known_cost),
        ]
        for name, allowed, used in accounts:
            if allowed is not None and used >= allowed:
                return BudgetExhausted(limit=name, allowed=allowed, used=round(used, 3))
        return None
