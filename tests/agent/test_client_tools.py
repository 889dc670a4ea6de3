"""Tools that the client runs: answered, allowed, parked, asked again after a restart; never an invented result."""

import pytest
from scripting import DONE, KINDS, call, result, results, step, types
from well_formed import assert_well_formed

from outrider.testing.editor.answers import Dismiss, Fail, Late, Never, Reply, Wrong
from outrider.testing.editor.connections import Stdio
from outrider.testing.editor.profiles import BAD_TOOLS
from outrider.testing.editor.wire_client import RpcError
from outrider.testing.scenario import client_tool, scripted, start_session
from replayed import keep_sessions

CITY = {"type": "string"}
WEATHER = client_tool("weather", city=CITY)
DEPLOY = client_tool("deploy", "execute", target=CITY)
FORMAT = client_tool("format_all", "edit")
CHOOSE = client_tool("choose", "ask")
TOOLS = [WEATHER, DEPLOY, FORMAT, CHOOSE]
ROME = call("weather", city="Rome", called="w_1")
BERN = call("weather", city="Bern", called="w_2")
LIVE = call("deploy", target="live", called="d_1")
SOON = {"limits": {"askSeconds": 0.05}}
LONG = {"limits": {"askSeconds": 60}}
RANDOM = {"testing": {"ids": None}}
GONE = "The current client does not provide deploy, so it cannot be run."


async def refused(editor, **answer):
    with pytest.raises(RpcError) as error:
        await editor.command("outrider.answer", answer)
    return error.value.data["reason"] if "reason" in error.value.data else error.value.data["problem"]


def data_of(editor, event_type):
    return [event["data"] for event in editor.events_of(event_type)]


# --- what the client gives -----------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", KINDS)
@pytest.mark.parametrize("effect", ["read", "ask"])
async def test_what_the_client_gives_reaches_the_model_under_its_own_id(profile, effect, begin):
    after = {"text": "Done.", "expect": {"messages_contain": ["sunny in Rome"]}}
    tool = client_tool("weather", effect, city=CITY)
    editor = await begin(
        profile,
        [step(ROME), after],
        tools=[tool],
        tool_answers=lambda asked: f"sunny in {asked.input['city']}",
    )
    assert (await editor.run("Weather?"))["outcome"] == "completed"
    assert results(editor) == {"w_1": ("ok", "sunny in Rome")}
    (asked,) = editor.tool_calls
    assert (asked.call_id, asked.name, asked.input, asked.again) == (
        "w_1",
        "weather",
        {"city": "Rome"},
        False,
    )
    assert data_of(editor, "tool.asked") == [{"id": asked.id, "callId": "w_1", "name": "weather"}]
    assert data_of(editor, "tool.answered") == [
        {"id": asked.id, "callId": "w_1", "status": "ok", "content": "sunny in Rome", "channel": "client"}
    ]
    assert editor.questions == []


async def test_the_client_may_say_that_it_went_wrong(begin):
    editor = await begin("stock", [step(ROME), DONE], tools=TOOLS, tool_answers=[Wrong("no such city")])
    assert (await editor.run("Weather?"))["outcome"] == "completed"
    assert result(editor) == ("error", "no such city")


async def test_what_the_client_gives_is_cut_and_put_into_unicode(begin):
    long = "a" * 4000 + "\ud800" + "z" * 4000
    editor = await begin(
        "stock", [step(ROME), DONE], {"limits": {"outputBytes": 1024}}, tools=TOOLS, tool_answers=[long]
    )
    await editor.run("Weather?")
    status, content = result(editor)
    assert (status, content[:5], content[-5:]) == ("ok", "aaaaa", "zzzzz")
    assert "bytes are missing here" in content
    assert len(content) < 1200
    assert data_of(editor, "tool.answered")[0]["content"] == content


async def test_calls_of_one_step_are_at_the_client_at_once_and_answered_in_any_order(begin):
    editor = await begin(
        "stock", [step(ROME, BERN), DONE], LONG, tools=TOOLS, tool_answers=[Late("sunny"), Late("rain")]
    )
    pending = await editor.command("outrider.run", {"prompt": "Weather?"})
    second = await editor.tool_call(2)
    editor.answer_tool(second)
    editor.answer_tool(editor.tool_calls[0])
    assert (await editor.wait_turn(pending["turnId"]))["outcome"] == "completed"
    assert list(results(editor).items()) == [("w_1", ("ok", "sunny")), ("w_2", ("ok", "rain"))]


async def test_a_client_at_work_keeps_no_question_from_the_person(begin):
    ask = call("ask_user", question="Which?", options=["red"], called="q")
    turns = [step(ROME), DONE]
    other = [step(ask), DONE]
    editor = await begin(
        "stock", [*turns, *other], LONG, tools=TOOLS, tool_answers=[Late("sunny")], answers=["red"]
    )
    first = await editor.command("outrider.run", {"prompt": "Weather?"})
    working = await editor.tool_call()
    # Each session has its own cursor, so the second one plays the script from its start.
    editor.tool_answers = ["rain"]
    assert (await editor.run("Weather again?"))["outcome"] == "completed"
    editor.answer_tool(working)
    assert (await editor.wait_turn(first["turnId"]))["outcome"] == "completed"


# --- what does not go to the client --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"city": 5}, "city: 5 is not of type 'string'"),
        ({}, "arguments: 'city' is a required property"),
    ],
)
async def test_wrong_arguments_are_told_to_the_model_and_go_nowhere(given, says, begin):
    wrong = call("weather", **given)
    editor = await begin("stock", [step(wrong), DONE], tools=TOOLS, tool_answers=["sunny"])
    assert (await editor.run("Weather?"))["outcome"] == "completed"
    assert result(editor) == ("error", f"weather: {says}")
    assert editor.tool_calls == []


@pytest.mark.parametrize(
    "arguments",
    ['{"city": NaN}', '{"city": "\\ud800"}', "[]", '{"city"', f'{{"city": {"[" * 600}{"]" * 600}}}'],
)
async def test_arguments_that_are_no_json_go_nowhere(arguments, begin):
    tool = client_tool("weather", city={})
    odd = {"name": "weather", "arguments": arguments}
    editor = await begin("stock", [step(odd), DONE], tools=[tool], tool_answers=lambda _: "sunny")
    assert (await editor.run("Weather?"))["outcome"] == "completed"
    assert result(editor)[0] == "error"
    assert editor.tool_calls == []


@pytest.mark.parametrize("mode", ["plan", "explore"])
async def test_a_turn_that_only_looks_is_offered_only_what_looks(mode, begin):
    editor = await begin(
        "stock", [step(LIVE, ROME), DONE], tools=TOOLS, tool_answers=lambda asked: asked.name
    )
    assert (await editor.run("Look.", mode=mode))["outcome"] == "completed"
    assert {"weather", "choose"} == set(data_of(editor, "model.requested")[0]["tools"]) & {
        "weather", "choose", "deploy", "format_all",
    }  # fmt: skip
    assert results(editor)["d_1"][0] == "denied"
    assert [asked.name for asked in editor.tool_calls] == ["weather"]
    listed = (await editor.command("outrider.tools", {"mode": mode}))["tools"]
    assert WEATHER in listed
    assert DEPLOY not in listed


# --- approval ------------------------------------------------------------------------------------------------


async def test_what_has_an_effect_needs_a_yes_that_names_it(begin):
    editor = await begin(
        "stock", [step(LIVE), DONE], tools=TOOLS, tool_answers=["deployed"], answers=["Allow once"]
    )
    assert (await editor.run("Deploy."))["outcome"] == "completed"
    assert editor.questions[0].message.startswith('Tool deploy {"target": "live"}\n')
    assert result(editor) == ("ok", "deployed")
    assert types(editor).index("approval.resolved") < types(editor).index("tool.asked")


@pytest.mark.parametrize("answer", ["Reject", Dismiss(), Fail(), Reply({"title": "Yes"})])
async def test_without_a_yes_the_client_is_not_asked(answer, begin):
    editor = await begin(
        "stock", [step(LIVE), DONE], tools=TOOLS, tool_answers=["deployed"], answers=[answer]
    )
    outcome = (await editor.run("Deploy."))["outcome"]
    assert outcome == ("completed" if answer == "Reject" else "needs_input")
    assert editor.tool_calls == []
    if answer == "Reject":
        assert result(editor) == ("denied", "The user rejected this.")


async def test_a_grant_covers_the_identical_call_alone(begin):
    again = call("deploy", target="live")
    other = call("deploy", target="test")
    editor = await begin(
        "stock",
        [step(LIVE), step(again), step(other), DONE],
        tools=TOOLS,
        tool_answers=lambda _: "deployed",
        answers=["Allow for this session", "Reject"],
    )
    await editor.run("Deploy.")
    assert [status for status, _ in results(editor).values()] == ["ok", "ok", "denied"]
    assert "covers this tool with exactly these arguments" in editor.questions[0].message


@pytest.mark.parametrize(("mode", "asked"), [("ask", 2), ("auto-edit", 1), ("full", 0)])
async def test_the_permission_mode_decides_as_for_other_tools(mode, asked, begin):
    calls = step(call("format_all"), LIVE)
    editor = await begin(
        "stock",
        [calls, DONE],
        {"permissionMode": mode},
        tools=TOOLS,
        tool_answers=lambda _: "done",
        answers=["Allow once"] * asked,
    )
    await editor.run("Go.")
    assert len(editor.questions) == asked
    assert [one.name for one in editor.tool_calls] == ["format_all", "deploy"]


async def test_nothing_hides_in_a_title(begin):
    sly = call("deploy", target="test\u202e\x1b[2K" + "x" * 500)
    editor = await begin("stock", [step(sly), DONE], tools=TOOLS, tool_answers=["no"], answers=["Reject"])
    await editor.run("Deploy.")
    title, _, rest = editor.questions[0].message.partition("\n")
    assert len(title) == 200
    assert "\\u202e\\u001b[2K" in title
    assert "x" * 500 in rest


# --- no answer -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("profile", KINDS)
async def test_an_editor_that_knows_no_tools_parks_and_anybody_can_answer(profile, begin):
    editor = await begin(profile, [step(ROME), DONE], tools=TOOLS)
    waiting = await editor.run("Weather?")
    assert waiting["outcome"] == "needs_input"
    assert waiting["open"] == [
        {
            "id": "open_1",
            "kind": "tool",
            "turnId": "turn_1",
            "callId": "w_1",
            "title": "Tool weather",
            "detail": '{"city": "Rome"}',
            "options": [],
            "allowFreeForm": True,
        }
    ]
    (status,) = (await editor.command("outrider.status"))["sessions"]
    assert (status["state"], status["open"]) == ("parked", waiting["open"])
    assert await refused(editor, id="open_1", decision="allow_once") == "invalid"
    await editor.command("outrider.answer", {"id": "open_1", "answer": "sunny"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor) == ("ok", "sunny")
    assert data_of(editor, "tool.answered")[0]["channel"] == "command"
    assert await refused(editor, id="open_1", answer="rain") == "already_resolved"


@pytest.mark.parametrize(
    "answer",
    [
        Dismiss(), Never(), Fail(), Fail(code=-32601), Reply({}), Reply("sunny"), Reply(0), Reply(True),
        Reply({"content": None}), Reply({"content": ["sunny"]}), Reply({"content": "sunny", "isError": "no"}),
        Reply([{"content": "sunny"}]),
    ],
    ids=str,
)  # fmt: skip
async def test_what_is_no_result_is_never_made_one(answer, begin):
    editor = await begin("stock", [step(ROME), DONE], SOON, tools=TOOLS, tool_answers=[answer])
    waiting = await editor.run("Weather?")
    assert waiting["outcome"] == "needs_input"
    assert types(editor)[-3:] == ["tool.started", "tool.asked", "turn.parked"]
    await editor.command("outrider.answer", {"id": waiting["open"][0]["id"], "error": "nobody knows"})
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor) == ("error", "nobody knows")


async def test_a_late_answer_of_the_client_counts(begin):
    editor = await begin("stock", [step(ROME), DONE], SOON, tools=TOOLS, tool_answers=[Late("sunny")])
    assert (await editor.run("Weather?"))["outcome"] == "needs_input"
    assert not editor.tool_calls[0].withdrawn
    editor.answer_tool(editor.tool_calls[0])
    await editor.event("turn.resumed")
    assert (await editor.wait_turn())["outcome"] == "completed"
    assert result(editor) == ("ok", "sunny")


async def test_the_first_answer_wins_and_the_client_is_told_to_stop(begin):
    editor = await begin("stock", [step(ROME), DONE], LONG, tools=TOOLS, tool_answers=[Late("rain")])
    started = await editor.command("outrider.run", {"prompt": "Weather?"})
    working = await editor.tool_call()
    await editor.command("outrider.answer", {"id": working.id, "answer": "sunny"})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    await editor.wait_for(lambda: working.withdrawn, "the withdrawal")
    editor.answer_tool(working)
    await editor.command("outrider.status")
    assert result(editor) == ("ok", "sunny")
    assert len(data_of(editor, "tool.answered")) == 1


async def test_a_turn_parks_when_the_last_of_its_calls_has_no_answer(begin):
    editor = await begin(
        "stock", [step(ROME, BERN), DONE], LONG, tools=TOOLS, tool_answers=[Dismiss(), Late("rain")]
    )
    started = await editor.command("outrider.run", {"prompt": "Weather?"})
    second = await editor.tool_call(2)
    (status,) = (await editor.command("outrider.status"))["sessions"]
    assert status["state"] == "running", "the client is at work on the second one"
    editor.answer_tool(second, Dismiss())
    waiting = await editor.wait_turn(started["turnId"])
    first_id, second_id = (item["id"] for item in waiting["open"])
    await editor.command("outrider.answer", {"id": second_id, "answer": "rain"})
    waiting = await editor.wait_turn(started["turnId"])
    assert [item["id"] for item in waiting["open"]] == [first_id]
    await editor.command("outrider.answer", {"id": first_id, "answer": "sunny"})
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert results(editor) == {"w_1": ("ok", "sunny"), "w_2": ("ok", "rain")}


@pytest.mark.parametrize("profile", [str(one) for one in BAD_TOOLS])
async def test_a_hostile_client_gives_one_result_at_most(profile, begin):
    editor = await begin(profile, [step(ROME), DONE], tools=TOOLS, tool_answers=["sunny"])
    outcome = await editor.run("Weather?")
    if profile != "answers-tools-twice":
        assert outcome["outcome"] == "needs_input"
        await editor.command("outrider.answer", {"id": outcome["open"][0]["id"], "answer": "sunny"})
        outcome = await editor.wait_turn()
    assert outcome["outcome"] == "completed"
    assert result(editor) == ("ok", "sunny")


async def test_a_parked_call_is_answered_in_a_document_but_not_while_the_client_works(begin):
    editor = await begin("stock", [step(ROME), DONE], LONG, tools=TOOLS, tool_answers=[Late("rain")])
    started = await editor.command("outrider.run", {"prompt": "Weather?"})
    working = await editor.tool_call()
    offered = [action["title"] for action in await editor.code_actions("README.md")]
    assert [title for title in offered if "weather" in title or "Allow" in title or "Reject" in title] == []
    editor.answer_tool(working, Dismiss())
    await editor.wait_turn(started["turnId"])
    assert editor.said[-1].text == (
        "Outrider is waiting for you: “Tool weather”. The editor gave no result; code actions answer it."
    )
    offered = [action["title"] for action in await editor.code_actions("README.md")]
    assert [title for title in offered if "weather" in title] == [
        "Outrider: Answer in a document… — Tool weather"
    ]
    opened = await editor.take_action("Outrider: Answer in a document…")
    assert '> {"city": "Rome"}' in editor.text(opened["uri"])
    editor.type(opened["uri"], "sunny")
    await editor.code_actions(opened["uri"])
    await editor.take_action("Outrider: answer “sunny”")
    assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
    assert result(editor) == ("ok", "sunny")


@pytest.mark.parametrize("settings", [LONG, SOON], ids=["at work", "parked"])
async def test_a_cancel_takes_the_call_back(settings, begin):
    editor = await begin(
        "stock", [step(ROME, BERN), DONE], settings, tools=TOOLS, tool_answers=lambda _: Never()
    )
    started = await editor.command("outrider.run", {"prompt": "Weather?"})
    await editor.tool_call(2)
    if settings is SOON:
        await editor.event("turn.parked")
    await editor.command("outrider.cancel", {"turnId": started["turnId"]})
    assert [status for status, _ in results(editor).values()] == ["cancelled", "cancelled"]
    await editor.wait_for(lambda: all(one.withdrawn for one in editor.tool_calls), "the withdrawals")
    assert await refused(editor, id=editor.tool_calls[0].id, answer="x") == "already_resolved"
    assert (await editor.command("outrider.status"))["sessions"][0]["open"] == []


# --- restart -------------------------------------------------------------------------------------------------


class House:
    """One workspace and one log, and servers on it, one after another."""

    def __init__(self, workspace, turns):
        self.workspace = workspace
        self.model = scripted(workspace, turns)

    def server(self, *, settings=None, tools=TOOLS, **how):
        given = {**RANDOM, **LONG, **(settings or {})}
        return start_session("stock", self.workspace, self.model, given, tools=tools, **how)

    async def checked(self, editor, session_id):
        events = (await editor.command("outrider.events", {"sessionId": session_id}))["events"]
        assert_well_formed(events)
        return events


@pytest.fixture
async def open_house(workspace):
    """Makes a house of its turns; its log must give the same when it is run again."""
    yield lambda turns: House(workspace, turns)
    await keep_sessions(workspace.parent / f"{workspace.name}.state")


async def at_the_client(house, *, kill=False, **how):
    """Run until the client has the call, and end the server; gives the session, the turn and the call."""
    connection = Stdio(cwd=house.workspace.parent) if kill else "in-process"
    async with house.server(connection=connection, tool_answers=[Never()], **how) as editor:
        started = await editor.command("outrider.run", {"prompt": "Go."})
        asked = await editor.tool_call()
        if kill:
            connection.kill()
            await connection.wait()
            await editor.wait_for(lambda: editor.ended, "the end of the connection")
            connection.fault = None
    assert kill or types(editor)[-2:] == ["turn.parked", "session.closed"]
    assert not asked.withdrawn, "a server that ends leaves the client at work"
    return started["sessionId"], started["turnId"], asked


@pytest.mark.parametrize("kill", [False, True], ids=["closed", "killed"])
@pytest.mark.parametrize("one", [ROME, LIVE], ids=["read", "execute"])
async def test_after_a_restart_the_call_is_asked_again_as_the_same(one, kill, open_house):
    house = open_house([step(one), DONE])
    session, turn, before = await at_the_client(house, kill=kill, answers=["Allow once"])
    async with house.server(tool_answers=["done"]) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        (again,) = editor.tool_calls
        assert (again.id, again.call_id, again.input) == (before.id, before.call_id, before.input)
        assert again.again
        assert not before.again
        assert editor.questions == [], "the yes of before still holds"
        events = await house.checked(editor, session)
        assert [event["data"]["id"] for event in events if event["type"] == "tool.asked"] == [before.id]
        assert result(editor) == ("ok", "done")


async def test_a_call_of_the_log_is_answered_without_a_resume(open_house):
    house = open_house([step(ROME), DONE])
    session, turn, before = await at_the_client(house)
    async with house.server(tool_answers=[Never()]) as editor:
        await editor.command("outrider.answer", {"id": before.id, "answer": "sunny"})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert result(editor) == ("ok", "sunny")
        assert await refused(editor, id=before.id, answer="rain") == "already_resolved"
        await house.checked(editor, session)


async def test_a_tool_that_is_gone_after_a_restart_is_an_error_that_says_so(open_house):
    house = open_house([step(LIVE), DONE])
    session, turn, before = await at_the_client(house, answers=["Allow once"])
    async with house.server(tools=[WEATHER]) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert result(editor) == (
            "error",
            f"{GONE} It is unknown whether the previous client ran it.",
        )
        assert await refused(editor, id=before.id, answer="x") == "already_resolved"
        await house.checked(editor, session)


async def test_an_answer_that_came_before_the_end_is_not_asked_for_again(open_house):
    house = open_house([step(ROME, BERN), DONE])
    async with house.server(tool_answers=["sunny", Never()]) as editor:
        started = await editor.command("outrider.run", {"prompt": "Go."})
        await editor.event("tool.answered")
        pending = await editor.tool_call(2)
    async with house.server(tool_answers=["rain"]) as editor:
        await editor.command("outrider.resume", {"sessionId": started["sessionId"]})
        assert (await editor.wait_turn(started["turnId"]))["outcome"] == "completed"
        assert [one.id for one in editor.tool_calls] == [pending.id]
        assert results(editor) == {"w_1": ("ok", "sunny"), "w_2": ("ok", "rain")}
        await house.checked(editor, started["sessionId"])


@pytest.mark.parametrize(("mode", "status"), [("read-only", "denied"), ("ask", "denied")])
async def test_a_mode_that_is_narrower_now_holds_for_what_was_handed_over(mode, status, open_house):
    house = open_house([step(LIVE), DONE])
    session, turn, _ = await at_the_client(house, settings={"permissionMode": "full"})
    async with house.server(
        settings={"permissionMode": mode}, tool_answers=["done"], answers=["Reject"]
    ) as editor:
        await editor.command("outrider.resume", {"sessionId": session})
        assert (await editor.wait_turn(turn))["outcome"] == "completed"
        assert editor.tool_calls == []
        assert result(editor)[0] == status
        assert result(editor)[1].endswith(
            "The client was asked to do it earlier; it is unknown whether it did."
        )
        await house.checked(editor, session)


# --- over a pipe, and by configuration -----------------------------------------------------------------------


async def test_over_a_pipe(workspace):
    model = scripted(workspace, [step(ROME, LIVE), DONE])
    async with start_session(
        "stock",
        workspace,
        model,
        connection="stdio",
        tools=TOOLS,
        tool_answers=lambda asked: f"{asked.name} done",
        answers=["Allow once"],
    ) as editor:
        assert (await editor.run("Go."))["outcome"] == "completed"
        assert results(editor) == {"w_1": ("ok", "weather done"), "d_1": ("ok", "deploy done")}
        assert_well_formed(editor.events)


async def test_a_workspace_registers_no_tools(begin):
    editor = await begin("stock", [step(ROME), DONE], configuration={"tools": TOOLS}, tool_answers=["sunny"])
    await editor.run("Weather?")
    assert "There is no tool 'weather'" in result(editor)[1]
    assert editor.tool_calls == []
    assert any("tools: cannot be set by the workspace" in said.text for said in editor.said)


async def test_a_bad_tool_is_left_out_aloud_and_the_rest_stay(begin):
    bad = client_tool("read_file")
    editor = await begin("stock", [step(ROME), DONE], tools=[bad, WEATHER], tool_answers=["sunny"])
    await editor.run("Weather?")
    assert result(editor) == ("ok", "sunny")
    assert any("tools.0.name: read_file is a tool of Outrider" in said.text for said in editor.said)
