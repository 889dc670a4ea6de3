"""In a real Neovim a task is written in a buffer of its own, and answers are highlighted as the Markdown they are."""

import subprocess

import pytest
from neovim_plugin import DONE, EDIT

from planted_git import lacks_an_object, names_a_monitor, planted_program

ANSWER = (
    "# Head\n\nSome **bold** text and `code`.\n\n```lua\nlocal one = 1\n```\n\n```\nnever ended *is not* bold"
)
MARKS = """
local ns = vim.api.nvim_get_namespaces()['outrider-markdown']
local buffer = vim.fn.bufnr('outrider://ses_')
return vim.tbl_map(function(m)
  local text = vim.api.nvim_buf_get_text(buffer, m[2], m[3], m[4].end_row, m[4].end_col, {})[1]
  return { m[4].hl_group or '', text, m[4].conceal or false }
end, vim.api.nvim_buf_get_extmarks(buffer, ns, 0, -1, { details = true }))
"""


@pytest.mark.parametrize("version", ["0.11", "0.12"])
def test_an_answer_is_highlighted_and_what_tools_gave_is_not(plugin, version):
    shown = {"text": ANSWER}
    reads = {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]}
    nvim = plugin([reads, shown], version=version, text="a = 2 * 3 * 4 # **bold** `code`\n").ready()
    if not nvim.lua("return (pcall(vim.treesitter.get_string_parser, '', 'markdown'))"):
        pytest.skip(f"Neovim {version} has no parser of Markdown here")
    nvim.run().until_done()
    marks = nvim.lua(MARKS)
    groups = {(group, text) for group, text, _ in marks}
    assert ("@markup.strong.markdown_inline", "**bold**") in groups
    assert ("@markup.raw.markdown_inline", "`code`") in groups
    assert any(conceal == "" and text == "*" for _, text, conceal in marks), "the signs are hidden"
    assert sum(text == "**bold**" for _, text in groups) == 1, "in the file a star is a star"
    nvim.ex("Outrider open")
    levels = "return vim.wo[vim.fn.bufwinid(vim.fn.bufnr('outrider://ses_'))].conceallevel"
    assert nvim.lua(levels) == 2


def test_a_task_is_written_sent_and_recalled(plugin):
    nvim = plugin([DONE, DONE]).ready()
    nvim.ex("Outrider compose")
    nvim.keys("fix the price<CR>in whole coins<C-s>")
    nvim.until_done()
    assert nvim.shown[2:4] == ["# fix the price", "in whole coins"]
    assert nvim.lua("return vim.fn.bufwinid('outrider://compose')") == -1
    nvim.ex("Outrider compose")
    nvim.keys("<Up>")
    nvim.wait("vim.api.nvim_get_current_line() == 'fix the price'")
    nvim.keys("<Down>")
    nvim.wait("vim.api.nvim_get_current_line() == ''")


def test_files_are_completed_and_a_mode_is_chosen(plugin):
    explores = DONE | {"expect": {"messages_contain": ["why @tariff.py"]}}
    nvim = plugin([explores]).ready()
    folder = nvim.file.parent
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    nvim.ex("Outrider compose")
    complete = "return require('outrider.compose').omnifunc(0, '@tar')"
    nvim.wait(f"#(function() {complete} end)() > 0")
    assert [one["word"] for one in nvim.lua(complete)] == ["@tariff.py"]
    assert [one["abbr"] for one in nvim.lua("return require('outrider.compose').omnifunc(0, '/p')")] == [
        "/plan"
    ]
    assert nvim.lua("return vim.bo.omnifunc") == "v:lua.require'outrider.compose'.omnifunc"
    nvim.keys("/explore why @tar<C-x><C-o><C-y><C-s>")
    nvim.until_done()
    assert any(line.startswith("explore · scripted") for line in nvim.shown)


def test_custom_commands_are_completed_and_called(plugin):
    neat = DONE | {"expect": {"messages_contain": ["Tidy up the tariff."]}}
    nvim = plugin([neat], init={"trusted": True}).ready()
    folder = nvim.file.parent / ".claude" / "commands"
    folder.mkdir(parents=True)
    (folder / "tidy.md").write_text("---\ndescription: Make it neat\n---\nTidy up $ARGUMENTS.\n")
    nvim.ex("Outrider compose")
    complete = "return require('outrider.compose').omnifunc(0, '/ti')"
    nvim.wait(f"#(function() {complete} end)() > 0")
    assert [one["abbr"] for one in nvim.lua(complete)] == ["/tidy"]
    nvim.keys("/ti<C-x><C-o><C-y>the tariff<C-s>")
    nvim.until_done()
    assert nvim.shown[2] == "# /tidy the tariff"


@pytest.mark.parametrize("plant", [names_a_monitor, lacks_an_object])
def test_completing_files_runs_no_program_of_the_repository(plugin, tmp_path, plant):
    nvim = plugin([DONE]).ready()
    program, ran = planted_program(tmp_path)
    plant(nvim.file.parent, program)
    nvim.ex("Outrider compose")
    nvim.wait("#(function() return require('outrider.compose').omnifunc(0, '@tar') end)() > 0")
    assert not ran.exists()


def test_what_is_written_goes_to_the_running_turn_or_waits(plugin):
    ends = DONE | {"expect": {"messages_contain": ["in whole coins"]}}
    nvim = plugin([EDIT, ends, DONE]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider compose")
    nvim.keys("in whole coins<C-s>")
    nvim.wait("shows('you: in whole coins')")
    nvim.ex("Outrider compose")
    nvim.keys("and then the tests<C-q>")
    nvim.wait("shows('… queued: and then the tests')")


def test_what_the_server_cannot_do_is_said(plugin):
    nvim = plugin([DONE]).ready()
    nvim.run().until_done()
    nvim.ex("Outrider continue")
    nvim.wait("heard('The last turn ended by itself.')")
    nvim.ex("Outrider retry")
    nvim.wait("heard('the last task did not fail')")
