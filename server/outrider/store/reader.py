"""Reads of the log, on a thread and a connection of their own: they see everything committed and hold up no write."""

import asyncio
import json
import logging
import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from outrider.ports.events import LoggedEvent, from_old_log
from outrider.store.blobs import read, texts_size
from outrider.store.problem import StoreReadError, damaged, problem_of
from outrider.store.schema import (
    FILE_NAME,
    LANDMARKS,
    NAMINGS,
    TURN_BEGINS,
    is_sound,
    open_reader,
    storable,
    suspect,
)
from outrider.store.search import Match, search

_TITLE_LENGTH = 80
_LATEST = (
    "SELECT (SELECT ts FROM events WHERE session_id = ?1 "
    "AND type NOT IN ('session.restored', 'session.closed', 'session.renamed', 'workspace.renamed') ORDER BY seq DESC LIMIT 1), "
    "max(seq) FROM events WHERE session_id = ?1"
)
"""Nobody used a session that only followed a file to another path, got a name, or that its process opened again or let go of."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as a list shows it."""

    session_id: str
    started_at: str
    """`ts` of its first event."""
    last_at: str
    """`ts` of its last event that somebody's use brought about: not that it was opened, let go of, or followed a file."""
    last_seq: int
    title: str = ""
    """What the user called it, else what a model did, else the first task as one line of at most 80 characters; empty before
    there is one."""
    turns: int = 0
    """Turns that were started."""
    folders: tuple[str, ...] = ()
    """URIs of the workspace folders it was last opened with."""
    last_turn_id: str | None = None
    last_turn_state: str | None = None
    """`queued`, `running`, `parked`, or the outcome of the turn that was started last."""
    forked_from: str | None = None
    """The session that it is a copy of."""


def list_sessions(connection: sqlite3.Connection) -> list[SessionRow]:
    """All sessions, the most recently used first. Blocks.

    Raises:
        sqlite3.Error: the log cannot be read.
        ValueError: a row is not JSON.
    """
    rows: dict[str, SessionRow] = {}
    landmarks = connection.execute(
        "SELECT session_id, turn_id, ts, type, data FROM events INDEXED BY landmarks "  # noqa: S608 - a constant
        f"WHERE {LANDMARKS} ORDER BY session_id, seq"
    )
    for session_id, turn_id, ts, type_, text in landmarks:
        row = rows.get(session_id)
        if row is None:
            last_at, last_seq = connection.execute(_LATEST, (session_id,)).fetchone()
            row = SessionRow(session_id, started_at=ts, last_at=last_at, last_seq=last_seq)
        rows[session_id] = _fold(row, turn_id, type_, json.loads(text))
    namings = connection.execute(
        "SELECT session_id, ts, type, data FROM events INDEXED BY namings "  # noqa: S608 - as above
        f"WHERE {NAMINGS} ORDER BY session_id, seq"
    )
    by_user: set[str] = set()
    for session_id, ts, type_, text in namings:
        if (row := rows.get(session_id)) is None:
            continue
        data = json.loads(text)
        if type_ in {"session.forked", "session.imported"}:
            source = data["fromSessionId"] if type_ == "session.forked" else None
            rows[session_id] = replace(row, started_at=ts, forked_from=source)
        elif (title := data.get("title")) and (type_ == "session.renamed" or session_id not in by_user):
            by_user |= {session_id} if type_ == "session.renamed" else set()
            rows[session_id] = replace(row, title=title)
    return sorted(rows.values(), key=lambda row: (row.last_at, row.session_id), reverse=True)


def list_finished(state_dir: Path, folder: str) -> list[SessionRow] | None:
    """The sessions of a workspace folder, read from the log without a server. Blocks, and changes nothing.

    Args:
        state_dir: Where the log is.
        folder: URI of the workspace folder.

    Returns:
        The sessions, the most recently used first, where the last turn of each has finished. None where only a server can
        tell: a turn is not finished, the end of one is not in the log, or the log cannot be read as it is.
    """
    path = state_dir / FILE_NAME
    try:
        if not state_dir.exists():
            return []
        if not path.is_file() or not is_sound(path):
            return None
        with closing(open_reader(path)) as connection:
            rows = [row for row in list_sessions(connection) if folder in row.folders]
    except (sqlite3.Error, ValueError, OSError):
        return None
    return None if any(row.last_turn_state in {"queued", "running", "parked"} for row in rows) else rows


def _fold(row: SessionRow, turn_id: str | None, type_: str, data: dict[str, Any]) -> SessionRow:
    match type_:
        case "session.started" | "session.restored":
            return replace(row, folders=tuple(data.get("folders", ())))
        case "turn.queued":
            row = replace(row, title=row.title or _title(data))
            return row if row.turns else replace(row, last_turn_id=turn_id, last_turn_state="queued")
        case "turn.started":
            return replace(
                row,
                title=row.title or _title(data),
                turns=row.turns + 1,
                last_turn_id=turn_id,
                last_turn_state="running",
            )
        case "turn.parked" | "turn.resumed" | "turn.finished" if turn_id == row.last_turn_id:
            states = {"turn.parked": "parked", "turn.resumed": "running"}
            return replace(row, last_turn_state=states.get(type_) or data.get("outcome"))
        case _:
            return row


def _title(data: dict[str, Any]) -> str:
    line = " ".join(str(data.get("prompt", "")).split())
    return line if len(line) <= _TITLE_LENGTH else f"{line[: _TITLE_LENGTH - 1]}…"


_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_LATEST_EVENTS = 10_000
"""Among which an answer is looked for that somebody else gave a moment ago."""
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

    async def forget(self) -> None:
        """Keep nothing that was read before."""
        await self._read(self._recent.clear)

    async def events(
        self, session_id: str, from_seq: int, limit: int | None
    ) -> tuple[list[LoggedEvent], int]:
        """Events of a session from `from_seq` on, in order, at most `limit`; and the seq of its last one, or 0."""
        if not storable(session_id):
            return [], 0
        return await self._read(lambda: self._events(session_id, max(from_seq, 1), limit))

    async def blobs(self, digests: Iterable[str], *, readable: bool = False) -> dict[str, bytes]:
        """The contents that are stored, by content hash; the others are left out, also damaged ones if `readable`."""
        wanted = [digest for digest in dict.fromkeys(digests) if storable(digest)]
        return await self._read(lambda: self._blobs(wanted, readable=readable)) if wanted else {}

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the most recently used first."""
        return await self._read(lambda: list_sessions(self._connection))

    async def search(self, words: Sequence[str], before: int | None) -> tuple[dict[str, Match], int]:
        """Where sessions say something, in a stretch of the log; see `search.search`."""
        return await self._read(lambda: search(self._connection, words, before))

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

    async def was_answered(self, item_id: str) -> bool:
        """Whether the user answered an item in one of the latest events, of whatever session."""
        if not storable(item_id):
            return False
        query = (
            "SELECT 1 FROM (SELECT type, data FROM events ORDER BY id DESC LIMIT ?) "
            "WHERE type IN ('approval.resolved', 'question.answered', 'tool.answered') AND json_extract(data, '$.id') = ? "
            "AND coalesce(json_extract(data, '$.by'), 'person') = 'person' LIMIT 1"
        )
        given = (_LATEST_EVENTS, item_id)
        return await self._read(lambda: self._connection.execute(query, given).fetchone()) is not None

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
        def watched() -> _T:
            try:
                return read()
            except sqlite3.Error as error:
                problem, cause = problem_of(error, self._path), error
            except (ValueError, TypeError, zlib.error) as error:
                problem, cause = damaged(self._path, error), error
            if problem.reason == "damaged":
                suspect(self._path)
            raise StoreReadError(problem) from cause

        return await asyncio.get_running_loop().run_in_executor(self._thread, watched)

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
        read_rows = [(seq, ts, turn_id, type_, loads(data)) for seq, ts, turn_id, type_, data in rows]
        if odd := next((row for row in read_rows if not isinstance(row[-1], dict)), None):
            raise ValueError(f"the data of event {odd[0]} of session {session_id} is no object")
        events = [
            from_old_log(seq, ts, session_id, turn_id, type_, data)
            for seq, ts, turn_id, type_, data in read_rows
        ]
        return events, last

    def _all_or_readable(self, digests: list[str]) -> dict[str, bytes]:
        """All of these contents, or each that is not damaged."""
        try:
            return read(self._connection, digests, self._recent)
        except (sqlite3.DatabaseError, ValueError, TypeError, zlib.error) as error:
            if len(digests) == 1:
                _log.warning("A content of %s cannot be read: %s", self._path, error)
                return {}
        middle = len(digests) // 2
        return self._all_or_readable(digests[:middle]) | self._all_or_readable(digests[middle:])

    def _blobs(self, digests: list[str], *, readable: bool) -> dict[str, bytes]:
        self._connection.execute("BEGIN")  # a text and those it is a change of belong to one log
        try:
            found = (
                self._all_or_readable(digests) if readable else read(self._connection, digests, self._recent)
            )
        finally:
            self._connection.execute("COMMIT")
        for digest in digests[-_MOST_RECENT:]:
            if len(found.get(digest, b"")) <= _RECENT_BYTES and digest in found:
                self._recent[digest] = found[digest]
                self._recent.move_to_end(digest)
        while len(self._recent) > _MOST_RECENT:
            self._recent.popitem(last=False)
        return found
