"""The systems that `ten_questions.py` asks: Outrider, Serena and cclsp, each on its own copy of a project with a pyright of its own."""

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Self

from mcp import Client, StdioServerParameters, stdio_client
from outrider.testing import ScenarioRun, ScriptedModel, call, run_scenario, say

PYRIGHT: Final = Path(__file__).parents[1] / "language" / "node_modules" / ".bin" / "pyright-langserver"
SECONDS: Final = 300.0
STEPS, STEP_SECONDS = 6, 5.0
LOADING: Final = "django/utils/module_loading.py"

Place = tuple[str, int]
"""A file and a line, from 1."""


@dataclass
class System:
    """Somebody who answers, on a copy of the project."""

    root: Path
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stack.aclose()

    async def start(self) -> None:
        """Start it."""
        raise NotImplementedError

    async def ask(self, tool: str, given: dict[str, Any]) -> tuple[str, float]:
        """Call a tool; gives what the model reads, and the seconds until then."""
        raise NotImplementedError

    def places(self, text: str) -> set[Place]:
        """The places that an answer names."""
        raise NotImplementedError

    def text(self, path: str) -> str:
        """What a file is now, saved or not."""
        return (self.root / path).read_text()


class Outrider(System):
    """A session of Outrider with an editor, which has the file open that is edited."""

    run: ScenarioRun
    asked = 0

    async def start(self) -> None:
        self.kept = Path(self.stack.enter_context(tempfile.TemporaryDirectory()))
        server = {"enabled": True, "command": [str(PYRIGHT), "--stdio"]}
        settings = {
            "languageServers": {"*": {"enabled": False}, "pyright": server},
            "reminders": False,
            "testing": {"clock": None, "ids": "sequential"},
        }
        begun = run_scenario(
            "Begin.", [say("Begun.")], workspace=self.root, keep_in=self.kept, settings=settings, open=[LOADING],
            connection="stdio", allow_left_over=True, seconds=SECONDS, on_confirmation=lambda _: True,
        )  # fmt: skip
        self.run = await self.stack.enter_async_context(begun)

    async def ask(self, tool: str, given: dict[str, Any]) -> tuple[str, float]:
        self.asked += 1
        script = self.kept / f"{self.asked}.json"
        # A verdict that takes longer than the edit is told before a later step; each of these takes as long as one of a model.
        later = (
            [say("", call("read_file", path=LOADING), delay=STEP_SECONDS)] * STEPS
            if tool == "edit_file"
            else []
        )
        script.write_text(json.dumps(ScriptedModel([call(tool, **given), *later, say("Done.")]).data))
        await self.run.go_on("Look.", model=f"scripted:{script}", new_session=True)
        events = self.run.logs[self.run.session_id or ""]
        begin = next(one.ts for one in events if one.type == "tool.requested")
        answer = next(one for one in events if one.type == "tool.finished")
        late = next((one for one in events if one.type == "verdict.found" and "told" in one.data), None)
        text = answer.data["content"] + (f"\n{late.data.get('told')}" if late else "")
        seconds = datetime.fromisoformat((late or answer).ts) - datetime.fromisoformat(begin)
        return text, seconds.total_seconds()

    def places(self, text: str) -> set[Place]:
        return {
            (file, int(line)) for file, line in re.findall(r"(?:^|, )([\w./-]+):(\d+)\b", text, re.MULTILINE)
        }

    def text(self, path: str) -> str:
        return self.run.editor.text(path) if path == LOADING else super().text(path)


class Peer(System):
    """An MCP server."""

    program = ""
    client: Client

    async def connect(self, *arguments: str, **environment: str) -> None:
        """Start it, and connect."""
        parameters = StdioServerParameters(
            command=self.program, args=list(arguments), env={**os.environ, **environment}, cwd=self.root
        )
        errors = self.stack.enter_context((self.root.parent / "stderr").open("w"))
        client = Client(stdio_client(parameters, errlog=errors), read_timeout_seconds=SECONDS)
        self.client = await self.stack.enter_async_context(client)

    async def ask(self, tool: str, given: dict[str, Any]) -> tuple[str, float]:
        begin = perf_counter()
        if tool == "write":  # by the tools of whoever uses the server
            path = self.root / given["path"]
            path.write_text(path.read_text().replace(given["old"], given["new"]))
            return "", perf_counter() - begin
        result = await self.client.call_tool(tool, given)
        return "".join(getattr(one, "text", "") for one in result.content), perf_counter() - begin


class Serena(Peer):
    """Serena, with one tool for each thing."""

    async def start(self) -> None:
        home, own = self.root.parent / "home", self.root / ".serena"
        home.mkdir()
        own.mkdir()
        (home / "serena_config.yml").write_text(json.dumps({
            "language_backend": "LSP", "agent_interface": "tools", "web_dashboard": False, "gui_log_window": False, "projects": [],
            "trusted_project_path_patterns": ["**"], "ls_specific_settings": {"python": {"ls_path": str(PYRIGHT)}},
        }))  # fmt: skip
        optional = ["get_diagnostics_for_symbol"]
        (own / "project.yml").write_text(json.dumps(
            {"project_name": "django", "language_servers": ["python"], "included_optional_tools": optional}
        ))  # fmt: skip
        await self.connect(
            "start-mcp-server", "--context", "ide", "--project", str(self.root), SERENA_HOME=str(home)
        )

    def places(self, text: str) -> set[Place]:
        said = (json.loads(line) for line in text.split("\n") if line[:1] in ("[", "{"))
        return {place for one in said for place in _places_in(one, "")}


def _places_in(said: Any, file: str) -> Iterator[Place]:
    """The places in the JSON of Serena, which counts lines from 0: files are keys, or named in a symbol."""
    if isinstance(said, list):
        for one in said:
            yield from _places_in(one, file)
    elif isinstance(said, dict):
        file = said.get("relative_path", file)
        if "content_around_reference" in said:
            yield from (
                (file, int(n) + 1)
                for n in re.findall(r"^  > +(\d+):", said["content_around_reference"], re.MULTILINE)
            )
        elif "body_location" in said:
            yield file, said["body_location"]["start_line"] + 1
        elif "range" in said:
            yield file, said["range"]["start"]["line"] + 1
        for key, value in said.items():
            yield from _places_in(value, key if key.endswith(".py") else file)


class Cclsp(Peer):
    """cclsp."""

    async def start(self) -> None:
        settings = self.root.parent / "cclsp.json"
        server = {"extensions": ["py"], "command": [str(PYRIGHT), "--stdio"], "rootDir": str(self.root)}
        settings.write_text(json.dumps({"servers": [server]}))
        await self.connect(CCLSP_CONFIG_PATH=str(settings))

    def places(self, text: str) -> set[Place]:
        return {
            (file, int(line))
            for file, line in re.findall(rf"{re.escape(str(self.root))}/(\S+?):(\d+):", text)
        }
