"""The agent: what a client can ask of it, and the sessions that are open for that client.

The SDK reads and writes messages and has their types. Which method does what stands here, in one table: the SDK's own
router lets the keys of `_meta` stand for params, and lacks methods that the protocol has.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.schema import (
    ForkSessionResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionResponse,
)
from pydantic import BaseModel
from pydantic_core import from_json

from outrider import __version__
from outrider.acp.capabilities import (
    SETUP_METHOD,
    ClientCapabilities,
    as_object,
    capabilities_of,
    flaw_of,
    initialize_result,
)
from outrider.acp.client import Client, serialized
from outrider.acp.content import Flaw, folders_of_request, servers_of_request
from outrider.acp.options import MODE
from outrider.acp.session import AcpSession, invalid, open_session, refused
from outrider.acp.wire import (
    AUTH_REQUIRED,
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    NOT_FOUND,
    REQUEST_ID,
    LineTransport,
)
from outrider.ports.clock import Clock, SystemClock
from outrider.ports.outside import Outside
from outrider.ports.refusal import CommandError
from outrider.store.problem import StoreReadError
from outrider.store.reader import SessionRow
from outrider.transport.connection import Outgoing
from outrider.transport.log import keep_out
from outrider.workspace.paths import path_of
from outrider_protocol import DELETE

logger = logging.getLogger(__name__)

PAGE: Final = 50
"""Sessions of one answer to `session/list`."""
CLOSE_SECONDS: Final = 1.0


class Agent:
    """One agent for one client. Feed `receive` with lines; its own go to the `Outgoing` it was given."""

    def __init__(
        self,
        outgoing: Outgoing,
        *,
        outside: Outside | None = None,
        clock: Clock | None = None,
        answered: str | int | None = None,
    ) -> None:
        """Prepare to serve. Needs a running event loop.

        Args:
            outgoing: Where its messages go.
            outside: The surroundings for its sessions; None lets each look around itself.
            clock: Counts what the client may take; None for the real time.
            answered: The id of `initialize`, if `early.py` has answered it.
        """
        self._clock = clock or SystemClock()
        self._outside = outside
        self._answered = answered
        self._transport = LineTransport(outgoing)
        self._connection = Connection(self._handle, self._transport)
        self._can: ClientCapabilities | None = None
        self._sessions: dict[str, AcpSession] = {}
        self._opening: set[str] = set()
        self._running: dict[str | int, asyncio.Task[Any]] = {}
        """The requests that can be cancelled, by their ids."""
        self._methods: dict[str, Callable[[dict[str, Any]], Awaitable[BaseModel | dict[str, Any]]]] = {
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/fork": self._fork,
            "session/close": self._close_session,
            "session/delete": self._delete,
            "session/prompt": self._prompt,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }
        keep_out(self._keys)

    # --- messages -----------------------------------------------------------------------------------------------

    def receive(self, body: bytes) -> None:
        """Take in a line."""
        if self._answered is not None:
            self._begun(body)
        else:
            self._transport.take(body)

    def refuse(self, problem: str) -> None:
        """Say what was no line."""
        self._transport.refuse(problem)

    async def close(self, reason: str = "closed") -> None:
        """Cancel all work and let go of everything, in little more than a second at most."""
        self._transport.end()
        sessions, self._sessions = list(self._sessions.values()), {}
        try:
            async with self._clock.timeout(CLOSE_SECONDS):
                await asyncio.gather(*(session.close(reason) for session in sessions), return_exceptions=True)
        except TimeoutError:
            logger.warning("closing did not finish in %g s", CLOSE_SECONDS)
        await self._connection.close()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        if method == "initialize" and not is_notification:
            return self._initialize(params)
        if is_notification:
            await self._notified(method, params)
            return None
        handler = self._methods.get(method)
        if handler is None:
            raise RequestError(METHOD_NOT_FOUND, f"there is no method {ascii(method)[:80]}")
        if self._can is None:
            raise RequestError(INVALID_REQUEST, "the first request must be initialize")
        if params is not None and not isinstance(params, dict):
            raise RequestError(INVALID_PARAMS, "params must be an object", {"path": "params"})
        number = REQUEST_ID.get()
        handling = asyncio.ensure_future(handler(as_object(params)))
        self._running[number] = handling
        try:
            result = await handling
        except RequestError:
            raise
        except StoreReadError as error:
            raise RequestError(INTERNAL_ERROR, error.problem.message) from error
        except asyncio.CancelledError:
            if handling.cancelled() and self._running.get(number) is handling:
                raise RequestError(CANCELLED, "cancelled") from None
            handling.cancel()
            raise
        except Exception as error:
            logger.exception("%s failed", method)
            raise RequestError(INTERNAL_ERROR, "the agent failed; see its log") from error
        finally:
            self._running.pop(number, None)
        return serialized(result) if isinstance(result, BaseModel) else result

    async def _notified(self, method: str, params: Any) -> None:
        given = as_object(params)
        match method:
            case "session/cancel":
                session = self._sessions.get(str(given.get("sessionId")))
                if session is not None:
                    await session.cancel()
            case "$/cancel_request":
                await self._cancel(given.get("requestId"))
            case _:
                logger.debug("the notification %r means nothing here", method)

    async def _cancel(self, number: Any) -> None:
        handling = self._running.get(number) if isinstance(number, str | int) else None
        if handling is None:
            return
        for session in self._sessions.values():
            if session.prompts.get(number):
                await session.cancel()  # its request ends with its turn
                return
        handling.cancel()

    # --- the beginning ------------------------------------------------------------------------------------------

    def _initialize(self, params: Any) -> dict[str, Any]:
        if self._can is not None:
            raise RequestError(INVALID_REQUEST, "initialize was sent before")
        if flaw := flaw_of(params):
            raise invalid(Flaw(*flaw))
        self._can = capabilities_of(params)
        return initialize_result(__version__)

    def _begun(self, body: bytes) -> None:
        """Take in the `initialize` that was answered early, which is the first line."""
        self._answered = None
        self._can = capabilities_of(as_object(from_json(body)).get("params"))

    async def _authenticate(self, params: dict[str, Any]) -> dict[str, Any]:
        method = params.get("methodId")
        if method != SETUP_METHOD:
            raise invalid(
                Flaw("methodId", f"there is no method {ascii(method)[:80]}; there is {SETUP_METHOD}")
            )
        session = await self._open([Path.home()])
        try:
            problem = await session.model_problem()
        finally:
            await session.close("looked at")
        if problem is not None:
            raise RequestError(AUTH_REQUIRED, problem)
        return {}

    # --- sessions -----------------------------------------------------------------------------------------------

    async def _new(self, params: dict[str, Any]) -> BaseModel:
        session = await self._open(await _folders(params), params)
        if (problem := await session.model_problem()) is not None:
            await session.close("no model")
            raise RequestError(AUTH_REQUIRED, problem)
        self._take_in(session)
        options = session.options
        return NewSessionResponse(
            session_id=session.id, modes=options.modes(), config_options=list(options.shown())
        )

    async def _load(self, params: dict[str, Any]) -> BaseModel:
        session = await self._reopen(params)
        await session.tell_all()
        self._take_in(session)
        return LoadSessionResponse(
            modes=session.options.modes(), config_options=list(session.options.shown())
        )

    async def _resume(self, params: dict[str, Any]) -> BaseModel:
        session = await self._reopen(params)
        self._take_in(session)
        return ResumeSessionResponse(
            modes=session.options.modes(), config_options=list(session.options.shown())
        )

    async def _fork(self, params: dict[str, Any]) -> BaseModel:
        session = await self._open(await _folders(params), params, _text(params, "sessionId"), forks=True)
        self._take_in(session)
        return ForkSessionResponse(
            session_id=session.id,
            modes=session.options.modes(),
            config_options=list(session.options.shown()),
        )

    async def _reopen(self, params: dict[str, Any]) -> AcpSession:
        """Open a session of the log, one that is open for this client already anew."""
        session_id = _text(params, "sessionId")
        folders = await _folders(params)
        if session_id in self._opening:
            raise RequestError(INVALID_REQUEST, f"{session_id} is being opened")
        self._opening.add(session_id)
        try:
            if (before := self._sessions.pop(session_id, None)) is not None:
                await before.close("opened again")
            session = await self._open(folders, params, session_id)
        finally:
            self._opening.discard(session_id)
        return session

    async def _open(
        self,
        folders: Sequence[Path],
        params: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        *,
        forks: bool = False,
    ) -> AcpSession:
        given = servers_of_request((params or {}).get("mcpServers"), folders[0])
        if isinstance(given, Flaw):
            raise invalid(given)
        session = await open_session(
            self._client, folders, self._outside, session_id, forks=forks, servers=given.servers
        )
        for text in given.left_out:
            session.say("warning", text)
        return session

    def _take_in(self, session: AcpSession) -> None:
        self._sessions[session.id] = session
        self._transport.after_response(REQUEST_ID.get(), session.begin)

    async def _list(self, params: dict[str, Any]) -> BaseModel:
        cwd, cursor = params.get("cwd"), params.get("cursor")
        if cwd is not None and not (isinstance(cwd, str) and Path(cwd).is_absolute()):
            raise invalid(Flaw("cwd", "must be an absolute path"))
        start = int(cursor) if isinstance(cursor, str) and cursor.isascii() and cursor.isdigit() else 0
        if cursor is not None and not start:
            raise invalid(Flaw("cursor", "is none that was given"))
        session = next(iter(self._sessions.values()), None)
        looking = None if session is not None else await self._open([Path(cwd) if cwd else Path.home()])
        try:
            opened = session or looking
            rows = await opened.app.services.runtime.store.sessions() if opened is not None else []
        finally:
            if looking is not None:
                await looking.close("looked at")
        uri = Path(cwd).as_uri() if cwd else None
        listed = [row for row in rows if row.last_turn_id and (uri is None or uri in row.folders)]
        page = listed[start : start + PAGE]
        following = start + PAGE
        return ListSessionsResponse(
            sessions=list(_infos(page)), next_cursor=str(following) if following < len(listed) else None
        )

    async def _close_session(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._session(params)
        await session.cancel()
        self._sessions.pop(session.id, None)
        await session.close("closed by the client")
        return {}

    async def _delete(self, params: dict[str, Any]) -> dict[str, Any]:
        """Remove a session for good, also one that is open here. An unknown session is no error (ACP, "Session Delete")."""
        session_id = _text(params, "sessionId")
        if session_id in self._sessions:
            await self._close_session(params)
        looking = await self._open([Path.home()])
        try:
            if await looking.has(session_id):
                await looking.commands.execute(DELETE, {"sessionId": session_id})
        except CommandError as error:
            raise refused(error) from error
        finally:
            await looking.close("looked at")
        return {}

    async def _prompt(self, params: dict[str, Any]) -> BaseModel:
        session, number = self._session(params), REQUEST_ID.get()
        session.prompts[number] = True
        try:
            return PromptResponse(stop_reason=await session.prompt(params.get("prompt")))
        finally:
            session.prompts.pop(number, None)

    async def _set_mode(self, params: dict[str, Any]) -> dict[str, Any]:
        session = self._session(params)
        await session.choose(MODE, _text(params, "modeId"))
        session.tell_options()
        return {}

    async def _set_option(self, params: dict[str, Any]) -> BaseModel:
        session = self._session(params)
        await session.choose(_text(params, "configId"), _text(params, "value"))
        return SetSessionConfigOptionResponse(config_options=list(session.options.shown()))

    # --- helpers ------------------------------------------------------------------------------------------------

    @property
    def _client(self) -> Client:
        return Client(self._connection, self._transport, self._can or ClientCapabilities(), self._clock)

    def _session(self, params: Mapping[str, Any]) -> AcpSession:
        session_id = params.get("sessionId")
        session = self._sessions.get(session_id) if isinstance(session_id, str) else None
        if session is None:
            raise RequestError(NOT_FOUND, f"no session {ascii(session_id)[:80]} is open")
        return session

    def _keys(self) -> Iterator[str]:
        for session in tuple(self._sessions.values()):
            yield from session.keys()


async def _folders(params: Mapping[str, Any]) -> Sequence[Path]:
    folders = folders_of_request(params.get("cwd"), params.get("additionalDirectories"))
    if isinstance(folders, Flaw):
        raise invalid(folders)
    missing = await asyncio.to_thread(lambda: [path for path in folders if not path.is_dir()])
    if missing:
        raise invalid(Flaw("cwd", f"{str(missing[0])!a} is not a folder"))
    return folders


def _infos(rows: Sequence[SessionRow]) -> Iterator[SessionInfo]:
    for row in rows:
        folders = [str(path) for uri in row.folders if (path := path_of(uri)) is not None]
        if folders:
            yield SessionInfo(
                session_id=row.session_id,
                cwd=folders[0],
                additional_directories=folders[1:] or None,
                title=row.title or None,
                updated_at=row.last_at,
            )


def _text(params: Mapping[str, Any], key: str) -> str:
    value = params.get(key)
    if not isinstance(value, str) or not value:
        raise invalid(Flaw(key, "must be a string"))
    return value
