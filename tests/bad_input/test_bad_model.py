"""A model that answers nonsense: each call gets its result, the turn its end, and the next turn works."""

import asyncio
import json
import time

import pytest

from outrider.agent.loop.turn import MOST_BAD
from outrider.testing import call, run_scenario, say, scripted, start_session

GOOD = call("read_file", path="README.md")
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
async def test_a_malformed_call_has_a_result_and_the_turn_goes_on(outrider_scenario, workspace, kind):
    name, arguments = MALFORMED[kind]
    calls = [{"name": name, "arguments": arguments, "id": "c_1"}, {**GOOD, "id": "c_2"}]
    run = await outrider_scenario(
        "Go on", [say("", *calls), say("Done."), say("Again.")], workspace=workspace
    )
    assert run.outcome == "completed"
    results = {finished["callId"]: finished for finished in run.events_of("tool.finished")}
    assert results["c_1"]["status"] == "error"
    assert 0 < len(results["c_1"]["content"]) < 70_000
    assert "because of an error in Outrider" not in results["c_1"]["content"], results["c_1"]["content"]
    assert results["c_2"]["status"] == "ok"
    assert (await run.go_on("Again")).response == "Again."


LONG = 900_000
OF_A_MEGABYTE = {
    "name": ("x" * LONG, "{}"),
    "invisible name": ("\u202e" * LONG, "{}"),
    "path": ("read_file", json.dumps({"path": "a/" * (LONG // 2)})),
    "unknown key": ("read_file", json.dumps({"path": "README.md", "k" * LONG: 1})),
    "many unknown keys": (
        "read_file",
        json.dumps({"path": "README.md"} | {f"k{n}": 1 for n in range(LONG // 12)}),
    ),
    "glob": ("find_files", json.dumps({"pattern": "**/" * (LONG // 3)})),
    "braces": ("find_files", json.dumps({"pattern": "{a,b}" * 790})),
    "plan": ("update_plan", json.dumps({"items": [{"text": "t"}] * (LONG // 15)})),
    "point of a plan": ("update_plan", json.dumps({"items": [{"text": "t" * LONG}]})),
    "edits": (
        "edit_file",
        json.dumps({"path": "README.md", "edits": [{"old": "q", "new": "z"}] * (LONG // 25)}),
    ),
    "question": ("ask_user", json.dumps({"question": "q" * LONG})),
    "options": ("ask_user", json.dumps({"question": "q", "options": ["a" * (LONG // 2), "b" * (LONG // 2)]})),
    "reason": ("run_command", json.dumps({"command": "true", "sandbox": "none", "reason": "r" * LONG})),
    "job": ("wait", json.dumps({"job": "j" * LONG})),
    "number": ("insert_lines", '{"path": "README.md", "text": "x", "after_line": ' + "9" * LONG + "}"),
    "content": ("write_file", json.dumps({"path": "new.py", "content": "(" * LONG})),
}


@pytest.mark.parametrize("kind", OF_A_MEGABYTE)
async def test_a_megabyte_in_any_place_of_a_call_has_a_short_result_and_holds_nothing_up(workspace, kind):
    name, arguments = OF_A_MEGABYTE[kind]
    answer = {"tool_calls": [{"name": name, "arguments": arguments, "id": "c_1"}]}
    model = scripted(workspace, [answer, {"text": "Done."}])
    async with start_session("stock", workspace, model, {"permissionMode": "full"}) as editor:
        begun = time.process_time()
        running = asyncio.ensure_future(editor.run("Go on", seconds=50))
        waits = []
        while not running.done():
            asked = time.process_time()
            await editor.command("outrider.status", {})
            waits.append(time.process_time() - asked)
            await asyncio.sleep(0.005)
        assert (await running)["outcome"] == "completed"
        assert time.process_time() - begun < 20
        (finished,) = editor.events_of("tool.finished")
    assert (finished["data"]["status"] == "ok") == (
        kind in {"content", "unknown key", "many unknown keys", "braces"}
    )
    assert len(finished["data"]["content"]) < 5_000
    # Of the processor, in which the client has its part: it reads the whole log.
    assert max(waits) < 1


async def test_a_command_that_is_too_long_to_be_looked_at_is_refused(outrider_scenario, workspace):
    command = "echo " + "a b c " * 100_000
    run = await outrider_scenario(
        "Go on", [call("run_command", command=command), say("Done.")], workspace=workspace
    )
    (finished,) = run.events_of("tool.finished")
    assert finished["status"] == "error"
    assert "600,005 characters; the limit is 100,000" in finished["content"]
    assert "write_file" in finished["content"]
    assert not run.events_of("approval.requested")


async def test_a_patch_of_too_many_hunks_is_refused(outrider_scenario, workspace):
    hunks = "".join(f"@@\n-line {number}\n+other {number}\n" for number in range(20_000))
    patch = f"*** Begin Patch\n*** Update File: README.md\n{hunks}*** End Patch\n"
    before = (workspace / "README.md").read_text()
    run = await outrider_scenario(
        "Go on", [call("apply_patch", patch=patch), say("Done.")], workspace=workspace
    )
    (finished,) = run.events_of("tool.finished")
    assert finished["status"] == "error"
    assert "it has 20,000 hunks; the limit is 1,000. Split it into several patches" in finished["content"]
    assert (workspace / "README.md").read_text() == before


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (say(""), "empty_responses"),
        (say(" \n\t"), "empty_responses"),
        (call("nothing"), "malformed_calls"),
        ({"name": "read_file", "arguments": "{"}, "malformed_calls"),
        (GOOD, "repeated_calls"),
    ],
)
async def test_a_model_that_does_not_stop_is_stopped(workspace, bad, reason):
    run = await run_scenario("Go on", [bad] * 20, workspace=workspace)
    assert (run.outcome, run.reason) == ("failed", reason)


FOREIGN = {
    "Read": {"file_path": "README.md"},
    "Glob": {"pattern": "*.md"},
    "Grep": {"pattern": "x", "output_mode": "content"},
    "LS": {"path": "."},
    "Edit": {"file_path": "README.md", "old_string": "a", "new_string": "b"},
    "TodoWrite": {"todos": []},
    "Bash": {"command": "ls"},
    "WebFetch": {"url": "http://x"},
    "Task": {"prompt": "x"},
}


async def test_a_model_that_calls_every_tool_by_a_foreign_name_learns_ours(workspace):
    foreign = [call(name, **given) for name, given in FOREIGN.items()]
    run = await run_scenario("Go on", [*foreign, GOOD, say("Done.")], workspace=workspace)
    assert run.outcome == "completed"
    told = [finished["content"] for finished in run.events_of("tool.finished")[:-1]]
    assert all(
        "Did you mean" in one or name in ("WebFetch", "Task") for name, one in zip(FOREIGN, told, strict=True)
    )


async def test_one_that_never_learns_them_is_stopped(workspace):
    run = await run_scenario("Go on", [call(f"tool_{number}") for number in range(50)], workspace=workspace)
    assert (run.outcome, run.reason) == ("failed", "malformed_calls")
    assert len(run.events_of("tool.finished")) == MOST_BAD


@pytest.mark.parametrize("status", [400, 401, 404, 413, 429, 500, 503])
async def test_a_provider_that_fails_says_so(status):
    fault = {"kind": "http", "status": status, "body": "<html>" + "\x1b[31m" * 1000}
    run = await run_scenario("Go on", [say("", fault=fault)] * 10, seconds=20)
    assert run.outcome in {"failed", "refused", "budget_exhausted"}
    assert run.response
    assert "\x1b" not in run.response


async def test_a_stream_that_is_cut_off_withdraws_what_was_shown():
    cut = say("Half of it", chunk=1, fault={"kind": "cut", "after": 4})
    run = await run_scenario("Go on", [cut] * 10)
    assert run.outcome == "failed"
    assert run.events_of("model.reset")[0]["text"] == "Half"


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
    run = await run_scenario("Go on", [say("", *calls), say("Done.")], workspace=workspace, seconds=30)
    assert run.outcome in {"completed", "budget_exhausted"}
    finished = [event["callId"] for event in run.events_of("tool.finished")]
    assert len(finished) == len(set(finished)) == 201
