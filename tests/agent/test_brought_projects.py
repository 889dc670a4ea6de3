"""Configurations in the shapes that public repositories have: each is taken, or a message says what is not.

The shapes were seen in the repositories that are named, in 2026; names and contents are made up.
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest
from scripting import DONE, step
from test_context import sent

from outrider_protocol import ALLOW_COMMANDS

import_module(
    "outrider.mcp.session"
)  # takes seconds on a busy machine; loaded once, before any time-out runs

ODD = Path(__file__).parents[1] / "mcp" / "odd_server.py"

NPX = {"command": "npx", "args": ["-y", "@example/server@latest"]}
HTTP = {"type": "http", "url": "https://mcp.example.org/mcp"}
TRUSTS = "a server cannot allow its own tools"

# Of whom, file, content, the servers that are found, what is said.
SERVERS = [
    ("modelcontextprotocol/servers", ".mcp.json", {"mcpServers": {"docs": HTTP, "think": {"command": "docker", "args": ["run", "-i", "--rm", "-e", "SIZE=5", "example/think"]}}}, {"docs", "think"}, ""),
    ("AizenvoltPrime/damocles", ".mcp.json", {"mcpServers": {"ctx": {"command": "cmd", "args": ["/c", "npx", "x"], "env": {"MINIMUM": "6000"}}, "art": HTTP}}, {"ctx", "art"}, ""),
    ("0FL01/Oxide-Agent", ".mcp.json", {"mcpServers": {"rust": {"command": "/usr/bin/rust-docs", "args": ["--log-file", "/var/log/x"], "disabledTools": ["info"]}}}, {"rust"}, ""),
    ("0liver-pg/VitalMake", ".mcp.json", {"mcpServers": {"make": {"command": "uv", "args": ["run", "--directory", ".", "make-mcp"]}}}, {"make"}, ""),
    ("0langa/Addonry", ".mcp.json", {"mcpServers": {"tools": {"command": "powershell.exe", "args": ["-Command", "$root = (Get-Location).Path; & $root"], "cwd": "./"}}}, {"tools"}, ""),
    ("E5presso/spakky-framework", ".vscode/mcp.json", {"inputs": [{"id": "KEY", "type": "promptString", "password": True}], "servers": {"ctx": {**HTTP, "headers": {"KEY": "${input:KEY}"}}}}, set(), "ctx: it wants input:KEY"),
    ("0xc1x/fudi", ".vscode/mcp.json", {"servers": {"hub": {"type": "stdio", "command": "node", "args": ["${workspaceFolder}/.ai/hub.mjs"]}}}, {"hub"}, ""),
    ("0xc1x/fudi", ".gemini/settings.json", {"context": {"fileName": ["AGENTS.md"]}, "mcpServers": {"hub": {"command": "node", "args": ["./hub.mjs"], "trust": True}, "docs": {"httpUrl": "https://mcp.example.org/mcp"}}, "mcp": {"allowed": ["hub"]}}, {"hub", "docs"}, TRUSTS),
    ("github/awesome-copilot", ".vscode/mcp.json", {"servers": {"flows": {"disabled": True, "command": "gh", "args": ["aw", "mcp-server"], "cwd": "${workspaceFolder}"}}}, set(), ""),
    ("20m61/codex-ultimate-prompt", ".vscode/mcp.json", {"servers": [{"name": "files", "type": "stdio", **NPX}]}, set(), "servers must be an object"),
    ("FightTheStroke/MirrorBuddy", ".cursor/mcp.json", {"mcpServers": {"graph": NPX}}, {"graph"}, ""),
    ("Arthur742Ramos/loom", ".github/copilot/mcp.json", {"servers": {"browser": {**NPX, "type": "stdio", "tools": ["*"]}}}, {"browser"}, ""),
    ("microsoft/TypeAgent", ".github/copilot/mcp.json", {"mcpServers": {"agent": {"command": "node", "args": ["dist/server.js"]}}}, {"agent"}, ""),
]  # fmt: skip


def write(workspace, name, text):
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("name", "content", "names", "said"),
    [pytest.param(*more, id=f"{of}: {more[0]}") for of, *more in SERVERS],
)
async def test_their_servers_are_found_or_named(begin, workspace, name, content, names, said):
    write(workspace, name, json.dumps(content))
    editor = await begin("stock", [DONE])
    listed = await editor.command("outrider.servers", {})
    assert {one["name"] for one in listed["servers"]} == names
    assert {one["state"] for one in listed["servers"]} <= {"waiting"}
    problems = listed.get("problems") or []
    assert bool(problems) is bool(said)
    assert said in " ".join(problems)


# Of whom, file, content, the call, what the model is told of it.
COMMANDS = [
    ("addyosmani/agent-skills", ".claude/commands/plan.md", "---\ndescription: Break it down\n---\n\nInvoke the skill planning.\n\n1. Read it\n", "/plan", "Invoke the skill planning."),
    ("AbianS/rustrak", ".claude/commands/commit.md", "---\nallowed-tools: Bash(git status:*), Bash(git diff:*)\ndescription: Commit\n---\n\n## Context\n\n- Status: !`echo clean`\n\nCommit $ARGUMENTS.\n", "/commit all of it", "- Status: clean"),
    ("cline/cline", ".claude/commands/release.md", "# Release\n\nRelease `$1` as it is.\n", "/release 1.2", "Release `1.2` as it is."),
    ("google-gemini/gemini-cli", ".gemini/commands/oncall/review.toml", 'description = "Review"\nprompt = """\nReview {{args}}.\n"""\n', "/oncall:review 7", "Review 7."),
    ("imrim12/geminikit", ".gemini/commands/think.toml", "description = \"Think\"\nprompt = '''\nACT AS: a thinker.\nInput: {{args}}\n'''\n", "/think why", "Input: why"),
    ("d-o-hub/github-template-ai-agents", ".gemini/commands/test.toml", 'prompt = "Test it: !{echo now}"\n', "/test", "Test it: now"),
    ("FightTheStroke/MirrorBuddy", ".github/prompts/tdd.prompt.md", "---\nmode: agent\ntools: ['search']\ndescription: 'Test first'\n---\n\n# TDD\n\nFor ${input:feature}.\n", "/tdd parking", "parking"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "task", "told"),
    [pytest.param(*more, id=f"{of}: {more[0]}") for of, *more in COMMANDS],
)
async def test_their_commands_become_a_task(begin, workspace, name, text, task, told):
    write(workspace, name, text)
    editor = await begin("stock", [DONE], {"permissionMode": "full"})
    assert (await editor.run(task))["outcome"] == "completed"
    assert any(told in message.text for message in (await sent(editor))[-1])


TRUE = {"type": "command", "command": "true"}
# Of whom, file, content, the points that are found, what is said.
HOOKS = [
    ("shahwan42/ClearMoney", ".gemini/settings.json", {"permissions": {"allow": ["Edit(/x/**)"]}, "hooks": {"SessionStart": [{"hooks": [{**TRUE, "command": "$GEMINI_PROJECT_DIR/.gemini/hooks/start.sh"}]}]}}, ["sessionStart"], ""),
    ("MLH/snowbirds", ".gemini/settings.json", {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [{**TRUE, "name": "autostart"}]}]}}, ["sessionStart"], ""),
    ("AlexDeMichieli/copilot-hooks-demo", ".github/hooks/hooks.json", {"hooks": {"preToolUse": [{"type": "command", "bash": "bash .github/hooks/preToolUse", "timeoutSec": 10}]}}, ["beforeTool"], ""),
    ("1Password/agent-hooks", ".github/hooks/hooks.json", {"version": 1, "hooks": {"PreToolUse": [{"command": "bin/run-hook.sh validate", "timeout": 15}]}}, ["beforeTool"], ""),
    ("LIDR-IT/ai-assisted-workflow", ".github/hooks/hooks.json", {"version": 1, "hooks": {"PreToolUse": [{**TRUE, "matcher": "Read|read_file|Edit|replace"}], "PostToolUse": [{**TRUE, "matcher": "Edit|Write", "timeout": 30}]}}, ["beforeTool", "afterTool"], ""),
    ("E5presso/spakky-framework", ".github/hooks/hooks.json", {"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "sync; [ -f a ] && cat a || true", "cwd": ".", "timeoutSec": 120}]}}, ["sessionStart"], ""),
    ("Nick2bad4u/eslint-plugin-SDL-2", ".github/hooks/hooks.json", {"hooks": {"userPromptSubmitted": [{"bash": ".github/hooks/scripts/log.sh", "env": {"SUPPRESS": "1"}, "powershell": "log.ps1", "timeoutSec": 10, "type": "command"}]}, "version": 1}, ["turnStart"], ""),
    ("JPEGtheDev/Particle-Viewer", ".github/hooks/hooks.json", {"hooks": {"SessionStart": [{"matcher": "startup|clear|compact", "hooks": [{**TRUE, "async": False}]}]}}, ["sessionStart"], ""),
    ("a template of the PowerShell Gallery", ".github/hooks/hooks.json", {"version": 1, "hooks": {"preToolUse": [{"type": "command", "powershell": "pwsh -File ./guard.ps1", "cwd": "."}]}}, [], "only hooks that are a command of this system are run"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "points", "said"),
    [pytest.param(*more, id=f"{of}: {more[0]}") for of, *more in HOOKS],
)
async def test_their_hooks_are_found_or_named(begin, workspace, name, content, points, said):
    # Some write comments in it.
    write(workspace, name, "// ours\n" + json.dumps(content))
    editor = await begin("stock", [DONE])
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    details = [one["detail"] for one in checks if one["name"] == "hooks"]
    waiting = [one.removeprefix("waiting for your yes: ") for one in details if "waiting" in one]
    assert [one.split(" (")[0] for one in waiting] == points
    assert len(details) == len(points) + bool(said)
    assert said in " ".join(details)


SKILL = "---\nname: birds\ndescription: About birds.\n---\nBirds have wings.\n"
SERVER = {"mcpServers": {"odd": {"command": sys.executable, "args": ["-u", str(ODD)]}}}
GUARD = 'in=$(cat); case "$in" in *SECRET*) echo no secrets >&2; exit 2;; esac\n'
GROUP = {"hooks": [{"type": "command", "command": "sh guards/guard.sh", "timeout": 10_000}]}
PROJECTS = {
    "claude": {
        ".mcp.json": json.dumps(SERVER), ".claude/commands/review.md": "Review $ARGUMENTS.\n", ".claude/skills/birds/SKILL.md": SKILL,
        ".claude/settings.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": "Edit|Write", **GROUP}]}}), "CLAUDE.md": "Use tabs.\n",
    },
    "gemini": {
        ".gemini/settings.json": json.dumps({**SERVER, "hooks": {"BeforeTool": [{"matcher": "write_file|replace", **GROUP}]}}),
        ".gemini/commands/review.toml": 'prompt = "Review {{args}}."\n', ".gemini/skills/birds/SKILL.md": SKILL, "GEMINI.md": "Use tabs.\n",
    },
    "copilot": {
        ".github/mcp.json": json.dumps(SERVER), ".github/prompts/review.prompt.md": "---\nmode: agent\n---\nReview ${input:what}.\n",
        ".github/hooks/guard.json": json.dumps({"version": 1, "hooks": {"preToolUse": [{"matcher": "edit|create", "bash": "sh guard.sh", "cwd": "guards"}]}}),
        ".github/skills/birds/SKILL.md": SKILL, ".github/copilot-instructions.md": "Use tabs.\n",
    },
}  # fmt: skip


@pytest.mark.parametrize("project", PROJECTS)
async def test_a_whole_project_works_the_day_it_comes(begin, workspace, project):
    """Trusted and asked about: its command is called, its skill loaded, its server used, its hook heard."""
    write(workspace, "guards/guard.sh", GUARD)
    for name, text in PROJECTS[project].items():
        write(workspace, name, text)
    edit = {"path": "tariff.py", "old": "hours * 3"}
    script = [
        step({"name": "skill", "input": {"name": "birds"}}),
        step({"name": "odd__plain", "input": {"text": "hello"}}),
        step({"name": "edit_file", "id": "bad", "input": {**edit, "new": "SECRET"}}),
        step({"name": "edit_file", "id": "good", "input": {**edit, "new": "hours * 2"}}),
        DONE,
    ]
    answers = [ALLOW_COMMANDS, ALLOW_COMMANDS, "Allow once"]
    editor = await begin("stock", script, {"permissionMode": "auto-edit"}, answers=answers)
    assert (await editor.run("/review the parser", seconds=60))["outcome"] == "completed"
    hooks, servers, _ = (one.message for one in editor.questions)
    assert "guard.sh" in hooks
    assert "MCP server odd, from" in servers
    told = "\n".join(message.text for message in (await sent(editor))[-1])
    for part in (
        "Review the parser.",
        "Use tabs.",
        "Birds have wings.",
        "plain hello 1",
        "refused it: no secrets",
    ):
        assert part in told
    ended = {one["data"]["callId"]: one["data"]["status"] for one in editor.events_of("tool.finished")}
    assert (ended["bad"], ended["good"]) == ("denied", "ok")
    assert "hours * 2" in (workspace / "tariff.py").read_text()
