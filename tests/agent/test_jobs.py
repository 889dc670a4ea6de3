"""Background jobs: they run beside the turn, are read, waited for and ended, and none outlives what it belongs to."""

import asyncio

import psutil
import pytest
from scripting import DONE, call, result, results, step, types

from outrider.testing.editor.connections import Stdio
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session

REAL = {"testing": {"clock": None}, "permissionMode": "full"}
COUNTED = {"testing": {"clock": None, "ids": "sequential"}, "permissionMode": "full"}


def job(command, *, called="start", **more):
    return call("run_command", command=command, background=True, called=called, **more)


def named(marker):
    return [process for process in psutil.process_iter() if any(marker in word for word in words(process))]


def words(process):
    """The command line of a process. While it is being executed it has none: a start is told before the system knows it."""
    try:
        while not (found := process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE and process.exe():
            pass
    except psutil.Error:  # it is gone, or somebody else's
        return []
    return found


async def until(true):
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110 - nobody tells when a process is gone
            await asyncio.sleep(0.01)


async def test_a_job_is_started_read_and_waited_for(begin):
    turns = [
        step(job("echo one; sleep 0.2; echo two; exit 3")),
        step(call("read_job", job="job_1", wait=30, called="wait")),
        step(call("read_job", job="job_1", called="again")),
        DONE,
    ]
    editor = await begin("stock", turns, COUNTED)
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert results(editor)["start"][1].startswith("Started as job_1.")
    assert results(editor)["wait"] == ("ok", "one\ntwo\n[job_1: exit code 3]")
    assert results(editor)["again"] == ("ok", "[job_1: exit code 3]")
    (started,) = editor.events_of("job.started")
    assert started["data"]["command"] == "echo one; sleep 0.2; echo two; exit 3"
    assert (started["data"]["callId"], started["data"]["sandboxed"]) == ("start", False)
    (finished,) = editor.events_of("job.finished")
    assert finished["data"]["status"], finished["data"]["exitCode"] == ("exited", 3)
    assert finished["data"]["output"] == "one\ntwo\n"
    assert "told" not in finished["data"]


async def test_a_job_needs_a_yes_like_any_command(begin):
    turns = [step(job("/bin/sleep 1000")), DONE]
    editor = await begin("stock", turns, {**COUNTED, "permissionMode": "ask"}, answers=["Reject"])
    await editor.run("Go.")
    question = editor.questions[0]
    assert question.message.startswith(
        "Start `/bin/sleep 1000` as a background job in the workspace, without a sandbox.\n"
        "In the background, in the workspace folder, for 3600 s"
    )
    assert result(editor)[0] == "denied"
    assert "job.started" not in types(editor)


async def test_a_grant_for_a_command_is_none_for_a_job(begin):
    turns = [step(call("run_command", command="/bin/true", called="run")), step(job("/bin/true")), DONE]
    answers = ["Allow for this session", "Reject"]
    editor = await begin("stock", turns, {**COUNTED, "permissionMode": "ask"}, answers=answers)
    await editor.run("Go.")
    assert [results(editor)[one][0] for one in ("run", "start")] == ["ok", "denied"]


async def test_a_turn_that_finishes_leaves_its_jobs_and_names_them(begin, workspace):
    marker = f"sleep 1000; : {workspace}"
    editor = await begin(
        "stock", [step(job(marker)), DONE, step(call("kill_job", job="job_1")), DONE], COUNTED
    )
    first = await editor.run("Go.")
    assert first["summary"].startswith(
        "Done.\n\nStill running, until the session or its server ends: job_1 (`sleep 1000; : "
    )
    assert named(str(workspace))
    listed = (await editor.command("outrider.jobs"))["jobs"]
    assert [(one["jobId"], one["status"], one["turnId"]) for one in listed] == [
        ("job_1", "running", editor.turn_id)
    ]
    second = await editor.run("End it.", sessionId=editor.session_id)
    assert second["summary"] == "Done."
    assert result(editor, 1) == ("ok", "[job_1: ended, with everything it started]")
    assert not named(str(workspace))


async def test_ending_an_own_job_is_not_asked(begin):
    turns = [step(job("/bin/sleep 1000")), step(call("kill_job", job="job_1", called="kill")), DONE]
    editor = await begin("stock", turns, {**COUNTED, "permissionMode": "ask"}, answers=["Allow once"])
    await editor.run("Go.")
    assert results(editor)["kill"][0] == "ok"
    assert len(editor.questions) == 1


async def test_a_read_only_turn_can_read_a_job_and_not_end_it(begin):
    turns = [
        step(job("echo here; sleep 1000")),
        DONE,
        step(call("kill_job", job="job_1", called="kill"), call("read_job", job="job_1", called="read")),
        DONE,
    ]
    editor = await begin("stock", turns, COUNTED)
    await editor.run("Go.")
    await editor.run("Look.", sessionId=editor.session_id, mode="plan")
    assert results(editor)["kill"][0] == "denied"
    assert "still running" in results(editor)["read"][1]


async def test_cancel_ends_the_jobs_of_the_turn(begin, workspace):
    waiting = call("read_job", job="job_1", wait=600, called="wait")
    editor = await begin("stock", [step(job(f"sleep 1000; : {workspace}")), step(waiting), DONE], COUNTED)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: types(editor).count("tool.started") == 2, "the wait")
    assert named(str(workspace))
    cancelled = await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert cancelled["outcome"] == "cancelled"
    assert not named(str(workspace))
    (finished,) = editor.events_of("job.finished")
    assert finished["data"]["status"] == "cancelled"
    assert types(editor)[-1] == "turn.finished"
    following = await editor.run("And now?", sessionId=started["sessionId"])
    assert following["summary"] == "Done."


async def test_cancelling_a_turn_that_has_finished_ends_what_it_left_running(begin, workspace):
    editor = await begin("stock", [step(job(f"sleep 1000; : {workspace}")), DONE], COUNTED)
    await editor.run("Go.")
    answer = await editor.command("outrider.cancel", {"turnId": editor.turn_id})
    assert answer["outcome"] == "completed"
    assert not named(str(workspace))
    assert (await editor.event("job.finished"))["data"]["status"] == "killed"


async def test_the_model_is_told_of_a_job_that_has_ended(begin, workspace):
    told = "job_1 (`until test -e go; do sleep 0.01; done; exit 4`) has ended: exit code 4."
    turns = [
        step(job("until test -e go; do sleep 0.01; done; exit 4")),
        DONE,
        {"text": "I see.", "expect": {"messages_contain": told}},
    ]
    editor = await begin("stock", turns, COUNTED)
    await editor.run("Go.")
    (workspace / "go").touch()
    finished = await editor.event("job.finished")
    assert finished["data"]["told"] == told
    assert "turnId" not in finished
    assert (await editor.run("And?", sessionId=editor.session_id))["summary"] == "I see."


@pytest.mark.parametrize(
    ("command", "limits", "status", "said"),
    [
        ("sleep 1000", {"jobSeconds": 0.2}, "killed_timeout", "ended after 0.2 s, its time-out"),
        (
            "echo a; sleep 1000",
            {"jobIdleSeconds": 0.2},
            "killed_idle",
            "ended after 0.2 s in which it neither printed nor computed",
        ),
    ],
)
async def test_a_job_has_time_outs(command, limits, status, said, begin):
    turns = [step(job(command)), step(call("read_job", job="job_1", wait=30, called="wait")), DONE]
    editor = await begin("stock", turns, {**COUNTED, "limits": limits})
    await editor.run("Go.")
    assert (await editor.event("job.finished"))["data"]["status"] == status
    assert said in results(editor)["wait"][1]


async def test_the_output_of_a_job_is_bounded(begin):
    turns = [
        step(job("yes | head -c 10000000")),
        step(call("read_job", job="job_1", wait=30, called="wait")),
        DONE,
    ]
    editor = await begin("stock", turns, {**COUNTED, "limits": {"outputBytes": 2000}})
    await editor.run("Go.")
    assert "bytes are missing here" in results(editor)["wait"][1]
    assert len(results(editor)["wait"][1]) < 2200


async def test_too_many_jobs_and_unknown_ones(begin):
    turns = [
        step(*(job("sleep 1000", called=f"j{number}") for number in range(9))),
        step(call("read_job", job="job_99", called="none")),
        DONE,
    ]
    editor = await begin("stock", turns, COUNTED)
    await editor.run("Go.")
    assert [results(editor)[f"j{number}"][0] for number in range(9)] == ["ok"] * 8 + ["error"]
    assert "8 jobs are running already" in results(editor)["j8"][1]
    assert results(editor)["none"][1].startswith("there is no job 'job_99' here. Available: job_1, job_2")


async def test_a_person_reads_waits_for_and_ends_jobs(begin):
    editor = await begin(
        "stock", [step(job("echo here; sleep 1000"), job("exit 2", called="b")), DONE], COUNTED
    )
    await editor.run("Go.")
    ended = await editor.command("outrider.jobs", {"action": "wait", "id": "job_2"})
    assert [(one["status"], one["exitCode"]) for one in ended["jobs"]] == [("exited", 2)]
    still = await editor.command("outrider.jobs", {"action": "wait", "id": "job_1", "timeout": 0.05})
    assert still["jobs"][0]["status"] == "running"
    assert (await editor.command("outrider.jobs", {"action": "read", "id": "job_1"}))["output"] == "here\n"
    killed = await editor.command("outrider.jobs", {"action": "kill", "id": "job_1"})
    assert killed["jobs"][0]["status"] == "killed"
    assert (await editor.command("outrider.jobs", {"sessionId": "ses_none"})) == {"jobs": []}
    with pytest.raises(RpcError, match="there is no job 'job_9'"):
        await editor.command("outrider.jobs", {"action": "read", "id": "job_9"})
    with pytest.raises(RpcError, match="an id goes with"):
        await editor.command("outrider.jobs", {"action": "kill"})


async def test_what_a_job_prints_reaches_a_person_without_secrets_and_with_nothing_that_hides(begin):
    token = "ghp_" + "aB3dE6gH9" * 4
    loud = f"printf 'ghp_%s \\033[2J\\342\\200\\256x\\n' {token[4:]}"
    editor = await begin("stock", [step(job(f"{loud}; sleep 1000"), job(loud, called="b")), DONE], COUNTED)
    await editor.run("Go.")
    told = "[secret 1] \\x1b[2J\\u202ex\n"
    ended = await editor.command("outrider.jobs", {"action": "wait", "id": "job_2"})
    assert ended["output"] == told
    assert (await editor.event("job.finished"))["data"]["output"] == told
    killed = await editor.command("outrider.jobs", {"action": "kill", "id": "job_1"})
    assert token not in str(killed)
    assert token not in str(editor.events)


async def test_a_job_is_no_check_of_what_was_changed(begin):
    fix = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")
    editor = await begin("stock", [step(fix), step(job("true")), DONE], COUNTED)
    await editor.run("Go.")
    assert editor.events_of("turn.finished")[0]["data"]["reason"] == "unverified"


async def test_jobs_end_with_the_server_and_the_log_says_so(begin, workspace):
    editor = await begin("stock", [step(job(f"sleep 1000; : {workspace}")), DONE], COUNTED)
    await editor.run("Go.")
    session = editor.session_id
    await editor.stop()
    assert not named(str(workspace))
    other = await begin("stock", [DONE, DONE], COUNTED)
    log = (await other.command("outrider.events", {"sessionId": session}))["events"]
    (finished,) = [event["data"] for event in log if event["type"] == "job.finished"]
    assert finished["status"] == "closed"
    assert finished["told"].endswith("was ended with the session.")


async def test_promise_9_nothing_of_a_job_outlives_a_server_that_is_killed(workspace):
    # Forked twice, in a session of its own, deaf to TERM, its parent gone.
    daemon = f"( setsid bash -c 'trap \"\" TERM; echo up; while :; do sleep 1; done # {workspace}' & ) ; sleep 1000"
    model = scripted(
        workspace, [step(job(daemon)), step(call("run_command", command=f"{daemon} # two", called="two"))]
    )
    connection = Stdio(env={"HOME": str(workspace.parent)}, cwd=workspace.parent)
    async with start_session("stock", workspace, model, REAL, connection=connection) as editor:
        await editor.command("outrider.run", {"prompt": "Go."})
        await editor.wait_for(lambda: any("up" in frame["text"] for frame in editor.frames), "the second one")
        await until(lambda: len([one for one in named(str(workspace)) if one.ppid() != 1]) >= 2)
        connection.kill()
        await until(lambda: not named(str(workspace)))
