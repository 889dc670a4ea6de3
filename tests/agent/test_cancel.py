"""Promise 9: stop stops. Wherever the turn is, whoever says it, and the session stays usable."""

import asyncio
import os
import signal

import pytest
from scripting import DONE, FIX, KINDS, call, result, results, step, types

from outrider.testing.editor.answers import Never
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.editor.wire_client import RpcError

SLEEP = call("run_command", command="echo started; trap '' TERM; sleep 1000", called="sleep")
STALL = {"text": "A long story.", "chunk": 1, "fault": {"kind": "stall", "after": 6}}
REAL = {"testing": {"clock": None}}


async def in_the_stream(editor):
    await editor.wait_for(lambda: "".join(f["text"] for f in editor.frames) == "A long", "text")


async def in_a_command(editor):
    await editor.wait_for(lambda: any("started" in f["text"] for f in editor.frames), "output")


async def in_an_approval(editor):
    await editor.question()


async def in_a_question(editor):
    await editor.question()


async def parked(editor):
    await editor.event("turn.parked")


QUESTION = call("ask_user", question="?", options=["a"], allow_free_form=False)
PLACES = {
    "stream": (STALL, "full", in_the_stream, Never()),
    "command": (step(SLEEP), "full", in_a_command, Never()),
    "approval": (step(FIX), "ask", in_an_approval, Never()),
    "question": (step(QUESTION), "ask", in_a_question, Never()),
    "parked": (step(FIX), "ask", parked, None),
}


def by_command(editor, turn_id):
    return editor.command_nowait("outrider.cancel", {"turnId": turn_id, "reason": "enough"})


def by_progress(editor, turn_id):
    editor.cancel_progress()


@pytest.mark.parametrize("how", [by_command, by_progress])
@pytest.mark.parametrize("place", PLACES)
async def test_promise_9_cancel_works_everywhere(place, how, begin):
    first, mode, there, answer = PLACES[place]
    if how is by_progress and place == "parked":
        how = by_command  # there is no progress while it is parked
    editor = await begin("stock", [first, DONE], {"permissionMode": mode, **REAL})
    if answer is not None:
        editor.answers = lambda _: answer
    started = await editor.command("outrider.run", {"prompt": "Go."})
    turn_id, session_id = started["turnId"], started["sessionId"]
    await there(editor)
    await editor.wait_for(lambda: editor.progress or place == "parked", "progress")
    how(editor, turn_id)
    outcome = await editor.wait_turn(turn_id)
    if outcome.get("outcome") == "needs_input":
        outcome = await editor.wait_turn(turn_id)
    reason = "enough" if how is by_command else "cancelled in the editor's progress"
    assert (outcome["outcome"], outcome["reason"]) == ("cancelled", reason)
    again = await editor.command("outrider.cancel", {"turnId": turn_id, "reason": "still"})
    assert again == {"turnId": turn_id, "outcome": "cancelled"}
    assert {status for status, _ in results(editor).values()} <= {"cancelled"}
    assert types(editor).count("turn.finished") == 1
    if place == "stream":
        (responded,) = editor.events_of("model.responded")
        assert (responded["data"]["text"], responded["data"]["finishReason"]) == ("A long", "cancelled")
    if place == "command":
        assert "started" in result(editor)[1]
    following = await editor.run("And now?", sessionId=session_id)
    assert (following["outcome"], following["summary"]) == ("completed", "Done.")


async def test_promise_9_no_process_is_left(begin):
    spawn = call(
        "run_command",
        command="(setsid sleep 1000 & echo $!; sleep 1000 & echo $! ready; trap '' TERM; wait; wait)",
    )
    editor = await begin("stock", [step(spawn)], {"permissionMode": "full", **REAL})
    started = await editor.command("outrider.run", {"prompt": "Go."})

    def output():
        return "".join(frame["text"] for frame in editor.frames)

    await editor.wait_for(lambda: "ready" in output(), "output")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    pids = [int(word) for word in output().split() if word.isdigit()]
    assert len(pids) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, signal.SIG_DFL)


@pytest.mark.parametrize(
    "profile",
    [name for name in KINDS if PROFILES[name].capabilities.get("window", {}).get("workDoneProgress")],
)
async def test_cancel_in_the_progress_of_every_editor(profile, begin):
    editor = await begin(profile, [STALL, DONE], REAL)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await in_the_stream(editor)
    await editor.wait_for(lambda: editor.progress, "progress")
    editor.cancel_progress()
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "cancelled"


async def test_cancel_in_the_progress_of_a_wait(begin):
    editor = await begin("vscode", [STALL], REAL)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await in_the_stream(editor)
    wait = editor.command_nowait("outrider.wait", {"turnId": started["turnId"]}, token="mine")
    await editor.wait_for(lambda: "mine" in editor.progress, "progress")
    editor.cancel_progress("mine")
    assert (await wait)["outcome"] == "cancelled"
    await editor.wait_for(lambda: editor.progress["mine"].end, "its end")


async def test_cancelling_a_wait_leaves_the_turn_alone(begin):
    editor = await begin("stock", [step(FIX), DONE], answers=lambda _: Never())
    started = await editor.command("outrider.run", {"prompt": "Go."})
    question = await editor.question()
    wait = editor.command_nowait("outrider.wait", {"turnId": started["turnId"]})
    editor.notify("$/cancelRequest", {"id": wait.id})
    with pytest.raises(RpcError) as error:
        await wait
    assert error.value.code == -32800
    editor.answer_late(question, "Allow once")
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"


async def test_a_queued_turn_is_cancelled_before_it_begins(begin):
    editor = await begin("stock", [STALL, DONE], REAL)
    first = await editor.command("outrider.run", {"prompt": "One."})
    await editor.event("model.requested")  # else the first answer of the script would be the third turn's
    second = await editor.command("outrider.run", {"prompt": "Two.", "sessionId": first["sessionId"]})
    third = await editor.command("outrider.run", {"prompt": "Three.", "sessionId": first["sessionId"]})
    assert second["queued"] is third["queued"] is True
    for _ in range(2):
        answer = await editor.command("outrider.cancel", {"turnId": second["turnId"], "reason": "never mind"})
        assert answer["outcome"] == "cancelled"
    await editor.command("outrider.cancel", {"turnId": first["turnId"]})
    assert (await editor.wait_turn(third["turnId"]))["outcome"] == "completed"
    assert [event["turnId"] for event in editor.events_of("turn.started")] == [
        first["turnId"],
        third["turnId"],
    ]
    assert (await editor.wait_turn(second["turnId"]))["reason"] == "never mind"


async def test_a_turn_that_is_over_stays_as_it_ended(begin):
    editor = await begin("stock", [DONE])
    await editor.run("Go.")
    answer = await editor.command("outrider.cancel", {"turnId": editor.turn_id})
    assert answer == {"turnId": editor.turn_id, "outcome": "completed"}
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.cancel", {"turnId": "turn_99"})
    assert error.value.data["reason"] == "unknown_id"


@pytest.mark.parametrize("turns", range(0, 60, 3))
async def test_promise_9_cancel_at_any_moment(turns, begin, workspace):
    """However many turns of the loop after the start: one end, one result a call, and nothing runs after it."""
    calls = [
        call("read_file", path="tariff.py"),
        FIX,
        call("run_command", command="echo ran > made.txt"),
        call("write_file", path="late.txt", content="x"),
    ]
    editor = await begin("stock", [step(*calls), DONE, DONE], {"permissionMode": "full"})
    editor.answers = lambda _: "Run without saving"
    editor.open("tariff.py")
    pending = editor.command_nowait("outrider.run", {"prompt": "Go."})
    started = await pending
    for _ in range(turns):
        await asyncio.sleep(0)
    cancels = [editor.command_nowait("outrider.cancel", {"turnId": started["turnId"]}) for _ in range(2)]
    outcomes = [(await cancel)["outcome"] for cancel in cancels]
    assert len(set(outcomes)) == 1
    statuses = [status for status, _ in results(editor).values()]
    if outcomes[0] == "cancelled":
        last_ok = max((n for n, status in enumerate(statuses) if status == "ok"), default=-1)
        assert all(status == "ok" for status in statuses[: last_ok + 1])
        assert (workspace / "late.txt").exists() == ("ok" in statuses[3:4])
    before = len(editor.events)
    assert (await editor.run("Again.", sessionId=started["sessionId"]))["outcome"] == "completed"
    assert editor.events[before]["type"] == "turn.started"


async def test_a_cancel_while_an_edit_is_written_lets_it_end_and_runs_nothing_more(begin, workspace):
    calls = [FIX, call("write_file", path="more.txt", content="x", called="more")]
    editor = await begin("stock", [step(*calls), DONE], {"permissionMode": "full"})
    editor.open("tariff.py")
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("edit.applying")
    first = editor.command_nowait("outrider.cancel", {"turnId": started["turnId"]})
    second = editor.command_nowait("outrider.cancel", {"turnId": started["turnId"]})
    assert (await first)["outcome"] == (await second)["outcome"] == "cancelled"
    told = results(editor)
    assert told["fix"][0] == "ok"
    assert told["more"][0] == "cancelled"
    assert editor.text("tariff.py").endswith("hours * 2\n")
    assert not (workspace / "more.txt").exists()


async def test_promise_9_a_cancel_at_the_very_start_is_not_lost(begin):
    """A client may know a turn by its first event, before the answer to its run."""
    editor = await begin("stock", [step(FIX), DONE], {"permissionMode": "full"})
    await editor.command("outrider.status")
    take, cancels = editor.connection.on_message, []

    def hasty(message):
        take(message)
        if message.get("params", {}).get("type") == "turn.started":
            cancels.append(editor.command_nowait("outrider.cancel", {"turnId": message["params"]["turnId"]}))

    editor.connection.on_message = hasty
    started = await editor.command("outrider.run", {"prompt": "Go."})
    assert (await cancels[0])["outcome"] == "cancelled"
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "cancelled"
    assert editor.disk("tariff.py").endswith("* 3\n")


async def test_a_client_that_leaves_while_the_model_speaks_has_the_turn_cancelled(begin):
    editor = await begin("stock", [STALL], REAL)
    await editor.command("outrider.run", {"prompt": "Go."})
    await in_the_stream(editor)
    await editor.stop()
    (finished,) = editor.events_of("turn.finished")
    assert (finished["data"]["outcome"], finished["data"]["reason"]) == ("cancelled", "shutdown")


async def test_the_model_is_told_where_the_user_interrupted_it(begin):
    editor = await begin("stock", [STALL, DONE], REAL)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await in_the_stream(editor)
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "cancelled"
    await editor.run("Go on", sessionId=started["sessionId"])
    shown = await editor.command("outrider.prompt", {"sessionId": started["sessionId"]})
    texts = [message["text"] for message in shown["messages"]]
    (cut,) = [number for number, text in enumerate(texts) if text == "A long"]
    assert texts[cut + 1].startswith("[The user interrupted you here; what you were saying")
    assert "Go on" in texts[cut + 2]
