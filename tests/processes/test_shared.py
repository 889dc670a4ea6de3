"""What the commands of one session share, and that it is no way out: in both worlds, by real servers, sockets and folders."""

import asyncio
import os
import signal
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from outrider.ports.clock import SystemClock
from outrider.processes import (
    CommandResult,
    Exit,
    SpawnProblem,
    Supervisor,
    commands,
    run_command,
    shell_argv,
)
from outrider.processes.launcher import Launch
from outrider.processes.sandbox import Confined, Hidden, Sandbox, SandboxWish, Shared, section, shared
from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.bubblewrap import Bubblewrap
from sandboxes import in_both_worlds, needs_bubblewrap

PYTHON = "/usr/bin/python3"
PATH = os.environ["PATH"]
ANSWERS = """
import http.server
http.server.test(http.server.SimpleHTTPRequestHandler, http.server.ThreadingHTTPServer, port={port}, bind="127.0.0.1")
"""
CONNECTS = """
import socket, sys
try:
    one = socket.socket({family})
    one.settimeout(3)
    one.connect({address!r})
    print("reached")
except OSError as error:
    print("no way:", error)
"""


class Sessions:
    """A workspace, and the commands of several sessions in it."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.workspace, self.home, self.state = (folder / name for name in ("workspace", "home", "state"))
        for place in (self.workspace / ".git", self.home, self.state):
            place.mkdir(parents=True)
        self.supervisor = supervisor
        self.sandbox = Sandbox(supervisor, SystemClock(), [self.state])
        self.shared: dict[str, Shared] = {}

    def of(self, session: str) -> Shared:
        if session not in self.shared:
            self.shared[session] = Shared(self.supervisor, self.state / "tmp" / session)
        return self.shared[session]

    async def confine(self, command: str, world: str, session: str = "one", **wish: object) -> Confined:
        confined = await self.sandbox.confine(
            shell_argv(command),
            cwd=self.workspace.resolve(),
            env={"PATH": PATH, "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            folders=[self.workspace],
            wish=SandboxWish(backends=(world,), **wish),  # type: ignore[arg-type]
            shared=self.of(session),
        )
        assert confined.confinement is not None, confined.told
        return confined

    async def begin(self, confined: Confined) -> CommandResult | SpawnProblem:
        confining = await confined.start()
        assert isinstance(confining, Confining), confining
        return await self.launched(confining, confined.env)

    async def launched(self, confining: Confining, env: object) -> CommandResult | SpawnProblem:
        return await run_command(
            self.supervisor,
            confining.argv,
            cwd=self.workspace,
            env=env,  # type: ignore[arg-type]
            clock=SystemClock(),
            total_seconds=30,
            idle_seconds=30,
            output_limit=10_000,
            launch=confining.launch,
            is_full=confining.is_full,
        )

    async def ran(self, command: str, world: str, session: str = "one", **wish: object) -> CommandResult:
        ran = await self.begin(await self.confine(command, world, session, **wish))
        assert isinstance(ran, CommandResult), ran
        return ran

    async def run(self, command: str, world: str, session: str = "one", **wish: object) -> str:
        return (await self.ran(command, world, session, **wish)).output

    async def python(self, program: str, world: str, session: str = "one") -> str:
        (self.workspace / "program.py").write_text(program)
        return await self.run(f"{PYTHON} program.py", world, session)

    async def until(self, probe: str, world: str, session: str = "one") -> None:
        async with asyncio.timeout(20):
            while "reached" not in await self.python(probe, world, session):
                pass

    async def close(self) -> None:
        for one in self.shared.values():
            await one.close()
        await self.sandbox.close()
        await self.supervisor.close()


@pytest.fixture
async def sessions(tmp_path: Path) -> AsyncIterator[Sessions]:
    made = Sessions(tmp_path, Supervisor(SystemClock()))
    yield made
    await made.close()


def to_port(port: int) -> str:
    return CONNECTS.format(family="socket.AF_INET", address=("127.0.0.1", port))


@in_both_worlds
async def test_the_next_command_reaches_a_server_of_its_session_and_no_other_session_does(
    sessions: Sessions, world: str
) -> None:
    (sessions.workspace / "server.py").write_text(ANSWERS.format(port=8123))
    confined = await sessions.confine(f"exec {PYTHON} server.py", world)
    serving = asyncio.create_task(sessions.begin(confined))
    try:
        await sessions.until(to_port(8123), world)
        assert "no way" in await sessions.python(to_port(8123), world, "another")
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", 8123)) != 0
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    assert "no way" in await sessions.python(to_port(8123), world)


@in_both_worlds
async def test_the_shared_network_has_no_way_out(sessions: Sessions, world: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(f"\0outrider-{os.getpid()}")
        abstract.listen()
        assert "no way" in await sessions.python(to_port(server.getsockname()[1]), world)
        to_name = CONNECTS.format(family="socket.AF_UNIX", address=f"\0outrider-{os.getpid()}")
        assert "no way" in await sessions.python(to_name, world)
    for address in (("192.0.2.1", 80), ("10.0.0.1", 53), ("169.254.169.254", 80)):
        assert "no way" in await sessions.python(
            CONNECTS.format(family="socket.AF_INET", address=address), world
        )
    # Neither a route nor a capability to make one, and no way back to the namespaces of others.
    told = await sessions.run(
        "tail -n +2 /proc/net/route; grep CapEff /proc/self/status; ls /proc/self/fd", world
    )
    assert told.split() == ["CapEff:", "0000000000000000", "0", "1", "2", "3"]
    assert "up" not in await sessions.run("ip link add d0 type dummy 2>/dev/null && echo up", world)


@in_both_worlds
async def test_the_shared_tmp_is_private_and_reaches_no_socket_of_others(
    sessions: Sessions, world: str, tmp_path: Path
) -> None:
    assert await sessions.run("echo kept > $TMPDIR/note", world) == ""
    assert await sessions.run("cat $TMPDIR/note", world) == "kept\n"
    assert "kept" not in await sessions.run("cat $TMPDIR/note", world, "another")
    (folder,) = (sessions.state / "tmp" / "one").iterdir()
    assert (folder / "note").read_text() == "kept\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent, folder.parent.parent)] == [
        0o700
    ] * 3
    with socket.socket(socket.AF_UNIX) as daemon:
        path = f"/tmp/outrider-{os.getpid()}.sock"
        daemon.bind(path)
        try:
            daemon.listen()
            probe = CONNECTS.format(family="socket.AF_UNIX", address=path)
            assert "no way" in await sessions.python(probe, world)
        finally:
            Path(path).unlink()
    assert not (tmp_path / "state" / "tmp" / "note").exists()


@needs_bubblewrap
async def test_nothing_in_tmp_can_be_put_in_the_place_of_what_is_mounted_there(sessions: Sessions) -> None:
    top = sessions.workspace.resolve().parts[2]
    for attack in (f"mv /tmp/{top} /tmp/x", f"rm -rf /tmp/{top}", f"ln -sfn /etc /tmp/{top}"):
        await sessions.run(f"{attack}; echo x > .git/config", "bubblewrap")
        assert await sessions.run("pwd; ls -d .git", "bubblewrap") == f"{sessions.workspace}\n.git\n"
        assert list((sessions.workspace / ".git").iterdir()) == []
    # Where another place is mounted, it is another folder: what waits in this one is not met.
    assert await sessions.run("ln -s /etc /tmp/later; echo x > /tmp/y", "bubblewrap") == ""
    first = await sessions.of("one").tmp(["a"])
    assert first is not None
    assert list(first.iterdir()) == []


@in_both_worlds
async def test_a_command_that_only_reads_can_read_the_tmp_and_has_no_network(
    sessions: Sessions, world: str
) -> None:
    await sessions.run("echo kept > $TMPDIR/note; mkdir $TMPDIR/folder", world)
    writes = "echo x > $TMPDIR/note; echo x > $TMPDIR/new; rm $TMPDIR/note; mv $TMPDIR/folder $TMPDIR/other; touch $TMPDIR/folder/x"
    sorts = "seq 100000 | sort -S 50K -T $(mktemp -d -p ${TMP:-/var/tmp}) | tail -1"
    reading = await sessions.sandbox.confine_reading(
        shell_argv(
            f"cat $TMPDIR/note; {writes}; {sorts}; echo x > a; tail -n +2 /proc/net/route; cat $TMPDIR/note"
        ),
        cwd=sessions.workspace.resolve(),
        env={"PATH": PATH, "HOME": str(sessions.home), "LC_ALL": "C"},
        folders=[sessions.workspace],
        wish=SandboxWish(backends=(world,)),
        hidden=Hidden((), ()),
        shared=sessions.of("one"),
    )
    assert reading is not None
    assert reading.confinement is not None
    assert reading.confinement.network == "none"
    ran = await sessions.begin(reading)
    assert isinstance(ran, CommandResult)
    lines = ran.output.splitlines()
    assert (lines[0], lines[-1]) == ("kept", "kept")
    assert "99999" in lines
    (folder,) = (sessions.state / "tmp" / "one").iterdir()
    assert sorted(path.name for path in folder.iterdir() if not path.name.startswith("pytest")) == [
        "folder",
        "note",
    ]
    assert not (sessions.workspace / "a").exists()


@in_both_worlds
async def test_where_no_network_can_be_made_each_command_is_alone_and_it_is_said(
    sessions: Sessions, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def forbidden(_: Supervisor) -> SpawnProblem:
        return SpawnProblem("the system forbids it")

    monkeypatch.setattr(Supervisor, "network", forbidden)
    confined = await sessions.confine("true", world)
    assert confined.confinement is not None
    assert confined.confinement.network == "none"
    assert "none reaches a server that another one started" in section(confined.facts)
    assert await sessions.run("echo kept > $TMPDIR/note", world) == ""
    assert await sessions.run("cat $TMPDIR/note", world) == "kept\n"


@in_both_worlds
async def test_a_command_that_cannot_join_does_not_run(sessions: Sessions, world: str) -> None:
    confined = await sessions.confine("echo ran", world)
    confining = await confined.start()
    assert isinstance(confining, Confining)
    assert confining.launch is not None
    unjoined = Confining(confining.argv, confining.launch._replace(network=()))
    came = await sessions.launched(unjoined, confined.env)
    assert isinstance(came, SpawnProblem), came
    await sessions.of("one").close()
    came = await sessions.launched(confining, confined.env)
    assert isinstance(came, SpawnProblem), came
    assert "the network of the session is closed" in came.message


def test_a_sandbox_that_joins_says_so_to_the_launcher() -> None:
    """Without a network of its own bubblewrap keeps that of its caller, so it must never start from another one."""
    from dataclasses import replace

    from outrider.processes.sandbox.confinement import Confinement

    alone = Confinement((), "none", "/home/me")
    backend = Bubblewrap()
    has_none = backend.confine(alone, "bwrap", "/", ["true"])
    assert has_none.launch is not None
    assert b"--unshare-net" in has_none.launch.handed[0].split(b"\0")
    joins = backend.confine(replace(alone, network="session"), "bwrap", "/", ["true"])
    assert joins.launch is not None
    assert b"--unshare-net" not in joins.launch.handed[0].split(b"\0")
    assert joins.launch.network == ()
    assert Launch().network is None


async def test_the_folder_goes_with_the_session_whatever_a_command_did_to_it(sessions: Sessions) -> None:
    shared = sessions.of("one")
    folder = await shared.tmp([])
    assert folder is not None
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_text("x")
    outside = sessions.workspace / "mine"
    outside.write_text("mine")
    (folder / "link").symlink_to(sessions.workspace)
    (folder / "deep").chmod(0)
    await shared.close()
    assert list((sessions.state / "tmp").iterdir()) == []
    assert outside.read_text() == "mine"


async def test_what_a_killed_server_left_is_removed_by_the_next_one(sessions: Sessions) -> None:
    kept = await sessions.of("lives").tmp([])
    program = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom outrider.ports.clock import SystemClock\n"
        "from outrider.processes import Supervisor\nfrom outrider.processes.sandbox import Shared\n"
        "async def main():\n"
        "    supervisor = Supervisor(SystemClock())\n"
        "    shared = Shared(supervisor, Path(sys.argv[1]))\n"
        "    print(await shared.tmp([]), type(await shared.network()).__name__, flush=True)\n"
        "    await asyncio.sleep(1000)\n"
        "asyncio.run(main())\n"
    )
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, str(sessions.state / "tmp" / "dead"), stdout=asyncio.subprocess.PIPE
    )
    assert other.stdout is not None
    left = Path((await other.stdout.readline()).decode().split()[0])
    (left / "note").write_text("x")
    assert await Shared(sessions.supervisor, sessions.state / "tmp" / "dead").tmp([]) is None
    os.kill(other.pid, signal.SIGKILL)
    await other.wait()
    new = Shared(sessions.supervisor, sessions.state / "tmp" / "new")
    assert await new.tmp([]) is not None
    assert not left.exists()
    assert kept is not None
    assert kept.exists()
    await new.close()


@in_both_worlds
async def test_the_facts_are_those_of_the_sandbox(sessions: Sessions, world: str) -> None:
    facts = (await sessions.confine("true", world)).facts
    assert facts.writable == (str(sessions.workspace.resolve()),)
    assert (facts.network, facts.home_is_hidden) == ("loopback", True)
    assert facts.git_is_read_only is (world == "bubblewrap")
    told = section(facts)
    assert "127.0.0.1, which the commands and jobs of this session share" in told
    assert ("`.git` is read-only" in told) is (world == "bubblewrap")
    assert (await sessions.confine("true", world, network=True)).facts.network == "full"


@in_both_worlds
async def test_a_command_that_fills_the_temporary_files_is_ended_and_one_that_removes_them_is_not(
    sessions: Sessions, world: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "MOST_BYTES", 2_000_000)
    monkeypatch.setattr(commands, "_FULL_SECONDS", 0.5)
    small = await sessions.ran("head -c 1000000 /dev/zero > $TMPDIR/small; sleep 1.2", world)
    assert (small.status, small.exit) == ("exited", Exit(0, None))
    full = await sessions.ran("head -c 3000000 /dev/zero > $TMPDIR/big; sleep 1000", world)
    assert full.status == "killed_full"
    tidied = await sessions.ran(
        "for n in $(seq 100); do truncate -s -10000 $TMPDIR/big; sleep 0.02; done; rm $TMPDIR/big $TMPDIR/small",
        world,
    )
    assert (tidied.status, tidied.exit) == ("exited", Exit(0, None))
