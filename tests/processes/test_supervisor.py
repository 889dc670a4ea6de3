"""Real processes: what is started is attributable, and none outlives its command, a kill or the server."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psutil
import pytest

from outrider.ports.clock import SystemClock
from outrider.ports.outside import Watched
from outrider.processes import Exit, Process, SpawnProblem, Supervisor, shell_argv, supervisor_main
from outrider.processes.launcher import Launch

ENV = {"PATH": os.environ["PATH"]}


def named(marker: str) -> list[psutil.Process]:
    """Every process of the machine whose command line mentions the marker."""
    return [p for p, words in command_lines() if any(marker in word for word in words)]


def sleepers(marker: str) -> list[psutil.Process]:
    """Those that `sleeper` and `daemon` are about, without the shells whose command mentions them."""
    return [p for p, words in command_lines() if words[-1:] in ([marker], [f"sleep 60; : {marker}"])]


def command_lines() -> list[tuple[psutil.Process, list[str]]]:
    """Every process with its words; those that ended in between, and zombies, have none."""
    return [(p, p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]


async def until(true: Callable[[], object], seconds: float = 5.0) -> None:
    """Look until it is so; what is looked at is another process, which tells nobody."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it never came so"
        await asyncio.sleep(0.01)


async def until_gone(marker: str) -> None:
    await until(lambda: not named(marker))


async def until_there(marker: str, count: int = 1) -> list[psutil.Process]:
    await until(lambda: len(sleepers(marker)) == count)
    return sleepers(marker)


def helper_of(pid: int | None = None) -> psutil.Process:
    """The supervisor program of a server process (ours by default)."""
    program = Path(supervisor_main.__file__).name
    [helper] = [c for c in psutil.Process(pid).children() if any(program in w for w in c.cmdline())]
    return helper


async def output_of(process: Process) -> bytes:
    received = bytearray()
    while chunk := await process.read():
        received += chunk
    return bytes(received)


@pytest.fixture
async def supervisor() -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(SystemClock())
    yield supervisor
    await supervisor.close()
    assert supervisor.running == ()


@pytest.fixture
def marker() -> str:
    return f"marker-{uuid.uuid4().hex}"


async def start(supervisor: Supervisor, command: str, cwd: Path, **options: object) -> Process:
    process = await supervisor.spawn(shell_argv(command), cwd=cwd, env=ENV, **options)  # type: ignore[arg-type]
    assert isinstance(process, Process)
    return process


def sleeper(marker: str, *, before: str = "") -> str:
    """A command that lives for a minute, is found by its marker, and never execs it away."""
    return f"{before} sh -c 'sleep 60; : {marker}'"


def daemon(marker: str, ready: Path) -> str:
    """Double fork and setsid, with all descriptors of its own: nothing ties it to the command any more.

    It makes the file `ready` when its ancestors are gone: until then they look like it.
    """
    code = (
        "import os,signal,sys,time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "parent = os.getpid()\n"
        "if os.fork(): os._exit(0)\n"
        "null = os.open('/dev/null', os.O_RDWR)\n"
        "[os.dup2(null, fd) for fd in (0, 1, 2)]\n"
        "os.environ.clear()\n"
        "while os.getppid() == parent: time.sleep(0.001)\n"
        "open(sys.argv[1], 'w').close()\n"
        "time.sleep(60)\n"
    )
    return f'{sys.executable} -S -c "{code}" {ready} {marker}'


async def test_output_comes_in_order_byte_for_byte(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, r"printf 'a\0\xff'; printf b >&2; printf '\r\nc'", tmp_path)
    assert await output_of(process) == b"a\0\xffb\r\nc"
    assert await process.wait() == Exit(0, None)


async def test_standard_error_can_be_read_apart(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, "echo out; echo err >&2", tmp_path, merge_stderr=False)
    assert await output_of(process) == b"out\n"
    assert await process.read_error() == b"err\n"
    assert await process.read_error() == b""


async def test_what_is_given_as_input_is_read_and_nothing_else(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    content = b"line\n" * 200_000
    process = await start(supervisor, "wc -c", tmp_path, stdin=content)
    assert int(await output_of(process)) == len(content)
    process = await start(supervisor, "cat; readlink /proc/$$/fd/0", tmp_path)
    assert await output_of(process) == b"/dev/null\n"


@pytest.mark.parametrize(
    ("command", "expected"),
    [("exit 3", Exit(3, None)), ("kill -9 $$", Exit(None, 9)), ("kill -TERM $$", Exit(None, 15))],
)
async def test_exit_tells_code_or_signal(
    supervisor: Supervisor, tmp_path: Path, command: str, expected: Exit
) -> None:
    process = await start(supervisor, command, tmp_path)
    assert await process.wait() == expected
    assert await process.read() == b""


async def test_a_command_has_its_own_session_and_no_foreign_descriptor(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    os.set_inheritable(leak := os.open("/dev/null", os.O_RDONLY), True)
    try:
        process = await start(supervisor, "ls /proc/self/fd; exec ps -o sid=,tty= -p $$", tmp_path)
        *fds, session = (await output_of(process)).decode().splitlines()
    finally:
        os.close(leak)
    # 3 is the folder that ls itself reads.
    assert fds == ["0", "1", "2", "3"]
    assert session.split() == [str(process.pid), "?"]


@pytest.mark.skipif(
    sys.platform != "linux",
    reason="this system does not list descriptors in /proc, and confines by no launcher",
)
async def test_a_command_gets_no_descriptor_by_which_the_server_is_watched(
    supervisor: Supervisor, tmp_path: Path
) -> None:
    """They are the client's messages, the server's signals and its log."""
    reading, writing = os.pipe()
    ours, theirs = socket.socketpair()
    with ours, theirs, (tmp_path / "log").open("w") as log, os.fdopen(reading), os.fdopen(writing, "w"):
        supervisor.watch(Watched(reading, theirs.fileno(), log.fileno()))
        assert await output_of(await start(supervisor, "true", tmp_path)) == b""
        held = Path(f"/proc/{helper_of().pid}/fd")
        pipe = Path(f"/proc/self/fd/{reading}").readlink()
        await until(lambda: pipe in [fd.readlink() for fd in held.iterdir()])
        plain = await start(supervisor, "ls /proc/self/fd", tmp_path)
        confined = await start(supervisor, "ls /proc/self/fd", tmp_path, launch=Launch())
        for process in (plain, confined):
            # 3 is the folder that ls itself reads.
            assert (await output_of(process)).decode().split() == ["0", "1", "2", "3"]


async def test_signals_are_as_a_program_expects_them(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, "exec grep -E 'Sig(Blk|Ign)' /proc/self/status", tmp_path)
    values = [int(line.split()[1], 16) for line in (await output_of(process)).splitlines()]
    # 32 and 33 are the C library's own; no program can set them.
    assert [value & ~(0b11 << 31) for value in values] == [0, 0]


async def test_a_request_that_cannot_be_met_says_why(supervisor: Supervisor, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o755)
    for argv, cwd, said in [
        (["no-such-program"], tmp_path, "'no-such-program' was not found"),
        (["./no-such-program"], tmp_path, "was not found"),
        (["true"], tmp_path / "gone", "gone' cannot be used: No such file"),
        (["true"], tmp_path / "text", "text' cannot be used: Not a directory"),
        (["./text"], tmp_path, "cannot be run: Exec format error"),
        ([str(tmp_path)], tmp_path, "cannot be run: Permission denied"),
        (["true", "x" * 4_000_000], tmp_path, "too long"),
        (["true", "a\0b"], tmp_path, "null byte"),
        (["true", "\ud800"], tmp_path, "cannot be run"),
        ([], tmp_path, "empty"),
    ]:
        problem = await supervisor.spawn(argv, cwd=cwd, env=ENV)
        assert isinstance(problem, SpawnProblem), argv
        assert said in problem.message
    assert supervisor.running == ()


async def test_the_program_is_looked_for_in_the_given_path(supervisor: Supervisor, tmp_path: Path) -> None:
    program = tmp_path / "hello"
    program.write_text("#!/bin/sh\necho found")
    program.chmod(0o755)
    env = {"PATH": f"/no/such:{tmp_path}:/usr/bin:/bin"}
    process = await supervisor.spawn(["hello"], cwd=tmp_path, env=env)
    assert isinstance(process, Process)
    assert await output_of(process) == b"found\n"


async def test_kill_ends_what_obeys_at_once(supervisor: Supervisor, tmp_path: Path, marker: str) -> None:
    process = await start(supervisor, sleeper(marker), tmp_path)
    await until_there(marker)
    began = time.monotonic()
    await process.kill(grace_seconds=5)
    assert time.monotonic() - began < 1
    assert named(marker) == []
    assert await process.wait() == Exit(None, signal.SIGTERM)
    assert await process.read() == b""
    await process.kill()


async def test_kill_ends_what_ignores_term_after_the_grace(
    supervisor: Supervisor, tmp_path: Path, marker: str
) -> None:
    process = await start(supervisor, f"trap '' TERM; echo ready; {sleeper(marker)}; sleep 60", tmp_path)
    assert await process.read() == b"ready\n"
    began = time.monotonic()
    await process.kill()
    assert 0.19 < time.monotonic() - began < 1
    assert named(marker) == []
    assert await process.wait() == Exit(None, signal.SIGKILL)
    process.discard()


async def test_kill_ends_a_stopped_process_by_its_own_handler(supervisor: Supervisor, tmp_path: Path) -> None:
    command = "trap 'echo cleaned; exit 7' TERM; echo ready; kill -STOP $$; sleep 60 & wait"
    process = await start(supervisor, command, tmp_path)
    assert await process.read() == b"ready\n"
    await until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_STOPPED)
    await process.kill(grace_seconds=5)
    assert await output_of(process) == b"cleaned\n"
    assert await process.wait() == Exit(7, None)


async def test_kill_ends_what_keeps_forking(supervisor: Supervisor, tmp_path: Path, marker: str) -> None:
    command = f"trap '' TERM; while :; do (sleep 60; : {marker}) & sleep 0.002; done"
    process = await start(supervisor, command, tmp_path)
    await asyncio.sleep(0.2)
    await process.kill(grace_seconds=0)
    assert named(marker) == []
    process.discard()


async def test_what_is_left_in_the_background_ends_with_the_command(
    supervisor: Supervisor, tmp_path: Path, marker: str
) -> None:
    process = await start(supervisor, f"{sleeper(marker)} & echo done", tmp_path)
    began = time.monotonic()
    assert await output_of(process) == b"done\n"
    ended = await process.wait()
    assert time.monotonic() - began < 2
    assert (ended.code, ended.survived) == (0, 0)
    assert ended.left_behind >= 1
    assert named(marker) == []


async def test_output_ends_though_a_stranger_holds_the_pipe(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(
        supervisor, "echo ready; read; until [ -e go ]; do sleep 0.01; done; echo end", tmp_path
    )
    assert await process.read() == b"ready\n"
    stranger = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY)
    try:
        (tmp_path / "go").touch()
        assert await output_of(process) == b"end\n"
    finally:
        os.close(stranger)


async def test_reading_what_is_there_lets_others_run(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, "head -c 1000 /dev/zero", tmp_path)
    await process.wait()
    others = 0

    async def count() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    while await process.read(1):
        pass
    counting.cancel()
    assert others >= 1000


async def test_the_end_of_a_pipeline_is_not_cut_off(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, "echo late > >(sleep 0.01; cat)", tmp_path)
    assert await output_of(process) == b"late\n"
    assert await process.wait() == Exit(0, None, left_behind=0)


async def test_a_daemon_ends_with_its_command(supervisor: Supervisor, tmp_path: Path, marker: str) -> None:
    command = f"{daemon(marker, tmp_path / 'ready')}; until [ -e go ]; do sleep 0.01; done; echo end"
    process = await start(supervisor, command, tmp_path)
    await until((tmp_path / "ready").exists)
    [process_of_daemon] = sleepers(marker)
    assert process_of_daemon.parent() == psutil.Process(process.pid).parent()
    (tmp_path / "go").touch()
    ended = await process.wait()
    assert ended.left_behind >= 1
    assert named(marker) == []
    assert await output_of(process) == b"end\n"


async def test_a_daemon_ends_on_kill_but_not_that_of_another_command(
    supervisor: Supervisor, tmp_path: Path, marker: str
) -> None:
    mine, other = f"{marker}-mine", f"{marker}-other"
    process = await start(supervisor, f"{daemon(mine, tmp_path / 'mine')}; sleep 60", tmp_path)
    neighbour = await start(supervisor, f"{daemon(other, tmp_path / 'other')}; sleep 60", tmp_path)
    await until((tmp_path / "mine").exists)
    await until((tmp_path / "other").exists)
    await process.kill()
    assert named(mine) == []
    assert len(sleepers(other)) == 1
    process.discard()
    await neighbour.kill()
    assert named(other) == []
    neighbour.discard()


async def test_close_ends_everything_within_a_second(tmp_path: Path, marker: str) -> None:
    supervisor = Supervisor(SystemClock())
    stubborn = await start(
        supervisor,
        f"{daemon(marker, tmp_path / 'ready')}; trap '' TERM; {sleeper(marker)}; sleep 60",
        tmp_path,
    )
    await until((tmp_path / "ready").exists)
    await until_there(marker, 2)
    helper = helper_of()
    began = time.monotonic()
    await supervisor.close()
    assert time.monotonic() - began < 1
    assert named(marker) == []
    assert not helper.is_running()
    assert (await stubborn.wait()).lost
    assert await stubborn.read() == b""
    problem = await supervisor.spawn(["true"], cwd=tmp_path, env=ENV)
    assert isinstance(problem, SpawnProblem)
    assert "closing" in problem.message
    await supervisor.close()


SERVER = """
import asyncio, os, sys
from pathlib import Path
from outrider.ports.clock import SystemClock
from outrider.processes import Supervisor, shell_argv

async def main():
    supervisor = Supervisor(SystemClock())
    for command in sys.argv[1:]:
        await supervisor.spawn(shell_argv(command), cwd=Path("/"), env=dict(os.environ))
    print("ready", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


async def test_nothing_outlives_a_server_that_is_killed(tmp_path: Path, marker: str) -> None:
    commands = [
        sleeper(marker),
        f"{daemon(marker, tmp_path / 'ready')}; sleep 60",
        f"trap '' TERM; {sleeper(marker)}; sleep 60",
        f"kill -STOP $PPID; {sleeper(marker)}",  # what is to end it
    ]
    server = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, *commands, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    assert server.stdout is not None
    assert await server.stdout.readline() == b"ready\n"
    await until((tmp_path / "ready").exists)
    await until_there(marker, 4)
    helper = helper_of(server.pid)
    watchers = helper.children()
    assert len(watchers) == len(commands)
    server.kill()
    await server.wait()
    await until_gone(marker)
    _, alive = psutil.wait_procs([helper, *watchers], timeout=5)
    assert alive == []


async def test_a_killed_supervisor_loses_its_commands_and_is_replaced(
    supervisor: Supervisor, tmp_path: Path, marker: str
) -> None:
    process = await start(supervisor, f"echo ready; {daemon(marker, tmp_path / 'ready')}; sleep 60", tmp_path)
    assert await process.read() == b"ready\n"
    await until((tmp_path / "ready").exists)
    helper = helper_of()
    helper.kill()
    assert (await process.wait()).lost
    await until_gone(marker)
    assert await process.read() == b""
    again = await start(supervisor, "echo again", tmp_path)
    assert await output_of(again) == b"again\n"
    assert helper_of() != helper
    await again.wait()


async def test_a_killed_watcher_loses_only_its_command(
    supervisor: Supervisor, tmp_path: Path, marker: str
) -> None:
    process = await start(supervisor, f"{daemon(marker, tmp_path / 'ready')}; {sleeper(marker)}", tmp_path)
    neighbour = await start(supervisor, "sleep 0.5; echo fine", tmp_path)
    await until((tmp_path / "ready").exists)
    await until_there(marker, 2)
    watcher = psutil.Process(process.pid).parent()
    assert watcher is not None
    watcher.kill()
    assert (await process.wait()).lost
    await until_gone(marker)
    assert await output_of(neighbour) == b"fine\n"
    process.discard()


@pytest.mark.skipif(sys.platform != "linux", reason="it looks for the supervisor in /proc")
@pytest.mark.parametrize("also", ["", "$(cut -d' ' -f4 /proc/$PPID/stat) "])
async def test_a_command_that_stops_who_ends_it_is_ended(
    supervisor: Supervisor, tmp_path: Path, marker: str, also: str
) -> None:
    stopping = f"kill -STOP {also}$PPID; {sleeper(marker)}"
    process = await start(supervisor, f"{daemon(marker, tmp_path / 'ready')}; {stopping}", tmp_path)
    await until_there(marker, 2)
    await process.kill(0.1)
    assert not (await process.wait()).lost
    assert named(marker) == []
    again = await start(supervisor, "echo again", tmp_path)
    assert await output_of(again) == b"again\n"
    await again.wait()
    process.discard()


async def test_a_supervisor_that_is_stopped_ends_all_when_it_is_closed(tmp_path: Path, marker: str) -> None:
    closing = Supervisor(SystemClock())
    process = await start(closing, sleeper(marker), tmp_path)
    there, *_ = await until_there(marker)  # the shell, which for a moment has a copy of itself for `sleep`
    helper = helper_of()
    watchers = helper.children()
    assert watchers
    assert there.is_running()
    for one in watchers:
        one.suspend()
    helper.suspend()
    await closing.close()
    await until_gone(marker)
    await until(lambda: not helper.is_running() and not any(map(_is_watcher, watchers)))
    process.discard()


def _is_watcher(process: psutil.Process) -> bool:
    try:
        return process.is_running() and Path(supervisor_main.__file__).name in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="it looks for the supervisor in /proc")
async def test_what_a_command_started_ends_though_it_killed_both_who_would_end_it(
    supervisor: Supervisor, tmp_path: Path, marker: str
) -> None:
    process = await start(supervisor, f"{sleeper(marker)} & read; {sleeper(marker)}", tmp_path)
    await until_there(marker, 2)
    watcher = psutil.Process(process.pid).parent()
    assert watcher is not None
    helper = helper_of()
    watcher.suspend()
    helper.kill()
    watcher.kill()
    assert (await process.wait()).lost
    await until_gone(marker)
    process.discard()


async def test_a_polite_signal_does_not_end_the_supervisor(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, "kill -TERM $PPID; kill -HUP $PPID; read; echo on", tmp_path)
    helper_of().send_signal(signal.SIGTERM)
    assert await output_of(process) == b"on\n"
    assert await process.wait() == Exit(0, None)


async def test_cancelling_a_start_leaves_nothing(supervisor: Supervisor, tmp_path: Path, marker: str) -> None:
    first = await start(supervisor, "true", tmp_path)
    await first.wait()
    first.discard()
    for step in range(24):
        starting = asyncio.create_task(start(supervisor, sleeper(marker), tmp_path))
        for _ in range(step):
            await asyncio.sleep(0)
        await asyncio.sleep(max(0, step - 12) / 4000)
        starting.cancel()
        try:
            process = await starting
        except asyncio.CancelledError:
            assert supervisor.running == ()
        else:
            await process.kill()
            process.discard()
        assert named(marker) == []


async def test_commands_in_a_row_leak_nothing(supervisor: Supervisor, tmp_path: Path) -> None:
    async def once() -> None:
        process = await start(supervisor, "echo x", tmp_path)
        assert await output_of(process) == b"x\n"
        await process.wait()

    await once()
    ours, helper = psutil.Process(), helper_of()
    before = ours.num_fds(), helper.num_fds()
    for _ in range(40):
        await once()
    assert (ours.num_fds(), helper.num_fds()) == before
    _, alive = psutil.wait_procs(helper.children(recursive=True), timeout=5)
    assert alive == []
    assert [c for c in ours.children() if c.status() == psutil.STATUS_ZOMBIE] == []


async def test_without_subreapers_the_group_and_the_visible_tree_are_ended(
    supervisor: Supervisor, tmp_path: Path, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / Path(supervisor_main.__file__).name
    source = Path(supervisor_main.__file__).read_text()
    plain = source.replace('sys.platform != "linux"', "True").replace('"/proc/self/', '"/no/such/')
    assert plain.count("if True:") == plain.count("/no/such/") == 1
    program.write_text(plain)
    monkeypatch.setattr("outrider.processes.supervisor._PROGRAM", program)
    process = await start(supervisor, f"({sleeper(marker)} &); (setsid {sleeper(marker)}; true)", tmp_path)
    await until_there(marker, 2)
    await process.kill()
    assert named(marker) == []
    process.discard()
    process = await start(supervisor, f"{sleeper(marker)} & echo done", tmp_path)
    assert await output_of(process) == b"done\n"
    assert (await process.wait()).left_behind >= 1
    assert named(marker) == []


async def test_commands_run_side_by_side(supervisor: Supervisor, tmp_path: Path) -> None:
    async def one(number: int) -> bytes:
        return await output_of(await start(supervisor, f"sleep 0.2; echo {number}", tmp_path))

    began = time.monotonic()
    assert await asyncio.gather(*map(one, range(20))) == [b"%d\n" % number for number in range(20)]
    assert time.monotonic() - began < 2


async def test_the_tree_is_seen_by_ps_as_by_proc(supervisor: Supervisor, tmp_path: Path) -> None:
    process = await start(supervisor, "sleep 60 | (sleep 60; true)", tmp_path)
    tree = process.pid, process.pid
    await until(lambda: len(supervisor_main.descendants_from_proc(*tree)) == 3)
    expected = supervisor_main.descendants_from_proc(*tree)
    found = await asyncio.to_thread(supervisor_main.descendants_from_ps, *tree)
    assert sorted(found) == sorted(expected)
    await process.kill()
    process.discard()
