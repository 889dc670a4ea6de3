"""A damaged log: it is kept under another name, and what can be read of it goes into a new one.

Rows are read one by one where a page is damaged. Of a session only the events up to the first one that is missing count:
what came after it may have undone, or built upon, what is not known. Nothing of the damaged file is changed or deleted.
"""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

from outrider.store.schema import is_data, suspicion_of

_AT_ONCE = 500
"""Rows that are read in one go, until one of them cannot be read."""
_MOST_PADDED = 2**40
"""Bytes that a file may have had before it was cut short; a header that says more is damaged itself."""
_MOST_ROWS = 10_000_000
"""How far ids are tried, whatever the damaged file says of the largest one."""
_FILES = ("", "-wal", "-shm")
"""What belongs to a database, by the ends of the names."""


@dataclass(slots=True)
class Salvaged:
    """What a new log got from a damaged one."""

    sessions: int = 0
    """Sessions of which there is something."""
    cut_off: int = 0
    """Those of them of which the end is missing."""
    unended: list[str] = field(default_factory=list[str])
    """The turns in which these break off: nothing may go on with them."""


def set_aside(path: Path) -> Path:
    """Give a damaged log another name, together with the files beside it; gives the name. Blocks.

    Raises:
        OSError: it cannot be renamed.
    """
    number = 1
    while (aside := path.with_name(f"{path.stem}-damaged-{number}{path.suffix}")).exists():
        number += 1
    for end in reversed(_FILES):  # the log itself last: until then the file is found damaged again
        with suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(aside.with_name(aside.name + end))
    suspicion_of(path).unlink(missing_ok=True)
    return aside


def salvage(aside: Path, connection: sqlite3.Connection) -> Salvaged:
    """Copy what can be read of a damaged log into a new, empty one. Blocks.

    Args:
        aside: The damaged log.
        connection: A connection that writes to the new one.

    Raises:
        sqlite3.Error: the new one cannot be written.
    """
    salvaged = Salvaged()
    with TemporaryDirectory(prefix="outrider-", dir=aside.parent) as folder:
        copied = _copied(aside, Path(folder))
        source = sqlite3.connect(f"{copied.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None)
        # A text that is no UTF-8 any more must not stop the reading.
        source.text_factory = bytes
        with closing(source):
            connection.execute("BEGIN IMMEDIATE")
            try:
                _copy_events(source, connection, salvaged)
                _copy(source, connection, "blobs", ("id", "digest", "base", "depth", "uses", "content"))
                with suppress(sqlite3.DatabaseError):
                    texts = source.execute("SELECT session, blob FROM texts").fetchall()
                    connection.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
    return salvaged


def _copied(aside: Path, folder: Path) -> Path:
    """A copy that can be read: SQLite may remove a write-ahead log, and reads nothing of a file that was cut short."""
    copied = folder / aside.name
    for end in ("", "-wal"):
        with suppress(FileNotFoundError):
            shutil.copyfile(aside.with_name(aside.name + end), copied.with_name(copied.name + end))
    with copied.open("r+b") as file:
        header = file.read(100)
        # https://www.sqlite.org/fileformat.html, 1.3: the size of a page and the number of pages.
        page, pages = int.from_bytes(header[16:18], "big"), int.from_bytes(header[28:32], "big")
        size = (65536 if page == 1 else page) * pages
        if header.startswith(b"SQLite format 3\0") and copied.stat().st_size < size <= _MOST_PADDED:
            file.truncate(size)
    return copied


def _copy_events(source: sqlite3.Connection, connection: sqlite3.Connection, salvaged: Salvaged) -> None:
    _copy(source, connection, "events", ("id", "session_id", "seq", "ts", "turn_id", "type", "data"))
    # An index that knows how long each session was lies apart from the events.
    lengths: dict[str, int] = {}
    with suppress(sqlite3.DatabaseError, ValueError, TypeError, AttributeError):
        counted = source.execute("SELECT session_id, max(seq) FROM events GROUP BY session_id")
        lengths = {name.decode(): int(last) for name, last in counted}
    found = connection.execute("SELECT session_id, max(seq), count(*) FROM events GROUP BY session_id")
    for session_id, last, count in found.fetchall():
        whole = last if last == count else _last_before_a_gap(connection, session_id)
        connection.execute("DELETE FROM events WHERE session_id = ? AND seq > ?", (session_id, whole))
        salvaged.sessions += whole > 0
        if 0 < whole != lengths.get(session_id):
            salvaged.cut_off += 1
            salvaged.unended += _unended(connection, session_id)


def _last_before_a_gap(connection: sqlite3.Connection, session_id: str) -> int:
    seqs = connection.execute("SELECT seq FROM events WHERE session_id = ? ORDER BY seq", (session_id,))
    last = 0
    for (seq,) in seqs:
        if seq != last + 1:
            break
        last = seq
    return last


def _unended(connection: sqlite3.Connection, session_id: str) -> list[str]:
    rows = connection.execute(
        "SELECT turn_id FROM events WHERE session_id = ? AND type = 'turn.started' AND turn_id NOT IN "
        "(SELECT turn_id FROM events WHERE session_id = ? AND type = 'turn.finished' AND turn_id NOT NULL)",
        (session_id, session_id),
    )
    return [turn_id for (turn_id,) in rows]


def _copy(
    source: sqlite3.Connection, connection: sqlite3.Connection, table: str, columns: tuple[str, ...]
) -> None:
    insert = f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608 - names of ours
    for row in _rows(source, table, columns):
        with suppress(UnicodeDecodeError, ValueError, sqlite3.IntegrityError):
            values = [
                one.decode() if isinstance(one, bytes) and name != "content" else one
                for name, one in zip(columns, row, strict=True)
            ]
            if table == "events" and not (
                is_data(row[-1]) and isinstance(values[1], str) and isinstance(values[2], int)
            ):
                continue
            connection.execute(insert, values)


def _rows(source: sqlite3.Connection, table: str, columns: tuple[str, ...]) -> Iterator[tuple[object, ...]]:
    """The rows of a table that can be read, by their ids."""
    query = f"SELECT {', '.join(columns)} FROM {table} WHERE id > ? ORDER BY id LIMIT ?"  # noqa: S608 - names of ours
    last, most, skipped = 0, _AT_ONCE, 0
    try:
        (end,) = source.execute(f"SELECT max(id) FROM {table}").fetchone()  # noqa: S608 - a name of ours
    except sqlite3.DatabaseError:
        end = _MOST_ROWS
    while last < min(end or 0, _MOST_ROWS):
        try:
            rows = source.execute(query, (last, most)).fetchall()
        except sqlite3.DatabaseError:
            rows = None
        # A damaged page may lead to ids that do not follow one another, and so round and round.
        if rows is not None and all(one[0] < other[0] for one, other in pairwise([(last,), *rows])):
            yield from rows
            if not rows:
                return
            last, most, skipped = int(rows[-1][0]), min(_AT_ONCE, most * 2), 0
        elif most > 1:
            most = 1
        else:
            # Nobody knows how many rows the damaged page had, nor whether `end` is true: the steps over it get longer.
            last += 2 ** (skipped // 64)
            skipped += 1
