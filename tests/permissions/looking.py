"""A command line looked up as the server does it, decided about in both worlds, and run in a read-only sandbox."""

import asyncio
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from outrider.permissions.policy.decide import Access, decide
from outrider.permissions.policy.protected_files import Guarded, attributes, environment
from outrider.permissions.policy.rules import RUN
from outrider.permissions.policy.ruling import ruling_on
from outrider.ports.clock import SystemClock
from outrider.processes import CommandResult, Supervisor, run_command, shell_argv
from outrider.processes.sandbox import Hidden, Sandbox, SandboxWish
from outrider.tools.run_command.command_line import look_at, with_objects
from outrider.workspace.paths import folders_of
from outrider.workspace.watch.hidden_files import HiddenFiles

PATH = os.environ["PATH"]
TOGETHER = 25
"""Command lines that run in one sandbox: to make one takes much longer than to run a line in it."""


def hidden_files(folder):
    """What is shut in a folder."""
    guarded = Guarded([folder])
    guarded.refresh_now()
    return HiddenFiles(guarded.why_hidden, guarded.stamps)


def looked_without_git(command, folder, cwd=None, search_path=""):
    """The command line, of which git is asked nothing."""
    folders = folders_of([("work", folder.as_uri())])
    return look_at(command, folders, cwd or folder, hidden_files(folder), search_path)


async def _looked(command, folder, cwd, supervisor, clock):
    looked = await asyncio.to_thread(looked_without_git, command, folder, cwd)
    return await with_objects(looked, supervisor, clock, PATH, [str(folder)])


def looked(folder, *commands, cwd=None):
    """Several command lines, one after the other, in one server."""

    async def all_of_them():
        clock = SystemClock()
        supervisor = Supervisor(clock)
        try:
            return [await _looked(command, folder, cwd, supervisor, clock) for command in commands]
        finally:
            await supervisor.close()

    return asyncio.run(all_of_them())


def decision(command, mode="auto-edit", rules=(), *, sandbox=False):
    """What is decided about a command that was looked up, with a read-only sandbox or without any."""
    if sandbox and command.reads_in_sandbox and not any(command.closed):
        command = command.in_sandbox()
    access = Access("execute", command=command)
    return decide(access, mode, frozenset(), ruling_on(RUN, access, rules, mode))


def verdicts(folder, *commands, mode="auto-edit", cwd=None, sandbox=False):
    """What is decided about them without a rule."""
    return [decision(one, mode, sandbox=sandbox).verdict for one in looked(folder, *commands, cwd=cwd)]


@dataclass
class Readers:
    """Runs command lines as the server runs those that only read."""

    folder: Path
    state: Path
    """A folder outside of the workspace."""
    world: str
    """The name of a way to confine commands, in small letters."""

    def run(self, *commands, cwd=None):
        """What each one prints, errors included. A line that ends the lines after it, or holds them up, is an error."""

        async def all_of_them():
            clock = SystemClock()
            supervisor = Supervisor(clock)
            sandbox = Sandbox(supervisor, clock, [self.state])
            try:
                printed = []
                for first in range(0, len(commands), TOGETHER):
                    lines = commands[first : first + TOGETHER]
                    printed += await self._run(lines, cwd, supervisor, clock, sandbox)
                return printed
            finally:
                await sandbox.close()
                await supervisor.close()

        return asyncio.run(all_of_them())

    async def _run(self, lines, cwd, supervisor, clock, sandbox):
        ended = uuid4().hex
        command = "\n".join(f"{shlex.join(shell_argv(line))}; echo {ended}" for line in lines)
        shut = hidden_files(self.folder).look([self.folder.resolve()])
        file = self.state / "texts"
        file.write_text(attributes([self.folder]))
        (self.state / "empty").touch()
        confined = await sandbox.confine_reading(
            shell_argv(command),
            cwd=(cwd or self.folder).resolve(),
            env={
                "PATH": PATH,
                "HOME": str(self.state.parent),
                **environment(str(file)),
                "GIT_OPTIONAL_LOCKS": "0",
                "npm_config_fetch_retries": "0",  # there is no network, which npx tries again for minutes
            },
            folders=[self.folder],
            wish=SandboxWish("required", backends=(self.world,)),
            hidden=Hidden(shut.files, shut.folders, [str(file)], str(self.state / "empty")),
        )
        assert confined is not None, f"no read-only sandbox by {self.world}"
        confining = await confined.start()
        result = await run_command(
            supervisor,
            confining.argv,
            cwd=(cwd or self.folder).resolve(),
            env=confined.env,
            clock=clock,
            total_seconds=20 * len(lines),
            idle_seconds=10,
            output_limit=1_000_000 * len(lines),
            on_output=lambda _: None,
            launch=confining.launch,
        )
        assert isinstance(result, CommandResult), result
        *printed, after = result.output.split(f"{ended}\n")
        assert (len(printed), after) == (len(lines), ""), (lines[: len(printed) + 1][-1:], after)
        return printed


def everything_in(*folders):
    """What there is in some folders, to be compared: names, kinds, modes, times and contents."""
    found = {}
    for folder in folders:
        for path in sorted([folder, *folder.rglob("*")]):
            status = path.lstat()
            is_file = path.is_file() and not path.is_symlink()
            found[path] = (status.st_mode, status.st_mtime_ns, path.read_bytes() if is_file else None)
    return found


SECRET = "hunter2"
"""What stands in files that are shut, wherever a test puts one."""


def assert_harmless(folder, state, world, lines):
    """Run lines in a read-only sandbox: nothing changes, and nothing is seen that is shut or outside the workspace.

    Args:
        folder: The workspace, in a folder that holds nothing else but links to it.
        state: A folder elsewhere.
        world: The name of a way to confine commands.
        lines: Command lines, each with the folder where it runs.
    """
    before = everything_in(folder.parent)
    for cwd in {cwd for _, cwd in lines}:
        commands = [command for command, where in lines if where == cwd]
        printed = Readers(folder, state, world).run(*commands, cwd=cwd)
        for command, output in zip(commands, printed, strict=True):
            assert SECRET not in output, command
            assert "root:" not in output, command
    assert everything_in(folder.parent) == before
