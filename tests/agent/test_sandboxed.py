"""Commands behind walls, as a person meets them: what an approval says, and what becomes of a command that fails for them."""

import functools
import hashlib
import os
import shutil
import subprocess

import pytest
from scripting import DONE, call, result, results, step, types

from outrider.processes.sandbox import Walls, bubblewrap
from outrider.testing.editor.answers import Never
from outrider.testing.editor.connections import Stdio

AUTO = {"sandbox": "auto", "testing": {"clock": None, "ids": "sequential"}}
WRITE = "echo one >> ../outside.txt; echo two >> inside.txt"
RUN = call("run_command", command=WRITE, called="run")
ONCE = f"Run outside once: {WRITE}"


@functools.cache
def why_not():
    """Why bubblewrap cannot be used here, as it says itself."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    argv = bubblewrap.wrapped(Walls((), network=False, home="/"), "/", ["true"])
    tried = subprocess.run(argv, capture_output=True, text=True, check=False)
    return f"bubblewrap cannot be used here: {tried.stderr.strip()}" if tried.returncode else None


needs_bubblewrap = pytest.mark.skipif(why_not() is not None, reason=why_not() or "")


def outside(workspace):
    return workspace.parent / "outside.txt"


@needs_bubblewrap
async def test_an_approval_says_that_it_is_sandboxed(begin):
    editor = await begin("stock", [step(RUN), DONE], AUTO, answers=["Reject"])
    await editor.run("Go.")
    (asked,) = editor.events_of("approval.requested")
    second = asked["data"]["detail"].splitlines()[1]
    assert second == "Sandboxed: it can write in the workspace only, and runs without network."
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
    assert "Read-only file system" in second["data"]["detail"]
    status, content = results(editor)["run"]
    assert status == "error"
    assert "it was run once more outside the sandbox" in content
    assert outside(workspace).read_text() == "one\n"
    assert (workspace / "inside.txt").read_text() == "two\ntwo\n"


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
    assert "the person chose not to run it outside" in result(editor)[1]
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
async def test_a_failure_of_another_kind_is_no_reason_to_leave(begin):
    run = call("run_command", command="echo 'AssertionError: 3 != 4'; exit 1", called="run")
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
    assert [question.message.splitlines()[0] for question in editor.questions] == ["Run: ./unknown"]


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
    turns = [step(call("run_command", command="true", called="run")), DONE]
    editor = await begin("stock", turns, AUTO, answers=["Allow once"])
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
    settings = {**AUTO, "sandbox": {"mode": "required"}, "permissionMode": "full"}
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
        assert f"{key} would widen" in said


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


TURNS = "#!/bin/bash\necho 'echo changed >> ../outside.txt' > x.sh\necho 'Permission denied'\nexit 1\n"


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
        assert outside(workspace).read_text() == "changed\n"  # as the person was shown
    else:
        assert first == second
        assert "was not run outside: what it runs changed" in result(editor)[1]
        assert not outside(workspace).exists()
