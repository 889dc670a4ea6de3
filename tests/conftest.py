"""What all tests share: a workspace, a fake editor, and guards against what a test must not do or leave behind."""

import asyncio
import gc
import inspect
import ipaddress
import os
import shutil
import socket
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import psutil
import pytest
from hypothesis import HealthCheck, settings

# Hundreds of tests start Python, and pytest compiles all of Outrider for its assertions: without its cache each
# process would do so anew. It counts from here on, so this comes before the first import of Outrider.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from everyday import is_thorough, left_to_the_thorough_run  # noqa: E402 - see above
from replayed import KEPT  # noqa: E402 - see above

# How long an example takes says something about the machine, not about the house.
settings.register_profile(
    "same", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=2000)
settings.load_profile("same")


def pytest_configure(config):
    """Give all processes of the run one place for the sessions that their tests record."""
    # Options of this run are not for the pytest that a test starts: it would try again what is meant to fail.
    # Who only hands the tests out keeps them: its workers read them too.
    if not config.getoption("numprocesses", None):
        os.environ.pop("PYTEST_ADDOPTS", None)
    if hasattr(config, "workerinput"):
        KEPT.folder = Path(config.option.basetemp).parent / "sessions"
    else:
        KEPT.folder = Path(tempfile.mkdtemp(prefix="outrider-sessions-"))
        config.add_cleanup(lambda: shutil.rmtree(KEPT.folder, ignore_errors=True))


def pytest_collection_modifyitems(config, items):
    """Leave out what only the thorough run wants, unless it is asked for by name, and give the order."""
    if not is_thorough() and not any("::" in asked for asked in config.args):
        left = set(left_to_the_thorough_run(items))
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
    place = dict(zip(items, _places(items), strict=True))
    items.sort(key=place.__getitem__)


def _places(items):
    """From 0 to 1: the type checker comes first, what replays the sessions of all others last, and editors all the way between.

    They wait most of the time, and beside others of their kind the processors would wait with them.
    """
    counts, seen = Counter(map(_is_editor, items)), Counter()
    for item in items:
        kind = _is_editor(item)
        seen[kind] += 1
        yield ENDS.get(item.path.name, seen[kind] / (counts[kind] + 1))


ENDS = {"test_structure.py": 0.0, "test_all_sessions.py": 1.0}


def _is_editor(item):
    # A file of the workbench's tests shares one window.
    return item.path.parent.name == "editors" and not item.path.name.startswith("test_vscode")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Half as many again as there are processors: a third of the time a test waits, for a process or an editor."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


def pytest_sessionstart(session):
    """Who counts how often a test was tried again answers at once: else each test waits 40 ms for an acknowledgement of TCP."""
    if counts := getattr(getattr(session.config, "failures_db", None), "sock", None):
        counts.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """What a run begins with stays until its end: the garbage collector need not look at it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Count the tests that each process has finished, for the test that waits for all others."""
    result = yield
    if hasattr(item.config, "workerinput"):
        KEPT.folder.mkdir(parents=True, exist_ok=True)
        with (KEPT.folder / f"finished-{os.getpid()}").open("a") as file:
            file.write(".")
    return result


GONE_SECONDS = 2.0
"""Real seconds that children of a test may take to end after it."""


@pytest.fixture(scope="session", autouse=True)
def loopback_only():
    """No test reaches another machine."""
    look_up = socket.getaddrinfo

    def guarded(reach):
        def reach_inside(self, *arguments):
            address = arguments[-1]  # the last one of each of them
            if self.family != socket.AF_UNIX:
                refuse_outside(address[0])
            return reach(self, *arguments)

        return reach_inside

    def guarded_look_up(host, *arguments, **options):
        refuse_outside(host)
        return look_up(host, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, guarded(getattr(socket.socket, name)))
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield


def refuse_outside(host):
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return
    try:
        inside = ipaddress.ip_address(name).is_loopback
    except ValueError:
        inside = False
    if not inside:
        raise RuntimeError(f"a test may not reach {name}")


@pytest.fixture(autouse=True)
def nothing_left(request):
    """No test leaves a task or a child process behind."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("no_tasks_left")
    before = set(_children())
    yield
    # What was started before, such as the browser of a file of tests, may start what it likes.
    left = [child for child in _children() if child not in before and before.isdisjoint(_parents(child))]
    _, alive = psutil.wait_procs(left, timeout=GONE_SECONDS)
    described = [f"{child.pid}: {child.cmdline()}" for child in alive if child.is_running()]
    for child in alive:
        child.kill()
    assert not described, f"child processes are left: {described}"


def _children():
    if hasattr(os, "waitid"):  # psutil looks at every process of the machine
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return []
    return psutil.Process().children(recursive=True)


def _parents(child):
    try:
        return child.parents()
    except psutil.NoSuchProcess:
        return []


@pytest.fixture
async def no_tasks_left():
    before = asyncio.all_tasks()
    yield
    for _ in range(3):
        await asyncio.sleep(0)
    left = [task for task in asyncio.all_tasks() - before - {asyncio.current_task()} if not task.done()]
    for task in left:
        task.cancel()
    assert not left, f"tasks are left: {left}"


@pytest.fixture
def workspace(outrider_workspace):
    """A small project without git: a module with a fault and its test."""
    files = {
        "tariff.py": 'def price(hours):\n    """Two for each hour begun."""\n    return hours * 3\n',
        "tests/test_tariff.py": (
            "import unittest\n\nfrom tariff import price\n\n\n"
            "class PriceTest(unittest.TestCase):\n    def test_two_hours(self):\n"
            "        self.assertEqual(price(2), 4)\n"
        ),
        "tests/__init__.py": "",
        "README.md": "# Parking\n\nCounts what parking costs.\n",
    }
    return outrider_workspace(files)


@pytest.fixture
def young_heap():
    """For a test that measures time: the garbage collector looks only at what the test makes.

    What the tests before it left is hundreds of megabytes, and looking at them again costs more the more a test allocates.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def outrider_editor(outrider_editor, workspace):
    """The plugin's, in that project."""
    return partial(outrider_editor, workspace=workspace)
