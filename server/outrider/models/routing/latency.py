"""How fast a model is: an average that forgets. Pure."""

from dataclasses import dataclass

from outrider.ports.model import Latency

FIRST = 5
"""So many requests count the same; from then on the latest counts `WEIGHT`."""
WEIGHT = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model was so far."""

    requests: int = 0
    first_token_ms: float = 0.0
    tokens_per_second: float | None = None
    """None where every answer was too short to tell."""

    def after(self, latency: Latency) -> "Pace":
        """The pace with one more request."""
        share = 1 / (self.requests + 1) if self.requests < FIRST else WEIGHT
        rate, before = latency.tokens_per_second, self.tokens_per_second
        return Pace(
            self.requests + 1,
            _mean(self.first_token_ms, latency.first_token_ms, share),
            before if rate is None else rate if before is None else _mean(before, rate, share),
        )


def _mean(before: float, now: float, share: float) -> float:
    return before + share * (now - before)
