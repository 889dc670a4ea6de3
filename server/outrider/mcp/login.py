"""Log-in to a server over HTTP, by OAuth 2.1 in the user's browser. It only begins when the user asks for it.

The token is kept like a key: in the system's keyring, else in a file that only the user can read. It goes to the server that it was
given for and to no other (RFC 8707).
"""

import asyncio
import html
import json
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, ValidationError

from outrider.mcp.around import Around
from outrider.mcp.configuration import ServerConfig

LOGIN_SECONDS: Final = 300.0
"""How long the user may take."""
_PATH: Final = "/callback"


class LoginNeededError(Exception):
    """The server wants a log-in that the user has not asked for."""


class _Kept:
    """The token and the registration of one server, as the SDK reads and writes them."""

    def __init__(self, config: ServerConfig, around: Around) -> None:
        self._config = config
        self._around = around
        self.is_wanted = False
        """Whether the user asked for a log-in: a registration of another attempt names no page that anybody waits at."""
        self._name = f"mcp {config.name} {config.url}"

    async def _read(self) -> dict[str, Any]:
        text = await self._around.tokens.get(self._name)
        try:
            found: Any = json.loads(text) if text else {}
        except ValueError:
            found = {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}

    async def _write(self, key: str, value: Any) -> None:
        await self._around.tokens.put(self._name, json.dumps({**await self._read(), key: value}))

    async def get_tokens(self) -> OAuthToken | None:
        try:
            return OAuthToken.model_validate((await self._read()).get("tokens"))
        except ValidationError:
            return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._write("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self.is_wanted:
            return self._configured()  # it is registered anew, for the page that waits now
        try:
            return OAuthClientInformationFull.model_validate((await self._read()).get("client"))
        except ValidationError:
            return self._configured()

    def _configured(self) -> OAuthClientInformationFull | None:
        said = self._config.oauth
        if said.client_id is None:
            return None
        secret = self._around.secret(said.client_secret_env) if said.client_secret_env else None
        return OAuthClientInformationFull(
            client_id=said.client_id,
            client_secret=secret,
            redirect_uris=None,
            token_endpoint_auth_method="client_secret_post" if secret else "none",
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if self.is_wanted:
            await self._write("client", client_info.model_dump(mode="json", exclude_none=True))


class Login:
    """The log-in to one server."""

    def __init__(self, config: ServerConfig, around: Around, port: int = 0) -> None:
        """Be ready to log in; `port` is that of the page which the browser comes back to, if one waits for it."""
        self._config = config
        self._around = around
        self._code: asyncio.Future[AuthorizationCodeResult] | None = None
        self._kept = _Kept(config, around)
        self.url = ""
        """The page where the user logs in, once it is known."""
        self.provider = OAuthClientProvider(
            config.url,
            OAuthClientMetadata(
                client_name="Outrider",
                redirect_uris=[AnyUrl(f"http://127.0.0.1:{port or 1}{_PATH}")],
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
                scope=" ".join(config.oauth.scopes) or None,
            ),
            self._kept,
            redirect_handler=self._redirect,
            callback_handler=self._called_back,
        )

    def expect(self, code: "asyncio.Future[AuthorizationCodeResult]") -> None:
        """Let a log-in begin whose code comes in `code`."""
        self._code = code
        self._kept.is_wanted = True

    async def _redirect(self, url: str) -> None:
        if self._code is None:
            raise LoginNeededError
        self.url = url
        self._around.open_page(self._config.name, url)

    async def _called_back(self) -> AuthorizationCodeResult:
        if self._code is None:
            raise LoginNeededError
        async with asyncio.timeout(LOGIN_SECONDS):
            return await self._code


async def forget(config: ServerConfig, around: Around) -> str | None:
    """Forget the token of a server; a text says why that failed."""
    return await around.tokens.put(f"mcp {config.name} {config.url}", None)


async def logging_in(config: ServerConfig, around: Around, work: Callable[[Login], Awaitable[None]]) -> None:
    """Do `work`, which reaches the server, with a page on loopback that the browser comes back to."""
    code: asyncio.Future[AuthorizationCodeResult] = asyncio.get_running_loop().create_future()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10.0):
                line = (await reader.readline()).decode("ascii", "replace")
            told = _taken(line, code)
            body = f"<!doctype html><title>Outrider</title><p>{html.escape(told)}</p>".encode()
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )
            await writer.drain()
        except (OSError, TimeoutError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=16_384)
    async with server:
        login = Login(config, around, server.sockets[0].getsockname()[1])
        login.expect(code)
        try:
            await work(login)
        finally:
            if not code.done():
                code.cancel()


def _taken(line: str, code: "asyncio.Future[AuthorizationCodeResult]") -> str:
    """Take the code out of the first line of a request; gives what the user is told."""
    parts = line.split(" ")
    url = urlsplit(parts[1]) if len(parts) > 1 else None
    if url is None or url.path != _PATH:
        return "There is nothing here."
    given = {key: values[0] for key, values in parse_qs(url.query).items()}
    if "code" not in given:
        if not code.done():
            code.set_exception(
                PermissionError(f"the log-in was refused: {given.get('error', 'no code came back')[:200]}")
            )
        return "The log-in was refused. You can close this page."
    if not code.done():
        # The SDK compares the state, so that no other page can end the log-in.
        code.set_result(
            AuthorizationCodeResult(code=given["code"], state=given.get("state"), iss=given.get("iss"))
        )
    return "Logged in. You can close this page and go back to your editor."
