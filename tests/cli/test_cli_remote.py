"""What runs in another process, from the command line: status, steer, cancel, wait, jobs; and whole sessions."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from outrider.cli.main import main
from outrider_protocol.command_line import PRINTED
from outrider_protocol.commands import COMMANDS

SLEEP = {"tool_calls": [{"name": "run_command", "input": {"command": "echo begun; sleep 300"}}]}
JOB = {
    "tool_calls": [{"name": "run_command", "input": {"command": "echo here; sleep 300", "background": True}}]
}
ASK = {"tool_calls": [{"name": "ask_user", "input": {"question": "Which one?"}}]}
EDIT = {"tool_calls": [{"name": "edit_file", "input": {"path": "a.py", "old": "one\n", "new": "two\n"}}]}
DONE = {"text": "Done."}

WIRE = {
    "explore": "run --mode explore",
    "plan": "run --plan",
    "continue": "run --continue",
    "retry": "run --continue",
    "fork": "run --fork",
    "resume": "run --session",
    "answer": "run --answer",
}
"""Commands of the wire that are options of others here."""
NOT_HERE = {
    "open": "it shows a document in an editor",
    "leave": "a command ends by itself",
    "queue": "what waits is changed where it was typed; `steer --withdraw` takes a text back",
    "resend": "an earlier message is changed where the conversation is seen",
    "restore": "an earlier message is chosen where the conversation is seen; `undo --id TURN` brings the files back",
}


@pytest.fixture
def outrider(tmp_path, monkeypatch, capfd):
    """Runs a command line in a folder: gives the exit code and what it printed; `start` begins a task in another process."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.py").write_text("one\n")
    monkeypatch.chdir(folder)
    running: list[subprocess.Popen[str]] = []

    def run(line):
        capfd.readouterr()
        code = main(shlex.split(line))
        return code, *capfd.readouterr()

    def script(*turns):
        path = tmp_path / f"script{len(running)}.json"
        path.write_text(json.dumps({"turns": turns}))
        return f"scripted:{path}"

    def start(*turns, until):
        argv = [
            sys.executable,
            "-m",
            "outrider",
            "run",
            "Go.",
            "--json",
            "--yes-to",
            "all",
            "--model",
            script(*turns),
        ]
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        running.append(process)
        for line in process.stdout:
            event = json.loads(line)
            if event["type"] == until:
                return process, event["sessionId"]
        raise AssertionError(f"no {until}")

    run.start, run.script, run.folder = start, script, folder
    yield run
    for process in running:
        process.kill()
        process.communicate()


def told(ran):
    code, out, err = ran
    assert code == 0, err
    return json.loads(out)


def test_a_task_of_another_process_is_seen_steered_and_cancelled(outrider):
    process, session = outrider.start(SLEEP, DONE, until="tool.started")
    (status,) = told(outrider("status --json"))["sessions"]
    assert (status["sessionId"], status["state"], status["elsewhere"]) == (session, "running", True)
    assert f"{session}  running in another process" in outrider("status")[1]
    pending = told(outrider("steer 'Not so long.' --json"))["pendingId"]
    (status,) = told(outrider(f"status {session} --json"))["sessions"]
    assert [one["text"] for one in status["steering"]] == ["Not so long."]
    assert f"not yet read, {pending}: Not so long." in outrider("status")[1]
    assert told(outrider(f"steer --withdraw {pending} --json"))["pendingId"] == pending
    assert outrider("wait --seconds 0")[:2] == (0, f"{status['turnId']}: it still runs\n")
    code, _, err = outrider(f"delete {session} --yes")
    assert (code, "runs" in err) == (1, True)
    cancelled = told(outrider("cancel --json"))
    assert cancelled == {"turnId": status["turnId"], "outcome": "cancelled"}
    assert process.wait(30) == 130
    code, out, _ = outrider("status")
    assert (code, out) == (0, "")
    assert outrider(f"delete {session} --yes")[:2] == (0, f"deleted: {session}\n")
    assert told(outrider("sessions --json"))["sessions"] == []


@pytest.mark.thorough
def test_a_text_for_the_model_is_read_from_standard_input(outrider, tmp_path, monkeypatch):
    outrider.start(SLEEP, DONE, until="tool.started")
    (tmp_path / "text").write_text("From a file.")
    with (tmp_path / "text").open() as text, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", text)
        assert outrider("steer -")[0] == 0
    (status,) = told(outrider("status --json"))["sessions"]
    assert [one["text"] for one in status["steering"]] == ["From a file."]


@pytest.mark.thorough
def test_a_job_of_another_process_is_listed_read_and_ended(outrider):
    outrider.start(JOB, SLEEP, DONE, until="job.started")
    (job,) = told(outrider("jobs --json"))["jobs"]
    assert (job["command"], job["status"]) == ("echo here; sleep 300", "running")
    assert job["jobId"] in outrider("jobs")[1]
    assert "echo here" in outrider(f"jobs read {job['jobId']}")[1]
    assert told(outrider(f"jobs kill {job['jobId']} --json"))["jobs"][0]["status"] != "running"
    code, _, err = outrider("jobs kill nosuch")
    assert (code, "there is no job 'nosuch'" in err) == (2, True)


@pytest.mark.thorough
def test_it_is_said_that_nothing_runs_and_which_of_several_may_be_meant(outrider):
    for line in ("steer x", "cancel", "wait"):
        assert outrider(line)[::2] == (1, "error: this folder has no sessions yet\n")
    outrider(f"run 'Go.' --model {outrider.script(DONE)}")
    for line in ("steer x", "cancel", "wait"):
        code, _, err = outrider(line)
        assert (code, "no task runs in this folder" in err) == (1, True)
    sessions = {outrider.start(SLEEP, DONE, until="tool.started")[1] for _ in range(2)}
    code, _, err = outrider("cancel")
    assert (code, "which of these sessions is meant?" in err) == (2, True)
    assert all(one in err for one in sessions)


@pytest.mark.thorough
def test_a_task_that_waits_is_cancelled_and_waited_for(outrider):
    assert outrider(f"run 'Go.' --model {outrider.script(ASK, DONE)}")[0] == 3
    shown = outrider("status")[1]
    assert "waits for you (tools): Go.\n" in shown and "asks: " in shown
    assert outrider("wait")[0] == 3
    assert told(outrider("cancel --json"))["outcome"] == "cancelled"
    assert told(outrider("status --json"))["sessions"] == []


def test_a_question_is_answered_ahead(outrider):
    which = {"question": "Which one?", "options": ["Red", "Blue"], "allow_free_form": False}
    asks = {"tool_calls": [{"name": "ask_user", "input": which}]}
    where = {"tool_calls": [{"name": "ask_user", "input": {"question": "And where?"}}]}
    told = {**DONE, "expect": {"messages_contain": "Blue"}}
    model = outrider.script(asks, where, told)
    code, out, _ = outrider(f"run 'Go.' --answer Green --model {model}")
    assert code == 3
    assert "  1  Red\n  2  Blue\n" in out, "whoever is not at a terminal sees what can be answered"
    session = out.split("--session ")[1].split()[0]
    assert f"outrider run --session {session} --answer TEXT" in out
    code, out, _ = outrider(f"run --session {session} --answer 2 --answer 'The left one' --model {model}")
    assert (code, "> Blue (--answer)" in out, "> The left one (--answer)" in out) == (0, True, True)


@pytest.mark.thorough
def test_a_session_is_named_exported_deleted_and_taken_in_again(outrider, tmp_path):
    outrider(f"run 'Go.' --model {outrider.script(DONE)}")
    (session,) = told(outrider("sessions --json"))["sessions"]
    name = session["sessionId"]
    assert told(outrider(f"rename {name} 'The first' --json"))["title"] == "The first"
    (found,) = told(outrider("sessions --search 'FIRST the' --json"))["sessions"]
    assert (found["sessionId"], found["match"]["text"]) == (name, "The first")
    assert outrider("sessions --search Done")[1].splitlines()[-1].strip() == "Done."
    assert outrider("sessions --search nowhere")[1:] == (
        "",
        "no session of this folder has all these words in one text\n",
    )
    assert outrider(f"export -o {tmp_path}/s.json")[0] == 0
    code, _, err = outrider(f"delete {name}")
    assert (code, "needs a terminal to ask in, or --yes" in err) == (2, True)
    assert told(outrider(f"delete {name} --yes --json"))["sessionId"] == name
    assert told(outrider(f"import {tmp_path}/s.json --json"))["title"] == "The first"


def test_an_undo_is_foreseen_and_changes_nothing(outrider):
    file = outrider.folder / "a.py"
    assert outrider(f"run 'Go.' --yes-to all --model {outrider.script(EDIT, DONE)}")[0] == 0
    (session,) = told(outrider("sessions --json"))["sessions"]
    foreseen = told(outrider("undo --dry-run --json"))
    assert (foreseen["undone"], foreseen["changeId"]) == ([{"path": "a.py", "hunks": 1}], "")
    code, out, _ = outrider("undo --dry-run")
    assert code == 0
    assert out.splitlines() == ["nothing is changed; this is what would be:", "undone: a.py (1 hunk)"]
    assert file.read_text() == "two\n"
    file.write_text("three\n")
    code, out, _ = outrider("undo --dry-run --json")
    assert code == 1
    (conflict,) = json.loads(out)["conflicts"]
    assert (conflict["path"], conflict["line"]) == ("a.py", 1)
    assert file.read_text() == "three\n"
    file.write_text("two\n")
    kinds = [json.loads(line)["type"] for line in outrider("events --json")[1].splitlines()]
    assert not {"undo.requested", "undo.finished"} & set(kinds)
    assert outrider("undo")[0] == 0
    assert told(outrider(f"redo {session['sessionId']} --dry-run --json"))["undone"] == [
        {"path": "a.py", "hunks": 1}
    ]
    assert file.read_text() == "one\n"


def test_an_undo_of_the_turn_before_is_foreseen_and_changes_nothing(outrider):
    model = outrider.script(EDIT, DONE, DONE)
    assert outrider(f"run 'Go.' --yes-to all --model {model}")[0] == 1, "an answer is left"
    assert outrider(f"run 'Look.' --last --model {model}")[0] == 0
    code, out, err = outrider("undo --dry-run")
    assert (code, out.splitlines()[1:]) == (0, ["undone: a.py (1 hunk)"])
    assert "this turn would be undone instead: Go." in err
    assert told(outrider("undo --dry-run --json"))["undone"] == [{"path": "a.py", "hunks": 1}]
    assert (outrider.folder / "a.py").read_text() == "two\n"


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        ("events ses_0", "error: there is no session 'ses_0'; `outrider sessions` lists"),
        ("rename ses_0 Name", "error: there is no session 'ses_0'; `outrider sessions` lists"),
        ("run Go. --model no/model", "error: the model 'no/model' names an unknown provider"),
    ],
)
def test_a_refusal_is_said_once(line, begins, outrider):
    code, out, err = outrider(line)
    assert (code, out) == (2, "")
    (said,) = err.splitlines()
    assert said.startswith(begins)


def test_what_the_wire_can_do_the_command_line_can():
    names = {name.removeprefix("outrider.") for name in COMMANDS}
    here = {name.partition(" ")[0] for name in PRINTED} | {"export"}
    assert names - here == WIRE.keys() | NOT_HERE.keys()
    for line in WIRE.values():
        command, option = line.split(" ")[:2]
        assert option in _options(command), line


def _options(command):
    ran = subprocess.run(
        [sys.executable, "-m", "outrider", command, "--help"],
        env=os.environ | {"COLUMNS": "200"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ran.stdout
