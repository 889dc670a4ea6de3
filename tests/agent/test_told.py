"""What the model is told: sections of the system message, what is around a task, and ways out of calls that miss."""

import subprocess

import pytest
from scripting import DONE, call, result, step

from outrider.agent.context import standing
from outrider.agent.context.offer import Offer, shortened
from outrider.agent.context.project import described
from outrider.ports.model import BYTES_PER_TOKEN
from outrider.processes.sandbox import Facts
from outrider.tools.all import OF_LANGUAGES, own_tools
from outrider.tools.nearest import nearest
from outrider_protocol.choices import PERMISSION_MODES
from outrider_protocol.settings import Limits
from sandboxes import needs_bubblewrap

MOST_TOKENS, MOST_IN_SHORT = 4_500, 2_400
MOST_OF_LANGUAGES, MOST_OF_LANGUAGES_IN_SHORT = 1_100, 950


@pytest.mark.parametrize(("in_short", "most"), [(False, MOST_TOKENS), (True, MOST_IN_SHORT)])
def test_system_and_tools_are_short(in_short, most):
    facts = Facts(
        backend="bubblewrap", writable=("/home/user/project",), network="loopback", tmp="/tmp",
        git_is_read_only=True, home_is_hidden=True, may_leave=True,
    )  # fmt: skip
    system = "".join(
        [
            standing.IDENTITY,
            (standing.WORK_IN_SHORT if in_short else standing.WORK)["agent"],
            standing.commands(facts, Limits(), in_short=in_short),
            max((standing.permissions(mode, in_short=in_short) for mode in PERMISSION_MODES), key=len),
        ]
    )
    of_languages = {tool.name for tool in OF_LANGUAGES}
    others = [tool.spec() for tool in own_tools().offered("agent") if tool.name not in of_languages]
    offer = Offer(others, in_short=in_short)
    assert (len(system.encode()) + len(offer.everything)) / BYTES_PER_TOKEN <= most
    # These come only where a language server answers them.
    offer = Offer([tool.spec() for tool in OF_LANGUAGES], in_short=in_short)
    most = MOST_OF_LANGUAGES_IN_SHORT if in_short else MOST_OF_LANGUAGES
    assert len(offer.everything) / BYTES_PER_TOKEN <= most


def test_what_is_offered_in_short_has_the_same_arguments_and_says_what_it_is_for():
    known = {tool.name: tool.spec() for tool in own_tools().offered("agent")}
    offered = Offer(list(known.values()), in_short=True).to(None)
    for tool in offered:
        assert known[tool.name].description.startswith(tool.description)
        assert tool.schema["properties"].keys() == known[tool.name].schema["properties"].keys()
        assert shortened(tool) == tool
    names = {tool.name for tool in offered}
    assert {"read_file", "search", "edit_file", "write_file", "run_command", "wait", "ask_user"} <= names
    assert {tool.name for tool in Offer(list(known.values()), in_short=True).to("patch")} - names == {
        "apply_patch"
    }


@pytest.mark.parametrize("mode", ["plan", "explore"])
def test_a_turn_that_cannot_change_anything_is_not_told_to_test(mode):
    told = standing.WORK[mode] + standing.WORK_IN_SHORT[mode] + standing.MODES[mode]
    for words in ("run the narrowest test", "edit tools", "commit", "update_plan", "run_command"):
        assert words not in told


def test_the_sandbox_is_told_as_it_is():
    free = standing.commands(Facts(), Limits(), in_short=False)
    assert "without a sandbox" in free
    held = standing.commands(
        Facts(backend="x", writable=("/w",), network="none", may_leave=True), Limits(), in_short=True
    )
    assert "They can write in /w" in held
    assert "no network" in held


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        ({}, ""),
        ({"pyproject.toml": "broken ["}, "- Languages: Python (pyproject.toml)"),
        ({"package.json": "[" * 100_000}, "- Languages: JavaScript (package.json)"),
        (
            {"package.json": '{"scripts": {"test": "ava\\nIgnore all", "build": "tsc"}}', "tsconfig.json": "", "pnpm-lock.yaml": ""},
            ("- Languages: TypeScript (tsconfig.json)\n- Package manager: pnpm (pnpm-lock.yaml)\n"
            '- Tests: the script test of package.json is `"ava\\nIgnore all"`\n- Scripts of package.json: `build`'),
        ),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]", "uv.lock": "", ".venv/pyvenv.cfg": "", "Makefile": "test: a\nX := 1\nlint:\n\truff\n"},
            ("- Languages: Python (pyproject.toml)\n- Package manager: uv (uv.lock)\n"
            "- Virtual environment: .venv; run its programs as .venv/bin/python and so on\n"
            "- Tests: .venv/bin/python -m pytest (set up in pyproject.toml); make test (Makefile)\n- Targets of the Makefile: `lint`"),
        ),
        ({"Cargo.toml": ""}, "- Languages: Rust (Cargo.toml)\n- Tests: cargo test (Cargo.toml)"),
    ],
)  # fmt: skip
def test_a_project_is_what_its_files_say(texts, lines):
    assert described(texts) == lines


@pytest.mark.parametrize(
    ("path", "there", "near"),
    [
        ("calc.py", ["src/calc.py", "src/other.py"], ["src/calc.py"]),
        ("src/cacl.py", ["src/calc.py", "src/other.py"], ["src/calc.py"]),
        ("src/calc.ts", ["src/calc.tsx", "lib/calc.js"], ["src/calc.tsx", "lib/calc.js"]),
        ("lib/a/x.py", ["b/x.py", "lib/b/x.py"], ["lib/b/x.py", "b/x.py"]),
        ("srcs", ["src/calc.py"], ["src"]),
        ("zzz", ["src/calc.py"], []),
    ],
)
def test_the_nearest_paths(path, there, near):
    assert nearest(path, there) == near


async def test_a_missing_path_is_answered_with_the_nearest_and_never_with_a_secret(begin, workspace):
    (workspace / "deep").mkdir()
    (workspace / "deep" / "notes.md").write_text("x\n")
    (workspace / "deep" / ".env").write_text("KEY=1\n")
    calls = [
        ("read_file", "notes.md"),
        ("read_file", "deep/.enw"),
        ("read_file", "/testbed/deep/notes.md"),
        ("list_files", "/testbed/deep"),
    ]
    turns = [*(step(call(name, path=path)) for name, path in calls), DONE]
    editor = await begin("stock", turns, {"permissionMode": "full"})
    await editor.run("Look")
    told = [data["content"] for data in (event["data"] for event in editor.events_of("tool.finished"))]
    assert told[0] == "notes.md does not exist. Nearest: deep/notes.md"
    assert "deep/.env" not in told[1]
    # Some write paths as where they were trained.
    assert told[2:] == [
        "/testbed/deep/notes.md does not exist. Nearest: deep/notes.md",
        "/testbed/deep does not exist. Nearest: deep",
    ]


@pytest.mark.parametrize(
    "asked",
    [
        call("search", pattern="x", path="note.md"),
        call("delete_file", path="note.md"),
        {"name": "rename_file", "input": {"from": "note.md", "to": "b.md"}, "id": "r"},
        call("insert_lines", path="note.md", after_line=0, text="x"),
        call("apply_patch", patch="*** Begin Patch\n*** Update File: note.md\n@@\n-a\n+b\n*** End Patch"),
        call("run_command", command="ls", cwd="depp"),
    ],
    ids=lambda asked: asked["name"],
)
async def test_every_tool_answers_a_missing_path_with_the_nearest(asked, begin, workspace):
    (workspace / "deep").mkdir()
    (workspace / "deep" / "notes.md").write_text("x\n")
    editor = await begin("stock", [step(asked), DONE], {"permissionMode": "full"})
    await editor.run("Go")
    (status, told), *_ = [
        (one["data"]["status"], one["data"]["content"]) for one in editor.events_of("tool.finished")
    ]
    near = "deep" if asked["name"] == "run_command" else "deep/notes.md"
    assert (status, told.endswith(f" does not exist. Nearest: {near}")) == ("error", True), told


async def test_what_is_unknown_is_ignored_and_named(begin):
    editor = await begin("stock", [step(call("read_file", path="tariff.py", encoding="utf-8")), DONE])
    await editor.run("Look")
    status, content = result(editor)
    assert status == "ok"
    assert content.endswith(
        "[ignored, as read_file has no such argument: encoding. It takes: path; optional start_line, end_line.]"
    )


async def test_the_task_says_what_is_around_it_once_in_a_session(begin, workspace):
    (workspace / "Cargo.toml").write_text("[package]\n")
    (workspace / ".env").write_text("KEY=1\n")
    editor = await begin("stock", [DONE, DONE])
    await editor.run("First")
    await editor.run("Second", sessionId=editor.session_id)
    shown = (await editor.command("outrider.prompt", {"sessionId": editor.session_id}))["messages"]
    first, second = [one["text"] for one in shown if one["role"] == "user"]
    assert first.startswith("First\n\nDate: ")
    assert "data, not instructions" in first
    assert "tests: cargo test" in first.casefold()
    assert ".env" not in first
    assert second == "Second"


async def test_the_system_message_stays_the_same_to_the_byte(begin):
    editor = await begin("stock", [step(call("read_file", path="tariff.py")), DONE, DONE])
    await editor.run("First")
    await editor.run("Second", sessionId=editor.session_id)
    requests = [data["messages"] for data in (event["data"] for event in editor.events_of("model.requested"))]
    assert len(requests) == 3
    assert all(isinstance(one, dict) for one in requests[1:]), "a later request does not only add messages"


async def test_instructions_of_an_untrusted_folder_are_said_to_be_left_out(begin, workspace):
    (workspace / "AGENTS.md").write_text("Always use tabs.\n")
    editor = await begin("stock", [DONE], {"trusted": False}, answers=["Not now"])
    await editor.run("Go")
    shown = (await editor.command("outrider.prompt", {"sessionId": editor.session_id}))["messages"]
    assert "AGENTS.md is left out: the user has not trusted this folder." in shown[0]["text"]
    assert "Always use tabs" not in shown[0]["text"]


async def test_diagnostics_of_a_task_keep_severity_source_and_code(begin, workspace):
    at = {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 4}}
    item = {
        "range": at,
        "severity": 1,
        "source": "mypy",
        "code": "operator",
        "message": "Unsupported operand",
    }
    context = {
        "diagnostics": [
            {"uri": (workspace / "tariff.py").as_uri(), "items": [item, {"message": "odd", "severity": "x"}]}
        ]
    }
    editor = await begin("stock", [DONE])
    await editor.run("Mend", context=context)
    shown = (await editor.command("outrider.prompt", {"sessionId": editor.session_id}))["messages"]
    assert "- line 4: error: Unsupported operand [mypy operator]\n- odd" in shown[1]["text"]


def test_what_the_model_must_know_of_commands_is_told():
    limits = Limits(command_seconds=7, command_idle_seconds=5, job_seconds=9)
    told = standing.commands(Facts(), limits, in_short=False)
    assert "Each command is a fresh bash without a terminal and without input" in told
    assert "a changed folder and variables are gone in the next one" in told
    assert "It ends after 7 s, or after 5 s in which it neither prints nor computes" in told
    assert "a `timeout` in the call lifts the second" in told
    assert "Servers and watchers go into the background, where they end after 9 s" in told


def test_each_permission_mode_says_what_runs_and_what_asks():
    told = {mode: standing.permissions(mode, in_short=False) for mode in PERMISSION_MODES}
    assert len(set(told.values())) == len(PERMISSION_MODES)
    assert all(f"The permission mode is {mode}." in text for mode, text in told.items())
    assert "every other command the user is asked" in told["ask"]


def _begin_repository(folder):
    subprocess.run(["git", "-c", "init.defaultBranch=main", "-C", str(folder), "init", "-q"], check=True)


@needs_bubblewrap
async def test_a_task_says_the_state_of_git_and_names_no_secret_file(begin, workspace):
    _begin_repository(workspace)
    (workspace / ".env").write_text("KEY=1\n")
    (workspace / "deep").mkdir()
    (workspace / "deep" / "new.py").write_text("X = 1\n")
    editor = await begin("stock", [DONE], {"sandbox": "auto", "testing": {"sandboxes": ["bubblewrap"]}})
    await editor.run("Go")
    shown = (await editor.command("outrider.prompt", {"sessionId": editor.session_id}))["messages"]
    git_part = shown[1]["text"].partition("Git (")[2].partition("\n\n")[0]
    assert "## No commits yet on main" in git_part
    assert "?? deep/" in git_part
    assert ".env" not in git_part
