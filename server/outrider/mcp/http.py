"""Streamable HTTP with our proxies and certificates, and with a bound for what a server may answer."""

import asyncio
import ipaddress
import math
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client

from outrider.mcp.around import Around
from outrider.mcp.configuration import ServerConfig
from outrider.mcp.stdio import MOST_BYTES, Streams, bounded
from outrider.ports.addresses import Resolver, resolve, why_not_public
from outrider.ports.unpacking import ACCEPTED, Unpacking, UnpackingError

CONNECT_SECONDS: Final = 20.0
_TOO_LONG: Final = f"the answer has more than {MOST_BYTES // 1024 // 1024} MB"


class _Bounded(httpx2.AsyncByteStream):
    """A body, unpacked in small pieces, that fails where it is too long."""

    def __init__(self, stream: Any, encoding: str, most: float) -> None:
        self._stream, self._most = stream, most
        self._unpacking = Unpacking(encoding)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._stream:
            try:
                for number, piece in enumerate(self._unpacking.pieces(chunk)):
                    if number:
                        await asyncio.sleep(0)  # what one chunk stands for may take long to read
                    size += len(piece)
                    if size > self._most:
                        raise httpx2.ReadError(_TOO_LONG)
                    yield piece
            except UnpackingError as error:
                raise httpx2.DecodingError(str(error)) from error

    async def aclose(self) -> None:
        await self._stream.aclose()


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """Unpacks every body before the SDK does, and bounds all but a stream of events, each of which the SDK bounds itself.

    A server names where to log in to it, and the SDK looks there unasked: one of the internet leads to no private network.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, url: str, look_up: Resolver | None) -> None:
        """Stand before another transport.

        Args:
            inner: Makes the requests.
            url: The server's.
            look_up: Resolves names; None where a proxy does that.
        """
        self._inner, self._own, self._look_up = inner, httpx2.URL(url), look_up

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host != self._own.host:
            await self._check(request)
        response = await self._inner.handle_async_request(request)
        headers = response.headers
        is_endless = headers.get("content-type", "").startswith("text/event-stream")
        try:
            body = _Bounded(
                response.stream, headers.pop("content-encoding", ""), math.inf if is_endless else MOST_BYTES
            )
        except UnpackingError as error:
            await response.aclose()
            raise httpx2.DecodingError(str(error)) from error
        response.stream = body
        return response

    async def _check(self, request: httpx2.Request) -> None:
        """Have a request to another host go to the address that was looked at; raises httpx2.ConnectError where it may not."""
        host = request.url.host
        theirs = await self._addresses(request.url)
        if not theirs or any(map(why_not_public, await self._addresses(self._own))):
            return
        for address in theirs:
            if (why := why_not_public(address)) is not None:
                raise httpx2.ConnectError(f"the server leads to {host}, which is {address}, {why}")
        request.url = request.url.copy_with(host=theirs[0])
        request.extensions = {**request.extensions, "sni_hostname": host}

    async def _addresses(self, url: httpx2.URL) -> Sequence[str]:
        """What a host stands for; with a proxy, which resolves names itself, only an address is known."""
        try:
            ipaddress.ip_address(url.host)
        except ValueError:
            if self._look_up is None:
                return []
        else:
            return [url.host]
        try:
            return await self._look_up(url.host, url.port or (443 if url.scheme == "https" else 80))
        except (OSError, UnicodeError) as error:
            raise httpx2.ConnectError(f"the name {url.host} is not known") from error

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def over_http(config: ServerConfig, around: Around, auth: Any) -> AsyncGenerator[Streams]:
    """Reach a server, and give the streams of its messages.

    Args:
        config: Its address and headers.
        around: The house.
        auth: What logs in; None where nobody is to.

    Raises:
        OSError: The certificates cannot be read.
    """
    context = await asyncio.to_thread(_certificates, around.ca_file)
    proxy = around.proxy_for(config.url)
    inner = httpx2.AsyncHTTPTransport(verify=context, proxy=proxy, trust_env=False)
    transport = _BoundedTransport(inner, config.url, resolve if proxy is None else None)
    timeout = httpx2.Timeout(CONNECT_SECONDS, read=max(config.seconds, 300.0))
    async with (
        httpx2.AsyncClient(
            transport=transport,
            headers={
                "User-Agent": f"outrider/{around.version}",
                **config.headers,
                "Accept-Encoding": ACCEPTED,
            },
            auth=auth,
            timeout=timeout,
            trust_env=False,
        ) as client,
        streamable_http_client(config.url, http_client=client, max_sse_event_size=MOST_BYTES) as (
            read,
            write,
        ),
    ):
        incoming, filtered = anyio.create_memory_object_stream[Any](0)

        async def forward() -> None:
            with incoming:
                async for message in read:
                    await incoming.send(message if isinstance(message, Exception) else bounded(message))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forward)
            try:
                yield filtered, write
            finally:
                tasks.cancel_scope.cancel()
                filtered.close()


def _certificates(ca_file: str | None) -> ssl.SSLContext:
    context = httpx2.create_ssl_context(trust_env=False)
    if ca_file is not None:
        context.load_verify_locations(cafile=Path(ca_file).expanduser())
    return context
