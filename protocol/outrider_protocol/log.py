"""Events as readers have them: plain data, typed by `outrider_protocol.logged`.

An event is written as a pydantic model of `outrider_protocol.events`. Readers fold thousands of them, so a reader gets
the JSON data itself. `LoggedEvent` is a union over all events, told apart by `type`: after `match event.type` or
`event.type == …` a type checker knows the keys of `event.data`.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from operator import is_
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, get_args

from outrider_protocol import PROTOCOL_VERSION

if TYPE_CHECKING:
    from outrider_protocol.logged import LoggedEvent, WireEvent
    from outrider_protocol.wire import Wire

__all__ = ["Logged", "LoggedEvent", "from_old_log", "from_wire", "logged_event", "to_wire", "wire_text"]

D_co = TypeVar("D_co", covariant=True)
_ID_KEYS: Final = ("id", "callId", "changeId", "messageId", "pendingId")
_Filler = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Logged(Generic[D_co]):
    """An event of a session's log. `data` is JSON-ready and must not be changed."""

    seq: int
    ts: str
    session_id: str
    turn_id: str | None
    type: str
    data: D_co
    text: str | None = field(default=None, repr=False, compare=False)
    """The data as JSON, where it was written into the log just now: it is encoded once."""

    def names(self) -> Iterator[str]:
        """Every id in it."""
        data = cast("dict[str, Any]", self.data)
        yield self.session_id
        if self.turn_id is not None:
            yield self.turn_id
        yield from (data[key] for key in _ID_KEYS if key in data)
        yield from (call["id"] for call in data.get("toolCalls", ()))


if not TYPE_CHECKING:
    LoggedEvent = Logged


def logged_event(
    seq: int, ts: str, session_id: str, turn_id: str | None, type_: str, data: dict[str, Any]
) -> "LoggedEvent":
    """An event of which the data is as this version writes it.

    Nothing is checked: that the data is of its type is up to who wrote the log, or has read the export.
    """
    return cast("LoggedEvent", Logged(seq, ts, session_id, turn_id, type_, data))


def from_old_log(
    seq: int, ts: str, session_id: str, turn_id: str | None, type_: str, data: dict[str, Any]
) -> "LoggedEvent":
    """An event of a log, which an earlier version may have written: keys that have a default since are filled in.

    So no reader has a default of its own. A key that may be absent for good is `NotRequired` in `logged`.
    """
    fill = _fillers().get(type_)
    # A damaged log may have anything for data.
    return logged_event(
        seq, ts, session_id, turn_id, type_, _fill_all(data, fill) if fill is not None else data
    )


def from_wire(event: "WireEvent") -> "LoggedEvent":
    """An event as an `outrider/event` has it."""
    return logged_event(
        event["seq"],
        event["ts"],
        event["sessionId"],
        event.get("turnId"),
        event["type"],
        cast("dict[str, Any]", event["data"]),
    )


def to_wire(event: "LoggedEvent") -> "WireEvent":
    """An event as an `outrider/event` has it."""
    turn = {} if event.turn_id is None else {"turnId": event.turn_id}
    head = {"v": PROTOCOL_VERSION, "seq": event.seq, "ts": event.ts, "sessionId": event.session_id}
    return cast("WireEvent", {**head, **turn, "type": event.type, "data": event.data})


def wire_text(event: "LoggedEvent") -> str:
    """The JSON text of `to_wire`."""
    wire = cast("dict[str, Any]", to_wire(event))
    data = wire.pop("data")
    text = json.dumps(data) if event.text is None else event.text
    return f'{json.dumps(wire)[:-1]}, "data": {text}}}'


@cache
def _fillers() -> dict[str, _Filler]:
    from outrider_protocol.events import EVENT_TYPES  # loaded here, because a client needs no model

    found = {type_: _filler(model) for type_, model in EVENT_TYPES.items()}
    return {type_: fill for type_, fill in found.items() if fill is not None}


@cache
def _filler(model: "type[Wire]") -> _Filler | None:
    """What fills in the defaults of a model, and of the models in it; None where there are none."""
    from outrider_protocol.wire import Wire

    defaults: dict[str, Any] = {}
    inner: dict[str, _Filler] = {}
    for name, described in model.model_fields.items():
        key = described.serialization_alias or name
        if (
            not described.is_required()
            and (default := described.get_default(call_default_factory=True)) is not None
        ):
            defaults[key] = default.to_wire() if isinstance(default, Wire) else default
        for part in _parts(described.annotation):
            if isinstance(part, type) and issubclass(part, Wire) and (one := _filler(part)) is not None:
                inner[key] = one
    if not defaults and not inner:
        return None

    def fill(data: dict[str, Any]) -> dict[str, Any]:
        within = {
            key: filled
            for key, one in inner.items()
            if key in data and (filled := _fill_all(data[key], one)) is not data[key]
        }
        if not within and data.keys() >= defaults.keys():
            return data
        return {**defaults, **data, **within}

    return fill


def _fill_all(value: Any, fill: _Filler) -> Any:
    if isinstance(value, list):
        items = cast("list[Any]", value)
        filled = [_fill_all(item, fill) for item in items]
        return items if all(map(is_, filled, items)) else filled
    return fill(cast("dict[str, Any]", value)) if isinstance(value, dict) else value


def _parts(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of."""
    inner = get_args(annotation)
    if inner:
        for one in inner:
            yield from _parts(one)
    elif annotation is not NoneType:
        yield annotation
