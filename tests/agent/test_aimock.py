"""A stand-in for providers that others wrote (`@copilotkit/aimock`): three turns over each of its routes."""

import asyncio
import json
import shutil
import subprocess
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from outrider.testing.scenario import embedded, start_session
from replayed import keep_sessions

HERE = Path(__file__).parents[1] / "aimock"
NODE = shutil.which("node")
ROUTES = {"openai-chat": "/v1", "openai-responses": "/v1", "anthropic": "/v1", "ollama": ""}
TOLD = "Let me look at both 😀. "


def missing():
    """Why it cannot be driven here."""
    if NODE is None:
        return "there is no node"
    version = subprocess.run([NODE, "--version"], capture_output=True, text=True, check=False)
    if int(version.stdout.strip().lstrip("v").partition(".")[0] or 0) < 20:
        return f"node is {version.stdout.strip()}, and aimock needs 20"
    if not (HERE / "node_modules" / "@copilotkit" / "aimock").is_dir():
        return "it is not installed: npm ci --prefix tests/aimock"
    return None


REASON = missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"aimock: {REASON}")


def calls(*named):
    return [{"id": call_id, "name": name, "arguments": json.dumps(given)} for call_id, name, given in named]


ANSWERS = [
    {
        "content": TOLD,
        "toolCalls": calls(
            ("call_a", "read_file", {"path": "tariff.py"}), ("call_b", "list_files", {"path": "tests"})
        ),
    },
    {
        "toolCalls": calls(
            ("call_c", "edit_file", {"path": "tariff.py", "old": "hours * 3", "new": "hours * 2"})
        )
    },
    {"content": "Corrected 😀: an hour costs two."},
]


@asynccontextmanager
async def served(answers):
    """The address at which it answers."""
    process = await asyncio.create_subprocess_exec(
        NODE,
        "serve.mjs",
        json.dumps(answers),
        cwd=HERE,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(30):
            yield (await process.stdout.readline()).decode().strip()
    finally:
        process.stdin.close()
        async with asyncio.timeout(30):
            await process.wait()


@pytest.mark.parametrize("kind", ROUTES)
async def test_three_turns(kind, workspace):
    async with served(ANSWERS) as url:
        options = {
            "providers": {"mock": {"kind": kind, "baseUrl": url + ROUTES[kind], "contextWindow": 64_000}},
            "testing": None,
            "reminders": False,
        }
        async with start_session(
            "stock",
            workspace,
            "mock/gpt-4o",
            options,
            connection=embedded(workspace),
            answers=["Allow once"],
        ) as editor:
            ended = await editor.run("Correct the price.")
    assert (ended["outcome"], ended["summary"]) == ("completed", ANSWERS[2]["content"])
    said = [event["data"] for event in editor.events_of("model.responded")]
    assert [one["text"] for one in said] == [TOLD, "", ANSWERS[2]["content"]]
    assert [one["finishReason"] for one in said] == ["tool_calls", "tool_calls", "stop"]
    asked = [[(call["name"], json.loads(call["arguments"])) for call in one["toolCalls"]] for one in said]
    assert asked == [
        [(call["name"], json.loads(call["arguments"])) for call in one.get("toolCalls", ())]
        for one in ANSWERS
    ]
    results = [event["data"]["status"] for event in editor.events_of("tool.finished")]
    assert results == ["ok", "ok", "ok"]
    assert "hours * 2" in (workspace / "tariff.py").read_text()
    await keep_sessions(Path(editor.options["stateDir"]))
