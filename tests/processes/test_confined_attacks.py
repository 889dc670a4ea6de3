"""Attacks by a confined command, each in both worlds: bubblewrap and Landlock. What one of them cannot hold is said, not skipped."""

import asyncio
import ctypes
import os
import shlex
import socket
import stat
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from outrider.permissions.policy.protected_files import meaning_in_commands
from outrider.ports.clock import SystemClock
from outrider.processes import CommandResult, Supervisor, run_command, shell_argv
from outrider.processes.sandbox import Confined, Sandbox, SandboxWish
from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.bubblewrap import MOST_MOUNTED_OVER, Bubblewrap
from outrider.processes.sandbox.confinement import MOST_HIDDEN, Confinement, NoConfinement, Place
from outrider.processes.sandbox.sandbox import BACKENDS
from outrider.processes.sandbox.sockets import listening
from outrider.workspace.watch.obeyed_files import ObeyedFiles
from sandboxes import in_both_worlds, needs_bubblewrap, needs_landlock

PATH = os.environ["PATH"]
PYTHON = "/usr/bin/python3"
KEY = "planted-key-in-the-environment-of-another-process"


class Machine:
    """A workspace, a home, another folder of the user's, and commands in a sandbox of some kind."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.folder = folder
        self.workspace, self.home, self.outside = (folder / name for name in ("workspace", "home", "outside"))
        for place in (self.workspace / ".git" / "hooks", self.home / ".ssh", self.outside):
            place.mkdir(parents=True)
        (self.workspace / ".git" / "config").write_text("[core]\n")
        (self.home / ".ssh" / "id").write_text("key")
        self.supervisor = supervisor
        self.sandbox = Sandbox(supervisor, SystemClock(), [])

    async def confine(self, command: str, world: str, *, network: bool = False) -> Confined:
        sight = ObeyedFiles(meaning_in_commands).look([self.workspace.resolve()])
        confined = await self.sandbox.confine(
            shell_argv(command),
            cwd=self.workspace.resolve(),
            env={"PATH": PATH, "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            folders=[self.workspace],
            wish=SandboxWish(network=network, backends=(world,)),
            protected=sight.protected,
            repositories=sight.repositories,
        )
        assert confined.confinement is not None, confined.told
        return confined

    async def run(self, command: str, world: str, *, network: bool = False) -> CommandResult:
        confined = await self.confine(command, world, network=network)
        confining = await confined.start()
        assert isinstance(confining, Confining), confining
        return await self.launched(confining, self.workspace, confined.env)

    async def launched(self, confining: Confining, cwd: Path, env: Mapping[str, str]) -> CommandResult:
        ran = await run_command(
            self.supervisor,
            confining.argv,
            cwd=cwd,
            env=env,
            clock=SystemClock(),
            total_seconds=60,
            idle_seconds=60,
            output_limit=10_000,
            launch=confining.launch,
        )
        assert isinstance(ran, CommandResult), ran
        return ran

    async def python(self, program: str, world: str, *, network: bool = False) -> str:
        """What a Python program prints that runs in the sandbox."""
        text = f"{PYTHON} -I -c {shlex.quote(program)}"
        return (await self.run(text, world, network=network)).output


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    supervisor = Supervisor(SystemClock())
    machine = Machine(tmp_path, supervisor)
    yield machine
    await machine.sandbox.close()
    await supervisor.close()


TRIES = """
import socket
def tried(label, do):
    try:
        do()
        print(label, "worked")
    except OSError as error:
        print(label, error.errno)
"""


@in_both_worlds
async def test_only_known_kinds_of_sockets_are_made(machine: Machine, world: str) -> None:
    said = await machine.python(
        f"{TRIES}"
        "tried('vsock', lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))\n"
        "tried('packet', lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))\n"
        "tried('alg', lambda: socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET))\n"
        "tried('bluetooth', lambda: socket.socket(31, socket.SOCK_STREAM))\n"
        "tried('pair', lambda: socket.socketpair())\n"
        "tried('routes', lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))\n",
        world,
    )
    assert said.split("\n")[:-1] == [
        *(f"{family} 97" for family in ("vsock", "packet", "alg", "bluetooth")),
        "pair worked",
        "routes worked",
    ]


@in_both_worlds
async def test_a_network_that_was_not_allowed_is_not_there(machine: Machine, world: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
    ):
        udp.bind(("127.0.0.1", 0))
        udp.setblocking(False)
        said = await machine.python(
            f"{TRIES}"
            f"tried('tcp', lambda: socket.create_connection(('127.0.0.1', {tcp.getsockname()[1]}), 5))\n"
            f"tried('multipath', lambda: socket.socket(2, 1, 262).connect(('127.0.0.1', {tcp.getsockname()[1]})))\n"
            f"tried('udp', lambda: socket.socket(2, 2).sendto(b'out', ('127.0.0.1', {udp.getsockname()[1]})))\n",
            world,
        )
        assert "tcp worked" not in said
        assert "multipath worked" not in said
        with pytest.raises(BlockingIOError):
            udp.recv(10)


@in_both_worlds
@pytest.mark.parametrize("place", ["outside", "workspace", "home"])
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
async def test_a_socket_that_a_program_outside_listens_at_is_not_reached(
    machine: Machine, world: str, place: str, kind: socket.SocketKind
) -> None:
    """For a read-only mount a connection is no write, and a path knows no network namespace."""
    path = {"outside": machine.outside, "workspace": machine.workspace, "home": machine.home}[
        place
    ] / "socket"
    with socket.socket(socket.AF_UNIX, kind) as service:
        service.bind(str(path))
        if kind == socket.SOCK_STREAM:
            service.listen()
        service.setblocking(False)
        reach = (
            f"tried('reached', lambda: socket.socket(socket.AF_UNIX, {int(kind)}).connect({str(path)!r}))\n"
            f"tried('pair', lambda: socket.socketpair(socket.AF_UNIX, {int(kind)})[0].sendto(b'x', {str(path)!r}))\n"
        )
        said = await machine.python(TRIES + reach, world)
        assert "reached worked" not in said
        with pytest.raises(BlockingIOError):
            service.accept() if kind == socket.SOCK_STREAM else service.recv(10)
    assert path.is_socket()


@in_both_worlds
async def test_an_abstract_socket_is_not_reached(machine: Machine, world: str) -> None:
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(f"\0outrider-{os.getpid()}-{world}")
        service.listen()
        name = service.getsockname()
        said = await machine.python(
            f"{TRIES}tried('abstract', lambda: socket.socket(socket.AF_UNIX).connect({name!r}))", world
        )
    assert said.startswith("abstract ")
    assert "worked" not in said


@in_both_worlds
async def test_no_file_gets_a_bit_that_makes_others_run_it_as_this_user(machine: Machine, world: str) -> None:
    (machine.workspace / "mine").write_text("x")
    said = await machine.python(
        f"{TRIES}import os, ctypes\n"
        "tried('chmod', lambda: os.chmod('mine', 0o4755))\n"
        "tried('group', lambda: os.chmod('mine', 0o2755))\n"
        "tried('fchmod', lambda: os.fchmod(os.open('mine', 0), 0o4755))\n"
        "tried('open', lambda: os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755))\n"
        "tried('unnamed', lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755))\n"
        "tried('mknod', lambda: os.mknod('node', 0o104755))\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.syscall(437, -100, b'how', (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24)\n"
        "print('how', ctypes.get_errno())\n"
        "tried('ordinary', lambda: os.chmod('mine', 0o755))\n",
        world,
    )
    refused = ("chmod", "group", "fchmod", "open", "unnamed", "mknod")
    assert said.split("\n")[:-1] == [*(f"{one} 1" for one in refused), "how 38", "ordinary worked"]
    assert all(
        not path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID)
        for path in machine.workspace.iterdir()
        if path.is_file()
    )


@in_both_worlds
async def test_ways_around_the_filter_are_closed(machine: Machine, world: str) -> None:
    """Rings of calls make sockets and open files; the keys of a log-in session belong to other programs."""
    said = await machine.python(
        "import ctypes, os, platform\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "intel = platform.machine() == 'x86_64'\n"
        "def call(label, *given):\n"
        "    ctypes.set_errno(0)\n"
        "    print(label, libc.syscall(*map(ctypes.c_long, given)), ctypes.get_errno())\n"
        "call('ring', 425, 4, 0)\n"
        "call('keys', 250 if intel else 219, 0, -3, 0)\n"
        "if intel: call('x32', 0x40000000 + 41, 40, 1, 0)\n"
        "else: print('x32 -1 38')\n"
        "print([line for line in open('/proc/self/status') if line.startswith(('Seccomp:', 'NoNewPrivs'))])\n",
        world,
    )
    assert said.split("\n")[:3] == ["ring -1 38", "keys -1 38", "x32 -1 38"]
    assert "Seccomp:\\t2" in said
    assert "NoNewPrivs:\\t1" in said


@in_both_worlds
async def test_a_program_of_32_bits_is_ended(machine: Machine, world: str) -> None:
    """It has other numbers for each call, so that a filter of ours would not know them."""
    if os.uname().machine != "x86_64":
        pytest.skip("only x86-64 runs calls of i386")
    said = await machine.run(
        f"""{PYTHON} -I -c '
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex("b814000000cd80c3"))  # mov eax, 20 (getpid); int 0x80; ret
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print("went", "on")
'; echo code $?""",
        world,
    )
    assert "went on" not in said.output
    assert said.output.endswith("code 159\n"), said.output  # SIGSYS


@in_both_worlds
async def test_nothing_is_written_outside_of_the_workspace(machine: Machine, world: str) -> None:
    kept = machine.outside / "kept.txt"
    kept.write_text("kept")
    (machine.workspace / "link").symlink_to(machine.outside)
    (machine.workspace / "mine").write_text("mine")
    for attack in (
        f"echo x > {machine.outside}/new",
        f"echo x > {kept}",
        f"echo x >> {kept}",
        f": > {kept}",
        f"truncate -s 0 {kept}",
        f"rm {kept}",
        f"mv {kept} moved",
        f"mv mine {machine.outside}/moved",
        f"ln {kept} hard && echo x > hard",
        f"ln -s {kept} soft && echo x > soft",
        "echo x > link/new",
        f"mkdir {machine.outside}/folder",
        f"mkfifo {machine.outside}/pipe",
        f"ln -s x {machine.outside}/pointing",
        f"dd if=/dev/zero of={kept} count=1",
        f"{PYTHON} -I -c 'import os; os.truncate({str(kept)!r}, 0)'",
        f"{PYTHON} -I -c 'import os; os.rename(\"mine\", {str(kept)!r})'",
        f"bash -c 'exec 3<>{kept}; echo x >&3'",
        "echo x > /etc/hostname",
    ):
        ran = await machine.run(attack, world)
        assert ran.exit is not None
        assert ran.exit.code != 0, (attack, ran.output)
    assert kept.read_text() == "kept"
    assert [path.name for path in machine.outside.iterdir()] == ["kept.txt"]


@in_both_worlds
async def test_what_is_hidden_is_not_read(machine: Machine, world: str) -> None:
    (machine.folder / "beside").write_text("unseen-words")  # the temporary folder of this test lies in /tmp
    (machine.workspace / "link").symlink_to(machine.home)
    said = await machine.run(
        f"cat {machine.home}/.ssh/id link/.ssh/id {machine.folder}/beside; ls -A {machine.home} /run /root",
        world,
    )
    assert "key" not in said.output
    assert "unseen-words" not in said.output


@in_both_worlds
async def test_other_processes_are_out_of_reach(machine: Machine, world: str) -> None:
    bystander = await asyncio.create_subprocess_exec("sleep", "600", env={"PLANTED": KEY})
    try:
        pid = bystander.pid
        said = await machine.run(
            f"kill -0 {pid} && echo SIGNALLED; kill {pid}; tr '\\0' '\\n' < /proc/{pid}/environ; "
            "cat /proc/[0-9]*/environ | tr '\\0' '\\n'; "
            f"{PYTHON} -I -c 'import ctypes; print(\"attached\", ctypes.CDLL(None).ptrace(16, {pid}, 0, 0))'; "
            f"ls /proc/{pid}/fd /proc/{pid}/root/ && echo ENTERED",
            world,
        )
        assert bystander.returncode is None
    finally:
        bystander.kill()
        await bystander.wait()
    assert KEY not in said.output
    assert "SIGNALLED" not in said.output
    assert "attached -1" in said.output
    assert "ENTERED" not in said.output


@in_both_worlds
async def test_another_terminal_of_the_user_is_out_of_reach(machine: Machine, world: str) -> None:
    ours, theirs = os.openpty()
    try:
        said = await machine.python(
            f"{TRIES}import os\n"
            f"tried('write', lambda: os.write(os.open({os.ttyname(theirs)!r}, os.O_RDWR | os.O_NOCTTY), b'typed'))\n"
            f"tried('read', lambda: os.open({os.ttyname(theirs)!r}, os.O_RDONLY | os.O_NOCTTY))\n",
            world,
        )
        os.set_blocking(ours, False)
        with pytest.raises(BlockingIOError):
            os.read(ours, 10)
    finally:
        os.close(ours)
        os.close(theirs)
    assert "worked" not in said
    assert len(said.splitlines()) == 2


@in_both_worlds
async def test_the_settings_of_the_kernel_are_not_written(machine: Machine, world: str) -> None:
    """Root may write them without any capability, and the kernel runs what `core_pattern` names outside of every sandbox."""
    said = await machine.python(
        f"{TRIES}import os\n"
        "for top in ('/proc/sys', '/proc/irq', '/proc/sysrq-trigger', '/proc/bus', '/proc/fs', '/proc/acpi'):\n"
        "    paths = [os.path.join(at, name) for at, _, names in os.walk(top) for name in names] or [top]\n"
        "    for path in paths[:3000]:\n"
        "        try: os.close(os.open(path, os.O_WRONLY))\n"
        "        except OSError: continue\n"
        "        print('OPENED', path)\n"
        "print('looked', os.path.exists('/proc/sys/kernel/core_pattern'))\n",
        world,
    )
    assert said == "looked True\n"


@in_both_worlds
async def test_memory_that_programs_share_is_out_of_reach(machine: Machine, world: str) -> None:
    """System V gives a program of the same user the memory of another by its number alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    memory = libc.shmget(0, 4096, 0o1600)
    assert memory >= 0
    try:
        there = libc.shmat(memory, None, 0)
        ctypes.memmove(there, KEY.encode(), len(KEY))
        said = await machine.python(
            "import ctypes\n"
            "libc = ctypes.CDLL(None, use_errno=True)\n"
            "libc.shmat.restype = ctypes.c_void_p\n"
            "print('asked')\n"
            f"for number in range({memory} + 1):\n"
            "    at = libc.shmat(number, None, 0o10000)\n"
            "    if at not in (None, ctypes.c_void_p(-1).value): print(ctypes.string_at(at, 100))\n"
            f"libc.shmctl({memory}, 0, None)\n",
            world,
        )
        assert libc.shmctl(memory, 2, ctypes.create_string_buffer(256)) == 0, "it is still there"
    finally:
        libc.shmctl(memory, 0, None)
    assert said == "asked\n"


@in_both_worlds
async def test_nothing_is_privileged(machine: Machine, world: str) -> None:
    said = await machine.run(
        "grep -E '^Cap(Eff|Prm|Bnd|Amb)' /proc/self/status; mount -t tmpfs none /mnt; unshare -r true && echo UNSHARED-ROOT; "
        "chown 1 . && echo CHOWNED; date -s 2000-01-01 && echo SET",
        world,
    )
    lines = [line for line in said.output.splitlines() if line.startswith("Cap")]
    # A user has no capability that would let it narrow what it could ever get, and gets none without that.
    held = lines if os.geteuid() == 0 else [line for line in lines if not line.startswith("CapBnd")]
    capabilities = {line.split()[1] for line in held}
    assert capabilities == {"0000000000000000"}
    assert "CHOWNED" not in said.output or os.geteuid() != 0
    assert "SET\n" not in said.output


@in_both_worlds
async def test_temporary_files_have_a_place(machine: Machine, world: str) -> None:
    said = await machine.run(
        "cat <<X\nhere\nX\nfile=$(mktemp) && echo y > $file && cat $file; echo x > /dev/null", world
    )
    assert said.output == "here\ny\n"


@in_both_worlds
async def test_with_the_network_it_reaches_this_machine(machine: Machine, world: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp:
        said = await machine.python(
            f"{TRIES}tried('tcp', lambda: socket.create_connection(('127.0.0.1', {tcp.getsockname()[1]}), 5))",
            world,
            network=True,
        )
    assert said == "tcp worked\n"


@needs_bubblewrap
@pytest.mark.parametrize(
    "attack",
    [
        "echo x > .vscode/settings.json",
        "rm .vscode/settings.json",
        "rm -r .vscode",
        "echo x > AGENTS.md",
        "mv AGENTS.md other; echo x > AGENTS.md",
        "echo x > .cargo/config.toml",
        "echo x >> pkg/.git/config",
        "mv pkg pkg.old",
        "mv below below.old",
        "rm -rf pkg; mkdir pkg",
    ],
)
async def test_what_others_obey_stays_as_it_is_where_it_exists(machine: Machine, attack: str) -> None:
    there = (
        ".vscode/settings.json",
        "AGENTS.md",
        ".cargo/config.toml",
        "pkg/.git/config",
        "below/one/.git/config",
    )
    for name in there:
        path = machine.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("as it was\n")
    await machine.run(attack, "bubblewrap")
    assert [(machine.workspace / name).read_text() for name in there] == ["as it was\n"] * len(there)


@needs_bubblewrap
async def test_what_programs_write_every_day_can_be_written(machine: Machine) -> None:
    for name in (
        "package.json",
        "conftest.py",
        "package-lock.json",
        ".venv/bin/tool",
        "node_modules/x/index.js",
    ):
        path = machine.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("old")
        ran = await machine.run(f"echo new > {name}", "bubblewrap")
        assert ran.exit is not None
        assert ran.exit.code == 0, ran.output


@needs_landlock
async def test_a_backend_says_what_it_cannot_hold(machine: Machine) -> None:
    confined = await machine.confine("true", "landlock")
    assert confined.backend == "Landlock"
    assert confined.told.startswith(
        "Sandboxed by Landlock: it can write only in the workspace, and runs without network. Limits of this sandbox: "
    )
    assert "`.git` and other protected files" in confined.unenforced[0]
    # It is not only said.
    ran = await machine.run("echo x >> .git/config", "landlock")
    assert ran.exit is not None
    assert ran.exit.code == 0


@needs_landlock
async def test_landlock_stands_in_where_bubblewrap_does_not_start(machine: Machine, tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    (broken / "bwrap").chmod(0o755)
    confined = await machine.sandbox.confine(
        shell_argv("true"),
        cwd=machine.workspace,
        env={"PATH": f"{broken}:{PATH}", "HOME": str(machine.home)},
        folders=[machine.workspace],
        wish=SandboxWish("required"),
    )
    assert (confined.backend, confined.refused) == ("Landlock", False)


@in_both_worlds
async def test_a_command_that_only_reads_writes_nothing_and_sees_nothing_hidden(
    machine: Machine, world: str
) -> None:
    workspace = machine.workspace.resolve()
    for name in ("a.py", "secret.env", "ignored/deep/key", "sub/b.py", "sub/secret.pem"):
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(f"words of {name}\n")
    confined = await machine.confine("true", world, network=True)
    assert confined.confinement is not None
    files = [
        str(workspace / "secret.env"),
        str(workspace / "sub" / "secret.pem"),
        str(workspace / "ignored/deep/key"),
    ]
    reading = confined.confinement.reading(files, [str(workspace / "ignored")])
    assert isinstance(reading, Confinement)
    assert reading.network == "none"
    backend = next(one for one in BACKENDS["linux"] if one.name.lower() == world)
    program = "cat a.py sub/b.py secret.env sub/secret.pem ignored/deep/key; ls sub; echo x > made; echo x >> a.py; rm sub/b.py; mkdir d; echo y > $TMPDIR/t && cat $TMPDIR/t"
    confining = backend.confine(reading, backend.program or "", str(workspace), shell_argv(program))
    ran = await machine.launched(confining, workspace, confined.env)
    assert [line for line in ran.output.splitlines() if line.startswith("words of")] == [
        "words of a.py",
        "words of sub/b.py",
    ]
    assert ran.output.endswith("y\n"), "it has a place for temporary files"
    assert (workspace / "a.py").read_text() == "words of a.py\n"
    assert (workspace / "sub" / "b.py").exists()
    assert not {path.name for path in workspace.iterdir()} & {"made", "d"}


def test_bubblewrap_leaves_to_others_what_it_takes_long_to_start_with() -> None:
    held = Confinement((Place("/usr/project", "writable"),), "open", "/home/ada")
    keys = tuple(Place(f"/usr/project/{number}.pem", "masked") for number in range(MOST_MOUNTED_OVER + 1))
    assert Bubblewrap().problem(replace(held, places=(*held.places, *keys[1:]))) is None
    assert "would take too long" in (Bubblewrap().problem(replace(held, places=(*held.places, *keys))) or "")


def test_too_much_to_hide_is_no_confinement() -> None:
    held = Confinement(
        (Place("/usr/project", "writable"), Place("/usr/project/.git", "protected")), "open", "/home/ada"
    )
    few = held.reading([f"/usr/project/{number}.pem" for number in range(MOST_HIDDEN + 1)], [])
    assert isinstance(few, NoConfinement)
    covered = held.reading(
        [f"/usr/project/keys/{number}.pem" for number in range(MOST_HIDDEN + 1)], ["/usr/project/keys"]
    )
    assert isinstance(covered, Confinement)
    assert [place for place in covered.places if place.path.startswith("/usr/project")] == [
        Place("/usr/project/keys", "sealed"),
    ]
    assert covered.is_reading and not held.is_reading


async def test_the_listing_of_sockets_is_read(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as here, socket.socket(socket.AF_UNIX) as there:
        here.bind(str(tmp_path / "with space"))
        there.bind(str(tmp_path / "relative"))
        listing = "\n".join(
            [
                "Num       RefCount Protocol Flags    Type St Inode Path",
                f"0000000000000000: 00000002 00000000 00010000 0001 01 21 {tmp_path}/with space",
                "0000000000000000: 00000002 00000000 00010000 0001 01 22 relative",
                "0000000000000000: 00000002 00000000 00010000 0001 01 23 @abstract",
                "0000000000000000: 00000002 00000000 00010000 0001 01 24",
                f"0000000000000000: 00000003 00000000 00000000 0001 03 25 {tmp_path}/connected",
                f"0000000000000000: 00000002 00000000 00010000 0001 01 26 {tmp_path}/gone",
                "the rest of a name with a line end in it, and more words than",
                "",
            ]
        )
        found = listening([tmp_path], listing)
    assert found == [str(tmp_path / "relative"), str(tmp_path / "with space")]


def test_only_what_a_command_could_see_is_masked() -> None:
    places = (Place("/run", "hidden"), Place("/home", "hidden"), Place("/home/ada/work", "writable"))
    held = Confinement(places, "none", "/home/ada").masking(
        ["/run/x.sock", "/home/ada/work/a.sock", "/opt/b.sock", "/home/c"]
    )
    assert held.places[len(places) :] == (
        Place("/home/ada/work/a.sock", "masked"),
        Place("/opt/b.sock", "masked"),
    )


@in_both_worlds
async def test_a_socket_that_appears_while_a_command_runs_is_reached_by_no_later_one(
    machine: Machine, world: str
) -> None:
    """With bubblewrap the running one can reach it (documented): its mounts were made before. Landlock lets none make a connection."""
    path = machine.outside / "late"
    reach = f"tried('reached', lambda: socket.socket(socket.AF_UNIX).connect({str(path)!r}))\n"
    waits = "import os, time\nopen('ready', 'w').close()\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
    running = asyncio.create_task(machine.python(TRIES + waits + reach, world))
    async with asyncio.timeout(20):
        while not (machine.workspace / "ready").exists():  # noqa: ASYNC110 - the command says it by a file
            await asyncio.sleep(0.01)
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(path))
        service.listen()
        (machine.workspace / "go").touch()
        said = await running
        assert world == "bubblewrap" or "reached worked" not in said
        assert "reached worked" not in await machine.python(TRIES + reach, world)


LIMITS = """
import resource
victim = {victim}
def tried(label, do):
    try:
        do()
        print(label, "worked")
    except (OSError, ValueError) as error:
        print(label, "refused")
tried("other", lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (16, 16)))
tried("own", lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
print("open files", resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 16)
"""


@in_both_worlds
@pytest.mark.parametrize("network", [False, True])
async def test_no_limit_is_set_for_a_process_outside(machine: Machine, world: str, network: bool) -> None:
    """A limit of one second of the processor ends the editor or the server, one of no bytes has it save nothing."""
    sleeping = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        before = Path(f"/proc/{sleeping.pid}/limits").read_text()
        said = await machine.python(LIMITS.format(victim=sleeping.pid), world, network=network)
        assert said.split("\n")[:3] == ["other refused", "own worked", "open files True"]
        assert Path(f"/proc/{sleeping.pid}/limits").read_text() == before
    finally:
        sleeping.kill()
        await sleeping.wait()
