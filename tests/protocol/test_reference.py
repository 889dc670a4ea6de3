"""The reference is the generated one; it describes all there is on the wire, and what it says is so."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from wire_page import FOLDER, REFERENCE, Page, anchors, read_page

import outrider_protocol as names
from outrider_protocol import commands, events, export, notifications, reference, requests, script, settings
from outrider_protocol.events import jobs, tools, turn
from outrider_protocol.wire import Wire

SERVER = Path(__file__).resolve().parents[2] / "server" / "outrider"


@pytest.fixture(scope="module")
def page() -> Page:
    return read_page(REFERENCE)


def test_the_file_is_what_the_models_give() -> None:
    assert (FOLDER / REFERENCE).read_text(encoding="utf-8") == reference.render(), (
        "run: python -m outrider_protocol.reference > protocol/reference.md"
    )


def all_models() -> set[type[Wire]]:
    tops: set[type[Wire]] = {
        settings.Settings,
        script.Script,
        export.Export,
        notifications.Event,
        notifications.Frame,
        notifications.Left,
    }
    tops |= {model for row in commands.COMMANDS.values() for model in (row.params, row.result)}
    tops |= {model for both in requests.REQUESTS.values() for model in both} | set(events.EVENTS)
    return tops | {inner for model in tops for inner in reference.nested(model)}


def test_every_key_of_the_wire_is_described() -> None:
    for model in all_models() - {settings.LimitsPatch}:  # its keys are those of `limits`
        described = {name for name, text in reference.field_docs(model).items() if text.strip()}
        assert set(model.model_fields) - described == set(), model.__name__
        assert model.__doc__, model.__name__


def test_every_command_is_listed_with_its_params_and_result(page: Page) -> None:
    assert set(names.COMMAND_NAMES) == set(commands.COMMANDS)
    shown: dict[type[Wire], str] = {}
    for row in commands.COMMANDS.values():
        for caption, model in (("Params", row.params), ("Result", row.result)):
            if f"\n{caption}: as " in page.section(row.name):
                before = shown.get(model)
                as_ = f"of [`{before}`](#" if before else f"[{model.__name__}](#"
                assert f"\n{caption}: as {as_}" in page.section(row.name), row.name
                check_keys(
                    page.keys(*((before, caption) if before else (model.__name__,))),
                    model,
                    sends=caption == "Result",
                )
            else:
                check_keys(page.keys(row.name, caption), model, sends=caption == "Result")
                shown[model] = row.name


def test_every_default_and_bound_of_a_param_is_said(page: Page) -> None:
    for row in commands.COMMANDS.values():
        lines = page.keys(row.name, "Params")
        for name, field in own_fields(row.params):
            if lines and not field.is_required() and field.default is not None:
                shown = str(field.default).lower() if isinstance(field.default, bool) else field.default
                assert re.search(rf'Default `"?{shown}"?`', lines[f"{key(name, field)}?"]), (
                    f"{row.name}, {name}"
                )


def test_every_value_is_listed(page: Page) -> None:
    used = {
        inner
        for row in commands.COMMANDS.values()
        for inner in reference.nested(row.params) | reference.nested(row.result)
    }
    used |= {inner for event in events.EVENTS for inner in reference.nested(event)}
    given = {inner for row in commands.COMMANDS.values() for inner in reference.nested(row.params)}
    for model in used - {notifications.Event, settings.Limits, settings.LimitsPatch} - set(events.EVENTS):
        title = model.__name__.removeprefix("Wire")
        check_keys(page.keys(title), model, sends=model not in given)
        for literal in own_literals(model):
            assert f"`{literal}`" in page.section(title) or "](#words)" in page.section(title), (
                f"{title}: {literal}"
            )


def test_every_setting_is_described_with_its_default(page: Page) -> None:
    documented = {quoted(row["key"])[0]: row for row in page.table("Settings", "key").rows}
    expected = dict(setting_keys(settings.Settings, ""))
    assert documented.keys() == expected.keys()
    for path, field in expected.items():
        row = documented[path]
        if is_object(field):
            continue
        if field.is_required():
            assert row["default"] == "required", path
        elif field.get_default(call_default_factory=True) is None:
            assert row["default"] == "–", path
        else:
            default = field.get_default(call_default_factory=True)
            shown = default.isoformat().replace("+00:00", "Z") if hasattr(default, "isoformat") else default
            assert json.loads(row["default"].strip("`")) == shown, path
        for literal in literals(field.annotation):
            assert f"`{literal}`" in row["type"] or "(#words)" in row["type"], f"{path}: {literal}"
        for bound in field.metadata:
            if (least := getattr(bound, "ge", getattr(bound, "gt", None))) is not None:
                assert re.search(rf"(≥|>|number) {least}\b", row["type"]), f"{path}: {row['type']}"


def test_what_the_page_lets_the_workspace_set_is_what_it_may_set(page: Page) -> None:
    from outrider.settings import narrowed

    base = settings.Settings.from_wire(
        {"providers": {"my": {"kind": "openai-chat", "baseUrl": "http://localhost/v1"}}, "model": "my/a"}
    )
    tried = {
        "model": "my/b",
        "permissionMode": "read-only",
        "limits": {"steps": 1},
        "events": True,
        "trusted": False,
        "fallbackModels": ["my/c"],
        "codeLens": False,
        "modelTitles": False,
        "recording": True,
        "models": {"my/a": {"vision": True}},
        "tiers": {"mid": ["my/c"]},
        "routing": {"by": "score"},
        "thinking": "high",
        "retry": {"attempts": 3},
        "verify": ["pytest"],
        "mcpServers": {"x": {"command": "y"}},
        "hooks": [{"on": "turnStart", "command": "x"}],
        "web": {"hosts": ["*"]},
        "memory": True,
        "skills": False,
        "reminders": False,
        "autonomy": "cautious",
        "providers": {},
        "stateDir": "/elsewhere",
        "store": {"keepDays": 1},
        "repositoryMap": {"enabled": False},
        "sandbox": "required",
        "commandEnvironment": ["DEPLOY_TOKEN"],
        "testing": {"ids": "sequential"},
        "languageServers": {"ruff": {"enabled": False}},
        "trialDiagnostics": "off",
        "tools": [{"name": "x", "description": "x", "inputSchema": {"type": "object"}, "effect": "read"}],
    }
    rows = {quoted(row["key"])[0]: row["workspace"] for row in page.table("Settings", "key").rows}
    assert tried.keys() == {path for path in rows if "." not in path}
    for name, value in tried.items():
        assert (narrowed(base, {name: value}).settings != base) == (rows[name] != "no"), name


def test_every_event_is_listed_with_its_data(page: Page) -> None:
    listed = re.findall(
        r"^### `([^`]+)`$", page.text.partition("\n## Events\n")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert listed == list(events.EVENT_TYPES)
    assert "Any event may have `secrets?`" in page.text
    for event in events.EVENTS:
        check_keys(page.keys(event.TYPE), event)
        for name, field in own_fields(event):
            line = next(
                text
                for listed, text in page.keys(event.TYPE).items()
                if listed.removesuffix("?") == key(name, field)
            )
            assert "(#words)" in line or all(f"`{word}`" in line for word in literals(field.annotation)), (
                f"{event.TYPE}: {name}"
            )


def test_every_notification_and_request_is_listed(page: Page) -> None:
    check_keys(page.keys(names.EVENT_NOTIFICATION), notifications.Event, sends=True)
    check_keys(page.keys(names.STREAM_NOTIFICATION), notifications.Frame, sends=True)
    check_keys(page.keys(names.LEFT_NOTIFICATION), notifications.Left, sends=True)
    assert set(requests.REQUESTS) == {
        names.TOOL_REQUEST, names.ASK_REQUEST, names.SAVE_REQUEST, names.LANGUAGE_REQUEST,
    }  # fmt: skip
    for request, (params, result) in requests.REQUESTS.items():
        check_keys(page.keys(request, "Params"), params, sends=True)
        check_keys(page.keys(request, "Result"), result)


def test_every_title_is_described(page: Page) -> None:
    titles = {getattr(names, name) for name in names.TITLES}
    assert [row["title"].strip("`") for row in page.table("Titles", "title").rows] == [
        getattr(names, name) for name in names.TITLES
    ]
    others = {
        *names.COMMAND_NAMES, names.EVENT_NOTIFICATION, names.STREAM_NOTIFICATION, names.LEFT_NOTIFICATION,
        names.TOOL_REQUEST, names.ASK_REQUEST, names.ASK_EXTENSION, names.SAVE_REQUEST, names.SAVE_EXTENSION, names.LANGUAGE_REQUEST, names.LANGUAGE_EXTENSION, names.CONFIGURATION_SECTION, names.TRUST_ITEM, names.ACTION_PREFIX, names.ACTION_KIND,
    }  # fmt: skip
    constants = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    assert constants == titles | others, "a constant is of no kind that this test knows"


def test_every_reason_of_an_error_is_described() -> None:
    assert set(commands.REASONS) == error_reasons()


def test_every_reason_of_an_end_is_described() -> None:
    from outrider.ports.model import FailureKind

    rows = turn.REASONS_OF_OUTCOMES
    assert rows.keys() == set(get_args(events.Outcome))
    every = {word for text in rows.values() for word in quoted(text)}
    # After `unread_calls` the model is asked again, so that no turn ends with it.
    assert set(get_args(FailureKind)) - every == {"unread_calls"}
    known = {*get_args(FailureKind), *reasons_of_finish()}
    assert set(quoted(rows["failed"])) <= known
    assert "model_refused" in known
    assert reasons_of_finish() <= every


def test_every_key_of_a_script_is_listed(page: Page) -> None:
    models: list[type[Wire]] = [
        model
        for model in vars(script).values()
        if isinstance(model, type) and issubclass(model, script.ScriptWire) and model is not script.ScriptWire
    ]
    for model in models:
        check_keys(page.keys(model.__name__), model)


def test_every_word_that_keys_share_is_listed(page: Page) -> None:
    for row in page.table("Words", "name").rows:
        words = next(
            get_args(value)
            for module in (settings, turn, tools, jobs)
            if (value := getattr(module, row["name"], None))
        )
        assert quoted(row["values"]) == list(words)


def test_no_two_headings_have_one_anchor() -> None:
    found = anchors(FOLDER / REFERENCE)
    assert len(found) == len(set(found)), sorted(one for one in found if found.count(one) > 1)


# --- what there is -------------------------------------------------------------------------------------------


def error_reasons() -> set[str]:
    """The reasons in the source: the type of refusals, and errors that commands raise themselves."""
    session = ast.parse((SERVER / "agent" / "session" / "session.py").read_text(encoding="utf-8"))
    reasons: set[str] = set()
    for node in ast.walk(session):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RefusedFor":
            reasons |= strings_in(node.value)
    assert reasons
    for path in (SERVER / "commands.py", *(SERVER / "lsp").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                for name, value in zip(node.keys, node.values, strict=True):
                    if isinstance(name, ast.Constant) and name.value == "reason":
                        reasons |= strings_in(value)
    return reasons


def reasons_of_finish() -> set[str]:
    """The reasons of `turn.finished` that the loop and the session give themselves."""
    from outrider.agent.loop.turn import FLAWS

    reasons = {repair.reason for repair in FLAWS.values()}
    for name in ("loop/turn.py", "session/session.py"):
        for node in ast.walk(ast.parse((SERVER / "agent" / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finish":
                reasons |= strings_in(node.args[1])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "self._ended_by":
                reasons |= strings_in(node.args[0])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "TurnFinished":
                given = next(word.value for word in node.keywords if word.arg == "reason")
                reasons |= strings_in(given)
    return reasons - {"cancelled"}


def strings_in(node: ast.AST) -> set[str]:
    return {
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def setting_keys(model: type[Wire], prefix: str) -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{key(name, field)}"
        yield path, field
        inner = next(iter(models_in(field.annotation)), None)
        if inner is not None:
            part = {dict: ".<name>.", list: "[]."}.get(get_origin(field.annotation), ".")
            yield from setting_keys(inner, f"{path}{part}")


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def key(name: str, field: FieldInfo) -> str:
    alias = field.serialization_alias or field.alias
    return alias or name


def own_fields(model: type[Wire]) -> list[tuple[str, FieldInfo]]:
    """The fields that are listed with a model; those of the model it extends are listed there."""
    base = model.__mro__[1]
    inherited = base.model_fields if issubclass(base, Wire) else {}
    return [(name, field) for name, field in model.model_fields.items() if name not in inherited]


def check_keys(listed: dict[str, str], model: type[Wire], *, sends: bool = False) -> None:
    """Compare listed keys with a model's; `sends`: a key with a default other than None is always there."""
    expected: list[str] = []
    for name, field in own_fields(model):
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        always = field.is_required() or (sends and default is not None)
        expected.append(key(name, field) if always else f"{key(name, field)}?")
    assert list(listed) == expected, model.__name__


def literals(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if get_origin(annotation) in {Union, UnionType}:
        return [value for part in get_args(annotation) for value in literals(part)]
    return []


def own_literals(model: type[Wire]) -> list[Any]:
    return [value for field in model.model_fields.values() for value in literals(field.annotation)]


def models_in(annotation: Any) -> Iterator[type[Wire]]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def is_object(field: FieldInfo) -> bool:
    return get_origin(field.annotation) not in {dict, list} and any(True for _ in models_in(field.annotation))
