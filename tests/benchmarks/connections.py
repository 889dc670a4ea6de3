"""Measures a call of an MCP server beside the SDK's own client: `python tests/benchmarks/connections.py`.

Prints a table in Markdown and exits with 1 when a line does not hold.
"""

import asyncio
import os
import socket
import statistics
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from mcp import Client, StdioServerParameters
from outrider.mcp.around import Around
from outrider.mcp.configuration import read_servers
from outrider.mcp.connection import Connection
from outrider.mcp.tokens import Tokens
from outrider.ports.clock import SystemClock
from outrider.processes import Supervisor, command_environment
from outrider.tools.client import schema_problem

SERVER: Final = Path(__file__).parents[1] / "mcp" / "sdk_server.py"
CALLS: Final = 1000
MOST: Final = 1.15
READY_SECONDS: Final = 60.0

Add = Callable[[], Awaitable[Any]]


async def main() -> int:
    """Measure both ways to a server, and print what came of it."""
    print("| what | the SDK's client | Outrider | ratio (≤ 1.15) | |\n|---|--:|--:|--:|---|")
    holds = True
    with tempfile.TemporaryDirectory() as folder:
        program = {"command": sys.executable, "args": [str(SERVER)]}
        holds &= await _row("a call over pipes, ms", StdioServerParameters(**program), program, Path(folder))
        async with _serving() as url:
            holds &= await _row("a call over HTTP, ms", url, {"type": "http", "url": url}, Path(folder))
    return 0 if holds else 1


async def _row(what: str, bare: Any, block: dict[str, Any], folder: Path) -> bool:
    """The medians of both. They take turns, call by call: what else the machine does then meets both alike."""
    theirs: list[float] = []
    ours: list[float] = []
    async with Client(bare) as client, _connected(block, folder) as add:
        for _ in range(CALLS):
            theirs.append(await _ms(lambda: client.call_tool("add", {"a": 1, "b": 2})))
            ours.append(await _ms(add))
    bare_ms, ours_ms = statistics.median(theirs), statistics.median(ours)
    ratio = ours_ms / bare_ms
    print(f"| {what} | {bare_ms:.2f} | {ours_ms:.2f} | {ratio:.2f} | {'ok' if ratio <= MOST else '**no**'} |")
    return ratio <= MOST


async def _ms(call: Add) -> float:
    begin = perf_counter()
    await call()
    return (perf_counter() - begin) * 1000


@asynccontextmanager
async def _connected(block: dict[str, Any], folder: Path) -> AsyncGenerator[Add]:
    """A connection as a session has it."""
    clock = SystemClock()
    around = Around(
        supervisor=Supervisor(clock),
        clock=clock,
        version="0",
        environment=lambda own: {**command_environment(os.environ), **own},
        folders=list,
        proxy_for=lambda _: None,
        ca_file=None,
        tokens=Tokens(folder, keyring=False),
        open_page=lambda *_: None,
        cwd=folder,
        secret=os.environ.get,
        schema_problem=schema_problem,
    )
    ((config,), _) = read_servers({"sdk": block}, "test", {}, folder)
    connection = Connection(config, around, lambda: None)

    async def decline(*_: Any) -> Any:
        return []

    async def add() -> Any:
        given = await connection.call("add", {"a": 1, "b": 2}, ask=decline, on_progress=lambda _: None)
        assert given.text == "3", given

    connection.begin()
    try:
        assert await connection.ready(READY_SECONDS), connection.error
        yield add
    finally:
        await connection.close()
        await around.supervisor.close()


@asynccontextmanager
async def _serving() -> AsyncGenerator[str]:
    """The server over HTTP, on loopback; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(SERVER), "--http", str(port),
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        await process.wait()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
