"""What somebody knows of a model: a table, or the server that has it. Servers tell it in several forms.

Nothing here raises for what a server sent, however odd, and nothing it says can make a model more expensive or
larger than a number can be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from outrider.models.http.payload import count, mapping, string
from outrider_protocol.choices import EditFormat
from outrider_protocol.settings import Price, ToolFormat, ToolStrength

OLLAMA_WINDOW = 32_768
"""Tokens of the context that Ollama is told to use where the settings say nothing: many models could take more."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a server or the table knows of a model; None is what it does not."""

    tools: bool | None = None
    """Whether it calls tools by the means of its provider."""
    text_format: ToolFormat | None = None
    """How it writes calls where it does not."""
    context_window: int | None = None
    max_tokens: int | None = None
    vision: bool | None = None
    reasoning: bool | None = None
    tool_strength: ToolStrength | None = None
    price: Price | None = None
    edit_format: EditFormat | None = None


def facts_of_entry(entry: Mapping[str, Any]) -> Facts:
    """What an entry of a list of models tells.

    Args:
        entry: An item of the answer to `GET /models`. Read are the forms of OpenRouter, vLLM, llama.cpp, Groq,
            Mistral, Together, Anthropic and Gemini; whatever else keeps to one of them is read too.
    """
    top, meta = mapping(entry.get("top_provider")), mapping(entry.get("meta"))
    able = mapping(entry.get("capabilities"))
    parameters = _strings(entry.get("supported_parameters"))
    seen = _strings(mapping(entry.get("architecture")).get("input_modalities"))
    return Facts(
        tools=_whether(able.get("function_calling"), "tools" in parameters if parameters else None),
        context_window=_first(
            entry,
            ("max_model_len", "context_length", "context_window", "max_context_length", "max_input_tokens"),
        )
        or _first(entry, ("inputTokenLimit",))
        or _first(meta, ("n_ctx", "n_ctx_train")),
        max_tokens=_first(top, ("max_completion_tokens",))
        or _first(entry, ("max_completion_tokens", "outputTokenLimit", "max_tokens")),
        vision=_whether(able.get("vision"), "image" in seen if seen else None),
        reasoning=_whether(able.get("reasoning"), "reasoning" in parameters if parameters else None),
        price=_price(mapping(entry.get("pricing"))),
    )


def facts_of_shown(shown: Mapping[str, Any]) -> Facts:
    """What Ollama tells of one model.

    Args:
        shown: The answer to `POST /api/show`.
    """
    able = _strings(shown.get("capabilities"))
    lengths = (
        count(value)
        for key, value in mapping(shown.get("model_info")).items()
        if key.endswith(".context_length")
    )
    return Facts(
        tools="tools" in able if able else None,
        context_window=next((length for length in lengths if length), None),
        vision="vision" in able if able else None,
        reasoning="thinking" in able if able else None,
    )


def _first(fields: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    return next((number for key in keys if (number := count(fields.get(key)))), None)


def _strings(value: object) -> list[str]:
    return [string(item) for item in cast("list[Any]", value)] if isinstance(value, list) else []


def _whether(*answers: object) -> bool | None:
    return next((answer for answer in answers if isinstance(answer, bool)), None)


def _price(pricing: Mapping[str, Any]) -> Price | None:
    """Prices for one token, as OpenRouter writes them; a negative one means that it differs."""
    given, made = _for_a_million(pricing.get("prompt")), _for_a_million(pricing.get("completion"))
    if given is None or made is None:
        return None
    return Price(input=given, output=made, cached=_for_a_million(pricing.get("input_cache_read")))


def _for_a_million(value: object) -> float | None:
    try:
        price = float(value) * 1e6 if isinstance(value, str) else None
    except ValueError:
        return None
    return round(price, 6) if price is not None and 0 <= price < _DEAREST else None


_DEAREST = 1e6
