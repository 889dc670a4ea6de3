"""Whether and how commands can be confined here, found out by doing it.

What is tried is a command with the very options that will be used. What came of it is kept for as long as the options
stay the same.
"""

import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from outrider.ports.clock import Clock
from outrider.processes.commands import collect
from outrider.processes.environment import own_program
from outrider.processes.sandbox import sockets
from outrider.processes.sandbox.backend import Backend, Confining
from outrider.processes.sandbox.bubblewrap import Bubblewrap
from outrider.processes.sandbox.confinement import (
    TEMPORARY,
    Confinement,
    Hidden,
    NoConfinement,
    confinement_of,
    environment_in,
    programs_in,
)
from outrider.processes.sandbox.facts import NO_WAY, NOTHING_HELD, Facts
from outrider.processes.sandbox.landlock import Landlock
from outrider.processes.sandbox.seatbelt import Seatbelt
from outrider.processes.sandbox.shared import Filling, Shared
from outrider.processes.supervisor import Network, SpawnProblem, Supervisor

PROBE_SECONDS: Final = 5.0
_PROBE: Final = ("/bin/sh", "-c", "true > /dev/null")
BACKENDS: Final[Mapping[str, Sequence[Backend]]] = {
    "linux": (Bubblewrap(), Landlock()),
    "darwin": (Seatbelt(),),
}
"""For each system what is tried, the best first."""
_LONGEST: Final = 200
"""Characters of what the tried command printed."""
_MOST_TRIED: Final = 32
"""Results that are kept."""
_MOST_MASKED: Final = 500
"""Sockets that are masked for one command."""


@dataclass(frozen=True, slots=True)
class SandboxWish:
    """What the settings say."""

    mode: Literal["auto", "off", "required"] = "auto"
    network: bool = False
    hosts: tuple[str, ...] = ()
    """Where there is no network: the hosts that are reached all the same."""
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    backends: tuple[str, ...] | None = None
    """The only backends that are tried, by their names in lower case; None: all."""


@dataclass(frozen=True, slots=True)
class Confined:
    """How a command is run."""

    argv: tuple[str, ...]
    """The command itself, as it is run where nothing confines it."""
    env: Mapping[str, str]
    confinement: Confinement | None
    """None: it runs without a sandbox."""
    told: str
    """For a user: sandboxed or not, and why."""
    env_outside: Mapping[str, str]
    """Its environment without a sandbox."""
    refused: bool = False
    """Whether it must not run at all: a sandbox is required, and there is none."""
    may_leave: bool = False
    """Whether the user may choose to run it without."""
    turned_off: bool = False
    """Whether there is no sandbox because the settings want none."""
    backend: str = ""
    """What holds it, as a user knows it; empty for nothing."""
    backend_program: str = ""
    """The program that holds it, which says so by its name where it cannot; empty for none."""
    unenforced: tuple[str, ...] = ()
    """What of the confinement that cannot hold."""
    keeps_protected: bool = False
    """Whether what is protected in the workspace stays as it is."""
    facts: Facts = NOTHING_HELD
    """What of all this a model should know."""
    lost: bool = False
    """Whether there is no sandbox because the one that held commands before does not work any more."""
    begin: Callable[[], Awaitable[Confining | SpawnProblem]] | None = None
    again: Callable[[], Awaitable[str | None]] | None = None
    """Tries anew whether it can be held."""

    @property
    def why_unprotected(self) -> str:
        """Why a command in it can change protected files; empty where it cannot."""
        if self.keeps_protected:
            return ""
        return f"the sandbox here ({self.backend}) cannot keep commands from changing `.git` and other protected files"

    async def start(self) -> Confining | SpawnProblem:
        """What to start now. Asked for each time, as what has to be masked comes and goes."""
        return Confining(self.argv) if self.begin is None else await self.begin()

    def outside(self) -> "Confined":
        """The same command without a sandbox."""
        return unconfined(self.argv, self.env_outside, "Not sandboxed.")

    def covered(self) -> list[Any]:
        """What an approval of it covers, as JSON takes it."""
        held = self.confinement
        if held is None:
            return [list(self.argv)]
        places = [[place.kind, place.path] for place in held.places]
        return [list(self.argv), self.backend, held.network, held.home, places, *held.hosts]


def unconfined(argv: Sequence[str], env: Mapping[str, str], told: str, *, refused: bool = False) -> Confined:
    """A command without a sandbox."""
    facts = replace(NOTHING_HELD, why_not=told, refuses=refused)
    return Confined(tuple(argv), dict(env), None, told, dict(env), refused, facts=facts)


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
    _has_held: bool = False
    """Whether it has held a command that may write."""
    _tmp: str | None = None
    """The folder for temporary files of commands that have no `/tmp` of their own."""

    async def confine(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        folders: Sequence[Path],
        wish: SandboxWish,
        protected: Sequence[str] = (),
        repositories: Sequence[str] = (),
        shared: Shared | None = None,
    ) -> Confined:
        """Confine a command, if that is wanted and possible.

        Args:
            argv: The command.
            cwd: Where it runs; a real path.
            env: Its environment.
            folders: The workspace folders.
            wish: What the settings say.
            protected: See `confinement_of`.
            repositories: See `confinement_of`.
            shared: What it shares with other commands; where the system forbids that, it is alone.
        """
        argv = await asyncio.to_thread(_with_own_program, argv, env, cwd, folders)
        if wish.mode == "off":
            off = unconfined(argv, env, "Not sandboxed: the setting `sandbox` is off.")
            return replace(off, turned_off=True)
        refused = wish.mode == "required"
        build = partial(self._confinement, cwd, env, folders, wish, protected, repositories)
        held = await asyncio.to_thread(build)
        if isinstance(held, NoConfinement):
            return unconfined(argv, env, _without(held.message, refused=refused), refused=refused)
        confined = await self._held(held, argv, cwd, env, folders, wish, shared)
        if isinstance(confined, str):
            told = f"the sandbox does not work any more: {confined}" if self._has_held else confined
            without = unconfined(argv, env, _without(told, refused=refused), refused=refused)
            return replace(without, lost=self._has_held)
        self._has_held = True
        return confined

    async def confine_reading(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        folders: Sequence[Path],
        wish: SandboxWish,
        hidden: Hidden,
        shared: Shared | None = None,
        of_workspace: bool = False,
    ) -> Confined | None:
        """Confine a command so that it can only read, and does not see what is to be hidden; None where nothing holds it to that.

        Args:
            argv: The command.
            cwd: Where it runs; a real path in a workspace folder.
            env: Its environment.
            folders: The workspace folders.
            wish: What the settings say; what they open beside the workspace stays closed to it.
            hidden: What of the workspace is to be hidden.
            shared: What other commands share; of that it can read the temporary files.
            of_workspace: Whether its program may be one of the workspace.
        """
        if wish.mode == "off":
            return None
        if not of_workspace:
            argv = await asyncio.to_thread(_with_own_program, argv, env, cwd, folders)
        alone = replace(wish, network=False, hosts=(), readable=(), writable=())

        def build() -> Confinement | NoConfinement:
            held = self._confinement(cwd, env, folders, alone, (), ())
            programs = programs_in(env.get("PATH", ""), _home(env), all_of_them=True)
            if not isinstance(held, NoConfinement):
                held = held.reading(hidden.files, hidden.folders, [*programs, *hidden.seen], hidden.blank)
            if not isinstance(held, NoConfinement) and shared is not None:
                place = shared.read_tmp(held.in_tmp)
                held = replace(held, read_tmp=None if place is None else str(place))
            return held

        held = await asyncio.to_thread(build)
        if isinstance(held, NoConfinement):
            return None
        confined = await self._held(held, argv, cwd, env, folders, alone)
        if isinstance(confined, str) or confined.unenforced:
            return None
        told = f"Sandboxed by {confined.backend}: it can only read the workspace, without the secret files, and runs without network."
        return replace(confined, told=told, may_leave=False)

    async def still_holds(self, confined: Confined) -> str | None:
        """Try anew whether the sandbox of a command works, after it was seen to fail.

        Returns:
            Why it does not; None if it does, or if the command has none. The next command is confined by what came of it.
        """
        return None if confined.again is None else await confined.again()

    async def _held(
        self,
        held: Confinement,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        folders: Sequence[Path],
        wish: SandboxWish,
        shared: Shared | None = None,
    ) -> Confined | str:
        """The command as the first backend holds it that can; why none can."""
        problems: list[str] = []
        for backend in BACKENDS.get(self.platform, ()):
            if wish.backends is not None and backend.name.lower() not in wish.backends:
                continue
            program = await asyncio.to_thread(_program, backend, env, cwd, folders)
            for confinement, network in await self._variants(backend, held, shared):
                if problem := await self._problem(backend, program, confinement, network, env):
                    problems.append(problem)
                    continue
                unenforced = await asyncio.to_thread(backend.unenforced, confinement)
                return Confined(
                    tuple(argv),
                    _environment(backend, env, confinement),
                    confinement,
                    _told(backend, confinement, unenforced, held.hosts),
                    dict(env),
                    may_leave=wish.mode != "required",
                    backend=backend.name,
                    backend_program=Path(backend.program or "").name,
                    unenforced=unenforced,
                    keeps_protected=backend.holds_protected
                    or all(place.kind != "protected" for place in confinement.places),
                    facts=_facts(
                        backend, confinement, network, held.hosts, may_leave=wish.mode != "required"
                    ),
                    begin=partial(
                        self._begin, backend, program, confinement, network, str(cwd), argv, folders, shared
                    ),
                    again=partial(self._problem, backend, program, confinement, network, env, anew=True),
                )
        return "; ".join(dict.fromkeys(problems)) or f"there is no sandbox for {self.platform}"

    async def close(self) -> None:
        """Give up what is being tried."""
        for tried in self._tried.values():
            tried.cancel()
        await asyncio.gather(*self._tried.values(), return_exceptions=True)
        if self._tmp is not None:
            await asyncio.to_thread(shutil.rmtree, self._tmp, ignore_errors=True)
            self._tmp = None

    def _confinement(
        self,
        cwd: Path,
        env: Mapping[str, str],
        folders: Sequence[Path],
        wish: SandboxWish,
        protected: Sequence[str],
        repositories: Sequence[str],
    ) -> Confinement | NoConfinement:
        home = _home(env)
        inside = any(cwd.is_relative_to(folder.resolve()) for folder in folders)
        held = confinement_of(
            writable=[*folders, *_paths(wish.writable, home)],
            readable=[*_paths(wish.readable, home), *(() if inside else (cwd,))],
            private=self.private,
            home=home,
            search_path=env.get("PATH", ""),
            network=wish.network,
            protected=protected,
            repositories=repositories,
        )
        return held if wish.network or isinstance(held, NoConfinement) else replace(held, hosts=wish.hosts)

    async def _variants(
        self, backend: Backend, held: Confinement, shared: Shared | None
    ) -> list[tuple[Confinement, Network | None]]:
        """How a backend may hold a confinement, the best first: with what the commands of the session share, and alone."""
        hosts, held = (
            held.hosts,
            replace(held, hosts=()),
        )  # there is no way to them without the session's network
        alone = (await asyncio.to_thread(self._with_tmp, backend, held), None)
        if shared is None or not backend.can_share:
            return [alone]
        tmp = await shared.tmp(held.in_tmp)
        if tmp is not None:
            held = replace(held, tmp=str(tmp))
        if held.network == "open" or isinstance(network := await shared.network(), SpawnProblem):
            return [(held, None), alone] if tmp is not None else [alone]
        in_session = replace(held, network="session", hosts=hosts if shared.leads_out else ())
        return [(in_session, network), (held, None), alone]

    def _with_tmp(self, backend: Backend, confinement: Confinement) -> Confinement:
        if backend.has_own_tmp:
            return confinement
        if self._tmp is None:
            try:
                self._tmp = str(Path(tempfile.mkdtemp(prefix="outrider-")).resolve())
            except OSError:
                return confinement
        return replace(confinement, tmp=self._tmp)

    async def _begin(
        self,
        backend: Backend,
        program: str,
        confinement: Confinement,
        network: Network | None,
        cwd: str,
        argv: Sequence[str],
        folders: Sequence[Path],
        shared: Shared | None,
    ) -> Confining | SpawnProblem:
        confining = await asyncio.to_thread(
            _masked, backend, program, confinement, network, cwd, argv, folders
        )
        if isinstance(confining, SpawnProblem):
            return confining
        if confinement.tmp is not None:
            confining = replace(confining, is_full=Filling(Path(confinement.tmp)).is_full)
        if not confinement.hosts or shared is None:
            return confining
        way = await shared.way(confinement.hosts)
        return way if isinstance(way, SpawnProblem) else replace(confining, way=way)

    async def _problem(
        self,
        backend: Backend,
        program: str,
        confinement: Confinement,
        network: Network | None,
        env: Mapping[str, str],
        *,
        anew: bool = False,
    ) -> str | None:
        """Why a backend cannot hold this confinement; None if it can."""
        key = (backend.name, program, confinement, network, env.get("PATH"))
        if anew:  # what broke it holds for the others, too
            self._tried = {one: tried for one, tried in self._tried.items() if not tried.done()}
        tried = self._tried.get(key)
        if tried is None:
            if len(self._tried) >= _MOST_TRIED:  # folders come and go
                self._tried.pop(next(iter(self._tried)))
            tried = self._tried[key] = asyncio.ensure_future(
                self._try(backend, program, confinement, network, env)
            )
        return await asyncio.shield(tried)

    async def _try(
        self,
        backend: Backend,
        program: str,
        confinement: Confinement,
        network: Network | None,
        env: Mapping[str, str],
    ) -> str | None:
        if problem := await asyncio.to_thread(backend.problem, confinement):
            return problem
        confining = _joining(
            await asyncio.to_thread(backend.confine, confinement, program, "/", _PROBE), network
        )
        came = await collect(
            self.supervisor,
            confining.argv,
            cwd=Path("/"),
            env=env,
            clock=self.clock,
            seconds=PROBE_SECONDS,
            limit=4096,
            launch=confining.launch,
        )
        name = program or backend.name
        if isinstance(came, SpawnProblem):
            return came.message
        if came.timed_out:
            return f"{name} did not answer for {PROBE_SECONDS:g} s"
        if came.code != 0:
            said = " ".join((came.stderr or came.stdout).decode("utf-8", "replace").split())[:_LONGEST]
            return f"{name} cannot be used here: {said or f'exit code {came.code}'}"
        return None


def _with_own_program(
    argv: Sequence[str], env: Mapping[str, str], cwd: Path, folders: Sequence[Path]
) -> list[str]:
    """A command line whose program is no file of the workspace. Blocks."""
    roots = [str(folder.resolve()) for folder in folders]
    return [own_program(argv[0], env.get("PATH", ""), str(cwd), roots), *argv[1:]]


def _program(backend: Backend, env: Mapping[str, str], cwd: Path, folders: Sequence[Path]) -> str:
    """The program of a backend, which is no file of the workspace either; empty if it needs none. Blocks."""
    if backend.program is None:
        return ""
    roots = [str(folder.resolve()) for folder in folders]
    return own_program(backend.program, env.get("PATH", ""), str(cwd), roots)


def _masked(
    backend: Backend,
    program: str,
    confinement: Confinement,
    network: Network | None,
    cwd: str,
    argv: Sequence[str],
    folders: Sequence[Path],
) -> Confining | SpawnProblem:
    """How to run a command with the sockets masked that it could see now. Blocks."""
    if backend.shows_sockets:
        try:
            listing = sockets.LISTING.read_text("utf-8", "surrogateescape")
        except OSError as problem:
            return SpawnProblem(f"the sockets of this machine cannot be listed: {problem.strerror}")
        masked = confinement.masking(sockets.listening(folders, listing))
        if len(masked.places) > len(confinement.places) + _MOST_MASKED:
            return SpawnProblem("there are too many sockets in folders visible to it")
        confinement = masked
    return _joining(backend.confine(confinement, program, cwd, argv), network)


def _joining(confining: Confining, network: Network | None) -> Confining:
    """The same, with the network that it joins; a backend says only that it joins one, and that alone would not start."""
    if network is None or confining.launch is None or confining.launch.network is None:
        return confining
    return replace(confining, launch=confining.launch._replace(network=network))


def _environment(backend: Backend, env: Mapping[str, str], confinement: Confinement) -> dict[str, str]:
    if backend.has_own_tmp:
        return environment_in(env, None, None)
    return environment_in(env, confinement.tmp, confinement.read_tmp)


def _facts(
    backend: Backend,
    confinement: Confinement,
    network: Network | None,
    hosts: Sequence[str],
    *,
    may_leave: bool,
) -> Facts:
    is_open = confinement.network == "open"
    protected = {place.path for place in confinement.places if place.kind == "protected"}
    return Facts(
        backend=backend.name,
        writable=tuple(path for path in confinement.writable if not _is_within(path, confinement.writable)),
        network="full" if is_open else "none" if network is None else "loopback",
        hosts=confinement.hosts,
        closed_hosts=tuple(host for host in hosts if host not in confinement.hosts),
        tmp="" if confinement.tmp is None else TEMPORARY[0] if backend.has_own_tmp else confinement.tmp,
        git_is_read_only=backend.holds_protected and any(path.endswith("/.git") for path in protected),
        home_is_hidden=confinement.kind_of(os.path.realpath(confinement.home)) == "hidden",
        may_leave=may_leave,
    )


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(path.startswith(f"{folder}/") for folder in folders)


def _told(backend: Backend, confinement: Confinement, unenforced: Sequence[str], hosts: Sequence[str]) -> str:
    network = (
        "with the network"
        if confinement.network == "open"
        else f"without network but {', '.join(confinement.hosts)}"
        if confinement.hosts
        else "without network"
    )
    told = f"Sandboxed by {backend.name}: it can write only in the workspace, and runs {network}."
    if hosts and not confinement.hosts and confinement.network != "open":
        told = f"{told} {NO_WAY}"
    return f"{told} Limits of this sandbox: {'; '.join(unenforced)}." if unenforced else told


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or Path.home())


def _paths(named: Sequence[str], home: Path) -> list[Path]:
    """The folders that the user names, absolute or from `~` on."""
    paths = [home / text[2:] if text.startswith("~/") else Path(text) for text in named]
    return [path for path in paths if path.is_absolute()]


def _without(reason: str, *, refused: bool) -> str:
    if refused:
        return f"Not run: the setting `sandbox` requires one, and {reason}."
    return f"Not sandboxed: {reason}."
