"""How each model is told how much to think: one table, from the setting `thinking` to fields of a request.

Pure. What a model cannot do is said (`Told.shortfall`) and the nearest that it can do is asked for; what is not known to
be taken is never sent, as many servers refuse a request for one key that they do not know.

Last looked through in November 2026. Sources:
- Anthropic: "Thinking", "Effort" and the migration guides of the Claude 5 and 5.5 models.
- OpenAI: "Reasoning models" and the type `ReasoningEffort` of the API reference.
- Google: "Gemini thinking" of the Gemini API, with its OpenAI compatibility.
- OpenRouter: "Reasoning Tokens". LiteLLM: "reasoning_content". vLLM: "Reasoning Outputs".
- Alibaba Cloud Model Studio: "Deep thinking". DeepSeek: "Thinking Mode". Z.ai: "Deep Thinking". Moonshot: "Thinking".
- Ollama: "Thinking", and what `/api/show` tells of a model. xAI: "Reasoning". Groq: "Reasoning".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from outrider.models.answer import (
    THOUGHT_IN_TEXT,
    CallBlock,
    TextBlock,
    Verbatim,
    blocks_of,
    provider_data,
    thought_in_text,
)
from outrider.ports.model import Message, ModelResponse, ProviderData, ToolCall
from outrider.ports.patterns import Pattern, linear
from outrider_protocol.choices import ProviderKind
from outrider_protocol.settings import Thinking

Fields = Mapping[str, Any]

LEVELS: Final = ("low", "medium", "high", "max")
LEVEL_TOKENS: Final = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Tokens of thought that a level stands for where a model is told a number; `max` is the most that it takes."""
_WEAKEST_FIRST: Final = ("minimal", "low", "medium", "high", "xhigh", "max")
_ON: Final = ("on",)
"""The efforts of a model that can only think or not."""
ROOM_FOR_TEXT: Final = 1_024
"""Tokens of an answer that are left for its text, where the thoughts count as part of it."""
_ALL: Final = ("low", "medium", "high", "xhigh", "max")
_THREE: Final = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class Way:
    """How a family of models is told."""

    write: Callable[[str], Fields] | None = None
    """The fields for one of `efforts`."""
    efforts: Sequence[str] = ()
    """What it takes, the weakest first; `("on",)` where it can only think or not."""
    write_tokens: Callable[[int], Fields] | None = None
    """The fields for a number of tokens; None where it takes none."""
    tokens: tuple[int, int] = (1, 1_000_000)
    """The fewest and the most that it takes."""
    off: Fields | None = None
    """The fields that keep it from thinking: none where it does not think unless told; None where nothing does."""
    in_answer: bool = False
    """Whether the tokens of thought count towards the limit of the answer, and must be fewer."""


@dataclass(frozen=True, slots=True)
class Told:
    """What goes into a request."""

    fields: Fields
    shortfall: str | None = None
    """What the model cannot do, and what it is asked for instead; the model's name is to be put before it."""
    thinks: bool = True
    """Whether it is asked to think."""


def _effort(word: str) -> Fields:
    return {"reasoning_effort": word}


def _reasoning(word: str) -> Fields:
    # Without a summary nothing comes while it thinks.
    return {"reasoning": {"effort": word, "summary": "auto"}}


def _adaptive(word: str) -> Fields:
    return {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": word},
    }


def _budget(tokens: int) -> Fields:
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}}


def _level(word: str) -> Fields:
    return {"thinkingConfig": {"thinkingLevel": word, "includeThoughts": True}}


def _gemini_budget(tokens: int) -> Fields:
    return {"thinkingConfig": {"thinkingBudget": tokens, "includeThoughts": True}}


def _openrouter(word: str) -> Fields:
    return {"reasoning": {"effort": word}}


def _openrouter_tokens(tokens: int) -> Fields:
    return {"reasoning": {"max_tokens": tokens}}


def _dashscope_tokens(tokens: int) -> Fields:
    return {"enable_thinking": True, "thinking_budget": tokens}


def _enabled(_: str) -> Fields:
    return {"thinking": {"type": "enabled"}}


def _deepseek(word: str) -> Fields:
    return {"thinking": {"type": "enabled"}, "reasoning_effort": word}


def _template(name: str) -> Callable[[bool], Fields]:
    return lambda on: {"chat_template_kwargs": {name: on}}


def _switch(write: Callable[[bool], Fields]) -> Way:
    return Way(lambda _: write(True), _ON, off=write(False))


def _openai(write: Callable[[str], Fields], *efforts: str) -> Way:
    return Way(
        write, [one for one in efforts if one != "none"], off=write("none") if "none" in efforts else None
    )


_DISABLED: Final = {"thinking": {"type": "disabled"}}
_CLAUDE_BUDGET: Final = Way(write_tokens=_budget, tokens=(1_024, 64_000), off={}, in_answer=True)

_OPENAI_EFFORTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (r"gpt-5-pro", ("high",)),
    (r"gpt-5-codex|gpt-5\.1-codex($|-mini)", _THREE),
    (r"gpt-5\.1-codex-max|gpt-5\.[2-9]-codex", ("low", "medium", "high", "xhigh")),
    (r"gpt-5\.1", ("none", "low", "medium", "high")),
    (r"gpt-5\.[2-9]|gpt-[6-9]|gpt-\d\d", ("none", "low", "medium", "high", "xhigh")),
    (r"gpt-5", ("minimal", "low", "medium", "high")),
    (r"(^|/)o\d|gpt-oss|codex", _THREE),
)
_ELSEWHERE: Final[tuple[tuple[str, Way], ...]] = (
    # LiteLLM and Google's own gateway take it for these, too.
    (r"claude|gemini-[3-9]|gemini-2\.5", Way(_effort, _THREE)),
    (r"gpt-oss|gpt-5|(^|/)o\d(-|$)", Way(_effort, _THREE)),
    # Servers of open models (vLLM, SGLang, llama.cpp) hand it to the model's template.
    (r"deepseek-v(3\.[1-9]|[4-9])|kimi-k2\.[5-9]|granite-3\.[2-9]", _switch(_template("thinking"))),
    (r"qwen-?3|glm-?(4\.[5-9]|[5-9])|gemma-?[4-9]", _switch(_template("enable_thinking"))),
)

_ROWS: Final[tuple[tuple[ProviderKind, str, str, Way], ...]] = (
    (
        "anthropic",
        "",
        r"claude-sonnet-5-5",
        Way(_adaptive, _ALL, off={"thinking": {"type": "between_tools"}}),
    ),
    ("anthropic", "", r"claude-(opus-5-5|fable|mythos|[a-z]+-[6-9])", Way(_adaptive, _ALL)),
    ("anthropic", "", r"claude-[a-z]+-5", Way(_adaptive, _ALL, off=_DISABLED)),
    ("anthropic", "", r"claude-opus-4-[78]", Way(_adaptive, _ALL, off={})),
    ("anthropic", "", r"claude-opus-4-6", Way(_adaptive, ("low", "medium", "high", "max"), off={})),
    ("anthropic", "", r"claude-sonnet-4-6", Way(_adaptive, _THREE, off={})),
    ("anthropic", "", r"claude-(3-7|[a-z]+-4)", _CLAUDE_BUDGET),
    *(
        ("openai-responses", "", pattern, _openai(_reasoning, *efforts))
        for pattern, efforts in _OPENAI_EFFORTS
    ),
    *(
        ("openai-chat", server, pattern, _openai(_effort, *efforts))
        for server in ("openai", "azure")
        for pattern, efforts in _OPENAI_EFFORTS
    ),
    ("gemini", "", r"gemini-2\.5-pro", Way(write_tokens=_gemini_budget, tokens=(128, 32_768))),
    (
        "gemini",
        "",
        r"gemini-2\.5-flash-lite",
        Way(write_tokens=_gemini_budget, tokens=(512, 24_576), off={"thinkingConfig": {"thinkingBudget": 0}}),
    ),
    (
        "gemini",
        "",
        r"gemini-2\.5",
        Way(write_tokens=_gemini_budget, tokens=(1, 24_576), off={"thinkingConfig": {"thinkingBudget": 0}}),
    ),
    ("gemini", "", r"gemini-3-pro", Way(_level, ("low", "high"))),
    ("gemini", "", r"gemini-\d[\d.]*-flash", Way(_level, ("minimal", "low", "medium", "high"))),
    ("gemini", "", r"gemini-[3-9]", Way(_level, _THREE)),
    (
        "openai-chat",
        "openrouter",
        r"",
        Way(
            _openrouter,
            ("minimal", "low", "medium", "high", "xhigh"),
            _openrouter_tokens,
            off={"reasoning": {"enabled": False}},
        ),
    ),
    (
        "openai-chat",
        "dashscope",
        r"",
        Way(write_tokens=_dashscope_tokens, tokens=(1, 81_920), off={"enable_thinking": False}),
    ),
    ("openai-chat", "deepseek", r"", Way(_deepseek, ("high", "max"), off=_DISABLED)),
    ("openai-chat", "zhipu", r"", Way(_enabled, _ON, off=_DISABLED)),
    ("openai-chat", "moonshot", r"kimi-k2\.[5-9]|kimi-k[3-9]", Way(_enabled, _ON, off=_DISABLED)),
    ("openai-chat", "xai", r"grok-3-mini", Way(_effort, ("low", "high"))),
    ("openai-chat", "groq", r"gpt-oss", Way(_effort, _THREE)),
    *(
        ("openai-chat", server, pattern, way)
        for server in ("other", "litellm", "vercel", "bedrock", "vertex")
        for pattern, way in _ELSEWHERE
    ),
)
_TABLE: Final[tuple[tuple[ProviderKind, str, Pattern, Way], ...]] = tuple(
    (kind, server, linear(f"thinking.{number}", rf"(?i){pattern}"), way)
    for number, (kind, server, pattern, way) in enumerate(_ROWS)
)
"""The dialect, the server (`chat_servers`; empty for any), what a model's name holds, and how it is told."""


def way_of(kind: ProviderKind, server: str, model: str) -> Way | None:
    """How a model is told how much to think; None where that is not known.

    Args:
        kind: The dialect.
        server: The name of the server in `chat_servers`; it matters for chat completions alone.
        model: Its name, as its provider writes it. A dot in a version counts as a hyphen for Claude.
    """
    name = model.replace(".", "-") if kind == "anthropic" else model
    for row_kind, row_server, pattern, way in _TABLE:
        if kind == row_kind and row_server in ("", server) and pattern.search(name):
            return way
    return None


def ollama_way(values: Sequence[object], *, thinks: bool, name: str) -> Way | None:
    """How a model of Ollama is told; None where it does not think.

    Args:
        values: What `/api/show` says that `think` takes; empty where it does not say.
        thinks: Whether `thinking` is among its capabilities.
        name: The model's name.
    """
    words = [one for one in _WEAKEST_FIRST if one in values]
    if not values and "gpt-oss" in name.lower():
        words = list(_THREE)
    if words:
        return Way(lambda word: {"think": word}, words, off={"think": False} if False in values else None)
    if True in values or (thinks and not values):
        off = {"think": False} if not values or False in values else None
        return Way(lambda _: {"think": True}, _ON, off=off)
    return None


def told(way: Way | None, wanted: Thinking, *, answer: int | None = None) -> Told:
    """The fields that tell a model how much to think.

    Args:
        way: How it is told.
        wanted: The setting.
        answer: The most tokens of the answer, where the request says so.
    """
    if wanted == "off":
        return _told_off(way)
    if way is None:
        return Told(
            {},
            "has no setting for how much to think; use extraBody if its provider has one",
            thinks=False,
        )
    if way.write_tokens is not None and (isinstance(wanted, int) or way.write is None):
        return _told_tokens(way, way.write_tokens, wanted, answer)
    return _told_effort(way, wanted)


def _told_off(way: Way | None) -> Told:
    if way is None:
        return Told({}, "cannot turn thinking off", thinks=False)
    if way.off is not None:
        return Told(way.off, thinks=False)
    if way.write is not None and way.efforts != _ON:
        least = way.efforts[0]
        return Told(way.write(least), f"cannot turn thinking off, so the least is requested: {least}")
    if way.write_tokens is not None:
        least_tokens = way.tokens[0]
        said = f"cannot turn thinking off, so the least is requested: {least_tokens} tokens"
        return Told(way.write_tokens(least_tokens), said)
    return Told({}, "cannot turn thinking off")


def _told_tokens(way: Way, write: Callable[[int], Fields], wanted: Thinking, answer: int | None) -> Told:
    least, most = way.tokens
    if way.in_answer and answer is not None:
        most = min(most, answer - ROOM_FOR_TEXT)
    if most < least:
        said = f"has no room for thinking in an answer of {answer} tokens: raise maxTokens"
        return Told({}, said, thinks=False)
    asked = wanted if isinstance(wanted, int) else LEVEL_TOKENS.get(wanted, most)
    tokens = min(max(asked, least), most)
    exact = tokens == asked or wanted == "max"
    return Told(
        write(tokens),
        None if exact else f"takes {least} to {most} tokens of thinking, so it is asked for {tokens}",
    )


def _told_effort(way: Way, wanted: Thinking) -> Told:
    write, efforts = way.write, list(way.efforts)
    if write is None or not efforts:
        return Told({}, "has no setting for how much to think", thinks=False)
    level = _level_of(wanted) if isinstance(wanted, int) else wanted
    if way.efforts == _ON:
        said = (
            None
            if wanted in ("high", "max")
            else "can only turn thinking on or off, so it decides how much to think"
        )
        return Told(write("on"), said)
    if level == "max":
        chosen = efforts[-1]
    else:
        rank = _WEAKEST_FIRST.index(level)
        stronger = [one for one in efforts if _WEAKEST_FIRST.index(one) >= rank]
        chosen = stronger[0] if stronger else efforts[-1]
    if isinstance(wanted, int):
        return Told(
            write(chosen), f"does not accept a number of tokens, so it is asked for the effort {chosen}"
        )
    exact = chosen == level or level == "max"
    return Told(write(chosen), None if exact else f"has no effort {level}, so it is asked for {chosen}")


def _level_of(tokens: int) -> str:
    """The level that a number of tokens comes closest to from above."""
    return next((level for level, most in LEVEL_TOKENS.items() if tokens <= most), "max")


_WANTED: Final = re.compile(r"(?<![a-z0-9])(minimax-?m\d|kimi-k(2(\.\d+|-thinking)|[3-9]))")
_IN_TEXT: Final = re.compile(r"(?<![a-z0-9])minimax-?m\d")
_OWN_TAG: Final = re.compile(r"(?<![a-z0-9])minimax-?m[3-9]")
"""Whose tag for thoughts has a name of its own."""


def wants_thoughts(model: str) -> bool:
    """Whether it wants back what a server tells apart.

    Args:
        model: Its name, with or without its provider.
    """
    return _WANTED.search(model.lower()) is not None


def noted(answer: ModelResponse, model: str) -> ModelResponse:
    """The answer, whose thoughts stood in its text, with a note of that for a model that wants them back there.

    Args:
        answer: As it was read.
        model: `provider/name`.
    """
    if not answer.reasoning or answer.provider_data is not None or not _IN_TEXT.search(model.lower()):
        return answer
    said = [TextBlock(answer.text)] if answer.text else []
    blocks = [THOUGHT_IN_TEXT, *said, *(CallBlock(call) for call in answer.tool_calls)]
    return replace(answer, provider_data=provider_data(model, blocks, answer.tool_calls))


def apart(message: Message, text: str, calls: Sequence[ToolCall], model: str) -> ProviderData | None:
    """What goes back word for word with an answer whose text is another one now, as its calls stood or stand in it.

    Args:
        message: The answer as it was.
        text: Its text now.
        calls: Its calls now.
        model: `provider/name` of who is asked.

    Returns:
        What is kept with the new one; None where there was nothing.
    """
    kept = [block for block in blocks_of(message, model) if isinstance(block, Verbatim)]
    if not kept:
        return None
    said = [TextBlock(text)] if text else []
    return provider_data(model, [*kept, *said, *(CallBlock(call) for call in calls)], calls)


def text_of(message: Message, model: str) -> str:
    """The text of an answer as it goes back: with its thoughts before it, if they stood there.

    Args:
        message: The answer.
        model: `provider/name` of who is asked.
    """
    if message.reasoning and thought_in_text(message, model):
        tag = "mm:think" if _OWN_TAG.search(model.lower()) else "think"
        thoughts = f"<{tag}>\n{message.reasoning.strip()}\n</{tag}>"
        return f"{thoughts}\n\n{message.text}" if message.text else thoughts
    return message.text
