"""The session view shows the wait for the next attempt at a provider, and can end it."""

import pytest

NOWHERE = {
    "model": "nowhere/model",
    "providers": {"nowhere": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
    "retry": {"seconds": 600, "attempts": 10},
}
# Attempts are waited for longer and longer: at the fourth there are seconds to look at.
SLOW = "(session() and session():retry_in() or 0) > 2"


@pytest.fixture
def waiting(plugin):
    """An editor whose turn waits for its next attempt for more than two seconds."""
    nvim = plugin(init=NOWHERE).ready()
    nvim.run()
    nvim.wait(SLOW, 60)
    nvim.ex("Outrider open")
    return nvim


@pytest.mark.parametrize("how", ["command", "key"])
def test_the_time_left_is_shown_and_the_attempt_made_now(waiting, how):
    waiting.wait("shows('… next attempt in 3 s · `R` or `:Outrider retry` makes it now')")
    seq = waiting.lua("return session().retry.seq")
    left = waiting.lua("return session():retry_in()")
    assert left > 1
    began = waiting.lua("_G.due = session().retry.at; return session().retry.at")
    if how == "command":
        waiting.ex("Outrider retry")
    else:
        waiting.keys("R")
    # The next failure tells that the attempt was made; it came before its time.
    waiting.wait(f"session().retry and session().retry.seq > {seq}")
    assert waiting.lua("return vim.fn.localtime()") < began
    counted = [line for line in waiting.shown if line.startswith("… next attempt")]
    assert len(counted) <= 1, "the line of the attempt before is gone"


@pytest.mark.thorough
def test_the_wait_is_over_with_the_turn(waiting):
    waiting.ex("Outrider cancel")
    waiting.until_done("cancelled")
    waiting.wait("not shows('… next attempt')")
    waiting.ex("Outrider retry")
    waiting.wait("heard('No attempt at a provider is waited for')")
