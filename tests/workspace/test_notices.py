"""A count that goes by what the system tells is the one that looks at everything."""

import errno
import os
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from outrider.ports.clock import SystemClock
from outrider.workspace.watch import snapshot
from outrider.workspace.watch.notices import Notices
from outrider.workspace.watch.snapshot import Census, Count

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")

NAMES = ("a.txt", "b.txt", "c.log", "key.env", "deep/a.txt", "deep/down/b.txt", "other/c.log", "__pycache__/x.pyc", "empty/.keep")  # fmt: skip
FOLDERS = ("deep", "deep/down", "other", "new", "new/er", "__pycache__", "empty")
WHAT = ("write", "write", "append", "delete", "rename", "replace", "make", "remove", "move", "link", "hard", "mode", "mode of folder", "rules", "through")  # fmt: skip
RULES = ("", "*.log\n", "deep/\n", "!a.txt\n*.txt\n")


def census(search: Any) -> Census:
    return Census(search, SystemClock(), lambda path: path.endswith(".env"))


def looked_at(count: Count, *, each: bool) -> tuple[Any, Any, str]:
    # That a second name of a file came and went changes the time of its last change alone, and is not told.
    files = {
        path: one if each else (one.st_mode, one.st_ino, one.st_size, one.st_mtime_ns)
        for path, one in count.files.items()
    }
    entries = {
        # When a folder was written does not count.
        path: (one.kind, one.to, one.is_empty, one.status.st_mode if one.kind == "folder" else one.status)
        for path, one in count.entries.items()
    }
    return files, entries, count.unseen


def happens(root: Path, chance: random.Random, wanted: Sequence[str]) -> str:
    """Something that a program may do to files; gives what it was."""
    path, other = root / chance.choice(NAMES), root / chance.choice(NAMES)
    folder, place = root / chance.choice(FOLDERS), root / chance.choice(FOLDERS)
    what = chance.choice(wanted)
    try:
        match what:
            case "write":
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(str(chance.random()))
            case "append":
                with path.open("a") as file:
                    file.write("more")
            case "delete":
                path.unlink()
            case "rename":
                path.rename(other)
            case "replace":
                aside = path.with_name("aside.tmp")
                aside.write_text(str(chance.random()))
                aside.replace(path)
            case "make":
                folder.mkdir(parents=True)
            case "remove":
                shutil.rmtree(folder)
            case "move":
                folder.rename(place)
            case "link":
                path.symlink_to(other)
            case "hard":
                path.hardlink_to(other)
            case "mode":
                path.chmod(chance.choice([0o600, 0o644, 0o755]))
            case "mode of folder":
                folder.chmod(chance.choice([0o700, 0o755]))
            case "rules":
                (chance.choice([root, folder]) / ".gitignore").write_text(chance.choice(RULES))
            case _:  # by a name that nobody watches
                aside = root.parent / "aside"
                aside.unlink(missing_ok=True)
                aside.hardlink_to(path)
                aside.write_text(str(chance.random()))
    except OSError:
        return f"no {what}"
    return f"{what} {path} {other} {folder} {place}"


@pytest.mark.parametrize("most", [20_000, 0], ids=["each", "told"])
@pytest.mark.parametrize("seed", range(4))
async def test_whatever_happens_the_count_is_that_of_a_full_look(
    desk: Any, search_of: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch, seed: int, most: int
) -> None:
    monkeypatch.setattr(snapshot, "MOST_FILES", most)
    search = search_of(desk)
    for name in NAMES[:6]:
        desk.write(name, "text\n")
    told, chance, done = census(search), random.Random(seed), list[str]()
    await told.take(contents=False)
    for _ in range(25):
        wanted = WHAT if most else WHAT[:-1]
        done += [happens(desk.root, chance, wanted) for _ in range(chance.choice([1, 1, 3]))]
        counted = told._counted
        now = looked_at(await told.take(contents=False), each=most > 0)
        whole = census(search)
        whole._notices, whole._counted = None, counted
        monkeypatch.setattr(snapshot, "MOST_FILES", 20_000)
        then = looked_at(await whole.take(contents=False), each=most > 0)
        apart = [
            {path: (a.get(path), b.get(path)) for path in a.keys() | b.keys() if a.get(path) != b.get(path)}
            for a, b in zip(now[:2], then[:2], strict=True)
        ]
        assert (apart, now[2]) == ([{}, {}], then[2]), "\n".join(done).replace(str(desk.root), "")
        monkeypatch.setattr(snapshot, "MOST_FILES", most)


async def listings(search: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    real = search.files

    async def files() -> Any:
        made.append("made")
        return await real()

    monkeypatch.setattr(search, "files", files)
    return made


async def test_no_list_is_made_as_long_as_no_name_comes_or_goes(
    desk: Any, search_of: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = search_of(desk)
    made = await listings(search, monkeypatch)
    desk.write("a.txt", "a\n")
    taken = census(search)
    before = await taken.take(contents=True)
    first = len(made)
    desk.write("a.txt", "b\n")
    desk.write("__pycache__/a.pyc", "cache")
    desk.write("passing.tmp", "").unlink()
    (desk.root / "a.new").write_text("c\n")
    (desk.root / "a.new").rename(desk.root / "a.txt")
    after = await taken.take(contents=True)
    assert len(made) == first
    assert after.contents[str(desk.root / "a.txt")] == b"c\n" != before.contents[str(desk.root / "a.txt")]
    desk.write("new.txt", "new\n")
    assert str(desk.root / "new.txt") in (await taken.take(contents=True)).files
    assert len(made) == first + 1


async def test_after_more_than_the_system_keeps_everything_is_looked_at(
    desk: Any, search_of: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = search_of(desk)
    made = await listings(search, monkeypatch)
    paths = [desk.write("a.txt", "a\n"), desk.write("b.txt", "b\n")]
    taken = census(search)
    await taken.take(contents=False)
    first = len(made)
    kept = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(kept // 2 + 1):
        paths[number % 2].chmod(0o600)
    desk.write("c.txt", "c\n")
    count = await taken.take(contents=False)
    assert {Path(path).name for path in count.files} == {"a.txt", "b.txt", "c.txt"}
    assert len(made) > first
    desk.write("d.txt", "d\n")
    assert str(desk.root / "d.txt") in (await taken.take(contents=False)).files


async def test_where_the_system_takes_no_more_watches_everything_is_looked_at_each_time(
    desk: Any, search_of: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = search_of(desk)
    made = await listings(search, monkeypatch)
    desk.write("a.txt", "a\n")
    taken = census(search)

    def full(self: Notices, _: str) -> bool:
        self.is_whole = False
        return False

    monkeypatch.setattr(Notices, "watch", full)
    for _ in range(3):
        assert len((await taken.take(contents=False)).files) == 1
    assert len(made) == 4  # the first one was to be watched


async def test_many_files_are_only_counted_where_the_system_tells(
    desk: Any, search_of: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST_FILES", 1)
    desk.write("a.txt", "a\n")
    desk.write("b.txt", "b\n")
    taken = census(search_of(desk))
    assert len((await taken.take(contents=False)).files) == 2
    taken._notices = None
    assert (await taken.take(contents=False)).unseen == "the workspace has more than 1 files"


def test_a_folder_that_is_not_there_is_not_watched_and_one_that_cannot_be_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices = Notices.begin()
    assert notices is not None
    assert not notices.watch(str(tmp_path / "none"))
    assert notices.taken() == []
    assert notices.watch(str(tmp_path))
    assert not notices.watch(str(tmp_path))
    (tmp_path / "a").mkdir()
    assert [(one.path, one.is_name) for one in notices.taken() or ()] == [(str(tmp_path / "a"), True)]
    monkeypatch.setattr("ctypes.get_errno", lambda: errno.ENOSPC)
    assert not notices.watch(str(tmp_path / "none"))
    assert notices.taken() is None


def test_its_descriptor_is_closed_with_it(tmp_path: Path) -> None:
    notices = Notices.begin()
    assert notices is not None
    descriptor = notices._descriptor
    os.fstat(descriptor)
    del notices
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
