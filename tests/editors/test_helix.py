"""A real Helix in a terminal, as it comes: a user's keys, no plugin. One that asks, and one that cannot."""

import json

import pytest
from neovim_driver import INSTALLED
from recipes import recipe
from terminal import ROWS
from terminal_editor import AFTER, BEFORE, EDIT, Editor, call, place, starting

PROBLEMS = """
from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("problems", "1")


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def opened(params: types.DidOpenTextDocumentParams):
    there = types.Range(types.Position(2, 4), types.Position(2, 20))
    found = [types.Diagnostic(there, "three is too much", source="prices")]
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, found))


server.start_io()
"""

TYPED = "    # typed by the user\n"
"""Helix gives a line that is opened the indent of the one above."""

CHANGED = '"method":"textDocument/didChange"'
ESCAPE, RETURN, NEXT = "\x1b", "\r", "\x0e"


class Helix(Editor):
    """An instance set up by the recipe, maybe with a server beside Outrider that finds problems, and a file that holds an instruction comment.

    `file`, `language` and `more`: another file of the workspace, what Helix calls its language, and settings of Outrider in TOML.
    """

    def __init__(self, program, folder, turns, *others, rows=ROWS, file=None, language="python", more=""):
        here = place(folder, turns)
        self.file = here.file if file is None else here.file.with_name(file)
        self.file.touch()
        languages = folder / "config" / "helix" / "languages.toml"
        languages.parent.mkdir(parents=True)
        # Strings of JSON are strings of TOML.
        problems = folder / "problems.py"
        problems.write_text(PROBLEMS)
        program_of_server, *arguments = here.command
        model = f"model = {json.dumps(here.model)}, stateDir = {json.dumps(here.state)}{more}"
        changes = {
            'command = "outrider"': f"command = {json.dumps(program_of_server)}",
            'args = ["serve"]': f"args = {json.dumps(arguments)}",
            'model = "my/model-name"': model,
            'name = "python"': f'name = "{language}"',
            '["pylsp", "outrider"]': json.dumps([*others, "outrider"]),
        }
        another = {"command": program_of_server, "args": [str(problems)]}
        lines = [f"{key} = {json.dumps(value)}" for key, value in another.items()]
        languages.write_text("\n".join([recipe("Helix", changes), "[language-server.problems]", *lines, ""]))
        self._log = folder / "helix.log"
        super().__init__(
            [str(program), "-v", "--log", str(self._log), str(self.file)],
            self.file.parent,
            {
                "TERM": "xterm-256color",
                "HOME": str(folder),
                "XDG_CONFIG_HOME": str(folder / "config"),
                "XDG_CACHE_HOME": str(folder),
                "COLORTERM": "truecolor",
            },
            rows,
        )
        self.wait(lambda: self.log.count('"method":"textDocument/didOpen"') > len(others))

    @property
    def log(self):
        """What Helix says of the wire."""
        return self._log.read_text() if self._log.exists() else ""

    @property
    def buffer(self):
        """What the window shows of the buffer, without the line numbers."""
        lines = [line for line in self.lines if line[:5].strip().isdigit()]
        return "".join(f"{line[7:]}\n" for line in lines)

    @property
    def menu(self):
        """The code actions that are offered."""
        return [line[line.index("Outrider: ") :] for line in self.lines[:-1] if " Outrider: " in line]

    def type(self, text):
        """Type no faster than it is told of: 25.01 sends changes that follow each other at once in any order."""
        for key in text:
            told = self.log.count(CHANGED)
            self.keys(key)
            self.wait(lambda told=told: self.log.count(CHANGED) > told)

    def take(self, title):
        """Take the code action that begins so, as soon as it is offered."""

        def taken():
            self.keys(" a")
            self.wait(lambda: self.menu)
            found = [number for number, one in enumerate(self.menu) if one.startswith(title)]
            self.keys(NEXT * found[0] + RETURN if found else ESCAPE)
            self.wait(lambda: not self.menu)
            return found

        assert self.wait(taken)


def helix(name, *others, rows=ROWS):
    """A fixture that starts the Helix of a name."""

    def make(folder, turns):
        program = INSTALLED / name
        if not program.exists():
            pytest.skip("Helix is not installed: .ci/install-terminal-editors does that, on Debian")
        return Helix(program, folder, turns, *others, rows=rows)

    return starting(make)


asking = helix("hx")
beside_another = helix("hx", "problems")
silent = helix("hx-25.01")
small = helix("hx", rows=24)


DO = "Outrider: do “two for each hour”"


def shows_the_question(editor):
    return all(title in editor.text for title in ("Edit tariff.py", "+    return hours * 2", " Review…"))


def dismiss(editor):
    editor.keys(ESCAPE)
    # With the next key an Escape would be one key, that with Alt.
    editor.wait(lambda: " Review…" not in editor.text)


def undo_redo_type_and_take_back(editor):
    """What a user does with the edit that is in the buffer."""
    editor.keys("u")
    editor.wait_for_buffer(BEFORE)
    editor.keys("U")
    editor.wait_for_buffer(AFTER)
    editor.keys("ge")
    editor.type("o# typed by the user")
    editor.keys(ESCAPE)
    editor.wait_for_buffer(AFTER + TYPED)
    editor.wait(" NOR ")
    editor.take("Outrider: undo turn")
    editor.wait_for_buffer(BEFORE + TYPED)
    editor.take("Outrider: redo")
    editor.wait_for_buffer(AFTER + TYPED)
    assert "Outrider left unchanged" not in editor.log


def test_a_task_by_code_action_edits_the_buffer_as_one_undo_step_and_undo_keeps_what_was_typed(small):
    editor = small(call("read_file", path="tariff.py"), EDIT, {"text": "Fixed."})
    editor.take(DO)
    editor.read(lambda: shows_the_question(editor))
    editor.shot("helix")
    assert editor.buffer == BEFORE
    editor.keys(NEXT + RETURN)
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)
    assert editor.file.read_text() == BEFORE, "the edit must be in the buffer only"
    undo_redo_type_and_take_back(editor)


def test_return_takes_the_harmless_answer(asking):
    editor = asking(EDIT, {"text": "Left as it is."})
    editor.take(DO)
    editor.read(lambda: shows_the_question(editor))
    editor.keys(RETURN)
    editor.wait("Outrider, completed: Left as it is.")
    editor.wait_for_buffer(BEFORE)


def test_a_dismissed_question_is_no_yes_and_a_code_action_answers_it_later(asking):
    editor = asking(EDIT, {"text": "Fixed."})
    editor.take(DO)
    editor.read(lambda: shows_the_question(editor))
    dismiss(editor)
    assert editor.buffer == BEFORE
    editor.take("Outrider: Allow once — ")
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)


def test_a_review_opens_without_the_question_over_it_and_is_applied_there(asking):
    editor = asking(EDIT, {"text": "Fixed."})
    editor.take(DO)
    editor.read(lambda: shows_the_question(editor))
    editor.keys(NEXT * 4 + RETURN)
    editor.wait("[x] chg_")
    editor.wait("Outrider is waiting for you")
    assert " Allow once" not in editor.text
    editor.take("Outrider: apply the review (1 of 1 accepted)")
    editor.wait("Outrider, completed: Fixed.")
    editor.keys(":buffer-previous" + RETURN)
    editor.wait_for_buffer(AFTER)


def test_where_it_cannot_ask_the_whole_task_goes_by_code_actions(silent):
    editor = silent(EDIT, {"text": "Fixed."})
    editor.take(DO)
    editor.take("Outrider: Allow once — ")
    editor.wait("Outrider, completed: Fixed.")
    editor.wait_for_buffer(AFTER)
    assert editor.file.read_text() == BEFORE, "the edit must be in the buffer only"
    undo_redo_type_and_take_back(editor)


@pytest.mark.thorough
def test_a_task_is_given_as_a_command_and_cancelled_by_code_action(asking):
    editor = asking(EDIT, {"text": "Never said."})
    editor.keys(':lsp-workspace-command outrider.run {"prompt": "correct the price"}' + RETURN)
    editor.read(lambda: shows_the_question(editor))
    dismiss(editor)
    editor.take("Outrider: cancel turn")
    editor.wait("Outrider, cancelled")
    assert editor.buffer == BEFORE


def test_why_a_task_was_not_taken_is_said(asking):
    editor = asking({"text": "Never said."})
    editor.keys(':lsp-workspace-command outrider.run {"promt": "correct the price"}' + RETURN)
    editor.wait("Outrider: outrider.run: prompt: Field required; promt: there is no such key")


HANGS = {"text": "Never said.", "delay": 3600}


def test_after_the_server_was_killed_it_is_said_and_code_actions_undo_or_cancel_what_was_cut_off(asking):
    editor = asking(EDIT, HANGS)
    editor.take(DO)
    editor.read(lambda: shows_the_question(editor))
    editor.keys(NEXT + RETURN)
    editor.wait_for_buffer(AFTER)
    editor.kill_server()
    editor.keys(":lsp-restart" + RETURN)
    editor.wait("Outrider: the server was stopped in “two for each hour (")
    editor.wait("Code actions resume, cancel or undo it.")
    editor.take("Outrider: undo turn “two for")
    editor.wait_for_buffer(BEFORE)
    editor.take("Outrider: redo “two for")
    editor.wait_for_buffer(AFTER)
    editor.take("Outrider: cancel “two for")
    editor.wait("Outrider, cancelled")
    editor.take("Outrider: undo turn")
    editor.wait_for_buffer(BEFORE)


@pytest.mark.thorough
def test_a_problem_that_another_server_found_is_a_task(beside_another):
    told = {"messages_contain": ["three is too much", "tariff.py"]}
    editor = beside_another(EDIT | {"expect": told}, {"text": "Fixed."})
    editor.wait("three is too much")
    editor.keys("2jww")
    editor.take("Outrider: fix “three is too much”")
    editor.read(lambda: shows_the_question(editor))
    editor.keys(NEXT + RETURN)
    editor.wait("Outrider, completed: Fixed.")
    editor.wait("return hours * 2")


def write_and_do_it(editor):
    """Write a task at the end of its document, and have it done."""
    editor.wait("Write below this line")
    write_at_the_end(editor, "correct the price", "Outrider: Send “correct the price”")


def write_at_the_end(editor, words, action):
    """Write a line at the end of a document, and take an action there."""
    editor.keys("ge")
    editor.type(f"o{words}")
    editor.keys(ESCAPE)
    editor.wait(" NOR ")
    editor.take(action)


def test_a_task_is_written_in_its_document_and_done_from_there(asking):
    editor = asking(EDIT, {"text": "Fixed."})
    editor.take("Outrider: write a task…")
    write_and_do_it(editor)
    editor.read(lambda: shows_the_question(editor))
    editor.keys(NEXT + RETURN)
    editor.wait("> Fixed.")
    editor.keys(":buffer-previous" + RETURN)
    editor.wait_for_buffer(AFTER)


def test_where_it_cannot_ask_the_whole_task_goes_by_the_document(silent):
    ask = call("ask_user", question="Which tax?", options=["19", "7"])
    answer = "Fixed. " * 80 + "\n\nThat is all."
    editor = silent(EDIT, ask, {"text": answer})
    editor.take("Outrider: write a task…")
    editor.wait("task.md")
    editor.keys(":open .outrider/task.md" + RETURN)
    write_and_do_it(editor)
    editor.wait("> +    return hours * 2")
    editor.keys("gg/Waits for you: approval" + RETURN)
    editor.take("Outrider: Allow once — ")
    editor.wait("> Which tax?")
    write_at_the_end(editor, "the law", "Outrider: answer “the law”")
    editor.keys("ge")
    editor.wait("> That is all.")
    editor.wait("Completed")
    editor.wait(lambda: "the law" not in editor.text.partition("Write below this line")[2])
    editor.take("Outrider: undo turn")
    editor.wait("undone “tariff.py”: 1 change")
    editor.keys(":buffer-previous" + RETURN)
    editor.wait_for_buffer(BEFORE)


@pytest.mark.thorough
def test_where_no_document_opens_by_itself_a_message_says_which_one(silent):
    editor = silent(EDIT, {"text": "Fixed."})
    editor.take("Outrider: write a task…")
    editor.wait("task.md")
    editor.keys(":open .outrider/task.md" + RETURN)
    write_and_do_it(editor)
    editor.take("Outrider: Allow once — ")
    editor.wait("Outrider, completed: Fixed.")
    editor.keys(":buffer-previous" + RETURN)
    editor.wait_for_buffer(AFTER)


def test_what_is_moved_in_the_editor_is_followed_by_the_undo(asking):
    editor = asking(EDIT, {"text": "Done."})
    editor.take(DO)
    editor.read(lambda: shows_the_question(editor))
    editor.keys(NEXT + RETURN)
    editor.wait("completed")
    editor.keys(":w" + RETURN)
    editor.wait("written")
    editor.keys(":move ./price.py" + RETURN)
    editor.wait(lambda: '"method":"workspace/didRenameFiles"' in editor.log)
    editor.take("Outrider: undo turn")
    editor.wait_for_buffer(BEFORE)
    editor.keys(":w" + RETURN)
    moved = editor.file.with_name("price.py")
    editor.wait(lambda: moved.read_text() == BEFORE)
    assert not editor.file.exists()
