"""What is known of a model, value by value, and where each comes from.

The first that knows a value has it: the user's settings, the server that has the model, a table of families,
what is safe to believe of any model. Pure: whoever asks a server brings what it told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, cast

from outrider.models.routing.facts import OLLAMA_WINDOW, Facts
from outrider.models.routing.families import family_of
from outrider.ports.model import Latency
from outrider_protocol.choices import EditFormat
from outrider_protocol.settings import ModelSettings, Price, ProviderSettings, ToolFormat, ToolStrength

Source = Literal["settings", "provider settings", "learned", "server", "table", "default"]

OWN_FORMAT: ToolFormat = "outrider"
"""For a model without tools of whose family nothing is known."""
WINDOW = 128_000
"""Tokens of the context of a model of which nothing is known."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A model, as it is used."""

    tool_format: ToolFormat
    """`native`, or how it writes calls."""
    text_format: ToolFormat
    """How it writes calls where its provider refuses tools."""
    context_window: int
    """Tokens it can take, its answer included."""
    max_tokens: int | None
    """The most tokens of one answer, where it is known. Asked for only where the settings say it: some providers want
    to see the money for all of them first."""
    vision: bool
    reasoning: bool
    tool_strength: ToolStrength
    price: Price | None
    """None: unknown."""
    edit_format: EditFormat | None
    """None: all tools for edits."""
    sources: Mapping[str, Source] = field(default_factory=dict[str, Source])
    """Where each value comes from."""


def profile_of(
    model: str,
    provider: ProviderSettings | None,
    given: ModelSettings | None,
    told: Facts | None = None,
    learned: ToolFormat | None = None,
) -> Profile:
    """Put together what is known of a model.

    Args:
        model: Its name, as its provider writes it.
        provider: Where it is served; None for a script.
        given: What the user set for it.
        told: What its server told of it.
        learned: The text format it was switched to because it refused tools, or wrote calls that nobody read.
    """
    table = Facts() if provider is None else family_of(model, provider.base_url)
    told = told or Facts()
    values: dict[str, object] = {}
    sources: dict[str, Source] = {}

    def settle(name: str, default: object, *known: tuple[Source, object]) -> None:
        source, value = next(((s, v) for s, v in known if v is not None), ("default", default))
        values[name], sources[name] = value, cast("Source", source)

    text_format = table.text_format or OWN_FORMAT
    settle(
        "tool_format",
        "native",
        ("settings", given and given.tool_format),
        ("learned", learned),
        ("server", _format(told, text_format)),
        ("table", _format(table, text_format)),
    )
    # Ollama tells what the model was made for, but uses what it is told to, and few machines could take it all.
    is_ollama = provider is not None and provider.kind == "ollama"
    settle(
        "context_window",
        OLLAMA_WINDOW if is_ollama else WINDOW if provider is None else provider.context_window,
        ("settings", given and given.context_window),
        ("provider settings", _set(provider, "context_window")),
        ("server", None if is_ollama else told.context_window),
        ("table", None if is_ollama else table.context_window),
    )
    if is_ollama and told.context_window and told.context_window < cast("int", values["context_window"]):
        values["context_window"], sources["context_window"] = told.context_window, "server"
    settle(
        "max_tokens",
        None,
        ("settings", given and given.max_tokens),
        ("provider settings", _set(provider, "max_tokens")),
        ("server", told.max_tokens),
    )
    for name, otherwise in (
        ("vision", False),
        ("reasoning", False),
        ("tool_strength", "weak" if values["tool_format"] != "native" else "medium"),
        ("price", None),
        ("edit_format", None),
    ):
        settle(
            name,
            otherwise,
            ("settings", given and getattr(given, name)),
            ("server", getattr(told, name)),
            ("table", getattr(table, name)),
        )
    if values["tool_format"] != "native" and sources["tool_strength"] == "table":
        # What the table says is about tools as the provider has them.
        values["tool_strength"], sources["tool_strength"] = "weak", "default"
    return Profile(text_format=text_format, sources=sources, **values)  # pyright: ignore[reportArgumentType] -- by name


def _format(facts: Facts, text_format: ToolFormat) -> ToolFormat | None:
    if facts.tools is None:
        return None
    return "native" if facts.tools else text_format


def _set(provider: ProviderSettings | None, name: str) -> object:
    return getattr(provider, name) if provider is not None and name in provider.model_fields_set else None


def shown(profile: Profile) -> list[tuple[str, str, Source]]:
    """The profile for a user: name, value and source of each value."""
    return [
        (
            one.name.replace("_", " "),
            "any"
            if one.name == "edit_format" and profile.edit_format is None
            else _said(getattr(profile, one.name)),
            profile.sources[one.name],
        )
        for one in fields(profile)
        if one.name in profile.sources
    ]


def _said(value: object) -> str:
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case Price():
            cached = "" if value.cached is None else f", {value.cached:g} cached"
            return f"{value.input:g} in, {value.output:g} out{cached} per million tokens"
        case _:
            return str(value)


FIRST = 5
"""So many requests count the same; from then on the latest counts `WEIGHT`."""
WEIGHT = 0.2


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a model was so far."""

    requests: int = 0
    first_token_ms: float = 0.0
    tokens_per_second: float | None = None
    """None where every answer was too short to tell."""

    def after(self, latency: Latency) -> "Pace":
        """The pace with one more request."""
        share = 1 / (self.requests + 1) if self.requests < FIRST else WEIGHT
        rate, before = latency.tokens_per_second, self.tokens_per_second
        return Pace(
            self.requests + 1,
            _mean(self.first_token_ms, latency.first_token_ms, share),
            before if rate is None else rate if before is None else _mean(before, rate, share),
        )


def _mean(before: float, now: float, share: float) -> float:
    return before + share * (now - before)
