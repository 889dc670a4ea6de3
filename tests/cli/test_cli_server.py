"""The commands as a user runs them: own processes, the real server, real files."""

import asyncio
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typist import Typist

from outrider.cli import look
from outrider.cli.main import main
from outrider.cli.sessions import sessions

FIX = {
    "text": "I'll fix it.",
    "tool_calls": [{"name": "edit_file", "input": {"path": "a.py", "old": "one\n", "new": "two\n"}}],
}
DONE = {"text": "It is fixed."}


@pytest.fixture
def in_a_process(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `outrider` in a workspace with `a.py` and a script, an empty home, and nobody at the keyboard."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (tmp_path / "home").mkdir()
    (workspace / "a.py").write_text("one\n")

    def call(*argv: str, script: list[Any] | None = None) -> subprocess.CompletedProcess[str]:
        command = prepared(tmp_path, argv, script)
        return subprocess.run(
            command, cwd=workspace, env=environment(tmp_path), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=50, check=False,
        )  # fmt: skip

    return call


@pytest.fixture
def outrider(in_a_process, tmp_path, capfd) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The same with the command in this process, which saves the start of one of two; the server has its own."""

    def call(*argv: str, script: list[Any] | None = None) -> subprocess.CompletedProcess[str]:
        command = prepared(tmp_path, argv, script)
        capfd.readouterr()
        with pytest.MonkeyPatch.context() as patch, Path(os.devnull).open() as nobody:
            for name, value in environment(tmp_path).items():
                patch.setenv(name, value)
            patch.chdir(tmp_path / "workspace")
            patch.setattr(sys, "stdin", nobody)
            code = main(command[3:])
        out, err = capfd.readouterr()
        return subprocess.CompletedProcess(command, code, out, err)

    return call


def prepared(base: Path, argv: tuple[str, ...], script: list[Any] | None) -> list[str]:
    command = [sys.executable, "-m", "outrider", *argv, "--state-dir", str(base / "state")]
    if script is not None:
        path = base / "script.json"
        path.write_text(json.dumps({"turns": script}))
        command += ["--model", f"scripted:{path}"]
    return command


def environment(base: Path) -> dict[str, str]:
    home = {"HOME": str(base / "home"), "XDG_CONFIG_HOME": str(base / "config"), "COLUMNS": "80"}
    return os.environ | home | {"NO_COLOR": "1"}


def session_of(tmp_path: Path, ran: subprocess.CompletedProcess[str]) -> str:
    return json.loads(ran.stdout.splitlines()[0])["sessionId"]


def test_a_task_is_done_shown_and_can_be_taken_back(in_a_process, tmp_path):
    outrider = in_a_process
    file = tmp_path / "workspace" / "a.py"
    ran = outrider("run", "fix it", "--yes-to", "edits", script=[FIX, DONE])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert file.read_text() == "two\n"
    for shown in ("? Edit a.py (+1 −1)", "  -one", "  +two", "--yes-to edits", "It is fixed.", "completed"):
        assert shown in ran.stdout
    listed = outrider("sessions")
    assert "fix it" in listed.stdout
    assert "completed" in listed.stdout
    undone = outrider("undo")
    assert undone.returncode == 0, undone.stdout + undone.stderr
    assert file.read_text() == "one\n"
    again = outrider("undo")
    assert "(1 hunk)" in undone.stdout
    assert again.returncode == 1
    assert file.read_text() == "one\n"


async def test_sessions_are_listed_without_a_server_where_all_have_finished(
    in_a_process, tmp_path, monkeypatch
):
    outrider = in_a_process
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    options = {"stateDir": str(tmp_path / "state")}
    started: list[Path] = []
    server_of = look.server_of

    def counted(workspace, *more, **named):
        started.append(workspace)
        return server_of(workspace, *more, **named)

    monkeypatch.setattr(look, "server_of", counted)

    async def listed(workspace: Path) -> str:
        console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
        assert await sessions(workspace, options, console) == 0
        return console.file.getvalue()

    assert await listed(tmp_path / "workspace") == ""
    assert outrider("run", "first", script=[DONE]).returncode == 0
    assert outrider("run", "second", script=[]).returncode == 1
    alone = await listed(tmp_path / "workspace")
    assert [line.split()[-1] for line in alone.splitlines()] == ["title", "second", "first"]
    assert await listed(tmp_path / "home") == ""
    assert not started
    # What only a server can tell: what is said of a damaged file of settings, and whether a session waits.
    (tmp_path / "config" / "outrider").mkdir(parents=True)
    (tmp_path / "config" / "outrider" / "settings.toml").write_text("modle = \n")
    assert await listed(tmp_path / "workspace") == alone
    assert len(started) == 1
    (tmp_path / "config" / "outrider" / "settings.toml").unlink()
    assert outrider("run", "third", script=[FIX]).returncode == 3
    assert "waits for you" in await listed(tmp_path / "workspace")
    assert len(started) == 2


@pytest.mark.thorough
def test_one_hunk_is_taken_back_by_its_id_and_brought_back(outrider, tmp_path):
    file = tmp_path / "workspace" / "a.py"
    file.write_text("one\ntwo\nthree\n")
    edits = [{"old": "one\n", "new": "1\n"}, {"old": "three\n", "new": "3\n"}]
    both = {"tool_calls": [{"name": "edit_file", "input": {"path": "a.py", "edits": edits}}]}
    assert outrider("run", "count", "--yes-to", "edits", script=[both, DONE]).returncode == 0
    listed = outrider("changes").stdout.split()
    hunk = next(word for word in listed if word.endswith("#2"))
    undone = outrider("undo", "--id", hunk)
    assert "undone: a.py (1 hunk)" in undone.stdout, undone.stdout + undone.stderr
    assert file.read_text() == "1\ntwo\nthree\n"
    redone = outrider("redo", "--scope", "hunk", "--id", hunk)
    assert "redone: a.py (1 hunk)" in redone.stdout, redone.stdout + redone.stderr
    assert file.read_text() == "1\ntwo\n3\n"
    assert outrider("undo", "--scope", "half").returncode == 2


def test_an_approval_of_a_folder_names_every_file_wherever_it_is_shown(outrider, tmp_path):
    folder = tmp_path / "workspace" / "old"
    folder.mkdir()
    for name in ("first", "second"):
        (folder / name).write_text(f"text of {name}\n")
    gone = {"tool_calls": [{"name": "delete_file", "input": {"path": "old"}}]}
    ran = outrider("run", "tidy up", script=[gone, DONE])
    assert ran.returncode == 3, ran.stdout + ran.stderr
    shown = [ran, outrider("events")]
    session = json.loads(outrider("events", "--json").stdout.splitlines()[0])["sessionId"]
    shown.append(outrider("run", "--session", session, script=[gone, DONE]))
    for one in shown:
        for name in ("first", "second"):
            assert f"  Delete old/{name} (−1)\n" in one.stdout
            assert f"  old/{name}  (+0 −1)\n  @@ -1 +0,0 @@\n  -text of {name}\n" in one.stdout


@pytest.mark.thorough
def test_a_path_with_hidden_characters_is_answered_by_a_rule_and_breaks_no_table(outrider, tmp_path):
    path = "esc\x1b[31m\n\t.txt"
    write = {"tool_calls": [{"name": "write_file", "input": {"path": path, "content": "x\n"}}]}
    ran = outrider("run", "write", "--yes-to", "all", script=[write, DONE])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert (tmp_path / "workspace" / path).read_text() == "x\n"
    shown = "esc\\x1b[31m\\n\\t.txt"
    assert f"create  {shown}" in outrider("changes").stdout
    assert outrider("undo").stdout == f"undone: {shown} (1 hunk)\n"


@pytest.mark.thorough
def test_what_a_redo_did_to_a_file_is_said(outrider, tmp_path):
    calls = [
        {"name": "delete_file", "input": {"path": "del.txt"}},
        {"name": "rename_file", "input": {"from": "a.py", "to": "b.py"}},
        {"name": "write_file", "input": {"path": "new.txt", "content": "new\n"}},
    ]
    (tmp_path / "workspace" / "del.txt").write_text("x\n")
    ran = outrider("run", "go", "--yes-to", "edits", script=[{"tool_calls": calls}, DONE])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    undone = outrider("undo")
    assert set(undone.stdout.splitlines()) == {
        "undone: del.txt (1 hunk)",
        "undone: b.py → a.py (1 hunk)",
        "undone: new.txt (1 hunk)",
    }, undone.stderr
    redone = outrider("redo")
    assert set(redone.stdout.splitlines()) == {
        "deleted again: del.txt",
        "redone: a.py → b.py (1 hunk)",
        "redone: new.txt (1 hunk)",
    }, redone.stderr


@pytest.mark.thorough
def test_what_is_undone_already_is_not_undone_again_with_an_id_or_without(outrider):
    assert outrider("run", "fix it", "--yes-to", "edits", script=[FIX, DONE]).returncode == 0
    change = next(word for word in outrider("changes").stdout.split() if word.endswith("#1"))
    assert outrider("undo").returncode == 0
    for named in ((), ("--id", change)):
        again = outrider("undo", *named)
        assert (again.returncode, "to undo" in again.stderr) == (1, True), again.stderr


@pytest.mark.thorough
def test_an_undo_of_another_turn_than_the_latest_names_it(outrider, tmp_path):
    ran = outrider("run", "fix it", "--yes-to", "edits", "--json", script=[FIX, DONE, DONE])
    session = session_of(tmp_path, ran)
    assert outrider("run", "look at it", "--session", session, script=[FIX, DONE, DONE]).returncode == 0
    undone = outrider("undo")
    assert undone.returncode == 0, undone.stderr
    assert "the latest turn has nothing to undo; this turn is undone instead: fix it" in undone.stderr
    assert (tmp_path / "workspace" / "a.py").read_text() == "one\n"


@pytest.mark.parametrize(("typed", "code", "left"), [("y\n", 0, "one\n"), ("\n", 1, "two\n")])
@pytest.mark.thorough
def test_who_sits_there_is_asked_before_another_turn_than_the_latest_is_undone(
    outrider, tmp_path, typed, code, left
):
    ran = outrider("run", "fix it", "--yes-to", "edits", "--json", script=[FIX, DONE, DONE])
    session = session_of(tmp_path, ran)
    assert outrider("run", "look at it", "--session", session, script=[FIX, DONE, DONE]).returncode == 0
    stream = io.StringIO()
    options = {"stateDir": str(tmp_path / "state"), "events": True}
    console = Console(file=stream, width=200)
    done = look.undo(tmp_path / "workspace", options, {}, console, Typist(typed), redo=False)
    assert asyncio.run(done) == code
    assert "Undo this one instead? fix it" in stream.getvalue()
    assert (tmp_path / "workspace" / "a.py").read_text() == left


@pytest.mark.thorough
def test_an_undo_says_what_is_missing(outrider):
    asked = " ".join(outrider("undo", "--help").stdout.replace("│", " ").split())
    assert "the latest session with something to undo" in asked
    nothing = outrider("redo")
    assert (nothing.returncode, "anything to redo" in nothing.stderr) == (1, True), nothing.stderr
    assert outrider("run", "fix it", "--yes-to", "edits", script=[FIX, DONE]).returncode == 0
    for command in ("undo", "redo"):
        unknown = outrider(command, "--id", "chg_9")
        assert unknown.returncode == 2
        assert "there is no hunk, change, call or turn 'chg_9'" in unknown.stderr


@pytest.mark.thorough
def test_an_undo_of_a_part_is_a_failure_and_changes_show_whole_ids(outrider, tmp_path):
    path = f"{'a-long-name-' * 8}.txt"
    make = {"name": "write_file", "input": {"path": path, "content": "x\n"}}
    both = {"tool_calls": [*FIX["tool_calls"], make]}
    assert outrider("run", "fix it", "--yes-to", "edits", script=[both, DONE]).returncode == 0
    events = [json.loads(line) for line in outrider("events", "--json").stdout.splitlines()]
    applied = [event for event in events if event["type"] == "edit.applied"]
    listed = outrider("changes").stdout.split()
    for event in applied:
        assert {event["turnId"], event["data"]["callId"], event["data"]["changeId"], path} <= set(listed)
        assert f"{event['data']['changeId']}#1" in listed
    (tmp_path / "workspace" / path).unlink()
    undone = outrider("undo")
    assert undone.returncode == 1
    assert "undone: a.py" in undone.stdout
    assert "no longer exists" in undone.stdout


@pytest.mark.thorough
def test_what_an_undo_leaves_is_said_once(outrider, tmp_path):
    assert outrider("run", "fix it", "--yes-to", "edits", script=[FIX, DONE]).returncode == 0
    (tmp_path / "workspace" / "a.py").write_text("three\n")
    undone = outrider("undo")
    assert (undone.returncode, undone.stdout) == (
        1,
        "left unchanged: a.py:1: the same place was changed since\n",
    )


@pytest.mark.thorough
def test_an_undo_that_takes_nothing_back_is_a_failure_and_shows_no_file(outrider, tmp_path):
    rename = {"tool_calls": [{"name": "rename_file", "input": {"from": "a.py", "to": "b.py"}}]}
    assert outrider("run", "rename", "--yes-to", "edits", script=[rename, DONE]).returncode == 0
    (tmp_path / "workspace" / "a.py").write_text("another one\n")
    undone = outrider("undo")
    assert undone.returncode == 1, undone.stdout
    assert undone.stdout == "left unchanged: b.py:1: a.py exists again\n"


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.thorough
def test_a_session_without_changes_has_none(named, outrider, tmp_path):
    ran = outrider("run", "look", "--json", script=[DONE])
    session = session_of(tmp_path, ran)
    for patch in ((), ("--patch",)):
        listed = outrider("changes", *([session] if named else []), *patch)
        assert (listed.returncode, listed.stdout) == (0, ""), listed.stderr
        assert listed.stderr == f"session {session} has no changes\n"


def test_changes_without_any_session_are_an_error(outrider):
    listed = outrider("changes")
    assert (listed.returncode, listed.stdout) == (2, "")
    assert "no sessions" in listed.stderr


def test_events_are_pure_json_lines_on_stdout(outrider):
    ran = outrider("run", "fix it", "--json", "--yes-to", "all", script=[FIX, DONE])
    assert ran.returncode == 0
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert {event["v"] for event in events} == {1}
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "It is fixed." in ran.stderr
    shown = outrider("events", events[0]["sessionId"], "--json")
    assert outrider("events", "--json").stdout == ran.stdout, "without an id it is the latest session"
    assert shown.stdout == ran.stdout
    assert "It is fixed." in outrider("events", events[0]["sessionId"], "--from", "5").stdout


def test_without_an_answer_it_parks_and_goes_on_later(outrider, tmp_path):
    file = tmp_path / "workspace" / "a.py"
    ran = outrider("run", "fix it", "--json", script=[FIX, DONE])
    assert ran.returncode == 3, ran.stderr
    assert file.read_text() == "one\n"
    session = session_of(tmp_path, ran)
    assert f"outrider run --session {session}" in " ".join(ran.stderr.split())
    still = outrider("run", "--session", session, script=[FIX, DONE])
    assert still.returncode == 3, still.stdout + still.stderr
    assert "Edit a.py (+1 −1)" in still.stdout
    done = outrider("run", "--session", session, "--yes-to", "edits", script=[FIX, DONE])
    assert done.returncode == 0, done.stdout + done.stderr
    assert file.read_text() == "two\n"


def test_answers_of_the_script_that_are_left_over_are_a_failure(outrider):
    ran = outrider("run", "x", script=[DONE, DONE])
    assert ran.returncode == 1
    assert "1 answer of the script was" in ran.stderr


def test_a_script_that_runs_out_is_a_failure(outrider):
    ran = outrider("run", "x", "--yes-to", "all", script=[FIX])
    assert ran.returncode == 1
    assert "script_exhausted" in ran.stdout


def test_the_task_is_read_from_standard_input(tmp_path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    call = ("run", "-", "--json", "-C", str(workspace))
    task = "Fix it.\nThe second line: ü.\n"
    ran = subprocess.run(
        prepared(tmp_path, call, [DONE]), env=environment(tmp_path), input=task.encode(),
        capture_output=True, timeout=50, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    started = next(
        event for line in ran.stdout.splitlines() if (event := json.loads(line))["type"] == "turn.started"
    )
    assert started["data"]["prompt"] == task


@pytest.mark.parametrize(("given", "why"), [(b"\xff\xfe", "not UTF-8 text"), (b" \n", "the task is empty")])
def test_what_is_no_task_on_standard_input(tmp_path, given, why):
    ran = subprocess.run(
        prepared(tmp_path, ("run", "-"), [DONE]), env=environment(tmp_path), input=given, cwd=tmp_path,
        capture_output=True, timeout=50, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert why in ran.stderr.decode()


def test_no_model_is_a_settings_error(outrider):
    ran = outrider("run", "x")
    assert ran.returncode == 2
    text = ran.stderr.replace("\n", "")
    assert "--model" in text
    assert "outrider setup" in text
    assert "settings.toml, which is not there" in text


def test_a_damaged_script_is_a_settings_error(outrider, tmp_path):
    (tmp_path / "broken.json").write_text('{"turns": [{"txt": 1}]}')
    ran = outrider("run", "x", "--model", f"scripted:{tmp_path / 'broken.json'}")
    assert ran.returncode == 2
    assert "txt" in ran.stderr


def test_plan_mode_and_read_only_change_nothing(outrider, tmp_path):
    for argument in (("--mode", "plan"), ("--permission-mode", "read-only")):
        ran = outrider("run", "x", "--yes-to", "all", *argument, script=[FIX, DONE])
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert (tmp_path / "workspace" / "a.py").read_text() == "one\n"


@pytest.mark.parametrize("argv", [("run", "x", "--session", "ses_none"), ("events", "ses_none")])
def test_a_session_that_is_not_there_is_an_error(outrider, argv):
    script = [DONE] if argv[0] == "run" else None
    ran = outrider(*argv, script=script)
    assert ran.returncode == 2
    assert "ses_none" in ran.stderr


def test_the_doctor_looks_at_the_set_up(outrider):
    ran = outrider("doctor", script=[DONE])
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "workspace" in ran.stdout
    assert "editor" not in ran.stdout, "it would be about this program itself"


def test_an_interrupt_cancels_the_command_that_runs(outrider, tmp_path):
    command = {"name": "run_command", "input": {"command": "echo begun; sleep 300"}}
    argv = prepared(tmp_path, ("run", "x", "--json", "--yes-to", "all"), [{"tool_calls": [command]}, DONE])
    with subprocess.Popen(
        argv, cwd=tmp_path / "workspace", env=environment(tmp_path), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        types = []
        for line in process.stdout:
            types.append(json.loads(line)["type"])
            if types[-1] == "tool.started":
                process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert types.count("turn.finished") == 1
    assert types.count("tool.finished") == 1


def test_a_reader_that_goes_away_is_no_traceback(outrider, tmp_path):
    argv = prepared(tmp_path, ("run", "x", "--yes-to", "all"), [FIX, DONE])
    with subprocess.Popen(
        argv, cwd=tmp_path / "workspace", env=environment(tmp_path), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(30) == 141


def test_the_demo_finds_fixes_and_verifies_the_bug(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-m", "outrider", "demo"], cwd=tmp_path, env=environment(tmp_path),
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=50, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stderr == ""
    shown = ran.stdout
    order = [
        "FAILED (failures=1)",
        "-    return minutes // 60 + 1",
        "> Allow once",
        "OK",
        "completed",
        "they pass",
    ]
    places = [shown.index(words, shown.index("Plan")) for words in order]
    assert places[0] < places[1] < places[3] < places[4] < places[5]
    assert shown.count("-    return minutes // 60 + 1") == 1
    assert not any(line.endswith("…") for line in shown.splitlines()), "what goes into a pipe is not cut"
    assert list(tmp_path.glob("outrider-demo-*")) == []
    assert "The sample project was removed" in shown
    assert "--session" not in shown


def test_without_a_sandbox_mode_full_needs_a_rule_of_its_own(outrider, tmp_path, monkeypatch):
    """As in a container without bubblewrap."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "sh", "touch"):
        (programs / name).symlink_to(shutil.which(name) or "/bin/false")
    monkeypatch.setenv("PATH", str(programs))
    settings = tmp_path / "config" / "outrider" / "settings.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[testing]\nsandboxes = ["bubblewrap"]\n')
    touch = {"tool_calls": [{"name": "run_command", "input": {"command": "touch ../made"}}]}
    full = ("run", "go", "--permission-mode", "full", "--trust", "--yes-to")
    parked = outrider(*full, "all", script=[touch, DONE])
    assert parked.returncode == 3, parked.stdout + parked.stderr
    assert not (tmp_path / "made").exists()
    shown = " ".join((parked.stdout + parked.stderr).split())
    assert (
        "Outrider runs the commands of this session without a sandbox. Not sandboxed: the program 'bwrap'"
        in shown
    )
    assert "Run `touch ../made` in the workspace, without a sandbox." in shown
    assert "--yes-to outside" in shown
    done = outrider(*full, "outside", script=[touch, DONE])
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "made").exists()
