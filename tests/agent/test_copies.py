"""A session is copied up to any of its turns, with or without its files, and goes on apart from the other one."""

import asyncio

import pytest
from scripting import DONE, FIX, call, step
from test_going_back import two_turns
from test_going_on import messages, refusal

from outrider.testing.editor.answers import Never


async def fork(editor, session_id=None, **more):
    return await editor.command("outrider.fork", {"sessionId": session_id or editor.session_id, **more})


async def events(editor, session_id):
    return (await editor.command("outrider.events", {"sessionId": session_id}))["events"]


async def go_on(editor, session_id, prompt="Go on."):
    started = await editor.command("outrider.run", {"prompt": prompt, "sessionId": session_id})
    return await editor.wait_turn(started["turnId"])


@pytest.mark.parametrize("files", [False, True])
async def test_up_to_a_turn(files, begin):
    editor, first, _ = await two_turns(begin, DONE, DONE)
    source = editor.session_id
    made = await fork(editor, turnId=first, files=files)
    assert ("# Prices." in editor.disk("tariff.py")) is not files
    assert "hours * 2" in editor.disk("tariff.py")
    assert made["fromSessionId"] == source
    assert made["sessionId"] != source
    assert made["turnId"] != first
    assert ("undo" in made) is files
    said = [text for _, text in await messages(editor, made["sessionId"])]
    assert any("First task." in text for text in said)
    assert not any("Second task." in text for text in said)
    assert (await go_on(editor, made["sessionId"]))["outcome"] == "completed"
    said = [text for _, text in await messages(editor, source)]
    assert any("Second task." in text for text in said)
    assert not any("Go on." in text for text in said)
    forked = await events(editor, made["sessionId"])
    (boundary,) = [event for event in forked if event["type"] == "session.forked"]
    assert boundary["data"] == {"fromSessionId": source, "fromSeq": boundary["seq"] - 1}


async def test_the_latest_turn_is_meant_where_none_is_named(begin):
    editor, _, _ = await two_turns(begin, DONE)
    made = await fork(editor)
    said = [text for _, text in await messages(editor, made["sessionId"])]
    assert any("Second task." in text for text in said)
    listed = (await editor.command("outrider.sessions"))["sessions"]
    assert [one.get("forkedFrom") for one in listed] == [editor.session_id, None]
    assert [one["turns"] for one in listed] == [2, 2]


async def test_a_copy_has_the_name_that_the_user_gave(begin):
    editor, first, _ = await two_turns(begin, DONE)
    await editor.command("outrider.rename", {"sessionId": editor.session_id, "title": "Parking prices"})
    made = await fork(editor, turnId=first)
    listed = (await editor.command("outrider.sessions"))["sessions"]
    titles = {one["sessionId"]: one["title"] for one in listed}
    assert titles == {editor.session_id: "Parking prices", made["sessionId"]: "Parking prices"}
    await editor.command("outrider.rename", {"sessionId": made["sessionId"], "title": "A copy"})
    made = await fork(editor, made["sessionId"])
    listed = (await editor.command("outrider.sessions"))["sessions"]
    assert {one["title"] for one in listed} == {"Parking prices", "A copy"}


async def test_a_task_goes_to_a_copy(begin):
    editor, first, _ = await two_turns(begin, DONE)
    given = {"prompt": "Third task.", "fork": {"sessionId": editor.session_id, "turnId": first}}
    started = await editor.command("outrider.run", given)
    assert started["sessionId"] != editor.session_id
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    said = [text for _, text in await messages(editor, started["sessionId"])]
    assert [any(f"{one} task." in text for text in said) for one in ("First", "Second", "Third")] == [
        True,
        False,
        True,
    ]


async def test_both_can_be_undone(begin):
    editor, first, _ = await two_turns(begin)
    made = await fork(editor, turnId=first)
    undone = await editor.command("outrider.undo", {"sessionId": made["sessionId"]})
    assert [one["path"] for one in undone["undone"]] == ["tariff.py"]
    assert "hours * 3" in editor.disk("tariff.py")
    undone = await editor.command("outrider.undo", {"sessionId": editor.session_id})
    assert "# Prices." not in editor.disk("tariff.py")
    # What the copy has undone is undone: there is nothing of it to take back once more.
    undone = await editor.command(
        "outrider.undo", {"sessionId": editor.session_id, "scope": "turn", "id": first}
    )
    assert (undone["undone"], undone["conflicts"]) == ([], [])


async def test_a_running_turn_is_not_copied_but_those_before_it_are(begin):
    editor = await begin("stock", [DONE, step(FIX), DONE, DONE], answers=[Never()])
    await editor.run("First task.")
    source, first = editor.session_id, editor.turn_id
    running = await editor.command("outrider.run", {"prompt": "Second task.", "sessionId": source})
    waiting = await editor.command("outrider.run", {"prompt": "Third task.", "sessionId": source})
    await editor.event("approval.requested")
    for turn in (running["turnId"], waiting["turnId"]):
        assert await refusal(editor, "outrider.fork", {"sessionId": source, "turnId": turn}) == "turn_running"
    assert (
        await refusal(editor, "outrider.fork", {"sessionId": source, "turnId": "turn_none"}) == "unknown_id"
    )
    assert (
        await refusal(editor, "outrider.fork", {"sessionId": source, "turnId": first, "files": True})
        == "turn_running"
    )
    made = await fork(editor, source)
    started = await editor.command("outrider.run", {"prompt": "Go on.", "sessionId": made["sessionId"]})
    assert started["turnId"] not in {first, running["turnId"], waiting["turnId"]}
    status = (await editor.command("outrider.status", {"sessionId": source}))["sessions"][0]
    assert status["turnId"] == running["turnId"]
    assert [one["turnId"] for one in status["queue"]] == [waiting["turnId"]]


async def test_a_session_without_an_ended_turn_cannot_be_copied(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Task."})
    await editor.event("approval.requested")
    assert await refusal(editor, "outrider.fork", {"sessionId": started["sessionId"]}) == "turn_running"


async def test_what_waited_behind_the_last_turn_does_not_wait_in_the_copy(begin):
    editor = await begin("stock", [step(FIX), DONE, DONE, DONE], answers=[Never()])
    first = await editor.command("outrider.run", {"prompt": "First task."})
    second = await editor.command("outrider.run", {"prompt": "Second task.", "sessionId": first["sessionId"]})
    asked = await editor.event("approval.requested")
    await editor.command("outrider.answer", {"id": asked["data"]["id"], "decision": "reject"})
    await editor.wait_turn(second["turnId"])
    made = await fork(editor, first["sessionId"], turnId=first["turnId"])
    copied = await events(editor, made["sessionId"])
    ended = [event["data"] for event in copied if event["type"] == "turn.finished"]
    assert [one["outcome"] for one in ended] == ["completed", "cancelled"]
    assert (await go_on(editor, made["sessionId"]))["outcome"] == "completed"


async def test_a_yes_for_the_session_is_none_for_its_copy(begin):
    again = call("edit_file", path="tariff.py", old="hours * 2", new="hours * 3")
    editor = await begin(
        "stock", [step(FIX), DONE, step(again), DONE], answers=["Allow for this session", "Reject"]
    )
    await editor.run("First task.")
    made = await fork(editor)
    await go_on(editor, made["sessionId"])
    assert len(editor.questions) == 2
    assert "hours * 2" in editor.disk("tariff.py")


async def test_a_forgotten_turn_comes_back_in_a_copy(begin):
    editor, first, second = await two_turns(begin)
    await editor.command("outrider.restore", {"sessionId": editor.session_id, "turnId": first})
    made = await fork(editor, turnId=second)
    said = [text for _, text in await messages(editor, made["sessionId"])]
    assert any("Second task." in text for text in said)


async def test_a_copy_of_a_copy(begin):
    editor, first, _ = await two_turns(begin, DONE, DONE)
    once = await fork(editor, turnId=first)
    await go_on(editor, once["sessionId"])
    twice = await fork(editor, once["sessionId"])
    assert (await go_on(editor, twice["sessionId"]))["outcome"] == "completed"
    assert len({editor.session_id, once["sessionId"], twice["sessionId"]}) == 3


async def test_many_at_once(begin):
    editor, first, _ = await two_turns(begin)
    made = await asyncio.gather(*(fork(editor, turnId=first) for _ in range(5)))
    assert len({one["sessionId"] for one in made} | {one["turnId"] for one in made}) == 10


async def test_a_copy_is_exported_and_deleted_like_any_other(begin):
    editor, first, _ = await two_turns(begin)
    made = await fork(editor, turnId=first)
    exported = await editor.command("outrider.export", {"sessionId": made["sessionId"]})
    assert exported["events"][-1]["type"] == "session.forked"
    await editor.command("outrider.delete", {"sessionId": editor.session_id})
    undone = await editor.command("outrider.undo", {"sessionId": made["sessionId"]})
    assert [one["path"] for one in undone["undone"]] == ["tariff.py"]
