"""VS Code joins what another process runs: it watches, answers, steers and cancels, and buffers and edits stay there."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from editors.parking import BEFORE, IN_THE_WORKBENCH, Begin, asked, chord, edit, give
from editors.workbench import Workbench, plain

pytestmark = IN_THE_WORKBENCH

AFTERWARDS = BEFORE.replace("* 3", "* 2")
THERE = "· another window or editor runs this; buffers and edits stay there"


def waits(began: str, go: str) -> dict[str, Any]:
    """An answer of the model with a command that runs until a file is there."""
    command = f"touch {began}; while [ ! -e {go} ]; do sleep 0.1; done; echo went on"
    return {"tool_calls": [{"name": "run_command", "input": {"command": command}}]}


@contextmanager
def running(bench: Workbench, task: str) -> Iterator["subprocess.Popen[bytes]"]:
    """`outrider run` in a shell beside the window, in the same folder."""
    command = [
        str(Path(sys.executable).with_name("outrider")), "run", task, "--workspace", str(bench.folder), "--yes-to", "all",
        "--model", f"scripted:{bench.home.script}", "--state-dir", str(bench.home.state), "--permission-mode", "full",
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process and its server at once, as a crash does."""
    if process.poll() is None:
        all_of_it = [*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)]
        for one in all_of_it:
            one.kill()
        psutil.wait_procs(all_of_it, timeout=10)


def look_at(bench: Workbench, title: str) -> None:
    """Open a session from the list."""
    bench.command("Outrider: Sessions…")
    bench.page.locator(".quick-input-list .monaco-list-row", has_text=title).first.click()
    bench.until(lambda: title in bench.view_text(), "the session")


def test_a_second_window_answers_what_the_first_one_asks(begin: Begin) -> None:
    turns = [
        edit("* 3", "* 2"),
        edit("Two for", "2 for", "second"),
        {"text": "Done."},
        {"text": "That too.", "expect": {"last_message_contains": "And then this"}},
        {"text": "Here it is.", "expect": {"last_message_contains": "And this here"}},
    ]
    with begin(turns) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        with bench.second_window() as other:
            # The window of a folder shows what was worked on there last.
            other.command("Outrider: Show Session View")
            other.until(lambda: f"needs you {THERE}" in other.view_text(), "who runs it")
            asked(other, "Edit tariff.py (+1 −1)")
            other.open("tariff.py")
            other.shot("joined")
            other.view.get_by_role("button", name="Allow once").click()
            bench.until(lambda: bench.text() == AFTERWARDS, "the edit where it runs")
            # The first answer counts: what was asked goes away, and the next question is asked in both.
            for window in (bench, other):
                window.until(
                    lambda window=window: (
                        "Allowed" in window.view_text() and window.view.locator(".card").count() == 1
                    ),
                    "the second question alone",
                )
            assert other.text() == BEFORE, "what another window edits is edited there"
            # A task waits there, behind the turn that runs.
            other.view.locator("#task").fill("And then this")
            other.view.get_by_role("button", name="Queue").click()
            bench.until(lambda: bench.view.locator(".waiting-list li").count(), "that the task waits")
            asked(bench, "Edit tariff.py (+1 −1)")
            bench.focus_editor()
            chord(bench, "y")
            for window in (bench, other):
                window.until(lambda window=window: "That too." in window.view_text(), "the task that waited")
                window.until(lambda window=window: "nothing was changed" in window.view_text(), "its end")
            assert not other.view.locator(".card").count()
            other.until(lambda: "needs you" not in other.status(), "a status bar at rest")
            # Nobody runs it any more, so it goes on in either of them.
            give(other, "And this here")
            other.until(lambda: "Here it is." in other.view_text(), "the next task")
            other.until(lambda: "another window" not in other.view_text(), "that this window runs it")


@pytest.mark.thorough
def test_what_a_shell_runs_is_watched_steered_and_cancelled(begin: Begin) -> None:
    turns = [
        waits("began", "go"),
        waits("second", "never") | {"expect": {"last_message_contains": "And quickly."}},
    ]
    with begin(turns) as bench, running(bench, "Run it from a shell") as run:
        bench.until((bench.folder / "began").exists, "the command")
        look_at(bench, "Run it from a shell")
        bench.until(lambda: f"running {THERE}" in bench.view_text(), "who runs it")
        assert "step" in bench.status()
        box = bench.view.locator("#task")
        box.fill("And quickly.")
        bench.view.get_by_role("button", name="Steer").click()
        bench.until(lambda: bench.view.locator(".waiting-list li").count(), "that the text waits")
        (bench.folder / "go").touch()
        bench.until((bench.folder / "second").exists, "the step that has heard it")
        bench.until(lambda: not bench.view.locator(".waiting-list li").count(), "that it was taken")
        bench.view.get_by_role("button", name="Stop").click()
        bench.until(lambda: "Cancelled" in bench.view_text(), "the end here")
        assert run.wait(30) != 0
        bench.until(lambda: "step" not in bench.status(), "a status bar at rest")


@pytest.mark.thorough
def test_when_the_process_is_gone_its_session_is_cut_off(begin: Begin) -> None:
    turns = [waits("began", "go"), {"text": "It went on here."}]
    with begin(turns) as bench, running(bench, "Run it from a shell") as run:
        bench.until((bench.folder / "began").exists, "the command")
        look_at(bench, "Run it from a shell")
        bench.until(lambda: f"running {THERE}" in bench.view_text(), "who runs it")
        end(run)
        bench.until(lambda: "cut off in the middle" in bench.view_text(), "that nobody runs it")
        assert not bench.view.get_by_role("button", name="Stop").is_visible()
        bench.command("Outrider: Resume…")
        row = bench.page.locator(".quick-input-list .monaco-list-row", has_text="Run it from a shell").first
        assert "another window" not in plain(row.inner_text())
        row.click()
        bench.until(lambda: "It went on here." in bench.view_text(), "that it goes on in this window")
        bench.until(lambda: "step" not in bench.status(), "a status bar at rest")
