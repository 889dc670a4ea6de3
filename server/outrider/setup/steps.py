"""The steps of a set-up: list providers, see the models of one, try one, save it. Every front end takes the same.

Nothing is written before the last step, which writes all or nothing. Only `models` and `try` ask a provider, and only the one
that the user chose. A key is in memory, on its way to its provider and where it is kept, nowhere else.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import ValidationError

from outrider.agent.service.trial import Tried, try_tools
from outrider.models.catalog import Catalog, ModelServices
from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider, is_this_machine, key_source, proxy_for
from outrider.models.survey import HOSTED, LocalServers, Offer, offers, survey
from outrider.ports.clock import Clock
from outrider.ports.ids import Ids
from outrider.ports.outside import Outside
from outrider.setup import settings_file
from outrider.setup.keeping import Keeping, Kept
from outrider.setup.settings_file import Change
from outrider_protocol.commands import (
    KeyPlace,
    SetupModel,
    SetupParams,
    SetupProvider,
    SetupResult,
    SetupTrial,
)
from outrider_protocol.settings import ProviderSettings, RetrySettings, Settings

TRIAL_SECONDS: Final = 45.0
"""How long the trial may take: a local server may have to load the model first."""
_LONGEST_NAME: Final = 64
_LONGEST_KEY: Final = 16_384
_PASTED: Final = "OUTRIDER_PASTED_KEY"
"""Stands for the variable of a pasted key where its provider has none."""
_FROM: Final = "; the key came from"
"""How a failure goes on that says where the key came from."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A provider and how it is reached, as the user chose."""

    name: str
    settings: ProviderSettings
    """As the settings will say it, where no key was pasted."""
    is_as_configured: bool
    """Whether the settings have just that already."""
    key: str | None
    """What was pasted."""


TakeUp = Callable[[str, ProviderSettings, str], str | None]
"""Has a provider and a model count in this process; says what stands in the way of that."""


def only_written(_name: str, _settings: ProviderSettings, _model: str) -> None:
    """For a process that asks no models: there is nothing to count in."""


@dataclass(slots=True)
class Setup:
    """Sets up providers and models."""

    around: Outside
    settings: Callable[[], Settings]
    """Those that hold now."""
    keys: Keys
    """Those of this process."""
    clock: Clock
    ids: Ids
    servers: LocalServers
    """Where to look for servers of this machine."""
    keeping: Keeping
    take_up: TakeUp = only_written

    async def do(self, params: SetupParams) -> SetupResult:
        """Do one step.

        Args:
            params: Which, and of what.
        """
        if params.action == "list":
            return await self._list()
        chosen = self._chosen(params)
        if isinstance(chosen, str):
            return SetupResult(problem=chosen)
        if params.action == "models":
            return await self._models(chosen)
        model = (params.model or "").strip()
        if params.action == "try":
            return await self._try(chosen, model)
        return await self._save(chosen, model, params.keep)

    def problem_of(self, params: SetupParams) -> str | None:
        """What is wrong with the provider that some params mean, before it is asked; None if nothing is.

        Args:
            params: The provider, its address and the API it speaks.
        """
        chosen = self._chosen(params)
        return chosen if isinstance(chosen, str) else None

    async def _list(self) -> SetupResult:
        keeps: list[KeyPlace] = [*await asyncio.to_thread(self.keeping.places), "env"]
        found = await offers(self.around.env, self.clock, self.servers)
        return SetupResult(providers=self._providers(found), keeps=keeps, file=str(self.around.user_settings))

    def _providers(self, found: list[Offer]) -> list[SetupProvider]:
        """Those found here first: configured ones, keys, servers of this machine; then all others that are known."""
        titles = {name: title for _, title, name, _, _ in HOSTED}
        titles |= {name: title for _, title, name, _, _ in self.servers}
        listed = {
            name: SetupProvider(
                name=name,
                title=titles.get(name, name),
                kind=one.kind,
                base_url=one.base_url,
                needs_key=key_source(one) is not None,
                api_key_env=one.api_key_env,
                found="in your settings",
                configured=True,
            )
            for name, one in self.settings().providers.items()
        }
        for offer in found:
            told = offer.found if offer.to_do is None else f"{offer.found}; {offer.to_do}"
            one = SetupProvider(
                name=offer.name,
                title=titles.get(offer.name, offer.name),
                kind=offer.kind,
                base_url=offer.base_url,
                needs_key=offer.api_key_env is not None,
                api_key_env=offer.api_key_env,
                found=told,
            )
            listed.setdefault(offer.name, one)
        for variable, title, name, kind, url in HOSTED:
            if name == "google":  # the same provider with the other name of its variable
                continue
            one = SetupProvider(
                name=name, title=title, kind=kind, base_url=url, needs_key=True, api_key_env=variable
            )
            listed.setdefault(name, one)
        for port, title, name, kind, path in self.servers:
            url = f"http://127.0.0.1:{port}{path}"
            listed.setdefault(
                name, SetupProvider(name=name, title=title, kind=kind, base_url=url, needs_key=False)
            )
        return list(listed.values())

    def _chosen(self, params: SetupParams) -> Chosen | str:
        """The provider that the params mean, or what is missing."""
        name = (params.provider or "").strip()
        if not _is_name(name):
            return "a provider's name is one word of letters, digits, `-`, `_` and `.`"
        key = None if params.key is None else params.key.strip()
        if key is not None and (problem := _problem_of_key(key)):
            return problem
        configured = self.settings().providers.get(name)
        known = configured or self._known(name)
        address = params.base_url or (known.base_url if known else None)
        if address is None:
            return f"nothing is known of a provider {name}: give its address (baseUrl) and the API it speaks (kind)"
        kind = params.kind or (known.kind if known else "openai-chat")
        values: dict[str, Any] = {"kind": kind, "baseUrl": address}
        is_there = known is not None and known.base_url == address
        variable = params.api_key_env
        # A key goes to no other address than the one it was found for, unless the user says so.
        if variable is None and known is not None and is_there and (configured is None or key is not None):
            variable = known.api_key_env
        if variable is not None:
            values["apiKeyEnv"] = variable
        try:
            given = ProviderSettings.from_wire(values)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            if first["loc"] == ("baseUrl",):
                return "baseUrl: an address begins with http:// or https://, and has no blanks"
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        if configured is None or not is_there:
            return Chosen(name, given, is_as_configured=False, key=key)
        is_same = kind == configured.kind and key is None and params.api_key_env is None
        update: dict[str, Any] = {"kind": kind}
        if key is not None or params.api_key_env is not None:
            update |= {
                "api_key_env": given.api_key_env,
                "api_key_command": None,
                "api_key_file": None,
                "api_key_keyring": None,
            }
        return Chosen(name, configured.model_copy(update=update), is_as_configured=is_same, key=key)

    def _known(self, name: str) -> ProviderSettings | None:
        for variable, _, known, kind, url in HOSTED:
            if known == name:
                return ProviderSettings(kind=kind, base_url=url, api_key_env=variable)
        for port, _, known, kind, path in self.servers:
            if known == name:
                return ProviderSettings(kind=kind, base_url=f"http://127.0.0.1:{port}{path}")
        return None

    def _services(self, chosen: Chosen) -> tuple[ProviderSettings, ModelServices]:
        """How the provider is asked now: with the key that was pasted, or the one its settings lead to."""
        settings, keys = chosen.settings, self.keys
        if chosen.key is not None:
            variable = settings.api_key_env or _PASTED
            keys = Keys({variable: chosen.key}, None, self.clock)
            settings = settings.model_copy(
                update={
                    "api_key_env": variable,
                    "api_key_command": None,
                    "api_key_file": None,
                    "api_key_keyring": None,
                }
            )
        env = self.around.env
        services = ModelServices(
            self.clock,
            self.ids,
            keys,
            proxy_for=lambda url: proxy_for(url, env),
            ca_file=env.get("SSL_CERT_FILE"),
        )
        return settings, services

    async def _models(self, chosen: Chosen) -> SetupResult:
        settings, services = self._services(chosen)
        provider = HttpProvider(
            chosen.name,
            settings,
            clock=services.clock,
            secrets=services.secrets,
            proxy=settings.proxy or services.proxy_for(settings.base_url),
            ca_file=settings.ca_file or services.ca_file,
        )
        try:
            found = await survey(provider, self.clock)
        finally:
            await provider.close()
        if found.lacks == "models":
            get = "get one with `ollama pull NAME`" if settings.kind == "ollama" else "load one there"
            local = f": {get}, and set up again" if is_this_machine(settings.base_url) else ""
            return SetupResult(models=[], problem=f"{chosen.name} has no models{local}")
        if found.problem is not None:
            kind = "auth" if found.lacks == "key" else None
            return SetupResult(models=[], problem=_why(chosen, Tried("fail", found.problem, kind), ""))
        models = [
            SetupModel(name=name, context_window=facts.context_window, price=facts.price, tools=facts.tools)
            for name, facts in ((one, found.facts[one]) for one in found.models)
        ]
        return SetupResult(models=models)

    async def _try(self, chosen: Chosen, model: str) -> SetupResult:
        settings, services = self._services(chosen)
        reference = f"{chosen.name}/{model}"
        catalog = Catalog(
            {chosen.name: settings}, root=None, services=services, retry=RetrySettings(attempts=1)
        )
        began = self.clock.monotonic()
        try:
            came = await try_tools(catalog, self.clock, reference, TRIAL_SECONDS)
        finally:
            await catalog.close()
        detail = came.detail if came.failure is None else _why(chosen, came, model)
        seconds = round(max(self.clock.monotonic() - began, 0.0), 1)
        return SetupResult(trial=SetupTrial(ok=came.status != "fail", detail=detail, seconds=seconds))

    async def _save(self, chosen: Chosen, model: str, keep: KeyPlace | None) -> SetupResult:
        reference, file = f"{chosen.name}/{model}", self.around.user_settings
        if keep in {"env", "client"} and chosen.key is not None and chosen.settings.api_key_env is None:
            return SetupResult(
                problem=f"name the variable that will have the key of {chosen.name} (apiKeyEnv)"
            )
        saved = await asyncio.to_thread(self._write, chosen, reference, keep)
        if isinstance(saved, str):
            return SetupResult(problem=saved, file=str(file))
        settings, lines = saved
        if chosen.key is not None and (source := key_source(settings)) is not None:
            self.keys.take(source, chosen.key)
        note = self.take_up(chosen.name, settings, reference)
        return SetupResult(model=reference, file=str(file), written=lines, note=note)

    def _write(
        self, chosen: Chosen, reference: str, keep: KeyPlace | None
    ) -> tuple[ProviderSettings, str] | str:
        """Write the key and the settings, both or none. Blocks.

        Returns:
            The provider's settings and the new lines, or why nothing was written.
        """
        file = self.around.user_settings
        if problem := settings_file.problem_of(file):
            return problem
        settings, kept = chosen.settings, None
        if chosen.key is not None and keep in {"keyring", "file"}:
            kept = self.keeping.keep("keyring" if keep == "keyring" else "file", chosen.name, chosen.key)
            if isinstance(kept, str):
                return kept
            ways = {"api_key_env": None, "api_key_file": None, "api_key_keyring": None}
            of_key = ProviderSettings.from_wire(
                {"kind": settings.kind, "baseUrl": settings.base_url, **kept.settings}
            )
            settings = settings.model_copy(update={name: getattr(of_key, name) for name in ways})
        stays = chosen.is_as_configured and settings_file.has_provider(file, chosen.name)
        change = Change(reference, chosen.name, {} if stays else _values(settings, kept))
        if problem := settings_file.write(file, change):
            if kept is not None:
                kept.take_back()
            return problem
        return settings, change.lines


def _values(settings: ProviderSettings, kept: Kept | None) -> Mapping[str, Any]:
    """What the settings file says of a provider: where it is, and where its key is. Headers stay where they were set."""
    wire = settings.to_wire()
    values = {key: wire[key] for key in ("kind", "baseUrl")}
    if kept is not None:
        return values | kept.settings
    keys = ("apiKeyEnv", "apiKeyCommand", "apiKeyFile", "apiKeyKeyring")
    return values | {key: wire[key] for key in keys if key in wire}


def _is_name(name: str) -> bool:
    """Whether a provider can be called so: it also names a file."""
    bare = name.replace("-", "").replace("_", "").replace(".", "")
    return bare.isascii() and bare.isalnum() and name[0].isalnum() and len(name) <= _LONGEST_NAME


def _problem_of_key(key: str) -> str | None:
    if not key:
        return "the key is empty"
    if len(key) > _LONGEST_KEY:
        return "that is too long for a key"
    if not (key.isascii() and key.isprintable()) or " " in key:
        return (
            "that has characters that a key cannot have: paste the key alone, without quotes or line breaks"
        )
    return None


def _why(chosen: Chosen, came: Tried, model: str) -> str:
    """Why a provider gave nothing, by its cause, and what to do."""
    detail = came.detail.partition(_FROM)[0] if chosen.key is not None else came.detail
    host = urlsplit(chosen.settings.base_url).hostname or chosen.settings.base_url
    match came.failure:
        case "auth":
            has_none = chosen.key is None and key_source(chosen.settings) is None
            what = f"{chosen.name} wants a key" if has_none else f"the key of {chosen.name} does not work"
            return f"{what}: {detail}"
        case "connection" | "timeout" | "stalled":
            what = (
                "is the server started?"
                if is_this_machine(chosen.settings.base_url)
                else "is there a network?"
            )
            return f"{host} does not answer ({what}): {detail}"
        case "unknown_model":
            return f"{chosen.name} has no model {model}: {detail}"
        case "quota" | "rate_limit":
            return f"the key works, but {chosen.name} does not answer for now: {detail}"
        case _:
            return detail
