"""What edits, their undo and a search over unsaved text cost, each time on a fresh process."""

import asyncio
import itertools
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

from model_server import ModelServer

from agent import Agent, model_options, outrider_options
from outrider.workspace.search import find_ripgrep

LINES = 20_000
EDITS = 20
UNDONE_FILES = 200
SEARCHED_FILES = 50_000
UNSAVED = 20
COMMANDS = 20


class EditMeasures:
    """The measurements in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = itertools.count(1)
        self._big = folder / "searched"

    async def edit_ms(self) -> float:
        """Median own cost of an edit of one hunk in an open file of 20 000 lines: its step, the file read before."""
        root = self._root()
        path = root / "big.py"
        text = "".join(f"    value_{n} = compute({n}, {n * 7919 % 1000})\n" for n in range(LINES))
        path.write_text(text)
        reading = [("read_file", {"path": "big.py", "start_line": 1, "end_line": 50})]
        edits = [
            [("edit_file", {"path": "big.py", "old": f"    value_{n} = compute({n},", "new": f"    changed_{n} = compute({n},"})]
            for n in range(500, LINES, LINES // EDITS)
        ]  # fmt: skip
        async with ModelServer(calls=[reading, *edits]) as server, self._agent(root, server) as agent:
            agent.open(path, text)
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 120)
            pairs = zip(server.answered_at[1:], server.received_at[2:], strict=False)
            assert agent.edits == len(edits)
            return statistics.median((received - answered) * 1000 for answered, received in pairs)

    async def undo_ms(self) -> float:
        """The undo of a turn that edited 200 closed files."""
        root = self._root()
        before = "".join(f"value_{n} = {n}\n" for n in range(100))
        for number in range(UNDONE_FILES):
            (root / f"file_{number}.py").write_text(before)
        edits = [
            ("edit_file", {"path": f"file_{number}.py", "old": "value_50 = 50", "new": "value_50 = 5"})
            for number in range(UNDONE_FILES)
        ]
        async with ModelServer(calls=[edits]) as server, self._agent(root, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 120)
            begin = time.perf_counter()
            result = await agent.child.command("outrider.undo", {})
            seconds = time.perf_counter() - begin
            assert len(result["undone"]) == UNDONE_FILES, result
            assert all((root / f"file_{number}.py").read_text() == before for number in range(UNDONE_FILES))
            return seconds * 1000

    async def search_ms(self, alone: bool) -> float:
        """A search with some 200 hits in 50 000 files: by ripgrep alone, or by the tool with 20 unsaved documents."""
        root = self._searched()
        if alone:
            rg = find_ripgrep(None)
            assert rg is not None
            begin = time.perf_counter()
            done = await asyncio.create_subprocess_exec(
                rg, "--json", "needle_[0-9]+", str(root), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
            )
            output, _ = await done.communicate()
            assert output.count(b'"type":"match"') == 190
            return (time.perf_counter() - begin) * 1000
        call = [("search", {"pattern": "needle_[0-9]+"})]
        async with ModelServer(calls=[call, call, call]) as server, self._agent(root, server) as agent:
            for number in range(UNSAVED):
                path = root / f"folder_{number}" / "file_0.py"
                agent.open(path, path.read_text() + "unsaved = needle_1\n")
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 120)
            pairs = zip(server.answered_at, server.received_at[1:], strict=False)
            return min((received - answered) * 1000 for answered, received in pairs)

    async def command_ms(self, files: int) -> float:
        """Median of a command that does next to nothing, in a workspace of so many files of 4 kB: its step."""
        root = self._root()
        for number in range(files):
            (root / f"folder_{number // 50}").mkdir(exist_ok=True)
            text = "".join(f"value_{n} = compute({n}, {number})\n" for n in range(150))
            (root / f"folder_{number // 50}" / f"file_{number}.py").write_text(text)
        # Not the same one twice in a row: what goes round in circles is not run any more.
        for folder in range(2):
            (root / f"folder_{folder}").mkdir(exist_ok=True)
        calls = [[("run_command", {"command": f"mkdir -p folder_{n % 2}"})] for n in range(COMMANDS)]
        async with ModelServer(calls=calls) as server, self._agent(root, server) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 120)
            pairs = zip(server.answered_at, server.received_at[1:], strict=False)
            return statistics.median((received - answered) * 1000 for answered, received in pairs)

    def _root(self) -> Path:
        root = self._folder / f"edited{next(self._numbers)}"
        root.mkdir()
        return root

    def _searched(self) -> Path:
        if not self._big.exists():
            for folder in range(250):
                (self._big / f"folder_{folder}").mkdir(parents=True)
                for number in range(SEARCHED_FILES // 250):
                    lines = [f"value_{n} = compute({n}, {folder}, {number})\n" for n in range(20)]
                    if number == 7 and folder < 190:
                        lines[3] = f"found = needle_{folder}\n"
                    (self._big / f"folder_{folder}" / f"file_{number}.py").write_text("".join(lines))
        return self._big

    def _agent(self, root: Path, server: ModelServer) -> Agent:
        # The map of a new workspace is drawn for some seconds beside the first turn: it has rows of its own.
        more: dict[str, Any] = {
            **model_options(server), "permissionMode": "full", "repositoryMap": {"enabled": False}
        }  # fmt: skip
        return Agent(
            False, root, outrider_options(self._folder / f"state_of_edits{next(self._numbers)}", more)
        )
