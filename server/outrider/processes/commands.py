"""Runs one command to its end: with time-outs and streamed text, or for what it prints.

On every way out, a cancel included, no process of the command is left.
"""

import asyncio
import codecs
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from outrider.ports.clock import Clock
from outrider.processes.alone import printed
from outrider.processes.launcher import Launch
from outrider.processes.supervisor import Exit, Process, SpawnProblem, Supervisor, can_run_commands

_BROKEN_END = re.compile(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z")
_BROKEN_START = re.compile(rb"\A[\x80-\xbf]{1,3}")


class Capture:
    """An output as it comes: the first half of `limit` bytes and the last half."""

    def __init__(self, limit: int) -> None:
        self._head_limit = (limit + 1) // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._total += len(chunk)
        room = self._head_limit - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cut rarely: each cut moves what stays.
        if len(self._tail) > 2 * self._tail_limit + 65536:
            self._cut()

    @property
    def truncated(self) -> bool:
        """Whether something is missing."""
        return self._total > self._head_limit + self._tail_limit

    def text(self) -> str:
        """What was kept, decoded; what is missing is marked with its size."""
        self._cut()
        if not self.truncated:
            return (self._head + self._tail).decode("utf-8", "replace")
        # A character that the cut went through counts as missing, instead of showing as damage.
        head = _without_broken_end(bytes(self._head))
        tail = _BROKEN_START.sub(b"", bytes(self._tail))
        missing = self._total - len(head) - len(tail)
        return f"{head.decode('utf-8', 'replace')}\n[… {missing} bytes are missing here …]\n{tail.decode('utf-8', 'replace')}"

    def _cut(self) -> None:
        del self._tail[: max(0, len(self._tail) - self._tail_limit)]


def _without_broken_end(head: bytes) -> bytes:
    end = _BROKEN_END.search(head)
    if end is None:
        return head
    try:
        end.group().decode()
    except UnicodeDecodeError:
        return head[: end.start()]
    return head


CommandStatus = Literal["exited", "killed_timeout", "killed_idle", "killed_full", "cancelled", "lost"]

_ERROR_LIMIT = 65536
_MOST_BYTES = 16384
_FEWEST_BYTES = 1024
"""Bytes of output that are passed on at once. What looks for secrets in them holds up everybody else meanwhile: the longer it took, the fewer come next."""
_BEGIN = 0.125
"""The part of the idle time after which it is first looked how much a silent command has computed."""
_COMPUTES = 0.01
"""The part of the idle time that a command which is at work computes at least: what only waits looks up now and then."""
_FULL_SECONDS = 2.0
"""How often it is looked whether a command has filled its temporary folder."""
_LONG_SECONDS = 0.004
_SHORT_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What came of a command."""

    status: CommandStatus
    exit: Exit | None
    """None when it was lost: nobody knows how it ended."""
    output: str
    """Head and tail where it was longer than allowed, with a mark between them."""
    truncated: bool
    seconds: float
    left_behind: int
    """Processes it left running, which were ended with it."""


@dataclass(frozen=True, slots=True)
class Collected:
    """What a program printed."""

    code: int | None
    """None when it was ended by a signal, ours or another."""
    stdout: bytes
    stderr: bytes
    truncated: bool
    """It was stopped because it printed as much as was wanted."""
    timed_out: bool = False


async def run_command(
    supervisor: Supervisor,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    clock: Clock,
    stdin: bytes | None = None,
    total_seconds: float | None,
    idle_seconds: float | None,
    output_limit: int,
    on_output: Callable[[str], None] | None = None,
    on_start: Callable[[], None] | None = None,
    launch: Launch | None = None,
    is_full: Callable[[], Awaitable[bool]] | None = None,
) -> CommandResult | SpawnProblem:
    """Run a command to its end, or to the end of its time.

    Args:
        supervisor: Starts it.
        argv: See `Supervisor.spawn`; `cwd`, `env` and `stdin` too.
        cwd: Where it runs.
        env: Its whole environment.
        clock: Counts its time.
        stdin: What it can read.
        total_seconds: The most it may take; None for no limit.
        idle_seconds: The longest that it and all it started may neither print nor compute; None for no limit.
        output_limit: How many bytes of its output are kept.
        on_output: Called with each piece of the whole output, in order, as text.
        on_start: Called when it runs.
        launch: See `Supervisor.spawn`.
        is_full: Asked now and then whether it has to end because it has written more temporary files than it may.

    Returns:
        What came of it, or why it was not started. A cancel ends the command before it goes on.
    """
    began = clock.monotonic()
    process = await supervisor.spawn(argv, cwd=cwd, env=env, stdin=stdin, launch=launch)
    if isinstance(process, SpawnProblem):
        return process
    if on_start is not None:
        on_start()
    capture = Capture(output_limit)
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def take(chunk: bytes) -> None:
        capture.feed(chunk)
        text = decoder.decode(chunk, final=not chunk)
        if text and on_output is not None:
            on_output(text)

    async def take_rest() -> None:
        while chunk := await process.read(_FEWEST_BYTES):
            take(chunk)

    status: CommandStatus = "exited"
    full = asyncio.Event()
    filling = None if is_full is None else asyncio.create_task(_until_full(process, clock, is_full, full))
    try:
        try:
            async with clock.timeout(total_seconds):
                if not await _follow(process, clock, idle_seconds, take):
                    status = "killed_idle"
        except TimeoutError:
            status = "killed_timeout"
        if status != "exited":
            await asyncio.gather(process.kill(), take_rest())
        take(b"")
        ended = await process.wait()
        if full.is_set():
            status = "killed_full"
    except BaseException:
        await process.kill()
        raise
    finally:
        process.discard()
        if filling is not None:
            filling.cancel()
            await asyncio.wait([filling])
    return CommandResult(
        status="lost" if ended.lost else status,
        exit=None if ended.lost else ended,
        output=capture.text(),
        truncated=capture.truncated,
        seconds=clock.monotonic() - began,
        left_behind=ended.left_behind,
    )


async def _until_full(
    process: Process, clock: Clock, is_full: Callable[[], Awaitable[bool]], full: asyncio.Event
) -> None:
    """End a process, and set `full`, as soon as that says so."""
    while not full.is_set():
        try:
            async with clock.timeout(_FULL_SECONDS):
                await process.wait()
                return
        except TimeoutError:
            if await is_full():
                full.set()
                await process.kill()


async def _follow(
    process: Process, clock: Clock, idle_seconds: float | None, take: Callable[[bytes], None]
) -> bool:
    """Take the output until the command has ended; False if it was silent for too long, and computed nothing meanwhile."""
    size = _FEWEST_BYTES
    used: float | None = None
    """What it had computed when its silence had just begun."""
    while True:
        begins = used is None
        patience = None if idle_seconds is None else idle_seconds * (_BEGIN if begins else 1 - _BEGIN)
        try:
            async with clock.timeout(patience):
                chunk = await process.read(size)
                if not chunk:
                    await process.wait()
        except TimeoutError:
            now = await process.seconds_used() or 0.0
            if used is not None and now - used < _COMPUTES * (idle_seconds or 0):
                return False
            used = now
            continue
        if not chunk:
            return True
        used = None
        began = clock.monotonic()
        take(chunk)
        took = clock.monotonic() - began
        if took > _LONG_SECONDS:
            size = max(_FEWEST_BYTES, size // 2)
            await asyncio.sleep(0)  # what is in the pipe already is read without a wait
        elif took < _SHORT_SECONDS:
            size = min(_MOST_BYTES, size * 2)


async def collect(
    supervisor: Supervisor,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    clock: Clock,
    stdin: bytes | None = None,
    seconds: float,
    limit: int,
    memory: int | None = None,
    launch: Launch | None = None,
) -> Collected | SpawnProblem:
    """Run a program for what it prints, and stop it when that is enough.

    Args:
        supervisor: Starts it.
        argv: See `Supervisor.spawn`; `cwd`, `env` and `stdin` too.
        cwd: Where it runs.
        env: Its whole environment.
        clock: Counts its time.
        stdin: What it can read.
        seconds: The most it may take.
        limit: How many bytes of standard output are wanted.
        memory: See `Supervisor.spawn`.
        launch: See `Supervisor.spawn`.

    Returns:
        What it printed until it ended or was stopped, or why it was not started. A cancel ends it.
    """
    if not can_run_commands():
        return await _collect_alone(
            argv, cwd=cwd, env=env, clock=clock, stdin=stdin, seconds=seconds, limit=limit
        )
    process = await supervisor.spawn(
        argv, cwd=cwd, env=env, stdin=stdin, merge_stderr=False, memory=memory, launch=launch
    )
    if isinstance(process, SpawnProblem):
        return process
    stdout = bytearray()
    stderr = bytearray()

    async def read_output() -> None:
        # One byte more than is wanted tells "just enough" from "too much".
        while len(stdout) <= limit and (chunk := await process.read()):
            stdout.extend(chunk)
        if len(stdout) > limit:
            await process.kill()

    async def read_error() -> None:
        while chunk := await process.read_error():
            stderr.extend(chunk[: _ERROR_LIMIT - len(stderr)])

    timed_out = False
    try:
        try:
            async with clock.timeout(seconds):
                await asyncio.gather(read_output(), read_error())
                await process.wait()
        except TimeoutError:
            timed_out = True
            await process.kill()
        ended = await process.wait()
    except BaseException:
        await process.kill()
        raise
    finally:
        process.discard()
    return Collected(
        code=ended.code,
        stdout=bytes(stdout[:limit]),
        stderr=bytes(stderr),
        truncated=len(stdout) > limit,
        timed_out=timed_out,
    )


async def _collect_alone(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    clock: Clock,
    stdin: bytes | None,
    seconds: float,
    limit: int,
) -> Collected | SpawnProblem:
    came = await printed(argv, cwd=cwd, env=env, clock=clock, stdin=stdin, seconds=seconds, limit=limit + 1)
    if isinstance(came, str):
        return SpawnProblem(came)
    return Collected(
        code=came.code,
        stdout=came.stdout[:limit],
        stderr=came.stderr[:_ERROR_LIMIT],
        truncated=len(came.stdout) > limit,
        timed_out=came.timed_out,
    )
