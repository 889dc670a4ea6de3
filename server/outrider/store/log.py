"""The store: append events, flush, subscribe, read. Nobody sees an event through it that is not committed."""

import asyncio
import json
import logging
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from outrider.ports.events import EventListener, LoggedEvent
from outrider.store.listing import SessionRow
from outrider.store.locks import SessionLock, lock_session
from outrider.store.problem import StoreProblem, StoreReadError, problem_of, unwritable
from outrider.store.reader import Reader
from outrider.store.schema import FILE_NAME, open_reader, open_writer, storable
from outrider.store.writer import Entry, Flush, Report, Trim, Writer

__all__ = ["SessionLock", "SessionRow", "Store", "StoreProblem", "StoreReadError"]

_log = logging.getLogger(__name__)
_CLOSE_SECONDS = 2.0
_GATHER_SECONDS = 0.01
"""How long events that nobody waits for are gathered, so that a step of the loop costs one commit, made while the
model answers, and not one commit an event. A flush ends it."""
_NO_BLOBS: Mapping[str, bytes] = MappingProxyType({})

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode


class Store:
    """The log and the blobs of one state folder. Made by `open`; used on one event loop."""

    def __init__(
        self,
        state_dir: Path,
        writer: sqlite3.Connection,
        reader: sqlite3.Connection,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._locks = state_dir / "locks"
        self._path = state_dir / FILE_NAME
        self._loop = loop
        self._reader = Reader(reader, self._path)
        self._listeners: list[EventListener] = []
        self._last: dict[str, int] = {}
        """Seq of the last event of each session we know, committed or not."""
        self._refused: set[str] = set()
        self._uncommitted = 0
        self._gathered: list[Entry] = []
        self._problem: StoreProblem | None = None
        self._closed = False
        self._writer = Writer(writer, self._path, self._report_from_thread)

    @classmethod
    async def open(cls, state_dir: Path) -> "Store | StoreProblem":
        """Open the log in `state_dir`; both are created where they are missing (0700 and 0600)."""
        connections = await asyncio.to_thread(_open, state_dir / FILE_NAME)
        if isinstance(connections, StoreProblem):
            return connections
        return cls(state_dir, *connections, asyncio.get_running_loop())

    def append(self, event: LoggedEvent, *, blobs: Mapping[str, bytes] = _NO_BLOBS) -> None:
        """Put `event` into the log, and the contents it names with it; it is committed some time later, see `flush`.

        Never blocks. A content that is stored already costs a look-up, so hand over each one once where you can.

        Args:
            event: its `seq` follows the session's last one. For a session that exists, call `last_seq` or `events`
                first.
            blobs: contents by their `content_hash`, written in the same transaction.

        Raises:
            ValueError: a gap or a repeat in `seq`, a session that another process writes to, an id that is not
                Unicode, data that is not JSON, or the store is closed. All are bugs of the caller.
            TypeError: data that is not JSON.
        """
        session_id = event.session_id
        if self._closed:
            raise ValueError("the store is closed")
        if session_id in self._refused:
            raise ValueError(f"session {session_id} is written by another process too")
        expected = self._last.get(session_id, 0) + 1
        if event.seq != expected:
            raise ValueError(f"event {event.seq} of session {session_id} where {expected} is next")
        if not storable(f"{session_id}{event.turn_id}{event.type}{event.ts}"):
            raise ValueError(f"lone surrogates in the fields of event {event.seq} of session {session_id!r}")
        text = _encode(event.data)
        if not storable(text):
            text = _encode_ascii(event.data)
        self._last[session_id] = event.seq
        self._uncommitted += 1
        if not self._gathered:
            self._loop.call_later(_GATHER_SECONDS, self._hand_over)
        self._gathered.append(Entry(event, text, blobs))

    async def flush(self, *, durable: bool = False) -> StoreProblem | None:
        """Wait until everything appended before is committed and published.

        Args:
            durable: also wait until it would survive a loss of power.

        Returns:
            Why it could not be written. The events are kept in order, and tried again at the next append or flush.
        """
        if self._closed:
            return self._problem
        if not durable and not self._uncommitted:
            return None
        done: asyncio.Future[StoreProblem | None] = self._loop.create_future()
        self._hand_over()
        self._writer.put(Flush(durable, done))
        return await done

    def subscribe(self, listener: EventListener) -> Callable[[], None]:
        """Call `listener` on the event loop with each event after its commit, in order of seq per session.

        Returns:
            A function that ends it.
        """
        # A listener may be subscribed twice; each subscription ends on its own.
        listeners = self._listeners

        def once(event: LoggedEvent) -> None:
            listener(event)

        def end() -> None:
            if once in listeners:
                listeners.remove(once)

        listeners.append(once)
        return end

    async def events(self, session_id: str, from_seq: int = 1, limit: int | None = None) -> list[LoggedEvent]:
        """Committed events of a session from `from_seq` on, in order, at most `limit`; none for an unknown session.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        events, last = await self._reader.events(session_id, from_seq, limit)
        self._remember(session_id, last)
        return events

    async def last_seq(self, session_id: str) -> int:
        """Seq of the last committed event of a session; 0 for an unknown session.

        Raises:
            StoreReadError: the log cannot be read.
        """
        _, last = await self._reader.events(session_id, 1, 0)
        self._remember(session_id, last)
        return last

    async def blob(self, digest: str) -> bytes | None:
        """The content with that hash, None where it is not stored.

        Raises:
            StoreReadError: it is damaged, or the log cannot be read.
        """
        return (await self._reader.blobs([digest])).get(digest)

    async def blobs(self, digests: Iterable[str]) -> dict[str, bytes]:
        """The contents that are stored, by content hash; the others are left out.

        Raises:
            StoreReadError: one is damaged, or the log cannot be read.
        """
        return await self._reader.blobs(digests)

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the most recently used first.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        return await self._reader.sessions()

    async def changed(self, session_id: str, name: str) -> bool:
        """Whether a session may have changed a file with that name, or one below a folder with it.

        Raises:
            StoreReadError: the log cannot be read.
        """
        return await self._reader.changed(session_id, name)

    async def find_turn(self, turn_id: str) -> str | None:
        """The session that a queued or started turn belongs to, None for an unknown turn.

        Raises:
            StoreReadError: the log cannot be read.
        """
        return await self._reader.find_turn(turn_id)

    def lock(self, session_id: str) -> SessionLock | None:
        """Take the right to run a session, without waiting; None where another process, or this one, has it."""
        return lock_session(self._locks, session_id)

    async def texts_size(self) -> int:
        """Bytes of the texts of files, as they are stored, without what a conversation holds too.

        Raises:
            StoreReadError: the log cannot be read.
        """
        return await self._reader.texts_size()

    async def give_up_texts(self, session_id: str) -> bool:
        """Let go of some of the oldest texts of files that a session named, in one short piece of work.

        What another session or a conversation names too stays.

        Args:
            session_id: A session that is not open anywhere: its lock is held by the caller.

        Returns:
            Whether it has more.
        """
        return await self._trimmed(session_id)

    async def give_room_back(self) -> bool:
        """Make the file smaller by some of what is free in it, in one short piece of work.

        Returns:
            Whether there is more.
        """
        return await self._trimmed(None)

    async def close(self) -> StoreProblem | None:
        """Write what is left, checkpoint, and end the threads. Does nothing the second time.

        Returns:
            Why events are lost, if they are.
        """
        if self._closed:
            return None
        self._closed = True
        self._hand_over()
        await self._reader.close()
        if not await asyncio.to_thread(self._writer.close, _CLOSE_SECONDS):
            self._problem = unwritable(self._path, f"the last write took more than {_CLOSE_SECONDS} seconds")
        return self._problem if self._uncommitted else None

    async def _trimmed(self, session_id: str | None) -> bool:
        if self._closed:
            return False
        done: asyncio.Future[bool] = self._loop.create_future()
        self._writer.put(Trim(session_id, done))
        return await done

    def _hand_over(self) -> None:
        gathered, self._gathered = self._gathered, []
        for entry in gathered:
            self._writer.put(entry)

    def _remember(self, session_id: str, last: int) -> None:
        # What is appended and not committed is ahead of the file; another process may have been ahead of us.
        if last > self._last.get(session_id, 0):
            self._last[session_id] = last

    def _report_from_thread(self, report: Report) -> None:
        try:
            self._loop.call_soon_threadsafe(self._take, report)
        except RuntimeError:
            _log.warning("The event loop ended before the store was closed")

    def _take(self, report: Report) -> None:
        self._uncommitted -= len(report.committed) + sum(report.refused.values())
        self._refused.update(report.refused)
        if report.problem and not self._problem:
            _log.error("%s", report.problem.message)
        self._problem = report.problem
        for event in report.committed:
            for listener in tuple(self._listeners):
                self._publish(listener, event)
        if report.trimmed is not None:
            ticket, more = report.trimmed
            if not ticket.done():
                ticket.set_result(more)
        problem = report.problem or _refusal(self._path, report.refused)
        for ticket in report.tickets:
            if not ticket.done():
                ticket.set_result(problem)

    def _publish(self, listener: EventListener, event: LoggedEvent) -> None:
        try:
            listener(event)
        except Exception:  # noqa: BLE001 - what one listener does must not reach the others
            _log.exception("A listener failed at event %s of session %s", event.seq, event.session_id)


def _refusal(path: Path, refused: Mapping[str, int]) -> StoreProblem | None:
    if not refused:
        return None
    names = ", ".join(refused)
    return StoreProblem(
        "locked",
        f"Another process writes to session {names} in {path}. Close it there, or open it again here.",
    )


def _open(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection] | StoreProblem:
    writer = open_writer(path)
    if isinstance(writer, StoreProblem):
        return writer
    try:
        return writer, open_reader(path)
    except sqlite3.Error as error:
        writer.close()
        return problem_of(error, path)
