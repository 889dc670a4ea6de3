"""What is known of well-known families of models, for what neither the settings nor a server say.

Last looked through in November 2026. Small on purpose: it holds what changes how Outrider asks. What differs by who
serves a model (its price, its window) counts only at the address of who made it.

Sources: the pages on models and prices of Anthropic, OpenAI and Google; for the formats of calls the chat templates
in the models' repositories.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from outrider.models.routing.facts import Facts
from outrider.ports.patterns import linear
from outrider_protocol.settings import Price, ToolFormat

_FORMATS: Final[tuple[tuple[str, ToolFormat], ...]] = (
    (r"qwen-?3(\.\d)?-?coder|qwen-?3\.[5-9]|nemotron-?3", "qwen3-coder-xml"),
    (
        r"qwen-?2(\.\d)?-?coder",
        "bare-json",
    ),  # for all its template says: JSON in a code block, often behind a text
    (r"qwen|qwq|hermes", "hermes"),
    (r"hunyuan-?a13b|phi-?4-mini|jamba", "json-array"),
    (r"hunyuan|hy-?[34]", "glm-xml"),
    (r"seed-?oss", "qwen3-coder-xml"),
    (r"olmo-?3", "pythonic"),
    (r"llama-?4", "llama4-pythonic"),
    (r"llama-?3", "llama3-json"),
    (r"mistral|mixtral|ministral|codestral|devstral|magistral", "mistral"),
    (r"deepseek", "deepseek"),
    (r"glm-?[4-9]", "glm-xml"),
    (r"kimi", "kimi"),
    (r"granite", "granite"),
    (r"gpt-oss", "harmony"),
    (r"minimax", "minimax-xml"),
    (r"(function)?gemma", "gemma"),
    (r"xlam", "json-array"),
    (r"lfm-?2", "lfm2"),
)
"""How a family writes calls. A row fits where a word of the model's name begins so; the first one counts."""

_ANTHROPIC, _OPENAI, _GOOGLE = "api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com"


def _claude(price: tuple[float, float, float], *, reasoning: bool = True, window: int = 200_000) -> Facts:
    return Facts(
        context_window=window,
        vision=True,
        reasoning=reasoning,
        tool_strength="strong",
        price=Price(input=price[0], output=price[1], cached=price[2]),
        edit_format="replace",
    )


# Of the 400 000 tokens of a GPT-5 no more than 272 000 may be the request.
def _gpt(window: int, price: tuple[float, float, float], *, reasoning: bool = False) -> Facts:
    return Facts(
        context_window=window,
        vision=True,
        reasoning=reasoning,
        tool_strength="strong",
        price=Price(input=price[0], output=price[1], cached=price[2]),
        edit_format="patch",
    )


_GEMINI: Final = Facts(context_window=1_048_576, vision=True, reasoning=True, tool_strength="strong")
"""Prices depend on the length of the request, so none is given; so with Claude Haiku 5.5, and GPT from 5.4 on."""
_LATER: Final = Facts(vision=True, reasoning=True, tool_strength="strong")
"""What holds of later models too, whose prices and windows nobody knows here."""
_DATED: Final = r"(-\d{8}|-latest|$)"

_LARGE: Final = 1_000_000
_MODELS: Final[tuple[tuple[str, str, Facts], ...]] = (
    (_ANTHROPIC, rf"claude-opus-5-5{_DATED}", _claude((4, 20, 0.2), window=_LARGE)),
    (_ANTHROPIC, rf"claude-opus-(5|4-[678]){_DATED}", _claude((5, 25, 0.5), window=_LARGE)),
    (_ANTHROPIC, rf"claude-opus-4-5{_DATED}", _claude((5, 25, 0.5))),
    (_ANTHROPIC, rf"claude-opus-4(-[01])?{_DATED}", _claude((15, 75, 1.5))),
    (_ANTHROPIC, rf"claude-fable-5{_DATED}", _claude((10, 50, 1), window=_LARGE)),
    (_ANTHROPIC, rf"claude-sonnet-5(-5)?{_DATED}", _claude((2, 10, 0.2), window=_LARGE)),
    (_ANTHROPIC, rf"claude-sonnet-4-6{_DATED}", _claude((3, 15, 0.3), window=_LARGE)),
    (_ANTHROPIC, rf"claude-(sonnet-4(-[05])?|3-7-sonnet){_DATED}", _claude((3, 15, 0.3))),
    (_ANTHROPIC, rf"claude-haiku-4-5{_DATED}", _claude((1, 5, 0.1))),
    (_ANTHROPIC, r"claude-3-5-haiku", _claude((0.8, 4, 0.08), reasoning=False)),
    (_ANTHROPIC, r"claude-[a-z]+-[5-9]", replace(_LATER, context_window=_LARGE, edit_format="replace")),
    (_ANTHROPIC, r"claude-[a-z]+-", replace(_LATER, context_window=200_000, edit_format="replace")),
    (_OPENAI, r"gpt-5-nano", _gpt(272_000, (0.05, 0.4, 0.005), reasoning=True)),
    (_OPENAI, r"gpt-5(-mini|\.1-codex-mini)", _gpt(272_000, (0.25, 2, 0.025), reasoning=True)),
    (_OPENAI, r"gpt-5(\.1)?(-codex(-max)?)?(-\d{4}-|$)", _gpt(272_000, (1.25, 10, 0.125), reasoning=True)),
    (_OPENAI, r"gpt-5\.[23](-codex)?(-\d{4}-|$)", _gpt(272_000, (1.75, 14, 0.175), reasoning=True)),
    (_OPENAI, r"gpt-5\.4-mini", _gpt(272_000, (0.75, 4.5, 0.075), reasoning=True)),
    (_OPENAI, r"gpt-5\.4-nano", _gpt(272_000, (0.2, 1.25, 0.02), reasoning=True)),
    (_OPENAI, r"gpt-5\.[45]", replace(_LATER, context_window=1_050_000, edit_format="patch")),
    (_OPENAI, r"gpt-([5-9]|\d\d)", replace(_LATER, edit_format="patch")),
    (_OPENAI, r"gpt-4\.1-nano", _gpt(1_047_576, (0.1, 0.4, 0.025))),
    (_OPENAI, r"gpt-4\.1-mini", _gpt(1_047_576, (0.4, 1.6, 0.1))),
    (_OPENAI, r"gpt-4\.1", _gpt(1_047_576, (2, 8, 0.5))),
    (_OPENAI, r"gpt-4o-mini", _gpt(128_000, (0.15, 0.6, 0.075))),
    (_OPENAI, r"gpt-4o", _gpt(128_000, (2.5, 10, 1.25))),
    (_OPENAI, r"o3(-\d{4}-|$)", _gpt(200_000, (2, 8, 0.5), reasoning=True)),
    (_OPENAI, r"o4-mini", _gpt(200_000, (1.1, 4.4, 0.275), reasoning=True)),
    (_GOOGLE, r"gemini-(2\.5|3(\.[15])?)-(pro|flash)", _GEMINI),
    (_GOOGLE, r"gemini-[3-9]", _LATER),
)
"""Who makes it, how its name begins, and what is known; the first row that fits counts."""

_ANSWER_LIMITS: Final = (
    ("claude-3-5", 8_192),
    ("claude-3-7", 32_000),
    ("claude-3", 4_096),
    ("claude-2", 4_096),
    ("claude", 32_000),
)
"""Tokens of an answer, by the beginning of the model's name."""
_OTHER_ANSWER_LIMIT: Final = 8_192


_FORMAT_PATTERNS: Final = [
    (linear(f"family.format.{number}", f"(?:^|[^a-z0-9])(?:{pattern})"), form)
    for number, (pattern, form) in enumerate(_FORMATS)
]
_MODEL_PATTERNS: Final = [
    (host, linear(f"family.model.{number}", pattern), facts)
    for number, (host, pattern, facts) in enumerate(_MODELS)
]


@lru_cache(maxsize=256)
def family_of(model: str, base_url: str) -> Facts:
    """What the table knows of a model.

    Args:
        model: Its name, as its provider writes it.
        base_url: The address of its provider.
    """
    name = _bare_name(model)
    text_format = next((form for pattern, form in _FORMAT_PATTERNS if pattern.search(model.lower())), None)
    known = next((facts for _, pattern, facts in _MODEL_PATTERNS if pattern.match(name)), Facts())
    if _host(base_url) not in {host for host, pattern, _ in _MODEL_PATTERNS if pattern.match(name)}:
        known = replace(known, price=None, context_window=None)
    return replace(known, text_format=text_format)


def answer_limit(model: str) -> int:
    """The most tokens of an answer that a request should ask for, where a request must say a number.

    Args:
        model: Its name, as its provider writes it.
    """
    name = _bare_name(model)
    return next((limit for begin, limit in _ANSWER_LIMITS if name.startswith(begin)), _OTHER_ANSWER_LIMIT)


def _bare_name(model: str) -> str:
    """The name without who made it, a folder or a region, and Claude's versions as Anthropic writes them.

    Gateways write `anthropic/claude-sonnet-4.5`, Bedrock `us.anthropic.claude-sonnet-4-5-20250929-v1:0`, Vertex
    `claude-sonnet-4-5@20250929`.
    """
    name = model.lower().rpartition("/")[2]
    before, claude, version = name.partition("claude")
    if not claude or (before and not before.endswith(".")):
        return name
    return claude + version.replace(".", "-").replace("@", "-")


def _host(base_url: str) -> str:
    try:
        return (urlsplit(base_url).hostname or "").lower()
    except ValueError:
        return ""
