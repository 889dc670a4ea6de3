"""From a model's reference to the model: `provider/name`, `scripted:PATH` or `recorded:PATH`.

It owns the connections of the providers. It reads no environment and no settings file: all it knows is given.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, cast

from outrider.models.dialects.anthropic import AnthropicModel
from outrider.models.dialects.gemini import GeminiModel, combines_tools
from outrider.models.dialects.http_model import HttpModel
from outrider.models.dialects.ollama import OllamaModel
from outrider.models.dialects.openai_chat import OpenAiChatModel
from outrider.models.dialects.openai_responses import OpenAiResponsesModel
from outrider.models.http.provider import HttpProvider, no_proxy, with_scheme
from outrider.models.images import unseen
from outrider.models.profiled import ProfiledModel
from outrider.models.retry import Attempts
from outrider.models.routed import RoutedModel
from outrider.models.routing.choose import choose, in_order, tier_of
from outrider.models.routing.facts import Facts
from outrider.models.routing.profile import Pace, Profile, profile_of
from outrider.models.routing.refusals import Refusals
from outrider.models.scripted import ScriptedModel, ScriptProblem, load_recorded, load_script
from outrider.models.survey import Surveyed, facts_about, survey
from outrider.ports.clock import Clock
from outrider.ports.ids import Ids
from outrider.ports.model import Latency, Model
from outrider.ports.routing import Need
from outrider.ports.routing import Routing as Decision
from outrider.ports.secrets import Secrets
from outrider_protocol.choices import ProviderKind
from outrider_protocol.settings import (
    TIERS,
    ModelSettings,
    ProviderSettings,
    RetrySettings,
    Routing,
    Thinking,
    Tiers,
    TierSettings,
    ToolFormat,
    is_script,
)

_TELLING: frozenset[ProviderKind] = frozenset({"openai-chat", "gemini"})
"""The dialects whose servers say in their list of models how much each can take; Ollama says it in another way."""
_SEARCHING: frozenset[ProviderKind] = frozenset({"anthropic", "openai-responses", "gemini"})
"""The dialects in which a provider searches the web."""
_WAY_OUT: Final = "set `web`, which lets it read pages, or add an MCP server that searches"
_SET_UP: Final = "run `outrider setup` in a terminal"
"""How a refusal for want of a model ends; clients with a button for it leave that out."""
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


@dataclass(frozen=True, slots=True)
class ModelServices:
    """What all models need of the process that they are used in."""

    clock: Clock
    """What they wait on."""
    ids: Ids
    """Makes the ids that a model left out."""
    secrets: Secrets
    """Where keys come from."""
    proxy_for: Callable[[str], str | None] = no_proxy
    """The URL of the proxy to an address, for providers that name none."""
    ca_file: str | None = None
    """PEM file of further certificate authorities, for providers that name none."""
    settings_file: Path | None = None
    """Where models and providers are set, for a refusal to name it."""


class Catalog:
    """The models that can be had under some settings."""

    def __init__(
        self,
        providers: Mapping[str, ProviderSettings],
        models: Mapping[str, ModelSettings] = MappingProxyType({}),
        *,
        root: Path | None,
        services: ModelServices,
        refusals: Refusals | None = None,
        retry: RetrySettings | None = None,
        thinking: Thinking | None = None,
        warn: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Make a catalog; nothing is opened yet.

        Args:
            providers: The configured providers by name.
            models: What the user set for models, by their reference.
            root: What paths of scripts are relative to, None if there is no workspace folder.
            services: What all models need.
            refusals: What earlier processes learned; None: nothing.
            retry: How long a request is repeated; None for the defaults.
            thinking: How much models think for which nothing else is set; None leaves it to them.
            warn: Tells the user what a model will not do.
        """
        self._providers = providers
        self._given = models
        self._root = root
        self._services = services
        self._refusals = refusals
        self._retry = retry
        self._thinking: Thinking | None = thinking
        self.warn = warn
        """Tells the user what a model will not do."""
        self._opened: dict[str, HttpProvider] = {}
        self._replaced: list[HttpProvider] = []
        """Those that were set up anew: turns that run may still use them."""
        self._told: dict[str, Facts] = {}
        self._profiles: dict[str, tuple[object, Profile]] = {}
        """The profile of each model, and what was told and learned of it by then: each step asks several times."""
        self._learned: dict[str, ToolFormat] = {}
        self._thinks_at_once: set[str] = set()
        """Models whose answers begin within a thought."""
        self._paces: dict[str, Pace] = {}
        self._asked: dict[str, asyncio.Task[None]] = {}
        self._told_of_search: set[str] = set()

    async def open(
        self,
        reference: str | None,
        *,
        cursor: int = 0,
        others: Sequence[str] = (),
        learned: Mapping[str, str] = MappingProxyType({}),
    ) -> Model | ModelProblem:
        """The model of a session; connections are made at its first request.

        Args:
            reference: `provider/name`, `scripted:PATH` or `recorded:PATH`.
            cursor: How many main-loop answers the session has used; only scripts look at it.
            others: Models that are asked in this order when that one cannot answer; what cannot be had is left out.
            learned: The text formats that models of the session were switched to, by their reference.
        """
        opened = await self._open(reference, cursor, learned)
        if isinstance(opened, ModelProblem):
            return opened
        further = [await self._open(other, cursor, learned) for other in others]
        models = [opened, *(model for model in further if not isinstance(model, ModelProblem))]
        alone = isinstance(opened, ScriptedModel) and not others
        return opened if alone else Attempts(models, clock=self._services.clock, retry=self._retry)

    async def open_tiers(
        self,
        tiers: Tiers,
        model: str | None,
        routing: Routing,
        *,
        cursors: Mapping[str, int] = MappingProxyType({}),
        learned: Mapping[str, str] = MappingProxyType({}),
    ) -> Model | ModelProblem:
        """The models of a session that are chosen step by step; those that cannot be had are left out.

        Args:
            tiers: The models.
            model: `model` of the settings, for where no tier has one that can be taken.
            routing: How it is chosen.
            cursors: How many main-loop answers of each the session has used; only scripts look at it.
            learned: The text formats that models of the session were switched to, by their reference.
        """
        references = [one.model for one in in_order(tiers, "small", model)]
        opened = {one: await self._open(one, cursors.get(one, 0), learned) for one in references}
        models = {one: found for one, found in opened.items() if not isinstance(found, ModelProblem)}
        if not models:
            problem = next((one for one in opened.values() if isinstance(one, ModelProblem)), None)
            return problem or ModelProblem(
                f"`model` is `tiers`, but no tier has a model: set `tiers` in {await self._file()}"
            )

        def chosen(need: Need, failed: Mapping[str, str]) -> Decision:
            profiles = {one: self.profile(one, learned) for one in models}
            return choose(need, tiers, model, profiles, settings=routing, paces=self._paces, failed=failed)

        return RoutedModel(
            list(models.values()),
            chosen,
            clock=self._services.clock,
            retry=self._retry,
            thinking={
                tier: wanted for tier in TIERS if (wanted := tier_of(tiers, tier).thinking) is not None
            },
        )

    async def open_for_titles(self, tiers: Tiers, routing: Routing) -> Model | ModelProblem:
        """The models of the tier `small`, for what the session can do without; a script only if it was written for it.

        Args:
            tiers: The models.
            routing: How it is chosen.
        """
        listed = [entry if isinstance(entry, list) else [entry] for entry in tiers.small.models]
        small = [[one for one in equals if await self._can_title(one)] for equals in listed]
        return await self.open_tiers(
            Tiers(small=TierSettings(models=[*filter(None, small)], thinking=tiers.small.thinking)),
            None,
            routing,
        )

    async def _can_title(self, reference: str) -> bool:
        if not is_script(reference):
            return True
        script = await self._open_file(reference, 0)
        return isinstance(script, ScriptedModel) and script.answers("title")

    def profile(self, reference: str, learned: Mapping[str, str] = MappingProxyType({})) -> Profile:
        """What is known of a model now.

        Args:
            reference: The model; one that cannot be had has a profile all the same.
            learned: The text formats that models of a session were switched to; an empty one where it is to count as one
                of which nothing was learned.
        """
        known_before = self._learned.get(reference) or self._refused_before(reference)
        form = learned.get(reference, known_before) or None
        told = self._told.get(reference)
        known = self._profiles.get(reference)
        if known is None or known[0] != (form, told):
            name, _, model = reference.partition("/")
            profile = profile_of(
                model,
                self._providers.get(name),
                self._given.get(reference),
                told,
                cast("ToolFormat | None", form),
            )
            known = self._profiles[reference] = (form, told), profile
        return known[1]

    def _refused_before(self, reference: str) -> ToolFormat | None:
        settings = self._providers.get(reference.partition("/")[0])
        if self._refusals is None or settings is None:
            return None
        return self._refusals.form_of(reference, settings.base_url)

    def forget_refusal(self, reference: str) -> None:
        """Forget that a model refused tools: it is offered some again, but in sessions that have learned of it."""
        self._learned.pop(reference, None)
        if self._refusals is not None:
            self._refusals.forget(reference)

    @property
    def paces(self) -> Mapping[str, Pace]:
        """How fast the models were that this process asked."""
        return self._paces

    async def _open(
        self, reference: str | None, cursor: int, learned: Mapping[str, str]
    ) -> Model | ModelProblem:
        if reference is None or not reference.strip():
            return ModelProblem(f"no model is set in {await self._file()}: {_SET_UP}")
        reference = reference.strip()
        if is_script(reference):
            script = await self._open_file(reference, cursor)
            if isinstance(script, ModelProblem) or reference not in self._given:
                return script
            return self._profiled(script, reference, learned)
        name, slash, model = reference.partition("/")
        if not slash or not name or not model:
            return ModelProblem(f"the model {reference!r} is not `provider/name`; {await self._configured()}")
        if name not in self._providers:
            return ModelProblem(
                f"the model {reference!r} names an unknown provider; {await self._configured()}"
            )
        settings, profile = self._providers[name], self.profile(reference, learned)
        known: dict[str, object] = {}
        if profile.sources["context_window"] in ("settings", "table", "server"):
            known["context_window"] = profile.context_window
        if profile.sources["max_tokens"] == "settings":
            known["max_tokens"] = profile.max_tokens
        opened = _DIALECTS[settings.kind](
            self._provider(name),
            model,
            ids=self._services.ids,
            settings=settings.model_copy(update=known),
            # The table knows families, whose members may differ in that.
            reasons=profile.reasoning if profile.sources["reasoning"] == "settings" else None,
            thinking=self._thinking_of(reference),
            searches=self._is_to_search(reference, settings.kind),
        )
        return self._profiled(opened, reference, learned)

    def _is_to_search(self, reference: str, kind: ProviderKind) -> bool:
        """Whether the provider searches the web for a model; says once where it shall and cannot."""
        given = self._given.get(reference)
        if given is None or not given.web_search:
            return False
        problem = ""
        if kind not in _SEARCHING:
            problem = f"{kind} providers cannot search the web here: {_WAY_OUT}"
        elif kind == "gemini" and not combines_tools(reference):
            problem = f"Google searches beside other tools from Gemini 3 on: name such a model, {_WAY_OUT}"
        if problem and reference not in self._told_of_search:
            self._told_of_search.add(reference)
            self.warn(f"models.{reference}.webSearch: {problem}")
        return not problem

    def _thinking_of(self, reference: str) -> Thinking | None:
        given = self._given.get(reference)
        if given is not None and given.thinking is not None:
            return given.thinking
        return self._thinking

    def _profiled(self, model: HttpModel | ScriptedModel, name: str, learned: Mapping[str, str]) -> Model:
        lessons = _Lessons(self, model, name, dict(learned))
        return ProfiledModel(
            model, lessons, clock=self._services.clock, ids=self._services.ids, opened=self._thinks_at_once
        )

    def told(self, name: str, facts: Facts) -> None:
        """Take in what the server of a model told of it."""
        self._told[name] = facts

    def answered(self, name: str, latency: Latency) -> None:
        """Take in how fast an answer of a model was."""
        self._paces[name] = self._paces.get(name, Pace()).after(latency)

    def learn(self, name: str, form: ToolFormat) -> None:
        """Take in, for this process and later ones, how a model writes its calls."""
        self._learned[name] = form
        settings = self._providers.get(name.partition("/")[0])
        if self._refusals is not None and settings is not None:
            self._refusals.put(name, settings.base_url, form)

    async def survey(self, named: Sequence[str]) -> list[Surveyed]:
        """Which models the configured providers have; all are asked at once, and what they tell of them is kept.

        Args:
            named: Models to ask about one by one where the list of their provider tells nothing of them.
        """
        asked = (survey(self._provider(name), self._services.clock) for name in sorted(self._providers))
        found = list(await asyncio.gather(*asked))
        for one in found:
            self._told |= {f"{one.name}/{model}": facts for model, facts in one.facts.items()}
        of_ollama = {one.name for one in found if one.kind == "ollama" and one.problem is None}
        await asyncio.gather(*(self.look_up(one) for one in named if one.partition("/")[0] in of_ollama))
        return found

    def set_up(self, name: str, settings: ProviderSettings) -> None:
        """Take in a provider that the user has set up; what was known of one of that name does not count any more.

        Args:
            name: Its name in the settings.
            settings: How it is reached.
        """
        self._providers = {**self._providers, name: settings}
        mark = f"{name}/"
        for known in (self._told, self._profiles, self._learned, self._paces):
            for reference in [one for one in known if one.startswith(mark)]:
                del known[reference]
        for reference in [one for one in self._asked if one.startswith(mark)]:
            self._asked.pop(reference).cancel()
        if (before := self._opened.pop(name, None)) is not None:
            self._replaced.append(before)

    def knows(self, reference: str | None) -> bool:
        """Whether a model is named whose provider is configured; a script counts as one."""
        name, _, model = (reference or "").strip().partition("/")
        return is_script(reference or "") or (name in self._providers and bool(model))

    @property
    def keys_given(self) -> frozenset[str]:
        """Every key that was looked up for a provider so far."""
        return self._services.secrets.values()

    async def unready(self, reference: str) -> str | None:
        """Why the provider of a model that can be opened cannot be asked; None where it can, as far as can be seen from here."""
        name = reference.partition("/")[0]
        failure = None if is_script(reference) else await self._provider(name).unready()
        return failure and failure.message

    async def look_up(self, reference: str) -> None:
        """Ask the provider of a model what it knows of it, and keep that. Where it does not say, nothing happens."""
        name, _, model = reference.partition("/")
        if name in self._providers and not is_script(reference):
            facts = await facts_about(self._provider(name), model, self._services.clock)
            if facts is not None:
                self._told[reference] = facts

    def used(self, reference: str) -> None:
        """Ask in the background how long the requests to a model may be, once, where only its provider can know."""
        settings = self._providers.get(reference.partition("/")[0])
        if (
            settings is not None
            and settings.kind in _TELLING
            and reference not in self._asked
            and self.profile(reference).sources["context_window"] == "default"
        ):
            self._asked[reference] = asyncio.create_task(self.look_up(reference), name=f"what {reference} is")

    async def close(self) -> None:
        """Close the connections of every provider."""
        for task in self._asked.values():
            task.cancel()
        await asyncio.gather(*self._asked.values(), return_exceptions=True)
        if self._refusals is not None:
            await self._refusals.close()
        opened = [*self._opened.values(), *self._replaced]
        self._opened.clear()
        self._replaced.clear()
        await asyncio.gather(*(provider.close() for provider in opened))

    def _provider(self, name: str) -> HttpProvider:
        provider = self._opened.get(name)
        if provider is None:
            settings = self._providers[name]
            given = settings.proxy
            proxy = with_scheme(given) if given else self._services.proxy_for(settings.base_url)
            provider = self._opened[name] = HttpProvider(
                name,
                settings,
                clock=self._services.clock,
                secrets=self._services.secrets,
                proxy=proxy,
                ca_file=settings.ca_file or self._services.ca_file,
            )
        return provider

    async def _open_file(self, reference: str, cursor: int) -> ScriptedModel | ModelProblem:
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
        return ScriptedModel(
            reference, script, clock=self._services.clock, ids=self._services.ids, cursor=cursor
        )

    async def _configured(self) -> str:
        file = await self._file()
        if not self._providers:
            return f"no provider is configured in {file}: {_SET_UP}"
        return f"the configured providers are {', '.join(sorted(self._providers))}; add others to {file}: {_SET_UP}"

    async def _file(self) -> str:
        """What the settings file is called where something is missing in it."""
        file = self._services.settings_file
        if file is None:
            return "the settings"
        # One in another folder is the usual reason that nothing is set.
        return str(file) if await asyncio.to_thread(file.is_file) else f"{file}, which is not there"


def _inside(root: Path, path: Path) -> Path | None:
    """`path` under `root`, None if it leads elsewhere, be it through a link."""
    try:
        resolved = (root / path).resolve()
        return resolved if resolved.is_relative_to(root.resolve()) else None
    except (OSError, ValueError, RuntimeError):
        # A cycle of links, or a character no path has: reading it says what is wrong.
        return root / path


@dataclass(frozen=True, slots=True)
class _Lessons:
    """What is known of a model that a session has opened; see `profiled.Lessons`."""

    catalog: Catalog
    model: HttpModel | ScriptedModel
    name: str
    forms: dict[str, str]
    """The text formats that models of the session were switched to."""

    def profile(self) -> Profile:
        if isinstance(self.model, HttpModel) and (facts := self.model.facts) is not None:
            self.catalog.told(self.name, facts)
        return self.catalog.profile(self.name, self.forms)

    def used(self) -> None:
        self.catalog.used(self.name)

    def answered(self, latency: Latency) -> None:
        self.catalog.answered(self.name, latency)

    def switched(self, form: ToolFormat) -> None:
        self.forms[self.name] = form
        self.catalog.learn(self.name, form)

    def unseen(self, images: Sequence[str], *, was_refused: bool) -> None:
        said_so = self.profile().sources["vision"] == "settings"
        self.catalog.warn(unseen(self.name, images, was_refused=was_refused, said_so=said_so))
