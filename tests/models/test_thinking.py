"""The setting `thinking` in the words of each dialect; what a model cannot do is said."""

import pytest

from outrider.models.catalog import _DIALECTS as MODELS
from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider
from outrider.models.thinking import ollama_way, told
from outrider.ports.clock import SystemClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Limited, Message, ModelRequest
from outrider.testing.scenario import embedded, start_session
from outrider_protocol.settings import ProviderSettings
from provider_server import ProviderServer, Said
from replayed import keep_sessions

URLS = {
    "": "https://models.example/v1",
    "openai": "https://api.openai.com/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "dashscope": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
    "deepseek": "https://api.deepseek.com/v1",
    "zhipu": "https://api.z.ai/api/paas/v4",
    "xai": "https://api.x.ai/v1",
}


def model_of(kind, name, server="", **more):
    settings = ProviderSettings(kind=kind, base_url=URLS[server], **more)
    provider = HttpProvider("p", settings, clock=SystemClock(), secrets=Keys({}))
    return MODELS[kind](provider, name, ids=SequentialIds())


def asked(kind, name, thinking, server="", **more):
    """What a request says of thinking, and what is said that the model cannot do."""
    import json

    at_most, temperature = more.pop("at_most", None), more.pop("temperature", None)
    model = model_of(kind, name, server, **more)
    request = ModelRequest(
        "main", [Message("user", "Hi")], thinking=thinking, at_most=at_most, temperature=temperature
    )
    body = json.loads(model._call(request).body)
    keys = ("thinking", "output_config", "reasoning", "reasoning_effort", "enable_thinking")
    keys += ("thinking_budget", "chat_template_kwargs", "think")
    found = {key: body[key] for key in keys if key in body} | body.get("generationConfig", {})
    return found, model._told(request).shortfall


def adaptive(effort):
    return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}


@pytest.mark.parametrize(
    ("kind", "name", "server", "thinking", "fields"),
    [
        ("anthropic", "claude-opus-4-8", "", "high", adaptive("high")),
        ("anthropic", "us.anthropic.claude-opus-4-6-v1", "", "max", adaptive("max")),
        ("anthropic", "claude-opus-4-8", "", "off", {}),
        ("anthropic", "claude-opus-5", "", "off", {"thinking": {"type": "disabled"}}),
        ("anthropic", "claude-sonnet-5-5", "", "off", {"thinking": {"type": "between_tools"}}),
        (
            "anthropic",
            "claude-sonnet-4-5",
            "",
            4000,
            {"thinking": {"type": "enabled", "budget_tokens": 4000}},
        ),
        (
            "anthropic",
            "claude-haiku-4-5",
            "",
            "low",
            {"thinking": {"type": "enabled", "budget_tokens": 2048}},
        ),
        (
            "openai-responses",
            "gpt-5.2",
            "openai",
            "max",
            {"reasoning": {"effort": "xhigh", "summary": "auto"}},
        ),
        (
            "openai-responses",
            "gpt-5.2",
            "openai",
            "off",
            {"reasoning": {"effort": "none", "summary": "auto"}},
        ),
        ("openai-responses", "o3", "openai", "low", {"reasoning": {"effort": "low", "summary": "auto"}}),
        ("openai-chat", "gpt-5.1", "openai", "off", {"reasoning_effort": "none"}),
        ("openai-chat", "gpt-5-mini", "openai", "medium", {"reasoning_effort": "medium"}),
        (
            "gemini",
            "gemini-3-flash",
            "",
            "low",
            {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}},
        ),
        ("gemini", "gemini-2.5-flash", "", "off", {"thinkingConfig": {"thinkingBudget": 0}}),
        (
            "gemini",
            "gemini-2.5-pro",
            "",
            "max",
            {"thinkingConfig": {"thinkingBudget": 32_768, "includeThoughts": True}},
        ),
        ("openai-chat", "anthropic/claude-opus-4.8", "openrouter", "high", {"reasoning": {"effort": "high"}}),
        ("openai-chat", "z-ai/glm-5", "openrouter", 5000, {"reasoning": {"max_tokens": 5000}}),
        ("openai-chat", "z-ai/glm-5", "openrouter", "off", {"reasoning": {"enabled": False}}),
        ("openai-chat", "qwen3-max", "dashscope", "low", {"enable_thinking": True, "thinking_budget": 2048}),
        ("openai-chat", "qwen3-max", "dashscope", "off", {"enable_thinking": False}),
        (
            "openai-chat",
            "deepseek-v4-pro",
            "deepseek",
            "max",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "max"},
        ),
        ("openai-chat", "glm-5", "zhipu", "off", {"thinking": {"type": "disabled"}}),
        ("openai-chat", "claude-sonnet-4-5", "", "medium", {"reasoning_effort": "medium"}),
        ("openai-chat", "Qwen/Qwen3-32B", "", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
        (
            "openai-chat",
            "deepseek-ai/DeepSeek-V3.1",
            "",
            "high",
            {"chat_template_kwargs": {"thinking": True}},
        ),
    ],
)
def test_each_dialect_says_it_in_its_own_words(kind, name, server, thinking, fields):
    assert asked(kind, name, thinking, server) == (fields, None)


@pytest.mark.parametrize(
    ("kind", "name", "server", "thinking", "fields", "shortfall"),
    [
        ("anthropic", "claude-opus-5-5", "", "off", adaptive("low"), "cannot turn thinking off"),
        ("anthropic", "claude-opus-4-8", "", 9000, adaptive("high"), "does not accept a number of tokens"),
        (
            "anthropic",
            "claude-sonnet-4-5",
            "",
            500,
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            "takes 1024 to ",
        ),
        (
            "openai-chat",
            "gpt-5",
            "openai",
            "off",
            {"reasoning_effort": "minimal"},
            "cannot turn thinking off",
        ),
        ("openai-chat", "gpt-4.1", "openai", "high", {}, "has no setting for how much to think"),
        ("openai-chat", "mystery", "", "low", {}, "has no setting for how much to think"),
        ("openai-chat", "mystery", "", "off", {}, "cannot turn thinking off"),
        (
            "openai-chat",
            "deepseek-v4-pro",
            "deepseek",
            "low",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "high"},
            "has no effort low, so it is asked for high",
        ),
        (
            "openai-chat",
            "glm-5",
            "zhipu",
            "low",
            {"thinking": {"type": "enabled"}},
            "can only turn thinking on or off",
        ),
    ],
)
def test_what_a_model_cannot_do_is_said(kind, name, server, thinking, fields, shortfall):
    found, said = asked(kind, name, thinking, server)
    assert found == fields
    assert said is not None
    assert said.startswith(shortfall)


def test_a_budget_leaves_room_for_the_answer():
    found, said = asked("anthropic", "claude-sonnet-4-5", "high", extra_body={})
    assert found["thinking"]["budget_tokens"] == 24_576
    assert said is None
    model = model_of("anthropic", "claude-sonnet-4-5")
    small = ModelRequest("main", [Message("user", "Hi")], thinking="high", max_tokens=4_096)
    assert model._body(small)["thinking"]["budget_tokens"] == 3_072
    tiny = ModelRequest("main", [Message("user", "Hi")], thinking="high", max_tokens=1_500)
    assert "thinking" not in model._body(tiny)
    assert model._told(tiny).shortfall == (
        "has no room for thinking in an answer of 1500 tokens: raise maxTokens"
    )


def test_no_temperature_goes_with_thoughts_of_claude():
    model = model_of("anthropic", "claude-sonnet-4-5")
    request = ModelRequest("main", [Message("user", "Hi")], thinking="low", temperature=0.2)
    assert "temperature" not in model._body(request)
    assert "temperature" in (model._told(request).shortfall or "")


def test_extra_body_wins_and_a_title_is_not_thought_about():
    found, _ = asked("openai-chat", "gpt-5.1", "high", "openai", extra_body={"reasoning_effort": "low"})
    assert found == {"reasoning_effort": "low"}
    assert asked("openai-chat", "gpt-5.1", "high", "openai", at_most=60) == ({}, None)
    assert asked("openai-chat", "gpt-5.1", "off", "openai", at_most=60)[0] == {"reasoning_effort": "none"}


@pytest.mark.parametrize(
    ("values", "thinks", "name", "wanted", "fields", "is_said"),
    [
        (["low", "medium", "high"], True, "gpt-oss", "medium", {"think": "medium"}, False),
        ([], True, "gpt-oss:20b", "max", {"think": "high"}, False),
        ([True, False], True, "qwen3", "high", {"think": True}, False),
        ([True, False], True, "qwen3", "off", {"think": False}, False),
        ([], True, "old", "off", {"think": False}, False),
        ([False], False, "llama3", "high", {}, True),
        ([], False, "llama3", "high", {}, True),
    ],
)
def test_ollama_is_told_what_its_server_says_it_takes(values, thinks, name, wanted, fields, is_said):
    found = told(ollama_way(values, thinks=thinks, name=name), wanted)
    assert (found.fields, bool(found.shortfall)) == (fields, is_said)


@pytest.mark.parametrize(
    ("settings", "run", "effort"),
    [
        ({"thinking": "low"}, {}, "low"),
        ({"thinking": "low", "models": {"p/gpt-oss": {"thinking": "medium"}}}, {}, "medium"),
        (
            {
                "thinking": "low",
                "models": {"p/gpt-oss": {"thinking": "medium"}},
                "tiers": {"frontier": {"models": ["p/gpt-oss"], "thinking": "high"}},
            },
            {},
            "high",
        ),
        ({"tiers": {"frontier": {"models": ["p/gpt-oss"], "thinking": "high"}}}, {"thinking": "low"}, "low"),
        ({}, {}, None),
    ],
)
async def test_a_turn_goes_before_a_tier_a_tier_before_a_model_and_that_before_all(
    settings, run, effort, workspace
):
    async with ProviderServer() as server:
        server.plays("openai-chat", Said("Hello."))
        given = {
            "providers": {"p": {"kind": "openai-chat", "baseUrl": server.url}},
            "modelTitles": False,
            "testing": None,
            **settings,
        }
        model = "p/gpt-oss"
        async with start_session("stock", workspace, model, given, connection=embedded(workspace)) as editor:
            await editor.run("Hi", **run)
        assert server.bodies[0].get("reasoning_effort") == effort
    await keep_sessions(workspace.parent / editor.options["stateDir"])


async def test_what_a_model_cannot_do_is_said_once_in_a_turn(workspace):
    async with ProviderServer() as server:
        call = ("call_a", "read_file", {"path": "README.md"})
        server.plays("openai-chat", Said(calls=[call]), Said("Hello."))
        settings = {
            "providers": {"p": {"kind": "openai-chat", "baseUrl": server.url}},
            "thinking": "high",
            "testing": None,
        }
        async with start_session(
            "stock", workspace, "p/m", settings, connection=embedded(workspace)
        ) as editor:
            assert (await editor.run("Hi"))["summary"] == "Hello."
            (limited,) = [event["data"] for event in editor.events_of("model.limited")]
            assert limited["message"].startswith("p/m has no setting for how much to think")
            assert any("p/m has no setting for how much" in str(shown) for shown in editor.messages)
    await keep_sessions(workspace.parent / editor.options["stateDir"])


async def test_a_limit_comes_before_the_answer(wire, provide):
    wire.plays("openai-chat", Said("hello"))
    model = MODELS["openai-chat"](provide(), "m", ids=SequentialIds(), thinking="low")
    items = [item async for item in model.stream(ModelRequest("main", [Message("user", "Hi")]))]
    assert isinstance(items[0], Limited)
    assert items[0].message.startswith("local/m has no setting")
