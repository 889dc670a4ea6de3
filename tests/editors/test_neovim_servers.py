"""`:Outrider servers`: what is connected, and what can be done with it."""

import sys
from pathlib import Path

import pytest
from neovim_plugin import DONE

pytest.importorskip("mcp", reason="the extra outrider[mcp] is not installed")

ODD = Path(__file__).parents[1] / "mcp" / "odd_server.py"
LISTS = "_G.offered = {} vim.ui.select = function(choices, how) vim.list_extend(_G.offered, vim.tbl_map(how.format_item, choices)) end"


def test_the_servers_of_the_settings_are_listed(plugin):
    servers = {"odd": {"command": sys.executable, "args": ["-u", str(ODD)]}}
    nvim = plugin([DONE], init={"mcpServers": servers}).ready()
    nvim.lua(LISTS)
    nvim.ex("Outrider servers")
    nvim.wait("#_G.offered > 0")
    (line,) = [one for one in nvim.lua("return _G.offered") if one.startswith("odd")]
    assert line.startswith("odd · MCP server · ")


def test_what_can_be_done_depends_on_the_state(plugin):
    nvim = plugin([DONE]).ready()
    nvim.lua(
        """
        _G.asked = {}
        local servers = {
          { name = 'notes', kind = 'mcp', state = 'login', runs = 'https://a.example/mcp' },
          { name = 'python', kind = 'language', state = 'missing', detail = 'pip install pyright' },
        }
        require('outrider.client').execute = function(_, name, params, done)
          _G.asked[#_G.asked + 1] = params or false
          vim.schedule(function() done({ servers = servers, problems = { 'old: SSE is not supported' } }) end)
        end
        """
    )
    nvim.lua("_G.picks = { 1, 2 }")
    nvim.lua(
        """
        _G.offered = {}
        vim.ui.select = function(choices, how, done)
          _G.offered[#_G.offered + 1] = vim.tbl_map(how.format_item, choices)
          done(choices[table.remove(_G.picks, 1)])
        end
        """
    )
    nvim.ex("Outrider servers")
    nvim.wait("#_G.asked == 2")
    assert nvim.lua("return _G.offered") == [
        ["notes · MCP server · log in to use it", "python · language server · not found"],
        ["What is known of it", "Log in, in the browser"],
    ]
    assert nvim.lua("return _G.asked[2]") == {"action": "login", "name": "notes"}
    nvim.wait("heard('old: SSE is not supported')")
    nvim.lua("_G.picks = { 2 }")
    nvim.ex("Outrider servers")
    nvim.wait("heard('pip install pyright')")
    assert len(nvim.lua("return _G.offered")) == 3
