"""`outrider prompt`: what the model would be sent next."""

import io
import json
from pathlib import Path

from rich.console import Console

from outrider.cli.prompt import prompt
from outrider.testing.scenario import scripted, start_session

TURNS = [
    {"tool_calls": [{"name": "read_file", "input": {"path": "tariff.py"}, "id": "c_1"}]},
    {"text": "It is three a hour.", "usage": {"inputTokens": 9000, "outputTokens": 10}},
]


async def test_the_next_request_is_shown_message_by_message_with_its_counts(workspace):
    async with start_session("stock", workspace, scripted(workspace, TURNS)) as editor:
        await editor.run("What does it cost?")
        session = editor.session_id
    options = {"stateDir": str(Path(workspace.parent / f"{workspace.name}.state"))}
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    assert await prompt(workspace, options, session, console, None) == 0
    text = console.file.getvalue()
    for words in (
        "── system, about",
        "You are Outrider",
        "What does it cost?",
        "calls read_file",
        "── tool of c_1",
    ):
        assert words in text
    for section in ("identity", "environment", "prompt", "tools", "together"):
        assert section in text
    assert "total: the provider's count of the latest request and its answer (9010), plus what is new" in text
    assert "tools: read_file, list_files, find_files, search" in text
    lines = io.StringIO()
    assert await prompt(workspace, options, None, console, lines) == 0
    assert json.loads(lines.getvalue())["sessionId"] == session
    assert await prompt(workspace, options, "ses_none", console, None) != 0


async def test_what_is_not_so_is_not_said_and_what_a_text_model_gets_is(workspace):
    script = scripted(workspace, [{"text": "It is three a hour."}])
    settings = {"models": {script: {"toolFormat": "hermes"}}}
    async with start_session("stock", workspace, script, settings) as editor:
        await editor.run("What does it cost?")
        session = editor.session_id
    options = {"stateDir": str(Path(workspace.parent / f"{workspace.name}.state")), **settings}
    console = Console(file=io.StringIO(), width=100, markup=False, highlight=False)
    assert await prompt(workspace, options, session, console, None) == 0
    text = console.file.getvalue()
    assert "the provider's count" not in text
    assert "tools, as text in the format hermes: read_file" in text
