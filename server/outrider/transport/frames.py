"""Live text on its way to the client: sent as it comes while the client keeps up, else merged until it does.

What comes in one round of the event loop came at once, so behind its first frame it is merged as well.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from outrider.ports.events import StreamFrame
from outrider.transport.connection import NEARLY_EMPTY, Outgoing

_MOST_HELD: Final = 4 * 1024 * 1024
"""Characters that are merged at most; then they count as waiting, and the limit there decides."""


@dataclass(slots=True)
class _Held:
    first: StreamFrame
    parts: list[str]
    next_offset: int


class FrameSender:
    """Sends frames in order; `flush` before an event keeps them in order with the events too."""

    def __init__(self, emit: Callable[[StreamFrame, str], None], outgoing: Outgoing) -> None:
        """Begin with nothing waiting.

        Args:
            emit: Sends a text in the place of a frame, which is the first of those that are merged in it.
            outgoing: Shows whether the client keeps up.
        """
        self._emit = emit
        self._outgoing = outgoing
        self._held: list[_Held] = []
        self._last: dict[tuple[str, str], _Held] = {}
        self._characters = 0
        self._has_sent = False
        """Whether this round of the event loop has sent a frame, or the client does not keep up; `_go_on` is called then."""

    def send(self, frame: StreamFrame) -> None:
        """Send a frame, or merge it with those that wait."""
        if not self._has_sent:
            self._has_sent = True
            if self._outgoing.backlog <= NEARLY_EMPTY:
                self._emit(frame, frame.text)
                asyncio.get_running_loop().call_soon(self._go_on)
                return
            self._outgoing.when_drained(self._go_on)
        self._hold(frame)
        if self._characters > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        held, self._held, self._last, self._characters = self._held, [], {}, 0
        for entry in held:
            self._emit(entry.first, "".join(entry.parts))

    def _go_on(self) -> None:
        if self._held and self._outgoing.backlog > NEARLY_EMPTY:
            self._outgoing.when_drained(self._go_on)
            return
        self._has_sent = False
        self.flush()

    def _hold(self, frame: StreamFrame) -> None:
        key = (frame.source_id, frame.kind)
        entry = self._last.get(key)
        if entry is None or entry.next_offset != frame.offset:
            entry = self._last[key] = _Held(frame, [], frame.offset)
            self._held.append(entry)
        entry.parts.append(frame.text)
        entry.next_offset += len(frame.text)
        self._characters += len(frame.text)
