"""The server's side of its child processes: starts the supervisor program, and commands through it.

A command's output comes through pipes made here, whose other ends travel to the supervisor; orders and the
exit travel over a channel of the command's own. Nothing here blocks, and nothing else in Outrider starts a
process.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from marshal import dumps
from pathlib import Path
from typing import IO, Any

from outrider.ports.clock import Clock
from outrider.ports.outside import Watched
from outrider.processes.launcher import Launch, Rules
from outrider.processes.supervisor_main import (
    ASK_SECONDS,
    BEAT,
    BEAT_SECONDS,
    COMMAND,
    GIVE_UP_SECONDS,
    GRACE_SECONDS,
    HEADER_BYTES,
    NETWORK,
    STALL_SECONDS,
    WATCH,
)

_log = logging.getLogger(__name__)

_PROGRAM = Path(__file__).with_name("supervisor_main.py")
_START = "import sys; sys.path.append(sys.argv[1][: -len('/supervisor_main.py')]); import supervisor_main; supervisor_main.main()"
"""Imported, since what is run as a script is compiled anew each time, which takes longer than all the rest of its start."""
_START_SECONDS = 10.0
"""A machine under load may take this long to start a process; then something is wrong."""
_OF_INTERPRETER = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")
_CLOSE_SECONDS = 1.0
_WAKE_SECONDS = 1.0
"""How long a command may take to start until it may have stopped its watcher before that could say so."""
_STARTS_AT_ONCE = 8
"""Bounds the descriptors on their way and the messages the supervisor has not taken yet."""


@dataclass(frozen=True, slots=True)
class SpawnProblem:
    """Why a command was not started; `message` is fit for the user and the model."""

    message: str


@dataclass(frozen=True, slots=True)
class Exit:
    """How a command's own process ended. Neither code nor signal: it was lost with its supervisor."""

    code: int | None
    signal: int | None
    left_behind: int = 0
    """Descendants that outlived it by more than a moment; they were ended with it."""
    survived: int = 0
    """Processes that could not be ended: another user's, or hanging in the kernel."""

    @property
    def lost(self) -> bool:
        """Whether nobody saw how it ended."""
        return self.code is None and self.signal is None


def can_run_commands(platform: str = sys.platform) -> bool:
    """Whether commands can be run and ended with all they start; not on Windows, which has no such sessions."""
    return platform != "win32"


class Network:
    """A network that has a loopback and leads nowhere, for several commands. It lasts until it is closed, or this process ends."""

    def __init__(self, user: int, network: int, gate: int) -> None:
        """Keep it by the descriptors of its namespaces, which are its own from now on, as that of its gate is."""
        self._namespaces: tuple[int, ...] = (user, network)
        self.gate = socket.socket(fileno=gate)
        """A socket in it, which is bound, and listens for nobody yet."""

    def handed(self, owner: ExitStack) -> list[int]:
        """Copies of the descriptors, which `owner` closes. OSError where it is closed."""
        if not self._namespaces:
            raise OSError("the network of the session is closed")
        copies: list[int] = []
        for fd in self._namespaces:
            copies.append(os.dup(fd))
            owner.callback(os.close, copies[-1])
        return copies

    def close(self) -> None:
        """Let go of it: it ends with the last command in it."""
        closed, self._namespaces = self._namespaces, ()
        for fd in closed:
            os.close(fd)
        self.gate.close()


class _Pipe:
    """The reading end of an output pipe, for one reader at a time."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._file = open(fd, "rb", buffering=0)  # noqa: SIM115 - lives as long as the command
        self._waiter: asyncio.Future[None] | None = None
        self._complete = False

    async def read(self, limit: int) -> bytes:
        # Lets others run even while there is always more; before the read, so that a cancel loses nothing.
        await asyncio.sleep(0)
        while not self._file.closed:
            complete = self._complete
            chunk = self._file.read(limit)
            if chunk:
                return chunk
            if chunk is None and not complete:
                await self._readable()
                continue
            self.discard()
        return b""

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        loop.add_reader(self._file, self._wake)
        try:
            await waiter
        finally:
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.get_loop().remove_reader(self._file)
            if not waiter.done():
                waiter.set_result(None)

    def complete(self) -> None:
        """All that will ever come is in the pipe, even if somebody unknown still holds its other end."""
        self._complete = True
        self._wake()

    def discard(self) -> None:
        self._wake()
        self._file.close()


class Process:
    """A command that was started, with everything it starts."""

    def __init__(
        self,
        channel: socket.socket,
        output: int,
        error: int | None,
        clock: Clock,
        ended: "Callable[[Process], None]",
    ) -> None:
        self.pid = 0
        """Process id of the command itself."""
        self._watcher = 0
        self._used: asyncio.Future[float] | None = None
        loop = asyncio.get_running_loop()
        channel.setblocking(False)
        self._channel = channel
        self._output = _Pipe(output)
        self._error = None if error is None else _Pipe(error)
        self._clock = clock
        self._on_end = ended
        self._reports = b""
        self._started: asyncio.Future[SpawnProblem | None] = loop.create_future()
        self._ended: asyncio.Future[Exit] = loop.create_future()
        loop.add_reader(channel, self._hear)

    async def read(self, limit: int = 65536) -> bytes:
        """The next output, at most `limit` bytes; b"" at the end, which comes with the command's at the latest."""
        return await self._output.read(limit)

    async def read_error(self, limit: int = 65536) -> bytes:
        """The same for standard error; b"" where it was merged into the output."""
        return b"" if self._error is None else await self._error.read(limit)

    async def wait(self) -> Exit:
        """Wait until the command and all it started are gone.

        What its own process leaves behind is ended (TERM, then KILL), so this returns soon after that. It
        does not wait for the output to be read, and a command whose full pipe nobody reads does not end.
        """
        return await asyncio.shield(self._ended)

    async def kill(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End the command: TERM to each of its processes, KILL after the grace to what is left.

        Returns when none is left; cancelling the call does not take back the order. What was written until
        then can still be read.
        """
        if not self._ended.done():
            with suppress(OSError):
                self._channel.send(f"kill {grace_seconds:.3f}\n".encode())
            self.wake()
        await self._await_end(grace_seconds)

    async def seconds_used(self) -> float | None:
        """Seconds of processor time that it and all it started have used; None if nobody can tell in time."""
        if self._ended.done():
            return None
        answer = self._used = asyncio.get_running_loop().create_future()
        with suppress(OSError, TimeoutError):
            self._channel.send(ASK_SECONDS)
            async with self._clock.timeout(GIVE_UP_SECONDS):
                return await answer
        return None

    def wake(self) -> None:
        """Have who ends the command go on, if the command has stopped it."""
        if self._watcher and not self._ended.done():
            with suppress(OSError):
                os.kill(self._watcher, signal.SIGCONT)

    def discard(self) -> None:
        """Close the output; whatever was not read is lost. For whoever does not read to the end."""
        self._output.discard()
        if self._error is not None:
            self._error.discard()

    async def launch(self, request: bytes) -> SpawnProblem | None:
        """Hand the request to the watcher and wait until the command runs, or is known not to."""
        try:
            with suppress(OSError):  # the watcher is gone: the end of the channel says so
                await asyncio.get_running_loop().sock_sendall(self._channel, request)
            waking = asyncio.get_running_loop().call_later(_WAKE_SECONDS, self.wake)
            try:
                problem = await asyncio.shield(self._started)
            finally:
                waking.cancel()
        except BaseException:
            # Half a request cannot be followed by an order; the end of the channel is one.
            with suppress(OSError):
                self._channel.shutdown(socket.SHUT_WR)
            self.wake()
            await self._await_end(GRACE_SECONDS)
            self.discard()
            raise
        if problem is not None:
            self.abandon()
        return problem

    def abandon(self) -> None:
        """Let go of everything; if the command still runs, its watcher ends it."""
        self._finish(Exit(None, None))
        self.discard()

    async def _await_end(self, grace_seconds: float) -> None:
        try:
            # The watcher gives up by itself; longer than that means it is stopped.
            async with self._clock.timeout(grace_seconds + 3 * GIVE_UP_SECONDS):
                await asyncio.shield(self._ended)
        except TimeoutError:
            self._end_group()
            self.wake()
            self._finish(Exit(None, None))

    def _end_group(self) -> None:
        """End what is left of the command where its watcher cannot: it is stopped again and again, or was killed with the supervisor."""
        if not self.pid or self._ended.done():
            return
        with suppress(ProcessLookupError):
            if os.getsid(self.pid) != self.pid:
                return  # the number is somebody else's by now
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)

    def _hear(self) -> None:
        try:
            received = self._channel.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            received = b""
        if not received:
            self._end_group()
            self._finish(Exit(None, None))
            return
        *lines, self._reports = (self._reports + received).split(b"\n")
        for line in lines:
            word, _, rest = line.decode("utf-8", "replace").partition(" ")
            if word == "ended":
                code, number, left_behind, survived = rest.split()
                self._finish(
                    Exit(
                        None if code == "-" else int(code),
                        None if number == "-" else int(number),
                        int(left_behind),
                        int(survived),
                    )
                )
            elif word == "watched":
                self._watcher = int(rest)
            elif word == "used":
                if self._used is not None and not self._used.done():
                    self._used.set_result(float(rest))
            elif not self._started.done():
                if word == "started":
                    self.pid = int(rest)
                self._started.set_result(SpawnProblem(rest) if word == "problem" else None)

    def _finish(self, ended: Exit) -> None:
        if self._ended.done():
            return
        self._ended.get_loop().remove_reader(self._channel)
        self._channel.close()
        self._ended.set_result(ended)
        if not self._started.done():
            self._started.set_result(
                SpawnProblem("the supervisor of commands ended before the command began")
            )
        self._output.complete()
        if self._error is not None:
            self._error.complete()
        self._on_end(self)


@dataclass(frozen=True, slots=True)
class _Helper:
    """The supervisor program as it runs."""

    control: socket.socket
    program: subprocess.Popen[bytes]


class Supervisor:
    """Starts commands, and ends them with the server. One for the whole server; begins at the first command."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._processes: dict[Process, None] = {}
        self._helper: asyncio.Task[_Helper] | None = None
        self._starts = asyncio.Semaphore(_STARTS_AT_ONCE)
        self._collecting: set[asyncio.Task[None]] = set()
        self._closed = False
        self._watching: asyncio.Task[None] | None = None

    def watch(self, watched: Watched) -> None:
        """Have the supervisor program watch this process: say where it stands still, and end it if it was asked to end.

        Args:
            watched: What can be seen of the process from outside.
        """
        if can_run_commands() and self._watching is None:
            # Written in C, by the thread that stands still, whoever holds the interpreter's lock.
            faulthandler.register(signal.SIGUSR1, file=watched.log, all_threads=False)
            self._watching = asyncio.create_task(self._beat(watched))

    async def _beat(self, watched: Watched) -> None:
        told: _Helper | None = None
        while True:
            with suppress(OSError):  # the next supervisor is told again
                helper = await self._running_helper()
                if helper is not told:
                    socket.send_fds(helper.control, [WATCH], [watched.input, watched.signals, watched.log])
                    told = helper
                helper.control.send(BEAT)
            slept = self._clock.monotonic()
            await self._clock.sleep(BEAT_SECONDS)
            late = self._clock.monotonic() - slept - BEAT_SECONDS
            if late > STALL_SECONDS:
                _log.warning("the event loop responds again, after %.1f s", late)

    @property
    def running(self) -> tuple[Process, ...]:
        """The commands that have not ended, the oldest first."""
        return tuple(self._processes)

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes | int | None = None,
        merge_stderr: bool = True,
        memory: int | None = None,
        launch: Launch | None = None,
    ) -> Process | SpawnProblem:
        """Start a command in a session of its own, with no descriptor but 0, 1 and 2.

        Args:
            argv: The program, looked for in the PATH of `env`, and its arguments.
            cwd: Where it runs.
            env: Its whole environment.
            stdin: What it can read; or an open descriptor, which stays the caller's, that becomes its standard input. Absent, it
                is /dev/null.
            merge_stderr: Whether what it writes to standard error comes with the output, in order.
            memory: How many bytes of data it may have, as far as the system can tell (`RLIMIT_DATA`).
            launch: What is done to its process before the program is executed; Linux only.

        Returns:
            The running command; or why there is none: no such program or folder, arguments too long, an
            unsupported platform, a supervisor that does not start.
        """
        if not can_run_commands():
            return SpawnProblem("commands need Linux or macOS")
        if not argv:
            return SpawnProblem("the command is empty")
        try:
            request = dumps((tuple(argv), str(cwd), dict(env), memory, _plain(launch)))
            async with self._starts, self._clock.timeout(_START_SECONDS):
                if self._closed:
                    return SpawnProblem("the server is closing")
                with ExitStack() as handed_over:
                    network: Network | None = launch.network or None if launch else None
                    joined = network.handed(handed_over) if network else []
                    process = await self._open(stdin, merge_stderr, joined, handed_over)
                return await process.launch(len(request).to_bytes(HEADER_BYTES, "big") + request) or process
        except TimeoutError:
            return SpawnProblem(f"the supervisor of commands did not answer for {_START_SECONDS:.0f} s")
        except OSError as error:
            return SpawnProblem(f"the command could not be started: {error.strerror or error}")

    async def close(self) -> None:
        """End every command and the supervisor; takes at most about a second."""
        self._closed = True
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait({self._watching})
        if self._helper is not None:
            with suppress(OSError):
                helper = await asyncio.shield(self._helper)
                self._let_go(helper)
        if self._collecting:
            await asyncio.gather(*self._collecting)
        for process in self.running:
            process.abandon()

    async def network(self) -> Network | SpawnProblem:
        """Make a network for several commands (`Launch.network`): with a loopback, and no way out; or why there can be none."""
        if not sys.platform.startswith("linux"):
            return SpawnProblem(f"{sys.platform} has no networks for single programs")
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            try:
                with theirs:
                    await self._send([theirs.fileno()], NETWORK)
                async with self._clock.timeout(_START_SECONDS):
                    await _readable(ours)
                said, made, _, _ = socket.recv_fds(ours, 4096, 3)
            except TimeoutError:
                return SpawnProblem(f"the supervisor of commands did not answer for {_START_SECONDS:.0f} s")
            except OSError as error:
                return SpawnProblem(f"no network could be made: {error.strerror or error}")
        if len(made) != 3:
            reason = said.decode("utf-8", "replace").removeprefix("problem ").strip()
            return SpawnProblem(f"no network could be made: {reason or 'the supervisor ended'}")
        for fd in made:
            os.set_inheritable(fd, False)
        return Network(*made)

    async def _open(
        self, stdin: bytes | int | None, merge_stderr: bool, joined: Sequence[int], handed_over: ExitStack
    ) -> Process:
        files = [await _input_file(stdin, handed_over)]
        channel, theirs = socket.socketpair()
        handed_over.callback(theirs.close)
        pipes: list[int] = []
        try:
            for _ in range(1 if merge_stderr else 2):
                reading, writing = os.pipe()
                handed_over.callback(os.close, writing)
                pipes.append(reading)
                files.append(writing)
            await self._send([*[theirs.fileno(), *files, files[1]][:4], *joined], COMMAND)
        except BaseException:
            channel.close()
            for reading in pipes:
                os.close(reading)
            raise
        process = Process(channel, pipes[0], None if merge_stderr else pipes[1], self._clock, self._forget)
        self._processes[process] = None
        return process

    def _forget(self, process: Process) -> None:
        del self._processes[process]

    async def _send(self, fds: Sequence[int], message: bytes) -> None:
        """Give the descriptors to the supervisor; to a new one if the last has died and nobody saw it yet."""
        helper = await self._running_helper()
        _go_on(helper)
        try:
            socket.send_fds(helper.control, [message], fds)
        except (BrokenPipeError, ConnectionResetError):
            self._let_go(helper)
            helper = await self._running_helper()
            socket.send_fds(helper.control, [message], fds)

    async def _running_helper(self) -> _Helper:
        starting = self._helper
        if starting is None:
            starting = self._helper = asyncio.create_task(self._start_helper())
        try:
            # A cancelled caller leaves it to the next one, and to `close`.
            return await asyncio.shield(starting)
        except OSError:
            if self._helper is starting:
                self._helper = None
            raise

    async def _start_helper(self) -> _Helper:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            try:
                program = await asyncio.to_thread(_start_program, theirs)
            except BaseException:
                ours.close()
                raise
        helper = _Helper(ours, program)
        # It never writes: what can be read is its end.
        asyncio.get_running_loop().add_reader(ours, self._let_go, helper)
        return helper

    def _let_go(self, helper: _Helper) -> None:
        if helper.control.fileno() == -1:
            return
        asyncio.get_running_loop().remove_reader(helper.control)
        helper.control.close()
        _go_on(helper)
        for process in self.running:
            process.wake()
        self._helper = None
        collecting = asyncio.create_task(asyncio.to_thread(_collect, helper.program))
        self._collecting.add(collecting)
        collecting.add_done_callback(self._collecting.discard)


async def _readable(channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(channel, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(channel)


def _plain(launch: Launch | None) -> tuple[Any, ...] | None:
    """As `marshal` takes it, which knows no types but those of Python itself."""
    if launch is None:
        return None
    # Descriptors travel beside the request.
    joins = None if launch.network is None else ()
    return tuple(tuple(part) if isinstance(part, Rules) else part for part in launch._replace(network=joins))


def _go_on(helper: _Helper) -> None:
    """Have the supervisor go on, if a command has stopped it."""
    with suppress(OSError):
        helper.program.send_signal(signal.SIGCONT)


def _start_program(control: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        # The same mode, so that both ends encode the names of files alike.
        [sys.executable, "-I", "-S", "-E", "-X", f"utf8={sys.flags.utf8_mode}", "-c", _START, str(_PROGRAM)],
        stdin=control.fileno(),
        stdout=subprocess.DEVNULL,
        cwd="/",
        # Its environment can be read by every command, in /proc: it has none but what finds the interpreter's libraries.
        env={name: os.environ[name] for name in _OF_INTERPRETER if name in os.environ},
        start_new_session=True,
    )


def _collect(program: subprocess.Popen[bytes]) -> None:
    try:
        program.wait(_CLOSE_SECONDS)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


async def _input_file(content: bytes | int | None, owner: ExitStack) -> int:
    """A descriptor with `content` to read: a file without a name, so that nobody has to feed it."""
    if isinstance(content, int):
        return content
    if content is None:
        fd = os.open(os.devnull, os.O_RDONLY)
        owner.callback(os.close, fd)
        return fd
    file = await asyncio.to_thread(_filled, content)
    owner.callback(file.close)
    return file.fileno()


def _filled(content: bytes) -> IO[bytes]:
    # In memory where the system can: what is sent to a command may not be fit to lie on a disk.
    file = open(os.memfd_create("stdin"), "w+b") if sys.platform == "linux" else tempfile.TemporaryFile()  # noqa: SIM115, PTH123 - the caller owns it
    try:
        file.write(content)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file
