"""Edits that cannot be made: the model is told why, and nothing is half done."""

import errno
import os

import pytest

from outrider.testing import call, run_scenario, say
from outrider.workspace.disk import disk

FULL = {"permissionMode": "full"}
FILES = {"a.txt": "one\ntwo\nthree\n", "b.txt": "four\nfive\n", "c.txt": "six\n"}
PATCH = """*** Begin Patch
*** Update File: a.txt
-two
+TWO
*** Update File: b.txt
-five
+FIVE
*** Delete File: c.txt
*** End Patch"""


async def told(*calls, files=FILES, settings=FULL, **how):
    """What the model is told of calls that must change nothing."""
    run = await run_scenario("Go.", [*calls, say("Done.")], workspace=files, settings=settings, **how)
    assert run.outcome == "completed"
    results = run.events_of("tool.finished")
    assert [one["status"] for one in results][-1] == "error", results
    assert not run.events_of("edit.applied") or run.files == files
    return run, results[-1]["content"]


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([{"old": "one\ntwo\n", "new": "1\n2\n"}, {"old": "two\nthree\n", "new": "2\n3\n"}], "edits[1]"),
        ([{"old": "two", "new": "2"}, {"old": "nowhere", "new": ""}], "nowhere"),
        ([{"old": "", "new": "2"}], "old"),
    ],
)
async def test_edits_that_overlap_or_are_nowhere_change_nothing(edits, said):
    run, content = await told(call("edit_file", path="a.txt", edits=edits))
    assert said in content
    assert run.files == FILES


@pytest.mark.parametrize("text", ["one\r\ntwo\nthree\r\n", "one\rtwo\rthree\r"])
async def test_an_open_document_with_mixed_line_ends_is_left_alone(text):
    files = {"a.txt": text}
    run, content = await told(
        call("edit_file", path="a.txt", old="two", new="2"), files=files, open=["a.txt"]
    )
    assert "line end" in content
    assert run.files == files
    assert run.buffers == files


@pytest.mark.parametrize("tool", ["rename_file", "apply_patch"])
async def test_nothing_is_renamed_onto_a_file(tool):
    patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n-two\n+2\n*** End Patch"
    wanted = call(tool, **({"from": "a.txt", "to": "b.txt"} if tool == "rename_file" else {"patch": patch}))
    run, content = await told(wanted)
    assert "b.txt" in content
    assert "exist" in content
    assert run.files == FILES


async def test_a_patch_for_another_file_says_what_is_there():
    patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n four\n-five\n+FIVE\n*** End Patch"
    run, content = await told(call("apply_patch", patch=patch))
    assert "a.txt" in content
    assert run.files == FILES


async def test_a_file_that_became_a_folder_while_the_person_was_asked():
    def turn_over(item):
        path = item.editor.root / "b.txt"
        path.unlink()
        (path / "deep").mkdir(parents=True)
        return True

    run, content = await told(call("apply_patch", patch=PATCH), settings=None, on_confirmation=turn_over)
    assert "b.txt" in content
    assert "is a folder" in content
    assert run.files == {name: text for name, text in FILES.items() if name != "b.txt"}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
async def test_a_disk_that_is_full_in_the_middle_of_a_transaction(monkeypatch, code):
    write = os.write

    def full(file, data):
        if b"FIVE" in bytes(data):
            write(file, bytes(data)[:2])
            raise OSError(code, os.strerror(code))
        return write(file, data)

    monkeypatch.setattr(disk.os, "write", full)
    run, content = await told(call("apply_patch", patch=PATCH))
    assert "b.txt was not changed" in content
    assert os.strerror(code) in content
    assert "Reverted: a.txt" in content
    assert "Nothing was changed." in content
    assert run.files == FILES, "and nothing else lies there"


async def test_a_disk_that_stays_full_is_said_with_what_is_left(monkeypatch):
    write, filled = os.write, []

    def full(file, data):
        if filled or b"FIVE" in bytes(data):
            filled.append(data)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(file, data)

    monkeypatch.setattr(disk.os, "write", full)
    run = await run_scenario(
        "Go.", [call("apply_patch", patch=PATCH), say("Done.")], workspace=FILES, settings=FULL
    )
    (result,) = run.events_of("tool.finished")
    assert result["status"] == "error"
    assert "Still in place, because it could not be reverted: Edited a.txt." in result["content"]
    assert run.files == {**FILES, "a.txt": FILES["a.txt"].replace("two", "TWO")}


@pytest.mark.parametrize(
    "asked",
    [
        call("edit_file", path="b.txt", old="five", new="5"),
        call("write_file", path="b.txt", content="", overwrite=True),
        call("apply_patch", patch=PATCH),
    ],
)
async def test_a_write_protected_file_is_said_and_nothing_is_changed(asked, tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "b.txt").chmod(0o444)
    read = call("read_file", path="b.txt")
    run = await run_scenario("Go.", [read, asked, say("Done.")], workspace=tmp_path, settings=FULL)
    result = run.events_of("tool.finished")[-1]
    assert result["status"] == "error"
    assert "b.txt is write-protected" in result["content"]
    assert {name: (tmp_path / name).read_text() for name in FILES} == FILES


async def test_a_file_in_the_place_of_a_folder_is_left_alone():
    run, content = await told(call("write_file", path="a.txt/new.txt", content="new\n"))
    assert "a.txt" in content
    assert run.files == FILES
