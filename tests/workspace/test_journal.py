from typing import Any

from outrider.ports.events import from_old_log
from outrider.workspace.history.journal import Journal


class Log:
    """Events of a session, folded as they come."""

    def __init__(self) -> None:
        self.journal = Journal()
        self._seq = 0

    def add(self, type_: str, turn_id: str | None, **data: Any) -> None:
        self._seq += 1
        self.journal.apply(from_old_log(self._seq, "", "ses_1", turn_id, type_, data))

    def change(
        self, change_id: str, turn_id: str | None = "turn_1", end: str | None = "edit.applied", **more: Any
    ) -> None:
        data = {
            "changeId": change_id,
            "path": "a.py",
            "operation": "edit",
            "before": "b",
            "after": "a",
            "hunks": [],
        } | more
        self.add("edit.proposed", turn_id, **data)
        self.add("edit.applying", turn_id, **data)
        if end is not None:
            self.add(end, turn_id, **data)

    def ids(self, scope: Any = "turn", id_: str | None = None) -> list[str]:
        return [part.record.change_id for part in self.journal.to_undo(scope, id_)]

    def redo(self, scope: Any = "turn", id_: str | None = None) -> list[str]:
        return [part.record.change_id for part in self.journal.to_redo(scope, id_)]

    def undoing(self, change_id: str) -> str | None:
        return self.journal.last_undo(change_id)


def two_turns() -> Log:
    log = Log()
    for turn, calls in (("turn_1", ("c1", "c2")), ("turn_2", ("c3", "c4"))):
        log.add("turn.started", turn, prompt="")
        for call in calls:
            log.add("model.responded", turn, purpose="main")
            log.add("model.responded", turn, purpose="title")
            log.change(f"{call}_a", turn, callId=call)
            log.change(f"{call}_b", turn, callId=f"{call}x")
    return log


def test_scopes_take_their_part_the_latest_first() -> None:
    log = two_turns()
    assert log.ids() == ["c4_b", "c4_a", "c3_b", "c3_a"]
    assert log.ids("turn", "turn_1") == ["c2_b", "c2_a", "c1_b", "c1_a"]
    assert log.ids("step") == ["c4_b", "c4_a"]
    assert log.ids("step", "c1") == ["c1_b", "c1_a"]
    assert log.ids("hunk") == ["c4_b"]
    assert log.ids("hunk", "c3_a") == ["c3_a"]
    assert len(log.ids("session")) == 8
    assert log.ids("turn", "nobody") == []
    assert [record.step for record in log.journal.changes("turn_2")] == [1, 1, 2, 2]


def test_only_what_is_in_place_can_be_taken_back() -> None:
    log = Log()
    log.change("open", end=None)
    log.change("no", end="edit.rejected")
    log.change("yes", end="edit.merged", after="merged")
    log.add("edit.rejected", "turn_1", changeId="never", path="a.py", operation="edit")
    assert log.ids() == ["yes"]
    assert [(record.change_id, record.state, record.after) for record in log.journal.changes()] == [
        ("open", "applying", "a"),
        ("no", "rejected", "a"),
        ("yes", "applied", "merged"),
    ]


def test_undo_and_redo_go_back_and_forth() -> None:
    log = two_turns()
    for number, change_id in enumerate(log.ids()):
        log.change(f"u{number}", None, undoes=change_id)
    assert log.ids() == ["c2_b", "c2_a", "c1_b", "c1_a"]
    assert log.redo() == ["c3_a", "c3_b", "c4_a", "c4_b"]
    for number, change_id in enumerate(log.redo()):
        log.change(f"r{number}", None, undoes=log.undoing(change_id))
    assert log.redo() == []
    assert log.ids() == ["c4_b", "c4_a", "c3_b", "c3_a"]
    log.change("u9", None, undoes="c4_b")
    assert log.ids() == ["c4_a", "c3_b", "c3_a"]
    assert (log.redo(), log.undoing("c4_b")) == (["c4_b"], "u9")


def test_an_undo_that_was_rejected_took_nothing_back() -> None:
    log = Log()
    log.change("c1")
    log.change("u1", None, end="edit.rejected", undoes="c1")
    assert log.ids() == ["c1"]
    assert log.redo() == []


def test_redo_brings_back_the_turn_that_was_undone_last() -> None:
    log = Log()
    log.change("c1", "turn_1")
    log.change("c2", "turn_2")
    log.change("u2", None, undoes="c2")
    log.change("u1", None, undoes="c1")
    assert log.redo() == ["c1"]
    log.change("r1", None, undoes="u1")
    assert log.redo() == ["c2"]


def test_hunks_are_taken_back_one_by_one() -> None:
    log = Log()
    log.change("c1", hunks=[{}, {}, {}])
    log.change("c2")

    def undo(scope: Any, id_: str | None = None) -> list[tuple[str, tuple[int, ...]]]:
        return [(part.record.change_id, part.hunks) for part in log.journal.to_undo(scope, id_)]

    assert undo("hunk", "c1#2") == [("c1", (2,))]
    log.change("u1", None, undoes="c1", undoesHunks=[2])
    assert undo("turn") == [("c2", (1,)), ("c1", (1, 3))]
    assert undo("hunk", "c1") == [("c1", (1, 3))]
    assert undo("hunk", "c1#9") == undo("hunk", "c1#x") == undo("hunk", "c9#1") == []
    log.change("u2", None, undoes="c1", undoesHunks=[1, 3])
    assert undo("turn") == [("c2", (1,))]
    assert undo("hunk", "c1#2") == [("c1", (2,))], "the editor's own undo may have brought it back"
    log.change("r1", None, undoes="u2", undoesHunks=[3])
    assert [(part.record.change_id, part.hunks) for part in log.journal.to_redo()] == [("c1", (1, 2))]
    assert [part.hunks for part in log.journal.to_redo("hunk", None)] == [(1,)]
    assert undo("turn") == [("c2", (1,)), ("c1", (3,))]
