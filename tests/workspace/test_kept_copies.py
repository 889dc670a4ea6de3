"""Copies of the files of a workspace: what they hold, what they cost, and what is left of them."""

import os
from pathlib import Path

import pytest

from outrider.workspace.disk import disk
from outrider.workspace.watch import copies
from outrider.workspace.watch.copies import Copied, Copies


def files(folder: Path) -> dict[str, os.stat_result]:
    return {str(path): path.stat() for path in sorted(folder.iterdir())}


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


def test_nothing_of_it_has_a_name(work: Path, tmp_path: Path) -> None:
    kept = Copies(tmp_path)
    copied = kept.update(files(work), lambda _: False)
    assert isinstance(copied, Copied)
    assert [path.name for path in tmp_path.iterdir()] == ["work"]


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
