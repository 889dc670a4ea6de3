"""The life of the process: what ends it, with which exit code, and that it does end."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Final, NoReturn

from outrider.ports.clock import Clock
from outrider.ports.outside import Watched

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
        self._signals: socket.socket | None = None
        self._waking: socket.socket | None = None
        self._take_signals()
        if parent is not None:
            self.watch_parent(parent)

    def watched(self, descriptor: int) -> Watched | None:
        """By what another process sees that this one was asked to end; None where there are no such sockets.

        Args:
            descriptor: Where the client's messages come from.
        """
        return None if self._signals is None else Watched(descriptor, self._signals.fileno(), 2)

    def asked_to_end(self) -> None:
        """Leave a mark for who watches the process: the number of SIGHUP, as the client hangs up. From any thread."""
        if self._waking is not None:
            with contextlib.suppress(OSError):
                self._waking.send(bytes([signal.SIGHUP]))

    def _take_signals(self) -> None:
        if sys.platform == "win32":
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, self._stop_soon)
            return
        # A socket of our own, not the event loop's: what a signal writes there, before any Python runs, another process can see.
        self._signals, self._waking = socket.socketpair()
        self._signals.setblocking(False)
        self._waking.setblocking(False)
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _only_wake)
            signal.siginterrupt(number, False)
        self._loop.add_reader(self._signals, self._take)

    def _take(self) -> None:
        if self._signals is None:
            return
        with contextlib.suppress(BlockingIOError):
            for number in self._signals.recv(4096):
                if number in {signal.SIGTERM, signal.SIGINT}:
                    self.stop(128 + number, signal.Signals(number).name)

    def _stop_soon(self, number: int, _frame: object) -> None:
        self._loop.call_soon_threadsafe(self.stop, 128 + number, signal.Signals(number).name)

    def stop(self, code: int, reason: str) -> None:
        """End the process with that exit code; the first call counts."""
        if self._ended.done():
            return
        logger.info("ending: %s", reason)
        self._ended.set_result((code, reason))
        if self._signals is not None:
            self._loop.remove_reader(self._signals)  # the mark stays there
            self.asked_to_end()
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


def live(life: Callable[[], int]) -> NoReturn:
    """Run a life to its end and end the process with the exit code that it gives, or 1 where it fails.

    The interpreter is not taken apart: a thread that is in native code then, as the log's is in RE2, cannot come back to
    Python and aborts the process, and nothing could join it in time (the log may wait for a client that does not read).
    """
    try:
        code = life()
    except Exception as problem:  # noqa: BLE001 - what Python itself would do at the top
        sys.excepthook(type(problem), problem, problem.__traceback__)
        code = 1
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _only_wake(_number: int, _frame: object) -> None:
    pass  # its number is in the socket


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True
