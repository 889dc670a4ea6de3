"""What goes wrong around the plugin: the user always sees what happened and what to do next."""

import json
import os
import signal
import sys
import time

import neovim_driver
import pytest
from neovim_plugin import AFTER, ANY_VERSION, BEFORE, DONE, EDIT, SERVE, call, until


def program(folder, text):
    """A server made of a few lines of Python."""
    path = folder / "server.py"
    path.write_text(text)
    return [sys.executable, str(path)]


@ANY_VERSION
def test_a_killed_server_is_said_and_its_session_goes_on_after_a_restart(plugin, version):
    nvim = plugin([EDIT, DONE], version=version).ready()
    nvim.run().until_asked()
    item = nvim.lua("return session().items[1].id")
    os.kill(nvim.server(), signal.SIGKILL)
    nvim.wait("heard('has ended (signal 9)') and heard(':Outrider restart')")
    assert nvim.marks() == [], "what cannot be answered is not shown"
    assert "✗ ended" in nvim.lua("return require('outrider').status()")
    nvim.ex("Outrider answer")
    nvim.wait("heard('`:Outrider restart` starts it again')")
    nvim.ex("Outrider restart")
    nvim.wait(
        f"client() ~= nil and open() == 1 and session().items[1].id == '{item}' and session().state ~= 'lost'"
    )
    nvim.wait(f"#marks({nvim.buffer}) == 2")
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == AFTER
    shown = nvim.shown
    assert shown.count("# fix the price") == 1, "nothing is drawn twice"
    assert any("the server has ended (signal 9)" in line for line in shown)
    window = "vim.fn.win_findbuf(require('outrider.view').buffer(session()))[1]"
    (line, _) = nvim.lua(f"return vim.api.nvim_win_get_cursor({window})")
    assert line == len(shown), "the window stays at the end"


@pytest.mark.thorough
def test_an_answer_that_the_server_did_not_take_before_it_ended_is_none(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    nvim.lua(
        "local client_of = require('outrider.client')\n"
        "local execute = client_of.execute\n"
        "client_of.execute = function(_, command) client_of.execute, _G.lost = execute, command end"
    )
    nvim.keys("\\a")
    nvim.wait(f"_G.lost == 'outrider.answer' and marks({nvim.buffer})[2][3][2] == 'Outrider ✓ accepted'")
    os.kill(nvim.server(), signal.SIGKILL)
    nvim.wait("heard('has ended (signal 9)')")
    nvim.ex("Outrider restart")
    nvim.wait(f"open() == 1 and #marks({nvim.buffer}) == 2")
    assert nvim.marks()[1][2][1].startswith("Outrider \\a accept")
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == AFTER


@ANY_VERSION
def test_a_missing_server_is_named_with_what_to_do(plugin, version):
    nvim = plugin(command=["no-such-outrider", "serve"], version=version)
    nvim.ex("Outrider run fix it")
    nvim.wait("heard('there is no program `no-such-outrider`') and heard('pipx install .')")
    nvim.ex("checkhealth outrider")
    report = "\n".join(nvim.lines())
    assert "there is no program `no-such-outrider`" in report
    assert "vim.lsp.config('outrider', { cmd" in report


def test_a_server_that_crashes_at_its_start_is_quoted(plugin, tmp_path):
    crash = "import sys\nsys.stdin.buffer.read(20)\nsys.exit('outrider: the settings cannot be read')\n"
    nvim = plugin(command=program(tmp_path, crash))
    nvim.wait("heard('ended before it was ready (exit code 1)') and heard('the settings cannot be read')")
    nvim.ex("Outrider run fix it")
    nvim.wait("heard('has ended. `:Outrider restart`')")
    nvim.lua("_G.set(...)", SERVE)
    nvim.ex("Outrider restart")
    nvim.ready()


LATE = """
import os, pathlib, sys, time

while not pathlib.Path(__file__).with_name("gate").exists():
    time.sleep(0.01)
os.execv(sys.executable, [sys.executable, "-m", "outrider", "serve"])
"""


@pytest.mark.thorough
def test_a_server_that_is_late_is_told_of_and_waited_for(plugin, tmp_path):
    nvim = plugin([EDIT, DONE], command=program(tmp_path, LATE), setup={"start_seconds": 1})
    nvim.ex("Outrider run")
    nvim.wait("heard('Outrider is still starting; try again in a moment')")
    nvim.run()
    nvim.wait("heard('the task is sent as soon as it is there')")
    nvim.wait("heard('has not answered for 1 s')")
    nvim.run("Another one")
    nvim.wait("heard('Outrider is still starting, and late: `:Outrider log`')")
    nvim.ex("enew")
    (tmp_path / "gate").touch()
    nvim.ready().until_asked()
    assert [line for line in nvim.shown if line.startswith("# ")] == ["# fix the price"]


FAILS = LATE.replace("os.execv", "sys.exit('no licence')\nos.execv")


def test_a_task_given_to_a_server_that_never_comes_is_not_lost(plugin, tmp_path):
    nvim = plugin([DONE], texts=["", "Two an hour"], command=program(tmp_path, FAILS))
    nvim.ex("2,3Outrider plan Two an hour")
    nvim.wait("heard('the task is sent as soon as it is there')")
    nvim.ex("new")
    (tmp_path / "gate").touch()
    nvim.wait("heard('no licence') and heard('The task was not sent. `:Outrider run` without a task')")
    nvim.lua("_G.set(...)", SERVE)
    nvim.ex("Outrider restart")
    nvim.ready().ex("Outrider run")
    nvim.wait("#_G.asked == 1")
    nvim.ex("Outrider run")
    nvim.until_done()
    assert nvim.lua("return _G.asked") == [["Task: (plan, tariff.py:2-3) ", "Two an hour"]] * 2


def test_a_program_that_is_no_language_server_is_said_to_be_none(plugin, tmp_path):
    nonsense = "import sys, time\nsys.stdin.buffer.read(20)\nprint('Welcome to the shop!\\n\\n', flush=True)\ntime.sleep(60)\n"
    nvim = plugin(command=program(tmp_path, nonsense), setup={"start_seconds": 1})
    nvim.wait("heard('not what a language server says') or heard('has not answered for 1 s')")
    nvim.ex("Outrider log")
    assert nvim.lua("return vim.bo.buftype") == "nofile"


def test_nonsense_in_the_frame_of_a_message_is_told_as_such(plugin, tmp_path):
    nonsense = (
        "import sys, time\nsys.stdin.buffer.read(20)\n"
        "sys.stdout.write('Content-Length: 5\\r\\n\\r\\nhello')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    nvim = plugin(command=program(tmp_path, nonsense))
    nvim.wait("heard('not what a language server says')")


def test_a_server_that_refuses_to_start_is_quoted(plugin, tmp_path):
    refuses = (
        "import sys, time, json\nsys.stdin.buffer.read(20)\n"
        "body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'error': {'code': -32603, 'message': 'no licence'}})\n"
        "sys.stdout.write(f'Content-Length: {len(body)}\\r\\n\\r\\n{body}')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    nvim = plugin(command=program(tmp_path, refuses), setup={"start_seconds": 1})
    nvim.wait("heard('has not answered for 1 s') and vim.fn.execute('messages'):find('no licence') ~= nil")


def test_a_server_of_another_time_is_said_to_be_so(plugin, tmp_path):
    old = (
        "import sys, time, json\nsys.stdin.buffer.read(20)\n"
        "body = json.dumps({'jsonrpc': '2.0', 'id': 1, 'result': {'capabilities': {}}})\n"
        "sys.stdout.write(f'Content-Length: {len(body)}\\r\\n\\r\\n{body}')\nsys.stdout.flush()\ntime.sleep(60)\n"
    )
    nvim = plugin(command=program(tmp_path, old))
    nvim.wait("heard('update the older one')")


BABBLES = """
import pathlib, subprocess, sys, threading

server = subprocess.Popen([sys.executable, "-m", "outrider", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
said = pathlib.Path(__file__).with_name("said")

def hand_on(read, write, before=lambda part: None):
    while part := read():
        before(part)
        write.write(part)
        write.flush()

def babble(part):
    if b"outrider.answer" in part and not said.exists():
        said.touch()
        sys.stdout.buffer.write(b"Warning: this is no message" + bytes([13, 10, 13, 10]))
        sys.stdout.buffer.flush()

threading.Thread(target=hand_on, args=(server.stdout.read1, sys.stdout.buffer), daemon=True).start()
hand_on(sys.stdin.buffer.read1, server.stdin, babble)
server.stdin.close()
server.wait()
"""
"""Hands on what is said, and once says something of its own before an answer of the user."""


@ANY_VERSION
@pytest.mark.thorough
def test_nonsense_in_the_middle_is_told_and_a_restart_goes_on(plugin, tmp_path, version):
    command = program(tmp_path, BABBLES)
    nvim = plugin([EDIT, EDIT, DONE], command=command, setup={"answer_seconds": 1}, version=version).ready()
    nvim.run().until_asked()
    nvim.keys("\\a")
    # Neovim 0.12 ends such a server by itself, which may be faster; the others read nothing any more, and do not say so.
    nvim.wait("heard('has ended (')" if version == "0.12" else "heard('has not answered for 2 s')")
    assert nvim.lua("return heard(':Outrider restart')")
    nvim.ex("Outrider restart")
    # Whether the answer came through before Neovim 0.12 ended the server is chance; if not, it is asked again.
    nvim.wait(
        "shows('■ cancelled') or client() ~= nil and client().id > 1 and open() == 1 and session().state ~= 'lost'"
    )
    assert nvim.text == BEFORE
    if not nvim.lua("return open()"):
        nvim.run("again").until_asked()
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == AFTER


COUNTS = """
asks, ticks = 0, 0
local client_of = require('outrider.client')
local execute = client_of.execute
client_of.execute = function(client, command, ...)
  asks = asks + (command == 'outrider.status' and 1 or 0)
  return execute(client, command, ...)
end
vim.uv.new_timer():start(100, 100, vim.schedule_wrap(function() ticks = ticks + 1 end))
"""


@pytest.mark.thorough
def test_a_server_is_asked_whether_it_answers_only_while_it_is_at_work(plugin):
    slow = {"text": "Done. " * 20, "chunk": 2, "delay": 0.1}
    nvim = plugin([EDIT, slow], setup={"answer_seconds": 0.1}).ready()
    nvim.run().until_asked()
    nvim.lua(COUNTS)
    nvim.wait("ticks > 4")
    assert nvim.lua("return asks") == 0
    nvim.keys("\\a")
    nvim.wait("asks > 2")
    nvim.until_done()


SAVES = """
import json, pathlib, sys

def send(message):
    body = json.dumps({"jsonrpc": "2.0", **message})
    sys.stdout.write(f"Content-Length: {len(body)}\\r\\n\\r\\n{body}")
    sys.stdout.flush()

def receive():
    length = int(sys.stdin.buffer.readline().split(b":")[1])
    sys.stdin.buffer.readline()
    return json.loads(sys.stdin.buffer.read(length))

asked, given = receive(), {"outrider": {"protocolVersion": 1}}
send({"id": asked["id"], "result": {"capabilities": {"experimental": given}}})
while receive().get("method") != "workspace/didChangeConfiguration":
    pass
send({"id": 7, "method": "outrider/save", "params": {"uris": sys.argv[1:]}})
while (answer := receive()).get("id") != 7:
    pass
told = {"extensions": asked["params"]["initializationOptions"]["extensions"], "result": answer["result"]}
pathlib.Path(__file__).with_name("told.json").write_text(json.dumps(told))
"""


def test_buffers_are_saved_for_the_server_and_what_cannot_be_is_named(plugin, tmp_path):
    uris = [(tmp_path / "workspace" / name).as_uri() for name in ("tariff.py", "locked.py", "elsewhere.py")]
    nvim = plugin(command=[*program(tmp_path, SAVES), *uris]).ready()
    (nvim.file.parent / "locked.py").write_text("x = 1\n")
    nvim.rpc.request("nvim_buf_set_lines", 0, 0, -1, True, AFTER.splitlines())
    nvim.ex(f"split {nvim.file.with_name('locked.py')}")
    nvim.ex("set readonly")
    nvim.rpc.request("nvim_buf_set_lines", 0, 0, -1, True, ["x = 2"])
    nvim.lua(
        "require('outrider.client').notify(client(), 'workspace/didChangeConfiguration', { settings = vim.empty_dict() })"
    )
    until((tmp_path / "told.json").exists)
    until((tmp_path / "told.json").read_text)
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["extensions"] == ["language", "ask", "save"]
    assert told["result"]["saved"] == uris[:1]
    assert [one["uri"] for one in told["result"]["failed"]] == uris[1:]
    assert "E45" in told["result"]["failed"][0]["reason"]
    assert told["result"]["failed"][1]["reason"] == "it is not open"
    assert nvim.file.read_text() == AFTER
    assert nvim.file.with_name("locked.py").read_text() == "x = 1\n"


def test_a_command_waits_until_what_could_not_be_saved_is_saved(plugin):
    turns = [EDIT, call("run_command", command="cat tariff.py"), DONE]
    picks = ["Save and continue", "Save and continue"]
    nvim = plugin(turns, picks=picks, init={"permissionMode": "auto-edit"}).ready()
    nvim.ex("setlocal readonly")
    nvim.run().until_asked()
    nvim.wait("asks('not saved')")
    nvim.ex("Outrider answer")
    nvim.wait("heard('Not saved: ')")
    assert nvim.lua("return _G.said[#_G.said]") == (
        f"Not saved: {nvim.file}: E45: 'readonly' option is set (add ! to override)"
    )
    assert nvim.file.read_text() == BEFORE
    assert nvim.lua("return open()") == 1
    nvim.ex("setlocal noreadonly")
    nvim.ex("Outrider answer")
    nvim.until_done()
    assert nvim.file.read_text() == AFTER


def asks_a_key(nvim):
    """Whether Neovim takes the next key for the answer to a question of its own."""
    return nvim.rpc.request("nvim_get_mode")["mode"].startswith("r")


@ANY_VERSION
def test_a_file_that_changed_on_the_disk_is_not_written_over_by_a_key_that_is_typed(plugin, version):
    nvim = plugin(
        [EDIT, call("run_command", command="cat tariff.py"), DONE],
        picks=["Save and continue"],
        version=version,
        init={"permissionMode": "auto-edit"},
    )
    nvim.ready().rpc.request("nvim_ui_attach", 80, 24, {})
    nvim.file.write_text("# by somebody else\n" + BEFORE)
    nvim.run()
    until(lambda: asks_a_key(nvim) or nvim.lua("return asks('not saved')"))
    assert not asks_a_key(nvim)
    assert nvim.lua("return vim.bo[...].modified", nvim.buffer)
    nvim.ex("Outrider answer")
    nvim.wait("heard('tariff.py: it was changed on disk since it was read; `:w!` writes over that')")
    assert nvim.file.read_text().startswith("# by somebody else")
    nvim.ex("write!")
    nvim.lua("_G.picks = { 'Save and continue' }")
    nvim.ex("Outrider answer")
    nvim.until_done()
    assert nvim.file.read_text() == AFTER


@ANY_VERSION
def test_a_file_that_a_command_changed_under_what_is_typed_takes_no_key(plugin, version):
    nvim = plugin([call("run_command", command="echo '# more' >> tariff.py"), DONE], version=version)
    nvim.ready().rpc.request("nvim_ui_attach", 80, 24, {})
    nvim.run().until_asked()
    nvim.rpc.request("nvim_buf_set_lines", nvim.buffer, 0, 0, True, ["# typed"])
    nvim.ex("Outrider allow")
    until(lambda: asks_a_key(nvim) or nvim.lua("return shows('completed (')"))
    assert not asks_a_key(nvim)
    nvim.wait("heard('tariff.py was changed on disk, and here too: `:w!` keeps what is here')")
    assert nvim.text == "# typed\n" + BEFORE


def test_a_buffer_that_another_plugin_writes_and_does_not_is_no_saved_one(plugin):
    nvim = plugin([]).ready()
    nvim.ex("autocmd BufWriteCmd <buffer> let g:asked = 1")
    nvim.rpc.request("nvim_buf_set_lines", 0, 0, -1, True, AFTER.splitlines())
    uri = nvim.file.as_uri()
    saved = nvim.lua("return require('outrider.editing').on_save({ uris = { ... } })", uri)
    assert nvim.lua("return vim.g.asked") == 1
    assert saved["failed"] == [{"uri": uri, "reason": f"{nvim.file}: it is still modified"}]


@ANY_VERSION
def test_a_plugin_that_is_loaded_again_asks_again(plugin, version):
    nvim = plugin([EDIT, DONE], version=version).ready()
    nvim.run().until_asked()
    nvim.lua(
        "for name in pairs(package.loaded) do if vim.startswith(name, 'outrider') then package.loaded[name] = nil end end\n"
        "_G.said = {}\nvim.cmd('runtime plugin/outrider.lua')"
    )
    nvim.wait("open() == 1 and heard('Outrider asks: Edit tariff.py')")
    assert len(nvim.marks()) == 2, "shown once"
    nvim.keys("\\a")
    nvim.until_done()
    assert nvim.text == AFTER
    assert nvim.shown.count("# fix the price") == 1


def test_a_file_that_is_renamed_while_its_diff_is_open(plugin):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    nvim.ex("Outrider diff")
    nvim.wait("#vim.api.nvim_list_tabpages() == 2")
    nvim.ex("tabfirst")
    nvim.ex("saveas! " + str(nvim.file.with_name("prices.py")))
    nvim.file.unlink()
    nvim.ex("Outrider allow")
    nvim.wait("shows('tokens') or open() == 1 and session().seq > 12")
    assert nvim.text == BEFORE, "what was approved was another file"
    assert not nvim.file.exists()


@pytest.mark.thorough
def test_text_that_runs_the_other_way_and_very_long_lines(plugin):
    arabic = "# السعر \u202e hidden"
    long = "x = '" + "y" * 100_000 + "'"
    after = f"{arabic}\n{long.replace('y', 'z')}\n"
    nvim = plugin(
        [
            call("read_file", path="tariff.py"),
            call("write_file", path="tariff.py", content=after),
            {"text": f"{arabic}\n{'w' * 200_000}"},
        ],
        text="a = 1\n",
    ).ready()
    nvim.run(f"{arabic} now").until_asked()
    virtual = nvim.marks()[-1][2]
    assert virtual[0] == "# السعر <202e> hidden", "what turns the text around is seen"
    assert virtual[1].startswith("x = 'zzz")
    assert len(virtual[1]) <= 1000
    began = time.monotonic()
    nvim.ex("Outrider open")
    nvim.ex("redraw!")
    nvim.ex("Outrider allow")
    nvim.until_done()
    nvim.ex("redraw!")
    assert time.monotonic() - began < 5
    assert nvim.text == after
    assert sum(line.count("w") for line in nvim.shown if set(line) == {"w"}) == 200_000, "in rows of 16 KiB"


@pytest.mark.thorough
def test_a_session_of_a_hundred_thousand_lines_stays_fast(plugin):
    lines, each = 100_000, 5_000  # no result is longer
    commands = [f"/usr/bin/seq {first} {first + each}" for first in range(10_000, 10_000 + lines, each)]
    runs = [call("run_command", command=command) for command in commands]
    nvim = plugin(
        [call("ask_user", question="Begin?"), *runs, call("ask_user", question="On?"), DONE],
        init={"permissionMode": "full"},
        script={"context_window": 10_000_000},
    ).ready()
    nvim.run("count").until_asked()
    nvim.ex("Outrider open")
    nvim.ex("Outrider answer yes")
    nvim.wait("asks('On?')", seconds=60)
    assert len(nvim.shown) > lines
    nvim.wait("vim.fn.line('.') == vim.fn.line('$')")  # it follows the end
    # A step more, drawn: what a keystroke of the user has to wait for.
    took = nvim.lua(
        "local began = vim.uv.hrtime()\n"
        "require('outrider.view').frame(session(), { kind = 'text', messageId = 'm', offset = 0, text = 'one\\ntwo' })\n"
        "vim.cmd('redraw')\nreturn (vim.uv.hrtime() - began) / 1e6"
    )
    assert took < 100, f"{took} ms"
    nvim.ex("Outrider answer yes")
    nvim.until_done()
    # Read again from the log, as after a restart of the editor.
    began = time.monotonic()
    nvim.lua(
        "for name in pairs(package.loaded) do if vim.startswith(name, 'outrider') then package.loaded[name] = nil end end\n"
        "vim.cmd('runtime plugin/outrider.lua')"
    )
    nvim.wait(f"session() ~= nil and #shown() > {lines} and shows('completed (')", seconds=30)
    assert time.monotonic() - began < 15


def test_what_is_said_to_a_turn_that_has_just_ended_is_not_lost(plugin):
    nvim = plugin([DONE, DONE], texts=["In francs"]).ready()
    nvim.run("Two an hour").until_done()
    nvim.ex("Outrider steer In francs")
    nvim.wait("heard('no running turn') and heard('has what you wrote')")
    nvim.ex("Outrider run")
    nvim.wait("shows('# In francs')")
    assert nvim.lua("return _G.asked") == [["Task: ", "In francs"]]


def test_a_task_that_is_refused_is_not_lost(plugin):
    nvim = plugin([DONE], texts=["Two an hour", "Two an hour"]).ready()
    nvim.ex("Outrider model nobody/knows")
    nvim.ex("Outrider run")
    nvim.wait("heard('names an unknown provider') and heard('has what you wrote')")
    nvim.lua("require('outrider.models').use(client())")
    nvim.ex("Outrider run")
    nvim.until_done()
    assert nvim.lua("return _G.asked") == [["Task: "], ["Task: ", "Two an hour"]]


def test_a_refusal_that_ends_in_a_dot_gets_no_second_one(plugin):
    nvim = plugin().ready()
    nvim.lua(
        "require('outrider.client').execute = function(_, _, _, _, failed)\n"
        "  failed({ message = 'No folder is open.' })\n"
        "end"
    )
    nvim.run()
    nvim.wait("heard('Outrider: No folder is open. `:Outrider run` without a task')")


@ANY_VERSION
def test_a_task_that_is_refused_is_sent_again_as_it_was(plugin, version):
    nvim = plugin([DONE], texts=["Two an hour"], version=version).ready()
    nvim.ex("Outrider model nobody/knows")
    nvim.ex("2,3Outrider! plan Two an hour")
    nvim.wait("heard('has what you wrote')")
    nvim.lua(
        "require('outrider.models').use(client())\n"
        "local client_of = require('outrider.client')\n"
        "local execute = client_of.execute\n"
        "client_of.execute = function(client, command, argument, ...)\n"
        "  if command == 'outrider.run' then _G.sent = argument end\n"
        "  return execute(client, command, argument, ...)\n"
        "end"
    )
    nvim.ex("new")
    nvim.ex("Outrider run")
    nvim.until_done()
    assert nvim.lua("return _G.asked") == [["Task: (plan, tariff.py:2-3, new session) ", "Two an hour"]]
    sent = nvim.lua("return _G.sent")
    assert (sent["prompt"], sent["mode"]) == ("Two an hour", "plan")
    selection = sent["context"]["selection"]
    assert selection["uri"] == nvim.file.as_uri()
    assert (selection["range"]["start"]["line"], selection["range"]["end"]["line"]) == (1, 2)


def test_a_refused_task_is_not_offered_once_a_later_one_is_taken(plugin):
    nvim = plugin([DONE]).ready()
    nvim.ex("Outrider model nobody/knows")
    nvim.run("Two an hour").wait("heard('has what you wrote')")
    nvim.lua("require('outrider.models').use(client())")
    nvim.run("Two an hour").until_done()
    nvim.ex("Outrider run")
    assert nvim.lua("return _G.asked") == [["Task: "]]


@ANY_VERSION
def test_a_task_whose_server_ended_while_it_was_written_is_not_lost(plugin, version):
    nvim = plugin([DONE], version=version).ready()
    nvim.lua("_G.input = vim.ui.input\nvim.ui.input = function(_, done) _G.write = done end")
    nvim.ex("Outrider run")
    os.kill(nvim.server(), signal.SIGKILL)
    nvim.wait("heard('has ended (signal 9)')")
    nvim.lua("_G.said = {}\n_G.write('Two an hour')\nvim.ui.input = _G.input")
    nvim.wait("heard('`:Outrider restart` starts it again') and heard('has what you wrote')")
    nvim.ex("Outrider restart")
    nvim.ready().ex("Outrider run")
    assert nvim.lua("return _G.asked") == [["Task: ", "Two an hour"]]


def test_a_task_that_a_server_never_answered_is_not_lost(plugin):
    nvim = plugin([DONE]).ready()
    os.kill(nvim.server(), signal.SIGSTOP)
    nvim.ex("2,3Outrider run Two an hour")
    os.kill(nvim.server(), signal.SIGKILL)
    nvim.wait("heard('has ended (signal 9)')")
    nvim.ex("Outrider restart")
    nvim.ready().ex("Outrider run")
    assert nvim.lua("return _G.asked") == [["Task: (tariff.py:2-3) ", "Two an hour"]]


@pytest.mark.thorough
def test_without_a_network_it_says_so(plugin):
    nowhere = {
        "model": "my/model",
        "providers": {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
        "retry": {"attempts": 1},
    }
    nvim = plugin([], init=nowhere).ready()
    nvim.run("fix the price")
    nvim.until_done("failed")
    assert any("All connection attempts failed" in line for line in nvim.shown)
    assert "Look at the network" in nvim.shown[-1]


def test_sessions_that_wait_call_in_a_new_editor_though_none_of_them_was_looked_at(plugin, tmp_path):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    os.kill(nvim.server(), signal.SIGKILL)
    nvim.wait("heard('has ended (signal 9)')")
    second = tmp_path / "second"
    second.mkdir()
    other = neovim_driver.Neovim(second, arguments=["--cmd", f"set runtimepath^={neovim_driver.PLUGIN}"])
    try:
        nvim.set_up(other)
        other.ex(f"edit {nvim.file}")
        other.wait("heard('Outrider asks: Edit tariff.py')")
        assert "? 1" in other.lua("return require('outrider').status()")
        listed = "require('outrider.client').execute(client(), 'outrider.sessions', nil, function(r) _G.listed = r end)"
        other.lua(listed)
        other.wait("_G.listed ~= nil")
        assert other.lua("return _G.listed.sessions[1].state") == "parked"
        other.ex("Outrider allow")
        other.wait(
            "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'):find('hours * 2', 1, true)"
        )
    finally:
        other.quit()


@pytest.mark.thorough
def test_a_second_editor_is_told_that_what_it_watched_has_ended_and_goes_on_with_it(plugin, tmp_path):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    second = tmp_path / "second"
    second.mkdir()
    other = neovim_driver.Neovim(second, arguments=["--cmd", f"set runtimepath^={neovim_driver.PLUGIN}"])
    try:
        nvim.set_up(other)
        other.ex(f"edit {nvim.file}")
        other.wait("client() ~= nil and client().initialized")
        other.ex(f"Outrider resume {nvim.lua('return session().id')}")
        other.wait("heard('Outrider asks')")
        nvim.lua("client():stop(true)")
        other.wait("heard('has ended in the middle of a turn')")
        other.ex("Outrider resume")
        other.wait("session().state ~= 'lost'")
        other.ex("Outrider allow")
        other.wait(
            "table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'):find('completed (', 1, true)"
        )
    finally:
        other.quit()


def test_a_second_editor_joins_a_session_and_answers_it(plugin, tmp_path):
    nvim = plugin([EDIT, DONE]).ready()
    nvim.run().until_asked()
    second = tmp_path / "second"
    second.mkdir()
    other = neovim_driver.Neovim(second, arguments=["--cmd", f"set runtimepath^={neovim_driver.PLUGIN}"])
    try:
        nvim.set_up(other)
        other.ex(f"edit {nvim.file}")
        other.wait("client() ~= nil and client().initialized")
        other.ex(f"Outrider resume {nvim.lua('return session().id')}")
        looks = (
            "vim.b.outrider_session and table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\\n'):find"
        )
        other.wait(f"{looks}('? Edit tariff.py', 1, true)")
        other.wait("heard('Outrider asks')")
        other.ex("Outrider allow")
        nvim.until_done()
        assert "hours * 2" in nvim.text
        other.wait(f"{looks}('completed (', 1, true)")
    finally:
        other.quit()
