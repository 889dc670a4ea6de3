"""A review that was taken holds after a crash at any moment: what was left out stays out, and the model is told."""

from pathlib import Path

import pytest
from crash_scenario import RANDOM_IDS, check_log, cut_log, resume, to_the_end, whole_log

from outrider.testing.scenario import scripted, start_session
from outrider_protocol import ANSWER, RUN
from replayed import keep_sessions

LINES = "".join(f"line {number}\n" for number in range(1, 21))
PATCH = """*** Begin Patch
*** Update File: a.txt
@@
-line 3
+LINE 3
@@
-line 15
+LINE 15
*** Delete File: b.txt
*** Update File: c.txt
@@
-line 3
+LINE 3
*** End Patch
"""
BEFORE = {"a.txt": LINES, "b.txt": "kept\n", "c.txt": LINES}
AFTER = {
    "a.txt": LINES.replace("line 15\n", "fifteen\n"),
    "b.txt": "kept\n",
    "c.txt": LINES.replace("line 3\n", "LINE 3\n"),
}


def put(workspace, texts):
    for name, text in texts.items():
        (workspace / name).write_text(text)


def read(workspace):
    return {name: (workspace / name).read_text() for name in BEFORE}


@pytest.mark.timeout(120)
async def test_a_review_holds_after_a_crash_at_any_moment(workspace, tmp_path):
    put(workspace, BEFORE)
    patch = {"name": "apply_patch", "input": {"patch": PATCH}, "id": "patch"}
    model = scripted(workspace, [{"tool_calls": [patch]}, {"text": "Done."}])
    async with start_session("stock", workspace, model, RANDOM_IDS) as editor:
        started = await editor.command(RUN, {"prompt": "Change it."})
        await editor.event("turn.parked")
        (asked,) = editor.events_of("approval.requested")
        first, second, _ = asked["data"]["changeIds"]
        review = [
            {"id": f"{first}#1", "decision": "reject", "reason": "not this one"},
            {"id": f"{first}#2", "decision": "take", "text": "fifteen"},
            {"id": f"{second}#1", "decision": "reject"},
        ]
        answer = {"id": asked["data"]["id"], "decision": "allow_once", "review": review}
        await editor.command(ANSWER, answer)
        assert (await to_the_end(editor, started["turnId"]))["outcome"] == "completed"
        events = await whole_log(editor, started["sessionId"])
        whole = Path(editor.options["stateDir"])
    assert read(workspace) == AFTER
    failures = []
    resolved = next(event["seq"] for event in events if event["type"] == "approval.resolved")
    for last in range(resolved, len(events) + 1):
        for pending in ("not", "done"):
            state = tmp_path / f"cut-{last}-{pending}"
            try:
                await go_on(workspace, model, events[:last], pending, whole, state, started)
            except Exception as failure:  # noqa: BLE001 - all that fail are named at the end
                failures.append(f"{last} {events[last - 1]['type']}, {pending}: {failure!r}"[:600])
            if events[last - 1]["type"] != "edit.applying":
                break
    assert not failures, "\n".join(failures)


async def go_on(workspace, model, events, pending, whole, state, started):
    """Resume what is left of the log, with the files as they were then, and look at the end."""
    cut_log(whole, state, len(events))
    begun = [event["data"]["path"] for event in events if event["type"] == "edit.applying"]
    there = [event["data"]["path"] for event in events if event["type"] == "edit.applied"]
    if pending == "done":
        there = begun
    put(workspace, BEFORE | {name: AFTER[name] for name in there})
    async with start_session("stock", workspace, model, {**RANDOM_IDS, "stateDir": str(state)}) as editor:
        await resume(editor, started["sessionId"])
        assert (await to_the_end(editor, started["turnId"]))["outcome"] == "completed"
        log = await whole_log(editor, started["sessionId"])
    check_log(log)
    left = read(workspace)
    (told,) = [event["data"] for event in log if event["type"] == "tool.finished"]
    assert "rejected: a.txt line 3, because: not this one" in told["content"]
    assert "b.txt" not in told["content"].partition("\nThe user reviewed")[0], (
        "it is not missing: it was left out"
    )
    assert left["b.txt"] == "kept\n"
    if there and len(there) < 2:
        assert told["status"] == "interrupted"
        assert left == BEFORE | {name: AFTER[name] for name in there}
    else:
        assert told["status"] == "ok"
        assert left == AFTER
    assert [event["type"] for event in log].count("approval.requested") == 1, "nobody is asked again"
    await keep_sessions(state)
