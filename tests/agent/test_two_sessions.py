"""Two sessions of one server that edit one file."""

import pytest
from scripting import DONE, FIX, call, step

from outrider.testing.editor.answers import Never

MAKES = {"permissionMode": "auto-edit"}
ABOVE = call("insert_lines", path="tariff.py", after_line=0, text="# Prices.\n", called="above")


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize("edit", [FIX, ABOVE])
async def test_what_another_session_wrote_while_it_was_asked_is_not_written_over(edit, is_open, begin):
    editor = await begin("stock", [step(edit), DONE], answers=lambda _: Never())
    if is_open:
        editor.open("tariff.py")
    turns = []
    for number in (1, 2):
        turns.append(await editor.command("outrider.run", {"prompt": f"Task {number}."}))
        await editor.event("approval.requested", count=number)
    asked = [event["data"] for event in editor.events_of("approval.requested")]
    assert asked[0]["digest"] == asked[1]["digest"]

    await editor.command("outrider.answer", {"id": asked[1]["id"], "decision": "allow_once"})
    assert (await editor.wait_turn(turns[1]["turnId"]))["outcome"] == "completed"
    await editor.command("outrider.answer", {"id": asked[0]["id"], "decision": "allow_once"})
    if edit is ABOVE:
        # The place is another one than was shown, so that the user is asked again.
        await editor.event("approval.requested", count=3)
        again = editor.events_of("approval.requested")[2]["data"]
        assert again["digest"] != asked[0]["digest"]
        await editor.command("outrider.answer", {"id": again["id"], "decision": "reject"})
    assert (await editor.wait_turn(turns[0]["turnId"]))["outcome"] == "completed"

    text = editor.text("tariff.py") if is_open else editor.disk("tariff.py")
    assert (text.count("hours * 2"), text.count("hours * 3")) == ((1, 0) if edit is FIX else (0, 1))
    assert text.count("# Prices.") == (edit is ABOVE)
    results = {event["turnId"]: event["data"]["status"] for event in editor.events_of("tool.finished")}
    assert results[turns[1]["turnId"]] == "ok"
    assert results[turns[0]["turnId"]] != "ok"
    undone = await editor.command("outrider.undo", {"sessionId": turns[1]["sessionId"]})
    assert (len(undone["undone"]), undone["conflicts"]) == (1, [])


async def test_undo_and_trying_again_are_offered_for_the_session_that_had_the_latest_task(begin):
    failed = {"text": "Half of", "fault": {"kind": "cut", "after": 4}}
    made = call("write_file", path="two.py", content="x = 1\n")
    editor = await begin("stock", [step(ABOVE), DONE, step(made), DONE, failed, DONE], MAKES)
    first = await editor.command("outrider.run", {"prompt": "One."})
    await editor.wait_turn(first["turnId"])
    second = await editor.command("outrider.run", {"prompt": "Another."})
    await editor.wait_turn(second["turnId"])
    again = await editor.command("outrider.run", {"prompt": "Two.", "sessionId": first["sessionId"]})
    await editor.wait_turn(again["turnId"])
    await editor.code_actions("README.md")
    await editor.take_action("Outrider: undo turn")
    assert not (editor.root / "two.py").exists()
    assert editor.disk("tariff.py").count("# Prices.") == 2

    last = await editor.command("outrider.run", {"prompt": "Three.", "sessionId": first["sessionId"]})
    assert (await editor.wait_turn(last["turnId"]))["outcome"] == "failed"
    await editor.code_actions("README.md")
    assert (await editor.take_action("Outrider: try again “Three.”"))["sessionId"] == first["sessionId"]


async def test_in_the_task_document_what_is_cancelled_is_the_task_in_sight(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=lambda _: Never())
    await editor.command("outrider.open", {})
    editor.open(".outrider/task.md")
    first = await editor.command("outrider.run", {"prompt": "One."})
    await editor.wait_for(lambda: first["sessionId"] in editor.text(".outrider/task.md"), "its conversation")
    second = await editor.command("outrider.run", {"prompt": "Another."})
    await editor.event("approval.requested", count=2)
    at_its_end = await editor.code_actions(".outrider/task.md")
    cancel = next(one for one in at_its_end if one["title"] == "Outrider: cancel turn")
    assert cancel["command"]["arguments"][0]["turnId"] == first["turnId"]
    elsewhere = await editor.code_actions("README.md")
    cancel = next(one for one in elsewhere if one["title"] == "Outrider: cancel turn")
    assert cancel["command"]["arguments"][0]["turnId"] == second["turnId"]
