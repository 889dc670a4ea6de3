"""Ends a server in the middle of its work, as a crash would."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from outrider.store.schema import FILE_NAME, open_reader
from outrider.testing.connections import Connection, Stdio


async def kill(connection: Connection, state_dir: Path) -> None:
    """Kill a server and wait until it is gone.

    A process gets signal 9. A server of this process cannot be killed: it is cut off from its editor, and what it
    puts into the log from now on is thrown away, so that the next one finds what a killed one would have left.

    Args:
        connection: The way to the server.
        state_dir: Where its log is.
    """
    if isinstance(connection, Stdio):
        connection.kill()
        await connection.close()
        connection.fault = None  # it may have died in the middle of a message
        return
    log, kept = state_dir / FILE_NAME, state_dir / "kept.sqlite3"
    connection.on_message = _unread
    if log.exists():
        _copy(log, kept)
    await connection.close()
    if kept.exists():
        for name in (f"{FILE_NAME}-wal", f"{FILE_NAME}-shm"):
            (state_dir / name).unlink(missing_ok=True)
        shutil.move(kept, log)


def _unread(message: dict[str, Any]) -> None:
    pass


def _copy(log: Path, kept: Path) -> None:
    # On the event loop, so that the server does nothing between the moment of its death and the copy.
    with closing(open_reader(log)) as source, closing(sqlite3.connect(kept)) as target:
        source.backup(target)
