"""The two ways a fake editor reaches a server: inside this process, and over the pipes of a child process.

A connection carries messages and nothing else; what they mean is not its business.
"""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, cast

from outrider.transport.connection import Outgoing

Object = dict[str, Any]

KILL_SECONDS: Final = 10.0
"""Real seconds a server may take to end after `exit` or the end of its input, before it is killed."""
STDERR_LINES: Final = 40


class Connection(Protocol):
    """A way to a server."""

    on_message: Callable[[Object], None]
    """Called on the event loop with each message of the server, in order."""
    on_end: Callable[[str], None]
    """Called once when the server is gone, with what is known about why."""
    fault: str | None
    """What is wrong with how the server ended; None while nothing is."""

    async def start(self) -> None:
        """Reach the server."""
        ...

    def send(self, message: Object) -> None:
        """Send a message; never waits."""
        ...

    def pause_reading(self) -> None:
        """Take no more messages from the server."""
        ...

    def resume_reading(self) -> None:
        """Take messages again."""
        ...

    async def close(self) -> int | None:
        """Wait for the server to end after `exit`; gives its exit code where it is a process."""
        ...


class EmbeddedServer(Protocol):
    """A server that lives in this process."""

    def receive(self, body: bytes) -> None:
        """Take the JSON text of one message; called on the event loop."""
        ...

    async def close(self) -> None:
        """Let go of everything, whether or not `shutdown` was asked for."""
        ...


EmbeddedServerFactory = Callable[[Outgoing], EmbeddedServer]
"""Builds a server that sends its messages where it is told."""


def _nobody(message: Object) -> None:
    raise RuntimeError(f"nobody listens: {message}")


def _unheard(reason: str) -> None:
    pass


class InProcess:
    """A server object of this process. Messages go through JSON, as they would over a pipe."""

    def __init__(self, build: EmbeddedServerFactory) -> None:
        """A connection to the server that `build` makes."""
        self.on_message: Callable[[Object], None] = _nobody
        self.on_end: Callable[[str], None] = _unheard
        self.fault: str | None = None
        self._build = build
        self._server: EmbeddedServer | None = None
        self._pipe = _Pipe(lambda body: self.on_message(json.loads(body)))

    async def start(self) -> None:
        """Build the server."""
        self._pipe.open()
        self._server = self._build(self._pipe)

    def send(self, message: Object) -> None:
        """Send a message; never waits."""
        self.send_body(encoded(message))

    def send_body(self, body: bytes) -> None:
        """Send exactly this body, however wrong."""
        if self._server is not None:
            asyncio.get_running_loop().call_soon(self._server.receive, body)

    def pause_reading(self) -> None:
        """Take no more messages from the server."""
        self._pipe.pause()

    def resume_reading(self) -> None:
        """Take messages again."""
        self._pipe.resume()

    async def close(self) -> int | None:
        """Close the server; until that is done it still gets the answers to what it asked."""
        if self._server is not None:
            await self._server.close()
        self._server = None
        self.on_end("closed")
        return None


class _Pipe:
    """Carries bodies to the editor, in later turns of the event loop, and keeps them while nobody reads."""

    def __init__(self, deliver: Callable[[bytes], None]) -> None:
        self._deliver = deliver
        self._waiting: deque[bytes] = deque()
        self._taken = 0
        self._given = 0
        self._drained: list[Callable[[], None]] = []
        self._reading = True
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def backlog(self) -> int:
        """Bytes that nobody has read."""
        return self._taken - self._given

    def open(self) -> None:
        """Deliver on the running event loop from now on."""
        self._loop = asyncio.get_running_loop()

    def send(self, body: bytes) -> None:
        """Take one message."""
        self._taken += len(body)
        self._waiting.append(body)
        self._wake()

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call back once, when nothing waits."""
        self._drained.append(callback)
        self._wake()

    def pause(self) -> None:
        """Stop reading."""
        self._reading = False

    def resume(self) -> None:
        """Read again."""
        self._reading = True
        self._wake()

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._move)

    def _move(self) -> None:
        while self._reading and self._waiting:
            body = self._waiting.popleft()
            self._given += len(body)
            self._deliver(body)
        if not self._waiting:
            drained, self._drained = self._drained, []
            for callback in drained:
                callback()


class Stdio:
    """A server in a child process, spoken to over its standard input and output (LSP 3.17, "Base Protocol")."""

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        env: Mapping[str, str] | None = None,
        inherit: bool = True,
        cwd: Path | None = None,
    ) -> None:
        """A connection to a new process.

        Args:
            command: Its argv; None for `python -m outrider serve`.
            env: Its variables.
            inherit: Whether it has those of this process besides.
            cwd: Its working folder; None for this process's.
        """
        self.on_message: Callable[[Object], None] = _nobody
        self.on_end: Callable[[str], None] = _unheard
        self.fault: str | None = None
        self.stderr: deque[str] = deque(maxlen=STDERR_LINES)
        """The last lines of the server's standard error."""
        self._command = tuple(command or (sys.executable, "-m", "outrider", "serve"))
        self._env = {**(os.environ if inherit else {}), **(env or {})}
        self._cwd = cwd
        self._process: asyncio.subprocess.Process | None = None
        self._may_end = False
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def process(self) -> asyncio.subprocess.Process:
        """The server's process. Raises RuntimeError before `start`."""
        if self._process is None:
            raise RuntimeError("the server has not been started")
        return self._process

    async def start(self) -> None:
        """Start the process."""
        self._process = await asyncio.create_subprocess_exec(
            *self._command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._env,
            cwd=self._cwd,
            start_new_session=True,
        )
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._read_stderr())]

    def send(self, message: Object) -> None:
        """Send a message; never waits."""
        self.send_bytes(frame(message))

    def send_bytes(self, content: bytes) -> None:
        """Send exactly these bytes, however wrong."""
        stdin = self.process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(content)

    def end_input(self) -> None:
        """Close the server's standard input, as an editor does that dies."""
        self._may_end = True
        if self.process.stdin is not None:
            self.process.stdin.close()

    def pause_reading(self) -> None:
        """Read no more from the pipe, so that it fills up."""
        self._may_read.clear()

    def resume_reading(self) -> None:
        """Read again."""
        self._may_read.set()

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Send the process a signal."""
        self._may_end = True
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def wait(self, seconds: float = KILL_SECONDS) -> int:
        """Wait for the process to end by itself; gives its exit code, negative for a signal.

        Raises:
            TimeoutError: It is still running after `seconds` (real time).
        """
        async with asyncio.timeout(seconds):
            return await self.process.wait()

    async def close(self) -> int | None:
        """Wait for the process to end after `exit`, or kill it; gives its exit code."""
        if self._process is None:
            return None
        self.end_input()
        self.resume_reading()
        try:
            code = await self.wait()
        except TimeoutError:
            self.kill()
            code = await self.process.wait()
            self.stderr.append(f"(killed: it did not end within {KILL_SECONDS:g} s)")
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return code

    async def _read(self) -> None:
        stdout = cast("asyncio.StreamReader", self.process.stdout)
        reason = "its output ended"
        try:
            while True:
                await self._may_read.wait()
                message = await _read_message(stdout)
                await self._may_read.wait()
                if message is None:
                    break
                self.on_message(message)
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
            reason = self.fault = f"it wrote something that is not LSP: {problem}"
        if not self._may_end:
            self.fault = self.fault or "it ended before it was told to"
        self.on_end("; ".join((reason, *self.stderr)))

    async def _read_stderr(self) -> None:
        stderr = cast("asyncio.StreamReader", self.process.stderr)
        while line := await stderr.readline():
            self.stderr.append(line.decode("utf-8", "replace").rstrip())


def encoded(message: Object) -> bytes:
    """The body of a message."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 has no bytes for
        return json.dumps(message, separators=(",", ":")).encode()


def frame(message: Object) -> bytes:
    """A message as it stands on the pipe."""
    body = encoded(message)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


async def _read_message(stream: asyncio.StreamReader) -> Object | None:
    header = await _read_header(stream)
    if header is None:
        return None
    lengths = [
        int(line.partition(b":")[2])
        for line in header.split(b"\r\n")
        if line.lower().startswith(b"content-length:")
    ]
    if len(lengths) != 1:
        raise ValueError(f"{header!r} is no header")
    message = json.loads(await stream.readexactly(lengths[0]))
    if not isinstance(message, dict):
        raise ValueError(f"{message!r} is no message")
    return cast("Object", message)


async def _read_header(stream: asyncio.StreamReader) -> bytes | None:
    try:
        return await stream.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as end:
        if end.partial:
            raise
        return None
