"""`outrider run --continue`, `--last` and `--fork`: going on without looking up an id."""

import json

import pytest

from outrider.cli import main as command_line
from outrider_protocol.commands import DoctorResult, SessionsResult

LOOK = {"tool_calls": [{"name": "read_file", "input": {"path": "a.txt"}}]}


@pytest.fixture
def run(tmp_path, monkeypatch, capfd):
    """Runs `outrider run` in a folder; gives its exit code, the events, and what stands on standard error."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    script = tmp_path / "s.json"
    script.write_text(json.dumps({"turns": [{"text": "First."}, {"text": "Second."}]}))

    def go(*options, model=f"scripted:{script}"):
        code = command_line.main(["run", *options, "-C", str(folder), "--model", model, "--json"])
        out, errors = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], errors

    go.folder = folder
    go.turns = lambda turns, **more: script.write_text(json.dumps({"turns": turns, **more}))
    return go


def sessions_of(events):
    return {event["sessionId"] for event in events}


@pytest.mark.thorough
def test_what_lists_and_checks_is_json_too(run, capfd):
    _, events, _ = run("Begin.")
    folder = str(run.folder)
    assert command_line.main(["sessions", "--json", "-C", folder]) == 0
    (listed,) = SessionsResult.from_wire(json.loads(capfd.readouterr().out)).sessions
    assert {listed.session_id} == sessions_of(events)
    assert command_line.main(["doctor", "--json", "-C", folder]) == 1
    checks = {
        one.name: one.status for one in DoctorResult.from_wire(json.loads(capfd.readouterr().out)).checks
    }
    assert checks["model"] == "fail"


@pytest.mark.thorough
def test_what_waits_is_named_with_what_a_terminal_has(run, capfd):
    """There are no code actions in it: the command that goes on is named, and works."""
    run.turns(
        [{"tool_calls": [{"name": "run_command", "input": {"command": "touch made"}}]}, {"text": "Done."}]
    )
    code, first, _ = run("Begin.")
    (waiting,) = sessions_of(first)
    assert code == 3
    command_line.main(["events", waiting, "-C", str(run.folder)])
    errors = capfd.readouterr().err
    assert f"“Begin.” still waits for you. `outrider run --session {waiting}` goes on with it." in errors
    assert "ode action" not in errors
    code, events, _ = run("--session", waiting, "--yes-to", "all")
    assert (code, sessions_of(events)) == (0, {waiting})
    assert (run.folder / "made").exists()


@pytest.mark.parametrize("option", ["--continue", "--last"])
def test_a_task_goes_on_in_the_latest_session(run, option):
    _, first, _ = run("Begin.")
    code, second, _ = run("And then?", option)
    assert (code, sessions_of(second)) == (0, sessions_of(first))
    assert [one["data"]["text"] for one in second if one["type"] == "model.responded"][-1] == "Second."


def test_a_fork_is_another_session_that_knows_the_first(run):
    _, first, _ = run("Begin.")
    code, second, _ = run("Another way.", "--fork")
    (forked,) = [one for one in second if one["type"] == "session.forked"]
    assert (code, sessions_of(first) & {forked["sessionId"]}) == (0, set())


def test_what_stopped_goes_on_without_a_task(run):
    run.turns([LOOK, {"text": "Half of", "fault": {"kind": "cut", "after": 4}}, {"text": "Done."}])
    code, first, _ = run("Begin.")
    assert code == 1
    code, second, _ = run("--continue")
    assert (code, sessions_of(second)) == (0, sessions_of(first))
    (started,) = [one for one in second if one["type"] == "turn.started" and one["data"].get("continues")]
    assert started["data"]["prompt"] == "Begin."


def test_without_a_session_that_is_said_on_standard_error_alone(run):
    code, events, errors = run("--continue")
    assert (code, events) == (2, [])
    assert "this folder has no sessions yet" in errors


@pytest.mark.parametrize(
    "options", [["--fork"], ["x", "--last", "--session", "ses_1"], ["--fork", "--plan", "p.md"]]
)
def test_what_cannot_be_meant_is_a_usage_error(run, options):
    assert run(*options)[0] == 2
