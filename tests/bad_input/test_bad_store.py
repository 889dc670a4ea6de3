"""A log that is damaged, newer, in the way, gone, or on a full disk: every command says why, and the server lives."""

import os
import random
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

from outrider.ports.model import content_hash
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


def of_somebody_else(path):
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()


BROKEN = {
    "foreign": of_somebody_else,
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


async def test_a_damaged_log_is_set_aside_and_what_can_be_read_of_it_stays_readable(workspace):
    path = state_of(workspace) / FILE_NAME
    script = [
        {"tool_calls": [{"name": "read_file", "input": {"path": "README.md"}}]},
        *SCRIPT,
        *[{"text": f"Done {number}. {'x' * 12000}"} for number in range(30)],
    ]
    full = {"permissionMode": "full"}
    async with start_session("stock", workspace, scripted(workspace, script), full) as editor:
        await editor.run("First")
        edited = editor.session_id
        for _ in range(9):
            await editor.run("Again")
        before = (await editor.command("outrider.sessions"))["sessions"]
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 6_000])
    damaged = path.read_bytes()
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), full) as editor:
        kept = path.with_name(f"{path.stem}-damaged-1{path.suffix}")
        await editor.wait_for(
            lambda: [said for said in editor.said if said.level == 2 and str(kept) in said.text],
            "word of the damaged log",
        )
        assert kept.read_bytes() == damaged
        listed = (await editor.command("outrider.sessions"))["sessions"]
        assert edited in {one["sessionId"] for one in listed} <= {one["sessionId"] for one in before}
        events = (await editor.command("outrider.events", {"sessionId": edited}))["events"]
        assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
        await editor.command("outrider.undo", {"sessionId": edited, "scope": "session"})
        assert "Parking" in (workspace / "README.md").read_text()
        await editor.run("A new one")


async def test_a_damaged_page_is_known_before_the_first_event_of_a_short_run(workspace):
    path = state_of(workspace) / FILE_NAME
    full = {"permissionMode": "full"}
    model = scripted(workspace, [{"text": f"Done {number}. {'x' * 12000}"} for number in range(30)])
    async with start_session("stock", workspace, model, full) as editor:
        for _ in range(20):
            await editor.run("Again")
        first = editor.session_id
    with path.open("r+b") as file:
        # A page in the middle: the file opens, and the newest events are read and written elsewhere.
        file.seek(path.stat().st_size // 4096 // 2 * 4096)
        file.write(b"\xff" * 4096)
    damaged = path.read_bytes()
    async with start_session("stock", workspace, model, full) as editor:
        await editor.run("Once, and the editor ends")
    kept = path.with_name(f"{path.stem}-damaged-1{path.suffix}")
    assert kept.read_bytes() == damaged
    assert [said for said in editor.said if said.level == 2 and str(kept) in said.text]
    async with start_session("stock", workspace, model, full) as again:
        events = (await again.command("outrider.events", {"sessionId": first}))["events"]
        assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
        assert events
        assert [one["data"] for one in events if one["type"] == "turn.started"]


@pytest.mark.parametrize("data", ["{", "[]", b'{"\xff"'])
async def test_a_log_with_a_damaged_row_is_set_aside_at_the_next_start(workspace, data):
    """SQLite does not see it: the session could never be read again, and advice to start again led nowhere."""
    path, full = state_of(workspace) / FILE_NAME, {"permissionMode": "full"}
    model, sessions = scripted(workspace, SCRIPT), []
    for made in ("a.txt", "b.txt"):
        call = {"name": "write_file", "input": {"path": made, "content": "new\n"}}
        script = scripted(workspace, [{"tool_calls": [call]}, {"text": "Done."}])
        async with start_session("stock", workspace, script, full) as editor:
            await editor.run("Go.")
            sessions.append(editor.session_id)
    first, second = sessions
    with closing(sqlite3.connect(path)) as connection, connection:
        update = "UPDATE events SET data = CAST(? AS TEXT) WHERE session_id = ? AND seq = 9"
        connection.execute(update, (data, first))
    async with start_session("stock", workspace, model, full) as editor:
        assert FILE_NAME in await failed(editor, "outrider.changes", {"sessionId": first})
        await editor.command("outrider.changes", {"sessionId": second})
    kept = path.with_name(f"{path.stem}-damaged-1{path.suffix}")
    async with start_session("stock", workspace, model, full) as editor:
        await editor.wait_for(
            lambda: [said for said in editor.said if said.level == 2 and str(kept) in said.text],
            "word of the damaged log",
        )
        events = (await editor.command("outrider.events", {"sessionId": first}))["events"]
        assert [one["seq"] for one in events][:8] == list(range(1, 9))
        await editor.command("outrider.changes", {"sessionId": first})
        undone = await editor.command("outrider.undo", {"sessionId": second, "scope": "session"})
        assert undone["undone"]
    async with start_session("stock", workspace, model, full) as editor:
        await editor.command("outrider.changes", {"sessionId": second})
        assert not [said for said in editor.said if said.level <= 2]
    assert sorted(one.name for one in path.parent.glob("*damaged*.sqlite3")) == [kept.name]


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
        undone = await editor.command("outrider.undo", {"sessionId": session_id})
        assert undone["undone"] == []
        ((what, why),) = [(one["what"], one["reason"]) for one in undone["notUndoable"]]
        assert what == "README.md"
        assert "damaged" in why
    async with start_session("stock", workspace, scripted(workspace, SCRIPT)) as editor:
        undone = await editor.command("outrider.undo", {"sessionId": session_id})
        assert [one["what"] for one in undone["notUndoable"]] == ["README.md"]
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
        assert "Free disk space" in message
        editor.answer_late(editor.questions[0], "Allow once")
        await editor.wait_for(
            lambda: [said for said in editor.said if said.level == 1], "word that the log cannot be written"
        )
        assert await editor.command("outrider.tools"), "the server goes on"
        assert "Parking" in (workspace / "README.md").read_text(), "an effect without its log"
    async with start_session("stock", workspace, scripted(workspace, SCRIPT), answers=["Reject"]) as editor:
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        ended = await editor.wait_turn(started["turnId"])
        assert (ended["outcome"], ended["reason"]) == ("failed", "store_failed")


def filling(seed=1):
    """Eight edits, each with an answer that the log can hardly make smaller."""
    letters = random.Random(seed)
    noise = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789 ", k=30_000)) for _ in range(8)]
    edits = [
        {"name": "edit_file", "input": {"path": "README.md", "old": "# ", "new": f"# {number}"}}
        for number in range(8)
    ]
    return [
        {"tool_calls": [{"name": "read_file", "input": {"path": "README.md"}}]},
        *({"text": text, "tool_calls": [edit]} for text, edit in zip(noise, edits, strict=True)),
        {"text": "All done."},
    ]


@pytest.mark.parametrize("resumed", [True, False])
async def test_a_turn_whose_log_fails_in_the_middle_has_failed_everywhere(workspace, resumed):
    limit = 330_000
    command = (sys.executable, "-c", LIMITED % (limit, limit))
    how = {"connection": Stdio(command, cwd=workspace.parent)}
    full = {"permissionMode": "full"}
    model = scripted(workspace, filling())
    failure = ("failed", "store_failed")
    async with start_session("stock", workspace, model, full, **how) as editor:
        started = await editor.command("outrider.run", {"prompt": "Edit"})
        ended = await editor.command("outrider.wait", {"turnId": started["turnId"]})
        assert (ended["outcome"], ended["reason"]) == failure
        assert FILE_NAME in ended["summary"]
        (status,) = (await editor.command("outrider.status"))["sessions"]
        assert status["state"] == "idle"
        assert editor.progress
        assert not [progress for progress in editor.progress.values() if progress.running]
        assert [said for said in editor.said if said.level == 1 and FILE_NAME in said.text]
        before = (workspace / "README.md").read_text()
        assert not before.startswith(("# Parking", "# 76543210Parking")), (
            "some edits were made, and some were not"
        )
    async with start_session("stock", workspace, model, full) as editor:
        if resumed:
            await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        ended = await editor.command("outrider.wait", {"turnId": started["turnId"]})
        assert (ended["outcome"], ended["reason"]) == failure
        (listed,) = (await editor.command("outrider.sessions"))["sessions"]
        assert listed["outcome"] == "failed"
        assert (workspace / "README.md").read_text() == before, "it does not go on by itself"
        log = (await editor.command("outrider.events", {"sessionId": started["sessionId"]}))["events"]
        assert [one["data"]["reason"] for one in log if one["type"] == "turn.finished"] == ["store_failed"]
        undone = await editor.command(
            "outrider.undo", {"sessionId": started["sessionId"], "scope": "session"}
        )
        assert undone["conflicts"] == []
        assert (workspace / "README.md").read_text().startswith("# Parking")
    async with start_session("stock", workspace, model, full) as editor:
        assert not list((state_of(workspace) / "locks").glob("*.failed"))
        assert (await editor.run("Again"))["outcome"] == "completed"


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
        assert "could not lock" in await failed(editor, "outrider.run", {"prompt": "x"})
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


async def test_a_damaged_text_blocks_only_the_undo_of_its_own_change(workspace):
    calls = [
        {"name": "write_file", "input": {"path": name, "content": f"{name} is new\n"}, "id": f"c_{name}"}
        for name in ("one.txt", "two.txt", "three.txt")
    ]
    script = [{"tool_calls": calls}, {"text": "Done."}]
    full = {"permissionMode": "full"}
    async with start_session("stock", workspace, scripted(workspace, script), full) as editor:
        await editor.run("First")
    connection = sqlite3.connect(state_of(workspace) / FILE_NAME)
    digest = content_hash(b"two.txt is new\n")
    with connection:
        assert connection.execute("UPDATE blobs SET content = 'x' WHERE digest = ?", (digest,)).rowcount == 1
    connection.close()
    async with start_session("stock", workspace, scripted(workspace, script), full) as editor:
        undone = await editor.command("outrider.undo", {"scope": "session"})
        assert {one["path"] for one in undone["undone"]} == {"one.txt", "three.txt"}
        assert [one["what"] for one in undone["notUndoable"]] == ["two.txt"]
        assert sorted(path.name for path in workspace.glob("*.txt")) == ["two.txt"]
