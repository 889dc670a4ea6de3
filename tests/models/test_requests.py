"""What each dialect sends: complete, in a form its provider takes, and peculiar where the provider is."""

import json

import pytest

from outrider.models.answer import CallBlock, TextBlock, Verbatim, blocks_of, provider_data
from outrider.models.dialects.anthropic import AnthropicModel
from outrider.models.dialects.gemini import GeminiModel
from outrider.models.dialects.http_model import NO_RESULT, completed
from outrider.models.dialects.ollama import OllamaModel
from outrider.models.dialects.openai_chat import OpenAiChatModel
from outrider.models.dialects.openai_responses import OpenAiResponsesModel
from outrider.models.http.chat_servers import chat_server
from outrider.ports.ids import SequentialIds
from outrider.ports.model import (
    Message,
    ModelFailure,
    ModelRequest,
    ProviderData,
    ToolCall,
    ToolSpec,
)
from provider_server import IN_DIALECT, Said, breaks, fails, tells

READ = ToolSpec("read", "Reads.", {"$schema": "x", "type": "object", "properties": {}})
CALLS = (ToolCall("a", "read", '{"x": 1}'), ToolCall("b", "read", '{"x": '))
TALK = [
    Message("system", "Be kind."),
    Message("user", "hello"),
    Message("assistant", "", CALLS, reasoning="hm"),
    Message("tool", "one", tool_call_id="a"),
    Message("tool", "", tool_call_id="b"),
    Message("user", "go on"),
]
MODELS = {
    "openai-chat": OpenAiChatModel,
    "openai-responses": OpenAiResponsesModel,
    "anthropic": AnthropicModel,
    "gemini": GeminiModel,
    "ollama": OllamaModel,
}


@pytest.fixture
def sent(wire, provide):
    """The body of a request in a dialect."""

    async def sent(kind, messages=TALK, name="some-model", tools=(READ,), host=None, **settings):
        wire.known["/api/show"] = tells({})
        wire.plays(kind, Said("ok"))
        provider = provide(kind=kind, **settings)
        model = MODELS[kind](provider, name, ids=SequentialIds())
        if host is not None:
            model._server = model._encoder._server = chat_server(host)
        last = [item async for item in model.stream(ModelRequest("main", messages, tools, 0.5, 99))][-1]
        assert not isinstance(last, ModelFailure), last
        return wire.received[-1].json

    return sent


# --- completeness --------------------------------------------------------------------------------------------------


def test_each_call_gets_its_one_result_right_after_it():
    call, result = Message("assistant", "", CALLS), TALK[3]
    user, stray = Message("user", "by the way"), Message("tool", "stray", tool_call_id="z")
    again = Message("tool", "again", tool_call_id="a")
    missing = Message("tool", NO_RESULT, tool_call_id="b")
    assert completed(TALK) == TALK
    assert completed([stray, call, user, result, again, stray]) == [call, result, missing, user]
    assert completed([call, TALK[4], result]) == [call, result, TALK[4]]
    assert completed([user, Message("assistant", "\n"), user]) == [user, user]
    assert completed([call, call]) == [
        *(call, Message("tool", NO_RESULT, tool_call_id="a"), missing),
        *(call, Message("tool", NO_RESULT, tool_call_id="a"), missing),
    ]


async def test_gemini_calls_of_a_stream_that_breaks_off_are_no_answer(wire, provide):
    both = Said("", [("", "read", {"x": 1}), ("", "read", {"x": 2})])
    whole = IN_DIALECT["gemini"](both)
    wire.plays("gemini", breaks("gemini", both, whole.index(b'"x": 2') - 60))
    model = GeminiModel(provide(kind="gemini"), "some-model", ids=SequentialIds())
    items = [item async for item in model.stream(ModelRequest("main", TALK, (READ,)))]
    assert isinstance(items[-1], ModelFailure)
    assert items[-1].kind == "cut_stream"


# --- what is kept --------------------------------------------------------------------------------------------------

BLOCKS = [Verbatim({"type": "t"}), TextBlock("He"), CallBlock(CALLS[0], {"s": "1"}), TextBlock("llo")]
KEPT = provider_data("my/a", BLOCKS, CALLS[:1])
ANSWER = Message("assistant", "Hello", CALLS[:1], provider_data=KEPT)


def test_blocks_come_back_as_they_went():
    assert blocks_of(Message.decode(ANSWER.encoded), "my/a") == BLOCKS


@pytest.mark.parametrize(
    ("message", "model"),
    [
        (ANSWER, "my/b"),
        (Message("assistant", "Hell", CALLS[:1], provider_data=KEPT), "my/a"),
        (Message("assistant", "Hello", CALLS, provider_data=KEPT), "my/a"),
        (Message("assistant", "Hello", (), provider_data=KEPT), "my/a"),
        *(
            (Message("assistant", "Hello", CALLS[:1], provider_data=ProviderData("my/a", odd)), "my/a")
            for odd in (
                "",
                "[",
                "{}",
                "3",
                '["text"]',
                '[["call", 7]]',
                '[["text", "x"]]',
                '[["call", null]]',
            )
        ),
    ],
)
def test_a_message_that_does_not_fit_gives_its_text_and_calls(message, model):
    text = [TextBlock(message.text)]
    assert blocks_of(message, model) == [*text, *(CallBlock(call) for call in message.tool_calls)]


def test_nothing_is_kept_of_an_answer_that_has_nothing_peculiar():
    blocks = [TextBlock("Hello"), CallBlock(CALLS[0])]
    assert provider_data("my/a", blocks, CALLS[:1]) is None
    assert provider_data("my/a", blocks[::-1], CALLS[:1]) is not None


# --- Anthropic -----------------------------------------------------------------------------------------------------


async def test_anthropic_body(sent):
    body = await sent("anthropic")
    mark = {"cache_control": {"type": "ephemeral"}}
    assert body["system"] == [{"type": "text", "text": "Be kind.", **mark}]
    hello, asked, results = body["messages"]
    assert hello == {"role": "user", "content": [{"type": "text", "text": "hello", **mark}]}
    assert [block["input"] for block in asked["content"]] == [{"x": 1}, {"invalid_arguments": '{"x": '}]
    assert results["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "one"},
        {"type": "tool_result", "tool_use_id": "b", "content": ""},
        {"type": "text", "text": "go on", **mark},
    ]
    assert (body["max_tokens"], body["temperature"], body["stream"]) == (99, 0.5, True)
    assert body["tools"][0]["input_schema"]["type"] == "object"


async def test_anthropic_refuses_texts_of_white_space_and_odd_ids(sent):
    call = ToolCall("functions.read:0", "read file", "{}")
    talk = [
        Message("user", " \n"),
        Message("assistant", "\n\n", (call,)),
        Message("tool", "one", tool_call_id=call.id),
    ]
    body = await sent("anthropic", talk)
    assert body["messages"][0]["content"][0]["text"] == "(empty)"
    (use,) = body["messages"][1]["content"]
    assert use["id"] == body["messages"][2]["content"][0]["tool_use_id"]
    assert use["id"].isalnum()
    assert use["name"] == "read_file"


async def test_anthropic_marks_what_was_last_before_too(sent):
    body = await sent("anthropic", [*TALK, Message("assistant", "done"), Message("user", "more")])
    marked = [block for turn in body["messages"] for block in turn["content"] if "cache_control" in block]
    assert [block["text"] for block in marked] == ["go on", "more"]


async def test_anthropic_declares_tools_that_were_called_and_are_not_offered_any_more(sent):
    body = await sent("anthropic", tools=())
    assert [tool["name"] for tool in body["tools"]] == ["read"]
    assert body["tool_choice"] == {"type": "none"}
    assert "tools" not in await sent("anthropic", TALK[:2], tools=())
    assert "tool_choice" not in await sent("anthropic")


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("claude-3-haiku", 4096),
        ("claude-3-5-haiku", 8192),
        ("claude-sonnet-4", 32_000),
        ("anthropic/claude-sonnet-4.5", 32_000),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 32_000),
        ("claude-haiku-4-5@20251001", 32_000),
        ("vendor/anthropic.claude-3.5-haiku", 8192),
        ("other", 8192),
    ],
)
async def test_anthropic_always_says_how_long_an_answer_may_be(name, most, wire, provide):
    wire.plays("anthropic", Said("ok"))
    model = AnthropicModel(provide(kind="anthropic"), name, ids=SequentialIds())
    assert [item async for item in model.stream(ModelRequest("main", TALK[:2]))]
    assert wire.received[-1].json["max_tokens"] == most


# --- Gemini --------------------------------------------------------------------------------------------------------


async def test_gemini_body(sent):
    body = await sent("gemini", extra_body={"generationConfig": {"topK": 3}, "safetySettings": []})
    assert body["systemInstruction"] == {"parts": [{"text": "Be kind."}]}
    assert body["generationConfig"] == {"temperature": 0.5, "maxOutputTokens": 99, "topK": 3}
    assert body["safetySettings"] == []
    (declared,) = body["tools"][0]["functionDeclarations"]
    assert declared["parametersJsonSchema"] == {"type": "object", "properties": {}}
    hello, asked, results = body["contents"]
    assert (hello["role"], asked["role"], results["role"]) == ("user", "model", "user")
    assert [part["functionResponse"]["response"] for part in results["parts"][:2]] == [
        {"result": "one"},
        {"result": ""},
    ]
    assert results["parts"][2] == {"text": "go on"}


@pytest.mark.parametrize(
    ("name", "marks"), [("gemini-3-pro", 1), ("gemini-2.5-flash", 0), ("models/gemini-3.1", 1)]
)
async def test_gemini_calls_of_other_models_say_that_they_are_not_signed(name, marks, sent):
    body = await sent("gemini", name=name)
    signatures = [part.get("thoughtSignature") for part in body["contents"][1]["parts"]]
    assert signatures == [*["skip_thought_signature_validator"] * marks, *[None] * (2 - marks)]


# --- Ollama --------------------------------------------------------------------------------------------------------


async def test_ollama_body(sent):
    body = await sent("ollama", extra_body={"options": {"seed": 1}, "think": True})
    assert body["options"] == {"num_ctx": 32_768, "temperature": 0.5, "num_predict": 99, "seed": 1}
    assert body["think"] is True
    _, _, asked, first, second, _ = body["messages"]
    assert asked["tool_calls"][1]["function"]["arguments"] == {"invalid_arguments": '{"x": '}
    assert [(result["tool_name"], result["tool_call_id"]) for result in (first, second)] == [
        ("read", "a"),
        ("read", "b"),
    ]


@pytest.mark.parametrize(
    ("given", "length", "window"),
    [
        ({}, 8192, 8192),
        ({}, 262_144, 32_768),
        ({"context_window": 100_000}, 262_144, 100_000),
        ({}, None, 32_768),
    ],
)
async def test_ollama_is_told_how_long_the_context_is(given, length, window, wire, provide):
    info = {"model_info": {"llama.context_length": length}, "capabilities": ["tools"]}
    wire.known["/api/show"] = tells(info)
    wire.plays("ollama", Said("ok"))
    model = OllamaModel(provide(kind="ollama", **given), "m", ids=SequentialIds())
    assert [item async for item in model.stream(ModelRequest("main", TALK, [READ]))]
    assert wire.received[-1].json["options"]["num_ctx"] == model.context_window == window
    assert model.takes_tools is True


async def test_ollama_models_that_take_no_tools_are_not_sent_any(wire, provide):
    wire.known["/api/show"] = tells({"capabilities": ["completion"]})
    wire.plays("ollama", Said("ok"))
    model = OllamaModel(provide(kind="ollama"), "m", ids=SequentialIds())
    (failure,) = [item async for item in model.stream(ModelRequest("main", TALK, [READ]))]
    assert failure.kind == "no_tools"
    assert wire.received == []
    assert [item async for item in model.stream(ModelRequest("main", TALK))]
    assert "tools" not in wire.received[0].json


async def test_ollama_without_a_way_to_ask_is_asked_all_the_same(wire, provide):
    wire.known["/api/show"] = fails(404, {"error": "not here"})
    wire.plays("ollama", Said("ok"))
    model = OllamaModel(provide(kind="ollama", base_url=f"{wire.url}/api/"), "m", ids=SequentialIds())
    assert [item async for item in model.stream(ModelRequest("main", TALK, [READ]))]
    assert wire.received[-1].path == "/v1/api/chat"


# --- responses -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("gpt-5.5", True),
        ("o3", True),
        ("openai/gpt-5", True),
        ("gpt-4o", False),
        ("gpt-5-chat-latest", False),
    ],
)
async def test_responses_body(name, asks, sent):
    body = await sent("openai-responses", name=name)
    assert ("include" in body) is asks
    assert (body["store"], body["instructions"], body["max_output_tokens"]) == (False, "Be kind.", 99)
    assert [item["type"] for item in body["input"]] == [
        *(
            "message",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "message",
        )
    ]
    assert json.loads(body["input"][2]["arguments"]) == {"invalid_arguments": '{"x": '}


# --- chat completions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://mine.openai.azure.com/openai/v1?api-version=x", "azure"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("https://api.mistral.ai/v1", "mistral"),
        ("https://codestral.mistral.ai/v1", "mistral"),
        ("https://notmistral.ai/v1", "other"),
        ("http://127.0.0.1:8000/v1", "other"),
        ("http://[", "other"),
    ],
)
def test_servers_are_known_by_their_address(url, name):
    assert chat_server(url).name == name


def test_servers_that_never_leave_thoughts_in_a_text_are_known():
    addresses = ("api.openai.com", "api.deepseek.com", "api.moonshot.ai", "api.x.ai")
    assert not any(chat_server(f"https://{address}/v1").thoughts_in_text for address in addresses)
    others = ("127.0.0.1:8000", "api.groq.com", "openrouter.ai", "mine.services.ai.azure.com")
    assert all(chat_server(f"https://{address}/v1").thoughts_in_text for address in others)


async def test_mistral_takes_short_ids_and_no_text_right_after_results(sent):
    body = await sent("openai-chat", host="https://api.mistral.ai/v1")
    assert "stream_options" not in body
    _, _, asked, first, second, between, last = body["messages"]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids == [first["tool_call_id"], second["tool_call_id"]]
    assert all(len(each) == 9 and each.isalnum() for each in ids)
    assert (between["role"], last["content"]) == ("assistant", "go on")


async def test_deepseek_gets_the_reasoning_of_calls_back(sent):
    body = await sent("openai-chat", host="https://api.deepseek.com")
    assert body["messages"][2]["reasoning_content"] == "hm"
    plain = await sent("openai-chat", host="https://api.x.ai/v1")
    assert "reasoning_content" not in plain["messages"][2]


async def test_openai_has_its_own_word_for_the_limit_and_short_ids(sent):
    call = ToolCall("x" * 50, "read", "{}")
    talk = [TALK[1], Message("assistant", "", (call,)), Message("tool", "one", tool_call_id=call.id)]
    body = await sent("openai-chat", talk, host="https://api.openai.com/v1")
    assert (body["max_completion_tokens"], "max_tokens" in body) == (99, False)
    assert len(body["messages"][1]["tool_calls"][0]["id"]) <= 40
    assert body["messages"][1]["tool_calls"][0]["id"] == body["messages"][2]["tool_call_id"]


async def test_openrouter_is_asked_for_the_cost(sent):
    assert (await sent("openai-chat", host="https://openrouter.ai/api/v1"))["usage"] == {"include": True}


# --- searches of the provider ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "tool"),
    [
        ("anthropic", {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}),
        ("openai-responses", {"type": "web_search"}),
    ],
)
async def test_the_search_of_the_provider_is_offered_where_it_is_set_and_may_be(kind, tool, wire, provide):
    async def offered(*, searches=True, may=True, tools=(READ,)):
        wire.plays(kind, Said("ok"))
        model = MODELS[kind](provide(kind=kind), "gpt-5", ids=SequentialIds(), searches=searches)
        request = ModelRequest("main", TALK, tools, max_tokens=99, may_search=may)
        last = [item async for item in model.stream(request)][-1]
        assert not isinstance(last, ModelFailure), last
        return wire.received[-1].json

    body = await offered()
    assert body["tools"][1:] == [tool]
    assert ("web_search_call.action.sources" in body.get("include", [])) is (kind == "openai-responses")
    named = ToolSpec("web_search", "Another one.", {"type": "object"})
    for other in (
        await offered(searches=False),
        await offered(may=False),
        await offered(tools=(named,)),
        await offered(tools=()),
    ):
        assert tool not in other.get("tools", [])
        assert "web_search_call.action.sources" not in (other.get("include") or [])
