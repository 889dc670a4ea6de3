"""Several projects in one Neovim, each with its server: nothing meant for one of them reaches another."""

import os
import signal
import sys

import pytest
from neovim_plugin import AFTER, ANY_VERSION, DONE, EDIT, SERVE

GATED = """
import os, pathlib, sys, time

gate = pathlib.Path("gate")
while not gate.exists():
    time.sleep(0.01)
if gate.read_text():
    sys.exit(gate.read_text())
os.execv(sys.executable, [sys.executable, "-m", "outrider", "serve"])
"""
"""A server that waits for a file in the folder of its project; what that says it ends with."""

SENT = """
local found = {}
for _, session in pairs(require('outrider.sessions').all()) do
  local client = vim.lsp.get_client_by_id(session.client)
  if client and session.title ~= '' then
    found[#found + 1] = vim.fs.basename(client.root_dir) .. ': ' .. session.title
  end
end
table.sort(found)
return table.concat(found, ', ')
"""
"""Which project got which task."""


def open_project(nvim, name):
    """One more project, whose server waits for its gate, and its file in the window."""
    folder = nvim.file.parents[1] / name
    (folder / ".git").mkdir(parents=True)
    (folder / "rates.py").write_text("RATE = 3\nHOURS = 24\n")
    server = folder / "gated.py"
    server.write_text(GATED)
    nvim.ex(f"cd {folder}")
    nvim.lua("_G.set(...)", [sys.executable, str(server), "serve"])
    nvim.ex(f"edit {folder / 'rates.py'}")
    return folder


def until_sent(nvim, wanted):
    nvim.lua(f"_G.tasks = function() {SENT} end")
    nvim.wait(f"tasks() == '{wanted}'")


@ANY_VERSION
def test_a_task_goes_to_the_server_of_its_file_and_waits_for_it_where_another_runs(plugin, version):
    nvim = plugin([DONE], version=version).ready()
    second = open_project(nvim, "second")
    nvim.ex("2,2Outrider run halve the hours")
    nvim.wait("heard('the task is sent as soon as it is there')")
    nvim.ex(f"edit {nvim.file}")
    (second / "gate").touch()
    until_sent(nvim, "second: halve the hours")
    nvim.run("fix the price")
    until_sent(nvim, "second: halve the hours, workspace: fix the price")
    started = nvim.lua(
        "local here = vim.iter(require('outrider.sessions').all()):find(function(_, one) return one.title:find('halve') end)\n"
        "local client = vim.lsp.get_client_by_id(require('outrider.sessions').get(here).client)\n"
        "local answer\n"
        "require('outrider.client').execute(client, 'outrider.events', { sessionId = here }, function(found) answer = found end)\n"
        "vim.wait(5000, function() return answer end)\n"
        "return vim.iter(answer.events):find(function(event) return event.type == 'turn.started' end).data"
    )
    assert started["context"]["documents"] == [(second / "rates.py").as_uri()]
    assert started["context"]["selection"]["range"] == {
        "start": {"line": 1, "character": 0},
        "end": {"line": 1, "character": 10},
    }


def test_a_server_that_does_not_come_takes_no_task_from_one_that_does(plugin):
    nvim = plugin([DONE]).ready()
    second = open_project(nvim, "second")
    nvim.ex("Outrider run the second")
    third = open_project(nvim, "third")
    nvim.ex("Outrider run the third")
    nvim.wait("#vim.tbl_filter(function(one) return one:find('as soon as it is there') end, said) == 2")
    (second / "gate").write_text("no licence")
    nvim.wait("heard('no licence') and heard('The task was not sent')")
    (third / "gate").touch()
    until_sent(nvim, "third: the third")
    assert nvim.lua("return #vim.tbl_filter(function(one) return one:find('was not sent') end, said)") == 1


PIDS = """
local found = {}
for _, client in ipairs(vim.lsp.get_clients({ name = 'outrider' })) do
  found[vim.fs.basename(client.root_dir)] = client.id
end
return found
"""


def test_a_server_that_ended_is_started_again_and_that_of_another_project_left_alone(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    killed = nvim.server()
    first = nvim.lua("return session().id")
    second = open_project(nvim, "second")
    (second / "gate").touch()
    nvim.wait("#vim.lsp.get_clients({ name = 'outrider' }) == 2")
    before = nvim.lua(PIDS)
    os.kill(killed, signal.SIGKILL)
    nvim.wait("heard('has ended (signal 9)')")
    nvim.ex(f"buffer {nvim.buffer}")
    assert "✗ ended" in nvim.lua("return require('outrider').status()")
    nvim.ex("Outrider run something else")
    nvim.wait("heard('The server of Outrider has ended. `:Outrider restart`')")
    nvim.ex(f"buffer outrider://{first}")
    nvim.lua("_G.said = {}")
    nvim.keys("U")
    nvim.wait("heard('The server of Outrider has ended. `:Outrider restart`')")
    nvim.lua("_G.set(...)", SERVE)
    nvim.ex("Outrider restart")
    nvim.wait("#vim.lsp.get_clients({ name = 'outrider' }) == 2")
    nvim.ex(f"buffer {nvim.buffer}")
    nvim.wait(f"#marks({nvim.buffer}) == 2")
    nvim.keys("\\a")
    nvim.wait("vim.fn.getline(3) == '    return hours * 2'")
    after = nvim.lua(PIDS)
    assert after["second"] == before["second"]
    assert after["workspace"] != before["workspace"]


@ANY_VERSION
@pytest.mark.thorough
def test_a_server_that_the_person_stopped_comes_again_with_its_session(plugin, version):
    nvim = plugin([EDIT, DONE], version=version).ready()
    nvim.run().until_asked()
    nvim.lua("vim.lsp.stop_client(client().id)")
    nvim.wait("client() == nil")
    nvim.run("once more")
    nvim.wait("heard('Outrider is not running in') and heard('`:Outrider restart` starts it')")
    nvim.ex("Outrider restart")
    nvim.ready().ex("Outrider open")
    assert nvim.lua("return vim.b.outrider_session == session().id")
    nvim.ex("Outrider resume")
    nvim.wait(f"session().state ~= 'lost' and #marks({nvim.buffer}) == 2")
    nvim.ex("Outrider allow")
    nvim.until_done()
    assert nvim.text == AFTER


@ANY_VERSION
def test_a_folder_named_like_a_variable_of_the_environment_is_itself(plugin, version):
    nvim = plugin([DONE], version=version).ready()
    folder = nvim.file.parents[1] / "a$HOME"
    (folder / ".git").mkdir(parents=True)
    (folder / "rates.py").touch()
    nvim.ex(f"edit {str(folder).replace('$', chr(92) + '$')}/rates.py")
    nvim.wait("#vim.lsp.get_clients({ name = 'outrider', bufnr = 0 }) == 1")
    root = "vim.lsp.get_clients({ name = 'outrider', bufnr = 0 })[1].root_dir"
    assert nvim.lua(f"return {root}") == str(folder)
