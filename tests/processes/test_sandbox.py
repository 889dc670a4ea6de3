"""What confines a command, in both worlds: a real bubblewrap and the kernel's Landlock; what macOS would be told, as text."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from outrider.permissions.policy.protected_files import meaning_in_commands
from outrider.ports.clock import SystemClock
from outrider.processes import CommandResult, Supervisor, run_command, shell_argv
from outrider.processes.sandbox import (
    Confined,
    Confinement,
    Place,
    Sandbox,
    SandboxWish,
    confinement_of,
    seatbelt,
    sign_of_sandbox,
)
from outrider.processes.sandbox.backend import Confining
from outrider.processes.sandbox.confinement import NoConfinement
from outrider.processes.sandbox.seatbelt import Seatbelt
from outrider.workspace.watch.obeyed_files import ObeyedFiles
from sandboxes import needs_bubblewrap

PATH = os.environ["PATH"]


class House:
    """A workspace, a home and a place of the server's own, and commands between them."""

    def __init__(self, folder: Path, supervisor: Supervisor) -> None:
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.own = folder / "own"
        for place in (self.workspace / ".git", self.workspace / ".outrider", self.home / ".ssh", self.own):
            place.mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text("key")
        (self.own / "rules.toml").write_text("")
        (self.workspace / ".git" / "config").write_text("")
        self.supervisor = supervisor
        self.sandbox = Sandbox(supervisor, SystemClock(), [self.own])

    async def confine(
        self, command: str, wish: SandboxWish | None = None, path: str = PATH, cwd: Path | None = None
    ) -> Confined:
        return await self.sandbox.confine(
            shell_argv(command),
            cwd=(cwd or self.workspace).resolve(),
            env={"PATH": path, "HOME": str(self.home), "LC_ALL": "C.UTF-8"},
            folders=[self.workspace],
            wish=wish or SandboxWish(),
            protected=(sight := ObeyedFiles(meaning_in_commands).look([self.workspace.resolve()])).protected,
            repositories=sight.repositories,
        )

    async def run(
        self, command: str, wish: SandboxWish | None = None, path: str = PATH, cwd: Path | None = None
    ) -> CommandResult:
        confined = await self.confine(command, wish, path, cwd)
        assert confined.confinement is not None, confined.told
        confining = await confined.start()
        assert isinstance(confining, Confining), confining
        result = await run_command(
            self.supervisor,
            confining.argv,
            launch=confining.launch,
            cwd=cwd or self.workspace,
            env=confined.env,
            clock=SystemClock(),
            total_seconds=30,
            idle_seconds=30,
            output_limit=10_000,
        )
        assert isinstance(result, CommandResult)
        return result

    async def code(self, command: str, wish: SandboxWish | None = None) -> int | None:
        result = await self.run(command, wish)
        assert result.exit is not None
        return result.exit.code


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    supervisor = Supervisor(SystemClock())
    house = House(tmp_path, supervisor)
    yield house
    await house.sandbox.close()
    await supervisor.close()


@needs_bubblewrap
async def test_the_workspace_can_be_written_and_nothing_else(house: House, tmp_path: Path) -> None:
    assert await house.code("echo x > a && mkdir -p b/c && echo y > b/c/d && rm a") == 0
    assert (house.workspace / "b" / "c" / "d").read_text() == "y\n"
    for place in ("/etc/x", "/usr/x", "/x", "/var/x", str(tmp_path / "x"), str(house.home / "x")):
        await house.run(f"echo x > {place}")
        assert not Path(place).exists()
    assert (await house.run("echo x > /etc/x")).output.endswith("Read-only file system\n")


@needs_bubblewrap
async def test_what_is_put_beside_the_workspace_fails_instead_of_being_lost(house: House) -> None:
    assert await house.code("echo x > ../beside") != 0
    house.workspace = house.home / "projects" / "mine"
    house.workspace.mkdir(parents=True)
    assert (await house.run("echo x > ../beside")).output.endswith("Read-only file system\n")
    assert await house.code("echo x > a; echo x > ~/.cache") == 0


@needs_bubblewrap
async def test_what_decides_about_the_next_commands_stays_as_it_is(house: House) -> None:
    for attack in (
        "echo x > .git/config",
        "echo x > .git/hooks",
        "rm -r .git",
        "mv .git elsewhere",
        "ln -sfn /tmp .git",
        "echo x > .outrider/rules.toml",
        "mv .outrider elsewhere",
        "mount -o remount,rw .git",
        "umount .git",
    ):
        assert await house.code(attack) != 0, attack
    assert (house.workspace / ".git" / "config").read_text() == ""
    assert sorted(path.name for path in house.workspace.iterdir()) == [".git", ".outrider"]


@needs_bubblewrap
async def test_a_repository_within_the_workspace_keeps_its_hooks(house: House) -> None:
    """Its user commits in it outside of the sandbox, and git would run them."""
    for place in ("lib", "packages/one"):
        (house.workspace / place / ".git" / "hooks").mkdir(parents=True)
        ran = await house.run(
            f"echo x > {place}/.git/hooks/pre-commit; echo y > {place}/y; rm -r {place}/.git"
        )
        assert "Read-only" in ran.output
        assert (house.workspace / place / "y").read_text() == "y\n"
        assert list((house.workspace / place / ".git").rglob("*")) == [
            house.workspace / place / ".git" / "hooks"
        ]


@needs_bubblewrap
async def test_the_home_and_the_servers_own_are_not_there(house: House) -> None:
    result = await house.run(f"cat ~/.ssh/id; ls -A ~; ls {house.own}")
    assert "key" not in result.output
    assert "rules.toml" not in result.output
    assert "x" in (await house.run("echo x > ~/cache && cat ~/cache")).output
    assert not (house.home / "cache").exists()


@needs_bubblewrap
async def test_the_servers_own_are_not_there_though_they_lie_in_the_workspace(
    house: House, tmp_path: Path
) -> None:
    sandbox = Sandbox(house.sandbox.supervisor, SystemClock(), [house.own])
    confined = await sandbox.confine(
        shell_argv("ls -A own; echo x > own/rules.toml"),
        cwd=tmp_path,
        env={"PATH": PATH, "HOME": str(house.home)},
        folders=[tmp_path],
        wish=SandboxWish(readable=(str(house.own),)),
    )
    confining = await confined.start()
    assert isinstance(confining, Confining)
    ran = await run_command(
        house.sandbox.supervisor,
        confining.argv,
        launch=confining.launch,
        cwd=tmp_path,
        env=confined.env,
        clock=SystemClock(),
        total_seconds=30,
        idle_seconds=30,
        output_limit=1000,
    )
    assert isinstance(ran, CommandResult)
    assert ran.output == ""
    assert (house.own / "rules.toml").read_text() == ""


@needs_bubblewrap
async def test_what_the_person_lists_is_there(house: House) -> None:
    (house.home / "notes").mkdir()
    (house.home / "notes" / "a").write_text("listed")
    (house.home / "out").mkdir()
    wish = SandboxWish(readable=("~/notes",), writable=(str(house.home / "out"),))
    assert (await house.run("cat ~/notes/a", wish)).output == "listed"
    assert await house.code("echo x > ~/notes/a", wish) != 0
    assert await house.code("echo x > ~/out/made", wish) == 0
    assert (house.home / "out" / "made").exists()


@needs_bubblewrap
async def test_programs_of_the_search_path_are_found_in_a_hidden_place(house: House) -> None:
    tools = house.home / "tools"
    tools.mkdir()
    (tools / "hello").write_text("#!/bin/sh\necho hello\n")
    (tools / "hello").chmod(0o755)
    environment = house.home / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text("whole")
    path = f"{tools}:{environment}/bin:{house.home}:{PATH}"
    result = await house.run("hello; cat ~/environment/pyvenv.cfg; ls -A ~", path=path)
    assert result.output.startswith("hello\nwhole")
    assert ".ssh" not in result.output


@needs_bubblewrap
async def test_the_network_is_off_unless_it_is_allowed(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        reach = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        assert await house.code(reach) != 0
        assert await house.code(reach, SandboxWish(network=True)) == 0


@needs_bubblewrap
async def test_sockets_of_services_are_out_of_reach(house: House, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(tmp_path / "service"))
        service.listen()
        program = f"import socket; socket.socket(socket.AF_UNIX).connect({str(tmp_path / 'service')!r})"
        result = await house.run(f'python3 -c "{program}"')
    assert result.exit is not None
    assert result.exit.code != 0
    assert (await house.run("ls -A /run")).output.split() in ([], ["systemd"])


@needs_bubblewrap
async def test_no_process_of_the_system_is_seen(house: House) -> None:
    result = await house.run("ls -d /proc/[0-9]* | wc -l; cat /proc/*/environ | tr '\\0' '\\n'; echo $PPID")
    assert int(result.output.split()[0]) < 8
    assert f"/proc/{os.getpid()}" not in result.output
    assert "PYTEST_CURRENT_TEST" not in result.output
    assert await house.code(f"kill -0 {os.getpid()}") != 0


@needs_bubblewrap
async def test_nothing_is_privileged(house: House) -> None:
    result = await house.run("grep -E '^Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status")
    assert set(result.output.split()) <= {
        "CapPrm:",
        "CapEff:",
        "CapBnd:",
        "NoNewPrivs:",
        "0000000000000000",
        "1",
    }
    assert await house.code("mount -t tmpfs none /mnt") != 0
    assert await house.code("echo x > /dev/null") == 0


@needs_bubblewrap
async def test_what_it_leaves_behind_ends_with_it(house: House) -> None:
    result = await house.run("(setsid sleep 1000 &) ; echo done")
    assert result.output == "done\n"
    assert house.sandbox.supervisor.running == ()


@needs_bubblewrap
async def test_a_folder_outside_can_be_read(house: House, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a").write_text("there")
    result = await house.run("cat a; echo x > b", cwd=tmp_path / "other")
    assert result.output.startswith("there")
    assert not (tmp_path / "other" / "b").exists()


def in_bash(command: str) -> None:
    subprocess.run(["bash", "-c", command], check=True, capture_output=True)


def linked_work_tree(repository: Path) -> None:
    git = "git -c user.name=a -c user.email=a@b.test"
    made = f"git init -q {repository} && cd {repository} && {git} commit -q --allow-empty -m one && git worktree add -q ../tree"
    in_bash(made)


@needs_bubblewrap
async def test_a_linked_work_tree_finds_its_repository(house: House) -> None:
    linked_work_tree(house.home / "project")
    house.workspace = house.home / "tree"
    result = await house.run("git log --format=%s; git status --short")
    assert result.output == "one\n"


@needs_bubblewrap
async def test_a_submodule_finds_its_repository(house: House) -> None:
    linked_work_tree(house.home / "part")
    made = (
        f"git init -q {house.home}/whole && cd {house.home}/whole && "
        f"git -c protocol.file.allow=always submodule --quiet add {house.home}/part part"
    )
    in_bash(made)
    house.workspace = house.home / "whole" / "part"
    assert (await house.run("git log --format=%s")).output == "one\n"


@needs_bubblewrap
@pytest.mark.parametrize("said", [".ssh", "", ".ssh/../.ssh", "other/.git", "commondir"])
async def test_a_file_called_git_opens_nothing_of_the_home(house: House, said: str) -> None:
    """Whoever brings a folder, or a command before, can write it."""
    linked_work_tree(house.home / "other")
    (house.home / "other/.git/description").write_text("key")
    shutil.rmtree(house.workspace / ".git")
    place = house.home / said
    if said == "commondir":
        place = house.workspace / "worktrees/x"
        place.mkdir(parents=True)
        (place / "gitdir").write_text(f"{house.workspace}/.git\n")
        (place / "commondir").write_text(f"{house.home}/.ssh\n")
    (house.workspace / ".git").write_text(f"gitdir: {place}\n")
    seen = await house.run(f"cat {house.home}/.ssh/id {house.home}/other/.git/description")
    assert "key" not in seen.output


@needs_bubblewrap
async def test_a_repository_beside_its_files_is_not_written_either(house: House) -> None:
    shutil.rmtree(house.workspace / ".git")
    in_bash(f"git init -q --separate-git-dir {house.workspace}/.bare {house.workspace}")
    result = await house.run(
        "echo x > .bare/hooks/pre-commit; echo x >> .bare/config; echo x > a && git status --short"
    )
    assert result.output.count("Read-only file system") == 2
    assert result.output.endswith("?? a\n")


@needs_bubblewrap
async def test_what_was_found_out_is_kept(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[object] = []
    first = Sandbox._try  # pyright: ignore[reportPrivateUsage]

    async def count(self: Sandbox, *given: object) -> str | None:
        tried.append(given)
        return await first(self, *given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(Sandbox, "_try", count)
    await asyncio.gather(*(house.confine("true") for _ in range(5)))
    await house.confine("false")
    assert len(tried) == 1
    await house.confine("true", SandboxWish(network=True))
    assert len(tried) == 2


@pytest.mark.parametrize("mode", ["auto", "required"])
async def test_without_bubblewrap_it_says_so(house: House, tmp_path: Path, mode: str) -> None:
    wish = SandboxWish("required" if mode == "required" else "auto", backends=("bubblewrap",))
    confined = await house.confine("true", wish, path=str(tmp_path))
    assert confined.confinement is None
    assert confined.refused is (mode == "required")
    assert "the program 'bwrap' was not found" in confined.told
    assert confined.argv == tuple(shell_argv("true"))
    assert not confined.may_leave


async def test_a_bubblewrap_that_does_not_work_is_none(house: House, tmp_path: Path) -> None:
    broken = tmp_path / "bin"
    broken.mkdir()
    (broken / "bwrap").write_text(
        "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
    )
    (broken / "bwrap").chmod(0o755)
    wish = SandboxWish(backends=("bubblewrap",))
    confined = await house.confine("true", wish, path=f"{broken}:{PATH}")
    assert confined.told == (
        "Not sandboxed: bwrap cannot be used here: bwrap: No permissions to create new namespace."
    )


@pytest.mark.parametrize("part", ["", ".", "bin", "{workspace}/bin"])
@pytest.mark.parametrize("mode", ["auto", "off"])
async def test_no_file_of_the_workspace_stands_for_the_shell_or_the_sandbox(
    house: House, mode: str, part: str
) -> None:
    for place in (house.workspace, house.workspace / "bin"):
        place.mkdir(exist_ok=True)
        for name in ("bash", "bwrap"):
            (place / name).write_text(f"#!/bin/sh\necho {name} >> {house.workspace}/ran\n")
            (place / name).chmod(0o755)
    path = f"{part.format(workspace=house.workspace)}:{PATH}"
    confined = await house.confine("echo done", SandboxWish("off" if mode == "off" else "auto"), path=path)
    for one in (confined, confined.outside()):
        confining = await one.start()
        assert isinstance(confining, Confining)
        ran = await run_command(
            house.supervisor, confining.argv, launch=confining.launch, env=one.env, cwd=house.workspace, clock=SystemClock(), total_seconds=10, idle_seconds=None, output_limit=100
        )  # fmt: skip
        assert isinstance(ran, CommandResult)
        assert ran.output == "done\n"
    assert not (house.workspace / "ran").exists()


async def test_switched_off_nothing_is_tried(house: House, tmp_path: Path) -> None:
    confined = await house.confine("true", SandboxWish("off"), path=str(tmp_path))
    assert confined.told == "Not sandboxed: the setting `sandbox` is off."
    assert confined.env["PATH"] == str(tmp_path)


async def test_other_systems_have_none(house: House) -> None:
    house.sandbox.platform = "freebsd14"
    assert (await house.confine("true")).told == "Not sandboxed: there is no sandbox for freebsd14."


def test_the_whole_file_system_as_workspace_is_not_confined(tmp_path: Path) -> None:
    confinement = confinement_of(
        writable=[Path("/")], readable=[], private=[], home=tmp_path, search_path="", network=False
    )
    assert confinement == NoConfinement("the workspace is the whole file system")


def test_the_profile_of_macos_lets_the_last_rule_win() -> None:
    confinement = Confinement(
        (
            Place("/Users", "hidden"),
            Place("/private/tmp", "hidden"),
            Place("/Users/ada/.gitconfig", "readable"),
            Place('/Users/ada/my "work"', "writable"),
            Place('/Users/ada/my "work"/.git', "protected"),
        ),
        network="none",
        home="/Users/ada",
    )
    lines = seatbelt.profile(confinement).splitlines()
    assert lines[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    assert lines[-8:] == [
        '(deny file-read* file-write* (subpath "/Users"))',
        '(allow file-read-metadata (literal "/Users"))',
        '(allow file-write* (subpath "/private/tmp"))',
        '(allow file-read* (subpath "/Users/ada/.gitconfig"))',
        '(allow file-read* file-write* (subpath "/Users/ada/my \\"work\\""))',
        '(allow file-read* (subpath "/Users/ada/my \\"work\\"/.git"))',
        '(deny file-write* (subpath "/Users/ada/my \\"work\\"/.git"))',
        "(deny network*)",
    ]
    confining = Seatbelt().confine(confinement, "/usr/bin/sandbox-exec", "/", ["true"])
    assert confining.argv == ("/usr/bin/sandbox-exec", "-p", seatbelt.profile(confinement), "true")


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """A home that is hidden, a workspace in it, and a folder outside."""
    made = {name: tmp_path / name for name in ("home", "home/work", "home/work/.git", "home/work/src", "srv")}
    for folder in made.values():
        folder.mkdir()
    (made["home"] / "id").write_text("key")
    (made["srv"] / "made").write_text("")
    return {name.rpartition("/")[2]: folder for name, folder in made.items()}


@pytest.mark.parametrize(
    ("output", "network", "is_sign"),
    [
        ("touch: cannot touch '{srv}/x': Read-only file system", False, True),
        ("open {srv}/x: read-only file system", False, True),
        ("Error: EROFS: read-only file system, open '{srv}/x'", False, True),
        ("bash: line 1: ../../srv/x: Read-only file system", False, True),
        ("mkdir: cannot create directory ‘.git/hooks’: Permission denied", False, True),
        ("PermissionError: [Errno 13] Permission denied: '{srv}/with blank'", False, True),
        ("error: Read-only file system (os error 30)", False, False),
        ("a test that says: Read-only file system", False, False),
        ("bash: ./src/run.sh: Permission denied", False, False),
        ("PermissionError: [Errno 13] Permission denied: 'src/made'", False, False),
        ("Permission denied", False, False),
        ("assert response.text == 'Permission denied'", False, False),
        ("sudo: Operation not permitted", False, False),
        ("cat: /proc/1/mem: Permission denied", False, False),
        ("fatal: unable to access 'https://x.test/': Could not resolve host: x.test", False, True),
        ("fatal: unable to access 'https://x.test/': Could not resolve host: x.test", True, False),
        ("psql: could not connect to 127.0.0.1:{port}: Connection refused", False, True),
        ("connect ECONNREFUSED 127.0.0.1:{free}", False, False),
        ("FAILED test_api.py::test_it - ConnectionRefusedError: Connection refused", False, False),
        ("dial tcp: a word in a text", False, False),
        ("cat: {home}/id: No such file or directory", False, True),
        ("cat: {home}/nowhere: No such file or directory", False, False),
        ("cat: nothing.txt: No such file or directory", False, False),
        ("cat: {srv}/x: No such file or directory", False, False),
        ("cat: {home}2/x: No such file or directory", False, False),
        ("No such file or directory: '{work}/x.txt'", False, False),
        ("AssertionError: 3 != 4", False, False),
        ("", False, False),
    ],
)
def test_what_a_command_prints_is_a_sign_where_the_sandbox_can_be_the_cause(
    output: str, network: bool, is_sign: bool, places: dict[str, Path]
) -> None:
    if os.getuid() == 0 and "/proc/1/mem" in output:
        pytest.skip("root may write that")
    work = str(places["work"])
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as free:
        free.bind(("127.0.0.1", 0))  # nobody listens there
        ports = {"port": server.getsockname()[1], "free": free.getsockname()[1]}
        sign = sign_of_sandbox(
            output.format(**places, **ports),
            cwd=work,
            network=network,
            writable=(work,),
            hidden=(str(places["home"]),),
            seen=(work, f"{work}/.git"),
        )
    assert (sign is not None) is is_sign


@pytest.mark.parametrize(
    ("command", "is_sign"),
    [("install-tool --to={srv}/x", True), ("cp src/a '{srv}/made'", True), ("./check src {home}/work/made", False), ("", False)],
)  # fmt: skip
def test_where_the_output_names_no_file_one_of_the_command_must_be_shut(
    command: str, is_sign: bool, places: dict[str, Path]
) -> None:
    work = str(places["work"])
    sign = sign_of_sandbox(
        "error: Read-only file system (os error 30)",
        cwd=work,
        network=False,
        command=command.format(**places),
        writable=(work,),
        hidden=(str(places["home"]),),
        seen=(work,),
    )
    assert (sign is not None) is is_sign


def test_a_file_that_the_user_cannot_write_either_is_no_sign(
    monkeypatch: pytest.MonkeyPatch, places: dict[str, Path]
) -> None:
    output = f"touch: cannot touch '{places['srv']}/x': Permission denied"
    assert sign_of_sandbox(output, cwd="/", network=True) is not None
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert sign_of_sandbox(output, cwd="/", network=True) is None


@pytest.mark.timeout(10)
def test_a_long_output_is_looked_through_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: True)
    assert sign_of_sandbox("'/a/b " * 200_000 + "permission denied\n", cwd="/", network=True) is not None
    assert sign_of_sandbox("permission denie" * 100_000, cwd="/", network=False) is None


def test_the_ports_of_the_machine_are_read_once_however_many_lines_have_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Path] = []
    text = Path.read_text

    def counted(path: Path, *given: Any, **more: Any) -> str:
        read.append(path)
        return text(path, *given, **more)

    monkeypatch.setattr(Path, "read_text", counted)
    assert sign_of_sandbox("step 12 of 8123\n" * 1000, cwd="/", network=False) is None
    assert read == []
    assert sign_of_sandbox("port 1: connection refused\n" * 1000, cwd="/", network=False) is None
    assert len(read) <= 2
