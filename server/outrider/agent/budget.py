"""What a turn may spend: steps, time, tokens, money, and the model's context window."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from outrider.agent.account import Account
from outrider.models.routing.choose import ANSWER_RESERVE
from outrider.ports.clock import Clock
from outrider.ports.model import Message, Tokens
from outrider_protocol.events import BudgetExhausted
from outrider_protocol.settings import Limits

BYTES_PER_TOKEN = 3.5
"""For texts the provider has not counted yet; low, so that the estimate is rather too high."""


@dataclass(slots=True)
class Budget:
    """The accounts of one turn."""

    limits: Limits
    clock: Clock
    _context_window: int = 0
    _since: float | None = None
    _waiting: int = 0
    _counted: int = 0
    """Messages of the last request that the provider counted, and below what they and the answer came to."""
    _counted_tokens: int = 0
    _seconds: float = field(default=0.0)

    def start(self, context_window: int) -> None:
        """Start the watch of a turn whose model has that window, in tokens."""
        self._context_window = context_window
        self._since = self.clock.monotonic()

    def asks(self, context_window: int) -> None:
        """Take over the window, in tokens, of the model that gets the next request."""
        self._context_window = context_window

    def hold(self) -> None:
        """Stop the watch while the person is asked."""
        if self._waiting == 0:
            self._seconds = self.seconds
            self._since = None
        self._waiting += 1

    def release(self) -> None:
        """Let the watch run on."""
        self._waiting -= 1
        if self._waiting == 0:
            self._since = self.clock.monotonic()

    @property
    def seconds(self) -> float:
        """Time spent so far, without the time spent waiting for the person."""
        running = 0.0 if self._since is None else self.clock.monotonic() - self._since
        return self._seconds + running

    def counted(self, messages: int, tokens: Tokens | None) -> None:
        """Take over the provider's count of a request of so many messages and of its answer."""
        if tokens is not None and tokens.input > 0:
            self._counted, self._counted_tokens = messages, tokens.input + tokens.output

    def context_tokens(self, messages: Sequence[Message], tools: bytes = b"") -> int:
        """About how many tokens a request with these messages has, and with these tools, as long as nobody counted."""
        new = messages[self._counted :] if self._counted else messages
        size = sum(len(message.encoded) for message in new) + (0 if self._counted else len(tools))
        return self._counted_tokens + int(size / BYTES_PER_TOKEN)

    def overflow(self, messages: Sequence[Message]) -> BudgetExhausted:
        """The account of a request that was too long for the provider."""
        used = self.context_tokens(messages)
        return BudgetExhausted(limit="contextWindow", allowed=self._context_window, used=used)

    def spent(self, steps: int, account: Account, messages: Sequence[Message]) -> BudgetExhausted | None:
        """The first budget that is spent, None if the turn may go on."""
        limits = self.limits
        window = int(self._context_window * (1 - ANSWER_RESERVE))
        accounts: list[tuple[str, float | None, float]] = [
            ("limits.steps", limits.steps, steps),
            ("limits.seconds", limits.seconds, self.seconds),
            ("limits.tokens", limits.tokens, account.usage.input_tokens + account.usage.output_tokens),
            ("limits.cost", limits.cost, account.known_cost),
            ("contextWindow", window, self.context_tokens(messages)),
        ]
        for name, allowed, used in accounts:
            if allowed is not None and used >= allowed:
                return BudgetExhausted(limit=name, allowed=allowed, used=round(used, 3))
        return None
