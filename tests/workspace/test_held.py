"""What other processes hold open with unsaved text is not written under them."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from outrider.ports.clock import SystemClock
from outrider.workspace.documents.unsaved_elsewhere import HeldFiles, Publisher
from outrider.workspace.edits.apply import Editing
from outrider.workspace.edits.change import Change, NotWritten, Written

HOLDING = (
    "import sys\nfrom pathlib import Path\nfrom outrider.workspace.documents.unsaved_elsewhere import HeldFiles\n"
    "held = HeldFiles(Path(sys.argv[1]))\nheld.publish([Path(sys.argv[2])])\nprint('held', flush=True)\ninput()"
)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state" / "held"


def test_nothing_is_made_before_something_is_held(state: Path) -> None:
    held = HeldFiles(state)
    held.publish([])
    assert held.holder(Path("/a")) is None
    held.close()
    assert not state.exists()


def test_what_is_held_is_seen_until_it_is_let_go(state: Path) -> None:
    one, other = HeldFiles(state), HeldFiles(state)
    odd = Path("/a\n\udce9.py")
    one.publish([Path("/b"), odd])
    assert other.holder(odd) == os.getpid()
    assert other.holder(Path("/c")) is None
    assert one.holder(odd) is None, "its own files are in its own buffers"
    one.publish([Path("/b")])
    assert other.holder(odd) is None
    one.close()
    assert other.holder(Path("/b")) is None
    assert list(state.iterdir()) == []


def test_a_process_that_is_killed_holds_nothing_any_more(state: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(state), "/a.py"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin, child.stdout:
        assert child.stdout.readline() == b"held\n"
        ours = HeldFiles(state)
        assert ours.holder(Path("/a.py")) == child.pid
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert len(list(state.iterdir())) == 2
    assert ours.holder(Path("/a.py")) is None
    assert list(state.iterdir()) == []


def test_a_list_that_is_damaged_holds_nothing(state: Path) -> None:
    one, other = HeldFiles(state), HeldFiles(state)
    one.publish([Path("/a")])
    (listed,) = state.glob("*.json")
    for content in ("", "{", "3"):
        listed.write_text(content)
        assert other.holder(Path("/a")) is None
    one.close()


@pytest.mark.parametrize("operation", ["edit", "create", "delete", "rename"])
async def test_the_disk_is_not_written_under_another_process(desk: Any, state: Path, operation: Any) -> None:
    path, to = desk.write("a.py", "a\n"), desk.root / "b.py"
    if operation == "create":
        path.unlink()
    there, ours = HeldFiles(state), HeldFiles(state)
    editing = Editing(desk.overlay, desk.documents, None, None, ours)  # type: ignore[arg-type]
    before, after = (None if operation == "create" else "a\n"), {"delete": None, "rename": "a\n"}.get(
        operation, "b\n"
    )  # fmt: skip
    change = Change(operation, desk.at("a.py"), desk.at("b.py") if operation == "rename" else None, before, after)  # fmt: skip
    for held in [path, to] if operation == "rename" else [path]:
        there.publish([held])
        done = await editing.write(change, "")
        assert isinstance(done, NotWritten)
        assert f"unsaved changes in another editor (process {os.getpid()})" in done.message
        assert path.exists() == (operation != "create")
    there.close()
    assert isinstance(await editing.write(change, ""), Written)


async def test_every_change_of_a_document_is_told(desk: Any, state: Path) -> None:
    path = desk.write("a.py", "a\n")
    uri, other = desk.open("a.py", "typed\n"), HeldFiles(state)
    told = asyncio.Event()

    class Telling(HeldFiles):
        def publish(self, paths: Any) -> None:
            super().publish(paths)
            loop.call_soon_threadsafe(told.set)

    async def said() -> int | None:
        async with asyncio.timeout(10):
            await told.wait()
        told.clear()
        return other.holder(path)

    loop = asyncio.get_running_loop()
    publisher = Publisher(Telling(state), desk.documents, desk.overlay.unsaved, SystemClock())
    assert await said() == os.getpid()
    desk.documents.close(uri)
    assert await said() is None
    (desk.root / "link.py").symlink_to("a.py")
    desk.open("link.py", "typed\n")
    assert await said() == os.getpid(), "by whatever path it was opened"
    await publisher.close()
    assert other.holder(path) is None
