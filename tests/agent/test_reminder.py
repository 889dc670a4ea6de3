"""A model that stops is told once what it left undone: an unchecked change, open points of the plan. Its answer stands."""

import pytest
from scripting import DONE, FIX, call, results, step, types

from outrider.testing.scenario import embedded, start_session
from provider_server import ProviderServer, Said

TAKES = {"purposes": {"reminder": []}}
FULL = {"permissionMode": "full"}
UNCHECKED = "[Before you end: nothing has checked your last change. Do what is left: run the narrowest check that covers the change, mend what fails. If"
TESTS = call("run_command", command="python3 -m compileall -q tariff.py", called="tests")
NOTHING = {"text": "There is nothing to run."}


def plan(*status, called="plan"):
    items = [{"text": f"Point {number}", "status": one} for number, one in enumerate(status, 1)]
    return call("update_plan", items=items, called=called)


async def reminders(editor):
    """What the model was told, of the requests that came after the first answer."""
    logged = await editor.command("outrider.events", {"sessionId": editor.session_id})
    phases = [one["data"]["reason"] for one in logged["events"] if one["type"] == "turn.phase"]
    return len(editor.events_of("model.requested")), phases.count("reminder")


async def test_an_unchecked_change_is_told_of_once_and_the_answer_stands(begin):
    told = {**NOTHING, "expect": {"last_message_contains": UNCHECKED}}
    editor = await begin("stock", [step(FIX), DONE, told], FULL, script=TAKES)
    done = await editor.run("Go.")
    assert (done["outcome"], done["reason"], done["summary"]) == ("completed", "unverified", "Done.")
    assert await reminders(editor) == (3, 1)


async def test_what_it_does_then_counts_and_its_new_answer(begin):
    told = {**step(TESTS), "expect": {"last_message_contains": UNCHECKED}}
    editor = await begin("stock", [step(FIX), DONE, told, {"text": "It compiles."}], FULL, script=TAKES)
    done = await editor.run("Go.")
    assert (done["reason"], done["summary"]) == ("checked", "It compiles.")
    assert results(editor)["tests"][0] == "ok"
    assert await reminders(editor) == (4, 1)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            ["done", "pending"],
            "[Before you end: 1 point of the plan is open. Do what is left: bring the plan up to date with `update_plan`. If",
        ),
        (["in_progress", "pending"], "[Before you end: 2 points of the plan are open."),
    ],
)
async def test_open_points_of_the_plan_are_told_of(begin, status, said):
    told = {**step(plan("done", "done", called="again")), "expect": {"last_message_contains": said}}
    editor = await begin("stock", [step(plan(*status)), DONE, told, DONE], FULL, script=TAKES)
    done = await editor.run("Go.")
    assert done["outcome"] == "completed"
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["done"]["openItems"] == []


async def test_what_is_left_all_the_same_is_said_at_the_end(begin):
    editor = await begin("stock", [step(plan("pending"), FIX), DONE, NOTHING], FULL, script=TAKES)
    await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["done"]["line"] == "unverified: no check was run; 1 item of the plan is open"


async def test_a_plan_is_open_only_for_the_turn_that_made_it_and_what_goes_on_with_that(begin):
    editor = await begin("stock", [step(plan("pending"), FIX), DONE, NOTHING, DONE], FULL, script=TAKES)
    await editor.run("Go.")
    later = await editor.run("What is the time?", sessionId=editor.session_id)
    assert (later["done"]["line"], later["done"]["openItems"]) == ("", [])
    assert (await reminders(editor))[1] == 1


async def test_a_plan_is_open_for_the_turn_that_goes_on(begin):
    script = {"purposes": {"summary": [{"text": "Half."}]}}
    editor = await begin("stock", [step(plan("pending")), DONE], FULL, script=script)
    assert (await editor.run("Go.", limits={"steps": 1}))["outcome"] == "budget_exhausted"
    going = await editor.command("outrider.continue", {"sessionId": editor.session_id})
    done = await editor.wait_turn(going["turnId"])
    assert done["done"]["openItems"] == ["Point 1"]


CHECKED = [step(FIX), step(TESTS), DONE]
NOTES = [step(call("write_file", path="notes.md", content="x\n")), DONE]


@pytest.mark.parametrize(
    ("turns", "how"),
    [
        ([DONE], {}),
        (CHECKED, {}),
        (NOTES, {}),
        ([step(FIX), DONE], {"acceptance": ["true"]}),
        ([step(FIX), DONE], {"limits": {"steps": 2}}),
    ],
    ids=["no change", "checked", "only notes", "checks of the task", "no step is left"],
)
async def test_where_nothing_is_left_nothing_is_told(begin, turns, how):
    editor = await begin("stock", turns, FULL, script=TAKES)
    assert (await editor.run("Go.", **how))["outcome"] == "completed"
    assert (await reminders(editor))[1] == 0


async def test_a_user_who_lets_no_command_run_is_not_asked_again(begin):
    answers = ["Allow once", "Reject"]
    editor = await begin("stock", [step(FIX), step(TESTS), DONE], script=TAKES, answers=answers)
    await editor.run("Go.")
    assert (await reminders(editor))[1] == 0


async def test_a_script_that_does_not_name_it_is_not_reminded(begin):
    editor = await begin("stock", [step(FIX), DONE], FULL)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert "reminder" not in str(types(editor))


async def test_the_user_can_turn_it_off(begin):
    editor = await begin("stock", [step(FIX), DONE], {**FULL, "reminders": False}, script=TAKES)
    await editor.run("Go.")
    assert (await reminders(editor))[1] == 0


async def test_a_provider_is_reminded(workspace):
    async with ProviderServer() as server:
        edit = ("1", "edit_file", {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"})
        server.plays("openai-chat", Said("", [edit]), Said("Done."), Said("There is nothing to run."))
        near = {"kind": "openai-chat", "baseUrl": server.url}
        options = {"providers": {"near": near}, "testing": None, **FULL}
        async with start_session(
            "stock", workspace, "near/m", options, connection=embedded(workspace)
        ) as editor:
            assert (await editor.run("Go."))["summary"] == "Done."
        assert UNCHECKED in server.bodies[-1]["messages"][-1]["content"]
