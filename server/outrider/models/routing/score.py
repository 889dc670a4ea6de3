"""The score of a model for a request: what it costs, how well its tier fits, how long it keeps one waiting. Pure.

Source: the second layer of persona-runtime 0.1.0's router, its weights and anchors as they are documented there.
"""

from dataclasses import dataclass
from typing import Final, Literal

from outrider_protocol.settings import Price, Tier

Weights = Literal["text", "voice"]

_WEIGHTS: Final[dict[Weights, tuple[float, float, float]]] = {
    "text": (0.40, 0.50, 0.10),
    "voice": (0.10, 0.30, 0.60),
}
"""Of cost, quality and latency."""
_QUALITY: Final[dict[Tier | None, float]] = {"frontier": 1.0, "mid": 0.5, "small": 0.0, None: 0.5}
DEAREST_CENTS: Final = 5.0
"""A request that costs so much, or more, has nothing left of the part for cost."""
LONGEST_MS: Final = 5000.0
"""And one that takes so long to its first token nothing of the part for latency."""
OUTPUT_TOKENS: Final = 500
"""Of an answer that nobody knows yet."""
REASONING_BONUS: Final = 0.10
_DEMANDING: Final = 0.5
_MANY_TOKENS: Final = 4000


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request asks for."""

    tokens: int
    first_turn: bool = False
    sensitive: bool = False
    """Whether much depends on it."""
    strong_tools: bool = False
    vision: bool = False
    edge_of_conversation: bool = False
    """Whether the conversation opens or closes with it."""

    @property
    def quality(self) -> float:
        """How good its model should be, from 0 to 1."""
        return (
            0.30 * self.first_turn
            + 0.30 * self.sensitive
            + 0.15 * self.strong_tools
            + 0.10 * self.vision
            + 0.10 * min(1.0, self.tokens / _MANY_TOKENS)
            + 0.05 * self.edge_of_conversation
        )


def score(
    demand: Demand,
    tier: Tier | None,
    price: Price | None,
    first_token_ms: float | None,
    *,
    reasoning: bool,
    weights: Weights = "text",
) -> float:
    """How well a model suits a request: the higher, the better.

    Args:
        demand: The request.
        tier: The model's tier.
        price: What it costs; where that is unknown it counts as the dearest.
        first_token_ms: How long it keeps one waiting; where that is unknown it counts as half of the longest.
        reasoning: Whether it thinks before it answers.
        weights: What counts how much.
    """
    for_cost, for_quality, for_latency = _WEIGHTS[weights]
    cents = DEAREST_CENTS if price is None else 100 * cost_of(price, demand.tokens)
    waiting = LONGEST_MS / 2 if first_token_ms is None else first_token_ms
    total = (
        for_cost * (1 - min(1.0, cents / DEAREST_CENTS))
        + for_quality * (1 - abs(demand.quality - _QUALITY[tier]))
        + for_latency * (1 - min(1.0, waiting / LONGEST_MS))
    )
    return total + (REASONING_BONUS if reasoning and demand.quality >= _DEMANDING else 0.0)


def cost_of(price: Price, tokens: int) -> float:
    """About what a request of so many tokens costs with its answer."""
    return (tokens * price.input + OUTPUT_TOKENS * price.output) / 1e6
