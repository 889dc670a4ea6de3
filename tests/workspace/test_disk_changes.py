"""What becomes of files on disk is told once, whole, and to the right kind; whether the system tells of it or not."""

import random
import shutil

import pytest

from outrider.workspace.watch import disk_changes
from outrider.workspace.watch.disk_changes import DiskChanges, FolderChanges

CREATED, CHANGED, DELETED = 1, 2, 3
STEPS = ["write", "delete", "move", "replace", "folder", "remove", "rename"]


def is_wanted(name):
    return name.endswith(".py")


@pytest.fixture(params=["told", "looked"])
def system(request, monkeypatch):
    if request.param == "looked":
        monkeypatch.setattr(disk_changes.Notices, "begin", lambda: None)


def snapshot(root):
    return {
        str(path): (path.stat().st_ino, path.stat().st_mtime_ns, path.stat().st_ctime_ns, path.read_text())
        for path in root.rglob("*.py")
        if path.is_file() and ".git" not in path.parts and "node_modules" not in path.parts
    }


def differences(before, after):
    return {
        path: CREATED if path not in before else CHANGED if path in after else DELETED
        for path in before.keys() | after.keys()
        if before.get(path) != after.get(path)
    }


def folders(root):
    return [root, *sorted(path for path in root.rglob("*") if path.is_dir())]


def do(root, step, number):
    what, first, second = step
    place, other = (folders(root)[one % len(folders(root))] for one in (first, second))
    file = place / f"f{second % 4}.py"
    if what == "write":
        file.write_text(f"{number}" * (number % 5 + 1))
    elif what == "delete":
        file.unlink(missing_ok=True)
    elif what == "move" and file.exists():
        file.replace(other / f"f{first % 4}.py")
    elif what == "replace":
        (place / "new.tmp").write_text(f"whole {number}")
        (place / "new.tmp").replace(file)
    elif what == "folder":
        (place / f"d{second % 3}").mkdir(exist_ok=True)
    elif what == "remove" and place != root:
        shutil.rmtree(place)
    elif what == "rename" and place != root and not (root / f"d{second % 5}").exists():
        place.rename(root / f"d{second % 5}")


async def test_nothing_that_becomes_of_a_file_is_missed(system, tmp_path):
    chance, root = random.Random(15), tmp_path / "work"
    for _ in range(60):
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        (root / "f0.py").write_text("first")
        changes = DiskChanges(str(root), is_wanted)
        assert await changes.taken() == {}
        for number in range(4):
            before = snapshot(root)
            for index in range(chance.randint(0, 6)):
                do(
                    root,
                    (chance.choice(STEPS), chance.randint(0, 9), chance.randint(0, 9)),
                    100 * number + index,
                )
            expected, found = differences(before, snapshot(root)), dict(await changes.taken())
            assert expected.items() <= found.items()
            # What looks as before was written to, or came and went.
            assert all(found[path] in (CHANGED, DELETED) for path in found.keys() - expected.keys())
            assert await changes.taken() == {}


async def test_installed_and_built_folders_are_left_out_and_files_in_them_looked_at_when_they_are_named(
    system, tmp_path
):
    for folder in (".git", "node_modules", "env", "out", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").write_text("a")
    (tmp_path / "env" / "pyvenv.cfg").touch()
    (tmp_path / "out" / "CACHEDIR.TAG").touch()
    changes = FolderChanges(is_wanted)
    own, installed = tmp_path / "src" / "a.py", tmp_path / "env" / "a.py"
    assert await changes.taken([str(tmp_path)]) == {}
    for folder in (".git", "node_modules", "env", "out", "src"):
        (tmp_path / folder / "a.py").write_text("another")
    (tmp_path / "src" / "a.txt").write_text("nobody asks")
    assert await changes.taken([str(tmp_path)]) == {str(own): CHANGED}
    assert await changes.taken([str(tmp_path)], [str(own), str(installed)]) == {str(installed): CHANGED}
    installed.unlink()
    assert await changes.taken([str(tmp_path)], [str(installed), "/elsewhere/a.py"]) == {
        str(installed): DELETED
    }
    assert await changes.taken([], [str(own)]) == {}


async def test_a_folder_behind_a_link_is_watched_and_spelled_as_it_is_given(system, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    changes = DiskChanges(str(tmp_path / "link"), is_wanted)
    await changes.taken()
    (tmp_path / "real" / "a.py").touch()
    assert await changes.taken() == {str(tmp_path / "link" / "a.py"): CREATED}


async def test_of_a_folder_that_is_too_large_only_named_files_are_looked_at(system, tmp_path, monkeypatch):
    monkeypatch.setattr(disk_changes, "MOST_ENTRIES", 2)
    for number in range(3):
        (tmp_path / f"{number}.py").touch()
    changes = DiskChanges(str(tmp_path), is_wanted)
    await changes.taken()
    (tmp_path / "0.py").write_text("new")
    (tmp_path / "new.py").touch()
    assert await changes.taken() == {}
    assert await changes.taken([str(tmp_path / "0.py")]) == {str(tmp_path / "0.py"): CHANGED}


async def test_where_more_has_happened_than_the_system_keeps_everything_is_looked_at(tmp_path):
    changes = DiskChanges(str(tmp_path), is_wanted)
    await changes.taken()
    if changes._notices is None:
        pytest.skip("nothing is told here")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.py").touch()
    changes._notices.is_whole = False
    assert await changes.taken() == {str(tmp_path / "deep" / "a.py"): CREATED}
    (tmp_path / "deep" / "b.py").touch()
    assert await changes.taken() == {str(tmp_path / "deep" / "b.py"): CREATED}
