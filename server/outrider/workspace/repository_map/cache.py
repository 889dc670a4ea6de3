"""The tags that were read before, kept on disk for the next server of the workspace: an SQLite file that may be lost.

What was damaged is not believed: every row has a check sum, and a file that is no database is made anew. Where it cannot be
read or written, there is no cache, and nothing else is different.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any, Final

from outrider.workspace.repository_map.numbers import Numbers
from outrider.workspace.repository_map.tags import Definition, Tags

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS made (fingerprint TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, mark TEXT NOT NULL, tags TEXT NOT NULL, sum INTEGER NOT NULL
) WITHOUT ROWID;
"""
_ENDS: Final = ("", "-journal", "-wal", "-shm")
"""What SQLite's files of one cache end with, behind its name."""
MOST_DAYS: Final = 30
"""How long a cache stays that nobody opens."""
MOST_BYTES: Final = 512 * 1024 * 1024
"""Of all caches; above it those go that nobody opened for longest."""
_WAIT_SECONDS: Final = 1.0
"""For another server of the same workspace."""


class Cache:
    """The tags of one workspace's files by their paths."""

    def __init__(self, file: Path, fingerprint: str) -> None:
        """Open it, or make it.

        Args:
            file: Where it lies.
            fingerprint: What tags depend on besides the files; one that was made with another is made anew.
        """
        self._file = file
        self._fingerprint = fingerprint
        self._database: sqlite3.Connection | None = None
        try:
            self._open()
        except (sqlite3.OperationalError, OSError):
            self._database = None  # another server holds it, or it cannot lie there
        except sqlite3.Error:
            self._make_anew()

    def load(self) -> dict[str, tuple[Numbers, Tags]]:
        """All that is known of files, as far as it is whole."""
        rows: list[Any] = []
        try:
            if self._database is not None:
                rows = self._database.execute("SELECT path, mark, tags, sum FROM files").fetchall()
        except sqlite3.Error:
            self._make_anew()
        found: dict[str, tuple[Numbers, Tags]] = {}
        for path, mark, tags, total in rows:
            # What is not as it was written may be of any type.
            with suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
                if _sum(path, mark, tags) == total:
                    found[path] = tuple(json.loads(mark)), _decoded(tags)
        return found

    def save(self, known: Mapping[str, tuple[Numbers, Tags]], gone: Iterable[str]) -> None:
        """Keep what was read of files, and forget those that are gone."""
        if self._database is None:
            return
        rows = [
            (path, mark := json.dumps(numbers), tags := _encoded(read), _sum(path, mark, tags))
            for path, (numbers, read) in known.items()
        ]
        try:
            with self._database:
                self._database.executemany("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)", rows)
                self._database.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in gone])
        except sqlite3.OperationalError:
            pass  # another server writes it, or the disk is full: it is only a cache
        except sqlite3.Error:
            self._make_anew()

    def _open(self) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._database = database = sqlite3.connect(self._file, timeout=_WAIT_SECONDS)
        # It can be made anew at any time: a crash may cost it.
        database.execute("PRAGMA synchronous=OFF")
        database.executescript(_SCHEMA)
        with database:
            made = database.execute("SELECT fingerprint FROM made").fetchall()
            if made != [(self._fingerprint,)]:
                database.execute("DELETE FROM made")
                database.execute("DELETE FROM files")
                database.execute("INSERT INTO made VALUES (?)", (self._fingerprint,))

    def _make_anew(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
        self._database = None
        try:
            for end in _ENDS:
                self._file.with_name(self._file.name + end).unlink(missing_ok=True)
            self._open()
        except (sqlite3.Error, OSError):
            self._database = None


def trim(used: Path, now: float) -> None:
    """Mark a cache as used, and take away others of its folder: old ones, and those above `MOST_BYTES`.

    One that another server has open goes on without a name; nothing is lost that cannot be read again.

    Args:
        used: The file of the cache that stays, whatever it has.
        now: Seconds since 1970.
    """
    with suppress(OSError):
        os.utime(used, (now, now))
        found = [(path, path.stat()) for path in used.parent.glob(f"*{used.suffix}") if path != used]
        room = MOST_BYTES - used.stat().st_size
        for path, status in sorted(found, key=lambda one: -one[1].st_mtime):
            room -= status.st_size
            if room < 0 or now - status.st_mtime > MOST_DAYS * 86_400:
                for end in _ENDS:
                    path.with_name(path.name + end).unlink(missing_ok=True)
                path.with_suffix(".json").unlink(missing_ok=True)  # the map that is kept of it


def _encoded(tags: Tags) -> str:
    definitions = [astuple(one) for one in tags.definitions]
    return json.dumps([definitions, tags.references], separators=(",", ":"))


def _decoded(text: str) -> Tags:
    definitions, references = json.loads(text)
    return Tags(tuple(Definition(*one) for one in definitions), references)


def _sum(path: str, mark: str, tags: str) -> int:
    return zlib.crc32(f"{path}\0{mark}\0{tags}".encode("utf-8", "surrogatepass"))
