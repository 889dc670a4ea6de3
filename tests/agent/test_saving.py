"""Before a command: what the agent changed is saved by the client where it can, and the user is asked where not."""

import asyncio

import pytest
from scripting import DONE, FIX, KINDS, call, results, step, types

from outrider.testing.editor.profiles import BAD_SAVES, PROFILES

RUN = call("run_command", command="/bin/grep -h hours tariff.py", called="run")
FULL = {"permissionMode": "full"}
READ_ONLY_FIX = call("edit_file", path="README.md", old="Counts", new="Says", called="words")


def saves(editor):
    """The data of each `workspace.saved`, without the call."""
    return [
        {key: value for key, value in event["data"].items() if key != "callId"}
        for event in editor.events_of("workspace.saved")
    ]


async def test_promise_3_the_client_saves_what_the_agent_changed_without_a_question(begin):
    editor = await begin("saves", [step(FIX, RUN), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert editor.questions == []
    assert results(editor)["run"] == ("ok", "def price(hours):\n    return hours * 2\n[exit code 0]")
    assert saves(editor) == [{"by": "extension", "paths": ["tariff.py"]}]
    assert not editor.dirty("tariff.py")


async def test_promise_3_only_what_the_agent_changed_is_saved(begin):
    editor = await begin("saves", [step(FIX, RUN), DONE], FULL)
    editor.open("tariff.py")
    editor.open("README.md")
    editor.type("README.md", "typed\n")
    await editor.run("Go.")
    assert editor.save_requests == [[(editor.root / "tariff.py").as_uri()]]
    assert editor.dirty("README.md")
    assert "the unsaved changes of these buffers: README.md]" in results(editor)["run"][1]


async def test_nothing_is_saved_for_a_command_that_is_not_allowed(begin):
    editor = await begin("saves", [step(FIX), step(RUN), DONE], answers=["Allow once", "Reject"])
    editor.open("tariff.py")
    await editor.run("Go.")
    assert results(editor)["run"][0] == "denied"
    assert editor.save_requests == []
    assert editor.dirty("tariff.py")


async def test_a_client_that_did_not_name_the_extension_is_not_asked_to_save(begin):
    editor = await begin(
        "saves", [step(FIX, RUN), DONE], {**FULL, "extensions": ["other"]}, answers=["Cancel"]
    )
    editor.open("tariff.py")
    await editor.run("Go.")
    assert editor.save_requests == []
    assert len(editor.questions) == 1


REASONS = {
    "claims-saves": "the editor did not confirm the save, and the file on disk has other text",
    "never-answers-saves": "no answer to outrider/save in 0.2 s",
    "answers-saves-garbage": "the editor gave no reason",
    "answers-saves-error": "the editor cannot save now",
    "refuses-saves": "it is write-protected",
}


@pytest.mark.parametrize("profile", REASONS)
async def test_promise_3_a_save_that_does_not_happen_is_asked_for(profile, begin, monkeypatch):
    monkeypatch.setattr("outrider.lsp.editor.SAVE_SECONDS", 0.2)
    monkeypatch.setattr("outrider.lsp.profile._SETTLE_SECONDS", 0.2)
    editor = await begin(profile, [step(FIX, RUN), DONE], FULL)
    editor.open("tariff.py")

    def person(_question):
        editor.save("tariff.py")
        return "Save and continue"

    editor.answers = person
    await editor.run("Go.")
    assert len(editor.questions) == 1
    failed = [{"path": "tariff.py", "reason": REASONS[profile]}]
    assert saves(editor) == [{"by": "extension", "paths": [], "failed": failed}]
    assert "hours * 2" in results(editor)["run"][1]
    asked = types(editor).index("question.asked")
    assert types(editor).index("workspace.saved") < asked < types(editor).index("question.answered")


def test_every_client_that_does_not_save_is_tried():
    assert {str(one) for one in BAD_SAVES} == {*REASONS, "formats-on-save"}


async def test_a_formatter_that_runs_on_the_save_is_told_to_the_model(begin):
    editor = await begin("formats-on-save", [step(FIX), step(RUN), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert editor.questions == []
    assert editor.disk("tariff.py").startswith("# formatted\n")
    assert "hours * 2" in results(editor)["run"][1]
    (told,) = [event["data"] for event in editor.events_of("workspace.changed")]
    assert told["path"] == "tariff.py"
    assert "+# formatted" in told["told"]


async def test_two_files_are_saved_by_a_refactoring_where_the_client_does_that(begin):
    editor = await begin("vscode", [step(FIX, READ_ONLY_FIX, RUN), DONE], FULL)
    editor.open("tariff.py")
    editor.open("README.md")
    editor.open("tests/__init__.py")
    await editor.run("Go.")
    assert editor.questions == []
    assert saves(editor) == [{"by": "refactoring", "paths": ["tariff.py", "README.md"]}]
    assert "hours * 2" in results(editor)["run"][1]


async def test_the_active_file_of_a_refactoring_is_asked_for(begin, monkeypatch):
    monkeypatch.setattr("outrider.lsp.profile._SETTLE_SECONDS", 0.2)
    editor = await begin("vscode", [step(FIX, READ_ONLY_FIX, RUN), DONE], FULL)
    editor.open("tariff.py")
    editor.open("README.md")

    def person(question):
        assert "README.md" in question.message
        assert "tariff.py" not in question.message
        editor.save("README.md")
        return "Save and continue"

    editor.answers = person
    await editor.run("Go.")
    assert len(editor.questions) == 1
    (data,) = saves(editor)
    assert (data["paths"], [one["path"] for one in data["failed"]]) == (["tariff.py"], ["README.md"])


async def test_promise_9_a_turn_is_cancelled_while_the_client_saves(begin):
    editor = await begin("never-answers-saves", [step(FIX, RUN), DONE], FULL)
    editor.open("tariff.py")
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: editor.save_requests, "a save")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "cancelled"
    assert results(editor)["run"][0] == "cancelled"


@pytest.mark.parametrize("profile", KINDS)
async def test_promise_3_every_editor_comes_to_the_command_with_the_change(profile, begin, workspace):
    editor = await begin(profile, [step(FIX, RUN), DONE], FULL)
    if PROFILES[profile].capabilities.get("workspace", {}).get("applyEdit"):
        editor.open("tariff.py")

    def person(_question):
        editor.save("tariff.py")
        return "Save and continue"

    editor.answers = person
    outcome = await editor.run("Go.")
    if outcome["outcome"] == "needs_input":
        editor.save("tariff.py")
        await editor.command(
            "outrider.answer", {"id": outcome["open"][0]["id"], "answer": "Save and continue"}
        )
        outcome = await editor.wait_turn()
    assert outcome["outcome"] == "completed"
    assert "hours * 2" in results(editor)["run"][1]
    assert ("workspace.saved" in types(editor)) == PROFILES[profile].takes_save


async def test_after_the_yes_the_command_waits_for_the_save_and_asks_nothing_more(begin):
    write = call(
        "run_command", command="/bin/grep -h hours tariff.py > found.txt; cat found.txt", called="run"
    )
    editor = await begin("stock", [step(FIX), step(write), DONE], answers=["Allow once", "Allow once"])
    editor.open("tariff.py")
    running = asyncio.create_task(editor.run("Go."))
    said = "Outrider continues as soon as tariff.py is saved."
    await editor.wait_for(lambda: any(one.text == said for one in editor.said), "it waits")
    editor.save("tariff.py")
    await running
    assert len(editor.questions) == 2
    assert "hours * 2" in results(editor)["run"][1]


async def test_what_is_saved_at_the_question_of_the_command_needs_no_other_one(begin):
    def person(question):
        if "Run `" in question.message:
            assert (
                "Outrider's changes in tariff.py are not saved, and the command reads files"
                in question.message
            )
            editor.save("tariff.py")
        return "Allow once"

    write = call(
        "run_command", command="/bin/grep -h hours tariff.py > found.txt; cat found.txt", called="run"
    )
    editor = await begin("stock", [step(FIX), step(write), DONE], answers=person)
    editor.open("tariff.py")
    await editor.run("Go.")
    assert len(editor.questions) == 2  # the edit, the command
    assert "hours * 2" in results(editor)["run"][1]
    assert "unsaved" not in results(editor)["run"][1]
