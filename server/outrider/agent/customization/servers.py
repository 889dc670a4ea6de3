"""The MCP servers of a user and of trusted workspaces: which there are, which of them may run, and their connections.

A server that a workspace configures is asked about once, by the digest of what it runs; a changed one is asked about again, and so is
one whose folder sessions changed since: it runs outside of the sandbox, and what it runs there nobody knows but itself. One that has the name of a server of the user's is left out: a workspace puts nothing in its place.
"""

import asyncio
import hashlib
import json
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, cast

from outrider.agent.customization.commands import Argument, CustomCommand, NotInvoked
from outrider.agent.customization.files import Files, Place, read_json
from outrider.agent.trust import WorkspaceTrust
from outrider.agent.workspace_file import WorkspaceFiles
from outrider.mcp.around import Around
from outrider.mcp.configuration import ServerConfig, read_servers, scripts_of
from outrider.mcp.connection import Connection, NotConnectedError
from outrider.permissions.policy.trust import BELOW, SERVER_KEY, NamedCommand
from outrider.permissions.secrets.masking import Masking, may_be_key
from outrider.ports.text import one_line, visible
from outrider.ports.toml import read_toml
from outrider.processes.environment import holds_key
from outrider.workspace.paths import Folder
from outrider_protocol.log import LoggedEvent
from outrider_protocol.settings import Settings

PLACES: Final = (
    Place("", ".mcp.json", "mcpServers", is_one=True),
    Place(".vscode", "mcp.json", "servers", is_one=True),
    Place(".cursor", "mcp.json", "mcpServers", is_one=True),
    Place(".gemini", "settings.json", "mcpServers", is_one=True),
    Place(".github", "mcp.json", "mcpServers", is_one=True),
    Place(".github/copilot", "mcp.json", "servers", is_one=True),
)
"""Files of other agents; the form names the key that holds the servers."""
_NOT_READ: Final = (
    Place(".claude", "settings.json", is_one=True),
    Place(".claude", "settings.local.json", is_one=True),
)
"""Files of Claude Code from which it takes no servers, though people write them there."""
_NO_CODE: Final = (".md", ".markdown")
_OF_CODE: Final = frozenset("/\\.$")
"""Signs of a path, of a module or of a variable, which no value of a key is hidden with."""
READY_SECONDS: Final = 20.0
"""How long the first request of a turn waits for servers that start."""


class Servers:
    """The servers of one house."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        files: WorkspaceFiles,
        found: Files,
        trust: WorkspaceTrust,
        around: Around,
        env: Mapping[str, str],
    ) -> None:
        """Begin with none; `look` finds out which there are."""
        self._settings = settings
        self._files = files
        self._found = found
        self._trust = trust
        self._around = around
        self._env = env
        self._connections: dict[str, Connection] = {}
        self.problems: list[str] = []
        """What is wrong in the configurations."""
        self.waiting: list[ServerConfig] = []
        """Those that the user was not asked about, or not since they changed."""
        self.refused: list[ServerConfig] = []
        """Those that the user said no to."""
        self.on_change: Callable[[], None] = lambda: None
        self._looking = asyncio.Lock()

    @property
    def all(self) -> Sequence[Connection]:
        """The connections, in the order of their configuration."""
        return list(self._connections.values())

    def get(self, name: str) -> Connection | None:
        """The connection of that name."""
        return self._connections.get(name)

    async def look(
        self,
        session_id: str = "",
        turn_id: str = "",
        seconds: float = 0.0,
        *,
        wait: bool = True,
        begin: bool = True,
    ) -> None:
        """Bring the connections up to date with the configuration, and start them.

        Args:
            session_id: The session whose turn wants them; empty where none does, and then nobody is asked.
            turn_id: Its turn.
            seconds: How long a question holds the turn.
            wait: Whether to wait for those that start.
            begin: Whether to start those that do not run.
        """
        async with self._looking:
            mine, problems = read_servers(
                self._settings().mcp_servers, "your settings", self._env, self._around.cwd
            )
            brought = [
                one for one in await self._of_workspace(problems) if one.name not in {m.name for m in mine}
            ]
            if not (mine or brought or self._connections):
                self.problems, self.waiting, self.refused = problems, [], []
                return
            allowed, self.refused = await self._allowed(brought, session_id, turn_id, seconds)
            self.waiting = [one for one in brought if one not in (*allowed, *self.refused)]
            self.problems = problems
            await self._take_over([*mine, *allowed])
        for connection in self.all if begin else ():
            connection.begin()
        starting = [one for one in self.all if one.state == "starting"]
        if wait and starting:
            await asyncio.gather(*(one.ready(READY_SECONDS) for one in starting))

    def troubles(self, *, late: bool) -> Sequence[str]:
        """Which servers should run and do not, and after a colon why; `late` names those that still start, too."""
        return [
            f"the MCP server {one.name} does not run: {one.error}"
            if one.state != "starting"
            else f"the MCP server {one.name} is not ready yet: its tools come with a later step"
            for one in self.all
            if (one.state in {"failed", "login", "off"} and one.error) or (late and one.state == "starting")
        ]

    async def listed(self) -> Sequence[CustomCommand]:
        """The prompts of the servers that are ready, as commands. The others are started, for the next time."""
        await self.look(wait=False)
        return [
            CustomCommand(
                name=f"{connection.name}:{prompt.name}",
                description=prompt.description,
                source=f"mcp:{connection.name}",
                hint=" ".join(f"[{one.name}]" for one in prompt.arguments),
                arguments=tuple(
                    Argument(one.name, one.description, one.required) for one in prompt.arguments
                ),
            )
            for connection in self.all
            if connection.state == "ready"
            for prompt in connection.lists.prompts
            if visible(prompt.name) == prompt.name
        ]

    async def text_of(self, command: CustomCommand, arguments: str) -> str | NotInvoked:
        """What a prompt says with some arguments: in their order, or as `name=value`."""
        server, _, prompt = command.name.partition(":")
        connection = self.get(server)
        if connection is None:
            return NotInvoked(f"there is no MCP server {server}")
        values = given_to([one.name for one in command.arguments], arguments)
        if missing := [one.name for one in command.arguments if one.required and one.name not in values]:
            return NotInvoked(f"/{command.name} needs {', '.join(missing)}")
        try:
            return str(await connection.ask("prompt", prompt, values))
        except NotConnectedError as problem:
            return NotInvoked(f"the MCP server {server} did not give its prompt: {problem}")

    async def withheld(self, folder: Folder | None = None) -> list[str]:
        """The files with servers in workspace folders that are not trusted, or in one of them."""
        files = await self._found.withheld(PLACES, folder)
        return [one.path for one in files if _block(one.text, one.place.form, one.path, [])]

    async def _of_workspace(self, problems: list[str]) -> list[ServerConfig]:
        """The servers that trusted folders configure; of several with one name the first counts."""
        found: dict[str, ServerConfig] = {}
        blocks: list[tuple[Mapping[str, Any], str, Path]] = [
            (one.settings.mcp_servers, f"{one.folder.name}/.outrider/settings.toml", Path(one.real))
            for one in await self._files.read()
        ]
        for file in await self._found.of_workspace(PLACES):
            block = _block(file.text, file.place.form, file.path, problems)
            if block is not None and file.folder is not None:
                real = await asyncio.to_thread(file.folder.path.resolve)
                blocks.append((block, file.path, real))
        problems += [
            f"{one.path}: mcpServers is not read there, by Claude Code neither: write it in .mcp.json"
            for one in await self._found.of_workspace(_NOT_READ)
            if _block(one.text, "mcpServers", one.path, [])
        ]
        for block, origin, real in blocks:
            servers, wrong = read_servers(block, origin, self._env, real, folder=real)
            problems += [f"{origin}: {text}" for text in wrong]
            for server in servers:
                found.setdefault(server.name, server)
        return list(found.values())

    async def _allowed(
        self, brought: Sequence[ServerConfig], session_id: str, turn_id: str, seconds: float
    ) -> tuple[list[ServerConfig], list[ServerConfig]]:
        """Those that the user allowed, and those that they refused."""
        if not brought:
            return [], []
        named = {one.name: await asyncio.to_thread(_named, one) for one in brought}
        # What runs has read its code: it is asked about before it is started the next time.
        yes = [
            named[one.name] for one in brought if self._runs(one) and self._trust.was_allowed(named[one.name])
        ]
        rest = [one for one in named.values() if one not in yes]
        if session_id:
            yes += await self._trust.allowed(rest, session_id, turn_id, seconds)
        else:
            yes += [one for one in rest if self._trust.is_allowed(one)]
        no = [one for one in brought if self._trust.is_allowed(named[one.name]) is False]
        return [one for one in brought if named[one.name] in yes], no

    def _runs(self, config: ServerConfig) -> bool:
        connection = self._connections.get(config.name)
        return connection is not None and connection.config == config and connection.is_running

    async def _may_start(self, config: ServerConfig) -> bool:
        return await self._trust.still_allows(await asyncio.to_thread(_named, config))

    async def _take_over(self, configs: Sequence[ServerConfig]) -> None:
        wanted = {one.name: one for one in configs}
        gone = [one for name, one in self._connections.items() if wanted.get(name) != one.config]
        await asyncio.gather(*(one.close() for one in gone))
        self._connections = {
            name: kept
            if (kept := self._connections.get(name)) is not None and kept not in gone
            else Connection(
                config,
                self._around,
                self._tell,
                partial(self._may_start, config) if config.folder is not None else None,
            )
            for name, config in wanted.items()
        }

    def _tell(self) -> None:
        self.on_change()

    async def close(self) -> None:
        """End all servers."""
        await asyncio.gather(*(one.close() for one in self.all))


def given_to(names: Sequence[str], arguments: str) -> dict[str, str]:
    """Arguments by their names. The last one takes all words that are left. Pure."""
    try:
        words = shlex.split(arguments)
    except ValueError:
        words = arguments.split()
    named = [word.partition("=") for word in words]
    values = {name: value for name, sign, value in named if sign and name in names}
    plain = [word for word in words if word.partition("=")[0] not in values]
    left = [name for name in names if name not in values]
    for number, name in enumerate(left):
        rest = plain[number:] if number == len(left) - 1 else plain[number : number + 1]
        if rest:
            values[name] = " ".join(rest)
    return values


def _block(text: str, key: str, path: str, problems: list[str]) -> Mapping[str, Any] | None:
    try:
        given: Any = read_json(text) if not path.endswith(".toml") else read_toml(text)
    except (ValueError, RecursionError) as error:
        problems.append(f"{path}: is not valid JSON ({str(error)[:100]}); it is ignored")
        return None
    block: Any = cast("dict[str, Any]", given).get(key) if isinstance(given, dict) else None
    if block is None and key == "servers" and isinstance(given, dict):
        block = cast("dict[str, Any]", given).get("mcpServers")
    if block is not None and not isinstance(block, dict):
        problems.append(f"{path}: {key} must be an object; it is ignored")
    return cast("dict[str, Any]", block) if isinstance(block, dict) else None


def lines_of(config: ServerConfig) -> list[str]:
    """All that a server's block says of what it runs or reaches, a line each: without secrets, and with nothing that hides. Pure."""
    written: Any = config.said.get("env")
    lines = [_shown(config.shown)]
    # As it is written: what the user's own variables hold is no business of a question.
    lines += [f"variable {one_line(name)}: {_value(name, str(written[name]))}" for name in config.env]
    if config.argv and config.folder is not None and config.cwd not in {None, config.folder}:
        lines.append(f"runs in: {one_line(str(config.cwd))}")
    if config.headers:
        lines.append(f"headers: {', '.join(map(one_line, config.headers))}")
    if config.oauth.client_secret_env:
        lines.append(f"logs in with your {one_line(config.oauth.client_secret_env)}")
    return lines


def _shown(text: str) -> str:
    return one_line(Masking(b"shown", {}).without_secrets(text))


def _value(name: str, value: str) -> str:
    """The value of a variable: without what is a secret by its name, unless it could be something that runs."""
    if (
        holds_key(name)
        and may_be_key(value)
        and not any(sign in _OF_CODE or sign.isspace() for sign in value)
    ):
        return f"a secret of {len(value)} characters"
    return _shown(value)


def _named(config: ServerConfig) -> NamedCommand:
    """A server as the user is asked about it: all that its block says, and the scripts of the workspace that it runs. Blocks."""
    scripts = {str(path): _digest(path) for path in scripts_of(config)}
    whole: dict[str, Any] = {"said": dict(config.said), "scripts": scripts, "takes": list(config.takes)}
    first, *more = lines_of(config)
    if more:
        # A yes from when these were not shown was to something else.
        whole["shown"] = True
    # A program's own words could hide what stands behind them.
    lines = [f"MCP server {config.name}, from {one_line(config.origin)}: {first}", *more]
    lines += [
        f"script {one_line(os.path.relpath(path, config.folder))}: SHA-256 {digest[:16]}"
        for path, digest in scripts.items()
    ]
    return NamedCommand.of(
        str(config.folder),
        f"{SERVER_KEY}{config.name}",
        BELOW.join(lines),
        json.loads(json.dumps(whole, default=str)),
        runs_unconfined=bool(config.argv),
    )


def _digest(path: Path) -> str:
    """Of a file; empty where nobody can read it. Blocks."""
    with suppress(OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
    return ""


def changed_by_session(event: LoggedEvent) -> Sequence[str]:
    """The files that could be code and that an event says a session changes, as they are shown.

    An edit counts before it is made, so that no crash comes between. What a command changes, its start and its end count for, too:
    it can change files that nobody compares.
    """
    match event.type:
        case "edit.applying" | "edit.applied" | "edit.merged":
            paths = [event.data["path"], *([event.data["to"]] if "to" in event.data else [])]
        case "workspace.changed" if event.data.get("by") in {"command", "undo"}:
            paths = [event.data["path"]]
        case "workspace.touched":
            paths = [one["path"] for one in event.data["files"]]
        case _:
            return ()
    return [one for one in paths if not one.lower().endswith(_NO_CODE)]
