"""Which syntax errors an edit brought: what is found, and that nothing waits for a child that is ill."""

import asyncio
import time
from contextlib import suppress

import psutil
import pytest

from outrider.ports.clock import SystemClock
from outrider.workspace.syntax import syntax
from outrider.workspace.syntax.syntax import MOST_LOST, Syntax, SyntaxFault

PROGRAM = "outrider.workspace.syntax.child"
GOOD, BAD = "def f():\n    pass\n", "def f(:\n    pass\n"
FOUND = [SyntaxFault(1, ")")]


@pytest.fixture
async def faults(desk, search_of, monkeypatch):
    monkeypatch.setattr(syntax, "SECONDS", 20.0)
    made = Syntax(search_of(desk)._supervisor, SystemClock(), {})
    yield made
    await made.close()


def children():
    """The processes that parse, those that have just ended aside."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # a zombie has no command line any more
            found += [one] if PROGRAM in one.cmdline() else []
    return found


def child():
    (found,) = children()
    return found


async def test_only_what_an_edit_brought_is_found(faults):
    assert await faults.new_faults("a.py", GOOD, BAD) == FOUND
    assert await faults.new_faults("a.py", "", BAD) == FOUND
    assert not await faults.new_faults("a.py", BAD, GOOD)
    assert not await faults.new_faults("a.py", GOOD, GOOD)
    assert not await faults.new_faults("a.py", BAD, f"# more\n{BAD}")
    assert await faults.new_faults("a.py", BAD, f"{BAD}x = [1}}\n") == [SyntaxFault(3, "")]
    assert not await faults.new_faults("a.txt", GOOD, BAD)
    assert not await faults.new_faults("a.py", "", GOOD.replace("pass", "'\ud800'"))


async def test_a_child_that_dies_is_started_again_but_not_for_ever(faults):
    assert await faults.new_faults("a.py", GOOD, BAD) == FOUND
    for lost in range(MOST_LOST):
        child().kill()
        assert not await faults.new_faults("a.py", GOOD, BAD)
        if lost < MOST_LOST - 1:
            assert await faults.new_faults("a.py", GOOD, BAD) == FOUND
    assert not await faults.new_faults("a.py", GOOD, BAD)
    assert not children()


async def test_a_child_that_hangs_delays_nothing_for_long(faults, monkeypatch):
    assert await faults.new_faults("a.py", GOOD, BAD) == FOUND
    monkeypatch.setattr(syntax, "SECONDS", 0.2)
    process = child()
    process.suspend()
    begun = time.monotonic()
    found = await asyncio.gather(*(faults.new_faults("a.py", GOOD, BAD) for _ in range(3)))
    assert not any(found)
    assert time.monotonic() - begun < 5
    monkeypatch.setattr(syntax, "SECONDS", 20.0)
    assert await faults.new_faults("a.py", GOOD, BAD) == FOUND


async def test_a_start_that_takes_long_is_used_when_it_is_there(faults, monkeypatch):
    started, begun = asyncio.Event(), syntax.Child.start

    async def slow(*given):
        await started.wait()
        return await begun(*given)

    monkeypatch.setattr(syntax.Child, "start", slow)
    monkeypatch.setattr(syntax, "SECONDS", 0.05)
    assert not await faults.new_faults("a.py", GOOD, BAD)
    monkeypatch.setattr(syntax, "SECONDS", 20.0)
    started.set()
    assert await faults.new_faults("a.py", GOOD, BAD) == FOUND
