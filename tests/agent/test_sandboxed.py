"""Sandboxed commands as a user meets them: what an approval says, and what becomes of a command that fails for its sandbox."""

import hashlib
import os
import shutil

import pytest
from scripting import DONE, call, result, results, step, types

from outrider.testing.editor.answers import Dismiss, Never
from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.testing.scenario_files.from_export import Untold, scenario_of, written
from outrider_protocol.export import Export
from outrider_protocol.scenario import Scenario
from sandboxes import needs_bubblewrap

AUTO = {"sandbox": "auto", "testing": {"clock": None, "ids": "sequential"}}
ONLY_BUBBLEWRAP = {"sandbox": "auto", "testing": {**AUTO["testing"], "sandboxes": ["bubblewrap"]}}
WRITE = "echo one >> ../outside.txt; echo two >> inside.txt"
RUN = call("run_command", command=WRITE, called="run")
ONCE = f"Run outside once: {WRITE}"


def outside(workspace):
    return workspace.parent / "outside.txt"


@needs_bubblewrap
async def test_an_approval_says_that_it_is_sandboxed(begin):
    editor = await begin("stock", [step(RUN), DONE], AUTO, answers=["Reject"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    second = asked["data"]["detail"].splitlines()[1]
    assert second == "Sandboxed by bubblewrap: it can write only in the workspace, and runs without network."
    assert second in editor.questions[0].message


@needs_bubblewrap
async def test_a_command_that_fails_in_the_sandbox_is_run_outside_by_choice(begin, workspace):
    fails = f"{WRITE}; false"
    editor = await begin(
        "stock",
        [step(call("run_command", command=fails, called="run")), DONE],
        AUTO,
        answers=["Allow once", "Run outside once"],
    )
    assert (await editor.run("Go."))["outcome"] == "completed"
    first, second = editor.events_of("approval.requested")
    assert first["data"]["digest"] != second["data"]["digest"]
    assert second["data"]["title"] == f"Run outside once: {fails}"
    assert second["data"]["options"] == ["Run outside once", "Reject"]
    assert "it printed “read-only file system” about " in second["data"]["detail"]
    assert second["data"]["summary"].endswith("again, outside the sandbox.")
    status, content = results(editor)["run"]
    assert status == "error"
    assert "it was run again outside the sandbox" in content
    assert outside(workspace).read_text() == "one\n"
    assert (workspace / "inside.txt").read_text() == "two\ntwo\n"


@needs_bubblewrap
@pytest.mark.parametrize("way", ["message", "command", "parked"])
async def test_a_session_that_left_the_sandbox_is_a_scenario_that_plays(way, begin, workspace, tmp_path):
    after = call("run_command", command="echo three", called="after")
    leaves = {"message": "Run outside once", "command": Never(), "parked": Dismiss()}[way]
    turns = [step(call("run_command", command=f"{WRITE}; false", called="run")), step(after), DONE]
    editor = await begin("stock", turns, AUTO, answers=["Allow once", leaves, "Allow once"])
    started = await editor.command("outrider.run", {"prompt": "Go."})
    if way != "message":
        await editor.question(2)
        asked = editor.events_of("approval.requested")[1]["data"]
        if way == "parked":
            await editor.event("turn.parked")
        await editor.command("outrider.answer", {"id": asked["id"], "decision": "allow_once"})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    exported = await editor.command("outrider.export", {"sessionId": started["sessionId"]})
    made = scenario_of(Export.from_wire(exported), "again")
    assert isinstance(made, Scenario), made.message
    again = tmp_path / "again"
    again.mkdir()
    failures = await play_and_judge(Scenario.model_validate(written(made)), again, beside=tmp_path)
    assert not failures, "\n".join(map(str, failures))


@needs_bubblewrap
async def test_a_session_that_was_kept_in_the_sandbox_is_no_scenario(begin):
    editor = await begin(
        "stock",
        [step(call("run_command", command=f"{WRITE}; false")), DONE],
        AUTO,
        answers=["Allow once", "Reject"],
    )
    await editor.run("Go.")
    exported = await editor.command("outrider.export", {"sessionId": editor.session_id})
    made = scenario_of(Export.from_wire(exported), "again")
    assert isinstance(made, Untold)
    assert "a command was kept in its sandbox, and a scenario has none" in made.message


@needs_bubblewrap
@pytest.mark.parametrize("answer", ["Reject", "outrider.answer"])
async def test_it_stays_inside_without_that_choice(answer, begin, workspace):
    run = call("run_command", command="echo one >> ../outside.txt", called="run")
    answers = ["Allow once", "Reject" if answer == "Reject" else Never()]
    editor = await begin("stock", [step(run), DONE], AUTO, answers=answers)
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.question(2)
    if answer != "Reject":
        asked = editor.events_of("approval.requested")[1]["data"]
        offered = [action["title"] for action in await editor.code_actions("README.md")]
        assert "Outrider: Run outside once — echo one >> ../outside.txt" in offered
        await editor.command("outrider.answer", {"id": asked["id"], "decision": "reject"})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert "the user chose not to run it outside" in result(editor)[1]
    assert not outside(workspace).exists()


@needs_bubblewrap
async def test_the_choice_is_made_by_command_too(begin, workspace):
    run = call("run_command", command="echo one >> ../outside.txt", called="run")
    editor = await begin(
        "stock", [step(run), DONE], {**AUTO, "permissionMode": "full"}, answers=lambda _: Never()
    )
    started = await editor.command("outrider.run", {"prompt": "Go."})
    asked = (await editor.event("approval.requested"))["data"]
    await editor.command("outrider.answer", {"id": asked["id"], "decision": "allow_once"})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert outside(workspace).read_text() == "one\n"


@needs_bubblewrap
async def test_nothing_leaves_a_sandbox_that_is_required(begin, workspace):
    settings = {**AUTO, "sandbox": "required", "permissionMode": "full"}
    run = call("run_command", command="echo one >> ../outside.txt", called="run")
    editor = await begin("stock", [step(run), DONE], settings)
    await editor.run("Go.")
    assert "approval.requested" not in types(editor)
    assert result(editor)[0] == "error"
    assert not outside(workspace).exists()


@needs_bubblewrap
@pytest.mark.parametrize(
    "printed",
    [
        "AssertionError: 3 != 4",
        "Permission denied",
        "sh: ./tariff.py: Permission denied",
        "Operation not permitted",
    ],
)
async def test_a_failure_of_another_kind_is_no_reason_to_leave(begin, printed):
    run = call("run_command", command=f"echo '{printed}'; exit 1", called="run")
    editor = await begin("stock", [step(run), DONE], {**AUTO, "permissionMode": "full"})
    await editor.run("Go.")
    assert "approval.requested" not in types(editor)


@needs_bubblewrap
async def test_cancel_while_it_is_asked_leaves_it_inside(begin, workspace):
    run = call("run_command", command="echo one >> ../outside.txt", called="run")
    editor = await begin(
        "stock", [step(run), DONE], {**AUTO, "permissionMode": "full"}, answers=lambda _: Never()
    )
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.event("approval.requested")
    assert (await editor.command("outrider.cancel", {"turnId": started["turnId"]}))["outcome"] == "cancelled"
    assert not outside(workspace).exists()


@needs_bubblewrap
async def test_the_sandbox_allows_nothing_by_itself(begin):
    unknown = call("run_command", command="./unknown", called="unknown")
    reads = call("run_command", command="cat tariff.py", called="reads")
    settings = {**AUTO, "permissionMode": "auto-edit"}
    editor = await begin("stock", [step(reads, unknown), DONE], settings, answers=["Reject"])
    await editor.run("Go.")
    assert [results(editor)[one][0] for one in ("reads", "unknown")] == ["ok", "denied"]
    assert [question.message.splitlines()[0] for question in editor.questions] == [
        "Run `./unknown` in the workspace, sandboxed, without network."
    ]


@needs_bubblewrap
async def test_a_grant_for_the_sandbox_is_none_without_it(begin):
    run = call("run_command", command="echo x >> made.txt", called="run")
    editor = await begin("stock", [step(run), DONE], AUTO, answers=["Allow for this session"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    assert asked["data"]["grant"].startswith("run-sandboxed:")


@needs_bubblewrap
async def test_a_job_is_sandboxed_too(begin, workspace):
    start = call("run_command", command="echo x > ../outside.txt; echo y > made.txt", background=True)
    turns = [step(start), step(call("read_job", job="job_1", wait=30, called="read")), DONE]
    editor = await begin("stock", turns, {**AUTO, "permissionMode": "full"})
    await editor.run("Go.")
    assert editor.events_of("job.started")[0]["data"]["sandboxed"] is True
    assert "Read-only file system" in results(editor)["read"][1]
    assert (workspace / "made.txt").read_text() == "y\n"
    assert not outside(workspace).exists()


async def test_where_there_is_none_commands_run_and_say_so(begin, monkeypatch, workspace):
    (workspace.parent / "bin").mkdir()
    for name in ("bash", "sh", "true"):
        (workspace.parent / "bin" / name).symlink_to(shutil.which(name) or "/bin/false")
    monkeypatch.setenv("PATH", str(workspace.parent / "bin"))
    turns = [step(call("run_command", command="/bin/true", called="run")), DONE]
    editor = await begin("stock", turns, ONLY_BUBBLEWRAP, answers=["Allow once"])
    await editor.run("Go.")
    assert "\nNot sandboxed: the program 'bwrap' was not found.\n" in editor.questions[0].message
    assert results(editor)["run"][0] == "ok"
    checks = {check["name"]: check for check in (await editor.command("outrider.doctor"))["checks"]}
    assert checks["sandbox"]["status"] == "warn"
    assert "install bubblewrap" in checks["sandbox"]["detail"]


async def test_where_one_is_required_and_there_is_none_nothing_runs(begin, monkeypatch, workspace):
    (workspace.parent / "bin").mkdir()
    monkeypatch.setenv("PATH", str(workspace.parent / "bin"))
    turns = [step(call("run_command", command="touch made.txt", called="run")), DONE]
    settings = {**ONLY_BUBBLEWRAP, "sandbox": {"mode": "required"}, "permissionMode": "full"}
    editor = await begin("stock", turns, settings)
    await editor.run("Go.")
    status, content = results(editor)["run"]
    assert status == "error"
    assert content.startswith(
        "Not run: the setting `sandbox` requires one, and the program 'bwrap' was not found."
    )
    assert not (workspace / "made.txt").exists()
    checks = {check["name"]: check for check in (await editor.command("outrider.doctor"))["checks"]}
    assert checks["sandbox"]["status"] == "fail"


async def test_a_repository_can_only_tighten_it(begin, workspace):
    widened = {"sandbox": {"mode": "off", "network": True, "writable": ["/"]}}
    settings = {"sandbox": {"mode": "required"}, "permissionMode": "full"}
    editor = await begin(
        "stock", [step(call("run_command", command="true")), DONE], settings, configuration=widened
    )
    await editor.run("Go.")
    said = "\n".join(str(message) for message in editor.messages)
    for key in ("sandbox.mode: 'off'", "sandbox.network: True", "sandbox.writable: ['/']"):
        assert f"{key} would allow more" in said


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="there is no /proc here")  # noqa: PTH112
async def test_promise_10_a_command_cannot_read_the_servers_environment(begin, workspace):
    key = "sk-planted-2718281828"
    climb = (
        "pid=$$; while [ $pid -gt 1 ]; do echo PROCESS $pid; cat /proc/$pid/environ | tr '\\0' '\\n'; "
        "line=$(tr '\\0' ' ' < /proc/$pid/cmdline); "
        "case $pid$line in $$*) ;; *outrider*serve*) echo SERVER; break;; esac; "
        "pid=$(sed 's/.*) . //' /proc/$pid/stat | cut -d' ' -f1); done"
    )
    editor = await begin(
        "stock",
        [step(call("run_command", command=climb)), DONE],
        {"permissionMode": "full", "testing": {"clock": None}},
        connection=Stdio(env={"HOME": str(workspace.parent), "SOME_API_KEY": key}, cwd=workspace.parent),
    )
    await editor.run("Show it.")
    content = result(editor)[1]
    assert "SERVER" in content
    assert content.count("PROCESS") == 4
    assert "SOME_API_KEY" in content or "Permission denied" in content
    assert key not in content
    assert key not in str(editor.messages)


TURNS = "#!/bin/bash\necho 'echo changed >> ../outside.txt' > x.sh\necho '../outside.txt: Permission denied'\nexit 1\n"


@needs_bubblewrap
@pytest.mark.parametrize("moment", ["in the sandbox", "while it is asked"])
async def test_what_is_run_outside_is_the_script_as_it_was_shown(moment, begin, workspace):
    """In the sandbox a script can write in the workspace, itself included."""
    script = workspace / "x.sh"
    script.write_text(TURNS if moment == "in the sandbox" else "echo x >> ../outside.txt || exit 1\n")
    script.chmod(0o755)

    def person(question):
        if moment == "while it is asked" and "Run outside once" in question.titles:
            script.write_text("echo changed >> ../outside.txt\n")
        return question.titles[0]

    editor = await begin(
        "stock", [step(call("run_command", command="bash x.sh", called="run")), DONE], AUTO, answers=person
    )
    await editor.run("Go.")
    first, second = (
        asked["data"]["detail"].splitlines()[-1] for asked in editor.events_of("approval.requested")
    )
    now = hashlib.sha256(script.read_bytes()).hexdigest()[:16]
    if moment == "in the sandbox":
        assert first != second == f"It runs x.sh as it is now (SHA-256 {now})."
        assert "is done twice; it changed another file: x.sh.\n" in editor.questions[1].message
        assert outside(workspace).read_text() == "changed\n"  # as the user was shown
    else:
        assert first == second
        assert "was not run outside: what it runs changed" in result(editor)[1]
        assert not outside(workspace).exists()
