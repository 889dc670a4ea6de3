"""What a client hands over with a session, its MCP servers, and what it does with whole sessions: copies and deletes them."""

import sys
from pathlib import Path

import pytest
from acp.exceptions import RequestError
from acp_turns import EDIT

pytest.importorskip("mcp", reason="the extra outrider[mcp] is not installed")
import outrider.mcp.session  # noqa: F401 (takes seconds on a busy machine; loaded once, before any time-out runs)

ODD = Path(__file__).parents[1] / "mcp" / "odd_server.py"
DONE = {"text": "Done."}


def stdio(name="odd", *arguments, **env):
    return {
        "name": name,
        "command": sys.executable,
        "args": ["-u", str(ODD), *arguments],
        "env": [{"name": key, "value": value} for key, value in env.items()],
    }


def call(tool, **given):
    return {"tool_calls": [{"name": tool, "id": "m", "input": given}]}


async def begun(client, *servers, **more):
    given = {"cwd": str(client.workspace), "mcpServers": list(servers), **more}
    return str((await client.request("session/new", given))["sessionId"])


async def test_a_server_that_the_client_hands_over_is_used_once_the_user_allows_it(acp):
    async with acp("zed", [call("odd__plain", text="hello"), DONE], ["Allow once"]) as client:
        session_id = await begun(client, stdio())
        assert await client.prompt(session_id, "Try it") == "end_turn"
        (asked,) = client.permissions
        assert asked.title.startswith("odd__plain")
        (ended,) = [one for one in client.of("tool_call_update") if one.get("status") == "completed"]
        assert "plain hello 1" in str(ended["content"])


async def test_its_variables_are_the_clients_and_not_put_in(acp):
    """The client has put in what it means; what looks like a variable afterwards is a part of a password, say."""
    async with acp("plain", [call("odd__env"), DONE], ["Allow once"]) as client:
        await client.prompt(await begun(client, stdio(A="${HOME} ${NOT_THERE} ${workspaceFolder}")), "Try it")
        assert "${HOME} ${NOT_THERE} ${workspaceFolder}" in str(client.of("tool_call_update")[-1])


async def test_a_refused_call_never_reaches_it(acp):
    turns = [call("odd__plain", text="a"), call("odd__plain", text="b"), DONE]
    async with acp("plain", turns, ["Reject", "Allow once"]) as client:
        await client.prompt(await begun(client, stdio()), "Try it")
        (ended,) = [one for one in client.of("tool_call_update") if one.get("status") == "completed"]
        assert "plain b 1" in str(ended["content"])  # its first call


async def test_a_name_that_no_rule_could_name_becomes_a_word(acp):
    turns = [call("My-odd-server__plain", text="hello"), DONE]
    async with acp("plain", turns, ["Allow once"]) as client:
        await client.prompt(await begun(client, stdio("My odd (server)")), "Try it")
        assert client.permissions[0].title.startswith("My-odd-server__plain")


async def test_of_two_that_become_one_word_the_second_is_named_and_not_used(acp):
    turns = [call("my-odd__plain", text="hello"), DONE]
    async with acp("plain", turns, ["Allow once"]) as client:
        second = {"name": "my odd", "command": "touch", "args": ["made"], "env": []}
        await client.prompt(await begun(client, stdio("my-odd"), second), "Try it")
        assert not (client.workspace / "made").exists()
        assert "The MCP server my odd is not used: another one is called my-odd, too." in client.said()
        assert "plain hello 1" in str(client.of("tool_call_update")[-1])


@pytest.mark.parametrize(
    ("servers", "place"),
    [
        ("odd", "mcpServers"),
        ([7], "mcpServers[0]"),
        ([{"name": "a"}], "mcpServers[0].command"),
        ([stdio(), {"type": "http", "name": "b", "headers": []}], "mcpServers[1].url"),
        ([{**stdio(), "env": [{"name": "A"}]}], "mcpServers[0].env[0].value"),
    ],
)
async def test_a_server_that_has_not_the_shape_is_refused_by_its_place(acp, servers, place):
    async with acp("plain", [DONE]) as client:
        given = {"cwd": str(client.workspace), "mcpServers": servers}
        with pytest.raises(RequestError) as refused:
            await client.request("session/new", given)
        assert refused.value.code == -32602
        assert refused.value.data["path"] == place


async def test_a_transport_that_is_not_spoken_is_named_and_the_task_runs(acp):
    old = {"type": "sse", "name": "old", "url": "http://127.0.0.1:9/sse", "headers": []}
    async with acp("plain", [DONE]) as client:
        assert await client.prompt(await begun(client, old), "Try it") == "end_turn"
        assert "The MCP server old is not used: it speaks SSE" in client.said()


async def test_a_fork_has_what_was_said_and_goes_its_own_way(acp, workspace, tariff):
    async with acp("plain", [EDIT, DONE, {"text": "Of one."}], ["Allow once"]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Two an hour.")
        given = {"sessionId": session_id, "cwd": str(workspace), "mcpServers": []}
        copy = (await client.request("session/fork", given))["sessionId"]
        assert copy != session_id
        # Each house plays the script from where its own session is.
        for one in (copy, session_id):
            assert await client.prompt(one, "Go on.") == "end_turn"
        assert client.said().count("Of one.") == 2
        assert len(client.permissions) == 1
        listed = (await client.request("session/list", {"cwd": str(workspace)}))["sessions"]
        assert {one["sessionId"] for one in listed} == {session_id, copy}


async def test_what_cannot_be_forked_is_refused_and_leaves_no_copy(acp, workspace, tmp_path):
    async with acp("plain", [DONE]) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Hello.")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        for given, why in (
            ({"sessionId": "nosuch", "cwd": str(workspace)}, "there is no session"),
            ({"sessionId": session_id, "cwd": str(elsewhere)}, "belongs to"),
            (
                {"sessionId": await client.new_session(), "cwd": str(workspace)},
                "there is no session|has no turns",
            ),
        ):
            with pytest.raises(RequestError, match=why):
                await client.request("session/fork", {"mcpServers": [], **given})
        (listed,) = (await client.request("session/list", {}))["sessions"]
        assert listed["sessionId"] == session_id


async def test_a_deleted_session_is_gone_open_or_not_and_there_may_be_none(acp, workspace):
    async with acp("plain", [DONE, DONE]) as client:
        shut, still_open = await client.new_session(), await client.new_session()
        for session_id in (shut, still_open):
            await client.prompt(session_id, "Hello.")
        await client.request("session/close", {"sessionId": shut})
        for session_id in (shut, still_open, shut, "nosuch"):
            assert await client.request("session/delete", {"sessionId": session_id}) == {}
        assert (await client.request("session/list", {}))["sessions"] == []
        given = {"sessionId": still_open, "cwd": str(workspace), "mcpServers": []}
        with pytest.raises(RequestError, match="there is no session"):
            await client.request("session/load", given)
