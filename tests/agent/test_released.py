"""An idle session is let go of at once: another window goes on with it, and the first one again after that."""

import asyncio

import pytest
from scripting import DONE, FIX, call, step
from test_going_on import messages, refusal
from well_formed import assert_well_formed

from outrider.testing.editor.answers import Never
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session

MAKES = {"permissionMode": "auto-edit", "testing": None}


@pytest.fixture
async def windows(workspace):
    """Two windows on one workspace."""
    model = scripted(workspace, [{"text": f"Answer {number}."} for number in range(20)])
    async with (
        start_session("stock", workspace, model, MAKES) as first,
        start_session("stock", workspace, model, MAKES) as second,
    ):
        yield first, second


async def give(editor, session_id, prompt):
    started = await editor.command("outrider.run", {"prompt": prompt, "sessionId": session_id})
    ended = await editor.wait_turn(started["turnId"])
    assert ended["outcome"] == "completed"
    return started["turnId"]


async def test_it_goes_from_window_to_window(windows):
    first, second = windows
    await first.run("Task one.")
    session = first.session_id
    await give(second, session, "Task two.")
    await give(first, session, "Task three.")
    await give(second, session, "Task four.")
    said = [text for role, text in await messages(first, session) if role == "user"]
    for number in ("one", "two", "three", "four"):
        assert sum(f"Task {number}." in text for text in said) == 1
    log = (await first.command("outrider.events", {"sessionId": session}))["events"]
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    assert sum(event["type"] == "session.restored" for event in log) == 3


async def test_nothing_is_read_anew_where_nobody_else_went_on(windows):
    first, _ = windows
    await first.run("Task one.")
    await give(first, first.session_id, "Task two.")
    assert not first.events_of("session.restored")
    assert not first.events_of("session.closed")


async def test_the_first_window_ends_and_the_second_one_is_not_disturbed(windows):
    first, second = windows
    await first.run("Task one.")
    session = first.session_id
    await give(second, session, "Task two.")
    await first.shut_down()
    await give(second, session, "Task three.")
    log = (await second.command("outrider.events", {"sessionId": session}))["events"]
    assert_well_formed(log)
    assert not [event for event in log if event["type"] == "session.closed"]


async def test_both_at_once_lose_nothing(windows):
    first, _ = windows
    await first.run("Task one.")
    session = first.session_id
    given = []
    for number in range(6):
        editor = windows[number % 2]
        given.append(editor.command("outrider.run", {"prompt": f"Race {number}.", "sessionId": session}))
    came = await asyncio.gather(*given, return_exceptions=True)
    assert all(isinstance(one, dict) or one.data["reason"] == "session_in_use" for one in came), came
    taken = [number for number, one in enumerate(came) if isinstance(one, dict)]
    for number in taken:
        assert (await windows[number % 2].wait_turn(came[number]["turnId"]))["outcome"] == "completed"
    said = [text for role, text in await messages(first, session) if role == "user"]
    for number in range(6):
        assert sum(f"Race {number}." in text for text in said) == (number in taken)


async def test_undo_works_from_the_other_window(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    async with (
        start_session("stock", workspace, model, MAKES) as first,
        start_session("stock", workspace, model, MAKES) as second,
    ):
        await first.run("Fix it.")
        undone = await second.command("outrider.undo", {"sessionId": first.session_id})
        assert [one["path"] for one in undone["undone"]] == ["tariff.py"]
        again = await first.command("outrider.redo", {"sessionId": first.session_id})
        assert [one["path"] for one in again["undone"]] == ["tariff.py"]
        assert "hours * 2" in first.disk("tariff.py")


async def test_a_session_that_waits_stays_with_its_window(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    async with (
        start_session("stock", workspace, model, {"testing": None}, answers=[Never()]) as first,
        start_session("stock", workspace, model, {"testing": None}) as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Fix it."})
        await first.event("approval.requested")
        (listed,) = (await second.command("outrider.sessions"))["sessions"]
        assert (listed["state"], listed["elsewhere"]) == ("parked", True)
        gone = {"sessionId": started["sessionId"], "turnId": started["turnId"]}
        assert await refusal(second, "outrider.restore", gone) == "session_in_use"


async def test_a_session_with_a_job_stays_with_its_window(workspace):
    job = call("run_command", command="sleep 60", background=True)
    model = scripted(workspace, [step(job), DONE])
    full = {"permissionMode": "full", "testing": None}
    async with (
        start_session("stock", workspace, model, full) as first,
        start_session("stock", workspace, model, full) as second,
    ):
        await first.run("Start it.")
        session = {"sessionId": first.session_id}
        gone = {**session, "turnId": first.turn_id}
        assert await refusal(second, "outrider.restore", gone) == "session_in_use"
        (job,) = (await first.command("outrider.jobs"))["jobs"]
        await first.command("outrider.jobs", {"action": "kill", "id": job["jobId"]})

        async def is_free():
            try:
                return await second.command("outrider.restore", {**session, "turnId": first.turn_id})
            except RpcError as error:
                assert error.data["reason"] == "session_in_use"
                return None

        async with asyncio.timeout(10):
            while await is_free() is None:  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_window_forgets_where_the_other_one_is(windows):
    first, second = windows
    await first.run("Task one.")
    await give(second, first.session_id, "Task two.")
    (listed,) = (await first.command("outrider.sessions"))["sessions"]
    assert (listed["turns"], listed["elsewhere"]) == (2, False)
    status = (await first.command("outrider.status", {"sessionId": first.session_id}))["sessions"][0]
    assert status["state"] == "idle"
