"""A log is run again: the same log is the same session, and whatever was changed in it or in the loop is found."""

import random
import shutil

import pytest

from everyday import is_thorough
from outrider.agent.loop import tool_context
from outrider.permissions.policy.decide import Judgement
from outrider.ports.events import messages_of
from outrider.replay.play import Replayed, ReplayProblem, play
from outrider.store.exported import events_of
from outrider.testing.editor.answers import Dismiss
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.scenario import embedded, scripted, start_session
from replayed import exports_of

READ = ("read_file", {"path": "tariff.py"}, "c_read")
SEARCH = ("search", {"pattern": "price"}, "c_search")
EDIT = ("edit_file", {"path": "tariff.py", "old": "* 3", "new": "* 2"}, "c_edit")
REJECTED = ("edit_file", {"path": "README.md", "old": "Counts", "new": "Knows"}, "c_rejected")
PLAN = ("update_plan", {"items": [{"text": "Look", "status": "done"}]}, "c_plan")
ASK = ("ask_user", {"question": "Which?", "options": ["this", "that"]}, "c_ask")
WRONG = ("edit_file", {"path": "tariff.py", "old": "nowhere", "new": "x"}, "c_wrong")


def calls(*listed):
    return {"tool_calls": [{"name": name, "input": given, "id": call} for name, given, call in listed]}


async def record(workspace, *, answers=None, second=True):
    """A session with about everything in it: reads side by side, edits, a command, a question, steering, an undo."""
    ran = workspace.parent / "ran.txt"
    run = ("run_command", {"command": f"echo ran >> {ran}; cat README.md"}, "c_run")
    turns = [
        calls(READ, SEARCH), calls(WRONG), calls(EDIT), calls(REJECTED), calls(run), calls(PLAN, ASK),
        {"text": "Half", "reasoning": "hm", "usage": {"inputTokens": 10, "outputTokens": 3}}, {"text": "All done."},
        {"text": "Again."},
    ]  # fmt: skip
    model = scripted(workspace, turns)
    given = answers or ["Allow once", "Reject", "Allow once", "that"]
    async with start_session("stock", workspace, model, answers=given) as editor:
        started = await editor.command("outrider.run", {"prompt": "Tidy up", "limits": {"steps": 20}})
        steering = {"sessionId": started["sessionId"], "text": "Quickly"}
        await editor.event("question.asked")
        await editor.command("outrider.steer", steering)
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        await editor.command("outrider.undo", {"sessionId": started["sessionId"]})
        assert (await editor.run("Once more", sessionId=started["sessionId"]))["outcome"] == "completed"
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    return export, ran


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "as before 0.3: one after the other"])
async def test_edits_of_one_step_are_asked_about_as_their_log_says(workspace, monkeypatch, at_once):
    if not at_once:
        monkeypatch.setattr(tool_context.User, "asks_together", False)
    model = scripted(workspace, [calls(EDIT, REJECTED), {"text": "Done."}])

    def answer(question):
        return "Reject" if "README" in question.message else "Allow once"

    async with start_session(PROFILES["asks"], workspace, model, answers=answer) as editor:
        assert (await editor.run("Tidy up"))["outcome"] == "completed"
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    asked = [event.data for event in export.events if event.type == "approval.requested"]
    assert ["group" in one for one in asked] == [at_once, at_once]
    monkeypatch.undo()
    assert await play(export) == Replayed(len(export.events), 0, None)


def some(numbers, export, one_in=6):
    """Those of the numbers of events that are the first of their kind, and one in `one_in` of the others, always the same ones.

    A kind is a type and, where the event has them, the tool of its call and its phase. With `--hypothesis-profile=search`
    all of them.
    """
    if is_thorough():
        return list(numbers)
    tools = {e.data["callId"]: e.data["name"] for e in export.events if e.type == "tool.requested"}
    kinds = {}
    for number in numbers:
        event = export.events[number]
        kinds.setdefault((event.type, tools.get(event.data.get("callId")), event.data.get("phase")), number)
    others = sorted(set(numbers).difference(kinds.values()))
    return sorted([*kinds.values(), *random.Random(1).sample(others, len(others) // one_in)])


def with_events(export, events):
    numbered = [event.model_copy(update={"seq": number}) for number, event in enumerate(events, 1)]
    return export.model_copy(update={"events": numbered})


async def test_a_session_is_run_again_with_nothing_but_its_log(workspace):
    export, ran = await record(workspace)
    before = ran.read_text()
    shutil.rmtree(workspace)
    seen = []
    replayed = await play(export, on_event=seen.append)
    assert replayed == Replayed(len(export.events), 0, None)
    assert [(event.seq, event.type, event.ts) for event in seen] == [
        (event.seq, event.type, event.ts) for event in export.events
    ]
    assert ran.read_text() == before, "a command was run"
    assert not workspace.exists()


async def test_a_job_may_end_while_the_turn_does_anything(workspace):
    job = ("run_command", {"command": "sleep 2", "background": True}, "c_start")
    read = ("read_job", {"job": "job_1", "wait": 30}, "c_wait")
    model = scripted(workspace, [calls(job), calls(READ), calls(read), {"text": "Done."}])
    settings = {"permissionMode": "full", "testing": {"clock": None, "ids": "sequential"}}
    async with start_session("stock", workspace, model, settings) as editor:
        assert (await editor.run("Tidy up"))["outcome"] == "completed"
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    known = events_of(export)
    events = [
        event.model_copy(
            update={"data": {**event.data, "messages": messages_of(typed, lambda s: known[s - 1])}}
        )
        if event.type
        == "model.requested"  # it names an earlier request by its seq, which is another one here
        else event
        for event, typed in zip(export.events, known, strict=True)
    ]
    (ended,) = (event for event in events if event.type == "job.finished")
    assert "told" not in ended.data, "it ended before it was waited for"
    others = [event for event in events if event is not ended]
    ends = {e.data["callId"]: number for number, e in enumerate(others) if e.type == "tool.finished"}
    for place in range(ends["c_start"] + 1, ends["c_wait"] + 1):
        replayed = await play(with_events(export, [*others[:place], ended, *others[place:]]))
        assert replayed == Replayed(len(events), 0, None), f"before {others[place].type}"


async def test_any_prefix_of_a_log_is_run_again(workspace):
    export, _ = await record(workspace)
    for last in (number + 1 for number in some(range(len(export.events) - 1), export)):
        replayed = await play(with_events(export, export.events[:last]))
        assert replayed == Replayed(last, 0, None), f"{last} {export.events[last - 1].type}"


# What comes from outside is believed: it shows in what the loop makes of it.
OUTSIDE = {
    "session.started", "session.closed", "turn.started", "turn.parked", "steering.received", "approval.resolved",
    "question.answered", "model.responded", "approval.requested", "edit.proposed", "edit.applying", "edit.applied",
    "model.requested", "tool.finished", "workspace.changed",
}  # fmt: skip


async def test_whatever_the_loop_did_otherwise_is_found(workspace):
    export, _ = await record(workspace)
    computed = [
        number
        for number, event in enumerate(export.events)
        if event.type not in OUTSIDE
        and (event.turn_id is not None or not event.type.startswith(("edit.", "undo.")))
    ]
    for number in some(computed, export):
        event = export.events[number]
        changed = event.model_copy(update={"data": {**event.data, "more": 1}})
        events = [*export.events[:number], changed, *export.events[number + 1 :]]
        replayed = await play(with_events(export, events))
        assert replayed.difference is not None, event
        assert replayed.difference.seq == event.seq
        assert replayed.difference.got["data"] == event.data


@pytest.mark.parametrize(
    ("kind", "change", "found_at"),
    [
        ("tool.finished", {"content": "another text"}, "model.requested"),
        ("model.responded", {"text": "another text"}, "model.requested"),
        ("model.requested", {"messages": []}, "model.requested"),
        ("model.requested", {"purpose": "summary"}, "model.requested"),
        ("approval.requested", {"options": ["Reject"]}, "approval.requested"),
        ("edit.applying", {"hunks": []}, "edit.applying"),
        ("edit.applied", {"hunks": []}, "edit.applied"),
        ("edit.proposed", {"hunks": []}, "edit.proposed"),
        ("turn.started", {"settings": {"permissionMode": "read-only", "limits": {}}}, "edit.proposed"),
        ("turn.started", {"limits": {"steps": 2}}, "model.requested"),
    ],
)  # fmt: skip
async def test_a_changed_input_is_found_in_what_follows_from_it(workspace, kind, change, found_at):
    export, _ = await record(workspace)
    number = next(n for n, event in enumerate(export.events) if event.type == kind)
    event = export.events[number]
    changed = event.model_copy(update={"data": {**event.data, **change}})
    replayed = await play(
        with_events(export, [*export.events[:number], changed, *export.events[number + 1 :]])
    )
    assert replayed.difference is not None
    assert replayed.difference.seq >= event.seq
    assert replayed.difference.expected["type"] == found_at


async def test_an_event_that_is_missing_is_found(workspace):
    export, _ = await record(workspace)
    needed = {"tool.requested", "tool.started", "turn.phase", "plan.updated", "turn.finished"}
    for number in some([n for n, event in enumerate(export.events) if event.type in needed], export):
        event = export.events[number]
        replayed = await play(with_events(export, [*export.events[:number], *export.events[number + 1 :]]))
        assert replayed.difference is not None, event
        assert replayed.difference.seq <= event.seq + 1


async def test_another_loop_is_another_session(workspace, monkeypatch):
    export, _ = await record(workspace)
    monkeypatch.setattr(tool_context, "decide", lambda *_: Judgement("allow", "anything goes"))
    replayed = await play(export)
    assert replayed.difference is not None
    assert replayed.difference.expected["type"] == "edit.proposed"
    assert replayed.difference.got["data"]["rule"] == "anything goes"


async def test_what_lies_before_the_wanted_turn_is_taken_over(workspace):
    export, _ = await record(workspace)
    begins = [event.seq for event in export.events if event.type == "turn.started"]
    finished = [event.seq for event in export.events if event.type == "turn.finished"]
    seen = []
    replayed = await play(export, from_seq=begins[1] + 3, on_event=seen.append)
    assert replayed == Replayed(len(export.events) - finished[0], finished[0], None)
    assert [event.seq for event in seen] == list(range(begins[1] + 3, len(export.events) + 1))


async def test_the_first_turn_is_run_even_when_only_its_end_is_wanted(workspace):
    export, _ = await record(workspace)
    finished = next(event.seq for event in export.events if event.type == "turn.finished")
    assert await play(export, from_seq=finished) == Replayed(len(export.events), 0, None)


@pytest.mark.parametrize("seq", [0, -1, 10_000])
async def test_a_seq_that_is_not_there(workspace, seq):
    export, _ = await record(workspace)
    problem = await play(export, from_seq=seq)
    assert isinstance(problem, ReplayProblem)
    assert str(seq) in problem.message


@pytest.mark.parametrize("change", [{"options": ["Reject"]}, {"callId": "c_other"}])
async def test_nothing_is_said_of_what_goes_wrong_after_a_difference(workspace, caplog, change):
    export, _ = await record(workspace)
    number = next(n for n, event in enumerate(export.events) if event.type == "approval.requested")
    event = export.events[number]
    changed = event.model_copy(update={"data": {**event.data, **change}})
    caplog.clear()
    replayed = await play(
        with_events(export, [*export.events[:number], changed, *export.events[number + 1 :]])
    )
    assert replayed.difference is not None
    assert replayed.difference.seq == event.seq
    assert not caplog.records


async def test_a_difference_has_the_texts_of_the_replay(workspace):
    export, _ = await record(workspace)
    number = next(n for n, event in enumerate(export.events) if event.type == "tool.finished")
    event = export.events[number]
    changed = event.model_copy(update={"data": {**event.data, "content": "another text"}})
    replayed = await play(
        with_events(export, [*export.events[:number], changed, *export.events[number + 1 :]])
    )
    difference = replayed.difference
    (digest,) = set(difference.got["data"]["messages"]) - set(difference.expected["data"]["messages"])
    assert "another text" in difference.texts[digest]


@pytest.mark.parametrize(
    "env", [{}, {"MAKEFLAGS": "another"}], ids=["same environment", "another environment"]
)
@pytest.mark.parametrize(
    "end", ["saved before", "answered", "run without saving", "stopped", "left open again"]
)
async def test_a_question_left_open_by_a_server_is_asked_again(workspace, env, end):
    """Another environment is another command: it is approved again before the question goes on."""
    run = ("run_command", {"command": "/bin/cat tariff.py"}, "c_run")
    model = scripted(workspace, [calls(EDIT), calls(run), {"text": "Done."}])
    titles = {
        "answered": "Save and continue",
        "run without saving": "Run without saving",
        "stopped": "Cancel",
    }

    def answer(question):
        if "Save and continue" not in question.titles:
            return "Allow once"
        if end == "answered":
            editor.save_all()
        return titles[end] if restarted and end in titles else Dismiss()

    restarted = False
    # It asks once it has waited long enough for the save.
    random = {"testing": {"ids": None}, "limits": {"askSeconds": 0.2}}
    async with start_session("stock", workspace, model, random, answers=answer) as editor:
        editor.open("tariff.py")
        waiting = await editor.run("Tidy up")
        (item,) = waiting["open"]
        assert (waiting["outcome"], item["kind"]) == ("needs_input", "question")
        session, turn = editor.session_id, editor.turn_id
        await editor.shut_down()
        restarted = True
        if end == "saved before":
            editor.save_all()
        await editor.reconnect(embedded(workspace, env=env))
        await editor.command("outrider.resume", {"sessionId": session})
        outcome = (await editor.wait_turn(turn))["outcome"]
        assert outcome == ("needs_input" if end == "left open again" else "completed")
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    asked = [event.type for event in export.events if event.data.get("callId") == "c_run"]
    assert (asked.count("approval.requested"), asked.count("question.asked")) == (2 if env else 1, 1)
    assert await play(export) == Replayed(len(export.events), 0, None)
