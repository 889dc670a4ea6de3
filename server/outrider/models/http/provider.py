"""A place that serves models over HTTP: its connections, keys, time-outs and failures, for every dialect.

Knows nothing of what is asked or answered. httpx is imported in a thread at the first request, never before.
It must never keep a key, follow a redirect with one, read proxies or keys from the process's environment, or
let an exception of the network through: what goes wrong is a `ModelFailure`.
"""

import asyncio
import ipaddress
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import replace
from datetime import UTC
from email.utils import parsedate_to_datetime
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

from outrider import __version__
from outrider.models.http.chat_servers import chat_server
from outrider.models.http.failures import clean, http_failure
from outrider.models.http.payload import parsed
from outrider.models.http.sse import LineSplitter, SseSplitter
from outrider.ports.clock import Clock
from outrider.ports.model import FailureKind, ModelFailure
from outrider.ports.secrets import KeySource, NoKey, Secrets
from outrider.ports.unpacking import Unpacking, UnpackingError
from outrider_protocol.settings import KeyHeader, ProviderSettings

if TYPE_CHECKING:
    import httpcore
    import httpx


_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy for an address: that of its scheme, else the one for all; in small letters before capitals.

    Args:
        url: The address.
        env: The environment.

    Returns:
        The proxy's URL; None where the address is of this machine, `NO_PROXY` names it, or there is no proxy.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    if _is_this_machine(host) or any(
        _names(entry, host, port) for entry in _said(env, "no_proxy").split(",")
    ):
        return None
    proxy = _said(env, f"{parts.scheme}_proxy") or _said(env, "all_proxy")
    return with_scheme(proxy) if proxy else None


def is_this_machine(url: str) -> bool:
    """Whether an address is of this machine."""
    try:
        return _is_this_machine(urlsplit(url).hostname or "")
    except ValueError:
        return False


def no_proxy(_url: str) -> None:
    """The answer of a place without any."""


def with_scheme(proxy: str) -> str:
    """`proxy` as a URL: it is often written as host and port alone."""
    return proxy if "://" in proxy else f"http://{proxy}"


def _said(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.upper()) or "").strip()


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def _names(entry: str, host: str, port: int | None) -> bool:
    """Whether an entry of `NO_PROXY` is about a host: it names it, a domain above it, or a network with it."""
    entry = entry.strip().lower()
    if not entry or entry == "*":
        return bool(entry)
    with suppress(ValueError):
        network = ipaddress.ip_network(entry.strip("[]"), strict=False)
        with suppress(ValueError):
            return ipaddress.ip_address(host) in network
        return False
    name, _, wanted = entry.partition(":")
    if wanted and wanted != str(port):
        return False
    name = name.removeprefix("*").lstrip(".")
    return host == name or host.endswith(f".{name}")


_LONGEST_EVENT = 16 * 1024 * 1024
MOST_BYTES: Final = 128 * 1024 * 1024
"""Bytes of one answer, unpacked. The longest answers of today have 128,000 tokens, each in an event of some hundred bytes."""
_LONGEST_ERROR_BODY = 64 * 1024
_LARGEST_PORT = 65_535
_KEEP_ALIVE_SECONDS = 55.0
"""Longer than most tools run, shorter than the minute after which common servers drop a connection."""
_FIRST_BYTE_SECONDS = 300.0
"""How long a server elsewhere may take to begin its answer: a model may think for minutes before it says anything."""
_KEEP_ALIVE: tuple[tuple[str, str, int], ...] = (
    ("SOL_SOCKET", "SO_KEEPALIVE", 1),
    ("IPPROTO_TCP", "TCP_KEEPIDLE", 60),
    ("IPPROTO_TCP", "TCP_KEEPALIVE", 60),
    ("IPPROTO_TCP", "TCP_KEEPINTVL", 15),
    ("IPPROTO_TCP", "TCP_KEEPCNT", 4),
)
"""Socket options, by their names, as not every system has all: a connection whose other end is gone breaks after two minutes."""
_KEY_HEADERS: Mapping[str, KeyHeader] = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}
"""The header that carries the key in a dialect, where its vendor has one of its own."""
_KEY_REFUSED = (401, 403)
"""Statuses that mean that a key is not, or not any more, taken."""
_DIALECT_HEADERS = {"anthropic": {"anthropic-version": "2023-06-01"}}
_END_SECONDS = 0.2
"""How long the end of the body may take after the last event."""


class HttpProvider:
    """One configured provider. Its connections are kept between requests until `close`."""

    def __init__(
        self,
        name: str,
        settings: ProviderSettings,
        *,
        clock: Clock,
        secrets: Secrets,
        proxy: str | None = None,
        ca_file: str | None = None,
    ) -> None:
        """Make a provider; nothing is opened yet.

        Args:
            name: Its key in the settings.
            settings: How it is reached.
            clock: Where the time-outs come from.
            secrets: Where the key comes from.
            proxy: URL of the proxy to use.
            ca_file: PEM file of further certificate authorities.
        """
        self.name = name
        self.settings = settings
        self._clock = clock
        self._secrets = secrets
        self._proxy = proxy
        self._ca_file = ca_file
        self._opening: asyncio.Task[httpx.AsyncClient | str] | None = None
        self._closed = False
        self._source_of_key = key_source(settings)
        self._urls: dict[tuple[str, str], httpx.URL] = {}
        """By path and query, of which there are a few."""

    async def close(self) -> None:
        """Close the connections. Requests made later fail."""
        self._closed = True
        if self._opening is not None:
            opened = (await asyncio.gather(self._opening, return_exceptions=True))[0]
            if not isinstance(opened, BaseException | str):
                await opened.aclose()

    async def unready(self) -> ModelFailure | None:
        """Why no request can be made (no key, a proxy or certificates that cannot be used); nothing is sent."""
        key = await self._key()
        client = key if isinstance(key, ModelFailure) else await self._client()
        return client if isinstance(client, ModelFailure) else None

    def redacted(self, failure: ModelFailure) -> ModelFailure:
        """`failure` without keys, should the provider have repeated one."""
        return replace(failure, message=clean(failure.message, self._private()))

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        over: Callable[[], bool] = bool,
        query: str = "",
        lines: bool = False,
    ) -> AsyncGenerator[list[bytes] | ModelFailure, None]:
        """Send a request and give the events of the answer.

        Closing the generator, or cancelling the task that waits for it, closes the connection at once.

        Args:
            path: What follows the base URL, such as `/chat/completions`.
            body: The JSON body.
            over: Whether nothing comes after the events that were given last. The body is then read to its end,
                so that the connection can be used again, but only if the end comes in a moment.
            query: What is added to the query of the base URL.
            lines: Whether the answer comes as lines, not as server-sent events.

        Yields:
            The data of the events that arrived together, again and again; a failure only as the last item.
        """
        further = {"accept": "text/event-stream", **_DIALECT_HEADERS.get(self.settings.kind, {})}
        response = await self._asked("POST", path, query, body, further)
        if isinstance(response, ModelFailure):
            yield response
            return
        try:
            if response.status_code != 200:
                yield await self._refusal(response)
                return
            async with aclosing(self._events(response, over, lines=lines)) as events:
                async for item in events:
                    yield item
        finally:
            await response.aclose()

    async def look_up(
        self, path: str, body: bytes | None = None, *, query: str = ""
    ) -> object | ModelFailure:
        """Ask for a small JSON document, such as what is known of a model.

        Args:
            path: What follows the base URL.
            body: The JSON body of a POST; None for a GET.
            query: What is added to the query of the base URL.
        """
        further = {"accept": "application/json", **_DIALECT_HEADERS.get(self.settings.kind, {})}
        response = await self._asked("GET" if body is None else "POST", path, query, body, further)
        if isinstance(response, ModelFailure):
            return response
        try:
            if response.status_code != 200:
                return await self._refusal(response)
            said = await self._said(response, _LONGEST_EVENT)
        finally:
            await response.aclose()
        try:
            return parsed(said)
        except ValueError:
            return self._failure("protocol", "answered with something that is not JSON: check baseUrl")

    async def _asked(
        self, method: str, path: str, query: str, body: bytes | None, further: Mapping[str, str]
    ) -> "httpx.Response | ModelFailure":
        """The response to a request, with its headers read."""
        client = await self._client()
        if isinstance(client, ModelFailure):
            return client
        import httpx

        refused: str | None = None
        while True:
            key = await self._key()
            if isinstance(key, ModelFailure):
                return key
            try:
                url, headers = self._url(path, query), self._headers(key, further)
                request = client.build_request(method, url, content=body, headers=headers)
            except (httpx.InvalidURL, ValueError, TypeError):
                # The exception may quote a header's value.
                return self._failure("bad_request", "the request cannot be built: check baseUrl and headers")
            response = await self._send(client, request)
            if isinstance(response, ModelFailure) or response.status_code not in _KEY_REFUSED:
                return response
            if key is None or self._source_of_key is None or not self._source_of_key.can_change:
                return response
            # It may have run out since it was looked up.
            self._secrets.refused(self._source_of_key, key)
            if refused is not None or await self._secrets.key(self._source_of_key) == key:
                return response
            await response.aclose()
            refused = key

    def _url(self, path: str, query: str) -> "httpx.URL":
        """The whole address. It is kept: to take one apart is a good part of what a request costs here."""
        import httpx

        if (known := self._urls.get((path, query))) is not None:
            return known
        url = httpx.URL(self.settings.base_url)
        if (url.port or 0) > _LARGEST_PORT:
            raise httpx.InvalidURL("no such port")
        both = "&".join(part for part in (url.query.decode("ascii"), query) if part)
        url = url.copy_with(path=url.path.rstrip("/") + path, query=both.encode("ascii") or None)
        self._urls[path, query] = url
        return url

    async def _key(self) -> str | ModelFailure | None:
        """The key; None where none is set."""
        if self._source_of_key is None:
            return None
        key = await self._secrets.key(self._source_of_key)
        return self._failure("auth", key.message) if isinstance(key, NoKey) else key

    def _headers(self, key: str | None, further: Mapping[str, str]) -> dict[str, str]:
        headers = {
            "content-type": "application/json",
            "user-agent": f"outrider/{__version__}",
            **further,
        }
        if key is not None:
            header = key_header(self.settings, key)
            headers[header] = f"Bearer {key}" if header == "authorization" else key
        return headers | {name.lower(): value for name, value in self.settings.headers.items()}

    async def _client(self) -> "httpx.AsyncClient | ModelFailure":
        if self._closed:
            return self._failure("connection", "its connections are closed")
        if self._opening is None:
            is_plain = self.settings.base_url.startswith("http://")
            self._opening = asyncio.create_task(
                asyncio.to_thread(_new_client, self._proxy, self._ca_file, is_plain=is_plain)
            )
        opening = self._opening
        client = await asyncio.shield(opening)
        if isinstance(client, str):
            if self._opening is opening:
                self._opening = None  # what is wrong may be put right
            return self._failure("setup", client)
        return client

    async def _send(
        self, client: "httpx.AsyncClient", request: "httpx.Request"
    ) -> "httpx.Response | ModelFailure":
        """The response with its headers read; each phase of the way there has its own time-out."""
        import httpx

        opened: list[httpcore.AsyncNetworkStream] = []
        limit, setting = cast("float | None", self.settings.connect_seconds), "connectSeconds"
        response: httpx.Response | None = None
        try:
            async with AsyncExitStack() as deadline:

                async def trace(event: str, info: Mapping[str, Any]) -> None:
                    nonlocal limit, setting
                    if event == "connection.connect_tcp.complete":
                        opened.append(info["return_value"])
                    elif event == "http11.send_request_headers.started":
                        await deadline.aclose()
                        limit, setting = self._first_byte_seconds, "firstTokenSeconds"
                        await deadline.enter_async_context(self._clock.timeout(limit))

                request.extensions["trace"] = trace
                await deadline.enter_async_context(self._clock.timeout(limit))
                response = await client.send(request, stream=True)
            return response
        except TimeoutError:
            if setting == "connectSeconds":
                what = f"no connection to {request.url.host} in {limit:g} s ({setting})"
                return self._failure("timeout", what)
            return self._failure("stalled", f"no answer in {limit:g} s ({setting})")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return self._network_failure(error, began=False)
        finally:
            if response is None:
                for stream in opened:
                    # httpcore leaves the socket open when it is cancelled during the TLS handshake.
                    await stream.aclose()

    async def _refusal(self, response: "httpx.Response") -> ModelFailure:
        """What an answer that is not 200 says."""
        if response.has_redirect_location:
            what = f"answered {response.status_code}, a redirect; redirects are not followed: correct baseUrl"
            return self._failure("protocol", what)
        failure = http_failure(
            response.status_code,
            await self._said(response, _LONGEST_ERROR_BODY),
            source=self._source,
            secrets=self._private(),
            retry_after=self._retry_after(response.headers),
        )
        if failure.kind != "auth" or self.settings.headers:
            return failure
        source = self._source_of_key
        whose = f"the key came from {source}" if source else "no key was sent: set apiKeyEnv"
        return replace(failure, message=f"{failure.message}; {whose}")

    async def _said(self, response: "httpx.Response", most: int) -> bytes:
        """The body of a response that is not a stream, as far as it came, at most so many bytes."""
        import httpx

        body = bytearray()
        chunks = _unpacked(response)
        try:
            async with self._clock.timeout(self.settings.stall_seconds), aclosing(chunks):
                async for chunk in chunks:
                    body += chunk
                    if len(body) > most:
                        break
        except (httpx.HTTPError, TimeoutError):
            pass  # the status and what came of the body say enough
        return bytes(body[:most])

    def _retry_after(self, headers: Mapping[str, str]) -> float | None:
        """Seconds that the headers say to wait: a number, or a moment."""
        for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
            given = headers.get(name, "").strip()
            try:
                seconds = float(given) * unit
            except ValueError:
                try:
                    moment = parsedate_to_datetime(given)
                    seconds = (moment.astimezone(UTC) - self._clock.now()).total_seconds()
                except (ValueError, TypeError, OverflowError):
                    continue
            if not isnan(seconds):
                return max(seconds, 0.0)
        return None

    async def _events(
        self, response: "httpx.Response", over: Callable[[], bool], *, lines: bool
    ) -> AsyncGenerator[list[bytes] | ModelFailure, None]:
        import httpx

        content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == "text/html":
            yield self._failure("protocol", "answered with a web page: check baseUrl")
            return
        whole = bytearray() if content_type == "application/json" else None
        splitter = LineSplitter() if lines else SseSplitter()
        chunks = _unpacked(response)
        limit, setting = self._first_byte_seconds, "firstTokenSeconds"
        size = 0
        async with aclosing(chunks):
            while True:
                try:
                    async with self._clock.timeout(limit):
                        chunk = await anext(chunks, None)
                except (httpx.HTTPError, TimeoutError) as error:
                    if isinstance(error, TimeoutError):
                        yield self._failure("stalled", f"no data for {limit:g} s ({setting})")
                    else:
                        yield self._network_failure(error, began=True)
                    return
                if chunk is None:
                    break
                limit, setting = self.settings.stall_seconds, "stallSeconds"
                size += len(chunk)
                if size > MOST_BYTES:
                    yield self._failure(
                        "protocol", f"sent more than {MOST_BYTES // 1024**2} MB in one answer"
                    )
                    return
                if whole is not None:
                    whole += chunk
                elif payloads := splitter.feed(chunk):
                    yield payloads
                    if over():
                        await self._to_the_end(chunks)
                        return
                if max(splitter.pending, len(whole or b"")) > _LONGEST_EVENT:
                    yield self._failure("protocol", "sent an event that is too long")
                    return
            yield [bytes(whole)] if whole else splitter.finish()

    async def _to_the_end(self, chunks: AsyncGenerator[bytes, None]) -> None:
        """Read on to the end of the body, if that comes in a moment: one that goes on for ever is not waited for."""
        import httpx

        with suppress(httpx.HTTPError, TimeoutError):
            async with self._clock.timeout(_END_SECONDS):
                async for _ in chunks:
                    pass

    @property
    def _first_byte_seconds(self) -> float | None:
        """How long the first byte of an answer may take.

        A model on this machine may read a long prompt for many minutes; that its server is alive shows in the open
        connection, which the system watches (see `_KEEP_ALIVE`).
        """
        given = self.settings.first_token_seconds
        if given is not None:
            return given
        local = self.settings.kind == "ollama" or is_this_machine(self.settings.base_url)
        return None if local else _FIRST_BYTE_SECONDS

    @property
    def _source(self) -> str:
        return f"provider {self.name}"

    def _private(self) -> frozenset[str]:
        headers = (part for value in self.settings.headers.values() for part in value.split())
        return self._secrets.values().union(headers)

    def _failure(self, kind: FailureKind, message: str) -> ModelFailure:
        return ModelFailure(kind, clean(f"{self._source}: {message}", self._private()))

    def _network_failure(self, error: Exception, *, began: bool) -> ModelFailure:
        import httpx

        match error:
            case httpx.LocalProtocolError() | httpx.UnsupportedProtocol() | httpx.InvalidURL():
                # The message may quote a header's value.
                return self._failure("bad_request", "the request cannot be sent: check baseUrl and headers")
            case httpx.DecodingError():
                return self._failure("protocol", "the content encoding of the answer is broken")
            case _ if began:
                return self._failure("cut_stream", f"the stream was interrupted: {_reason(error)}")
            case _:
                reason = _reason(error)
                if "CERTIFICATE_VERIFY_FAILED" in reason:
                    return self._failure(
                        "setup", f"no answer: {reason}; set caFile if the certificate is right"
                    )
                # Host and port alone: a name and a password may stand in the address.
                where = httpx.URL(self.settings.base_url).netloc.decode()
                what = f"no answer from {where}: {reason}; check baseUrl, and that the server can be reached from here"
                return self._failure("connection", what)


async def _unpacked(response: "httpx.Response") -> AsyncGenerator[bytes, None]:
    """The body, unpacked in small pieces.

    Raises:
        httpx.HTTPError: It breaks off, or is packed in a way that was not asked for.
    """
    import httpx

    try:
        unpacking = Unpacking(response.headers.get("content-encoding", ""))
        async with aclosing(cast("AsyncGenerator[bytes, None]", response.aiter_raw())) as chunks:
            async for chunk in chunks:
                for number, piece in enumerate(unpacking.pieces(chunk)):
                    if number:
                        await asyncio.sleep(0)  # what one chunk stands for may take long to read
                    if piece:
                        yield piece
    except UnpackingError as error:
        raise httpx.DecodingError(str(error)) from error


def key_source(settings: ProviderSettings) -> KeySource | None:
    """Where the key of a provider is kept; None where none is set."""
    entry = settings.api_key_keyring
    source = KeySource(
        env=settings.api_key_env,
        command=tuple(settings.api_key_command) if settings.api_key_command else None,
        file=settings.api_key_file,
        keyring=(entry.service, entry.username) if entry else None,
    )
    return None if source == KeySource() else source


def key_header(settings: ProviderSettings, key: str) -> KeyHeader:
    """The header that carries a key.

    Azure takes keys in `api-key` and tokens of Entra ID, which are JSON Web Tokens, as bearer tokens.
    Amazon Bedrock and Vertex AI take bearer tokens in every dialect.
    """
    if settings.api_key_header is not None:
        return settings.api_key_header
    server = chat_server(settings.base_url)
    if server.key_in_every_dialect:
        return server.key_header
    header = _KEY_HEADERS.get(settings.kind) or server.key_header
    return "authorization" if header == "api-key" and _is_web_token(key) else header


def _is_web_token(key: str) -> bool:
    """Whether it is a JSON Web Token: three parts, of which the first is a JSON object in base64 (RFC 7519, section 3)."""
    return key.startswith("eyJ") and key.count(".") == 2


def _new_client(
    proxy: str | None, ca_file: str | None, *, is_plain: bool = False
) -> "httpx.AsyncClient | str":
    """Make a client, or say why there is none; slow (imports, certificates), so it is called in a thread.

    Args:
        proxy: The address of a proxy.
        ca_file: Further certificate authorities.
        is_plain: Whether it is only for addresses without TLS, as those of this machine are. Then it trusts no authority, which
            saves reading all of them.
    """
    # Its command line. Where click is installed, it would bring click, rich and pygments: 9 MB that no server needs.
    sys.modules.setdefault("httpx._main", None)  # pyright: ignore[reportArgumentType] - None makes an import fail
    import httpx

    context = (
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if is_plain else httpx.create_ssl_context(trust_env=False)
    )
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=Path(ca_file).expanduser())
        except (OSError, RuntimeError) as error:
            return f"cannot read the certificates of {ca_file}: {_reason(error)}"
    options = [
        (int(getattr(socket, level)), int(getattr(socket, name)), value)
        for level, name, value in _KEEP_ALIVE
        if hasattr(socket, name)
    ]
    try:
        transport = httpx.AsyncHTTPTransport(
            verify=context,
            proxy=None if proxy is None else httpx.Proxy(proxy),
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=_KEEP_ALIVE_SECONDS),
            socket_options=options,
        )
        return httpx.AsyncClient(
            transport=transport,
            trust_env=False,
            timeout=None,  # noqa: S113 - the time-outs are those of the injected clock
        )
    except (httpx.InvalidURL, ValueError, ImportError) as error:
        return f"cannot use the proxy: {_reason(error)}"


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
