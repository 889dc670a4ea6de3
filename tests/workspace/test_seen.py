"""What the model has seen, folded from events."""

from outrider.ports.events import from_old_log
from outrider.workspace.watch.read_state import Seen, Sight


def folded(*events):
    seen = Seen()
    for number, (kind, data) in enumerate(events, start=1):
        seen.apply(from_old_log(number, "", "ses_1", "turn_1", kind, data))
    return seen


def read(digest, path="a.py"):
    return "tool.finished", {"callId": "c", "read": [{"path": path, "hash": digest}]}


def edited(before, after, **more):
    data = {
        "changeId": "chg",
        "callId": "c",
        "path": "a.py",
        "operation": "edit",
        "before": before,
        "after": after,
    }
    return "edit.applied", {**{key: value for key, value in data.items() if value is not None}, **more}


def test_what_was_read_is_seen():
    assert folded(read("1"), read("2")).get("a.py") == Sight("2")


def test_an_edit_of_the_seen_text_is_seen():
    assert folded(read("1"), edited("1", "2")).get("a.py") == Sight("2")


def test_an_edit_of_another_text_keeps_what_was_not_told():
    sight = folded(read("1"), edited("1b", "2"), edited("2", "3")).get("a.py")
    assert sight == Sight("1", own=(("1b", "2"), ("2", "3")))
    assert sight.expected == "3"


def test_what_is_told_is_seen():
    changed = "workspace.changed", {"path": "a.py", "hunks": [], "after": "3"}
    assert folded(read("1"), edited("1b", "2"), changed).get("a.py") == Sight("3")


def test_what_is_told_in_part_is_not_seen_whole_until_it_is_read():
    changed = "workspace.changed", {"path": "a.py", "hunks": [], "after": "2", "whole": False}
    again = "workspace.changed", {"path": "a.py", "hunks": [], "after": "3"}
    assert folded(read("1"), changed, again).get("a.py") == Sight("3", whole=False)
    assert folded(read("1"), changed, read("2")).get("a.py") == Sight("2")


def test_what_nobody_sees_and_files_never_seen_change_nothing():
    under = "workspace.changed", {"path": "a.py", "hunks": [], "after": "2", "unshown": True}
    other = "workspace.changed", {"path": "b.py", "hunks": [], "after": "2"}
    seen = folded(read("1"), under, other)
    assert list(seen) == ["a.py"]
    assert seen.get("a.py") == Sight("1")


def test_of_a_merged_edit_the_planned_text_is_seen():
    applying = (
        "edit.applying",
        {"changeId": "chg", "callId": "c", "path": "a.py", "before": "1", "after": "2"},
    )
    merged = "edit.merged", edited("1", "2typed")[1]
    assert folded(read("1"), applying, merged).get("a.py") == Sight("2")


def test_an_undo_is_not_seen():
    undo = {key: value for key, value in edited("2", "1")[1].items() if key != "callId"}
    assert folded(read("2"), ("edit.applied", undo)).get("a.py") == Sight("2")


def test_what_was_made_is_seen_and_what_was_only_edited_is_not_seen_whole():
    assert folded(edited(None, "1", operation="create")).get("a.py") == Sight("1")
    assert folded(edited("0", "1")).get("a.py") == Sight("1", whole=False)


def test_a_rename_takes_what_was_seen_along():
    seen = folded(read("1"), edited("1", "1", operation="rename", to="b.py"))
    assert seen.get("a.py") == Sight(None)
    assert seen.get("b.py") == Sight("1")


def test_a_deleted_file_is_known_to_be_gone():
    assert folded(read("1"), edited("1", None, operation="delete")).get("a.py") == Sight(None)
