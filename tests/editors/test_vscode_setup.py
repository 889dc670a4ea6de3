"""VS Code from nothing to a model that answers: every message that there is none leads there, and no task is lost."""

import asyncio
import json
import shutil
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from editors.parking import IN_THE_WORKBENCH, Begin, give
from editors.workbench import Workbench, plain
from provider_server import ProviderServer, Said, fails, tells

pytestmark = IN_THE_WORKBENCH

KEY = "sk-local-0123456789"
LIST = {"object": "list", "data": [{"id": "big", "context_length": 65536}, {"id": "small"}]}
CALLS = Said("", [("call_1", "report_ready", {"word": "ready"})])

KNOWN = """
import sys
from outrider.models import survey
from outrider.setup import steps
survey.HOSTED = steps.HOSTED = (("MINE_API_KEY", "Mine", "mine", "openai-chat", {url!r}), *survey.HOSTED)
from outrider.__main__ import main
main()
"""
"""A server whose list of providers has one that is on this machine."""


@pytest.fixture(autouse=True)
def nothing_set(place: Path) -> None:
    """Nobody has been here before: the settings file is one for all windows."""
    shutil.rmtree(place / "home" / "config" / "outrider", ignore_errors=True)


@pytest.fixture
def provider() -> Iterator[ProviderServer]:
    """A provider that listens here. Playwright has the event loop of this thread, so it has one of its own."""
    server = ProviderServer()
    server.known["/models"] = tells(LIST)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def there(work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, loop).result(10)

    there(server.__aenter__())
    yield server
    there(server.__aexit__())
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def _choose(bench: Workbench, title: str, row: str) -> str:
    """Take a row of a list of the set-up, and give what is listed."""
    bench.page.locator(".quick-input-title", has_text=title).wait_for()
    rows = bench.page.locator(".quick-input-list .monaco-list-row")
    wanted = rows.filter(has_text=row).first
    wanted.wait_for()
    listed = plain("\n".join(rows.all_inner_texts()))
    wanted.click()
    return listed


def _paste(bench: Workbench, key: str) -> None:
    box = bench.page.locator(".quick-input-widget input[type=password]")
    box.wait_for()
    box.fill(key)
    box.press("Enter")


def _until_said(bench: Workbench, text: str) -> None:
    bench.until(lambda: any(text in plain(one) for one in bench.toasts()), text)


def _settings_file(bench: Workbench) -> Path:
    return bench.home.folder / "config" / "outrider" / "settings.toml"


def test_a_task_without_a_model_leads_to_one_and_is_done_then(
    begin: Begin, provider: ProviderServer, tmp_path: Path
) -> None:
    serve = tmp_path / "serve.py"
    serve.write_text(KNOWN.format(url=provider.url), encoding="utf-8")
    provider.plays("openai-chat", CALLS, Said("It costs two."), Said("It still does."))
    settings = {"outrider.model": None, "outrider.server.command": [sys.executable, str(serve)]}
    with begin([], settings=settings, alone=True) as bench:
        file = _settings_file(bench)
        bench.command("Outrider: Show Session View")
        lead = bench.view.locator("button", has_text="Set up a model")
        bench.until(lead.is_visible, "the way to a model before anything is asked")
        bench.shot("no-model")
        box = bench.view.locator("#task")
        box.fill("What does it cost?")
        box.press("Enter")
        bench.until(lambda: "Not sent: no model is set" in plain(bench.view_text()), "why it is not sent")
        assert "terminal" not in bench.view_text()
        lead.click()
        listed = _choose(bench, "which provider?", "Mine")
        assert "Anthropic" in listed
        _paste(bench, f" {KEY} ")
        assert "65,536 tokens" in _choose(bench, "which model?", "big")
        _until_said(bench, "mine/big is used from the next task on")
        # What is written is shown, and the key is in no file.
        written = file.read_text(encoding="utf-8")
        assert tomllib.loads(written) == {
            "model": "mine/big",
            "providers": {
                "mine": {"kind": "openai-chat", "baseUrl": provider.url, "apiKeyEnv": "MINE_API_KEY"}
            },
        }
        bench.click_toast("Show File")
        bench.until(lambda: 'model = "mine/big"' in bench.text(), "the settings")
        assert not [path for path in bench.home.folder.rglob("*") if path.is_file() and _has(path, KEY)]

        # What was typed is there still, and nothing is in its way.
        bench.until(lambda: not lead.is_visible(), "no way to a model any more")
        assert "Not sent" not in bench.view_text()
        assert box.input_value() == "What does it cost?"
        bench.until(lambda: "· big ·" in bench.status(), "the model in the status bar")
        box.press("Enter")
        bench.until(lambda: "It costs two." in bench.view_text(), "the answer")
        assert [one.headers["authorization"] for one in provider.received] == [f"Bearer {KEY}"] * 2
        assert [one.json["model"] for one in provider.received] == ["big", "big"]
        # A new server gets the key from the editor's secret storage.
        bench.command("Outrider: Restart the Server")
        bench.until(lambda: bench.view.locator(".facts .doing").inner_text() == "idle", "the new server")
        give(bench, "And now?")
        bench.until(lambda: "It still does." in bench.view_text(), "the answer")
        assert provider.received[-1].headers["authorization"] == f"Bearer {KEY}"


def _has(path: Path, text: str) -> bool:
    return text.encode() in path.read_bytes()


@pytest.mark.thorough
def test_a_task_of_the_palette_is_done_after_the_set_up_and_a_wrong_key_is_given_anew(
    begin: Begin, provider: ProviderServer
) -> None:
    def by_key() -> Callable[..., Any]:
        answers = iter([fails(401, {"error": {"message": "no such key"}}), tells(LIST)])

        async def answer(connection: Any) -> None:
            await next(answers)(connection)

        return answer

    provider.known["/models"] = by_key()
    provider.plays("openai-chat", CALLS, Said("It costs two."))
    mine = {"kind": "openai-chat", "baseUrl": provider.url, "apiKeyEnv": "MINE_KEY"}
    settings = {"outrider.model": None, "outrider.providers": {"mine": mine}}
    with begin([], settings=settings, alone=True) as bench:
        give(bench, "What does it cost?")
        _until_said(bench, "no model is set")
        bench.click_toast("Set Up a Model")
        _choose(bench, "which provider?", "mine")
        _until_said(bench, "Nothing was written")
        bench.click_toast("Give a Key…")
        _paste(bench, "sk-wrong-0123456789")
        bench.until(lambda: "no such key" in json.dumps(bench.toasts()), "that the key does not work")
        bench.shot("wrong-key")
        assert not _settings_file(bench).exists()
        bench.click_toast("Give a Key…")
        _paste(bench, KEY)
        _choose(bench, "which model?", "big")
        # Nobody types the task once more.
        bench.until(lambda: "It costs two." in bench.view_text(), "the answer")
        assert provider.received[-1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.thorough
def test_who_leaves_the_set_up_finds_the_task_in_the_view(begin: Begin) -> None:
    with begin([], settings={"outrider.model": None}) as bench:
        give(bench, "Two an hour")
        _until_said(bench, "no model is set")
        bench.click_toast("Set Up a Model")
        bench.page.locator(".quick-input-title", has_text="which provider?").wait_for()
        bench.page.keyboard.press("Escape")
        bench.until(
            lambda: bench.view.locator("#task").input_value() == "Two an hour", "the task in the view"
        )


@pytest.mark.thorough
def test_a_task_of_a_code_action_leads_to_a_model_too(begin: Begin) -> None:
    with begin([], settings={"outrider.model": None}) as bench:
        (bench.folder / "tariff.py").write_text("# outrider: make it cheaper\nprice = 3\n", encoding="utf-8")
        bench.open("tariff.py")
        bench.focus_editor()
        bench.to_line(1)
        action = bench.page.locator(".action-widget").get_by_text("Outrider: do “make it cheaper”").first

        def offered() -> bool:
            # The menu of a moment ago may have come before the server had the comment.
            bench.page.keyboard.press("Escape")
            bench.page.keyboard.press("Control+.")
            bench.page.wait_for_timeout(1000)
            return bool(action.is_visible())

        bench.until(offered, "the action in the menu")
        action.click()
        _until_said(bench, "no model is set")
        bench.click_toast("Set Up a Model")
        bench.page.locator(".quick-input-title", has_text="which provider?").wait_for()
        bench.page.keyboard.press("Escape")
