"""A choice in the editor is found out after a crash at any moment, and nothing that was not chosen is made without a new yes."""

from itertools import chain, combinations
from pathlib import Path

import pytest
from crash_scenario import RANDOM_IDS, cut_log, whole_log

from outrider.testing.editor.answers import Never
from outrider.testing.editor.connections import Stdio
from outrider.testing.scenario import embedded, scripted, start_session
from outrider_protocol import ANSWER, CHOOSE, RESUME, RUN, UNDO
from replayed import assert_replays

LINES = "".join(f"line {number}\n" for number in range(1, 31))
PARTS = [("line 5\n", "LINE 5\n"), ("line 15\n", "LINE 15\nand more\n"), ("line 25\n", "")]
EDITS = {
    "name": "edit_file",
    "id": "edits",
    "input": {"path": "wide.txt", "edits": [{"old": old, "new": new} for old, new in PARTS]},
}
NUMBERS = (1, 2, 3)
TICKED = list(chain.from_iterable(combinations(NUMBERS, count) for count in range(4)))


def with_hunks(numbers):
    text = LINES
    for number in numbers:
        text = text.replace(*PARTS[number - 1])
    return text


@pytest.fixture
def model(workspace):
    (workspace / "wide.txt").write_text(LINES)
    return scripted(workspace, [{"tool_calls": [EDITS]}, {"text": "Done."}])


@pytest.mark.timeout(120)
async def test_a_choice_is_found_out_after_a_crash_at_any_moment(workspace, model, tmp_path):
    async with start_session("vscode", workspace, model, RANDOM_IDS, answers=[CHOOSE]) as editor:
        editor.open("wide.txt")
        started = await editor.command(RUN, {"prompt": "Change it."})
        editor.apply_preview(await editor.preview(), (1, 3))
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        events = await whole_log(editor, started["sessionId"])
        whole = Path(editor.options["stateDir"])
    failures = []
    resolved = next(event["seq"] for event in events if event["type"] == "approval.resolved")
    for last in range(resolved, len(events) + 1):
        kind = events[last - 1]["type"]
        has_begun = any(event["type"] == "edit.applying" for event in events[:last])
        for ticked in TICKED if kind == "edit.applying" else [(1, 3) if has_begun else ()]:
            state = tmp_path / f"cut-{last}-{''.join(map(str, ticked))}"
            try:
                await go_on(workspace, model, events[:last], ticked, whole, state, started)
            except Exception as failure:  # noqa: BLE001 - all that fail are named at the end
                failures.append(f"{last} {kind}, {ticked}: {failure!r}"[:600])
    assert not failures, "\n".join(failures)


async def go_on(workspace, model, events, ticked, whole, state, started):
    """Resume what is left of the log, with the document as it was then, and look at the end."""
    cut_log(whole, state, len(events))
    settings = {**RANDOM_IDS, "stateDir": str(state)}
    async with start_session("vscode", workspace, model, settings, answers=lambda _: Never()) as editor:
        editor.open("wide.txt")
        if ticked:
            editor.type("wide.txt", with_hunks(ticked), replace=LINES)
        await editor.command(RESUME, {"sessionId": started["sessionId"]})
        if not ticked:
            await editor.wait_for(lambda: editor.questions, "the question")
            assert editor.text("wide.txt") == LINES, "nobody said yes to all of it"
            item = editor.events_of("approval.requested")[-1]["data"]
            await editor.command(ANSWER, {"id": item["id"], "decision": "reject"})
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        assert editor.text("wide.txt") == with_hunks(ticked)
        assert bool(editor.questions) == (not ticked)
        log = await whole_log(editor, started["sessionId"])
        (told,) = [event["data"] for event in log if event["type"] == "tool.finished"]
        applied = [event["data"] for event in log if event["type"] == "edit.applied"]
        if ticked:
            assert [len(one["hunks"]) for one in applied] == [len(ticked)]
            await editor.command(UNDO, {"sessionId": started["sessionId"], "scope": "turn"})
            assert editor.text("wide.txt") == LINES
        else:
            assert (applied, told["status"]) == ([], "denied")
        if ticked and told["status"] == "interrupted":
            assert "The person was choosing in the editor" in told["content"]
    await assert_replays(state)


@pytest.mark.parametrize("ticked", [None, (1, 3), (1, 2, 3)])
async def test_the_editor_outlives_the_server_with_its_boxes(ticked, workspace, model):
    """What is ticked while no server is there, or before the next one goes on, is found; else it is asked again."""
    connection = Stdio(cwd=workspace.parent)
    async with start_session(
        "vscode", workspace, model, RANDOM_IDS, connection=connection, answers=[CHOOSE, Never()]
    ) as editor:
        editor.open("wide.txt")
        started = await editor.command(RUN, {"prompt": "Change it."})
        preview = await editor.preview()
        connection.kill()
        await editor.wait_for(lambda: editor.ended, "end of the connection")
        connection.fault = None
        await connection.close()
        await editor.reconnect(embedded(workspace))
        if ticked:
            editor.apply_preview(preview, ticked)
        await editor.command(RESUME, {"sessionId": started["sessionId"]})
        if ticked:
            assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
            assert [len(one["data"]["hunks"]) for one in editor.events_of("edit.applied")] == [len(ticked)]
        else:
            await editor.question(2)
            assert editor.text("wide.txt") == LINES
            # Now it is the person's own change, and what was asked is worked out anew.
            editor.apply_preview(preview, (2,))
            item = editor.events_of("approval.requested")[-1]["data"]
            await editor.command(ANSWER, {"id": item["id"], "decision": "reject"})
            assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
            assert editor.events_of("edit.applied") == []
        assert editor.text("wide.txt") == with_hunks(ticked or (2,))
    await assert_replays(workspace.parent / f"{workspace.name}.state")
