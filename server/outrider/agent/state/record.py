"""The pen of a session: gives events their place in the log, folds them, and hands them to the store."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

from outrider.agent.state.state import SessionState
from outrider.permissions.secrets.masking import Masking
from outrider.permissions.secrets.secret_files import is_secret_file
from outrider.ports.clock import Clock, rfc3339
from outrider.ports.events import LoggedEvent, logged_event
from outrider.store.blobs import texts_named
from outrider.store.problem import StoreProblem
from outrider_protocol.events import EventData

_WORDS_OF_THE_MODEL: Final = frozenset(
    {"model.requested", "model.responded", "model.reset", "tool.requested", "plan.updated"}
)
"""Events that say what the model itself wrote: it knows no secret that it was not shown, and makes up some for tests."""


class Log(Protocol):
    """Where the events of a session are kept; see `Store`."""

    @property
    def problem(self) -> StoreProblem | None:
        """Why events that were appended are not committed, as far as is known without waiting."""
        ...

    def append(self, event: LoggedEvent, *, blobs: Mapping[str, bytes]) -> LoggedEvent:
        """Put an event into the log, with the contents that it names; gives the event as it is there."""
        ...

    async def flush(self, *, durable: bool = False) -> StoreProblem | None:
        """Wait until everything appended before is committed; gives why it is not."""
        ...


class Record:
    """Appends to one session's log. The state is folded at once; others see an event when it is committed.

    No secret gets past it: whoever reads events, or makes a request of them, reads placeholders.
    """

    def __init__(self, log: Log, clock: Clock, state: SessionState, masking: Masking) -> None:
        self._log = log
        self._clock = clock
        self.state = state
        self.masking = masking
        """The secrets of the session."""
        self.stored: set[str] = set(state.requested)
        """Content hashes that the store is known to have."""
        self.failed_before: str | None = None
        """Why the turn that was cut off had failed by then, where the log could not take its end."""
        self._coming: list[Callable[[], EventData | None]] = []
        """What happened outside, and has not come into the log yet."""

    def append(
        self, data: EventData, *, turn_id: str | None = None, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Append an event."""
        state, ts = self.state, rfc3339(self._clock.now())
        event = logged_event(state.last_seq + 1, ts, state.session_id, turn_id, data.TYPE, data.to_wire())
        self._learn(event, blobs or {})
        event = self._without_secrets(event)
        state.apply(self._log.append(event, blobs=blobs or {}))
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

    def _learn(self, event: LoggedEvent, blobs: Mapping[str, bytes]) -> None:
        """Take in what is a secret by where it comes from: the words of the user, and files that are called like those of secrets."""
        match event.type:
            case "turn.queued" | "turn.started":
                self.masking.learn_from_user(event.data["prompt"])
            case "queue.changed":
                for one in event.data["queue"]:
                    self.masking.learn_from_user(one["prompt"])
            case "steering.received":
                self.masking.learn_from_user(event.data["text"])
            case "question.answered":
                self.masking.learn_from_user(event.data["answer"])
            case "approval.resolved" if "note" in event.data:
                self.masking.learn_from_user(event.data["note"])
            case _:
                pass
        for named in texts_named(event) if blobs else ():
            if named.hash in blobs and is_secret_file(named.path):
                self.masking.learn_settings(blobs[named.hash].decode("utf-8", "surrogatepass"))

    def _without_secrets(self, event: LoggedEvent) -> LoggedEvent:
        wire, count = dict(event.data), 0
        if event.type not in _WORDS_OF_THE_MODEL:
            wire, count = self.masking.value(wire)
        if count and event.type == "tool.finished":
            wire["masked"] = count
        if fresh := self.masking.fresh():
            wire["secrets"] = fresh
        return logged_event(event.seq, event.ts, event.session_id, event.turn_id, event.type, wire)

    def was_resolved(self, item_id: str) -> bool:
        """Whether an item of that id was open once and is answered."""
        return item_id in self.state.resolved

    async def failing(self, *, surely: bool = False) -> str | None:
        """Why the log cannot be written, or could not when the turn that was cut off ran; None: all is well.

        Args:
            surely: Wait until everything is committed. Otherwise nothing is waited for as long as nothing failed.
        """
        if self.failed_before is not None:
            return self.failed_before
        return await self.settled() if surely or self._log.problem is not None else None

    async def settled(self, *, durable: bool = False) -> str | None:
        """Wait until everything appended is committed; a text says why that is not possible."""
        problem = await self._log.flush(durable=durable)
        return problem.message if problem else None
