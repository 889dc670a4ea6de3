"""Editors for scenarios of the agent; the log of each session must be well formed at the end, and is kept for a replay."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from well_formed import assert_well_formed

from outrider.testing.scenario import scripted, start_session
from outrider.workspace.repository_map.repository_map import RepositoryMap
from replayed import keep_sessions, replay_sessions


@pytest.fixture
def replayed_at_once():
    """Wanted by what changes the loop for one test: its sessions come again only as long as that holds."""


@pytest.fixture(autouse=True)
def looked_at_before_each_edit(monkeypatch):
    """What files are called besides is looked up before each edit and undo, though the last look took long on a busy machine."""
    monkeypatch.setattr("outrider.workspace.watch.obeyed_files._REST", 0)


@pytest.fixture
async def begin(workspace, request):
    """Starts editors: `await begin(profile, turns, settings, purposes=…, answers=…)`; stops and checks them."""
    editors = []
    async with AsyncExitStack() as stack:

        async def start(profile, turns, settings=None, *, script=None, **how):
            model = scripted(workspace, turns, name=f"script{len(editors)}", **(script or {}))
            editor = await stack.enter_async_context(
                start_session(profile, workspace, model, settings, **how)
            )
            editors.append(editor)
            return editor

        yield start
    for editor in editors:
        assert_well_formed(editor.events)
    for state_dir in {Path(editor.options["stateDir"]) for editor in editors if "stateDir" in editor.options}:
        if "replayed_at_once" in request.fixturenames:
            await replay_sessions(state_dir)
        else:
            await keep_sessions(state_dir)


@pytest.fixture
def rules(workspace):
    """The user's file, as the server finds it beside the workspace."""
    path = workspace.parent / f"{workspace.name}.home" / "config" / "outrider" / "rules.toml"

    def write(text=None):
        if text is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return path.read_text()

    return write


@pytest.fixture
def ready(monkeypatch):
    """Lets a test wait for the map that the latest turn has begun."""
    drawing, draw = [], RepositoryMap.draw

    async def watched(self, *given):
        done = asyncio.Event()
        drawing.append(done)
        try:
            return await draw(self, *given)
        finally:
            done.set()

    monkeypatch.setattr(RepositoryMap, "draw", watched)

    async def wait():
        async with asyncio.timeout(30):
            await drawing[-1].wait()

    return wait
