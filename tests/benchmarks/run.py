"""Measures Outrider beside the bare agent, in one run: `python tests/benchmarks/run.py [--quick] [--gate]`.

Prints a table in Markdown. `--gate` exits with 1 when a ratio or a bound of the table does not hold.
"""

import argparse
import asyncio
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from client import Child
from model_server import ModelServer

HERE = Path(__file__).parent
BARE_SERVER = [str(HERE / "bare_agent.py")]
OUTRIDER = ["-m", "outrider", "serve"]


@dataclass
class Agent:
    """One of the two programs, with the differences of their wire hidden."""

    bare: bool
    root: Path
    state: Path
    child: Child = field(default_factory=Child)
    turn: str = ""
    finished: "asyncio.Future[float]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    texts: list[tuple[float, str]] = field(default_factory=list)
    output: asyncio.Event = field(default_factory=asyncio.Event)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    start_seconds: float = 0.0

    async def __aenter__(self) -> "Agent":
        self.child.on_notification = self._on_notification
        self.child.on_request = self._on_request
        options = {} if self.bare else {"events": True, "stateDir": str(self.state), "limits": {"steps": 1000}}
        self.start_seconds = await self.child.start(BARE_SERVER if self.bare else OUTRIDER, self.root, self.options | options)
        return self

    options: dict[str, Any] = field(default_factory=dict)

    async def __aexit__(self, *_: object) -> None:
        await self.child.stop()

    async def run(self, server: ModelServer | None, **more: Any) -> None:
        """Start a turn against the model server."""
        self.finished = asyncio.get_running_loop().create_future()
        if self.bare:
            assert server is not None
            await self.child.command("bare.run", {"prompt": "go", "url": f"http://127.0.0.1:{server.port}/v1"})
        else:
            self.turn = (await self.child.command("outrider.run", {"prompt": "go", **more}))["turnId"]

    async def cancel(self) -> float:
        """Cancel the turn; gives the seconds until its end was heard of."""
        begin = time.perf_counter()
        name, argument = ("bare.cancel", {}) if self.bare else ("outrider.cancel", {"turnId": self.turn})
        asking = asyncio.ensure_future(self.child.command(name, argument))
        end = await asyncio.wait_for(self.finished, 30)
        await asking
        return end - begin

    def _on_notification(self, method: str, params: Any) -> None:
        now = time.perf_counter()
        if method == "bare/stream" or (method == "outrider/stream" and params["kind"] == "text"):
            self.texts.append((now, params["text"]))
        elif method == "outrider/stream" and params["kind"] == "output":
            self.output.set()
        elif method == "bare/finished" or (method == "outrider/event" and params["type"] == "turn.finished"):
            self.finished.set_result(now)

    def _on_request(self, _method: str, _params: Any) -> Any:
        self.asked.set()


def make_workspace(root: Path) -> None:
    """Twenty small files."""
    (root / "src").mkdir(parents=True)
    for number in range(20):
        (root / "src" / f"file_{number}.py").write_text("".join(f"value_{n} = {n}\n" for n in range(20)))


def provider(server: ModelServer) -> dict[str, Any]:
    """Settings that lead to the model server."""
    return {"model": "local/m", "providers": {"local": {"kind": "openai-chat", "baseUrl": f"http://127.0.0.1:{server.port}/v1", "contextWindow": 10_000_000}}}


class Bench:
    """All measurements, each on fresh processes."""

    def __init__(self, folder: Path, repeats: int) -> None:
        self.folder, self.repeats, self._count = folder, repeats, 0
        self.root = folder / "workspace"
        make_workspace(self.root)

    def agent(self, *, bare: bool, **options: Any) -> Agent:
        self._count += 1
        return Agent(bare, self.root, self.folder / f"state{self._count}", options=options)

    async def both(self, measure: Callable[[bool], Awaitable[float]]) -> tuple[float, float]:
        """Medians for the bare agent and for Outrider, taken in turn so that both see the same machine."""
        bare, ours = [], []
        for _ in range(self.repeats):
            bare.append(await measure(True))
            ours.append(await measure(False))
        return statistics.median(bare), statistics.median(ours)

    async def initialize_ms(self, bare: bool) -> float:
        async with self.agent(bare=bare) as agent:
            return agent.start_seconds * 1000

    async def first_command_ms(self) -> float:
        begin = time.perf_counter()
        async with self.agent(bare=False) as agent:
            await agent.child.command("outrider.status", {})
            return (time.perf_counter() - begin) * 1000

    async def later_command_ms(self) -> float:
        async with self.agent(bare=False) as agent:
            await agent.child.command("outrider.status", {})
            times = []
            for _ in range(200):
                begin = time.perf_counter()
                await agent.child.command("outrider.status", {})
                times.append(time.perf_counter() - begin)
            return statistics.median(times) * 1000

    async def steps(self, bare: bool, steps: int) -> tuple[list[float], float]:
        """Own milliseconds of each step, and the resident memory afterwards."""
        async with ModelServer(steps=steps) as server, self.agent(bare=bare, **({} if bare else provider(server))) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 120)
            costs = [(r - a) * 1000 for a, r in zip(server.answered_at, server.received_at[1:], strict=False)]
            return costs, agent.child.resident_mb()

    async def relay_ms(self, bare: bool) -> float:
        async with ModelServer(tokens=200, interval=0.004) as server, self.agent(bare=bare, **({} if bare else provider(server))) as agent:
            await agent.run(server)
            await asyncio.wait_for(agent.finished, 60)
            heard: dict[int, float] = {}
            for at, text in agent.texts:
                for token in text.split():
                    heard[int(token)] = at
            return statistics.median((heard[n] - sent) * 1000 for n, sent in enumerate(server.token_sent_at))

    async def tokens_per_second(self, bare: bool) -> float:
        async with ModelServer(tokens=20_000) as server, self.agent(bare=bare, **({} if bare else provider(server))) as agent:
            await agent.run(server)
            end = await asyncio.wait_for(agent.finished, 120)
            text = "".join(part for _, part in agent.texts)
            assert text == "".join(f"{n} " for n in range(20_000)), "the text is not complete"
            return 20_000 / (end - server.token_sent_at[0])

    async def cancel_in_stream_ms(self, bare: bool) -> float:
        async with ModelServer(tokens=100_000, interval=0.002) as server, self.agent(bare=bare, **({} if bare else provider(server))) as agent:
            await agent.run(server)
            await server.streaming.wait()
            while not agent.texts:
                await asyncio.sleep(0.005)
            return await agent.cancel() * 1000

    async def cancel_in_question_ms(self) -> float:
        script = self._script("ask_user", {"question": "Which?", "options": ["a", "b"]})
        async with self.agent(bare=False, model=f"scripted:{script}") as agent:
            asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            agent.child.on_request = lambda _m, _p: asked.done() or asked.set_result(None)
            # The child answers null at once, which parks the turn: it is in a question either way.
            await agent.run(None)
            await asked
            return await agent.cancel() * 1000

    async def cancel_in_command_ms(self, command: str) -> float:
        script = self._script("run_command", {"command": command})
        async with self.agent(bare=False, model=f"scripted:{script}", permissionMode="full") as agent:
            await agent.run(None)
            await asyncio.wait_for(agent.output.wait(), 30)
            seconds = await agent.cancel()
            assert not _left("314159"), "a process of the command is left"
            return seconds * 1000

    def _script(self, name: str, arguments: dict[str, Any]) -> Path:
        import json

        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"turns": [{"tool_calls": [{"name": name, "input": arguments}]}, {"text": "done"}]}))
        return path

    async def idle_mb(self) -> float:
        async with self.agent(bare=False) as agent:
            await agent.child.command("outrider.doctor", {})
            return agent.child.resident_mb()


def _left(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if mark in line:
            found.append(line)
    return found


@dataclass
class Row:
    """One line of the table."""

    what: str
    bare: str
    ours: str
    bound: str
    holds: bool


async def measure(folder: Path, repeats: int) -> list[Row]:
    bench = Bench(folder, repeats)
    rows: list[Row] = []

    def ratio(what: str, pair: tuple[float, float], bound: float, *, at_least: bool = False) -> None:
        bare, ours = pair
        value = ours / bare
        holds = value >= bound if at_least else value <= bound
        sign = "≥" if at_least else "≤"
        rows.append(Row(what, f"{bare:,.2f}", f"{ours:,.2f}", f"{value:.2f} ({sign} {bound})", holds))

    def bound(what: str, value: float, most: float) -> None:
        rows.append(Row(what, "–", f"{value:,.1f}", f"≤ {most:g}", value <= most))

    ratio("spawn → `initialize` response, ms", await bench.both(bench.initialize_ms), 1.15)
    bound("spawn → answer of the first command, ms", statistics.median([await bench.first_command_ms() for _ in range(repeats)]), 1500)
    bound("a later command, ms", await bench.later_command_ms(), 10)

    async def at_50(bare: bool) -> float:
        return statistics.median((await bench.steps(bare, 50))[0])

    ratio("own cost of a step, run of 50, ms", await bench.both(at_50), 2.0)
    long_costs, after_200 = await bench.steps(False, 200)
    early, late = statistics.median(long_costs[:10]), statistics.median(long_costs[190:])
    rows.append(Row("growth, steps 1–10 → 191–200, ms", f"{early:.2f}", f"{late:.2f}", f"{late / early:.2f} (≤ 1.5)", late / early <= 1.5))
    ratio("relay of one token, ms", await bench.both(bench.relay_ms), 1.5)
    ratio("20 000 one-token chunks, tokens/s", await bench.both(bench.tokens_per_second), 0.75, at_least=True)
    bare_cancel, ours_cancel = await bench.both(bench.cancel_in_stream_ms)
    rows.append(Row("cancel in a stream, ms", f"{bare_cancel:.1f}", f"{ours_cancel:.1f}", "≤ 20", ours_cancel <= 20))
    bound("cancel in a question, ms", statistics.median([await bench.cancel_in_question_ms() for _ in range(repeats)]), 20)
    obeys = "echo on; exec sleep 314159"
    bound("cancel in a command that obeys TERM, ms", statistics.median([await bench.cancel_in_command_ms(obeys) for _ in range(repeats)]), 30)
    ignores = "trap '' TERM; echo on; while :; do sleep 314159; done"
    bound("cancel in a command that ignores TERM, ms", await bench.cancel_in_command_ms(ignores), 300)
    bound("resident memory, idle with all imported, MB", await bench.idle_mb(), 70)
    bound("resident memory after 200 steps, MB", after_200, 90)
    return rows


def table(rows: list[Row]) -> str:
    lines = ["| what | bare agent | Outrider | ratio or bound | |", "|---|---|---|---|---|"]
    lines += [f"| {row.what} | {row.bare} | {row.ours} | {row.bound} | {'ok' if row.holds else '**no**'} |" for row in rows]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one repetition instead of five")
    parser.add_argument("--gate", action="store_true", help="fail when something does not hold")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = asyncio.run(measure(Path(folder), 1 if arguments.quick else 5))
    print(f"{platform.system()}, Python {platform.python_version()}\n")
    print(table(rows))
    return int(arguments.gate and not all(row.holds for row in rows))


if __name__ == "__main__":
    sys.exit(main())
