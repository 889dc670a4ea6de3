"""A log that is damaged, newer, in the way, gone, or on a full disk: every command says why, and the server lives."""

import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from outrider.store.schema import FILE_NAME, SCHEMA_VERSION
from outrider.testing.editor.answers import Never
from outrider.testing.editor.connections import Stdio
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import scripted, start_session
from outrider_protocol import REQUEST_FAILED
from outrider_protocol.commands import COMMANDS

ARGUMENTS = {
    "outrider.run": {"prompt": "x"}, "outrider.explore": {"prompt": "x"}, "outrider.steer": {"sessionId": "s", "text": "x"},
    "outrider.cancel": {"turnId": "t"}, "outrider.answer": {"id": "o", "answer": "x"}, "outrider.wait": {"turnId": "t"},
    "outrider.events": {"sessionId": "s"}, "outrider.resume": {"sessionId": "s"},
}  # fmt: skip
EDIT = {"name": "edit_file", "input": {"path": "README.md", "old": "Parking", "new": "Tariffs"}, "id": "c_1"}
SCRIPT = [{"tool_calls": [EDIT]}, {"text": "Done."}]


def state_of(workspace):
    return workspace.parent / f"{workspace.name}.state"


def of_a_newer_program(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("PRAGMA application_id = 1330992210")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        connection.execute("CREATE TABLE events (id INTEGER PRIMARY KEY)")
    connection.close()


BROKEN = {
    "junk": lambda path: path.write_bytes(b"junk" * 2000),
    "newer": of_a_newer_program,
    "folder": lambda path: path.mkdir(),
}


async def failed(editor, name, argument):
    with pytest.raises(RpcError) as caught:
        await editor.command(name, argument)
    assert caught.value.code == REQUEST_FAILED
    assert caught.value.data == {"reason": "store_failed"}, caught.value
    return caught.value.message


@pytest.mark.parametrize("kind", BROKEN)
async def test_a_log_that_cannot_be_opened(workspace, kind):
    state = state_of(workspace)
    state.mkdir()
    BROKEN[kind](state / FILE_NAME)
    before = (state / FILE_NAME).read_bytes() if kind != "folder" else None
    async with start_session("stock", workspace, scripted(workspace, SCRIPT)) as editor:
        for name in COMMANDS:
            assert str(state / FILE_NAME) in await failed(editor, name, ARGUMENTS.get(name, {}))
        (said,) = [said for said in editor.said if said.level == 1]
        assert str(state / FILE_NAME) in said.text
        editor.open("tariff.py")
        editor.type("tariff.py", "# typed\n")
        assert await editor.code_actions("tariff.py") == []
    if before is not None:
        assert (state / FILE_NAME).read_bytes() == before


async def test_a_state_folder_that_is_a_file(workspace):
    state_of(workspace).write_text("mine")
    async with start_session("stock", workspace, scripted(workspace, SCRIPT)) as editor:
        assert str(state_of(workspace)) in await failed(editor, "outrider.run", {"prompt": "x"})
    assert state_of(workspace).read_text() == "mine"


async def test_rows_that_are_damaged_while_in_use(workspace):
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), answers=["Reject"]) as editor:
        await editor.run("First")
    ids = {"sessionId": editor.session_id, "turnId": editor.turn_id}
    async with start_session("stock", workspace, scripted(workspace, SCRIPT)) as editor:
        connection = sqlite3.connect(state_of(workspace) / FILE_NAME)
        with connection:
            connection.execute("UPDATE events SET data = 'no JSON'")
        connection.close()
        for name, keys in {
            "outrider.events": ["sessionId"], "outrider.resume": ["sessionId"], "outrider.cancel": ["turnId"],
            "outrider.wait": ["turnId"], "outrider.sessions": [], "outrider.undo": [],
        }.items():  # fmt: skip
            assert FILE_NAME in await failed(editor, name, {key: ids[key] for key in keys})
        assert FILE_NAME in await failed(
            editor, "outrider.run", {"prompt": "x", "sessionId": ids["sessionId"]}
        )
        assert FILE_NAME in await failed(editor, "outrider.answer", {"id": "open_9", "answer": "x"})
        editor.open("tariff.py")
        assert "Outrider: write a task…" in [
            action["title"] for action in await editor.code_actions("tariff.py")
        ]
        assert (await editor.command("outrider.status"))["sessions"] == []
        assert await editor.command("outrider.tools")


async def test_contents_that_are_damaged(workspace):
    async with start_session(
        "stock", workspace, scripted(workspace, SCRIPT), answers=["Allow once"]
    ) as editor:
        await editor.run("First")
        session_id = editor.session_id
        connection = sqlite3.connect(state_of(workspace) / FILE_NAME)
        with connection:
            connection.execute("UPDATE blobs SET content = 'x'")
        connection.close()
        assert FILE_NAME in await failed(editor, "outrider.undo", {"sessionId": session_id})
    async with start_session("stock", workspace, scripted(workspace, SCRIPT)) as editor:
        for _ in range(2):  # the second time must not find what the first left behind
            assert FILE_NAME in await failed(editor, "outrider.resume", {"sessionId": session_id})
        assert (await editor.command("outrider.status"))["sessions"] == []
    assert "Tariffs" in (workspace / "README.md").read_text()


async def test_a_log_that_is_removed_while_in_use_and_put_back(workspace):
    state = state_of(workspace)
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), answers=[Never()]) as editor:
        started = await editor.command("outrider.run", {"prompt": "Edit"})
        await editor.question()
        state.rename(workspace.parent / "moved")
        for name in ("outrider.run", "outrider.explore"):
            assert FILE_NAME in await failed(editor, name, {"prompt": "x"})
        assert "log" in await failed(
            editor, "outrider.steer", {"sessionId": started["sessionId"], "text": "x"}
        )
        editor.answer_late(editor.questions[0], "Allow once")
        await editor.wait_for(
            lambda: [said for said in editor.said if said.level == 1], "word that the log cannot be written"
        )
        assert "Parking" in (workspace / "README.md").read_text(), "an effect without its log"
        checks = (await editor.command("outrider.doctor"))["checks"]
        assert [check["status"] for check in checks if check["name"] == "log"] == ["fail"]
        shutil.rmtree(state, ignore_errors=True)
        (workspace.parent / "moved").rename(state)
        await editor.run("Again")


LIMITED = (
    "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (%d, %d)); "
    "sys.argv = ['outrider', 'serve']; runpy.run_module('outrider', run_name='__main__')"
)
FULL_BYTES = 400_000


async def test_a_full_disk_lets_no_effect_start(workspace):
    """The log reaches its limit between the question and the answer."""
    command = (sys.executable, "-c", LIMITED % (FULL_BYTES, FULL_BYTES))
    connection = Stdio(command, cwd=workspace.parent)
    how = {"connection": connection, "answers": [Never()]}
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), **how) as editor:
        started = await editor.command("outrider.run", {"prompt": "Edit"})
        await editor.question()
        message = await failed(
            editor, "outrider.run", {"prompt": "x" * 2 * FULL_BYTES, "sessionId": started["sessionId"]}
        )
        assert FILE_NAME in message
        assert "Make room" in message
        editor.answer_late(editor.questions[0], "Allow once")
        await editor.wait_for(
            lambda: [said for said in editor.said if said.level == 1], "word that the log cannot be written"
        )
        assert await editor.command("outrider.tools"), "the server goes on"
        assert "Parking" in (workspace / "README.md").read_text(), "an effect without its log"
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), answers=["Reject"]) as editor:
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"limits = [\xff"), os.mkfifo, Path.mkdir])
async def test_a_user_settings_file_that_is_damaged_is_said_and_left_out(workspace, make):
    folder = workspace.parent / f"{workspace.name}.home" / "config" / "outrider"
    folder.mkdir(parents=True)
    make(folder / "settings.toml")
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), answers=["Reject"]) as editor:
        assert (await editor.run("Go on"))["outcome"] == "completed"
        assert any(str(folder / "settings.toml") in said.text for said in editor.said if said.shown)


@pytest.mark.parametrize(
    "content", [b"{", b'{"turns": 5}', b"\xff", b"[]", b'{"turns": [], "newer": 1}', b"9" * 10_000_001, None]
)
async def test_a_script_that_is_no_script(workspace, content):
    model = scripted(workspace, [{"text": "Done."}])
    path = workspace.parent / f"{workspace.name}.script.json"
    good = path.read_bytes()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    async with start_session("stock", workspace, model) as editor:
        with pytest.raises(RpcError) as caught:
            await editor.command("outrider.run", {"prompt": "x"})
        assert caught.value.data == {"reason": "model_unavailable"}
        assert str(path) in caught.value.message
        path.write_bytes(good)
        assert (await editor.run("Again"))["outcome"] == "completed"


async def test_locks_that_cannot_be_made(workspace):
    state_of(workspace).mkdir()
    (state_of(workspace) / "locks").write_text("in the way")
    async with start_session("stock", workspace, scripted(workspace, SCRIPT)) as editor:
        assert "locked" in await failed(editor, "outrider.run", {"prompt": "x"})
        assert (await editor.command("outrider.status"))["sessions"] == []


async def test_a_session_that_is_opened_from_all_sides_is_opened_once(workspace):
    script = scripted(workspace, [{"text": "One."}, {"text": "Two."}, {"text": "Three."}])
    async with start_session("stock", workspace, script) as editor:
        await editor.run("First")
        session = {"sessionId": editor.session_id}
    async with start_session("stock", workspace, script) as editor:
        pending = [
            editor.command_nowait(name, {**session, **more})
            for name, more in [
                ("outrider.resume", {}), ("outrider.run", {"prompt": "Second"}), ("outrider.resume", {}),
                ("outrider.run", {"prompt": "Third"}), ("outrider.undo", {}),
            ]
        ]  # fmt: skip
        editor.cancel_request(pending[0])
        turns = [(await pending[1])["turnId"], (await pending[3])["turnId"]]
        assert {(await editor.wait_turn(turn))["summary"] for turn in turns} == {"Two.", "Three."}
        assert len(editor.events_of("session.restored")) == 1
