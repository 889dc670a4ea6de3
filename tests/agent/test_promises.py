"""The promises that belong to no single part: undo, one result a call, the log, standard LSP, sameness."""

import asyncio
import json
import sqlite3

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scripting import DONE, FIX, HONEST, call, results, step, types
from well_formed import assert_well_formed

from outrider.agent.state.state import SessionState
from outrider.ports.events import LoggedEvent
from outrider.store.schema import FILE_NAME
from outrider.testing.editor.answers import Dismiss
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.scenario import scripted, start_session

FULL = {"permissionMode": "full"}
EDITING = [
    call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2", called="edit"),
    call("write_file", path="made.txt", content="made\n", called="create"),
    call("delete_file", path="README.md", called="delete"),
    call("rename_file", **{"from": "tests/__init__.py", "to": "tests/init.py"}, called="rename"),
]


def files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


# --- promise 5 -----------------------------------------------------------------------------------------------


async def test_promise_5_a_turn_is_undone_and_redone(begin, workspace):
    before = files(workspace)
    editor = await begin("stock", [step(*EDITING), DONE], FULL)
    await editor.run("Go.")
    assert {status for status, _ in results(editor).values()} == {"ok"}
    after = files(workspace)
    assert after != before
    for _ in range(2):
        undone = await editor.command("outrider.undo", {})
        assert (undone["conflicts"], undone["notUndoable"]) == ([], [])
        assert {one["path"] for one in undone["undone"]} == {
            "tariff.py", "made.txt", "README.md", "tests/__init__.py",
        }  # fmt: skip
        assert files(workspace) == before
        await editor.command("outrider.redo", {})
        assert files(workspace) == after


async def test_promise_5_first_bytes_come_back_whatever_the_encoding(begin, workspace):
    (workspace / "wide.txt").write_bytes("\ufeffone\r\ntwo\r\n".encode("utf-16-be"))
    (workspace / "gone.txt").write_bytes("\ufeffone\ntwo".encode("utf-16-le"))
    (workspace / "whole.txt").write_bytes("\ufeffone\r\ntwo\r".encode("utf-16-le"))
    before = files(workspace)
    edits = [
        call("edit_file", path="wide.txt", old="two", new="2 é", called="edit"),
        call("delete_file", path="gone.txt", called="delete"),
        call("write_file", path="whole.txt", content="all new\n", overwrite=True, called="write"),
    ]
    read = call("read_file", path="whole.txt", called="read")
    editor = await begin("stock", [step(read), step(*edits), DONE], FULL)
    await editor.run("Go.")
    assert {status for status, _ in results(editor).values()} == {"ok"}
    after = files(workspace)
    assert after["wide.txt"] == "\ufeffone\r\n2 é\r\n".encode("utf-16-be")
    assert after["whole.txt"] == "\ufeffall new\r\n".encode("utf-16-le")
    await editor.command("outrider.undo", {})
    assert files(workspace) == before
    await editor.command("outrider.redo", {})
    assert files(workspace) == after


async def test_promise_5_an_undo_outlives_the_server(workspace):
    before = files(workspace)
    model = scripted(workspace, [step(*EDITING), DONE])
    ids = {"testing": {"ids": None}}
    async with start_session("stock", workspace, model, {**FULL, **ids}) as editor:
        await editor.run("Go.")
    async with start_session("stock", workspace, model, ids) as editor:
        await editor.command("outrider.undo", {})
        assert files(workspace) == before


async def test_promise_5_what_the_person_wrote_since_stays(begin, workspace):
    editor = await begin("stock", [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    editor.type("tariff.py", "# mine\n", at=(0, 0))
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == [{"path": "tariff.py", "hunks": 1}]
    assert editor.text("tariff.py").startswith("# mine\n")
    assert editor.text("tariff.py").endswith("* 3\n")


async def test_promise_4_an_undo_of_a_place_that_changed_is_a_conflict(begin, workspace):
    editor = await begin("stock", [step(FIX), DONE], FULL)
    editor.open("tariff.py")
    await editor.run("Go.")
    editor.type("tariff.py", "hours * 5", replace="hours * 2")
    undone = await editor.command("outrider.undo", {})
    assert undone["undone"] == []
    assert undone["changeId"] == ""
    assert [(one["path"], one["line"]) for one in undone["conflicts"]] == [("tariff.py", 3)]
    assert editor.text("tariff.py").endswith("* 5\n")


async def test_promise_5_the_undo_of_a_turn_leaves_the_others(begin, workspace):
    second = call("edit_file", path="README.md", old="Counts", new="Says")
    editor = await begin("stock", [step(FIX), DONE, step(second), DONE], FULL)
    await editor.run("One.")
    first = editor.turn_id
    await editor.run("Two.", sessionId=editor.session_id)
    await editor.command("outrider.undo", {"id": first})
    assert editor.disk("tariff.py").endswith("* 3\n")
    assert "Says" in editor.disk("README.md")
    await editor.command("outrider.undo", {})
    assert "Counts" in editor.disk("README.md")


# --- promise 7 -----------------------------------------------------------------------------------------------

NAMES = [
    "read_file",
    "list_files",
    "search",
    "edit_file",
    "write_file",
    "run_command",
    "ask_user",
    "nope",
    "",
]
VALUES = st.one_of(
    st.none(), st.integers(-2, 2), st.sampled_from(["tariff.py", "README.md", ".", "x", "\0", "true"])
)
KEYS = ["path", "pattern", "old", "new", "content", "command", "question", "overwrite", "from", "to"]
GOOD = [
    {"name": "read_file", "input": {"path": "tariff.py"}},
    {
        "name": "edit_file",
        "input": {"path": "tariff.py", "old": "hours", "new": "hours_", "replace_all": True},
    },
    {"name": "write_file", "input": {"path": "x/y.txt", "content": "y"}},
    {"name": "delete_file", "input": {"path": "README.md"}},
    {"name": "ask_user", "input": {"question": "?", "options": ["a"]}},
    {"name": "update_plan", "input": {"items": [{"text": "x"}]}},
    {"name": "read_file", "input": {"path": "../../outside"}},
]
CALLS = st.one_of(
    st.sampled_from(GOOD),
    st.builds(
        lambda name, given: {"name": name, "input": given},
        st.sampled_from(NAMES),
        st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=3),
    ),
    st.builds(
        lambda name, text: {"name": name, "arguments": text},
        st.sampled_from(NAMES),
        st.sampled_from(["", "{", "[]", "null", '{"path": 1e999}', "{}" * 3]),
    ),
)
ANSWERS = st.builds(
    lambda text, calls, more: {"text": text, "tool_calls": calls, **more},
    st.sampled_from(["", "text", "two\nlines 😀"]),
    st.lists(CALLS, max_size=3),
    st.sampled_from(
        [
            {},
            {},
            {"chunk": 1},
            {"finish_reason": "length"},
            {"finish_reason": "refused"},
            {"finish_reason": "stop"},
            {"reasoning": "hm"},
            {"fault": {"kind": "cut", "after": 2}},
            {"fault": {"kind": "http", "status": 503}},
            {"delay": 1000.0},
        ]
    ),
)
PERSON = st.sampled_from(["first", "last", "dismiss"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    turns=st.lists(ANSWERS, max_size=5),
    person=PERSON,
    mode=st.sampled_from(["ask", "auto-edit", "read-only"]),
)
def test_promise_7_whatever_the_model_says_the_turn_ends_and_every_call_has_one_result(
    turns, person, mode, tmp_path_factory
):
    root = tmp_path_factory.mktemp("any") / "workspace"
    root.mkdir()
    (root / "tariff.py").write_text("def price(hours):\n    return hours * 3\n")
    (root / "README.md").write_text("# Parking\n")

    def answer(question):
        return {"first": question.titles[0], "last": question.titles[-1], "dismiss": Dismiss()}[person]

    async def scenario():
        model = scripted(root, turns)
        async with start_session("stock", root, model, {"permissionMode": mode}, answers=answer) as editor:
            editor.open("tariff.py")
            outcome = await editor.run("Go.")
            for _ in range(20):
                if outcome["outcome"] != "needs_input":
                    break
                (item,) = outcome["open"]
                given = (
                    {"answer": (item["options"] or ["x"])[0]}
                    if item["kind"] == "question"
                    else {"decision": "allow_once"}
                )
                await editor.command("outrider.answer", {"id": item["id"], **given})
                outcome = await editor.wait_turn()
            assert outcome["outcome"] in {"completed", "failed", "refused"}
        assert_well_formed(editor.events)
        asked = [
            one["id"] for event in editor.events_of("model.responded") for one in event["data"]["toolCalls"]
        ]
        assert sorted(asked) == sorted(event["data"]["callId"] for event in editor.events_of("tool.finished"))

    asyncio.run(scenario())


# --- promise 8 -----------------------------------------------------------------------------------------------


def folded(events, session_id):
    state = SessionState(session_id)
    for event in events:
        state.apply(
            LoggedEvent(
                event["seq"],
                event["ts"],
                event["sessionId"],
                event.get("turnId"),
                event["type"],
                event["data"],
            )
        )
    return state


RICH = [
    {
        **step(call("read_file", path="tariff.py")),
        "text": "I read.",
        "usage": {"inputTokens": 9, "outputTokens": 1},
    },
    step(call("update_plan", items=[{"text": "Fix it", "status": "in_progress"}])),
    step(*EDITING[:2]),
    step(call("ask_user", question="Sure?", options=["yes"]), call("nope")),
    step(call("run_command", command="/bin/true")),
    DONE,
]


async def test_promise_8_the_log_is_what_was_sent_and_can_be_read_from_anywhere(begin):
    editor = await begin("stock", RICH, answers=lambda question: question.titles[0])
    await editor.run("Go.")
    session = editor.session_id
    whole = await editor.command("outrider.events", {"sessionId": session})
    assert whole["events"] == editor.events
    assert (whole["nextSeq"], whole["more"]) == (len(editor.events) + 1, False)
    for start in range(1, len(editor.events) + 2):
        part = await editor.command("outrider.events", {"sessionId": session, "fromSeq": start, "limit": 3})
        assert part["events"] == editor.events[start - 1 : start + 2]
        assert part["nextSeq"] == min(start + 3, len(editor.events) + 1)
        assert part["more"] == (part["nextSeq"] <= len(editor.events))


async def test_promise_8_the_state_is_the_fold_of_the_log_at_every_moment(begin):
    editor = await begin("stock", RICH)
    waiting = await editor.run("Go.")
    session = editor.session_id
    moments = 0
    while waiting["outcome"] == "needs_input":
        (status,) = (await editor.command("outrider.status", {"sessionId": session}))["sessions"]
        log = (await editor.command("outrider.events", {"sessionId": session}))["events"]
        state = folded(log, session)
        turn = state.turn
        assert turn is not None
        assert turn.parked
        assert [one.to_wire() for one in state.open.values()] == status["open"] == waiting["open"]
        assert [one.to_wire() for one in state.plan] == status["plan"]
        assert state.account.usage.to_wire() == status["usage"]
        assert (turn.turn_id, turn.phase) == (status["turnId"], status["phase"])
        item, *_ = status["open"]
        given = {"answer": "yes"} if item["kind"] == "question" else {"decision": "allow_once"}
        await editor.command("outrider.answer", {"id": item["id"], **given})
        waiting = await editor.wait_turn()
        moments += 1
    assert moments == 4
    assert waiting["outcome"] == "completed"
    state = folded(editor.events, session)
    assert (
        state.turns[editor.turn_id].usage.to_wire()
        == waiting["usage"]
        == {"inputTokens": 9, "outputTokens": 1}
    )
    assert state.current is None
    assert state.open == {}


async def test_promise_8_events_are_committed_before_they_are_seen(begin, workspace):
    editor = await begin("stock", RICH, answers=lambda question: question.titles[0])
    await editor.command("outrider.status")  # the log is there now
    take, behind, seen = editor.connection.on_message, [], 0
    with sqlite3.connect(workspace.parent / "workspace.state" / FILE_NAME) as log:

        def looked_up(message):
            nonlocal seen
            if message.get("method") == "outrider/event":
                (committed,) = log.execute("SELECT max(seq) FROM events").fetchone()
                seen += 1
                if committed < message["params"]["seq"]:
                    behind.append(message)
            take(message)

        editor.connection.on_message = looked_up
        await editor.run("Go.")
    log.close()
    assert seen == len(editor.events)
    assert behind == []


# --- promise 11 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "profile", [*(one for one in HONEST if one != "asks"), "claims-edits", "never-creates-progress"]
)
@pytest.mark.parametrize("way", ["commands", "actions"])
async def test_promise_11_standard_lsp_is_enough(profile, way, begin):
    """Start, see, approve, cancel and undo without events and without a word that is not in the specification."""
    # A client that was not told of its own actions would not know them: they are asked for like any others.
    ask = call("ask_user", question="?", options=["x"])
    settings = {"events": False, "limits": {"askSeconds": 0.05}}
    editor = await begin(profile, [step(FIX), step(ask), DONE], settings)
    editor.open("README.md")
    if way == "commands":
        started = await editor.command("outrider.run", {"prompt": "Go."})
    else:
        opening = editor.command_nowait("outrider.open", {})
        # Kate shows the document and never says so.
        await editor.wait_for(lambda: editor.shown or opening.done, "the document")
        editor.open(".outrider/task.md")
        editor.type(".outrider/task.md", "Go.\n")
        await editor.code_actions(".outrider/task.md")
        started = await editor.take_action("Outrider: Send “Go.”")
    turn = started["turnId"]
    waiting = await editor.wait_turn(turn)
    assert waiting["outcome"] == "needs_input"
    if way == "commands":
        await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "decision": "allow_once"})
    else:
        await editor.code_actions("README.md")
        await editor.take_action("Outrider: Allow once")
    waiting = await editor.wait_turn(turn)
    assert waiting["open"][0]["title"] == "?"
    assert editor.disk("tariff.py").endswith("* 2\n")
    if way == "commands":
        await editor.command("outrider.cancel", {"turnId": turn})
        await editor.command("outrider.undo", {"sessionId": started["sessionId"]})
    else:
        await editor.code_actions("README.md")
        await editor.take_action("Outrider: cancel turn")
        await editor.code_actions("README.md")
        await editor.take_action("Outrider: undo turn")
        # An editor that tells of no edit while it waits is answered before; nothing else is sent for a closed file.
        async with asyncio.timeout(10):
            while not editor.disk("tariff.py").endswith("* 3\n"):
                await editor.command("outrider.sessions", {})
    assert (await editor.wait_turn(turn))["outcome"] == "cancelled"
    assert editor.disk("tariff.py").endswith("* 3\n")
    assert editor.events == editor.frames == []
    methods = {one.message["method"] for one in editor.messages if "method" in one.message}
    assert not any(method.startswith("outrider/") for method in methods)
    shows = PROFILES[profile].capabilities.get("window", {}).get("workDoneProgress")
    if shows and PROFILES[profile].answers_create_progress:
        assert editor.progress
    assert any(said.shown and said.text.startswith("Outrider, cancelled") for said in editor.said)


# --- promise 12 ----------------------------------------------------------------------------------------------


async def test_promise_12_the_same_script_gives_the_same_events_to_the_byte(tmp_path):
    seen = []
    for number, connection in enumerate(["in-process", "in-process", "stdio"]):
        # The events name paths, so the workspace must have the same one each time.
        root = tmp_path / "workspace"
        root.mkdir()
        (root / "tariff.py").write_text("def price(hours):\n    return hours * 3\n")
        model = scripted(root, [*RICH[:4], step(call("list_files"), call("search", pattern="price")), DONE])
        state = {"stateDir": str(tmp_path / f"state{number}")}
        async with start_session("stock", root, model, state, connection=connection) as editor:
            editor.answers = lambda question: question.titles[0]
            editor.open("tariff.py")
            assert (await editor.run("Go."))["outcome"] == "completed"
            editor.close("tariff.py")
        seen.append([json.dumps(event, ensure_ascii=False) for event in editor.events])
        (root / "made.txt").unlink()
        (root / "tariff.py").unlink()
        root.rmdir()
    assert seen[0] == seen[1]
    assert seen[0] == seen[2]
    assert len(seen[0]) > 40


async def test_ids_and_times_of_a_test_are_counted(begin):
    editor = await begin("stock", [DONE])
    await editor.run("Go.")
    assert (editor.session_id, editor.turn_id) == ("ses_1", "turn_1")
    assert [event["ts"] for event in editor.events[:2]] == [
        "2026-01-01T00:00:00.000Z",
        "2026-01-01T00:00:00.001Z",
    ]
    assert types(editor)[0] == "session.started"
