import json
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from outrider.models.catalog import Catalog, ModelProblem, ModelServices
from outrider.models.http.keys import Keys
from outrider.models.http.provider import no_proxy
from outrider.ports.clock import SteppingClock
from outrider.ports.ids import SequentialIds
from outrider.ports.model import Message, Model, ModelFailure, ModelItem, ModelRequest, TextDelta
from outrider_protocol.settings import ModelSettings, ProviderSettings, Routing, Tiers
from provider_server import Said

HELLO = ModelRequest("main", [Message("user", "hello")])
DONE = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 72\r\n\r\n"
    b'data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}'
)

MakeCatalog = Callable[..., Catalog]


@pytest.fixture
async def catalog(clock: SteppingClock, tmp_path: Path) -> AsyncGenerator[MakeCatalog, None]:
    made: list[Catalog] = []

    def make(
        urls: dict[str, str] | None = None,
        root: Path | None = tmp_path,
        proxy_for: Callable[[str], str | None] = no_proxy,
        settings_file: Path | None = None,
    ) -> Catalog:
        providers = {
            # A window that is set is not asked for.
            name: ProviderSettings(kind="openai-chat", base_url=url, context_window=128_000)
            for name, url in (urls or {}).items()
        }
        services = ModelServices(clock, SequentialIds(), Keys({}), proxy_for, settings_file=settings_file)
        made.append(Catalog(providers, root=root, services=services))
        return made[-1]

    yield make
    for each in made:
        await each.close()


async def opened(catalog: Catalog, reference: str, cursor: int = 0) -> Model:
    model = await catalog.open(reference, cursor=cursor)
    assert not isinstance(model, ModelProblem), model.message
    return model


async def first(model: Model) -> ModelItem:
    items = [item async for item in model.stream(HELLO)]
    return items[0]


async def refused(catalog: Catalog, reference: str | None) -> str:
    problem = await catalog.open(reference)
    assert isinstance(problem, ModelProblem)
    return problem.message


def script(path: Path, *texts: str) -> None:
    path.write_text(json.dumps({"turns": [{"text": text} for text in texts]}))


async def test_no_model_says_how_to_choose_one(catalog: MakeCatalog):
    for reference in (None, "", " "):
        assert await refused(catalog({"b": "http://x/v1", "a": "http://y/v1"}), reference) == (
            "no model is set in the settings: run `outrider setup` in a terminal"
        )
    assert "run `outrider setup`" in await refused(catalog(), None)


@pytest.mark.parametrize(
    ("reference", "providers"), [(None, {}), ("a/b", {}), ("a/b", {"local": "http://x/v1"}), ("b", {})]
)
async def test_what_is_missing_is_said_to_be_missing_in_the_settings_file(
    reference: str | None, providers: dict[str, str], catalog: MakeCatalog, tmp_path: Path
):
    """Somebody who set a model in another file sees by the path why it does not count."""
    file = tmp_path / "config" / "settings.toml"
    models = catalog(providers, settings_file=file)
    assert f" {file}, which is not there: run `outrider setup`" in await refused(models, reference)
    file.parent.mkdir()
    file.write_text("")
    assert f" {file}: run `outrider setup`" in await refused(models, reference)


async def test_tiers_without_a_model_name_the_file(catalog: MakeCatalog, tmp_path: Path):
    models = catalog(settings_file=tmp_path / "settings.toml")
    problem = await models.open_tiers(Tiers(), None, Routing())
    assert isinstance(problem, ModelProblem)
    assert f"set `tiers` in {tmp_path / 'settings.toml'}" in problem.message


@pytest.mark.parametrize("reference", ["gpt", "/gpt", "local/", "other/gpt"])
async def test_a_reference_to_nothing(reference: str, catalog: MakeCatalog):
    said = await refused(catalog({"local": "http://127.0.0.1:1/v1"}), reference)
    assert repr(reference) in said
    assert "the configured providers are local" in said


async def test_a_provider_serves_its_models_over_one_connection(wire: Any, catalog: MakeCatalog):
    async def answer(connection: Any) -> None:
        await connection.send(DONE)

    wire.answers += [answer, answer]
    models = catalog({"local": wire.url})
    for name in ("vendor/small", "large"):
        model = await opened(models, f"local/{name}")
        assert await first(model) == TextDelta("hello")
        await model.close()
    assert [each.json["model"] for each in wire.received] == ["vendor/small", "large"]
    assert wire.connections == 1


async def test_a_provider_without_a_proxy_gets_the_one_for_its_address(wire: Any, catalog: MakeCatalog):
    async def answer(connection: Any) -> None:
        await connection.send(DONE)

    wire.answers.append(answer)
    urls = {"local": wire.url, "far": "http://models.test/v1"}
    models = catalog(urls, proxy_for={"http://models.test/v1": "http://127.0.0.1:1"}.get)
    local, far = await opened(models, "local/m"), await opened(models, "far/m")
    assert await first(local) == TextDelta("hello")
    last = [item async for item in far.stream(HELLO)][-1]
    assert isinstance(last, ModelFailure)
    assert last.kind == "connection"


async def test_a_script_of_the_workspace(catalog: MakeCatalog, tmp_path: Path):
    script(tmp_path / "a.json", "one", "two")
    model = await opened(catalog(), "scripted:a.json", cursor=1)
    assert model.name == "scripted:a.json"
    assert await first(model) == TextDelta("two")


async def test_a_script_elsewhere_needs_an_absolute_path(catalog: MakeCatalog, tmp_path: Path):
    script(tmp_path / "a.json", "one")
    root = tmp_path / "root"
    root.mkdir()
    (root / "link.json").symlink_to(tmp_path / "a.json")
    models = catalog(root=root)
    for path in ("../a.json", "link.json"):
        assert "leads out of the workspace" in await refused(models, f"scripted:{path}")
    await opened(models, f"scripted:{tmp_path / 'a.json'}")
    assert "must be absolute" in await refused(catalog(root=None), "scripted:a.json")


async def test_a_script_that_cannot_be_used(catalog: MakeCatalog, tmp_path: Path):
    assert await refused(catalog(), "scripted:a.json") == (
        f"the script cannot be used: {tmp_path / 'a.json'}: there is no such script"
    )
    (tmp_path / "loop").symlink_to("loop")
    for odd in ("scripted:", "scripted:loop", "scripted:a\0b", "scripted:" + "x" * 5000):
        assert "script" in await refused(catalog(), odd)


@pytest.mark.parametrize(
    ("name", "said", "asks"),
    [("mine", True, True), ("mine", None, False), ("gpt-5", False, False), ("gpt-5", None, True)],
)
async def test_what_is_set_decides_whether_a_model_gets_its_thoughts_back(
    name: str, said: bool | None, asks: bool, wire: Any, clock: SteppingClock
):
    wire.plays("openai-responses", Said("hello"))
    models = Catalog(
        {"my": ProviderSettings(kind="openai-responses", base_url=wire.url)},
        {f"my/{name}": ModelSettings(reasoning=said)},
        root=None,
        services=ModelServices(clock, SequentialIds(), Keys({})),
    )
    assert await first(await opened(models, f"my/{name}")) == TextDelta("hello")
    assert ("include" in wire.received[-1].json) is asks
    await models.close()


async def test_a_proxy_of_its_own_goes_before_those_of_the_environment(wire: Any, clock: SteppingClock):
    async def answer(connection: Any) -> None:
        await connection.send(DONE)

    wire.answers.append(answer)
    host = wire.url.removeprefix("http://").partition("/")[0]
    far = ProviderSettings(kind="openai-chat", base_url="http://models.test/v1", proxy=host)
    models = Catalog(
        {"far": far},
        root=None,
        services=ModelServices(
            clock, SequentialIds(), Keys({}), {"http://models.test/v1": "http://127.0.0.1:1"}.get
        ),
    )
    assert await first(await opened(models, "far/m")) == TextDelta("hello")
    await models.close()
