"""The pen of a session: gives events their place in the log, folds them, and hands them to the store."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from outrider.agent.state import SessionState
from outrider.permissions.masking import Masking
from outrider.permissions.secret_files import is_secret_file
from outrider.ports.clock import Clock, rfc3339
from outrider.ports.events import LoggedEvent
from outrider.store.log import Store
from outrider.store.texts import texts_named
from outrider_protocol.events import EventData, Secret

_WORDS_OF_THE_MODEL: Final = frozenset(
    {"model.requested", "model.responded", "model.reset", "tool.requested", "plan.updated"}
)
"""Events that say what the model itself wrote: it knows no secret that it was not shown, and makes up some for tests."""


class Record:
    """Appends to one session's log. The state is folded at once; others see an event when it is committed.

    No secret gets past it: whoever reads events, or makes a request of them, reads placeholders.
    """

    def __init__(self, store: Store, clock: Clock, state: SessionState, masking: Masking) -> None:
        self._store = store
        self._clock = clock
        self.state = state
        self.masking = masking
        """The secrets of the session."""
        self.stored: set[str] = set(state.requested)
        """Content hashes that the store is known to have."""
        self._coming: list[Callable[[], EventData | None]] = []
        """What happened outside, and has not come into the log yet."""

    def append(
        self, data: EventData, *, turn_id: str | None = None, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Append an event."""
        wire = data.to_wire()
        self._learn(data, wire, blobs or {})
        event = LoggedEvent(
            seq=self.state.last_seq + 1,
            ts=rfc3339(self._clock.now()),
            session_id=self.state.session_id,
            turn_id=turn_id,
            type=data.TYPE,
            data=self._without_secrets(data, wire),
        )
        self.state.apply(event)
        self._store.append(event, blobs=blobs or {})
        if blobs:
            self.stored.update(blobs)
        self._let_in_when_waiting()

    def bring(self, make: Callable[[], EventData | None]) -> None:
        """Append what happened outside: at once, or as soon as a turn that runs waits for somebody, or looks around.

        In between a request may be put together, which would lack it, and so would all later ones.

        Args:
            make: Gives the event, once its time has come; None for none.
        """
        self._coming.append(make)
        self._let_in_when_waiting()

    def let_in(self) -> None:
        """Append what happened outside meanwhile."""
        coming, self._coming = self._coming, []
        for make in coming:
            if (data := make()) is not None:
                self.append(data, turn_id=self.state.current)

    def _let_in_when_waiting(self) -> None:
        state = self.state
        if self._coming and (state.current is None or state.awaiting or state.open):
            self.let_in()

    def _learn(self, data: EventData, wire: Mapping[str, Any], blobs: Mapping[str, bytes]) -> None:
        """Take in the values of files that are called like those of secrets: their texts come with the events that name them."""
        if not blobs:
            return
        for named in texts_named(data.TYPE, wire):
            if named.hash in blobs and is_secret_file(named.path):
                self.masking.learn_settings(blobs[named.hash].decode("utf-8", "surrogatepass"))

    def _without_secrets(self, data: EventData, wire: dict[str, Any]) -> dict[str, Any]:
        count = 0
        if data.TYPE not in _WORDS_OF_THE_MODEL:
            wire, count = self.masking.value(wire)
        if count and data.TYPE == "tool.finished":
            wire["masked"] = count
        if fresh := self.masking.fresh():
            wire["secrets"] = [Secret(name=one.name, kind=one.kind, mark=one.mark).to_wire() for one in fresh]
        return wire

    def was_resolved(self, item_id: str) -> bool:
        """Whether an item of that id was open once and is answered."""
        return item_id in self.state.resolved

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until everything appended is committed; a text says why that is not possible."""
        problem = await self._store.flush(durable=durable)
        return problem.message if problem else None
