"""The types of `logged.pyi`, generated from the models of the events: `python -m outrider_protocol.stub > FILE`."""

import sys
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from outrider_protocol.events import EVENTS
from outrider_protocol.wire import Wire

_HEAD = """# Types of the data of events. Generated from the models by `python -m outrider_protocol.stub`: do not edit.
# A key with a default is always there: `log.from_old_log` fills it in where an earlier version left it out. What may be
# absent is `NotRequired`. `LoggedEvent` is an event inside the server, `WireEvent` one as an `outrider/event` has it.

from typing import Any, Generic, Literal, NotRequired, TypeAlias, TypedDict, TypeVar

from outrider_protocol.log import Logged

_D = TypeVar("_D")
_T = TypeVar("_T", bound=str)
_D_co = TypeVar("_D_co", covariant=True)
_T_co = TypeVar("_T_co", bound=str, covariant=True)
"""


def render() -> str:
    """Give the text of `logged.pyi`: a `TypedDict` for each model that stands in an event, and the union of all events."""
    done: dict[type[Wire], str] = {}
    for event in EVENTS:
        _define(event, done)
    base = "class _Event(Logged[_D_co], Generic[_D_co, _T_co]):\n    type: _T_co  # pyright: ignore[reportIncompatibleVariableOverride] -- frozen"
    wire = "class _Wire(TypedDict, Generic[_D, _T]):\n    v: Literal[1]\n    seq: int\n    ts: str\n    sessionId: str\n    turnId: NotRequired[str]\n    type: _T\n    data: _D"
    unions = [
        f"{name}: TypeAlias = (\n    {_union(of)}\n)"
        for name, of in (("LoggedEvent", "_Event"), ("WireEvent", "_Wire"))
    ]
    return "\n\n".join([_HEAD, *done.values(), base, wire, *unions]) + "\n"


def _union(generic: str) -> str:
    return "\n    | ".join(f'{generic}[{event.__name__}, Literal["{event.TYPE}"]]' for event in EVENTS)


def _define(model: type[Wire], done: dict[type[Wire], str]) -> None:
    """Add a model, after those that it is made of."""
    if model is Wire or model in done:
        return
    base = model.__mro__[1]
    if issubclass(base, Wire):
        _define(base, done)
    inherited = base.model_fields if issubclass(base, Wire) else {}
    rows: list[tuple[str, str]] = []
    for name, field in model.model_fields.items():
        if name in inherited:
            continue
        shown = _type(field.annotation, done)
        optional = not field.is_required() and field.get_default(call_default_factory=True) is None
        key = field.serialization_alias or field.alias or name
        rows.append((key, f"NotRequired[{shown}]" if optional else shown))
    bases = "TypedDict" if base is Wire else base.__name__
    text = ""
    if words := [
        row for row in rows if row[0] == "from"
    ]:  # a word of Python cannot be the name of an attribute
        text = f'_{model.__name__} = TypedDict("_{model.__name__}", {{"from": {words[0][1]}}})\n\n'
        bases = f"{bases}, _{model.__name__}".removeprefix("TypedDict, ")
    lines = [f"    {key}: {shown}" for key, shown in rows if key != "from"]
    done[model] = "\n".join([f"{text}class {model.__name__}({bases}):", *(lines or ["    pass"])])


def _type(annotation: Any, done: dict[type[Wire], str]) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0], done)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]".replace("'", '"')
    if origin in {Union, UnionType}:
        shown = dict.fromkeys(_type(part, done) for part in parts if part is not NoneType)
        return " | ".join(shown).replace("] | Literal[", ", ")
    if origin in {list, dict}:
        return f"{origin.__name__}[{', '.join(_type(part, done) for part in parts)}]"
    if annotation is Any:
        return "Any"
    if issubclass(annotation, Wire):
        _define(annotation, done)
    return annotation.__name__


if __name__ == "__main__":
    sys.stdout.write(render())
