"""What goes to which stream: standard output is for what a command gives, and its reader may go away."""

import io
import json
import os
import re
import shlex
import shutil

import pytest
import typer

from everyday import some
from outrider.cli.main import app, main
from outrider.permissions.policy.rules import Rule
from outrider_protocol.command_line import PRINTED
from outrider_protocol.export import Export
from outrider_protocol.scenario import Scenario

WAITING = {"turns": [{"tool_calls": [{"name": "ask_user", "input": {"question": "Which one?"}}]}]}
DONE = {"turns": [{"text": "Done."}]}
SCENARIO = {"name": "holds", "model": DONE, "steps": [{"run": "x"}]}


def commands(group=None, path=()):
    """All commands that there are, each with what it is called."""
    for name, command in (group or typer.main.get_command(app)).commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


COMMANDS = dict(commands())

# A line of each command that fails for a reason of its own: not for an option that it does not have.
FAILING = {
    "serve": None,  # it speaks LSP on standard output, see tests/lsp; here it is only taken up by odd orders
    "acp": None,  # the same with ACP, see tests/acp
    "run": "run x",
    "chat": "chat -C {base}/none",
    "setup": "setup --provider nosuch --model x --yes",
    "completion": "completion nosuch",
    "demo": "demo --model my/model",
    "sessions": "sessions --state-dir {base}/file",
    "models": "models",
    "events": "events nosuch",
    "export": "export nosuch",
    "report": "report nosuch",
    "undo": "undo --id nope",
    "redo": "redo --id nope",
    "changes": "changes nosuch",
    "replay": "replay ses_nosuch",
    "prompt": "prompt nosuch",
    "map": "map --tokens 0",
    "status": "status nosuch",
    "steer": "steer x --session nosuch",
    "cancel": "cancel --session nosuch",
    "wait": "wait --session nosuch",
    "jobs": "jobs read nosuch",
    "tools": "tools --mode nosuch",
    "commands": "commands --state-dir {base}/file",
    "servers": "servers restart nosuch",
    "rename": "rename nosuch x",
    "delete": "delete nosuch --yes",
    "import": "import {base}/none",
    "doctor": "doctor --state-dir {base}/file",
    "scenario run": "scenario run {base}/scenario.json --profile nosuch",
    "scenario from": "scenario from {base}/none",
    "permissions check": "permissions check ls --rules {base}/none",
    "permissions list": "permissions list -C {base}/none",
    "permissions add": "permissions add allow bash",
    "permissions remove": "permissions remove nope",
    "trust list": "trust list --nonsense",  # with nothing to go wrong but the file of the user
    "trust add": "trust add {base}/none",
    "trust refuse": "trust refuse {base}/none",
    "trust forget": "trust forget {base}/none",
}

# Lines that give something, in a folder with sessions, one of which waits: all that have --json, and each way in
# which something is written, by rich or not, from a callback or not, with a server or without. What they change is made anew, or
# does no harm; None: it changes a session for good, see test_cli_remote.
GIVING = {
    "run": "run x --model scripted:{base}/done.json",
    "demo": "demo --yes",
    "setup": "setup --list",
    "sessions": "sessions",
    "events": "events",
    "doctor": "doctor",
    "export": "export",
    "replay": "replay",
    "prompt": "prompt",
    "report": "report",
    "changes": "changes",
    "undo": "undo --dry-run {changed}",
    "redo": "redo --dry-run {undone}",
    "models": "models --model here/m --provider-url http://127.0.0.1:9/v1",
    "map": "map",
    "status": "status",
    "steer": None,
    "cancel": None,
    "wait": "wait",
    "jobs": "jobs",
    "tools": "tools",
    "commands": "commands",
    "servers": "servers",
    "rename": "rename {changed} again",
    "delete": None,
    "import": "import {base}/exported.json",
    "scenario run": "scenario run {base}/scenario.json",
    "scenario from": "scenario from {base}/exported.json",
    "permissions check": "permissions check ls",
    "permissions list": "permissions list",
    "permissions add": "permissions add deny curl",
    "permissions remove": "permissions remove {rule}",
    "trust list": "trust list",
    "trust add": "trust add",
    "trust refuse": "trust refuse",
    "trust forget": "trust forget {base}/trusted",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder of an own user with two sessions: one changed a file, the later one waits for an answer."""
    base = tmp_path_factory.mktemp("streams")
    workspace = base / "work"
    workspace.mkdir()
    (workspace / "a.py").write_text("def one():\n    pass\n")
    change = {"name": "write_file", "input": {"path": "b.py", "content": "b = 1\n"}}
    other = {"name": "write_file", "input": {"path": "c.py", "content": "c = 1\n"}}
    scripts = {
        "changing_c": {"turns": [{"tool_calls": [other]}, {"text": "Done."}]},
        "done": DONE, "waiting": WAITING, "changing": {"turns": [{"tool_calls": [change]}, {"text": "Done."}]},
        "scenario": SCENARIO,
    }  # fmt: skip
    for name, script in scripts.items():
        (base / f"{name}.json").write_text(json.dumps(script))
    (base / "file").touch()
    (base / "trusted").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        surround(patch, base)
        run = ("run", "do it", "--model")
        assert main([*run, f"scripted:{base}/changing.json", "--yes-to", "all"]) == 0
        assert main(["export", "-o", str(base / "exported.json")]) == 0
        assert main([*run, f"scripted:{base}/changing_c.json", "--yes-to", "all"]) == 0
        assert main(["undo"]) == 0
        assert main(["export", "-o", str(base / "other.json")]) == 0
        assert main([*run, f"scripted:{base}/waiting.json"]) == 3
        assert main(["trust", "add", str(base / "trusted")]) == 0
        assert main(["permissions", "add", "allow", "git log"]) == 0
    shutil.copytree(base / "config", base / "config.kept")
    return base


def surround(patch, base):
    for name, folder in (("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state")):
        patch.setenv(name, str(base / folder))
    patch.chdir(base / "work")


@pytest.fixture
def outrider(home, monkeypatch, capfd):
    """Runs a command line there: gives the exit code, and what it printed."""
    surround(monkeypatch, home)

    def run(line):
        rule = Rule("allow", "run_command", "git log", workspace=str(home / "work"))
        changed, undone = [
            json.loads((home / f"{one}.json").read_text())["sessionId"] for one in ("exported", "other")
        ]
        code = main(shlex.split(line.format(base=home, rule=rule.id, changed=changed, undone=undone)))
        return code, *capfd.readouterr()

    yield run
    shutil.rmtree(home / "config")
    shutil.copytree(home / "config.kept", home / "config")


def test_every_command_is_looked_at():
    assert FAILING.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", some((name for name, line in FAILING.items() if line), 8))
def test_an_error_is_on_standard_error_alone(name, outrider):
    code, out, err = outrider(FAILING[name])
    assert code in (1, 2)
    assert "error" not in out
    assert out == "" or name == "demo"  # which says what it is about to do
    assert err.startswith("error: ") or "\nerror: " in err
    assert "Traceback" not in err


def test_a_session_that_waits_is_told_on_standard_error(outrider):
    _, out, err = outrider("sessions")
    assert "waits for you" in out
    assert "still waits" not in out
    assert "warning: " in err


JSON = [name for name, command in COMMANDS.items() if any("--json" in one.opts for one in command.params)]

WITHOUT_JSON = {
    "serve": "it speaks LSP",
    "acp": "it speaks ACP",
    "chat": "it is for a user; `run --json` is the same for a program",
    "demo": "it is for a user; `run --json` is the same for a program",
    "completion": "its result is a script for a shell",
    "export": "its result is JSON, an `Export`",
    "scenario from": "its result is JSON, a `Scenario`",
    "report": "its result is a page; `export` has what is in it as JSON",
}


def test_every_command_has_json_or_a_reason():
    assert set(JSON) == COMMANDS.keys() - WITHOUT_JSON.keys()
    assert set(JSON) == PRINTED.keys()


@pytest.mark.parametrize("name", some((name for name in JSON if GIVING[name]), 14))
def test_json_is_nothing_but_the_json_of_its_model(name, outrider):
    code, out, err = outrider(f"{GIVING[name]} --json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert lines, (code, err)
    for line in lines:
        PRINTED[name].from_wire(line)


@pytest.mark.parametrize(("name", "model"), [("export", Export), ("scenario from", Scenario)])
def test_what_gives_json_anyway_gives_that_of_its_model(name, model, outrider):
    model.from_wire(json.loads(outrider(GIVING[name])[1]))


# Where there is none of what they list, only JSON says something on standard output.
LISTS = {"jobs", "commands", "servers"}
PRINTING = [f"{one} --json" if one in LISTS else one for one in GIVING.values() if one]


@pytest.mark.parametrize("line", some([*PRINTING, "events --json", "trust list --json"], 6))
def test_a_reader_that_goes_away_ends_a_command_quietly(line, outrider, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with io.TextIOWrapper(os.fdopen(writing, "wb")) as stream, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", stream)
        code, _, err = outrider(line)
        stream.flush()  # as the interpreter does at its end
    assert code == 141, err
    assert not re.search("Traceback|Exception|Error|Errno", err)


def test_a_file_that_is_too_long_for_the_pipe_is_cut_quietly(home, outrider, monkeypatch):
    """As `outrider replay FILE | head -c 1`: the reader takes something first."""
    reading, writing = os.pipe()
    with io.TextIOWrapper(os.fdopen(writing, "wb")) as stream, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", GoesAway(stream, reading))
        code, _, err = outrider(f"replay {home}/exported.json")
    assert (code, err) == (141, "")


@pytest.mark.parametrize(
    ("line", "file", "words"),
    [
        ("replay - --assert", "exported.json", "The same"),
        ("report -", "exported.json", "<!doctype html>"),
        ("import -", "exported.json", "do it"),
        ("scenario from -", "exported.json", '"name"'),
        ("permissions check - --json", "command", '"allow"'),
    ],
)
def test_a_line_is_standard_input(home, outrider, monkeypatch, line, file, words):
    (home / "command").write_text("ls\n")
    with (home / file).open() as given, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", given)
        code, out, err = outrider(line)
    assert code == 0, err
    assert words.lower() in out.lower()


@pytest.mark.parametrize("line", ["import -", "replay -"])
def test_what_is_wrong_on_standard_input_is_said(home, outrider, monkeypatch, line):
    with (home / "done.json").open() as given, monkeypatch.context() as patch:
        patch.setattr("sys.stdin", given)
        code, _, err = outrider(line)
    assert (code, err.startswith("error: standard input: is not an exported session")) == (2, True), err


def test_help_is_a_command_too(outrider):
    assert "Usage: outrider trust add" in outrider("help trust add")[1]
    assert outrider("help")[0] == 0


class GoesAway(io.TextIOBase):
    """A stream whose reader goes away after the first line."""

    def __init__(self, stream, reading):
        self._stream, self._reading = stream, reading

    def write(self, text):
        written = self._stream.write(text)
        self._stream.flush()
        if self._reading is not None and "\n" in text:
            os.close(self._reading)
            self._reading = None
        return written

    def flush(self):
        self._stream.flush()

    def fileno(self):
        return self._stream.fileno()

    def isatty(self):
        return False
