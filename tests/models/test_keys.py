"""Where keys come from: the environment, a command, a file, the keyring; a refused one is looked up again."""

import asyncio
import sys
from typing import Any

import pytest

from outrider.models.http.keys import Keys
from outrider.models.http.provider import HttpProvider, key_header, key_source
from outrider.ports.clock import SystemClock
from outrider.ports.model import ModelFailure
from outrider.ports.secrets import KeySource, NoKey
from outrider.processes import Supervisor
from outrider_protocol.settings import ProviderSettings
from provider_server import Said

KEY = "sk-local-0123456789"


@pytest.fixture
async def supervisor():
    made = Supervisor(SystemClock())
    yield made
    await made.close()


async def test_an_environment_variable_is_read_each_time_and_an_empty_one_is_no_key():
    env = {"A": f" {KEY} \n", "EMPTY": " "}
    keys = Keys(env)
    assert keys.values() == frozenset()
    assert await keys.key(KeySource(env="A")) == KEY
    for name in ("EMPTY", "NONE"):
        assert await keys.key(KeySource(env=name)) == NoKey(
            f"there is no key; set the environment variable {name}"
        )
    env["A"] = "sk-other-0123456789"
    assert await keys.key(KeySource(env="A")) == "sk-other-0123456789"
    assert keys.values() == {KEY, "sk-other-0123456789"}


async def test_a_command_runs_once_until_its_key_is_refused(tmp_path, supervisor):
    count = tmp_path / "count"
    command = ("/bin/sh", "-c", f'echo run >> "{count}"; echo "key-$(wc -l < {count} | tr -d " ")-$NAME"')
    keys = Keys({"NAME": "ada", "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, supervisor)
    source = KeySource(command=command)
    assert await asyncio.gather(*(keys.key(source) for _ in range(5))) == ["key-1-ada"] * 5
    keys.refused(source, "some other key")
    assert await keys.key(source) == "key-1-ada"
    keys.refused(source, "key-1-ada")
    assert await keys.key(source) == "key-2-ada"
    assert keys.values() == {"key-1-ada", "key-2-ada"}


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo secret-on-output; echo secret-on-error >&2; exit 3", "ended with code 3"),
        ("kill -9 $$", "was ended by a signal"),
        ("true", "is empty"),
        ("printf 'a\\nb'", "characters that a key cannot have"),
        ("head -c 100000 /dev/zero | tr '\\0' a", "printed more than 65536 bytes"),
    ],
)
async def test_a_command_that_fails_says_so_and_shows_nothing_it_printed(tmp_path, supervisor, script, said):
    keys = Keys({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, supervisor)
    found = await keys.key(KeySource(command=("/bin/sh", "-c", script)))
    assert isinstance(found, NoKey)
    assert said in found.message
    assert "secret-on" not in found.message


async def test_a_command_that_does_not_end_is_stopped(tmp_path, supervisor, clock, monkeypatch):
    monkeypatch.setattr("outrider.models.http.keys.SECONDS", 0.2)
    keys = Keys({"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, supervisor)
    found = await keys.key(KeySource(command=("sleep", "1000")))
    assert isinstance(found, NoKey)
    assert "did not end within" in found.message
    assert supervisor.running == ()


async def test_a_file_holds_a_key_if_nobody_else_can_read_it(tmp_path):
    path = tmp_path / "key"
    path.write_text(f"  {KEY}\n")
    path.chmod(0o600)
    source = KeySource(file="~/key")
    assert await Keys({"HOME": str(tmp_path)}).key(source) == KEY
    for mode in (0o640, 0o604, 0o620):
        path.chmod(mode)
        found = await Keys({"HOME": str(tmp_path)}).key(source)
        assert isinstance(found, NoKey)
        assert "chmod 600" in found.message
    assert isinstance(await Keys({}).key(KeySource(file=str(tmp_path))), NoKey)
    missing = await Keys({}).key(KeySource(file="/no/such/file"))
    assert missing == NoKey("apiKeyFile /no/such/file cannot be read: No such file or directory")


class FakeKeyring:
    """Stands in for the library, which has no backend where no desktop runs."""

    def __init__(self, found: str | Exception | None):
        self._found = found

    def get_password(self, service: str, username: str) -> str | None:
        assert (service, username) == ("outrider", "ada")
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


@pytest.mark.parametrize(
    ("module", "said"),
    [
        (FakeKeyring(None), "create it with `keyring set outrider ada`"),
        (FakeKeyring(RuntimeError("no backend")), "cannot be used: RuntimeError"),
        (None, "install `outrider[keyring]`"),
    ],
)
async def test_the_keyring(module, said, monkeypatch):
    source = KeySource(keyring=("outrider", "ada"))
    monkeypatch.setitem(sys.modules, "keyring", FakeKeyring(KEY))
    assert await Keys({}).key(source) == KEY
    monkeypatch.setitem(sys.modules, "keyring", module)  # None: the import fails
    found = await Keys({}).key(source)
    assert isinstance(found, NoKey)
    assert said in found.message


async def test_a_provider_that_refuses_an_old_key_gets_the_new_one_in_the_same_request(
    wire: Any, tmp_path, ask: Any
):
    path = tmp_path / "key"
    path.write_text("key-one")
    path.chmod(0o600)

    async def refuses(connection: Any) -> None:
        path.write_text("key-two")
        await connection.send(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\n{}")

    wire.answers.append(refuses)
    wire.plays("openai-chat", *[Said("hello")] * 2)
    provider = HttpProvider(
        "local",
        ProviderSettings(kind="openai-chat", base_url=wire.url, api_key_file=str(path)),
        clock=SystemClock(),
        secrets=Keys({}),
    )
    assert (await ask(provider))[-1].text == "hello"
    assert (await ask(provider))[-1].text == "hello"
    assert [one.headers["authorization"] for one in wire.received] == [
        "Bearer key-one",
        "Bearer key-two",
        "Bearer key-two",
    ]
    await provider.close()


async def test_a_key_that_stays_the_same_is_not_sent_twice(wire: Any, tmp_path, ask: Any):
    path = tmp_path / "key"
    path.write_text(KEY)
    path.chmod(0o600)

    async def refuses(connection: Any) -> None:
        await connection.send(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\n{}")

    wire.answers.append(refuses)
    settings = ProviderSettings(kind="openai-chat", base_url=wire.url, api_key_file=str(path))
    provider = HttpProvider("local", settings, clock=SystemClock(), secrets=Keys({}))
    (failure,) = await ask(provider)
    assert isinstance(failure, ModelFailure)
    assert failure.message == f"provider local answered 403; the key came from the file {path}"
    assert len(wire.received) == 1
    await provider.close()


@pytest.mark.parametrize(
    ("kind", "url", "key", "more", "header"),
    [
        ("openai-chat", "https://models.example/v1", KEY, {}, "authorization"),
        ("anthropic", "https://api.anthropic.com/v1", KEY, {}, "x-api-key"),
        ("gemini", "https://generativelanguage.googleapis.com/v1beta", KEY, {}, "x-goog-api-key"),
        ("gemini", "https://aiplatform.googleapis.com/v1", "ya29.token", {}, "authorization"),
        ("gemini", "https://us-central1-aiplatform.googleapis.com/v1", "ya29.token", {}, "authorization"),
        ("openai-chat", "https://my.openai.azure.com/openai/v1", KEY, {}, "api-key"),
        ("openai-chat", "https://my.openai.azure.com/openai/v1", "eyJ0.eyJh.c2ln", {}, "authorization"),
        ("openai-chat", "https://bedrock-mantle.us-east-1.api.aws/v1", KEY, {}, "authorization"),
        (
            "anthropic",
            "https://bedrock-mantle.us-east-1.api.aws/anthropic/v1",
            KEY,
            {},
            "authorization",
        ),
        (
            "openai-chat",
            "https://bedrock-runtime.us-west-2.amazonaws.com/openai/v1",
            KEY,
            {},
            "authorization",
        ),
        ("openai-chat", "https://api.aws.example/v1", KEY, {"api_key_header": "x-api-key"}, "x-api-key"),
    ],
)
def test_which_header_carries_the_key(kind, url, key, more, header):
    assert key_header(ProviderSettings(kind=kind, base_url=url, **more), key) == header


def test_a_command_may_be_a_line_for_the_shell_and_an_entry_a_name():
    def source(**fields):
        given = {"kind": "openai-chat", "baseUrl": "https://models.example/v1", **fields}
        return key_source(ProviderSettings.from_wire(given))

    assert source() is None
    line = source(apiKeyCommand="gcloud auth print-access-token")
    assert line == KeySource(command=("/bin/sh", "-c", "gcloud auth print-access-token"))
    assert source(apiKeyCommand=["pass", "show", "x"]) == KeySource(command=("pass", "show", "x"))
    assert source(apiKeyKeyring="ada") == KeySource(keyring=("outrider", "ada"))
    assert source(apiKeyKeyring={"service": "s", "username": "u"}) == KeySource(keyring=("s", "u"))
    with pytest.raises(ValueError, match="give one of"):
        source(apiKeyEnv="A", apiKeyFile="/k")
