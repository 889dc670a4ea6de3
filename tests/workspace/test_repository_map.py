"""The server's side of the map, with its child: what the child is told of, how it is kept up to date, and how it ends."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from outrider.ports.clock import SystemClock
from outrider.ports.maps import Focus
from outrider.workspace.repository_map import repository_map
from outrider.workspace.repository_map.repository_map import RepositoryMap, Rooms

PROGRAM = "outrider.workspace.repository_map.child"


@pytest.fixture
async def make_map(desk, search_of, tmp_path):
    """Makes maps of the desk; gives each with what it told the user."""
    made = []

    def make(*, leaves_out=lambda path: path.endswith(".env.py"), env=None):
        told = []
        search = search_of(desk)

        async def nothing():
            pass

        maps = RepositoryMap(
            lambda: Rooms(desk.folders, search, desk.documents), search._supervisor, SystemClock(), tmp_path / "cache",
            {"SECRET_KEY": "hush", **(env or {})}, leaves_out=leaves_out, before_listing=nothing, tell=told.append,
        )  # fmt: skip
        made.append(maps)
        return maps, told

    yield make
    for maps in made:
        await maps.close()


def child():
    """The process of the child."""
    return next(one for one in psutil.Process().children(recursive=True) if PROGRAM in one.cmdline())


async def drawn(maps, **at_hand):
    blocks = await maps.draw(Focus(**at_hand), 10_000)
    return None if blocks is None else "\n".join(blocks)


async def test_ignored_and_secret_files_are_none_of_its_business(desk, make_map):
    desk.write("a.py", "def seen(): pass\n")
    desk.write(".gitignore", "build/\n")
    desk.write("build/made.py", "def made(): pass\n")
    desk.write("keys.env.py", "def secret(): pass\n")
    desk.write(".outrider/own.py", "def own(): pass\n")
    desk.write("notes.txt", "def text(): pass\n")
    # Nor by being there, though nobody ignores it.
    desk.write(".venv/lib/python3/site-packages/p.py", "def installed(): pass\n")
    maps, _ = make_map()
    assert await drawn(maps) == "a.py\n  function seen() 1"
    # Not by being open either.
    desk.open("build/made.py")
    desk.open("keys.env.py")
    assert await drawn(maps) == "a.py\n  function seen() 1"


async def test_of_a_handful_of_files_there_is_a_map_only_for_those_who_want_one(desk, make_map):
    desk.write("a.py", "def seen(): pass\n")
    maps, _ = make_map()
    assert await drawn(maps) == "a.py\n  function seen() 1"
    assert await maps.draw(Focus(), 10_000, fewest=2) is None
    assert await maps.draw(Focus(), 10_000, fewest=1) is not None


async def test_it_gets_no_key_and_no_path_beyond_its_own(desk, make_map):
    desk.write("a.py", "def seen(): pass\n")
    maps, _ = make_map(env={"LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", "")})
    await drawn(maps)
    process = child()
    assert set(process.environ()) <= {"LD_LIBRARY_PATH", "LC_CTYPE"}
    assert process.nice() >= 10


async def test_the_cache_of_a_workspace_that_nobody_opens_any_more_goes(desk, make_map, tmp_path):
    folder = tmp_path / "cache" / "maps"
    folder.mkdir(parents=True)
    forgotten = folder / "0123.sqlite"
    forgotten.write_bytes(b"x")
    os.utime(forgotten, (0, 0))
    desk.write("a.py", "def seen(): pass\n")
    maps, _ = make_map()
    await drawn(maps)
    assert not forgotten.exists()
    assert len(list(folder.glob("*.sqlite"))) == 1


async def test_unsaved_text_counts_and_what_changed_on_the_disk(desk, make_map):
    desk.write("a.py", "def first(): pass\n")
    maps, _ = make_map()
    assert "first" in await drawn(maps)
    uri = desk.open("a.py", "def typed(): pass\n")
    assert "typed() 1" in await drawn(maps)
    assert "first" not in await drawn(maps)
    desk.documents.close(uri)
    assert "first() 1" in await drawn(maps)
    desk.write("a.py", "def written(): pass\n")
    assert "written() 1" in await drawn(maps, open=["a.py"])
    desk.write("new.py", "def brand_new(): pass\n")
    maps.look_again()
    await asyncio.wait([maps._looking])
    assert "brand_new() 1" in await drawn(maps)


async def test_several_folders_are_told_apart(make_desk, search_of, tmp_path, desk, make_map):
    both = make_desk("one", "two")
    both.write("a.py", "def in_one(): pass\n")
    (tmp_path / "two" / "a.py").write_text("def in_two(): pass\n")
    maps, _ = make_map()
    maps._rooms = lambda: Rooms(both.folders, search_of(both), both.documents)
    text = await drawn(maps)
    assert "one/a.py\n  function in_one() 1" in text
    assert "two/a.py\n  function in_two() 1" in text


async def test_other_folders_get_another_child(desk, make_map, make_desk, search_of):
    desk.write("a.py", "def before(): pass\n")
    maps, told = make_map()
    assert "before" in await drawn(maps)
    first = child()
    other = make_desk("other")
    other.write("b.py", "def after(): pass\n")
    maps._rooms = lambda: Rooms(other.folders, search_of(other), other.documents)
    assert await drawn(maps) == "b.py\n  function after() 1"
    assert child().pid != first.pid
    assert not first.is_running()
    assert told == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
async def test_its_end_is_told_once_and_nobody_waits_for_it(number, desk, make_map):
    desk.write("a.py", "def seen(): pass\n")
    maps, told = make_map()
    await drawn(maps)
    child().send_signal(number)
    assert await drawn(maps) is None
    assert await drawn(maps) is None
    maps.look_again()
    assert told == [
        (
            f"The repository map is no longer available (its process ended by signal {number}); "
            "everything else continues to work."
        )
    ]


async def test_one_that_does_not_answer_is_ended(desk, make_map, monkeypatch):
    desk.write("a.py", "def seen(): pass\n")
    maps, told = make_map()
    await drawn(maps)
    process = child()
    process.suspend()
    monkeypatch.setattr(repository_map, "ANSWER_SECONDS", 0.05)
    assert await drawn(maps) is None
    assert len(told) == 1
    assert "did not answer" in told[0]
    assert not process.is_running()


async def test_one_that_waits_for_a_map_may_go_away(desk, make_map):
    for number in range(100):
        desk.write(f"m{number}.py", f"def function_{number}(): pass\n")
    maps, told = make_map()
    waiting = asyncio.create_task(maps.draw(Focus(), 1_000))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert "function_7() 1" in await drawn(maps)
    waiting = asyncio.create_task(maps.draw(Focus(open=["m7.py"]), 1_000))
    for _ in range(5):
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert "function_7() 1" in await drawn(maps)
    assert told == []


async def test_without_folders_there_is_no_map_and_no_child(desk, make_map, make_desk, search_of):
    maps, told = make_map()
    maps._rooms = lambda: Rooms(type(desk.folders)([]), search_of(desk), desk.documents)
    assert await drawn(maps) is None
    assert told == []
    assert psutil.Process().children(recursive=True) == []


SERVER = """
import asyncio, sys
from pathlib import Path
from outrider.ports.clock import SystemClock
from outrider.ports.maps import Focus
from outrider.processes import Supervisor
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import Overlay
from outrider.workspace.paths import folders_of
from outrider.workspace.repository_map.repository_map import RepositoryMap, Rooms
from outrider.workspace.search import Search, find_ripgrep

async def main():
    folders, documents, clock = folders_of([("w", Path(sys.argv[1]).as_uri())]), DocumentStore(), SystemClock()
    supervisor = Supervisor(clock)
    search = Search(folders, documents, Overlay(folders, documents), supervisor, clock, find_ripgrep(None), lambda _: False)
    async def nothing(): pass
    maps = RepositoryMap(lambda: Rooms(folders, search, documents), supervisor, clock, None, {},
                         leaves_out=lambda _: False, before_listing=nothing, tell=print)
    await maps.draw(Focus(), 1000)
    print("drawn", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


def test_it_ends_with_a_server_that_is_killed(tmp_path):
    (tmp_path / "a.py").write_text("def seen(): pass\n")
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout.readline() == "drawn\n"
        process = next(
            one for one in psutil.Process(server.pid).children(recursive=True) if PROGRAM in one.cmdline()
        )
        server.kill()
    psutil.wait_procs([process], timeout=5)
    assert not process.is_running()


def test_the_server_loads_no_grammar_for_it():
    loaded = "import sys, outrider.workspace.repository_map.repository_map, outrider.app; print([m for m in sys.modules if 'tree_sitter' in m])"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("line", [b"\xff\n", b"{}\n", b'{"id": 1, "do": "nothing"}\n', b""])
def test_the_child_ends_when_it_is_told_nonsense_or_nothing(line):
    ours, theirs = socket.socketpair()
    with (
        ours,
        theirs,
        subprocess.Popen(
            [sys.executable, "-I", "-m", PROGRAM], stdin=theirs.fileno(), stderr=subprocess.DEVNULL
        ) as process,
    ):
        theirs.close()
        ours.sendall(line)
        ours.close()
        assert process.wait(20) == (0 if not line else 1)


def test_every_query_goes_with_the_package():
    folder = Path(repository_map.__file__).with_name("queries")
    assert {path.suffix for path in folder.iterdir()} == {".scm"}
