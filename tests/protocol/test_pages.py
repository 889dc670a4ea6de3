"""The pages of behaviour: what their tables and examples say is so, they are short, and every link leads somewhere."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from wire_page import BEHAVIOUR, FOLDER, REFERENCE, Page, anchors, read_page

import outrider_protocol as names
from outrider_protocol import commands, events, notifications, requests, script, settings
from outrider_protocol.events import turn
from outrider_protocol.wire import Wire

ROOT = FOLDER.parent
SERVER = ROOT / "server" / "outrider"
OTHERS = (
    "README.md",
    "editors/README.md",
    "editors/vscode/README.md",
    "editors/neovim/README.md",
    "server/README.md",
    "tests/README.md",
)
"""Pages that link to those of the protocol."""


@pytest.fixture(scope="module")
def page() -> Page:
    return read_page()


def test_the_pages_are_few_and_short(page: Page) -> None:
    assert {path.name for path in FOLDER.glob("*.md")} == {*BEHAVIOUR, REFERENCE}
    assert len(BEHAVIOUR) <= 5
    assert len(page.text.split()) <= 10_400


def test_every_option_of_the_server_and_of_the_client_is_described(page: Page) -> None:
    serve = ast.parse((SERVER / "lsp" / "options.py").read_text(encoding="utf-8"))
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


@pytest.mark.parametrize(
    ("module", "section"), [("code_actions.py", "Code actions"), ("task_actions.py", "The task document")]
)
def test_every_code_action_is_described(module: str, section: str, page: Page) -> None:
    table = page.table(section, "title")
    documented = {
        re.sub(r"“.*”", "“…”", quoted(row["title"])[0]): quoted(row["kind"])[0] for row in table.rows
    }
    made = {title.replace(" — …", " — <what>"): kind for title, kind in code_actions_made(module)}
    # Answers to open items begin with a title that is not known before.
    made = {title.replace("… — <", "<title> — <"): kind for title, kind in made.items()}
    # A note goes with any decision: the page tells of it in a sentence.
    for title in [title for title in made if title.startswith("…, ")]:
        assert title.removeprefix("…") in page.text
        del made[title]
    assert documented == made
    assert f"`{names.ACTION_PREFIX}`" in page.text.partition("## Code actions")[2]


def test_every_tool_is_described_with_its_arguments(page: Page) -> None:
    from outrider.tools.all import own_tools

    tools = {tool.name: tool for tool in own_tools().offered("agent")}
    table = page.table("Tools", "tool")
    assert [quoted(row["tool"])[0] for row in table.rows] == list(tools)
    for row in table.rows:
        tool = tools[quoted(row["tool"])[0]]
        schema = tool.spec().schema
        required = schema.get("required", [])
        expected = [name if name in required else f"{name}?" for name in schema["properties"]]
        assert quoted(row["arguments"]) == expected, tool.name
        assert row["effect"] == f"`{tool.effect}`", tool.name


def test_the_bounds_of_client_tools_are_right(page: Page) -> None:
    for bound in (settings.MOST_TOOLS, settings.SCHEMA_BYTES):
        assert str(bound) in page.section("Client tools")


def test_the_reasons_of_unusable_answers_are_those_of_the_loop(page: Page) -> None:
    from outrider.agent.loop.turn import FLAWS

    listed = {quoted(row["reason of the end"])[0] for row in page.table("Turns", "answer").rows}
    assert listed == {repair.reason for repair in FLAWS.values()} & listed
    assert listed <= set(quoted(turn.REASONS_OF_OUTCOMES["failed"]))


def test_every_kind_of_provider_says_how_it_is_told_to_think(page: Page) -> None:
    assert {quoted(row["kind"])[0] for row in page.table("Thinking", "kind").rows} == set(
        get_args(settings.ProviderKind)
    )


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


@pytest.mark.parametrize("name", [*OTHERS, *(f"protocol/{name}" for name in (*BEHAVIOUR, REFERENCE))])
def test_every_link_leads_somewhere(name: str) -> None:
    path = ROOT / name
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


# --- what there is -------------------------------------------------------------------------------------------


def error_reasons() -> set[str]:
    """The reasons in the source: the type of refusals, and errors that commands raise themselves."""
    session = ast.parse((SERVER / "agent" / "session" / "session.py").read_text(encoding="utf-8"))
    reasons: set[str] = set()
    for node in ast.walk(session):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RefusedFor":
            reasons |= strings_in(node.value)
    assert reasons
    for path in (SERVER / "lsp").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Dict):
                for name, value in zip(node.keys, node.values, strict=True):
                    if isinstance(name, ast.Constant) and name.value == "reason":
                        reasons |= strings_in(value)
    return reasons


def code_actions_made(module: str) -> Iterator[tuple[str, str]]:
    """Title, its variable parts as …, and kind of each code action in a module."""
    source = ast.parse((SERVER / "lsp" / "features" / module).read_text(encoding="utf-8"))
    named = {
        ast.unparse(node.targets[0]): node.value for node in ast.walk(source) if isinstance(node, ast.Assign)
    }
    for node in ast.walk(source):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "action":
            title, kind = node.args[:2]
            title = named.get(ast.unparse(title), title)
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


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)
