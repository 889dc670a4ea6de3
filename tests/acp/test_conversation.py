"""Sessions of ACP, and the same work with every client that is known."""

import asyncio

import pytest
from acp.exceptions import RequestError
from acp_turns import EDIT, run

from outrider.testing.acp.profiles import ACP_PROFILES


@pytest.mark.parametrize("profile", ACP_PROFILES)
async def test_a_verified_fix(acp, profile, tariff):
    turns = [EDIT, run("python3 -m unittest -q"), {"text": "It costs two an hour."}]
    async with acp(profile, turns, ["Allow once", "Allow once"]) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "end_turn"
        assert "hours * 2" in tariff.read_text()
        assert client.said().startswith("I fix it.") and "It costs two an hour." in client.said()
        assert client.permissions[0].title.startswith("Edit tariff.py")
        (shown,) = client.permissions[0].diffs
        assert shown["path"] == str(tariff)
        assert "hours * 3" in shown["oldText"] and "hours * 2" in shown["newText"]
        ended = [one for one in client.of("tool_call_update") if one.get("status") == "completed"]
        assert [one["toolCallId"] for one in ended] == ["e", "r"]


@pytest.mark.parametrize(
    ("turns", "line"),
    [
        (
            [EDIT, run("python3 -m unittest -q"), {"text": "All done."}],
            "checked: tests (`python3 -m unittest -q`)",
        ),
        ([EDIT, {"text": "All tests pass."}], "unverified: no check was run"),
        (
            [EDIT, run("python3 -m unittest nosuch"), {"text": "All tests pass."}],
            "check failed: `python3 -m unittest nosuch` (exit code 1)",
        ),
        (
            [
                {"tool_calls": [{"name": "update_plan", "input": {"items": [{"text": "Read it"}]}}]},
                {"text": "Yes."},
            ],
            "1 item of the plan is open",
        ),
    ],
)
async def test_the_end_of_a_turn_says_what_was_checked(acp, tariff, turns, line):
    async with acp("plain", turns, ["Allow once"] * 2) as client:
        await client.prompt(await client.new_session(), "Two an hour.")
        assert client.said().rstrip().endswith(f"> {line}")


async def test_a_question_that_is_asked_again_shows_the_answer_and_no_words_for_the_model(acp, tariff):
    def ask(call_id):
        given = {"question": "Which colour?", "options": ["red", "blue"]}
        return {"tool_calls": [{"name": "ask_user", "id": call_id, "input": given}]}

    async with acp("plain", [ask("first"), ask("again"), {"text": "Done."}], ["blue"]) as client:
        await client.prompt(await client.new_session(), "Paint it.")
        (ended,) = [
            one
            for one in client.of("tool_call_update")
            if one["toolCallId"] == "again" and one.get("content")
        ]
        assert "Answered as before: blue" in str(ended["content"])
        assert "not asked again" not in str(ended["content"])


async def test_what_a_session_shows(acp, tariff):
    turns = [
        {
            "reasoning": "Think.",
            "text": "Look.",
            "tool_calls": [
                {
                    "name": "update_plan",
                    "input": {"items": [{"text": "Read it", "status": "in_progress"}]},
                },
                {"name": "read_file", "id": "a", "input": {"path": "tariff.py", "start_line": 2}},
            ],
        },
        {**EDIT, "usage": {"input_tokens": 900, "output_tokens": 100}},
        run("echo hello; exit 3"),
        {"text": "Done."},
    ]
    async with acp("plain", turns, ["Allow once", "Allow once"]) as client:
        session_id = await client.new_session()
        await client.until(lambda: client.of("available_commands_update"))
        names = {one["name"] for one in client.of("available_commands_update")[0]["availableCommands"]}
        assert {"undo", "redo", "changes", "review", "mode", "model"} <= names
        await client.prompt(session_id, "Two an hour.")
        assert client.said("agent_thought_chunk") == "Think."
        (plan,) = client.of("plan")
        assert [(one["content"], one["status"]) for one in plan["entries"]] == [("Read it", "in_progress")]
        calls = {one["toolCallId"]: one for one in client.of("tool_call")}
        assert {key: one["kind"] for key, one in calls.items()} == {"a": "read", "e": "edit", "r": "execute"}
        assert calls["a"]["locations"] == [{"path": str(tariff), "line": 2}]
        assert calls["a"]["rawInput"] == {"path": "tariff.py", "start_line": 2}
        last = {one["toolCallId"]: one for one in client.of("tool_call_update") if one.get("content")}
        assert last["e"]["content"][0]["type"] == "diff"
        assert "hello" in last["r"]["content"][0]["content"]["text"]
        assert [(one["used"], one["size"]) for one in client.of("usage_update")] == [(1000, 128_000)]
        assert client.of("session_info_update")[0]["title"] == "Two an hour."


async def test_a_command_in_a_terminal(acp):
    async with acp("zed", [run("echo hello; exit 3"), {"text": "Done."}], ["Allow once"]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Say hello.")
        (call,) = client.of("tool_call")
        assert call["content"] == [{"type": "terminal", "terminalId": "r"}]
        assert call["_meta"]["terminal_info"]["cwd"] == str(client.workspace)
        metas = [one["_meta"] for one in client.of("tool_call_update") if one.get("_meta")]
        printed = "".join(one["terminal_output"]["data"] for one in metas if "terminal_output" in one)
        assert "hello" in printed
        assert metas[-1]["terminal_exit"]["terminal_id"] == "r" and metas[-1]["terminal_exit"]["exit_code"]


async def test_sessions_are_listed_loaded_resumed_and_closed(acp, workspace):
    turns = [EDIT, {"text": "Done."}, {"text": "Two."}, {"text": "Again."}]
    async with acp("plain", turns, ["Allow once"]) as client:
        session_id = await client.new_session()
        unused = await client.new_session()
        await client.prompt(session_id, "Two an hour.")
        await client.request("session/close", {"sessionId": session_id})
        with pytest.raises(RequestError, match="is open"):
            await client.prompt(session_id, "Again.")

        listed = (await client.request("session/list", {"cwd": str(workspace)}))["sessions"]
        assert [(one["sessionId"], one["title"]) for one in listed] == [(session_id, "Two an hour.")]
        assert unused not in str(listed)
        assert (await client.request("session/list", {"cwd": "/elsewhere"}))["sessions"] == []

        before = len(client.updates)
        given = {"sessionId": session_id, "cwd": str(workspace), "mcpServers": []}
        loaded = await client.request("session/load", given)
        assert loaded["configOptions"][0]["currentValue"] == "ask"
        told = client.updates[before:]
        kinds = [one["sessionUpdate"] for one in told]
        assert (
            kinds.index("user_message_chunk") < kinds.index("agent_message_chunk") < kinds.index("tool_call")
        )
        assert told[kinds.index("user_message_chunk")]["content"]["text"] == "Two an hour."
        ended = [one for one in told if one["sessionUpdate"] == "tool_call_update" and one.get("status")]
        assert ended[-1]["status"] == "completed" and ended[-1]["content"][0]["type"] == "diff"
        assert await client.prompt(session_id, "And now?") == "end_turn"

        before = len(client.updates)
        await client.request("session/resume", given)
        assert not [one for one in client.updates[before:] if "chunk" in one["sessionUpdate"]]
        assert await client.prompt(session_id, "And then?") == "end_turn"
        assert client.said().endswith("Again.")


async def test_a_session_of_another_folder_is_not_opened_here(acp, workspace, tmp_path):
    async with acp("plain", [{"text": "Done."}]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Hello.")
        with pytest.raises(RequestError, match="belongs to"):
            await client.request(
                "session/load", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []}
            )


async def test_what_was_asked_when_the_client_went_away_is_asked_again(acp, workspace, tariff):
    async with acp("plain", [EDIT, {"text": "Done."}], lambda _: asyncio.Event().wait()) as client:
        session_id = await client.new_session()
        prompting = asyncio.create_task(client.prompt(session_id, "Two an hour."))
        await client.until(lambda: client.permissions)
    await asyncio.gather(prompting, return_exceptions=True)  # nobody hears its answer
    assert "hours * 3" in tariff.read_text()
    async with acp("plain", [EDIT, {"text": "Done."}], ["Allow once"]) as client:
        given = {"sessionId": session_id, "cwd": str(workspace), "mcpServers": []}
        await client.request("session/load", given)
        assert not client.permissions
        assert await client.prompt(session_id, "/continue") == "end_turn"
    assert "hours * 2" in tariff.read_text()


async def test_cancel(acp, tariff):
    async with acp("zed", [EDIT, {"text": "Done."}], lambda asked: _cancelled(client)) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "cancelled"
        assert "hours * 3" in tariff.read_text()
        assert await client.prompt(session_id, "Go on.") == "end_turn"


async def _cancelled(client):
    await client.connection.cancel(client.updates[-1]["sessionId"])


async def test_cancel_of_the_request_alone(acp, tariff):
    async def withdraw(_):
        (number,) = client._prompts
        client.send_raw({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": number}})
        await client.until(lambda: client.withdrawn)

    async with acp("zed", [EDIT, {"text": "Done."}], withdraw) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "Two an hour.") == "cancelled"
        assert "hours * 3" in tariff.read_text()


async def test_two_sessions_do_not_see_each_other(acp, workspace, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.py").write_text("b\n")
    look = {"tool_calls": [{"name": "read_file", "input": {"path": "b.py"}}]}
    async with acp("plain", [look, {"text": "Done."}]) as client:
        here = await client.new_session()
        there = (await client.request("session/new", {"cwd": str(other), "mcpServers": []}))["sessionId"]
        await client.prompt(here, "Look.")
        await client.prompt(there, "Look.")
        status = {
            one["sessionId"]: one["status"]
            for one in client.of("tool_call_update")
            if one.get("status") != "in_progress"
        }
        assert status == {here: "failed", there: "completed"}
