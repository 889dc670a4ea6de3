"""What a client can put into a prompt."""

import base64
import json

import pytest
from acp.exceptions import RequestError

from outrider.testing.acp.fake_client import start_client
from outrider.workspace.images import BYTES_LIMIT
from pictures import png
from provider_server import ProviderServer, Said


def expecting(*texts):
    return {"text": "I see.", "expect": {"last_message_contains": list(texts)}}


async def test_text_links_and_resources(acp, workspace):
    uri = (workspace / "tariff.py").as_uri()
    said = ["Look at @tariff.py (lines 1 to 2) and @notes.md.", "notes.md:\n```\nRead me.\n```"]
    async with acp("zed", [expecting(*said)]) as client:
        session_id = await client.new_session()
        blocks = [
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": f"{uri}#L1:2", "name": "tariff.py"},
            {"type": "text", "text": " and "},
            {
                "type": "resource",
                "resource": {
                    "uri": (workspace / "notes.md").as_uri(),
                    "text": "Read me.\n",
                    "mimeType": "text/plain",
                },
            },
            {"type": "text", "text": "."},
        ]
        assert await client.prompt(session_id, *blocks) == "end_turn"


async def test_an_image(workspace):
    content = png(640, 480)
    async with ProviderServer() as server:
        server.plays("openai-chat", Said("A page."))
        settings = {
            "model": "local/some-model",
            "providers": {"local": {"kind": "openai-chat", "baseUrl": server.url}},
            "models": {"local/some-model": {"vision": True}},
            "trusted": True,
        }
        async with start_client("zed", workspace, settings) as client:
            session_id = await client.new_session()
            data = base64.b64encode(content).decode()
            image = {"type": "image", "data": data, "mimeType": "image/png"}
            assert await client.prompt(session_id, "What is it?", image) == "end_turn"
            assert client.said().startswith("A page.")
        (part,) = [one for one in server.bodies[-1]["messages"][-1]["content"] if one["type"] == "image_url"]
        assert part["image_url"]["url"].endswith(data)


@pytest.mark.parametrize(
    ("block", "where"),
    [
        ({"type": "video", "data": "x"}, "prompt[1].type"),
        ({"type": "audio", "data": "x", "mimeType": "audio/wav"}, "prompt[1].type"),
        ({"type": "text"}, "prompt[1].text"),
        ({"type": "text", "text": 3}, "prompt[1].text"),
        ({"type": "image", "data": "%", "mimeType": "image/png"}, "prompt[1].data"),
        (
            {"type": "image", "data": base64.b64encode(b"BM").decode(), "mimeType": "image/bmp"},
            "prompt[1].data",
        ),
        (
            {"type": "image", "data": base64.b64encode(bytes(BYTES_LIMIT + 1)).decode(), "mimeType": "x"},
            "prompt[1].data",
        ),
        ({"type": "resource"}, "prompt[1].resource"),
        (3, "prompt[1].type"),
        (None, "prompt[1].type"),
    ],
)
async def test_a_block_that_cannot_be_used_is_refused_by_its_place(acp, block, where):
    async with acp("zed", [{"text": "Done."}]) as client:
        session_id = await client.new_session()
        with pytest.raises(RequestError) as refused:
            await client.prompt(session_id, "Look.", block)
        assert refused.value.code == -32602
        assert refused.value.data["path"].startswith(where)
        assert await client.prompt(session_id, "Go on.") == "end_turn"


@pytest.mark.parametrize("given", [None, "text", [], {}, [{"type": "text", "text": " "}]])
async def test_a_prompt_that_says_nothing(acp, given):
    async with acp("zed", [{"text": "Done."}]) as client:
        session_id = await client.new_session()
        with pytest.raises(RequestError, match="prompt"):
            await client.request("session/prompt", {"sessionId": session_id, "prompt": given})


async def test_ten_megabytes(acp, workspace):
    big = "x" * 10_000_000
    async with acp("zed", [expecting("big.txt"), {"text": "Done."}]) as client:
        session_id = await client.new_session()
        with pytest.raises(RequestError, match="has 10000000 characters; the limit is 4000000"):
            await client.prompt(session_id, big)
        # A file that is attached is read by the model as far as it wants.
        resource = {"uri": (workspace / "big.txt").as_uri(), "text": big}
        assert (
            await client.prompt(session_id, "Look.", {"type": "resource", "resource": resource}) == "end_turn"
        )
        started = json.dumps(client.pipe.messages)
        assert "x" * 100_000 not in started


async def test_a_link_out_of_the_workspace_is_not_read_without_asking(acp, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    look = {"tool_calls": [{"name": "read_file", "input": {"path": str(secret)}}]}
    async with acp(
        "zed", [look, {"text": "Done.", "expect": {"messages_lack": ["the secret"]}}], ["Reject"]
    ) as client:
        session_id = await client.new_session()
        link = {"type": "resource_link", "uri": secret.as_uri(), "name": "secret.txt"}
        assert await client.prompt(session_id, "Look at ", link) == "end_turn"


def tagged(*texts):
    return [
        {"type": "text", "text": f"<previous_user_message>{text}</previous_user_message>"} for text in texts
    ]


async def test_the_messages_before_it_that_a_client_sends_again_are_left_out(acp):
    """avante.nvim: the newest message first, then those before it, then how many there are."""
    count = {
        "type": "text",
        "text": "<system_context>Continuing from previous session with 2 recent user messages</system_context>",
    }
    turns = [{"text": "One."}, {"text": "Two.", "expect": {"messages_lack": ["previous_user_message"]}}]
    async with acp("avante", turns) as client:
        session_id = await client.new_session()
        await client.prompt(session_id, "Do the first.")
        assert (
            await client.prompt(session_id, *tagged("Do the second.", "Do the first."), count) == "end_turn"
        )
        assert await client.prompt(session_id, *tagged("/status", "Do the second."), count) == "end_turn"
        assert client.said().count("Two.") == 1  # the slash command is one
        listed = (await client.request("session/list", {}))["sessions"]
        assert [one["title"] for one in listed] == ["Do the first."]


@pytest.mark.parametrize(
    "given",
    [
        tagged("Only this."),
        [*tagged("a"), {"type": "text", "text": "and <system_context> besides"}],
        [{"type": "text", "text": "<system_context>Continuing from previous session with 2"}],
    ],
)
async def test_what_only_looks_like_that_is_taken_whole(acp, given):
    turns = [{"text": "Done.", "expect": {"messages_contain": [given[0]["text"]]}}]
    async with acp("avante", turns) as client:
        assert await client.prompt(await client.new_session(), *given) == "end_turn"
