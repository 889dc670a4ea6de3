"""The list of sessions, folded from the few events that say what it shows. It keeps no table that could be wrong."""

import json
import sqlite3
from dataclasses import dataclass, replace
from typing import Any

from outrider.store.schema import LANDMARKS, TITLES

_TITLE_LENGTH = 80
_LATEST = (
    "SELECT (SELECT ts FROM events WHERE session_id = ?1 AND type != 'workspace.renamed' ORDER BY seq DESC LIMIT 1), "
    "max(seq) FROM events WHERE session_id = ?1"
)
"""Nobody used a session that only followed a file to another path."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as a list shows it."""

    session_id: str
    started_at: str
    """`ts` of its first event."""
    last_at: str
    """`ts` of its last event, but for files that it followed to another path."""
    last_seq: int
    title: str = ""
    """What a model named it, else the first task, as one line of at most 80 characters; empty before there is one."""
    turns: int = 0
    """Turns that were started."""
    folders: tuple[str, ...] = ()
    """URIs of the workspace folders it was last opened with."""
    last_turn_id: str | None = None
    last_turn_state: str | None = None
    """`queued`, `running`, `parked`, or the outcome of the turn that was started last."""


def list_sessions(connection: sqlite3.Connection) -> list[SessionRow]:
    """All sessions, the most recently used first. Blocks.

    Raises:
        sqlite3.Error: the log cannot be read.
        ValueError: a row is not JSON.
    """
    rows: dict[str, SessionRow] = {}
    landmarks = connection.execute(
        "SELECT session_id, turn_id, ts, type, data FROM events INDEXED BY landmarks "  # noqa: S608 - a constant
        f"WHERE {LANDMARKS} ORDER BY session_id, seq"
    )
    for session_id, turn_id, ts, type_, text in landmarks:
        row = rows.get(session_id)
        if row is None:
            last_at, last_seq = connection.execute(_LATEST, (session_id,)).fetchone()
            row = SessionRow(session_id, started_at=ts, last_at=last_at, last_seq=last_seq)
        rows[session_id] = _fold(row, turn_id, type_, json.loads(text))
    titles = connection.execute(
        f"SELECT session_id, data FROM events INDEXED BY titles WHERE {TITLES} ORDER BY session_id, seq"  # noqa: S608 - as above
    )
    for session_id, text in titles:
        if (title := json.loads(text).get("title")) and (row := rows.get(session_id)) is not None:
            rows[session_id] = replace(row, title=title)
    return sorted(rows.values(), key=lambda row: (row.last_at, row.session_id), reverse=True)


def _fold(row: SessionRow, turn_id: str | None, type_: str, data: dict[str, Any]) -> SessionRow:
    match type_:
        case "session.started" | "session.restored":
            return replace(row, folders=tuple(data.get("folders", ())))
        case "turn.queued":
            row = replace(row, title=row.title or _title(data))
            return row if row.turns else replace(row, last_turn_id=turn_id, last_turn_state="queued")
        case "turn.started":
            return replace(
                row,
                title=row.title or _title(data),
                turns=row.turns + 1,
                last_turn_id=turn_id,
                last_turn_state="running",
            )
        case "turn.parked" | "turn.resumed" | "turn.finished" if turn_id == row.last_turn_id:
            states = {"turn.parked": "parked", "turn.resumed": "running"}
            return replace(row, last_turn_state=states.get(type_) or data.get("outcome"))
        case _:
            return row


def _title(data: dict[str, Any]) -> str:
    line = " ".join(str(data.get("prompt", "")).split())
    return line if len(line) <= _TITLE_LENGTH else f"{line[: _TITLE_LENGTH - 1]}…"
