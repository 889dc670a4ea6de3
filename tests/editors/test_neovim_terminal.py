"""Neovim with the plugin as a user has it: in a terminal, set up by three lines, with keys alone."""

import json

import neovim_driver
import pace
import pytest
from terminal_editor import AFTER, EDIT, Editor, call, place, starting

SET_UP = """
vim.opt.runtimepath:prepend({plugin})
vim.lsp.config('outrider', {{ cmd = {command}, init_options = {{ model = {model}, stateDir = {state} }} }})
vim.lsp.enable('outrider')
"""


class Neovim(Editor):
    """An instance with the lines of the README in its `init.lua`."""

    arguments = ()

    def __init__(self, folder, turns):
        program = neovim_driver.program("0.11")
        if program is None:
            pytest.skip("Neovim 0.11 is not installed: .ci/install-neovim does that, on Linux")
        here = place(folder, turns)
        self.file = here.file
        # By a path in the workspace, so that the picture is the same everywhere.
        self.file.with_name("script.json").write_text(pace.script(turns))
        init = folder / "init.lua"
        # Strings of JSON are strings of Lua.
        init.write_text(
            SET_UP.format(
                plugin=json.dumps(str(neovim_driver.PLUGIN)),
                command="{ " + ", ".join(map(json.dumps, here.command)) + " }",
                model=json.dumps("scripted:script.json"),
                state=json.dumps(here.state),
            )
        )
        super().__init__(
            [str(program), "--clean", "-u", str(init), str(self.file), *self.arguments],
            self.file.parent,
            {"TERM": "xterm-256color", "COLORTERM": "truecolor", "HOME": str(folder)},
            rows=24,
        )


class WithTask(Neovim):
    """An instance that is started with a task: nothing of the server is there when it is given."""

    arguments = ("-c", "Outrider run Correct the price")


neovim = starting(Neovim)
neovim_with_task = starting(WithTask)


@pytest.mark.timeout(120)
def test_an_edit_is_seen_at_its_lines_and_taken_by_a_key(neovim):
    editor = neovim({"text": "It says two, so I change the code."} | EDIT, {"text": "Fixed."})
    editor.wait("def price(hours):")
    # Before the server is there, mostly: the task is sent once it is.
    editor.keys(":Outrider run Correct the price\r")
    editor.keys("3G")
    editor.read(lambda: "\\a accept" in editor.text and "3,1" in editor.text)
    editor.shot("neovim")
    editor.keys("\\a")
    editor.wait("completed")
    editor.keys(":w\r")
    editor.wait(lambda: editor.file.read_text() == AFTER)


@pytest.mark.timeout(120)
def test_a_task_of_the_command_line_waits_for_the_server(neovim_with_task):
    editor = neovim_with_task({"text": "It says two, so I change the code."} | EDIT, {"text": "Fixed."})
    editor.wait("Outrider asks: Edit tariff.py")
    assert "It says two" in editor.text


@pytest.mark.timeout(120)
def test_the_edits_of_one_step_are_one_question_in_the_session(neovim):
    more = call("write_file", path="notes.txt", content="two an hour\n")["tool_calls"]
    editor = neovim({"tool_calls": [*EDIT["tool_calls"], *more]}, {"text": "Fixed."})
    editor.wait("def price(hours):")
    editor.keys(":Outrider run Correct the price\r")
    editor.wait("Outrider asks: 2 edits in one step")
    editor.keys(":Outrider open\r")
    editor.read(lambda: "? 2 edits in one step" in editor.text and "allow all 2" in editor.text)
    editor.shot("neovim-together")
    editor.keys("a")
    editor.wait("completed")
    assert (editor.file.parent / "notes.txt").read_text() == "two an hour\n"
