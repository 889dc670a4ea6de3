"""Live text on its way to the client: sent as it comes while the client keeps up, else merged until it does."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from outrider.lsp.transport.framing import NEARLY_EMPTY, Outgoing
from outrider.ports.events import StreamFrame
from outrider_protocol import STREAM_NOTIFICATION

_MOST_HELD: Final = 4 * 1024 * 1024
"""Characters that are merged at most; then they count as waiting, and the limit there decides."""


@dataclass(slots=True)
class _Held:
    first: StreamFrame
    parts: list[str]
    next_offset: int


class FrameSender:
    """Sends frames in order; `flush` before an event keeps them in order with the events too."""

    def __init__(self, notify: Callable[[str, Any], None], outgoing: Outgoing) -> None:
        """Send with `notify`, as far as `outgoing` shows that the client keeps up."""
        self._notify = notify
        self._outgoing = outgoing
        self._held: list[_Held] = []
        self._last: dict[tuple[str, str], _Held] = {}
        self._characters = 0
        self._called = False

    def send(self, frame: StreamFrame) -> None:
        """Send a frame, or merge it with those that wait."""
        if not self._held and self._outgoing.backlog <= NEARLY_EMPTY:
            self._emit(frame, frame.text)
            return
        if not self._called:
            self._called = True
            self._outgoing.when_drained(self._drained)
        self._hold(frame)
        if self._characters > _MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        held, self._held, self._last, self._characters = self._held, [], {}, 0
        for entry in held:
            self._emit(entry.first, "".join(entry.parts))

    def _drained(self) -> None:
        self._called = False
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

    def _emit(self, frame: StreamFrame, text: str) -> None:
        source = "callId" if frame.kind == "output" else "messageId"
        self._notify(
            STREAM_NOTIFICATION,
            {
                "sessionId": frame.session_id,
                "turnId": frame.turn_id,
                source: frame.source_id,
                "kind": frame.kind,
                "offset": frame.offset,
                "text": text,
            },
        )
