"""A session goes back to before a message: its files, its conversation, or both; and a message is sent anew."""

import asyncio

import pytest
from scripting import DONE, FIX, call, step
from test_going_on import messages, refusal

from outrider.testing.editor.answers import Never

MAKES = {"permissionMode": "auto-edit"}
MORE = call("insert_lines", path="tariff.py", after_line=0, text="# Prices.\n")
LOOK = call("read_file", path="tariff.py")
PLAN = call("update_plan", items=[{"text": "Second thing"}])
OLD_PLAN = call("update_plan", items=[{"text": "First thing", "status": "done"}])


async def two_turns(begin, *more):
    editor = await begin("stock", [step(FIX, OLD_PLAN), DONE, step(MORE, PLAN), DONE, *more], MAKES)
    await editor.run("First task.")
    first = editor.turn_id
    second = await editor.command("outrider.run", {"prompt": "Second task.", "sessionId": editor.session_id})
    await editor.wait_turn(second["turnId"])
    return editor, first, second["turnId"]


@pytest.mark.parametrize("files", [True, False])
@pytest.mark.parametrize("conversation", [True, False])
async def test_before_a_message(files, conversation, begin):
    if not files and not conversation:
        return
    editor, first, second = await two_turns(begin, DONE)
    before = editor.disk("tariff.py")
    restored = await editor.command(
        "outrider.restore",
        {"sessionId": editor.session_id, "turnId": second, "files": files, "conversation": conversation},
    )
    assert restored["prompt"] == "Second task."
    assert restored["turns"] == ([second] if conversation else [])
    assert ("# Prices." in editor.disk("tariff.py")) is not files
    assert "hours * 2" in editor.disk("tariff.py")
    said = [text for _, text in await messages(editor)]
    assert any("First task." in text for text in said)
    assert any("Second task." in text for text in said) is not conversation
    (status,) = (await editor.command("outrider.status", {"sessionId": editor.session_id}))["sessions"]
    assert status["plan"] == [{"text": "First thing", "status": "done"}] if conversation else "Second thing"
    third = await editor.command("outrider.run", {"prompt": "Third task.", "sessionId": editor.session_id})
    assert (await editor.wait_turn(third["turnId"]))["outcome"] == "completed"
    if files:
        await editor.command("outrider.redo", {"sessionId": editor.session_id})
        assert editor.disk("tariff.py") == before
    assert first != second


async def test_before_the_first_message_nothing_is_left_but_what_the_user_wrote(begin):
    editor, first, _ = await two_turns(begin, DONE)
    path = editor.root / "tariff.py"
    path.write_text(path.read_text() + "# mine\n")
    before = {"sessionId": editor.session_id, "turnId": first}
    restored = await editor.command("outrider.restore", before)
    assert len(restored["turns"]) == 2
    text = editor.disk("tariff.py")
    assert "hours * 3" in text
    assert "# Prices." not in text
    assert text.endswith("# mine\n")
    assert not [text for role, text in await messages(editor) if role == "assistant"]
    assert await refusal(editor, "outrider.restore", before) == "unknown_id"


async def test_what_the_model_had_seen_is_forgotten_too(begin):
    turns = [step(LOOK), DONE, step(call("write_file", path="tariff.py", content="x = 1\n")), DONE]
    editor = await begin("stock", turns, MAKES)
    await editor.run("First task.")
    await editor.command("outrider.restore", {"sessionId": editor.session_id, "turnId": editor.turn_id})
    path = editor.root / "tariff.py"
    path.write_text("# other\n")
    second = await editor.command("outrider.run", {"prompt": "Second.", "sessionId": editor.session_id})
    await editor.wait_turn(second["turnId"])
    # It is not told of changes in a text that it does not know, and may not replace what it has not read.
    assert not editor.events_of("workspace.changed")
    assert editor.events_of("tool.finished")[-1]["data"]["status"] == "error"
    assert path.read_text() == "# other\n"


async def test_it_lasts_over_a_restart(begin):
    editor, _, second = await two_turns(begin)
    await editor.command("outrider.restore", {"sessionId": editor.session_id, "turnId": second})
    await editor.shut_down()
    again = await begin("stock", [DONE] * 9, MAKES)
    third = await again.command("outrider.run", {"prompt": "Third task.", "sessionId": editor.session_id})
    assert (await again.wait_turn(third["turnId"]))["outcome"] == "completed"
    said = [text for _, text in await messages(again, editor.session_id)]
    assert any("First task." in text for text in said)
    assert not any("Second task." in text for text in said)


async def test_a_message_is_sent_anew(begin):
    editor, _, second = await two_turns(begin, DONE)
    anew = {"sessionId": editor.session_id, "turnId": second, "prompt": "Another second task."}
    sent = await editor.command("outrider.resend", anew)
    assert (await editor.wait_turn(sent["turnId"]))["outcome"] == "completed"
    said = [text for _, text in await messages(editor)]
    assert any("Another second task." in text for text in said)
    assert not any(text.startswith("Second task.") for text in said)
    assert "# Prices." not in editor.disk("tariff.py")
    assert await refusal(editor, "outrider.resend", anew) == "unknown_id"


async def test_a_message_is_sent_anew_with_the_files_as_they_are(begin):
    editor, _, second = await two_turns(begin, DONE)
    anew = {"sessionId": editor.session_id, "turnId": second, "prompt": "Anew.", "files": False}
    sent = await editor.command("outrider.resend", anew)
    assert (await editor.wait_turn(sent["turnId"]))["outcome"] == "completed"
    assert "# Prices." in editor.disk("tariff.py")


async def test_not_while_a_turn_runs_but_while_one_waits(begin):
    editor = await begin("stock", [DONE, step(FIX), DONE], answers=[Never()])
    await editor.run("First task.")
    first = editor.turn_id
    session = {"sessionId": editor.session_id}
    second = await editor.command("outrider.run", {"prompt": "Second task.", **session})
    await editor.event("approval.requested")
    assert await refusal(editor, "outrider.restore", {**session, "turnId": first}) == "turn_running"
    assert await refusal(editor, "outrider.restore", {**session, "turnId": "turn_none"}) == "unknown_id"
    now = await editor.command("outrider.wait", {"turnId": second["turnId"], "timeout": 0})
    assert "outcome" not in now


async def test_a_turn_that_is_parked_is_cancelled_first(begin):
    editor = await begin("stock", [step(FIX), DONE], {"limits": {"askSeconds": 0.1}}, answers=[Never()])
    second = await editor.command("outrider.run", {"prompt": "Task."})
    await editor.event("turn.parked")
    restored = await editor.command(
        "outrider.restore", {"sessionId": second["sessionId"], "turnId": second["turnId"]}
    )
    assert restored["turns"] == [second["turnId"]]
    assert (await editor.wait_turn(second["turnId"]))["outcome"] == "cancelled"


async def test_twice_at_once_is_done_once(begin):
    editor, _, second = await two_turns(begin)
    before = {"sessionId": editor.session_id, "turnId": second}
    came = await asyncio.gather(
        editor.command("outrider.restore", before),
        editor.command("outrider.restore", before),
        return_exceptions=True,
    )
    assert sum(isinstance(one, dict) for one in came) == 1
    assert len(editor.events_of("conversation.restored")) == 1
