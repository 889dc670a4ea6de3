"""`outrider models`: which models are configured and can be reached, and what could be configured."""

from collections.abc import Callable, Sequence
from typing import Final

from rich.console import Console

from outrider.cli.run import ExitCode
from outrider.cli.terminal import visible
from outrider.models.survey import Offer, Surveyed

_MOST_SHOWN: Final = 30
"""Names of models in one listing; hosted providers have hundreds."""


def show(
    model: str | None, surveyed: Sequence[Surveyed], offers: Sequence[Offer], console: Console
) -> ExitCode:
    """Print what was found; fails where a configured provider cannot be reached, or nothing is there.

    Args:
        model: The model that is set.
        surveyed: The configured providers.
        offers: What could be configured, where nothing is.
        console: Where it is printed.
    """

    def say(text: str, style: str | None = None) -> None:
        console.print(visible(text), style=style, markup=False, highlight=False, soft_wrap=True)

    for one in surveyed:
        say(f"{one.name} ({one.kind}, {one.address})", "bold")
        if one.problem:
            say(f"  {one.problem}", "red")
        _names(one.name, one.models, say)
    if surveyed:
        if model is None:
            say("no model is set: set `model` to one of these")
        elif problem := _missing(model, surveyed):
            say(problem, "yellow")
        else:
            say(f"model: {model}")
        return ExitCode.FAILED if any(one.problem for one in surveyed) else ExitCode.COMPLETED
    if not offers:
        say("no provider is configured, and neither a key nor a server of this machine was found")
        return ExitCode.FAILED
    say("no provider is configured; this was found, and is not used unless you put it into your settings:")
    for offer in offers:
        first = offer.models[0] if offer.models else "NAME"
        say(f"\n{offer.found}", "bold")
        say(f'  model = "{offer.name}/{first}"\n')
        say(f'  [providers.{offer.name}]\n  kind = "{offer.kind}"\n  baseUrl = "{offer.base_url}"')
        if offer.api_key_env:
            say(f'  apiKeyEnv = "{offer.api_key_env}"')
        if offer.models:
            say("  # " + ", ".join(offer.models[:_MOST_SHOWN]))
    return ExitCode.COMPLETED


def _names(provider: str, models: Sequence[str], say: Callable[[str], None]) -> None:
    for name in models[:_MOST_SHOWN]:
        say(f"  {provider}/{name}")
    if len(models) > _MOST_SHOWN:
        say(f"  and {len(models) - _MOST_SHOWN} more")


def _missing(model: str, surveyed: Sequence[Surveyed]) -> str | None:
    provider, _, name = model.partition("/")
    known = next((one for one in surveyed if one.name == provider), None)
    if known is None:
        return None if ":" in provider else f"model: {model} is of no configured provider"
    if known.models and name not in known.models and f"{name}:latest" not in known.models:
        return f"model: {model} is not among those that {provider} lists"
    return None
