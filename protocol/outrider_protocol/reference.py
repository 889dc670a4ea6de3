"""The reference of the wire, generated from the models: `python -m outrider_protocol.reference > protocol/reference.md`.

What a key means is the docstring below it in its model, so a key is described in one place.
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from types import ModuleType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo

import outrider_protocol as names
from outrider_protocol import choices, script, settings
from outrider_protocol.commands import COMMANDS, REASONS
from outrider_protocol.events import EVENTS, EventData, tools, turn
from outrider_protocol.events import jobs as jobs_events
from outrider_protocol.notifications import Event, Frame, Left
from outrider_protocol.requests import REQUESTS
from outrider_protocol.settings import WORKSPACE, HookSettings, Limits, LimitsPatch, Settings, WorkspaceFile
from outrider_protocol.wire import Wire

_HEAD = """# Reference

Generated from the models in `outrider_protocol` by `python -m outrider_protocol.reference`: do not edit. How it all works together
is on the [pages beside it](README.md#contents). The same as JSON Schema is in [`schema.json`](schema.json).

`?` after a key means that it may be absent. An absent key has its default, where the text names one.

[Commands](#commands) · [Errors](#errors) · [Notifications](#notifications) · [Requests to the client](#requests-to-the-client) ·
[Settings](#settings) · [Events](#events) · [How a turn ends](#how-a-turn-ends) · [Titles](#titles) · [Values](#values) ·
[Words](#words) · [Script](#script)
"""

_COMMON = {
    "session_id": "The session.",
    "turn_id": "The turn.",
    "call_id": "The tool call.",
    "change_id": "The change.",
    "job_id": "The job.",
    "path": "The file, relative to the workspace.",
    "model": "The model.",
    "purpose": "What the request is for: `main`, `summary`, `compaction` or `title`.",
}
"""What these keys mean wherever a model says nothing else."""

_ALIASES: dict[str, ModuleType] = {
    "Outcome": turn, "Phase": turn, "Mode": choices, "Decision": tools, "ToolStatus": tools, "JobStatus": jobs_events,
    "PermissionMode": choices, "Effect": choices, "ProviderKind": choices, "ToolFormat": settings, "EditFormat": choices,
}  # fmt: skip
"""Sets of words that several keys share."""

_JSON: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", Any: "any"}

_ELSEWHERE: dict[type[Wire], str] = {
    LimitsPatch: "[limits](#settings)",
    Limits: "[limits](#settings)",
    HookSettings: "[hooks](#settings)",
    Event: f"[{names.EVENT_NOTIFICATION}](#outriderevent)",
}
"""Models that have no section of their own among the values."""


def render() -> str:
    """Give the text of `protocol/reference.md`."""
    values: dict[type[Wire], None] = {}
    parts = [
        _HEAD, *_commands(values), *_errors(), *_notifications(values), *_requests(values), *_settings(), *_events(values),
        *_ends(), *_titles(), *_values(values), *_words(), *_script(),
    ]  # fmt: skip
    return "\n".join(parts)


def field_docs(model: type[Wire]) -> dict[str, str]:
    """Give what each key of a model means, by the name of its field; an undocumented one is not in it."""
    found = {name: _COMMON[name] for name in model.model_fields if name in _COMMON}
    for base in reversed(model.__mro__):
        if base is not Wire and issubclass(base, Wire):
            found |= _own_docs(base)
    return found


def nested(model: type[Wire]) -> set[type[Wire]]:
    """Give the models that a model is made of, at any depth."""
    found: set[type[Wire]] = set()
    waiting = [model]
    while waiting:
        for field in waiting.pop().model_fields.values():
            new = set(_models_in(field.annotation)) - found
            found |= new
            waiting += new
    return found


@cache
def _own_docs(model: type[Wire]) -> dict[str, str]:
    (tree,) = ast.parse(inspect.getsource(model)).body
    return dict(_documented(cast("ast.ClassDef", tree).body))


def constant_docs(module: ModuleType) -> dict[str, str]:
    """Give the docstrings below the constants of a module."""
    return dict(_documented(ast.parse(inspect.getsource(module)).body))


def _documented(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for row, below in pairwise(body):
        target = (
            row.target
            if isinstance(row, ast.AnnAssign)
            else row.targets[0]
            if isinstance(row, ast.Assign)
            else None
        )
        match below:
            case ast.Expr(ast.Constant(str() as text)) if isinstance(target, ast.Name):
                yield target.id, " ".join(text.split())
            case _:
                pass


# --- sections ------------------------------------------------------------------------------------------------


def _commands(values: dict[type[Wire], None]) -> Iterator[str]:
    yield "\n## Commands\n\nAll are `workspace/executeCommand`. `arguments` holds one object, the params; without required keys it may be left out.\n"
    shown: dict[type[Wire], str] = {}
    for row in COMMANDS.values():
        yield f"### `{row.name}`\n\n{row.summary} {_doc(row.params)}\n"
        for caption, model in (("Params", row.params), ("Result", row.result)):
            if model in shown or model in values:
                yield f"{caption}: as {shown.get(model) or _link(model)}.\n"
            elif model.model_fields:
                shown[model] = f"of [`{row.name}`](#{_slug(row.name)})"
                yield from _keys(model, values, caption=f"{caption}:\n", sends=caption == "Result")


def _errors() -> Iterator[str]:
    yield "## Errors\n\n| code | name | data | when |\n|---|---|---|---|"
    yield f"| −{-names.INVALID_PARAMS} | InvalidParams | `path`, `problem` | The params are wrong. `path` is the place, such as `limits.steps`; empty for the whole. |"
    yield f"| −{-names.REQUEST_FAILED} | RequestFailed | `reason` | It cannot be done. `message` says why; `reason` is one of the table below. |"
    yield f"| −{-names.REQUEST_CANCELLED} | RequestCancelled | – | The client cancelled an `outrider.wait`. A cancel does not end other commands. |"
    yield "\n| reason | meaning |\n|---|---|"
    yield from (f"| `{reason}` | {meaning} |" for reason, meaning in REASONS.items())
    yield "\nThe other errors are those of JSON-RPC and LSP. Null is never an answer to a command.\n"


def _notifications(values: dict[type[Wire], None]) -> Iterator[str]:
    yield "## Notifications\n\nOnly to a client that set `events: true`.\n"
    sent = (
        (names.EVENT_NOTIFICATION, Event),
        (names.STREAM_NOTIFICATION, Frame),
        (names.LEFT_NOTIFICATION, Left),
    )
    for name, model in sent:
        yield f"### `{name}`\n\n{_doc(model)}\n"
        yield from _keys(model, values, sends=True)


def _requests(values: dict[type[Wire], None]) -> Iterator[str]:
    yield "## Requests to the client\n"
    for name, (params, result) in REQUESTS.items():
        yield f"### `{name}`\n\n{_doc(params)} {_doc(result)}\n"
        yield from _keys(params, values, caption="Params:\n", sends=True)
        yield from _keys(result, values, caption="Result:\n")


def _settings() -> Iterator[str]:
    yield "## Settings\n"
    yield "*workspace* says what counts from `workspace/configuration`, which a repository may have written. `–` as default: absent.\n"
    yield "| key | type | default | workspace | meaning |\n|---|---|---|---|---|"
    yield from _setting_rows(Settings, "")
    yield f"\n### `.outrider/settings.toml`\n\n{_doc(WorkspaceFile)}\n\n| key | type | meaning |\n|---|---|---|"
    docs = field_docs(WorkspaceFile)
    for name, field in WorkspaceFile.model_fields.items():
        yield f"| `{_key(name, field)}` | {_field_type(field, {})} | {docs[name]} |"
    yield ""


def _setting_rows(model: type[Wire], prefix: str) -> Iterator[str]:
    docs = field_docs(model)
    for name, field in model.model_fields.items():
        key = f"{prefix}{_key(name, field)}"
        inner = next(iter(_models_in(field.annotation)), None)
        container = get_origin(field.annotation)
        default = _default(field)
        if inner is not None and container not in {dict, list}:
            kind, default = "object", "see below"
        elif inner is not None:
            kind = "list of objects" if container is list else "object"
        else:
            kind = _field_type(field, {})
        top = key.partition(".")[0].partition("[")[0]
        workspace = WORKSPACE.get(key, WORKSPACE.get(top, "no"))
        yield f"| `{key}` | {kind} | {default} | {workspace} | {docs.get(name, '')} |"
        if inner is not None:
            between = {dict: ".<name>.", list: "[]."}.get(cast("type", container), ".")
            yield from _setting_rows(inner, f"{key}{between}")


def _events(values: dict[type[Wire], None]) -> Iterator[str]:
    secrets = _type(EventData.model_fields["secrets"].annotation, values)
    yield "## Events\n\nThe `type` of an [outrider/event](#outriderevent), and its `data`.\n"
    yield f"Any event may have `secrets?`, a {secrets}. {field_docs(EventData)['secrets']}\n"
    for event in EVENTS:
        yield f"### `{event.TYPE}`\n\n{_doc(event)}\n"
        yield from _keys(event, values)


def _ends() -> Iterator[str]:
    yield "## How a turn ends\n\n| outcome | reason |\n|---|---|"
    yield from (f"| `{outcome}` | {reasons} |" for outcome, reasons in turn.REASONS_OF_OUTCOMES.items())
    yield ""


def _titles() -> Iterator[str]:
    yield "## Titles\n\nWhat buttons say. Answers are matched by these texts, never by their place.\n\n| title | meaning |\n|---|---|"
    docs = constant_docs(names)
    yield from (f"| `{getattr(names, name)}` | {docs[name]} |" for name in names.TITLES)
    yield ""


def _values(values: dict[type[Wire], None]) -> Iterator[str]:
    yield "## Values\n"
    given = {model for row in COMMANDS.values() for model in nested(row.params)}
    done: set[type[Wire]] = set()
    # A value may hold values, which join the list while it is written.
    while waiting := [model for model in values if model not in done]:
        for model in waiting:
            done.add(model)
            if model not in _ELSEWHERE and model not in EVENTS:
                yield f"### {_title(model)}\n\n{_doc(model)}\n"
                yield from _keys(model, values, sends=model not in given)


def _words() -> Iterator[str]:
    yield "## Words\n\n| name | values | meaning |\n|---|---|---|"
    for name, module in _ALIASES.items():
        words = ", ".join(f"`{word}`" for word in get_args(getattr(module, name)))
        yield f"| {name} | {words} | {constant_docs(module)[name]} |"
    yield ""


def _script() -> Iterator[str]:
    yield "## Script\n\nThe file of `scripted:PATH`. Its keys are snake_case, but `usage` is a [Usage](#usage).\n"
    done: set[type[Wire]] = set()
    waiting: list[type[Wire]] = [script.Script]
    while waiting:
        model = waiting.pop(0)
        if model in done:
            continue
        done.add(model)
        inner: dict[type[Wire], None] = {}
        heading = "" if model is script.Script else f"### {_title(model)}\n\n"
        yield f"{heading}{_doc(model)}\n"
        yield from _keys(model, inner)
        waiting += [one for one in inner if issubclass(one, script.ScriptWire)]


# --- tables --------------------------------------------------------------------------------------------------


def _keys(
    model: type[Wire], values: dict[type[Wire], None], *, caption: str = "", sends: bool = False
) -> Iterator[str]:
    """A line per key. `sends`: the server writes it, so a key with a default other than None is always there."""
    base = model.__mro__[1]
    if caption:
        yield caption
    if issubclass(base, Wire) and base not in {Wire, EventData, script.ScriptWire}:
        values.setdefault(base)
        yield f"- The keys of {_link(base)}."
    docs = field_docs(model)
    for name, field in _own_fields(model):
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        always = field.is_required() or (sends and default is not None)
        meaning = docs.get(name, "")
        if not always and default not in (None, [], "", {}):
            meaning += f" Default {_default(field)}."
        yield f"- `{_key(name, field)}{'' if always else '?'}` {_field_type(field, values)}: {meaning}"
    yield ""


def _own_fields(model: type[Wire]) -> list[tuple[str, FieldInfo]]:
    base = model.__mro__[1]
    inherited = base.model_fields if issubclass(base, Wire) else {}
    return [(name, field) for name, field in model.model_fields.items() if name not in inherited]


def _key(name: str, field: FieldInfo) -> str:
    return field.serialization_alias or field.alias or name


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True)
    if default is None:
        return "–"
    if hasattr(default, "isoformat"):
        default = default.isoformat().replace("+00:00", "Z")
    shown = str(default).lower() if isinstance(default, bool) else str(default)
    return f'`"{default}"`' if isinstance(default, str) else f"`{shown}`"


def _doc(model: type[Wire]) -> str:
    return " ".join(inspect.cleandoc(model.__doc__ or "").split())


def _title(model: type[Wire]) -> str:
    return model.__name__.removeprefix("Wire")


def _link(model: type[Wire]) -> str:
    title: str = getattr(model, "TYPE", _title(model))
    return _ELSEWHERE.get(model) or f"[{title}](#{_slug(title)})"


def _slug(heading: str) -> str:
    return heading.lower().replace(".", "").replace("/", "")


def _field_type(field: FieldInfo, values: dict[type[Wire], None]) -> str:
    return _type(field.annotation, values) + _bounds(field.metadata)


def _type(annotation: Any, values: dict[type[Wire], None]) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(parts[0], values) + _bounds(parts[1:])
    for name, module in _ALIASES.items():
        if annotation == getattr(module, name):
            return f"[{name}](#words)"
    if origin is Literal:
        return ", ".join(f"`{part}`" for part in parts)
    if origin in {Union, UnionType}:
        shown = dict.fromkeys(_type(part, values) for part in parts if part is not NoneType)
        return " or ".join(shown)
    if origin is list:
        return f"list of {_type(parts[0], values)}"
    if origin is dict:
        return "object" if parts[1] in {str, int, Any} else f"object of {_type(parts[1], values)}"
    for model in _models_in(annotation):
        values.setdefault(model)
        return _link(model)
    return _JSON.get(annotation, "date and time")


def _bounds(metadata: Iterable[Any]) -> str:
    shown = ""
    for bound in metadata:
        match bound:
            case Ge(ge=least):
                shown += f" ≥ {least}"
            case Gt(gt=least):
                shown += f" > {least}"
            case Le(le=most):
                shown += f" ≤ {most}"
            case _:
                shown += "".join(_bounds(cast("Iterable[Any]", getattr(bound, "metadata", ()))))
    return shown


def _models_in(annotation: Any) -> Iterator[type[Wire]]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


if __name__ == "__main__":
    sys.stdout.write(render())
