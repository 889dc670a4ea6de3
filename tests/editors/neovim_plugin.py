"""Neovim with the plugin of `editors/neovim`, in a project of one file: a user's hands and eyes."""

import os
import sys
import time
from pathlib import Path

import neovim_driver
import pace
import pytest

from everyday import some

BEFORE = 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n'
AFTER = BEFORE.replace("* 3", "* 2")
EVERY_VERSION = pytest.mark.parametrize("version", ["0.10", "0.11", "0.12"])
"""For the whole way of a task, of a hunk and of what is lent, where versions have differed."""
ANY_VERSION = pytest.mark.parametrize("version", some(["0.11", "0.10", "0.12"], 1))
"""For what is ours in each of them."""
SERVE = [sys.executable, "-m", "outrider", "serve"]

SETUP = """
local options = ...
_G.said, _G.asked, _G.picks, _G.texts, _G.progress = {}, {}, options.picks, options.texts, {}
vim.notify = function(text) table.insert(_G.said, text) end
vim.ui.select = function(items, opts, done)
  local shown = vim.tbl_map(opts.format_item or tostring, items)
  table.insert(_G.asked, { opts.prompt, shown })
  local wanted = table.remove(_G.picks, 1)
  for index, text in ipairs(shown) do
    if wanted and vim.startswith(text, wanted) then return vim.schedule(function() done(items[index], index) end) end
  end
  vim.schedule(function() done(nil, nil) end)
end
vim.ui.input = function(opts, done)
  table.insert(_G.asked, { opts.prompt, opts.default })
  local text = table.remove(_G.texts, 1)
  vim.schedule(function() done(text) end)
end
vim.api.nvim_create_autocmd('LspProgress', { callback = function(event)
  table.insert(_G.progress, event.data.params.value.kind)
end })
_G.heard = function(text)
  return vim.iter(_G.said):any(function(one) return one:find(text, 1, true) ~= nil end)
end
-- A test answers at once; the tests of just that set it.
vim.g.outrider = { read_seconds = 0 }
if next(options.setup) then require('outrider').setup(options.setup) end
_G.set = function(cmd)
  if vim.lsp.config then
    vim.lsp.config('outrider', { cmd = cmd })
  else
    require('outrider').start({ cmd = cmd, init_options = options.init })
  end
end
if vim.lsp.config then
  vim.lsp.config('outrider', { cmd = options.cmd, init_options = options.init })
  vim.lsp.enable('outrider')
else
  require('outrider').start({ cmd = options.cmd, init_options = options.init })
end
"""

NAMES = """
_G.client = function()
  local all = vim.lsp.get_clients({ name = 'outrider' })
  assert(#all < 2, 'a server too many')
  return all[1]
end
_G.session = function() return client() and require('outrider.sessions').current(client()) end
_G.ask = function(command, argument)
  local answer
  require('outrider.client').execute(client(), command, argument, function(result) answer = result end)
  vim.wait(5000, function() return answer ~= nil end, 5)
  return answer
end
_G.open = function()
  local here = session()
  return here and not require('outrider.sessions').is_reading(here.id) and #here.items or 0
end
_G.asks = function(title)
  return open() > 0 and session().items[1].title:find(title, 1, true) ~= nil
end
_G.shown = function() return session() and vim.api.nvim_buf_get_lines(require('outrider.view').buffer(session()), 0, -1, false) or {} end
_G.shows = function(text)
  return vim.iter(shown()):any(function(line) return line:find(text, 1, true) ~= nil end)
end
_G.marks = function(buffer)
  local all = vim.api.nvim_buf_get_extmarks(buffer, vim.api.nvim_create_namespace('outrider.proposal'), 0, -1, { details = true })
  return vim.tbl_map(function(mark)
    local lines = vim.tbl_map(function(line) return table.concat(vim.tbl_map(function(chunk) return chunk[1] end, line)) end, mark[4].virt_lines or {})
    return { mark[2], mark[4].hl_group or '', lines }
  end, all)
end
"""


class Neovim(neovim_driver.Neovim):
    """An instance with the plugin, in a project of one file."""

    def __init__(
        self,
        folder,
        turns,
        *,
        picks=(),
        texts=(),
        version="0.11",
        command=SERVE,
        setup=None,
        init=None,
        text=BEFORE,
        script=None,
    ):
        self.script = folder / "script.json"
        self.script.write_text(pace.script(turns, **(script or {})))
        self.file = folder / "workspace" / "tariff.py"
        self.file.parent.mkdir()
        (self.file.parent / ".git").mkdir()
        self.file.write_text(text)
        # For those who name the model by a path in the workspace.
        self.file.with_name("script.json").write_text(self.script.read_text())
        super().__init__(folder, version, ["--cmd", f"set runtimepath^={neovim_driver.PLUGIN}"])
        self.options = {
            "cmd": command,
            "init": {"model": f"scripted:{self.script}", "stateDir": str(folder / "state")} | (init or {}),
            "picks": list(picks),
            "texts": list(texts),
            "setup": setup or {},
        }
        self.set_up(self)
        self.ex(f"edit {self.file}")
        self.buffer = self.lua("return vim.api.nvim_get_current_buf()")

    def set_up(self, nvim):
        """Do what an `init.lua` does, and listen to what the user would see."""
        nvim.lua(SETUP, self.options)
        nvim.lua(NAMES)

    def ready(self):
        self.wait("client() ~= nil and client().initialized")
        return self

    def run(self, prompt="fix the price"):
        self.ex(f"Outrider run {prompt}")
        return self

    def until_asked(self, count=1):
        self.wait(f"open() == {count}")

    def until_done(self, outcome="completed"):
        self.wait(f"shows('{outcome} (')")

    @property
    def text(self):
        return "\n".join(self.lines(self.buffer)) + "\n"

    def text_of_current(self):
        return "\n".join(self.lines())

    @property
    def shown(self):
        return self.lua("return shown()")

    def marks(self):
        return self.lua(f"return marks({self.buffer})")

    def server(self):
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return next(int(pid) for pid in children if b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes())

    def state(self):
        return f"{super().state()}, marks {self.marks()}, shown {self.shown}"


def call(name, **arguments):
    return {"tool_calls": [{"name": name, "input": arguments}]}


EDIT = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2")
DONE = {"text": "Fixed."}


def running(word):
    """Whether a process with that word in its command line runs, other than the tests themselves."""
    return any(
        word.encode() in _read(entry)
        for entry in Path("/proc").glob("[0-9]*/cmdline")
        if entry.parent.name != str(os.getpid())
    )


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def until(condition, seconds=20):
    """Look again and again: for what no editor tells."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came to that"
        time.sleep(0.02)  # leaves the editor the time to come to it
