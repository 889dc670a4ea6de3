"""Scenarios: a script for the model, a fake editor, a server, and an orderly end.

This is where a test begins. It puts nothing into the workspace: scripts and state lie beside it.
"""

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

from outrider.testing.answers import Answers
from outrider.testing.connections import Connection, Stdio
from outrider.testing.fake_editor import FakeEditor
from outrider.testing.profiles import PROFILES, Profile

Object = dict[str, Any]

TESTING: Final[Mapping[str, Any]] = {
    "clock": {"start": "2026-01-01T00:00:00Z", "stepMs": 1},
    "ids": "sequential",
}
"""The setting `testing` that makes a run repeatable to the byte."""


def scripted(
    workspace: Path, turns: Sequence[Mapping[str, Any]], *, name: str = "script", **rest: Any
) -> str:
    """Write a script beside the workspace and give the setting `model` that uses it.

    Args:
        workspace: The first workspace folder.
        turns: What the model answers, call by call.
        name: Tells the scripts of one test apart.
        rest: Further top-level keys of the script, such as `purposes`.
    """
    path = workspace.parent / f"{workspace.name}.{name}.json"
    path.write_text(json.dumps({"turns": list(turns), **rest}, ensure_ascii=False), encoding="utf-8")
    return f"scripted:../{path.name}"


def options(workspace: Path, model: str, settings: Mapping[str, Any] | None = None) -> Object:
    """The `initializationOptions` of a scenario; `settings` are merged in key by key, an absent value by None."""
    defaults: Object = {
        "model": model,
        "events": True,
        "trusted": True,
        "stateDir": str(workspace.parent / f"{workspace.name}.state"),
        "testing": dict(TESTING),
    }
    return _merged(defaults, settings or {})


@asynccontextmanager
async def start_session(
    profile: Profile | str,
    workspace: Path,
    model: str,
    settings: Mapping[str, Any] | None = None,
    *,
    connection: Connection | None = None,
    answers: Answers | None = None,
    folders: Sequence[Path] | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> AsyncGenerator[FakeEditor, None]:
    """Give a started editor, and shut its server down at the end of the block.

    Args:
        profile: Which editor, or its name.
        workspace: The folder that relative paths are meant from.
        model: As `scripted` gives it.
        settings: Changes of the `initializationOptions`; a key with None is left out.
        connection: How the server is reached; absent means a child process with a home of its own.
        answers: What the person says to questions.
        folders: The workspace folders; absent means `workspace` alone.
        configuration: The section `outrider` of the editor's configuration.

    Raises:
        AssertionError: The server broke rules; not raised over another failure, but added to it as a note.
    """
    editor = FakeEditor(
        PROFILES[profile] if isinstance(profile, str) else profile,
        workspace,
        options=options(workspace, model, settings),
        folders=folders,
        configuration=configuration,
    )
    if answers is not None:
        editor.answers = answers
    if connection is None:
        connection = Stdio(env=_environment(workspace), cwd=workspace.parent)
    try:
        await editor.start(connection)
        yield editor
    except BaseException as failure:
        try:
            await editor.stop()
        except AssertionError as broken:
            failure.add_note(str(broken))
        raise
    await editor.stop()


def _environment(workspace: Path) -> dict[str, str]:
    home = str(workspace.parent / f"{workspace.name}.home")
    return {"HOME": home, "XDG_CONFIG_HOME": f"{home}/config", "XDG_STATE_HOME": f"{home}/state"}


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> Object:
    merged = dict(base)
    for key, value in over.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = _merged(merged[key], cast("Object", value))
        else:
            merged[key] = value
    return merged
