"""Hooks: they refuse, ask, change arguments and tell the model something; none allows anything, and a turn that reads runs none that changes."""

import json
import tomllib
from pathlib import Path

import pytest
from scripting import DONE, call, step
from test_context import sent

from outrider.agent.session import end_hooks
from outrider.replay.play import Replayed
from outrider.replay.play import play as play_again
from outrider.testing.scenario import scripted, start_session
from outrider_protocol import ALLOW_COMMANDS, IGNORE_COMMANDS
from replayed import exports_of

pytestmark = pytest.mark.usefixtures("replayed_at_once")

ROOT = Path(__file__).parents[2]
EDIT = step(call("edit_file", path="tariff.py", old="hours * 3", new="hours * 2", called="edit"))


def hook(on, command, **more):
    return {"on": on, "command": command, **more}


def says(**answer):
    return f"echo {json.dumps(json.dumps(answer))}"


async def play(begin, script, *hooks, mode="agent", answers=(), **settings):
    editor = await begin("stock", script, {"hooks": list(hooks), **settings}, answers=list(answers))
    done = await editor.run("Do it", mode=mode)
    return editor, done


def result(editor, called="edit"):
    (found,) = [e["data"] for e in editor.events_of("tool.finished") if e["data"]["callId"] == called]
    return found["status"], found["content"]


@pytest.mark.parametrize("how", [says(decision="refuse", reason="not today"), "echo not today >&2; exit 2"])
async def test_a_hook_refuses(begin, workspace, how):
    editor, done = await play(
        begin, [EDIT, DONE], hook("beforeTool", how, tools=["edit_file"]), permissionMode="full"
    )
    assert done["outcome"] == "completed"
    status, content = result(editor)
    assert status == "denied"
    assert "not today" in content
    assert "hours * 3" in (workspace / "tariff.py").read_text()


REFUSING = {
    "echo not today >&2; exit 2": "not today",
    "echo not today >&2; touch made; exit 2": "not today\n[it changed",  # what else is noted stays
    "exit 2": "exit code 2",
}


@pytest.mark.parametrize("command", REFUSING)
async def test_a_refusal_says_what_the_hook_says_and_nothing_of_its_wrapper(begin, command):
    editor, _ = await play(begin, [EDIT, DONE], hook("beforeTool", command), permissionMode="full")
    why = result(editor)[1].partition(" refused it: ")[2]
    assert why.startswith(REFUSING[command])
    assert "in the pipe" not in why
    assert "[exit code" not in why


async def test_a_command_that_is_cut_is_seen_to_be_cut(begin):
    long = f"echo {'x' * 100} >&2; exit 7"
    editor, _ = await play(begin, [EDIT, DONE], hook("beforeTool", long, onFailure="refuse"))
    content = result(editor)[1]
    assert f"the hook `{long[:80]}…` refused it: it failed: xxx" in content
    assert "[exit code 7]" in content
    assert "in the pipe" not in content


async def test_a_hook_that_says_allow_allows_nothing(begin):
    editor, _ = await play(
        begin, [EDIT, DONE], hook("beforeTool", says(decision="allow")), answers=["Reject"]
    )
    assert result(editor)[0] == "denied"
    assert len(editor.questions) == 1


async def test_a_hook_has_the_user_asked(begin):
    asks = hook("beforeTool", says(decision="ask", reason="look at it"), tools=["edit_file"])
    editor, _ = await play(begin, [EDIT, DONE], asks, answers=["Allow once"], permissionMode="full")
    assert result(editor)[0] == "ok"
    assert "look at it" in editor.questions[0].message


async def test_what_a_hook_changes_is_shown_and_approved_as_changed(begin, workspace):
    changes = hook("beforeTool", says(arguments={"new": "hours * 7"}), tools=["edit_file"])
    editor, _ = await play(begin, [EDIT, DONE], changes, answers=["Allow once"])
    assert "hours * 7" in editor.questions[0].message
    assert result(editor)[0] == "ok"


async def test_a_formatter_after_an_edit(begin, workspace):
    formats = hook("afterTool", "sed -i 's/hours \\* 2/2 * hours/' tariff.py", tools=["edit_file"])
    editor, done = await play(begin, [EDIT, DONE], formats, permissionMode="auto-edit")
    assert done["outcome"] == "completed"
    assert "2 * hours" in (workspace / "tariff.py").read_text()
    assert not editor.questions
    await editor.command("outrider.undo", {})
    assert "hours * 3" in (workspace / "tariff.py").read_text()


async def test_the_formatter_of_the_page_takes_a_path_with_a_blank(begin, workspace):
    page = (ROOT / "protocol" / "permissions.md").read_text("utf-8")
    block = next(one for one in page.split("```toml\n")[1:] if "afterTool" in one).partition("```")[0]
    (formats,) = tomllib.loads(block)["hooks"]
    formats["command"] = formats["command"].replace("ruff format --quiet", "sed -i 's/1/2/'")
    (workspace / "two words.py").write_text("a = 1\n")
    edit = step(call("edit_file", path="two words.py", old="a = 1", new="b = 1", called="edit"))
    editor, _ = await play(begin, [edit, DONE], formats, permissionMode="full")
    assert result(editor)[0] == "ok"
    assert (workspace / "two words.py").read_text() == "b = 2\n"


async def test_a_hook_gets_json_and_tells_the_model(begin, workspace):
    tells = hook(
        "afterTool",
        'cat > /tmp/given; grep -o \'"tool": "[a-z_]*"\' /tmp/given; ' + says(text="Run the tests now."),
    )
    editor, _ = await play(begin, [EDIT, DONE], tells, permissionMode="full")
    told = [message.text for message in (await sent(editor))[-1]]
    assert any("Run the tests now." in text for text in told)


@pytest.mark.parametrize("on", ["sessionStart", "turnStart", "turnEnd"])
async def test_the_other_points(begin, workspace, on):
    _, done = await play(begin, [DONE], hook(on, "cat > seen.json"), permissionMode="full")
    assert done["outcome"] == "completed"
    assert json.loads((workspace / "seen.json").read_text())["on"] == on


async def test_a_task_is_refused(begin):
    editor, done = await play(
        begin, [], hook("turnStart", says(decision="refuse", reason="no tasks on Fridays"))
    )
    assert done["outcome"] == "refused"
    assert "no tasks on Fridays" in done["summary"]
    assert not editor.events_of("model.requested")


@pytest.mark.parametrize("mode", ["agent", "plan"])
async def test_a_turn_is_held_three_times_at_most_and_says_who_refused(begin, mode):
    """In a turn that only reads, too, where the hook only reads."""
    answers = [{"text": f"Answer {number}."} for number in range(1, 5)]
    editor, done = await play(
        begin, answers, hook("turnEnd", "grep -q again; echo never >&2; exit 2"), mode=mode
    )
    assert done["outcome"] == "completed"
    assert done["summary"].startswith("Answer 4.\n\n[The turn ended all the same: the hook `grep")
    assert "never" in done["summary"]
    said = [started["data"]["calls"][0]["command"] for started in editor.events_of("hook.started")]
    assert ['"again": true' in one for one in said] == [False, True, True, True]
    phases = [one["data"]["reason"] for one in editor.events_of("turn.phase")]
    assert phases.count("held_by_hook") == 3


async def test_all_that_keeps_a_turn_from_its_end_is_told_at_once(begin):
    hooks = [hook("turnEnd", says(decision="refuse", reason=why)) for why in ("no tests", "no changelog")]
    editor, _ = await play(begin, [DONE] * 4, *hooks)
    told = (await sent(editor))[1][-1].text
    assert "no tests" in told
    assert "no changelog" in told


async def test_a_turn_whose_budget_is_spent_ends_whatever_a_hook_says(begin):
    refuses = hook("turnEnd", "echo never >&2; exit 2")
    editor = await begin("stock", [DONE], {"hooks": [refuses]})
    done = await editor.run("Do it", limits={"steps": 1})
    assert done["outcome"] == "completed"
    assert done["summary"].startswith("Done.")
    assert "never" in done["summary"]


async def test_what_a_turn_does_when_it_goes_on_is_checked(begin, workspace):
    """The check of the task runs again after a change that a hook asked for."""
    asks = hook("turnEnd", "grep -q 'hours \\* 2' tariff.py || { echo not two >&2; exit 2; }")
    editor = await begin("stock", [DONE, EDIT, DONE], {"hooks": [asks], "permissionMode": "full"})
    done = await editor.run("Do it", acceptance=["python3 -m compileall -q tariff.py"])
    assert done["outcome"] == "completed"
    assert len(editor.events_of("verify.started")) == 1


@pytest.mark.parametrize("mode", ["plan", "explore"])
async def test_a_turn_that_reads_runs_none_that_changes(begin, workspace, mode):
    read = step(call("read_file", path="tariff.py", called="read"))
    editor, done = await play(
        begin,
        [read, DONE],
        hook("beforeTool", "touch made"),
        hook("turnStart", "touch made"),
        mode=mode,
        permissionMode="full",
    )
    assert done["outcome"] == "completed"
    assert not (workspace / "made").exists()
    assert result(editor, "read")[0] == "ok"


async def test_a_failure_is_named_and_may_refuse(begin):
    editor, _ = await play(
        begin, [EDIT, DONE], hook("beforeTool", "exit 7", tools=["edit_file"]), permissionMode="full"
    )
    assert result(editor)[0] == "ok"
    assert any("failed" in message.text for message in (await sent(editor))[-1])
    editor, _ = await play(
        begin, [EDIT, DONE], hook("beforeTool", "exit 7", onFailure="refuse"), permissionMode="full"
    )
    assert result(editor)[0] == "denied"


CLAUDE = {
    "hooks": {
        "PreToolUse": [
            {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "cat > got.json; exit 2"}]}
        ]
    }
}


@pytest.mark.parametrize("yes", [True, False])
async def test_the_hooks_of_a_workspace_are_asked_about(begin, workspace, yes):
    (workspace / ".claude").mkdir()
    (workspace / ".claude" / "settings.json").write_text(json.dumps(CLAUDE))
    answers = [ALLOW_COMMANDS if yes else IGNORE_COMMANDS]
    editor, _ = await play(begin, [EDIT, DONE], answers=answers, permissionMode="full")
    assert result(editor)[0] == ("denied" if yes else "ok")
    if yes:
        got = json.loads((workspace / "got.json").read_text())
        assert (got["hook_event_name"], got["tool_name"]) == ("PreToolUse", "Edit")
        assert got["tool_input"]["file_path"] == str(workspace / "tariff.py")


@pytest.mark.parametrize(
    ("matcher", "runs"), [("startup|clear", True), ("", True), ("resume|compact|clear", False)]
)
async def test_a_session_start_of_claude_is_no_resume(begin, workspace, matcher, runs):
    """It names which start it means; a session that goes on, or is compacted, has none here."""
    (workspace / ".claude").mkdir()
    said = {"SessionStart": [{"matcher": matcher, "hooks": [{"type": "command", "command": "touch made"}]}]}
    (workspace / ".claude" / "settings.json").write_text(json.dumps({"hooks": said}))
    editor, _ = await play(begin, [DONE], answers=[ALLOW_COMMANDS], permissionMode="full")
    assert (workspace / "made").exists() is runs
    assert len(editor.questions) == runs


async def test_of_an_untrusted_workspace_none_runs(begin, workspace):
    (workspace / ".outrider").mkdir()
    (workspace / ".outrider" / "settings.toml").write_text(
        '[[hooks]]\non = "turnStart"\ncommand = "touch made"\n'
    )
    await play(begin, [DONE], trusted=False)
    assert not (workspace / "made").exists()


async def test_the_line_of_a_hook_is_no_grant_for_the_model(begin, workspace):
    """Confused deputy: the model writes the very command of a hook, and is asked about it like about any other."""
    script = [step(call("run_command", command="touch made", called="run")), DONE]
    editor, _ = await play(begin, script, hook("turnStart", "touch made"), answers=["Reject"])
    assert len(editor.questions) == 1


# --- as the hooks of real projects are written ---------------------------------------------------------------------


def of_claude(workspace, event, command, **group):
    block = {"hooks": {event: [{**group, "hooks": [{"type": "command", "command": command}]}]}}
    (workspace / ".claude").mkdir(exist_ok=True)
    (workspace / ".claude" / "settings.json").write_text(json.dumps(block))


DENY = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not on main"}}  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
async def test_an_answer_may_go_over_several_lines(begin, workspace, indent):
    """`jq -n` and here-documents write it so; a decision that is not read would be none."""
    (workspace / "answer.json").write_text("Checked.\n" + json.dumps(DENY, indent=indent) + "\n")
    of_claude(workspace, "PreToolUse", "cat answer.json", matcher="Edit|Write")
    editor, _ = await play(begin, [EDIT, DONE], answers=[ALLOW_COMMANDS], permissionMode="full")
    assert result(editor)[0] == "denied"
    assert "not on main" in result(editor)[1]


@pytest.mark.parametrize(
    ("matcher", "fits"),
    [
        ("Edit.*", True),
        ("^(Edit|Write)$", True),
        ("Multi.+ | Write", True),
        ("Notebook.*", False),
        ("Edi", False),
    ],
)
async def test_a_matcher_is_a_pattern_of_a_whole_name(begin, workspace, matcher, fits):
    of_claude(workspace, "PreToolUse", "exit 2", matcher=matcher)
    editor, _ = await play(begin, [EDIT, DONE], answers=[ALLOW_COMMANDS], permissionMode="full")
    assert result(editor)[0] == ("denied" if fits else "ok")


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit"])
async def test_what_one_prints_at_the_start_is_for_the_model(begin, workspace, event):
    of_claude(workspace, event, "echo The branch is main.")
    editor, _ = await play(begin, [DONE], answers=[ALLOW_COMMANDS], permissionMode="full")
    assert any("The branch is main." in message.text for message in (await sent(editor))[-1])


@pytest.mark.parametrize("named", ['"$CLAUDE_PROJECT_DIR"/guards/edit.sh', "bash ./guards/edit.sh"])
async def test_a_changed_script_is_asked_about_again(begin, workspace, named):
    script = workspace / "guards" / "edit.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\nexit 2\n")
    script.chmod(0o755)
    of_claude(workspace, "PreToolUse", named, matcher="Edit")
    answers = [ALLOW_COMMANDS, IGNORE_COMMANDS]
    editor, _ = await play(begin, [EDIT, DONE, EDIT, DONE], answers=answers, permissionMode="full")
    assert result(editor)[0] == "denied"
    script.write_text("#!/bin/sh\ntouch made\n")
    await editor.run("Again")
    assert len(editor.questions) == 2
    assert not (workspace / "made").exists()


async def test_a_script_that_the_model_changes_does_not_run_in_that_turn(begin, workspace):
    script = workspace / "after.sh"
    script.write_text("touch ran\n")
    of_claude(workspace, "PostToolUse", "sh after.sh", matcher="Edit")
    write = step(call("edit_file", path="after.sh", old="touch ran", new="touch made"))
    editor, _ = await play(begin, [write, DONE], answers=[ALLOW_COMMANDS], permissionMode="full")
    assert script.read_text() == "touch made\n"
    assert not (workspace / "made").exists()
    assert any("its script changed" in message.text for message in (await sent(editor))[-1])


async def test_the_doctor_lists_hooks_and_what_is_not_taken(begin, workspace):
    (workspace / ".claude").mkdir()
    group = {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": "true"}, {"type": "prompt", "prompt": "?"}],
    }
    broken = {"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}
    said = {"hooks": {"PreToolUse": [group, broken], "PreCompact": [group]}}
    (workspace / ".claude" / "settings.json").write_text(json.dumps(said))
    (workspace / ".gemini").mkdir()
    (workspace / ".gemini" / "settings.json").write_text(json.dumps({"hooks": {"BeforeModel": [group]}}))
    editor = await begin("stock", [DONE], {"hooks": [hook("turnEnd", "date")]}, answers=[ALLOW_COMMANDS])

    async def told():
        return [
            (one["status"], one["detail"])
            for one in (await editor.command("outrider.doctor", {}))["checks"]
            if one["name"] == "hooks"
        ]

    before = await told()
    assert before[:2] == [("ok", "turnEnd: date"), ("warn", "waiting for your yes: beforeTool (Bash): true")]
    wrong = " | ".join(detail for _, detail in before[2:])
    for part in (
        "only hooks that are a command",
        "the matcher ( cannot be read",
        "hooks.PreCompact",
        ".gemini/settings.json: hooks.BeforeModel: there is no such point here",
    ):
        assert part in wrong
    await editor.run("Look")
    assert (await told())[0] == ("ok", "turnEnd: date; beforeTool (Bash): true")


async def test_the_doctor_says_which_hooks_the_user_refused(begin, workspace):
    of_claude(workspace, "Stop", "true")
    editor, _ = await play(begin, [DONE], answers=[IGNORE_COMMANDS])
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    (said,) = [one["detail"] for one in checks if one["name"] == "hooks"]
    assert said.startswith("refused: turnEnd (*): true. To be asked again, run `outrider trust forget`")


BROUGHT = {
    ".claude/commands/fix.md": "Fix it.\n", ".claude/skills/pdf/SKILL.md": "---\ndescription: x\n---\nUse it.\n",
    ".claude/rules/py.md": "---\npaths: ['*.py']\n---\nUse ruff.\n", ".mcp.json": json.dumps({"mcpServers": {"a": {"command": "true"}}}),
    ".gemini/settings.json": json.dumps({"hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "true"}]}]}}),
    ".outrider/memory.md": "- Tabs.\n",
}  # fmt: skip
WITHHELD = (
    "1 custom command, 1 skill, 1 rule, MCP servers (.mcp.json), hooks (.gemini/settings.json)"
    " and memory (.outrider/memory.md) are ignored"
)


@pytest.mark.parametrize("kinds", [list(BROUGHT), [".mcp.json"], [".gemini/settings.json"]])
async def test_who_is_asked_for_trust_hears_of_all_that_does_not_count(begin, workspace, kinds):
    """A folder that brings a server alone is asked about, too: nothing else would say that it does not run."""
    for name in kinds:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(BROUGHT[name])
    editor = await begin("stock", [DONE], {"trusted": None}, answers=["Stay read-only"])
    await editor.run("Look")
    (question,) = editor.questions
    if len(kinds) > 1:
        assert WITHHELD in question.message
        checks = (await editor.command("outrider.doctor", {}))["checks"]
        assert any(WITHHELD in one["detail"] for one in checks)
    else:
        assert f"({kinds[0]}) are ignored" in question.message


async def test_the_doctor_says_what_is_withheld(begin, workspace):
    of_claude(workspace, "Stop", "true")
    (workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"a": {"command": "true"}}}))
    (workspace / ".claude" / "skills" / "pdf").mkdir(parents=True)
    (workspace / ".claude" / "skills" / "pdf" / "SKILL.md").write_text("---\ndescription: x\n---\nUse it.\n")
    editor = await begin("stock", [DONE], {"trusted": None})
    checks = {one["name"]: one for one in (await editor.command("outrider.doctor", {}))["checks"]}
    assert checks["not trusted"]["status"] == "warn"
    assert checks["not trusted"]["detail"] == (
        "1 skill, MCP servers (.mcp.json) and hooks (.claude/settings.json) are ignored: run `outrider trust add` if you trust them"
    )


# --- the end of a session ------------------------------------------------------------------------------------

LOOK = step(call("read_file", path="tariff.py"))


async def ended(workspace, *hooks, script=(LOOK, DONE), mode="agent", answers=(), **settings):
    """The events of a session after its end, and the editor of that time."""
    model = scripted(workspace, list(script))
    given = {"hooks": list(hooks), **settings}
    async with start_session("stock", workspace, model, given, answers=list(answers)) as editor:
        await editor.run("Do it", mode=mode)
    (export,) = await exports_of(workspace.parent / f"{workspace.name}.state")
    assert await play_again(export) == Replayed(len(export.events), 0, None)
    return export.events, editor


async def test_a_hook_at_the_end_of_a_session_gets_json_and_is_a_job_of_no_turn(workspace):
    events, _ = await ended(workspace, hook("sessionEnd", "cat > ended.json"), permissionMode="full")
    told = json.loads((workspace / "ended.json").read_text())
    assert told == {"on": "sessionEnd", "sessionId": events[0].session_id, "reason": "shutdown"}
    started, finished, closed = events[-3:]
    assert (started.type, finished.type, closed.type) == ("job.started", "job.finished", "session.closed")
    assert started.turn_id is None
    assert "callId" not in started.data
    assert (finished.data["status"], finished.data["exitCode"]) == ("exited", 0)
    assert "told" not in finished.data


async def test_at_the_end_of_a_session_that_only_reads_no_hook_changes_anything(workspace):
    events, editor = await ended(
        workspace, hook("sessionEnd", "touch ended"), mode="plan", permissionMode="full"
    )
    assert not (workspace / "ended").exists()
    assert "job.started" not in [event.type for event in events]
    assert any("did not run: the session is read-only" in said.text for said in editor.said)


async def test_at_the_end_of_a_session_nobody_is_asked_and_deny_beats_allow(workspace):
    (workspace / ".outrider").mkdir()
    (workspace / ".outrider/rules.toml").write_text(
        '[[rule]]\ndecision = "deny"\ntool = "run_command"\ncommand = "touch"\n'
    )
    events, editor = await ended(workspace, hook("sessionEnd", "touch ended"), permissionMode="full")
    assert not (workspace / "ended").exists()
    assert "job.started" not in [event.type for event in events]
    assert not editor.questions
    assert any("did not run: rule: deny run_command" in said.text for said in editor.said)


async def test_a_hook_that_hangs_at_the_end_is_ended_and_named(workspace, monkeypatch):
    monkeypatch.setattr(end_hooks, "SECONDS", 0.2)
    settings = {"permissionMode": "full", "testing": {"clock": None}}
    events, editor = await ended(workspace, hook("sessionEnd", "sleep 60"), **settings)
    assert events[-2].data["status"] == "killed_timeout"
    assert any("failed: killed timeout" in said.text for said in editor.said)


async def test_where_no_turn_ran_no_hook_runs_at_the_end(workspace):
    settings = {"hooks": [hook("sessionEnd", "touch ended")], "permissionMode": "full"}
    async with start_session("stock", workspace, scripted(workspace, [LOOK, DONE]), settings) as editor:
        await editor.run("Do it")
    (workspace / "ended").unlink()
    async with start_session("stock", workspace, scripted(workspace, []), settings) as editor:
        (row,) = (await editor.command("outrider.sessions"))["sessions"]
        await editor.command("outrider.resume", {"sessionId": row["sessionId"]})
    assert not (workspace / "ended").exists()
