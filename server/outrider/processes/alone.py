"""Runs a program of ours for what it prints where there is no supervisor: on Windows.

Only for programs that start no others, such as ripgrep: nobody ends what they would leave. Commands of the model never come here.
"""

import asyncio
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from outrider.ports.clock import Clock


@dataclass(frozen=True, slots=True)
class Printed:
    """What a program printed until it ended or was stopped."""

    code: int | None
    stdout: bytes
    stderr: bytes
    timed_out: bool = False


async def printed(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    clock: Clock,
    stdin: bytes | None,
    seconds: float,
    limit: int,
) -> Printed | str:
    """Run a program for what it prints; a text says why it did not start. A cancel ends it.

    Args:
        argv: Its path and arguments.
        cwd: Where it runs.
        env: Its whole environment.
        clock: Counts its time.
        stdin: What it can read.
        seconds: The most it may take.
        limit: Bytes of each output after which it is stopped, or no more are kept.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(stdin or b"")
        given.seek(0)
        try:
            process = await asyncio.to_thread(
                subprocess.Popen, list(argv), cwd=cwd, env=dict(env), stdin=given, stdout=subprocess.PIPE, stderr=said
            )  # fmt: skip
        except (OSError, ValueError) as error:
            return f"{argv[0]} cannot be started: {error}"

        def read() -> bytes:
            return process.stdout.read(limit) if process.stdout is not None else b""

        reading = asyncio.ensure_future(asyncio.to_thread(read))
        timed_out = False
        try:
            async with clock.timeout(seconds):
                await asyncio.shield(reading)
        except TimeoutError:
            timed_out = True
        finally:
            if timed_out or not reading.done() or len(reading.result()) == limit:
                process.kill()  # which ends the reading
            stdout = await reading
            code = await asyncio.to_thread(process.wait)
            if process.stdout is not None:
                process.stdout.close()
        said.seek(0)
        return Printed(code, stdout, said.read(limit), timed_out)
