"""From nothing to a model that answers, in an editor: by a document that is filled in and saved, or by commands."""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from outrider import app
from outrider.setup import paper
from outrider.testing.scenario import embedded, start_session, surroundings_of
from provider_server import ProviderServer, Said, fails, tells

KEY = "sk-local-0123456789"
PAPER = ".outrider/setup.md"
LIST = {"data": [{"id": "big"}, {"id": "small"}]}
CALLS = Said("", [("call_1", "report_ready", {"word": "ready"})])
CHOOSE = "Outrider: choose a model…"


@pytest.fixture(autouse=True)
def bare_machine(monkeypatch):
    monkeypatch.setattr(app, "LOCAL_SERVERS", ())
    monkeypatch.setitem(sys.modules, "keyring", None)


@pytest.fixture
def start(workspace):
    """A session in which no model is set."""
    (workspace / "a.py").write_text("x = 1\n")

    def begin(profile="stock", settings=None, env=None):
        options = {"model": None, "testing": None, "events": False, **(settings or {})}
        connection = embedded(workspace, env=env)
        return start_session(profile, workspace, "", options, connection=connection)

    return begin


def settings_file(workspace):
    return Path(surroundings_of(workspace)["XDG_CONFIG_HOME"]) / "outrider" / "settings.toml"


def fill_in(editor, **fields):
    for key, value in fields.items():
        name = key.replace("_", " ")
        line = next(one for one in editor.text(PAPER).splitlines() if one.startswith(f"{name}:"))
        editor.type(PAPER, f"\n{name}: {value}\n", replace=f"\n{line}\n")
    editor.save(PAPER)


def said(editor):
    return [one.text for one in editor.said]


async def opened(editor):
    editor.open("a.py")
    await editor.code_actions("a.py")
    await editor.take_action(CHOOSE)


async def test_who_has_no_model_is_led_to_one_by_an_action_and_two_saves(start, workspace):
    async with ProviderServer() as server, start(env={"MY_KEY": KEY}) as editor:
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS, Said("Hello."))
        await opened(editor)
        assert "## Providers" in editor.text(PAPER)
        fill_in(editor, provider="my", address=server.url, api="openai-chat", key_variable="MY_KEY")
        await editor.wait_for(lambda: "- small" in editor.text(PAPER), "the models")
        assert not settings_file(workspace).exists()
        fill_in(editor, model="small")
        await editor.wait_for(lambda: "my/small answers" in editor.text(PAPER), "the trial")
        assert tomllib.loads(settings_file(workspace).read_text()) == {
            "model": "my/small",
            "providers": {"my": {"kind": "openai-chat", "baseUrl": server.url, "apiKeyEnv": "MY_KEY"}},
        }
        assert KEY not in editor.text(PAPER)
        # It counts from the next task on, without a new server.
        assert CHOOSE not in [one["title"] for one in await editor.code_actions("a.py")]
        turn = await editor.command("outrider.run", {"prompt": "Hi"})
        ended = await editor.command("outrider.wait", {"turnId": turn["turnId"]})
        assert (ended["outcome"], ended["summary"]) == ("completed", "Hello.")
        assert [one.json["model"] for one in server.received] == ["small", "small"]


async def test_a_refusal_for_want_of_a_model_names_the_file_and_the_ways_to_one(start, workspace):
    async with start() as editor:
        with pytest.raises(Exception, match="no model is set") as refused:
            await editor.command("outrider.run", {"prompt": "Hi"})
    assert "`outrider setup`" in str(refused.value)
    assert CHOOSE in str(refused.value)
    assert f"{settings_file(workspace)}, which is not there" in str(refused.value)
    assert "scripted" not in str(refused.value)


async def test_a_model_of_a_provider_that_is_not_there_is_told_at_the_start_with_the_file_and_the_action(
    start, workspace
):
    async with start(settings={"model": "my/big"}) as editor:
        await editor.wait_for(
            lambda: any("unknown provider" in text for text in said(editor)), "what is missing"
        )
        editor.open("a.py")
        assert CHOOSE in [one["title"] for one in await editor.code_actions("a.py")]
    (told,) = [text for text in said(editor) if "unknown provider" in text]
    assert str(settings_file(workspace)) in told
    assert CHOOSE in told


async def test_the_action_stands_in_the_task_document_too_and_in_none_where_a_model_is_set(start):
    async with start() as editor:
        await editor.command("outrider.open", {"what": "task"})
        assert CHOOSE in [one["title"] for one in await editor.code_actions(".outrider/task.md")]
    async with start(settings={"model": "scripted:nothing.json"}) as editor:
        editor.open("a.py")
        assert CHOOSE not in [one["title"] for one in await editor.code_actions("a.py")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (fails(401, {"error": {"message": f"bad key {KEY}"}}), "the key of my does not work"),
        (
            fails(404, {"error": {"message": "no such model", "code": "model_not_found"}}),
            "has no model small",
        ),
        (None, "does not answer"),
    ],
    ids=["key", "model", "network"],
)
async def test_what_does_not_answer_is_named_by_its_cause_and_nothing_is_written(
    start, workspace, answer, why
):
    async with ProviderServer() as server, start(env={"MY_KEY": KEY}) as editor:
        if answer is None:
            await server.__aexit__()
        else:
            server.answers = [answer]
        server.plays("openai-chat", CALLS)
        await opened(editor)
        fill_in(editor, provider="my", address=server.url, key_variable="MY_KEY", model="small")
        await editor.wait_for(lambda: why in editor.text(PAPER), "the cause")
        await editor.wait_for(lambda: any(why in text for text in said(editor)), "the message")
        assert KEY not in editor.text(PAPER)
        assert not settings_file(workspace).exists()
        if answer is not None:  # what was wrong there was put right
            editor.save(PAPER)
            await editor.wait_for(settings_file(workspace).exists, "the second try")


async def test_a_key_that_is_written_into_the_document_is_sent_nowhere(start, workspace):
    async with ProviderServer() as server, start() as editor:
        await opened(editor)
        fill_in(editor, provider="my", address=server.url, key_variable="sk-proj-abcdef", model="small")
        await editor.wait_for(lambda: any("take it out" in text for text in said(editor)), "the warning")
        assert server.received == []
        assert not settings_file(workspace).exists()
        assert not any("sk-proj" in text for text in said(editor))


async def test_a_document_that_the_repository_brought_does_nothing(start, workspace):
    async with ProviderServer() as server, start(env={"MY_KEY": KEY}) as editor:
        server.plays("openai-chat", CALLS)
        (workspace / ".outrider").mkdir()
        planted = paper.written([], settings_file(workspace)).replace("provider:", "provider: my", 1)
        planted = planted.replace("address:", f"address: {server.url}", 1).replace(
            "model:", "model: small", 1
        )
        planted = planted.replace("key variable:", "key variable: MY_KEY", 1)
        (workspace / PAPER).write_text(planted)
        editor.open(PAPER)
        editor.save(PAPER)
        await editor.command("outrider.status")
        assert server.received == []
        await editor.command("outrider.open", {"what": "setup"})
        await editor.wait_for(lambda: server.url not in editor.text(PAPER), "the document anew")
    assert not settings_file(workspace).exists()


async def test_an_editor_that_takes_no_edits_finds_the_models_in_the_file(start, workspace):
    async with ProviderServer() as server, start("bare") as editor:
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS)
        await editor.command("outrider.open", {"what": "setup"})
        editor.open(PAPER)
        fill_in(editor, provider="my", address=server.url)
        await editor.wait_for(lambda: "- big" in (workspace / PAPER).read_text() or None, "the models")


async def test_the_steps_are_commands_and_a_key_is_in_no_event_and_no_setting(start, workspace):
    async with ProviderServer() as server, start("stock", {"events": True}) as editor:
        server.known["/models"] = tells(LIST)
        server.plays("openai-chat", CALLS, Said("Hello."))
        listed = await editor.command("outrider.setup")
        assert listed["keeps"] == ["file", "env"]
        assert {"openai", "anthropic"} <= {one["name"] for one in listed["providers"]}
        given = {"provider": "my", "baseUrl": server.url, "kind": "openai-chat", "key": f" {KEY}\n"}
        found = await editor.command("outrider.setup", {"action": "models", **given})
        assert [one["name"] for one in found["models"]] == ["big", "small"]
        given["model"] = "big"
        tried = await editor.command("outrider.setup", {"action": "try", **given})
        assert tried["trial"]["ok"]
        assert not settings_file(workspace).exists()
        saved = await editor.command("outrider.setup", {"action": "save", "keep": "file", **given})
        assert (saved["model"], saved["file"]) == ("my/big", str(settings_file(workspace)))
        assert "note" not in saved
        turn = await editor.run("Hi")
        assert turn["outcome"] == "completed"
        assert {one.headers["authorization"] for one in server.received} == {f"Bearer {KEY}"}
        answers = json.dumps([one.message for one in editor.messages if one.direction == "to editor"])
        assert KEY not in answers
    keys = settings_file(workspace).parent / "keys" / "my"
    assert (keys.read_text(), keys.stat().st_mode & 0o777) == (KEY, 0o600)
    assert KEY not in settings_file(workspace).read_text()
    assert not [
        one for one in workspace.rglob("*") if one.is_file() and KEY in one.read_text("utf-8", "replace")
    ]


async def test_no_key_is_kept_in_a_workspace(start, workspace):
    async with start() as editor:
        config = settings_file(workspace).parent
        config.mkdir(parents=True)
        editor.set_folders([workspace, config.parent])
        listed = await editor.command("outrider.setup")
        assert listed["keeps"] == ["env"]
        given = {"provider": "openai", "key": KEY, "model": "m", "keep": "file"}
        refused = await editor.command("outrider.setup", {"action": "save", **given})
        assert "where no key is kept" in refused["problem"]
    assert list(config.rglob("*")) == []


async def test_what_this_editor_sets_itself_stays_and_that_is_said(start, workspace):
    mine = {"model": "mine/m", "providers": {"mine": {"kind": "ollama", "baseUrl": "http://127.0.0.1:9"}}}
    async with start(settings=mine) as editor:
        given = {"provider": "my", "baseUrl": "http://127.0.0.1:9/v1", "model": "big"}
        saved = await editor.command("outrider.setup", {"action": "save", **given})
        assert saved["note"] == "the settings of this editor name mine/m, which stays in use here"
        assert (await editor.command("outrider.models"))["model"] == "mine/m"
    assert tomllib.loads(settings_file(workspace).read_text())["model"] == "my/big"


async def test_the_status_says_what_the_next_task_gets(start):
    async with start() as editor:
        assert (await editor.command("outrider.status"))["model"] == ""
    unknown = {"model": "nobody/knows"}
    async with start(settings=unknown) as editor:
        assert (await editor.command("outrider.status"))["model"] == ""
    provider = {"my": {"kind": "openai-chat", "baseUrl": "http://127.0.0.1:9/v1"}}
    async with start(settings={"model": "my/big", "providers": provider}) as editor:
        assert (await editor.command("outrider.status"))["model"] == "my/big"
    async with start(settings={"tiers": {"small": ["my/a"]}, "providers": provider}) as editor:
        assert (await editor.command("outrider.status"))["model"] == "tiers"


async def test_the_doctor_names_what_was_wrong_with_the_settings_at_the_start(begin):
    editor = await begin("stock", [], {"limits": {"steps": "many"}})
    checks = (await editor.command("outrider.doctor"))["checks"]
    (start,) = [one for one in checks if one["name"] == "start"]
    assert start["status"] == "warn"
    assert start["detail"].startswith("initializationOptions: limits.steps: ")
