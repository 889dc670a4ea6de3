"""A change that is cut off between its effect and its event, and beside which somebody wrote: its text says what it is."""

import pytest
from crash_scenario import RANDOM_IDS, cut_log, whole_log

from outrider.testing.scenario import scripted, start_session
from replayed import keep_sessions

FULL = {**RANDOM_IDS, "permissionMode": "full"}
TEN = "".join(f"line {number}\n" for number in range(1, 11))
EDIT = ("edit_file", {"path": "ten.txt", "edits": [
    {"old": "line 2\n", "new": "line two\n"}, {"old": "line 9\n", "new": "line nine\n"},
]})  # fmt: skip
EDITED = TEN.replace("line 2\n", "line two\n").replace("line 9\n", "line nine\n")
CREATE = ("write_file", {"path": "new.txt", "content": "new\n"})
DELETE = ("delete_file", {"path": "ten.txt"})
RENAME = ("rename_file", {"from": "ten.txt", "to": "there.txt"})

CASES = {
    "an edit with a line above": (EDIT, {"ten.txt": f"mine\n{EDITED}"}, "edit.merged", {"ten.txt": f"mine\n{TEN}"}),
    "an edit with a line between": (
        EDIT, {"ten.txt": EDITED.replace("line 5", "mine 5")}, "edit.merged", {"ten.txt": TEN.replace("line 5", "mine 5")},
    ),
    "a line, and no edit": (EDIT, {"ten.txt": f"mine\n{TEN}"}, "not applied", {"ten.txt": f"mine\n{TEN}"}),
    "a part of an edit": (
        EDIT, {"ten.txt": "mine\n" + TEN.replace("line 2\n", "line two\n")}, "edit.applied", {"ten.txt": f"mine\n{TEN}"},
    ),
    "a part of an edit, as somebody wrote over the other": (
        EDIT, {"ten.txt": EDITED.replace("line two", "mine")}, "edit.applied", {"ten.txt": TEN.replace("line 2", "mine")},
    ),
    "no edit, and its place written over": (
        EDIT, {"ten.txt": TEN.replace("line 2", "mine").replace("line 9", "mine")}, "altered",
        {"ten.txt": TEN.replace("line 2", "mine").replace("line 9", "mine")},
    ),
    "an edit seen without its line ends": (
        EDIT, {"ten.txt": f"mine\n{EDITED}".replace("\n", "\r\n")}, "edit.merged",
        {"ten.txt": f"mine\n{TEN}".replace("\n", "\r\n")},
    ),
    "a new file with a line more": (CREATE, {"new.txt": "new\nmine\n"}, "edit.merged", {"new.txt": "new\nmine\n"}),
    "another new file": (CREATE, {"new.txt": "mine\n"}, "altered", {"new.txt": "mine\n"}),
    "a file that was to be deleted": (DELETE, {"ten.txt": f"mine\n{TEN}"}, "not applied", {"ten.txt": f"mine\n{TEN}"}),
    "a deleted file": (DELETE, {"ten.txt": None}, "edit.applied", {"ten.txt": TEN}),
    "a file that was moved, with a line": (
        RENAME, {"ten.txt": None, "there.txt": f"mine\n{TEN}"}, "edit.merged",
        {"ten.txt": f"mine\n{TEN}", "there.txt": None},
    ),
    "a file that was to be moved": (RENAME, {"ten.txt": f"mine\n{TEN}"}, "not applied", {"ten.txt": f"mine\n{TEN}"}),
}  # fmt: skip


def arrange(workspace, files):
    for name, text in files.items():
        path = workspace / name
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(text.encode())


def left(workspace, files):
    return {
        name: path.read_bytes().decode() if (path := workspace / name).exists() else None for name in files
    }


async def cut_off(workspace, tmp_path, tool, *, undo=False):
    """Let a call run, or its undo, and cut the log after its last `edit.applying`; gives session, model, and log."""
    name, given = tool
    (workspace / "ten.txt").write_text(TEN)
    model = scripted(
        workspace, [{"tool_calls": [{"name": name, "input": given, "id": "c_1"}]}, {"text": "Done."}]
    )
    async with start_session("stock", workspace, model, FULL) as editor:
        await editor.run("Go.")
        if undo:
            await editor.command("outrider.undo", {})
        session_id = editor.session_id
        events = await whole_log(editor, session_id)
    last = max(event["seq"] for event in events if event["type"] == "edit.applying")
    state = tmp_path / "cut"
    cut_log(workspace.parent / f"{workspace.name}.state", state, last)
    return session_id, model, state, last


async def outcome(editor, session_id, last):
    """What the edit that was cut off is taken for."""
    settled = next(
        event
        for event in await whole_log(editor, session_id)
        if event["seq"] > last and event["type"] in {"edit.applied", "edit.merged", "edit.rejected"}
    )
    reason = settled["data"].get("reason", "")
    return "altered" if "found changed" in reason else "not applied" if reason else settled["type"]


@pytest.mark.parametrize("case", CASES)
async def test_a_change_that_is_cut_off_is_what_its_text_says(case, workspace, tmp_path):
    tool, files, expected, after_undo = CASES[case]
    session_id, model, state, last = await cut_off(workspace, tmp_path, tool)
    (workspace / "new.txt").unlink(missing_ok=True)
    (workspace / "there.txt").unlink(missing_ok=True)
    arrange(workspace, files)

    async with start_session("stock", workspace, model, {**FULL, "stateDir": str(state)}) as editor:
        status = await editor.command("outrider.resume", {"sessionId": session_id})
        assert (await editor.wait_turn(status["turnId"]))["outcome"] == "completed"
        assert await outcome(editor, session_id, last) == expected
        (result,) = editor.events_of("tool.finished")
        # What did not happen is done then: it was allowed.
        is_whole = expected in {"edit.applied", "edit.merged", "not applied"} and "part" not in case
        assert result["data"]["status"] == ("ok" if is_whole else "interrupted"), result["data"]["content"]
        if expected != "altered":
            await editor.command("outrider.undo", {"sessionId": session_id})
        assert left(workspace, after_undo) == after_undo
    await keep_sessions(state)


@pytest.mark.parametrize(
    ("tool", "redo", "files", "expected", "at_last"),
    [
        (EDIT, {"ten.txt": f"mine\n{TEN}"}, {"ten.txt": f"mine\n{EDITED}"}, "edit.merged", None),
        (EDIT, {"ten.txt": f"mine\n{EDITED}"}, {"ten.txt": f"mine\n{EDITED}"}, "not applied", {"ten.txt": f"mine\n{TEN}"}),
        (DELETE, {"ten.txt": f"{TEN}mine\n"}, {"ten.txt": f"{TEN}mine\n"}, "edit.merged", None),
        (RENAME, {"ten.txt": f"mine\n{TEN}", "there.txt": None}, {"ten.txt": None, "there.txt": f"mine\n{TEN}"},
         "edit.merged", None),
    ],
)  # fmt: skip
async def test_an_undo_that_is_cut_off_is_what_its_text_says(
    tool, redo, files, expected, at_last, workspace, tmp_path
):
    session_id, model, state, last = await cut_off(workspace, tmp_path, tool, undo=True)
    arrange(workspace, redo)
    async with start_session("stock", workspace, model, {**FULL, "stateDir": str(state)}) as editor:
        await editor.command("outrider.resume", {"sessionId": session_id})
        assert await outcome(editor, session_id, last) == expected
        again = "outrider.redo" if expected == "edit.merged" else "outrider.undo"
        await editor.command(again, {"sessionId": session_id})
        assert left(workspace, files) == (at_last or files)
    await keep_sessions(state)


async def test_a_turn_whose_only_change_was_cut_off_can_be_undone_before_it_goes_on(workspace, tmp_path):
    _, model, state, _ = await cut_off(workspace, tmp_path, EDIT)
    settings = {**FULL, "stateDir": str(state), "events": False}
    async with start_session("stock", workspace, model, settings) as editor:
        await editor.code_actions("ten.txt")
        await editor.take_action("Outrider: undo turn “Go.”")
        assert (workspace / "ten.txt").read_text() == TEN
    await keep_sessions(state)


async def test_what_was_typed_into_the_buffer_of_a_deleted_file_is_left_in_it(workspace, tmp_path):
    session_id, model, state, last = await cut_off(workspace, tmp_path, DELETE)
    (workspace / "ten.txt").write_text(TEN)
    async with start_session("stock", workspace, model, {**FULL, "stateDir": str(state)}) as editor:
        editor.open("ten.txt")
        editor.type("ten.txt", "mine\n", at=(0, 0))
        (workspace / "ten.txt").unlink()
        status = await editor.command("outrider.resume", {"sessionId": session_id})
        await editor.wait_turn(status["turnId"])
        assert await outcome(editor, session_id, last) == "edit.merged"
        assert editor.text("ten.txt") == f"mine\n{TEN}"
    await keep_sessions(state)


async def test_an_edit_found_in_an_unsaved_buffer_is_saved_before_a_command(workspace, tmp_path):
    (workspace / "ten.txt").write_text(TEN)
    edit, run = ({"name": name, "input": given, "id": name} for name, given in (
        EDIT, ("run_command", {"command": "true"}),
    ))  # fmt: skip
    model = scripted(workspace, [{"tool_calls": [edit]}, {"tool_calls": [run]}, {"text": "Done."}])
    how = {**FULL, "stateDir": str(tmp_path / "first")}
    async with start_session("stock", workspace, model, how) as editor:
        await editor.run("Go.")
        session_id = editor.session_id
        last = editor.events_of("edit.applying")[0]["seq"]
    cut_log(tmp_path / "first", tmp_path / "cut", last)
    (workspace / "ten.txt").write_text(TEN)
    how = {**FULL, "stateDir": str(tmp_path / "cut")}
    async with start_session("stock", workspace, model, how, answers=["Run without saving"]) as editor:
        editor.open("ten.txt")
        editor.type("ten.txt", "line two", replace="line 2")
        editor.type("ten.txt", "line nine", replace="line 9")
        status = await editor.command("outrider.resume", {"sessionId": session_id})
        await editor.wait_turn(status["turnId"])
        assert await outcome(editor, session_id, last) == "edit.applied"
        assert [question.titles[0] for question in editor.questions] == ["Save and continue"]
