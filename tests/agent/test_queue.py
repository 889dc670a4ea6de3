"""What waits for the running turn can be seen, edited, moved, withdrawn, and told to it at once."""

import pytest
from scripting import DONE, FIX, step
from test_going_on import messages, refusal

from outrider.testing.editor.answers import Never
from outrider.testing.scenario import connect


@pytest.fixture
async def busy(begin):
    """A session with a turn that waits for an answer, and two tasks behind it."""
    editor = await begin("stock", [step(FIX), DONE, DONE, DONE], answers=[Never()])
    first = await editor.command("outrider.run", {"prompt": "First."})
    editor.session = {"sessionId": first["sessionId"]}
    await editor.event("approval.requested")
    editor.queued = []
    for prompt in ("Second.", "Third."):
        task = await editor.command("outrider.run", {"prompt": prompt, **editor.session})
        assert task["queued"]
        editor.queued.append(task["turnId"])
    return editor


async def change(editor, action, id_, **more):
    return await editor.command("outrider.queue", {**editor.session, "action": action, "id": id_, **more})


async def finish(editor):
    item = editor.events_of("approval.requested")[0]["data"]["id"]
    await editor.command("outrider.answer", {"id": item, "decision": "reject"})
    for turn_id in editor.queued:
        await editor.wait_turn(turn_id)
    return [event["data"]["prompt"] for event in editor.events_of("turn.started")]


async def test_a_task_is_edited(busy):
    now = await change(busy, "edit", busy.queued[0], text="Second, but better.")
    assert [one["prompt"] for one in now["queue"]] == ["Second, but better.", "Third."]
    assert await finish(busy) == ["First.", "Second, but better.", "Third."]
    said = [text for _, text in await messages(busy, busy.session["sessionId"])]
    assert any(text.startswith("Second, but better.") for text in said)
    assert not any(text.startswith("Second.") for text in said)


@pytest.mark.parametrize(("to", "order"), [(0, [1, 0]), (1, [0, 1]), (99, [0, 1])])
async def test_a_task_is_moved(busy, to, order):
    now = await change(busy, "move", busy.queued[1], to=to)
    assert [one["turnId"] for one in now["queue"]] == [busy.queued[number] for number in order]
    assert await finish(busy) == ["First.", *(["Second.", "Third."][number] for number in order)]


async def test_a_task_is_withdrawn(busy):
    now = await change(busy, "remove", busy.queued[0])
    assert [one["prompt"] for one in now["queue"]] == ["Third."]
    assert await finish(busy) == ["First.", "Third."]
    assert (await busy.wait_turn(busy.queued[0]))["outcome"] == "cancelled"


async def test_a_task_is_told_to_the_running_turn(busy):
    now = await change(busy, "steer", busy.queued[1])
    assert [one["prompt"] for one in now["queue"]] == ["Second."]
    assert [one["text"] for one in now["steering"]] == ["Third."]
    assert await finish(busy) == ["First.", "Second."]
    assert busy.events_of("model.requested")[1]["data"]["steering"] == [now["steering"][0]["pendingId"]]


async def test_a_text_for_the_running_turn_is_edited_and_withdrawn(busy):
    told = await busy.command("outrider.steer", {**busy.session, "text": "And quickly."})
    other = await busy.command("outrider.steer", {**busy.session, "text": "And well."})
    now = await change(busy, "edit", told["pendingId"], text="And slowly.")
    assert [one["text"] for one in now["steering"]] == ["And slowly.", "And well."]
    now = await change(busy, "remove", other["pendingId"])
    assert [one["text"] for one in now["steering"]] == ["And slowly."]
    assert now["steering"][0]["pendingId"] == told["pendingId"]
    await finish(busy)
    said = [text for _, text in await messages(busy, busy.session["sessionId"])]
    assert any("And slowly." in text for text in said)
    assert not any("And quickly." in text or "And well." in text for text in said)


async def test_a_text_cannot_be_moved(busy):
    told = await busy.command("outrider.steer", {**busy.session, "text": "And quickly."})
    wrong = {**busy.session, "action": "move", "id": told["pendingId"], "to": 0}
    assert await refusal(busy, "outrider.queue", wrong) == "invalid"


async def test_what_has_begun_cannot_be_edited(busy):
    await finish(busy)
    for action in ({"action": "edit", "text": "x"}, {"action": "remove"}, {"action": "steer"}):
        gone = {**busy.session, "id": busy.queued[0], **action}
        assert await refusal(busy, "outrider.queue", gone) == "unknown_id"


async def test_a_changed_queue_lasts_over_a_restart(busy, workspace):
    await change(busy, "move", busy.queued[1], to=0)
    await change(busy, "edit", busy.queued[0], text="Second, later.")
    await busy.shut_down()
    await busy.reconnect(connect("in-process", workspace))
    status = await busy.command("outrider.resume", busy.session)
    assert [one["prompt"] for one in status["queue"]] == ["Third.", "Second, later."]
    assert await finish(busy) == ["First.", "Third.", "Second, later."]


async def test_a_secret_in_an_edited_task_is_masked(busy):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    now = await change(busy, "edit", busy.queued[0], text=f"Use the token {secret}.")
    assert secret not in str(now)
    assert secret not in str(busy.events)
