"""The models that a user can choose from, and the one that answers a turn."""

from collections.abc import Callable
from typing import Final

from outrider.agent.services import Services
from outrider.agent.state.state import SessionState
from outrider.models.catalog import Catalog, ModelProblem
from outrider.models.routing.choose import in_order, named
from outrider.ports.model import Model
from outrider_protocol.commands import ModelInfo, ModelsResult
from outrider_protocol.settings import BY_TIERS, Settings, Tier, Tiers

_LATEST: Final = ":latest"
"""What Ollama adds to the name of a model that has none of its own there."""


async def models(services: Services) -> ModelsResult:
    """Ask the configured providers what they have, and put it beside what the settings name.

    Args:
        services: The house.
    """
    settings, catalog = services.runtime.settings(), services.catalog
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


class ConfiguredModels:
    """Opens the models of turns as the settings of the moment say."""

    def __init__(self, catalog: Catalog, settings: Callable[[], Settings]) -> None:
        self._catalog = catalog
        self._settings = settings

    async def open(self, reference: str, state: SessionState) -> Model | ModelProblem:
        """The model of a turn; `reference` is its name, or stands for a choice among the tiers at each request."""
        settings, learned = self._settings(), state.tool_formats
        if reference == BY_TIERS:
            return await self._catalog.open_tiers(
                settings.tiers, settings.model, settings.routing, cursors=state.cursors, learned=learned
            )
        # Where the command names another model, that one is meant: nothing stands in for it.
        others = settings.fallback_models if reference == settings.model else []
        return await self._catalog.open(reference, cursor=state.cursor, others=others, learned=learned)
