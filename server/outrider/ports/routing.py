"""What the loop says of a request before it is made, and which model it is told to make it to."""

from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from outrider_protocol.settings import Tier

RouteReason = Literal["first_step", "after_reasoning", "step", "side_task"]
LeftOut = Literal["context_window", "vision", "tool_strength", "failed"]


@dataclass(frozen=True, slots=True)
class Need:
    """A request, as far as it matters for who answers it. Nothing of it comes from the words of a text."""

    purpose: str
    """`main` for a step of the loop, else what the answer is for."""
    tokens: int
    """About how many tokens it has, the tools included."""
    tools: bool = False
    """Whether tools are offered."""
    vision: bool = False
    """Whether it holds images."""
    first_step: bool = False
    """Whether it is the first step of its turn."""
    after_reasoning: bool = False
    """Whether the step before came to nothing but thoughts."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that was looked at."""

    model: str
    tier: Tier | None
    """None for the one that stands outside of all tiers."""
    left_out: LeftOut | None = None
    price: float | None = None
    """What the request would about cost; None where that is not known."""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Routing:
    """Which model gets a request, and why."""

    reason: RouteReason
    wanted: Tier
    tier: Tier | None
    models: tuple[str, ...]
    """At least one; the others are asked where those before them fail."""
    candidates: tuple[Candidate, ...]
    tokens: int
    """Of the request, as far as they were known."""
    context_window: int
    """Tokens that the first of `models` can take."""
    by: Literal["order", "score"] = "order"


@runtime_checkable
class Router(Protocol):
    """A model that stands for several, and is told of each request before it gets it."""

    async def route(self, need: Need) -> Routing | None:
        """Choose who gets the next request; None where there is nothing to choose."""
        ...
