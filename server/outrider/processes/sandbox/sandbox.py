"""Whether commands can be run behind walls here, found out by doing it, and how.

What is tried is a command line with the very options that will be used. What came of it is kept for as long as the
options stay the same.
"""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from outrider.ports.clock import Clock
from outrider.processes.commands import collect
from outrider.processes.sandbox import bubblewrap, seatbelt
from outrider.processes.sandbox.walls import NoWalls, Walls, environment_in, walls_of
from outrider.processes.search_path import own_program
from outrider.processes.supervisor import SpawnProblem, Supervisor

PROBE_SECONDS: Final = 5.0
_PROBE: Final = ("/bin/sh", "-c", "true > /dev/null")
PROGRAMS: Final[Mapping[str, str]] = {"linux": bubblewrap.PROGRAM, "darwin": seatbelt.PROGRAM}
_LONGEST: Final = 200
"""Characters of what the tried command printed."""


@dataclass(frozen=True, slots=True)
class SandboxWish:
    """What the settings say."""

    mode: Literal["auto", "off", "required"] = "auto"
    network: bool = False
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Confined:
    """How a command is run."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    walls: Walls | None
    """None: it runs without a sandbox."""
    told: str
    """For a person: sandboxed or not, and why."""
    env_outside: Mapping[str, str]
    """Its environment without a sandbox."""
    argv_outside: tuple[str, ...]
    """How it is run without a sandbox."""
    refused: bool = False
    """Whether it must not run at all: a sandbox is required, and there is none."""
    may_leave: bool = False
    """Whether the person may choose to run it without."""


def unconfined(argv: Sequence[str], env: Mapping[str, str], told: str, *, refused: bool = False) -> Confined:
    """A command without a sandbox."""
    return Confined(tuple(argv), dict(env), None, told, dict(env), tuple(argv), refused)


@dataclass(slots=True)
class Sandbox:
    """The sandbox of one server."""

    supervisor: Supervisor
    clock: Clock
    private: Sequence[Path]
    """Folders of Outrider's own: the log and the rules."""
    platform: str = sys.platform
    _tried: dict[tuple[object, ...], "asyncio.Task[str | None]"] = field(
        default_factory=dict[tuple[object, ...], "asyncio.Task[str | None]"]
    )

    async def confine(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        folders: Sequence[Path],
        wish: SandboxWish,
    ) -> Confined:
        """Put a command behind walls, if that is wanted and possible.

        Args:
            argv: The command.
            cwd: Where it runs; a real path.
            env: Its environment.
            folders: The workspace folders.
            wish: What the settings say.
        """
        argv, program = await asyncio.to_thread(self._found, argv, env, cwd, folders)
        if wish.mode == "off":
            return unconfined(argv, env, "Not sandboxed: the setting `sandbox` is off.")
        refused = wish.mode == "required"
        walls = await asyncio.to_thread(self._walls, cwd, env, folders, wish)
        if isinstance(walls, NoWalls):
            return unconfined(argv, env, _without(walls.message, refused=refused), refused=refused)
        if problem := await self._problem(program, walls, env):
            return unconfined(argv, env, _without(problem, refused=refused), refused=refused)
        network = "with the network" if walls.network else "without network"
        return Confined(
            (program, *self._wrapped(walls, str(cwd), argv)[1:]),
            environment_in(env),
            walls,
            f"Sandboxed: it can write in the workspace only, and runs {network}.",
            dict(env),
            tuple(argv),
            may_leave=not refused,
        )

    async def close(self) -> None:
        """Give up what is being tried."""
        for tried in self._tried.values():
            tried.cancel()
        await asyncio.gather(*self._tried.values(), return_exceptions=True)

    def _found(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: Path, folders: Sequence[Path]
    ) -> tuple[list[str], str]:
        """A command line, and the program that puts it behind walls: no file of the workspace stands for either."""
        roots = [str(folder.resolve()) for folder in folders]
        program, walls = (
            own_program(name, env.get("PATH", ""), str(cwd), roots)
            for name in (argv[0], PROGRAMS.get(self.platform, ""))
        )
        return [program, *argv[1:]], walls

    def _walls(
        self, cwd: Path, env: Mapping[str, str], folders: Sequence[Path], wish: SandboxWish
    ) -> Walls | NoWalls:
        home = Path(env.get("HOME") or Path.home())
        inside = any(cwd.is_relative_to(folder.resolve()) for folder in folders)
        return walls_of(
            writable=[*folders, *_paths(wish.writable, home)],
            readable=[*_paths(wish.readable, home), *(() if inside else (cwd,))],
            private=self.private,
            home=home,
            search_path=env.get("PATH", ""),
            network=wish.network,
        )

    def _wrapped(self, walls: Walls, cwd: str, argv: Sequence[str]) -> list[str]:
        if self.platform == "darwin":
            return seatbelt.wrapped(walls, argv)
        return bubblewrap.wrapped(walls, cwd, argv)

    async def _problem(self, program: str, walls: Walls, env: Mapping[str, str]) -> str | None:
        """Why these walls cannot be had here; None if they can."""
        if self.platform not in {"linux", "darwin"}:
            return f"there is no sandbox for {self.platform}"
        key = (program, walls, env.get("PATH"))
        tried = self._tried.get(key)
        if tried is None:
            if len(self._tried) >= 8:  # folders come and go
                self._tried.pop(next(iter(self._tried)))
            tried = self._tried[key] = asyncio.ensure_future(self._try(program, walls, env))
        return await asyncio.shield(tried)

    async def _try(self, program: str, walls: Walls, env: Mapping[str, str]) -> str | None:
        argv = [program, *self._wrapped(walls, "/", _PROBE)[1:]]
        came = await collect(
            self.supervisor,
            argv,
            cwd=Path("/"),
            env=env,
            clock=self.clock,
            seconds=PROBE_SECONDS,
            limit=4096,
        )
        if isinstance(came, SpawnProblem):
            return came.message
        if came.timed_out:
            return f"{argv[0]} did not answer for {PROBE_SECONDS:g} s"
        if came.code != 0:
            said = " ".join((came.stderr or came.stdout).decode("utf-8", "replace").split())[:_LONGEST]
            return f"{argv[0]} cannot be used here: {said or f'exit code {came.code}'}"
        return None


def _paths(named: Sequence[str], home: Path) -> list[Path]:
    """The folders that the person names, absolute or from `~` on."""
    paths = [home / text[2:] if text.startswith("~/") else Path(text) for text in named]
    return [path for path in paths if path.is_absolute()]


def _without(reason: str, *, refused: bool) -> str:
    if refused:
        return f"Not run: the setting `sandbox` requires one, and {reason}."
    return f"Not sandboxed: {reason}."
