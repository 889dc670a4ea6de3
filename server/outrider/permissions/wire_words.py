"""Words that the wire has a meaning for, collected from its models: a person called like one hides nothing by it."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

from outrider.ports.model import FailureKind, FinishReason, Role
from outrider_protocol.commands import StatusResult
from outrider_protocol.events import EVENT_TYPES
from outrider_protocol.settings import Settings
from outrider_protocol.wire import Wire

_FREE = ("outrider", "main", "summary", "cancelled")
"""Words that stand where a model says only that it is a text."""
_SCHEMA = (
    "type", "properties", "required", "description", "default", "items", "enum",
    "object", "array", "string", "integer", "number", "boolean", "null",
)  # fmt: skip
"""JSON Schema, of which definitions of tools are made."""


@cache
def wire_words() -> frozenset[str]:
    """Values and keys of events and settings, as they are written."""
    found = {*_FREE, *_SCHEMA, *get_args(Role), *get_args(FinishReason), *get_args(FailureKind), *EVENT_TYPES}
    seen: set[type[Wire]] = set()
    for model in (*EVENT_TYPES.values(), Settings, StatusResult):
        found.update(_words_of(model, seen))
    return frozenset(found)


@cache
def parts_of_wire_words() -> frozenset[str]:
    """The words in them, without regard to case: `limits.steps` has two."""
    return frozenset(part.casefold() for word in wire_words() for part in re.findall(r"\w+", word))


def _words_of(model: type[Wire], seen: set[type[Wire]]) -> Iterator[str]:
    if model in seen:
        return
    seen.add(model)
    for name, field in model.model_fields.items():
        yield field.serialization_alias or name
        yield from _words_in(field.annotation, seen)


def _words_in(annotation: Any, seen: set[type[Wire]]) -> Iterator[str]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield from _words_of(annotation, seen)
    elif get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
    else:
        for part in get_args(annotation):
            yield from _words_in(part, seen)
