"""The database file: its tables, and opening it. A file that is not plainly ours is never written to."""

import json
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from outrider.store.problem import StoreProblem, damaged, foreign, is_busy, newer, problem_of, unwritable

SCHEMA_VERSION = 2
FILE_NAME = f"outrider-{SCHEMA_VERSION}.sqlite3"

BUSY_SECONDS = 5.0
"""How long a connection waits for another process."""

LANDMARKS = (
    "seq = 1 OR type IN ('session.started', 'session.restored', 'turn.queued', 'turn.started', 'turn.parked', "
    "'turn.resumed', 'turn.finished')"
)
"""The events a listing of the sessions is made of. Only a query that says exactly this uses their index."""

NAMINGS = "type IN ('session.titled', 'session.renamed', 'session.forked', 'session.imported')"
"""The events that name a session, and say where it comes from."""

TURN_BEGINS = "type IN ('turn.queued', 'turn.started')"
"""The events that bring a turn into being; their index answers whose turn it is."""

_APPLICATION_ID = 0x4F555452
"""`OUTR`: tells our file from anybody else's database."""

_DDL = f"""
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    ts TEXT NOT NULL,
    turn_id TEXT,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    UNIQUE (session_id, seq)
);
CREATE INDEX landmarks ON events (session_id, seq) WHERE {LANDMARKS};
CREATE INDEX turn_begins ON events (turn_id) WHERE {TURN_BEGINS};
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    base INTEGER,
    depth INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    content BLOB NOT NULL
);
CREATE TABLE texts (
    session INTEGER NOT NULL,
    blob INTEGER NOT NULL,
    PRIMARY KEY (session, blob)
) WITHOUT ROWID;
PRAGMA application_id = {_APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


def open_writer(path: Path) -> sqlite3.Connection | StoreProblem:
    """Open the log at `path` for writing, created if it is not there. Blocks; any thread may use the result.

    The whole file is checked first, some 0.7 ms for a megabyte: nothing is ever written into a damaged one. Several processes
    may create it at the same time: who comes too late waits, up to `BUSY_SECONDS`.
    """
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return _create_file(path) or _inspect(path) or _check(path) or _open_writer(path)
        except (sqlite3.Error, OSError) as error:
            # The switch to WAL fails at once while another process does the same, whatever the busy time-out.
            if not is_busy(error) or time.monotonic() > deadline:
                return problem_of(error, path)
        time.sleep(0.01)


def open_reader(path: Path) -> sqlite3.Connection:
    """Open a second connection to a log that `open_writer` opened; it cannot write. Blocks.

    Raises:
        sqlite3.Error: the file cannot be opened.
    """
    return _connect(path, "ro")


def is_sound(path: Path) -> bool:
    """Whether the log at `path` is one of this version and not damaged; the whole file is checked. Blocks.

    Raises:
        sqlite3.Error: the file cannot be read.
        OSError: it cannot be looked at.
    """
    return (_inspect(path) or _check(path)) is None


def suspect(path: Path) -> None:
    """Have the rows of the log at `path` looked at when it is next opened: a read met one that is not what was written. Blocks.

    Only then, as it takes much longer than to look for damaged pages.
    """
    with suppress(OSError):
        suspicion_of(path).touch(mode=0o600)


def suspicion_of(path: Path) -> Path:
    """The file that says so."""
    return path.with_name(f"{path.name}-suspect")


def storable(text: str) -> bool:
    """Whether SQLite can hold `text`: it has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode={mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _create_file(path: Path) -> StoreProblem | None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # The log of a database that was emptied would be thrown away by SQLite. Its size is read first: another
    # process that creates the database right now fills the file before it makes the log.
    log = path.with_name(f"{path.name}-wal")
    try:
        logged = log.stat().st_size
    except FileNotFoundError:
        logged = 0
    try:
        path.touch(mode=0o600, exist_ok=False)
    except FileExistsError:
        # By name: closing a descriptor of the file would drop the locks of connections this process has.
        status = path.stat()
        if status.st_mode & 0o077:
            path.chmod(0o600)
        if status.st_size > 0:
            return None
    return damaged(path, "the file is empty, but not the write-ahead log beside it") if logged else None


def _inspect(path: Path) -> StoreProblem | None:
    """Look at the file through a descriptor that cannot write."""
    if path.stat().st_size == 0:
        return None
    connection = _connect(path, "ro")
    try:
        application, version, tables = _identity(connection)
    finally:
        connection.close()
    if application == 0 and version == 0 and tables == 0:
        return None
    if application != _APPLICATION_ID:
        return foreign(path, "it is not a log of Outrider")
    if version > SCHEMA_VERSION:
        return newer(path, version)
    return None if version == SCHEMA_VERSION else foreign(path, f"schema version {version}")


def _check(path: Path) -> StoreProblem | None:
    """Look for damaged pages, on a connection that cannot write, and for damaged rows where a read met one."""
    if path.stat().st_size == 0:
        return None
    with closing(_connect(path, "ro")) as connection:
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        return damaged(path, found)
    return _check_rows(path) if suspicion_of(path).exists() else None


def _check_rows(path: Path) -> StoreProblem | None:
    with closing(_connect(path, "rw")) as connection:
        # What another process has open must not be set aside: what it wrote then would be in no log.
        connection.execute("PRAGMA busy_timeout = 0")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            if is_busy(error):
                return None
            raise
        connection.text_factory = bytes
        last = (b"", 0)
        for session_id, seq, data in connection.execute(
            "SELECT session_id, seq, data FROM events ORDER BY session_id, seq"
        ):
            if seq != (last[1] + 1 if session_id == last[0] else 1) or not is_data(data):
                return damaged(path, f"event {seq} of session {session_id.decode(errors='replace')}")
            last = session_id, seq
        connection.execute("ROLLBACK")
    suspicion_of(path).unlink(missing_ok=True)
    return None


def is_data(stored: object) -> bool:
    """Whether it is the data of an event as it is stored, read as bytes."""
    try:
        return isinstance(stored, bytes) and isinstance(json.loads(stored.decode()), dict)
    except (ValueError, RecursionError):
        return False


def _identity(connection: sqlite3.Connection) -> tuple[int, int, int]:
    # As one snapshot: a process that creates the log right now commits all three together.
    connection.execute("BEGIN")
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return application, version, tables


def _open_writer(path: Path) -> sqlite3.Connection | StoreProblem:
    connection = _connect(path, "rw")
    try:
        # Whoever creates the file waits for others here, not in SQLite, which waits in some of these steps only.
        connection.execute("PRAGMA busy_timeout = 0")
        # Only a new file takes it: room that is not needed any more can be given back.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            connection.close()
            return unwritable(path, "its file system has no shared memory for a write-ahead log")
        connection.execute("PRAGMA synchronous = NORMAL")
        # What is deleted, or moved within the file, leaves nothing behind that could be read.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone() == (0,):
            for statement in _DDL.split(";"):
                connection.execute(statement)
        # Older logs do not have it yet; older programs keep it up to date like any other.
        connection.execute(f"CREATE INDEX IF NOT EXISTS namings ON events (session_id, seq) WHERE {NAMINGS}")
        connection.execute("COMMIT")
        connection.execute(f"PRAGMA busy_timeout = {round(BUSY_SECONDS * 1000)}")
    except BaseException:
        connection.close()
        raise
    return connection
