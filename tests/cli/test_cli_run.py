"""`outrider run` against a server that plays a canned exchange."""

import os
import signal
from typing import Any

import pytest
from canned_turns import finished

from outrider.cli.exits import ExitCode

APPROVAL = {
    "event": "approval.requested",
    "id": "open_1",
    "callId": "c1",
    "digest": "d",
    "title": "Run: make test",
    "detail": "in .",
    "options": ["Allow once", "Allow for this session", "Reject"],
}
CALL = {"event": "tool.requested", "callId": "c1", "name": "run_command", "input": {"command": "make test"}}
RESOLVED = {
    "event": "approval.resolved",
    "id": "open_1",
    "callId": "c1",
    "decision": "allow_once",
    "by": "person",
}
OPEN = {
    "id": "open_1",
    "kind": "approval",
    "turnId": "turn_1",
    "title": "Run: make test",
    "options": ["Allow once"],
    "allowFreeForm": False,
}
PARKED = [{"event": "turn.parked", "open": [OPEN]}]


def asking(**then: list[dict[str, Any]]) -> dict[str, Any]:
    """A turn that asks for one command."""
    answers = {"null": PARKED, "Allow once": [RESOLVED, finished()], "Reject": [finished()]}
    ask = {"ask": "Run: make test\nin .", "titles": APPROVAL["options"], "then": answers | then}
    return {"run": [CALL, APPROVAL, ask]}


@pytest.mark.parametrize(
    ("outcome", "code"),
    [("completed", 0), ("failed", 1), ("refused", 1), ("budget_exhausted", 4), ("cancelled", 130)],
)
async def test_each_outcome_has_its_exit_code(play, outcome, code):
    played = await play({"run": [finished(outcome)]})
    assert played.ended.code == code


async def test_a_script_that_was_not_used_up_is_a_failure(play):
    closed = {"event": "session.closed", "reason": "shutdown", "leftOver": 2}
    played = await play({"run": [finished()], "shutdown": [closed]})
    assert played.ended.code == ExitCode.FAILED
    assert "2 answers of the script were never used" in played.shown


async def test_a_background_job_that_ends_with_the_run_is_named(play):
    started = {"event": "job.started", "callId": "call_1", "cwd": "/work", "sandboxed": False}
    events = [
        started | {"jobId": "job_1", "command": "npm run dev"},
        started | {"jobId": "job_2", "command": "make"},
        {"event": "job.finished", "jobId": "job_2", "status": "exited"},
        finished(),
    ]
    gone = [{"event": "job.finished", "jobId": "job_1", "status": "lost"}]
    played = await play({"run": events, "shutdown": gone})
    assert "ended with this run: the background job `npm run dev`" in " ".join(played.shown.split())
    assert "the background job `make`" not in played.shown


async def test_without_a_person_and_a_rule_it_leaves_the_question_open_and_says_how_to_go_on(play):
    played = await play(asking())
    assert played.ended.code == ExitCode.NEEDS_INPUT
    assert played.titles_answered() == [None]
    assert "Run: make test" in played.shown
    assert "outrider run --session ses_1" in played.shown


@pytest.mark.parametrize("rule", ["commands", "all", "Run: make *", "run_command: make t*"])
async def test_a_rule_answers_as_an_editor_would(play, rule):
    played = await play(asking(), yes_to=(rule,))
    assert played.ended.code == ExitCode.COMPLETED
    assert played.titles_answered() == ["Allow once"]
    assert played.commands("outrider.answer") == []


async def test_a_rule_for_something_else_does_not_answer(play):
    played = await play(asking(), yes_to=("edits", "Run: make"))
    assert played.ended.code == ExitCode.NEEDS_INPUT
    assert played.titles_answered() == [None]


@pytest.mark.parametrize("typed", ["1\n", "allow once\n", "7\nwhat?\n1\n"])
async def test_the_person_chooses_by_number_or_by_title(play, typed):
    played = await play(asking(), typed=typed)
    assert played.ended.code == ExitCode.COMPLETED
    assert played.titles_answered() == ["Allow once"]


@pytest.mark.parametrize("typed", ["\n", "   \n"])
async def test_enter_leaves_the_question_open(play, typed):
    played = await play(asking(), typed=typed)
    assert played.ended.code == ExitCode.NEEDS_INPUT


async def test_a_note_goes_with_the_rejection(play):
    scenario = asking(null=[]) | {"answered": [finished()]}
    played = await play(scenario, typed="n\nuse make check\n")
    assert played.commands("outrider.answer") == [
        {"id": "open_1", "decision": "reject", "note": "use make check"}
    ]
    assert played.ended.code == ExitCode.COMPLETED


async def test_a_question_takes_a_free_answer(play):
    asked = {
        "event": "question.asked",
        "id": "open_2",
        "question": "Which port?",
        "options": ["80", "8080"],
        "allowFreeForm": True,
    }
    ask = {"ask": "Which port?", "titles": ["80", "8080", "Answer in a document…"], "then": {"null": []}}
    played = await play({"run": [asked, ask], "answered": [finished()]}, typed="port 9000\n")
    assert played.commands("outrider.answer") == [{"id": "open_2", "answer": "port 9000"}]
    assert "Answer in a document" not in played.shown


async def test_no_rule_answers_a_question(play):
    asked = {
        "event": "question.asked",
        "id": "open_2",
        "question": "Allow once?",
        "options": ["Allow once"],
        "allowFreeForm": False,
    }
    ask = {"ask": "Allow once?", "titles": ["Allow once"], "then": {"null": PARKED}}
    played = await play({"run": [asked, ask]}, yes_to=("all",))
    assert played.ended.code == ExitCode.NEEDS_INPUT
    assert played.titles_answered() == [None]


async def test_a_question_that_no_event_announced_is_looked_up(play):
    status = {"sessions": [{"sessionId": "ses_1", "open": [OPEN]}]}
    scenario = asking()
    scenario["run"] = scenario["run"][2:]
    played = await play(scenario | {"commands": {"outrider.status": status}}, yes_to=("commands",))
    assert played.titles_answered() == ["Allow once"]


async def test_a_session_goes_on_where_it_was_parked(play):
    ask = {"ask": "Run: make test", "titles": ["Allow once", "Reject"], "then": {"Allow once": [finished()]}}
    scenario = {
        "commands": {
            "outrider.resume": {"sessionId": "ses_1", "state": "parked", "turnId": "turn_1", "open": [OPEN]}
        },
        "after outrider.resume": [ask],
    }
    played = await play(scenario, session_id="ses_1", prompt=None, yes_to=("commands",))
    assert played.ended.code == ExitCode.COMPLETED
    assert played.commands("outrider.run") == []


async def test_a_session_that_stays_without_an_answer_is_left_as_it_was(play):
    ask = {"ask": "Run: make test", "titles": ["Allow once", "Reject"], "then": {"null": []}}
    status = {"sessionId": "ses_1", "state": "parked", "turnId": "turn_1", "open": [OPEN]}
    played = await play(
        {"commands": {"outrider.resume": status}, "after outrider.resume": [ask]},
        session_id="ses_1",
        prompt=None,
    )
    assert played.ended.code == ExitCode.NEEDS_INPUT
    assert played.titles_answered() == [None]


async def test_a_session_without_an_unfinished_turn_needs_a_task(play):
    status = {"sessionId": "ses_1", "state": "idle", "open": []}
    played = await play({"commands": {"outrider.resume": status}}, session_id="ses_1", prompt=None)
    assert played.ended.code == ExitCode.USAGE
    assert "give a task" in played.shown


WORDS = {
    "event": "question.asked",
    "id": "open_3",
    "question": "Which name?",
    "options": [],
    "allowFreeForm": True,
}
WAITING = {
    "id": "open_3",
    "kind": "question",
    "turnId": "turn_1",
    "title": "Which name?",
    "allowFreeForm": True,
}


async def test_a_question_without_buttons_is_asked_here(play):
    run = [WORDS, {"event": "turn.parked", "open": [WAITING]}]
    answered = [{"event": "question.answered", "id": "open_3", "answer": "Ada"}, finished()]
    played = await play({"run": run, "answered": answered}, typed="Ada\n")
    assert played.commands("outrider.answer") == [{"id": "open_3", "answer": "Ada"}]
    assert played.ended.code == ExitCode.COMPLETED


@pytest.mark.parametrize("typed", [None, "\n"])
async def test_a_question_without_buttons_stays_open_where_nobody_answers(play, typed):
    run = [WORDS, {"event": "turn.parked", "open": [WAITING]}]
    played = await play({"run": run}, typed=typed)
    assert played.ended.code == ExitCode.NEEDS_INPUT
    assert "Which name?" in played.shown


@pytest.mark.parametrize("given", [{"model": "a/b"}, {}])
async def test_a_model_of_the_command_line_is_asked_for_by_name(play, given):
    played = await play({}, options={"events": True, **given})
    (params,) = played.commands("outrider.run")
    assert {key: params[key] for key in params if key == "model"} == given


async def test_a_person_is_given_more_time_than_a_limit_for_editors(play):
    played = await play({}, typed="", options={"events": True, "limits": {"steps": 3}})
    options = played.said[0]["params"]["initializationOptions"]
    assert options["limits"]["steps"] == 3
    assert options["limits"]["askSeconds"] > 3600


async def test_the_client_says_honestly_what_it_cannot_do(play):
    requests = [
        {"request": "workspace/applyEdit", "params": {"edit": {}}},
        {"request": "window/showDocument", "params": {"uri": "file:///x"}},
        {"request": "workspace/configuration", "params": {"items": [{"section": "outrider"}]}},
        {"request": "window/workDoneProgress/create", "params": {"token": 1}},
        {"request": "window/unheardOf", "params": {}},
    ]
    played = await play({"run": [*requests, finished()]})
    replies = [m for m in played.said if str(m.get("id", "")).startswith("ask-") and "method" not in m]
    assert replies[0]["result"]["applied"] is False
    assert replies[1]["result"] == {"success": False}
    assert replies[2]["result"] == [None]
    assert replies[3]["result"] is None
    assert replies[4]["error"]["code"] == -32601
    assert played.said[0]["params"]["capabilities"]["workspace"]["applyEdit"] is False


async def test_the_events_come_out_whole_and_in_order(play):
    played = await play({"run": [CALL, {"event": "plan.updated", "items": []}, finished()]})
    assert [event["type"] for event in played.events] == [
        "turn.started",
        "tool.requested",
        "plan.updated",
        "turn.finished",
    ]
    assert [event["seq"] for event in played.events] == [1, 2, 3, 4]


# --- Ctrl-C --------------------------------------------------------------------------------------------------


def interrupting(text: str):
    """Interrupts this process when `text` is printed."""

    def on_print(printed: str) -> None:
        if text in printed:
            os.kill(os.getpid(), signal.SIGINT)

    return on_print


async def test_an_interrupt_cancels_the_turn_and_waits_for_its_end(play):
    started = {"event": "error", "code": "x", "message": "begun"}
    played = await play({"run": [started, {"hang": True}]}, on_print=interrupting("begun"))
    assert played.ended.code == ExitCode.CANCELLED
    assert played.commands("outrider.cancel") == [{"turnId": "turn_1", "reason": "interrupted"}]
    assert played.events[-1]["type"] == "turn.finished"


async def test_an_interrupt_at_a_question_cancels_too(play):
    played = await play(asking(null=[{"hang": True}]), typed="", on_print=interrupting("leave it open"))
    assert played.ended.code == ExitCode.CANCELLED
    assert played.titles_answered() in ([], [None])


async def test_a_second_interrupt_ends_a_server_that_does_not_obey(play):
    started = {"event": "error", "code": "x", "message": "begun"}

    def on_print(printed: str) -> None:
        if "begun" in printed or "cancelling" in printed:
            os.kill(os.getpid(), signal.SIGINT)

    played = await play({"run": [started, {"hang": True}], "deafToCancel": True}, on_print=on_print)
    assert played.ended.code == ExitCode.CANCELLED
    assert "stopped at once" in played.shown


# --- servers that fail ---------------------------------------------------------------------------------------


async def test_a_server_that_dies_is_an_error_with_its_last_words(play):
    played = await play({"run": [{"stderr": "the disk is full"}, {"die": 7}]})
    assert played.ended.code == ExitCode.FAILED
    assert "the server ended with code 7" in played.shown
    assert "the disk is full" in played.shown


async def test_a_turn_whose_log_fails_has_failed_though_no_event_says_so(play):
    said = "Outrider cannot write its log: The log is full."
    ended = {"turnId": "turn_1", "outcome": "failed", "reason": "store_failed", "summary": "The log is full."}
    played = await play({"run": [{"message": [1, said]}], "commands": {"outrider.wait": ended}})
    assert played.ended.code == ExitCode.FAILED
    assert said in played.shown


async def test_after_a_server_that_died_it_is_said_how_to_go_on(play):
    started = {"event": "error", "code": "x", "message": "begun"}
    played = await play({"run": [started, {"die": 9}]})
    assert played.ended.session_id is not None
    assert f"  outrider run --session {played.ended.session_id}" in played.shown


async def test_a_server_that_dies_before_it_answers_is_an_error(play):
    played = await play({"initialize": [{"stderr": "no such module"}, {"die": 1}]})
    assert played.ended.code == ExitCode.FAILED
    assert "no such module" in played.shown


@pytest.mark.parametrize(
    "nonsense",
    [
        "Traceback (most recent call last):\n\nwhat\r\n\r\n",
        "Content-Length: many\r\n\r\n",
        "Content-Length: 999999999999\r\n\r\n",
        "Content-Length: 4\r\n\r\nnull",
        "Content-Length: 3\r\n\r\n{]}",
        "x" * 200_000,
    ],
)
async def test_a_server_that_talks_nonsense_is_an_error(play, nonsense):
    played = await play({"run": [{"raw": nonsense}, {"hang": True}]})
    assert played.ended.code == ExitCode.FAILED
    assert "something that is not LSP" in " ".join(played.shown.split())


async def test_a_refusal_names_what_is_wrong(play):
    error = {
        "code": -32602,
        "message": "bad",
        "data": {"path": "limits.steps", "problem": "must be positive"},
    }
    played = await play({"commands": {"outrider.run": {"error": error}}})
    assert played.ended.code == ExitCode.USAGE
    assert "must be positive (limits.steps)" in played.shown


async def test_a_refusal_that_is_no_settings_mistake_is_a_failure(play):
    error = {"code": -32803, "message": "another process has it", "data": {"reason": "session_in_use"}}
    played = await play({"commands": {"outrider.resume": {"error": error}}}, session_id="ses_1")
    assert played.ended.code == ExitCode.FAILED
    assert "another process has it" in played.shown


# --- going on ------------------------------------------------------------------------------------------------


def logged(number: int, event: dict[str, Any]) -> dict[str, Any]:
    fields = {"v": 1, "seq": number, "ts": "2026-01-01T00:00:00.000Z", "sessionId": "ses_1"}
    data = {key: value for key, value in event.items() if key != "event"}
    return {**fields, "turnId": "turn_1", "type": event["event"], "data": data}


async def test_going_on_shows_the_question_and_counts_the_whole_turn(play):
    started = {"event": "turn.started", "prompt": "p", "mode": "agent", "model": "m"}
    answer = {
        "event": "model.responded",
        "purpose": "main",
        "messageId": "m1",
        "text": "first words",
        "toolCalls": [],
    }
    earlier = [started, answer, finished(), started, answer, answer, CALL, APPROVAL, *PARKED]
    log = [logged(number, event) for number, event in enumerate(earlier, start=1)]
    status = {"sessionId": "ses_1", "state": "parked", "turnId": "turn_1", "open": [OPEN]}
    ran = [
        {"event": "tool.started", "callId": "c1"},
        {"event": "tool.finished", "callId": "c1", "name": "run_command", "status": "ok", "content": "fine"},
    ]
    ask = {"ask": "Run: make test\nin .", "titles": APPROVAL["options"], "then": {}}
    ask["then"] = {"Allow once": [RESOLVED, *ran, answer, finished()]}
    scenario = {
        "commands": {
            "outrider.resume": status,
            "outrider.events": {"events": log, "nextSeq": len(log) + 1, "more": False},
        },
        "after outrider.resume": [ask],
    }
    played = await play(scenario, session_id="ses_1", prompt=None, yes_to=("run_command: make t*",))
    assert played.ended.code == ExitCode.COMPLETED
    lines = [line.rstrip() for line in played.shown.splitlines() if line.strip()]
    assert lines[:3] == ["? Run: make test", "  in .", "  > Allow once (--yes-to run_command: make t*)"]
    assert "$ make test" in lines
    assert "completed · 3 steps" in lines[-1]
    assert played.shown.count("first words") == 1, "what was said before the park is not said again"


async def test_rules_that_allowed_nothing_are_named_where_something_waits(play):
    played = await play(asking(), yes_to=("edits", "Run: make clean"))
    assert played.ended.code == ExitCode.NEEDS_INPUT
    assert "never used: --yes-to edits" in played.shown
    assert "never used: --yes-to 'Run: make clean'" in played.shown


async def test_the_hint_for_a_question_names_no_rule_but_what_is_needed_to_go_on(play, tmp_path):
    run = [WORDS, {"event": "turn.parked", "open": [WAITING]}]
    provider = {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "KEY"}
    options = {"events": True, "stateDir": "/s", "model": "a/b", "providers": {"a": provider}}
    played = await play({"run": run}, options=options)
    hint = " ".join(played.shown.replace("\n", "").split())
    assert "--yes-to" not in hint
    for words in (
        "Answer at a terminal, or answer it by an option:",
        "--session ses_1",
        str(tmp_path / "workspace"),
        "--state-dir /s",
    ):
        assert words.replace(" ", "") in hint.replace(" ", "")
    assert "--modela/b--provider-urlhttp://127.0.0.1:1/v1--key-envKEY" in hint.replace(" ", "")


@pytest.mark.parametrize("number", ["3", "0", "99"])
async def test_a_number_that_is_no_option_is_asked_again(play, number):
    question = WORDS | {"options": ["red", "green"]}
    ask = {"ask": "Which name?", "titles": question["options"], "then": {"green": [finished()]}}
    played = await play({"run": [question, ask]}, typed=f"{number}\n2\n")
    assert played.titles_answered() == ["green"]
    assert played.commands("outrider.answer") == []
    assert f"there is no {number}: 1 to 2" in played.shown
