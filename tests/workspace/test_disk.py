"""Closed files: nothing half written, nothing left over, nothing outside."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from outrider.workspace.disk import disk
from outrider.workspace.disk import folder as folders
from outrider.workspace.disk.disk import DiskProblem

OLD, NEW = b"old\n", b"new\n"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["by descriptor", "by path"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With folder descriptors, and as on Windows, which has none."""
    monkeypatch.setattr(disk, "swept", {})
    if request.param == "by path":
        monkeypatch.setattr(disk, "HAS_DESCRIPTORS", False)
        monkeypatch.setattr(folders, "HAS_DESCRIPTORS", False)
    return request.param


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "work"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.py").write_bytes(OLD)
    return folder


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    outside = tmp_path.resolve() / "outside"
    outside.mkdir()
    (outside / "a.py").write_bytes(OLD)
    return outside


def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


WRITES: dict[str, Callable[[Path], DiskProblem | None]] = {
    "replace": lambda folder: disk.replace(folder / "sub" / "a.py", OLD, NEW),
    "create": lambda folder: disk.create(folder / "sub" / "n" / "b.py", NEW, parents=True),
    "delete": lambda folder: disk.delete(folder / "sub" / "a.py", OLD),
    "rename": lambda folder: disk.rename(
        folder / "sub" / "a.py", folder / "sub" / "n" / "b.py", OLD, parents=True
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("moment", ["fsync", "flock", "link", "replace", "unlink"])
def test_a_folder_swapped_for_a_link_in_the_middle_leads_nowhere(
    folder: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, write: Any, moment: str, way: str
) -> None:
    """The folder is another one from some call of the system on, as if somebody had been quicker."""
    if way == "by path" and moment in {"replace", "unlink"}:
        pytest.skip(
            "a path may be swapped between the look and the call itself, which only descriptors prevent"
        )
    module = fcntl if moment == "flock" else os
    real = getattr(module, moment)

    def swap(*args: Any, **more: Any) -> Any:
        if not (folder / "was").exists():
            (folder / "sub").rename(folder / "was")
            (folder / "sub").symlink_to(outside)
        return real(*args, **more)

    monkeypatch.setattr(module, moment, swap)
    write(folder)
    monkeypatch.undo()
    assert names(outside) == ["a.py"]
    assert (outside / "a.py").read_bytes() == OLD
    was = folder / "was"
    assert way == "by path" or not [
        name for name in names(was if was.exists() else folder / "sub") if name.endswith(".tmp")
    ]


def test_mode_and_attributes_stay(folder: Path) -> None:
    path = folder / "sub" / "a.py"
    path.chmod(0o640)
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    assert disk.replace(path, OLD, NEW) is None
    assert os.getxattr(path, "user.note") == b"mine"
    assert path.stat().st_mode & 0o7777 == 0o640


def test_attributes_that_cannot_be_kept_stop_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, "no")

    monkeypatch.setattr(disk.os, "listxattr", lambda _: ["security.odd"])
    monkeypatch.setattr(disk.os, "getxattr", lambda *_: b"x")
    monkeypatch.setattr(disk.os, "setxattr", refused)
    assert disk.replace(folder / "sub" / "a.py", OLD, NEW) is None


def test_a_further_name_of_a_file_keeps_the_old_content(folder: Path, outside: Path) -> None:
    path = folder / "sub" / "a.py"
    path.unlink()
    os.link(outside / "a.py", path)
    assert disk.replace(path, OLD, NEW) is None
    assert path.read_bytes() == NEW
    assert (outside / "a.py").read_bytes() == OLD


def test_what_killed_writers_left_is_removed_by_the_next_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = f".outrider-{dead_pid()}-{'0' * 16}.tmp"
    alive = f".outrider-{os.getpid()}-{'0' * 16}.tmp"
    locked = f".outrider-{dead_pid()}-{'1' * 16}.tmp"  # in another container, say
    others = [".outrider-x.tmp", f"{gone}.txt", ".outrider"]
    for name in (gone, alive, locked, *others):
        (folder / "sub" / name).write_text("")
    with (folder / "sub" / locked).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert disk.replace(folder / "sub" / "a.py", OLD, NEW) is None
        assert names(folder / "sub") == sorted([alive, locked, "a.py", *others])
    assert disk.create(folder / "sub" / "b.py", NEW, parents=False) is None
    assert locked in names(folder / "sub")  # it was looked for just before
    monkeypatch.setattr(disk, "SWEEP_SECONDS", 0.0)
    assert disk.create(folder / "sub" / "c.py", NEW, parents=False) is None
    assert names(folder / "sub") == sorted([alive, "a.py", "b.py", "c.py", *others])


def test_a_killed_writer_leaves_the_old_content_and_is_cleaned_up_after(folder: Path) -> None:
    path = folder / "sub" / "a.py"
    code = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom outrider.workspace.disk import disk\n"
        "disk.os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "disk.replace(Path(sys.argv[1]), b'old\\n', b'new\\n')"
    )
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    assert path.read_bytes() == OLD
    assert len(names(folder / "sub")) == 2
    assert disk.replace(path, OLD, NEW) is None
    assert names(folder / "sub") == ["a.py"]


@pytest.mark.parametrize("write", ["replace", "create"])
def test_a_full_disk_leaves_nothing_behind(folder: Path, write: str) -> None:
    code = (
        "import resource, sys\nfrom pathlib import Path\nfrom outrider.workspace.disk import disk\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "path, big = Path(sys.argv[1]), b'x' * 9000\n"
        "print(disk.replace(path / 'a.py', b'old\\n', big) if sys.argv[2] == 'replace' else\n"
        "      disk.create(path / 'deep' / 'er' / 'b.py', big, parents=True))"
    )
    argv = [sys.executable, "-c", code, str(folder / "sub"), write]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    assert "kind='failed'" in said
    assert "cannot be written: File too large" in said
    assert (folder / "sub" / "a.py").read_bytes() == OLD
    assert names(folder / "sub") == ["a.py"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("write", ["replace", "create"])
def test_a_folder_that_cannot_be_written_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, write: str, code: int
) -> None:
    real = os.open

    def shut(path: Any, flags: int, *args: Any, **more: Any) -> int:
        if flags & os.O_CREAT:
            raise OSError(code, os.strerror(code))
        return real(path, flags, *args, **more)

    monkeypatch.setattr(disk.os, "open", shut)
    problem = WRITES[write](folder)
    monkeypatch.undo()
    assert isinstance(problem, DiskProblem)
    assert os.strerror(code) in problem.message
    assert names(folder / "sub") == ["a.py"]


@pytest.mark.parametrize("write", [WRITES["replace"], WRITES["delete"], WRITES["rename"]])
def test_a_file_that_became_a_folder_is_said(folder: Path, write: Any) -> None:
    path = folder / "sub" / "a.py"
    path.unlink()
    path.mkdir()
    (path / "kept").write_text("")
    assert write(folder) == DiskProblem("directory", "is a folder")
    assert names(path) == ["kept"]
    assert names(folder / "sub") == ["a.py"]


def test_a_folder_that_became_a_file_is_said(folder: Path) -> None:
    problem = disk.create(folder / "sub" / "a.py" / "b.py", NEW, parents=True)
    assert isinstance(problem, DiskProblem)
    assert "not a folder" in problem.message
    assert (folder / "sub" / "a.py").read_bytes() == OLD


def test_a_name_too_long_is_said(folder: Path) -> None:
    made = disk.create(folder / "new" / ("x" * 256), NEW, parents=True)
    moved = disk.rename(folder / "sub" / "a.py", folder / "sub" / ("x" * 256), OLD, parents=False)
    for problem in (made, moved):
        assert isinstance(problem, DiskProblem)
        assert "too long" in problem.message
    assert (names(folder), names(folder / "sub")) == (["sub"], ["a.py"])


def test_nothing_is_created_or_moved_onto_something(folder: Path) -> None:
    there = folder / "sub"
    (there / "b.py").write_bytes(b"mine")
    (there / "d").mkdir()
    (there / "l").symlink_to("nowhere")
    for name in ("b.py", "d", "l"):
        assert disk.create(there / name, NEW, parents=True) == DiskProblem("exists", "already exists")
        moved = disk.rename(there / "a.py", there / name, OLD, parents=True)
        assert moved == DiskProblem("exists", "already exists")
    assert (there / "b.py").read_bytes() == b"mine"
    assert names(there) == ["a.py", "b.py", "d", "l"]


def racing(monkeypatch: pytest.MonkeyPatch, way: str, write: Callable[[], object], *, has_call: bool) -> None:
    """Somebody writes right before a name is moved, after all looks; with the call that replaces nothing, and without it."""
    if way == "by path":
        pytest.skip("without descriptors Windows itself refuses it in one step, which is not tried here")
    moved = folders._moved

    def late(*args: Any) -> bool:
        write()
        return moved(*args) if has_call else False

    monkeypatch.setattr(folders, "_moved", late)


@pytest.mark.parametrize("has_call", [True, False])
@pytest.mark.parametrize("operation", ["create", "rename"])
def test_a_file_that_comes_in_between_is_never_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch, way: str, operation: str, has_call: bool
) -> None:
    path, to = folder / "sub" / "a.py", folder / "sub" / "b.py"
    racing(monkeypatch, way, lambda: to.write_bytes(b"theirs\n"), has_call=has_call)
    if operation == "create":
        problem = disk.create(to, NEW, parents=False)
    else:
        problem = disk.rename(path, to, OLD, parents=False)
    assert problem is not None
    assert problem.kind == "exists"
    assert to.read_bytes() == b"theirs\n"
    assert path.read_bytes() == OLD
    assert names(folder / "sub") == ["a.py", "b.py"]


def test_what_another_program_wrote_into_a_file_right_before_it_is_renamed_stays_where_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    path, to = folder / "sub" / "a.py", folder / "sub" / "n" / "b.py"
    other = folder / "sub" / "other"

    def write() -> None:
        if not to.exists():
            other.write_bytes(b"theirs\n")
            other.replace(path)

    racing(monkeypatch, way, write, has_call=True)
    problem = disk.rename(path, to, OLD, parents=True)
    assert problem is not None
    assert problem.kind == "changed"
    assert path.read_bytes() == b"theirs\n"
    assert names(folder / "sub") == ["a.py"]


@pytest.mark.parametrize("operation", ["create", "rename"])
def test_a_new_name_is_looked_at_before_another_server_may_write_it(
    folder: Path, way: str, operation: str
) -> None:
    """The next change of a file waits for the lock, so that it is no reason to say that this one was not made."""
    path, to = folder / "sub" / "a.py", folder / "sub" / "b.py"
    held: list[bool] = []
    differs = disk._differs

    def looked(where: Any, name: str, before: bytes) -> DiskProblem | None:
        if name == to.name:
            lock = where.lock()
            with pytest.raises(BlockingIOError):
                disk.try_lock(lock)
            os.close(lock)
            held.append(True)
        return differs(where, name, before)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disk, "_differs", looked)
        made = (
            disk.create(to, NEW, parents=False)
            if operation == "create"
            else disk.rename(path, to, OLD, parents=False)
        )
    assert made is None
    assert held == [True]


def test_renames_across_two_folders_in_both_ways_do_not_wait_for_each_other(folder: Path) -> None:
    one, two = folder / "sub", folder / "other"
    two.mkdir()
    (two / "b.py").write_bytes(OLD)

    def back_and_forth(name: str, first: Path, second: Path) -> list[DiskProblem | None]:
        return [
            disk.rename(there / name, to / name, OLD, parents=False)
            for _ in range(20)
            for there, to in ((first, second), (second, first))
        ]

    with ThreadPoolExecutor(2) as pool:
        done = [pool.submit(back_and_forth, "a.py", one, two), pool.submit(back_and_forth, "b.py", two, one)]
        assert all(problem is None for one in done for problem in one.result())
