"""A model that answers nonsense: each call gets its result, the turn its end, and the next turn works."""

import json

import pytest

from outrider.testing.scenario import scripted, start_session

GOOD = {"name": "read_file", "input": {"path": "README.md"}}
DEEP = '{"path": ' + "[" * 50_000 + "]" * 50_000 + "}"

MALFORMED = {
    "not JSON": ("read_file", '{"path": '),
    "no object": ("read_file", "[1]"),
    "null": ("read_file", "null"),
    "not a number": ("read_file", '{"path": "a", "start_line": NaN}'),
    "a huge number": ("read_file", '{"path": "README.md", "start_line": ' + "9" * 10_000 + "}"),
    "wrong types": ("edit_file", '{"path": 5, "old": [], "new": {}}'),
    "unknown keys": ("read_file", '{"path": "a", "and": "b"}'),
    "deep nesting": ("read_file", DEEP),
    "lone surrogate": ("read_file", '{"path": "\\ud800"}'),
    "lone surrogate in the key": ("read_file", '{"\\ud800": 1}'),
    "unknown tool": ("raed_file", "{}"),
    "no name": ("", "{}"),
    "a long name": ("x" * 10_000, "{}"),
    "an odd name": ("../\ud800\0", "{}"),
    "deeper than the log takes": ("read_file", '{"path": ' + "[" * 400 + "]" * 400 + "}"),
    "huge": ("search", json.dumps({"pattern": "x" * 300_000})),
}


@pytest.mark.parametrize("kind", MALFORMED)
async def test_a_malformed_call_has_a_result_and_the_turn_goes_on(workspace, kind):
    name, arguments = MALFORMED[kind]
    turns = [{"tool_calls": [{"name": name, "arguments": arguments, "id": "c_1"}, {**GOOD, "id": "c_2"}]}]
    model = scripted(workspace, [*turns, {"text": "Done."}, {"text": "Again."}])
    async with start_session("stock", workspace, model) as editor:
        assert (await editor.run("Go on"))["outcome"] == "completed"
        results = {event["data"]["callId"]: event["data"] for event in editor.events_of("tool.finished")}
        assert results["c_1"]["status"] == "error"
        assert 0 < len(results["c_1"]["content"]) < 70_000
        assert "failed inside" not in results["c_1"]["content"], results["c_1"]["content"]
        assert results["c_2"]["status"] == "ok"
        assert (await editor.run("Again", sessionId=editor.session_id))["summary"] == "Again."


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"text": ""}, "empty_responses"),
        ({"text": " \n\t"}, "empty_responses"),
        ({"tool_calls": [{"name": "nothing", "input": {}}]}, "malformed_calls"),
        ({"tool_calls": [{"name": "read_file", "arguments": "{"}]}, "malformed_calls"),
        ({"tool_calls": [GOOD]}, "repeated_calls"),
    ],
)
async def test_a_model_that_does_not_stop_is_stopped(workspace, bad, reason):
    model = scripted(workspace, [bad] * 20)
    async with start_session("stock", workspace, model) as editor:
        result = await editor.run("Go on")
        assert (result["outcome"], result["reason"]) == ("failed", reason)


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 503])
async def test_a_provider_that_fails_says_so(workspace, status):
    fault = {"kind": "http", "status": status, "body": "<html>" + "\x1b[31m" * 1000}
    model = scripted(workspace, [{"fault": fault}] * 10)
    async with start_session("stock", workspace, model) as editor:
        result = await editor.run("Go on", seconds=20)
        assert result["outcome"] in {"failed", "refused", "budget_exhausted"}
        assert result["summary"]
        assert "\x1b" not in result["summary"]


async def test_a_stream_that_is_cut_off_withdraws_what_was_shown(workspace):
    model = scripted(
        workspace, [{"text": "Half of it", "chunk": 1, "fault": {"kind": "cut", "after": 4}}] * 10
    )
    async with start_session("stock", workspace, model) as editor:
        assert (await editor.run("Go on"))["outcome"] == "failed"
        assert editor.events_of("model.reset")[0]["data"]["text"] == "Half"


async def test_endless_text_can_be_stopped(workspace):
    model = scripted(workspace, [{"text": "x" * 9_000_000, "chunk": 1}, {"text": "Done."}])
    async with start_session("stock", workspace, model) as editor:
        started = await editor.command("outrider.run", {"prompt": "Go on"})
        await editor.wait_for(lambda: len(editor.frames) > 100, "frames")
        done = await editor.command("outrider.cancel", {"turnId": started["turnId"]})
        assert done["outcome"] == "cancelled"
        (response,) = editor.events_of("model.responded")
        shown = "".join(frame["text"] for frame in editor.frames)
        assert response["data"]["text"] == shown
        assert len(shown) < 9_000_000
        assert (await editor.run("Again", sessionId=started["sessionId"]))["summary"] == "Done."


async def test_a_thousand_calls_at_once(workspace):
    calls = [{**GOOD, "id": "same"} for _ in range(1000)]
    model = scripted(workspace, [{"tool_calls": calls}, {"text": "Done."}])
    async with start_session("stock", workspace, model) as editor:
        result = await editor.run("Go on", seconds=30)
        assert result["outcome"] in {"completed", "budget_exhausted"}
        finished = [event["data"]["callId"] for event in editor.events_of("tool.finished")]
        assert len(finished) == len(set(finished)) == 1000
