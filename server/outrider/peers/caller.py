"""Asks another process to do something, and listens to what it tells."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from outrider.peers.door import Line, call, doors

FOLDER: Final = "doors"
"""Where the sockets are, in the state folder."""
ANSWER_SECONDS: Final = 5.0
"""How long a process may take to say whether it has a session."""

Reply = Mapping[str, Any]


class HungUpError(Exception):
    """The other process is gone, or hung up."""


class Caller:
    """A conversation with another process: requests with a reply each, and what it tells by itself."""

    def __init__(self, line: Line, on_told: Callable[[Reply], None] = lambda _: None) -> None:
        self._line = line
        self._on_told = on_told
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self._reading = asyncio.create_task(self._read(), name="listen to another process")

    async def ask(self, **request: Any) -> Reply:
        """Make a request and give its reply.

        Raises:
            HungUpError: there is none.
        """
        number = len(self._waiting) + 1
        while number in self._waiting:
            number += 1
        if self._reading.done():
            raise HungUpError
        reply = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._line.send({"id": number, **request})
        try:
            return await reply
        finally:
            self._waiting.pop(number, None)

    async def ended(self) -> None:
        """Wait until the other process hangs up."""
        await asyncio.wait([self._reading])

    async def close(self) -> None:
        """Hang up."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        await self._line.close()

    async def _read(self) -> None:
        try:
            while (message := await self._line.receive()) is not None:
                waiting = self._waiting.get(message.get("id", 0))
                if waiting is None:
                    self._on_told(message)
                elif not waiting.done():
                    waiting.set_result(message)
        finally:
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(HungUpError())


async def find(
    folder: Path, session_id: str, on_told: Callable[[Reply], None] = lambda _: None
) -> Caller | None:
    """The process that runs a session; None where none of those that can be called does.

    Args:
        folder: The state folder.
        session_id: The session.
        on_told: Is given what it tells by itself.
    """
    for path in await asyncio.to_thread(doors, folder / FOLDER):
        if (line := await call(path)) is None:
            continue
        caller = Caller(line, on_told)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if (await caller.ask(has=session_id)).get("result") is True:
                    return caller
        except (HungUpError, TimeoutError):
            pass
        await caller.close()
    return None
