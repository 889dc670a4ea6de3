"""VS Code when something goes wrong: servers that are missing, old or broken, windows that come and go, no trust."""

import json
import shutil
import signal
import sys
from pathlib import Path

import neovim_driver
import pytest
from neovim_plugin import NAMES, SERVE, SETUP

from editors.parking import BEFORE, IN_THE_WORKBENCH, Begin, asked, chord, edit, give
from editors.workbench import plain

pytestmark = IN_THE_WORKBENCH


IN_SIGHT = """
one => {
    const { left, top } = one.getBoundingClientRect();
    return one.contains(document.elementFromPoint(left + 2, top + 2));
}
"""


KEPT = """
async text => {
    const read = request => new Promise((resolve, reject) => {
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
    for (const { name } of await indexedDB.databases()) {
        const database = await read(indexedDB.open(name));
        try {
            for (const store of database.objectStoreNames) {
                const values = await read(database.transaction(store).objectStore(store).getAll());
                if (values.some(value => String(value).includes(text))) return true;
            }
        } finally {
            database.close();
        }
    }
    return false;
}
"""
"""Whether the window would find a text again: what it remembers it writes down some seconds later."""

LAST_SESSION = '"outrider.session":"ses_'


@pytest.mark.thorough
def test_a_file_is_renamed_while_its_diff_is_open(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "It is gone."}]) as bench:
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card button", has_text="Review…").click()
        bench.page.locator(".tab.active", has_text="tariff.py (proposed)").wait_for()
        (bench.folder / "tariff.py").rename(bench.folder / "prices.py")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "It is gone." in bench.view_text(), "the turn goes on")
        bench.until(lambda: not bench.page.locator(".tab", has_text="proposed").count(), "the diff is closed")
        bench.shot("renamed")
        assert "edit_file tariff.py failed" in plain(bench.view_text())
        assert (bench.folder / "prices.py").read_text(encoding="utf-8") == BEFORE
        assert not (bench.folder / "tariff.py").exists()


def test_a_question_that_is_open_is_asked_again_after_a_reload(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}], alone=True) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.focus_editor()
        chord(bench, "d")
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        bench.page.keyboard.press("End")
        bench.page.keyboard.type("  # for now")
        bench.until(lambda: "You rewrote it" in bench.view_text(), "what was written")
        for kept in ("outrider-proposal:", "# for now"):
            bench.until(lambda kept=kept: bench.page.evaluate(KEPT, kept), f"{kept} is kept")
        bench.page.reload()
        bench.until(lambda: "needs you" in bench.status(), "the question after the reload", 60)
        diff = bench.page.locator(".tab", has_text="tariff.py (proposed)")
        diff.click()
        bench.until(
            lambda: any("rewritten" in lens for lens in bench.lenses()), "what was written is there still"
        )
        bench.shot("reloaded")
        bench.until(bench.has_diff_focus, "the diff has the keyboard")
        chord(bench, "y")
        bench.until(lambda: not diff.count(), "the diff is closed")
        bench.until(lambda: "needs you" not in bench.status(), "a status bar at rest")
        bench.open("tariff.py")  # the window may come back without it
        bench.until(lambda: "hours * 2  # for now" in bench.text(), "the edit, as it was rewritten")


@pytest.mark.thorough
def test_a_question_of_a_session_that_is_not_in_sight_calls_after_a_reload(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}], alone=True) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.until(lambda: bench.page.evaluate(KEPT, LAST_SESSION), "the session is kept")
        bench.command("Outrider: New Session")
        bench.until(lambda: "Two an hour" not in bench.view_text(), "another session in sight")
        # What is in sight is among what the window writes down some seconds later.
        bench.until(lambda: not bench.page.evaluate(KEPT, LAST_SESSION), "the choice is kept")
        bench.page.reload()
        bench.until(lambda: "needs you" in bench.status(), "the question after the reload", 60)
        assert "Two an hour" not in bench.view_text(), "the session in sight stays"
        bench.command("Outrider: Answer Pending")
        allow = bench.page.locator(".quick-input-list .monaco-list-row", has_text="Allow once")
        allow.wait_for()
        bench.read()
        allow.click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.open("tariff.py")  # the window shows what it had, in whichever tab it thinks best
        bench.until(lambda: "hours * 2" in bench.text(), "the edit")


@pytest.mark.thorough
def test_providers_of_the_users_own_settings_count_in_a_remote_window(begin: Begin) -> None:
    # The workbench of code-server is a remote window: its own settings lie beside those of the user.
    with begin([], settings={"outrider.model": None}, alone=True) as bench:
        user = bench.home.data / "User" / "settings.json"
        own = {
            "outrider.providers": {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
            "outrider.model": "my/model",
        }
        user.write_text(json.dumps(json.loads(user.read_text()) | own))
        bench.page.reload()
        bench.until(lambda: "model" in bench.status(), "the model of the user's settings", 60)
        # What the window takes from there at its start it reads anew with any other change.
        bench.change_setting("workbench.colorTheme", "Default High Contrast")
        bench.page.locator(".monaco-workbench.hc-black").wait_for()
        give(bench, "Two an hour")
        bench.until(lambda: "connection" in bench.view_text().lower(), "the provider is asked")


def test_a_server_that_is_killed_is_started_again_and_the_session_goes_on(begin: Begin) -> None:
    slow = {"text": "Slowly. " * 500, "chunk": 8, "delay": 0.2}
    with begin([edit("* 3", "* 2"), {"text": "Done."}, slow], alone=True) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.until(bench.server, "the server").send_signal(signal.SIGKILL)
        bench.until(lambda: any("ended unexpectedly" in toast for toast in bench.toasts()), "what happened")
        asked(bench, "Edit tariff.py (+1 −1)")
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")

        # One that hangs does not end by itself.
        give(bench, "Go on")
        bench.until(lambda: "Slowly." in bench.view_text(), "the text as it comes")
        hangs = bench.until(bench.server, "the server")
        hangs.send_signal(signal.SIGSTOP)
        bench.until(
            lambda: any("has not answered for 10 s" in toast for toast in bench.toasts()), "what happens"
        )
        bench.click_toast("Restart")
        bench.until(lambda: not hangs.is_running(), "the end of the server that hung")
        said = bench.view_text().count("Slowly.")
        bench.until(lambda: bench.view_text().count("Slowly.") > said + 1, "the turn that goes on")


def test_a_server_that_is_missing_is_said_with_what_to_do(begin: Begin) -> None:
    with begin([], settings={"outrider.server.command": ["/nowhere/outrider"]}) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert "/nowhere/outrider" in toast
        assert "outrider.server.command" in toast
        assert "Open Settings" in toast
        bench.command("Outrider: Show Session View")
        bench.until(lambda: "server is not running" in plain(bench.view_text()), "the view says it too")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param(["/bin/echo", "Content-Length: x"], "gave no answer", id="nonsense"),
        pytest.param(["/bin/sh", "-c", "echo no licence >&2; exit 3"], "It said: no licence.", id="crash"),
    ],
)
@pytest.mark.thorough
def test_what_is_no_server_is_said_and_ended(begin: Begin, command: list[str], said: str) -> None:
    with begin([], settings={"outrider.server.command": command}) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert command[0] in toast
        assert said in toast
        assert "Restart" in toast
        bench.shot("no-server")
        assert len(bench.toasts()) == 1, "said once"
        bench.until(lambda: bench.server() is None, "nothing is left running")


@pytest.mark.thorough
def test_problems_go_along_with_a_task_that_starts_the_server(begin: Begin, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    server = Path(sys.executable).with_name("outrider")
    command = ["/bin/sh", "-c", f'test -e {ready} || exit 3; exec {server} "$@"', "sh"]
    turns = [{"text": "Commas are missing.", "expect": {"messages_contain": ["Expected comma"]}}]
    with begin(turns, settings={"outrider.server.command": command}) as bench:
        bench.until(lambda: any("cannot start" in one for one in bench.toasts()), "that there is no server")
        (bench.folder / "prices.json").write_text('{\n  "hour": 2\n  "day": 9\n  "week": 40\n}\n', "utf-8")
        bench.open("prices.json")
        bench.until(lambda: bench.page.locator(".squiggly-error").count() > 1, "the problems")
        ready.touch()
        bench.focus_editor()
        bench.to_line(1)
        chord(bench, "f")
        bench.until(lambda: "Commas are missing." in bench.view_text(), "the answer")
        assert "Fix these 2 problems" in bench.view_text()


@pytest.mark.thorough
def test_a_storage_that_cannot_be_written_is_said_with_what_to_do(begin: Begin, place: Path) -> None:
    storage = place / "home" / "data" / "User" / "globalStorage" / "outrider.outrider"
    shutil.rmtree(storage, ignore_errors=True)
    storage.parent.mkdir(parents=True, exist_ok=True)
    storage.write_text("in the way", encoding="utf-8")
    with begin([], alone=True) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert "Outrider cannot start" in toast
        storage.unlink()
        bench.click_toast("Restart")
        bench.until(lambda: "· ask" in bench.status(), "the server")


OLD = """
from pygls.lsp.server import LanguageServer

LanguageServer("outrider", "0").start_io()
"""

BABBLING = """
import subprocess, sys, threading
from pathlib import Path

server = subprocess.Popen([sys.argv[2], "serve"], stdin=sys.stdin, stdout=subprocess.PIPE)
said = Path(sys.argv[1])

def babble():
    while not said.exists():
        pass
    sys.stdout.buffer.write(b"Warning: this is no message" + bytes([13, 10, 13, 10]))
    sys.stdout.buffer.flush()

threading.Thread(target=babble, daemon=True).start()
while part := server.stdout.read1():
    sys.stdout.buffer.write(part)
    sys.stdout.buffer.flush()
"""
"""Hands on what a server says, and says something else once a file is there."""


@pytest.mark.thorough
def test_a_server_that_is_too_old_is_said_and_ended(begin: Begin, tmp_path: Path) -> None:
    old = tmp_path / "old.py"
    old.write_text(OLD, encoding="utf-8")
    with begin([], settings={"outrider.server.command": [sys.executable, str(old)]}) as bench:
        toast = bench.until(lambda: next(iter(bench.toasts()), None), "a message")
        assert "too old for this extension: update the server" in toast
        assert "Restart" in toast
        bench.until(lambda: bench.server() is None, "nothing is left running")


@pytest.mark.thorough
def test_a_server_that_crashes_again_and_again_stays_down_until_it_is_started(begin: Begin) -> None:
    with begin([{"text": "Here I am.\n\n" * 100}, {"text": "Here again."}]) as bench:
        give(bench, "Say something")
        bench.until(lambda: "Completed" in bench.view_text(), "a server that works")
        seen: set[int] = set()
        while len(seen) < 5:
            server = bench.until(bench.server, "the server")
            bench.until(lambda: "· ask" in bench.status() or "failed" in bench.status(), "a server at work")
            if server.pid not in seen:
                seen.add(server.pid)
                server.send_signal(signal.SIGKILL)
            bench.page.wait_for_timeout(100)
        bench.until(
            lambda: any("ended 5 times in three" in one for one in bench.toasts()), "that it stays down"
        )
        assert bench.server() is None
        bench.shot("stays-down")
        again = bench.view.get_by_role("button", name="Restart")
        assert again.evaluate(IN_SIGHT), "it need not be looked for among the steps"
        again.click()
        bench.until(lambda: "· ask" in bench.status(), "the server")
        give(bench, "Say something else")
        bench.until(lambda: "Here again." in bench.view_text(), "a server that works")


@pytest.mark.thorough
def test_nonsense_in_the_middle_loses_nothing(begin: Begin, tmp_path: Path) -> None:
    babbling, now = tmp_path / "babbling.py", tmp_path / "now"
    babbling.write_text(BABBLING, encoding="utf-8")
    server = Path(sys.executable).with_name("outrider")
    command = [sys.executable, str(babbling), str(now), str(server)]
    with begin(
        [edit("* 3", "* 2"), {"text": "Done."}], settings={"outrider.server.command": command}
    ) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        now.touch()
        bench.view.locator(".card button", has_text="Allow once").click()
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert "* 2" in bench.text()


@pytest.mark.thorough
def test_without_a_network_it_says_so(begin: Begin) -> None:
    nowhere = {
        "outrider.providers": {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}},
        "outrider.model": "my/model",
        "outrider.retry": {"attempts": 1},
    }
    with begin([], settings=nowhere) as bench:
        give(bench, "Two an hour")
        bench.until(lambda: "The model gave no answer" in bench.view_text(), "what is wrong")
        bench.until(lambda: "Failed" in bench.view_text(), "the end", 90)
        bench.shot("no-network")
        assert "Look at the network" in plain(bench.view_text())


def test_a_second_window_looks_on_and_has_a_session_of_its_own(begin: Begin) -> None:
    with begin([edit("* 3", "* 2"), {"text": "Done."}]) as bench:
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        with bench.second_window() as other:
            other.command("Outrider: Show Session View")
            asked(other, "Edit tariff.py (+1 −1)")
            other.command("Outrider: New Session")
            other.until(lambda: "Two an hour" not in other.view_text(), "an empty view")
            give(other, "Another task")
            other.until(lambda: "Another task" in other.view_text(), "a session of its own")
            other.until(lambda: "needs you (2)" in other.status(), "what both of them ask")

            # Back to the session of the first window, which goes on there.
            other.command("Outrider: Sessions…")
            row = other.page.locator(".quick-input-list .monaco-list-row", has_text="Two an hour").first
            row.wait_for()
            assert "needs you in another window or editor" in plain(row.inner_text())
            row.click()
            other.until(lambda: "buffers and edits stay there" in other.view_text(), "who runs it")
            other.shot("looking-on")
            bench.focus_editor()
            chord(bench, "y")
            bench.until(lambda: "hours * 2" in bench.text(), "the edit of the first window")
            other.until(lambda: "Completed" in other.view_text(), "what came of it there")
            assert "needs you" in other.status(), "the session of this window is asking still"


@pytest.mark.thorough
def test_neovim_works_in_the_same_file_meanwhile(begin: Begin, tmp_path: Path) -> None:
    if neovim_driver.program("0.11") is None:
        pytest.skip("Neovim 0.11 is not installed: .ci/install-neovim does that, on Linux")
    turns = [edit("* 3", "* 2"), {"text": "Done."}]
    with begin(turns) as bench:
        (bench.folder / ".git").mkdir()
        bench.open("tariff.py")
        give(bench, "Two an hour")
        asked(bench, "Edit tariff.py (+1 −1)")
        (tmp_path / "neovim").mkdir()
        path = ["--cmd", f"set runtimepath^={neovim_driver.PLUGIN}"]
        nvim = neovim_driver.Neovim(tmp_path / "neovim", arguments=path)
        try:
            init = {"model": f"scripted:{bench.home.script}", "stateDir": str(bench.home.state)}
            nvim.lua(SETUP, {"cmd": SERVE, "init": init, "picks": [], "texts": [], "setup": {}})
            nvim.lua(NAMES)
            nvim.ex(f"edit {bench.folder / 'tariff.py'}")
            nvim.wait("client() ~= nil and client().initialized")
            nvim.ex("Outrider sessions")
            nvim.wait("#_G.asked == 1")
            assert "parked elsewhere" in nvim.lua("return _G.asked[1][2][1]")
            nvim.ex("Outrider run Two an hour, too")
            nvim.wait("open() == 1")
            nvim.ex("Outrider allow")
            nvim.wait("shows('completed (')")
            nvim.ex("write")
        finally:
            nvim.quit()
        bench.until(lambda: "hours * 2" in bench.text(), "what was done in Neovim")
        bench.focus_editor()
        chord(bench, "y")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        bench.shot("two-editors")
        assert bench.text() == BEFORE.replace("* 3", "* 2"), "the same is not done twice"


@pytest.mark.thorough
def test_a_workspace_that_is_not_trusted_is_only_read(begin: Begin) -> None:
    trust = {"security.workspace.trust.enabled": True, "security.workspace.trust.startupPrompt": "never"}
    turns = [edit("* 3", "* 2"), {"text": "I cannot change anything here."}]
    with begin(turns, settings=trust, alone=True) as bench:
        give(bench, "Two an hour")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
        assert "denied" in bench.view_text() or "failed" in bench.view_text()
        assert "read-only" in bench.view_text()
        assert (bench.folder / "tariff.py").read_text(encoding="utf-8") == BEFORE

        # A mode that cannot count here is not chosen in silence.
        bench.command("Outrider: Choose Permission Mode…")
        bench.page.locator(".quick-input-list .monaco-list-row", has_text="auto-edit").first.click()
        bench.until(lambda: any("not trusted" in one for one in bench.toasts()), "why nothing changes")
        bench.click_toast("Manage Workspace Trust")
        bench.page.locator(".workspace-trust-editor").wait_for()


@pytest.mark.thorough
def test_a_server_is_made_where_there_is_none(begin: Begin) -> None:
    with begin([{"text": "Done."}], settings={"outrider.server.command": None}) as bench:
        bench.until(lambda: any("installing the server" in toast for toast in bench.toasts()), "the progress")
        server = bench.until(bench.server, "the server", 180)
        own = Path(server.cmdline()[0])
        assert own.match("globalStorage/outrider.outrider/servers/*/bin/python")
        assert [one.name for one in own.parents[2].iterdir()] == [own.parents[1].name], (
            "nothing is left beside it"
        )
        give(bench, "Say that you are done")
        bench.until(lambda: "Completed" in bench.view_text(), "the end of the turn")
