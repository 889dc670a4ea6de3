"""The contents in the log, by their hash. A text of a file is stored as what changed in the one before it.

That is seen nowhere else: whoever reads gets whole contents. A content is there as long as something uses it: a
session that may still undo with it, another text that is stored as a change of it, or a conversation, for ever.
"""

import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from outrider.ports.events import LoggedEvent
from outrider.ports.model import content_hash
from outrider.store.delta import difference, patched


@dataclass(frozen=True, slots=True)
class TextNamed:
    """A text of a file that an event names."""

    place: str
    """Where in the event's data, such as `read.3.hash`."""
    hash: str
    path: str


def texts_named(event: LoggedEvent) -> Iterator[TextNamed]:
    """The texts of files that an event names, in order; the text before a change comes before the one after it."""
    match event.type:
        case "edit.proposed" | "edit.applying" | "edit.applied" | "edit.merged" | "workspace.changed":
            if "before" in event.data:
                yield TextNamed("before", event.data["before"], event.data["path"])
            if "after" in event.data:
                yield TextNamed("after", event.data["after"], event.data["path"])
        case "tool.finished":
            for index, read in enumerate(event.data.get("read", ())):
                yield TextNamed(f"read.{index}.hash", read["hash"], read["path"])
        case _:
            pass


MOST_DELTAS = 1000
"""Differences on the way to a text. One in a text of a megabyte takes some 0.1 ms to put in; storing a text as a whole
again after that many costs few bytes a change."""
_MOST_PATHS = 500
"""Files whose last text is known."""
_PARAMETERS = 500
"""Parameters of one statement; SQLite takes at least 999."""


@dataclass(slots=True)
class _Row:
    id: int
    digest: str
    base: int | None
    depth: int
    content: bytes


class BlobWriter:
    """Puts contents in, within the transactions of the writer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last: OrderedDict[tuple[str, str], str] = OrderedDict()
        """The last text of a file that a session named."""
        self._sessions: dict[str, int] = {}

    def forget(self) -> None:
        """A transaction was rolled back: what is known of it does not count."""
        self._last.clear()
        self._sessions.clear()

    def put(self, event: LoggedEvent, contents: Mapping[str, bytes]) -> None:
        """Put in the contents that came with an event, which is in the log already."""
        conversation = dict(contents)
        for named in texts_named(event) if contents else ():
            key = event.session_id, named.path
            if named.hash in contents:
                conversation.pop(named.hash, None)
                self._put_text(event.session_id, named.hash, contents, self._last.get(key))
            self._last[key] = named.hash
            self._last.move_to_end(key)
            if len(self._last) > _MOST_PATHS:
                self._last.popitem(last=False)
        for digest, content in conversation.items():
            if self._used_once_more(digest) is None:
                self._insert(digest, None, 0, zlib.compress(content, 1))

    def _put_text(
        self, session_id: str, digest: str, contents: Mapping[str, bytes], last: str | None
    ) -> None:
        row = self._connection.execute("SELECT id FROM blobs WHERE digest = ?", (digest,)).fetchone()
        blob = row[0] if row is not None else self._new_text(digest, contents, last)
        keeps = self._connection.execute(
            "INSERT OR IGNORE INTO texts (session, blob) VALUES (?, ?)", (self._number(session_id), blob)
        )
        if row is not None and keeps.rowcount > 0:
            self._used_once_more(digest)

    def _new_text(self, digest: str, contents: Mapping[str, bytes], last: str | None) -> int:
        content = contents[digest]
        if last is not None and (found := self._base(last, contents)) is not None:
            base, depth, old = found
            delta = difference(old, content)
            if len(delta) <= len(content) // 2:
                self._used_once_more(last)
                return self._insert(digest, base, depth + 1, zlib.compress(delta, 1))
        return self._insert(digest, None, 0, zlib.compress(content, 1))

    def _base(self, digest: str, contents: Mapping[str, bytes]) -> tuple[int, int, bytes] | None:
        row = self._connection.execute("SELECT id, depth FROM blobs WHERE digest = ?", (digest,)).fetchone()
        if row is None or row[1] >= MOST_DELTAS:
            return None
        try:
            content = contents[digest] if digest in contents else read(self._connection, [digest])[digest]
        except (ValueError, TypeError, zlib.error):
            return None  # it is damaged; whoever reads it is told
        return row[0], row[1], content

    def _used_once_more(self, digest: str) -> int | None:
        """Count one more use of a content; None where there is none such."""
        done = self._connection.execute("UPDATE blobs SET uses = uses + 1 WHERE digest = ?", (digest,))
        return done.rowcount or None

    def _insert(self, digest: str, base: int | None, depth: int, stored: bytes) -> int:
        done = self._connection.execute(
            "INSERT INTO blobs (digest, base, depth, uses, content) VALUES (?, ?, ?, 1, ?)",
            (digest, base, depth, stored),
        )
        return done.lastrowid or 0

    def _number(self, session_id: str) -> int:
        """A session's number: that of its first event."""
        if (number := self._sessions.get(session_id)) is None:
            number = number_of(self._connection, session_id)
            self._sessions[session_id] = number
        return number


def number_of(connection: sqlite3.Connection, session_id: str) -> int:
    """The number by which a session's texts are known; 0 where there is no such session."""
    row = connection.execute(
        "SELECT id FROM events WHERE session_id = ? AND seq = 1", (session_id,)
    ).fetchone()
    return 0 if row is None else row[0]


def give_up(connection: sqlite3.Connection, session_id: str, most: int) -> int:
    """Let go of a session's oldest texts; what nothing uses any more is removed. In a transaction of the caller.

    Args:
        connection: The writing one.
        session_id: The session.
        most: How many texts, at most.

    Returns:
        How many there were to let go of.
    """
    number = number_of(connection, session_id)
    blobs = connection.execute(
        "SELECT blob FROM texts WHERE session = ? ORDER BY blob LIMIT ?", (number, most)
    ).fetchall()
    for (blob,) in blobs:
        connection.execute("DELETE FROM texts WHERE session = ? AND blob = ?", (number, blob))
        use_less(connection, blob)
    return len(blobs)


def give_back(connection: sqlite3.Connection, pages: int) -> bool:
    """Make the file smaller by some of its free pages; gives whether there are more. Not in a transaction."""
    connection.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (mode,) = connection.execute("PRAGMA auto_vacuum").fetchone()
    return free > 0 and mode > 0


def texts_size(connection: sqlite3.Connection) -> int:
    """Bytes of what would go if all sessions let go of their texts: what a conversation holds, too, is none of it.

    Args:
        connection: Where they are.

    Raises:
        sqlite3.Error: the log cannot be read.
    """
    (size,) = connection.execute(
        "WITH kept AS (SELECT blob, count(*) AS n FROM texts GROUP BY blob), "
        "below AS (SELECT base, count(*) AS n FROM blobs WHERE base IS NOT NULL GROUP BY base) "
        "SELECT coalesce(sum(length(content)), 0) FROM blobs "
        "LEFT JOIN kept ON kept.blob = blobs.id LEFT JOIN below ON below.base = blobs.id "
        "WHERE uses <= coalesce(kept.n, 0) + coalesce(below.n, 0)"
    ).fetchone()
    return size


def use_less(connection: sqlite3.Connection, blob: int | None) -> None:
    """Count one use less of a content; it is removed with the last one. In a transaction of the caller."""
    while blob is not None:
        row = connection.execute("SELECT uses, base FROM blobs WHERE id = ?", (blob,)).fetchone()
        if row is None:
            return
        if row[0] > 1:
            connection.execute("UPDATE blobs SET uses = uses - 1 WHERE id = ?", (blob,))
            return
        connection.execute("DELETE FROM blobs WHERE id = ?", (blob,))
        blob = row[1]


def read(
    connection: sqlite3.Connection, digests: Sequence[str], known: Mapping[str, bytes] | None = None
) -> dict[str, bytes]:
    """The contents that are stored, by content hash; the others are left out. In a transaction of the caller.

    Args:
        connection: Where they are.
        digests: Their hashes.
        known: Contents that need not be read again, by their hash.

    Raises:
        sqlite3.Error: the log cannot be read.
        ValueError, TypeError, zlib.error: a content is damaged.
    """
    known = known or {}
    wanted = _rows(connection, "digest", digests)
    rows = {row.id: row for row in wanted}
    missing = _bases(wanted, known) - rows.keys()
    while missing:
        below = _rows(connection, "id", list(missing))
        rows.update((row.id, row) for row in below)
        if absent := missing - rows.keys():
            raise ValueError(f"the text is missing that others are changes of, number {min(absent)}")
        missing = _bases(below, known) - rows.keys()
    whole = {row.id: known[row.digest] for row in rows.values() if row.digest in known}
    for row in sorted(wanted, key=lambda one: one.depth):
        if row.id in whole:
            continue
        content = whole[row.id] = _whole(row, rows, whole)
        if content_hash(content) != row.digest:
            raise ValueError(f"content {row.digest} is not what was stored")
    return {row.digest: whole[row.id] for row in wanted}


def _bases(rows: Sequence[_Row], known: Mapping[str, bytes]) -> set[int]:
    return {row.base for row in rows if row.base is not None and row.digest not in known}


def _whole(row: _Row, rows: Mapping[int, _Row], whole: Mapping[int, bytes]) -> bytes:
    way: list[_Row] = []
    while row.base is not None and row.id not in whole:
        way.append(row)
        if row.base >= row.id:
            raise ValueError(f"content {row.digest} is a change of a later one")
        row = rows[row.base]
    content = whole[row.id] if row.id in whole else zlib.decompress(row.content)
    for one in reversed(way):
        content = patched(content, zlib.decompress(one.content))
    return content


def _rows(connection: sqlite3.Connection, column: str, values: Sequence[Any]) -> list[_Row]:
    found: list[_Row] = []
    remaining = iter(values)
    while chunk := list(islice(remaining, _PARAMETERS)):
        query = (
            "SELECT id, digest, base, depth, content FROM blobs "  # noqa: S608 - a name of ours and marks
            f"WHERE {column} IN ({','.join('?' * len(chunk))})"
        )
        found += [_Row(*row) for row in connection.execute(query, chunk)]
    return found
