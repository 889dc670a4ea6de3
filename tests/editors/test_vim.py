"""A real Vim with vim-lsp in a terminal: a user's keys, no plugin of ours."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from neovim_driver import INSTALLED
from recipes import recipe
from terminal_editor import AFTER, BEFORE, EDIT, Editor, call, place, starting

VIM = shutil.which("vim")
VIM_LSP = Path(os.environ.get("OUTRIDER_VIM_LSP", INSTALLED / "vim-lsp"))
"""A checkout of vim-lsp. No package registry has it, so nothing here installs it."""

pytestmark = [
    pytest.mark.skipif(VIM is None, reason="Vim is not installed"),
    pytest.mark.skipif(
        not (VIM_LSP / "autoload" / "lsp.vim").exists(),
        reason="vim-lsp is not there: OUTRIDER_VIM_LSP says in which folder it is",
    ),
]

SETUP = """
set nocompatible noswapfile
set runtimepath^={plugin}
filetype plugin on
let g:lsp_log_file = {log}
"""
"""What is there before the recipe, and vim-lsp's log, which tells when it is ready."""

ACTIONS = "\\a"
UNDO, REDO = "u", "\x12"
ESCAPE, RETURN = "\x1b", "\r"
MENU, CHOOSE, MORE = "╔Code actions", "Type number and <Enter>", "Press ENTER"


class Vim(Editor):
    """An instance set up as `editors/README.md` says, with a file that holds an instruction comment."""

    def __init__(self, folder, turns):
        here = place(folder, turns)
        self.file = here.file
        log = folder / "vim-lsp.log"
        vimrc = folder / "vimrc"
        # Strings and lists of JSON are those of Vim script.
        changes = {
            "['outrider', 'serve']": json.dumps(here.command),
            "'model': 'my/model-name'": f"'model': {json.dumps(here.model)}, 'stateDir': {json.dumps(here.state)}",
        }
        before = SETUP.format(plugin=VIM_LSP, log=json.dumps(str(log)))
        vimrc.write_text(before + recipe("Vim (vim-lsp)", changes))
        super().__init__(
            [VIM, "-u", str(vimrc), "-i", "NONE", str(self.file)],
            self.file.parent,
            {"TERM": "screen-256color", "HOME": str(folder)},
        )
        self.wait(lambda: log.exists() and '"textDocument/didOpen"' in log.read_text())

    @property
    def buffer(self):
        """What the window shows of the buffer, without the column of signs, which comes and goes."""
        lines = [line for line in self.lines[:-1] if line and not line.startswith("~")]
        signs = all(line[:2] in ("  ", "A>") for line in lines)
        return "".join(f"{line[2:] if signs else line}\n" for line in lines)

    def wait_for_buffer(self, text):
        # What was said before may fill the screen.
        self.wait(lambda: self.buffer == text or MORE in self.text)
        if MORE in self.text:
            self.keys(RETURN)
            self.wait(lambda: self.buffer == text)

    def actions(self):
        """Ask for the code actions at the cursor or of the selection; gives the lines of the menu."""
        self.keys(ACTIONS)
        self.wait(lambda: MENU in self.text or MORE in self.text)
        if MENU not in self.text:
            self.keys(RETURN)
            self.wait(MENU)
        return [line for line in self.lines if "[outrider] Outrider: " in line]

    def take(self, title):
        """Take the code action that begins so, as soon as it is offered."""

        def taken():
            found = [line for line in self.actions() if f"] Outrider: {title}" in line]
            self.keys(re.search(r"\[(\d)\]", found[0])[1] if found else "x")
            self.wait(lambda: MENU not in self.text)
            return found

        self.wait(taken)

    def answer(self, number):
        """Answer the list by a number; Vim drops what is typed ahead of the prompt."""
        self.wait(CHOOSE)
        self.keys(number)
        self.wait(lambda: f"cancels): {number}" in self.text)
        self.keys(RETURN)
        self.wait(lambda: CHOOSE not in self.text)

    def dismiss(self):
        self.wait(CHOOSE)
        self.keys("q")
        # The next key would be one for the list.
        self.wait(lambda: CHOOSE not in self.text)


vim = starting(Vim)
DO = "do “two for each hour”"


def test_a_task_by_code_action_edits_the_buffer_as_one_undo_step_and_undo_keeps_what_was_typed(vim):
    editor = vim(call("read_file", path="tariff.py"), EDIT, {"text": "Fixed."})
    editor.take(DO)
    editor.wait("+    return hours * 2")
    editor.answer("1")
    # Without a key Vim does not notice the edit: that it counts as done shows that vim-lsp was made to tell of it.
    editor.wait("outrider: info: Outrider, completed: Fixed. (unverified")
    editor.wait_for_buffer(AFTER)
    assert editor.file.read_text() == BEFORE, "the edit must be in the buffer only"

    editor.keys(UNDO)
    editor.wait_for_buffer(BEFORE)
    editor.keys(REDO)
    editor.wait_for_buffer(AFTER)
    editor.keys("Go# typed by the user" + ESCAPE)
    editor.wait_for_buffer(AFTER + "# typed by the user\n")
    editor.take("undo turn")
    editor.wait_for_buffer(BEFORE + "# typed by the user\n")
    editor.take("redo")
    editor.wait_for_buffer(AFTER + "# typed by the user\n")


def test_the_first_answer_alone_comes_through_and_code_actions_give_the_others(vim):
    editor = vim(EDIT, {"text": "Left as it is."})
    editor.take(DO)
    editor.wait("Only the first answer can be chosen here")
    editor.wait("4 - [outrider] Reject")
    editor.answer("4")
    editor.take("Reject — Edit tariff.py")
    editor.wait("Outrider, completed: Left as it is.")
    editor.wait_for_buffer(BEFORE)


def test_edits_follow_one_another_without_a_key(vim):
    again = call("edit_file", path="tariff.py", old="hours * 2", new="hours * 4")
    editor = vim(EDIT, again, {"text": "Fixed."})
    editor.take(DO)
    editor.dismiss()
    editor.take("Allow for this session — Edit tariff.py")
    editor.wait("Outrider, completed: Fixed. (unverified")
    editor.wait_for_buffer(BEFORE.replace("* 3", "* 4"))
    editor.take("undo turn")
    editor.wait_for_buffer(BEFORE)


def test_a_dismissed_question_is_no_yes_and_the_turn_is_cancelled_by_code_action(vim):
    editor = vim(EDIT, {"text": "Never said."})
    editor.keys(":Task correct the price" + RETURN)
    editor.dismiss()
    assert editor.buffer == BEFORE
    editor.take("cancel turn")
    editor.wait("Outrider, cancelled")
    assert editor.buffer == BEFORE


def test_a_task_for_a_selection(vim):
    editor = vim({"text": "It is the price."})
    editor.keys("jVj")
    editor.take("explain selection")
    editor.wait("Outrider, completed: It is the price.")


def test_a_task_is_written_in_its_document_and_edits_a_buffer_that_is_not_shown(vim):
    editor = vim(EDIT, {"text": "Fixed."})
    editor.take("write a task…")
    editor.wait("Outrider: open .outrider/task.md: write your text there.")
    editor.keys(":edit .outrider/task.md" + RETURN)
    editor.wait("Write below this line")
    editor.keys("Gocorrect the price" + ESCAPE)
    editor.take("Send “correct the price”")
    editor.answer("1")
    editor.wait("Outrider, completed: Fixed. (unverified")
    editor.keys(":buffer tariff.py" + RETURN)
    editor.wait_for_buffer(AFTER)
    editor.take("undo turn")
    editor.wait_for_buffer(BEFORE)
