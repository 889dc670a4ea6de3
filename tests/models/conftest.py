"""Providers on a loopback server that answers byte by byte as told."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from outrider.models.dialects.openai_chat import OpenAiChatModel
from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider
from outrider.ports.clock import SteppingClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Message, ModelItem, ModelRequest
from outrider_protocol.settings import ProviderSettings
from provider_server import ProviderServer


@pytest.fixture
async def wire() -> AsyncGenerator[ProviderServer, None]:
    async with ProviderServer() as server:
        yield server


@pytest.fixture
def clock() -> SteppingClock:
    return SteppingClock(datetime(2026, 1, 1, tzinfo=UTC))


Provide = Callable[..., HttpProvider]


@pytest.fixture
async def provide(wire: ProviderServer, clock: SteppingClock) -> AsyncGenerator[Provide, None]:
    """Make providers on the server; they are closed at the end."""
    made: list[HttpProvider] = []

    def make(
        env: dict[str, str] | None = None,
        *,
        proxy: str | None = None,
        ca_file: str | None = None,
        **settings: Any,
    ) -> HttpProvider:
        settings = {"kind": "openai-chat", "base_url": wire.url, **settings}
        provider = HttpProvider(
            "local",
            ProviderSettings(**settings),
            clock=clock,
            secrets=Keys(env or {}),
            proxy=proxy,
            ca_file=ca_file,
        )
        made.append(provider)
        return provider

    yield make
    for provider in made:
        await provider.close()


@pytest.fixture
def ask() -> Callable[..., Awaitable[list[ModelItem]]]:
    """All that a model of the provider answers to a short request."""

    async def ask(provider: HttpProvider, *messages: Message) -> list[ModelItem]:
        model = OpenAiChatModel(provider, "small", ids=SequentialIds())
        request = ModelRequest("main", messages or (Message("user", "hello"),))
        return [item async for item in model.stream(request)]

    return ask
