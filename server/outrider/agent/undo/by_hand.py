"""Files that the session made and that no undo took away, but somebody: what is said of them, and which they are."""

from collections.abc import Sequence

from outrider.workspace.history.histories import Histories
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.records import Part
from outrider_protocol.commands import UndoParams

NOT_THERE = "it is not there any more: somebody deleted it, or moved it away"
"""Why a file that the session made is not taken away."""
NOT_BY_UNDO = "no undo took it away, but somebody who deleted it, or moved it"
"""Why such a file is not made again."""


def gone_by_hand(
    journal: Journal,
    folded: Histories,
    parts: Sequence[Part],
    by_log: Sequence[Part],
    params: UndoParams,
    *,
    redo: bool,
) -> list[Part]:
    """The files that the session made and somebody else took away: no undo has to, and no redo makes them again.

    Args:
        journal: The session's changes.
        folded: The files that they changed.
        parts: What is done, as the texts say.
        by_log: What it would be, as the log alone says.
        params: What was asked for.
        redo: Whether it is a redo.
    """
    if redo and params.scope == "hunk" and params.id is not None:
        return []  # just that is wanted
    found: list[Part] = []
    turns = {one.record.turn_id for one in parts} or {one.record.turn_id for one in by_log}
    for one in parts if redo else by_log:
        file = folded.of(one.record.change_id)
        is_gone = file is not None and not file.exists and not file.is_on(one.record.change_id, 1)
        is_meant = one.record.operation == "create" and not journal.is_undone(one.record.change_id)
        if is_gone and is_meant and one.record.turn_id in turns:
            found.append(one)
    return found
