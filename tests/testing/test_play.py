"""Playing scenario files: each step, each answer, each expectation, and what is shown where one does not hold."""

import json

import pytest

from everyday import some
from outrider.testing.diffs import line_diff
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider_protocol.scenario import Scenario

EDIT = {"name": "edit_file", "input": {"path": "a.py", "old": "3", "new": "2"}, "id": "c_edit"}
ASK = {"name": "ask_user", "input": {"question": "Which colour?", "options": ["red", "blue"]}, "id": "c_ask"}
DONE = {"text": "Done."}
BASE = {
    "version": 1,
    "name": "played",
    "workspace": {"a.py": "x = 3\n", "b.py": "y = 1\n"},
    "model": {"turns": [DONE]},
    "steps": [{"do": "run", "prompt": "Go"}],
}


def calls(*listed):
    return {"tool_calls": list(listed)}


def tooled(*replies, **change):
    """A scenario in which the model calls a tool of the editor, as often as there are replies, one after another."""
    called = [
        calls({"name": "weather", "input": {"city": "Rome"}, "id": f"c_{n}"}) for n in range(len(replies))
    ]
    tool = {"name": "weather", "input_schema": {"type": "object"}, "replies": list(replies)}
    return {"tools": [tool], "model": {"turns": [*called, DONE]}, **change}


def finished(*said):
    """Results of calls, with their statuses."""
    return [
        {"type": "tool.finished", "data": {"status": status, "content": content}} for status, content in said
    ]


def edited(**change):
    """A scenario in which an open file is edited after a yes."""
    return {
        "open": ["a.py"],
        "model": {"turns": [calls(EDIT), DONE]},
        "answers": [{"to": "Edit a.py", "title": "Allow once"}],
        **change,
    }


@pytest.fixture
def shown(tmp_path):
    """Plays a scenario and gives its failures as they are shown: `await shown(change, …)`."""
    count = iter(range(100))

    async def play(change, **how):
        folder = tmp_path / f"played{next(count)}"
        folder.mkdir()
        scenario = Scenario.from_wire({**BASE, **change})
        return list(map(str, await play_and_judge(scenario, folder, beside=tmp_path, **how)))

    return play


# --- what holds ----------------------------------------------------------------------------------------------

HOLDS = {
    "response": {"expect": {"outcome": "completed", "reason": "no_changes", "response": "Done."}},
    "edit": edited(
        expect={
            "files": {"a.py": "x = 3\n", "c.py": None},
            "buffers": {"a.py": "x = 2\n"},
            "contains": ["approval.requested", {"type": "tool.finished", "data": {"status": "ok"}}],
            "ends_with": [{"type": "turn.finished", "data": {"usage": {"inputTokens": 0}}}],
            "lacks": ["turn.parked", {"type": "tool.finished", "data": {"status": "error"}}],
            "requests": [{"message_count": 2}, {"last_message_contains": "Edited a.py"}],
            "messages": [
                {
                    "to": "server",
                    "method": "textDocument/didOpen",
                    "params": {"textDocument": {"uri": "file:///workspace/a.py"}},
                },
                {"to": "editor", "method": "workspace/applyEdit", "params": {"label": "Outrider: Go"}},
            ],
            "said": ["unverified"],
            "questions": ["Edit a.py"],
        }
    ),
    "events": {
        "expect": {
            "events": [
                "session.started",
                {"type": "turn.started", "data": {"prompt": "Go"}},
                "turn.phase",
                "turn.phase",
                "model.requested",
                "model.responded",
                "turn.phase",
                "turn.phase",
                "turn.finished",
            ]
        }
    },
    "typed, saved, closed": {
        "open": ["a.py", "b.py"],
        "steps": [
            {"do": "open", "path": "b.py"},
            {"do": "type", "path": "a.py", "text": "# end\n"},
            {"do": "type", "path": "a.py", "text": "4", "replace": "3"},
            {"do": "type", "path": "a.py", "text": "# top\n", "at": [0, 0]},
            {"do": "save", "path": "a.py"},
            {"do": "editor_undo", "path": "a.py"},
            {"do": "editor_undo", "path": "a.py"},
            {"do": "editor_redo", "path": "a.py"},
            {"do": "type", "path": "b.py", "text": "thrown away\n"},
            {"do": "close", "path": "b.py"},
            {"do": "write", "path": "new/c.py", "text": "c\n"},
            {"do": "write", "path": "b.py"},
            {"do": "run", "prompt": "Go"},
        ],
        "expect": {
            "files": {"a.py": "# top\nx = 4\n# end\n", "b.py": None, "new/c.py": "c\n"},
            "buffers": {"a.py": "x = 4\n# end\n"},
        },
    },
    "typed before the answer": edited(
        answers=[
            {"title": "Allow once", "first": [{"do": "type", "path": "a.py", "text": "\n\n\n\n\n# far\n"}]}
        ],
        otherwise="Allow once",
        steps=[{"do": "run", "prompt": "Go"}, {"do": "save"}],
        expect={"files": {"a.py": "x = 2\n\n\n\n\n\n# far\n"}},
    ),
    "selection": {
        "open": ["a.py"],
        "steps": [
            {
                "do": "run",
                "prompt": "Explain",
                "mode": "explore",
                "selection": "x = 3",
                "limits": {"steps": 3},
            }
        ],
        "expect": {"requests": [{"last_message_contains": "Selected in a.py, lines 1 to 1:\nx = 3"}]},
    },
    "another session": {
        "steps": [{"do": "run", "prompt": "One"}, {"do": "run", "prompt": "Two", "new_session": True}],
        "expect": {"contains": [{"type": "turn.started", "data": {"prompt": "Two"}}], "requests": [{}]},
    },
    "the same session": {
        "model": {"turns": [DONE, {"text": "Done again."}]},
        "steps": [{"do": "run", "prompt": "One"}, {"do": "run", "prompt": "Two"}],
        "expect": {
            "response": "Done again.",
            "requests": [{"message_count": 2}, {"messages_contain": "One"}],
        },
    },
    "answered by command": {
        "model": {"turns": [calls(ASK), DONE]},
        "answers": [{"how": "dismiss"}],
        "steps": [
            {"do": "run", "prompt": "Go"},
            {"do": "answer", "answer": "blue", "item": "colour"},
            {"do": "wait"},
            {"do": "answer", "answer": "red", "refused": "already_resolved"},
        ],
        "expect": {
            "outcome": "completed",
            "contains": ["turn.parked", {"type": "question.answered", "data": {"answer": "blue"}}],
        },
    },
    "decided by command": edited(
        answers=[{"how": "never"}],
        steps=[
            {"do": "run", "prompt": "Go", "wait": False},
            {"do": "until", "event": {"type": "approval.requested", "data": {"callId": "c_edit"}}},
            {"do": "answer", "decision": "reject", "note": "Not this."},
            {"do": "wait"},
        ],
        expect={"requests": [{}, {"last_message_contains": "Not this."}], "buffers": {"a.py": "x = 3\n"}},
    ),
    "cancelled by command": {
        "model": {"turns": [calls(ASK), DONE]},
        "answers": [{"how": "never"}],
        "steps": [
            {"do": "run", "prompt": "Go", "wait": False},
            {"do": "until", "event": {"type": "question.asked"}},
            {"do": "cancel", "reason": "enough"},
            {"do": "wait"},
        ],
        "expect": {"outcome": "cancelled", "left_over": 1},
    },
    "cancelled at the progress": {
        "model": {"turns": [calls(ASK), DONE]},
        "answers": [
            {
                "title": "red",
                "first": [
                    {"do": "cancel", "by": "progress"},
                    {"do": "until", "event": {"type": "turn.finished"}},
                ],
            }
        ],
        "expect": {"outcome": "cancelled", "left_over": 1},
    },
    "steered": {
        "model": {"turns": [calls(ASK), DONE]},
        "answers": [{"title": "red", "first": [{"do": "steer", "text": "Mind the gap."}]}],
        "expect": {"requests": [{}, {"messages_contain": "Mind the gap."}]},
    },
    "a code action": {
        "workspace": {"a.py": "x = 3\n# outrider: make it two\n"},
        "open": ["a.py"],
        "steps": [
            {"do": "action", "path": "a.py", "title": "Outrider: do “make it two”", "at": "make it"},
            {"do": "wait"},
        ],
        "expect": {"outcome": "completed", "requests": [{"messages_contain": "make it two"}]},
    },
    "a diagnostic": {
        "open": ["a.py"],
        "steps": [
            {
                "do": "action",
                "path": "a.py",
                "title": "Outrider: fix “3 is wrong”",
                "at": "3",
                "diagnostic": "3 is wrong",
            },
            {"do": "wait"},
        ],
        "expect": {"requests": [{"messages_contain": "3 is wrong"}]},
    },
    "commands": {
        "model": {"turns": [calls(ASK), DONE]},
        "answers": [{"how": "null"}],
        "steps": [
            {"do": "run", "prompt": "Go"},
            {"do": "command", "name": "outrider.answer", "params": {"id": "$item", "answer": "red"}},
            {
                "do": "command",
                "name": "outrider.wait",
                "params": {"turnId": "$turn"},
                "result": {"outcome": "completed"},
            },
            {
                "do": "command",
                "name": "outrider.events",
                "params": {"sessionId": "none"},
                "refused": "unknown_id",
            },
            {"do": "command", "name": "outrider.run", "params": {}, "refused": "-32602"},
            {"do": "command", "name": "outrider.status", "params": {"sessionId": "$session"}},
        ],
    },
    "undone and redone": edited(
        steps=[
            {"do": "run", "prompt": "Go"},
            {"do": "undo", "scope": "session"},
            {"do": "redo"},
            {"do": "undo"},
            {"do": "undo", "refused": "nothing_to_undo"},
        ],
        expect={"buffers": {"a.py": "x = 3\n"}},
    ),
    "configured": edited(
        answers=[],
        steps=[{"do": "configure", "values": {"permissionMode": "read-only"}}, {"do": "run", "prompt": "Go"}],
        expect={
            "contains": [{"type": "turn.started", "data": {"settings": {"permissionMode": "read-only"}}}],
            "buffers": {"a.py": "x = 3\n"},
        },
    ),
    "the log": edited(
        steps=[{"do": "run", "prompt": "Go"}, {"do": "read_log"}, {"do": "read_log", "from_seq": 7}],
    ),
    "restarted": edited(
        answers=[{"how": "never"}, "Allow once"],
        steps=[
            {"do": "type", "path": "a.py", "text": "# unsaved\n"},
            {"do": "run", "prompt": "Go", "wait": False},
            {"do": "until", "event": {"type": "approval.requested"}},
            {"do": "restart"},
            {"do": "wait"},
            {"do": "read_log"},
        ],
        expect={
            "outcome": "completed",
            "contains": ["session.closed", "session.restored", "turn.finished"],
            "buffers": {"a.py": "x = 2\n# unsaved\n"},
        },
    ),
    "killed": edited(
        answers=[{"how": "never", "first": [{"do": "kill"}]}, "Allow once"],
        steps=[
            {"do": "type", "path": "a.py", "text": "# unsaved\n"},
            {"do": "run", "prompt": "Go"},
            {"do": "read_log"},
        ],
        expect={
            "outcome": "completed",
            "contains": ["approval.requested", "session.restored", "turn.finished"],
            "lacks": ["session.closed"],
            "buffers": {"a.py": "x = 2\n# unsaved\n"},
        },
    ),
    "not resumed": edited(
        answers=[{"how": "never", "first": [{"do": "kill", "resume": False}]}],
        steps=[
            {"do": "run", "prompt": "Go"},
            {"do": "command", "name": "outrider.status", "result": {"sessions": []}},
        ],
        expect={"left_over": 1, "outcome": "running"},
    ),
    "tools of the editor": tooled(
        {"content": "sunny"},
        {"content": "no such city", "is_error": True},
        {"content": "rain", "how": "twice"},
        expect={
            "outcome": "completed",
            "contains": finished(("ok", "sunny"), ("error", "no such city"), ("ok", "rain")),
            "messages": [
                {
                    "to": "editor",
                    "method": "outrider/tool",
                    "params": {"name": "weather", "input": {"city": "Rome"}},
                }
            ],
        },
    ),
    "a tool that gives nothing": tooled(
        {"how": "null"},
        steps=[{"do": "run", "prompt": "Go"}, {"do": "answer", "answer": "cloudy"}, {"do": "wait"}],
        expect={"contains": ["turn.parked", *finished(("ok", "cloudy"))]},
    ),
    "a tool that fails by command": tooled(
        {"how": "never"},
        settings={"limits": {"askSeconds": 0.1}},
        steps=[{"do": "run", "prompt": "Go"}, {"do": "answer", "error": "no weather"}, {"do": "wait"}],
        expect={"contains": finished(("error", "no weather"))},
    ),
    "a tool with a fault": tooled({"how": "fail"}, expect={"outcome": "needs_input", "left_over": 1}),
    "a tool with garbage": tooled({"how": "garbage"}, expect={"outcome": "needs_input", "left_over": 1}),
    "left over": {"model": {"turns": [DONE, DONE]}, "expect": {"left_over": 1}},
    "exhausted": {
        "model": {"turns": []},
        "expect": {"outcome": "failed", "reason": "script_exhausted", "requests": [{}]},
    },
    "expected another request": {
        "model": {"turns": [{"text": "x", "expect": {"messages_contain": "xyzzy"}}]},
        "expect": {"outcome": "failed", "reason": "script_expectation"},
    },
    "a setting that is not taken": {
        "settings": {"permisionMode": "full"},
        "expect": {"said": ["permisionMode: unknown setting"]},
    },
    "error for an answer": edited(
        answers=[{"how": "fail"}], expect={"outcome": "needs_input", "left_over": 1}
    ),
    "a title nobody offered": edited(
        answers=[{"how": "unknown_title"}], expect={"outcome": "needs_input", "left_over": 1}
    ),
    "a profile that says no": edited(
        profile="answers-null", answers=[], expect={"outcome": "needs_input", "left_over": 1}
    ),
    "settings": {
        "settings": {"limits": {"steps": 1}},
        "configuration": {"limits": {"steps": 7}},
        "expect": {"outcome": "completed"},
    },
}


IN_A_PROCESS = ["typed, saved, closed", "decided by command", "restarted", "killed", "tools of the editor"]
"""What a server of its own may do otherwise: editing, answers, its end and its return, requests to the editor."""


@pytest.mark.parametrize(
    ("connection", "name"),
    [*(("in-process", name) for name in HOLDS), *(("stdio", name) for name in IN_A_PROCESS)],
)
async def test_what_holds_is_not_said_to_fail(shown, name, connection):
    assert await shown(HOLDS[name], connection=connection) == []


# --- what does not -------------------------------------------------------------------------------------------

FAILS = {
    "a script that runs out": (
        {"model": {"turns": []}},
        ["model\n", "script_exhausted: ", "call 1 has no answer", "`expect.reason` names it"],
    ),
    "a script that runs out in a turn before the last": (
        {
            "model": {"turns": [{"text": "x", "expect": {"messages_contain": "xyzzy"}}, DONE]},
            "steps": [{"do": "run", "prompt": "Go"}, {"do": "run", "prompt": "On"}],
            "expect": {"outcome": "completed"},
        },
        ["model\n", "script_expectation: ", "xyzzy"],
    ),
    "a setting that there is not": (
        {"settings": {"permisionMode": "full"}},
        ["settings\n", "initializationOptions: permisionMode: unknown setting; it is ignored"],
    ),
    "a tool that is left out": (
        {"tools": [{"name": "weather", "input_schema": {"type": "object", "properties": {"a": "string"}}}]},
        ["tools\n", "this tool is ignored"],
    ),
    "outcome": (
        {"expect": {"outcome": "failed"}},
        ["expect.outcome", "expected: failed", "actual:   completed (no_changes)"],
    ),
    "reason": ({"expect": {"reason": "x"}}, ["expect.reason", "expected: x", "actual:   no_changes"]),
    "no reason": (
        {
            **edited(answers=[{"how": "dismiss"}]),
            "expect": {"reason": "x", "left_over": 1},
        },
        ["expect.reason", "actual:   none"],
    ),
    "response": ({"expect": {"response": "Do\nne."}}, ["expect.response", "-Do", "-ne.", "+Done."]),
    "control characters": (
        {"model": {"turns": [{"text": "a\tb\x1b[31m\u202e"}]}, "expect": {"response": "a b"}},
        ["-a b", "+a␉b␛[31m\\u202e"],
    ),
    "events": (
        {
            "expect": {
                "events": [
                    "session.started",
                    {"type": "turn.started", "data": {"prompt": "Come", "mode": "agent"}},
                    "tool.started",
                    "turn.phase",
                    "turn.phase",
                    "model.requested",
                    "turn.phase",
                    "turn.phase",
                    "turn.finished",
                ]
            }
        },
        [
            "    1 session.started",
            "~   2 turn.started",
            'prompt: expected "Come"',
            'got      "Go"',
            "-     missing: tool.started",
            "+   6 extra: model.responded",
        ],
    ),
    "contains": (
        {"expect": {"contains": ["turn.started", {"type": "turn.finished", "data": {"outcome": "failed"}}]}},
        [
            "expect.contains[1]",
            'turn.finished {"outcome": "failed"} after event 2',
            'outcome: expected "failed"; got      "completed"',
        ],
    ),
    "contains in order": (
        {"expect": {"contains": ["turn.finished", "turn.started"]}},
        ["expect.contains[1]", "only before it: event 2"],
    ),
    "contains nothing such": (
        {"expect": {"contains": ["tool.started"]}},
        ["there is none; there are session.started"],
    ),
    "ends_with": (
        {"expect": {"ends_with": ["turn.phase", "turn.phase"]}},
        ["expect.ends_with", "+   9 extra: turn.finished"],
    ),
    "lacks": (
        {"expect": {"lacks": ["turn.phase"]}},
        ["expect.lacks[0]", "expected: no turn.phase", "event 3: turn.phase"],
    ),
    "files": (edited(expect={"files": {"a.py": "x = 3\r\n"}}), ['expect.files["a.py"]', "-x = 3␍", "+x = 3"]),
    "line end at the end": (edited(expect={"files": {"a.py": "x = 3"}}), ["-x = 3  (no line end)", "+x = 3"]),
    "no such file": ({"expect": {"files": {"c": "x"}}}, ["expected: 'x'", "actual:   there is no such file"]),
    "a file too many": (
        {"expect": {"files": {"a.py": None}}},
        ["expected: no such file", "actual:   'x = 3\\n'"],
    ),
    "buffers": (
        edited(expect={"buffers": {"a.py": "x = 3\n"}}),
        ['expect.buffers["a.py"]', "-x = 3", "+x = 2"],
    ),
    "not open": ({"expect": {"buffers": {"a.py": ""}}}, ["it is not open"]),
    "requests": (
        edited(expect={"requests": [{}, {"last_message_contains": "nowhere"}]}),
        ["expect.requests[1]", "expected the last message to contain 'nowhere'", "3 tool: 'Edited a.py."],
    ),
    "number of requests": ({"expect": {"requests": []}}, ["expected: 0 requests", "actual:   1"]),
    "messages": (
        {"expect": {"messages": [{"to": "editor", "method": "window/showMessage", "params": {"type": 1}}]}},
        ["expect.messages[0]", 'window/showMessage to the editor, with {"type": 1}', "type: expected 1"],
    ),
    "no such message": ({"expect": {"messages": [{"to": "server", "method": "x/y"}]}}, ["there is none"]),
    "messages in order": (
        {
            "expect": {
                "messages": [{"to": "server", "method": "exit"}, {"to": "server", "method": "initialize"}]
            }
        },
        ["initialize to the server after exit", "there only before"],
    ),
    "said": (
        {"expect": {"said": ["nowhere"]}},
        ["expect.said[0]", "'nowhere'", "1: 'Outrider, completed: Done."],
    ),
    "questions": (
        edited(expect={"questions": ["Run"]}),
        ["expect.questions[0]", "contains 'Run'", "Edit a.py"],
    ),
    "number of questions": ({"expect": {"questions": ["x"]}}, ["expect.questions\n", "1 questions", "none"]),
    "golden": (
        {"expect": {"golden": "none.golden"}},
        ["expect.golden", "none.golden", "UPDATE_GOLDEN=1 writes it"],
    ),
    "left over": ({"model": {"turns": [DONE, DONE]}}, ["model\n", "expected: 0 answers left over", "1 of 2"]),
    "not left over": ({"expect": {"left_over": 1}}, ["expected: 1 answer left over", "0 of 1"]),
    "a question too many": (
        edited(answers=[]),
        ["otherwise\n", "no more than 0 questions", "Edit a.py", "Allow once"],
    ),
    "another question": (
        edited(answers=[{"to": "Run", "title": "Reject"}]),
        ["answers[0]\n", "a question that contains 'Run'"],
    ),
    "another button": (
        edited(answers=["Sure"]),
        [
            "answers[0]\n",
            "a button 'Sure'",
            "Allow once, Allow for this session, Always allow…, Review…, Reject",
        ],
    ),
    "an answer nobody asked for": (
        {"answers": ["Reject"]},
        ["answers[0]\n", "a question for 'Reject'", "0 questions were asked"],
    ),
    "a call too many": (
        {**tooled({"content": "x"}), "tools": [{"name": "weather"}]},
        ["tools[0].replies\n", "no more than 0 calls of weather", "a call with {'city': 'Rome'}"],
    ),
    "a step before an answer": (
        edited(answers=[{"title": "Allow once", "first": [{"do": "close", "path": "b.py"}]}]),
        ["answers[0].first[0] close", "b.py is not open"],
    ),
    "a step": (
        {"steps": [{"do": "save", "path": "a.py"}]},
        ["steps[0] save", "a.py is not open; open are []"],
    ),
    "nothing to undo in the editor": (
        {"open": ["a.py"], "steps": [{"do": "editor_undo", "path": "a.py"}]},
        ["something to undo in a.py"],
    ),
    "an error": (
        {"steps": [{"do": "command", "name": "outrider.run"}]},
        ["steps[0] command", "expected: no error", "-32602"],
    ),
    "another result": (
        {"steps": [{"do": "command", "name": "outrider.sessions", "result": {"sessions": 1}}]},
        ["a result that holds {'sessions': 1}", "{'sessions': []}"],
    ),
    "not refused": (
        {"steps": [{"do": "command", "name": "outrider.sessions", "refused": "x"}]},
        ["expected: refused: x", "done: "],
    ),
    "refused otherwise": ({"steps": [{"do": "undo", "refused": "x"}]}, ["refused: x", "nothing_to_undo"]),
    "no open item": (
        {"steps": [*BASE["steps"], {"do": "answer", "answer": "x"}]},
        ["one open item", "open are []"],
    ),
    "no such action": (
        {"open": ["a.py"], "steps": [{"do": "action", "path": "a.py", "title": "x"}]},
        ["0 actions are called 'x'; offered were"],
    ),
}


@pytest.mark.parametrize("name", some(FAILS, 16))
async def test_what_does_not_hold_is_shown(shown, name):
    change, lines = FAILS[name]
    text = "\n".join(await shown(change))
    for line in lines:
        assert line in text, text


async def test_a_request_is_shown_without_the_places_of_this_machine(shown, tmp_path, monkeypatch):
    monkeypatch.setattr("outrider.models.scripted._EXCERPT", 2000)  # however long those are
    change = {"expect": {"requests": [{"last_message_contains": "xyzzy"}]}, "model": {"turns": [DONE]}}
    prompt = {"steps": [{"do": "run", "prompt": f"Look into {tmp_path}/played0/workspace/a.py"}]}
    (failure,) = await shown({**change, **prompt})
    assert "Look into /workspace/a.py" in failure
    assert str(tmp_path) not in failure


async def test_every_failure_is_shown_not_only_the_first(shown):
    failures = await shown(
        {"expect": {"outcome": "failed", "response": "x", "said": ["y"], "files": {"z": "z"}}}
    )
    assert [failure.split("\n")[0] for failure in failures] == [
        "expect.outcome", "expect.response", "expect.files.z", "expect.said[0]",
    ]  # fmt: skip


async def test_a_wait_is_bounded_and_shows_the_last_messages(shown, monkeypatch):
    monkeypatch.setattr("outrider.testing.scenario_files.play.WAIT_SECONDS", 0.2)
    steps = [*BASE["steps"], {"do": "until", "event": {"type": "workspace.changed"}}, {"do": "save"}]
    (failure,) = await shown({"steps": steps})
    assert failure.startswith("steps[1] until\n")
    assert "no workspace.changed number 1 within 0.2 s; the last messages (stock):" in failure
    assert '"outcome": "completed"' in failure


async def test_an_event_that_cannot_come_any_more_fails_at_once(shown):
    steps = [*BASE["steps"], {"do": "until", "event": {"type": "turn.parked"}}]
    (failure,) = await shown({"steps": steps})
    assert failure.startswith("steps[1] until\n")
    assert (
        "  actual:   no turn.parked number 1: the turn has finished; its events were turn.started, turn.phase, model."
        in failure
    )


async def test_rules_that_the_server_breaks_fail_a_scenario(shown, monkeypatch):
    monkeypatch.setattr("outrider.testing.editor.checks.EVENT_TYPES", {})
    assert any("that it keeps the rules" in failure for failure in await shown({}))


# --- golden transcripts --------------------------------------------------------------------------------------

GOLDEN = {
    "edit": HOLDS["edit"],
    "restarted": HOLDS["restarted"],
    "answered": HOLDS["answered by command"],
    "neovim": edited(profile="neovim-0.11"),
    "vscode": edited(profile="vscode"),
    "tools": tooled({"content": "sunny"}, {"content": "x", "is_error": True}),
    "command": {
        "model": {
            "turns": [
                calls(
                    {"name": "run_command", "input": {"command": "/bin/pwd; uname -s | wc -l"}, "id": "c_run"}
                ),
                DONE,
            ]
        },
        "answers": ["Allow once"],
    },
}


@pytest.mark.parametrize("name", GOLDEN)
async def test_a_transcript_is_the_same_in_every_run_and_over_every_connection(shown, tmp_path, name):
    change = GOLDEN[name]
    change = {**change, "expect": {**change.get("expect", {}), "golden": "kept/x.golden"}}
    assert await shown(change, connection="in-process", update_golden=True) == []
    kept = (tmp_path / "kept" / "x.golden").read_bytes()
    for connection in ("in-process", "stdio", "stdio"):
        assert await shown(change, connection=connection) == []
    assert (tmp_path / "kept" / "x.golden").read_bytes() == kept
    assert str(tmp_path).encode() not in kept
    lines = [json.loads(line) for line in kept.decode().splitlines()]
    assert [line["event"]["seq"] for line in lines if "event" in line] == list(
        range(1, sum("event" in line for line in lines) + 1)
    )
    methods = [(line["to"], line["method"]) for line in lines if "to" in line]
    assert methods == sorted(methods)
    assert ("editor", "outrider/tool" if name == "tools" else "window/showMessageRequest") in methods


async def test_what_differs_from_a_transcript_is_shown(shown, tmp_path):
    change = edited(expect={"golden": "x.golden"})
    assert await shown(change, update_golden=True) == []
    kept = tmp_path / "x.golden"
    lines = kept.read_text("utf-8").splitlines()
    lines[1] = lines[1].replace('"prompt": "Go"', '"prompt": "Come", "more": 1')
    del lines[5]
    kept.write_text("\n".join([*lines, '{"to": "server", "method": "x/y"}', ""]), "utf-8")
    (failure,) = await shown(change)
    for line in (
        "~   2 turn.started", 'data.prompt: expected "Come"', "data.more: expected 1, and there is no such key",
        "+   6 extra: model.responded", "-     missing: x/y to the server",
    ):  # fmt: skip
        assert line in failure, failure


def test_an_event_more_does_not_make_all_later_ones_differ():
    def log(*events):
        lines = [
            {
                "event": {
                    "seq": n,
                    "ts": f"00:0{n}",
                    "turnId": f"turn_{n}",
                    "type": kind,
                    "data": {"id": f"open_{n}", "title": title},
                }
            }
            for n, (kind, title) in enumerate(events, 1)
        ]
        return "".join(json.dumps(line) + "\n" for line in lines)

    first, last = ("turn.started", "a"), ("turn.finished", "z")
    more = ("error", "long " * 100)
    said = line_diff(log(first, last), log(first, more, last))
    assert said.startswith("    1 turn.started\n+   2 extra: error {")
    assert said.endswith("…\n    3 turn.finished")
    assert max(map(len, said.splitlines())) < 160
    assert "data.title: expected" in line_diff(log(first, last), log(first, more, ("turn.finished", "y")))
    assert "ts: expected" in line_diff(log(first), log(first).replace("00:01", "00:02"))


async def test_a_transcript_is_written_only_where_all_else_holds_and_by_the_variable(
    shown, tmp_path, monkeypatch
):
    monkeypatch.setenv("UPDATE_GOLDEN", "1")
    kept = tmp_path / "x.golden"
    failures = await shown({"expect": {"golden": "x.golden", "outcome": "failed"}})
    assert "it is not written" in failures[-1]
    assert not kept.exists()
    assert await shown({"expect": {"golden": "x.golden"}}) == []
    assert kept.exists()
    monkeypatch.delenv("UPDATE_GOLDEN")
    assert await shown({"expect": {"golden": "x.golden"}}) == []


async def test_a_transcript_is_not_written_through_a_link(shown, tmp_path):
    (tmp_path / "x.golden").symlink_to(tmp_path / "elsewhere")
    (failure,) = await shown({"expect": {"golden": "x.golden"}}, update_golden=True)
    assert "it is a link" in failure
    assert not (tmp_path / "elsewhere").exists()


# --- a scenario without expectations -------------------------------------------------------------------------


@pytest.mark.parametrize("profile", some((name for name, it in PROFILES.items() if not it.stops_reading), 16))
@pytest.mark.parametrize("change", [{}, edited(otherwise="Allow once", answers=[])], ids=["text", "edit"])
async def test_without_expectations_nothing_fails(shown, profile, change):
    failures = await shown({**change, "profile": profile, "settings": {"limits": {"askSeconds": 0.1}}})
    # What an editor keeps from happening leaves answers of the script over; that is no expectation but a rule.
    assert [failure for failure in failures if not failure.startswith("model\n")] == []
