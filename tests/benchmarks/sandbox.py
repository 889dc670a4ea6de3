"""What the sandbox costs a command: `true` in it beside `sh -c true` without, both under the supervisor.

    python tests/benchmarks/sandbox.py            # exits with 1 where the bound does not hold

The two take turns, and the best of many is counted: whatever else runs on the machine makes a figure worse and never better.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from outrider.ports.clock import SystemClock
from outrider.processes import Supervisor, collect, command_environment
from outrider.processes.sandbox import Sandbox, SandboxWish

BOUND = 15.0
"""Milliseconds that a sandbox may add."""
TIMES = 60


async def milliseconds(
    supervisor: Supervisor, argv: Sequence[str], cwd: Path, env: Mapping[str, str]
) -> float:
    """What one command takes."""
    began = time.perf_counter()
    await collect(supervisor, argv, cwd=cwd, env=env, clock=SystemClock(), seconds=10, limit=100)
    return (time.perf_counter() - began) * 1000


async def measure(workspace: Path) -> int:
    """Measure, print, and give the exit code."""
    env, supervisor = command_environment(os.environ), Supervisor(SystemClock())
    sandbox = Sandbox(supervisor, SystemClock(), [])
    try:
        confined = await sandbox.confine(
            ["true"], cwd=workspace, env=env, folders=[workspace], wish=SandboxWish()
        )
        if confined.walls is None:
            print(f"not measured: {confined.told}")
            return 0
        plain = boxed = float("inf")
        for _ in range(TIMES):
            plain = min(plain, await milliseconds(supervisor, ["sh", "-c", "true"], workspace, env))
            boxed = min(boxed, await milliseconds(supervisor, confined.argv, workspace, confined.env))
    finally:
        await sandbox.close()
        await supervisor.close()
    print(
        f"`sh -c true`: {plain:.1f} ms; `true` in the sandbox: {boxed:.1f} ms; more: {boxed - plain:.1f} ms, ≤ {BOUND:g}"
    )
    return int(boxed - plain > BOUND)


def main() -> int:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder).resolve()))


if __name__ == "__main__":
    sys.exit(main())
