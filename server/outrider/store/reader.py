"""Reads of the log, on a thread and a connection of their own: they see everything committed and hold up no write."""

import asyncio
import json
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from outrider.ports.events import LoggedEvent
from outrider.store.blobs import read, texts_size
from outrider.store.listing import SessionRow, list_sessions
from outrider.store.problem import StoreReadError, damaged, problem_of
from outrider.store.schema import TURN_BEGINS, storable

_T = TypeVar("_T")
_MOST_RECENT = 4
_RECENT_BYTES = 2 * 1024**2


class Reader:
    """Reads, one at a time. Every method raises `StoreReadError` where the log is damaged or cannot be read."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._recent: OrderedDict[str, bytes] = OrderedDict()
        """Contents that were read last: the next text of a file is a few changes away from them, not a thousand."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store-reader")

    async def close(self) -> None:
        """End the thread, after the reads that were asked for."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown(wait=False)

    async def events(
        self, session_id: str, from_seq: int, limit: int | None
    ) -> tuple[list[LoggedEvent], int]:
        """Events of a session from `from_seq` on, in order, at most `limit`; and the seq of its last one, or 0."""
        if not storable(session_id):
            return [], 0
        return await self._read(lambda: self._events(session_id, max(from_seq, 1), limit))

    async def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """The contents that are stored, by content hash; the others are left out."""
        wanted = [digest for digest in dict.fromkeys(digests) if storable(digest)]
        return await self._read(lambda: self._blobs(wanted)) if wanted else {}

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the most recently used first."""
        return await self._read(lambda: list_sessions(self._connection))

    async def texts_size(self) -> int:
        """Bytes of the texts of files, as they are stored."""
        return await self._read(lambda: texts_size(self._connection))

    async def find_turn(self, turn_id: str) -> str | None:
        """The session of a turn."""
        if not storable(turn_id):
            return None
        query = f"SELECT session_id FROM events WHERE turn_id = ? AND {TURN_BEGINS} LIMIT 1"  # noqa: S608 - a constant
        row = await self._read(lambda: self._connection.execute(query, (turn_id,)).fetchone())
        return None if row is None else row[0]

    async def changed(self, session_id: str, name: str) -> bool:
        """Whether an event of a session that changes files has that name in it."""
        if not storable(session_id):
            return False
        query = (
            "SELECT 1 FROM events WHERE session_id = ? "
            "AND (type LIKE 'edit.%' OR type LIKE 'workspace.%') AND instr(data, ?) LIMIT 1"
        )
        # As it stands in JSON; half a character makes all of it ASCII.
        written = json.dumps(name, ensure_ascii=not storable(name))[1:-1]
        row = await self._read(lambda: self._connection.execute(query, (session_id, written)).fetchone())
        return row is not None

    async def _read(self, read: Callable[[], _T]) -> _T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, read)
        except sqlite3.Error as error:
            raise StoreReadError(problem_of(error, self._path)) from error
        except (ValueError, TypeError, zlib.error) as error:
            raise StoreReadError(damaged(self._path, error)) from error

    def _events(self, session_id: str, from_seq: int, limit: int | None) -> tuple[list[LoggedEvent], int]:
        self._connection.execute("BEGIN")  # both queries see the same log
        try:
            rows = self._connection.execute(
                "SELECT seq, ts, turn_id, type, data FROM events "
                "WHERE session_id = ? AND seq >= ? ORDER BY seq LIMIT ?",
                (session_id, from_seq, -1 if limit is None else limit),
            ).fetchall()
            (last,) = self._connection.execute(
                "SELECT coalesce(max(seq), 0) FROM events WHERE session_id = ?", (session_id,)
            ).fetchone()
        finally:
            self._connection.execute("COMMIT")
        if rows and rows[-1][0] != from_seq + len(rows) - 1:
            raise ValueError(f"events are missing in session {session_id}")
        loads = json.loads
        events = [
            LoggedEvent(seq, ts, session_id, turn_id, type_, loads(data))
            for seq, ts, turn_id, type_, data in rows
        ]
        return events, last

    def _blobs(self, digests: list[str]) -> dict[str, bytes]:
        self._connection.execute("BEGIN")  # a text and those it is a change of belong to one log
        try:
            found = read(self._connection, digests, self._recent)
        finally:
            self._connection.execute("COMMIT")
        for digest in digests[-_MOST_RECENT:]:
            if len(found.get(digest, b"")) <= _RECENT_BYTES and digest in found:
                self._recent[digest] = found[digest]
                self._recent.move_to_end(digest)
        while len(self._recent) > _MOST_RECENT:
            self._recent.popitem(last=False)
        return found
