"""`outrider setup`: from nothing to a model that answers; until the last step nothing is written, and a key is never shown."""

import asyncio
import io
import json
import os
import subprocess
import sys
import tomllib
from types import ModuleType, SimpleNamespace

import pytest
from typist import Typist

from outrider import app
from outrider.cli import main as command_line
from outrider.cli.problems import Problems
from outrider.cli.setup import Wanted, by_hand, by_options, show_choices
from outrider.cli.terminal import make_console
from outrider.ports.outside import Outside
from provider_server import ProviderServer, Said, fails, tells

KEY = "sk-local-0123456789"
LIST = {"object": "list", "data": [{"id": "big", "context_length": 65536}, {"id": "small"}]}
CALLS = Said("", [("call_1", "report_ready", {"word": "ready"})])


class Hand(Typist):
    """Types keys as well."""

    async def secret(self, draw):
        return await self.answer(draw)


class Leaves(Hand):
    """Closes the input when nothing more is to be typed."""

    async def answer(self, draw):
        draw(False)
        return self._lines.pop(0) if self._lines else None


@pytest.fixture
def outside(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "LOCAL_SERVERS", ())
    monkeypatch.setitem(sys.modules, "keyring", None)  # importing it fails
    settings = tmp_path / "config" / "settings.toml"
    return Outside(env={"HOME": str(tmp_path)}, state_dir=tmp_path / "state", user_settings=settings)


@pytest.fixture
def ring(monkeypatch):
    """A keyring that keeps everything in memory."""
    kept: dict[tuple[str, str], str] = {}

    class Backend:
        pass

    module = ModuleType("keyring")
    functions = {
        "get_keyring": Backend,
        "get_password": lambda service, name: kept.get((service, name)),
        "set_password": lambda service, name, key: kept.__setitem__((service, name), key),
        "delete_password": lambda service, name: kept.pop((service, name)),
    }
    for name, function in functions.items():
        setattr(module, name, function)
    monkeypatch.setitem(sys.modules, "keyring", module)
    return kept


async def typed(outside, lines, wanted=None, keyboard=Hand):
    """What comes of a conversation in which the user types these lines; exit code, output, errors."""
    out, errors = io.StringIO(), io.StringIO()
    async with app.setup(outside) as (setup, _):
        code = await by_hand(
            setup,
            wanted or Wanted(),
            make_console(out),
            keyboard("\n".join(lines)),
            Problems(make_console(errors)),
        )
    return code, out.getvalue(), errors.getvalue()


async def given(outside, *, as_json=False, act=by_options, **wanted):
    """What comes of options alone; exit code, output, errors."""
    out, errors = io.StringIO(), io.StringIO()
    async with app.setup(outside) as (setup, _):
        problems = Problems(make_console(errors))
        code = await act(setup, Wanted(**wanted), make_console(out), problems, out if as_json else None)
    return code, out.getvalue(), errors.getvalue()


def of_server(server, **more):
    return {"provider": "my", "base_url": server.url, "kind": "openai-chat", "model": "big", **more}


def written(outside):
    return tomllib.loads(outside.user_settings.read_text())


def files(outside):
    folder = outside.user_settings.parent
    found = folder.rglob("*") if folder.exists() else ()
    return sorted(one.name for one in found if one.is_file() and not one.name.endswith(".lock"))


async def test_a_user_who_has_nothing_comes_to_a_model_that_answers(outside):
    async with ProviderServer() as server:
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS)
        # Another provider, by its address, its API, its name; the key; the model; a file for the key.
        lines = ["9", server.url, "1", "my", f"  {KEY} ", "1", "1"]
        code, out, errors = await typed(outside, lines)
        (request,) = server.received
    assert (code, errors) == (0, "")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert written(outside) == {
        "model": "my/big",
        "providers": {"my": {"kind": "openai-chat", "baseUrl": server.url, "apiKeyFile": "~/config/keys/my"}},
    }
    kept = outside.user_settings.parent / "keys" / "my"
    assert (kept.read_text(), kept.stat().st_mode & 0o777) == (KEY, 0o600)
    assert KEY not in out + errors + outside.user_settings.read_text()
    assert "big  (65,536 tokens)" in out
    assert "it answers" in out
    assert 'model = "my/big"' in out
    # What was set up is what the next process uses.
    surveyed = await app.survey(outside, {})
    assert (surveyed.settings.model, surveyed.messages) == ("my/big", ())


async def test_a_key_in_a_variable_is_found_first_and_only_named(outside, monkeypatch):
    async with ProviderServer() as server:
        monkeypatch.setattr(
            "outrider.models.survey.HOSTED",
            (("MY_API_KEY", "Mine", "mine", "openai-chat", server.url),),
        )
        monkeypatch.setattr(
            "outrider.setup.steps.HOSTED", (("MY_API_KEY", "Mine", "mine", "openai-chat", server.url),)
        )
        around = Outside({"MY_API_KEY": KEY}, outside.state_dir, outside.user_settings)
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS)
        code, out, _ = await typed(around, ["1", "small"])
        assert server.received[0].headers["authorization"] == f"Bearer {KEY}"
        assert server.received[0].json["model"] == "small"
    assert code == 0
    assert " 1  Mine: a key in MY_API_KEY" in out
    assert written(outside)["providers"]["mine"]["apiKeyEnv"] == "MY_API_KEY"
    assert files(outside) == ["settings.toml"]
    assert KEY not in out


async def test_a_server_of_this_machine_needs_no_key(outside, monkeypatch):
    async with ProviderServer() as server:
        servers = ((server.port, "Ollama", "ollama", "ollama", ""),)
        monkeypatch.setattr(app, "LOCAL_SERVERS", servers)
        server.known["/api/tags"] = tells({"models": [{"name": "qwen:7b"}]})
        server.known["/api/show"] = tells({"capabilities": ["tools"]})
        server.plays("ollama", CALLS)
        code, out, _ = await typed(outside, ["1", "1"])
    assert code == 0
    assert "where Ollama usually is" in out
    assert written(outside) == {
        "model": "ollama/qwen:7b",
        "providers": {"ollama": {"kind": "ollama", "baseUrl": f"http://127.0.0.1:{server.port}"}},
    }


async def test_a_refused_key_is_named_as_the_cause_and_another_one_can_be_given(outside):
    async with ProviderServer() as server:
        server.known["/models"] = tells(LIST)
        server.answers = [fails(401, {"error": {"message": f"bad key {KEY}"}})]
        server.plays("openai-chat", CALLS)
        lines = ["9", server.url, "1", "my", KEY, "1", "2", "sk-another-9876543210", "1"]
        code, out, errors = await typed(outside, lines)
        assert [one.headers["authorization"] for one in server.received] == [
            f"Bearer {KEY}",
            "Bearer sk-another-9876543210",
        ]
    assert (code, errors) == (0, "")
    assert "the key of my does not work" in out
    assert "OUTRIDER_PASTED_KEY" not in out
    assert KEY not in out
    assert (outside.user_settings.parent / "keys" / "my").read_text() == "sk-another-9876543210"


async def test_without_a_network_nothing_is_written_and_the_cause_is_said(outside):
    async with ProviderServer() as server:
        pass  # nobody listens there any more
    code, out, errors = await given(outside, **of_server(server, key=KEY, keep="file"))
    assert (code, out) == (1, "")
    assert "127.0.0.1 does not answer (is the server started?)" in errors
    assert errors.rstrip().endswith("nothing was written")
    assert files(outside) == []


async def test_an_unknown_model_is_named_as_the_cause(outside):
    async with ProviderServer() as server:
        said = {"error": {"message": "no such model", "code": "model_not_found"}}
        server.answers = [fails(404, said)]
        code, _, errors = await given(outside, **of_server(server))
    assert (code, "my has no model big" in errors, files(outside)) == (1, True, [])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (tells({"data": []}), "has no models"),
        (tells({"detail": "something else listens here"}), "lists no models"),
        (fails(200, b"<html>"), "not JSON"),
        (fails(401, {"error": {"message": "no"}}), "wants a key"),
    ],
    ids=["none", "another program", "nonsense", "locked"],
)
async def test_a_provider_that_lists_no_models_says_why_and_a_name_can_be_typed(outside, answer, said):
    async with ProviderServer() as server:
        server.known["/models"] = answer
        server.plays("openai-chat", CALLS)
        code, out, _ = await typed(outside, ["9", server.url, "1", "my", "", "big"])
    assert (code, said in out) == (0, True)
    assert written(outside)["model"] == "my/big"
    code, out, _ = await given(outside, act=show_choices, provider="my", base_url=server.url)
    assert (code, out) == (1, "")


async def test_a_wrong_address_and_a_wrong_name_are_asked_for_again_at_once(outside):
    async with ProviderServer() as server:
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS)
        lines = ["9", "localhost:8000", server.url, "1", "a b", "my", "", "1"]
        code, out, errors = await typed(outside, lines)
    assert (code, errors, written(outside)["model"]) == (0, "", "my/big")
    at = [out.index(said) for said in ("begins with http", "The API it speaks", "is one word", "Key, which")]
    assert at == sorted(at)
    code, _, errors = await typed(outside, [], Wanted(provider="a", base_url="localhost:1"))
    assert (code, "begins with http" in errors) == (2, True)


async def test_who_leaves_by_a_key_is_told_that_nothing_was_written(outside):
    out, errors, asked = io.StringIO(), io.StringIO(), asyncio.Event()

    class Asked(Hand):
        async def answer(self, draw):
            asked.set()
            return await super().answer(draw)

    async with app.setup(outside) as (setup, _):
        asks = by_hand(setup, Wanted(), make_console(out), Asked(""), Problems(make_console(errors)))
        leaves = asyncio.ensure_future(asks)
        await asked.wait()
        leaves.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaves
    assert (errors.getvalue(), files(outside)) == ("nothing was written\n", [])


@pytest.mark.parametrize("typed_lines", range(7))
async def test_who_leaves_in_the_middle_leaves_nothing_behind(outside, typed_lines):
    async with ProviderServer() as server:
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS)
        lines = ["9", server.url, "1", "my", KEY, "1", "1"][:typed_lines]
        code, _, errors = await typed(outside, lines, keyboard=Leaves)
    assert (code, errors.strip(), files(outside)) == (130, "nothing was written", [])


async def test_the_keyring_keeps_the_key_where_there_is_one(outside, ring):
    async with ProviderServer() as server:
        server.plays("openai-chat", CALLS)
        code, out, _ = await given(outside, **of_server(server, key=KEY))
    assert (code, ring) == (0, {("outrider", "my"): KEY})
    assert written(outside)["providers"]["my"]["apiKeyKeyring"] == "my"
    assert files(outside) == ["settings.toml"]
    assert KEY not in out


async def test_a_missing_keyring_that_was_asked_for_is_said_and_nothing_is_written(outside):
    async with ProviderServer() as server:
        server.plays("openai-chat", CALLS)
        code, _, errors = await given(outside, **of_server(server, key=KEY, keep="keyring"))
    assert (code, "there is no keyring here" in errors, files(outside)) == (1, True, [])


async def test_a_key_is_not_kept_where_the_settings_cannot_be_written(outside, ring):
    outside.user_settings.parent.mkdir()
    outside.user_settings.write_text("model = ")
    ring["outrider", "my"] = "sk-of-before"
    code, _, errors = await given(
        outside, **of_server(SimpleNamespace(url="http://127.0.0.1:9/v1"), key=KEY, tries=False)
    )
    assert (code, "is not valid TOML" in errors) == (1, True)
    assert ring == {("outrider", "my"): "sk-of-before"}
    assert outside.user_settings.read_text() == "model = "


async def test_what_a_user_wrote_into_their_settings_stays(outside):
    outside.user_settings.parent.mkdir()
    before = (
        '# mine\nmodel = "other/x" # the old one\n\n[providers.other]\nkind = "ollama"\nbaseUrl = "http://127.0.0.1:9"\n'
        '\n[providers.my]\nkind = "openai-chat"\nbaseUrl = "http://127.0.0.1:9/v1"\napiKeyEnv = "OLD"\nmaxTokens = 5\n\n[limits]\nsteps = 7\n'
    )
    outside.user_settings.write_text(before)
    server = SimpleNamespace(url="http://127.0.0.1:9/v1")
    code, _, _ = await given(outside, **of_server(server, key=KEY, keep="file", tries=False))
    assert code == 0
    text = outside.user_settings.read_text()
    assert text.startswith('# mine\nmodel = "my/big" # the old one\n')
    now = written(outside)
    assert now["limits"] == {"steps": 7}
    assert now["providers"]["other"] == {"kind": "ollama", "baseUrl": "http://127.0.0.1:9"}
    assert now["providers"]["my"] == {
        "kind": "openai-chat",
        "baseUrl": server.url,
        "maxTokens": 5,
        "apiKeyFile": "~/config/keys/my",
    }


async def test_another_model_of_a_configured_provider_changes_only_the_model(outside):
    outside.user_settings.parent.mkdir()
    provider = (
        '[providers.my]\nkind = "openai-chat"\nbaseUrl = "http://127.0.0.1:9/v1"\nheaders = { x = "y" }\n'
    )
    outside.user_settings.write_text(provider)
    code, _, _ = await given(outside, provider="my", model="small", tries=False)
    text = outside.user_settings.read_text()
    assert (code, provider in text, written(outside)["model"]) == (0, True, "my/small")


async def test_a_found_key_goes_to_no_other_address(outside):
    around = Outside({"OPENAI_API_KEY": KEY}, outside.state_dir, outside.user_settings)
    async with ProviderServer() as server:
        server.plays("openai-chat", CALLS)
        more = {"provider": "openai", "base_url": server.url, "kind": "openai-chat", "model": "big"}
        await given(around, **more)
        (request,) = server.received
    assert "authorization" not in request.headers


async def test_json_is_one_object_and_errors_are_none(outside):
    async with ProviderServer() as server:
        server.plays("openai-chat", CALLS)
        code, out, errors = await given(outside, as_json=True, **of_server(server, key=KEY, keep="file"))
        said = json.loads(out)
        assert (code, errors, said["model"], said["trial"]["ok"]) == (0, "", "my/big", True)
        server.answers = [fails(401, {"error": {"message": "no"}})]
        code, out, errors = await given(outside, as_json=True, **of_server(server, key=KEY, keep="file"))
    assert (code, out) == (1, "")
    assert "the key of my does not work" in errors
    _, out, _ = await given(outside, as_json=True, act=show_choices)
    assert {"my", "openai", "anthropic"} <= {one["name"] for one in json.loads(out)["providers"]}


async def test_a_model_that_never_answers_is_given_up(outside, monkeypatch):
    monkeypatch.setattr("outrider.setup.steps.TRIAL_SECONDS", 0.05)
    over = asyncio.Event()

    async def never(connection):
        await over.wait()

    async with ProviderServer() as server:
        server.answers = [never]
        code, _, errors = await given(outside, **of_server(server))
        over.set()
    assert (code, "no answer in 0.05 s" in errors) == (1, True)


@pytest.mark.parametrize("key", ["", "two words", "schlüssel-0123456789", "x" * 20_000])
async def test_what_can_be_no_key_is_sent_nowhere(outside, key):
    server = SimpleNamespace(url="http://127.0.0.1:9/v1")
    code, _, errors = await given(outside, **of_server(server, key=key, keep="file", tries=False))
    assert (code, files(outside)) == (1, [])
    assert not key or key not in errors


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "needs a terminal"),
        (["--yes"], "needs --provider and --model"),
        (["--json", "--provider", "my"], "needs --provider and --model"),
        (["--key-from", "sk-proj-0123", "--yes"], "NAME of an environment variable"),
        (["--keep", "file"], "is for a key from standard input"),
    ],
)
def test_options_that_cannot_be_right_are_usage_errors(options, said, capsys):
    assert command_line.main(["setup", *options]) == 2
    captured = capsys.readouterr()
    assert (captured.out, said in captured.err) == ("", True)
    assert "sk-proj" not in captured.err


def test_the_command_reads_the_key_from_standard_input(outside, monkeypatch, capsys):
    monkeypatch.setattr("outrider.cli.setup.surroundings", lambda: outside)
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    options = ["--provider", "my", "--provider-url", "http://127.0.0.1:9/v1", "--model", "big"]
    assert command_line.main(["setup", *options, "--key-from", "-", "--no-trial", "--yes"]) == 0
    assert 'model = "my/big"' in capsys.readouterr().out
    assert (outside.user_settings.parent / "keys" / "my").read_text() == KEY


def test_a_shell_completes_commands_and_options(tmp_path):
    def typed(words):
        ask = {
            "_OUTRIDER_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(words.count(" ")),
        }
        argv = [sys.executable, "-m", "outrider"]
        done = subprocess.run(
            argv, env={**os.environ, **ask}, capture_output=True, check=False, text=True, timeout=50
        )
        return done.stdout.split()

    assert typed("outrider set") == ["setup"]
    assert "--continue" in typed("outrider run --c")
    script = subprocess.run(
        [sys.executable, "-m", "outrider", "completion", "bash"],
        capture_output=True,
        check=False,
        text=True,
        timeout=50,
    )
    read = subprocess.run(["bash", "-n"], check=False, input=script.stdout, text=True, timeout=50)
    assert (script.returncode, read.returncode, "complete_bash" in script.stdout) == (0, 0, True)


@pytest.mark.parametrize("name", ["", ".", "../x", "a/b", "-x", "a b", "ü", "x" * 65])
async def test_what_can_be_no_name_of_a_provider_is_refused(outside, name):
    server = SimpleNamespace(url="http://127.0.0.1:9/v1")
    given_so = of_server(server, key=KEY, keep="file", tries=False) | {"provider": name}
    code, _, errors = await given(outside, **given_so)
    assert (code, "name is one word" in errors, files(outside)) == (1, True, [])
