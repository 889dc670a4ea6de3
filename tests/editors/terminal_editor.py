"""What the tests of Emacs, Helix and Vim share: a file with an instruction comment, a script for the model, an end."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pace
import pytest
from terminal import Terminal

BEFORE = "# outrider: two for each hour\ndef price(hours):\n    return hours * 3\n"
AFTER = BEFORE.replace("* 3", "* 2")


def call(name, **arguments):
    return {"tool_calls": [{"name": name, "input": arguments}]}


EDIT = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")


@dataclass(frozen=True)
class Place:
    """A workspace with a file, and what a server for it is told."""

    file: Path
    command: tuple[str, ...]
    model: str
    state: str


def place(folder, turns):
    """Make a workspace in a folder, where none is there yet, and a script for the model beside it."""
    script = folder / "script.json"
    script.write_text(pace.script(turns))
    file = folder / "workspace" / "tariff.py"
    (file.parent / ".git").mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.write_text(BEFORE)
    command = (sys.executable, "-m", "outrider", "serve")
    return Place(file, command, f"scripted:{script}", str(folder / "state"))


class Editor(Terminal):
    """An editor with a window on a file. `buffer` is what it shows of it."""

    def wait_for_buffer(self, text):
        self.wait(lambda: self.buffer == text)

    def kill_server(self):
        """Kill the server that the editor started."""
        (server,) = _servers_below(self.process.pid)
        os.kill(server, signal.SIGKILL)


def _servers_below(pid):
    """The servers among the processes that a process started, or one of those."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            if words[1:4] == [b"-m", b"outrider", b"serve"]:
                yield int(child)
            else:
                yield from _servers_below(child)


def starting(make):
    """A fixture that starts an editor by `make(folder, turns)`, and ends it."""

    @pytest.fixture
    def start(tmp_path):
        running = []

        def one(*turns):
            running.append(make(tmp_path, turns))
            return running[-1]

        yield one
        for editor in running:
            editor.close()

    return start
