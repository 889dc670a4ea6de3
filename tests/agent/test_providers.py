"""Every dialect, through the front door: the same task gives the same events, and what goes back is whole."""

import json
from itertools import pairwise

import pytest

from outrider.testing.scenario import embedded, start_session
from provider_server import IN_DIALECT, USAGE, ProviderServer, Said, fails, tells
from replayed import keep_sessions

KINDS = sorted(IN_DIALECT)
READS = [("call_a", "read_file", {"path": "README.md"}), ("call_b", "list_files", {"path": "."})]
SIGNED = "c2lnbmVk/+=="
FIRST = Said("Let me look 😀.", READS, reasoning="First the readme.", signed=SIGNED)


async def run(
    workspace, kind, *turns, known=None, env=None, model="some-model", more=None, tasks=1, **settings
):
    """The events of a session that asks a provider of that kind, and what the provider received."""
    async with ProviderServer() as server:
        server.plays(kind, *turns)
        server.known["/api/show"] = tells(known or {"capabilities": ["tools"]})
        provider = {"kind": kind, "baseUrl": server.url, **settings}
        options = {"providers": {"local": provider}, "testing": None, **(more or {})}
        connection = embedded(workspace, env=env)
        async with start_session(
            "stock", workspace, f"local/{model}", options, connection=connection
        ) as editor:
            ended = await editor.run("Look around")
            for _ in range(1, tasks):
                ended = await editor.run("And again", sessionId=editor.session_id)
        await keep_sessions(workspace.parent / editor.options["stateDir"])
        return ended, editor.events, server.received


def answers(events):
    return [event["data"] for event in events if event["type"] == "model.responded"]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_dialect_gives_text_reasoning_calls_and_usage(kind, workspace):
    ended, events, _ = await run(workspace, kind, FIRST, Said("Two files."))
    first, second = answers(events)
    assert (first["text"], first["reasoning"]) == (FIRST.text, FIRST.reasoning)
    assert [(call["name"], json.loads(call["arguments"])) for call in first["toolCalls"]] == [
        call[1:] for call in READS
    ]
    assert (first["finishReason"], second["finishReason"]) == ("tool_calls", "stop")
    assert first["usage"] == dict(zip(("inputTokens", "outputTokens"), USAGE, strict=True))
    assert (ended["outcome"], ended["summary"]) == ("completed", "Two files.")


def gone_back(kind, body):
    """What the second request says of the first answer: blocks for the model alone, calls, and results in order."""
    match kind:
        case "openai-chat":
            said, *results = body["messages"][2:]
            calls = [call["function"]["name"] for call in said["tool_calls"]]
            return said["reasoning_details"], calls, [result["tool_call_id"] for result in results]
        case "anthropic":
            said, results = body["messages"][1:]
            calls = [block["name"] for block in said["content"] if block["type"] == "tool_use"]
            return said["content"][:2], calls, [result["tool_use_id"] for result in results["content"]]
        case "openai-responses":
            reasoning, _text, *rest = body["input"][1:]
            calls = [item["name"] for item in rest if item["type"] == "function_call"]
            return [reasoning], calls, [item["call_id"] for item in rest[len(calls) :]]
        case "gemini":
            said, results = body["contents"][1:]
            parts = [part for part in said["parts"] if "functionCall" in part]
            signed = [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
            calls = [part["functionCall"]["name"] for part in parts]
            ids = dict(zip(("read_file", "list_files"), ("call_a", "call_b"), strict=True))
            return signed, calls, [ids[part["functionResponse"]["name"]] for part in results["parts"]]
        case "ollama":
            said, *results = body["messages"][2:]
            calls = [call["function"]["name"] for call in said["tool_calls"]]
            return said["thinking"], calls, [result["tool_call_id"] for result in results]


WORD_FOR_WORD = {
    "openai-chat": [{"type": "reasoning.encrypted", "data": SIGNED, "index": 0}],
    "anthropic": [
        {"type": "thinking", "thinking": FIRST.reasoning, "signature": SIGNED},
        {"type": "redacted_thinking", "data": f"redacted {SIGNED}"},
    ],
    "openai-responses": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "encrypted_content": SIGNED,
            "summary": [{"type": "summary_text", "text": FIRST.reasoning}],
        }
    ],
    "gemini": [SIGNED],
    "ollama": FIRST.reasoning,
}


@pytest.mark.parametrize("kind", KINDS)
async def test_what_goes_back_is_complete_and_word_for_word(kind, workspace):
    _, _, received = await run(workspace, kind, FIRST, Said("Two files."))
    kept, calls, results = gone_back(kind, received[1].json)
    assert kept == WORD_FOR_WORD[kind]
    assert calls == ["read_file", "list_files"]
    assert results == ["call_a", "call_b"]


@pytest.mark.parametrize("kind", KINDS)
async def test_no_other_model_gets_what_was_kept(kind, workspace):
    async with ProviderServer() as server:
        server.known["/api/show"] = tells({"capabilities": ["tools"]})
        server.plays(kind, FIRST, Said("Two files."))
        provider = {"kind": kind, "baseUrl": server.url}
        options = {"providers": {"local": provider, "other": provider}, "testing": None}
        async with start_session("stock", workspace, "local/some-model", options) as editor:
            await editor.run("Look around")
            server.plays(kind, Said("Nothing new."))
            await editor.run("Again", sessionId=editor.session_id, model="other/some-model")
        assert SIGNED in server.received[1].body.decode() or kind == "ollama"
        assert SIGNED not in server.received[2].body.decode()
        assert "Let me look" in server.received[2].body.decode()


@pytest.mark.parametrize("kind", KINDS)
async def test_calls_that_the_length_limit_cut_off_are_not_run(kind, workspace):
    finish = {
        "openai-chat": "length",
        "openai-responses": "incomplete",
        "anthropic": "max_tokens",
        "ollama": "length",
        "gemini": "MAX_TOKENS",
    }[kind]
    whole = kind in {"ollama", "gemini"}  # their calls come in one piece
    arguments = {"path": "x"} if whole else '{"path": "x", "content": "ab'
    cut = Said("", [("call_a", "write_file", arguments)], finish=finish)
    _, events, received = await run(workspace, kind, cut, Said("Then not."))
    (finished,) = [event["data"] for event in events if event["type"] == "tool.finished"]
    assert finished["status"] == "skipped"
    assert "cut off" in received[1].body.decode()
    assert not (workspace / "x").exists()


@pytest.mark.parametrize("kind", KINDS)
async def test_the_key_stands_where_the_dialect_has_it(kind, workspace):
    env = {"LOCAL_KEY": "sk-local-0123456789"}
    _, _, received = await run(
        workspace, kind, Said("Hello."), env=env, apiKeyEnv="LOCAL_KEY", headers={"X-Team": "blue"}
    )
    (request,) = received
    header = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}.get(kind, "authorization")
    assert request.headers[header].removeprefix("Bearer ") == "sk-local-0123456789"
    assert request.headers["x-team"] == "blue"
    paths = {
        "openai-chat": "/v1/chat/completions",
        "openai-responses": "/v1/responses",
        "anthropic": "/v1/messages",
        "ollama": "/v1/api/chat",
        "gemini": "/v1/models/some-model:streamGenerateContent?alt=sse",
    }
    assert request.path == paths[kind]


@pytest.mark.parametrize("kind", KINDS)
async def test_each_request_begins_with_the_very_bytes_of_the_one_before(kind, workspace):
    further = Said("And further.", [("call_c", "find_files", {"pattern": "*.py"})])
    again = Said("Once more.", [("call_d", "read_file", {"path": "tariff.py"})])
    _, _, received = await run(workspace, kind, FIRST, further, again, Said("Done."))
    bodies = [one.body for one in received if not one.path.startswith("/api/show")]
    assert len(bodies) == 4
    if kind == "anthropic":  # its marks move on, and are no part of what is looked up
        bodies = [body.replace(b',"cache_control":{"type":"ephemeral"}', b"") for body in bodies]
    for before, after in pairwise(bodies):
        kept = before.rstrip(b"]}")
        assert len(before) - len(kept) <= 8
        assert after.startswith(kept)
        assert len(after) > len(before)


def said_before(received):
    """The first answer, as it stands in the second request."""
    return next(message for message in received[1].json["messages"] if message["role"] == "assistant")


@pytest.mark.parametrize(
    ("model", "goes_back"),
    [
        ("MiniMaxAI/MiniMax-M2", True),
        ("moonshotai/Kimi-K2-Thinking", True),
        ("qwen3", False),
        ("kimi-k2-0711", False),
    ],
)
async def test_thoughts_that_a_server_tells_apart_go_back_to_who_wants_them(model, goes_back, workspace):
    turns = [Said("Let me look.", READS, reasoning="First the readme."), Said("Two files.")]
    _, _, received = await run(workspace, "openai-chat", *turns, model=model)
    said = said_before(received)
    assert said.get("reasoning_content") == ("First the readme." if goes_back else None)
    assert said["content"] == "Let me look."


@pytest.mark.parametrize(
    ("model", "content"),
    [
        ("MiniMax-M2", "<think>\nFirst the readme.\n</think>\n\nLet me look."),
        ("MiniMax-M3", "<mm:think>\nFirst the readme.\n</mm:think>\n\nLet me look."),
        ("Kimi-K2-Thinking", "Let me look."),
        ("qwen3", "Let me look."),
    ],
)
async def test_thoughts_that_stood_in_the_text_go_back_there_to_who_wants_them(model, content, workspace):
    turns = [Said("<think>\nFirst the readme.\n</think>\n\nLet me look.", READS), Said("Two files.")]
    ended, events, received = await run(workspace, "openai-chat", *turns, model=model)
    assert ended["outcome"] == "completed"
    assert answers(events)[0]["reasoning"].strip() == "First the readme."
    said = said_before(received)
    assert (said["content"], "thoughts" in said, len(said["tool_calls"])) == (content, False, 2)


LISTS = """<minimax:tool_call>
<invoke name="list_files">
<parameter name="path">.</parameter>
</invoke>
</minimax:tool_call>"""
AS_TEXT = {"models": {"local/minimax-m2": {"toolFormat": "minimax-xml"}}}


def strings(value):
    """Every text in a body, its keys included."""
    if isinstance(value, dict):
        return [*value, *(text for one in value.values() for text in strings(one))]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("said", ["Hello.", LISTS])
@pytest.mark.parametrize("kind", KINDS)
async def test_they_go_back_with_answers_whose_calls_are_text_too(kind, said, workspace):
    first = Said(f"<think>First the readme.</think>\n{said}")
    tasks = 2 if said == "Hello." else 1
    _, events, received = await run(
        workspace, kind, first, Said("Two files."), model="minimax-m2", more=AS_TEXT, tasks=tasks
    )
    assert len(answers(events)[0].get("toolCalls", [])) == (said == LISTS)
    sent = strings(received[-1].json)
    assert f"<think>\nFirst the readme.\n</think>\n\n{said}" in sent
    assert not {"in_text", "thinking"} & set(sent), "what is noted for ourselves, or the same once more"


@pytest.mark.parametrize("kind", KINDS)
async def test_what_a_server_tells_apart_never_goes_back_in_the_text(kind, workspace):
    turns = [Said(LISTS, reasoning="First the readme."), Said("Two files.")]
    _, events, received = await run(workspace, kind, *turns, model="minimax-m2", more=AS_TEXT)
    assert answers(events)[0]["reasoning"] == "First the readme."
    assert LISTS in strings(received[-1].json)
    if kind == "openai-chat":
        said = said_before(received)
        assert (said["content"], said["reasoning_content"]) == (LISTS, "First the readme.")


async def test_what_a_server_tells_apart_goes_back_from_answers_whose_calls_are_text_to_no_model_that_leaves_it_out(
    workspace,
):
    turns = [Said(LISTS, reasoning="First the readme."), Said("Two files.")]
    more = {"models": {"local/my-model": {"toolFormat": "minimax-xml"}}}
    _, _, received = await run(workspace, "openai-chat", *turns, model="my-model", more=more)
    assert said_before(received) == {"role": "assistant", "content": LISTS}


async def test_they_go_back_to_no_other_model(workspace):
    think = "<think>\nFirst the readme.\n</think>\n\nLet me look."
    turns = [Said(think, READS), fails(404, {"error": {"message": "no such model"}}), Said("Two files.")]
    more = {"fallbackModels": ["local/minimax-m1"]}
    _, _, received = await run(workspace, "openai-chat", *turns, model="minimax-m2", more=more)
    asked = [message for message in received[2].json["messages"] if message["role"] == "assistant"]
    assert received[2].json["model"] == "minimax-m1"
    assert asked[0]["content"] == "Let me look."


async def test_the_proxy_of_the_environment_is_used(workspace):
    async with ProviderServer() as proxy:
        proxy.plays("openai-chat", Said("Hello."))
        far = {"far": {"kind": "openai-chat", "baseUrl": "http://models.test/v1"}}
        connection = embedded(workspace, env={"http_proxy": proxy.url.removesuffix("/v1")})
        async with start_session(
            "stock", workspace, "far/m", {"providers": far}, connection=connection
        ) as editor:
            assert (await editor.run("Hi"))["summary"] == "Hello."
        assert proxy.received[-1].line.startswith("POST http://models.test/v1/")
