"""The life of the process: what ends it, with which exit code, and that it does end."""

import asyncio
import logging
import os
import signal
import sys
import threading
from typing import Final

from outrider.ports.clock import Clock

logger = logging.getLogger(__name__)

LAST_RESORT_SECONDS: Final = 1.5
"""How long after `stop` the process is ended whatever still runs; VS Code kills after 2 s."""
PARENT_SECONDS: Final = 3.0


class Lifetime:
    """The process as the server sees it (`contract.Host`). Made on the event loop, in the main thread."""

    def __init__(self, clock: Clock, parent: int | None = None) -> None:
        """Take over SIGTERM and SIGINT, and watch the parent if it is known already."""
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[tuple[int, str]] = self._loop.create_future()
        self._watching: asyncio.Task[None] | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            self._stop_on(number)
        if parent is not None:
            self.watch_parent(parent)

    def _stop_on(self, number: signal.Signals) -> None:
        try:
            self._loop.add_signal_handler(number, self.stop, 128 + number, number.name)
        except NotImplementedError:  # the event loop of Windows

            def told(_number: int, _frame: object) -> None:
                self._loop.call_soon_threadsafe(self.stop, 128 + number, number.name)

            signal.signal(number, told)

    def stop(self, code: int, reason: str) -> None:
        """End the process with that exit code; the first call counts."""
        if self._ended.done():
            return
        logger.info("ending: %s", reason)
        self._ended.set_result((code, reason))
        last_resort = threading.Timer(LAST_RESORT_SECONDS, os._exit, (code,))
        last_resort.daemon = True
        last_resort.start()

    def watch_parent(self, pid: int) -> None:
        """End the process when that one is gone; one that cannot be seen now is in a container or elsewhere.

        Not on Windows, where looking at a process by a signal would end it: the end of the input says it there.
        """
        if sys.platform != "win32" and self._watching is None and pid > 0 and _is_alive(pid):
            self._watching = self._loop.create_task(self._watch(pid))

    async def ended(self) -> tuple[int, str]:
        """Wait for the end; gives exit code and reason."""
        return await self._ended

    async def _watch(self, pid: int) -> None:
        while _is_alive(pid):
            await self._clock.sleep(PARENT_SECONDS)
        self.stop(1, f"the parent process {pid} is gone")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
