"""One core: the same task, answered in the same way, gives the same events over LSP, over ACP and in the chat."""

import asyncio
import json
import shutil
from functools import partial
from io import StringIO
from pathlib import Path

from typist import Typist

from outrider.cli.chat.conversation import Conversation, Surface
from outrider.cli.chat.slash import take
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer
from outrider.cli.terminal import make_console
from outrider.store.log import Store
from outrider.testing.acp.fake_client import start_client
from outrider.testing.scenario import options, scripted, start_session, surroundings_of

TURNS = [
    {
        "text": "I look.",
        "tool_calls": [
            {"name": "read_file", "id": "a", "input": {"path": "tariff.py"}},
            {
                "name": "update_plan",
                "id": "p",
                "input": {"items": [{"text": "Fix it", "status": "in_progress"}]},
            },
        ],
    },
    {
        "tool_calls": [
            {
                "name": "edit_file",
                "id": "e",
                "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"},
            }
        ]
    },
    {"tool_calls": [{"name": "run_command", "id": "r", "input": {"command": "rm -f gone"}}]},
    {
        "tool_calls": [
            {
                "name": "ask_user",
                "id": "q",
                "input": {
                    "question": "Which currency?",
                    "options": ["Euro", "Dollar"],
                    "allow_free_form": False,
                },
            }
        ]
    },
    {"text": "It costs two an hour."},
]
PROMPT = "Two an hour."
OWN = {"ts", "hash", "client", "settings", "limits", "channel", "options", "digest"}
"""What says through which client something came, when, and with which buttons (`Review…` opens a document). The chat's server is another
process with other variables, which a command gets, and which are part of its digest."""


def same(events):
    """Events without what differs between clients on purpose, and without how each of them left."""
    assert events[-1]["type"] == "session.closed"
    return [(one["type"], _without(one["data"])) for one in events[:-1]]


def _without(value):
    if isinstance(value, dict):
        return {key: _without(one) for key, one in value.items() if key not in OWN}
    return [_without(one) for one in value] if isinstance(value, list) else value


async def logged(state_dir, session_id):
    store = await Store.open(Path(state_dir))
    try:
        found = await store.events(session_id, 1, 1000)
        return [json.loads(json.dumps({"type": one.type, "data": one.data})) for one in found]
    finally:
        await store.close()


async def over_lsp(workspace, model):
    given = options(workspace, model)
    answers = iter(["Allow once", "Allow once", "Euro"])
    async with start_session("stock", workspace, model, answers=lambda _: next(answers)) as editor:
        await editor.run(PROMPT)
        session_id = editor.session_id
    return await logged(given["stateDir"], session_id)


async def over_acp(workspace, model):
    given = options(workspace, model, {"events": None})
    async with start_client(
        "plain", workspace, given, answers=["Allow once", "Allow once", "Euro"]
    ) as client:
        session_id = await client.new_session()
        assert await client.prompt(session_id, PROMPT) == "end_turn"
    return await logged(given["stateDir"], session_id)


async def in_chat(workspace, model, monkeypatch):
    for name, value in surroundings_of(workspace).items():
        monkeypatch.setenv(name, value)
    given = options(workspace, model)
    console = make_console(StringIO())
    keyboard = Typist("1\n1\n1\n")
    surface = Surface(
        Renderer(console, Problems(console)), keyboard, lambda: None, None, lambda _: False, lambda: None
    )
    chat = Conversation(workspace, given, surface)

    async def started():
        await take(chat, PROMPT)
        await asyncio.wait_for(chat.idle.wait(), 40)

    await chat.run(started, None)
    return await logged(given["stateDir"], chat.session_id)


async def test_the_same_task_gives_the_same_events(outrider_workspace, monkeypatch):
    text = "def price(hours):\n    return hours * 3\n"
    workspace = outrider_workspace({"tariff.py": text})
    model = scripted(workspace, TURNS)
    found = []
    for run in (over_lsp, over_acp, partial(in_chat, monkeypatch=monkeypatch)):
        (workspace / "tariff.py").write_text(text)
        shutil.rmtree(options(workspace, model)["stateDir"], ignore_errors=True)
        found.append(same(await run(workspace, model)))
        assert "hours * 2" in (workspace / "tariff.py").read_text()
    lsp, acp, chat = found
    assert [kind for kind, _ in lsp] == [kind for kind, _ in acp] == [kind for kind, _ in chat]
    for one, other in zip(lsp, acp, strict=True):
        assert one == other
    for one, other in zip(lsp, chat, strict=True):
        assert one == other
