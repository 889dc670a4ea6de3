"""The page names all there is on the wire, and nothing else."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from pydantic.fields import FieldInfo
from wire_page import Page, Table, read_page

import outrider_protocol as names
from outrider_protocol import commands, events, notifications, requests, script, settings
from outrider_protocol.wire import Wire

SERVER = Path(__file__).resolve().parents[2] / "server" / "outrider"

# Models whose keys the page lists as values, by the name the page gives them.
VALUES: dict[str, type[Wire]] = {
    "Usage": events.Usage,
    "Open": events.Open,
    "RulePattern": events.RulePattern,
    "NewRule": commands.NewRule,
    "RuleInfo": commands.RuleInfo,
    "Context": events.Context,
    "Selection": events.Selection,
    "Range": events.Range,
    "Position": events.Position,
    "Diagnostics": events.Diagnostics,
    "Limits": settings.LimitsPatch,
    "QueuedRun": commands.QueuedRun,
    "PendingSteering": commands.PendingSteering,
    "PlanItem": events.PlanItem,
    "SessionStatus": commands.SessionStatus,
    "ModelLatency": commands.ModelLatency,
    "Latency": events.Latency,
    "RouteCandidate": events.RouteCandidate,
    "FailedAttempt": events.FailedAttempt,
    "SessionSummary": commands.SessionSummary,
    "GoingFolder": events.GoingFolder,
    "TouchedFile": events.TouchedFile,
    "RenamedFile": events.RenamedFile,
    "NotSaved": events.NotSaved,
    "JobInfo": commands.JobInfo,
    "FolderTrust": commands.FolderTrust,
    "UndonePath": commands.UndonePath,
    "Conflict": commands.Conflict,
    "LeftOut": commands.LeftOut,
    "NotUndoable": commands.NotUndoable,
    "ChangeInfo": commands.ChangeInfo,
    "ChangedHunk": commands.ChangedHunk,
    "ModelInfo": commands.ModelInfo,
    "Price": settings.Price,
    "ToolInfo": commands.ToolInfo,
    "Check": commands.Check,
    "PromptSection": commands.PromptSection,
    "PromptMessage": commands.PromptMessage,
    "TrimmedPart": events.TrimmedPart,
    "ToolCall": events.WireToolCall,
    "ProviderData": events.WireProviderData,
    "Hunk": events.WireHunk,
    "ReviewedHunk": events.ReviewedHunk,
    "TurnSettings": events.TurnSettings,
    "WireImage": events.WireImage,
    "ReadText": events.ReadText,
    "Secret": events.Secret,
}
# Documented elsewhere on the page.
ELSEWHERE = {notifications.Event, settings.Limits}


@pytest.fixture(scope="module")
def page() -> Page:
    return read_page()


def test_every_command_is_described_with_its_params_and_result(page: Page) -> None:
    documented = [t.headings[-1] for t in page.tables if t.headings[1:2] == ("Commands",)]
    assert set(documented) == set(names.COMMAND_NAMES) == set(commands.COMMANDS)
    for row in commands.COMMANDS.values():
        for column, model in (("param", row.params), ("result", row.result)):
            if model.model_fields:
                table = page.table(row.name, column)
                check_keys(f"{row.name}, {column}", keys_of(table, column), model, sends=column == "result")
                check_literals(table, column, model)
            else:
                assert not [t for t in page.tables if t.headings[-1] == row.name and t.columns[0] == column]


def test_every_default_of_a_param_is_told(page: Page) -> None:
    for row in commands.COMMANDS.values():
        for name, field in row.params.model_fields.items():
            if not field.is_required() and field.default is not None:
                meaning = row_of(page.table(row.name, "param"), "param", key(name, field))["meaning"]
                assert re.search(rf"[Dd]efault `?{field.default}\b", meaning), (
                    f"{row.name}, {name}: {meaning}"
                )


def test_every_value_is_described(page: Page) -> None:
    table = page.table("Values", "value")
    assert {row["value"] for row in table.rows} == {*VALUES, "Outcome", "Phase"}
    for row in table.rows:
        if row["value"] in VALUES:
            model = VALUES[row["value"]]
            # Limits and Context come from the client; what the server sends has its lists always.
            sends = row["value"] not in {"Limits", "Context", "PlanItem", "NewRule"}
            check_keys(row["value"], quoted(row["keys"]), model, sends=sends)
            for literal in own_literals(model):
                if literal not in get_args(events.Phase):
                    assert f"`{literal}`" in row["meaning"], f"{row['value']}: {literal}"
    assert set(quoted(row_of(table, "value", "Outcome", bare=True)["meaning"])) == set(
        get_args(events.Outcome)
    )
    assert set(quoted(row_of(table, "value", "Phase", bare=True)["meaning"])) == set(get_args(events.Phase))


def test_no_model_of_the_wire_is_left_out(page: Page) -> None:
    used: set[type[Wire]] = set()
    for row in commands.COMMANDS.values():
        used |= nested(row.params) | nested(row.result)
    for event in events.EVENTS:
        used |= nested(event)
    assert used - ELSEWHERE - set(events.EVENTS) == set(VALUES.values())


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
            assert f"`{literal}`" in row["type"], f"{path}: {literal}"
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
        "providers": {},
        "stateDir": "/elsewhere",
        "store": {"keepDays": 1},
        "repositoryMap": {"enabled": False},
        "sandbox": "required",
        "commandEnvironment": ["DEPLOY_TOKEN"],
        "testing": {"ids": "sequential"},
        "tools": [{"name": "x", "description": "x", "inputSchema": {"type": "object"}, "effect": "read"}],
    }
    rows = {quoted(row["key"])[0]: row["workspace"] for row in page.table("Settings", "key").rows}
    assert tried.keys() == {path for path in rows if "." not in path}
    for name, value in tried.items():
        assert (narrowed(base, {name: value}).settings != base) == (rows[name] != "no"), name


def test_every_option_of_the_server_and_of_the_client_is_described(page: Page) -> None:
    serve = ast.parse((SERVER / "lsp" / "serve.py").read_text(encoding="utf-8"))
    options = {
        ast.literal_eval(node.args[0])
        for node in ast.walk(serve)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "parser.add_argument"
    }
    table = page.table("Starting the server", "option")
    assert {quoted(row["option"])[0].split()[0] for row in table.rows} == options
    server = ast.parse((SERVER / "lsp" / "server.py").read_text(encoding="utf-8"))
    (own,) = (
        node.value
        for node in ast.walk(server)
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "OWN_OPTIONS" and node.value
    )
    table = page.table("Starting the server", "option of the client")
    assert {quoted(row["option of the client"])[0] for row in table.rows} == set(ast.literal_eval(own))


def test_every_event_is_described_with_its_data(page: Page) -> None:
    table = page.table("Events", "type")
    assert [quoted(row["type"])[0] for row in table.rows] == list(events.EVENT_TYPES)
    elsewhere = (settings.PermissionMode, events.Mode, events.Phase, events.Outcome)
    told = [set(get_args(values)) for values in elsewhere]
    of_all = [f"{name}?" for name in events.EventData.model_fields]
    assert f"Any event may have `{'`, `'.join(of_all)}`" in page.text
    for row in table.rows:
        model = events.EVENT_TYPES[quoted(row["type"])[0]]
        check_keys(model.TYPE, [*quoted(row["data"]), *of_all], model)
        for name, field in model.model_fields.items():
            values = set(literals(field.annotation))
            # Told once, where the key comes first, or among the settings and values.
            if values and values not in told:
                assert values <= set(quoted(row["meaning"])), f"{model.TYPE}: {name}"
                told.append(values)


@pytest.mark.parametrize(
    ("name", "model"),
    [(names.EVENT_NOTIFICATION, notifications.Event), (names.STREAM_NOTIFICATION, notifications.Frame)],
)
def test_every_notification_is_described(page: Page, name: str, model: type[Wire]) -> None:
    sections = page.text.partition("\n## Notifications\n")[2].partition("\n## ")[0]
    _, marked, rest = sections.partition(f"\n`{name}` ")
    assert marked, f"{name} is not described"
    lines = rest[rest.index("| param") :].split("\n\n")[0].splitlines()[2:]
    check_keys(name, [quoted(line.split("|")[1])[0] for line in lines], model)
    for literal in own_literals(model):
        assert str(literal) in rest


def test_each_request_to_the_client_is_described(page: Page) -> None:
    sections = {
        names.TOOL_REQUEST: "Tools of the client",
        names.ASK_REQUEST: "Asking in the way of the client",
        names.SAVE_REQUEST: "Saving",
        names.DIAGNOSTICS_REQUEST: "Diagnostics of the editor",
    }
    assert sections.keys() == requests.REQUESTS.keys()
    for request, title in sections.items():
        for column, model in zip(("param", "result"), requests.REQUESTS[request], strict=True):
            table = page.table(title, column)
            check_keys(column, keys_of(table, column), model)
    section = page.text.partition("\n## Tools of the client\n")[2].partition("\n## ")[0]
    for bound in (settings.MOST_TOOLS, settings.SCHEMA_BYTES):
        assert str(bound) in section


def test_every_title_is_described(page: Page) -> None:
    titles = {
        names.ALLOW_ONCE, names.ALLOW_SESSION, names.ALWAYS_ALLOW, names.ALWAYS_HERE,
        names.ALWAYS_EVERYWHERE, names.ALWAYS_BACK, names.REVIEW, names.CHOOSE, names.REJECT,
        names.SAVE_AND_CONTINUE, names.RUN_WITHOUT_SAVING, names.SAVE_CANCEL,
        names.RUN_OUTSIDE, names.ANSWER_IN_DOCUMENT, names.KEEP_MINE, names.TAKE_THE_UNDO, names.TAKE_THE_REDO,
        names.OPEN_BOTH, names.TRUST_WORKSPACE, names.STAY_READ_ONLY,
    }  # fmt: skip
    assert {quoted(row["title"])[0] for row in page.table("Titles", "title").rows} == titles
    others = {
        *names.COMMAND_NAMES, names.EVENT_NOTIFICATION, names.STREAM_NOTIFICATION,
        names.TOOL_REQUEST, names.ASK_REQUEST, names.ASK_EXTENSION, names.SAVE_REQUEST, names.SAVE_EXTENSION, names.DIAGNOSTICS_REQUEST, names.DIAGNOSTICS_EXTENSION, names.CONFIGURATION_SECTION, names.TRUST_ITEM, names.ACTION_PREFIX, names.ACTION_KIND,
    }  # fmt: skip
    constants = {value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)}
    assert constants == titles | others, "a constant is of no kind that this test knows"


@pytest.mark.parametrize(
    ("module", "section"), [("actions.py", "Code actions"), ("task_actions.py", "The task document")]
)
def test_every_code_action_is_described(module: str, section: str, page: Page) -> None:
    table = page.table(section, "title")
    documented = {
        re.sub(r"“.*”", "“…”", quoted(row["title"])[0]): quoted(row["kind"])[0] for row in table.rows
    }
    made = {title.replace(" — …", " — <what>"): kind for title, kind in code_actions_made(module)}
    # Answers to open items begin with a title that is not known before.
    made = {title.replace("… — <", "<title> — <"): kind for title, kind in made.items()}
    assert documented == made
    assert f"`{names.ACTION_PREFIX}`" in page.text.partition("## Code actions")[2]


def test_every_tool_is_described_with_its_arguments(page: Page) -> None:
    from outrider.tools.all import own_tools

    tools = {tool.name: tool for tool in own_tools().offered(read_only=False)}
    table = page.table("Tools", "tool")
    assert [quoted(row["tool"])[0] for row in table.rows] == list(tools)
    for row in table.rows:
        tool = tools[quoted(row["tool"])[0]]
        schema = tool.spec().schema
        required = schema.get("required", [])
        expected = [name if name in required else f"{name}?" for name in schema["properties"]]
        assert quoted(row["arguments"]) == expected, tool.name
        assert row["effect"] == f"`{tool.effect}`", tool.name


def test_every_reason_of_an_error_is_described(page: Page) -> None:
    assert {quoted(row["reason"])[0] for row in page.table("Errors", "reason").rows} == set(error_reasons())
    codes = {row["code"].replace("−", "-"): row for row in page.table("Errors", "code").rows}
    assert {int(code) for code in codes} == {
        names.INVALID_PARAMS, names.REQUEST_FAILED, names.REQUEST_CANCELLED,
    }  # fmt: skip


def test_every_reason_of_an_end_is_described(page: Page) -> None:
    from outrider.ports.model import FailureKind

    rows = {quoted(row["outcome"])[0]: row["reason"] for row in page.table("Events", "outcome").rows}
    assert rows.keys() == set(get_args(events.Outcome))
    below = page.text.partition("\n| outcome | reason |")[2].partition("\n## ")[0]
    assert set(get_args(FailureKind)) - set(quoted(below)) == set()
    known = {*get_args(FailureKind), *reasons_of_finish()}
    assert set(quoted(rows["failed"])) | set(quoted(rows["refused"])) <= known
    assert reasons_of_finish() <= set(quoted(below))


def test_every_key_of_a_script_is_described(page: Page) -> None:
    models: dict[str, type[Wire]] = {
        model.__name__: model
        for model in vars(script).values()
        if isinstance(model, type) and issubclass(model, script.ScriptWire) and model is not script.ScriptWire
    }
    table = page.table("Script", "object")
    assert {row["object"] for row in table.rows} == models.keys()
    for row in table.rows:
        model = models[row["object"]]
        check_keys(row["object"], quoted(row["keys"]), model)
        for literal in own_literals(model):
            assert f"`{literal}`" in row["meaning"], f"{row['object']}: {literal}"


def test_the_examples_are_valid(page: Page) -> None:
    example, whole = page.blocks("json")
    settings.Settings.from_wire(json.loads(example))
    played = script.Script.from_wire(json.loads(whole))
    assert [call.name for turn in played.turns for call in turn.tool_calls] == ["read_file", "edit_file"]


def test_the_messages_of_the_session_are_valid(page: Page) -> None:
    blocks = page.blocks("text")
    assert len(blocks) == 6, (
        "a review, a tool of the client, asking, saving, diagnostics, and a whole session"
    )
    for block in blocks:
        check_messages(block)


def check_messages(block: str) -> None:
    asked: dict[Any, dict[str, Any]] = {}
    replies: dict[Any, type[Wire]] = {}
    for line in block.splitlines():
        way, _, text = line.partition(" ")
        assert way in {"→", "←"}
        message = json.loads(text)
        assert message["jsonrpc"] == "2.0"
        params = message.get("params", {})
        match message.get("method"):
            case "workspace/executeCommand":
                (argument,) = params["arguments"]
                commands.COMMANDS[params["command"]].params.from_wire(argument)
                asked[message["id"]] = params
            case "initialize":
                options = params["initializationOptions"]
                settings.Settings.from_wire({key: options[key] for key in options if key != "extensions"})
            case str() as method if method in requests.REQUESTS:
                given, reply = requests.REQUESTS[method]
                given.from_wire(params)
                replies[message["id"]] = reply
            case None if message["id"] in replies:
                replies[message["id"]].from_wire(message["result"])
            case names.EVENT_NOTIFICATION:
                event = notifications.Event.from_wire(params)
                events.EVENT_TYPES[event.type].from_wire(event.data)
            case names.STREAM_NOTIFICATION:
                notifications.Frame.from_wire(params)
            case None if "error" in message:
                assert message["error"]["data"]["reason"] in error_reasons()
                del asked[message["id"]]
            case None if message["id"] in asked:
                commands.COMMANDS[asked.pop(message["id"])["command"]].result.from_wire(message["result"])
            case _:
                pass
    assert not asked, "a command of the session has no answer"


def test_every_link_leads_somewhere(page: Page) -> None:
    anchors = {
        re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").lower()).replace(" ", "-")
        for line in page.text.splitlines()
        if line.startswith("#")
    }
    folder = SERVER.parents[1] / "protocol"
    for target in re.findall(r"\]\(([^)]+)\)", page.text):
        assert (
            target.removeprefix("#") in anchors if target.startswith("#") else (folder / target).exists()
        ), target


# --- what there is -------------------------------------------------------------------------------------------


def error_reasons() -> set[str]:
    """The reasons in the source: the type of refusals, and errors that commands raise themselves."""
    session = ast.parse((SERVER / "agent" / "session.py").read_text(encoding="utf-8"))
    reasons: set[str] = set()
    for node in ast.walk(session):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RefusedFor":
            reasons |= strings_in(node.value)
    assert reasons
    for path in (SERVER / "lsp").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                for name, value in zip(node.keys, node.values, strict=True):
                    if isinstance(name, ast.Constant) and name.value == "reason":
                        reasons |= {value.value} if isinstance(value, ast.Constant) else set()
    return reasons


def reasons_of_finish() -> set[str]:
    """The reasons of `turn.finished` that the loop and the session give themselves."""
    from outrider.agent.guards import FLAWS

    reasons = {repair.reason for repair in FLAWS.values()}
    for name in ("turn.py", "session.py"):
        for node in ast.walk(ast.parse((SERVER / "agent" / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Finish":
                reasons |= strings_in(node.args[1])
            elif isinstance(node, ast.Call) and ast.unparse(node.func) == "TurnFinished":
                given = next(word.value for word in node.keywords if word.arg == "reason")
                reasons |= strings_in(given)
    return reasons - {"cancelled"}


def code_actions_made(module: str) -> Iterator[tuple[str, str]]:
    """Title, its variable parts as …, and kind of each code action in a module."""
    source = ast.parse((SERVER / "lsp" / module).read_text(encoding="utf-8"))
    for node in ast.walk(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "action":
            title, kind = node.args[:2]
            if isinstance(title, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "…" for part in title.values]
                text = "".join(map(str, parts))
            else:
                text = ast.literal_eval(title)
            yield text, names.ACTION_KIND if ast.unparse(kind) == "ACTION_KIND" else ast.literal_eval(kind)


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


# --- what the page says --------------------------------------------------------------------------------------


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def keys_of(table: Table, column: str) -> list[str]:
    return [quoted(row[column])[0] for row in table.rows]


def row_of(table: Table, column: str, name: str, *, bare: bool = False) -> dict[str, str]:
    return next(
        row
        for row in table.rows
        if (row[column] if bare else quoted(row[column])[0].removesuffix("?")) == name
    )


# --- what the models say -------------------------------------------------------------------------------------


def key(name: str, field: FieldInfo) -> str:
    alias = field.serialization_alias or field.alias
    return alias or name


def check_keys(what: str, documented: list[str], model: type[Wire], *, sends: bool = False) -> None:
    """Compare documented keys with a model's; `sends`: a key with a default other than None is always there."""
    expected: list[str] = []
    for name, field in model.model_fields.items():
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        always = field.is_required() or (sends and default is not None)
        always |= model is notifications.Event and name == "v"
        expected.append(key(name, field) if always else f"{key(name, field)}?")
    assert sorted(documented) == sorted(expected), what


def check_literals(table: Table, column: str, model: type[Wire]) -> None:
    for name, field in model.model_fields.items():
        row = row_of(table, column, key(name, field))
        if {str(value) for value in literals(field.annotation)} >= set(get_args(events.Outcome)):
            assert "[Outcome](#values)" in row["type"]
        elif set(literals(field.annotation)) == set(get_args(events.Phase)):
            assert "[Phase](#values)" in row["type"]
        else:
            assert set(map(str, literals(field.annotation))) <= set(quoted(row["type"])), f"{model}: {name}"


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


def nested(model: type[Wire]) -> set[type[Wire]]:
    found: set[type[Wire]] = set()
    waiting = [model]
    while waiting:
        for field in waiting.pop().model_fields.values():
            for inner in models_in(field.annotation):
                if inner not in found:
                    found.add(inner)
                    waiting.append(inner)
    return found
