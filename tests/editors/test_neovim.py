"""A real Neovim, as it comes: no plugin, no events, the server as a stock language server."""

import json
import os
import sys
from pathlib import Path

import neovim_driver
import pace
import pytest
from recipes import recipe

pytestmark = pytest.mark.skipif(
    neovim_driver.program("0.11") is None, reason="Neovim's wheel is not installed on this platform"
)

BEFORE = 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n'
AFTER = BEFORE.replace("* 3", "* 2")

RECIPE = recipe(
    "Neovim without the plugin",
    {
        "cmd = { 'outrider', 'serve' }": "cmd = options.cmd",
        "root_markers = { '.git' }": "root_markers = { 'tariff.py' }",
        # Not everybody copies it, and it makes things easier.
        "  flags = { debounce_text_changes = 0 },\n": "",
        "init_options = { model = 'my/model-name' }": "init_options = options.init",
    },
)

SETUP = """
_G.asked, _G.progress, _G.said = {}, {}, {}
vim.ui.select = function(items, opts, answer)
  local titles = vim.tbl_map(function(item) return item.title end, items)
  table.insert(_G.asked, { opts.prompt, titles })
  local wanted = picks[#_G.asked] or picks[#picks]
  local chosen = vim.iter(ipairs(titles)):find(function(_, title) return title == wanted end)
  vim.defer_fn(function() answer(items[chosen], chosen) end, reading)
end
vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
  local value = event.data.params.value
  table.insert(_G.progress, value.kind)
end })
vim.lsp.handlers['window/showMessage'] = function(_, result) table.insert(_G.said, result.message) end
"""

CLIENT = "local client = vim.lsp.get_clients({ name = 'outrider' })[1]\n"


class Neovim(neovim_driver.Neovim):
    """An instance without the plugin, set up by the recipe."""

    def __init__(self, folder, turns, picks):
        script = folder / "script.json"
        script.write_text(pace.script(turns))
        self.file = folder / "workspace" / "tariff.py"
        self.file.parent.mkdir()
        self.file.write_text(BEFORE)
        super().__init__(folder)
        init = {"model": f"scripted:{script}", "stateDir": str(folder / "state")}
        command = [sys.executable, "-m", "outrider", "serve"]
        self.lua(
            f"local options, picks, reading = ...\n{RECIPE}{SETUP}",
            {"cmd": command, "init": init},
            picks,
            pace.READING * 1000,
        )
        self.ex(f"edit {self.file}")
        self.wait("#vim.lsp.get_clients({ name = 'outrider' }) == 1 and vim.lsp.get_clients()[1].initialized")

    def command(self, name, argument):
        self.lua(
            f"{CLIENT}_G.result = nil\nclient:exec_cmd({{ title = 't', command = '{name}', arguments = "
            f"{{ vim.json.decode([==[{json.dumps(argument)}]==]) }} }}, {{ bufnr = 0 }}, "
            "function(err, result) _G.result = { err = err, result = result } end)"
        )
        self.wait("_G.result ~= nil")
        return self.lua("return _G.result")

    def actions(self):
        self.lua(
            f"{CLIENT}local params = vim.lsp.util.make_range_params(0, client.offset_encoding)\n"
            "params.context = { diagnostics = {}, triggerKind = 1 }\n"
            "_G.actions = client:request_sync('textDocument/codeAction', params, 5000, 0).result"
        )
        return self.lua("return vim.tbl_map(function(action) return action.title end, _G.actions)")

    def take(self, title):
        self.lua(
            f"{CLIENT}_G.result = nil\nfor _, action in ipairs(_G.actions) do if action.title == [==[{title}]==] then\n"
            "client:exec_cmd(action.command, { bufnr = 0 }, "
            "function(err, result) _G.result = { err = err, result = result } end) end end"
        )
        self.wait("_G.result ~= nil")
        return self.lua("return _G.result")


@pytest.fixture
def neovim(tmp_path):
    running = []

    def start(turns, picks):
        running.append(Neovim(tmp_path, turns, picks))
        return running[0]

    yield start
    for one in running:
        one.quit()


def call(name, **arguments):
    return {"tool_calls": [{"name": name, "input": arguments}]}


EDIT = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")


def test_a_task_by_command_edits_the_buffer_as_one_undo_step_and_undo_keeps_what_was_typed(neovim):
    nvim = neovim(
        [
            call("read_file", path="tariff.py"),
            EDIT,
            call("run_command", command="/bin/cat tariff.py"),
            {"text": "Fixed."},
        ],
        ["Allow once", "Allow once"],
    )
    nvim.command("outrider.run", {"prompt": "fix the price"})
    nvim.wait(
        "_G.said[#_G.said] ~= nil and _G.said[#_G.said]:find('continues as soon as tariff.py is saved') ~= nil"
    )
    assert nvim.text == AFTER
    assert nvim.file.read_text() == BEFORE, "the edit must be in the buffer only"
    assert nvim.lua("return _G.asked")[0][1] == [
        "Allow once",
        "Allow for this session",
        "Always allow…",
        "Review…",
        "Reject",
    ]
    nvim.ex("silent write")
    nvim.wait("_G.progress[#_G.progress] == 'end'")
    assert nvim.file.read_text() == AFTER
    assert nvim.lua("return _G.said")[-1] == "Outrider, completed: Fixed. (unverified: no check was run)"

    nvim.ex("silent undo")
    assert nvim.text == BEFORE, "the editor's undo takes the whole edit back at once"
    nvim.ex("silent redo")
    nvim.ex("normal! Go# typed by the user")
    assert "Outrider: undo turn" in nvim.actions()
    result = nvim.take("Outrider: undo turn")["result"]
    assert result["undone"] == [{"path": "tariff.py", "hunks": 1}], result
    assert result["conflicts"] == []
    nvim.wait(f"vim.fn.getline(3) == {json.dumps('    return hours * 3')}")
    assert nvim.text == BEFORE + "# typed by the user\n"


def test_the_commands_of_the_recipe_give_a_task_and_take_it_back(neovim):
    nvim = neovim([EDIT, {"text": "Fixed."}], ["Allow once"])
    nvim.ex("Task fix the price")
    nvim.wait("_G.said[#_G.said] ~= nil and _G.said[#_G.said]:find('completed') ~= nil")
    assert nvim.text == AFTER
    nvim.ex("TaskUndo")
    nvim.wait(f"vim.fn.getline(3) == {json.dumps('    return hours * 3')}")
    assert nvim.text == BEFORE


def test_a_dismissed_question_is_no_yes_and_a_code_action_answers_it_later(neovim):
    nvim = neovim([EDIT, {"text": "Fixed."}], ["nothing"])
    nvim.command("outrider.run", {"prompt": "fix the price"})
    nvim.wait("#_G.asked == 1 and _G.progress[#_G.progress] == 'end'")
    assert nvim.text == BEFORE
    title = next(title for title in nvim.actions() if title.startswith("Outrider: Allow once — "))
    nvim.take(title)
    nvim.wait("_G.said[#_G.said] ~= nil and _G.said[#_G.said]:find('completed') ~= nil")
    assert nvim.text == AFTER


def test_a_task_by_comment_is_cancelled_by_code_action(neovim):
    nvim = neovim(
        [call("run_command", command="echo on; exec /bin/sleep 271828"), {"text": "never"}], ["Allow once"]
    )
    nvim.rpc.request("nvim_buf_set_lines", 0, 3, -1, True, ["# outrider: wait for ever"])
    nvim.ex("normal! G")
    nvim.wait("vim.lsp.get_clients()[1] ~= nil")
    assert "Outrider: do “wait for ever”" in nvim.actions()
    nvim.take("Outrider: do “wait for ever”")
    nvim.wait("#_G.asked == 1")
    assert "Outrider: cancel turn" in nvim.actions()
    assert nvim.take("Outrider: cancel turn")["result"]["outcome"] == "cancelled"
    assert not [
        entry
        for entry in Path("/proc").glob("[0-9]*/cmdline")
        if b"271828" in _read(entry) and entry.parent.name != str(os.getpid())
    ]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


# --- typing while an edit is on its way ----------------------------------------------------------------------


FORTY = [f"line {number}" for number in range(1, 41)]
HUNKS = call(
    "edit_file",
    path="tariff.py",
    edits=[{"old": f"line {n}\n", "new": f"changed {n}\nand more\n"} for n in (12, 20, 28)],
)
CHANGED = [
    line
    for n in range(1, 41)
    for line in ([f"changed {n}", "and more"] if n in (12, 20, 28) else [f"line {n}"])
]
# The user's keys come when the edit has arrived and is not in the buffer yet.
TYPES = """
_G.keys = ...
local apply = vim.lsp.handlers['workspace/applyEdit']
vim.lsp.handlers['workspace/applyEdit'] = function(...)
  local keys = table.remove(_G.keys, 1)
  if keys then vim.api.nvim_feedkeys(vim.keycode(keys), 'x!', false) end
  return apply(...)
end
"""


def forty(nvim):
    nvim.rpc.request("nvim_buf_set_lines", 0, 0, -1, True, FORTY)
    nvim.ex("silent write")


def lines(nvim):
    return nvim.rpc.request("nvim_buf_get_lines", 0, 0, -1, True)


@pytest.mark.parametrize(
    ("keys", "typed"),
    [
        ("ggOabove<Esc>", "above"),
        ("Gobelow<Esc>", "below"),
        ("15Gobetween<Esc>", "between"),
        ("20GA and mine<Esc>", "line 20 and mine"),
    ],
)
def test_what_is_typed_while_an_edit_arrives_is_kept(neovim, keys, typed):
    nvim = neovim([HUNKS, {"text": "Done."}], ["Allow once"])
    forty(nvim)
    nvim.rpc.request("nvim_exec_lua", TYPES, [[keys]])
    nvim.command("outrider.run", {"prompt": "change them"})
    nvim.wait("_G.said[#_G.said] ~= nil and _G.said[#_G.said]:find('completed') ~= nil", 30)
    now = lines(nvim)
    assert typed in now, "it was lost"
    mine = "mine" in typed
    assert [line for line in now if line != typed] == (
        [line for line in FORTY if line != "line 20"] if mine else CHANGED
    ), "the edit is there as a whole, or not at all"
    if mine:
        assert "reason" in nvim.command("outrider.undo", {})["err"]["data"], "there is nothing to undo"
        return
    result = nvim.command("outrider.undo", {})["result"]
    assert result["conflicts"] == [], result
    nvim.wait("vim.fn.search('changed', 'nw') == 0")
    assert [line for line in lines(nvim) if line != typed] == FORTY
    assert typed in lines(nvim)


def test_an_edit_comes_while_the_person_is_in_insert_mode(neovim):
    nvim = neovim([HUNKS, {"text": "Done."}], ["Allow once"])
    forty(nvim)
    nvim.rpc.request("nvim_input", "5Ahalf a word")
    nvim.wait("vim.fn.mode() == 'i'")
    nvim.command("outrider.run", {"prompt": "change them"})
    nvim.wait("_G.said[#_G.said] ~= nil and _G.said[#_G.said]:find('completed') ~= nil", 30)
    assert nvim.lua("return vim.fn.mode()") == "i"
    nvim.rpc.request("nvim_input", " and its end<Esc>")
    nvim.wait("vim.fn.mode() == 'n'")
    typed = [line for line in lines(nvim) if "half a word" in line]
    assert typed, "it was lost"
    assert typed[0].startswith("line ")
    assert "half a word and its end" in typed[0]
    assert [line for line in lines(nvim) if line.startswith("changed")] == [
        "changed 12",
        "changed 20",
        "changed 28",
    ]


def test_several_hunks_are_one_undo_step_and_leave_cursor_marks_and_folds(neovim):
    nvim = neovim([HUNKS, {"text": "Done."}], ["Allow once"])
    forty(nvim)
    nvim.ex("set foldmethod=manual")
    nvim.ex("22,25fold")
    nvim.ex("16mark a")
    nvim.ex("normal! 35G3l")
    nvim.command("outrider.run", {"prompt": "change them"})
    nvim.wait("_G.said[#_G.said] ~= nil and _G.said[#_G.said]:find('completed') ~= nil", 30)
    assert lines(nvim) == CHANGED
    assert nvim.lua("return vim.fn.getline('.')") == "line 35"
    assert nvim.lua("return vim.fn.col('.')") == 4
    assert nvim.lua('return vim.fn.getline("\'a")') == "line 16"
    first, last = (
        nvim.lua(f"return vim.fn.foldclosed{end}(vim.fn.search('line 23', 'nw'))") for end in ("", "end")
    )
    assert [lines(nvim)[number - 1] for number in (first, last)] == ["line 22", "line 25"]
    nvim.ex("silent undo")
    assert lines(nvim) == FORTY


LAST = "    return hours * 3\n"
REST = BEFORE.removesuffix(LAST)


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        (call("edit_file", path="tariff.py", old=LAST, new=f"{LAST}# more\n"), f"{BEFORE}# more\n"),
        (call("edit_file", path="tariff.py", old=LAST, new=""), REST),
        (call("edit_file", path="tariff.py", old=LAST, new="    x = 1\n    return x\n"), f"{REST}    x = 1\n    return x\n"),
        (call("write_file", path="tariff.py", content="def price():\n"), "def price():\n"),
        (call("write_file", path="tariff.py", content=BEFORE * 2), BEFORE * 2),
    ],
    ids=["append", "delete", "replace", "shorter", "longer"],
)  # fmt: skip
def test_an_edit_at_the_end_of_the_file_leaves_no_line_behind(neovim, edit, wanted):
    nvim = neovim([call("read_file", path="tariff.py"), edit, {"text": "Done."}], ["Allow once"])
    nvim.command("outrider.run", {"prompt": "change the end"})
    nvim.wait("_G.progress[#_G.progress] == 'end'")
    assert nvim.text == wanted
    undone = nvim.command("outrider.undo", {})["result"]
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    nvim.wait(
        f"vim.fn.getline('$') == {json.dumps(LAST.rstrip())} and vim.fn.line('$') == {BEFORE.count(chr(10))}"
    )
    assert nvim.text == BEFORE


def test_a_file_whose_last_line_has_no_end_is_renamed_as_it_is_and_back(neovim):
    rename = call("rename_file", **{"from": "unended.txt", "to": "moved.txt"})
    nvim = neovim([rename, {"text": "Done."}], ["Allow once"])
    unended, moved = (nvim.file.parent / name for name in ("unended.txt", "moved.txt"))
    unended.write_bytes(b"one\nlast")
    nvim.ex(f"edit {unended}")
    nvim.command("outrider.run", {"prompt": "rename it"})
    nvim.wait("_G.progress[#_G.progress] == 'end'")
    assert moved.read_bytes() == b"one\nlast"
    assert not unended.exists()
    undone = nvim.command("outrider.undo", {})["result"]
    assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
    assert unended.read_bytes() == b"one\nlast"
    assert not moved.exists()
