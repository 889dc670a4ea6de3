"""What the tests of the command line share: a canned server, and a run against it."""

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typist import Typist

from outrider.cli.answers import Rules
from outrider.cli.problems import Problems
from outrider.cli.render import Renderer
from outrider.cli.run import Ended, Task, run_task

FAKE_SERVER = Path(__file__).parent / "fake_server.py"


@dataclass
class Played:
    """What came of a run against the canned server."""

    ended: Ended
    shown: str
    events: list[dict[str, Any]]
    said: list[dict[str, Any]]

    def commands(self, name: str) -> list[dict[str, Any]]:
        called = [m["params"] for m in self.said if m.get("method") == "workspace/executeCommand"]
        return [params["arguments"][0] for params in called if params["command"] == name]

    def titles_answered(self) -> list[str | None]:
        replies = [m for m in self.said if str(m.get("id", "")).startswith("ask-") and "method" not in m]
        return [(m.get("result") or {}).get("title") for m in replies]


@pytest.fixture
def canned(tmp_path: Path) -> Callable[[dict[str, Any]], list[str]]:
    """Gives the argv of a server that plays a scenario."""

    def make(scenario: dict[str, Any]) -> list[str]:
        path = tmp_path / "scenario.json"
        path.write_text(json.dumps(scenario))
        return [sys.executable, str(FAKE_SERVER), str(path)]

    return make


@pytest.fixture
def play(tmp_path: Path, canned: Callable[[dict[str, Any]], list[str]]):
    """Runs a task against a scenario; `typed` is what the user types, None: nobody is there."""

    async def run(
        scenario: dict[str, Any],
        *,
        yes_to: tuple[str, ...] = (),
        typed: str | None = None,
        session_id: str | None = None,
        prompt: str | None = "do it",
        always: str | None = None,
        on_print: Callable[[str], None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> Played:
        workspace = tmp_path / "workspace"
        workspace.mkdir(exist_ok=True)
        stream = Watched(on_print)
        console = Console(file=stream, width=80, markup=False, emoji=False, highlight=False)
        renderer = Renderer(console, Problems(console))
        task = Task(
            workspace,
            options or {"events": True},
            prompt,
            session_id=session_id,
            rules=Rules(yes_to),
            always=always,
            server=canned(scenario),
        )
        lines = io.StringIO()
        ended = await run_task(task, renderer, None if typed is None else Typist(typed), lines)
        said = (tmp_path / "scenario.json.said").read_text().splitlines()
        return Played(
            ended,
            stream.getvalue(),
            [json.loads(line) for line in lines.getvalue().splitlines()],
            [json.loads(line) for line in said],
        )

    return run


class Watched(io.StringIO):
    """A stream that tells what is printed."""

    def __init__(self, on_print: Callable[[str], None] | None) -> None:
        super().__init__()
        self._on_print = on_print

    def write(self, text: str) -> int:
        if self._on_print:
            self._on_print(text)
        return super().write(text)
