"""The decision over an access: a pure function, and never wider than the mode the user set."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outrider.permissions.policy.decide import Access, decide, narrowest
from outrider_protocol.choices import PERMISSION_MODES

MODES = st.sampled_from(PERMISSION_MODES)
ACCESSES = st.builds(
    Access,
    effect=st.sampled_from(["read", "edit", "execute", "ask"]),
    inside=st.booleans(),
    grant=st.sampled_from([None, "a", "b"]),
    can_be_undone=st.booleans(),
)
GRANTS = st.sets(st.sampled_from(["a", "b", "c"]))
WIDTH = {"deny": 0, "ask": 1, "allow": 2}

TABLE = {
    ("read", True): ["allow", "allow", "allow", "allow", "allow"],
    ("read", False): ["ask", "ask", "ask", "ask", "allow"],
    ("edit", True): ["deny", "ask", "allow", "allow", "allow"],
    ("edit", False): ["deny", "ask", "ask", "ask", "allow"],
    ("execute", True): ["deny", "ask", "ask", "ask", "allow"],
    ("execute", False): ["deny", "ask", "ask", "ask", "allow"],
    ("ask", True): ["allow", "allow", "allow", "allow", "allow"],
}


@pytest.mark.parametrize("effect_and_place", TABLE)
def test_each_mode_says_what_it_says(effect_and_place):
    effect, inside = effect_and_place
    verdicts = [decide(Access(effect, inside), mode, set()).verdict for mode in PERMISSION_MODES]
    assert verdicts == TABLE[effect_and_place]


@given(ACCESSES, GRANTS)
def test_promise_6_nothing_but_looking_in_a_read_only_mode(access, grants):
    judgement = decide(access, "read-only", grants)
    if access.effect in {"edit", "execute"}:
        assert judgement.verdict == "deny"
        assert "read-only" in judgement.reason


@given(ACCESSES, MODES, MODES, GRANTS)
def test_a_narrower_mode_never_allows_more(access, one, other, grants):
    narrow = narrowest(one, other)
    assert narrow in (one, other)
    verdicts = [WIDTH[decide(access, mode, grants).verdict] for mode in (narrow, one, other)]
    assert verdicts[0] == min(verdicts)


@given(ACCESSES, MODES, GRANTS)
def test_a_grant_counts_for_its_own_key_only(access, mode, grants):
    without = decide(access, mode, set())
    with_grants = decide(access, mode, grants)
    if access.grant not in grants:
        assert with_grants == without
    elif without.verdict == "ask":
        assert (with_grants.verdict, with_grants.by) == ("allow", "rule")
    else:
        assert with_grants.verdict == without.verdict


@given(ACCESSES, MODES, GRANTS)
def test_every_verdict_has_a_reason(access, mode, grants):
    assert decide(access, mode, grants).reason


@given(st.lists(MODES, min_size=1))
def test_the_narrowest_is_that_of_all(modes):
    assert PERMISSION_MODES.index(narrowest(*modes)) == min(map(PERMISSION_MODES.index, modes))


@pytest.mark.parametrize("mode", PERMISSION_MODES)
@pytest.mark.parametrize("inside", [True, False])
def test_a_command_that_can_be_undone_runs_in_the_mode_for_that(mode, inside):
    verdict = decide(Access("execute", inside=inside, can_be_undone=True), mode, set()).verdict
    in_auto = "allow" if inside else "ask"
    assert verdict == {"read-only": "deny", "auto": in_auto, "full": "allow"}.get(mode, "ask")
