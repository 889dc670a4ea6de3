"""Standard input and output as a connection. The event loop never waits for either.

Once taken over, the two descriptors belong to nobody else: what prints, and what child processes inherit, goes
to standard error, and nobody else can read from the client.
"""

import asyncio
import contextlib
import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

from outrider.ports.framing import FramingProblem
from outrider.transport.connection import MOST_WAITING, Framing

_CHUNK: Final = 64 * 1024
_MOST_UNHANDLED: Final = 16
_AT_ONCE: Final[int] = select.PIPE_BUF if hasattr(select, "poll") else 0
"""Bytes that a pipe which is ready takes without waiting (POSIX); none where nobody can say that it is."""


class StdioReader:
    """Reads in a thread of its own, and handles what comes on the event loop, in order."""

    def __init__(
        self,
        descriptor: int,
        framing: Framing,
        on_frame: Callable[[bytes], None],
        on_problem: Callable[[str], None],
        on_end: Callable[[], None],
        read: bytes = b"",
        *,
        is_exit: Callable[[bytes], bool] = lambda _: False,
        on_exit: Callable[[], None] = lambda: None,
    ) -> None:
        """Begin to read.

        Args:
            descriptor: Where from.
            framing: What cuts it into messages.
            on_frame: Gets the body of each message.
            on_problem: Gets what was no message.
            on_end: Called when nothing more will come.
            read: What was read from it before.
            is_exit: Whether a message asks for the end of the process.
            on_exit: Called in the thread that reads when such a message or the end came, before the event loop knows.
        """
        self._before = read
        self._descriptor = descriptor
        self._framing = framing
        self._on_frame = on_frame
        self._on_problem = on_problem
        self._on_end = on_end
        self._is_exit = is_exit
        self._on_exit = on_exit
        self._loop = asyncio.get_running_loop()
        self._waiting = select.poll() if hasattr(select, "poll") else None
        if self._waiting is not None:
            self._waiting.register(descriptor, select.POLLIN)
        # A client that sends faster than it is served waits, instead of filling the memory.
        self._free = threading.Semaphore(_MOST_UNHANDLED)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody wants the rest
            while data := self._next():
                if found := self._framing.feed(data):
                    if any(isinstance(item, bytes) and self._is_exit(item) for item in found):
                        self._on_exit()
                    self._free.acquire()
                    self._loop.call_soon_threadsafe(self._handle, found)
            self._on_exit()
            cut_off = self._framing.at_end()
            self._loop.call_soon_threadsafe(self._finish, cut_off)

    def _next(self) -> bytes:
        if self._before:
            before, self._before = self._before, b""
            return before
        try:
            if self._waiting is not None:
                # What came while no thread of the process runs stays where another process can see it.
                self._waiting.poll()
            return os.read(self._descriptor, _CHUNK)
        except OSError:
            return b""

    def _handle(self, found: list[bytes | FramingProblem]) -> None:
        self._free.release()
        for item in found:
            if isinstance(item, FramingProblem):
                self._on_problem(item.text)
            else:
                self._on_frame(item)

    def _finish(self, cut_off: FramingProblem | None) -> None:
        if cut_off is not None:
            self._on_problem(cut_off.text)
        self._on_end()


class StdioWriter:
    """Writes what the pipe takes without waiting, and leaves the rest to a thread of its own (`connection.Outgoing`)."""

    def __init__(
        self, descriptor: int, framed: Callable[[bytes], bytes], on_lost: Callable[[str], None]
    ) -> None:
        """Begin to write.

        Args:
            descriptor: Where to.
            framed: Gives a body as it goes over the wire.
            on_lost: Called once when writing has no sense any more.
        """
        self._descriptor = descriptor
        self._framed = framed
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._queue: deque[bytes] = deque()
        self._waiting = 0
        self._longest = 0
        """Bytes of the longest message since nothing waited."""
        self._free = select.poll() if _AT_ONCE else None
        if self._free is not None:
            self._free.register(descriptor, select.POLLOUT)
        self._gathering = False
        """Whether this round of the event loop has written: what else it sends is written in one go at its end."""
        self._lost = False
        self._drained: list[Callable[[], None]] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._write, name="stdout", daemon=True).start()

    @property
    def backlog(self) -> int:
        """Bytes that were sent and are not in the pipe yet."""
        return self._waiting

    def send(self, body: bytes) -> None:
        """Queue one message."""
        frame = self._framed(body)
        with self._changed:
            if self._lost:
                return
            self._longest = max(self._longest if self._waiting else 0, len(frame))
            self._queue.append(frame)
            self._waiting += len(frame)
            if self._waiting > _AT_ONCE:
                self._changed.notify()
            elif not self._gathering:
                self._gathering = True
                self._write_at_once()
                self._loop.call_soon(self._write_gathered)
        # One long message says nothing of the client, which could not have read it yet.
        if self._waiting - self._longest > MOST_WAITING:
            self._give_up(f"the client left {self._waiting} bytes unread")

    def when_drained(self, callback: Callable[[], None]) -> None:
        """Call back once, on the event loop, when nothing waits."""
        with self._changed:
            self._drained.append(callback)
            if not self._waiting:
                self._loop.call_soon(self._tell_drained)

    async def flush(self, seconds: float) -> None:
        """Wait until everything is written, for `seconds` at most."""
        drained = asyncio.Event()
        self.when_drained(drained.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await drained.wait()

    def _write_gathered(self) -> None:
        with self._changed:
            self._gathering = False
            self._write_at_once()
            drained = not self._waiting
        if drained:
            self._tell_drained()

    def _write_at_once(self) -> None:
        # It spares a token the change of threads.
        batch = b"".join(self._queue)
        if self._free is None or not batch or len(batch) != self._waiting or len(batch) > _AT_ONCE:
            return  # nothing to do, or the thread is at work
        self._queue.clear()
        written = 0
        with contextlib.suppress(OSError):  # the thread meets it again, and tells
            if self._free.poll(0) == [(self._descriptor, select.POLLOUT)]:
                written = os.write(self._descriptor, batch)
        self._waiting -= written
        if written < len(batch):
            self._queue.append(batch[written:])
            self._changed.notify()

    def _write(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits for the rest
            while True:
                with self._changed:
                    while not self._queue:
                        self._changed.wait()
                    batch = memoryview(b"".join(self._queue))
                    self._queue.clear()
                while batch:
                    try:
                        written = os.write(self._descriptor, batch[:_CHUNK])
                    except OSError as error:
                        self._loop.call_soon_threadsafe(
                            self._give_up, f"the client stopped reading ({error})"
                        )
                        return
                    batch = batch[written:]
                    with self._changed:
                        self._waiting -= written
                        drained = not self._waiting and bool(self._drained)
                    if drained:
                        self._loop.call_soon_threadsafe(self._tell_drained)

    def _tell_drained(self) -> None:
        callbacks, self._drained = self._drained, []
        for callback in callbacks:
            callback()

    def _give_up(self, reason: str) -> None:
        with self._changed:
            lost, self._lost = self._lost, True
            self._queue.clear()
        if not lost:
            self._on_lost(reason)
