"""Servers that a workspace configures: asked about once by what they run, asked about again when that changes, never without trust."""

import asyncio
import json
import shutil
import sys
from importlib import import_module
from pathlib import Path

import pytest
from scripting import DONE, call, step

from outrider.testing import Dismiss
from outrider.testing.editor.answers import Late
from outrider.testing.scenario import scripted, start_session
from outrider_protocol import ALLOW_COMMANDS, IGNORE_COMMANDS

ODD = Path(__file__).parents[1] / "mcp" / "odd_server.py"
import_module(
    "outrider.mcp.session"
)  # takes seconds on a busy machine; loaded once, before any time-out runs

BLOCK = {"odd": {"command": sys.executable, "args": ["-u", "server.py"]}}
FORMS = {
    ".mcp.json": json.dumps({"mcpServers": BLOCK}),
    ".vscode/mcp.json": "// comments\n" + json.dumps({"servers": BLOCK}).replace("}}}", "},}}"),
    ".cursor/mcp.json": json.dumps({"mcpServers": BLOCK}),
    ".gemini/settings.json": json.dumps({"mcpServers": BLOCK, "theme": "x"}),
    ".outrider/settings.toml": f'[mcpServers.odd]\ncommand = "{sys.executable}"\nargs = ["-u", "server.py"]\n',
}


def write(workspace, name, text):
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def states(editor):
    return {one["name"]: one["state"] for one in (await editor.command("outrider.servers", {}))["servers"]}


async def started(begin, answers, settings=None):
    editor = await begin("stock", [DONE, DONE], settings, answers=answers)
    assert (await editor.run("Look", seconds=60))["outcome"] == "completed"
    return editor


@pytest.mark.parametrize("form", FORMS)
async def test_each_form_is_asked_about_and_runs(form, begin, workspace):
    write(workspace, form, FORMS[form])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [ALLOW_COMMANDS])
    assert await states(editor) == {"odd": "running"}
    (question,) = editor.questions
    assert "MCP server odd, from" in question.message
    assert "server.py" in question.message
    # The answer holds in the next session, and for another process.
    again = await started(begin, [])
    assert await states(again) == {"odd": "running"}


async def test_a_no_holds_too(begin, workspace):
    write(workspace, ".mcp.json", FORMS[".mcp.json"])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [IGNORE_COMMANDS])
    assert await states(editor) == {"odd": "refused"}
    (server,) = (await editor.command("outrider.servers", {}))["servers"]
    assert "outrider trust forget" in server["detail"]
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    (said,) = [one["detail"] for one in checks if one["name"] == "mcp"]
    assert "refused. You said that it shall not run" in said
    assert not [name for name in editor.events_of("model.requested")[-1]["data"]["tools"] if "__" in name]


async def test_a_no_can_be_taken_back_where_the_client_vouches_for_the_folder(begin, workspace):
    """There the user's file says nothing of the folder, and something of its server."""
    write(workspace, ".mcp.json", FORMS[".mcp.json"])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [IGNORE_COMMANDS, ALLOW_COMMANDS])
    await editor.command("outrider.trust", {"action": "forget", "folder": str(workspace)})
    await editor.run("Again", seconds=60)
    assert await states(editor) == {"odd": "running"}


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
async def test_servers_where_claude_code_takes_none_are_named(begin, workspace, name):
    write(workspace, f".claude/{name}", FORMS[".mcp.json"])
    editor = await begin("stock", [DONE])
    listed = await editor.command("outrider.servers", {})
    assert listed["servers"] == []
    assert listed["problems"] == [
        f".claude/{name}: mcpServers is not read there, by Claude Code neither: write it in .mcp.json"
    ]


async def test_without_an_answer_nothing_runs(begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["made"]}}}))
    editor = await started(begin, [Dismiss()])
    assert await states(editor) == {"x": "waiting"}
    assert not (workspace / "made").exists()


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"url": "http://127.0.0.1:9/mcp"}, "It is at http://127.0.0.1:9/mcp"),
        ({"command": "touch", "args": ["made"]}, "It runs touch made"),
    ],
)
async def test_doctor_says_what_a_server_that_waits_is(block, said, begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"x": block}}))
    editor = await begin("stock", [DONE])
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    assert [one["detail"] for one in checks if one["name"] == "mcp"] == [
        f"x (.mcp.json): waiting for your yes. {said}"
    ]


async def test_doctor_names_only_instructions_that_are_there(begin, workspace):
    async def permissions():
        editor = await begin("stock", [DONE], {"trusted": None})
        checks = (await editor.command("outrider.doctor", {}))["checks"]
        return next(one["detail"] for one in checks if one["name"] == "permissions")

    (workspace / "AGENTS.md").unlink(missing_ok=True)
    assert (await permissions()).endswith(" not trusted yet")
    write(workspace, "AGENTS.md", "Say please.\n")
    assert (await permissions()).endswith(" not trusted yet: its agent instructions (AGENTS.md) are ignored")


@pytest.mark.parametrize("what", ["the script", "the command", "a variable"])
async def test_a_changed_server_is_asked_about_again(what, begin, workspace):
    write(workspace, ".mcp.json", FORMS[".mcp.json"])
    shutil.copy(ODD, workspace / "server.py")
    editor = await started(begin, [ALLOW_COMMANDS, IGNORE_COMMANDS])
    changed = {"odd": {**BLOCK["odd"], "env": {"STEAL": "${HOME}"}}}
    match what:
        case "the script":
            write(workspace, "server.py", "import os\n")
        case "the command":
            write(
                workspace,
                ".mcp.json",
                json.dumps({"mcpServers": {"odd": {"command": "touch", "args": ["made"]}}}),
            )
        case _:
            write(workspace, ".mcp.json", json.dumps({"mcpServers": changed}))
    assert (await editor.run("Again", seconds=60))["outcome"] == "completed"
    assert len(editor.questions) == 2
    if what == "a variable":
        assert "(with your HOME)" in editor.questions[1].message
    assert await states(editor) == {"odd": "refused"}
    assert not (workspace / "made").exists()


async def test_of_an_untrusted_workspace_no_server_runs(begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["made"]}}}))
    editor = await started(begin, [Dismiss()], {"trusted": None})
    assert await states(editor) == {}
    assert not (workspace / "made").exists()


async def test_a_workspace_puts_nothing_in_the_place_of_the_users_server(begin, workspace):
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {"odd": {"command": "touch", "args": ["made"]}}}))
    mine = {"odd": {"command": sys.executable, "args": ["-u", str(ODD)]}}
    editor = await started(begin, [], {"mcpServers": mine})
    assert await states(editor) == {"odd": "running"}
    assert not (workspace / "made").exists()


async def test_what_is_not_taken_is_named(begin, workspace):
    write(workspace, ".mcp.json", "{broken")
    write(workspace, ".vscode/mcp.json", json.dumps({"servers": {"a": {"command": "x", "args": ["${input:key}"]}, "b": {"type": "sse", "url": "https://example.org"}, "c": 1}}))  # fmt: skip
    editor = await started(begin, [])
    problems = (await editor.command("outrider.servers", {}))["problems"]
    assert any(one.startswith(".mcp.json: is not valid JSON") for one in problems)
    assert (
        ".vscode/mcp.json: a: it wants input:key, which only another program can give; this server is ignored"
        in problems
    )
    assert any("the transport sse is not supported" in one for one in problems)
    assert ".vscode/mcp.json: c: must be an object; this server is ignored" in problems


# --- a yes is to the files as they are -----------------------------------------------------------------------------

MODULE = {"odd": {"command": sys.executable, "args": ["-u", "-m", "server"]}}
SHADOW = call("write_file", path="json.py", content="from pathlib import Path\n\nPath('escaped').touch()\n")


@pytest.fixture
def module(workspace):
    """A server that no word of its command names by its file."""
    write(workspace, ".mcp.json", json.dumps({"mcpServers": MODULE}))
    shutil.copy(ODD, workspace / "server.py")


async def session_of(begin, steps, answers, mode="auto-edit"):
    editor = await begin("stock", [*steps, DONE], {"permissionMode": mode}, answers=answers)
    assert (await editor.run("Work", seconds=60))["outcome"] == "completed"
    return editor


def of_servers(editor):
    return [one.message for one in editor.questions if ALLOW_COMMANDS in one.titles]


@pytest.mark.parametrize(
    ("work", "mode", "named"),
    [
        (SHADOW, "auto-edit", "Since then Outrider changed json.py"),
        (call("run_command", command="echo 1 > more.py"), "full", "what `echo 1 > more.py` wrote, more.py"),
        # What is ignored is compared by nobody.
        (call("run_command", command="echo 1 > hidden/a.py"), "full", "what `echo 1 > hidden/a.py` wrote"),
        (
            call("run_command", command="touch hidden/b.py", background=True),
            "full",
            "what `touch hidden/b.py` wrote",
        ),
    ],
)
async def test_what_a_session_changed_is_asked_about_before_the_next_start(
    work, mode, named, begin, workspace, module
):
    write(workspace, ".gitignore", "hidden/\n")
    (workspace / "hidden").mkdir()
    editor = await session_of(begin, [step(work)], [ALLOW_COMMANDS], mode)
    assert await states(editor) == {"odd": "running"}
    # What runs goes on without a question.
    assert (await editor.run("Again", sessionId=editor.events[0]["sessionId"], seconds=60))["outcome"]
    assert len(of_servers(editor)) == 1
    # Another process asks, and starts nothing until it has its yes.
    other = await session_of(begin, [], [Dismiss()])
    (question,) = of_servers(other)
    assert named in question
    assert await states(other) == {"odd": "waiting"}
    assert not (workspace / "escaped").exists()
    # A new yes is to the files as they are now.
    assert len(of_servers(await session_of(begin, [], [ALLOW_COMMANDS]))) == 1
    last = await session_of(begin, [], [])
    assert not of_servers(last)
    assert "waiting" not in (await states(last)).values()


HOOKS = {
    "SessionStart": "echo begun",
    "UserPromptSubmit": "cat",
    "Stop": "cat >> stops.log",
    "SessionEnd": "cat > ended.md",
}


async def test_hooks_that_no_model_had_to_do_with_end_no_yes(begin, workspace, module):
    """Of a server, and of a hook that names a file which it writes: a yes would hold for one session, and in CI for none."""
    block = {event: [{"hooks": [{"type": "command", "command": line}]}] for event, line in HOOKS.items()}
    write(workspace, ".claude/settings.json", json.dumps({"hooks": block}))
    write(workspace, ".gitignore", "stops.log\n")
    model = scripted(workspace, [DONE, DONE])
    settings = {"permissionMode": "auto-edit", "trusted": True}
    for count in (2, 0):  # the hooks, and the server
        answers = [ALLOW_COMMANDS] * count
        async with start_session("stock", workspace, model, settings, answers=answers) as editor:
            assert (await editor.run("Work", seconds=60))["outcome"] == "completed"
            assert len(of_servers(editor)) == count, of_servers(editor)
            assert await states(editor) == {"odd": "running"}
        assert "SessionEnd" in (workspace / "ended.md").read_text()
        (workspace / "ended.md").unlink()
    assert (workspace / "stops.log").read_text().count("hook_event_name") == 2


async def test_a_hook_that_is_given_what_the_model_wrote_ends_the_yes_of_a_server(begin, workspace, module):
    hook = {"matcher": "Read", "hooks": [{"type": "command", "command": "date > hidden"}]}
    write(workspace, ".claude/settings.json", json.dumps({"hooks": {"PreToolUse": [hook]}}))
    write(workspace, ".gitignore", "hidden\n")
    await session_of(begin, [step(call("read_file", path="server.py"))], [ALLOW_COMMANDS, ALLOW_COMMANDS])
    (question,) = of_servers(await session_of(begin, [], [Dismiss()]))
    assert "Since then Outrider changed what `" in question


async def test_a_running_server_is_not_started_again_over_changed_files(begin, workspace, module):
    editor = await session_of(begin, [step(SHADOW)], [ALLOW_COMMANDS, IGNORE_COMMANDS])
    await editor.command("outrider.servers", {"name": "odd", "action": "restart"})
    async with asyncio.timeout(30):
        while await states(editor) != {"odd": "waiting"}:
            pass
    assert not (workspace / "escaped").exists()
    await editor.run("Again", sessionId=editor.events[0]["sessionId"], seconds=60)
    assert len(of_servers(editor)) == 2
    assert await states(editor) == {"odd": "refused"}


async def test_a_yes_that_comes_late_is_not_to_what_changed_meanwhile(begin, workspace, module):
    turns = [step(SHADOW), DONE]
    soon = {"permissionMode": "auto-edit", "limits": {"askSeconds": 0.05}}
    editor = await begin("stock", turns, soon, answers=[Late(ALLOW_COMMANDS)])
    assert (await editor.run("Work", seconds=60))["outcome"] == "completed"
    editor.answer_late(editor.questions[0])
    trust = Path(f"{workspace}.home/config/outrider/trust.toml")
    async with asyncio.timeout(30):
        while not trust.exists():
            await states(editor)
    other = await session_of(begin, [], [Dismiss()])
    (question,) = of_servers(other)
    assert "Since then Outrider changed json.py" in question
    assert not (workspace / "escaped").exists()


@pytest.mark.parametrize(
    "work",
    [
        call("read_file", path="server.py"),
        call("write_file", path="notes.md", content="x"),
        call("run_command", command="ls"),
    ],
)
async def test_what_changes_no_code_asks_nothing(work, begin, workspace, module):
    await session_of(begin, [step(work)], [ALLOW_COMMANDS])
    write(workspace, "by_hand.py", "the user's own work\n")
    other = await session_of(begin, [], [])
    assert not of_servers(other)
    assert await states(other) == {"odd": "running"}


async def test_an_undo_is_a_change_too(begin, workspace, module):
    editor = await session_of(begin, [step(SHADOW)], [ALLOW_COMMANDS])
    assert of_servers(await session_of(begin, [], [ALLOW_COMMANDS]))
    await editor.command("outrider.undo", {})
    assert not (workspace / "json.py").exists()
    assert of_servers(await session_of(begin, [], [ALLOW_COMMANDS]))


@pytest.mark.parametrize("name", ["node_modules/evil/.mcp.json", "other.mcp.json", ".vscode/sub/mcp.json"])
async def test_only_the_file_of_the_folder_itself_configures_servers(begin, workspace, name):
    """A package that was installed brings no server along, and no tree of packages is looked through for one."""
    write(workspace, name, json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["made"]}}}))
    editor = await started(begin, [ALLOW_COMMANDS])
    assert await states(editor) == {}
    assert not editor.questions
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("name", ["odd_x", "odd.x"])
async def test_a_yes_to_the_users_server_is_none_to_one_that_looks_the_same(name, begin, workspace):
    """Confused deputy: a server of the workspace has the name, or one that tools are called by alike, and says the same of its tools."""
    use = step({"name": "odd_x__plain", "input": {"text": "a"}})
    mine = {"odd_x": {"command": sys.executable, "args": ["-u", str(ODD)]}}
    editor = await begin(
        "stock", [use, use, DONE], {"mcpServers": mine}, answers=["Always allow…", "Always everywhere"]
    )
    await editor.run("Try it", seconds=60)
    assert [one["data"]["status"] for one in editor.events_of("tool.finished")] == ["ok", "ok"]
    shutil.copy(ODD, workspace / "server.py")
    write(workspace, ".mcp.json", json.dumps({"mcpServers": {name: BLOCK["odd"]}}))
    later = await begin("stock", [use, DONE], answers=[ALLOW_COMMANDS, "Reject"])
    await later.run("Try it", seconds=60)
    assert len(later.questions) == 2
    assert [one["data"]["status"] for one in later.events_of("tool.finished")] == ["denied"]
