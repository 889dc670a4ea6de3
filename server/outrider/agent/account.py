"""What requests cost together: their tokens, and their money as far as it is known. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from outrider.ports.model import Tokens
from outrider_protocol.events import Usage


@dataclass(frozen=True, slots=True)
class Account:
    """The sum over some requests, those that failed included."""

    usage: Usage = field(default_factory=Usage)
    """`cost` is absent as soon as that of one request is unknown: a sum that leaves something out is none."""
    known_cost: float = 0.0
    """What is known of it, which is what a limit goes by."""
    requests: int = 0

    def with_request(self, one: Mapping[str, Any] | None) -> "Account":
        """The account with a request, whose usage stands on the wire so; None where nothing was used."""
        if one is None:
            return self
        total, cost = self.usage, one.get("cost")
        known = cost is not None and (self.requests == 0 or total.cost is not None)
        return Account(
            Usage(
                input_tokens=total.input_tokens + one.get("inputTokens", 0),
                output_tokens=total.output_tokens + one.get("outputTokens", 0),
                cached_tokens=_plus(total.cached_tokens, one.get("cachedTokens")),
                reasoning_tokens=_plus(total.reasoning_tokens, one.get("reasoningTokens")),
                estimated=total.estimated or one.get("estimated"),
                cost=round((total.cost or 0.0) + cost, 9) if known and cost is not None else None,
            ),
            round(self.known_cost + (cost or 0.0), 9),
            self.requests + 1,
        )


def _plus(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


def usage_of(tokens: Tokens | None) -> Usage | None:
    """A response's tokens, as they stand on the wire."""
    if tokens is None:
        return None
    return Usage(
        input_tokens=tokens.input,
        output_tokens=tokens.output,
        cached_tokens=tokens.cached,
        reasoning_tokens=tokens.reasoning,
        cost=tokens.cost,
        estimated=tokens.estimated or None,
    )
