"""Every input that the loop did not compute is in the log, so that a log can be run again."""

from outrider.ports.model import content_hash
from outrider.testing.scenario import scripted, start_session

READ = {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py", "start_line": 2, "end_line": 2}}]}
EDIT = {"tool_calls": [{"name": "edit_file", "input": {"path": "tariff.py", "old": "* 3", "new": "* 2"}}]}


def hash_of(text):
    return content_hash(text.encode())


async def test_a_turn_says_what_the_settings_were(begin):
    editor = await begin("stock", [{"text": "Done."}], {"limits": {"steps": 7}, "permissionMode": "full"})
    await editor.run("Look", limits={"steps": 3})
    (started,) = editor.events_of("turn.started")
    assert started["data"]["limits"] == {"steps": 3}
    assert started["data"]["settings"]["permissionMode"] == "full"
    assert started["data"]["settings"]["limits"]["steps"] == 7
    (requested,) = editor.events_of("model.requested")
    assert requested["data"]["contextWindow"] == 128_000


async def test_a_text_that_was_read_in_part_is_named_as_a_whole(begin, workspace):
    editor = await begin("stock", [READ, {"text": "Done."}])
    await editor.run("Look")
    (finished,) = editor.events_of("tool.finished")
    text = (workspace / "tariff.py").read_text()
    assert finished["data"]["read"] == [{"path": "tariff.py", "hash": hash_of(text)}]


async def test_a_rejected_proposal_names_its_texts(begin, workspace):
    editor = await begin("stock", [EDIT, {"text": "Done."}], answers=["Reject"])
    await editor.run("Fix")
    (proposed,) = editor.events_of("edit.proposed")
    text = (workspace / "tariff.py").read_text()
    assert proposed["data"]["before"] == hash_of(text)
    assert proposed["data"]["after"] == hash_of(text.replace("* 3", "* 2"))


async def test_a_failure_of_the_model_is_an_event(begin):
    editor = await begin("stock", [{"text": "Half of", "fault": {"kind": "cut", "after": 4}}])
    result = await editor.run("Go")
    (failed,) = editor.events_of("model.failed")
    (reset,) = editor.events_of("model.reset")
    assert (failed["data"]["purpose"], failed["data"]["kind"]) == ("main", "cut_stream")
    assert failed["seq"] == reset["seq"] + 1
    assert failed["data"]["messageId"] == reset["data"]["messageId"]
    assert (result["outcome"], result["reason"]) == ("failed", "cut_stream")


async def test_a_narrower_mode_in_the_middle_of_a_turn_is_an_event_and_counts(begin, workspace):
    def narrow(_question):
        editor.configure({"permissionMode": "read-only"})
        return "Allow once"

    turns = [EDIT, EDIT, {"text": "Done."}]
    editor = await begin("stock", turns, {"permissionMode": "ask"}, answers=narrow)
    started = await editor.command("outrider.run", {"prompt": "Fix"})
    (changed,) = [await editor.event("settings.changed")]
    assert changed["data"] == {"permissionMode": "read-only"}
    assert changed["turnId"] == started["turnId"]
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert [event["data"]["status"] for event in editor.events_of("tool.finished")][-1] == "denied"


async def test_a_session_grant_says_that_it_covered(begin):
    again = {
        "tool_calls": [{"name": "edit_file", "input": {"path": "tariff.py", "old": "* 2", "new": "* 4"}}]
    }
    editor = await begin("stock", [EDIT, again, {"text": "Done."}], answers=["Allow for this session"])
    await editor.run("Fix")
    asked = editor.events_of("approval.requested")[0]["data"]["grant"]
    by_rule = [
        event["data"] for event in editor.events_of("approval.resolved") if event["data"]["by"] == "rule"
    ]
    assert [data["grant"] for data in by_rule] == [asked]


async def test_counted_ids_and_fixed_time_go_on_in_another_process(workspace):
    model = scripted(workspace, [READ, {"text": "Done."}])
    seen = []
    for _ in range(2):
        async with start_session("stock", workspace, model) as editor:
            await editor.run("Look")
            seen += editor.events
    turns = {event["turnId"] for event in seen if "turnId" in event}
    assert turns == {"turn_1", "turn_2"}
    assert {event["sessionId"] for event in seen} == {"ses_1", "ses_2"}
    calls = [event["data"]["callId"] for event in seen if event["type"] == "tool.finished"]
    assert calls == ["call_1", "call_2"]
    assert [event["ts"] for event in seen] == sorted({event["ts"] for event in seen})
