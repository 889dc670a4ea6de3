"""Which of several models gets a request: a table of requests and what becomes of them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.models.routing.choose import Demand, choose, in_order, score
from outrider.models.routing.profile import Pace, Profile
from outrider.ports.model import Latency
from outrider.ports.routing import Need, Routing
from outrider_protocol.settings import Price, Tiers
from outrider_protocol.settings import Routing as RoutingSettings


def profile(window: int = 100_000, **more: Any) -> Profile:
    given: dict[str, Any] = {
        "tool_format": "native",
        "text_format": "outrider",
        "max_tokens": None,
        "vision": False,
        "reasoning": False,
        "tool_strength": "medium",
        "price": None,
        "edit_format": None,
    }
    return Profile(context_window=window, **{**given, **more})


ALL = Tiers(small=["s/1", "s/2"], mid=["m/1"], frontier=["f/1"])
PLAIN = {name: profile() for name in ("s/1", "s/2", "m/1", "f/1", "x/1")}


def chosen(
    need: Need, tiers: Tiers = ALL, profiles: dict[str, Profile] | None = None, **more: Any
) -> Routing:
    how: dict[str, Any] = {"settings": RoutingSettings(), "paces": {}, "failed": {}, **more}
    return choose(need, tiers, how.pop("model", "x/1"), {**PLAIN, **(profiles or {})}, **how)


@pytest.mark.parametrize(
    ("need", "model", "reason"),
    [
        (Need("main", 10, first_step=True), "f/1", "first_step"),
        (Need("main", 10), "m/1", "step"),
        (Need("main", 10, after_reasoning=True), "f/1", "after_reasoning"),
        (Need("summary", 10), "s/1", "side_task"),
        (Need("title", 10, first_step=True), "s/1", "side_task"),
    ],
)
def test_the_kind_of_request_says_the_tier(need: Need, model: str, reason: str) -> None:
    routing = chosen(need)
    assert (routing.models[0], routing.reason) == (model, reason)


@pytest.mark.parametrize(
    ("tiers", "wanted", "order"),
    [
        (ALL, "small", ["s/1", "s/2", "m/1", "f/1", "x/1"]),
        (ALL, "mid", ["m/1", "f/1", "x/1", "s/1", "s/2"]),
        (ALL, "frontier", ["f/1", "x/1", "m/1", "s/1", "s/2"]),
        (Tiers(frontier=["f/1"]), "small", ["f/1", "x/1"]),
        (Tiers(), "mid", ["x/1"]),
        (Tiers(mid=["m/1", "x/1"], small=["m/1"]), "mid", ["m/1", "x/1"]),
    ],
)
def test_a_missing_tier_falls_back(tiers: Tiers, wanted: Any, order: list[str]) -> None:
    assert [one.model for one in in_order(tiers, wanted, "x/1")] == order


@pytest.mark.parametrize(
    ("need", "profiles", "left_out", "model"),
    [
        (Need("main", 10, vision=True), {"f/1": profile(vision=True)}, "vision", "f/1"),
        (Need("main", 9_600), {"m/1": profile(10_000)}, "context_window", "f/1"),
        (Need("main", 9_400), {"m/1": profile(10_000)}, None, "m/1"),
        (Need("main", 10, tools=True), {"m/1": profile(tool_strength="weak")}, "tool_strength", "f/1"),
        (Need("main", 10), {"m/1": profile(tool_strength="weak")}, None, "m/1"),
    ],
)
def test_what_must_be_comes_first(
    need: Need, profiles: dict[str, Profile], left_out: str | None, model: str
) -> None:
    routing = chosen(need, profiles=profiles, settings=RoutingSettings(tool_strength="medium"))
    of_mid = next(one for one in routing.candidates if one.model == "m/1")
    assert (of_mid.left_out, routing.models[0]) == (left_out, model)


def test_among_equals_the_cheapest_comes_first_and_an_unknown_price_last() -> None:
    tiers = Tiers(mid=[["a/1", "b/1", "c/1"], "d/1"])
    prices = {
        "a/1": profile(),
        "b/1": profile(price=Price(input=2, output=2)),
        "c/1": profile(price=Price(input=1, output=1)),
        "d/1": profile(price=Price(input=0, output=0)),
    }
    assert chosen(Need("main", 10), tiers, prices, model=None).models == ("c/1", "b/1", "a/1", "d/1")


def test_where_nothing_fits_the_largest_that_did_not_fail_is_taken() -> None:
    profiles = {
        "m/1": profile(50),
        "f/1": profile(70),
        "s/1": profile(60),
        "s/2": profile(20),
        "x/1": profile(20),
    }
    routing = chosen(Need("main", 1000), profiles=profiles, failed={"f/1": "auth"})
    assert routing.models == ("s/1",)
    everything = chosen(Need("main", 10), failed=dict.fromkeys(PLAIN, "auth"))
    assert len(everything.models) == 1


@given(
    need=st.builds(
        Need,
        st.sampled_from(["main", "summary"]),
        st.integers(0, 200_000),
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.booleans(),
    ),
    by=st.sampled_from(["order", "score"]),
    windows=st.lists(st.integers(1, 300_000), min_size=5, max_size=5),
    failed=st.sets(st.sampled_from(sorted(PLAIN))),
)
def test_there_is_always_a_choice_and_always_the_same(
    need: Need, by: Any, windows: list[int], failed: set[str]
) -> None:
    profiles = {name: profile(window) for name, window in zip(PLAIN, windows, strict=True)}
    how: dict[str, Any] = {"settings": RoutingSettings(by=by), "failed": dict.fromkeys(failed, "auth")}
    first, second = (chosen(need, profiles=profiles, **how) for _ in range(2))
    assert first == second
    assert first.models
    taken = {one.model for one in first.candidates if one.left_out is None}
    assert set(first.models) == taken or len(first.models) == 1
    assert first.context_window == profiles[first.models[0]].context_window


# Worked out by hand from the weights and anchors.
SMALL, MID, BIG = Price(input=0, output=0), Price(input=1, output=10), Price(input=10, output=60)


@pytest.mark.parametrize(
    ("demand", "tier", "price", "waits", "how", "value"),
    [
        # cost 1, fit 1 - |0 - 0|, no wait
        (Demand(0), "small", SMALL, 0.0, {}, 0.40 + 0.50 + 0.10),
        # 500 tokens out: 3 cents of 5; fit 1 - |0 - 1| = 0; half of the wait
        (Demand(0), "frontier", BIG, 2500.0, {}, 0.40 * 0.4 + 0.0 + 0.05),
        # 4000 tokens in: 0.4 + 0.5 cents; proxy .30 + .10 + .05 = .45 against .5
        (
            Demand(4000, first_turn=True, edge_of_conversation=True),
            "mid",
            MID,
            0.0,
            {},
            0.40 * 0.82 + 0.50 * 0.95 + 0.10,
        ),
        # everything at once: proxy 1, and the bonus
        (
            Demand(8000, True, True, True, True, True),
            "frontier",
            SMALL,
            0.0,
            {"reasoning": True},
            0.40 + 0.50 + 0.10 + 0.10,
        ),
        # an unknown price is the dearest, an unknown wait half of the longest
        (Demand(0), "small", None, None, {}, 0.0 + 0.50 + 0.05),
        # no bonus below half
        (Demand(0), "small", SMALL, 0.0, {"reasoning": True}, 1.0),
        # more than the anchor is no worse
        (Demand(0), "small", SMALL, 9000.0, {}, 0.40 + 0.50 + 0.0),
        (Demand(0), None, SMALL, 0.0, {}, 0.40 + 0.50 * 0.5 + 0.10),
    ],
)
def test_the_score(
    demand: Demand, tier: Any, price: Price | None, waits: float | None, how: dict[str, Any], value: float
) -> None:
    assert score(demand, tier, price, waits, **{"reasoning": False, **how}) == pytest.approx(value)


def test_ties_of_the_score_go_by_the_order_of_the_settings() -> None:
    tiers = Tiers(mid=["m/2", "m/1", "m/3"])
    profiles = {name: profile() for name in ("m/1", "m/2", "m/3")}
    routing = chosen(Need("main", 10), tiers, profiles, model=None, settings=RoutingSettings(by="score"))
    assert routing.models == ("m/2", "m/1", "m/3")


def test_a_pace_is_a_mean_first_and_forgets_later() -> None:
    pace = Pace()
    for wait in (100, 200, 300, 400, 500):
        pace = pace.after(Latency(wait, None))
    assert (pace.requests, pace.first_token_ms, pace.tokens_per_second) == (5, pytest.approx(300), None)
    pace = pace.after(Latency(800, 50.0))
    assert (pace.first_token_ms, pace.tokens_per_second) == (pytest.approx(400), 50.0)
    assert pace.after(Latency(400, 100.0)).tokens_per_second == pytest.approx(60)
