"""`outrider chat` in a terminal, as a user sees it."""

import os
import signal
import stat
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pace
import pytest
from terminal import Terminal

from everyday import some
from outrider.testing.scenario import surroundings_of

EDIT = {
    "tool_calls": [
        {"name": "edit_file", "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"}}
    ]
}
TWO_HUNKS = {
    "tool_calls": [
        {
            "name": "edit_file",
            "input": {
                "path": "tariff.py",
                "edits": [
                    {"old": "def price", "new": "def cost"},
                    {"old": "hours * 3", "new": "hours * 2"},
                ],
            },
        }
    ]
}
SLOW = {"text": "one two three", "chunk": 4, "delay": 30}
DONE = {"text": "Done, **really**."}
HOSTILE = "a\x1b]0;title\x07b\x1b[2Jc\x9b31m\u202ed"


@contextmanager
def chatting(workspace, *turns, rows=24, columns=80, arguments=(), **environment):
    script = workspace.parent / "chat.json"
    script.write_text(pace.script(turns))
    env = {**surroundings_of(workspace), "TERM": "xterm-256color", **environment}
    command = [sys.executable, "-m", "outrider", "chat", "--model", f"scripted:{script}", *arguments]
    terminal = Terminal(command, workspace, env, rows, columns)
    try:
        terminal.wait("leaves.", 40)
        yield terminal
    finally:
        terminal.close()


def answer(terminal, *keys, asked="leave it"):
    terminal.read(asked)
    if keys[0] != "\t":
        terminal.wait(lambda: "(Tab" not in terminal.text)  # it takes no key before
    for key in keys:
        terminal.keys(key)
        terminal.wait(later(0.1))  # the end of a line that more follows at once was pasted
    return terminal


def later(seconds):
    until = time.monotonic() + seconds
    return lambda: time.monotonic() >= until


@pytest.mark.parametrize(("rows", "columns"), some([(24, 40), (24, 80), (40, 120)], 1))
def test_a_task_with_its_answer_and_its_undo(workspace, rows, columns):
    text = "# Result\n\nIt *costs* two:\n\n```python\nreturn hours * 2\n```\n\n- a\n- b\n"
    first = {"text": "The docstring says *two* for each hour, `price` counts three.", **EDIT}
    with chatting(workspace, first, {"text": text}, rows=rows, columns=columns) as terminal:
        terminal.keys("Two an hour.\r")
        terminal.wait("> Two an hour.")
        terminal.read("leave it")
        terminal.shot(f"terminal-{columns}")
        answer(terminal, "1", "\r")
        terminal.wait("completed")
        terminal.wait("ready")
        assert (
            "return hours * 2" in terminal.text
            and "```" not in terminal.text
            and "*costs*" not in terminal.text
        )
        assert "hours * 2" in (workspace / "tariff.py").read_text()
        terminal.keys("/undo\r")
        terminal.wait("undone: tariff.py")
        assert "hours * 3" in (workspace / "tariff.py").read_text()
        assert all(len(line) <= columns for line in terminal.lines)
        terminal.keys("\x04")
        assert terminal.process.wait(20) == 0
        terminal.wait("To go on: outrider chat")


def test_a_draft_is_not_touched_by_a_question(workspace):
    with chatting(workspace, EDIT, DONE) as terminal:
        terminal.keys("Two an hour.\r")
        terminal.keys("1")  # typed before there is a question
        terminal.wait("(Tab to answer)")
        terminal.keys(" and more\x0a2")
        terminal.wait("> 1 and more")
        assert "hours * 3" in (workspace / "tariff.py").read_text()
        answer(terminal, "\t", "4", "\r")
        terminal.wait("really")
        terminal.wait("> 1 and more\n  2")
        assert "hours * 3" in (workspace / "tariff.py").read_text()


def test_custom_commands_are_completed_and_called(workspace):
    folder = workspace.parent / f"{workspace.name}.home" / "config" / "outrider" / "commands"
    folder.mkdir(parents=True)
    (folder / "tidy.md").write_text("---\ndescription: Make it neat\n---\nTidy up $ARGUMENTS.\n")
    (folder / "undo.md").write_text("Think about $ARGUMENTS again.\n")
    neat = DONE | {"expect": {"messages_contain": ["Tidy up the tariff."]}}
    again = DONE | {"expect": {"messages_contain": ["Think about it again."]}}
    with chatting(workspace, neat, again) as terminal:
        terminal.keys("/ti")
        terminal.wait("Make it neat")
        terminal.keys("dy the tariff\r")
        terminal.wait("really")
        terminal.keys("//un")
        terminal.wait("//undo  Think about")
        terminal.keys("do it\r")
        terminal.wait(lambda: terminal.text.count("really") == 2)
        terminal.keys("/help\r")
        terminal.wait("Custom commands, in the words of their files:")
        terminal.wait("Make it neat")


@pytest.mark.thorough
def test_what_was_left_open_is_asked_again_with_its_options(workspace):
    asks = {"question": "How many hours?", "options": ["Two", "Three"]}
    ask = {"tool_calls": [{"name": "ask_user", "input": asks}]}
    with chatting(workspace, ask, EDIT, DONE) as terminal:
        terminal.keys("How long?\r")
        answer(terminal, "\x1b")
        terminal.wait("waiting")
        terminal.keys("/answer\r")
        terminal.wait(lambda: terminal.text.count("2  Three") == 2)
        terminal.wait(later(1))  # the keyboard was quiet before it takes an answer
        answer(terminal, "2", "\r")
        terminal.wait("answered: Three")
        terminal.wait("1  Allow once")
        answer(terminal, "\x1b")
        terminal.wait(lambda: terminal.text.count("waiting for an answer") == 2)
        terminal.keys("/answer\r")
        terminal.wait(lambda: terminal.text.count("1  Allow once") == 2)
        terminal.wait(later(1))
        answer(terminal, "1", "\r")
        terminal.wait("really")
        assert "hours * 2" in (workspace / "tariff.py").read_text()


def test_what_is_pasted_or_held_down_answers_nothing(workspace):
    with chatting(workspace, EDIT, DONE) as terminal:
        terminal.keys("Two an hour.\r")
        terminal.read("leave it")
        terminal.keys("\x1b[200~1\n1\n\x1b[201~")
        terminal.wait("open: 1 1")
        terminal.keys("\x15")
        terminal.keys("1\r2")  # without the marks of a paste
        terminal.wait(later(0.5))
        assert "hours * 3" in (workspace / "tariff.py").read_text()
        terminal.keys("\x15")
        answer(terminal, "4", "\r")
        terminal.wait("really")


@pytest.mark.thorough
def test_a_word_to_the_running_task_and_one_after_it(workspace):
    slow = {
        "text": "one two three",
        "chunk": 4,
        "delay": 0.5,
        "tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}],
    }
    steered = {"text": "As you say.", "expect": {"messages_contain": "in euros"}}
    with chatting(workspace, slow, steered, {"text": "And the docs."}) as terminal:
        terminal.keys("Two an hour.\r")
        terminal.wait("one two")
        terminal.keys("in euros\r")
        terminal.wait("for the next step: in euros")
        terminal.keys("wrong\x11")
        terminal.wait("next: wrong")
        terminal.keys("\x1b\x1b[A")  # take it back, and change it
        terminal.wait("> wrong")
        terminal.keys("\x15docs\x11")
        terminal.wait("next: docs")
        terminal.wait("As you say.")
        terminal.wait("> docs")
        terminal.wait("And the docs.")
        assert "> in euros" in terminal.text


def test_ctrl_c_once_and_twice(workspace):
    with chatting(workspace, SLOW, SLOW) as terminal:
        terminal.keys("Count.\r")
        terminal.wait("> Count.")
        terminal.wait("thinks")
        terminal.keys("\x03")
        terminal.wait("cancelled")
        terminal.wait("ready")
        terminal.keys("draft\x03")
        terminal.wait(lambda: "draft" not in terminal.text)
        terminal.keys("Count again.\r")
        terminal.wait("> Count again.")
        terminal.wait("thinks")
        terminal.keys("\x03\x03")
        assert terminal.process.wait(20) == 130


def test_hunk_by_hunk_with_an_editor(workspace, tmp_path):
    editor = tmp_path / "edit"
    editor.write_text("#!/bin/sh\nsed -i 's/2/4/' \"$1\"\n")
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    with chatting(workspace, TWO_HUNKS, DONE, VISUAL=str(editor)) as terminal:
        terminal.keys("Two an hour.\r")
        answer(terminal, "r", "\r")
        terminal.read("change 1 of 2")
        terminal.wait("q back")
        terminal.wait(later(0.5))
        terminal.keys("n")
        terminal.wait(later(0.1))
        terminal.keys("\r")
        terminal.read("why not?")
        terminal.wait(later(0.2))
        terminal.keys("It is public.\r")
        terminal.read("change 2 of 2")
        terminal.wait(later(0.5))
        terminal.keys("e\r")
        terminal.wait("really")
    assert (workspace / "tariff.py").read_text().startswith("def price")
    assert "hours * 4" in (workspace / "tariff.py").read_text()


def test_files_and_commands_are_completed(workspace):
    with chatting(workspace, DONE) as terminal:
        terminal.keys("/und")
        terminal.wait("undo the last turn")
        terminal.keys("\x15Look at @tar")
        terminal.wait(lambda: "tests/test_tariff.py" in terminal.text)
        terminal.keys("\t\r")
        terminal.wait("Look at @tariff.py")


@pytest.mark.thorough
def test_the_help_puts_a_space_behind_each_command(workspace):
    with chatting(workspace, rows=50, columns=120) as terminal:
        terminal.keys("/help\r")
        terminal.wait("twice leaves at once")
        for command, what in (
            ("/undo [step|turn|session|id]", "undo the last turn"),
            ("/check [command|none]", "a command that decides"),
            ("/start [document]", "carry out a written plan"),
        ):
            (line,) = [line.strip() for line in terminal.lines if line.strip().startswith(f"{command} ")]
            assert line.removeprefix(command).startswith("  ") and what in line


@pytest.mark.thorough
def test_a_plan_is_written_and_started_with_a_check(workspace):
    steps = {"goal": "Halve the price", "steps": ["Change the factor"]}
    write = {"tool_calls": [{"name": "write_plan", "input": steps}]}
    planned = {"text": "The plan is written."}
    expect = {"messages_contain": "1. Change the factor"}
    with chatting(workspace, write, planned, {**EDIT, "expect": expect}, DONE, columns=120) as terminal:
        terminal.keys("/start\r")
        terminal.wait("There is no plan yet")
        terminal.keys("/check grep -q 'hours \\* 2' tariff.py\r")
        terminal.wait("Checks of the next tasks: `grep")
        terminal.keys("/plan Make it cheaper.\r")
        terminal.wait("(change what you like, then: /start)")
        terminal.wait("ready")
        terminal.keys("/start\r")
        terminal.wait("> Carry out the plan in .outrider/plans/halve-the-price.md: Halve the price")
        answer(terminal, "1", "\r")
        terminal.wait("checked: `grep")
        assert "The steps, which the user has approved" not in terminal.text
        terminal.wait("ready")
        terminal.keys("/check none\r")
        terminal.wait("have no check of their own")
        terminal.keys("/new\r")
        terminal.wait("begins a new session")
        terminal.keys("/start\r")
        terminal.wait("1  .outrider/plans/halve-the-price.md")
        terminal.keys("\x1b")
        terminal.keys("/start nosuch.md\r")
        terminal.wait("nosuch.md")


@pytest.mark.thorough
def test_a_command_of_the_user_is_told_with_the_next_message(workspace):
    told = {"text": "I see.", "expect": {"messages_contain": "I ran `echo $((40 + 2))`"}}
    with chatting(workspace, told) as terminal:
        terminal.keys("!echo $((40 + 2))\r")
        terminal.wait("\n42")
        terminal.keys("What was it?\r")
        terminal.wait("I see.")


@pytest.mark.thorough
def test_sessions_and_pickers(workspace):
    with chatting(workspace, DONE) as terminal:
        terminal.keys("First task.\r")
        terminal.wait("really")
        terminal.wait("ready")
        terminal.keys("/mode\r")
        terminal.read("a number or a name")
        terminal.wait(later(0.2))
        terminal.keys("2\r")
        terminal.wait("mode plan")
        terminal.keys("/model my/unlisted\r")
        terminal.wait("The next tasks run with my/unlisted.")
        terminal.keys("/permissions full\r")
        terminal.wait("--permission-mode full")
        terminal.keys("/permissions read-only\r")
        terminal.wait("mode is read-only")
        terminal.keys("/permissions ask\r")
        terminal.wait("mode is ask")
        terminal.keys("/new\r")
        terminal.wait("begins a new session")
        terminal.keys("/sessions nowhere\r")
        terminal.wait("no session of this folder has all these words")
        terminal.resize(24, 40)
        terminal.keys("/sessions first\r")
        terminal.wait("completed  First task.")
        answer(terminal, "1", "\r", asked="its number")
        terminal.wait(lambda: "> First task." in terminal.text.partition("completed  First task.")[2])


def test_the_latest_session_is_gone_on_with(workspace):
    with chatting(workspace, arguments=("--last",)) as terminal:
        terminal.wait("this folder has no sessions yet")
    told = {**DONE, "expect": {"messages_contain": "First task."}}
    with chatting(workspace, DONE, told) as terminal:
        terminal.keys("First task.\r")
        terminal.wait("really")
        terminal.wait("ready")
    with chatting(workspace, DONE, told, arguments=("--last",)) as terminal:
        terminal.wait("> First task.")
        terminal.wait("ready")
        terminal.keys("Again.\r")
        terminal.wait(lambda: "really" in terminal.text.partition("> Again.")[2])


@pytest.mark.thorough
def test_a_session_is_named_forked_and_deleted(workspace):
    with chatting(workspace, DONE, DONE, {**DONE, "expect": {"messages_lack": "Second task."}}) as terminal:
        terminal.keys("/fork\r")
        terminal.wait("There is no session yet.")
        for task in ("First task.", "Second task."):
            terminal.keys(f"{task}\r")
            terminal.wait(lambda task=task: "really" in terminal.text.partition(f"> {task}")[2])
            terminal.wait("ready")
        terminal.keys("/rename Two tasks\r")
        terminal.wait("The session is named “Two tasks”.")
        terminal.keys("/fork 1\r")
        terminal.wait("which stays as it is")
        terminal.keys("Third task.\r")
        terminal.wait(lambda: "really" in terminal.text.partition("> Third task.")[2])
        terminal.wait("ready")
        terminal.keys("/delete\r")
        terminal.read("Type yes")
        terminal.wait(later(0.2))
        terminal.keys("no\r")
        terminal.wait("The session is kept.")
        terminal.wait(lambda: "keep it:" not in terminal.text)
        terminal.keys("/delete\r")
        terminal.read("Type yes")
        terminal.wait(later(0.2))
        terminal.keys("yes\r")
        terminal.wait("The session is deleted.")
        terminal.keys("/sessions\r")
        terminal.wait("Two tasks")


def test_an_undo_of_an_earlier_task_is_asked_about(workspace):
    with chatting(workspace, EDIT, DONE, {"text": "Nothing to do."}) as terminal:
        terminal.keys("Two an hour.\r")
        answer(terminal, "1", "\r")
        terminal.wait("really")
        terminal.wait("ready")
        terminal.keys("Look again.\r")
        terminal.wait("Nothing to do.")
        terminal.wait("ready")
        terminal.keys("/undo\r")
        terminal.wait("This one has: Two an hour.")
        answer(terminal, "\x1b", asked="Undo it?")
        terminal.wait(lambda: "Undo it?" not in terminal.text)
        assert "hours * 2" in (workspace / "tariff.py").read_text()
        terminal.keys("/undo\r")
        answer(terminal, "y", "\r", asked="Undo it?")
        terminal.wait("undone: tariff.py")
        assert "hours * 3" in (workspace / "tariff.py").read_text()


def test_a_message_is_taken_back_with_its_files_and_sent_again(workspace):
    again = {"text": "Four it is.", "expect": {"messages_lack": "Two an hour"}}
    with chatting(workspace, EDIT, DONE, again) as terminal:
        terminal.keys("/restore\r")
        terminal.wait("There is no session yet.")
        terminal.keys("Two an hour.\r")
        answer(terminal, "1", "\r")
        terminal.wait("really")
        terminal.wait("ready")
        terminal.keys("/restore\r")
        answer(terminal, "1", "\r", asked="back to before which")
        answer(terminal, "1", "\r", asked="what goes back")
        terminal.wait("undone: tariff.py")
        terminal.wait("\n> Two an hour.\nready")
        assert "hours * 3" in (workspace / "tariff.py").read_text()
        terminal.keys("\x15Four an hour.\r")
        terminal.wait("Four it is.")


def test_a_failed_task_is_tried_again_and_a_spent_budget_gone_on_with(workspace):
    config = Path(surroundings_of(workspace)["XDG_CONFIG_HOME"], "outrider")
    config.mkdir(parents=True)
    (config / "settings.toml").write_text("retry.attempts = 1\nlimits.steps = 1\n")
    look = {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]}
    cut = {"text": "Half of", "fault": {"kind": "cut", "after": 4}}
    with chatting(workspace, cut, look, DONE) as terminal:
        terminal.keys("Look.\r")
        terminal.wait("failed")
        terminal.wait("ready")
        terminal.keys("/retry\r")
        terminal.wait("budget")
        terminal.wait("ready")
        terminal.keys("/continue\r")
        terminal.wait("really")


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {}])
def test_hostile_text_and_colours(workspace, environment):
    turns = [
        {"text": f"Look: {HOSTILE}"},
    ]
    raw = []
    with chatting(workspace, *turns, **environment) as terminal:
        feed = terminal._stream.feed
        terminal._stream.feed = lambda text: (raw.append(text), feed(text))
        terminal.keys("Look.\r")
        terminal.wait("Look: a")
        terminal.wait("ready")
        written = "".join(raw)
        assert "\x1b]0" not in written and "\x1b[2J" not in written and "\u202e" not in written
        colours = [one for one in ("\x1b[3", "\x1b[1;3", "\x1b[0;3") if one in written]
        assert bool(colours) is (not environment)


def test_the_menu_of_completions_has_room_at_the_bottom_of_the_screen(workspace):
    with chatting(workspace) as terminal:
        terminal.keys("/help\r")
        terminal.wait("twice leaves at once")
        terminal.keys("/re")
        for name in ("/rename", "/review", "/redo", "/retry", "/restore", "ready"):
            terminal.wait(lambda name=name: name in terminal.text.rpartition("> /re")[2])
        terminal.keys("\x15")
        terminal.wait(lambda: terminal.text.endswith(">\nready"))


@pytest.mark.thorough
def test_a_dumb_terminal(workspace):
    with chatting(workspace, EDIT, DONE, TERM="dumb") as terminal:
        terminal.read(lambda: terminal.text.endswith(">"))
        terminal.wait(later(0.3))
        terminal.keys("Two an hour.\n")
        terminal.read("leave it")
        terminal.wait(later(0.3))
        terminal.keys("1\n")
        terminal.wait("really")
        terminal.wait(later(1))
        terminal.keys("\x04")
        assert terminal.process.wait(20) == 0
    assert "hours * 2" in (workspace / "tariff.py").read_text()


@pytest.mark.thorough
def test_resized_while_a_question_is_open(workspace):
    with chatting(workspace, EDIT, DONE) as terminal:
        terminal.keys("Two an hour.\r")
        terminal.read("leave it")
        terminal.resize(24, 40)
        terminal.wait(lambda: any("waits for you" in line and len(line) <= 40 for line in terminal.lines))
        answer(terminal, "1", "\r")
        terminal.wait("really")


@pytest.mark.thorough
def test_a_megabyte_pasted(workspace):
    with chatting(workspace, DONE) as terminal:
        terminal.paste("x" * 1_000_000)
        terminal.wait("xxx", 50)
        terminal.keys("\x03")
        terminal.wait(lambda: "xxx" not in terminal.text, 50)


@pytest.mark.thorough
def test_a_terminal_that_goes_away(workspace):
    with chatting(workspace, EDIT, DONE) as terminal:
        terminal.keys("Two an hour.\r")
        terminal.read("leave it")
        os.kill(terminal.process.pid, signal.SIGHUP)
        terminal.process.wait(20)
    assert "hours * 3" in (workspace / "tariff.py").read_text()
    state = Path(surroundings_of(workspace)["XDG_STATE_HOME"])
    assert list(state.rglob("*.db")) or list(state.rglob("*.sqlite*"))


@pytest.mark.parametrize(("key", "then"), [("", "Which provider?"), ("n", "leaves.")])
def test_without_a_model_it_leads_to_one(workspace, key, then):
    env = {**surroundings_of(workspace), "TERM": "xterm-256color"}
    terminal = Terminal([sys.executable, "-m", "outrider"], workspace, env, 40, 80)
    try:
        terminal.read("No model is set yet.")
        terminal.wait(later(0.5))
        terminal.keys(f"{key}\r")
        terminal.wait(then, 40)
        terminal.read("Provider [1]" if not key else "ready")
        terminal.keys("\x04")
        assert terminal.process.wait(20) == (0 if key else 130)
    finally:
        terminal.close()


def test_what_is_wrong_with_the_settings_is_said_at_the_start(workspace):
    config = Path(surroundings_of(workspace)["XDG_CONFIG_HOME"], "outrider")
    config.mkdir(parents=True)
    (config / "settings.toml").write_text('model = "a')
    with chatting(workspace) as terminal:
        terminal.wait("is not valid TOML")


def test_without_a_terminal_it_says_so(workspace):
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "outrider", "chat"],
        cwd=workspace, env=os.environ | surroundings_of(workspace), stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and b"needs a terminal" in done.stderr
    helped = subprocess.run(
        [sys.executable, "-m", "outrider"],
        cwd=workspace, env=os.environ | surroundings_of(workspace), stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert helped.returncode == 2 and b"chat" in helped.stdout
