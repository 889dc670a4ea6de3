"""VS Code as people have it: the packaged extension in a real workbench, and the server of this checkout.

Not part of the usual run, see `README.md` beside this file.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from editors.workbench import Workbench, install_extension, missing, plain, workbench

pytestmark = [
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
    pytest.mark.timeout(240),
    # Playwright runs an event loop of its own in the thread of the test.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

BEFORE = '''"""What parking costs."""


def price(hours):
    """Two for each hour begun."""
    return hours * 3


def label(hours):
    return f"{hours} h: {price(hours)}"
'''
AFTER = BEFORE.replace("hours * 3", "hours * 2").replace(
    "def label(hours):\n", 'def label(hours):\n    """How a ticket shows it."""\n'
)
CHECK = 'from tariff import price\n\nassert price(2) == 4\nprint("1 passed")\n'

WHOLE_TASK: list[dict[str, Any]] = [
    {
        "text": "I look at the file first.",
        "reasoning": "The docstring says two, the code says three.",
        "tool_calls": [
            {"name": "read_file", "input": {"path": "tariff.py"}},
            {
                "name": "update_plan",
                "input": {
                    "items": [
                        {"text": "Correct the price", "status": "in_progress"},
                        {"text": "Run the check", "status": "pending"},
                    ]
                },
            },
        ],
        "usage": {"inputTokens": 1200, "outputTokens": 40, "cost": 0.0021},
    },
    {
        "tool_calls": [
            {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER, "overwrite": True}}
        ],
        "usage": {"inputTokens": 1500, "outputTokens": 80, "cost": 0.003},
    },
    {
        "tool_calls": [{"name": "run_command", "input": {"command": "python3 check.py"}}],
        "usage": {"inputTokens": 1700, "outputTokens": 20, "cost": 0.003},
    },
    {
        "text": "The price is **two** for each hour now, as its docstring says:\n\n```python\nreturn hours * 2\n```\n\n"
        "- `check.py` passes.",
        "chunk": 12,
        "delay": 0.01,
        "usage": {"inputTokens": 1800, "outputTokens": 60, "cost": 0.004},
    },
]


def edit(old: str, new: str, call_id: str = "edit") -> dict[str, Any]:
    """An answer of the model that edits tariff.py."""
    given = {"path": "tariff.py", "old": old, "new": new}
    return {"tool_calls": [{"name": "edit_file", "input": given, "id": call_id}]}


Begin = Callable[..., AbstractContextManager[Workbench]]


@pytest.fixture(scope="module")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, installed from its package."""
    folder = tmp_path_factory.mktemp("vscode") / "extensions"
    install_extension(folder)
    return folder


@pytest.fixture
def begin(extensions: Path, tmp_path: Path) -> Iterator[Begin]:
    """Starts a workbench on a small project."""
    project = tmp_path / "parking"
    project.mkdir()
    (project / "tariff.py").write_text(BEFORE, encoding="utf-8")
    (project / "check.py").write_text(CHECK, encoding="utf-8")
    wanted = os.environ.get("OUTRIDER_SHOTS")
    shots = Path(wanted) if wanted else None
    if shots is not None:
        shots.mkdir(parents=True, exist_ok=True)

    def start(turns: list[dict[str, Any]], **options: Any) -> AbstractContextManager[Workbench]:
        where = options.pop("workspace", project)
        return workbench(where, tmp_path / "home", extensions, turns, shots=shots, **options)

    yield start


def asked(bench: Workbench, title: str) -> None:
    """Wait until the person is asked, in the view too."""
    bench.until(lambda: title in plain(bench.view_text()), f"the question “{title}”")
    bench.until(lambda: "needs you" in bench.status(), "the status bar that calls")


def give(bench: Workbench, prompt: str) -> None:
    """Give a task from the command palette."""
    bench.command("Outrider: Run Task…")
    bench.type_input(prompt)


def chord(bench: Workbench, key: str) -> None:
    """Press the keys of a command."""
    bench.page.keyboard.press("Control+Alt+o")
    bench.page.keyboard.press(key)


def test_a_whole_task(begin: Begin) -> None:
    with begin(WHOLE_TASK) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        view = bench.view_text()
        assert "I look at the file first." in view
        assert "Correct the price" in view
        assert bench.view.locator("details.reasoning:not([open])").count() == 1
        bench.until(
            lambda: any("Allow all once" in lens for lens in bench.lenses()), "the lenses at the lines"
        )
        assert bench.text() == BEFORE
        bench.shot("approval")

        bench.focus_editor()
        chord(bench, "d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(
            lambda: bench.page.locator(".diff-editor.side-by-side, .monaco-diff-editor").count(), "the diff"
        )
        bench.until(lambda: len(bench.lenses()) >= 2, "the lenses of the diff")
        bench.shot("diff")
        chord(bench, "y")
        bench.until(lambda: "hours * 2" in bench.text(), "the edit in the buffer")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE

        # One undo of the editor takes it all out, one redo puts it back.
        bench.until(lambda: bench.has_editor_focus("tariff.py"), "the keyboard in the file")
        bench.page.keyboard.press("Control+z")
        bench.until(lambda: bench.text() == BEFORE, "the text without the edit")
        bench.page.keyboard.press("Control+Shift+z")
        bench.until(lambda: bench.text() == AFTER, "the text with the edit")

        asked(bench, "Run: python3 check.py")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.until(lambda: "two for each hour now" in plain(bench.view_text()), "the answer")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == AFTER
        assert "a command succeeded after the last change" in plain(bench.view_text())
        bench.until(lambda: "needs you" not in bench.status(), "a status bar at rest")
        bench.until(
            lambda: bench.lenses() == ["Outrider: undo this change"] * 2, "the lenses of what is done"
        )
        bench.shot("session")

        bench.command("Outrider: Review Changes")
        bench.page.locator(".tab.active", has_text="changes of this session").wait_for()
        bench.until(lambda: bench.page.locator(".monaco-diff-editor .view-line").count() > 5, "the changes")
        bench.shot("review")
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: "undone" in bench.view_text(), "the undo")
        bench.open("tariff.py")
        bench.until(lambda: bench.text() == BEFORE, "the text of before")


def test_cancel_from_the_status_bar(begin: Begin) -> None:
    with begin([{"text": "Thinking about it for a while. " * 200, "chunk": 4, "delay": 0.2}]) as bench:
        give(bench, "Think about it")
        bench.until(lambda: "step 1" in bench.status(), "the running turn")
        bench.until(lambda: "Thinking" in bench.view_text(), "the text as it comes")
        bench.page.locator('[id$="outrider.stop"] a').click()
        bench.until(lambda: "Cancelled" in bench.view_text(), "the end")
        bench.until(lambda: not bench.page.locator('[id$="outrider.stop"]').is_visible(), "no button to stop")


def test_what_is_typed_while_an_edit_is_asked_is_kept_also_by_undo(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("# mine\n")
        chord(bench, "y")
        bench.until(lambda: bench.text() == "# mine\n" + BEFORE.replace("* 3", "* 2"), "both changes")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.page.keyboard.type("# more\n")
        bench.command("Outrider: Undo Turn")
        bench.until(lambda: bench.text() == "# mine\n# more\n" + BEFORE, "the undo, and what was typed")


def test_reject_with_a_reason(begin: Begin) -> None:
    turns = [
        edit("* 3", "* 2"),
        {"text": "I leave it.", "expect": {"last_message_contains": "the price is right"}},
    ]
    with begin(turns) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        chord(bench, "n")
        bench.type_input("the price is right")
        bench.until(lambda: "I leave it." in bench.view_text(), "the answer of the model")
        assert bench.text() == BEFORE


def test_an_edit_is_decided_hunk_by_hunk_by_keys_and_at_the_lines(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER, "overwrite": True}}
    told = {"last_message_contains": "a docstring says nothing here"}
    turns = [{"tool_calls": [whole]}, {"tool_calls": [whole], "expect": told}, {"text": "Done."}]
    with begin(turns) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        bench.page.keyboard.press("Control+End")
        chord(bench, "j")
        bench.until(lambda: "Ln 6," in bench.position(), "the first hunk")
        chord(bench, "i")
        bench.until(lambda: "Ln 10," in bench.position(), "the second hunk")
        bench.until(lambda: any("1 of 2, taken" in lens for lens in bench.lenses()), "the lens of the first")
        bench.until(lambda: "Of 2 hunks 1 taken" in plain(bench.view_text()), "the view says it too")
        assert bench.text() == BEFORE
        bench.shot("hunks")
        chord(bench, "w")
        bench.type_input("a docstring says nothing here")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* 2"), "the first hunk alone")

        asked(bench, "Edit tariff.py (+1 −0)")
        bench.focus_editor()
        chord(bench, "d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.until(lambda: "Ln 10," in bench.position(), "the hunk in the diff")
        chord(bench, "o")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert bench.text() == BEFORE.replace("* 3", "* 2")


def test_hunks_are_decided_in_the_diff(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER, "overwrite": True}}
    with begin([{"tool_calls": [whole]}, {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        chord(bench, "d")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.lens("Leave out").click()
        bench.until(lambda: any("1 of 2, left out" in lens for lens in bench.lenses()), "what was decided")
        bench.until(lambda: "hours * 2" not in bench.text(), "the diff without the hunk")
        bench.shot("diff-hunks")
        bench.lens("Allow the rest").click()
        wanted = BEFORE.replace(
            "def label(hours):\n", 'def label(hours):\n    """How a ticket shows it."""\n'
        )
        bench.until(lambda: bench.text() == wanted, "the second hunk alone")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")


def test_a_hunk_is_rewritten_in_the_diff_and_the_model_is_told(begin: Begin) -> None:
    whole = {"name": "write_file", "input": {"path": "tariff.py", "content": AFTER, "overwrite": True}}
    told = {"last_message_contains": ["hours * RATE", "says nothing"]}
    turns = [{"tool_calls": [whole]}, {"text": "As you like.", "expect": told}]
    # What the settings say of files is not for what is proposed.
    odd = {"[python]": {"files.encoding": "utf16le"}}
    with begin(turns, settings=odd) as bench:
        (bench.folder / "tariff.py").write_text(BEFORE, encoding="utf-16-le")
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.focus_editor()
        bench.to_line(6)
        chord(bench, "m")
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.until(lambda: "Ln 6," in bench.position(), "the hunk in the diff")
        bench.page.keyboard.press("End")
        bench.page.keyboard.press("Backspace")
        bench.page.keyboard.type("RATE")
        bench.until(lambda: any("rewritten" in lens for lens in bench.lenses()), "the lens says it")
        bench.until(lambda: "you rewrote 1" in plain(bench.view_text()), "the view says it too")
        bench.shot("rewrite")

        # What is no proposed line cannot go along.
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("#")
        chord(bench, "y")
        bench.until(lambda: any("more than the proposed lines" in one for one in bench.toasts()), "a no")
        bench.until(bench.has_diff_focus, "the diff has the keyboard still")
        bench.page.keyboard.press("Control+z")
        bench.until(lambda: bench.text().startswith('"""What'), "the text without it")

        bench.to_line(10)
        chord(bench, "w")
        bench.type_input("it says nothing")
        bench.until(lambda: any("2 of 2, left out" in lens for lens in bench.lenses()), "the second is out")
        chord(bench, "y")
        bench.until(lambda: "As you like." in bench.view_text(), "the answer of the model")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        bench.until(lambda: bench.text() == BEFORE.replace("* 3", "* RATE"), "the edit as it was rewritten")
        assert not bench.page.locator(".monaco-dialog-box").count()


def test_an_undo_asks_about_what_was_changed_since(begin: Begin) -> None:
    with begin([edit("hours * 3", "hours * 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.focus_editor()
        bench.to_line(6)
        bench.page.keyboard.press("End")
        bench.page.keyboard.type("  # for now")
        bench.command("Outrider: Undo Turn")
        dialog = bench.page.locator(".monaco-dialog-box")
        dialog.wait_for()
        assert "return hours * 2 # for now With the undo: return hours * 3" in plain(dialog.inner_text())
        bench.shot("conflict")
        dialog.locator(".monaco-button", has_text="Keep mine").click()
        bench.until(
            lambda: any("nothing was changed" in toast for toast in bench.toasts()), "what came of it"
        )
        bench.command("Outrider: Undo Turn")
        dialog.locator(".monaco-button", has_text="Take the undo").click()
        bench.until(lambda: bench.text() == BEFORE, "the text of before")


def test_a_second_window_looks_on_and_has_a_session_of_its_own(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        with bench.second_window() as other:
            other.command("Outrider: Show Session View")
            other.until(lambda: "another window or editor runs this" in other.view_text(), "who runs it")
            assert "Two an hour" in other.view_text()
            assert "Allow once" not in other.view_text()
            assert "needs you" not in other.status()
            give(other, "Another task")
            other.until(lambda: "Another task" in other.view_text(), "a session of its own")
            asked(other, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "hours * 2" in bench.text(), "the edit of the first window")


def test_a_file_is_renamed_while_its_diff_is_open(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "It is gone."}]) as bench:
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card button", has_text="Review…").click()
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        (bench.folder / "tariff.py").rename(bench.folder / "prices.py")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "It is gone." in bench.view_text(), "the turn goes on")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        bench.shot("renamed")
        assert "edit_file tariff.py failed" in plain(bench.view_text())
        assert (bench.folder / "prices.py").read_text(encoding="utf-8") == BEFORE
        assert not (bench.folder / "tariff.py").exists()


def test_writing_from_right_to_left_and_very_long_lines(begin: Begin) -> None:
    contrast = {"workbench.colorTheme": "Default High Contrast Light"}
    long = "x" * 20_000
    turns = [
        {
            "text": f"שלום, זה הקובץ.\n\n{long}",
            "tool_calls": [{"name": "read_file", "input": {"path": "signs.txt"}}],
        },
        {
            "tool_calls": [
                {
                    "name": "write_file",
                    "input": {"path": "signs.txt", "content": f"כניסה\n{long}y\n", "overwrite": True},
                }
            ]
        },
        {"text": "Done."},
    ]
    with begin(turns, settings=contrast) as bench:
        (bench.folder / "signs.txt").write_text(f"יציאה\n{long}\n", encoding="utf-8")
        bench.open("signs.txt")
        give(bench, "תקן את השלט")
        asked(bench, "Edit signs.txt (+2 −2)")
        sizes = "root => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        wide, seen = bench.view.locator("#root").evaluate(sizes)
        assert wide <= seen
        bench.until(bench.lenses, "the lenses at the lines")
        bench.shot("long-lines")
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "כניסה" in bench.text(), "the edit")


def test_a_question_that_is_open_is_asked_again_after_a_reload(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        chord(bench, "d")
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.page.keyboard.press("End")
        bench.page.keyboard.type("  # for now")
        bench.until(lambda: "You rewrote it" in bench.view_text(), "what was written")
        bench.page.reload()
        bench.until(lambda: "needs you" in bench.status(), "the question after the reload", 60)
        diff = bench.page.locator(".tab", has_text="tariff.py (proposed)")
        diff.click()
        bench.until(
            lambda: any("rewritten" in lens for lens in bench.lenses()), "what was written is there still"
        )
        bench.shot("reloaded")
        bench.open("tariff.py")  # the window may come back without it
        bench.until(
            lambda: any("Allow once" in lens for lens in bench.lenses()), "the lenses after the reload"
        )
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "hours * 2  # for now" in bench.text(), "the edit, as it was rewritten")
        bench.until(lambda: "needs you" not in bench.status(), "a status bar at rest")
        bench.until(lambda: not diff.count(), "the diff is closed")


def test_a_server_that_is_killed_is_started_again_and_the_session_goes_on(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.until(bench.server, "the server").send_signal(signal.SIGKILL)
        bench.until(lambda: any("ended unexpectedly" in toast for toast in bench.toasts()), "what happened")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")


def test_a_server_that_is_missing_is_said_with_what_to_do(begin: Begin) -> None:
    with begin([], settings={"outrider.server.command": ["/nowhere/outrider"]}) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert "/nowhere/outrider" in toast
        assert "outrider.server.command" in toast
        assert "Open Settings" in toast
        bench.command("Outrider: Show Session View")
        bench.until(lambda: "server is not running" in plain(bench.view_text()), "the view says it too")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["/bin/echo", "Content-Length: x"], id="nonsense"),
        pytest.param(["/bin/sh", "-c", "echo broken >&2; exit 3"], id="crash"),
    ],
)
def test_what_is_no_server_is_said_and_ended(begin: Begin, command: list[str]) -> None:
    with begin([], settings={"outrider.server.command": command}) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert command[0] in toast
        assert "Restart" in toast
        bench.until(lambda: bench.server() is None, "nothing is left running")


OLD = """
from pygls.lsp.server import LanguageServer

LanguageServer("outrider", "0").start_io()
"""

BABBLING = """
import subprocess, sys, threading
from pathlib import Path

server = subprocess.Popen([sys.argv[2], "serve"], stdin=sys.stdin, stdout=subprocess.PIPE)
said = Path(sys.argv[1])

def babble():
    while not said.exists():
        pass
    sys.stdout.buffer.write(b"Warning: this is no message" + bytes([13, 10, 13, 10]))
    sys.stdout.buffer.flush()

threading.Thread(target=babble, daemon=True).start()
while part := server.stdout.read1():
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
"""
"""Hands on what a server says, and says something else once a file is there."""


def test_a_server_that_is_too_old_is_said_and_ended(begin: Begin, tmp_path: Path) -> None:
    old = tmp_path / "old.py"
    old.write_text(OLD, encoding="utf-8")
    with begin([], settings={"outrider.server.command": [sys.executable, str(old)]}) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert "too old for this extension: update the server" in toast
        assert "Restart" in toast
        bench.until(lambda: bench.server() is None, "nothing is left running")


def test_a_server_that_crashes_again_and_again_stays_down_until_it_is_started(begin: Begin) -> None:
    with begin([{"text": "Here I am."}]) as bench:
        seen: set[int] = set()
        while len(seen) < 5:
            server = bench.until(bench.server, "the server")
            bench.until(lambda: "· ask" in bench.status() or "failed" in bench.status(), "a server at work")
            if server.pid not in seen:
                seen.add(server.pid)
                server.send_signal(signal.SIGKILL)
            bench.page.wait_for_timeout(100)
        bench.until(
            lambda: any("ended 5 times in three" in one for one in bench.toasts()), "that it stays down"
        )
        assert bench.server() is None
        bench.command("Outrider: Restart the Server")
        give(bench, "Say something")
        bench.until(lambda: "Here I am." in bench.view_text(), "a server that works")


def test_nonsense_in_the_middle_loses_nothing(begin: Begin, tmp_path: Path) -> None:
    babbling, now = tmp_path / "babbling.py", tmp_path / "now"
    babbling.write_text(BABBLING, encoding="utf-8")
    server = Path(sys.executable).with_name("outrider")
    command = [sys.executable, str(babbling), str(now), str(server)]
    with begin(
        [edit("* 3", "* 2"), {"text": "Done."}], settings={"outrider.server.command": command}
    ) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        now.touch()
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert "* 2" in bench.text()


def test_without_a_network_it_says_so(begin: Begin) -> None:
    nowhere = {
        "outrider.providers": {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
        "outrider.model": "my/model",
    }
    with begin([], settings=nowhere) as bench:
        give(bench, "Two an hour")
        bench.until(lambda: "The model gave no answer" in bench.view_text(), "what is wrong")
        bench.until(lambda: "Failed" in bench.view_text(), "the end", 90)
        bench.shot("no-network")
        assert "Look at the network" in plain(bench.view_text())


def test_the_walkthrough_leads_from_a_model_to_an_undo(begin: Begin) -> None:
    with begin([]) as bench:
        bench.command("Welcome: Open Walkthrough...")
        bench.type_input("Get started with Outrider")
        steps = bench.page.locator(".getting-started-step")
        bench.until(lambda: steps.count() == 5, "the steps")
        shown = bench.page.locator(".getting-started-step.expanded")
        for title in ("Give it a key", "Give a task", "Say yes or no", "Take it back", "Choose a model"):
            steps.filter(has_text=title).first.click()
            bench.until(lambda title=title: shown.filter(has_text=title).count(), title)
        bench.shot("walkthrough")
        bench.page.get_by_role("button", name="Choose a model", exact=True).click()
        box = bench.page.locator(".quick-input-list .monaco-list-row", has_text="Another…")
        box.wait_for()


def test_a_key_reaches_the_server_by_its_environment_alone(begin: Begin, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    server = Path(sys.executable).with_name("outrider")
    command = ["/bin/sh", "-c", f'printf %s "$PARKING_KEY" > {seen}; exec {server} "$@"', "sh"]
    with begin([{"text": "Done."}], settings={"outrider.server.command": command}) as bench:
        bench.until(bench.server, "the server")
        bench.command("Outrider: Set a Provider's Key…")
        bench.type_input("PARKING_KEY")
        box = bench.page.locator(".quick-input-widget input[type=password]")
        box.wait_for()
        box.fill("sk-of-the-person")
        box.press("Enter")
        bench.until(lambda: seen.read_text(encoding="utf-8") == "sk-of-the-person", "a server with the key")
        home = bench.folder.parent / "home"
        written = [
            path for path in (home / "data").rglob("*") if path.is_file() and path.suffix in {".json", ".log"}
        ]
        assert written
        assert not [path for path in written if "sk-of-the-person" in path.read_text(errors="replace")]


def test_a_workspace_that_is_not_trusted_is_only_read(begin: Begin) -> None:
    trust = {"security.workspace.trust.enabled": True, "security.workspace.trust.startupPrompt": "never"}
    turns = [edit("* 3", "* 2"), {"text": "I cannot change anything here."}]
    with begin(turns, settings=trust) as bench:
        give(bench, "Two an hour")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert "denied" in bench.view_text() or "failed" in bench.view_text()
        assert "read-only" in bench.view_text()
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE


def test_a_server_is_made_where_there_is_none(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    # Without this checkout's environment, whose `outrider` would be found.
    own = str(Path(sys.prefix) / "bin")
    monkeypatch.setenv("PATH", os.pathsep.join(p for p in os.environ["PATH"].split(os.pathsep) if p != own))
    with begin([{"text": "Done."}], settings={"outrider.server.command": None}) as bench:
        bench.until(lambda: any("installing the server" in toast for toast in bench.toasts()), "the progress")
        server = bench.until(bench.server, "the server", 180)
        assert "globalStorage/outrider.outrider/server/bin/python" in server.cmdline()[0]
        give(bench, "Say that you are done")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")


def test_a_question_is_answered_in_the_view_by_keyboard(begin: Begin) -> None:
    asks = {"question": "Which currency?", "options": ["Euro", "Franc"]}
    turns = [
        {
            "text": "Slowly. " * 40,
            "chunk": 8,
            "delay": 0.1,
            "tool_calls": [{"name": "ask_user", "input": asks}],
        },
        edit("* 3", "* 2") | {"expect": {"messages_contain": ["in whole coins", "Krone"]}},
        {"text": "Done."},
    ]
    with begin(turns) as bench:
        chord(bench, "v")
        box = bench.view.locator("#task")
        bench.until(lambda: box.evaluate("box => box === document.activeElement"), "the keyboard in the view")
        bench.page.keyboard.type("Give it a currency")
        bench.page.keyboard.press("Control+Enter")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text as it comes")
        bench.page.keyboard.type("in whole coins")
        bench.page.keyboard.press("Control+Enter")
        bench.until(lambda: "You said: in whole coins" in bench.view_text(), "what was said to the turn")
        asked(bench, "Which currency?")
        bench.view.locator(".card .note").press("Shift+Tab")
        bench.view.locator(".card .note").fill("Krone")
        bench.view.locator(".card .note").press("Enter")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card").press("r")
        bench.until(lambda: "You said: no" in bench.view_text(), "the answer")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE


def test_the_light_bulb_gives_the_task_of_a_comment(begin: Begin) -> None:
    with begin([{"text": "I did it."}]) as bench:
        bench.open("tariff.py")
        bench.until(lambda: "· ask" in bench.status(), "the server")
        bench.focus_editor()
        bench.page.keyboard.press("Control+Home")
        bench.page.keyboard.type("# outrider: make it cheaper\n")
        bench.page.keyboard.press("ArrowUp")
        action = bench.page.locator(".action-widget").get_by_text("Outrider: do “make it cheaper”").first

        def offered() -> bool:
            # The menu of a moment ago may have come before the server had the comment.
            bench.page.keyboard.press("Escape")
            bench.page.keyboard.press("Control+.")
            bench.page.wait_for_timeout(1000)
            return bool(action.is_visible())

        bench.until(offered, "the action in the menu")
        action.click()
        bench.until(lambda: "Outrider" in bench.status(), "the status bar")
        bench.command("Outrider: Show Session View")
        bench.until(lambda: "I did it." in bench.view_text(), "the session of the comment")
        assert "make it cheaper" in bench.view_text()


def test_problems_of_every_language_server_go_with_the_task(begin: Begin) -> None:
    found = "Expected comma"
    turns = [
        {"tool_calls": [{"name": "diagnostics", "input": {}}], "expect": {"messages_contain": [found]}},
        {"text": "A comma is missing.", "expect": {"last_message_contains": found}},
        {
            "text": "It is a price list.",
            "expect": {"messages_contain": ["Explain what prices.json does at line 3"]},
        },
    ]
    with begin(turns) as bench:
        (bench.folder / "prices.json").write_text('{\n  "hour": 2\n  "day": 9\n}\n', encoding="utf-8")
        bench.open("prices.json")
        bench.until(lambda: bench.page.locator(".squiggly-error").count(), "the problem")
        bench.focus_editor()
        bench.to_line(3)
        chord(bench, "f")
        bench.until(lambda: "A comma is missing." in bench.view_text(), "the answer")
        bench.focus_editor()
        bench.to_line(3)
        chord(bench, "e")
        bench.until(lambda: "It is a price list." in bench.view_text(), "the explanation")


def test_a_narrower_mode_counts_at_once_and_sessions_are_found_again(begin: Begin) -> None:
    turns = [{"text": "The first."}]
    with begin(turns) as bench:
        give(bench, "A first task")
        bench.until(lambda: "The first." in bench.view_text(), "the answer")
        bench.command("Outrider: Choose Permission Mode…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="read-only").first.click()
        bench.until(lambda: "read-only" in bench.view_text(), "the mode")
        bench.command("Outrider: New Session")
        bench.until(lambda: "The first." not in bench.view_text(), "an empty view")
        bench.command("Outrider: Sessions…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="A first task").first.click()
        bench.until(lambda: "The first." in bench.view_text(), "the first session")
        bench.command("Outrider: Doctor")
        bench.page.locator(
            ".quick-input-list .monaco-list-row", has_text="bash runs under the supervisor"
        ).first.wait_for()


def test_two_folders_of_one_name(begin: Begin, tmp_path: Path) -> None:
    other = tmp_path / "other" / "parking"
    other.mkdir(parents=True)
    (other / "tickets.py").write_text("LINES = 3\n", encoding="utf-8")
    both = tmp_path / "both.code-workspace"
    both.write_text(json.dumps({"folders": [{"path": str(tmp_path / "parking")}, {"path": str(other)}]}))
    given = {"path": "parking-2/tickets.py", "old": "3", "new": "4"}
    turns = [{"tool_calls": [{"name": "edit_file", "input": given}]}, {"text": "Done."}]
    with begin(turns, workspace=both) as bench:
        bench.open("tickets.py")
        give(bench, "One line more")
        asked(bench, "Edit parking-2/tickets.py (+1 −1)")
        bench.until(
            lambda: any("Allow once" in lens for lens in bench.lenses()), "the lenses in the second folder"
        )
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: bench.text().strip() == "LINES = 4", "the edit in the second folder")


THEMES = {
    "vscode-light": "Default Light Modern",
    "vscode-high-contrast": "Default High Contrast",
    "vscode-high-contrast-light": "Default High Contrast Light",
    "vscode-dark": "Default Dark Modern",
}

CONTRAST = """
() => {
    const page = getComputedStyle(document.body).getPropertyValue("--vscode-sideBar-background").trim();
    const base = page.slice(1).match(/../g).slice(0, 3).map(two => parseInt(two, 16));
    const parts = text => (text.match(/[\\d.]+/g) ?? []).map(Number);
    const light = ([r, g, b]) => [r, g, b]
        .map(one => one / 255)
        .map(one => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
        .reduce((sum, one, at) => sum + one * [0.2126, 0.7152, 0.0722][at], 0);
    const over = ([r, g, b, a = 1], under) => [r, g, b].map((one, at) => one * a + under[at] * (1 - a));
    const behind = element => {
        const own = parts(getComputedStyle(element).backgroundColor);
        const under = element.parentElement ? behind(element.parentElement) : base;
        return own.length ? over(own, under) : under;
    };
    const bad = [];
    for (const element of document.querySelectorAll("#root *")) {
        const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
        if (!own || !element.checkVisibility() || element.closest(".unseen")) continue;
        const back = behind(element);
        const [one, other] = [light(over(parts(getComputedStyle(element).color), back)), light(back)];
        const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (contrast < (element.matches(".sign") ? 3 : 4.5)) bad.push(`${element.className || element.tagName} ${element.innerText}: ${contrast}`);
    }
    return bad;
}
"""
"""What of the view is hard to see on its background, by the rules of WCAG for text and for signs."""

FOCUSED = """
() => {
    const element = document.activeElement;
    return element.getAttribute("aria-label") || element.innerText || element.tagName;
}
"""


def test_the_view_can_be_read_in_every_theme_by_a_screen_reader_and_by_keyboard(begin: Begin) -> None:
    with begin(WHOLE_TASK) as bench:
        bench.open("tariff.py")
        give(bench, "Make the price what its docstring says")
        asked(bench, "Edit tariff.py (+2 −1)")
        bench.until(bench.lenses, "the lenses at the lines")
        bad = {}
        for kind, theme in THEMES.items():
            bench.change_setting("workbench.colorTheme", theme)
            bench.until(lambda kind=kind: bench.theme() == kind, theme)
            asked(bench, "Edit tariff.py (+2 −1)")
            bench.until(bench.lenses, "the lenses at the lines")
            bench.shot(kind)
            if found := bench.view.locator("body").evaluate(CONTRAST):
                bad[theme] = found
        assert not bad

        tree = bench.view.locator("#root").aria_snapshot()
        for said in (
            'heading "Make the price what its docstring says" [level=1]',
            'toolbar "Session"',
            "listitem: Correct the price (in progress)",
            'feed "Steps"',
            'article "write_file tariff.py, waiting"',
            'region "Outrider needs you: Edit tariff.py (+2 −1)"',
            'form "Give a task"',
            'button "Permission mode: ask"',
            'status: "Outrider needs you: Edit tariff.py (+2 −1)"',
        ):
            assert said in tree, tree
        chord(bench, "v")
        box = bench.view.locator("#task")
        bench.until(lambda: box.evaluate("box => box === document.activeElement"), "the keyboard in the view")
        order = []
        while "Stop" not in order and len(order) < 30:
            bench.page.keyboard.press("Shift+Tab")
            order.append(plain(bench.view.locator("body").evaluate(FOCUSED)))
        for name in (
            "A note for the model, with your decision",
            "Review…",
            "Reject",
            "Allow once",
            "The proposed change",
            "Steps",
            "Undo turn",
            "Stop",
        ):
            assert name in order, order
            del order[: order.index(name) + 1]


LAG = """
() => {
    window.lag = 0;
    let last = performance.now();
    setInterval(() => {
        const now = performance.now();
        window.lag = Math.max(window.lag, now - last);
        last = now;
    }, 20);
}
"""
"""Counts for how long the page of the view answered nothing."""


def test_a_session_of_100_000_lines_can_be_looked_through_while_it_runs(begin: Begin) -> None:
    lines = "".join(f"line {number}\n\n" for number in range(100_000))
    reads = [
        {"name": "search", "input": {"pattern": f"nothing {number}"}, "id": f"c{number}"}
        for number in range(1700)
    ]
    steps = [{"tool_calls": reads[at : at + 50]} for at in range(0, len(reads), 50)]
    turns = [*steps, {"text": lines, "chunk": 5_000, "delay": 0.01}]
    many = {"outrider.limits": {"steps": 100, "toolCalls": 2000}}
    with begin(turns, settings=many) as bench:
        bench.command("Outrider: Show Session View")
        bench.view.locator("#root").evaluate(LAG)
        give(bench, "Go on and on")
        bench.view.get_by_text("characters before").first.wait_for()
        bench.view.locator("#task").fill("I can write meanwhile")
        bench.shot("long-running")
        bench.view.locator(".entry.end").wait_for(timeout=120_000)
        bench.shot("long")
        feed = bench.view.locator("#feed")
        entries = feed.locator(".entry")
        assert feed.evaluate("() => window.lag") < 1500
        assert feed.evaluate("() => performance.memory.usedJSHeapSize") < 400e6
        assert max(process.memory_info().rss for process in bench.extension_hosts()) < 800e6
        assert bench.view.locator("#task").input_value() == "I can write meanwhile"
        assert entries.count() == 1500

        # Back to the first step and on to the last one, and what is in sight stays there.
        scroller = bench.view.locator("#scroller")
        scroller.evaluate("scroller => { scroller.scrollTop = 0; }")
        first = entries.first
        key = first.get_attribute("data-key")
        above = "(entry, top) => entry.offsetTop - document.querySelector('#scroller').scrollTop"
        before = first.evaluate(above)
        bench.view.get_by_role("button", name="Show earlier steps").click()
        task = bench.view.locator(".entry.task")
        task.wait_for()
        again = feed.locator(f'[data-key="{key}"]')
        assert abs(again.evaluate(above) - before) < 40
        assert entries.count() == 1500
        bench.shot("long-earlier")
        bench.view.get_by_role("button", name="Go to the latest").click()
        bench.view.locator(".entry.end").wait_for()
        assert task.count() == 0
