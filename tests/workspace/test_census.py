import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outrider.ports.clock import SystemClock
from outrider.workspace.watch import snapshot
from outrider.workspace.watch.snapshot import Census, differences


@pytest.fixture
def taken(desk: Any, search_of: Callable[[Any], Any]) -> Census:
    desk.write("a.txt", "a\n")
    desk.write("deep/b.txt", "b\n")
    return Census(search_of(desk), SystemClock(), lambda path: path.endswith(".env"))


def aged(path: Path) -> None:
    os.utime(path, (time.time() - 60,) * 2)


async def told(taken: Census, act: Callable[[], object], root: Path) -> list[tuple[str, str, bool]]:
    before = await taken.take(contents=True)
    act()
    after = await taken.take(contents=False)
    return [(str(one.path.relative_to(root)), one.kind, one.is_sure) for one in differences(before, after)]


async def test_what_is_read_once_is_not_read_again(
    taken: Census, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A mark is not believed at once; this one is made to look old.
    monkeypatch.setattr("outrider.workspace.watch.snapshot.GRANULARITY", -1_000_000_000_000)
    read: list[str] = []
    real = snapshot.read_bytes

    def counting(path: Path, limit: int) -> Any:
        read.append(path.name)
        return real(path, limit)

    monkeypatch.setattr(snapshot, "read_bytes", counting)
    await taken.take(contents=True)
    assert sorted(read) == ["a.txt", "b.txt"]
    desk.write("a.txt", "changed\n")
    count = await taken.take(contents=True)
    assert sorted(read) == ["a.txt", "a.txt", "b.txt"]
    assert set(count.contents.values()) == {b"changed\n", b"b\n"}


async def test_a_file_that_is_only_touched_is_not_changed(taken: Census, desk: Any) -> None:
    root = desk.folders.folders[0].path
    assert await told(taken, lambda: os.utime(root / "a.txt"), root) == []


async def test_the_same_size_in_the_same_moment_is_seen_by_the_content(taken: Census, desk: Any) -> None:
    root = desk.folders.folders[0].path

    def write() -> None:
        status = (root / "a.txt").stat()
        (root / "a.txt").write_text("z\n")
        os.utime(root / "a.txt", ns=(status.st_atime_ns, status.st_mtime_ns))

    assert await told(taken, write, root) == [("a.txt", "changed", True)]


async def test_a_folder_that_moves_takes_old_files_with_it(taken: Census, desk: Any) -> None:
    root = desk.folders.folders[0].path
    aged(root / "deep" / "b.txt")
    found = await told(taken, lambda: (root / "deep").rename(root / "new"), root)
    assert found == [("deep/b.txt", "deleted", True), ("new/b.txt", "created", True)]


async def test_nothing_is_kept_of_a_big_workspace(
    taken: Census, desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST_BYTES_KEPT", 3)
    count = await taken.take(contents=True)
    assert (len(count.files), count.contents) == (2, {})
    root = desk.folders.folders[0].path
    assert await told(taken, lambda: (root / "a.txt").write_text("longer\n"), root) == [
        ("a.txt", "changed", True)
    ]


async def test_without_a_program_that_searches_it_is_said(desk: Any, search_of: Callable[..., Any]) -> None:
    count = await Census(search_of(desk, None), SystemClock(), lambda _: False).take(contents=True)
    assert "ripgrep (rg) was not found" in count.unseen


@pytest.mark.parametrize(
    ("path", "is_seen"),
    [
        ("deep/__pycache__/b.cpython-311.pyc", False),
        ("node_modules/left/pad.js", False),
        (".pytest_cache/README.md", False),
        ("old.pyc", False),
        ("pycache.txt", True),
        ("my_node_modules/a.js", True),
        (".coveragerc", True),
    ],
)
async def test_what_programs_put_aside_is_not_looked_at(
    taken: Census, desk: Any, path: str, is_seen: bool
) -> None:
    found = await told(taken, lambda: desk.write(path, "x"), desk.root)
    assert [one for one, _, _ in found] == [path] * is_seen
