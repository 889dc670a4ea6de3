"""`outrider models`: which models are configured and can be reached, and what could be configured."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from rich.console import Console

import outrider_protocol as names
from outrider.app import Known, Survey, survey
from outrider.cli.exits import ExitCode
from outrider.cli.look import RefusedError, server_of
from outrider.cli.problems import Problems
from outrider.cli.progress import in_progress
from outrider.cli.terminal import print_json, visible
from outrider.models.routing.profile import Source, shown
from outrider.models.survey import Surveyed
from outrider.ports.outside import Outside
from outrider_protocol.settings import Tiers

_MOST_SHOWN: Final = 30
"""Names of models in one listing, where not all are asked for; hosted providers have hundreds."""
_SOURCES: Final[dict[Source, str]] = {
    "settings": "your settings",
    "provider settings": "your settings of its provider",
    "learned": "learned from a response of its provider",
    "server": "reported by its provider",
    "table": "default of its model family",
    "default": "assumed",
}


class _Say(Protocol):
    """Prints a line of untrusted text."""

    def __call__(self, text: str, style: str | None = None) -> None: ...


async def print_models(workspace: Path, options: dict[str, Any], console: Console) -> ExitCode:
    """Print the result of `outrider.models`; fails, as the list does, where a provider gave no list, or nothing is set up."""
    try:
        async with server_of(
            workspace, options | {"events": False}, Problems(), what="asking the providers"
        ) as client:
            listed = await client.command(names.MODELS)
    except RefusedError as refused:
        return refused.code
    print_json(listed, console.file)
    return ExitCode.COMPLETED if listed["models"] and not listed["problems"] else ExitCode.FAILED


async def show_models(
    around: Outside, options: dict[str, Any], console: Console, *, every: bool = False
) -> ExitCode:
    """Look for models, and show what was found.

    Args:
        around: The surroundings.
        options: Settings as a client would give them.
        console: Where it is shown.
        every: Whether all names of models are shown, however many there are.
    """
    async with in_progress("asking the providers", Problems()):
        found = await survey(around, options)
    return show(found, console, every=every)


def show(survey: Survey, console: Console, *, every: bool = False) -> ExitCode:
    """Print what was found; fails where a configured provider cannot be reached, or nothing is there.

    Args:
        survey: What was found.
        console: Where it is printed.
        every: Whether all names of models are shown, however many there are.
    """
    surveyed = survey.surveyed
    problems = Problems()

    def say(text: str, style: str | None = None) -> None:
        console.print(visible(text), style=style, markup=False, highlight=False, soft_wrap=True)

    for message in survey.messages:
        problems.warning(message)
    for one in surveyed:
        say(f"{one.name} ({one.kind}, {one.address})", "bold")
        if one.problem:
            say(f"  {one.problem}", "red")
        _names([f"{one.name}/{model}" for model in one.models], say, every=every)
    if surveyed:
        _configured(survey, say)
        return ExitCode.FAILED if any(one.problem for one in surveyed) else ExitCode.COMPLETED
    if not survey.offers:
        problems.error(
            "no provider is configured, and no API key or local server was found: run `outrider setup`, "
            f"which writes {survey.file}"
        )
        return ExitCode.FAILED
    _offered(survey, say)
    return ExitCode.COMPLETED


def _configured(survey: Survey, say: _Say) -> None:
    """What is known of the models of the configured providers, and which one is used."""
    settings, surveyed = survey.settings, survey.surveyed
    for known in survey.known:
        _profile(known, say)
    if settings.tiers != Tiers():
        say("\nmodel: chosen from `tiers` for each step")
    elif settings.model is None:
        say(f"\nno model is set in {survey.file}: run `outrider setup`, or set `model` to one of these")
    else:
        say(f"\nmodel: {settings.model}")
    for known in survey.known:
        if problem := _missing(known.model, surveyed):
            say(problem, "yellow")
    unpriced = [one.model for one in survey.known if one.profile.price is None]
    if settings.limits.cost is not None and unpriced:
        say(f"limits.cost ignores {', '.join(unpriced)}: the price is unknown", "yellow")


def _offered(survey: Survey, say: _Say) -> None:
    """What could be configured, as it stands in the settings file."""
    say(
        f"no provider is configured. These were found; to use one, run `outrider setup`, or add it to {survey.file}:"
    )
    for offer in survey.offers:
        first = offer.models[0] if offer.models else "NAME"
        say(f"\n{offer.found}", "bold")
        if offer.to_do:
            say(f"  {offer.to_do}", "yellow")
        say(f'  model = "{offer.name}/{first}"\n')
        say(f'  [providers.{offer.name}]\n  kind = "{offer.kind}"\n  baseUrl = "{offer.base_url}"')
        if offer.api_key_env:
            say(f'  apiKeyEnv = "{offer.api_key_env}"')
        if offer.models:
            say("  # " + ", ".join(offer.models[:_MOST_SHOWN]))


def _profile(known: Known, say: Callable[[str], None]) -> None:
    """What is known of a model, and where each value comes from."""
    say(f"\n{known.model}:")
    for name, value, source in shown(known.profile):
        say(f"    {name:<16}{value:<32} {_SOURCES[source]}")
    if (pace := known.pace) is not None:
        rate = "" if pace.tokens_per_second is None else f", {pace.tokens_per_second:.0f} tokens/s"
        many = f"{pace.requests} request" + ("" if pace.requests == 1 else "s")
        say(
            f"    {'speed':<16}{f'{pace.first_token_ms:.0f} ms to the first token{rate}':<32} measured, {many}"
        )


def _names(names: Sequence[str], say: Callable[[str], None], *, every: bool) -> None:
    most = len(names) if every else _MOST_SHOWN
    for name in names[:most]:
        say(f"  {name}")
    if len(names) > most:
        say(f"  and {len(names) - most} more (`outrider models --all`)")


def _missing(model: str, surveyed: Sequence[Surveyed]) -> str | None:
    provider, _, name = model.partition("/")
    known = next((one for one in surveyed if one.name == provider), None)
    if known is None:
        return None if ":" in provider else f"{model} has no configured provider, so it is never used"
    if known.models and name not in known.models and f"{name}:latest" not in known.models:
        return f"{model} is not among those that {provider} lists"
    return None
