"""A TCP socket as a connection, for clients that cannot start a process. It serves one client and ends with it.

Any program of the machine can connect, and a page in a browser can post to the port. So the first line that is
no header of the base protocol closes the connection before anything is handled; `permissionMode` above `ask`
needs a token (`serve --tcp-token-file`), which the client gives as `initializationOptions.tcpToken`; and an address
that is not this machine's own needs one in any case.
"""

import asyncio
import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from outrider.ports.framing import FrameReader, FramingProblem, framed
from outrider.transport.connection import MOST_WAITING, NEARLY_EMPTY
from outrider.workspace.paths import path_of

_CHUNK: Final = 64 * 1024


class TcpConnection:
    """The one client (`connection.Outgoing`)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak over the two ends of a connection."""
        self._reader = reader
        self._writer = writer
        self._lost = False
        self._longest = 0
        """Bytes of the longest message since nothing waited."""
        self._draining: asyncio.Task[None] | None = None
        self._drained: list[Callable[[], None]] = []
        self.on_lost: Callable[[str], None] | None = None
        """Called once when writing has no sense any more."""

        writer.transport.set_write_buffer_limits(high=NEARLY_EMPTY, low=0)

    @property
    def descriptor(self) -> int:
        """The socket's; for who looks at what comes without reading it."""
        return self._writer.get_extra_info("socket").fileno()

    @property
    def backlog(self) -> int:
        """Bytes that were sent and that the system has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    def send(self, body: bytes) -> None:
        """Queue one message."""
        if self._lost or self._writer.is_closing():
            return
        frame = framed(body)
        self._longest = max(self._longest if self.backlog else 0, len(frame))
        self._writer.write(frame)
        # One long message says nothing of the client, which could not have read it yet.
        if self.backlog - self._longest > MOST_WAITING:
            self._lost = True
            self._writer.transport.abort()
            if self.on_lost is not None:
                self.on_lost("the client does not read")

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call back once when nothing waits."""
        self._drained.append(callback)
        if self._draining is None:
            self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def read(self, on_frame: Callable[[bytes], None], on_problem: Callable[[str], None]) -> None:
        """Handle what comes until the stream ends or breaks."""
        frames = FrameReader(strict=True)
        while not frames.broken:
            try:
                data = await self._reader.read(_CHUNK)
            except ConnectionError:
                return
            if not data:
                return
            for item in frames.feed(data):
                if isinstance(item, FramingProblem):
                    on_problem(item.text)
                else:
                    on_frame(item)

    async def close(self, seconds: float) -> None:
        """Let go of the client, when it has what is queued or after `seconds`."""
        self._writer.close()
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(seconds):
                await self._writer.wait_closed()

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError:
            return
        finally:
            self._draining = None
        callbacks, self._drained = self._drained, []
        for callback in callbacks:
            callback()


_MOST_BYTES: Final = 4096
WITHOUT_TOKEN = ("read-only", "ask")
"""Permission modes that a client may have without a token."""
_WITHOUT_TOKEN: Final = frozenset({"codeLens", "debounce", "events", "extensions", "permissionMode"})
"""What such a client may say in `initializationOptions`: how it is served, and a narrower permission mode. A provider or a
model of its choice could send the user's keys and files anywhere."""


@dataclass(frozen=True, slots=True)
class TokenProblem:
    """Why a file gives no token."""

    message: str


def token_of(path: str | None, given: str | None) -> str | TokenProblem | None:
    """The token that a client has to give; None for none. Blocks.

    Args:
        path: A file that nobody but its owner can read; white space around the token does not count.
        given: The token by another way, for where there is no file.
    """
    return _of_file(path) if path is not None else given or None


def _of_file(path: str) -> str | TokenProblem:
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor
            status = os.fstat(fd)
            if not stat.S_ISREG(status.st_mode):
                return TokenProblem(f"the token file {path} is not a regular file")
            if sys.platform != "win32":
                if status.st_uid not in {0, os.geteuid()}:
                    return TokenProblem(f"the token file {path} belongs to another user")
                if status.st_mode & 0o077:
                    return TokenProblem(
                        f"the token file {path} can be read by others (mode {stat.S_IMODE(status.st_mode):04o}): chmod 600 it"
                    )
            content = file.read(_MOST_BYTES + 1)
    except OSError as problem:
        return TokenProblem(f"the token file {path} cannot be read: {problem.strerror}")
    try:
        token = content.decode().strip()
    except UnicodeDecodeError:
        token = ""
    if not token or len(content) > _MOST_BYTES:
        return TokenProblem(f"the token file {path} must contain one short token and nothing else")
    return token


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules for a client that came over TCP."""

    token: str | None
    """What it must give as `initializationOptions.tcpToken`; None lets anybody in, with `ask` at most."""
    started_in: Path = field(default_factory=Path.cwd)
    """The folder where the user started the server."""

    def refusal(self, options: Mapping[str, Any], folders: Iterable[str] = ()) -> str | None:
        """Why the client is not let in, None if it is. Blocks a moment: it follows links on the way to the folders.

        Args:
            options: Its `initializationOptions`.
            folders: The URIs of its workspace folders.
        """
        if self.token is None:
            return next(filter(None, map(self.why_not_open, folders)), None)
        import hmac

        given = options.get("tcpToken")
        if isinstance(given, str) and hmac.compare_digest(given.encode(), self.token.encode()):
            return None
        return "initializationOptions.tcpToken is not the token that the server was started with"

    def why_not_open(self, uri: str) -> str | None:
        """Why a client may not have a folder as a workspace folder, None if it may.

        Without a token any program of the machine could name one, and read the user's files through the server: it gets what
        the user started the server for, which nobody does in their home or above it.
        """
        if self.token is not None:
            return None
        path, top = path_of(uri), self.started_in.resolve()
        if (
            path is not None
            and path.resolve().is_relative_to(top)
            and not Path.home().resolve().is_relative_to(top)
        ):
            return None
        way = "start it in the project, or give the client a token (--tcp-token-file)"
        return f"the folder {uri} was not opened: without a token only folders below {top}, where the server was started, are allowed, and never a whole home folder: {way}"

    def admitted(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """What counts of the client's `initializationOptions`.

        Returns:
            The options that count, and a message for the user about those that do not; None where all do.
        """
        if self.token is not None:
            return dict(options), None
        taken = {
            name: value
            for name, value in options.items()
            if name in _WITHOUT_TOKEN or (name == "trusted" and value is False)
        }
        left_out = ", ".join(sorted(set(options) - set(taken) - {"tcpToken"}))
        why = f"Outrider ignores {left_out}: over TCP these settings need a client that sends the server's token"
        return self.capped(taken), f"{why} (--tcp-token-file)." if left_out else None

    def capped(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The settings without a permission mode that is wider than this client may have."""
        if self.token is not None or values.get("permissionMode") in (None, *WITHOUT_TOKEN):
            return dict(values)
        return {**values, "permissionMode": "ask"}

    @property
    def is_known(self) -> bool:
        """Whether the client is one that the user started, and not just any program that connected first."""
        return self.token is not None

    @property
    def widest(self) -> str | None:
        """The widest permission mode this client may have, whoever set it; None for any."""
        return None if self.token is not None else "ask"
