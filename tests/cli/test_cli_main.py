"""The command line before any server is started: arguments, settings, help."""

import json
import os
import shlex
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from everyday import some
from outrider.cli import main as command_line
from outrider.cli.demo import lay_out
from outrider.cli.exits import ExitCode
from outrider.cli.run import Ended, Task
from outrider_protocol.script import Script


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).replace("│", " ").split())


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.json"
    path.write_text('{"turns": []}')
    return path


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["run"], "give a task"),
        (["run", "  "], "the task is empty"),
        (["run", "x", "--workspace", "/no/such/folder"], "is not a folder"),
        (["run", "x", "--model", "nonsense"], "is not provider/name; `outrider models`"),
        (["run", "x", "--model", "scripted:/no/such.json"], "there is no file"),
        (["run", "x", "--mode", "destroy"], "destroy"),
        (["run", "x", "--permission-mode", "everything"], "everything"),
        (["run", "x", "--provider-url", "http://localhost/v1"], "needs --model provider/name"),
        (["run", "x", "--model", "a/b", "--key-env", "KEY"], "needs --provider-url"),
        (["run", "x", "--model", "a/b", "--provider-url", "ftp://x"], "must begin with http:// or https://"),
        (
            ["run", "x", "--model", "a/b", "--provider-url", "http://x", "--key-env", "sk-1"],
            "must be the NAME of an environment variable",
        ),
        (["run", "x", "--provider-kind", "telepathy"], "telepathy"),
        (["run", "x", "--unheard-of"], "--unheard-of"),
        (["events", "ses_1", "--from", "0"], "greater than or equal to 1"),
        (["dance"], "dance"),
    ],
)
def test_a_slip_is_a_usage_error_that_says_what(argv, words, capsys):
    assert command_line.main(argv) == ExitCode.USAGE
    assert words in said(capsys)


@pytest.mark.parametrize(
    "argv",
    some(
        [
            ["run", "x"],
            ["run", "x", "-C", "/"],
            ["run", "x", "--state-dir", "state"],
            ["run", "x", "--model", "scripted:script.json"],
            ["sessions"],
            ["doctor"],
            ["export"],
            ["changes"],
            ["undo"],
            ["trust", "add", "."],
            ["permissions", "list"],
            ["scenario", "check", "a.toml"],
            ["prompt"],
            ["events", "ses_1"],
            ["models"],
            ["trust", "list"],
        ],
        6,
    ),
)
def test_without_a_working_directory_it_says_so_in_one_line_or_does_not_need_one(argv, tmp_path):
    begin = "import os, sys; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone');"
    begin += "from outrider.cli.main import main; sys.exit(main(sys.argv[1:]))"
    env = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": ""}
    done = subprocess.run(
        [sys.executable, "-c", begin, *argv],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode == ExitCode.USAGE and "usage" not in done.stderr.lower():
        assert done.stderr.startswith("error: ") and len(done.stderr.splitlines()) == 1


def test_the_help_names_every_command(capsys):
    assert command_line.main(["--help"]) == 0
    text = said(capsys)
    for command in (
        "serve",
        "acp",
        "chat",
        "setup",
        "run",
        "demo",
        "sessions",
        "events",
        "undo",
        "redo",
        "doctor",
    ):
        assert f" {command} " in text


@pytest.mark.parametrize("argv", [["-h"], ["run", "-h"], ["scenario", "-h"], ["permissions", "add", "-h"]])
def test_the_help_has_a_short_name(argv, capsys):
    assert command_line.main(argv) == 0
    assert " ".join(["Usage: outrider", *argv[:-1]]) in said(capsys)


def test_the_version(capsys):
    assert command_line.main(["--version"]) == 0
    assert said(capsys).startswith("outrider ")


def test_the_arguments_become_settings_of_the_server(monkeypatch, tmp_path, script):
    monkeypatch.chdir(tmp_path)
    tasks: list[Task] = []

    async def record(task: Task, *_: Any) -> Ended:
        tasks.append(task)
        return Ended(ExitCode.NEEDS_INPUT)

    monkeypatch.setattr("outrider.cli.run.run_task", record)
    argv = ["run", "fix it", "--yes-to", "edits", "--yes-to", "Run: make *", "--permission-mode", "auto-edit"]
    argv += ["--model", "scripted:script.json", "--state-dir", "state", "--mode", "plan"]
    assert command_line.main(argv) == ExitCode.NEEDS_INPUT
    argv = ["run", "fix it", "--model", "here/m", "--provider-url", "http://127.0.0.1:1/v1", "--key-env", "K"]
    command_line.main(argv)
    first, second = tasks
    assert first.workspace == tmp_path.resolve()
    assert first.rules.patterns == ("edits", "Run: make *")
    assert (first.prompt, first.mode) == ("fix it", "plan")
    assert first.options == {
        "events": True,
        "model": f"scripted:{script.resolve()}",
        "permissionMode": "auto-edit",
        "stateDir": str(tmp_path.resolve() / "state"),
    }
    assert second.options["providers"] == {
        "here": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "K"}
    }


# --- the sample of the demo ----------------------------------------------------------------------------------


def unittests(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", "-m", "unittest"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_sample_has_one_bug_and_the_script_fixes_it(tmp_path):
    workspace = tmp_path / "a folder" / "parking"
    (tmp_path / "a folder").mkdir()
    script = Script.model_validate_json(lay_out(tmp_path / "a folder", workspace).read_text())
    before = unittests(workspace)
    assert before.returncode == 1
    assert "FAILED (failures=1)" in before.stderr
    calls = [call for turn in script.turns for call in turn.tool_calls]
    (edit,) = [call.input for call in calls if call.name == "edit_file"]
    assert edit
    file = workspace / edit["path"]
    assert file.read_text().count(edit["old"]) == 1
    file.write_text(file.read_text().replace(edit["old"], edit["new"]))
    assert unittests(workspace).returncode == 0


def test_the_script_uses_this_interpreter_and_real_tools(tmp_path):
    text = lay_out(tmp_path, tmp_path / "parking").read_text()
    calls = [call for turn in json.loads(text)["turns"] for call in turn.get("tool_calls", [])]
    commands = [call["input"]["command"] for call in calls if call["name"] == "run_command"]
    assert [shlex.split(command)[0] for command in commands] == [sys.executable] * 2
    assert {call["name"] for call in calls} >= {
        "list_files", "search", "read_file", "update_plan", "run_command", "edit_file",
    }  # fmt: skip
    assert "{python}" not in text + (tmp_path / "parking" / "AGENTS.md").read_text()


def test_the_sample_is_copied_as_it_is_shipped(tmp_path):
    lay_out(tmp_path, tmp_path / "parking")
    shipped = resources.files("outrider.cli") / "sample"
    with resources.as_file(shipped) as sample:
        names = {str(p.relative_to(sample)) for p in sample.rglob("*") if "__pycache__" not in p.parts}
    copied = {str(p.relative_to(tmp_path / "parking")) for p in (tmp_path / "parking").rglob("*")}
    assert copied == names
    assert os.access(tmp_path / "parking" / "AGENTS.md", os.W_OK)


def test_a_script_is_looked_for_in_the_workspace_first(tmp_path, monkeypatch):
    from outrider.cli.options import settings

    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    for folder in (workspace, elsewhere):
        folder.mkdir()
        (folder / "script.json").write_text("{}")
    monkeypatch.chdir(elsewhere)
    chosen = settings("scripted:script.json", None, None, workspace=workspace)["model"]
    assert chosen == f"scripted:{workspace / 'script.json'}"
    (workspace / "script.json").unlink()
    chosen = settings("scripted:script.json", None, None, workspace=workspace)["model"]
    assert chosen == f"scripted:{elsewhere / 'script.json'}"


def test_a_slip_is_one_line_that_begins_like_every_error(capsys):
    assert command_line.main(["run", "x", "--unheard-of"]) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("error: ")
    assert command_line.main([]) == ExitCode.USAGE
    assert "error:" not in capsys.readouterr().err


def test_a_script_that_is_nowhere_is_named_with_both_places(tmp_path, monkeypatch, capsys):
    (tmp_path / "workspace").mkdir()
    monkeypatch.chdir(tmp_path)
    argv = ["run", "x", "-C", "workspace", "--model", "scripted:s.json"]
    assert command_line.main(argv) == ExitCode.USAGE
    text = capsys.readouterr().err.replace("\n", "")
    assert str(tmp_path / "workspace" / "s.json").replace(" ", "") in text.replace(" ", "")
    assert str(tmp_path / "s.json").replace(" ", "") in text.replace(" ", "")
