"""The loop: queue, steering, budgets, guards, failures of the model, live text, parallel reads."""

from datetime import UTC, datetime

import pytest
from scripting import DONE, FIX, call, result, results, step, types

from outrider.ports.clock import SteppingClock
from outrider.testing.editor.answers import Never
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import embedded

READ = call("read_file", path="tariff.py")


def finished(editor):
    data = editor.events_of("turn.finished")[-1]["data"]
    return data["outcome"], data["reason"]


# --- queue and steering --------------------------------------------------------------------------------------


async def test_tasks_of_a_busy_session_wait_in_order(begin):
    editor = await begin("stock", [step(FIX), *({"text": name} for name in "abc")], answers=[Never()])
    first = await editor.command("outrider.run", {"prompt": "a"})
    question = await editor.question()
    queued = [
        await editor.command("outrider.run", {"prompt": name, "sessionId": first["sessionId"]})
        for name in "bc"
    ]
    assert [one["queued"] for one in queued] == [True, True]
    (status,) = (await editor.command("outrider.status"))["sessions"]
    assert status["queue"] == [
        {"turnId": one["turnId"], "prompt": name} for one, name in zip(queued, "bc", strict=True)
    ]
    assert (await editor.command("outrider.wait", {"turnId": queued[0]["turnId"], "timeout": 0})) == {
        "turnId": queued[0]["turnId"]
    }
    editor.answer_late(question, "Reject")
    outcomes = [await editor.wait_turn(one["turnId"]) for one in [first, *queued]]
    assert [one["summary"] for one in outcomes] == ["a", "b", "c"]


async def test_steering_reaches_the_model_with_the_next_request_and_once(begin):
    says = "The user says, while you work: "
    turns = [
        step(call("ask_user", question="?", options=["x"])),
        {**step(READ), "expect": {"last_message_contains": says + "Be short.", "messages_lack": "forget"}},
        {"text": "Done.", "expect": {"messages_contain": "Be short."}},
    ]
    editor = await begin("stock", turns, answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Go."})
    question = await editor.question()
    session = started["sessionId"]
    first = await editor.command("outrider.steer", {"sessionId": session, "text": "forget"})
    second = await editor.command("outrider.steer", {"sessionId": session, "text": "Be short."})
    assert (
        await editor.command("outrider.steer", {"sessionId": session, "remove": first["pendingId"]}) == first
    )
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.steer", {"sessionId": session, "remove": first["pendingId"]})
    assert error.value.data["reason"] == "unknown_id"
    (status,) = (await editor.command("outrider.status"))["sessions"]
    assert status["steering"] == [{"pendingId": second["pendingId"], "text": "Be short."}]
    editor.answer_late(question, "x")
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    told = [event["data"]["steering"] for event in editor.events_of("model.requested")]
    assert told == [[], [second["pendingId"]], []]
    (status,) = (await editor.command("outrider.status"))["sessions"]
    assert status["steering"] == []


async def test_a_text_that_comes_with_the_last_answer_keeps_the_turn_going(begin):
    turns = [
        {"text": "Done, I think.", "chunk": 1, "fault": {"kind": "stall", "after": 5, "seconds": 0.2}},
        {"text": "Really done.", "expect": {"messages_contain": ["Done, I think.", "One more thing."]}},
    ]
    editor = await begin("stock", turns, {"testing": {"clock": None}})
    started = await editor.command("outrider.run", {"prompt": "Go."})
    await editor.wait_for(lambda: editor.frames, "text")
    await editor.command("outrider.steer", {"sessionId": started["sessionId"], "text": "One more thing."})
    assert (await editor.wait_turn(started["turnId"]))["summary"] == "Really done."


async def test_there_is_nothing_to_steer_without_a_turn(begin):
    editor = await begin("stock", [DONE])
    await editor.run("Go.")
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.steer", {"sessionId": editor.session_id, "text": "x"})
    assert error.value.data["reason"] == "no_running_turn"
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.steer", {"sessionId": "ses_99", "text": "x"})
    assert error.value.data["reason"] == "unknown_id"


# --- budgets -------------------------------------------------------------------------------------------------

USED = {"inputTokens": 400, "outputTokens": 100, "cost": 0.5}
BUDGETS = {
    "limits.steps": ({"steps": 2}, {}),
    "limits.seconds": ({"seconds": 50}, {"delay": 30.0}),
    "limits.tokens": ({"tokens": 900}, {"usage": USED}),
    "limits.cost": ({"cost": 0.9}, {"usage": USED}),
}


@pytest.mark.parametrize("scripted", [True, False])
@pytest.mark.parametrize("limit", BUDGETS)
async def test_a_spent_budget_ends_the_turn_with_a_summary(limit, scripted, begin):
    limits, more = BUDGETS[limit]
    script = {"purposes": {"summary": [{"text": "I read the tariff."}]}} if scripted else {}
    other = call("read_file", path="README.md")
    editor = await begin("stock", [step(READ, **more), step(other, **more), DONE], script=script)
    outcome = await editor.run("Go.", limits=limits)
    assert (outcome["outcome"], outcome["reason"]) == ("budget_exhausted", limit)
    fallback = "Stopped before the task was finished. Last step: read_file."
    assert outcome["summary"] == ("I read the tariff." if scripted else fallback)
    (spent,) = editor.events_of("budget.exhausted")
    assert spent["data"]["limit"] == limit
    assert spent["data"]["used"] >= spent["data"]["allowed"] == next(iter(limits.values()))
    assert [event["data"]["purpose"] for event in editor.events_of("model.requested")] == [
        "main",
        "main",
        "summary",
    ]
    assert editor.events_of("model.requested")[-1]["data"]["tools"] == []
    assert editor.said[-1].level == 2


async def test_a_summary_that_fails_is_made_up_for(begin):
    script = {"purposes": {"summary": [{"fault": {"kind": "http", "status": 500}}]}}
    editor = await begin("stock", [step(READ)], script=script)
    outcome = await editor.run("Go.", limits={"steps": 1})
    assert outcome["summary"] == "Stopped before the task was finished: limits.steps is spent (1 of 1)."


async def test_a_summary_that_takes_too_long_is_made_up_for(begin):
    script = {"purposes": {"summary": [{"text": "Too late.", "delay": 100.0}]}}
    editor = await begin("stock", [step(READ)], script=script)
    outcome = await editor.run("Go.", limits={"steps": 1})
    assert outcome["summary"].startswith("Stopped before the task was finished: limits.steps")


async def test_a_full_context_window_ends_the_turn(begin):
    editor = await begin("stock", [DONE], script={"context_window": 4000})
    outcome = await editor.run("word " * 2000)
    assert (outcome["outcome"], outcome["reason"]) == ("budget_exhausted", "contextWindow")
    assert outcome["summary"].startswith("Stopped before the task was finished: contextWindow is spent")
    assert "set `contextWindow` of its provider; else give it a smaller task" in outcome["summary"]


async def test_a_task_is_done_in_a_window_of_4000_tokens(begin, workspace):
    (workspace / "big.txt").write_text("word\n" * 3000)
    read = call("read_file", path="big.txt", called="read")
    editor = await begin(
        "stock", [step(read), step(FIX), DONE], {"permissionMode": "full"}, script={"context_window": 4000}
    )
    outcome = await editor.run("Go.")
    assert outcome["outcome"] == "completed"
    assert "continue with start_line=" in results(editor)["read"][1]
    assert editor.disk("tariff.py").endswith("hours * 2\n")
    offered = editor.events_of("model.requested")[0]["data"]["tools"]
    assert {"edit_file", "run_command", "wait"} <= set(offered)
    assert not {"apply_patch", "insert_lines", "read_job"} & set(offered)


async def test_a_window_in_which_nothing_fits_is_refused_at_once_with_a_way_out(begin):
    editor = await begin("stock", [DONE], script={"context_window": 2500})
    outcome = await editor.run("Go.")
    assert (outcome["outcome"], outcome["reason"]) == ("failed", "window_too_small")
    assert "is too small: it has 2,500 tokens" in outcome["summary"]
    assert "set `contextWindow` of its provider; else choose a model with at least 2," in outcome["summary"]
    assert editor.events_of("model.requested") == []


async def test_the_watch_stands_while_the_person_is_asked(begin, workspace):
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    turns = [step(call("ask_user", question="?", options=["x"])), step(READ, delay=60.0), step(READ), DONE]
    editor = await begin("stock", turns, connection=embedded(workspace, clock=clock), answers=[Never()])
    started = await editor.command("outrider.run", {"prompt": "Go.", "limits": {"seconds": 50}})
    await editor.question()
    clock.advance(1000)
    waiting = await editor.wait_turn(started["turnId"])
    assert waiting["outcome"] == "needs_input", "the question left its place"
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "answer": "x"})
    outcome = await editor.wait_turn(started["turnId"])
    assert outcome["reason"] == "limits.seconds"
    (spent,) = editor.events_of("budget.exhausted")
    assert 60 <= spent["data"]["used"] < 70


async def test_limits_of_the_settings_hold_and_a_run_may_set_its_own(begin):
    editor = await begin("stock", [step(READ)] * 3, {"limits": {"steps": 1}})
    assert (await editor.run("Go."))["reason"] == "limits.steps"
    assert len(editor.events_of("model.requested")) == 2
    assert (await editor.run("Go.", limits={"steps": 2}))["reason"] == "limits.steps"
    with pytest.raises(RpcError) as error:
        await editor.run("Go.", limits={"steps": 0})
    assert error.value.data["path"] == "limits.steps"


# --- guards --------------------------------------------------------------------------------------------------


async def test_the_same_call_over_and_over_is_not_run_again_and_ends_the_turn(begin):
    editor = await begin("stock", [step(READ)] * 10)
    assert (await editor.run("Go."))["reason"] == "repeated_calls"
    statuses = [status for status, _ in results(editor).values()]
    assert statuses == ["ok"] * 3 + ["skipped"] * 3
    assert "3 times in a row" in result(editor, 3)[1]
    assert finished(editor) == ("failed", "repeated_calls")


async def test_a_repeated_call_with_another_result_is_no_circle(begin, workspace):
    count = call("run_command", command="echo x >> n; wc -l < n")
    editor = await begin("stock", [step(count)] * 8 + [DONE], {"permissionMode": "full"})
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert {status for status, _ in results(editor).values()} == {"ok"}


async def test_other_calls_in_between_break_the_circle(begin):
    other = call("read_file", path="README.md")
    editor = await begin("stock", [step(READ), step(READ), step(other)] * 4 + [DONE])
    assert (await editor.run("Go."))["outcome"] == "completed"


@pytest.mark.parametrize("count", [2, 3])
async def test_empty_answers_are_put_up_with_twice(count, begin):
    nudge = "Your last answer was empty."
    turns = [{"text": ""}, *[{"text": " \n", "expect": {"last_message_contains": nudge}}] * (count - 1), DONE]
    editor = await begin("stock", turns)
    await editor.run("Go.")
    assert finished(editor) == (("completed", "no_changes") if count == 2 else ("failed", "empty_responses"))


BAD = {
    "no JSON": ({"name": "read_file", "arguments": '{"path": "tar'}, "not valid JSON"),
    "no object": ({"name": "read_file", "arguments": "[]"}, "must be a JSON object"),
    "nothing": ({"name": "read_file", "arguments": ""}, "path is missing"),
    "null": ({"name": "read_file", "arguments": "null"}, "must be a JSON object"),
    "deep": ({"name": "read_file", "arguments": "[" * 100_000}, "not valid JSON"),
    "wrong type": (call("read_file", path=3), "path must be a text"),
    "risky key": (call("read_file", path="a", in_background=True), "there is no argument in_background"),
    "near": (call("reed_file", path="a"), "There is no tool 'reed_file'. Did you mean read_file or"),
    "far": (call("xyzzy"), "There is no tool 'xyzzy'. Available: read_file, list_files"),
    "no name": (call(""), "There is no tool ''."),
}


@pytest.mark.parametrize("kind", BAD)
async def test_a_call_that_makes_no_sense_gets_an_error_that_says_so(kind, begin):
    bad, problem = BAD[kind]
    editor = await begin("stock", [step(bad), DONE])
    assert (await editor.run("Go."))["outcome"] == "completed"
    status, content = result(editor)
    assert status == "error"
    assert problem in content
    assert "tool.started" not in types(editor)


async def test_calls_that_make_no_sense_thrice_end_the_turn(begin):
    bad = [step(call("read_file", path=number)) for number in range(4)]
    editor = await begin("stock", bad)
    await editor.run("Go.")
    assert finished(editor) == ("failed", "malformed_calls")
    good = [bad[0], bad[1], step(READ), bad[2], bad[3], DONE]
    editor = await begin("stock", good)
    await editor.run("Go.")
    assert finished(editor) == ("completed", "no_changes")


async def test_a_call_that_was_cut_off_is_never_run(begin):
    editor = await begin("stock", [step(FIX, finish_reason="length"), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    status, content = result(editor)
    assert status == "skipped"
    assert "cut off" in content
    assert editor.disk("tariff.py").endswith("* 3\n")


async def test_a_text_that_was_cut_off_goes_on(begin):
    turns = [
        {"text": "The first half", "finish_reason": "length"},
        {"text": "and the second.", "expect": {"last_message_contains": "cut off by its length limit"}},
    ]
    editor = await begin("stock", turns)
    assert (await editor.run("Go."))["summary"] == "and the second."


async def test_calls_with_the_same_id_are_two_calls(begin):
    twins = [call("read_file", path=path, called="tc") for path in ("tariff.py", "README.md")]
    editor = await begin("stock", [step(*twins), step(twins[1]), DONE])
    assert (await editor.run("Go."))["outcome"] == "completed"
    assert len(results(editor)) == 3
    assert "return" in result(editor, 0)[1]
    assert "Parking" in result(editor, 1)[1]


async def test_a_script_that_runs_out_fails_the_turn(begin):
    editor = await begin("stock", [step(READ)])
    outcome = await editor.run("Go.")
    assert (outcome["outcome"], outcome["reason"]) == ("failed", "script_exhausted")
    assert "has 1 turn; call 2 has no answer" in outcome["summary"]
    assert editor.said[-1].level == 1


async def test_what_a_script_has_left_over_is_said(begin):
    editor = await begin("stock", [DONE, DONE, DONE])
    await editor.run("Go.")
    await editor.stop()
    (closed,) = editor.events_of("session.closed")
    assert closed["data"] == {"reason": "shutdown", "leftOver": 2}


# --- failures of the model -----------------------------------------------------------------------------------

FAULTS = {
    "auth": {"fault": {"kind": "http", "status": 401}},
    "rate_limit": {"fault": {"kind": "http", "status": 429}},
    "cut_stream": {"text": "Some text", "fault": {"kind": "cut", "after": 4}},
    "stalled": {"text": "Some text", "fault": {"kind": "stall", "after": 4}},
    "script_expectation": {"text": "x", "expect": {"messages_contain": "xyzzy"}},
}


@pytest.mark.parametrize("kind", FAULTS)
async def test_a_model_that_fails_fails_the_turn_and_not_the_session(kind, begin):
    editor = await begin("stock", [FAULTS[kind], DONE])
    outcome = await editor.run("Go.")
    assert (outcome["outcome"], outcome["reason"]) == ("failed", kind)
    assert outcome["summary"]
    resets = [event["data"] for event in editor.events_of("model.reset")]
    assert [one["text"] for one in resets] == (
        ["Some"] if "text" in FAULTS[kind] and kind != "script_expectation" else []
    )
    assert (await editor.run("Again.", sessionId=editor.session_id))["outcome"] == "completed"


@pytest.mark.parametrize("reason", ["refused", "content_filter"])
async def test_a_model_that_declines_refuses_the_turn(reason, begin):
    editor = await begin("stock", [{"text": "I would rather not.", "finish_reason": reason, **step(FIX)}])
    outcome = await editor.run("Go.")
    assert (outcome["outcome"], outcome["reason"]) == ("refused", "model_refused")
    assert outcome["summary"] == "I would rather not."
    assert editor.disk("tariff.py").endswith("* 3\n")


async def test_a_window_the_provider_finds_too_small_is_a_spent_budget(begin):
    body = '{"error": {"code": "context_length_exceeded", "message": "too long"}}'
    # The second one comes after all that can be left out of the first messages was left out.
    editor = await begin("stock", [{"fault": {"kind": "http", "status": 400, "body": body}}] * 2)
    await editor.run("Go.")
    assert finished(editor) == ("budget_exhausted", "contextWindow")


# --- live text -----------------------------------------------------------------------------------------------


def joined(editor, kind, key="messageId"):
    texts = {}
    for frame in editor.frames:
        if frame["kind"] == kind:
            assert frame["offset"] == len(texts.get(frame[key], ""))
            texts[frame[key]] = texts.get(frame[key], "") + frame["text"]
    return texts


@pytest.mark.parametrize("chunk", [1, 3, None])
async def test_live_text_joins_to_what_the_log_has(chunk, begin):
    turns = [
        {**step(READ), "text": "Ich lese… 😀", "reasoning": "Hm, erst lesen.", "chunk": chunk},
        {"text": "Fertig.", "chunk": chunk},
    ]
    editor = await begin("stock", turns)
    await editor.run("Go.")
    logged = {event["data"]["messageId"]: event["data"] for event in editor.events_of("model.responded")}
    assert joined(editor, "text") == {name: data["text"] for name, data in logged.items()}
    assert joined(editor, "reasoning") == {"msg_1": "Hm, erst lesen."}
    assert logged["msg_1"]["reasoning"] == "Hm, erst lesen."


async def test_live_text_of_a_cut_stream_is_withdrawn(begin):
    cut = {"text": "Some text", "reasoning": "Hm.", "chunk": 2, "fault": {"kind": "cut", "after": 5}}
    editor = await begin("stock", [cut])
    await editor.run("Go.")
    (reset,) = editor.events_of("model.reset")
    assert joined(editor, "text") == {reset["data"]["messageId"]: "Some "}
    assert (reset["data"]["text"], reset["data"]["reason"]) == ("Some ", "cut_stream")
    assert "model.responded" not in types(editor)


async def test_thoughts_of_a_cut_stream_are_withdrawn(begin):
    editor = await begin("stock", [{"reasoning": "Hm.", "text": "x", "fault": {"kind": "cut", "after": 0}}])
    await editor.run("Go.")
    (reset,) = editor.events_of("model.reset")
    assert joined(editor, "reasoning") == {reset["data"]["messageId"]: "Hm."}
    assert reset["data"]["text"] == ""


async def test_a_summary_is_not_live(begin):
    script = {"purposes": {"summary": [{"text": "I read.", "chunk": 1}]}}
    editor = await begin("stock", [{**step(READ), "text": "a"}], script=script)
    await editor.run("Go.", limits={"steps": 1})
    assert joined(editor, "text") == {"msg_1": "a"}


async def test_the_output_of_a_command_is_live(begin):
    command = call("run_command", command="echo one; echo zwei ü; echo three >&2", called="run")
    editor = await begin("stock", [step(command), DONE], {"permissionMode": "full"})
    await editor.run("Go.")
    assert joined(editor, "output", "callId") == {"run": "one\nzwei ü\nthree\n"}
    assert result(editor) == ("ok", "one\nzwei ü\nthree\n[exit code 0]")


# --- reads ---------------------------------------------------------------------------------------------------


async def test_neighbouring_reads_run_together_and_their_events_stay_in_order(begin, tmp_path):
    (tmp_path / "outside.txt").write_text("far\n")
    calls = [
        call("read_file", path="tariff.py", called="a"),
        call("find_files", pattern="*.md", called="b"),
        call("nope", called="c"),
        call("read_file", path="missing", called="d"),
        call("read_file", path="../outside.txt", called="e"),
        call("list_files", called="f"),
        FIX,
        call("read_file", path="tariff.py", called="g"),
    ]
    editor = await begin("stock", [step(*calls), DONE], answers=["Allow once", "Allow once"])
    await editor.run("Go.")
    order = [
        (event["type"].removeprefix("tool."), event["data"]["callId"])
        for event in editor.events
        if event["type"] in {"tool.started", "tool.finished"}
    ]
    assert order == [
        ("started", "a"), ("started", "b"), ("finished", "a"), ("finished", "b"),
        ("finished", "c"),
        ("started", "d"), ("finished", "d"),
        ("started", "e"), ("finished", "e"),
        ("started", "f"), ("finished", "f"),
        ("started", "fix"), ("finished", "fix"),
        ("started", "g"), ("finished", "g"),
    ]  # fmt: skip
    told = results(editor)
    assert told["a"][1].endswith("hours * 3")
    assert told["g"][1].endswith("hours * 2")
    assert told["e"] == ("ok", "     1\tfar")
    assert told["d"][0] == "error"
