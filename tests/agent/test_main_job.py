"""The main job: look, edit with a yes, run the tests, answer. In every editor that means well."""

import shlex
import sys

import pytest
from scripting import DONE, FIX, KINDS, call, result, results, step, types

from outrider.tools.run_command.shown import in_one_line

CHECK = f"{shlex.quote(sys.executable)} -m unittest -q"
TURNS = [
    step(call("list_files", called="list"), text="I look around."),
    step(
        call("read_file", path="tariff.py", called="read"),
        usage={"inputTokens": 100, "outputTokens": 10, "cost": 0},
    ),
    step(FIX, usage={"inputTokens": 200, "outputTokens": 20, "cost": 0.5}),
    step(call("run_command", command=CHECK, called="check")),
    {"text": "The price is right now.", "usage": {"inputTokens": 300, "outputTokens": 30, "cost": 0.25}},
]
STEP = ["model.requested", "model.responded", "turn.phase", "tool.requested"]
READ = [*STEP, "tool.started", "tool.finished", "turn.phase"]
LOG = [
    "session.started", "turn.started", "turn.phase", "turn.phase",
    *READ, *READ,
    *STEP, "edit.proposed", "approval.requested", "approval.resolved", "tool.started",
    "edit.applying", "edit.applied", "tool.finished", "turn.phase",
    *STEP, "approval.requested", "approval.resolved", "tool.started", "tool.finished", "turn.phase",
    "model.requested", "model.responded", "turn.phase", "turn.phase", "turn.finished",
]  # fmt: skip
ASKED = ["Edit tariff.py (+1 −1)", f"Run: {CHECK}"]
SHOWN = ["Edit tariff.py (+1 −1)", f"Run `{in_one_line(CHECK)}` in the workspace, without a sandbox."]


async def answered(editor, outcome, decisions):
    """Answer what parks the turn, by command, until it ends."""
    while outcome.get("outcome") == "needs_input":
        (item,) = outcome["open"]
        await editor.command("outrider.answer", {"id": item["id"], **decisions(item)})
        outcome = await editor.wait_turn()
    return outcome


def allow(_item):
    return {"decision": "allow_once"}


@pytest.mark.parametrize("profile", KINDS)
async def test_a_fault_on_disk_is_found_fixed_and_checked(profile, begin):
    editor = await begin(profile, TURNS, answers=lambda question: "Allow once")
    outcome = await answered(editor, await editor.run("Correct the price."), allow)
    done = outcome.pop("done")
    assert (done["state"], done["changed"]) == ("checked", ["tariff.py"])
    assert [(one["kind"], one["command"], one["exitCode"]) for one in done["checks"]] == [("test", CHECK, 0)]
    assert outcome == {
        "turnId": "turn_1",
        "outcome": "completed",
        "reason": "checked",
        "summary": "The price is right now.",
        "usage": {"inputTokens": 600, "outputTokens": 60, "cost": 0.75},
    }
    assert [kind for kind in types(editor) if kind not in {"turn.parked", "turn.resumed"}] == LOG
    assert [event["data"]["title"] for event in editor.events_of("approval.requested")] == ASKED
    assert editor.disk("tariff.py").endswith("return hours * 2\n")
    told = results(editor)
    assert told["list"] == ("ok", "README.md\ntariff.py\ntests/")
    assert told["read"][1].splitlines()[2] == "     3\t    return hours * 3"
    assert told["fix"][0] == told["check"][0] == "ok"
    assert "OK" in told["check"][1]
    assert told["check"][1].endswith("[exit code 0]")
    if editor.profile.can_ask:
        assert [question.message.splitlines()[0] for question in editor.questions] == SHOWN
        assert "turn.parked" not in types(editor)
    else:
        assert types(editor).count("turn.parked") == 2
    assert editor.edits == []


@pytest.mark.parametrize("profile", KINDS)
async def test_an_open_file_is_edited_in_its_buffer_as_one_step_of_undo(profile, begin):
    def person(question):
        if "are not saved" in question.message:
            editor.save_all()
        return "Allow once"

    def answer(item):
        if "are not saved" in (item["detail"] or ""):
            editor.save_all()
        return allow(item)

    editor = await begin(profile, TURNS, answers=person)
    editor.open("tariff.py")
    before = editor.text("tariff.py")
    outcome = await answered(editor, await editor.run("Correct the price."), answer)
    if not editor.profile.capabilities.get("workspace", {}).get("applyEdit"):
        # The buffer has no unsaved text, so the disk is safe to write to; the user reloads it.
        assert editor.edits == []
        assert editor.text("tariff.py") == before
        assert editor.disk("tariff.py") == before.replace("* 3", "* 2")
        return
    assert outcome["outcome"] == "completed", results(editor)
    assert outcome["reason"] == "checked"
    assert editor.text("tariff.py") == before.replace("* 3", "* 2")
    assert editor.disk("tariff.py") == before.replace("* 3", "* 2")
    (edit,) = editor.edits
    assert edit.label == "Outrider: Correct the price."
    assert editor.undo("tariff.py")
    assert editor.text("tariff.py") == before
    assert not editor.undo("tariff.py")
    (applied,) = editor.events_of("edit.applied")
    assert applied["data"]["where"] == "buffer"
    assert applied["data"]["hunks"] == [
        {"line": 3, "removed": "    return hours * 3\n", "added": "    return hours * 2\n"}
    ]


async def test_progress_and_messages_tell_the_person_how_it_goes(begin):
    editor = await begin("vscode", TURNS, answers=["Allow once", "Allow once"])
    await editor.run("Correct the price.")
    await editor.wait_for(lambda: any(said.shown for said in editor.said), "the outcome")
    (progress,) = editor.progress.values()
    assert progress.begin == {
        "kind": "begin",
        "title": "Outrider",
        "cancellable": True,
        "message": "Correct the price.",
    }
    assert progress.end == {"kind": "end", "message": "completed"}
    (message,) = [said for said in editor.said if said.shown]
    assert (message.level, message.text) == (
        3,
        f"Outrider, completed: The price is right now. (checked: tests (`{CHECK}`))",
    )
    (logged,) = [said for said in editor.said if not said.shown]
    assert logged.text == "“Correct the price.” completed (checked):\nThe price is right now."


async def test_progress_ends_while_the_turn_is_parked(begin):
    editor = await begin("stock", [step(FIX), DONE])
    waiting = await editor.run("Correct the price.")
    (first,) = editor.progress.values()
    assert first.end == {"kind": "end", "message": "needs you: Edit tariff.py (+1 −1)"}
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "decision": "allow_once"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    await editor.wait_for(lambda: len(editor.progress) == 2, "a second progress")
    _, second = editor.progress.values()
    await editor.wait_for(lambda: second.end, "its end")
    assert second.end == {"kind": "end", "message": "completed"}


async def test_a_second_task_goes_on_with_the_first_conversation(begin):
    turns = [
        {"text": "One."},
        {"text": "Two.", "expect": {"messages_contain": ["First", "One.", "Second"], "message_count": 4}},
    ]
    editor = await begin("stock", turns)
    await editor.run("First")
    outcome = await editor.run("Second", sessionId=editor.session_id)
    assert (outcome["outcome"], outcome["summary"]) == ("completed", "Two.")
    first, second = editor.events_of("model.requested")
    assert len(first["data"]["messages"]) == 2
    # The system message and the first task are the same: only what came since is named.
    assert second["data"]["messages"].keys() == {"after", "added"}
    assert second["data"]["messages"]["after"] == first["seq"]
    assert len(second["data"]["messages"]["added"]) == 2
    # The usage of a turn is its own.
    assert outcome["usage"] == {"inputTokens": 0, "outputTokens": 0}


async def test_what_a_turn_changed_is_told_to_the_model(begin):
    turns = [
        step(FIX),
        {"text": "ok", "expect": {"last_message_contains": "Edited tariff.py."}},
    ]
    editor = await begin("stock", turns, {"permissionMode": "auto-edit"})
    assert (await editor.run("go"))["outcome"] == "completed"
    assert result(editor)[1].startswith("Edited tariff.py.\nNow in tariff.py:\n")
