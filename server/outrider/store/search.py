"""Which sessions say something: the words of users and models in the log, the latest first."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_TEXT_OF: Final[Mapping[str, str]] = {
    "session.renamed": "title",
    "session.titled": "title",
    "turn.queued": "prompt",
    "turn.started": "prompt",
    "steering.received": "text",
    "model.responded": "text",
    "question.asked": "question",
    "question.answered": "answer",
}
"""The events that say something to a user, and where in their data."""
_NAMES: Final = frozenset({"session.renamed", "session.titled"})
_ROWS: Final = 2000
"""Ids of events that are looked through in one go, so that other reads do not wait for long."""
_AROUND: Final = 60
"""Characters that are shown before and after what is found."""


@dataclass(frozen=True, slots=True)
class Match:
    """Where a session says it."""

    turn_id: str | None
    """None for a name."""
    text: str
    """One line around it."""


def search(
    connection: sqlite3.Connection, words: Sequence[str], before: int | None
) -> tuple[dict[str, Match], int]:
    """Look through a stretch of the log. Blocks.

    Args:
        connection: Where it is read.
        words: What one text has to have all of, in `casefold`.
        before: The id of the event that it ends before; None begins at the latest.

    Returns:
        The latest place of each session that has it in this stretch, and where to go on; 0 at the beginning of the log.

    Raises:
        sqlite3.Error: the log cannot be read.
        ValueError: a row is not JSON.
    """
    if before is None:
        before = int(connection.execute("SELECT coalesce(max(id), 0) + 1 FROM events").fetchone()[0])
    first = max(0, before - _ROWS)
    rows = connection.execute(
        "SELECT session_id, turn_id, type, data FROM events WHERE id >= ? AND id < ? "  # noqa: S608 - marks alone
        f"AND type IN ({','.join('?' * len(_TEXT_OF))}) ORDER BY id DESC",
        (first, before, *_TEXT_OF),
    )
    found: dict[str, Match] = {}
    for session_id, turn_id, type_, text in rows:
        if session_id not in found and (shown := _shown(json.loads(text), type_, words)) is not None:
            found[session_id] = Match(None if type_ in _NAMES else turn_id, shown)
    return found, first


def _shown(data: Mapping[str, Any], type_: str, words: Sequence[str]) -> str | None:
    text = data.get(_TEXT_OF[type_])
    if not isinstance(text, str) or data.get("purpose", "main") != "main":
        return None
    line = " ".join(text.split())
    folded = line.casefold()
    if not all(word in folded for word in words):
        return None
    # Folding may change lengths; about the right place is near enough.
    at = min(folded.index(words[0]), len(line))
    start, end = max(0, at - _AROUND), at + len(words[0]) + _AROUND
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
