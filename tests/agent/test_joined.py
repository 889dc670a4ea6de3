"""A running session is joined from another process: it watches, answers, steers and cancels, and nothing is lost by any end."""

import asyncio
import json
import os
import stat
import sys

import psutil
import pytest
from scripting import DONE, FIX, call, step
from test_deleting import until
from test_going_on import messages, refusal

from outrider.testing.editor.answers import Never
from outrider.testing.kill import kill as end_suddenly
from outrider.testing.scenario import connect, scripted, start_session, surroundings_of

OWN = {"testing": None}
LATER = {"text": "Later."}


@pytest.fixture
async def two(workspace):
    """A window with a turn that waits for an answer, and another one."""
    model = scripted(workspace, [step(FIX), DONE, LATER, LATER, LATER])
    one, other = connect("stdio", workspace), connect("stdio", workspace)
    async with (
        start_session("stock", workspace, model, OWN, answers=lambda _: Never(), connection=one) as first,
        start_session("stock", workspace, model, OWN, answers=lambda _: Never(), connection=other) as second,
    ):
        first.pid, second.pid = one.process.pid, other.process.pid
        first.open("tariff.py")
        started = await first.command("outrider.run", {"prompt": "Fix it."})
        first.session, first.turn = {"sessionId": started["sessionId"]}, {"turnId": started["turnId"]}
        asked = await first.event("approval.requested")
        first.item = asked["data"]["id"]
        yield first, second


async def gapless(editor, session_id):
    """The events that a client was told of are those of the log, from the first one on."""
    told = [event for event in editor.events if event["sessionId"] == session_id]
    log = (await editor.command("outrider.events", {"sessionId": session_id}))["events"]
    seqs = [event["seq"] for event in told]
    assert seqs == list(range(seqs[0], seqs[-1] + 1))
    assert told == [event for event in log if seqs[0] <= event["seq"] <= seqs[-1]]
    return told


async def test_it_is_answered_from_outside_and_edited_where_it_runs(two):
    first, second = two
    await second.command("outrider.answer", {"id": first.item, "decision": "allow_once"})
    assert (await second.command("outrider.wait", first.turn))["outcome"] == "completed"
    assert "hours * 2" in first.text("tariff.py")
    assert len(first.edits) == 1
    assert not second.edits
    (resolved,) = first.events_of("approval.resolved")
    assert resolved["data"]["decision"] == "allow_once"


async def test_it_is_watched(two):
    first, second = two
    joined = await second.command("outrider.resume", first.session)
    assert (joined["elsewhere"], joined["state"]) == (True, "running")
    assert [item["id"] for item in joined["open"]] == [first.item]
    await first.command("outrider.answer", {"id": first.item, "decision": "reject"})
    await second.event("turn.finished")
    told = await gapless(second, first.session["sessionId"])
    assert {"approval.resolved", "tool.finished", "model.requested", "turn.finished"} <= {
        one["type"] for one in told
    }
    assert any(frame["text"] == "Done." for frame in second.frames)


async def test_its_questions_are_asked_here_too_and_the_first_answer_counts(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    async with (
        start_session("stock", workspace, model, OWN, answers=[Never()], connection="stdio") as first,
        start_session("stock", workspace, model, OWN, answers=["Allow once"], connection="stdio") as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Fix it."})
        asked = await first.event("approval.requested")
        await second.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert (await first.wait_turn(started["turnId"]))["outcome"] == "completed"
        question = await second.question()
        assert question.message.startswith("Edit tariff.py")
        assert "Review…" not in question.titles
        late = {"id": asked["data"]["id"], "decision": "reject"}
        assert await refusal(second, "outrider.answer", late) == "already_resolved"
        assert await refusal(first, "outrider.answer", late) == "already_resolved"


async def test_what_was_answered_in_a_process_that_is_gone_is_known_as_answered(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    async with start_session("stock", workspace, model, OWN, answers=["Allow once"]) as gone:
        await gone.run("Fix it.")
        (asked,) = gone.events_of("approval.requested")
    async with start_session("stock", workspace, model, OWN) as editor:
        for item, reason in ((asked["data"]["id"], "already_resolved"), ("open_none", "unknown_id")):
            given = {"id": item, "decision": "reject"}
            assert await refusal(editor, "outrider.answer", given) == reason


async def test_both_answer_at_once(two):
    first, second = two
    answers = [
        editor.command("outrider.answer", {"id": first.item, "decision": decision})
        for editor, decision in (
            (first, "allow_once"),
            (second, "reject"),
            (first, "reject"),
            (second, "allow_once"),
        )
    ]
    came = await asyncio.gather(*answers, return_exceptions=True)
    assert sum(isinstance(one, dict) for one in came) == 1
    assert {one.data["reason"] for one in came if not isinstance(one, dict)} == {"already_resolved"}
    assert len(first.events_of("approval.resolved")) == 1


async def test_it_is_steered_queued_and_cancelled_from_outside(two):
    first, second = two
    told = await second.command("outrider.steer", {**first.session, "text": "And quickly."})
    queued = await second.command("outrider.run", {"prompt": "Then this.", **first.session})
    assert queued["queued"]
    changed = {**first.session, "action": "edit", "id": queued["turnId"], "text": "Then that."}
    assert (await second.command("outrider.queue", changed))["queue"][0]["prompt"] == "Then that."
    status = (await second.command("outrider.status", first.session))["sessions"][0]
    assert [one["pendingId"] for one in status["steering"]] == [told["pendingId"]]
    assert (await second.command("outrider.cancel", first.turn))["outcome"] == "cancelled"
    assert (await first.wait_turn(queued["turnId"]))["outcome"] == "completed"
    assert [event["data"]["prompt"] for event in first.events_of("turn.started")] == ["Fix it.", "Then that."]


@pytest.mark.thorough
async def test_an_end_of_the_one_that_watches_changes_nothing(two, workspace):
    first, second = two
    await second.command("outrider.resume", first.session)
    await kill(second, workspace)
    await first.command("outrider.answer", {"id": first.item, "decision": "reject"})
    assert (await first.wait_turn(first.turn["turnId"]))["outcome"] == "completed"


async def test_an_end_of_the_one_that_runs_it_loses_nothing(two, workspace):
    first, second = two
    await second.command("outrider.resume", first.session)
    await kill(first, workspace)
    # The socket of the dead process is no obstacle, and the item is asked again where the turn goes on.
    status = await resumed(second, first.session)
    assert status["elsewhere"] is False
    await until(lambda: any(one["type"] == "session.restored" for one in second.events))
    await second.command("outrider.answer", {"id": first.item, "decision": "allow_once"})
    assert (await second.wait_turn(first.turn["turnId"]))["outcome"] == "completed"
    assert "hours * 2" in second.disk("tariff.py")
    await gapless(second, first.session["sessionId"])
    assert [path for path in doors(workspace) if path.name.startswith(f"{first.pid}-")] == []


@pytest.mark.thorough
async def test_a_client_is_told_that_nobody_tells_of_a_session_any_more(two, workspace):
    first, second = two
    await second.command("outrider.resume", first.session)
    await kill(first, workspace)
    await second.wait_for(lambda: second.left, "the end")
    assert second.left == [{**first.session, "unfinished": True}]
    log = (await second.command("outrider.events", first.session))["events"]
    assert (await second.command("outrider.resume", first.session))["elsewhere"] is False
    assert second.events[-1]["seq"] >= log[-1]["seq"]


@pytest.mark.thorough
async def test_it_is_told_of_a_session_that_was_released_too_and_of_none_that_it_left_itself(two):
    first, second = two
    await second.command("outrider.resume", first.session)
    await second.command("outrider.leave", first.session)
    await second.command("outrider.resume", first.session)
    await first.command("outrider.answer", {"id": first.item, "decision": "reject"})
    await second.wait_for(lambda: second.left, "the end")
    assert second.left == [{**first.session, "unfinished": False}]
    assert second.events_of("turn.finished")


@pytest.mark.thorough
async def test_who_gets_no_events_is_told_of_a_task_that_is_left_undone(workspace):
    model = scripted(workspace, [step(FIX), DONE])
    quiet = {**OWN, "events": False}
    async with (
        start_session("stock", workspace, model, OWN, answers=[Never()], connection="stdio") as first,
        start_session("stock", workspace, model, quiet, answers=[Never()], connection="stdio") as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Fix it."})
        await first.event("approval.requested")
        await second.command("outrider.resume", {"sessionId": started["sessionId"]})
        await kill(first, workspace)
        told = (
            "“Fix it.” ended in the middle, where it ran. `Outrider: resume “Fix it.”` goes on with it here."
        )
        await second.wait_for(lambda: any(told in one.text for one in second.said), "the message")
        second.open("tariff.py")
        actions = await second.code_actions("tariff.py")
        assert "Outrider: resume “Fix it.”" in [one["title"] for one in actions]


@pytest.mark.thorough
async def test_the_command_line_goes_on_itself_where_what_it_watched_has_ended(workspace):
    waits = call("run_command", command="touch began.txt; sleep 60")
    model = scripted(workspace, [step(waits), DONE])
    async with start_session(
        "stock", workspace, model, OWN, answers=["Allow once"], connection="stdio"
    ) as first:
        started = await first.command("outrider.run", {"prompt": "Run it."})
        await until((workspace / "began.txt").exists)
        words = [sys.executable, "-m", "outrider", "run", "--json", "--session", started["sessionId"]]
        words += ["-C", str(workspace)]
        words += ["--state-dir", str(workspace.parent / f"{workspace.name}.state"), "--model", model]
        watching = await asyncio.create_subprocess_exec(
            *words,
            env=surroundings_of(workspace),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
        reading = asyncio.ensure_future(watching.stdout.readline())
        async with asyncio.timeout(30):
            while not reading.done():  # of what was before it watched nobody tells it
                await first.command("outrider.steer", {"sessionId": started["sessionId"], "text": "Quickly."})
                await asyncio.wait({reading}, timeout=0.2)
        await kill(first, workspace)
        rest, _ = await asyncio.wait_for(watching.communicate(), 30)
    told = [json.loads(line)["type"] for line in rest.splitlines()]
    assert "session.restored" in told
    assert "turn.finished" in told
    assert watching.returncode == 0


async def resumed(editor, session):
    async with asyncio.timeout(10):
        while (status := await editor.command("outrider.resume", session))["elsewhere"]:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return status


async def kill(editor, workspace):
    await end_suddenly(editor.connection, workspace.parent / f"{workspace.name}.state")


def doors(workspace):
    folder = workspace.parent / f"{workspace.name}.state" / "doors"
    return list(folder.iterdir())


@pytest.mark.thorough
async def test_it_is_left(two):
    first, second = two
    await second.command("outrider.resume", first.session)
    await second.command("outrider.leave", first.session)
    assert await refusal(second, "outrider.leave", first.session) == "unknown_id"
    await first.command("outrider.answer", {"id": first.item, "decision": "reject"})
    await first.wait_turn(first.turn["turnId"])
    assert not second.events_of("turn.finished")


@pytest.mark.thorough
async def test_who_has_joined_goes_on_with_it_afterwards(two):
    first, second = two
    await second.command("outrider.resume", first.session)
    await first.command("outrider.answer", {"id": first.item, "decision": "reject"})
    await first.wait_turn(first.turn["turnId"])
    await second.event("turn.finished")
    started = await second.command("outrider.run", {"prompt": "And now this.", **first.session})
    assert (await second.wait_turn(started["turnId"]))["outcome"] == "completed"
    said = [text for role, text in await messages(first, first.session["sessionId"]) if role == "user"]
    assert any("And now this." in text for text in said)
    await gapless(second, first.session["sessionId"])


async def test_the_way_in_has_the_rights_of_its_owner_alone(two, workspace):
    (door,) = doors(workspace)
    assert stat.S_IMODE(door.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(door.stat().st_mode) == 0o600
    assert stat.S_ISSOCK(door.stat().st_mode)
    for editor in two:
        assert not any("token" in word.casefold() for word in psutil.Process(editor.pid).cmdline())


async def test_a_command_in_a_sandbox_has_no_way_in(two, workspace):
    """A process that is confined, as those of commands are, is turned away though it sees the socket."""
    (door,) = doors(workspace)
    says = (
        "import ctypes, socket, sys; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); s = socket.socket(socket.AF_UNIX); "
        's.connect(sys.argv[1]); s.sendall(b\'{"id":1,"has":"x"}\\n\'); s.settimeout(30); print(s.recv(100))'
    )
    spoken = {}
    for name, program in (("confined", says), ("plain", says.replace("prctl(38, 1, 0, 0, 0)", "getpid()"))):
        process = await asyncio.create_subprocess_exec(
            "python3",
            "-c",
            program,
            door.name,  # its whole path may be longer than the address of a socket
            cwd=door.parent,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        spoken[name] = (await process.communicate())[0]
    assert b'"result":false' in spoken["plain"]
    assert b"result" not in spoken["confined"]


NONSENSE = [
    b"", b"\n", b"nonsense\n", b"[]\n", b"{}\n", b'{"id":1}\n', b'{"id":1,"command":"outrider.delete","params":{}}\n',
    b'{"id":1,"watch":"ses_none"}\n', b'{"id":1,"has":7}\n', b'{"id":{},"command":"outrider.status","params":[]}\n',
    b'{"id":1,"command":"outrider.run","params":{"prompt":7}}\n', b"[" * 100_000 + b"\n", b"\xff\xfe\n",
]  # fmt: skip


@pytest.mark.skipif(
    sys.platform != "linux", reason="its path is too long for an address; /proc makes a short one of it"
)
async def test_nonsense_at_the_door_disturbs_nobody(two, workspace):
    first, _ = two
    (door,) = doors(workspace)
    folder = os.open(door.parent, os.O_RDONLY)
    try:
        for line in NONSENSE:
            reader, writer = await asyncio.open_unix_connection(f"/proc/self/fd/{folder}/{door.name}")
            writer.write(line)
            writer.write_eof()
            async with asyncio.timeout(10):
                answer = await reader.read()
            writer.close()
            assert b"result" not in answer, line
    finally:
        os.close(folder)
    await first.command("outrider.answer", {"id": first.item, "decision": "reject"})
    assert (await first.wait_turn(first.turn["turnId"]))["outcome"] == "completed"


async def test_a_long_path_is_no_obstacle(tmp_path, monkeypatch):
    workspace = tmp_path / ("long" * 30)
    workspace.mkdir()
    (workspace / "tariff.py").write_text("hours * 3\n")
    model = scripted(workspace, [step(FIX), DONE])
    async with (
        start_session("stock", workspace, model, OWN, answers=[Never()], connection="stdio") as first,
        start_session("stock", workspace, model, OWN, connection="stdio") as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Fix it."})
        await first.event("approval.requested")
        joined = await second.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert joined["elsewhere"]
        await second.command("outrider.cancel", {"turnId": started["turnId"]})


async def test_a_command_runs_where_the_session_is_and_its_output_is_seen_here(workspace):
    run = call("run_command", command="touch made.txt; echo one; sleep 0.2; echo two")
    model = scripted(workspace, [step(run), DONE])
    async with (
        start_session("stock", workspace, model, OWN, answers=[Never()], connection="stdio") as first,
        start_session("vscode", workspace, model, OWN, answers=["Allow once"], connection="stdio") as second,
    ):
        started = await first.command("outrider.run", {"prompt": "Run it."})
        await first.event("approval.requested")
        await second.command("outrider.resume", {"sessionId": started["sessionId"]})
        await second.event("turn.finished")
        output = "".join(frame["text"] for frame in second.frames if frame["kind"] == "output")
        assert "one" in output
        assert "two" in output
