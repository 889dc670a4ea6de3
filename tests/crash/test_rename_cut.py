"""A file that is renamed in the editor after a crash, before its session goes on: the log is a good one wherever it was cut off."""

import shutil

from crash_scenario import RANDOM_IDS, cut_log, whole_log

from outrider.testing.scenario import scripted, start_session
from replayed import keep_sessions

FULL = {**RANDOM_IDS, "permissionMode": "full"}
BEFORE, AFTER = "one\ntwo\nthree\n", "one\nTWO\nthree\n"
SCRIPT = [
    {
        "tool_calls": [
            {"name": "edit_file", "input": {"path": "a.txt", "old": "two", "new": "TWO"}, "id": "c_1"}
        ]
    },
    {"tool_calls": [{"name": "list_files", "input": {}, "id": "c_2"}]},
    {"text": "Done."},
]


async def test_a_session_follows_wherever_it_was_cut_off(workspace, tmp_path):
    old, new = workspace / "a.txt", workspace / "b.txt"
    old.write_text(BEFORE)
    model = scripted(workspace, SCRIPT)
    async with start_session("stock", workspace, model, FULL) as editor:
        await editor.run("Go.")
        session_id, turn_id = editor.session_id, editor.turn_id
        events = await whole_log(editor, session_id)
    (applied,) = (event["seq"] for event in events if event["type"] == "edit.applied")
    for last in range(applied, len(events) + 1):
        place = tmp_path / f"cut{last}"
        cut_log(workspace.parent / f"{workspace.name}.state", place, last)
        old.write_text(AFTER)
        async with start_session("stock", workspace, model, {**FULL, "stateDir": str(place)}) as second:
            second.rename("a.txt", "b.txt")
            (change,) = (await second.command("outrider.changes", {"sessionId": session_id}))["changes"]
            assert change["path"] == "b.txt", last
            await second.command("outrider.resume", {"sessionId": session_id})
            assert (await second.wait_turn(turn_id))["outcome"] == "completed"
            await second.command("outrider.undo", {"sessionId": session_id})
            assert new.read_text() == BEFORE
            types = [event["type"] for event in await whole_log(second, session_id)]
            assert types[last : last + 2] == ["workspace.renamed", "session.restored"], last
        await keep_sessions(place)
        new.unlink()
        shutil.rmtree(place)
