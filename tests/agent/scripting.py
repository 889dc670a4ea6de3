"""Short ways to write scripts and to look at what came of them."""

import asyncio

from everyday import is_thorough
from outrider.testing.editor.profiles import EDITORS

HONEST = [str(profile) for profile in EDITORS]
KINDS = HONEST if is_thorough() else ["neovim-0.11", "vscode", "eglot", "helix-25.01", "stock", "bare"]
"""One editor of each kind, for what versions and extensions of an editor change nothing about."""


def call(name, *, called=None, **given):
    """A tool call as a script has it."""
    return {"name": name, "input": given, **({"id": called} if called else {})}


def step(*calls, **more):
    """An answer that calls tools."""
    return {"tool_calls": list(calls), **more}


FIX = call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2", called="fix")
DONE = {"text": "Done."}


def types(editor):
    """The types of the events so far."""
    return [event["type"] for event in editor.events]


def results(editor):
    """Status and content of each call's result, by the call's id."""
    return {
        event["data"]["callId"]: (event["data"]["status"], event["data"]["content"])
        for event in editor.events_of("tool.finished")
    }


def result(editor, number=0):
    """Status and content of a call's result, counted from 0."""
    data = editor.events_of("tool.finished")[number]["data"]
    return data["status"], data["content"]


async def held(workspace, name):
    """Wait until a server has told the others that it holds a file open unsaved: it does so in a file."""
    folder = workspace.parent / f"{workspace.name}.state" / "held"
    wanted = str((workspace / name).resolve())
    async with asyncio.timeout(20):
        while not any(wanted in file.read_text() for file in folder.glob("*.json")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
