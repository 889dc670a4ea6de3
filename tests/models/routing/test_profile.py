"""What is known of a model, and who knows it best."""

from typing import Any, get_args

import pytest

from outrider.models.routing.facts import Facts, facts_of_entry, facts_of_shown
from outrider.models.routing.families import family_of
from outrider.models.routing.profile import profile_of
from outrider.models.text_tools.formats import FORMATS
from outrider_protocol.settings import ModelSettings, Price, ProviderSettings, ToolFormat

ANYWHERE = "http://localhost/v1"


def provider(kind: Any = "openai-chat", base_url: str = ANYWHERE, **more: Any) -> ProviderSettings:
    return ProviderSettings(kind=kind, base_url=base_url, **more)


def test_every_format_can_be_set() -> None:
    assert set(get_args(ToolFormat)) == {"native", *FORMATS}


def test_of_an_unknown_model_only_the_least_is_believed() -> None:
    profile = profile_of("x", provider(), None)
    assert (profile.tool_format, profile.text_format, profile.context_window) == (
        "native",
        "outrider",
        128_000,
    )
    assert (profile.vision, profile.reasoning, profile.price, profile.edit_format) == (
        False,
        False,
        None,
        None,
    )
    assert set(profile.sources.values()) == {"default"}


def test_the_settings_are_believed_before_the_server_and_that_before_the_table() -> None:
    url = "https://api.anthropic.com/v1"
    table = profile_of("claude-sonnet-4-5", provider("anthropic", url), None)
    assert (table.context_window, table.sources["context_window"]) == (200_000, "table")
    assert table.price == Price(input=3, output=15, cached=0.3)
    told = profile_of("claude-sonnet-4-5", provider("anthropic", url), None, Facts(context_window=5))
    assert (told.context_window, told.sources["context_window"]) == (5, "server")
    of_provider = profile_of(
        "claude-sonnet-4-5", provider("anthropic", url, context_window=6), None, Facts(context_window=5)
    )
    assert (of_provider.context_window, of_provider.sources["context_window"]) == (6, "provider settings")
    given = ModelSettings(context_window=7, vision=False)
    mine = profile_of("claude-sonnet-4-5", provider("anthropic", url), given, Facts(context_window=5))
    assert (mine.context_window, mine.sources["context_window"]) == (7, "settings")
    assert (mine.vision, mine.sources["vision"]) == (False, "settings")


def test_prices_and_windows_of_the_table_count_only_where_the_maker_serves_it() -> None:
    elsewhere = family_of("vendor/claude-sonnet-4-5", ANYWHERE)
    assert (elsewhere.price, elsewhere.context_window) == (None, None)
    assert (elsewhere.tool_strength, elsewhere.edit_format) == ("strong", "replace")
    for name in ("anthropic/claude-sonnet-4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"):
        assert family_of(name, ANYWHERE) == elsewhere


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("claude-opus-4-5-20251101", 5),
        ("claude-opus-4-1-20250805", 15),
        ("claude-opus-4-20250514", 15),
        ("claude-sonnet-4-5", 3),
        ("claude-3-7-sonnet-latest", 3),
        ("claude-haiku-4-5-20251001", 1),
        ("claude-opus-4-8", 5),
        ("claude-opus-5", 5),
        ("claude-opus-5-5-20260922", 4),
        ("claude-sonnet-4-6", 3),
        ("claude-sonnet-5-5", 2),
        ("claude-fable-5", 10),
        ("claude-fable-5-9", None),
        ("claude-haiku-5-5", None),
        ("claude-opus-4-9", None),
        ("claude-sonnet-9", None),
        ("gpt-5-mini", 0.25),
        ("gpt-5-2025-08-07", 1.25),
        ("gpt-5.1-codex-max", 1.25),
        ("gpt-5.2", 1.75),
        ("gpt-5.3-codex", 1.75),
        ("gpt-5.4-mini", 0.75),
        ("gpt-5.2-pro", None),
        ("gpt-5.4", None),
        ("gpt-5.9-codex", None),
        ("gpt-6-sol", None),
        ("gemini-9-pro", None),
    ],
)
def test_a_later_model_of_a_family_is_as_able_but_has_no_known_price(model: str, price: float | None) -> None:
    vendor = {"c": "api.anthropic.com", "g": "api.openai.com"}[model[0]]
    facts = family_of(model, f"https://{vendor}/v1")
    assert (facts.vision, facts.tool_strength) == (True, "strong")
    assert (facts.price and facts.price.input) == price


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-opus-4-5", 200_000),
        ("claude-opus-4-6", 1_000_000),
        ("claude-haiku-5-5", 1_000_000),
        ("claude-mythos-5", 1_000_000),
        ("claude-opus-4-9", 200_000),
        ("gpt-5.2-codex", 272_000),
        ("gpt-5.5-pro", 1_050_000),
        ("gpt-6-luna", None),
    ],
)
def test_a_window_is_that_of_what_may_be_asked(model: str, window: int | None) -> None:
    vendor = {"c": "api.anthropic.com", "g": "api.openai.com"}[model[0]]
    assert family_of(model, f"https://{vendor}/v1").context_window == window


@pytest.mark.parametrize(
    ("model", "form"),
    [
        ("qwen3-coder:30b", "qwen3-coder-xml"),
        ("qwen3.6:35b", "qwen3-coder-xml"),
        ("qwen3:8b", "hermes"),
        ("zai-org/GLM-5.3-Flash", "glm-xml"),
        ("functiongemma:270m", "gemma"),
        ("Salesforce/xLAM-2-8b-fc-r", "json-array"),
        ("moonshotai/Kimi-K3", "kimi"),
        ("MiniMaxAI/MiniMax-M3", "minimax-xml"),
        ("Qwen/Qwen2.5-7B-Instruct", "hermes"),
        ("qwen2.5-coder:7b", "bare-json"),
        ("NousResearch/Hermes-3-Llama-3.1-8B", "hermes"),
        ("meta-llama/Llama-4-Scout", "llama4-pythonic"),
        ("llama3.2:3b", "llama3-json"),
        ("mistral-nemo", "mistral"),
        ("gpt-oss:20b", "harmony"),
        ("gemma3:4b", "gemma"),
        ("tencent/Hy4-preview", "glm-xml"),
        ("tencent/Hunyuan-A13B-Instruct", "json-array"),
        ("allenai/Olmo-3-7B-Instruct", "pythonic"),
        ("ByteDance-Seed/Seed-OSS-36B-Instruct", "qwen3-coder-xml"),
        ("my-model", None),
        ("phi4", None),
    ],
)
def test_a_family_writes_calls_in_its_own_way(model: str, form: str | None) -> None:
    assert family_of(model, ANYWHERE).text_format == form


def test_a_model_that_the_server_says_takes_no_tools_writes_them() -> None:
    profile = profile_of("qwen2.5", provider(), None, Facts(tools=False))
    assert (profile.tool_format, profile.sources["tool_format"]) == ("hermes", "server")
    assert profile.tool_strength == "weak"
    learned = profile_of("x", provider(), None, None, "outrider")
    assert (learned.tool_format, learned.sources["tool_format"]) == ("outrider", "learned")
    forced = profile_of("qwen2.5", provider(), ModelSettings(tool_format="native"), Facts(tools=False))
    assert forced.tool_format == "native"


def test_ollama_is_not_told_to_use_all_that_a_model_could_take() -> None:
    large = profile_of("qwen3", provider("ollama"), None, Facts(context_window=262_144))
    assert (large.context_window, large.sources["context_window"]) == (32_768, "default")
    small = profile_of("qwen3", provider("ollama"), None, Facts(context_window=4096))
    assert (small.context_window, small.sources["context_window"]) == (4096, "server")
    mine = profile_of(
        "qwen3", provider("ollama"), ModelSettings(context_window=100_000), Facts(context_window=262_144)
    )
    assert (mine.context_window, mine.sources["context_window"]) == (100_000, "settings")


@pytest.mark.parametrize(
    ("entry", "facts"),
    [
        (
            {
                "context_length": 65_536,
                "architecture": {"input_modalities": ["text", "image"]},
                "pricing": {"prompt": "0.000003", "completion": "0.000015", "input_cache_read": "0.0000003"},
                "top_provider": {"max_completion_tokens": 8192},
                "supported_parameters": ["tools", "reasoning"],
            },
            Facts(
                tools=True,
                context_window=65_536,
                max_tokens=8192,
                vision=True,
                reasoning=True,
                price=Price(input=3.0, output=15.0, cached=0.3),
            ),
        ),
        ({"max_model_len": 32_768}, Facts(context_window=32_768)),
        ({"meta": {"n_ctx_train": 8192}}, Facts(context_window=8192)),
        (
            {"max_context_length": 131_072, "capabilities": {"function_calling": False, "vision": True}},
            Facts(tools=False, context_window=131_072, vision=True),
        ),
        ({"inputTokenLimit": 10, "outputTokenLimit": 5}, Facts(context_window=10, max_tokens=5)),
        ({"pricing": {"prompt": "-1", "completion": "-1"}}, Facts()),
        ({"pricing": {"prompt": "nan", "completion": "inf"}, "context_length": "8k"}, Facts()),
        ({"pricing": [], "architecture": 1, "capabilities": "x", "supported_parameters": {}}, Facts()),
        ({"context_length": -1, "max_model_len": True, "top_provider": None}, Facts()),
        ({"context_length": 0}, Facts()),
    ],
)
def test_what_a_list_of_models_tells(entry: dict[str, Any], facts: Facts) -> None:
    assert facts_of_entry(entry) == facts


def test_what_ollama_tells() -> None:
    shown = {
        "capabilities": ["completion", "tools", "thinking"],
        "model_info": {"qwen.context_length": 40_960},
    }
    assert facts_of_shown(shown) == Facts(tools=True, context_window=40_960, vision=False, reasoning=True)
    assert facts_of_shown({"capabilities": "tools", "model_info": []}) == Facts()
