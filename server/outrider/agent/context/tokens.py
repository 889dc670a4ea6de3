"""How many tokens a request has: what the provider counted, and for the rest an estimate that follows its counts. Pure.

A message never changes, and its size is computed once. So a count of a long conversation of which little is new costs
little.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from outrider.ports.model import BYTES_PER_TOKEN, Message, Tokens

TOKENS_PER_BYTE = 1 / BYTES_PER_TOKEN
"""For a model that has counted nothing yet; rather too many."""
FEWEST_PER_BYTE, MOST_PER_BYTE = 1 / 6, 1 / 1.5
"""No count is believed to say more or less of a text in general."""
LEAST_PER_BYTE = 1 / 24
"""A count that comes to less is not that of the whole request: some servers leave out what was in their cache."""


@dataclass(slots=True)
class Counter:
    """The counts of one turn's requests."""

    tools: int = 0
    """Bytes of the definitions of tools that go with each request."""
    _model: str = ""
    _ratios: dict[str, float] = field(default_factory=dict[str, float])
    """Tokens per byte, by model, as its last count said."""
    _counted: int = 0
    """Messages of the latest request that was counted; with its answer they came to `_tokens`."""
    _tokens: int = 0
    _sized: list[Message] = field(default_factory=list[Message])
    """The messages that were sized last. A conversation mostly begins with them."""
    _bytes: int = 0
    """Their size."""

    def asks(self, model: str) -> None:
        """Reckon for that model from here on. What another one counted is no truth for it."""
        if model != self._model:
            self._model = model
            self.forget()

    def take(self, model: str, messages: Sequence[Message], tokens: Tokens | None) -> None:
        """Take over what a model counted for a request with these messages, and for its answer."""
        size = self._size(messages) + self.tools
        if tokens is None or tokens.estimated or tokens.input <= size * LEAST_PER_BYTE:
            return
        self._model = model
        self._ratios[model] = min(max(tokens.input / max(size, 1), FEWEST_PER_BYTE), MOST_PER_BYTE)
        self._counted, self._tokens = len(messages), tokens.input + tokens.output

    def forget(self) -> None:
        """Forget the count of the latest request, because its messages have changed. What it taught stays."""
        self._counted = self._tokens = 0

    def tokens(self, messages: Sequence[Message]) -> int:
        """About how many tokens a request with these messages has, its tools included."""
        if 0 < self._counted <= len(messages):
            new = messages[self._counted :]
            if new and new[0].role == "assistant":  # the answer, which was counted
                new = new[1:]
            return self._tokens + self.of(sum(message.weight for message in new))
        return self.of(self._size(messages) + self.tools)

    def of(self, size: int) -> int:
        """About how many tokens so many bytes have."""
        return int(size * self._ratios.get(self._model, TOKENS_PER_BYTE))

    def bytes_in(self, tokens: float) -> int:
        """About how many bytes so many tokens have."""
        return int(tokens / self._ratios.get(self._model, TOKENS_PER_BYTE))

    def _size(self, messages: Sequence[Message]) -> int:
        known = self._sized
        if messages[: len(known)] != known:  # identical messages are compared in no time
            known, self._bytes = [], 0
        self._bytes += sum(message.weight for message in messages[len(known) :])
        self._sized = list(messages)
        return self._bytes
