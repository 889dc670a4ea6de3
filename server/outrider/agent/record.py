"""The pen of a session: gives events their place in the log, folds them, and hands them to the store."""

from collections.abc import Mapping

from outrider.agent.state import SessionState
from outrider.ports.clock import Clock, rfc3339
from outrider.ports.events import LoggedEvent
from outrider.store.log import Store
from outrider_protocol.events import EventData


class Record:
    """Appends to one session's log. The state is folded at once; others see an event when it is committed."""

    def __init__(self, store: Store, clock: Clock, state: SessionState) -> None:
        self._store = store
        self._clock = clock
        self.state = state
        self.stored: set[str] = set(state.requested)
        """Content hashes that the store is known to have."""

    def append(
        self, data: EventData, *, turn_id: str | None = None, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Append an event."""
        event = LoggedEvent(
            seq=self.state.last_seq + 1,
            ts=rfc3339(self._clock.now()),
            session_id=self.state.session_id,
            turn_id=turn_id,
            type=data.TYPE,
            data=data.to_wire(),
        )
        self.state.apply(event)
        self._store.append(event, blobs=blobs or {})
        if blobs:
            self.stored.update(blobs)

    def was_resolved(self, item_id: str) -> bool:
        """Whether an item of that id was open once and is answered."""
        return item_id in self.state.resolved

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until everything appended is committed; a text says why that is not possible."""
        problem = await self._store.flush(durable=durable)
        return problem.message if problem else None
