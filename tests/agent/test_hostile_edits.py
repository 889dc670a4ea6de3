"""Promise 4 through the whole house: clients that do something else with an edit than they say."""

import pytest
from scripting import DONE, FIX, result, step

from outrider.testing.profiles import BAD_EDITS, MOVING

FULL = {"permissionMode": "full"}
QUICK = [str(one) for one in BAD_EDITS + MOVING if one.edit_fault != "never_answers"]


@pytest.mark.parametrize("profile", QUICK)
async def test_promise_4_the_result_says_what_is_there(profile, begin):
    editor = await begin(profile, [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    assert (await editor.run("Go.", seconds=30))["outcome"] == "completed"
    editor.settle()
    status, content = result(editor)
    text = editor.text("tariff.py")
    assert ("hours * 2" in text) == (status == "ok"), content
    assert text.count("hours") == 2
    typed = editor.profile.types_before_edit
    if typed is not None:
        assert text.startswith(typed)
    assert editor.disk("tariff.py").endswith("hours * 3\n")
    settled = [event["type"] for event in editor.events if event["type"].startswith("edit.")]
    assert settled[-1] in ({"edit.applied", "edit.merged"} if status == "ok" else {"edit.rejected"})


@pytest.mark.parametrize("profile", ["stops-reading", "never-creates-progress", "never-shows-document"])
async def test_a_client_that_leaves_something_unanswered_does_not_stop_the_turn(profile, begin):
    editor = await begin(profile, [step(FIX), DONE], FULL)
    pending = editor.command_nowait("outrider.run", {"prompt": "Go."})
    editor.read_on()
    started = await pending
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
