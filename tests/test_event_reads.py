"""Data of events is read by its types: a wrong key is an error of the type checker, not of a log that is read years later."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from outrider_protocol.events import EVENTS

ROOT = Path(__file__).resolve().parents[1]
SERVER = ROOT / "server" / "outrider"

UNTYPED = frozenset(
    {
        "Any",
        "Object",
        "Data",
        "object",
        "dict[str, Any]",
        "Mapping[str, Any]",
        "Object | None",
        "dict[str, Any] | None",
    }
)
"""Annotations of values whose keys no type checker knows."""

OTHER_WIRE = {
    "lsp": "objects of LSP and results of commands",
    "models": "what providers send",
    "cli": "results of commands, and errors",
    "acp/slash.py": "results of commands",
    "ports/model.py": "messages as the log stores them",
    "testing/editor": "what a server under test sends, which may be anything",
    "testing/open_items.py": "events as a user's test has them, plain JSON",
    "testing/scenario_files/expectations.py": "events as a scenario file names them",
    "replay": "a log that is compared with another one, key by key",
    "testing/scenario_files/from_export.py": "the same log",
}
"""Where keys of that name are read from what is no event, or from any: the type checker has no say there."""


def keys() -> set[str]:
    """Keys of events that no other object has by chance: those of several words."""
    found = {field.serialization_alias or "" for event in EVENTS for field in event.model_fields.values()}
    return {key for key in found if key != key.lower()}


def untyped_reads(tree: ast.AST) -> list[tuple[int, str]]:
    """The places where a key of an event is read from a value that says nothing of its keys."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return sorted({read for scope in [*functions, tree] for read in _reads_in(scope)})


def _reads_in(scope: ast.AST) -> Iterator[tuple[int, str]]:
    nodes = list(ast.walk(scope)) if not isinstance(scope, ast.Module) else list(_outside_functions(scope))
    untyped = {
        target
        for node in nodes
        for target, annotation in _annotated(node)
        if annotation is not None and ast.unparse(annotation).strip("\"'") in UNTYPED
    }
    for node in nodes:
        match node:
            case ast.Subscript(value=holder, slice=ast.Constant(value=str(key)), ctx=ast.Load()):
                pass
            case ast.Call(
                func=ast.Attribute(value=holder, attr="get"), args=[ast.Constant(value=str(key)), *_]
            ):
                pass
            case _:
                continue
        while isinstance(holder, ast.Subscript):  # of an event as a whole its data
            holder = holder.value
        is_cast = isinstance(holder, ast.Call) and ast.unparse(holder.func) == "cast"
        if key in keys() and (is_cast or ast.unparse(holder) in untyped):
            yield node.lineno, key


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from _outside_functions(child)


def _annotated(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    match node:
        case ast.arg(arg=name, annotation=annotation):
            yield name, annotation
        case ast.AnnAssign(target=target, annotation=annotation):
            yield ast.unparse(target), annotation
        case _:
            pass


def modules() -> list[Path]:
    return [
        path
        for path in sorted(SERVER.rglob("*.py"))
        if not any(path.relative_to(SERVER).as_posix().startswith(place) for place in OTHER_WIRE)
    ]


def test_no_module_reads_an_event_by_strings_that_nothing_checks():
    found = [
        f"{path.relative_to(ROOT)}:{line}: {key}"
        for path in modules()
        for line, key in untyped_reads(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "type the value as one of outrider_protocol.logged"


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ('def f(data: dict[str, Any]):\n    return data["callId"]', [(2, "callId")]),
        ('def f(event: Object):\n    return event["data"].get("changeId")', [(2, "changeId")]),
        ('x = cast("Any", event.data)["messageId"]', [(1, "messageId")]),
        ('def f(data: logged.ToolFinished):\n    return data["callId"]', []),
        ('def f(data: dict[str, Any]):\n    return data["text"], data.get("prompt")', []),
    ],
)
def test_the_guard_finds_what_it_is_to_find(written, found):
    assert list(untyped_reads(ast.parse(written))) == found


def test_optional_keys_that_are_read_are_keys_of_some_event():
    """A `TypedDict` gives `Any` for an unknown key of `get`, so here is what the type checker does not see."""
    known = {field.serialization_alias for model in EVENTS for field in model.model_fields.values()}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.args[0].value}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and ast.unparse(node.func.value).endswith(("event.data", "event['data']"))
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value not in known
    ]
    assert not found


WRONG = """
from outrider.ports.events import LoggedEvent
from outrider_protocol import logged

def fold(event: LoggedEvent, wire: logged.WireEvent) -> None:
    match event.type:
        case "tool.finished":
            print(event.data["callId"], event.data["exitCode"])
        case "edit.applied" | "edit.merged":
            print(event.data["path"], event.data["where"])
        case "turn.started":
            print(event.data["prompt"], event.data["context"])
        case _:
            pass
    if wire["type"] == "error":
        print(wire["data"]["message"], wire["data"]["text"])
"""


@pytest.mark.timeout(240)
def test_a_wrong_key_is_an_error_of_the_type_checker(tmp_path):
    """The example of `server/README.md`: each `print` has a right key first and a wrong one after it."""
    (tmp_path / "fold.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "pyrightconfig.json").write_text('{"strict": ["."]}', encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(tmp_path / "fold.py")],
        cwd=tmp_path, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    wrong = {line.split('"')[1] for line in run.stdout.splitlines() if "is not a" in line and '"' in line}
    assert wrong == {"exitCode", "where", "context", "text"}, run.stdout
