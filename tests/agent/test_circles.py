"""A model that goes in a circle, and one that only waits."""

import pytest
from scripting import DONE, call, results, step

from outrider.agent.loop.circles import goes_round

READ = call("read_file", path="tariff.py")
OTHER = call("read_file", path="README.md")
FIND = call("find_files", pattern="*.py")
WAIT = call("run_command", command="sleep 0; cat tariff.py")
SAYS = "I am going to look for the place where the price is made, in every file."


def statuses(editor):
    return [status for status, _ in results(editor).values()]


@pytest.mark.parametrize("circle", [[READ, OTHER], [READ, OTHER, FIND], [READ, OTHER, FIND, READ, FIND]])
async def test_a_circle_of_several_calls_is_not_run_a_fourth_time(circle, begin):
    turns = [step(one) for one in circle * 3] + [step(circle[0])] * 3
    script = {"purposes": {"summary": [{"text": "Nothing is done."}]}}
    editor = await begin("stock", turns, script=script)
    ended = await editor.run("Go.")
    assert (ended["outcome"], ended["reason"]) == ("failed", "repeated_calls")
    assert statuses(editor) == ["ok"] * 3 * len(circle) + ["skipped"] * 3
    assert ended["summary"] == "The model kept making the same calls.\n\nNothing is done."


async def test_another_call_leads_out_of_a_circle(begin):
    turns = [step(READ), step(OTHER)] * 3 + [step(READ), step(FIND), step(READ), DONE]
    editor = await begin("stock", turns)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert statuses(editor) == ["ok"] * 6 + ["skipped", "ok", "ok"]


async def test_what_waits_may_be_called_again_with_the_same_result(begin):
    editor = await begin("stock", [step(WAIT)] * 8 + [DONE], {"permissionMode": "full"})
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert set(statuses(editor)) == {"ok"}


async def test_the_same_words_with_the_same_results_end_the_turn_with_a_summary(begin):
    searches = [
        {"text": SAYS, "tool_calls": [call("search", pattern=f"nowhere{number}")]} for number in range(6)
    ]
    script = {"purposes": {"summary": [{"text": "It is not there."}]}}
    editor = await begin("stock", searches, script=script)
    ended = await editor.run("Go.")
    assert (ended["outcome"], ended["reason"]) == ("failed", "repeated_text")
    assert ended["summary"].endswith("It is not there.")


@pytest.mark.parametrize(
    ("text", "round_"),
    [("So I go on with the next file and look at it. " * 10, True), ("x" * 2_000, False), ("\n".join(map(str, range(900))), False)],
)  # fmt: skip
def test_a_text_that_goes_round_is_seen(text, round_):
    assert goes_round(f"First something else. {text}") is round_
