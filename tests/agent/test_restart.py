"""A server that ends in order with a turn that waits, and the next one on the same log."""

import pytest
from scripting import DONE, FIX, call, result, results, step, types
from well_formed import assert_well_formed

from outrider.agent.interaction.inbox import CHANGED_SINCE_ASKED
from outrider.testing.editor.answers import Never
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session

RANDOM = {"testing": {"ids": None}}
COLOUR = call("ask_user", question="Which colour?", options=["red", "blue"], called="colour")
FREE = call("ask_user", question="Which name?", called="name")
FULL = {"permissionMode": "full"}
QUIET = {**FULL, "events": False}
"""As a client without a plugin has it."""
CUT = "Outrider: the server was stopped in “Go.”."
WAITS = "Outrider: “Go.” still waits for you."
CUT_OFF = [step(FIX), step(call("run_command", command="sleep 60", called="long")), {"text": "Went on."}]


class House:
    """One workspace and one log, and servers on it, one after another or at once."""

    def __init__(self, workspace, turns):
        self.workspace = workspace
        self.model = scripted(workspace, turns)
        self.events = []
        self.before = (workspace / "tariff.py").read_text()

    def server(self, *, answers=None, settings=None, profile="stock", **how):
        given = {**RANDOM, **(settings or {})}
        return start_session(profile, self.workspace, self.model, given, answers=answers, **how)

    async def whole(self, editor, session_id):
        """The log of a session, as the server tells it; it must be well formed."""
        events = (await editor.command("outrider.events", {"sessionId": session_id}))["events"]
        assert_well_formed(events, ended=False)
        return events


async def parked(house, **how):
    """Run a task until it is parked, and stop the server."""
    async with house.server(**how) as editor:
        waiting = await editor.run("Go.")
        assert waiting["outcome"] == "needs_input"
        return editor.session_id, editor.turn_id, waiting["open"][0]


def kinds(events, *wanted):
    return [event["type"] for event in events if event["type"] in wanted]


async def test_a_parked_approval_is_asked_again_by_the_next_server(workspace):
    house = House(workspace, [step(FIX), DONE])
    session, turn, item = await parked(house)
    async with house.server(answers=[Never()]) as editor:
        (listed,) = (await editor.command("outrider.sessions"))["sessions"]
        assert (listed["sessionId"], listed["state"], listed["turns"]) == (session, "parked", 1)
        assert listed["title"] == "Go."
        assert (await editor.wait_turn(turn))["open"] == [item]
        status = await editor.command("outrider.resume", {"sessionId": session})
        assert (status["turnId"], status["open"]) == (turn, [item])
        question = await editor.question()
        assert question.message.startswith("Edit tariff.py (+1 −1)")
        editor.answer_late(question, "Allow once")
        outcome = await editor.wait_turn(turn)
        assert (outcome["outcome"], outcome["summary"]) == ("completed", "Done.")
        assert editor.disk("tariff.py").endswith("hours * 2\n")
        events = await house.whole(editor, session)
        assert kinds(events, "turn.started", "approval.requested", "turn.finished") == [
            "turn.started", "approval.requested", "turn.finished",
        ]  # fmt: skip
        assert kinds(events, "session.closed", "session.restored") == ["session.closed", "session.restored"]


@pytest.mark.parametrize("asked", [FIX, COLOUR], ids=["approval", "question"])
async def test_an_open_item_is_answered_without_a_resume(asked, workspace):
    house = House(workspace, [step(asked), DONE])
    session, turn, item = await parked(house)
    answer = {"decision": "reject", "note": "no"} if asked is FIX else {"answer": "blue"}
    async with house.server(answers=lambda _: Never()) as editor:
        assert await editor.command("outrider.answer", {"id": item["id"], **answer}) == {"id": item["id"]}
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert result(editor)[0] == ("denied" if asked is FIX else "ok")
        with pytest.raises(RpcError) as error:
            await editor.command("outrider.answer", {"id": item["id"], **answer})
        assert error.value.data["reason"] == "already_resolved"
        await house.whole(editor, session)


async def test_an_undo_asks_no_open_item_again_and_it_can_be_answered_afterwards(workspace):
    made = call("write_file", path="made.txt", content="new\n", called="made")
    house = House(workspace, [step(made), step(COLOUR), DONE])
    session, turn, item = await parked(house, settings={"permissionMode": "full"})
    async with house.server(answers=lambda _: Never()) as editor:
        await editor.command("outrider.undo", {"sessionId": session, "scope": "session"})
        assert not (workspace / "made.txt").exists()
        assert editor.questions == []
        (listed,) = (await editor.command("outrider.sessions"))["sessions"]
        assert listed["state"] == "parked"
        await editor.command("outrider.answer", {"id": item["id"], "answer": "red"})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert result(editor) == ("ok", "red")
        events = await house.whole(editor, session)
        assert [event["data"].get("rests") for event in events if event["type"] == "session.restored"] == [
            True,
            None,
        ]


async def test_open_items_of_the_log_are_code_actions(workspace):
    house = House(workspace, [step(FIX), DONE])
    _, turn, _ = await parked(house)
    async with house.server(answers=lambda _: Never()) as editor:
        titles = [action["title"] for action in await editor.code_actions("README.md")]
        assert "Outrider: Allow once — Edit tariff.py (+1 −1)" in titles
        await editor.take_action("Outrider: Allow once")
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert editor.disk("tariff.py").endswith("hours * 2\n")


async def test_a_question_of_the_log_is_answered_in_a_document(workspace):
    house = House(workspace, [step(FREE), DONE])
    _, turn, _ = await parked(house)
    async with house.server(answers=lambda _: Never()) as editor:
        await editor.code_actions("README.md")
        opened = await editor.take_action("Outrider: Answer in a document… — Which name?")
        editor.type(opened["uri"], "Zoë")
        await editor.code_actions(opened["uri"])
        await editor.take_action("Outrider: answer “Zoë”")
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert result(editor) == ("ok", "Zoë")


async def test_a_parked_turn_of_the_log_is_cancelled(workspace):
    house = House(workspace, [step(FIX), DONE])
    session, turn, _ = await parked(house)
    async with house.server() as editor:
        answer = await editor.command("outrider.cancel", {"turnId": turn})
        assert answer == {"turnId": turn, "outcome": "cancelled"}
        await house.whole(editor, session)
    async with house.server() as editor:
        assert (await editor.command("outrider.cancel", {"turnId": turn}))["outcome"] == "cancelled"
        assert (await editor.wait_turn(turn))["outcome"] == "cancelled"


async def killed_at_work(house):
    """Run a task that edits, and kill the server in the middle of the command after it."""
    async with house.server(settings=FULL, connection="stdio") as editor:
        started = await editor.command("outrider.run", {"prompt": "Go."})
        await editor.wait_for(lambda: len(editor.events_of("tool.started")) == 2, "the command")
        editor.connection.kill()
        await editor.wait_for(lambda: editor.ended, "its end")
    assert (house.workspace / "tariff.py").read_text() != house.before
    return started["sessionId"], started["turnId"]


async def titles(editor):
    """What the code actions of a document offer about the task that was cut off."""
    offered = [
        action["title"].removeprefix("Outrider: ") for action in await editor.code_actions("README.md")
    ]
    return [title for title in offered if title.partition(" ")[0] in {"resume", "cancel", "undo", "redo"}]


async def test_a_task_that_was_cut_off_is_told_of_and_undone_and_resumed_from_any_document(workspace):
    house = House(workspace, CUT_OFF)
    _, turn = await killed_at_work(house)
    async with house.server(settings=QUIET) as editor:
        await editor.wait_for(lambda: editor.said, "what happened")
        assert [one.text for one in editor.said] == [f"{CUT} Code actions resume, cancel or undo it."]
        assert await titles(editor) == ["resume “Go.”", "cancel “Go.”", "undo turn “Go.”"]
        await editor.take_action("Outrider: undo turn “Go.”")
        assert (workspace / "tariff.py").read_text() == house.before
        assert await titles(editor) == ["resume “Go.”", "cancel “Go.”", "redo “Go.”"]
        await editor.take_action("Outrider: redo “Go.”")
        assert await titles(editor) == ["resume “Go.”", "cancel “Go.”", "undo turn “Go.”"]
        await editor.take_action("Outrider: resume “Go.”")
        assert (await editor.wait_turn(turn))["summary"] == "Went on."
        assert await titles(editor) == ["undo turn"]


async def test_a_task_that_was_cut_off_is_cancelled_from_any_document_and_not_told_of_again(workspace):
    house = House(workspace, CUT_OFF)
    _, turn = await killed_at_work(house)
    async with house.server(settings=QUIET) as editor:
        await titles(editor)
        await editor.take_action("Outrider: cancel “Go.”")
        ended = await editor.wait_turn(turn)
        assert (ended["outcome"], ended["reason"]) == ("cancelled", "cancelled in the editor")
        assert await titles(editor) == ["undo turn"]
    async with house.server(settings=QUIET) as editor:
        assert await titles(editor) == []
        assert editor.said == []


async def test_what_waits_since_another_server_is_told_of(workspace):
    house = House(workspace, [step(FIX), DONE])
    await parked(house)
    async with house.server(settings=QUIET) as editor:
        await editor.wait_for(lambda: editor.said, "what waits")
        assert [one.text for one in editor.said] == [f"{WAITS} Code actions answer, resume or cancel it."]


@pytest.mark.parametrize(("others", "told"), [(1, "1 more task"), (2, "2 more tasks")])
async def test_of_several_tasks_that_wait_the_number_is_told(others, told, workspace):
    house = House(workspace, [step(FIX)] * 3)
    for _ in range(1 + others):
        await parked(house)
    async with house.server(settings=QUIET) as editor:
        await editor.wait_for(lambda: editor.said, "what waits")
        assert [one.text for one in editor.said] == [
            f"{WAITS} Code actions answer, resume or cancel it. The same is true of {told}."
        ]


async def test_a_question_that_is_on_the_screen_when_the_editor_ends_stays_open(workspace):
    house = House(workspace, [step(FIX), DONE])
    async with house.server(answers=[Never()]) as editor:
        started = await editor.command("outrider.run", {"prompt": "Go."})
        await editor.question()
    assert types(editor)[-2:] == ["turn.parked", "session.closed"]
    async with house.server(answers=["Allow once"]) as editor:
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"


async def test_a_command_waits_for_its_save_over_a_restart(workspace):
    run = call("run_command", command="touch made.txt", called="run")
    house = House(workspace, [step(FIX), step(run), DONE])
    full = {"permissionMode": "full"}
    async with house.server(settings=full) as editor:
        editor.open("tariff.py")
        waiting = await editor.run("Go.")
        assert waiting["open"][0]["options"] == ["Save and continue", "Run without saving", "Cancel"]
        session, turn = editor.session_id, editor.turn_id
        editor.save("tariff.py")
    assert not (workspace / "made.txt").exists()
    async with house.server(settings=full, answers=lambda _: Never()) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert results(editor)["run"][0] == "ok"
        assert (workspace / "made.txt").exists()


async def test_what_changed_meanwhile_is_asked_as_it_is_now(workspace):
    house = House(workspace, [step(FIX), DONE])
    session, turn, item = await parked(house)
    (workspace / "tariff.py").write_text("def price(hours):\n    return hours * 3  # was more\n")
    async with house.server(answers=["Allow once"]) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert "was more" in editor.questions[0].message
        assert CHANGED_SINCE_ASKED in editor.questions[0].message
        events = await house.whole(editor, session)
        first, second = (event["data"] for event in events if event["type"] == "approval.requested")
        assert first["id"] == item["id"] != second["id"]
        (gone,) = [
            event["data"] for event in events if event["data"].get("rule") == "what was asked has changed"
        ]
        assert (gone["id"], gone["decision"], gone["instead"]) == (item["id"], "reject", second["id"])
        assert editor.disk("tariff.py").endswith("hours * 2  # was more\n")


async def test_what_is_gone_meanwhile_is_not_asked_and_the_turn_runs(workspace):
    house = House(workspace, [step(FIX), DONE])
    session, turn, item = await parked(house)
    (workspace / "tariff.py").unlink()
    async with house.server() as editor:
        with pytest.raises(RpcError) as error:
            await editor.command("outrider.answer", {"id": item["id"], "decision": "allow_once"})
        assert error.value.data["reason"] == "unknown_id"
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert result(editor)[0] == "error"
        assert editor.questions == []
        await house.whole(editor, session)


async def test_the_conversation_goes_on_after_a_restart(workspace):
    turns = [
        {"text": "One."},
        {"text": "Two.", "expect": {"messages_contain": ["First.", "One.", "Second."], "message_count": 4}},
    ]
    house = House(workspace, turns)
    async with house.server() as editor:
        await editor.run("First.")
        session = editor.session_id
    async with house.server() as editor:
        outcome = await editor.run("Second.", sessionId=session)
        assert (outcome["outcome"], outcome["summary"]) == ("completed", "Two.")
        await house.whole(editor, session)


async def test_queued_tasks_run_after_a_restart(workspace):
    house = House(workspace, [step(FIX), {"text": "one"}, {"text": "two"}])
    async with house.server() as editor:
        await editor.run("One.")
        session, turn = editor.session_id, editor.turn_id
        queued = await editor.command("outrider.run", {"prompt": "Two.", "sessionId": session})
    async with house.server(answers=["Reject"]) as editor:
        status = await editor.command("outrider.resume", {"sessionId": session})
        assert [one["turnId"] for one in status["queue"]] == [queued["turnId"]]
        assert (await editor.wait_turn(turn))["summary"] == "one"
        assert (await editor.wait_turn(queued["turnId"]))["summary"] == "two"


async def test_a_grant_of_the_session_holds_after_a_restart(workspace):
    again = call("edit_file", path="tariff.py", old="hours * 2", new="hours + 2")
    house = House(workspace, [step(FIX), DONE, step(again), DONE])
    async with house.server(answers=["Allow for this session"]) as editor:
        await editor.run("One.")
        session = editor.session_id
    async with house.server() as editor:
        assert (await editor.run("Two.", sessionId=session))["outcome"] == "completed"
        assert editor.questions == []


async def test_a_session_is_run_by_one_server_at_a_time(workspace):
    house = House(workspace, [step(FIX), DONE])
    async with house.server() as first, house.server() as second:
        waiting = await first.run("Go.")
        (listed,) = (await second.command("outrider.sessions"))["sessions"]
        assert (listed["state"], listed["elsewhere"]) == ("parked", True)
        with pytest.raises(RpcError) as error:
            await second.command("outrider.undo", {"sessionId": listed["sessionId"]})
        assert error.value.data["reason"] == "session_in_use"
        assert "runs session" in str(error.value) and ": undo there, or end that" in str(error.value)
        events = await second.command("outrider.events", {"sessionId": listed["sessionId"]})
        assert events["events"] == first.events
        assert (await second.wait_turn(first.turn_id))["outcome"] == "needs_input"
        await first.command("outrider.answer", {"id": waiting["open"][0]["id"], "decision": "reject"})
        assert (await first.wait_turn())["outcome"] == "completed"
        (listed,) = (await second.command("outrider.sessions"))["sessions"]
        assert (listed["state"], listed["elsewhere"], listed["outcome"]) == ("closed", False, "completed")


@pytest.mark.parametrize(
    "asks", [step(FIX), step(COLOUR), step(FREE)], ids=["approval", "choice", "free text"]
)
async def test_what_waits_is_listed_as_parked_while_it_is_asked_and_after_a_kill(workspace, asks):
    house = House(workspace, [asks, DONE])

    async def listed(editor):
        (one,) = (await editor.command("outrider.sessions"))["sessions"]
        return one["state"], one["elsewhere"]

    async with house.server(answers=[Never()], connection="stdio") as first, house.server() as other:
        await first.command("outrider.run", {"prompt": "Go."})
        await first.wait_for(
            lambda: first.events_of("approval.requested") or first.events_of("question.asked"), "the question"
        )
        assert await listed(first) == ("parked", False)
        assert await listed(other) == ("parked", True)
        first.connection.kill()
        await first.wait_for(lambda: first.ended, "its end")
        assert await listed(other) == ("parked", False), "without anything new in the log"
    async with house.server() as editor:
        assert await listed(editor) == ("parked", False), "without a look for code actions"


async def test_a_turn_that_was_cut_off_at_work_is_not_listed_as_waiting(workspace):
    house = House(workspace, CUT_OFF)
    await killed_at_work(house)
    async with house.server() as editor:
        (listed,) = (await editor.command("outrider.sessions"))["sessions"]
        assert (listed["state"], listed["elsewhere"]) == ("closed", False)


async def test_what_another_server_runs_is_listed_as_running_there(workspace):
    house = House(workspace, [{"text": "Slowly. " * 50, "chunk": 4, "delay": 30}])
    async with house.server() as first, house.server() as second:
        await first.command("outrider.run", {"prompt": "Go."})
        await first.event("turn.started")
        (here,) = (await first.command("outrider.sessions"))["sessions"]
        assert (here["state"], here["elsewhere"]) == ("running", False)
        (there,) = (await second.command("outrider.sessions"))["sessions"]
        assert (there["state"], there["elsewhere"]) == ("running", True)


async def test_unknown_sessions_are_unknown(workspace):
    house = House(workspace, [DONE])
    async with house.server() as editor:
        for name, params in (
            ("outrider.resume", {"sessionId": "ses_no"}),
            ("outrider.run", {"prompt": "x", "sessionId": "ses_no"}),
            ("outrider.events", {"sessionId": "ses_no"}),
            ("outrider.status", {"sessionId": "ses_no"}),
            ("outrider.wait", {"turnId": "turn_no"}),
            ("outrider.undo", {"sessionId": "ses_no"}),
            ("outrider.open", {"what": "review", "id": "open_no"}),
        ):
            with pytest.raises(RpcError) as error:
                await editor.command(name, params)
            assert (error.value.code, error.value.data["reason"]) == (-32803, "unknown_id"), name
        assert (await editor.command("outrider.status"))["sessions"] == []


@pytest.mark.parametrize(
    ("does", "reason"),
    [
        (lambda root: None, "checked"),
        (lambda root: (root / "never_read.py").write_text("more = 1\n"), "unverified"),
        (lambda root: (root / "made.py").write_text("more = 1\n"), "unverified"),
        (lambda root: (root / "below" / "never_read.py").unlink(), "unverified"),
        (lambda root: (root / "ignored.py").write_text("more = 1\n"), "checked"),
        (lambda root: (root / "never_read.md").write_text("More.\n"), "checked"),
    ],
    ids=["nothing", "written", "made", "deleted", "ignored", "note"],
)
async def test_what_others_change_before_a_restart_makes_an_earlier_check_stale(does, reason, workspace):
    (workspace / "below").mkdir()
    for name in ("never_read.py", "ignored.py", "never_read.md", "below/never_read.py", "below/stays.py"):
        (workspace / name).write_text("old = 1\n")
    (workspace / ".gitignore").write_text("ignored.py\n")
    check = call("run_command", command="python3 -m py_compile tariff.py", called="check")
    house = House(workspace, [step(FIX), step(check), step(COLOUR), DONE])
    real = {**FULL, "testing": {"ids": None, "clock": None}}
    session, turn, item = await parked(house, settings=real)
    does(workspace)
    async with house.server(answers=lambda _: Never(), settings=real) as editor:
        await editor.command("outrider.answer", {"id": item["id"], "answer": "blue"})
        ended = await editor.wait_turn(turn)
        assert (ended["outcome"], ended["reason"]) == ("completed", reason)
        await house.whole(editor, session)
