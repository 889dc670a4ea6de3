"""Permission mode `full` where no sandbox holds a command: it is said once, and the first command asks unless the user turned the sandbox off."""

import shutil

import pytest
from scripting import DONE, call, results, step, types

from outrider.testing.scenario import scripted, start_session

AUTO = {
    "sandbox": "auto",
    "permissionMode": "full",
    "testing": {"clock": None, "ids": "sequential", "sandboxes": ["bubblewrap"]},
}
FIRST = call("run_command", command="echo one > ../outside.txt", called="first")
SECOND = call("run_command", command="echo two > second.txt", called="second")
SAID = "Outrider runs the commands of this session without a sandbox. Not sandboxed: "


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch, workspace):
    """A machine without bubblewrap, where Landlock is not tried."""
    programs = workspace.parent / "bin"
    programs.mkdir()
    for name in ("bash", "sh"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/false")
    monkeypatch.setenv("PATH", str(programs))


def warnings(editor):
    said = [
        one.message["params"]["message"]
        for one in editor.messages
        if one.message.get("method") == "window/showMessage"
    ]
    return [text for text in said if text.startswith(SAID)]


async def test_the_first_command_asks_and_those_after_it_do_not(begin, workspace):
    editor = await begin("stock", [step(FIRST), step(SECOND), DONE], AUTO, answers=["Run outside once"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["options"] == ["Run outside once", "Reject"]
    assert asked["data"]["title"] == "Run outside once: echo one > ../outside.txt"
    first, *rest = editor.questions[0].message.splitlines()
    assert first == "Run `echo one > ../outside.txt` in the workspace, without a sandbox."
    assert "without a sandbox and without asking" in rest[0]
    assert [results(editor)[one][0] for one in ("first", "second")] == ["ok", "ok"]
    (absent,) = editor.events_of("sandbox.absent")
    assert absent["data"] == {"reason": "Not sandboxed: the program 'bwrap' was not found.", "chosen": False}
    order = types(editor)
    assert order.index("sandbox.absent") < order.index("approval.requested") < order.index("tool.started")
    assert warnings(editor) == [f"{SAID}the program 'bwrap' was not found."]


async def test_without_that_yes_nothing_runs_and_the_next_command_asks_again(begin, workspace):
    editor = await begin("stock", [step(FIRST), step(SECOND), DONE], AUTO, answers=["Reject", "Reject"])
    await editor.run("Go.")
    assert [results(editor)[one][0] for one in ("first", "second")] == ["denied", "denied"]
    assert len(editor.events_of("sandbox.absent")) == 1
    assert not (workspace.parent / "outside.txt").exists()


async def test_a_job_asks_as_any_command(begin, workspace):
    job = call("run_command", command="echo one > ../outside.txt", background=True, called="job")
    editor = await begin("stock", [step(job), DONE], AUTO, answers=["Reject"])
    await editor.run("Go.")
    assert results(editor)["job"][0] == "denied"
    assert editor.questions[0].message.startswith(
        "Start `echo one > ../outside.txt` as a background job in the workspace, "
    )


async def test_who_turned_it_off_is_told_and_not_asked(begin, workspace):
    editor = await begin("stock", [step(FIRST), step(SECOND), DONE], {**AUTO, "sandbox": "off"})
    await editor.run("Go.")
    assert editor.questions == []
    (absent,) = editor.events_of("sandbox.absent")
    assert absent["data"]["chosen"] is True
    assert warnings(editor) == [f"{SAID}the setting `sandbox` is off."]


async def test_where_each_command_asks_there_is_nothing_more_to_say(begin, workspace):
    settings = {**AUTO, "permissionMode": "ask"}
    editor = await begin("stock", [step(FIRST), DONE], settings, answers=["Allow once"])
    await editor.run("Go.")
    assert "sandbox.absent" not in types(editor)
    assert editor.events_of("approval.requested")[0]["data"]["title"].startswith("Run: ")


async def test_the_yes_is_listed_and_holds_after_a_restart(workspace):
    model = scripted(workspace, [step(FIRST), DONE, step(SECOND), DONE])
    async with start_session("stock", workspace, model, AUTO, answers=["Run outside once"]) as editor:
        await editor.run("One.")
        session = editor.session_id
        listed = (await editor.command("outrider.permissions", {}))["rules"]
        assert [rule["text"] for rule in listed if rule["scope"] == "session"] == [
            "run commands without a sandbox for this session, in permission mode full"
        ]
    async with start_session("stock", workspace, model, AUTO) as editor:
        await editor.run("Two.", sessionId=session)
        assert editor.questions == []
        assert results(editor)["second"][0] == "ok"
        assert warnings(editor) == []
