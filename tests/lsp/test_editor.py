"""The editor façade: questions, edits, documents, and live text in order with events."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from fakes import Client, eventually

from outrider.lsp.editor import CATCH_UP_SECONDS, TIMES_TOO_EARLY
from outrider.ports.clock import SteppingClock
from outrider.ports.editor import Answered, Applied, DocumentEdit, ToolAnswer, ToolRequest, Unanswered
from outrider.ports.events import LoggedEvent, StreamFrame
from outrider.ports.text import Place, PlacedEdit

FULL = {
    "workspace": {"applyEdit": True, "workspaceEdit": {"documentChanges": True}},
    "window": {"showDocument": {"support": True}},
}
TITLES = ("Allow once", "Reject")
EDIT = DocumentEdit("file:///a.py", 3, (PlacedEdit(Place(0, 1), Place(0, 2), "x"),))


async def editor_of(capabilities=None, clock=None, **params):
    client = Client(clock=clock)
    await client.initialize(FULL if capabilities is None else capabilities, **params)
    await client.execute("outrider.status")
    return client, client.bridge.editor


def soon(coroutine):
    return asyncio.ensure_future(coroutine)


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"title": "Allow once"}, Answered("Allow once")),
        ({"title": "Reject", "extra": 1}, Answered("Reject")),
        (None, Unanswered("dismissed")),
        ({}, Unanswered("dismissed")),
        ({"title": "allow once"}, Unanswered("unknown_title")),
        ({"title": ""}, Unanswered("unknown_title")),
        ({"title": 0}, Unanswered("error")),
        ({"title": None}, Unanswered("error")),
        ({"index": 0}, Unanswered("error")),
        ("Allow once", Unanswered("error")),
        (0, Unanswered("error")),
        (True, Unanswered("error")),
        ([], Unanswered("error")),
        ([{"title": "Allow once"}], Unanswered("error")),
    ],
)
async def test_only_an_offered_title_is_an_answer(result, answer):
    client, editor = await editor_of()
    asking = soon(editor.ask("Run it?", TITLES, seconds=5))
    request = await client.asked("window/showMessageRequest")
    assert request["params"] == {"type": 3, "message": "Run it?", "actions": [{"title": t} for t in TITLES]}
    client.answer(request, result)
    assert await asking == answer


async def test_one_question_at_a_time():
    client, editor = await editor_of()
    first, second = (soon(editor.ask(text, TITLES, seconds=5)) for text in ("1", "2"))
    request = await client.asked("window/showMessageRequest")
    await client.execute("outrider.status")
    asked = [m for m in client.outbox.messages if m.get("method") == "window/showMessageRequest"]
    assert [message["params"]["message"] for message in asked] == ["1"]
    client.answer(request, {"title": "Reject"})
    request = await client.asked("window/showMessageRequest")
    assert request["params"]["message"] == "2"
    client.answer(request, None)
    assert (await first, await second) == (Answered("Reject"), Unanswered("dismissed"))


async def test_a_question_answered_elsewhere_is_not_asked_any_more():
    client, editor = await editor_of()
    first = soon(editor.ask("1", TITLES, seconds=5))
    second = soon(editor.ask("2", TITLES, seconds=5, still_open=lambda: False))
    client.answer(await client.asked("window/showMessageRequest"), None)
    await first
    assert await second == Unanswered("closed")


async def test_a_question_without_an_answer_frees_the_slot_and_may_be_answered_late():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client, editor = await editor_of(clock=clock)
    late = []
    first = soon(editor.ask("1", TITLES, seconds=120, late=late.append))
    second = soon(editor.ask("2", TITLES, seconds=120))
    request = await client.asked("window/showMessageRequest")
    clock.advance(121)
    assert await first == Unanswered("timeout")
    client.answer(await client.asked("window/showMessageRequest"), {"title": "Reject"})
    assert await second == Answered("Reject")
    client.answer(request, {"title": "Allow once"})
    assert late == ["Allow once"]
    assert all(message.get("method") != "$/cancelRequest" for message in client.outbox.messages)


def questions(client):
    return [
        m["params"]["message"]
        for m in client.outbox.messages
        if m.get("method") == "window/showMessageRequest"
    ]


@pytest.mark.parametrize("name", ["Neovim", "eglot", "helix"])
async def test_a_yes_that_comes_before_anybody_can_have_read_the_question_is_asked_again(name, monkeypatch):
    client, editor = await editor_of(clientInfo={"name": name})
    asking = soon(editor.ask("Run it?", TITLES, seconds=5))
    client.answer(await client.asked("window/showMessageRequest"), {"title": "Allow once"})
    again = await client.asked("window/showMessageRequest")
    assert again["params"]["message"].startswith("Run it?\n(Asked again: ")
    monkeypatch.setattr(
        editor, "_profile", replace(editor._profile, reads_seconds=0.0)
    )  # time to read has passed
    client.answer(again, {"title": "Allow once"})
    assert await asking == Answered("Allow once")


async def test_a_key_that_is_held_down_never_becomes_a_yes():
    client, editor = await editor_of(clientInfo={"name": "Neovim"})
    asking = soon(editor.ask("Run it?", TITLES, seconds=5))
    for _ in range(TIMES_TOO_EARLY):
        client.answer(await client.asked("window/showMessageRequest"), {"title": "Allow once"})
    assert await asking == Unanswered("dismissed")


@pytest.mark.parametrize(
    ("name", "testing", "title"),
    [("Neovim", None, "Reject"), ("pytest-lsp", None, "Allow once"), ("Neovim", {"ids": None}, "Allow once")],
)
async def test_a_no_and_a_program_may_answer_at_once(name, testing, title):
    options = {} if testing is None else {"initializationOptions": {"testing": testing}}
    client, editor = await editor_of(clientInfo={"name": name}, **options)
    asking = soon(editor.ask("Run it?", TITLES, seconds=5))
    client.answer(await client.asked("window/showMessageRequest"), {"title": title})
    assert await asking == Answered(title)
    assert questions(client) == ["Run it?"]


async def test_a_cancelled_question_frees_the_slot_and_is_withdrawn():
    client, editor = await editor_of()
    first = soon(editor.ask("1", TITLES, seconds=5))
    request = await client.asked("window/showMessageRequest")
    first.cancel()
    withdrawn = await client.until(lambda message: message.get("method") == "$/cancelRequest")
    assert withdrawn["params"] == {"id": request["id"]}
    second = soon(editor.ask("2", TITLES, seconds=5))
    client.answer(await client.asked("window/showMessageRequest"), {"title": "Reject"})
    assert await second == Answered("Reject")


async def test_a_client_that_cannot_ask_is_asked_once():
    client, editor = await editor_of()
    asking = soon(editor.ask("1", TITLES, seconds=5))
    request = await client.asked("window/showMessageRequest")
    client.send(
        {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no such method"}}
    )
    assert await asking == Unanswered("unsupported")
    assert await editor.ask("2", TITLES, seconds=5) == Unanswered("unsupported")


async def test_questions_end_with_the_connection():
    client, editor = await editor_of()
    asking = soon(editor.ask("1", TITLES, seconds=5))
    await client.asked("window/showMessageRequest")
    await client.call("shutdown")
    assert await asking == Unanswered("closed")
    assert await editor.ask("2", TITLES, seconds=5) == Unanswered("closed")


CALL = ToolRequest("ses_1", "turn_1", "call_1", "open_1", "weather", {"city": "Rome"})


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ({"content": "sunny"}, ToolAnswer("sunny")),
        ({"content": "", "isError": False, "more": 1}, ToolAnswer("")),
        ({"content": "gone", "isError": True}, ToolAnswer("gone", is_error=True)),
        ({"content": "sunny", "isError": None}, ToolAnswer("sunny")),
        (None, Unanswered("dismissed")),
        ({}, Unanswered("error")),
        ("sunny", Unanswered("error")),
        ({"content": ["sunny"]}, Unanswered("error")),
        ({"content": "sunny", "isError": 0}, Unanswered("error")),
        ([{"content": "sunny"}], Unanswered("error")),
    ],
)
async def test_only_a_content_is_what_a_tool_gives(result, answer):
    client, editor = await editor_of()
    calling = soon(editor.call_tool(CALL, seconds=5, overdue=lambda: None))
    request = await client.asked("outrider/tool")
    assert request["params"] == {
        "sessionId": "ses_1", "turnId": "turn_1", "callId": "call_1", "id": "open_1", "name": "weather",
        "input": {"city": "Rome"},
    }  # fmt: skip
    client.answer(request, result)
    assert await calling == answer


async def test_a_call_that_is_overdue_may_still_be_answered():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client, editor = await editor_of(clock=clock)
    overdue = []
    again = replace(CALL, again=True)
    calling = soon(editor.call_tool(again, seconds=120, overdue=lambda: overdue.append(True)))
    request = await client.asked("outrider/tool")
    assert request["params"]["again"] is True
    assert overdue == []
    clock.advance(121)
    await eventually(lambda: overdue == [True])
    client.answer(request, {"content": "sunny"})
    client.answer(request, {"content": "rain"})
    assert await calling == ToolAnswer("sunny")
    assert not [m for m in client.outbox.messages if m.get("method") == "$/cancelRequest"]


async def test_a_call_that_nobody_waits_for_is_taken_back():
    client, editor = await editor_of()
    calling = soon(editor.call_tool(CALL, seconds=5, overdue=lambda: None))
    request = await client.asked("outrider/tool")
    calling.cancel()
    taken_back = await client.asked("$/cancelRequest")
    assert taken_back["params"] == {"id": request["id"]}
    client.answer(request, {"content": "sunny"})
    assert await client.execute("outrider.status")


async def test_a_server_that_ends_takes_no_call_back():
    client, editor = await editor_of()
    calling = soon(editor.call_tool(CALL, seconds=5, overdue=lambda: None))
    await client.asked("outrider/tool")
    await client.call("shutdown")
    assert await calling == Unanswered("closed")
    assert not [m for m in client.outbox.messages if m.get("method") == "$/cancelRequest"]
    assert await editor.call_tool(CALL, seconds=5, overdue=lambda: None) == Unanswered("closed")


async def test_edits_carry_versions_where_the_client_takes_them():
    client, editor = await editor_of()
    applying = soon(editor.apply("Outrider: fix", [EDIT]))
    request = await client.asked("workspace/applyEdit")
    text_edit = {
        "range": {"start": {"line": 0, "character": 1}, "end": {"line": 0, "character": 2}},
        "newText": "x",
    }
    document = {"textDocument": {"uri": "file:///a.py", "version": 3}, "edits": [text_edit]}
    assert request["params"] == {"label": "Outrider: fix", "edit": {"documentChanges": [document]}}
    client.answer(request, {"applied": True})
    assert await applying == Applied(True)


async def test_a_client_that_tells_with_its_answers_is_sent_a_message_without_a_choice():
    client, editor = await editor_of(clientInfo={"name": "vim-lsp"})
    catching_up = soon(editor.catch_up(["file:///a.py"]))
    request = await client.asked("window/showMessageRequest")
    assert request["params"] == {"type": 4, "message": ""}
    client.answer(request, None)
    assert await catching_up


async def test_a_client_that_leaves_such_a_message_is_sent_no_further_one_until_it_answers():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client, editor = await editor_of(clock=clock, clientInfo={"name": "vim-lsp"})
    catching_up = soon(editor.catch_up(["file:///a.py"]))
    request = await client.asked("window/showMessageRequest")
    clock.advance(CATCH_UP_SECONDS + 1)
    assert not await catching_up
    assert not await editor.catch_up(["file:///a.py"])
    client.answer(request, None)
    await client.execute("outrider.status")
    catching_up = soon(editor.catch_up(["file:///a.py"]))
    client.answer(await client.asked("window/showMessageRequest"), None)
    assert await catching_up


async def test_a_client_that_tells_by_itself_is_sent_none():
    client, editor = await editor_of(clientInfo={"name": "Neovim"})
    assert not await editor.catch_up(["file:///a.py"])
    assert not [m for m in client.outbox.messages if m.get("method") == "window/showMessageRequest"]


async def test_where_only_the_first_answer_comes_through_the_question_says_so():
    client, editor = await editor_of(clientInfo={"name": "vim-lsp"})
    asking = soon(editor.ask("Run it?", TITLES, seconds=5))
    request = await client.asked("window/showMessageRequest")
    only = "Only the first answer can be chosen here; the others are code actions."
    assert request["params"]["message"] == f"Run it?\n{only}"
    client.answer(request, {"title": "Allow once"})
    assert await asking == Answered("Allow once")


@pytest.mark.parametrize(("name", "key"), [("Neovim", "documentChanges"), ("Kate", "changes")])
async def test_edits_take_the_form_the_client_understands(name, key):
    client, editor = await editor_of({"workspace": {"applyEdit": True}}, clientInfo={"name": name})
    applying = soon(editor.apply("Outrider: fix", [EDIT]))
    request = await client.asked("workspace/applyEdit")
    assert list(request["params"]["edit"]) == [key]
    client.answer(request, {"applied": True})
    await applying


@pytest.mark.parametrize(
    ("answer", "applied"),
    [
        ({"result": {"applied": False, "failureReason": "stale"}}, Applied(False, "stale")),
        ({"result": {"applied": "yes"}}, Applied(False)),
        ({"result": None}, Applied(False)),
        ({"error": {"code": -32603, "message": "document changed"}}, Applied(False, "document changed")),
    ],
)
async def test_an_edit_that_was_not_applied(answer, applied):
    client, editor = await editor_of()
    applying = soon(editor.apply("Outrider: fix", [EDIT]))
    request = await client.asked("workspace/applyEdit")
    client.send({"jsonrpc": "2.0", "id": request["id"], **answer})
    assert await applying == applied


async def test_an_edit_without_an_answer_is_given_up():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client, editor = await editor_of(clock=clock)
    applying = soon(editor.apply("Outrider: fix", [EDIT]))
    await client.asked("workspace/applyEdit")
    clock.advance(11)
    assert not (await applying).claimed


async def test_a_client_that_cannot_is_not_asked():
    client, editor = await editor_of({})
    before = len(client.outbox.messages)
    assert not (await editor.apply("Outrider: fix", [EDIT])).claimed
    assert not await editor.show("file:///a.py")
    assert len(client.outbox.messages) == before


async def test_showing_a_document():
    clock = SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))
    client, editor = await editor_of(clock=clock)
    showing = soon(editor.show("file:///a.py", take_focus=True))
    request = await client.asked("window/showDocument")
    assert request["params"] == {"uri": "file:///a.py", "takeFocus": True}
    client.answer(request, {"success": True})
    assert await showing
    showing = soon(editor.show("file:///a.py"))
    await client.asked("window/showDocument")
    clock.advance(6)
    assert not await showing


async def test_saying_something():
    client, editor = await editor_of()
    editor.say("warning", "Careful")
    editor.say("log", "Details")
    assert client.outbox.messages[-2:] == [
        {"jsonrpc": "2.0", "method": "window/showMessage", "params": {"type": 2, "message": "Careful"}},
        {"jsonrpc": "2.0", "method": "window/logMessage", "params": {"type": 4, "message": "Details"}},
    ]


def frame(text, offset=0, source="msg_1", kind="text"):
    return StreamFrame("ses_1", "turn_1", source, kind, offset, text)


async def test_events_and_frames_have_the_fields_of_the_contract():
    client, editor = await editor_of()
    editor.publish_event(
        LoggedEvent(1, "2026-01-01T00:00:00.000Z", "ses_1", None, "session.started", {"a": 1})
    )
    editor.publish_event(LoggedEvent(2, "2026-01-01T00:00:00.001Z", "ses_1", "turn_1", "turn.started", {}))
    editor.publish_frame(frame("a"))
    editor.publish_frame(frame("b", source="call_1", kind="output"))
    await asyncio.sleep(0)
    assert [(m["method"], m["params"]) for m in client.outbox.messages[-4:]] == [
        ("outrider/event", {"v": 1, "seq": 1, "ts": "2026-01-01T00:00:00.000Z", "sessionId": "ses_1",
                            "type": "session.started", "data": {"a": 1}}),
        ("outrider/event", {"v": 1, "seq": 2, "ts": "2026-01-01T00:00:00.001Z", "sessionId": "ses_1",
                            "turnId": "turn_1", "type": "turn.started", "data": {}}),
        ("outrider/stream", {"sessionId": "ses_1", "turnId": "turn_1", "messageId": "msg_1", "kind": "text",
                             "offset": 0, "text": "a"}),
        ("outrider/stream", {"sessionId": "ses_1", "turnId": "turn_1", "callId": "call_1", "kind": "output",
                             "offset": 0, "text": "b"}),
    ]  # fmt: skip


async def test_the_answer_of_a_command_comes_before_what_is_published_after_it():
    client, editor = await editor_of()
    event = LoggedEvent(1, "2026-01-01T00:00:00.000Z", "ses_1", None, "session.started", {})

    def publish_soon(_):
        asyncio.get_running_loop().call_soon(editor.publish_event, event)
        return {}

    client.bridge.commands["outrider.events"] = publish_soon
    await client.execute("outrider.events")
    await client.asked("outrider/event")
    assert [message.get("method") for message in client.outbox.messages[-2:]] == [None, "outrider/event"]
