"""A turn that stopped before its task was done goes on: after a spent budget, a failure, a cancel."""

import pytest
from scripting import DONE, FIX, call, step

from outrider.agent.loop.turn import GO_ON
from outrider.testing.editor.answers import Never
from outrider.testing.editor.wire_client import RpcError

CUT = {"text": "Half of", "fault": {"kind": "cut", "after": 4}}
LOOK = call("read_file", path="tariff.py")
MAKES = {"permissionMode": "auto-edit"}


async def messages(editor, session_id=None):
    """Role and text of each message that the model would be sent next."""
    shown = await editor.command("outrider.prompt", {"sessionId": session_id or editor.session_id})
    return [(message["role"], message["text"]) for message in shown["messages"]]


async def refusal(editor, name, params):
    with pytest.raises(RpcError) as caught:
        await editor.command(name, params)
    return caught.value.data["reason"]


async def test_a_spent_budget_goes_on_where_it_stopped(begin):
    editor = await begin(
        "stock", [step(LOOK), DONE], script={"purposes": {"summary": [{"text": "So far so good."}]}}
    )
    ended = await editor.run("Fix the tariff.", limits={"steps": 1})
    assert (ended["outcome"], ended["reason"]) == ("budget_exhausted", "limits.steps")
    on = await editor.command("outrider.continue", {"sessionId": editor.session_id})
    assert on["sessionId"] == editor.session_id
    assert (await editor.wait_turn(on["turnId"]))["outcome"] == "completed"
    first, second = (event["data"] for event in editor.events_of("turn.started"))
    assert second["continues"] == editor.events_of("turn.started")[0]["turnId"]
    assert second["prompt"] == first["prompt"]
    sent = await messages(editor)
    assert sum("Fix the tariff." in text for role, text in sent if role == "user") == 1
    assert sent[-2] == ("user", GO_ON)
    assert sum(role == "tool" for role, _ in sent) == 1


async def test_a_failed_request_is_made_again_as_it_was(begin):
    editor = await begin("stock", [step(LOOK), CUT, DONE])
    assert (await editor.run("Fix the tariff."))["outcome"] == "failed"
    again = await editor.command("outrider.retry", {"turnId": editor.turn_id})
    assert again["turnId"] != editor.turn_id
    assert (await editor.wait_turn(again["turnId"]))["outcome"] == "completed"
    asked = [event["data"]["messages"] for event in editor.events_of("model.requested")]
    assert asked[-1]["added"] == []
    assert GO_ON not in [text for _, text in await messages(editor)]


async def test_what_the_turn_before_changed_counts(begin):
    editor = await begin("stock", [step(FIX), CUT, DONE, DONE], MAKES)
    await editor.run("Fix the tariff.")
    again = await editor.command("outrider.retry", {"turnId": editor.turn_id})
    ended = await editor.wait_turn(again["turnId"])
    assert (ended["outcome"], ended["reason"]) == ("completed", "unverified")


async def test_a_cancelled_turn_goes_on(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Fix it."})
    await editor.event("approval.requested")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    on = await editor.command("outrider.continue", {"sessionId": started["sessionId"]})
    assert (await editor.wait_turn(on["turnId"]))["outcome"] == "completed"


async def test_a_turn_that_never_reached_the_model_is_given_as_it_was(begin, workspace):
    editor = await begin("stock", [DONE])
    nothing = f"scripted:{workspace.parent / 'nothing.json'}"
    with pytest.raises(RpcError):
        await editor.command("outrider.run", {"prompt": "One.", "model": nothing})
    assert (await editor.run("Two."))["outcome"] == "completed"


async def test_what_ended_by_itself_cannot_be_continued(begin):
    editor = await begin("stock", [DONE, CUT, DONE])
    await editor.run("One.")
    session = {"sessionId": editor.session_id}
    done = editor.turn_id
    assert await refusal(editor, "outrider.continue", session) == "nothing_to_continue"
    assert await refusal(editor, "outrider.retry", {"turnId": done}) == "nothing_to_continue"
    failed = await editor.command("outrider.run", {"prompt": "Two.", **session})
    await editor.wait_turn(failed["turnId"])
    assert await refusal(editor, "outrider.retry", {"turnId": done}) == "nothing_to_continue"
    await editor.wait_turn((await editor.command("outrider.retry", {"turnId": failed["turnId"]}))["turnId"])
    assert await refusal(editor, "outrider.retry", {"turnId": failed["turnId"]}) == "nothing_to_continue"


async def test_a_running_turn_cannot_be_continued(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Fix it."})
    await editor.event("approval.requested")
    assert await refusal(editor, "outrider.continue", {"sessionId": started["sessionId"]}) == "turn_running"
    assert await refusal(editor, "outrider.retry", {"turnId": started["turnId"]}) == "not_waiting"


async def test_it_goes_on_after_a_restart(begin, workspace):
    editor = await begin("stock", [step(LOOK), CUT])
    await editor.run("Fix the tariff.")
    await editor.shut_down()
    second = await begin("stock", [DONE] * 9)
    on = await second.command("outrider.continue", {"sessionId": editor.session_id})
    assert (await second.wait_turn(on["turnId"]))["outcome"] == "completed"
    assert (
        sum(
            "Fix the tariff." in text
            for role, text in await messages(second, editor.session_id)
            if role == "user"
        )
        == 1
    )
