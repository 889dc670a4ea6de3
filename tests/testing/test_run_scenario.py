"""`run_scenario`: what it gives, what it raises, who answers, and that it is the same every time."""

import asyncio
import json
import shutil

import pytest

import outrider.testing
from outrider.testing import (
    EDITORS,
    Never,
    Reject,
    ScriptedModel,
    Wrong,
    call,
    client_tool,
    run_explore_scenario,
    run_scenario,
    say,
)
from outrider.testing.editor.profiles import BAD_EDITS, MOVING, NEVER_YES
from outrider.testing.open_items import answer_params

FILES = {"tariff.py": "def price(hours):\n    return hours * 3\n", "docs/é.md": "# Parking\n"}
FIXED = {**FILES, "tariff.py": "def price(hours):\n    return hours * 2\n"}
FIX = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2", call_id="fix")
ASK = call("ask_user", question="Which colour?", options=["red", "blue"])
QUICK = [str(one) for one in BAD_EDITS + MOVING if one.edit_fault != "never_answers"]
HONEST = [str(profile) for profile in EDITORS]


def yes(item):
    return True


def last_result(run):
    return run.events_of("tool.finished")[-1]["content"]


def test_every_name_is_there_and_is_loaded_from_where_it_is_said():
    for name in outrider.testing.__all__:
        assert getattr(outrider.testing, name) is not None
        assert name in dir(outrider.testing)
    with pytest.raises(AttributeError, match="no attribute 'run_scenarios'"):
        _ = outrider.testing.run_scenarios


async def test_a_turn_in_one_line():
    run = await run_scenario("Hi", [say("Hello.")])
    assert (run.response, run.outcome, run.reason) == ("Hello.", "completed", "no_changes")
    assert run.files == {} == run.buffers
    assert run.events[0]["type"] == "session.started"
    assert run.events[-1]["type"] == "session.closed", "the log is read to its end"
    assert [event["seq"] for event in run.events] == list(range(1, len(run.events) + 1))
    assert not run.workspace.exists(), "a temporary folder goes with its scenario"


async def test_all_that_came_of_it():
    run = await run_scenario(
        "Fix it.", [FIX, say("Done.")], workspace=FILES, on_confirmation=yes, open=["tariff.py"]
    )
    assert run.files == FILES, "an open document is changed in the editor"
    assert run.buffers == {"tariff.py": FIXED["tariff.py"]}
    assert [edit.answer for edit in run.edits] == [{"applied": True}]
    assert [question.answer for question in run.questions] == ["Allow once"]
    assert [event["decision"] for event in run.events_of("approval.resolved")] == ["allow_once"]
    assert run.invocations[-1].last.text == last_result(run)
    assert run.messages[0].message["method"] == "initialize"
    assert run.violations == []
    assert run.said[-1].text.startswith("Outrider, completed: Done.")


async def test_a_link_out_of_the_workspace_is_not_among_its_files(tmp_path):
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a.py").write_text("a\n")
    (folder / "b.py").symlink_to("a.py")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "beside").symlink_to(tmp_path)
    run = await run_scenario("Hi", [say("Hello.")], workspace=folder)
    assert run.files == {"a.py": "a\n", "b.py": "a\n"}


async def test_nothing_is_allowed_where_nobody_is_asked():
    run = await run_scenario("Fix it.", [FIX, say("Done.")], workspace=FILES)
    assert run.outcome == "needs_input"
    (item,) = run.open
    assert (item.kind, item.tool, item.input["path"]) == ("approval", "edit_file", "tariff.py")
    assert run.files == FILES


@pytest.mark.parametrize("profile", HONEST)
async def test_a_person_decides_in_every_editor(profile):
    """By its dialog where there is one, else as by a code action."""
    said = [Reject("Not like that."), "Allow once"]
    met = []

    def decide(item):
        met.append((item.kind, item.tool, item.title))
        return said.pop(0)

    script = [FIX, FIX | {"id": "again"}, say("Done.")]
    run = await run_scenario("Fix it.", script, workspace=FILES, profile=profile, on_confirmation=decide)
    assert run.outcome == "completed"
    assert met == [("approval", "edit_file", "Edit tariff.py (+1 −1)")] * 2
    assert run.files == FIXED
    resolved = run.events_of("approval.resolved")
    assert [(event["decision"], event.get("note")) for event in resolved] == [
        ("reject", "Not like that."),
        ("allow_once", None),
    ]
    told = run.editor.profile
    assert resolved[1]["channel"] == (
        "client" if told.takes_ask else "message" if told.can_ask else "command"
    )


@pytest.mark.parametrize("answer", ["blue", "green"])
@pytest.mark.parametrize("profile", HONEST)
async def test_a_question_gets_an_option_or_any_text(profile, answer):
    async def think(item):
        await asyncio.sleep(0)
        assert (item.kind, item.title, item.options) == ("question", "Which colour?", ("red", "blue"))
        return answer

    run = await run_scenario("Paint.", [ASK, say("Done.")], profile=profile, on_user_question=think)
    assert (run.outcome, last_result(run)) == ("completed", answer)


@pytest.mark.parametrize("profile", [str(profile) for profile in NEVER_YES])
async def test_what_a_dialog_swallows_is_not_said_again(profile):
    run = await run_scenario(
        "Fix it.", [FIX, say("Done.")], workspace=FILES, profile=profile, on_confirmation=yes
    )
    assert (run.outcome, run.files) == ("needs_input", FILES)


@pytest.mark.parametrize("profile", QUICK)
@pytest.mark.parametrize("opened", [(), ("tariff.py",)], ids=["closed", "open"])
async def test_a_scenario_ends_in_every_hostile_editor(profile, opened):
    run = await run_scenario(
        "Fix it.", [FIX, say("Done.")], workspace=FILES, profile=profile, on_confirmation=yes, open=opened
    )
    assert run.outcome == "completed"
    (finished,) = run.events_of("tool.finished")
    text = run.buffers.get("tariff.py", run.files["tariff.py"])
    assert (finished["status"] == "ok") is ("hours * 2" in text), finished["content"]


async def test_a_person_who_thinks_longer_than_the_dialog_waits():
    asked = asyncio.Event()

    async def slow(item):
        await item.editor.event("turn.parked")
        asked.set()
        return True

    settings = {"limits": {"askSeconds": 0.05}}
    run = await run_scenario(
        "Fix it.", [FIX, say("Done.")], workspace=FILES, on_confirmation=slow, settings=settings
    )
    assert asked.is_set()
    assert (run.outcome, run.files) == ("completed", FIXED)


async def test_a_person_types_while_the_question_is_open():
    def type_first(item):
        if item.id == "open_1":
            item.editor.type("tariff.py", "# mine\n", at=(0, 0))
        return True

    run = await run_scenario(
        "Fix it.", [FIX, say("Done.")], workspace=FILES, on_confirmation=type_first, open=["tariff.py"]
    )
    assert run.buffers["tariff.py"] == "# mine\n" + FIXED["tariff.py"]


async def test_a_dialog_of_the_server_is_answered_too():
    def decide(item):
        return "Run without saving" if item.kind == "dialog" else True

    script = [FIX, call("run_command", command="/bin/cat tariff.py"), say("Done.")]
    settings = {"permissionMode": "full"}
    run = await run_scenario(
        "Fix it.", script, workspace=FILES, on_confirmation=decide, open=["tariff.py"], settings=settings
    )
    assert [question.answer for question in run.questions] == ["Run without saving"]
    assert "hours * 3" in last_result(run), "the command reads the disk"


async def test_answers_in_the_order_of_the_dialogs():
    script = [FIX, say("Done.")]
    run = await run_scenario("Fix it.", script, workspace=FILES, answers=["Reject"])
    assert run.events_of("approval.resolved")[0]["decision"] == "reject"
    with pytest.raises(AssertionError, match="left over: 1 answer of the user: Never"):
        await run_scenario("Fix it.", script, workspace=FILES, answers=["Reject", Never()])


async def test_explore_offers_no_edits():
    run = await run_explore_scenario(
        "What is it?", [call("read_file", path="tariff.py"), say("A price.")], workspace=FILES
    )
    assert run.response == "A price."
    assert run.events_of("turn.started")[0]["mode"] == "explore"
    assert "edit_file" not in run.invocations[0].tool_names
    assert "hours * 3" in run.invocations[1].last.text


# --- further turns -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("connection", ["in-process", "stdio"])
async def test_a_session_goes_on_over_turns_undo_and_a_restart(connection):
    script = [FIX, say("Done."), say("Nothing is left."), FIX | {"id": "again"}, say("Done again.")]
    async with run_scenario(
        "Fix it.", script, workspace=FILES, on_confirmation=yes, connection=connection, open=["tariff.py"]
    ) as run:
        await run.go_on("What is left?", mode="plan")
        assert run.response == "Nothing is left."
        assert (await run.undo("session"))["undone"] == [{"path": "tariff.py", "hunks": 1}]
        assert run.buffers["tariff.py"] == FILES["tariff.py"]
        assert (await run.redo("session"))["undone"] == [{"path": "tariff.py", "hunks": 1}]
        await run.undo("session")
        run.editor.type("tariff.py", "# unsaved\n", at=(0, 0))
        await run.restart()
        assert run.outcome == "completed", "there was nothing to go on with"
        await run.go_on("Fix it again.")
        assert run.buffers["tariff.py"] == "# unsaved\n" + FIXED["tariff.py"]
    assert [event["type"] for event in run.events if event["type"].startswith("session.")] == [
        "session.started", "session.closed", "session.restored", "session.closed",
    ]  # fmt: skip
    assert len(run.invocations) == 5


@pytest.mark.parametrize("connection", ["in-process", "stdio"])
async def test_a_turn_goes_on_after_a_kill(connection):
    async with run_scenario("Fix it.", [FIX, say("Done.")], workspace=FILES, connection=connection) as run:
        assert run.outcome == "needs_input"
        await run.restart(kill=True)
        assert run.outcome == "needs_input", "the item is still open"
        await run.answer(True)
        assert (run.outcome, run.files) == ("completed", FIXED)
        with pytest.raises(AssertionError, match="nothing waits for an answer: the turn is completed"):
            await run.answer(True)
    kinds = [event["type"] for event in run.events if event["type"].startswith("session.")]
    assert kinds == ["session.started", "session.restored", "session.closed"], (
        "a killed server closes nothing"
    )


@pytest.mark.parametrize("connection", ["in-process", "stdio"])
async def test_a_killed_server_says_nothing_and_its_log_can_be_read(connection, caplog):
    script = [FIX, say("Done.")]
    async with run_scenario(
        "Fix it.", script, workspace=FILES, on_confirmation=yes, connection=connection
    ) as run:
        await run.restart(kill=True, resume=False)
        page = await run.editor.command("outrider.events", {"sessionId": run.session_id})
        assert page["events"][-1]["type"] == "turn.finished"
        assert page["events"] == run.events
    assert [
        record.getMessage() for record in caplog.records if record.levelname in {"WARNING", "ERROR"}
    ] == []


async def test_a_tool_of_the_editor_is_called():
    tool = client_tool("look_up", word={"type": "string"})
    script = [call("look_up", word="a"), call("look_up", word="b"), say("Done.")]
    run = await run_scenario("Go.", script, tools=[tool], tool_answers=["first", Wrong("no such word")])
    assert [asked.input for asked in run.tool_calls] == [{"word": "a"}, {"word": "b"}]
    told = [(event["status"], event["content"]) for event in run.events_of("tool.finished")]
    assert told == [("ok", "first"), ("error", "no such word")]
    assert "look_up" in run.invocations[0].tool_names
    with pytest.raises(AssertionError, match="left over: 1 answer of the editor's tools: 'third'"):
        await run_scenario("Go.", script, tools=[tool], tool_answers=["first", "second", "third"])


async def test_a_call_that_the_editor_leaves_alone_is_answered_by_hand():
    tool = client_tool("look_up", word={"type": "string"})
    script = [call("look_up", word="a"), call("look_up", word="b"), say("Done.")]
    decided = []
    async with run_scenario("Go.", script, tools=[tool], on_confirmation=decided.append) as run:
        assert [(item.kind, item.tool) for item in run.open] == [("tool", "look_up")]
        await run.answer("by hand")
        await run.answer(Wrong("not known"))
        assert run.outcome == "completed"
    assert decided == [], "it is not the user's to confirm"
    assert [event["content"] for event in run.events_of("tool.finished")] == ["by hand", "not known"]


async def test_open_items_are_answered_by_hand():
    script = [ASK, FIX, FIX | {"id": "again"}, say("Done.")]
    async with run_scenario("Go.", script, workspace=FILES) as run:
        with pytest.raises(ValueError, match="True does not answer 'Which colour"):
            await run.answer(True)
        await run.answer("green")
        with pytest.raises(ValueError, match=r"'Maybe' does not answer 'Edit tariff.py"):
            await run.answer("Maybe")
        await run.answer(Reject("No."))
        await run.answer("Allow once", item=run.open[0])
        assert (run.outcome, run.files) == ("completed", FIXED)


async def test_a_running_turn_is_steered_and_cancelled():
    script = [say("Slow.", FIX, delay=0.01), say("Never said.")]
    async with run_scenario("Go.", script, workspace=FILES, wait=False) as run:
        assert run.outcome == "running"
        assert (await run.until("approval.requested"))["data"]["callId"] == "fix"
        await run.steer("Be quick.")
        await run.cancel("enough")
        assert (run.outcome, run.reason) == ("cancelled", "enough")
    assert run.events_of("steering.received")[0]["text"] == "Be quick."


async def test_a_new_session_begins_the_script_anew():
    async with run_scenario("One.", [say("Done.")]) as run:
        first = run.session_id
        await run.go_on("Two.", new_session=True)
        assert run.session_id != first
        assert list(run.logs) == [first, run.session_id]
    assert [event["prompt"] for event in run.events_of("turn.started")] == ["Two."]


async def test_a_changed_configuration_is_there_when_the_next_turn_begins():
    async with run_scenario("Go.", [say("Done."), FIX, say("Done.")], workspace=FILES) as run:
        await run.configure({"permissionMode": "read-only"})
        await run.go_on("Fix it.")
        assert [event["status"] for event in run.events_of("tool.finished")] == ["denied"]
    assert run.files == FILES


async def test_an_event_is_waited_for_by_its_data_in_any_turn():
    calls = [call("read_file", path=path) for path in FILES]
    async with run_scenario("Look.", [*calls, say("Done."), say("Done.")], workspace=FILES) as run:
        read = await run.until("tool.requested", fits=lambda data: "é" in data["input"]["path"])
        await run.go_on("And again.")
        assert read == await run.until("tool.requested", count=2, any_turn=True)
        with pytest.raises(AssertionError, match=r"no tool\.requested number 1: the turn has finished"):
            await run.until("tool.requested")


async def test_a_server_is_restarted_while_a_question_is_open():
    """The wait for the turn goes on with the next server, which asks again."""
    asked = []

    def answers(question):
        asked.append(question.message)
        return Never() if len(asked) == 1 else "Allow once"

    async with run_scenario("Go.", [FIX, say("Done.")], workspace=FILES, answers=answers, wait=False) as run:
        await run.until("approval.requested")
        whole = asyncio.create_task(run.wait())
        await run.restart(kill=True, wait=False)
        await whole
        assert (run.outcome, len(asked)) == ("completed", 2)


async def test_a_scenario_is_over_when_it_is_closed():
    run = await run_scenario("Hi", [say("Hello.")])
    with pytest.raises(RuntimeError, match="the scenario is closed: use `async with"):
        await run.go_on("More")
    with pytest.raises(RuntimeError, match="begun already"):
        await run
    await run.close()


async def test_a_scenario_that_was_not_awaited_says_so():
    with pytest.raises(RuntimeError, match="the scenario has not begun: await it"):
        _ = run_scenario("Hi", [say("Hello.")]).response
    with pytest.raises(ValueError, match="`wait=False` needs `async with`"):
        await run_scenario("Hi", [say("Hello.")], wait=False)


async def test_what_is_on_the_screen_is_answered_by_hand():
    script = [FIX, ASK, call("look_up", word="a"), say("Done.")]
    tool = client_tool("look_up", word={"type": "string"})
    how = {"workspace": FILES, "answers": lambda question: Never(), "wait": False}
    async with run_scenario("Go.", script, **how, tools=[tool], tool_answers=lambda asked: Never()) as run:
        assert run.open == []
        for event, kind, title in [
            ("approval.requested", "approval", "Edit tariff.py (+1 −1)"),
            ("question.asked", "question", "Which colour?"),
            ("tool.asked", "tool", "look_up"),
        ]:
            await run.until(event)
            (item,) = run.open
            assert (item.kind, item.title) == (kind, title)
            await run.editor.command("outrider.answer", answer_params(item, WORDS[kind]))
            resolved = {
                "approval": "approval.resolved",
                "question": "question.answered",
                "tool": "tool.answered",
            }
            await run.until(resolved[kind])
        await run.wait()
        assert (run.outcome, run.files, run.open) == ("completed", FIXED, [])


WORDS = {"approval": True, "question": "blue", "tool": "found"}


async def test_an_item_on_the_screen_is_answered_and_the_turn_waited_for():
    how = {"workspace": FILES, "answers": lambda question: Never(), "wait": False}
    async with run_scenario("Go.", [FIX, say("Done.")], **how) as run:
        await run.until("approval.requested")
        await run.answer(True)
        assert (run.outcome, run.files) == ("completed", FIXED)


async def test_a_turn_that_waits_says_for_what():
    with pytest.raises(AssertionError) as caught:
        await run_scenario(
            "Go.", [FIX, say("Done.")], workspace=FILES, answers=lambda question: Never(), seconds=0.5
        )
    assert str(caught.value).startswith(
        "the turn waits for an answer to 'Edit tariff.py (+1 −1)'; it parks after `settings="
        '{"limits": {"askSeconds": …}}`\nno answer to workspace/executeCommand within 0.5 s'
    )


async def test_an_event_that_cannot_come_any_more_is_not_waited_for():
    async with run_scenario("Go.", [say("Done.")]) as run:
        with pytest.raises(
            AssertionError, match=r"no approval.requested number 1: the turn has finished; its"
        ):
            await run.until("approval.requested")
        with pytest.raises(ValueError, match=r"no event 'turn.finishd'; did you mean 'turn.finished'\?"):
            await run.until("turn.finishd")


# --- what raises ---------------------------------------------------------------------------------------------


async def test_a_script_that_runs_out():
    script = [call("read_file", path="tariff.py")]
    with pytest.raises(AssertionError) as caught:
        await run_scenario("Look.", script, workspace=FILES, connection="stdio")
    said = str(caught.value)
    assert said.startswith("script_exhausted: the script scripted:")
    assert (
        "has 1 turn; call 2 has no answer; add an answer, or allow_exhausted=True\nthe last messages (stock):\n"
        in said
    )
    assert "\nthe server's standard error:\n" in said
    wire = said.partition("(stock):\n")[2].partition("\nthe server's")[0].splitlines()
    assert len(wire) == 10
    assert not any("turn.phase" in line for line in wire)
    run = await run_scenario("Look.", script, workspace=FILES, allow_exhausted=True)
    assert (run.outcome, run.reason) == ("failed", "script_exhausted")


async def test_a_script_that_is_not_used_up():
    script = [say("Done."), FIX, say("More.")]
    with pytest.raises(AssertionError) as caught:
        await run_scenario("Go.", script)
    assert str(caught.value).startswith(
        "left over: 2 of 3 answers of the script:\n"
        '  turns[1]: edit_file({"path": "tariff.py", "old": "hours * 3", "new": "…\n'
        "  turns[2]: 'More.'\n"
        "the last messages (stock):\n"
    )
    assert (await run_scenario("Go.", script, allow_left_over=True)).response == "Done."


async def test_a_script_that_expected_another_request():
    expecting = say("Done.", expect={"last_message_contains": "hours"})
    with pytest.raises(
        AssertionError, match=r"script_expectation: .*expected the last message to contain 'hours'"
    ):
        await run_scenario("Go.", [expecting])
    await run_scenario("Count the hours.", [expecting])


async def test_rules_that_the_server_broke():
    with pytest.raises(AssertionError, match=r"the server broke rules:\n  made up\nthe last messages"):
        async with run_scenario("Hi", [say("Hello.")]) as run:
            run.editor.watch.violations.append("made up")


async def test_what_went_wrong_is_a_note_of_another_failure():
    with pytest.raises(KeyError) as caught:
        async with run_scenario("Hi", [say("Hello."), say("Left.")], connection="stdio"):
            raise KeyError("mine")
    assert any("left over: 1 of 2" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("kind", ["plain", "async", "by command"])
async def test_an_error_of_the_tests_own_function_ends_the_wait(kind):
    def fails(item):
        raise LookupError("mine")

    async def fails_later(item):
        await asyncio.sleep(0)
        raise LookupError("mine")

    profile = "bare" if kind == "by command" else "stock"
    decide = fails_later if kind == "async" else fails
    with pytest.raises(LookupError, match="mine"):
        await run_scenario(
            "Go.", [FIX, say("Done.")], workspace=FILES, on_confirmation=decide, profile=profile
        )


@pytest.mark.parametrize("wait", [True, False])
async def test_a_title_that_no_button_has_is_the_tests_own_slip(wait):
    with pytest.raises(AssertionError) as caught:
        async with run_scenario(
            "Go.", [FIX, say("Done.")], workspace=FILES, answers=["Allow onec"], wait=wait
        ) as run:
            await run.until("turn.parked")
    assert str(caught.value) == (
        "the test answers 'Allow onec' to 'Edit tariff.py (+1 −1)'; "
        "it takes 'Allow once', 'Allow for this session', 'Always allow…', 'Review…', 'Reject'"
    )
    assert not hasattr(caught.value, "__notes__")


async def test_an_answer_that_is_none():
    with pytest.raises(ValueError, match=r"'Sure' does not answer 'Edit tariff.py .*it takes one of"):
        await run_scenario("Go.", [FIX, say("Done.")], workspace=FILES, on_confirmation=lambda item: "Sure")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"profile": "emacs"}, "there is no profile 'emacs'; there are neovim"),
        ({"profile": "stops-reading"}, "use `start_session` and `FakeEditor.read_on`"),
        ({"settings": {"events": False}}, "leave the setting `events`"),
        ({"answers": [], "on_confirmation": yes}, "exclude each other"),
        ({"workspace": {"../a.py": ""}}, "'../a.py' leads out of the workspace"),
        ({"workspace": "/nowhere/at/all"}, "is not a folder"),
        ({"connection": "tcp"}, "there is no connection 'tcp'; there are in-process, stdio"),
        ({"open": "a.py"}, r"`open` takes a list of documents: \['a.py'\]"),
        ({"open": ["b.py"], "workspace": {"a.py": ""}}, "open: there is no file 'b.py' in the workspace"),
    ],
)
async def test_arguments_that_are_none(how, said):
    with pytest.raises(ValueError, match=said):
        await run_scenario("Go.", [say("Done.")], **how)


def test_a_tool_with_an_effect_that_there_is_not():
    with pytest.raises(ValueError, match="look_up: there is no effect 'reed'; there are read, edit, execute"):
        client_tool("look_up", "reed")


@pytest.mark.parametrize("connection", ["in-process", "stdio"])
async def test_a_setting_that_is_not_taken_fails(connection):
    settings = {"permisionMode": "full"}
    with pytest.raises(AssertionError) as caught:
        await run_scenario("Hi", [say("Hello.")], settings=settings, connection=connection)
    assert str(caught.value) == (
        "settings that are not taken:\n"
        "  Outrider: initializationOptions: permisionMode: unknown setting; it is ignored"
    )
    notes = "".join(getattr(caught.value, "__notes__", ()))
    assert "not taken" not in notes, "once is enough"
    run = await run_scenario("Hi", [say("Hello.")], settings=settings, allow_ignored=True)
    assert run.response == "Hello."


async def test_a_tool_that_is_left_out_is_said_before_what_comes_of_it():
    tool = client_tool("look_up", word="string")
    script = [call("look_up", word="a"), say("Done.")]
    with pytest.raises(AssertionError) as caught:
        await run_scenario("Go.", script, tools=[tool], tool_answers=["first"])
    top = str(caught.value).splitlines()[1]
    assert "tools.0.inputSchema" in top
    assert top.endswith("this tool is ignored")


async def test_a_setting_is_said_at_the_end_of_a_scenario_that_waits_for_nothing():
    with pytest.raises(AssertionError, match=r"settings that are not taken:\n.*permisionMode"):
        async with run_scenario(
            "Hi", [FIX], workspace=FILES, settings={"permisionMode": "x"}, wait=False
        ) as run:
            await run.until("approval.requested")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([say("A."), {"txt": "B."}], "the script: turns[1].txt: there is no such key"),
        (
            [{"tool_calls": [{"name": "x", "inptu": {}}]}],
            "the script: turns[0].tool_calls[0].inptu: there is no such key",
        ),
        ([call("x", path={1, 2})], "the script: not JSON: "),
        (["text"], "the script: turns[0]: "),
    ],
)
def test_a_script_is_checked_when_it_is_made(script, said):
    with pytest.raises(ValueError) as caught:
        ScriptedModel(script)
    assert str(caught.value).startswith(said)


def test_a_script_holds_what_a_file_would():
    model = ScriptedModel(
        [say("Look.", FIX, reasoning="Hm."), FIX], purposes={"summary": [say("S.")]}, context_window=9
    )
    fix = {
        "name": "edit_file",
        "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"},
        "id": "fix",
    }
    assert model.data == {
        "turns": [{"text": "Look.", "tool_calls": [fix], "reasoning": "Hm."}, {"tool_calls": [fix]}],
        "purposes": {"summary": [{"text": "S."}]},
        "context_window": 9,
    }
    assert len(model) == 2


# --- the same every time -------------------------------------------------------------------------------------


async def transcript(folder, connection):
    """The events of a scenario, to the byte."""
    script = ScriptedModel(
        [
            say("I look.", call("read_file", path="tariff.py"), call("search", pattern="hours"), chunk=2),
            FIX,
            call("run_command", command="cat tariff.py"),
            say("Done.", usage={"inputTokens": 9, "outputTokens": 3}),
            say("Nothing."),
        ]
    )
    async with run_scenario(
        "Fix it.",
        script,
        workspace=FILES,
        on_confirmation=yes,
        connection=connection,
        open=["docs/é.md"],
        keep_in=folder,
    ) as run:
        await run.go_on("What is left?")
        await run.undo("session")
        await run.restart()
    shutil.rmtree(folder)
    told = json.dumps(run.events, ensure_ascii=False, indent=1)
    assert str(folder) in told
    return told.replace(str(folder), "<folder>").splitlines()


async def test_a_scenario_gives_the_same_bytes_in_this_process_and_over_stdio(tmp_path):
    # In one folder: the digest of an approval covers where it holds, and the system message says where that is.
    folder = tmp_path / "kept"
    here, again, there = [await transcript(folder, how) for how in ("in-process", "in-process", "stdio")]
    assert here == again
    assert here == there
