"""Keeps what models answered as files that `recorded:PATH` plays, where the settings say so.

A recording is an export of its session, so that no secret gets into it that no export has. It is written anew when a
turn ends, in the background; nothing waits for it but the end of the process.
"""

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from outrider.agent.export import export_session
from outrider.agent.services import Services
from outrider.agent.session import Refused
from outrider.ports.events import LoggedEvent
from outrider.store.problem import StoreReadError
from outrider_protocol.export import Export

FOLDER: Final = "recordings"
"""Where they lie in the state folder."""
MOST_FILES: Final = 50
MOST_BYTES: Final = 256 * 1024 * 1024
"""Of all recordings; above one of them those that were not written for longest go, but never the latest."""
END_SECONDS: Final = 10.0
"""How long the end of the process may wait for the last one."""

_log = logging.getLogger(__name__)


class Recordings:
    """Writes the recordings of this process."""

    def __init__(self, services: Services, state_dir: Path, tell: Callable[[str], None]) -> None:
        """Begin to listen.

        Args:
            services: The house.
            state_dir: The state folder.
            tell: Tells the person why one could not be written.
        """
        self._services = services
        self._folder = state_dir / FOLDER
        self._tell = tell
        self._wanted: dict[str, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._end = services.store.subscribe(self._heard)

    async def close(self) -> None:
        """End, once the recordings of the turns that ended are written."""
        await self._services.store.flush()
        self._end()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=END_SECONDS)
            self._task.cancel()
            await asyncio.wait([self._task])

    def _heard(self, event: LoggedEvent) -> None:
        if event.type != "turn.finished" or not self._services.settings().recording:
            return
        self._wanted[event.session_id] = None
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write_all(), name="write recordings")

    async def _write_all(self) -> None:
        while self._wanted:
            session_id = next(iter(self._wanted))
            del self._wanted[session_id]
            problem = await self._write(session_id)
            if problem is not None:
                _log.warning("Session %s is not recorded: %s", session_id, problem)
                self._tell(f"Session {session_id} is not recorded: {problem}")

    async def _write(self, session_id: str) -> str | None:
        try:
            exported = await export_session(self._services, session_id)
        except StoreReadError as problem:
            return str(problem)
        if isinstance(exported, Refused):
            return exported.message
        return await asyncio.to_thread(write, self._folder, exported)


def write(folder: Path, exported: Export) -> str | None:
    """Write a recording, and take away what is too much; a text says why that failed. Blocks."""
    # Ids are the program's own, and a file of any other name would be none of these.
    path = folder / f"{exported.session_id}.json"
    content = json.dumps(exported.to_wire(), indent=1).encode() + b"\n"
    temporary = folder / f".{secrets.token_hex(8)}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
        temporary.replace(path)
        _trim(folder, path)
    except OSError as problem:
        with suppress(OSError):
            temporary.unlink()
        return f"{path} cannot be written: {problem.strerror or problem}"
    return None


def _trim(folder: Path, latest: Path) -> None:
    files = [(path.stat(), path) for path in folder.glob("ses_*.json") if path != latest]
    files.sort(key=lambda one: one[0].st_mtime_ns, reverse=True)
    size = latest.stat().st_size
    for number, (status, path) in enumerate(files, start=2):
        size += status.st_size
        if number > MOST_FILES or size > MOST_BYTES:
            path.unlink(missing_ok=True)
