"""The server's end of a program of ours that reads foreign text apart from the server, and answers requests.

The program has one end of a socket as standard input. A request is a line, an object in JSON with an `id`; the answer is a line
with that `id`. Answers come in the order of the requests.
"""

import asyncio
import json
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from outrider.ports.clock import Clock
from outrider.processes import Process, SpawnProblem, Supervisor

_LONGEST_ANSWER: Final = 4 * 1024 * 1024
_OF_INTERPRETER: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


class ChildLostError(Exception):
    """The child is gone, or does not answer."""


class Child:
    """One running child. One request is asked at a time."""

    def __init__(
        self, process: Process, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, clock: Clock
    ) -> None:
        self._process, self._reader, self._writer, self._clock = process, reader, writer, clock
        self._numbers = count(1)

    @staticmethod
    async def start(supervisor: Supervisor, clock: Clock, program: str, env: Mapping[str, str]) -> "Child":
        """Start it.

        Args:
            supervisor: Starts it.
            clock: Times what waits for it.
            program: Its module.
            env: The environment, of which it gets what the interpreter needs to start.

        Raises:
            ChildLostError: It could not be started.
        """
        ours, theirs = socket.socketpair()
        try:
            argv = [sys.executable, "-I", "-X", "utf8", "-m", program]
            needed = {name: env[name] for name in _OF_INTERPRETER if name in env}
            # What it may print is nobody's business: it has no output that counts.
            process = await supervisor.spawn(
                argv, cwd=Path("/"), env=needed, stdin=theirs.fileno(), merge_stderr=True
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        if isinstance(process, SpawnProblem):
            ours.close()
            raise ChildLostError(process.message)
        process.discard()
        reader, writer = await asyncio.open_connection(sock=ours, limit=_LONGEST_ANSWER)
        return Child(process, reader, writer, clock)

    async def ask(self, do: str, seconds: float, **values: Any) -> dict[str, Any]:
        """Have it do something, and wait for its answer.

        Args:
            do: What.
            seconds: How long it may take.
            values: What it needs for that, as JSON has it.

        Raises:
            ChildLostError: There is no answer.
        """
        number = next(self._numbers)
        request = await asyncio.to_thread(json.dumps, {"id": number, "do": do, **values})
        try:
            async with self._clock.timeout(seconds):
                self._writer.write(request.encode() + b"\n")
                await self._writer.drain()
                while line := await self._reader.readline():
                    answer: dict[str, Any] = json.loads(line)
                    # Those before it are of requests that nobody waits for any more.
                    if answer["id"] == number:
                        return answer
        except TimeoutError:
            raise ChildLostError(f"it did not answer for {seconds:.0f} s") from None
        except (OSError, ValueError):
            pass
        raise ChildLostError(await self._why_ended())

    async def end(self) -> None:
        """Let go of it."""
        self._writer.close()
        await self._process.kill()

    async def _why_ended(self) -> str:
        """How it ended, whose end of the line is closed."""
        ended = None
        with suppress(TimeoutError):
            async with self._clock.timeout(1.0):
                ended = await self._process.wait()
        if ended is None or ended.lost:
            return "its process is gone"
        if ended.signal:
            return f"its process ended by signal {ended.signal}"
        return f"its process ended with {ended.code}"
