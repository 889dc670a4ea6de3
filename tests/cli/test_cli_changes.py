"""`outrider changes`: where there is nothing to hand over it says why, and what is left out is named."""

import asyncio
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from rich.console import Console
from typist import Typist

from outrider.cli.look import undo
from outrider.cli.main import main
from outrider.store.log import Store
from outrider.store.retention import give_up_old_texts
from outrider.testing.scenario import scripted, start_session
from outrider_protocol.settings import StoreSettings

FIX = {"name": "edit_file", "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"}}
LOOK = {"name": "read_file", "input": {"path": "tariff.py"}}
COMMAND = {"name": "run_command", "input": {"command": "printf 'x\\n' > photo.bin"}}


@pytest.fixture
def patch(workspace, capfd):
    """Write the patch of the latest session; gives the exit code, the patch, and what is said besides."""

    def write():
        state = workspace.parent / "workspace.state"
        code = main(["changes", "--patch", "-C", str(workspace), "--state-dir", str(state)])
        told = capfd.readouterr()
        return code, told.out, told.err

    return write


def session(workspace, *calls, undo=False):
    """Run a session that makes some calls, each in a step of its own; gives its id."""
    return asyncio.run(_session(workspace, [[one] for one in calls], undo=undo))


async def _session(workspace, steps, *, undo=False):
    turns = [*({"tool_calls": calls} for calls in steps), {"text": "Done."}]
    async with start_session(
        "stock", workspace, scripted(workspace, turns), {"permissionMode": "full"}
    ) as editor:
        await editor.run("Go.")
        if undo:
            await editor.command("outrider.undo", {})
    return editor.session_id


async def _give_up(workspace):
    store = await Store.open(workspace.parent / "workspace.state")
    assert isinstance(store, Store)
    await give_up_old_texts(store, datetime.now(UTC), StoreSettings(max_bytes=0))
    await store.close()


def test_the_calls_of_a_step_stand_below_it_as_the_id_of_one_takes_back_all(workspace, capfd):
    new = {"name": "write_file", "input": {"path": "new.txt", "content": "new\n"}}
    other = {"name": "write_file", "input": {"path": "other.txt", "content": "other\n"}}
    asyncio.run(_session(workspace, [[FIX, new], [other]]))
    options = ["-C", str(workspace), "--state-dir", str(workspace.parent / "workspace.state")]
    assert main(["changes", *options]) == 0
    listed = [line for line in capfd.readouterr().out.splitlines() if "chg_" not in line]
    assert [line.rstrip("0123456789abcdef") for line in listed] == [
        "turn turn_", "  step ", "    call_", "    call_", "  step ", "    call_"
    ]  # fmt: skip
    assert main(["undo", "--id", listed[2].strip(), *options]) == 0
    assert not (workspace / "new.txt").exists()
    assert (workspace / "other.txt").exists()


def test_a_session_without_changes_has_none(workspace, patch):
    session_id = session(workspace, LOOK)
    assert patch() == (0, "", f"session {session_id} has no changes\n")


def test_changes_that_were_all_undone_are_not_none(workspace, patch):
    session_id = session(workspace, FIX, undo=True)
    assert patch() == (0, "", f"no change of session {session_id} is left in the files\n")


def test_a_change_without_its_text_is_named(workspace, patch):
    session(workspace, FIX)
    asyncio.run(_give_up(workspace))
    assert patch() == (
        0,
        "",
        "not in the patch: tariff.py: its text is no longer in the log, or is damaged there\n",
    )


def test_what_a_command_changed_without_a_known_text_is_named(workspace, patch):
    (workspace / "photo.bin").write_bytes(b"\0\1")
    session(workspace, FIX, COMMAND)
    code, text, told = patch()
    assert code == 0
    assert text.startswith("diff --git a/tariff.py b/tariff.py\n")
    assert "photo.bin" not in text
    assert told.startswith("not in the patch: photo.bin: ")


def test_open_both_says_where_the_two_versions_are(workspace, capfd):
    state = workspace.parent / "workspace.state"
    session(workspace, FIX)
    (workspace / "tariff.py").write_text("# mine\n")
    stream = io.StringIO()
    console = Console(file=stream, width=1000, markup=False, highlight=False)
    code = asyncio.run(undo(workspace, {"stateDir": str(state)}, {}, console, Typist("3\n"), redo=False))
    said = next(line for line in capfd.readouterr().err.splitlines() if " now: " in line)
    mine, other = said.partition("tariff.py now: ")[2].split("; with the undo: ")
    assert (code, Path(mine).read_text()) == (1, "# mine\n")
    assert "hours * 3" in Path(other).read_text()
