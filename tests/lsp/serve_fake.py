"""`outrider serve` with a fake house, for the tests over real pipes."""

import asyncio
import logging
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

from fakes import FakeBridge

from outrider.lsp.serve import main
from outrider.ports.clock import SystemClock
from outrider.ports.events import StreamFrame
from outrider.processes import Supervisor

CHUNK = 10_000

TURNS = 20
"""Of the loop, after which it is said that it runs."""


class Bridge(FakeBridge):
    def __init__(self, watched) -> None:
        super().__init__()
        self.supervisor = Supervisor(SystemClock())
        self.watched = watched
        self.commands |= {
            "outrider.run": self._flood,
            "outrider.events": self._flood_messages,
            "outrider.tools": self._print,
            "outrider.sessions": self._block,
            "outrider.resume": self._ticks_since,
            "outrider.undo": self._fail,
            "outrider.redo": self._fail_in_a_thread,
            "outrider.jobs": self._have_it_watched,
            "outrider.map": self._match_for_ever,
            "outrider.models": self._sleep,
            "outrider.export": self._have_much_logged,
        }
        self.ticks = 0
        self.tasks = set()

    async def start(self, *arguments):
        self.tasks.add(asyncio.create_task(self._tick()))
        return await super().start(*arguments)

    async def _tick(self):
        while True:
            await asyncio.sleep(0.01)
            self.ticks += 1

    async def _have_it_watched(self, argument):
        """Answer when somebody watches this process."""
        self.supervisor.watch(self.watched)
        command = await self.supervisor.spawn(["true"], cwd=Path("/"), env=os.environ)
        await command.kill()
        command.discard()

    def _match_for_ever(self, argument):
        """Hold the interpreter's lock, as a pattern that backtracks does: no thread of the process runs any more."""
        os.write(2, b"it begins\n")
        re.match("(a+)+$", "a" * 60 + "b")

    def _sleep(self, argument):
        """Stop the loop, but no thread."""
        os.write(2, b"it begins\n")
        time.sleep(argument["seconds"])

    def _have_much_logged(self, argument):
        """Give the thread of the log so much to look through for secrets that the process ends meanwhile."""
        for _ in range(argument["lines"]):
            logging.getLogger("much").warning("password= ghp_aB3dE6gH9 " * CHUNK)

    async def close(self, reason):
        await self.supervisor.close()
        sys.stderr.write(f"closed: {reason}\n")
        sys.stderr.flush()

    async def _flood(self, argument):
        """Stream many times what a pipe takes, with the client reading or not."""
        for number in range(argument["frames"]):
            offset = number * CHUNK
            self.editor.publish_frame(StreamFrame("ses_1", "turn_1", "msg_1", "text", offset, "x" * CHUNK))
            await asyncio.sleep(0)
        return {"ticks": self.ticks}

    async def _flood_messages(self, argument):
        """Send what cannot be merged."""
        for _ in range(argument["messages"]):
            self.editor.say("log", "y" * 1_000_000)
            await asyncio.sleep(0)

    async def _ticks_since(self, argument):
        """Prove on standard error that the loop runs, although nobody reads standard output."""
        before = self.ticks
        for _ in range(TURNS):
            await asyncio.sleep(0.01)
        sys.stderr.write(f"ticks: {self.ticks - before}\n")
        sys.stderr.flush()

    def _fail(self, argument):
        raise RuntimeError(argument["words"])

    def _fail_in_a_thread(self, argument):
        threading.Thread(target=self._fail, args=(argument,)).start()

    def _print(self, argument):
        """Misbehave as a careless library would."""
        print("stray print")
        sys.stdout.flush()
        os.write(1, b"stray write\n")
        child = "import sys; print('stray child', len(sys.stdin.read()))"
        return subprocess.run([sys.executable, "-c", child], check=False).returncode

    async def _block(self, argument):
        """Leave a thread behind that never ends, in the pool that asyncio waits for."""
        started = asyncio.Event()
        loop = asyncio.get_running_loop()

        def sleep():
            loop.call_soon_threadsafe(started.set)
            time.sleep(60)

        self.tasks.add(asyncio.create_task(asyncio.to_thread(sleep)))
        await started.wait()


if __name__ == "__main__":
    main(sys.argv[1:], lambda _, watched: Bridge(watched).start)
