"""A TCP socket as a connection, for clients that cannot start a process. It serves one client and ends with it.

Any program of the machine can connect, and a page in a browser can post to the port. So the first line that is
no header of the base protocol closes the connection before anything is handled; `permissionMode` above `ask`
needs a token (`serve --tcp-token`), which the client gives as `initializationOptions.tcpToken`; and an address
that is not this machine's own needs one in any case.
"""

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from outrider.lsp.framing import FrameReader, FramingProblem, framed
from outrider.lsp.outgoing import MOST_WAITING, NEARLY_EMPTY

_CHUNK: Final = 64 * 1024
LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; port 0 means any free one."""

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def address_of(text: str) -> Address:
    """`HOST:PORT`, `[HOST]:PORT`, `:PORT` or `PORT`. Raises ValueError."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit()) or int(port) > 65535:
        raise ValueError(f"{text!r} is not HOST:PORT")
    return Address(host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port))


class TcpConnection:
    """The one client (`outgoing.Outgoing`)."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Speak over the two ends of a connection."""
        self._reader = reader
        self._writer = writer
        self._lost = False
        self._draining: asyncio.Task[None] | None = None
        self._drained: list[Callable[[], None]] = []
        self.on_lost: Callable[[str], None] | None = None
        """Called once when writing has no sense any more."""
        writer.transport.set_write_buffer_limits(high=NEARLY_EMPTY, low=0)

    @property
    def backlog(self) -> int:
        """Bytes that were sent and that the system has not taken yet."""
        return self._writer.transport.get_write_buffer_size()

    def send(self, body: bytes) -> None:
        """Queue one message."""
        if self._lost or self._writer.is_closing():
            return
        self._writer.write(framed(body))
        if self.backlog > MOST_WAITING:
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
