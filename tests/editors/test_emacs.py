"""A real Emacs in a terminal, as it comes: eglot, no plugin, a user's keys."""

import json
import re

import pytest
from neovim_driver import INSTALLED
from recipes import recipe
from terminal_editor import AFTER, BEFORE, EDIT, Editor, call, place, starting

EMACS = INSTALLED / "emacs"

pytestmark = pytest.mark.skipif(
    not EMACS.exists(), reason="Emacs is not installed: .ci/install-terminal-editors does that, on Debian"
)

QUIET = """
(setq inhibit-startup-screen t make-backup-files nil create-lockfiles nil native-comp-jit-compilation nil)
(setq eglot-autoreconnect t)
(add-hook 'python-mode-hook 'eglot-ensure)
"""
"""So that nothing asks or writes beside the recipe, and a server is started again also in its first seconds."""

CLEAR = "\x01\x0b"
"""C-a C-k: takes away what the minibuffer holds already."""
UNDO, REDO = "\x1f", "\x1b\x1f"
"""C-/ and C-M-_"""
QUIT = "\x07"
SCROLL_OTHER = "\x1b\x16"
"""C-M-v: the other window, while the minibuffer has the keyboard."""
PICK = "[eglot] Pick an action"
END = "\x1b>"


class Emacs(Editor):
    """An instance set up as `editors/README.md` says, with a file that holds an instruction comment."""

    def __init__(self, folder, turns, without=None):
        here = place(folder, turns)
        self.file = here.file
        init = folder / "init.el"
        # Strings of JSON are strings of Emacs Lisp.
        changes = {
            '"outrider" "serve"': " ".join(map(json.dumps, here.command)),
            ':model "my/model-name"': f":model {json.dumps(here.model)} :stateDir {json.dumps(here.state)}",
        }
        lines = recipe("Emacs (eglot)", changes)
        if without is not None:
            lines = lines.replace(without, "no-such-method")
        init.write_text(lines + QUIET)
        # Of a terminal by the name of xterm it asks more than there is to answer.
        super().__init__(
            [str(EMACS), "-Q", "-nw", "-l", str(init), str(self.file)],
            self.file.parent,
            {"TERM": "screen-256color", "HOME": str(folder)},
            rows=24,
        )
        self.wait("Connected! Server `outrider'")

    @property
    def buffer(self):
        """What the window shows of the buffer, without Flymake's margin; None while a half of the screen is drawn."""
        found = [number for number, line in enumerate(self.lines) if " F1  tariff.py" in line]
        if len(found) != 1:
            return None
        lines = [line[2:] for line in self.lines[1 : found[0]]]
        return "\n".join(lines).rstrip() + "\n"

    def actions(self):
        """Ask for the code actions at the cursor: Emacs asks which one then."""
        self.keys("\x1bxeglot-code-actions\r")
        self.wait(PICK)

    def take(self, title):
        """Take the code action that begins so, as soon as it is offered."""

        def taken():
            self.actions()
            self.keys(f"{title}\t\r")
            self.wait(lambda: "[No match]" in self.text or PICK not in self.text)
            if "[No match]" not in self.text:
                return True
            self.keys(QUIT)
            self.wait(lambda: PICK not in self.text)
            return False

        self.wait(taken)

    def said(self):
        """The lines of *Messages*, which also has those that were overwritten at once."""
        said = self.file.parent.parent / "said"
        self.keys(f'\x1b:(with-current-buffer "*Messages*" (write-region nil nil "{said}"))\r')
        self.wait(lambda: said.exists() and said.read_text())
        return re.findall(r"Server reports \(type=\d\): (.*)", said.read_text())


class Plain(Emacs):
    """One without the recipe's method that makes it tell of an edit at once."""

    def __init__(self, folder, turns):
        super().__init__(folder, turns, without="workspace/applyEdit")


emacs, plain = starting(Emacs), starting(Plain)
TASK = (call("read_file", path="tariff.py"), EDIT, {"text": "Fixed."})


def test_a_task_by_code_action_edits_the_buffer_as_one_undo_step_and_undo_keeps_what_was_typed(emacs):
    editor = emacs(*TASK)
    editor.actions()
    editor.wait("(default Outrider: do “two for each hour”)")
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.wait("+    return hours * 2")
    editor.shot("emacs")
    assert editor.buffer == BEFORE
    editor.keys(CLEAR + "Allow once\r")
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)
    assert editor.file.read_text() == BEFORE, "the edit must be in the buffer only"

    editor.keys(UNDO)
    editor.wait_for_buffer(BEFORE)
    editor.keys(REDO)
    editor.wait_for_buffer(AFTER)
    editor.keys(END + "# typed by the user")
    editor.wait_for_buffer(AFTER + "# typed by the user\n")
    editor.take("Outrider: undo turn")
    editor.wait_for_buffer(BEFORE + "# typed by the user\n")
    editor.take("Outrider: redo")
    editor.wait_for_buffer(AFTER + "# typed by the user\n")
    # Emacs tells of an edit only when no command is being done: it must not be missed for that.
    *_, said = editor.said()
    assert said.startswith("Outrider, completed: Fixed.")


def test_a_proposal_of_many_lines_is_seen_whole_before_it_is_answered(emacs):
    lines = "".join(f"# line {number}\n" for number in range(1, 15))
    long = {"path": "tariff.py", "edits": [
        {"old": "return hours * 3", "new": "return hours * 2"},
        {"old": "def price(hours):", "new": f"{lines}def price(hours):"},
    ]}  # fmt: skip
    editor = emacs(call("read_file", path="tariff.py"), call("edit_file", **long), {"text": "Fixed."})
    editor.actions()
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.wait("Outrider asks")
    editor.wait("+# line 1")
    editor.shot("emacs-long")
    while "+    return hours * 2" not in editor.text:
        before = editor.text
        editor.keys(SCROLL_OTHER)
        editor.wait(lambda before=before: editor.text != before)
    editor.keys(CLEAR + "Allow once\r")
    editor.wait("Outrider, completed: Fixed.")
    editor.wait(lambda: "Outrider asks" not in editor.text)


SLOW = {"text": "I look at it first.", "chunk": 4, "delay": 0.8} | EDIT
"""A model that takes its time, so that Emacs is idle when the question comes."""


def allow_slowly(editor):
    """Take the task of the comment, and allow its edit once Emacs is idle."""
    editor.actions()
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.keys(CLEAR + "Allow once\r")


def is_known(editor):
    """Wait until the edit counts: it can be taken back."""
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)
    editor.take("Outrider: undo turn")
    editor.wait_for_buffer(BEFORE)


@pytest.mark.thorough
def test_an_edit_is_told_of_after_a_question_that_came_out_of_idleness(emacs):
    editor = emacs(SLOW, {"text": "Fixed."})
    allow_slowly(editor)
    is_known(editor)


@pytest.mark.thorough
def test_without_the_recipes_method_the_person_is_asked_for_a_key(plain):
    editor = plain(SLOW, {"text": "Fixed."})
    allow_slowly(editor)
    editor.wait("Outrider: press any key")
    editor.keys(QUIT)
    is_known(editor)


def test_return_takes_the_harmless_answer(emacs):
    editor = emacs(EDIT, {"text": "Left as it is."})
    editor.actions()
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.keys("\r")
    editor.wait("Outrider, completed: Left as it is.")
    assert editor.buffer == BEFORE


@pytest.mark.thorough
def test_a_dismissed_question_is_no_yes_and_a_code_action_answers_it_later(emacs):
    editor = emacs(EDIT, {"text": "Fixed."})
    editor.actions()
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.keys(QUIT)
    editor.wait(lambda: "Choose an option" not in editor.text)
    assert editor.buffer == BEFORE
    editor.take("Outrider: Allow once")
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)


def test_a_review_opens_without_the_question_and_is_applied_there(emacs):
    editor = emacs(EDIT, {"text": "Fixed."})
    editor.actions()
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.keys(CLEAR + "Review…\r")
    editor.wait("[x] chg_")
    editor.wait(lambda: "Choose an option" not in editor.text)
    editor.take("Outrider: apply the review (1 of 1 accepted)")
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)


def test_a_task_is_given_as_a_command_and_cancelled_by_code_action(emacs):
    editor = emacs(EDIT, {"text": "Never said."})
    editor.keys("\x1bxoutrider-run\r")
    editor.wait("Task:")
    editor.keys("correct the price\r")
    editor.read("Choose an option: Reject")
    editor.keys(QUIT)
    editor.wait(lambda: "Choose an option" not in editor.text)
    editor.take("Outrider: cancel turn")
    editor.wait("Outrider, cancelled")
    assert editor.buffer == BEFORE


def test_after_the_server_was_killed_code_actions_undo_or_cancel_what_was_cut_off(emacs):
    editor = emacs(EDIT, {"text": "Never said.", "delay": 3600})
    editor.actions()
    editor.keys("\r")
    editor.read("Choose an option: Reject")
    editor.keys(CLEAR + "Allow once\r")
    editor.wait_for_buffer(AFTER)
    editor.kill_server()
    editor.wait("Outrider: the server was stopped in “two for each hour (")
    editor.take("Outrider: undo turn “two for")
    editor.wait_for_buffer(BEFORE)
    editor.take("Outrider: cancel “two for")
    editor.wait("Outrider, cancelled")
    assert editor.buffer == BEFORE


def test_a_task_is_written_in_its_document_and_done_from_there(emacs):
    editor = emacs(EDIT, {"text": "Fixed."})
    editor.take("Outrider: write a task…")
    editor.wait(" F1  task.md")
    editor.wait("Write below this line")
    editor.keys(END + "correct the price")
    editor.take("Outrider: Send “correct the price”")
    editor.read("Choose an option: Reject")
    editor.keys(CLEAR + "Allow once\r")
    editor.wait("Completed")
    # The window may have moved on behind the answer: which lines it shows depends on when it was drawn.
    editor.keys("\x12> Fixed.\r")
    editor.wait(lambda: "> Fixed." in (line.strip() for line in editor.text.splitlines()))
    editor.keys("\x18btariff.py\r")
    editor.wait(" F1  tariff.py")
    editor.wait_for_buffer(AFTER)
