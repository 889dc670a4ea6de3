"""Which of several models gets a request. Pure: the same request, models and settings give the same answer.

No word of a text has a part in it: what counts is which step it is, how long the request is and what it holds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from outrider.models.routing.latency import Pace
from outrider.models.routing.profile import Profile
from outrider.models.routing.score import Demand, cost_of, score
from outrider.ports.routing import Candidate, LeftOut, Need, RouteReason, Routing
from outrider_protocol.settings import TIERS, TOOL_STRENGTHS, Settings, Tier, Tiers
from outrider_protocol.settings import Routing as RoutingSettings

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
        for entry in getattr(tiers, tier):
            add([entry] if isinstance(entry, str) else entry, tier)
    if model is not None:
        add([model], None)
    for tier in worse:
        for entry in getattr(tiers, tier):
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
        weights=settings.weights,
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
