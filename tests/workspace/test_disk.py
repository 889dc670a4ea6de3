"""Closed files: nothing half written, nothing left over, nothing outside."""

import errno
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outrider.workspace import disk
from outrider.workspace import folder as folders
from outrider.workspace.disk import DiskProblem

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
        "import os, signal, sys\nfrom pathlib import Path\nfrom outrider.workspace import disk\n"
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
        "import resource, sys\nfrom pathlib import Path\nfrom outrider.workspace import disk\n"
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
    assert "no folder" in problem.message
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
        assert disk.create(there / name, NEW, parents=True) == DiskProblem("exists", "exists already")
        moved = disk.rename(there / "a.py", there / name, OLD, parents=True)
        assert moved == DiskProblem("exists", "exists already")
    assert (there / "b.py").read_bytes() == b"mine"
    assert names(there) == ["a.py", "b.py", "d", "l"]
