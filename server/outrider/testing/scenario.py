"""Scenarios: a script for the model, a fake editor, a server, and an orderly end.

This is where a test begins. It puts nothing into the workspace: scripts and state lie beside it.
"""

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from outrider.ports.clock import Clock
from outrider.ports.outside import Outside
from outrider.testing.editor.answers import Answers, ToolAnswers
from outrider.testing.editor.connections import Connection, InProcess, Stdio, encoded
from outrider.testing.editor.fake_editor import FakeEditor
from outrider.testing.editor.profiles import PROFILES, Profile
from outrider.transport.connection import Outgoing

if TYPE_CHECKING:  # pygls is loaded only by those who embed a server
    from outrider.lsp.contract import StartBridge
    from outrider.lsp.server import Server

Object = dict[str, Any]
Effect = Literal["read", "edit", "execute", "ask"]

CONNECTIONS: Final = ("in-process", "stdio")
"""Ways to a server that are known by name."""
EFFECTS: Final = get_args(Effect)

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
    path.write_bytes(encoded({"turns": list(turns), **rest}))
    return f"scripted:{path.resolve()}"


def options(workspace: Path, model: str, settings: Mapping[str, Any] | None = None) -> Object:
    """The `initializationOptions` of a scenario; `settings` are merged in key by key, an absent value by None.

    Among their `models` the name `$model` stands for the scenario's own.
    """
    defaults: Object = {
        "model": model,
        "events": True,
        "trusted": True,
        "stateDir": str(workspace.parent / f"{workspace.name}.state"),
        "testing": dict(TESTING),
        # What a machine can do must not be seen in a test.
        "sandbox": "off",
    }
    merged = _merged(defaults, settings or {})
    if isinstance(models := merged.get("models"), dict):
        known = cast("Object", models)
        merged["models"] = {model if name == "$model" else name: of for name, of in known.items()}
    return merged


def client_tool(name: str, effect: Effect = "read", **properties: Any) -> Object:
    """A tool that an editor can register.

    Args:
        name: Its name.
        effect: What it says it does.
        properties: The JSON Schema of each of its arguments; all are required.

    Raises:
        ValueError: There is no such effect.
    """
    if effect not in EFFECTS:
        raise ValueError(f"{name}: there is no effect {effect!r}; there are {', '.join(EFFECTS)}")
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema, "effect": effect}


@asynccontextmanager
async def start_session(
    profile: Profile | str,
    workspace: Path,
    model: str,
    settings: Mapping[str, Any] | None = None,
    *,
    connection: Connection | Literal["in-process", "stdio"] = "in-process",
    answers: Answers | None = None,
    tools: Sequence[Mapping[str, Any]] = (),
    tool_answers: ToolAnswers | None = None,
    folders: Sequence[Path] | None = None,
    configuration: Mapping[str, Any] | None = None,
) -> AsyncGenerator[FakeEditor, None]:
    """Give a started editor, and shut its server down at the end of the block.

    Args:
        profile: Which editor, or its name.
        workspace: The folder that relative paths are meant from.
        model: As `scripted` gives it.
        settings: Changes of the `initializationOptions`; a key with None is left out.
        connection: How the server is reached: in this process, in a child process, or as a test made it.
        answers: What the user says to questions.
        tools: The tools that the editor registers, as they stand on the wire; `client_tool` makes one.
        tool_answers: What they give; None: the editor knows no `outrider/tool`.
        folders: The workspace folders; absent means `workspace` alone.
        configuration: The section `outrider` of the editor's configuration.

    Raises:
        AssertionError: The server broke rules; not raised over another failure, but added to it as a note.
    """
    editor = FakeEditor(
        PROFILES[profile] if isinstance(profile, str) else profile,
        workspace,
        options=options(workspace, model, {**(settings or {}), **({"tools": list(tools)} if tools else {})}),
        folders=folders,
        configuration=configuration,
    )
    if answers is not None:
        editor.answers = answers
    editor.tool_answers = tool_answers
    if isinstance(connection, str):
        connection = connect(connection, workspace)
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


def connect(how: Literal["in-process", "stdio"], workspace: Path) -> InProcess | Stdio:
    """A connection to a new server, in this process or in a child process; its home lies beside the workspace."""
    if how == "stdio":
        return Stdio(env=surroundings_of(workspace), inherit=False, cwd=workspace.parent)
    if how not in CONNECTIONS:
        raise ValueError(f"there is no connection {how!r}; there are {', '.join(CONNECTIONS)}")
    return embedded(workspace)


def embedded(
    workspace: Path, *, clock: Clock | None = None, env: Mapping[str, str] | None = None
) -> InProcess:
    """A connection to a real server in this process, which reads nothing of this process's home.

    Args:
        workspace: Its home and its settings lie beside it.
        clock: The clock of the server and the house behind it; absent means the real one for what the editor may
            take, and the one of the settings for the rest.
        env: Variables beside PATH, LANG, HOME and the XDG folders.
    """
    from outrider.lsp.server import create_server

    surroundings = {**surroundings_of(workspace), **(env or {})}
    outside = Outside(
        env=surroundings,
        state_dir=Path(surroundings["XDG_STATE_HOME"]) / "outrider",
        user_settings=Path(surroundings["XDG_CONFIG_HOME"]) / "outrider" / "settings.toml",
        cache_dir=Path(surroundings["HOME"]) / ".cache" / "outrider",
        clock=clock,
    )

    def load() -> "StartBridge":
        from outrider.lsp.bridge import start

        return start

    def build(outgoing: Outgoing) -> _Embedded:
        return _Embedded(create_server(outgoing, load, outside=outside, clock=clock))

    return InProcess(build)


class _Embedded:
    """A server as `InProcess` takes it."""

    def __init__(self, server: "Server") -> None:
        self._server = server

    def receive(self, body: bytes) -> None:
        self._server.protocol.receive(body)

    async def close(self) -> None:
        await self._server.close()


def surroundings_of(workspace: Path) -> dict[str, str]:
    """The variables of a server: the same in every process, since what commands are given is part of their approvals."""
    home = str(workspace.parent / f"{workspace.name}.home")
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/config",
        "XDG_STATE_HOME": f"{home}/state",
    }


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
