"""What a session changed, folded from its log: what is there to take back, and to bring back.

Edits are `edit.*` events; what its commands did to files that it knows are `workspace.changed` events.

A pure projection. It reads nothing but event data, keeps hashes and not texts, and decides nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from outrider.ports.events import LoggedEvent
from outrider.ports.text import TextEncoding

ChangeState = Literal["applying", "applied", "rejected"]
Scope = Literal["hunk", "step", "turn", "session"]
Operation = Literal["edit", "create", "delete", "rename"]

_STATES: dict[str, ChangeState] = {
    "edit.applying": "applying",
    "edit.applied": "applied",
    "edit.merged": "applied",
    "edit.rejected": "rejected",
}


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """One change of one file."""

    change_id: str
    session_id: str
    turn_id: str | None
    call_id: str | None
    step: int
    """Which response of its turn asked for it, from 1; 0 outside a turn."""
    path: str
    operation: Operation
    to: str | None
    before: str | None
    """Content hash of the text before, None where there was no file."""
    after: str | None
    """Content hash of the text after, None where there is no file."""
    undoes: str | None
    """The change that it takes back."""
    state: ChangeState
    encoding: TextEncoding = "utf-8"
    """How a file that was made, or taken away, held its text."""


class Journal:
    """The changes of one session, in the order they began."""

    def __init__(self) -> None:
        self._records: dict[str, ChangeRecord] = {}
        self._steps: Counter[str] = Counter()

    def apply(self, event: LoggedEvent) -> None:
        """Fold one event; those of other types change nothing."""
        if event.type == "model.responded":
            if event.turn_id is not None and event.data.get("purpose", "main") == "main":
                self._steps[event.turn_id] += 1
        elif state := _STATES.get(event.type):
            self._edit(event, event.data, state)
        elif event.type == "workspace.changed" and "changeId" in event.data:
            self._edit(event, {**event.data, "operation": _operation(event.data)}, "applied")

    def _edit(self, event: LoggedEvent, data: dict[str, Any], state: ChangeState) -> None:
        known = self._records.get(data["changeId"])
        if known is None:
            if state == "rejected":
                return  # it was proposed and never begun
            known = ChangeRecord(
                change_id=data["changeId"],
                session_id=event.session_id,
                turn_id=event.turn_id,
                call_id=data.get("callId"),
                step=self._steps[event.turn_id] if event.turn_id is not None else 0,
                path=data["path"],
                operation=data.get("operation", "edit"),
                to=data.get("to"),
                before=data.get("before"),
                after=data.get("after"),
                undoes=data.get("undoes"),
                state=state,
                encoding=data.get("encoding", "utf-8"),
            )
        if state == "applied":
            known = replace(known, before=data.get("before"), after=data.get("after"))
        self._records[known.change_id] = replace(known, state=state)

    def changes(self, turn_id: str | None = None) -> list[ChangeRecord]:
        """Every change that began, of one turn or of all."""
        return [one for one in self._records.values() if turn_id is None or one.turn_id == turn_id]

    def to_undo(self, scope: Scope, id: str | None) -> list[ChangeRecord]:  # noqa: A002 - as on the wire
        """The changes to take back, the latest first; what takes a change back is none of them.

        Args:
            scope: How much: one change (`hunk`), those of a step, of a turn, or all.
            id: The change, a call or change of the step, or the turn; None for the latest that has any.
        """
        standing = self._standing(undo=False)
        if scope == "session" or not standing:
            return standing
        if id is None:
            chosen = standing[0]
        else:
            named = [one for one in standing if id in {one.change_id, one.call_id, one.turn_id}]
            if not named:
                return []
            chosen = named[0]
        return [one for one in standing if _part(one, scope) == _part(chosen, scope)]

    def to_redo(self) -> list[ChangeRecord]:
        """What took changes of one turn back last, the latest first: taking these back brings the changes back."""
        standing = self._standing(undo=True)
        turns = [self._records[one.undoes or ""].turn_id for one in standing]
        return [one for one, turn in zip(standing, turns, strict=True) if turn == turns[0]]

    def _standing(self, *, undo: bool) -> list[ChangeRecord]:
        """The changes that are in place, the latest first: those of the agent, or those that take such a one back."""
        taken_back: set[str] = set()
        standing: list[ChangeRecord] = []
        # What takes a change back always comes after it.
        for one in reversed(self._records.values()):
            if one.state != "applied" or one.change_id in taken_back:
                continue
            if one.undoes is not None:
                taken_back.add(one.undoes)
            # What a call took back itself, because it could not do all it was to do, the person did not undo.
            if self._depth(one) == (1 if undo else 0) and not (undo and one.call_id):
                standing.append(one)
        return standing

    def _depth(self, record: ChangeRecord) -> int:
        """0 for a change, 1 for what takes one back, 2 for what takes that back, …."""
        depth = 0
        while record.undoes is not None and record.undoes in self._records:
            record, depth = self._records[record.undoes], depth + 1
        return depth


def _operation(data: dict[str, Any]) -> Operation:
    """What a command did to a file."""
    if "before" not in data:
        return "create"
    return "edit" if "after" in data else "delete"


def _part(record: ChangeRecord, scope: Scope) -> Sequence[object]:
    match scope:
        case "hunk":
            return (record.change_id,)
        case "step":
            return (record.turn_id, record.step)
        case _:
            return (record.turn_id,)
