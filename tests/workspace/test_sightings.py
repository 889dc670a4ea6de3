"""Whether files still hold what somebody knows: what is looked at, what is not, and what it costs."""

import os
import time
from datetime import UTC, datetime

import pytest

from outrider.ports.clock import SteppingClock, SystemClock
from outrider.ports.model import content_hash
from outrider.workspace.disk import file_stat
from outrider.workspace.disk.file_stat import mark_of
from outrider.workspace.documents import overlay
from outrider.workspace.watch import staleness
from outrider.workspace.watch.snapshot import Census
from outrider.workspace.watch.staleness import Sightings


@pytest.fixture
def census(desk, search_of):
    return Census(search_of(desk), SystemClock(), lambda _: False)


@pytest.fixture
def looking(desk, census):
    return Sightings(desk.folders, desk.overlay, desk.documents, SystemClock(), census)


def digest(text):
    return content_hash(text.encode())


def aged(path, monkeypatch):
    """Let the file look as if it had been written long ago."""
    now = time.time_ns
    monkeypatch.setattr(file_stat.time, "time_ns", lambda: now() + 60_000_000_000)
    return path


async def test_what_is_as_expected_has_not_moved(desk, looking):
    desk.write("a.py", "a\n")
    assert await looking.moved({"a.py": digest("a\n"), "gone.py": None}) == []


async def test_what_is_on_the_disk_and_what_is_in_a_buffer(desk, looking):
    desk.write("a.py", "a\n")
    desk.write("b.py", "b\n")
    desk.open("b.py", "typed\n")
    expected = {"a.py": digest("x"), "b.py": digest("b\n"), "gone.py": digest("c")}
    moved = {one.path: (one.text, one.where) for one in await looking.moved(expected)}
    assert moved == {"a.py": ("a\n", "disk"), "b.py": ("typed\n", "editor"), "gone.py": (None, "disk")}


async def test_a_text_is_not_read_again_while_its_mark_stands(desk, looking, monkeypatch):
    aged(desk.write("a.py", "a\n"), monkeypatch)
    await looking.moved({"a.py": digest("a\n")})
    monkeypatch.setattr(overlay.Overlay, "read", None)
    assert await looking.moved({"a.py": digest("a\n")}) == []


async def test_in_quick_succession_only_the_newest_files_are_compared_again(desk, monkeypatch, census):
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    looking = Sightings(desk.folders, desk.overlay, desk.documents, clock, census)
    paths = [f"{number:02}.py" for number in range(staleness.NEWEST_FILES + 1)]
    for path in paths:
        aged(desk.write(path, "a\n"), monkeypatch)
    expected = {path: digest("a\n") for path in paths}
    for _ in range(2):  # the second look compares what the first one read
        assert await looking.moved(expected) == []
    desk.write(paths[0], "b\n")
    desk.write(paths[1], "c\n")
    assert [one.path for one in await looking.moved(expected)] == [paths[1]]
    clock.advance(staleness.FRESH_SECONDS)
    assert [one.path for one in await looking.moved(expected)] == paths[:2]


async def test_a_write_in_the_same_moment_is_found(desk, looking):
    path = desk.write("a.py", "a\n")
    status = path.stat()
    await looking.moved({"a.py": digest("a\n")})
    path.write_text("b\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert [one.text for one in await looking.moved({"a.py": digest("a\n")})] == ["b\n"]


async def test_a_write_that_sets_its_time_back_is_found_later_too(desk, looking, monkeypatch):
    path = aged(desk.write("a.py", "a\n"), monkeypatch)
    status = path.stat()
    await looking.moved({"a.py": digest("a\n")})
    path.write_text("b\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert mark_of(path).is_firm
    assert [one.text for one in await looking.moved({"a.py": digest("a\n")})] == ["b\n"]


async def test_a_link_that_is_turned_is_found(desk, looking, monkeypatch):
    desk.write("one.py", "1\n")
    aged(desk.write("two.py", "2\n"), monkeypatch)
    link = desk.root / "link.py"
    link.symlink_to("one.py")
    assert await looking.moved({"link.py": digest("1\n")}) == []
    link.unlink()
    link.symlink_to("two.py")
    assert [one.text for one in await looking.moved({"link.py": digest("1\n")})] == ["2\n"]


async def test_what_is_opened_and_closed_again_is_seen(desk, looking, monkeypatch):
    aged(desk.write("a.py", "a\n"), monkeypatch)
    expected = {"a.py": digest("a\n")}
    await looking.moved(expected)
    uri = desk.open("a.py", "typed\n")
    assert [one.text for one in await looking.moved(expected)] == ["typed\n"]
    desk.documents.close(uri)
    assert await looking.moved(expected) == []


@pytest.mark.parametrize(("content", "why"), [(b"\0", "is binary"), (b"\xff", "not UTF-8")])
async def test_what_is_no_text_says_why(content, why, desk, looking):
    desk.write("a.py", content)
    (one,) = await looking.moved({"a.py": digest("a\n")})
    assert one.text is None
    assert why in one.why_not


async def test_our_own_documents_are_not_looked_at(desk, looking):
    desk.write(".outrider/task.md", "secret\n")
    assert await looking.moved({".outrider/task.md": digest("other")}) == []


async def test_a_look_is_bounded(desk, looking):
    for number in range(30):
        desk.write(f"{number}.py", "new\n")
    expected = {f"{number}.py": digest("old\n") for number in range(30)}
    assert len(await looking.moved(expected)) == staleness.MOST_CHANGED


async def test_a_look_at_fifty_files_that_did_not_change_costs_little(desk, looking, monkeypatch):
    expected = {}
    for number in range(50):
        text = f"text {number}\n" * 200
        desk.write(f"{number}.py", text)
        expected[f"{number}.py"] = digest(text)
    for number in range(10):
        desk.open(f"{number}.py")
    aged(desk.root, monkeypatch)
    await looking.moved(expected)
    took = []
    for _ in range(50):
        begun = time.perf_counter()
        assert await looking.moved(expected) == []
        took.append(time.perf_counter() - begun)
    print(f"\n50 files: {min(took) * 1e6:.0f} µs at best, {sorted(took)[25] * 1e6:.0f} µs in the middle")
    assert min(took) < 0.001


async def test_what_was_written_made_or_deleted_since_a_count_is_told_and_what_is_as_it_was_is_not(
    desk, looking
):
    for name in ("same.py", "written.py", "deleted.py", "ignored.log"):
        desk.write(name, "a\n")
    desk.write(".gitignore", "*.log\n")
    before = await looking.count()
    desk.write("same.py", "a\n")
    desk.write("written.py", "b\n")
    desk.write("ignored.log", "b\n")
    desk.write("made.py", "a\n")
    (desk.root / "deleted.py").unlink()
    assert await looking.changed_since(before) == ["deleted.py", "made.py", "written.py"]


async def test_what_was_written_made_or_deleted_lately_is_told_by_its_time(desk, looking):
    (desk.root / "below").mkdir()
    (desk.root / "still").mkdir()
    for name in (
        "same.py",
        "written.py",
        "below/deleted.py",
        "below/stays.py",
        "still/same.py",
        "still/ignored.log",
    ):
        desk.write(name, "a\n")
    desk.write(".gitignore", "*.log\n")
    since = latest = (desk.root / ".gitignore").stat().st_ctime_ns
    while latest <= since + 1000:  # the times of files stand still for some milliseconds
        latest = desk.write("still/ignored.log", "b\n").stat().st_ctime_ns
    desk.write("written.py", "b\n")
    desk.write("made.py", "a\n")
    (desk.root / "below" / "deleted.py").unlink()
    now = await looking.count()
    assert await looking.changed_after((now.at - since) / 1e9 - 1e-6, now) == [
        "below",
        "made.py",
        "written.py",
    ]


async def test_a_file_that_is_there_and_no_search_looks_at_is_ignored(desk, looking):
    for name in ("a.py", "b.log", "sub/c.log"):
        (desk.root / name).parent.mkdir(exist_ok=True)
        desk.write(name, "a\n")
    (desk.root / "link").symlink_to("sub")
    (desk.root / "alias.log").symlink_to("a.py")
    desk.write(".gitignore", "*.log\n")
    asked = ["a.py", "b.log", "sub/c.log", "link/c.log", "alias.log", "gone.log", "../outside.py"]
    assert await looking.ignored(asked) == ["b.log", "sub/c.log", "link/c.log"]
