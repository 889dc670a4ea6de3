"""A server that answers byte by byte as told, and a network that ends at this machine."""

import asyncio
import ipaddress
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from outrider.models.openai_chat import OpenAiChatModel
from outrider.models.provider import HttpProvider
from outrider.ports.clock import SteppingClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Message, ModelItem, ModelRequest
from outrider.ports.secrets import EnvironmentSecrets
from outrider_protocol.settings import ProviderSettings


def _check(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name != "localhost" and not ipaddress.ip_address(name).is_loopback:
        raise AssertionError(f"a test wants to reach {name}")


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection and every look-up that leaves the machine."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX:
            _check(address[0])
        connect(self, address)

    def guarded_look_up(host: Any, *args: Any, **kwargs: Any) -> Any:
        _check(host)
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


@dataclass(frozen=True)
class Received:
    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Answer = Callable[["Connection"], Awaitable[None]]


class Connection:
    """One connection of a client, as an answer sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send(self, data: bytes, size: int | None = None) -> None:
        for start in range(0, len(data), size or max(len(data), 1)):
            self._writer.write(data[start : start + (size or len(data))])
            await self._writer.drain()
            await asyncio.sleep(0)

    async def client_leaves(self) -> None:
        """Wait until the client closes the connection."""
        try:
            while await self._reader.read(1024):
                pass
        except ConnectionError:
            pass

    def abort(self) -> None:
        self._writer.transport.abort()

    async def receive(self) -> Received | None:
        try:
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            line, *lines = head.strip().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (each.partition(":") for each in lines)
            }
            return Received(
                line, headers, await self._reader.readexactly(int(headers.get("content-length", "0")))
            )
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


class WireServer:
    """Plays its answers one request after the other; each says what goes over the wire, byte by byte."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.received: list[Received] = []
        self.asked = asyncio.Event()
        self.met = asyncio.Event()
        self.left = asyncio.Event()
        self.connections = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.met.set()
        connection = Connection(reader, writer)
        try:
            while (received := await connection.receive()) is not None:
                self.received.append(received)
                self.asked.set()
                await self.answers.pop(0)(connection)
                if writer.is_closing():
                    break
        except (ConnectionError, IndexError, asyncio.CancelledError):
            pass
        finally:
            self.left.set()
            writer.close()
            self._tasks.discard(task)

    async def end(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@pytest.fixture
async def wire() -> AsyncGenerator[WireServer, None]:
    server = WireServer()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    yield server
    await server.end()
    listening.close()
    await listening.wait_closed()


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))


Provide = Callable[..., HttpProvider]


@pytest.fixture
async def provide(wire: WireServer, clock: SteppingClock) -> AsyncGenerator[Provide, None]:
    """Make providers on the server; they are closed at the end."""
    made: list[HttpProvider] = []

    def make(
        env: dict[str, str] | None = None,
        *,
        proxy: str | None = None,
        ca_file: str | None = None,
        **settings: Any,
    ) -> HttpProvider:
        settings = {"kind": "openai-chat", "base_url": wire.url, **settings}
        provider = HttpProvider(
            "local",
            ProviderSettings(**settings),
            clock=clock,
            secrets=EnvironmentSecrets(env or {}),
            proxy=proxy,
            ca_file=ca_file,
        )
        made.append(provider)
        return provider

    yield make
    for provider in made:
        await provider.close()


@pytest.fixture
def ask() -> Callable[..., Awaitable[list[ModelItem]]]:
    """All that a model of the provider answers to a short request."""

    async def ask(provider: HttpProvider, *messages: Message) -> list[ModelItem]:
        model = OpenAiChatModel(provider, "small", ids=SequentialIds())
        request = ModelRequest("main", messages or (Message("user", "hello"),))
        return [item async for item in model.stream(request)]

    return ask
