"""Data of events for tests: what a test says nothing of is there all the same, as empty as its type lets it be."""

from typing import Any, Literal, get_args, get_origin

from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.wire import Wire


def whole(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """The data of an event with every key that its type has and that is not absent; of an unknown type as it is."""
    return filled(EVENT_TYPES[kind], data) if kind in EVENT_TYPES else data


def filled(model: type[Wire], data: dict[str, Any]) -> dict[str, Any]:
    """A value of the wire, such as an open item, with every key that it has and that is not absent."""
    given = dict(data)
    for name, field in model.model_fields.items():
        key = field.serialization_alias or name
        if key in given:
            given[key] = _within(field.annotation, given[key])
        elif field.is_required():
            given[key] = _empty(field.annotation)
        elif (default := field.get_default(call_default_factory=True)) is not None:
            given[key] = default.to_wire() if isinstance(default, Wire) else default
    return given


def _within(annotation: Any, value: Any) -> Any:
    """A value with what is missing in the objects in it."""
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        return filled(annotation, value) if isinstance(value, dict) else value
    for part in get_args(annotation):
        if isinstance(value, list) and get_origin(annotation) is list:
            value = [_within(part, one) for one in value]
        elif get_origin(annotation) not in {list, dict, Literal}:
            value = _within(part, value)
    return value


def _empty(annotation: Any) -> Any:
    if get_origin(annotation) is Literal:
        return get_args(annotation)[0]
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        return filled(annotation, {})
    if get_origin(annotation) is not None and get_origin(annotation) not in {list, dict}:
        return _empty(get_args(annotation)[0])
    return "" if annotation is Any else (get_origin(annotation) or annotation)()
