"""The models that a person can choose from."""

from typing import Final

from outrider.agent.services import Services
from outrider.models.routing.choose import in_order, named
from outrider_protocol.commands import ModelInfo, ModelsResult
from outrider_protocol.settings import BY_TIERS, Tier, Tiers

_LATEST: Final = ":latest"
"""What Ollama adds to the name of a model that has none of its own there."""


async def models(services: Services) -> ModelsResult:
    """Ask the configured providers what they have, and put it beside what the settings name.

    Args:
        services: The house.
    """
    settings, catalog = services.settings(), services.catalog
    own = named(settings)
    surveyed = await catalog.survey(own)
    known = {*own, *(f"{one}{_LATEST}" for one in own)}
    listed = [f"{one.name}/{model}" for one in surveyed for model in one.models]
    tiers: dict[str, Tier | None] = {
        one.model: one.tier for one in in_order(settings.tiers, "frontier", None)
    }

    def told(model: str, *, is_named: bool) -> ModelInfo:
        profile = catalog.profile(model)
        return ModelInfo(
            model=model,
            named=is_named,
            tier=tiers.get(model),
            context_window=profile.context_window,
            price=profile.price,
        )

    return ModelsResult(
        model=BY_TIERS if settings.tiers != Tiers() else settings.model,
        models=[
            *(told(model, is_named=True) for model in own),
            *(told(model, is_named=False) for model in listed if model not in known),
        ],
        problems=[one.problem for one in surveyed if one.problem],
    )
