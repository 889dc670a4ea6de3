"""`outrider.models`: what a user can choose from."""

from outrider.testing.scenario import embedded, start_session
from provider_server import ProviderServer, tells

CHAT = {"kind": "openai-chat"}


async def test_models_of_the_settings_come_first_and_then_what_providers_list(workspace):
    listed = {"data": [{"id": "b", "context_length": 32_000}, {"id": "a"}, {"id": "c"}]}
    async with ProviderServer() as server:
        server.known["/models"] = tells(listed)
        options = {
            "providers": {
                "my": {**CHAT, "baseUrl": server.url},
                "gone": {**CHAT, "baseUrl": "http://127.0.0.1:9/v1"},
            },
            "tiers": {"frontier": ["my/b"], "small": ["gone/s"]},
            "model": "my/a",
            "models": {"my/a": {"contextWindow": 8000, "price": {"input": 1, "output": 2}}},
            "testing": None,
        }
        async with start_session(
            "stock", workspace, "my/a", options, connection=embedded(workspace)
        ) as editor:
            found = await editor.command("outrider.models")
    assert found["model"] == "tiers"
    assert [(one["model"], one["named"], one.get("tier")) for one in found["models"]] == [
        ("my/b", True, "frontier"),
        ("my/a", True, None),
        ("gone/s", True, "small"),
        ("my/c", False, None),
    ]
    assert [one["contextWindow"] for one in found["models"]] == [32_000, 8000, 128_000, 128_000]
    assert found["models"][1]["price"] == {"input": 1, "output": 2}
    (problem,) = found["problems"]
    assert problem.startswith("provider gone")


async def test_ollama_lists_a_named_model_under_its_tag_and_it_is_there_once(workspace):
    async with ProviderServer() as server:
        server.known["/api/tags"] = tells({"models": [{"name": "a:latest"}, {"name": "b:7b"}]})
        server.known["/api/show"] = tells({"model_info": {"llama.context_length": 2000}})
        options = {
            "providers": {"my": {"kind": "ollama", "baseUrl": server.url.removesuffix("/v1")}},
            "testing": None,
        }
        async with start_session(
            "stock", workspace, "my/a", options, connection=embedded(workspace)
        ) as editor:
            found = await editor.command("outrider.models")
    assert found["model"] == "my/a"
    assert [(one["model"], one["contextWindow"]) for one in found["models"]] == [
        ("my/a", 2000),
        ("my/b:7b", 32_768),
    ]
