"""`outrider models`: what is configured and reachable; and what is found where nothing is, which nobody uses unasked."""

import contextlib
import io

import pytest

from outrider import app
from outrider.cli import main as command_line
from outrider.cli.models import show
from outrider.cli.terminal import make_console
from outrider.models.survey import offers
from outrider.ports.clock import SystemClock
from outrider.ports.outside import Outside
from outrider.testing.scenario import embedded, start_session
from provider_server import ProviderServer, Said, fails, tells

KEY = "sk-local-0123456789"
LISTS = {
    "openai-chat": ("/models", {"object": "list", "data": [{"id": "b"}, {"id": "a"}]}),
    "openai-responses": ("/models", {"object": "list", "data": [{"id": "b"}, {"id": "a"}]}),
    "anthropic": (
        "/models?limit=1000",
        {"data": [{"type": "model", "id": "a"}, {"type": "model", "id": "b"}]},
    ),
    "gemini": ("/models?pageSize=1000", {"models": [{"name": "models/a"}, {"name": "models/b"}]}),
    "ollama": ("/api/tags", {"models": [{"name": "a", "model": "a"}, {"name": "b"}]}),
}


@pytest.fixture
def outside(tmp_path):
    settings = tmp_path / "settings.toml"
    return Outside(env={"LOCAL_KEY": KEY}, state_dir=tmp_path / "state", user_settings=settings)


async def shown(outside, server=None, model="my/a", more=None, every=False, **settings):
    """What the command prints; the server answers just as it is told."""
    if server:
        server.known.pop("/models", None)
    options = {"model": model, "providers": {"my": {"baseUrl": server.url, **settings}}} if server else {}
    options |= more or {}
    written = io.StringIO()
    found = await app.survey(outside, options)
    with contextlib.redirect_stderr(written):
        code = show(found, make_console(written), every=every)
    return code, written.getvalue()


@pytest.mark.parametrize("kind", sorted(LISTS))
async def test_the_models_of_a_provider_are_listed(kind, outside):
    path, document = LISTS[kind]
    async with ProviderServer() as server:
        server.answers = [tells(document)]
        server.known["/api/show"] = fails(404)
        code, text = await shown(outside, server, kind=kind, apiKeyEnv="LOCAL_KEY")
        (request,) = server.received
    assert request.line.split()[:2] == ["GET", f"/v1{path}"]
    assert KEY in str(request.headers)
    assert (code, KEY in text) == (0, False)
    assert [line.strip() for line in text.splitlines() if line.startswith("  my/")] == ["my/a", "my/b"]
    assert "model: my/a" in text


@pytest.mark.parametrize(
    ("every", "last"), [(True, "my/m41"), (False, "and 12 more (`outrider models --all`)")]
)
async def test_of_many_models_all_are_listed_for_who_asks(every, last, outside):
    async with ProviderServer() as server:
        server.answers = [tells({"data": [{"id": f"m{number}"} for number in range(42)]})]
        _, text = await shown(outside, server, every=every, kind="openai-chat", model="my/m9")
    assert sum(line.startswith("  my/m") for line in text.splitlines()) == (42 if every else 30)
    assert f"  {last}" in text.splitlines()


async def test_what_is_wrong_with_the_settings_is_said(outside):
    outside.user_settings.write_text(
        '[providers.my]\nkind = "openai-chat"\nbaseUrl = "http://x/v1"\nmaxtokens = 5\n'
    )
    code, text = await shown(outside)
    assert (code, text.splitlines()[0]) == (
        1,
        f"warning: {outside.user_settings}: providers.my.maxtokens: unknown setting; this provider is ignored",
    )
    outside.user_settings.write_text("model = ")
    assert "is not valid TOML" in (await shown(outside))[1]


async def test_what_cannot_be_reached_says_why(outside):
    async with ProviderServer() as server:
        server.answers = [fails(401, {"error": {"message": "bad key"}})]
        code, text = await shown(outside, server, kind="openai-chat")
    assert (code, "bad key" in text) == (1, True)
    code, text = await shown(outside, server, kind="openai-chat", apiKeyEnv="NO_KEY")
    assert (code, "set the environment variable NO_KEY" in text) == (1, True)
    code, text = await shown(outside, server, kind="openai-chat")
    assert (code, "no answer" in text) == (1, True)


async def test_a_model_that_the_provider_does_not_list_is_named(outside):
    async with ProviderServer() as server:
        server.answers = [tells(LISTS["openai-chat"][1])]
        _, text = await shown(outside, server, kind="openai-chat", model="my/c")
    assert "my/c is not among those" in text


async def test_models_that_are_named_and_cannot_be_had_are_said(outside):
    more = {
        "fallbackModels": ["my/c", "my/b"],
        "tiers": {"small": ["other/tiny", "my/a"]},
        "limits": {"cost": 1},
        "models": {"my/a": {"price": {"input": 1, "output": 2}}},
    }
    async with ProviderServer() as server:
        server.answers = [tells(LISTS["openai-chat"][1])]
        code, text = await shown(outside, server, kind="openai-chat", more=more)
    assert code == 0
    said = text.splitlines()
    assert "other/tiny has no configured provider, so it is never used" in said
    assert "my/c is not among those that my lists" in said
    assert not [line for line in said if line.startswith(("my/a is", "my/b is"))]
    (costs,) = [line for line in said if line.startswith("limits.cost")]
    assert ("other/tiny" in costs, "my/a" in costs) == (True, False)


async def test_with_nothing_configured_keys_and_local_servers_are_offered(outside, monkeypatch):
    async with ProviderServer() as server, ProviderServer() as other:
        server.known["/api/tags"] = tells(LISTS["ollama"][1])
        other.known["/models"] = tells({"detail": "something else listens here"})
        servers = (
            (server.port, "Ollama", "ollama", "ollama", ""),
            (other.port, "vLLM", "vllm", "openai-chat", "/v1"),
        )
        monkeypatch.setattr(app, "LOCAL_SERVERS", servers)
        keys = Outside({"ANTHROPIC_API_KEY": KEY}, outside.state_dir, outside.user_settings)
        code, text = await shown(keys)
        assert (server.received, other.received) == ([], [])
    assert (code, KEY in text) == (0, False)
    assert f"to use one, run `outrider setup`, or add it to {outside.user_settings}:" in text
    assert '[providers.anthropic]\n  kind = "anthropic"\n  baseUrl = "https://api.anthropic.com/v1"' in text
    assert 'apiKeyEnv = "ANTHROPIC_API_KEY"' in text
    assert 'model = "ollama/a"' in text
    assert "vllm" not in text


async def test_a_local_server_that_lacks_something_is_offered_with_what_to_do(outside, monkeypatch):
    async with ProviderServer() as empty, ProviderServer() as locked, ProviderServer() as loaded:
        empty.known["/api/tags"] = tells({"models": []})
        locked.known["/models"] = fails(401, {"error": "Unauthorized"})
        loaded.known["/models"] = tells({"object": "list", "data": []})
        servers = (
            (empty.port, "Ollama", "ollama", "ollama", ""),
            (locked.port, "vLLM", "vllm", "openai-chat", "/v1"),
            (loaded.port, "LM Studio", "lmstudio", "openai-chat", "/v1"),
        )
        monkeypatch.setattr(app, "LOCAL_SERVERS", servers)
        code, text = await shown(outside)
    assert code == 0
    assert "it has no model yet: get one with `ollama pull NAME`" in text
    assert "it needs a key to list its models" in text
    assert 'apiKeyEnv = "VLLM_API_KEY"' in text
    assert "it has no model yet: load one there" in text
    assert 'model = "lmstudio/NAME"' in text


async def test_a_server_is_asked_without_any_key():
    async with ProviderServer() as server:
        server.known.clear()
        server.answers = [tells(LISTS["openai-chat"][1])]
        servers = ((server.port, "vLLM", "vllm", "openai-chat", "/v1"),)
        (offer,) = await offers({"LOCAL_KEY": KEY}, SystemClock(), servers)
        (request,) = server.received
    assert (offer.name, offer.models) == ("vllm", ("a", "b"))
    assert "authorization" not in request.headers


async def test_nothing_at_all(outside, monkeypatch):
    monkeypatch.setattr(app, "LOCAL_SERVERS", ())
    code, text = await shown(outside)
    assert (code, "no provider is configured" in text) == (1, True)
    assert f"which writes {outside.user_settings}" in text


def test_the_command(outside, monkeypatch, capsys):
    monkeypatch.setattr(app, "LOCAL_SERVERS", ())
    monkeypatch.setattr("outrider.surroundings.surroundings", lambda: outside)
    outside.user_settings.write_text(
        'model = "my/a"\n[providers.my]\nkind = "ollama"\nbaseUrl = "http://127.0.0.1:9"\n'
    )
    assert command_line.main(["models", "--all"]) == 1
    assert "my (ollama, http://127.0.0.1:9)" in capsys.readouterr().out


async def test_what_is_known_of_a_model_is_shown_with_where_it_comes_from(outside):
    entry = {
        "id": "qwen3-coder",
        "context_length": 65536,
        "pricing": {"prompt": "0.000001", "completion": "0.000002"},
    }
    given = {"models": {"my/qwen3-coder": {"toolFormat": "hermes", "editFormat": "patch"}}}
    async with ProviderServer() as server:
        server.answers = [tells({"data": [entry]})]
        _, text = await shown(outside, server, kind="openai-chat", model="my/qwen3-coder", more=given)
    rows = {
        line[4:20].strip(): line[20:].split(maxsplit=1)
        for line in text.splitlines()
        if line.startswith("    ")
    }
    assert rows["tool format"] == ["hermes", "your settings"]
    assert rows["context window"] == ["65536", "reported by its provider"]
    assert rows["vision"] == ["no", "assumed"]
    assert "1 in, 2 out per million tokens   reported by its provider" in text


async def test_what_ollama_tells_of_a_model_is_asked_for(outside):
    shown_of = {"capabilities": ["completion", "vision"], "model_info": {"x.context_length": 8192}}
    async with ProviderServer() as server:
        server.answers = [tells(LISTS["ollama"][1])]
        server.known["/api/show"] = tells(shown_of)
        _, text = await shown(outside, server, kind="ollama")
    rows = [line.split() for line in text.splitlines()]
    assert ["tool", "format", "outrider", "reported", "by", "its", "provider"] in rows
    assert ["context", "window", "8192", "reported", "by", "its", "provider"] in rows


async def test_the_speed_of_models_is_taken_from_the_log(outside, workspace):
    async with ProviderServer() as server:
        server.plays("openai-chat", Said("Hello."))
        given = {
            "providers": {"my": {"kind": "openai-chat", "baseUrl": server.url}},
            "stateDir": str(outside.state_dir),
        }
        async with start_session("stock", workspace, "my/a", given, connection=embedded(workspace)) as editor:
            await editor.run("Hi")
        server.answers = [tells(LISTS["openai-chat"][1])]
        _, text = await shown(outside, server, kind="openai-chat")
    assert "ms to the first token" in text
    assert "measured, 1 request" in text
