"""What ACP has no word for."""

import pytest
from acp.exceptions import RequestError
from acp_turns import EDIT, TWO_HUNKS

DONE = {"text": "Done."}


async def test_undo_and_redo(acp, tariff):
    async with acp("plain", [EDIT, DONE], ["Allow once"]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Two an hour.")
        await client.prompt(session_id, "/undo")
        assert "hours * 3" in tariff.read_text()
        assert "Undid 1 change in `tariff.py`." in client.said()
        await client.prompt(session_id, "/redo")
        assert "hours * 2" in tariff.read_text()
        assert "Brought back 1 change in `tariff.py`." in client.said()
        await client.prompt(session_id, "/undo nonsense")
        assert "hours * 2" in tariff.read_text()


@pytest.mark.parametrize("profile", ["plain", "codecompanion", "avante"])
async def test_changes_and_review(acp, profile, tariff):
    async with acp(
        profile, [TWO_HUNKS, DONE], ["Allow once", "Keep this change", "Undo this change"]
    ) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Two an hour.")
        await client.prompt(session_id, "/changes")
        assert "edit `tariff.py`" in client.said() and "+1 −1" in client.said()
        await client.prompt(session_id, "/changes patch")
        assert "+    return hours * 2" in client.said()
        await client.prompt(session_id, "/review")
    assert "def cost" in tariff.read_text() and "hours * 3" in tariff.read_text()


async def test_modes(acp, tariff):
    turns = [EDIT, DONE, {"text": "I only look.", "expect": {"messages_contain": "plan"}}]
    async with acp("zed", turns) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "/mode auto-edit")
        assert client.of("current_mode_update")[-1]["currentModeId"] == "auto-edit"
        await client.prompt(session_id, "Two an hour.")
        assert not client.permissions and "hours * 2" in tariff.read_text()
        await client.request("session/set_mode", {"sessionId": session_id, "modeId": "plan"})
        assert client.of("config_option_update")[-1]["configOptions"][0]["currentValue"] == "plan"
        await client.prompt(session_id, "What would you do?")
        answer = await client.request(
            "session/set_config_option", {"sessionId": session_id, "configId": "mode", "value": "full"}
        )
        assert answer["configOptions"][0]["currentValue"] == "full"


@pytest.mark.parametrize(
    ("method", "params", "problem"),
    [
        ("session/set_mode", {"modeId": "yolo"}, "yolo"),
        ("session/set_mode", {}, "modeId"),
        ("session/set_config_option", {"configId": "color", "value": "red"}, "color"),
        ("session/set_config_option", {"configId": "mode", "value": True}, "value"),
        ("session/set_config_option", {"configId": "thinking", "value": "a lot"}, "a lot"),
    ],
)
async def test_an_unknown_choice_is_refused(acp, method, params, problem):
    async with acp("zed", [DONE]) as client:
        session_id = await client.new_session()
        with pytest.raises(RequestError, match=problem) as refused:
            await client.request(method, {"sessionId": session_id, **params})
        assert refused.value.code == -32602


async def test_a_folder_that_is_not_trusted_is_only_read_whatever_is_chosen(acp, tariff):
    async with acp("zed", [EDIT, DONE], trusted=False) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "/mode full")
        await client.prompt(session_id, "Two an hour.")
        assert "works in permission mode read-only, because this folder is not trusted" in client.said()
    assert "hours * 3" in tariff.read_text()


async def test_a_mode_for_one_task(acp, tariff):
    async with acp("zed", [EDIT, DONE]) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, "/plan Two an hour.") == "end_turn"
        assert not client.permissions and "hours * 3" in tariff.read_text()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("/help", "`/undo [step | turn | session | id]`"),
        ("/status", "Idle; 0 tokens in"),
        ("/jobs", "No command runs"),
        ("/changes", "Nothing is changed."),
        ("/undo", "nothing to undo"),
        ("/review", "nothing to review"),
        ("/continue", "has not stopped before its end"),
        ("/retry", "There is no message yet."),
        ("/restore", "There is no message yet."),
        ("/resend", "There is no message yet."),
        ("/rename", "behind /rename"),
        ("/rename Fares", "named “Fares”"),
        ("/steer", "behind /steer"),
        ("/plan", "Write the task"),
        ("/model", "Model: `scripted:"),
        ("/thinking", "Thinking: `default`"),
        ("/permissions", "Your rules are in"),
        ("/doctor", "ok:"),
    ],
)
async def test_each_command_answers(acp, command, said):
    async with acp("plain", []) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, command) == "end_turn"
        assert said in client.said()


async def test_an_undo_of_an_earlier_turn_is_only_named(acp, tariff):
    async with acp("plain", [EDIT, DONE, DONE], ["Allow once"]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Two an hour.")
        await client.prompt(session_id, "Look again.")
        await client.prompt(session_id, "/undo")
        assert "hours * 2" in tariff.read_text()
        named = client.said().partition("`/undo ")[2].partition("`")[0]
        assert "“Two an hour.”" in client.said()
        await client.prompt(session_id, f"/undo {named}")
    assert "hours * 3" in tariff.read_text()


async def test_a_message_is_taken_back_or_replaced(acp, tariff):
    lacks = {"text": "Four it is.", "expect": {"messages_lack": "Two an hour"}}
    async with acp("plain", [EDIT, DONE, lacks, DONE], ["Allow once"]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Two an hour.")
        await client.prompt(session_id, "/restore")
        assert "1. Two an hour." in client.said()
        await client.prompt(session_id, "/restore 1 nonsense")
        await client.prompt(session_id, "/restore 1 conversation")
        assert "The model has forgotten this message" in client.said()
        assert "hours * 2" in tariff.read_text()
        assert await client.prompt(session_id, "Four an hour.") == "end_turn"
        assert "Four it is." in client.said()
        await client.prompt(session_id, "/resend 1")
        assert "Write the new message" in client.said()
        assert await client.prompt(session_id, "/resend 1 Five an hour.") == "end_turn"
        assert "Done." in client.said().partition("Write the new message")[2]


async def test_a_failed_task_is_tried_again_and_a_spent_budget_gone_on_with(acp):
    cut = {"text": "Half of", "fault": {"kind": "cut", "after": 4}}
    look = {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}}]}
    once = {"retry": {"attempts": 1}, "limits": {"steps": 1}}
    async with acp("plain", [cut, look, DONE], **once) as client:
        session_id = await client.new_session()
        with pytest.raises(RequestError):
            await client.prompt(session_id, "Look.")
        assert await client.prompt(session_id, "/retry") == "max_turn_requests"
        assert await client.prompt(session_id, "/continue") == "end_turn"
        assert "Done." in client.said()
