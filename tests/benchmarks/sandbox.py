"""What the sandbox costs a command: `true` in it beside `sh -c true` without, both under the supervisor.

    python tests/benchmarks/sandbox.py            # exits with 1 where the bound does not hold

The best of many is counted: whatever else runs on the machine makes a figure worse and never better.
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
from outrider.processes.sandbox import Confined, Sandbox, SandboxWish
from outrider.processes.sandbox.backend import Confining

BOUND = 15.0
"""Milliseconds that a sandbox may add."""
TIMES = 60


async def milliseconds(
    supervisor: Supervisor,
    argv: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    confined: Confined | None = None,
) -> float:
    """What one command takes."""
    began = time.perf_counter()
    confining = await confined.start() if confined is not None else Confining(tuple(argv))
    assert isinstance(confining, Confining)
    await collect(
        supervisor,
        confining.argv,
        cwd=cwd,
        env=env,
        clock=SystemClock(),
        seconds=10,
        limit=100,
        launch=confining.launch,
    )
    return (time.perf_counter() - began) * 1000


async def measure(workspace: Path) -> int:
    """Measure, print, and give the exit code."""
    env, supervisor = command_environment(os.environ), Supervisor(SystemClock())
    sandbox = Sandbox(supervisor, SystemClock(), [])
    try:
        plain = min(
            [await milliseconds(supervisor, ["sh", "-c", "true"], workspace, env) for _ in range(TIMES)]
        )
        over = False
        for backend in ("bubblewrap", "landlock"):
            confined = await sandbox.confine(
                ["true"], cwd=workspace, env=env, folders=[workspace], wish=SandboxWish(backends=(backend,))
            )
            if confined.confinement is None:
                print(f"not measured: {confined.told}")
                continue
            held = [
                await milliseconds(supervisor, [], workspace, confined.env, confined) for _ in range(TIMES)
            ]
            more = min(held) - plain
            over = over or more > BOUND
            print(
                f"`sh -c true`: {plain:.1f} ms; `true` in {backend}: {min(held):.1f} ms; more: {more:.1f} ms, ≤ {BOUND:g}"
            )
    finally:
        await sandbox.close()
        await supervisor.close()
    return int(over)


def main() -> int:
    """Measure in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(measure(Path(folder).resolve()))


if __name__ == "__main__":
    sys.exit(main())
