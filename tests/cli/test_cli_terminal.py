"""Questions in a real terminal: only what is typed after a question was shown answers it."""

import asyncio
import json
import os
import pty
import select
import subprocess
import sys
import time

import pytest

from outrider.cli import terminal
from outrider.cli.terminal import TerminalKeyboard, keyboard

SECONDS = 40
EARLY = "or pasted, is ignored"
EDIT = {"name": "edit_file", "input": {"path": "a.txt", "old": "one", "new": "two"}}
COMMAND = {"name": "run_command", "input": {"command": "touch made"}}
SCRIPT = [
    {"text": "thinking aloud. " * 12, "chunk": 8, "delay": 0.05, "tool_calls": [EDIT]},
    {"tool_calls": [COMMAND]},
    {"text": "Done."},
]


class Shell:
    """`outrider run` in a terminal of its own."""

    def __init__(self, folder, script, *, to_file=None):
        (folder / "s.json").write_text(json.dumps({"turns": script}))
        environment = os.environ | {"HOME": str(folder / "home"), "XDG_CONFIG_HOME": str(folder / "config")}
        self.master, slave = pty.openpty()
        argv = [sys.executable, "-m", "outrider", "run", "go", "--model", "scripted:s.json", "--trust"]
        self.process = subprocess.Popen(
            [*argv, "--state-dir", str(folder / "state")],
            cwd=folder, env=environment | {"COLUMNS": "100"}, stdin=slave, stdout=to_file or slave, stderr=slave,
            start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self.shown = ""

    def wait(self, condition):
        """Wait until the terminal has shown a text, or until a function of nothing is true."""
        holds = (lambda: condition in self.shown) if isinstance(condition, str) else condition
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, f"never: {condition}\n{self.shown}"
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.shown += os.read(self.master, 65536).decode("utf-8", "replace")
                except OSError:  # the program has closed its terminal
                    self.process.wait(SECONDS)
                    assert holds(), self.shown
                    return

    def type(self, keys):
        os.write(self.master, keys.encode())

    def answer(self, keys, condition):
        """Type keys until they are taken: what comes too soon after the question is not."""
        while not condition():
            self.type(keys)
            end = time.monotonic() + 2
            self.wait(lambda end=end: condition() or time.monotonic() > end)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def shell(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    opened = []

    def start(script, **more):
        opened.append(Shell(tmp_path, script, **more))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.mark.timeout(120)
@pytest.mark.thorough
def test_what_is_typed_before_a_question_answers_none(shell, tmp_path):
    one = shell(SCRIPT)
    one.wait("thinking")
    assert "Allow once" not in one.shown
    one.type("1\r1\r")
    one.wait("Allow once")
    one.wait(EARLY)
    one.wait("leave it open: ")
    # The same keys once more, in one piece: a paste answers nothing either.
    before = one.shown.count(EARLY)
    one.answer("1\r1\r1\r", lambda: one.shown.count(EARLY) > before)
    assert (tmp_path / "a.txt").read_text() == "one\n"
    one.answer("1\r", lambda: (tmp_path / "a.txt").read_text() == "two\n")
    one.wait("touch made")
    assert not (tmp_path / "made").exists()
    one.answer("1\r", (tmp_path / "made").exists)
    one.wait(lambda: one.process.poll() is not None)
    assert one.process.returncode == 0


@pytest.mark.timeout(120)
def test_a_question_that_is_drawn_into_a_file_takes_no_answer(shell, tmp_path):
    with (tmp_path / "out").open("wb") as file:
        one = shell([{"tool_calls": [EDIT]}, {"text": "Done."}], to_file=file)
        one.type("1\r1\r")
        one.wait(lambda: one.process.poll() is not None)
    assert one.process.returncode == 3
    assert (tmp_path / "a.txt").read_text() == "one\n"


@pytest.fixture
def typed():
    """A keyboard, what types on it, and what was drawn."""
    master, slave = pty.openpty()
    yield TerminalKeyboard(slave), lambda keys: os.write(master, keys), []
    os.close(master)
    os.close(slave)


async def test_a_key_that_is_held_down_answers_nothing_until_it_is_let_go(typed, monkeypatch):
    keys, press, drawn = typed
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.2)
    asking = asyncio.ensure_future(keys.answer(drawn.append))
    for _ in range(20):
        press(b"\r")
        await asyncio.sleep(0.03)  # how a keyboard repeats a key
    assert not asking.done()
    while not asking.done():
        press(b"2\r")
        await asyncio.wait({asking}, timeout=0.5)
    assert await asking == "2"
    assert drawn[1] is True


@pytest.mark.parametrize("pasted", [b"1\r2\r", b"1\rits last line has no end"])
async def test_the_first_line_of_what_is_pasted_is_no_answer(typed, monkeypatch, pasted):
    keys, press, drawn = typed
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.2)
    asking = asyncio.ensure_future(keys.answer(drawn.append))
    for _ in range(3):
        await asyncio.wait({asking}, timeout=0.5)
        press(pasted)
    await asyncio.wait({asking}, timeout=0.5)
    assert not asking.done()
    asking.cancel()


async def test_half_a_line_at_the_end_of_the_input_is_no_answer(typed, monkeypatch):
    keys, press, drawn = typed
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.2)
    asking = asyncio.ensure_future(keys.answer(drawn.append))
    while not asking.done():
        press(b"1\x04\x04")
        await asyncio.wait({asking}, timeout=0.5)
    assert await asking is None


async def test_half_a_line_from_before_the_question_is_no_part_of_its_answer(typed, monkeypatch):
    keys, press, drawn = typed
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.2)
    press(b"1")
    asking = asyncio.ensure_future(keys.answer(drawn.append))
    while not asking.done():
        press(b"2\r")
        await asyncio.wait({asking}, timeout=0.5)
    assert await asking == "2"


async def test_a_question_can_be_cancelled_and_leaves_the_terminal_as_it_was(typed):
    import termios

    keys, _, drawn = typed
    before = termios.tcgetattr(keys._descriptor)
    asking = asyncio.ensure_future(keys.answer(drawn.append))
    done, _ = await asyncio.wait({asking}, timeout=0.05)
    assert drawn
    assert not done
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert termios.tcgetattr(keys._descriptor) == before


def test_nobody_answers_through_a_pipe(monkeypatch):
    read, write = os.pipe()
    os.write(write, b"1\n1\n")
    with os.fdopen(read) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert keyboard(sys.stdout) is None
    os.close(write)


async def test_a_secret_is_not_echoed_and_may_be_pasted(typed):
    import termios

    keys, press, drawn = typed
    before = termios.tcgetattr(keys._descriptor)
    press(b"typed too early\r")
    # The kernel takes a moment to bring it: until then it is not typed before the question.
    assert await asyncio.to_thread(select.select, [keys._descriptor], [], [], 20) != ([], [], [])
    asking = asyncio.ensure_future(keys.secret(drawn.append))
    done, _ = await asyncio.wait({asking}, timeout=0.5)
    assert (drawn, not done) == ([False], True)
    assert not termios.tcgetattr(keys._descriptor)[3] & termios.ECHO
    press(b"sk-local-0123456789\r")
    assert await asking == "sk-local-0123456789"
    assert termios.tcgetattr(keys._descriptor) == before
