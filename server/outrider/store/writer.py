"""The thread that writes the log, and alone uses the writing connection.

It never touches what belongs to the event loop: what it has to say it hands to `report`, once per batch.
"""

import logging
import queue
import sqlite3
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from outrider.ports.events import LoggedEvent
from outrider.store.blobs import BlobWriter
from outrider.store.problem import StoreProblem, damaged, problem_of, unwritable
from outrider.store.schema import SCHEMA_VERSION

_log = logging.getLogger(__name__)

_BATCH = 256
"""The most entries of one commit, so that what it publishes does not hold up the event loop for long."""

_IDLE_SECONDS = 0.2
_COMMITS_BEFORE_CHECKPOINT = 64
"""A checkpoint costs milliseconds: after that many commits it is made as soon as nothing is written for that long.
SQLite's own, in the middle of a commit, remains for a log that is never idle."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An event to be written, with its data as JSON text and the contents that belong to it."""

    event: LoggedEvent
    text: str
    blobs: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class Flush:
    """Asks for a report on everything before it. `ticket` comes back in the report."""

    durable: bool
    ticket: Any


@dataclass(frozen=True, slots=True)
class Errand:
    """Asks for a piece of work on the writing connection, and for a report."""

    do: Callable[[sqlite3.Connection], Any]
    ticket: Any
    in_transaction: bool = True
    """Whether it is done in a transaction; else it begins its own."""


@dataclass(slots=True)
class Report:
    """What became of a batch."""

    committed: list[LoggedEvent] = field(default_factory=list[LoggedEvent])
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """Sessions that somebody else wrote to, with the number of events given up."""
    tickets: list[Any] = field(default_factory=list[Any])
    done: tuple[Any, Any] | None = None
    """The ticket of an errand, and what it gave; a `StoreProblem` says why it was not done."""
    problem: StoreProblem | None = None


class _RepeatedError(Exception):
    def __init__(self, session_id: str) -> None:
        super().__init__(session_id)
        self.session_id = session_id


class Writer:
    """Commits entries in the order they are put, as many at a time as have come."""

    def __init__(self, connection: sqlite3.Connection, path: Path, report: Callable[[Report], None]) -> None:
        self._connection = connection
        self._blobs = BlobWriter(connection)
        self._path = path
        self._identity = _identity(path)
        self._report = report
        self._queue: queue.SimpleQueue[Entry | Flush | Errand | None] = queue.SimpleQueue()
        self._pending: list[Entry] = []
        self._durable: bool = False
        """Whether the connection syncs at each commit."""
        self._unsynced = True
        """Whether something may be committed and not synced; at first, what the process before left."""
        self._commits = 0
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def put(self, item: Entry | Flush | Errand) -> None:
        """Hand over something to do. Never blocks."""
        self._queue.put(item)

    def close(self, seconds: float) -> bool:
        """Write what is left, checkpoint, and end the thread. Blocks.

        Returns:
            Whether it ended in time.
        """
        self._queue.put(None)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        open_ = True
        while open_:
            entries, flushes, errand, open_ = self._next_batch()
            report = Report(tickets=[flush.ticket for flush in flushes])
            self._pending += entries
            durable = any(flush.durable for flush in flushes)
            if self._pending or durable:
                self._write(report, durable)
            if errand is not None:
                report.done = errand.ticket, self._run_errand(errand)
            self._report(report)
        self._connection.close()

    def _next_batch(self) -> tuple[list[Entry], list[Flush], Errand | None, bool]:
        entries: list[Entry] = []
        flushes: list[Flush] = []
        item = self._first()
        while True:
            if isinstance(item, Entry):
                entries.append(item)
            elif isinstance(item, Flush):
                flushes.append(item)
            elif isinstance(item, Errand):
                return entries, flushes, item, True
            else:
                return entries, flushes, None, False
            if len(entries) >= _BATCH:
                return entries, flushes, None, True
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return entries, flushes, None, True

    def _first(self) -> Entry | Flush | Errand | None:
        if self._commits >= _COMMITS_BEFORE_CHECKPOINT:
            try:
                return self._queue.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                self._checkpoint()
        return self._queue.get()

    def _checkpoint(self) -> None:
        self._commits = 0
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        except sqlite3.Error as error:
            _log.warning("Checkpoint of %s failed: %s", self._path, error)

    def _run_errand(self, errand: Errand) -> Any:
        connection = self._connection
        try:
            self._check_file()
            if not errand.in_transaction:
                return errand.do(connection)
            try:
                connection.execute("BEGIN IMMEDIATE")
                done = errand.do(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return done
        except (sqlite3.Error, OSError) as error:
            return problem_of(error, self._path)
        except (ValueError, TypeError, KeyError, zlib.error) as error:
            return damaged(self._path, error)
        finally:
            self._blobs.forget()  # what it removed is no base of another text any more
            self._commits += 1

    def _write(self, report: Report, durable: bool) -> None:
        while True:
            try:
                self._check_file()
                self._commit(durable)
            except _RepeatedError as error:
                self._refuse(error.session_id, report)
                continue
            except (sqlite3.Error, OSError) as error:
                report.problem = problem_of(error, self._path)
            except Exception as error:  # noqa: BLE001 - a dead writer would leave every flush waiting for ever
                _log.exception("The log %s could not be used: unexpected error", self._path)
                report.problem = unwritable(self._path, repr(error))
            else:
                report.committed = [entry.event for entry in self._pending]
                self._pending = []
            return

    def _check_file(self) -> None:
        # SQLite goes on writing to a file that was removed or replaced, and all of it would be lost.
        if _identity(self._path) != self._identity:
            raise OSError("the file was replaced while it was in use")

    def _commit(self, durable: bool) -> None:
        connection = self._connection
        if durable is not self._durable:
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        if not self._pending and not self._unsynced:
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
            for entry in self._pending:
                self._insert(entry)
            if not self._pending:
                # A commit without a change syncs nothing. This writes the first page as it is.
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._blobs.forget()
            raise
        self._unsynced = not durable
        self._commits += 1

    def _insert(self, entry: Entry) -> None:
        event = entry.event
        try:
            self._connection.execute(
                "INSERT INTO events (session_id, seq, ts, turn_id, type, data) VALUES (?, ?, ?, ?, ?, ?)",
                (event.session_id, event.seq, event.ts, event.turn_id, event.type, entry.text),
            )
        except sqlite3.IntegrityError:
            raise _RepeatedError(event.session_id) from None
        self._blobs.put(event, entry.blobs)

    def _refuse(self, session_id: str, report: Report) -> None:
        """Give up the events of a session that is written by somebody else too, so that the others go on."""
        kept = [entry for entry in self._pending if entry.event.session_id != session_id]
        report.refused[session_id] = len(self._pending) - len(kept)
        self._pending = kept


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino
