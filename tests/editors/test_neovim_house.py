"""The plugin's own order: format, linter, generated types, help, and what `:checkhealth` says."""

import json
import re
import shutil
import subprocess
import sys

import pytest
from neovim_driver import HOUSE, PLUGIN
from neovim_plugin import BEFORE, DONE, call

from outrider_protocol import COMMAND_NAMES

SCRIPTS = PLUGIN / "scripts"


def test_the_lua_is_formatted():
    if not (shutil.which("node") and (SCRIPTS / "node_modules" / "@johnnymorganz" / "stylua").exists()):
        pytest.skip("StyLua is not installed: npm install --prefix editors/neovim/scripts")
    done = subprocess.run(
        ["node", SCRIPTS / "format.mjs", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_luacheck_finds_nothing():
    if not shutil.which("luacheck"):
        pytest.skip("luacheck is not installed: apt-get install lua-check")
    done = subprocess.run(
        ["luacheck", "-q", "--no-color", "."], cwd=PLUGIN, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_types_are_those_of_the_protocol():
    done = subprocess.run(
        [sys.executable, SCRIPTS / "wire_types.py"], capture_output=True, text=True, check=True
    )
    assert (PLUGIN / "lua" / "outrider" / "types.lua").read_text() == done.stdout, (
        "generate them: python editors/neovim/scripts/wire_types.py > editors/neovim/lua/outrider/types.lua"
    )
    for name in json.loads((HOUSE / "protocol" / "schema.json").read_text())["events"]:
        assert f"---| '{name}' #" in done.stdout


def test_server_commands_that_modules_name_exist():
    for path in PLUGIN.rglob("*.lua"):
        if "node_modules" in path.parts or path.name == "types.lua":
            continue
        text = path.read_text()
        named = set(re.findall(r"'(outrider\.[a-z]+)'", re.sub(r"require\([^)]*\)", "", text)))
        modules = {f"outrider.{one.stem}" for one in (PLUGIN / "lua" / "outrider").glob("*.lua")}
        spaces = {"outrider.proposal", "outrider.start", "outrider.changes"}
        assert named <= set(COMMAND_NAMES) | modules | spaces, path


def test_help_is_found_and_names_every_command(plugin, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(PLUGIN, copy, ignore=shutil.ignore_patterns("node_modules"))
    nvim = plugin([DONE])
    nvim.ex(f"set runtimepath^={copy}")
    nvim.ex("checkhealth outrider")
    command = re.search(r":(helptags .*)", nvim.text_of_current())
    assert command is not None, "who cannot find the help is told what to do"
    nvim.ex(command[1])
    nvim.ex("checkhealth outrider")
    assert "helptags" not in nvim.text_of_current()
    nvim.ex("help outrider-commands")
    page = nvim.text_of_current()
    commands = nvim.lua("return vim.fn.getcompletion('Outrider ', 'cmdline')")
    assert len(commands) > 20
    for name in commands:
        assert re.search(rf"^{name}\b", page, re.MULTILINE), f"{name} is not in the help"
        assert nvim.lua(f"return vim.fn.maparg('<Plug>(outrider-{name})', 'n')") != "", (
            f"{name} has no <Plug> map"
        )
    assert not (PLUGIN / "doc" / "tags").exists(), "tags are made where the plugin is installed"


@pytest.mark.parametrize("version", ["0.10", "0.11", "0.12"])
def test_checkhealth_says_what_is_there(plugin, version):
    nvim = plugin([DONE], version=version).ready()
    nvim.ex("checkhealth outrider")
    report = nvim.text_of_current()
    assert f"Neovim {version}" in report
    assert ("has no vim.lsp.enable()" in report) is (version == "0.10")
    assert "buffers, positions in utf-" in report
    assert "model: " in report, "the server's own doctor is heard"
    assert "ERROR" not in report.replace("ERROR log", "")


def test_checkhealth_says_what_was_taken_out_of_the_configuration(plugin):
    nvim = plugin([DONE]).ready()
    nvim.lua("client().flags.debounce_text_changes, client().config.init_options.events = 150, false")
    nvim.ex("set noautoread")
    nvim.ex("checkhealth outrider")
    report = nvim.text_of_current()
    assert "set debounce_text_changes = 0 in it" in report
    assert "Do not replace `init_options.events`" in report
    assert "vim.o.autoread = true" in report


def test_options_that_do_not_exist_are_named(plugin):
    nvim = plugin([DONE], setup={"asks": "inline", "view": {"layout": "left"}})
    nvim.wait("heard('there is no option `asks`') and heard('`view.layout` is \"left\"')")


def test_the_picture_in_the_readme_is_what_is_seen(plugin):
    edits = [
        {"old": "hours * 3", "new": "hours * 2"},
        {"old": "    return price(hours) + 1\n", "new": "    return price(hours)\n"},
    ]
    turns = [
        {
            "reasoning": "Let me look at it.\nIt says two,\nand takes three,\nand then one more.",
            "tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}],
            "usage": {"inputTokens": 1200, "outputTokens": 90},
        },
        call("edit_file", path="tariff.py", edits=edits)
        | {"text": "It says two, so I change the code.", "usage": {"inputTokens": 1500, "outputTokens": 60}},
        DONE,
    ]
    text = BEFORE + "\n\ndef total(hours):\n    return price(hours) + 1\n"
    nvim = plugin(
        turns, text=text, init={"model": "scripted:script.json", "testing": {"ids": "sequential"}}
    ).ready()
    nvim.rpc.request("nvim_ui_attach", 128, 20, {})
    nvim.ex("set laststatus=0 noruler")
    nvim.run("Correct the price").until_asked()
    nvim.keys("3G\\a")
    nvim.wait("vim.fn.line('.') == 7")
    nvim.ex("redraw!")
    seen = nvim.lua(
        "local rows = {}\nfor row = 1, 15 do\nlocal cells = {}\n"
        "for column = 1, 128 do cells[column] = vim.fn.screenstring(row, column) end\n"
        "rows[row] = vim.trim('|' .. table.concat(cells)):sub(2)\nend\nreturn rows"
    )
    picture = "\n".join(seen).rstrip()
    shown = re.search(r"```text\n(.*?)\n```", (PLUGIN / "README.md").read_text(), re.DOTALL)
    assert shown is not None
    assert shown[1] == picture, f"the picture is now:\n{picture}"
