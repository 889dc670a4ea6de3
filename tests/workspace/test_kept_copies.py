"""Copies of the files of a workspace: what they hold, what they cost, and what is left of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from outrider.workspace.disk import disk
from outrider.workspace.disk.file_stat import Status, status_of
from outrider.workspace.watch import copies
from outrider.workspace.watch.copies import Copied, Copies


def files(folder: Path) -> dict[str, Status]:
    return {str(path): status_of(path.stat()) for path in sorted(folder.iterdir())}


def contents(copied: Copied | str) -> dict[str, bytes]:
    assert isinstance(copied, Copied), copied
    return {Path(path).name: copied[path] for path in copied}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "a").write_bytes(b"a\0")
    (folder / "b").write_bytes(b"b")
    return folder


def test_what_was_copied_once_is_there_whatever_comes_later(work: Path, tmp_path: Path) -> None:
    kept = Copies(tmp_path)
    first = kept.update(files(work), lambda _: False)
    (work / "a").write_bytes(b"other")
    (work / "b").unlink()
    (work / "c").write_bytes(b"c")
    second = kept.update(files(work), lambda path: path.endswith("b"))
    assert contents(first) == {"a": b"a\0", "b": b"b"}
    assert contents(second) == {"a": b"other", "c": b"c"}
    assert "nothing" not in second


def test_what_is_as_it_was_is_not_copied_again(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Copies(tmp_path)
    kept.update(files(work), lambda _: False)
    read: list[str] = []
    real = disk.read_bytes
    monkeypatch.setattr(disk, "read_bytes", lambda path, most: (read.append(path.name), real(path, most))[1])
    again = kept.update(files(work), lambda path: path.endswith("a"))
    assert read == ["b"]
    assert contents(again) == {"a": b"a\0", "b": b"b"}


def test_a_file_that_grew_too_long_is_begun_anew_and_earlier_looks_keep_theirs(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "MOST_BYTES", 4)
    kept = Copies(tmp_path)
    looks = [kept.update(files(work), lambda path: path.endswith("b"))]
    for number in range(8):
        (work / "a").write_bytes(b"%d" % number)
        looks.append(kept.update(files(work), lambda path: path.endswith("b")))
    assert [contents(look)["a"] for look in looks] == [b"a\0", *(b"%d" % number for number in range(8))]
    assert {contents(look)["b"] for look in looks} == {b"b"}


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name != "work"]


def test_nothing_is_left_of_it(work: Path, tmp_path: Path) -> None:
    kept = Copies(tmp_path)
    copied = kept.update(files(work), lambda _: False)
    assert isinstance(copied, Copied)
    (only,) = names(tmp_path)
    assert (tmp_path / only).stat().st_mode & 0o777 == 0o600
    copied.hold("turn_1", "call", files(work))()
    assert names(tmp_path) == [only]
    del kept, copied
    assert names(tmp_path) == []


KILLED = """
import os, signal, sys
from pathlib import Path
from outrider.workspace.disk.file_stat import status_of
from outrider.workspace.watch.copies import Copies
folder, work = map(Path, sys.argv[1:])
files = {str(path): status_of(path.stat()) for path in sorted(work.iterdir())}
Copies(folder).update(files, lambda _: False).hold("turn_1", "call", files)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def killed(work: Path, tmp_path: Path) -> Path:
    """The folder of copies of a process that was killed while a command ran."""
    (work / "a").chmod(0o640)
    subprocess.run([sys.executable, "-c", KILLED, tmp_path, work], check=False)
    assert len(names(tmp_path)) == 2
    return tmp_path


def test_what_a_killed_process_had_copied_is_found_once(work: Path, killed: Path) -> None:
    (work / "a").unlink()
    (work / "b").write_bytes(b"other")
    (work / "c").write_bytes(b"new")
    assert copies.lost(killed, "turn_1", "another call") is None
    found = copies.lost(killed, "turn_1", "call")
    assert found is not None
    lost, forget = found
    assert lost == [
        copies.Lost(work / "a", b"a\0", 0o640, is_gone=True),
        copies.Lost(work / "b", b"b", 0o644, is_gone=False),
    ]
    forget()
    assert names(killed) == []
    assert copies.lost(killed, "turn_1", "call") is None


def test_what_holds_the_same_is_not_lost(work: Path, killed: Path) -> None:
    (work / "a").write_bytes(b"a\0")
    found = copies.lost(killed, "turn_1", "call")
    assert found is not None
    assert found[0] == []


def test_the_next_process_leaves_them_for_who_goes_on_with_the_turn(
    work: Path, killed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Copies(killed)
    other.update(files(work), lambda _: False)
    assert len(names(killed)) == 3
    monkeypatch.setattr(copies, "LASTING", -1.0)
    for _ in range(2):  # the list goes first, and then what nobody needs any more
        Copies(killed).update(files(work), lambda _: False)
    assert copies.lost(killed, "turn_1", "call") is None
    assert len(names(killed)) == 1, "that of the one that lives stays"


def test_they_go_with_their_session(killed: Path) -> None:
    copies.forget(killed, ["turn_2"])
    assert len(names(killed)) == 2
    copies.forget(killed, ["turn_1"])
    assert names(killed) == []


@pytest.mark.parametrize("said", ["", "{", "[]", "{}", '{"in": "../work/a", "files": {"/x": [0]}}'])
def test_a_damaged_list_is_as_good_as_none(killed: Path, said: str) -> None:
    next(killed.glob("*.before")).write_text(said)
    assert copies.lost(killed, "turn_1", "call") is None
    copies.forget(killed, [])


def test_too_much_is_not_begun(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_BYTES", 2)
    assert Copies(tmp_path / "missing").update(files(work), lambda _: False) == (
        "the files of the workspace have more than 0 MB"
    )


def test_a_big_file_counts_for_nothing(work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "MOST_BYTES", 2)
    monkeypatch.setattr(copies, "LARGEST", 1)
    assert contents(Copies(tmp_path).update(files(work), lambda _: False)) == {"b": b"b"}


def test_a_folder_that_takes_no_file_is_named(work: Path, tmp_path: Path) -> None:
    said = Copies(tmp_path / "missing").update(files(work), lambda _: False)
    assert said == "the files of the workspace cannot be copied (No such file or directory)"


def test_a_full_disk_leaves_what_was_there(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = Copies(tmp_path)
    first = kept.update(files(work), lambda _: False)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    assert (
        kept.update(files(work), lambda _: False)
        == "the files of the workspace cannot be copied (No space left on device)"
    )
    assert contents(first) == {"a": b"a\0", "b": b"b"}
