"""Progress in the client: a token for each stretch of work (LSP 3.17, "Work Done Progress").

No percentages: an agent does not know how far it is. Tokens are never used twice.
"""

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types

from outrider.lsp.profile import ClientProfile
from outrider.lsp.protocol import LspProtocol, NoReply
from outrider.ports.clock import Clock

logger = logging.getLogger(__name__)

Token = str | int

REPORT_SECONDS: Final = 0.1
"""Reports closer together than this are merged: redrawing costs the client more than they are worth."""
_CREATE_SECONDS: Final = 5.0


class Stretch:
    """A stretch of work that the client shows. None of its methods wait or fail."""

    def __init__(self) -> None:
        """A stretch that has not ended."""
        self.message: str | None = None
        self.end_message: str | None = None
        self.changed = asyncio.Event()
        self.ended = asyncio.Event()

    def report(self, message: str) -> None:
        """Say what is being done."""
        self.message = message
        self.changed.set()

    def end(self, message: str | None = None) -> None:
        """Say that it is over; further calls mean nothing."""
        if not self.ended.is_set():
            self.end_message = message
            self.ended.set()
            self.changed.set()


class ProgressFactory:
    """Makes stretches, and knows which of them a cancel of the client means."""

    def __init__(self, protocol: LspProtocol, profile: ClientProfile, clock: Clock) -> None:
        """Show progress in the client of `profile`."""
        self._protocol = protocol
        self._profile = profile
        self._clock = clock
        self._numbers = itertools.count(1)
        self._cancels: dict[Token, Callable[[], None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, title: str, message: str, cancel: Callable[[], None]) -> Stretch:
        """Begin a stretch under a new token; nothing is shown where the client has no progress.

        Args:
            title: What it is.
            message: What is being done first.
            cancel: Called when the user cancels it there.
        """
        stretch = Stretch()
        if self._profile.progress:
            self._follow(self._created(f"outrider-{next(self._numbers)}", stretch, title, message, cancel))
        return stretch

    def adopt(self, token: Token, title: str, message: str, cancel: Callable[[], None]) -> Stretch:
        """Begin a stretch under the `workDoneToken` of a request of the client."""
        stretch = Stretch()
        self._follow(self._shown(token, stretch, title, message, cancel))
        return stretch

    def cancelled(self, token: Token) -> None:
        """The user cancelled the stretch of that token."""
        if cancel := self._cancels.get(token):
            cancel()
        else:
            logger.debug("a cancel for the unknown progress %r", token)

    async def close(self) -> None:
        """End every stretch."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _follow(self, showing: Any) -> None:
        task = asyncio.get_running_loop().create_task(showing)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("progress failed", exc_info=error)

    async def _created(
        self, token: Token, stretch: Stretch, title: str, message: str, cancel: Callable[[], None]
    ) -> None:
        reply = await self._protocol.request(
            types.WINDOW_WORK_DONE_PROGRESS_CREATE, {"token": token}, seconds=_CREATE_SECONDS
        )
        if isinstance(reply, NoReply):
            logger.debug("progress could not be shown: %s", reply.message)
        else:
            await self._shown(token, stretch, title, message, cancel)

    async def _shown(
        self, token: Token, stretch: Stretch, title: str, message: str, cancel: Callable[[], None]
    ) -> None:
        self._cancels[token] = cancel
        try:
            self._say(token, {"kind": "begin", "title": title, "cancellable": True}, message)
            while await stretch.changed.wait() and not stretch.ended.is_set():
                stretch.changed.clear()
                self._say(token, {"kind": "report", "cancellable": True}, stretch.message)
                await self.pause(stretch)
        finally:
            del self._cancels[token]
            self._say(token, {"kind": "end"}, stretch.end_message)

    async def pause(self, stretch: Stretch, seconds: float = REPORT_SECONDS) -> None:
        """Wait until a stretch has ended, for `seconds` at most."""
        try:
            async with self._clock.timeout(seconds):
                await stretch.ended.wait()
        except TimeoutError:
            pass

    def _say(self, token: Token, value: dict[str, Any], message: str | None) -> None:
        shown = value if not message else {**value, "message": message}
        self._protocol.notify(types.PROGRESS, {"token": token, "value": shown})
