"""Whole sessions: copied under another id, taken in from a file, deleted. Each in one transaction, on the writing connection.

Turns get new ids in a copy, because a turn belongs to one session. All other ids mean something within a session only.
"""

import json
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final, cast

from outrider.ports.events import LoggedEvent, from_old_log
from outrider.store.blobs import BlobWriter, number_of, read, use_less
from outrider.store.exported import contents_named

_NAMES_MESSAGES: Final = (
    "type IN ('session.started', 'session.restored', 'model.requested', 'context.compacted', 'context.pruned', "
    "'context.trimmed', 'conversation.restored', 'budget.exhausted')"
)
"""Events that name messages or definitions of tools."""
_CHECK: Final = "_check_"
"""What stands between a turn's id and the number in the id of one of its checks."""
_CHECKPOINT_SECONDS: Final = 5.0
"""How long readers in other processes may keep the log from being emptied."""


def copy(
    connection: sqlite3.Connection, session_id: str, copy_id: str, until: int, turns: Mapping[str, str]
) -> None:
    """Copy a session up to an event. In a transaction of the caller.

    Args:
        connection: The writing one.
        session_id: The session.
        copy_id: The id of the copy.
        until: The last event that it has.
        turns: The new ids of its turns, by the old ones.

    Raises:
        sqlite3.Error: the log cannot be read or written.
        ValueError: it is damaged.
    """
    texts: set[str] = set()
    others: set[str] = set()
    for event in _events(connection, "session_id = ? AND seq <= ?", (session_id, until)):
        for named in contents_named(event):
            (texts if named.kind == "text" else others).add(named.hash)
        _insert(connection, renamed(event, copy_id, turns))
    number = number_of(connection, copy_id)
    for digest in texts:
        row = connection.execute("SELECT id FROM blobs WHERE digest = ?", (digest,)).fetchone()
        if row is not None:  # a text may have been given up
            connection.execute("INSERT OR IGNORE INTO texts (session, blob) VALUES (?, ?)", (number, row[0]))
            others.add(digest)
    connection.executemany("UPDATE blobs SET uses = uses + 1 WHERE digest = ?", [(one,) for one in others])


def take_in(
    connection: sqlite3.Connection, events: Iterable[LoggedEvent], contents: Mapping[str, bytes]
) -> None:
    """Put in the events of a session that is not in the log. In a transaction of the caller.

    Args:
        connection: The writing one.
        events: All of them, from 1 on.
        contents: What they name, by content hash.

    Raises:
        sqlite3.Error: the log cannot be written.
    """
    blobs, given = BlobWriter(connection), set[str]()
    for event in events:
        _insert(connection, event)
        named = {one.hash for one in contents_named(event)} & contents.keys() - given
        blobs.put(event, {digest: contents[digest] for digest in named})
        given |= named


def delete(connection: sqlite3.Connection, session_id: str) -> None:
    """Remove a session, and every content that no other session needs; what was written there is overwritten.

    Args:
        connection: The writing one, not in a transaction.
        session_id: The session, whose lock the caller has.

    Raises:
        sqlite3.Error: the log cannot be read or written. Nothing is removed then.
        ValueError: it is damaged.
    """
    # Most of the log is looked through before others have to wait.
    (upto,) = connection.execute("SELECT coalesce(max(id), 0) FROM events").fetchone()
    mine = {
        one.hash
        for event in _events(connection, "session_id = ?", (session_id,))
        for one in contents_named(event)
    }
    needed = _named_by_others(connection, session_id, mine, "id <= ?", upto)
    connection.execute("BEGIN IMMEDIATE")
    try:
        number = number_of(connection, session_id)
        needed |= _named_by_others(connection, session_id, mine, "id > ?", upto)
        connection.execute("DELETE FROM events WHERE session_id = ?", (session_id,))
        kept = connection.execute("SELECT blob FROM texts WHERE session = ?", (number,)).fetchall()
        connection.execute("DELETE FROM texts WHERE session = ?", (number,))
        goes = set(_unneeded(connection, mine - needed))
        _stand_alone(connection, goes)
        for blob in {row[0] for row in kept} - goes:
            use_less(connection, blob)
        for blob in goes:
            (base,) = connection.execute("SELECT base FROM blobs WHERE id = ?", (blob,)).fetchone()
            connection.execute("DELETE FROM blobs WHERE id = ?", (blob,))
            if base not in goes:
                use_less(connection, base)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def forget_pages(connection: sqlite3.Connection) -> bool:
    """Take what was overwritten out of the write-ahead log, too, and give the room back.

    Returns:
        Whether that is done; readers in other processes can keep it from being.
    """
    connection.execute("PRAGMA incremental_vacuum").fetchall()
    deadline = time.monotonic() + _CHECKPOINT_SECONDS
    while True:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy or time.monotonic() > deadline:
            return not busy
        time.sleep(0.02)


def renamed(event: LoggedEvent, session_id: str, turns: Mapping[str, str]) -> LoggedEvent:
    """An event as it stands in a copy of its session.

    Args:
        event: The event.
        session_id: The id of the copy.
        turns: The new ids of its turns, by the old ones.
    """

    def name(text: str) -> str:
        turn, check, rest = text.partition(_CHECK)
        return f"{turns[turn]}{check}{rest}" if turn in turns else text

    data = _mapped(event.data, name)
    turn_id = event.turn_id and turns.get(event.turn_id, event.turn_id)
    return from_old_log(event.seq, event.ts, session_id, turn_id, event.type, data)


def _mapped(value: Any, name: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return name(value)
    if isinstance(value, dict):
        return {key: _mapped(one, name) for key, one in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_mapped(one, name) for one in cast("list[Any]", value)]
    return value


def _events(connection: sqlite3.Connection, where: str, values: tuple[Any, ...]) -> Iterator[LoggedEvent]:
    rows = connection.execute(
        f"SELECT seq, ts, session_id, turn_id, type, data FROM events WHERE {where} ORDER BY id",  # noqa: S608 - a constant
        values,
    )
    for seq, ts, session_id, turn_id, type_, data in rows:
        yield from_old_log(seq, ts, session_id, turn_id, type_, json.loads(data))


def _insert(connection: sqlite3.Connection, event: LoggedEvent) -> None:
    text = json.dumps(event.data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(event.data, separators=(",", ":"))
    connection.execute(
        "INSERT INTO events (session_id, seq, ts, turn_id, type, data) VALUES (?, ?, ?, ?, ?, ?)",
        (event.session_id, event.seq, event.ts, event.turn_id, event.type, text),
    )


def _named_by_others(
    connection: sqlite3.Connection, session_id: str, digests: AbstractSet[str], where: str, upto: int
) -> set[str]:
    """Those of some contents that conversations of other sessions name."""
    others = _events(connection, f"session_id != ? AND {where} AND {_NAMES_MESSAGES}", (session_id, upto))
    return {one.hash for event in others for one in contents_named(event) if one.hash in digests}


def _unneeded(connection: sqlite3.Connection, digests: Iterable[str]) -> Iterator[int]:
    """The contents of these that no session keeps as a text of a file."""
    for digest in digests:
        row = connection.execute(
            "SELECT id FROM blobs WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM texts WHERE blob = blobs.id)",
            (digest,),
        ).fetchone()
        if row is not None:
            yield row[0]


def _stand_alone(connection: sqlite3.Connection, goes: AbstractSet[int]) -> None:
    """Store those contents as a whole that stay and are stored as a change of one that goes."""
    changed = [
        (blob, digest)
        for base in goes
        for blob, digest in connection.execute("SELECT id, digest FROM blobs WHERE base = ?", (base,))
        if blob not in goes
    ]
    for blob, digest in changed:
        content = read(connection, [digest])[digest]
        connection.execute(
            "UPDATE blobs SET base = NULL, depth = 0, content = ? WHERE id = ?",
            (zlib.compress(content, 1), blob),
        )
