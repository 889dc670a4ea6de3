"""`outrider trust`, and what trust does to `outrider run`, with the real server and a home of its own."""

import io
import json
import os
import subprocess
import sys

import pytest
from rich.console import Console
from typist import Typist

from outrider.cli.exits import ExitCode
from outrider.cli.main import main
from outrider.cli.render import Renderer
from outrider.cli.run import Task, run_task

FIX = {
    "tool_calls": [{"name": "write_file", "input": {"path": "made.txt", "content": "x\n"}}],
}
DONE = {"text": "Done."}
TOLD = {**DONE, "expect": {"messages_contain": ["Write no comments."]}}
UNTOLD = {**DONE, "expect": {"messages_lack": ["Write no comments."]}}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with instructions for its agents."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "400")
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Write no comments.\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def trust(folder, capsys):
    """Runs `outrider trust` there: gives the exit code, and what it printed."""

    def run(*arguments):
        code = main(["trust", *arguments])
        return code, *capsys.readouterr()

    return run


def model(folder, turns):
    path = folder.parent / "script.json"
    path.write_text(json.dumps({"turns": turns}))
    return f"scripted:{path}"


@pytest.fixture
def alone(folder, tmp_path):
    """Runs `outrider run` with nobody at the keyboard: gives the exit code, and what was shown."""

    def run(turns, *options):
        command = [sys.executable, "-m", "outrider", "run", "Go.", "--json", "--model", model(folder, turns)]
        command += ["--state-dir", str(tmp_path / "state"), *options]
        ran = subprocess.run(
            command, env={**os.environ, "NO_COLOR": "1"}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=50, check=False,
        )  # fmt: skip
        return ran.returncode, " ".join(ran.stderr.split())

    return run


@pytest.mark.thorough
def test_with_nobody_there_instructions_are_left_out_and_it_is_said_how_that_changes(alone, folder):
    code, shown = alone([UNTOLD])
    assert code == 0
    assert f"outrider trust add {folder}" in shown


def test_with_nobody_there_an_effect_still_wants_its_own_yes(alone, folder):
    code, shown = alone([FIX, DONE])
    assert code == ExitCode.NEEDS_INPUT
    assert "trust add" in shown
    assert not (folder / "made.txt").exists()
    assert alone([FIX, DONE], "--yes-to", "edits")[0] == 0
    assert (folder / "made.txt").exists()


@pytest.mark.thorough
def test_one_run_is_vouched_for_and_the_next_is_not(alone, trust):
    assert alone([TOLD], "--trust")[0] == 0
    assert alone([UNTOLD])[0] == 0
    assert json.loads(trust("list", "--json")[1])["folders"] == []


def test_what_was_said_is_listed_holds_and_is_taken_back(alone, trust, folder):
    assert trust("list")[0] == 0
    code, out, _ = trust("add")
    assert (code, "trusted" in out) == (0, True)
    listed = json.loads(trust("list", "--json")[1])
    assert [(one["path"], one["trust"]) for one in listed["folders"]] == [(str(folder), "trusted")]
    assert alone([TOLD])[0] == 0
    assert trust("refuse")[0] == 0
    assert "read-only" in trust("list")[1]
    assert alone([FIX, DONE], "--yes-to", "all", "--trust")[0] == 0
    assert not (folder / "made.txt").exists()
    assert trust("forget")[0] == 0
    code, _, problem = trust("forget", str(folder))
    assert (code, "is not in the list" in problem) == (2, True)


def test_what_was_said_of_commands_alone_is_taken_back_too(trust, folder, tmp_path):
    """As where the editor vouched for the folder: only its servers and hooks were asked about."""
    file = tmp_path / "config" / "outrider" / "trust.toml"
    file.parent.mkdir(parents=True)
    word = {"folder": os.path.realpath(folder), "key": "hooks", "shown": "hook turnEnd: true", "digest": "a"}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in word.items())
    file.write_text(f"[[command]]\n{lines}allowed = false\n")
    code, told, _ = trust("forget")
    assert (code, f"what was said of the commands in {folder}" in told) == (0, True)
    assert "[[command]]" not in file.read_text()
    assert trust("forget")[0] == 2


def test_what_is_no_folder_or_cannot_be_read_is_said(trust, tmp_path):
    assert trust("add", "nowhere")[0] == 2
    (tmp_path / "config" / "outrider").mkdir(parents=True)
    (tmp_path / "config" / "outrider" / "trust.toml").write_text("x =\n")
    code, _, problem = trust("list")
    assert code == 1
    assert "line 1" in problem
    assert trust("add")[0] == 2


@pytest.mark.parametrize(("typed", "kept"), [("1\n", "trusted"), ("2\n", "read-only"), ("\n", None)])
async def test_at_a_terminal_it_is_asked(typed, kept, folder, tmp_path):
    stream = io.StringIO()
    renderer = Renderer(Console(file=stream, width=200, markup=False, emoji=False, highlight=False))
    options = {"model": model(folder, [DONE]), "stateDir": str(tmp_path / "state"), "events": True}
    ended = await run_task(Task(folder, options, "Go."), renderer, Typist(typed))
    assert ended.code == 0
    assert f"Do you trust {folder}?" in stream.getvalue()
    file = tmp_path / "config" / "outrider" / "trust.toml"
    assert (kept is None and not file.exists()) or f'trust = "{kept}"' in file.read_text()
