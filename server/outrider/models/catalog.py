"""From a model's reference to the model: `provider/name`, `scripted:PATH` or `recorded:PATH`.

It owns the connections of the providers. It reads no environment and no settings file: all it knows is given.
"""

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from outrider.models.attempts import Attempts
from outrider.models.dialects.anthropic import AnthropicModel
from outrider.models.dialects.gemini import GeminiModel
from outrider.models.dialects.http_model import HttpModel
from outrider.models.dialects.ollama import OllamaModel
from outrider.models.dialects.openai_chat import OpenAiChatModel
from outrider.models.dialects.openai_responses import OpenAiResponsesModel
from outrider.models.provider import HttpProvider
from outrider.models.recorded import load_recorded
from outrider.models.scripted import ScriptedModel, ScriptProblem, load_script
from outrider.models.survey import Surveyed, survey
from outrider.ports.clock import Clock
from outrider.ports.ids import Ids
from outrider.ports.model import Model
from outrider.ports.secrets import Secrets
from outrider_protocol.settings import ProviderKind, ProviderSettings

_SCRIPTED = "scripted:"
_RECORDED = "recorded:"
_DIALECTS: Mapping[ProviderKind, type[HttpModel]] = {
    "openai-chat": OpenAiChatModel,
    "openai-responses": OpenAiResponsesModel,
    "anthropic": AnthropicModel,
    "ollama": OllamaModel,
    "gemini": GeminiModel,
}


@dataclass(frozen=True, slots=True)
class ModelProblem:
    """Why there is no such model, and what to do about it."""

    message: str


class Catalog:
    """The models that can be had under some settings."""

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings],
        *,
        root: Path | None,
        clock: Clock,
        ids: Ids,
        secrets: Secrets,
        proxy: str | None = None,
        ca_file: str | None = None,
    ) -> None:
        """Make a catalog; nothing is opened yet.

        Args:
            providers: The configured providers by name.
            root: What paths of scripts are relative to, None if there is no workspace folder.
            clock: What the models wait on.
            ids: Makes the ids that a model left out.
            secrets: Where keys come from.
            proxy: URL of the proxy for providers that name none; addresses of this machine are reached directly.
            ca_file: PEM file of further certificate authorities, for providers that name none.
        """
        self._providers = providers
        self._root = root
        self._clock = clock
        self._ids = ids
        self._secrets = secrets
        self._proxy = proxy
        self._ca_file = ca_file
        self._opened: dict[str, HttpProvider] = {}

    async def open(
        self, reference: str | None, *, cursor: int = 0, others: Sequence[str] = ()
    ) -> Model | ModelProblem:
        """The model of a session; connections are made at its first request.

        Args:
            reference: `provider/name`, `scripted:PATH` or `recorded:PATH`.
            cursor: How many main-loop answers the session has used; only scripts look at it.
            others: Models that are asked in this order when that one cannot answer; what cannot be had is left out.
        """
        opened = await self._open(reference, cursor)
        if isinstance(opened, ModelProblem):
            return opened
        further = [await self._open(other, cursor) for other in others]
        models = [opened, *(model for model in further if not isinstance(model, ModelProblem))]
        alone = isinstance(opened, ScriptedModel) and not others
        return opened if alone else Attempts(models, clock=self._clock)

    async def _open(self, reference: str | None, cursor: int) -> Model | ModelProblem:
        if reference is None or not reference.strip():
            return ModelProblem(f"no model is set: set `model` to `provider/name`{self._configured()}")
        reference = reference.strip()
        if reference.startswith((_SCRIPTED, _RECORDED)):
            return await self._open_file(reference, cursor)
        name, slash, model = reference.partition("/")
        if not slash or not name or not model:
            return ModelProblem(f"the model {reference!r} is not `provider/name`{self._configured()}")
        if name not in self._providers:
            return ModelProblem(f"the model {reference!r} names an unknown provider{self._configured()}")
        return _DIALECTS[self._providers[name].kind](self._provider(name), model, ids=self._ids)

    async def survey(self) -> list[Surveyed]:
        """Which models the configured providers have; all are asked at once."""
        asked = (survey(self._provider(name), self._clock) for name in sorted(self._providers))
        return list(await asyncio.gather(*asked))

    async def close(self) -> None:
        """Close the connections of every provider."""
        opened = list(self._opened.values())
        self._opened.clear()
        await asyncio.gather(*(provider.close() for provider in opened))

    def _provider(self, name: str) -> HttpProvider:
        provider = self._opened.get(name)
        if provider is None:
            settings = self._providers[name]
            proxy = settings.proxy or (None if _is_loopback(settings.base_url) else self._proxy)
            provider = self._opened[name] = HttpProvider(
                name,
                settings,
                clock=self._clock,
                secrets=self._secrets,
                proxy=proxy,
                ca_file=settings.ca_file or self._ca_file,
            )
        return provider

    async def _open_file(self, reference: str, cursor: int) -> Model | ModelProblem:
        kind, _, name = reference.partition(":")
        path = Path(name)
        if not path.is_absolute():
            if self._root is None:
                return ModelProblem(
                    f"{reference}: there is no workspace folder, so the path must be absolute"
                )
            inside = await asyncio.to_thread(_inside, self._root, path)
            if inside is None:
                return ModelProblem(f"{reference}: leads out of the workspace; an absolute path may")
            path = inside
        if kind == "scripted":
            script = await load_script(path)
        else:
            script = await asyncio.to_thread(load_recorded, path)
        if isinstance(script, ScriptProblem):
            what = "script" if kind == "scripted" else "recorded session"
            return ModelProblem(f"the {what} cannot be used: {script.message}")
        return ScriptedModel(reference, script, clock=self._clock, ids=self._ids, cursor=cursor)

    def _configured(self) -> str:
        if not self._providers:
            return "; no provider is configured: set `providers`, or use `scripted:PATH`"
        return f"; the configured providers are {', '.join(sorted(self._providers))}"


def _inside(root: Path, path: Path) -> Path | None:
    """`path` under `root`, None if it leads elsewhere, be it through a link."""
    try:
        resolved = (root / path).resolve()
        return resolved if resolved.is_relative_to(root.resolve()) else None
    except (OSError, ValueError, RuntimeError):
        # A cycle of links, or a character no path has: reading it says what is wrong.
        return root / path


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
