"""How a scenario begins and ends, and the guards around every test."""

import json
import socket
import sys
from pathlib import Path

import pytest

from outrider.testing.editor.connections import Stdio
from outrider.testing.editor.profiles import PROFILES
from outrider.testing.scenario import options, scripted, start_session
from outrider_protocol.settings import Settings

TINY = (sys.executable, str(Path(__file__).with_name("tiny_server.py")))


def test_a_script_lies_beside_the_workspace(workspace):
    model = scripted(workspace, [{"text": "hé"}], purposes={"summary": [{"text": "s"}]})
    kind, _, path = model.partition(":")
    assert kind == "scripted"
    assert json.loads((workspace / path).read_text("utf-8")) == {
        "turns": [{"text": "hé"}],
        "purposes": {"summary": [{"text": "s"}]},
    }
    assert not list(workspace.rglob("*.json"))


def test_settings_are_merged_into_the_defaults(workspace):
    merged = options(
        workspace, "scripted:x", {"testing": {"clock": None}, "permissionMode": "full", "trusted": None}
    )
    assert merged["testing"] == {"ids": "sequential"}
    assert merged["permissionMode"] == "full"
    assert "trusted" not in merged
    assert Settings.model_validate(options(workspace, "scripted:x")).events


async def test_a_session_begins_with_initialize_and_ends_with_exit(workspace):
    connection = Stdio(TINY)
    async with start_session("neovim-0.11", workspace, "scripted:x", connection=connection) as editor:
        assert editor.server["capabilities"]["positionEncoding"] == "utf-16"
        first = editor.messages[0].message["params"]
        assert first["clientInfo"]["name"] == "Neovim"
        assert first["initializationOptions"]["model"] == "scripted:x"
        assert first["workspaceFolders"] == [{"uri": workspace.as_uri(), "name": "workspace"}]
    assert connection.process.returncode == 0


async def test_broken_rules_are_a_note_of_another_failure(workspace):
    with pytest.raises(RuntimeError, match="the test failed") as caught:
        async with start_session("stock", workspace, "scripted:x", connection=Stdio(TINY)) as editor:
            editor.command_nowait("tiny.silent")
            raise RuntimeError("the test failed")
    assert "workspace/executeCommand: the request got no response" in caught.value.__notes__[0]


async def test_an_editor_that_stops_reading_lets_the_pipe_fill_up(workspace):
    async with start_session("stops-reading", workspace, "scripted:x", connection=Stdio(TINY)) as editor:
        big = {"text": "x" * 1_000_000}
        pending = editor.command_nowait("tiny.echo", big)
        with pytest.raises(AssertionError, match="no answer within"):
            await editor.wait_for(lambda: pending.done, "answer", seconds=0.2)
        editor.read_on()
        assert await pending == big


def test_other_machines_are_out_of_reach():
    with socket.socket() as outward, pytest.raises(RuntimeError, match="may not reach"):
        outward.connect(("192.0.2.1", 80))
    with pytest.raises(RuntimeError, match="may not reach"):
        socket.getaddrinfo("example.org", 443)
    assert socket.getaddrinfo("localhost", 80)


@pytest.mark.parametrize("profile", [name for name, it in PROFILES.items() if not it.stops_reading])
async def test_every_profile_is_served_from_initialize_to_exit(profile, outrider_editor):
    editor = await outrider_editor(profile, [{"text": "never used"}])
    editor.open("tariff.py")
    editor.type("tariff.py", "# 😀é\n", at=(0, 0))
    editor.undo("tariff.py")
    assert await editor.code_actions("tariff.py", automatic=True) is not None
    editor.close("tariff.py")


async def test_a_real_server_is_started_over_its_pipes(outrider_editor):
    editor = await outrider_editor("vscode", [{"text": "never used"}], connection="stdio")
    assert editor.server["serverInfo"]["name"] == "outrider"
