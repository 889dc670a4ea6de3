import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from outrider.ports.clock import SystemClock
from outrider.processes import SpawnProblem, Supervisor, collect
from outrider.workspace.search import (
    Files,
    FindResult,
    Match,
    Search,
    SearchProblem,
    SearchResult,
    find_ripgrep,
)


@pytest.fixture
def search(desk: Any, search_of: Callable[[Any], Search]) -> Search:
    for name in ("src/a.py", "src/b.ts", "src/deep/c.py", "docs/a.md", ".github/ci.yml"):
        desk.write(name, f"needle in {name}\nhay\n")
    desk.write("src/min.gen.py", "needle ignored\n")
    desk.write("build/out.py", "needle ignored\n")
    desk.write(".gitignore", "build/\n*.gen.py\n")
    desk.write(".git/config", "needle in git\n")
    desk.write(".outrider/task.md", "needle of our own\n")
    return search_of(desk)


async def paths(search: Search, pattern: str, located: Any = None, glob: str | None = None) -> list[str]:
    found = await search.search(pattern, located, glob)
    assert isinstance(found, SearchResult), found
    return [match.path for match in found.matches]


async def test_matches_come_sorted_without_ignored_files(search: Search) -> None:
    assert await paths(search, "^needle") == [
        ".github/ci.yml",
        "docs/a.md",
        "src/a.py",
        "src/b.ts",
        "src/deep/c.py",
    ]


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("*.py", ["src/a.py", "src/deep/c.py"]),
        ("**/*.{py,ts}", ["src/a.py", "src/b.ts", "src/deep/c.py"]),
        ("src/*.py", ["src/a.py"]),
        ("./src/**", ["src/a.py", "src/b.ts", "src/deep/c.py"]),
        ("docs", ["docs/a.md"]),
        ("**", [".github/ci.yml", "docs/a.md", "src/a.py", "src/b.ts", "src/deep/c.py"]),
        ("!src", [".github/ci.yml", "docs/a.md"]),
        (".git/**", []),
    ],
)
async def test_a_glob_chooses_files_and_never_brings_ignored_ones_back(
    desk: Any, search: Search, glob: str, found: list[str]
) -> None:
    assert await paths(search, "needle", None, glob) == found
    by_name = await search.find(glob, 100)
    assert isinstance(by_name, FindResult)
    assert [path for path in by_name.paths if path != ".gitignore"] == found
    desk.open("src/a.py", "unsaved needle\n")
    assert await paths(search, "needle", None, glob) == found


async def test_packages_that_nobody_ignores_are_looked_into_only_where_they_are_named(
    desk: Any, search: Search
) -> None:
    inner = [
        ".venv/lib/python3/site-packages/p/a.py",
        "env/lib/site-packages/q.py",
        "web/node_modules/r/a.js",
    ]
    for name in inner:
        desk.write(name, "needle of others\n")
    assert await paths(search, "of others") == []
    assert await paths(search, "of others", glob="*.py") == []
    assert await paths(search, "of others", desk.at("web/node_modules")) == inner[2:]
    assert await paths(search, "of others", desk.at(inner[0])) == inner[:1]
    assert await paths(search, "of others", glob=".venv/**") == inner[:1]
    found = [await search.find(pattern, 10) for pattern in ("a.*", "**/node_modules/**")]
    assert [one.paths for one in found if isinstance(one, FindResult)] == [
        ("docs/a.md", "src/a.py"),
        (inner[2],),
    ]
    everything, own = await search.files(), await search.files(installed=False)
    assert isinstance(everything, Files)
    assert isinstance(own, Files)
    assert len(everything.paths) == len(own.paths) + len(inner)


async def test_a_file_or_a_folder_can_be_named(desk: Any, search: Search, tmp_path: Path) -> None:
    assert await paths(search, "needle", desk.at("src/deep")) == ["src/deep/c.py"]
    assert await paths(search, "needle", desk.at("src/a.py")) == ["src/a.py"]
    assert await paths(search, "needle", desk.at(".")) == await paths(search, "needle")
    assert isinstance(await search.search("needle", desk.at(".outrider"), None), SearchProblem)
    (tmp_path / "other.txt").write_text("needle\n")
    assert await paths(search, "needle", desk.at(str(tmp_path / "other.txt"))) == [
        str(tmp_path / "other.txt")
    ]


async def test_unsaved_buffers_are_searched_instead_of_the_disk(desk: Any, search: Search) -> None:
    desk.open("src/a.py", "hay\nnew pin\n")
    desk.open("src/new.py", "a pin\r\nmore\r\n")
    desk.open("untitled:Untitled-1", "one pin\n")
    desk.open("src/b.ts")
    found = await search.search("pin$|needle", None, None)
    assert isinstance(found, SearchResult)
    assert found.matches == (
        Match(".github/ci.yml", 1, "needle in .github/ci.yml"),
        Match("docs/a.md", 1, "needle in docs/a.md"),
        Match("src/a.py", 2, "new pin"),
        Match("src/b.ts", 1, "needle in src/b.ts"),
        Match("src/deep/c.py", 1, "needle in src/deep/c.py"),
        Match("src/new.py", 1, "a pin"),
        Match("untitled:Untitled-1", 1, "one pin"),
    )
    assert found.unsaved == ("src/a.py", "src/new.py", "untitled:Untitled-1")
    assert "[unsaved buffers: src/a.py, src/new.py, untitled:Untitled-1]" in found.render()
    assert await paths(search, "pin", desk.at("src/a.py")) == ["src/a.py"]
    assert await paths(search, "pin", desk.at("untitled:Untitled-1")) == ["untitled:Untitled-1"]
    for pattern, path in (("src/n*.py", "src/new.py"), ("*Untitled*", "untitled:Untitled-1")):
        by_name = await search.find(pattern, 100)
        assert isinstance(by_name, FindResult)
        assert by_name.paths == (path,)


async def test_what_is_only_on_the_disk_under_an_unsaved_buffer_is_not_found(
    desk: Any, search: Search
) -> None:
    desk.open("src/a.py", "")
    desk.open("src/b.ts", "\ufeffneedle moved here")
    desk.open("src/new.py", "")
    desk.open("untitled:U", "\n\nneedle\0\n")
    found = await search.search("needle|^$", None, None)
    assert isinstance(found, SearchResult)
    assert found.matches == (
        Match(".github/ci.yml", 1, "needle in .github/ci.yml"),
        Match("docs/a.md", 1, "needle in docs/a.md"),
        Match("src/b.ts", 1, "needle moved here"),
        Match("src/deep/c.py", 1, "needle in src/deep/c.py"),
        Match("untitled:U", 1, ""),
        Match("untitled:U", 2, ""),
        Match("untitled:U", 3, "needle\ufffd"),
    )
    assert await paths(search, "needle", desk.at("src/a.py")) == []
    by_name = await search.find("*.{py,ts}", 100)
    assert isinstance(by_name, FindResult)
    assert by_name.paths == ("src/a.py", "src/b.ts", "src/deep/c.py")
    assert by_name.unsaved == ("src/a.py", "src/b.ts")
    assert by_name.render().endswith("[unsaved buffers: src/a.py, src/b.ts]")


@given(st.lists(st.text("an\n\u2028é", max_size=12), min_size=1, max_size=5))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_buffers_searched_together_are_told_apart(
    desk: Any, search_of: Callable[[Any], Search], texts: list[str]
) -> None:
    for number, text in enumerate(texts):
        desk.open(f"untitled:{number}", text)
    found = await search_of(desk).search("^n*$", None, None)
    assert isinstance(found, SearchResult)
    for number, text in enumerate(texts):
        desk.documents.close(f"untitled:{number}")
        lines = text.removesuffix("\n").split("\n") if text else []
        wanted = [at for at, line in enumerate(lines, 1) if set(line) <= {"n"}]
        assert [one.line for one in found.matches if one.path == f"untitled:{number}"] == wanted


async def test_utf_16_is_searched_and_big_files_only_when_they_are_named(desk: Any, search: Search) -> None:
    desk.write("wide.txt", "hay\r\none needle\r\n".encode("utf-16"))
    desk.write("big.log", b"needle\n" + b"x" * 100 * 1024 * 1024)
    desk.write(".outrider-1-0000000000000000.tmp", "needle\n")
    assert await paths(search, "needle", None, "*.{txt,log,tmp}") == ["wide.txt"]
    found = await search.search("needle", desk.at("big.log"), None)
    assert isinstance(found, SearchResult)
    assert [(match.path, match.line) for match in found.matches] == [("big.log", 1)]


async def test_a_buffer_shadows_its_file_through_a_link(desk: Any, search: Search) -> None:
    (desk.root / "link").symlink_to("src")
    desk.open("link/a.py", "nothing here\n")
    assert "src/a.py" not in await paths(search, "needle")


async def test_several_folders_are_told_apart_by_their_names(
    make_desk: Callable[..., Any], search_of: Callable[[Any], Search]
) -> None:
    desk = make_desk("app", "lib")
    for folder in desk.folders.folders:
        (folder.path / "src").mkdir()
        (folder.path / "src" / "a.py").write_text("needle\n")
    search = search_of(desk)
    assert await paths(search, "needle") == ["app/src/a.py", "lib/src/a.py"]
    assert await paths(search, "needle", desk.at("lib/src")) == ["lib/src/a.py"]
    for pattern, wanted in (("src/*.py", 2), ("lib/src/*.py", 1), ("*.py", 2), ("a.py", 2)):
        found = await search.find(pattern, 10)
        assert isinstance(found, FindResult)
        assert len(found.paths) == wanted


async def test_long_lines_are_cut_around_the_match(desk: Any, search: Search) -> None:
    desk.write("min.js", "é" * 5000 + "pin" + "y" * 5000 + "\n")
    found = await search.search("pin", None, None)
    assert isinstance(found, SearchResult)
    (match,) = found.matches
    assert "pin" in match.text
    assert len(match.text) < 500


async def test_too_many_matches_are_cut_the_same_way_each_time(desk: Any, search: Search) -> None:
    for number in range(40):
        desk.write(f"many/{number:02}/a.txt", "pin pin\n" * 3000)
    first = await search.search("pin", None, None, limit=50)
    assert isinstance(first, SearchResult)
    assert first.truncated
    assert {match.path for match in first.matches} == {"many/00/a.txt"}
    wide = await search.search("pin", None, None, limit=100_000)
    assert isinstance(wide, SearchResult)
    assert wide.truncated
    seen = list(dict.fromkeys(match.path for match in wide.matches))
    assert seen == [f"many/{number:02}/a.txt" for number in range(len(seen))]
    assert len(seen) < 40
    found = await search.find("many/**", 7)
    assert isinstance(found, FindResult)
    assert (len(found.paths), found.truncated) == (7, True)
    assert "there are more" in found.render()


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "\\p{Nope}"])
async def test_a_bad_pattern_gets_ripgreps_own_words(search: Search, pattern: str) -> None:
    found = await search.search(pattern, None, None)
    assert isinstance(found, SearchProblem)
    assert "regex" in found.message


@pytest.mark.parametrize(
    ("pattern", "found", "note"),
    [
        ("price(self", [1], "as a regular expression it is no valid one; these lines hold it as plain text"),
        (
            "(f *Flags) usage(a[0])",
            [2],
            "as a regular expression no line matches; these lines hold it as plain text",
        ),
        (
            "price\\|usage",
            [1, 2],
            "as a regular expression no line matches; these lines match with | for \\|",
        ),
        ("usage(a.0.)", [], ""),
        ("price.self", [1], ""),
    ],
)
async def test_a_pattern_that_finds_nothing_may_mean_something_else(
    desk: Any, search: Search, pattern: str, found: list[int], note: str
) -> None:
    desk.write("code.txt", "def price(self)\nfunc (f *Flags) usage(a[0])\n")
    came = await search.search(pattern, None, None)
    assert isinstance(came, SearchResult)
    assert [match.line for match in came.matches] == found
    assert came.note == note
    assert ("code.txt" in came.render("files"), note in came.render("lines")) == (bool(found), True)


async def test_odd_patterns_and_files_do_no_harm(desk: Any, search: Search) -> None:
    desk.write("latin.txt", b"caf\xe9 pin\n")
    desk.write("binary.bin", b"pin\0pin\n")
    desk.write("-dash.txt", "--pin\n")
    desk.write("page.txt", "a\x0cb\u2028pin\r\n")
    assert await paths(search, "--pin") == ["-dash.txt"]
    found = await search.search("pin$", None, None)
    assert isinstance(found, SearchResult)
    assert Match("page.txt", 1, "a\x0cb\u2028pin") in found.matches
    assert Match("latin.txt", 1, "caf\ufffd pin") in found.matches
    nothing = await search.search("never there", None, None)
    assert isinstance(nothing, SearchResult)
    assert nothing.render() == "[no matches]"
    assert isinstance(await search.find("[", 10), FindResult | SearchProblem)


async def test_without_ripgrep_it_says_so(
    desk: Any, search_of: Callable[..., Search], tmp_path: Path
) -> None:
    for search in (search_of(desk, None), search_of(desk, str(tmp_path / "rg"))):
        found = await search.search("x", None, None)
        assert isinstance(found, SearchProblem)
        assert "rg" in found.message
        assert isinstance(await search.find("*", 10), SearchProblem)


async def test_a_vanished_folder_is_told(desk: Any, search: Search) -> None:
    desk.root.rename(desk.root.with_name("moved"))
    assert isinstance(await search.search("needle", None, None), SearchProblem)


def test_ripgrep_is_found_beside_the_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside = tmp_path / "bin" / "rg"
    beside.parent.mkdir()
    beside.write_text("#!/bin/sh\n")
    beside.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(beside.with_name("python")))
    assert find_ripgrep(None) == str(beside)


async def test_what_is_below_a_link_that_is_searched_has_its_real_names(
    desk: Any, search: Search, supervisor: Supervisor
) -> None:
    (desk.root / "link").symlink_to("src")
    desk.open("src/a.py", "nothing here\n")
    asked: list[Sequence[str]] = []

    def is_shut(names: Sequence[str]) -> bool:
        asked.append(names)
        return str(desk.root / "src/b.ts") in names

    shutting = Search(
        desk.folders, desk.documents, desk.overlay, supervisor, SystemClock(), find_ripgrep(None), is_shut
    )
    assert await paths(shutting, "needle", desk.at("link")) == ["link/deep/c.py"]
    assert [str(desk.root / "link/b.ts"), str(desk.root / "src/b.ts")] in asked


class Impatient(SystemClock):
    """Gives up at once what may take no more than a few seconds."""

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[None]:
        return super().timeout(0 if seconds is not None and seconds < 10 else seconds)


async def test_a_search_that_is_not_soon_over_leaves_big_files_out_from_the_beginning(
    desk: Any, search: Search, supervisor: Supervisor
) -> None:
    desk.write("big.log", b"needle\n" + b"x" * 11 * 1024 * 1024)
    slow = Search(desk.folders, desk.documents, desk.overlay, supervisor, Impatient(), find_ripgrep(None))
    found = await slow.search("needle", None, None)
    assert found == await search.search("needle", None, None)
    assert isinstance(found, SearchResult)
    assert [match.path for match in found.matches if match.path == "big.log"] == []
    assert (len(found.matches), found.note) == (5, "")


async def test_what_a_big_file_prints_takes_no_room_from_others(desk: Any, search: Search) -> None:
    desk.write("a_big.log", b"needle " * 2 * 1024 * 1024)
    found = await search.search("needle", None, None)
    assert isinstance(found, SearchResult)
    assert (len(found.matches), found.truncated) == (5, False)


async def test_a_line_of_millions_of_characters_hides_nothing_behind_it(desk: Any, search: Search) -> None:
    desk.write("a/far.txt", "x" * 9_000_000 + "pin\n")
    desk.write("a/near.txt", "x" * 1000 + "pin" + "x" * 9_000_000 + "\n\npin\n")
    found = await search.search("pin", None, None)
    assert isinstance(found, SearchResult)
    far, near, last = found.matches
    assert far == Match("a/far.txt", 1, "[a very long line, which matches at byte 9000001]")
    assert (near.path, near.line, "pin" in near.text, len(near.text) < 500) == ("a/near.txt", 1, True, True)
    assert (last, found.truncated) == (Match("a/near.txt", 3, "pin"), False)


async def test_a_long_line_of_a_buffer_hides_no_other_buffer(desk: Any, search: Search) -> None:
    desk.open("a.txt", "x" * 9_000_000 + "pin\n")
    desk.open("b.txt", "one\npin\n")
    found = await search.search("pin", None, None)
    assert isinstance(found, SearchResult)
    assert [(match.path, match.line) for match in found.matches] == [("a.txt", 1), ("b.txt", 2)]


@pytest.mark.skipif(sys.platform != "linux", reason="only there the memory of a program is bounded so")
async def test_an_ignore_file_without_an_end_takes_no_memory_and_is_named(desk: Any, search_of: Any) -> None:
    desk.write("src/a.py", "needle\n")
    (desk.root / "src" / ".rgignore").symlink_to("/dev/zero")
    search = search_of(desk)
    for found in (
        await search.search("needle", None, None),
        await search.find("*.py", 10),
        await search.files(),
    ):
        assert isinstance(found, SearchProblem)
        assert found.message.endswith("src/.rgignore is a pipe or a device")


class PatientClock(SystemClock):
    """A clock whose time-outs never come."""

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[None]:
        return super().timeout(None)


def repository_below(root: Path) -> None:
    (root / "src" / ".git" / "info").mkdir(parents=True)
    os.mkfifo(root / "src" / ".git" / "info" / "exclude")


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda root: os.mkfifo(root / "src" / ".gitignore"), "src/.gitignore"),
        (lambda root: os.mkfifo(root / ".ignore"), ".ignore"),
        (lambda root: (root / "src" / ".gitignore").symlink_to("/dev/zero"), "src/.gitignore"),
        (repository_below, "src/.git/info/exclude"),
    ],
)
async def test_an_ignore_file_that_is_a_pipe_or_a_device_ends_a_search_at_once_and_is_named(
    desk: Any, supervisor: Supervisor, make: Callable[[Path], None], named: str
) -> None:
    desk.write("src/a.py", "needle\n")
    make(desk.root)
    patient = Search(
        desk.folders, desk.documents, desk.overlay, supervisor, PatientClock(), find_ripgrep(None)
    )
    async with asyncio.timeout(20):
        found = await patient.search("needle", None, None)
        listed = await patient.files()
    assert isinstance(found, SearchProblem)
    assert isinstance(listed, SearchProblem)
    assert found.message == listed.message
    assert found.message == f"the search did not finish: {desk.root.resolve() / named} is a pipe or a device"


@pytest.mark.skipif(sys.platform != "linux", reason="only there the memory of a program is bounded so")
async def test_what_a_program_may_keep_in_memory_is_bounded(tmp_path: Path, supervisor: Supervisor) -> None:
    hungry = await collect(
        supervisor,
        [sys.executable, "-c", "print(len(bytes(200_000_000)))"],
        cwd=tmp_path, env={}, clock=SystemClock(), seconds=30, limit=1000, memory=100_000_000,
    )  # fmt: skip
    assert not isinstance(hungry, SpawnProblem)
    assert hungry.code == 1
    assert b"MemoryError" in hungry.stderr
