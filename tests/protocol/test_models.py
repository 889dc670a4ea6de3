"""What the models of the wire keep: every value there and back, camelCase, absent instead of null."""

import math
import re
import subprocess
import sys
from datetime import UTC
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, ValidationError

from outrider_protocol import COMMAND_NAMES, choices, commands, events, notifications, script, settings
from outrider_protocol.wire import Wire


def is_model(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Wire)


MODELS: list[type[Wire]] = sorted(
    {
        value
        for module in (commands, events, notifications, script, settings)
        for value in vars(module).values()
        if is_model(value)
        and value not in {Wire, events.EventData, events.EditEvent, events.ChangeEvent, script.ScriptWire}
    },
    key=lambda model: model.__name__,
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


def strategy(annotation: Any, metadata: list[Any]) -> st.SearchStrategy[Any]:
    """Values that a field takes, by what the models are made of."""
    if hasattr(annotation, "__metadata__"):
        inner = [bound for given in annotation.__metadata__ for bound in getattr(given, "metadata", [given])]
        return strategy(annotation.__origin__, [*inner, *metadata])
    origin, parts = get_origin(annotation), get_args(annotation)
    limits = {
        name: getattr(bound, name)
        for bound in metadata
        for name in ("ge", "gt", "le")
        if hasattr(bound, name)
    }
    shortest = max((getattr(bound, "min_length", 0) or 0 for bound in metadata), default=0)
    pattern = next((bound.pattern for bound in metadata if getattr(bound, "pattern", None)), None)
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is list:
        return st.lists(strategy(parts[0], []), max_size=2)
    if origin is dict:
        return st.dictionaries(st.text(max_size=3), strategy(parts[1], []), max_size=2)
    if parts:
        return st.one_of(*(strategy(part, metadata) for part in parts))
    if is_model(annotation):
        return instances(annotation)
    if annotation is str and pattern:
        samples = ("MY_KEY", "_", "https://models.example/v1", "http://localhost:8000", "755", "~/notes")
        return st.sampled_from([sample for sample in samples if re.search(pattern, sample)])
    plain: dict[Any, st.SearchStrategy[Any]] = {
        str: st.text(min_size=shortest, max_size=5),
        bool: st.booleans(),
        int: st.integers(limits.get("ge", 0), limits.get("le", 2**53)),
        float: st.floats(
            limits.get("ge", limits.get("gt", 0)) + (0.5 if "gt" in limits else 0), limits.get("le", 1e9)
        ),
        AwareDatetime: st.datetimes(timezones=st.just(UTC)),
        type(None): st.none(),
    }
    return plain.get(annotation, json_values)


def instances(model: type[Wire]) -> st.SearchStrategy[Wire]:
    fields = {name: strategy(field.annotation, field.metadata) for name, field in model.model_fields.items()}

    def build(values: dict[str, Any]) -> Wire | None:
        try:
            return model(**values)
        except ValidationError as error:
            # Models whose fields exclude each other say so with a validator of the whole.
            assert all(found["type"] == "value_error" for found in error.errors()), error
            return None

    return st.fixed_dictionaries(fields).map(build).filter(lambda value: value is not None)  # type: ignore[return-value]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_every_value_comes_back_as_it_went(model: type[Wire]) -> None:
    @hypothesis_settings(max_examples=30)
    @given(value=instances(model))
    def there_and_back(value: Wire) -> None:
        wire = value.to_wire()
        assert model.from_wire(wire) == value
        assert not any(own is None for own in wire.values())

    there_and_back()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_keys_are_those_of_the_wire_and_no_others(model: type[Wire]) -> None:
    snake = issubclass(model, script.ScriptWire)
    for name, field in model.model_fields.items():
        key = field.serialization_alias or field.alias or name
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*" if snake else r"[a-z]+([A-Z][a-z]+)*", key), key
    with pytest.raises(ValidationError, match="Extra inputs"):
        model.from_wire({"noSuchKey": 1})


def test_names_of_the_source_are_no_keys_of_the_wire() -> None:
    assert events.Usage(input_tokens=3).to_wire() == {"inputTokens": 3, "outputTokens": 0}
    with pytest.raises(ValidationError):
        events.Usage.from_wire({"input_tokens": 3})
    with pytest.raises(ValidationError):
        commands.RunParams.from_wire({"prompt": "go", "limits": {"ask_seconds": 3}})


def test_what_is_absent_is_left_out_at_every_depth() -> None:
    item = events.Open(id="open_1", kind="question", turn_id="turn_1", title="Which?")
    wire = events.TurnParked(open=[item]).to_wire()
    assert wire == {
        "open": [
            {"id": "open_1", "kind": "question", "turnId": "turn_1", "title": "Which?", "detail": "",
             "options": [], "allowFreeForm": False}
        ]
    }  # fmt: skip


@pytest.mark.parametrize("wrong", ["3", True, 3.0, None, math.nan, math.inf, [3]])
def test_a_number_is_a_number(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        settings.Limits.from_wire({"steps": wrong})


def test_values_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        events.Usage().input_tokens = 3  # type: ignore[misc]


def test_the_tables_are_whole() -> None:
    assert tuple(commands.COMMANDS) == COMMAND_NAMES
    declared = {
        value
        for value in vars(events).values()
        if isinstance(value, type) and issubclass(value, events.EventData) and "TYPE" in vars(value)
    }
    assert declared == set(events.EVENTS)
    assert len(events.EVENT_TYPES) == len(events.EVENTS), "two events have one type"
    assert set(settings.LimitsPatch.model_fields) == set(settings.Limits.model_fields)
    for name, field in settings.Limits.model_fields.items():
        patched: BaseModel = settings.LimitsPatch(**{name: field.default})
        assert getattr(patched, name) == field.default
    assert set(get_args(choices.PermissionMode)) == set(choices.PERMISSION_MODES)


def test_importing_the_package_loads_nothing_else() -> None:
    # `-S` and `-I`: nothing of the site, so that what is loaded is what the package wants.
    program = (
        "import sys; before = set(sys.modules); sys.path.insert(0, sys.argv[1]); import outrider_protocol;"
        "print(*sorted(set(sys.modules) - before))"
    )
    folder = str(Path(commands.__file__).parents[1])
    found = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, folder],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    loaded = set(found.stdout.split())
    # `typing` is of the standard library, and what it needs itself.
    standard = {name for name in loaded if name.partition(".")[0] in sys.stdlib_module_names}
    assert loaded - standard == {"outrider_protocol"}
    assert not standard & {"pathlib", "json", "asyncio", "inspect", "dataclasses", "datetime"}
