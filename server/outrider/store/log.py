"""The store: append events, flush, subscribe, read. Nobody sees an event through it that is not committed."""

import asyncio
import json
import logging
import math
import sqlite3
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from outrider.ports.events import EventListener, LoggedEvent
from outrider.store import whole
from outrider.store.blobs import give_back, give_up
from outrider.store.locks import (
    LOCKS,
    SessionLock,
    lock_session,
    mark_failed,
    marked_failed,
    remove_lock,
    unmark_failed,
)
from outrider.store.problem import StoreProblem, StoreReadError, problem_of, unwritable
from outrider.store.reader import Reader, SessionRow
from outrider.store.salvage import salvage, set_aside
from outrider.store.schema import FILE_NAME, open_reader, open_writer, storable
from outrider.store.search import Match
from outrider.store.writer import Entry, Errand, Flush, Report, Writer

__all__ = ["SessionLock", "SessionRow", "Store", "StoreProblem", "StoreReadError"]

_log = logging.getLogger(__name__)
_CLOSE_SECONDS = 2.0
_GATHER_SECONDS = 0.01
"""How long events that nobody waits for are gathered, so that a step of the loop costs one commit, made while the
model answers, and not one commit an event. A flush ends it."""
_PUBLISH_SECONDS = 0.005
"""How long listeners are told of events in one step of the loop."""
_TEXTS_OF_A_TRIM = 50
_PAGES_OF_A_TRIM = 256
"""What is removed, and given back, in one piece, so that events that come meanwhile do not wait for long."""
_STILL_READ = (
    "The session is deleted, but another program reads the log, so some of its bytes stay in the file beside it "
    "until that one ends or the log is used again."
)
_T = TypeVar("_T")
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
        self._locks = state_dir / LOCKS
        self._path = state_dir / FILE_NAME
        self._loop = loop
        self._reader = Reader(reader, self._path)
        self._listeners: list[EventListener] = []
        self._last: dict[str, int] = {}
        """Seq of the last event of each session we know, committed or not."""
        self._refused: set[str] = set()
        self._uncommitted = 0
        self._unpublished: deque[LoggedEvent | Report] = deque()
        """Events that are committed, each report behind those that it is about."""
        self._is_publishing = False
        self._gathered: list[Entry] = []
        self._problem: StoreProblem | None = None
        self.notice: str | None = None
        """What the user is to know of a log that was damaged when it was opened."""
        self._closed = False
        self._writer = Writer(writer, self._path, self._report_from_thread)

    @classmethod
    async def open(cls, state_dir: Path) -> "Store | StoreProblem":
        """Open the log in `state_dir`; both are created where they are missing (0700 and 0600)."""
        path, notice = state_dir / FILE_NAME, None
        connections = await asyncio.to_thread(_open, path)
        if isinstance(connections, StoreProblem) and connections.reason == "damaged":
            connections, notice = await asyncio.to_thread(_open_anew, path, state_dir / LOCKS, connections)
        if isinstance(connections, StoreProblem):
            return connections
        store = cls(state_dir, *connections, asyncio.get_running_loop())
        store.notice = notice
        return store

    def append(self, event: LoggedEvent, *, blobs: Mapping[str, bytes] = _NO_BLOBS) -> LoggedEvent:
        """Put `event` into the log, and the contents it names with it; it is committed some time later, see `flush`.

        Never blocks. A content that is stored already costs a look-up, so hand over each one once where you can.

        Args:
            event: its `seq` follows the session's last one. For a session that exists, call `last_seq` or `events`
                first.
            blobs: contents by their `content_hash`, written in the same transaction.

        Returns:
            The event as it is in the log.

        Raises:
            ValueError: a gap or a repeat in `seq`, a session that another process writes to, an id that is not
                Unicode, data that is not JSON, or the store is closed. All are bugs of the caller.
            TypeError: data that is not JSON.
        """
        session_id = event.session_id
        if self._closed:
            raise ValueError("the store is closed")
        if session_id in self._refused:
            raise ValueError(f"session {session_id} is being written by another process")
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
        event = replace(event, text=text)
        self._gathered.append(Entry(event, text, blobs))
        return event

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

    @property
    def problem(self) -> StoreProblem | None:
        """Why events that were appended are not committed, as far as is known without waiting."""
        return self._problem

    async def mark_failed(self, turn_id: str) -> None:
        """Note beside the log that a turn ended as failed, which the log could not take."""
        await asyncio.to_thread(mark_failed, self._locks, turn_id)

    async def marked_failed(self) -> list[str]:
        """The turns that were noted so. Whether the log knows their end by now is for the caller to see."""
        return await asyncio.to_thread(marked_failed, self._locks)

    async def unmark_failed(self, turn_id: str) -> None:
        """Forget a note that the log has caught up with."""
        await asyncio.to_thread(unmark_failed, self._locks, turn_id)

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

    async def blobs(self, digests: Iterable[str], *, readable: bool = False) -> dict[str, bytes]:
        """The contents that are stored, by content hash; the others are left out.

        Args:
            digests: Their hashes.
            readable: Whether those that are damaged are left out, too.

        Raises:
            StoreReadError: one is damaged, or the log cannot be read.
        """
        return await self._reader.blobs(digests, readable=readable)

    async def sessions(self) -> list[SessionRow]:
        """All sessions, the most recently used first.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        return await self._reader.sessions()

    async def search(self, words: Sequence[str], sessions: Collection[str], most: int) -> dict[str, Match]:
        """Which sessions say something, and where they do last.

        Args:
            words: What one text of a session has to have all of, in `casefold`.
            sessions: Those that are looked at.
            most: How many are wanted; the latest are found first.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        found: dict[str, Match] = {}
        before: int | None = None
        while before != 0 and len(found) < min(most, len(sessions)):
            more, before = await self._reader.search(words, before)
            found = {key: one for key, one in more.items() if key in sessions} | found
        return found

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

    async def was_answered(self, item_id: str) -> bool:
        """Whether an item that waited for the user was answered lately, in whatever session, by whomever.

        Raises:
            StoreReadError: the log cannot be read.
        """
        return await self._reader.was_answered(item_id)

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
        return await self._trimmed(
            lambda connection: give_up(connection, session_id, _TEXTS_OF_A_TRIM) == _TEXTS_OF_A_TRIM,
            in_transaction=True,
        )

    async def give_room_back(self) -> bool:
        """Make the file smaller by some of what is free in it, in one short piece of work.

        Returns:
            Whether there is more.
        """
        return await self._trimmed(
            lambda connection: give_back(connection, _PAGES_OF_A_TRIM), in_transaction=False
        )

    async def copy(
        self, session_id: str, copy_id: str, until: int, turns: Mapping[str, str]
    ) -> StoreProblem | None:
        """Copy a session up to an event, as the beginning of another one; nobody is told of its events.

        Args:
            session_id: The session.
            copy_id: The id of the other one, whose lock the caller has.
            until: The last event that it gets.
            turns: New ids for its turns, by their old ones.
        """
        return await self._on_writer(
            lambda connection: whole.copy(connection, session_id, copy_id, until, turns)
        )

    async def take_in(
        self, events: Sequence[LoggedEvent], contents: Mapping[str, bytes]
    ) -> StoreProblem | None:
        """Put in all events of a session that is not in the log, and what they name; nobody is told of them.

        Args:
            events: From 1 on. The caller has the lock of the session.
            contents: By content hash.
        """
        return await self._on_writer(lambda connection: whole.take_in(connection, events, contents))

    async def delete(self, session_id: str) -> StoreProblem | None:
        """Remove a session for good, whose lock the caller has; its bytes are overwritten.

        Args:
            session_id: The session.

        Returns:
            Why not, or that a reader in another process keeps what was removed in the write-ahead log.
        """

        def delete(connection: sqlite3.Connection) -> bool:
            whole.delete(connection, session_id)
            return whole.forget_pages(connection)

        done = await self._on_writer(delete, in_transaction=False)
        self._last.pop(session_id, None)
        await self._reader.forget()
        if isinstance(done, StoreProblem):
            return done
        return None if done else StoreProblem("locked", _STILL_READ)

    def remove_lock(self, session_id: str) -> None:
        """Remove the file of a lock that the caller has just released, of a session that is gone."""
        remove_lock(self._locks, session_id)

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
        self._publish_all(math.inf)
        return self._problem if self._uncommitted else None

    async def _trimmed(self, piece: Callable[[sqlite3.Connection], bool], *, in_transaction: bool) -> bool:
        more = await self._on_writer(piece, in_transaction=in_transaction)
        if isinstance(more, StoreProblem):
            _log.warning("Old texts could not be deleted: %s", more.message)
        return more is True

    async def _on_writer(
        self, do: Callable[[sqlite3.Connection], _T], *, in_transaction: bool = True
    ) -> _T | StoreProblem:
        """Have a piece of work done by the writer, after everything appended before."""
        if self._closed:
            return unwritable(self._path, "it is closed")
        self._hand_over()
        done: asyncio.Future[_T | StoreProblem] = self._loop.create_future()
        self._writer.put(Errand(do, done, in_transaction))
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
        self._unpublished += (*report.committed, report)
        if not self._is_publishing:
            self._publish_all()

    def _publish_all(self, seconds: float = _PUBLISH_SECONDS) -> None:
        """Tell the listeners of what is committed; after some time the rest waits until others had their turn."""
        until = self._loop.time() + seconds
        self._is_publishing = True
        while self._unpublished:
            one = self._unpublished.popleft()
            if isinstance(one, Report):
                self._answer(one)
            else:
                for listener in tuple(self._listeners):
                    self._publish(listener, one)
            if self._unpublished and self._loop.time() >= until:
                self._loop.call_soon(self._publish_all)
                return
        self._is_publishing = False

    def _answer(self, report: Report) -> None:
        if report.done is not None:
            ticket, done = report.done
            if not ticket.done():
                ticket.set_result(done)
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


def _open_anew(
    path: Path, locks: Path, problem: StoreProblem
) -> tuple[tuple[sqlite3.Connection, sqlite3.Connection] | StoreProblem, str | None]:
    """Set a damaged log aside and open a new one with what can be read of it; a text says so to the user."""
    lock = lock_session(locks, "damaged_log")
    if lock is None:
        return problem, None
    try:
        # Another process may have done it meanwhile.
        opened = _open(path)
        if not isinstance(opened, StoreProblem) or opened.reason != "damaged":
            return opened, None
        aside = set_aside(path)
        opened = _open(path)
        if isinstance(opened, StoreProblem):
            return opened, None
        salvaged = salvage(aside, opened[0])
        for turn_id in salvaged.unended:
            mark_failed(locks, turn_id)
    except (sqlite3.Error, OSError) as error:
        _log.exception("The damaged log %s could not be moved aside", path)
        return problem_of(error, path), None
    finally:
        lock.release()
    cut_off = f", {salvaged.cut_off} of them incomplete" if salvaged.cut_off else ""
    sessions = f"{salvaged.sessions} session{'' if salvaged.sessions == 1 else 's'}"
    notice = (
        f"the log {path} was damaged. It is kept as {aside}. A new log was started with what could be recovered: "
        f"{sessions}{cut_off}."
    )
    _log.error("%s", notice)
    return opened, notice


def _open(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection] | StoreProblem:
    writer = open_writer(path)
    if isinstance(writer, StoreProblem):
        return writer
    try:
        return writer, open_reader(path)
    except sqlite3.Error as error:
        writer.close()
        return problem_of(error, path)
