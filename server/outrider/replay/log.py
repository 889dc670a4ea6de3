"""The log of a replay: each event that is appended is held against the recorded one, and that one is what counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, Final, cast

from outrider.ports.events import LoggedEvent as AnyEvent
from outrider.ports.secrets import originals
from outrider.replay.tape import LoggedEvent, Tape
from outrider.store.exported import decode_content
from outrider.store.problem import StoreProblem

Object = dict[str, Any]

_ONLY_IN_LOG: Final = frozenset({
    "place", "toPlace", "realFolders", "keptMode", "hidden", "besides", "secrets", "masked",
})  # fmt: skip
"""Where links led, what files were besides their texts, and which secrets were in them: no disk is looked at now."""
_ADDED_LATER: Final = frozenset({"changeIds", "instead", "checks", "done"})
"""Keys that older logs do not have."""
_NOT_COMPUTED: Final[Mapping[str, AbstractSet[str]]] = {
    "approval.resolved": {"digest"},
    # Of a script; a turn that is cancelled at its start may or may not have opened it.
    "session.closed": {"leftOver"},
    # Lengths of texts that may be shorter where secrets were removed.
    **{key: {"before", "after"} for key in ("context.pruned", "context.compacted", "context.trimmed")},
}
"""The same of single events."""
_MEASURED: Final = {"limits.seconds", "contextWindow", "window_too_small"}
"""Budgets of which is spent what only the log can know to the last unit."""
_AT_A_RESTART: Final = {"session.restored", "workspace.renamed"}
"""What comes where a process has ended, or the log was taken in the middle of a turn."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first event that is not as it was."""

    seq: int
    expected: Object | None
    """Type, turn and data in the log; None where it ends."""
    got: Object | None
    """The same of the replay; None where nothing came."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The contents that the replay's event names, by their hashes."""


class RecordedLog:
    """Takes the events of the log, in their order, and no others."""

    def __init__(self, tape: Tape, on_event: Callable[[AnyEvent], None]) -> None:
        """Take what comes; `on_event` is called with each event that is as it was."""
        self._tape = tape
        self._on_event = on_event
        self.let_in: Callable[[LoggedEvent], None] = lambda _: None
        """Appends an event that only tells of what came from outside. Nobody waited for it, and so it may be due only now."""
        self.difference: Difference | None = None
        self.fault: Exception | None = None
        """What the observer of the events raised."""

    def append(self, event: AnyEvent, *, blobs: Mapping[str, bytes]) -> AnyEvent:
        """Compare an event with the next one of the log; gives that one, if it is the same."""
        tape, got = self._tape, cast("LoggedEvent", event)
        while (expected := tape.next) is not None and expected.type != event.type and tape.tells(expected):
            self.let_in(expected)
            if tape.next is expected:
                break
        has_ended = tape.has_ended and event.type not in _AT_A_RESTART and event.turn_id is not None
        tape.is_over = tape.is_over or has_ended  # what a turn does after the end of its process is not known
        if tape.is_over:
            return event
        is_same = expected is not None and (expected.type, expected.turn_id) == (event.type, event.turn_id)
        if expected is None or not is_same or not _is_same(expected, *map(self._data_of, (expected, got))):
            self.differs(expected, got, blobs)
            return event
        tape.advance()
        try:
            self._on_event(tape.typed[expected.seq - 1])
        except Exception as fault:  # noqa: BLE001 - it ends the replay, and is raised there
            self.fault, tape.is_over = fault, True
        return tape.typed[expected.seq - 1]

    def differs(
        self, expected: LoggedEvent | None, got: LoggedEvent | None, blobs: Mapping[str, bytes] | None = None
    ) -> None:
        """Note the first difference: an event of the log, and what came instead with its contents."""
        if self.difference is None:
            of_log, of_replay = map(self._shown, (expected, got))
            texts = {digest: decode_content(blob) for digest, blob in (blobs or {}).items()}
            self.difference = Difference(self._tape.position + 1, of_log, of_replay, texts)
        self._tape.is_over = True
        self._tape.wake()

    @property
    def problem(self) -> StoreProblem | None:
        """Why the turn ends here, where the log could not be written."""
        calls = {"tool.requested", "tool.finished"}  # those that the end of a turn leaves undone
        ending = next((one for one in self._tape.ahead() if one.type not in calls), None)
        if ending is None or ending.type != "turn.phase" or ending.data["reason"] != "store_failed":
            return None
        ended = self._tape.first_ahead("turn.finished")
        return ended and StoreProblem("unwritable", ended.data["summary"])

    async def flush(self, *, durable: bool = False) -> StoreProblem | None:
        """Let in what came while the log was written."""
        if durable:
            return None
        await self._tape.due_is_fed()
        return self.problem

    def _shown(self, event: LoggedEvent | None) -> Object | None:
        return event and {"type": event.type, "turnId": event.turn_id, "data": self._data_of(event)}

    def _data_of(self, event: LoggedEvent) -> Object:
        """The data of an event, with all its messages named: they tell more than those that were added."""
        return (
            {**event.data, "messages": self._tape.messages(event)} if "messages" in event.data else event.data
        )


def _is_same(expected: LoggedEvent, wanted: Object, data: Object) -> bool:
    """Whether the data of an event is that of the log, but for what only the log can know or older logs do not have."""
    left_out: AbstractSet[str] = (
        _ONLY_IN_LOG | _NOT_COMPUTED.get(expected.type, _ONLY_IN_LOG) | (_ADDED_LATER - wanted.keys())
    )
    if expected.type == "budget.exhausted" and wanted["limit"] in _MEASURED:
        left_out |= {"used"}
    if expected.type == "turn.finished" and wanted["reason"] in _MEASURED:
        wanted, data = ({**one, "summary": one["summary"].partition("(")[0]} for one in (wanted, data))
    shown, exact = (dict(leaves({key: one[key] for key in one.keys() - left_out})) for one in (wanted, data))
    return shown.keys() == exact.keys() and all(_reads_as(shown[place], exact[place]) for place in shown)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The single values within one of JSON, each with its place."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        inner = cast("Object", value).items()
    elif isinstance(value, list):
        inner = enumerate(cast("list[Any]", value))
    if not (value and inner):
        yield place, value
    for key, one in inner:
        yield from leaves(one, f"{place}.{key}".removeprefix("."))


def _reads_as(shown: Any, exact: Any) -> bool:
    """Whether a value of the log is another one, with placeholders in its text: the secrets are not in the log."""
    is_text = isinstance(shown, str) and isinstance(exact, str)
    return bool(shown == exact) or (is_text and originals(shown, exact) is not None)
