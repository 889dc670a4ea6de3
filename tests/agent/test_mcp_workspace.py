"""Servers that a workspace configures: asked about once by what they run, asked about again when that changes, never without trust."""

import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
from scripting import DONE

from outrider.testing import Dismiss
from outrider_protocol import ALLOW_COMMANDS, IGNORE_COMMANDS

ODD = Path(__file__).parents[1] / "mcp" / "odd_server.py"
import_module(
    "outrider.mcp.session"
)  # takes seconds on a busy machine; loaded once, before any time-out runs

BLOCK = {"odd": {"command": sys.executable, "args": ["-u", "server.py"]}}
FORMS = {
    ".mcp.json": json.dumps({"mcpServers": BLOCK}),
    ".vscode/mcp.json": "// comments\n" + json.dumps({"servers": BLOCK}).replace("}}}", "},}}"),
    ".cursor/mcp.json": json.dumps({"mcpServers": BLOCK}),
    ".gemini/settings.json": json.dumps({"mcpServers": BLOCK, "theme": "x"}),
    ".outrider/settings.toml": f'[mcpServers.odd]\ncommand = "{sys.executable}"\nargs = ["-u", "server.py"]\n',
}


def write(workspace, name, text):
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def states(editor):
    return {one["name"]: one["state"] for one in (await editor.command("outrider.servers", {}))["servers"]}


async def started(begin, answers, settings=None):
    editor = await begin("stock", [DONE, DONE], settings, answers=answers)
    assert (await editor.run("Look", seconds=60))["outcome"] == "completed"
    return editor


@pytest.mark.parametrize("form", FORMS)
async def test_each_form_is_asked_about_and_runs(form, begin, workspace):
    write(workspace, form, FORMS[form])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [ALLOW_COMMANDS])
    assert await states(editor) == {"odd": "running"}
    (question,) = editor.questions
    assert "MCP server odd, from" in question.message
    assert "server.py" in question.message
    # The answer holds in the next session, and for another process.
    again = await started(begin, [])
    assert await states(again) == {"odd": "running"}


async def test_a_no_holds_too(begin, workspace):
    write(workspace, ".mcp.json", FORMS[".mcp.json"])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [IGNORE_COMMANDS])
    assert await states(editor) == {"odd": "waiting"}
    assert not [name for name in editor.events_of("model.requested")[-1]["data"]["tools"] if "__" in name]


async def test_without_an_answer_nothing_runs(begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["made"]}}}))
    editor = await started(begin, [Dismiss()])
    assert await states(editor) == {"x": "waiting"}
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("what", ["the script", "the command", "a variable"])
async def test_a_changed_server_is_asked_about_again(what, begin, workspace):
    write(workspace, ".mcp.json", FORMS[".mcp.json"])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [ALLOW_COMMANDS, IGNORE_COMMANDS])
    changed = {"odd": {**BLOCK["odd"], "env": {"STEAL": "${HOME}"}}}
    match what:
        case "the script":
            write(workspace, "server.py", "import os\n")
        case "the command":
            write(
                workspace,
                ".mcp.json",
                json.dumps({"mcpServers": {"odd": {"command": "touch", "args": ["made"]}}}),
            )
        case _:
            write(workspace, ".mcp.json", json.dumps({"mcpServers": changed}))
    assert (await editor.run("Again", seconds=60))["outcome"] == "completed"
    assert len(editor.questions) == 2
    if what == "a variable":
        assert "(with your HOME)" in editor.questions[1].message
    assert await states(editor) == {"odd": "waiting"}
    assert not (workspace / "made").exists()


async def test_of_an_untrusted_workspace_no_server_runs(begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["made"]}}}))
    editor = await started(begin, [Dismiss()], {"trusted": None})
    assert await states(editor) == {}
    assert not (workspace / "made").exists()


async def test_a_workspace_puts_nothing_in_the_place_of_the_users_server(begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"odd": {"command": "touch", "args": ["made"]}}}))
    mine = {"odd": {"command": sys.executable, "args": ["-u", str(ODD)]}}
    editor = await started(begin, [], {"mcpServers": mine})
    assert await states(editor) == {"odd": "running"}
    assert not (workspace / "made").exists()


async def test_what_is_not_taken_is_named(begin, workspace):
    write(workspace, ".mcp.json", "{broken")
    write(workspace, ".vscode/mcp.json", json.dumps({"servers": {"a": {"command": "x", "args": ["${input:key}"]}, "b": {"type": "sse", "url": "https://example.org"}, "c": 1}}))  # fmt: skip
    editor = await started(begin, [])
    problems = (await editor.command("outrider.servers", {}))["problems"]
    assert any(one.startswith(".mcp.json: is not valid JSON") for one in problems)
    assert (
        ".vscode/mcp.json: a: it wants input:key, which only another program can give; this server is ignored"
        in problems
    )
    assert any("the transport sse is not supported" in one for one in problems)
    assert ".vscode/mcp.json: c: must be an object; this server is ignored" in problems
