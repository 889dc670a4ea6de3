"""The way to the allowed hosts: a proxy for the commands of one session, whose network leads nowhere else.

The proxy is in this process, and listens in the network of the session: its socket was made there and handed over. So
nothing of it runs where a command could end it, and nothing of it is a file that somebody else could take. It resolves
the names itself, and connects to the very address that it has looked at.

It speaks HTTP/1.1 as a proxy does (RFC 9110 section 7, RFC 9112 section 3.2): `CONNECT`, and one request for a whole `http:`
address per connection. What a tunnel carries is not looked at; its host is that of `CONNECT`.
"""

import asyncio
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from outrider.ports.addresses import Resolver, why_not_public
from outrider.ports.clock import Clock
from outrider.ports.text import visible
from outrider.processes.launcher import GATE_PORT
from outrider.processes.sandbox.hosts import AllowedHost, allowed_hosts, covered, host_and_port

HEAD_BYTES: Final = 16_384
"""Of the head of a request."""
HEAD_SECONDS: Final = 10.0
"""For the head of a request to come."""
CONNECT_SECONDS: Final = 15.0
"""For a name to be resolved and a host to answer."""
IDLE_SECONDS: Final = 120.0
"""How long nothing may move in either direction."""
MOST_CONNECTIONS: Final = 256
"""Of one session at once."""
MOST_LOOKUPS: Final = 3
"""Names of one session that are resolved at once: each takes a thread, of which the server has few."""
MOST_ADDRESSES: Final = 4
"""Of one name that are tried."""
NEXT_SECONDS: Final = 0.25
"""How long one of them may be silent before the next is tried beside it."""
MOST_NOTED: Final = 100
"""Hosts of one command that are told apart."""
_CHUNK: Final = 65_536
_LAST_WORDS_SECONDS: Final = 2.0
_PLAIN_PORT: Final = 80
_LONGEST_BODY: Final = 15
"""Digits of its length."""
_TOKEN: Final = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_OF_ONE_WAY: Final = frozenset(
    {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"trailer", b"upgrade", b"host"}
)  # fmt: skip
"""Headers that say something to this proxy alone, or that it writes itself."""
_REASONS: Final = {
    400: "Bad Request",
    403: "Forbidden",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
}
_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_LOCAL: Final = ("localhost", "127.0.0.1", "::1")
_VARIABLES: Final = (
    "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY",
)  # fmt: skip
_EMPTY: Final = ("ALL_PROXY", "all_proxy")


@dataclass(slots=True)
class Reached:
    """What a command wanted of one host."""

    host: str
    port: int
    problem: str = ""
    """Why it was not reached; empty where it was."""
    refused: bool = False
    """Whether that is because it may not be reached."""
    times: int = 0
    sent: int = 0
    """Bytes that went there."""
    received: int = 0
    """Bytes that came from there."""

    def count_sent(self, size: int) -> None:
        """Bytes have gone there."""
        self.sent += size

    def count_received(self, size: int) -> None:
        """Bytes have come from there."""
        self.received += size


@dataclass(frozen=True, slots=True)
class Reach:
    """What a gateway needs of the rest."""

    resolve: Resolver
    closes: Callable[[str], str | None]
    """Why a rule closes a host that is allowed; None where none does."""
    clock: Clock


@dataclass(frozen=True, slots=True)
class RequestError(Exception):
    """Why a request was not passed on."""

    status: int
    text: str
    is_refusal: bool = False


@dataclass(slots=True)
class _Request:
    """What a program asks of the proxy."""

    host: str
    port: int
    head: bytes | None
    """What the host is sent first; None for a tunnel."""
    length: int = 0
    """Bytes of the body."""
    is_chunked: bool = False


@dataclass(slots=True)
class Way:
    """The way of one command to the allowed hosts: an address of the gateway that is its own, until it ends."""

    address: str
    hosts: tuple[AllowedHost, ...]
    named: tuple[str, ...]
    """The hosts, as the setting names them."""
    noted: dict[tuple[str, int, str], Reached] = field(default_factory=dict[tuple[str, int, str], Reached])
    serving: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])
    forget: Callable[[str], None] = lambda _: None

    @property
    def env(self) -> dict[str, str]:
        """The variables by which programs find it. What the session's commands listen at is reached without it."""
        url = f"http://{self.address}:{GATE_PORT}"
        names = {host.name for host in self.hosts}
        local = ",".join(name for name in _LOCAL if name not in names)
        own = {"NO_PROXY": local, "no_proxy": local, "npm_config_noproxy": local, "NODE_USE_ENV_PROXY": "1"}
        return dict.fromkeys(_VARIABLES, url) | dict.fromkeys(_EMPTY, "") | own

    @property
    def reached(self) -> list[Reached]:
        """What the command wanted of which host, in order."""
        return list(self.noted.values())

    def note(self, host: str, port: int, problem: str = "", *, refused: bool = False) -> Reached:
        """Take note of a connection; one that does not fit any more is counted with the last ones."""
        key = (host, port, problem)
        if key not in self.noted and len(self.noted) >= MOST_NOTED:
            key = ("…", 0, problem and "too many different hosts to name them")
        found = self.noted.setdefault(key, Reached(*key, refused=refused))
        found.times += 1
        return found

    async def close(self) -> None:
        """End it, with all its connections."""
        self.forget(self.address)
        serving = [*self.serving]
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)


class Gateway:
    """The proxy of one session."""

    def __init__(self, listener: socket.socket, reach: Reach) -> None:
        """Make one that does not listen yet.

        Args:
            listener: A bound socket in the session's network, which is its own from now on.
            reach: What it needs.
        """
        self._listener = listener
        self._reach = reach
        self._server: asyncio.Server | None = None
        self._ways: dict[str, Way] = {}
        self._numbers = count(257)
        self._busy = 0
        self._looking = asyncio.Semaphore(MOST_LOOKUPS)
        self._lookups: set[asyncio.Task[Sequence[str]]] = set()

    async def open(self, hosts: Sequence[str]) -> Way:
        """A way for one command. Raises OSError where nothing can listen.

        Args:
            hosts: The hosts that it may reach, as the setting names them.
        """
        if self._server is None:
            self._server = await asyncio.start_server(
                self._serve, sock=self._listener, limit=HEAD_BYTES, backlog=MOST_CONNECTIONS
            )
        number = next(self._numbers)
        # All of 127.0.0.0/8 is the loopback: the address that a program connects to says whose it is.
        address = f"127.{64 + (number >> 16) % 128}.{number >> 8 & 255}.{number & 255}"
        way = Way(address, allowed_hosts(hosts), tuple(hosts), forget=self._forget)
        self._ways[address] = way
        return way

    async def close(self) -> None:
        """End it, with all that goes over it."""
        if self._server is not None:
            self._server.close()
        self._listener.close()
        for way in [*self._ways.values()]:
            await way.close()
        for looking in self._lookups:
            looking.cancel()

    def _forget(self, address: str) -> None:
        self._ways.pop(address, None)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        way = self._ways.get(str((writer.get_extra_info("sockname") or ("",))[0]))
        task = asyncio.current_task()
        if way is None or task is None:
            writer.transport.abort()  # the command that it was for is over
            return
        if self._busy >= MOST_CONNECTIONS:
            way.note("…", 0, f"more than {MOST_CONNECTIONS} connections at once")
            writer.transport.abort()
            return
        way.serving.add(task)
        self._busy += 1
        try:
            await self._answer(way, reader, writer)
            writer.close()
            async with self._reach.clock.timeout(IDLE_SECONDS):
                await writer.wait_closed()
        except asyncio.CancelledError:
            pass  # its command is over; nobody waits for this task
        except (OSError, EOFError, TimeoutError, ValueError):
            pass  # either end went away, or stood still
        finally:
            self._busy -= 1
            way.serving.discard(task)
            writer.transport.abort()  # nothing of it is left, also where nobody takes what was written

    async def _answer(self, way: Way, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await self._request(reader)
            there = await self._connected(way, request)
        except RequestError as problem:
            await self._say_no(problem, reader, writer)
            return
        noted = way.note(request.host, request.port)
        from_there, to_there = there
        try:
            if request.head is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                out = _carry(reader, to_there, noted.count_sent)
            else:
                to_there.write(request.head)
                noted.count_sent(len(request.head))
                out = _carry_body(request, reader, to_there, noted.count_sent)
            await self._move(noted, out, _carry(from_there, writer, noted.count_received))
        finally:
            to_there.transport.abort()

    async def _request(self, reader: asyncio.StreamReader) -> _Request:
        try:
            async with self._reach.clock.timeout(HEAD_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
        except TimeoutError as error:
            raise RequestError(408, f"the request did not come within {HEAD_SECONDS:g} s") from error
        except asyncio.LimitOverrunError as error:
            raise RequestError(431, f"the head of the request is longer than {HEAD_BYTES} bytes") from error
        return parsed(head)

    async def _connected(
        self, way: Way, request: _Request
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection to the host that a request names, if that may be reached."""
        host, port = request.host, request.port
        shown = f"{f'[{host}]' if ':' in host else host}:{port}"

        def problem(status: int, text: str) -> RequestError:
            way.note(host, port, text, refused=status == 403)
            return RequestError(status, f"{shown} cannot be reached: {text}", status == 403)

        if not covered(way.hosts, host, port):
            raise problem(403, "it is not in `sandbox.network`")
        if (why := self._reach.closes(host)) is not None:
            raise problem(403, why)
        try:
            async with self._reach.clock.timeout(CONNECT_SECONDS):
                addresses = await self._looked_up(host, port)
                for address in addresses:
                    if (why := self._reach.closes(address)) is not None:
                        raise problem(403, why)
                    why = why_not_public(address)
                    if why is not None and not covered(way.hosts, address, port):
                        raise problem(
                            403, f"it is {address}, {why}, and `sandbox.network` does not name that address"
                        )
                return await _first_that_answers(addresses, port, self._reach.clock)
        except TimeoutError as error:
            raise problem(502, f"it did not answer within {CONNECT_SECONDS:g} s") from error
        except UnicodeError as error:
            raise problem(502, "its name is not known") from error
        except OSError as error:
            known = isinstance(error, socket.gaierror)
            raise problem(502, "its name is not known" if known else _said(error)) from error

    async def _looked_up(self, host: str, port: int) -> Sequence[str]:
        """The addresses of a host. A look-up that nobody waits for any more goes on in its thread, and counts until it ends."""

        async def look() -> Sequence[str]:
            async with self._looking:
                return await self._reach.resolve(host, port)

        looking = asyncio.create_task(look())
        self._lookups.add(looking)
        looking.add_done_callback(self._lookups.discard)
        looking.add_done_callback(lambda one: one.cancelled() or one.exception())
        return await asyncio.shield(looking)

    async def _say_no(
        self, problem: RequestError, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        text = f"Outrider: {problem.text}\n".encode()
        writer.write(
            f"HTTP/1.1 {problem.status} {_REASONS[problem.status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n".encode()
            + text
        )
        # What has not been read would reset the connection, and take the answer with it.
        with suppress(TimeoutError):
            async with self._reach.clock.timeout(_LAST_WORDS_SECONDS):
                writer.write_eof()
                while await reader.read(_CHUNK):
                    pass

    async def _move(self, noted: Reached, *carrying: Coroutine[Any, Any, None]) -> None:
        """Carry both ways until nothing is left, one fails, or nothing moves any more."""
        left = {asyncio.create_task(one) for one in carrying}
        try:
            while left:
                moved = noted.sent, noted.received
                done: set[asyncio.Task[None]] = set()
                with suppress(TimeoutError):
                    async with self._reach.clock.timeout(IDLE_SECONDS):
                        done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
                if any(one.exception() is not None for one in done):
                    return
                if not done and moved == (noted.sent, noted.received):
                    return
        finally:
            for one in left:
                one.cancel()
            await asyncio.gather(*left, return_exceptions=True)


async def _first_that_answers(
    addresses: Sequence[str], port: int, clock: Clock
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the first address that answers; while one is silent, the next is tried beside it (RFC 8305)."""
    left, trying = [*addresses[:MOST_ADDRESSES]], set[asyncio.Task[_Connection]]()
    problem = OSError("its name stands for no address")
    try:
        while left or trying:
            if left:
                opening = asyncio.open_connection(left.pop(0), port, limit=_CHUNK)
                trying.add(asyncio.create_task(opening))
            done: set[asyncio.Task[_Connection]] = set()
            with suppress(TimeoutError):
                async with clock.timeout(NEXT_SECONDS if left else None):
                    done, _ = await asyncio.wait(trying, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                trying.discard(one)
                if (failed := one.exception()) is None:
                    return one.result()
                if not isinstance(failed, OSError):
                    raise failed
                problem = failed
    finally:
        for one in trying:
            one.add_done_callback(_abort)
            one.cancel()
    raise problem


def _abort(opening: "asyncio.Task[_Connection]") -> None:
    """Let go of a connection that came when another one was there."""
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[1].transport.abort()


def _said(error: OSError) -> str:
    return visible((error.strerror or str(error)).lower()[:200]) or "the connection failed"


async def _carry(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count_bytes: Callable[[int], None]
) -> None:
    """Pass on all that comes, and its end."""
    while chunk := await reader.read(_CHUNK):
        writer.write(chunk)
        count_bytes(len(chunk))
        await writer.drain()
    writer.write_eof()


async def _carry_body(
    request: _Request,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    count_bytes: Callable[[int], None],
) -> None:
    """Pass on the body of a request and not a byte more: what follows might be a request to somebody else."""
    if not request.is_chunked:
        await _carry_exactly(request.length, reader, writer, count_bytes)
        return
    while True:
        line = await reader.readuntil(b"\r\n")
        said = line[:-2].partition(b";")[0].strip(b" \t")
        if not said or len(said) > _LONGEST_BODY or not _HEX.issuperset(said):
            raise ValueError("no length of a chunk")
        size = int(said, 16)
        writer.write(b"%x\r\n" % size)
        await _carry_exactly(size, reader, writer, count_bytes)
        if size == 0:
            trailer = await reader.readuntil(b"\r\n")
            while trailer != b"\r\n":
                trailer = await reader.readuntil(b"\r\n")
        elif await reader.readexactly(2) != b"\r\n":
            raise ValueError("a chunk is longer than it says")
        writer.write(b"\r\n")
        await writer.drain()
        if size == 0:
            return


async def _carry_exactly(
    size: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count_bytes: Callable[[int], None]
) -> None:
    while size:
        chunk = await reader.read(min(size, _CHUNK))
        if not chunk:
            raise EOFError
        size -= len(chunk)
        writer.write(chunk)
        count_bytes(len(chunk))
        await writer.drain()


def parsed(head: bytes) -> _Request:
    """What the head of a request says, with the empty line at its end. Raises `RequestError`, also where two readers could understand it differently."""
    first, *lines = head[:-4].split(b"\r\n")
    if any(byte in head[:-4].replace(b"\r\n", b"") for byte in (b"\r", b"\n", b"\0")):
        raise RequestError(400, "the head of the request has other line ends than CR LF")
    parts = first.split(b" ")
    if len(parts) != 3 or parts[2] not in {b"HTTP/1.0", b"HTTP/1.1"} or not _is_token(parts[0]):
        raise RequestError(400, "the request is not one of HTTP/1.1")
    method, target, version = parts
    headers: list[tuple[bytes, bytes]] = []
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _is_token(name):
            raise RequestError(400, "a header of the request cannot be read")
        headers.append((name.lower(), value.strip(b" \t")))
    try:
        text = target.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, "the address of the request cannot be read") from error
    if method == b"CONNECT":
        found = host_and_port(text)
        if found is None or found[1] is None:
            raise RequestError(400, "CONNECT needs a host and its port")
        return _Request(found[0], found[1], None)
    host, port, path = _of_address(text)
    length, is_chunked = _framing(headers, may_be_chunked=version == b"HTTP/1.1")
    named = f"[{host}]" if ":" in host else host
    named = named if port == _PLAIN_PORT else f"{named}:{port}"
    return _Request(
        host,
        port,
        b"".join(
            (
                b"%b %b HTTP/1.1\r\nHost: %b\r\n" % (method, path.encode("ascii"), named.encode("ascii")),
                *(b"%b: %b\r\n" % header for header in _passed_on(headers)),
                b"Connection: close\r\n\r\n",
            )
        ),
        length,
        is_chunked,
    )


def _of_address(text: str) -> tuple[str, int, str]:
    """Host, port and the rest of the whole address that a request to a proxy has."""
    scheme, rest = text[:7], text[7:]
    if scheme.lower() != "http://" or not text.isascii():
        raise RequestError(400, "the proxy takes CONNECT, and whole addresses that begin with http://")
    end = min((place for mark in "/?#" if (place := rest.find(mark)) >= 0), default=len(rest))
    found = None if "@" in rest[:end] else host_and_port(rest[:end], _PLAIN_PORT)
    if found is None or found[1] is None or "#" in rest:
        raise RequestError(400, "the address of the request cannot be read")
    path = rest[end:]
    return found[0], found[1], path if path.startswith("/") else f"/{path}"


def _framing(headers: Sequence[tuple[bytes, bytes]], *, may_be_chunked: bool) -> tuple[int, bool]:
    """How long the body is, and whether it comes in chunks."""
    lengths = {value for name, value in headers if name == b"content-length"}
    codings = [value.lower() for name, value in headers if name == b"transfer-encoding"]
    if codings:
        if lengths or codings != [b"chunked"] or not may_be_chunked:
            raise RequestError(400, "how long the body of the request is cannot be told")
        return 0, True
    if not lengths:
        return 0, False
    length = lengths.pop()
    if lengths or not length.isdigit() or len(length) > _LONGEST_BODY:
        raise RequestError(400, "how long the body of the request is cannot be told")
    return int(length), False


def _passed_on(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers that are for the host."""
    named = {
        word.strip(b" \t").lower()
        for name, value in headers
        if name == b"connection"
        for word in value.split(b",")
    }
    dropped = _OF_ONE_WAY | (named - {b"content-length", b"transfer-encoding"})
    return [header for header in headers if header[0] not in dropped]


def _is_token(word: bytes) -> bool:
    return bool(word) and _TOKEN.issuperset(word)
