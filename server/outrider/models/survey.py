"""Which models there are: those of the configured providers, and what could be configured.

Keys are looked for by the names of their variables, and servers on the ports of this machine where they usually
are. Both are only found, never used: no key is sent anywhere but to the provider that the settings give it to.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from outrider.models.http.failures import clean
from outrider.models.http.keys import Keys
from outrider.models.http.payload import encoded, mapping, mappings, string
from outrider.models.http.provider import HttpProvider
from outrider.models.routing.facts import Facts, facts_of_entry, facts_of_shown
from outrider.ports.clock import Clock
from outrider.ports.model import ModelFailure
from outrider_protocol.choices import ProviderKind
from outrider_protocol.settings import ProviderSettings

SECONDS = 5.0
"""How long a configured provider may take to say what it has."""
LOCAL_SECONDS = 1.0
"""How long a server of this machine may take."""


@dataclass(frozen=True, slots=True)
class Surveyed:
    """A configured provider: the names of its models, or why there are none."""

    name: str
    kind: ProviderKind
    address: str
    models: tuple[str, ...] = ()
    problem: str | None = None
    lacks: Literal["models", "key"] | None = None
    """What is missing where it answers, but lists no models."""
    facts: Mapping[str, Facts] = field(default_factory=dict[str, Facts])
    """What the list tells of them."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A provider that could be configured."""

    found: str
    """What was found, for a user."""
    name: str
    """A name for it."""
    kind: ProviderKind
    base_url: str
    api_key_env: str | None = None
    models: tuple[str, ...] = ()
    """Models that it says it has; none where it was not asked, or something has to be done first."""
    to_do: str | None = None
    """What."""


HOSTED: tuple[tuple[str, str, str, ProviderKind, str], ...] = (
    ("OPENAI_API_KEY", "OpenAI", "openai", "openai-responses", "https://api.openai.com/v1"),
    ("ANTHROPIC_API_KEY", "Anthropic", "anthropic", "anthropic", "https://api.anthropic.com/v1"),
    (
        "GEMINI_API_KEY",
        "Google Gemini",
        "gemini",
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
    ),
    (
        "GOOGLE_API_KEY",
        "Google Gemini",
        "google",
        "gemini",
        "https://generativelanguage.googleapis.com/v1beta",
    ),
    ("OPENROUTER_API_KEY", "OpenRouter", "openrouter", "openai-chat", "https://openrouter.ai/api/v1"),
    ("GROQ_API_KEY", "Groq", "groq", "openai-chat", "https://api.groq.com/openai/v1"),
    ("MISTRAL_API_KEY", "Mistral", "mistral", "openai-chat", "https://api.mistral.ai/v1"),
    ("DEEPSEEK_API_KEY", "DeepSeek", "deepseek", "openai-chat", "https://api.deepseek.com/v1"),
    ("XAI_API_KEY", "xAI", "xai", "openai-chat", "https://api.x.ai/v1"),
)
"""The variable in which the key of a provider usually is, what users call it, a name, its dialect and its address."""
LocalServers = tuple[tuple[int, str, str, ProviderKind, str], ...]
LOCAL_SERVERS: LocalServers = (
    (11434, "Ollama", "ollama", "ollama", ""),
    (1234, "LM Studio", "lmstudio", "openai-chat", "/v1"),
    (8080, "llama.cpp", "llamacpp", "openai-chat", "/v1"),
    (8000, "vLLM", "vllm", "openai-chat", "/v1"),
    (4000, "LiteLLM", "litellm", "openai-chat", "/v1"),
)
"""Port, what usually listens there, a name, its dialect and the rest of its address."""
_QUERIES: Mapping[ProviderKind, str] = {"anthropic": "limit=1000", "gemini": "pageSize=1000"}
"""For the whole list: without one, these give the first page of it."""


async def survey(provider: HttpProvider, clock: Clock, seconds: float = SECONDS) -> Surveyed:
    """Ask a provider which models it has.

    Args:
        provider: The provider.
        clock: Where the time-out comes from.
        seconds: How long it may take.
    """
    settings = provider.settings
    path = "/models"
    if settings.kind == "ollama":
        path = "/tags" if settings.base_url.rstrip("/").endswith("/api") else "/api/tags"
    address = clean(settings.base_url)
    try:
        async with clock.timeout(seconds):
            said = await provider.look_up(path, query=_QUERIES.get(settings.kind, ""))
    except TimeoutError:
        said = ModelFailure("timeout", f"provider {provider.name}: no answer in {seconds:g} s")
    if isinstance(said, ModelFailure):
        lacks = "key" if said.kind == "auth" else None
        return Surveyed(provider.name, settings.kind, address, problem=said.message, lacks=lacks)
    held = mapping(said)
    listed = mappings(held.get("data")) or mappings(held.get("models"))
    facts: dict[str, Facts] = {}
    for entry in listed:
        if name := string(entry.get("id")) or string(entry.get("name")):
            facts[clean(name.removeprefix("models/"))] = facts_of_entry(entry)
    problem = None if facts else f"provider {provider.name}: it answers, but lists no models"
    is_list = isinstance(held.get("data"), list) or isinstance(held.get("models"), list)
    lacks = "models" if is_list and not facts else None
    return Surveyed(provider.name, settings.kind, address, tuple(sorted(facts)), problem, lacks, facts)


async def facts_about(provider: HttpProvider, model: str, clock: Clock) -> Facts | None:
    """Ask a provider what it knows of one model; None where it does not say.

    Args:
        provider: The provider.
        model: Its name there.
        clock: Where the time-out comes from.
    """
    if provider.settings.kind != "ollama":
        return (await survey(provider, clock)).facts.get(model)
    ends_so = provider.settings.base_url.rstrip("/").endswith("/api")
    try:
        async with clock.timeout(SECONDS):
            said = await provider.look_up("/show" if ends_so else "/api/show", encoded({"model": model}))
    except TimeoutError:
        return None
    return None if isinstance(said, ModelFailure) else facts_of_shown(mapping(said))


async def offers(env: Mapping[str, str], clock: Clock, servers: LocalServers) -> list[Offer]:
    """What could be configured: keys in `env`, and those of `servers` that answer on this machine."""
    by_key = [
        Offer(f"a key in {variable}", name, kind, url, variable)
        for variable, _, name, kind, url in HOSTED
        if env.get(variable, "").strip()
    ]
    local = await asyncio.gather(*(_local(server, clock) for server in servers))
    return [*by_key, *(offer for offer in local if offer is not None)]


async def _local(server: tuple[int, str, str, ProviderKind, str], clock: Clock) -> Offer | None:
    port, what, name, kind, path = server
    url = f"http://127.0.0.1:{port}{path}"
    settings = ProviderSettings(kind=kind, base_url=url, connect_seconds=LOCAL_SECONDS)
    provider = HttpProvider(name, settings, clock=clock, secrets=Keys({}))
    try:
        found = await survey(provider, clock, LOCAL_SECONDS)
    finally:
        await provider.close()
    where = f"a server on port {port}, where {what} usually is"
    if found.lacks == "key":
        variable = f"{name.upper()}_API_KEY"
        to_do = f"it needs a key to list its models: put it into the environment variable {variable}"
        return Offer(where, name, kind, url, variable, to_do=to_do)
    if found.lacks == "models":
        get = "get one with `ollama pull NAME`" if kind == "ollama" else "load one there"
        return Offer(where, name, kind, url, to_do=f"it has no model yet: {get}")
    return Offer(where, name, kind, url, models=found.models) if found.models else None
