"""Lets other processes of the same user in: they watch the sessions that run here, answer, say something, and cancel."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from outrider.app import App
from outrider.peers.caller import FOLDER
from outrider.peers.door import Door, Line, open_door
from outrider.ports.events import LoggedEvent, StreamFrame, to_wire
from outrider.ports.refusal import CommandError
from outrider_protocol import (
    ANSWER,
    CANCEL,
    EXPLORE,
    INVALID_PARAMS,
    JOBS,
    QUEUE,
    RETRY,
    RUN,
    STATUS,
    STEER,
    WAIT,
)

log = logging.getLogger(__name__)

FOR_GUESTS: Final = frozenset({ANSWER, CANCEL, EXPLORE, JOBS, QUEUE, RETRY, RUN, STATUS, STEER, WAIT})
"""What another process may have done here."""

Execute = Callable[[str, Any], Awaitable[dict[str, Any]]]


class Guests:
    """Those that have called."""

    def __init__(self, app: App, execute: Execute) -> None:
        """Let in who calls, from the first session on that runs here.

        Args:
            app: The house.
            execute: Does a command of the command table.
        """
        self._app = app
        self._execute = execute
        self._watching: dict[Line, str] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._door: asyncio.Task[Door | str] | None = None
        self._end = app.services.runtime.store.subscribe(self._on_event)
        app.on_frames.append(self._on_frame)
        app.sessions.on_rest = self._on_rest
        app.on_close(self.close)

    async def close(self) -> None:
        """Let nobody in any more."""
        self._end()
        if self._door is not None and isinstance(door := await self._door, Door):
            await door.close()

    def _on_event(self, event: LoggedEvent) -> None:
        if self._door is None and event.type in {"session.started", "session.restored", "turn.started"}:
            folder = self._app.services.runtime.state_dir / FOLDER
            self._door = asyncio.create_task(self._open(folder), name="let other processes in")
        for line in self._watchers(event.session_id):
            line.send({"event": to_wire(event)})

    async def _open(self, folder: Any) -> Door | str:
        door = await open_door(folder, self._serve)
        if isinstance(door, str):
            log.warning("%s", door)
        return door

    def _on_frame(self, frame: StreamFrame) -> None:
        watchers = self._watchers(frame.session_id)
        if watchers:
            told = {key: getattr(frame, key) for key in ("turn_id", "source_id", "kind", "offset", "text")}
            for line in watchers:
                line.send({"frame": told})

    def _on_rest(self, session_id: str) -> None:
        """Nothing runs any more: whoever watched goes on with it as they like."""
        for line in self._watchers(session_id):
            del self._watching[line]
            task = asyncio.get_running_loop().create_task(line.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    def _watchers(self, session_id: str) -> list[Line]:
        return [line for line, watched in self._watching.items() if watched == session_id]

    async def _serve(self, line: Line) -> None:
        requests: set[asyncio.Task[None]] = set()
        try:
            while (message := await line.receive()) is not None:
                task = asyncio.get_running_loop().create_task(self._reply(line, message))
                requests.add(task)
                task.add_done_callback(requests.discard)
        finally:
            self._watching.pop(line, None)
            for task in requests:
                task.cancel()
            await asyncio.gather(*requests, return_exceptions=True)

    async def _reply(self, line: Line, message: Mapping[str, Any]) -> None:
        try:
            reply: dict[str, Any] = {"result": await self._done(line, message)}
        except CommandError as refused:
            reply = {
                "error": {"code": refused.code, "message": refused.message, "data": dict(refused.data or {})}
            }
        except Exception:
            log.exception("a request of another process failed")
            reply = {"error": {"code": INVALID_PARAMS, "message": "the request failed", "data": {}}}
        line.send({"id": message.get("id"), **reply})

    async def _done(self, line: Line, message: Mapping[str, Any]) -> Any:
        sessions = self._app.sessions
        match message:
            case {"has": str() as session_id}:
                return sessions.holds(session_id)
            case {"watch": str() as session_id} if sessions.holds(session_id):
                # What is committed from here on is told; what was before is in the log.
                await self._app.services.runtime.store.flush()
                self._watching[line] = session_id
                return True
            case {"command": str() as name} if name in FOR_GUESTS:
                return await self._execute(name, message.get("params"))
            case _:
                raise CommandError(
                    INVALID_PARAMS, "that cannot be asked of another process", {"path": "", "problem": ""}
                )
