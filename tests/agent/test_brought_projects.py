"""Configurations in the shapes that public repositories have: each is taken, or a message says what is not.

The shapes were seen in the repositories that are named, in 2026; names and contents are made up.
"""

import json

import pytest
from scripting import DONE
from test_context import sent

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
