"""Neovim lends its language servers: real ones and a scripted one, in files that are open and in files that are not."""

import json
import sys
from pathlib import Path

import pytest
from neovim_plugin import ANY_VERSION, EVERY_VERSION, call, until

from outrider.testing import language_server

pytestmark = pytest.mark.timeout(240)
BIN = Path(sys.executable).parent
TOY = str(Path(language_server.__file__))
FILES = 30
NONE = {"languageServers": {"*": {"enabled": False}}, "trusted": True}
TARIFF = "def price(hours: int) -> int:\n    return hours * 3\n"

ATTACH = """
local name, cmd, root = ...
vim.api.nvim_create_autocmd('FileType', { pattern = 'python', callback = function(event)
  vim.lsp.start({ name = name, cmd = cmd, cmd_cwd = root, root_dir = root, filetypes = { 'python' } }, { bufnr = event.buf })
end })
vim.cmd('doautocmd FileType python')
"""


OWN = {
    "languageServers": {"*": {"enabled": False}, "ty": {"command": [str(BIN / "ty"), "server"]}},
    "trusted": True,
}
"""A server of Outrider's own, and no other."""


def states(nvim):
    return {one["name"]: one["state"] for one in nvim.lua("return ask('outrider.servers', {}).servers")}


def attach(nvim, name, *command):
    nvim.lua(ATTACH, name, list(command), str(nvim.file.parent))
    nvim.wait(
        f"#vim.lsp.get_clients({{ name = '{name}', bufnr = 0 }}) == 1 and vim.lsp.get_clients({{ name = '{name}' }})[1].initialized"
    )


def attach_toy(nvim, **script):
    attach(nvim, "toy-of-neovim", sys.executable, "-I", TOY, json.dumps(script))


def seen(*texts):
    return {"text": "Seen.", "expect": {"messages_contain": list(texts)}}


@EVERY_VERSION
def test_a_name_that_thirty_files_use_is_renamed_by_neovims_own_server(plugin, version):
    turns = [
        call("definition", symbol="price"),
        call("references", symbol="price"),
        call("hover", path="use3.py", text="price(3)"),
        call("rename_symbol", symbol="price", new_name="cost"),
        seen("tariff.py:1: ", f"references to price, in {FILES + 1} files:", "def price(hours: int) -> int"),
    ]
    nvim = plugin(turns, version=version, init=NONE, text=TARIFF).ready()
    uses = [nvim.file.with_name(f"use{number}.py") for number in range(FILES)]
    for number, path in enumerate(uses):
        path.write_text(f"from tariff import price\n\nTOTAL: int = price({number})  # é😀\n")
    attach(nvim, "ty", str(BIN / "ty"), "server")
    nvim.run("rename it")
    nvim.wait(f"asks('Rename price to cost (in {FILES + 1} files)')", seconds=60)
    nvim.lua("ask('outrider.answer', { id = session().items[1].id, decision = 'allow_once' })")
    nvim.until_done()
    assert nvim.lua("return shows('Seen.')")
    assert nvim.text == TARIFF.replace("price", "cost")
    assert all("import cost" in path.read_text() and "= cost(" in path.read_text() for path in uses)
    nvim.lua("ask('outrider.undo', { scope = 'turn' })")
    nvim.wait(f"vim.api.nvim_buf_get_lines({nvim.buffer}, 0, 1, true)[1]:find('price', 1, true) ~= nil")
    until(lambda: all("import price" in path.read_text() for path in uses))


LOOKS = [
    call("definition", symbol="fee"),
    call("references", path="b.py", line=1, symbol="fee"),
    call("hover", path="b.py", line=1, symbol="fee"),
    call("symbols", path="b.py"),
    call("symbols", query="fe"),
    call("call_hierarchy", symbol="fee"),
    call("diagnostics", path="b.py"),
]


@ANY_VERSION
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_what_neovims_server_knows_of_files_that_are_not_open_starts_none_of_ours(plugin, version, encoding):
    answers = seen(
        "tariff.py:2: def fee",
        "b.py:1: ü😀 use fee\n",
        "b.py:1\ndef fee",
        "tariff.py:2: def fee",
        "b.py:1: function file: ü😀 use fee",
        ": error: BAD1 is bad [toy]",
    )
    nvim = plugin([*LOOKS, answers], version=version, init=OWN, text="# é\ndef fee\n").ready()
    nvim.file.with_name("b.py").write_text("ü😀 use fee\nBAD1\n")
    attach_toy(nvim, encoding=encoding)
    nvim.run("look")
    nvim.wait("shows('Seen.')", seconds=60)
    assert states(nvim) == {"python": "lent", "ty": "available"}
    # What was loaded for that alone is not a document of the session, and goes.
    attached = "vim.lsp.buf_is_attached(vim.fn.bufnr('b.py'), client().id)"
    assert not nvim.lua(f"return vim.fn.bufnr('b.py') > 0 and {attached}")
    nvim.ex(f"edit {nvim.file.with_name('b.py')}")
    nvim.wait(attached)


@ANY_VERSION
@pytest.mark.parametrize("actions", ["edit", "resolve", "command"])
def test_an_action_of_neovims_server_is_shown_and_asked_about_and_a_command_is_not(plugin, version, actions):
    turns = [
        call("code_actions", path="tariff.py", line=1),
        call("code_actions", path="tariff.py", line=1, apply="Replace: BAD1 is bad"),
        call("diagnostics", path="tariff.py"),
        seen("No actions are offered" if actions == "command" else "Replace: BAD1 is bad [quickfix]"),
    ]
    nvim = plugin(turns, version=version, init=NONE, text="ü😀 BAD1 x\n").ready()
    attach_toy(nvim, actions=actions, encoding="utf-16")
    nvim.run("mend it")
    if actions != "command":
        nvim.wait("asks('Replace: BAD1 is bad (in 1 file)')")
        assert nvim.text == "ü😀 BAD1 x\n"
        nvim.lua("ask('outrider.answer', { id = session().items[1].id, decision = 'allow_once' })")
    nvim.wait("shows('Seen.')")
    assert nvim.text == ("ü😀 BAD1 x\n" if actions == "command" else "ü😀 good x\n")


def test_what_is_typed_just_before_is_what_neovims_server_is_asked_about(plugin):
    """It is told of changes late, by default: the question must not come before them."""
    nvim = plugin(
        [call("definition", symbol="fee"), seen("tariff.py:3: def fee")], init=NONE, text="def fee\n"
    ).ready()
    attach_toy(nvim)
    nvim.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { '# one', '# two' })\nvim.cmd('Outrider run look')")
    nvim.wait("shows('Seen.')")


@pytest.mark.thorough
def test_where_no_server_is_attached_one_of_outriders_own_is_asked(plugin):
    nvim = plugin(
        [call("definition", symbol="fee"), seen("tariff.py:1: ")],
        init=OWN,
        text="def fee() -> None: ...\n",
    ).ready()
    nvim.run("look")
    nvim.wait("shows('Seen.')")
    assert states(nvim) == {"ty": "running"}


@pytest.mark.thorough
def test_a_server_that_never_answers_is_not_waited_for_longer_than_its_time(plugin):
    nvim = plugin(
        [
            call("hover", path="tariff.py", line=1, symbol="fee"),
            seen("no language server of the editor does that"),
        ],
        init=NONE,
        text="def fee\n",
    ).ready()
    attach_toy(nvim, never=["textDocument/hover"])
    nvim.run("look")
    nvim.wait("shows('Seen.')", seconds=30)
