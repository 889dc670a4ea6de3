"""A task that failed, as without a network, is given again by one code action."""

import pytest
from scripting import DONE, FIX, KINDS, step

from outrider.testing.editor.answers import Never

CUT = {"text": "Half of", "fault": {"kind": "cut", "after": 4}}
AGAIN = "Outrider: try again “Fix it.”"


async def titles(editor):
    """Of the actions of a document, those that try again."""
    return [
        action["title"] for action in await editor.code_actions("README.md") if "try again" in action["title"]
    ]


@pytest.mark.parametrize("profile", KINDS)
async def test_a_task_that_failed_is_given_again_as_it_was(profile, begin, workspace):
    editor = await begin(profile, [CUT, DONE])
    selection = {
        "uri": (workspace / "README.md").as_uri(),
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}},
    }
    context = {"selection": selection}
    assert await titles(editor) == []
    assert (await editor.run("Fix it.", mode="explore", context=context))["outcome"] == "failed"
    assert await titles(editor) == [AGAIN]
    again = await editor.take_action(AGAIN)
    assert again["sessionId"] == editor.session_id
    assert (await editor.wait_turn(again["turnId"]))["outcome"] == "completed"
    first, second = (event["data"] for event in editor.events_of("turn.started"))
    assert [second[key] for key in ("prompt", "mode", "context")] == [
        first[key] for key in ("prompt", "mode", "context")
    ]
    assert await titles(editor) == []


async def test_it_is_not_offered_while_anything_runs(begin):
    editor = await begin("stock", [CUT, step(FIX)], answers=[Never()])
    await editor.run("Fix it.")
    await editor.command("outrider.run", {"prompt": "Another.", "sessionId": editor.session_id})
    await editor.event("approval.requested")
    assert await titles(editor) == []


async def test_a_task_that_was_cancelled_is_no_failure(begin):
    editor = await begin("stock", [step(FIX)], answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Fix it."})
    await editor.event("approval.requested")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "cancelled"
    assert await titles(editor) == []
