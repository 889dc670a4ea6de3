"""Which of several models gets a request. Pure: the same request, models and settings give the same answer.

No word of a text has a part in it: what counts is which step it is, how long the request is and what it holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from outrider.models.routing.profile import Pace, Profile
from outrider.ports.routing import Candidate, LeftOut, Need, RouteReason, Routing
from outrider_protocol.settings import TIERS, TOOL_STRENGTHS, Price, Settings, Tier, Tiers, TierSettings
from outrider_protocol.settings import Routing as RoutingSettings

_FOR_COST, _FOR_QUALITY, _FOR_LATENCY = 0.40, 0.50, 0.10
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
) -> float:
    """How well a model suits a request: the higher, the better.

    Args:
        demand: The request.
        tier: The model's tier.
        price: What it costs; where that is unknown it counts as the dearest.
        first_token_ms: How long it keeps one waiting; where that is unknown it counts as half of the longest.
        reasoning: Whether it thinks before it answers.
    """
    cents = DEAREST_CENTS if price is None else 100 * cost_of(price, demand.tokens)
    waiting = LONGEST_MS / 2 if first_token_ms is None else first_token_ms
    total = (
        _FOR_COST * (1 - min(1.0, cents / DEAREST_CENTS))
        + _FOR_QUALITY * (1 - abs(demand.quality - _QUALITY[tier]))
        + _FOR_LATENCY * (1 - min(1.0, waiting / LONGEST_MS))
    )
    return total + (REASONING_BONUS if reasoning and demand.quality >= _DEMANDING else 0.0)


def cost_of(price: Price, tokens: int) -> float:
    """About what a request of so many tokens costs with its answer."""
    return (tokens * price.input + OUTPUT_TOKENS * price.output) / 1e6


ANSWER_RESERVE: Final = 0.05
"""Share of the context window that is kept for the answer."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A model and its place among the others: of two at one rank neither is preferred."""

    model: str
    tier: Tier | None
    rank: int


def wanted_tier(need: Need) -> tuple[Tier, RouteReason]:
    """The tier that a request should go to, and why."""
    if need.purpose != "main":
        return "small", "side_task"
    if need.first_step:
        return "frontier", "first_step"
    if need.after_reasoning:
        return "frontier", "after_reasoning"
    return "mid", "step"


def tier_of(tiers: Tiers, tier: Tier) -> TierSettings:
    """One of the tiers."""
    return {"small": tiers.small, "mid": tiers.mid, "frontier": tiers.frontier}[tier]


def in_order(tiers: Tiers, wanted: Tier, model: str | None) -> list[Listed]:
    """All models, those of the wanted tier first, then those of the better ones, then `model`, then the rest."""
    at = TIERS.index(wanted)
    better, worse = TIERS[at:], tuple(reversed(TIERS[:at]))
    listed: list[Listed] = []

    def add(models: Sequence[str], tier: Tier | None) -> None:
        rank = len(listed)
        known = {one.model for one in listed}
        listed.extend(Listed(one, tier, rank) for one in dict.fromkeys(models) if one not in known)

    for tier in better:
        for entry in tier_of(tiers, tier).models:
            add([entry] if isinstance(entry, str) else entry, tier)
    if model is not None:
        add([model], None)
    for tier in worse:
        for entry in tier_of(tiers, tier).models:
            add([entry] if isinstance(entry, str) else entry, tier)
    return listed


def named(settings: Settings) -> list[str]:
    """The models that the settings name, each once, the one of a turn's first step first."""
    listed = [one.model for one in in_order(settings.tiers, "frontier", settings.model)]
    return list(dict.fromkeys([*listed, *settings.fallback_models, *settings.models]))


def choose(
    need: Need,
    tiers: Tiers,
    model: str | None,
    profiles: Mapping[str, Profile],
    *,
    settings: RoutingSettings,
    paces: Mapping[str, Pace],
    failed: Mapping[str, str],
) -> Routing:
    """Choose who gets a request.

    What must be comes first: the window, images, the strength of tools. Among those that are left the order of the
    settings decides, and among equals the price; or the score decides, where the settings say so.

    Args:
        need: The request.
        tiers: The models.
        model: `model` of the settings, for where no tier has one that can be taken.
        profiles: What is known of each; one without is not there.
        settings: How it is chosen.
        paces: How fast they were.
        failed: Those that failed in this turn, and how.

    Returns:
        The choice. Where none can be taken it is the one that failed least: with the largest window among those
        that did not fail, if any.
    """
    wanted, reason = wanted_tier(need)
    listed = [one for one in in_order(tiers, wanted, model) if one.model in profiles]
    looked_at = [
        _looked_at(one, profiles[one.model], need, settings, paces.get(one.model), failed) for one in listed
    ]
    fit = [
        (candidate, one.rank)
        for candidate, one in zip(looked_at, listed, strict=True)
        if not candidate.left_out
    ]
    if settings.by == "score":
        fit.sort(key=lambda pair: -(pair[0].score or 0.0))
    else:
        fit.sort(key=lambda pair: (pair[1], pair[0].price is None, pair[0].price or 0.0))
    models = [candidate for candidate, _ in fit] or [_least_bad(looked_at, profiles)]
    first = models[0]
    return Routing(
        reason=reason,
        wanted=wanted,
        tier=first.tier,
        models=tuple(candidate.model for candidate in models),
        candidates=tuple(looked_at),
        tokens=need.tokens,
        context_window=profiles[first.model].context_window,
        by=settings.by,
    )


def _looked_at(
    one: Listed,
    profile: Profile,
    need: Need,
    settings: RoutingSettings,
    pace: Pace | None,
    failed: Mapping[str, str],
) -> Candidate:
    price = None if profile.price is None else cost_of(profile.price, need.tokens)
    candidate = Candidate(
        one.model,
        one.tier,
        _left_out(one, profile, need, settings, failed),
        None if price is None else round(price, 6),
    )
    if settings.by == "order":
        return candidate
    demand = Demand(
        tokens=need.tokens,
        first_turn=need.first_step,
        sensitive=need.after_reasoning,
        strong_tools=need.tools,
        vision=need.vision,
        edge_of_conversation=need.first_step,
    )
    value = score(
        demand,
        one.tier,
        profile.price,
        pace and pace.first_token_ms,
        reasoning=profile.reasoning,
    )
    return replace(candidate, score=round(value, 4))


def _left_out(
    one: Listed, profile: Profile, need: Need, settings: RoutingSettings, failed: Mapping[str, str]
) -> LeftOut | None:
    if one.model in failed:
        return "failed"
    if need.vision and not profile.vision:
        return "vision"
    if need.tokens > profile.context_window * (1 - ANSWER_RESERVE):
        return "context_window"
    least = TOOL_STRENGTHS.index(settings.tool_strength)
    if need.tools and TOOL_STRENGTHS.index(profile.tool_strength) < least:
        return "tool_strength"
    return None


def _least_bad(looked_at: Sequence[Candidate], profiles: Mapping[str, Profile]) -> Candidate:
    working = [candidate for candidate in looked_at if candidate.left_out != "failed"] or looked_at
    return max(working, key=lambda candidate: profiles[candidate.model].context_window)
