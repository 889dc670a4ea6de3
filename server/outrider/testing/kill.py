"""Ends a server in the middle of its work, as a crash would."""

import logging
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from outrider.store.locks import LOCKS, marked_failed, unmark_failed
from outrider.store.log import Store
from outrider.store.schema import FILE_NAME, open_reader
from outrider.testing.editor.connections import Connection, Stdio


async def kill(connection: Connection, state_dir: Path) -> None:
    """Kill a server and wait until it is gone.

    A process gets signal 9. A server of this process cannot be killed: it is cut off from its editor and
    from its log, so that it does nothing more, and the next one finds what a killed one would have left.

    Args:
        connection: The way to the server.
        state_dir: Where its log is.
    """
    if isinstance(connection, Stdio):
        connection.kill()
        await connection.close()
        connection.fault = None  # it may have died in the middle of a message
        return

    def refuse(message: dict[str, Any]) -> None:
        # Else it would wait for its editor before it lets go of its session.
        if "id" in message and "method" in message:
            error = {"code": -32603, "message": "the editor is gone"}
            connection.send({"jsonrpc": "2.0", "id": message["id"], "error": error})

    connection.on_message = refuse
    log = state_dir / FILE_NAME
    if not log.exists():
        await connection.close()
        return
    kept = state_dir / "kept.sqlite3"
    with closing(sqlite3.connect(log, isolation_level=None)) as pen:
        # Nothing can be committed from here on, so no effect begins that a killed server could not have begun. All
        # of it on the event loop, so that the server does nothing between the moment of its death and the copy.
        pen.execute("BEGIN IMMEDIATE")
        _copy(log, kept)
        pen.execute("DROP TABLE events")
        pen.execute("COMMIT")
    locks = state_dir / LOCKS
    noted = marked_failed(locks)
    with _in_silence(log):
        await connection.close()
    # A killed server notes no failure of a log that was taken from it.
    for turn_id in set(marked_failed(locks)).difference(noted):
        unmark_failed(locks, turn_id)
    for name in (f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
        (state_dir / name).unlink(missing_ok=True)
    kept.replace(log)


@contextmanager
def _in_silence(log: Path) -> Generator[None]:
    """Leave out what a server says of its log that was taken away: a killed one says nothing."""
    logger = logging.getLogger(Store.__module__)

    def is_of_another(record: logging.LogRecord) -> bool:
        return str(log) not in record.getMessage()

    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)


def _copy(log: Path, kept: Path) -> None:
    with closing(open_reader(log)) as source, closing(sqlite3.connect(kept)) as target:
        source.backup(target)
