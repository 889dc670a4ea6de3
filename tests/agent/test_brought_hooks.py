"""Hooks as projects of Gemini CLI and of GitHub Copilot have them: found, asked about, given what they expect, and heard."""

import json

import pytest
from scripting import DONE, call, step
from test_context import sent
from test_hooks import DENY, EDIT, result

from outrider.testing.scenario import scripted, start_session
from outrider_protocol import ALLOW_COMMANDS, IGNORE_COMMANDS

pytestmark = pytest.mark.usefixtures("replayed_at_once")

OF = {
    "claude": (
        ".claude/settings.json",
        "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd",
    ),
    "gemini": (
        ".gemini/settings.json",
        "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd",
    ),
    "copilot": (
        ".github/hooks/all.json",
        "sessionStart userPromptSubmitted preToolUse postToolUse agentStop sessionEnd",
    ),
    "vscode": (
        ".github/hooks/all.json",
        "SessionStart UserPromptSubmit PreToolUse PostToolUse Stop SessionEnd",
    ),
}
START, PROMPT, BEFORE, AFTER, STOP, END = range(6)


def bring(workspace, form, point, command, matcher=None, **more):
    name, events = OF[form]
    one = {"type": "command", ("bash" if form == "copilot" else "command"): command, **more}
    said = {"matcher": matcher} if matcher is not None else {}
    is_flat = form in {"copilot", "vscode"}
    block = {events.split()[point]: [{**said, **one} if is_flat else {**said, "hooks": [one]}]}
    write(workspace, name, json.dumps({"version": 1, "hooks": block}))


def write(workspace, name, text):
    path = workspace / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


async def play(begin, script, *, answers=(ALLOW_COMMANDS,), **settings):
    editor = await begin("stock", script, {"permissionMode": "full", **settings}, answers=list(answers))
    return editor, await editor.run("Do it")


@pytest.mark.parametrize(("form", "matcher"), [("gemini", "write_file|replace"), ("copilot", "edit|create"), ("vscode", "Edit|Write")])  # fmt: skip
@pytest.mark.parametrize("yes", [True, False])
async def test_they_are_asked_about_and_refuse(begin, workspace, form, matcher, yes):
    bring(workspace, form, BEFORE, "echo not on main >&2; exit 2", matcher)
    editor, _ = await play(begin, [EDIT, DONE], answers=[ALLOW_COMMANDS if yes else IGNORE_COMMANDS])
    assert "echo not on main" in editor.questions[0].message
    status, content = result(editor)
    assert (status, "not on main" in content) == (("denied", True) if yes else ("ok", False))


@pytest.mark.parametrize("form", OF)
async def test_of_an_untrusted_workspace_none_runs(begin, workspace, form):
    bring(workspace, form, PROMPT, "touch made")
    editor, _ = await play(begin, [DONE], trusted=False)
    assert not editor.questions
    assert not (workspace / "made").exists()


ANSWERS = {
    "claude": DENY,
    "gemini": {"decision": "deny", "reason": "not on main"},
    "copilot": {"permissionDecision": "deny", "permissionDecisionReason": "not on main"},
    "vscode": DENY,
}


@pytest.mark.parametrize("form", OF)
@pytest.mark.parametrize("how", ["deny", "stop"])
async def test_their_answers_refuse(begin, workspace, form, how):
    said = ANSWERS[form] if how == "deny" else {"continue": False, "stopReason": "not on main"}
    write(workspace, "answer.json", json.dumps(said))
    bring(workspace, form, BEFORE, "cat answer.json")
    editor, _ = await play(begin, [EDIT, DONE])
    assert result(editor)[0] == "denied"
    assert "not on main" in result(editor)[1]


@pytest.mark.parametrize("form", OF)
@pytest.mark.parametrize("word", ["allow", "approve"])
async def test_their_allow_allows_nothing(begin, workspace, form, word):
    inner = {"permissionDecision": word, "decision": word}
    write(workspace, "answer.json", json.dumps({**inner, "behavior": word, "hookSpecificOutput": inner}))
    bring(workspace, form, BEFORE, "cat answer.json", "*")
    editor, _ = await play(begin, [EDIT, DONE], answers=[ALLOW_COMMANDS, "Reject"], permissionMode="ask")
    assert result(editor)[0] == "denied"
    assert len(editor.questions) == 2


CHANGES = {
    "claude": {"hookSpecificOutput": {"updatedInput": {"new_string": "hours * 7"}}},
    "gemini": {"hookSpecificOutput": {"tool_input": {"new_string": "hours * 7"}}},
    "copilot": {"modifiedArgs": {"new_str": "hours * 7"}},
    "vscode": {"hookSpecificOutput": {"updatedInput": {"new_string": "hours * 7"}}},
}


@pytest.mark.parametrize("form", OF)
async def test_what_they_change_is_shown_and_approved_as_changed(begin, workspace, form):
    write(workspace, "answer.json", json.dumps(CHANGES[form]))
    bring(workspace, form, BEFORE, "cat answer.json")
    answers = [ALLOW_COMMANDS, "Allow once"]
    editor, _ = await play(begin, [EDIT, DONE], answers=answers, permissionMode="ask")
    assert "hours * 7" in editor.questions[1].message
    assert result(editor)[0] == "ok"
    assert "hours * 7" in (workspace / "tariff.py").read_text()


@pytest.mark.parametrize("form", OF)
async def test_they_get_what_they_expect(begin, workspace, form):
    """The call and its result by the names that their agent has for them."""
    tariff = (workspace / "tariff.py").read_text()
    for point in (BEFORE, AFTER):
        (workspace / "tariff.py").write_text(tariff)
        bring(workspace, form, point, f"cat > got{point}.json")
        await play(begin, [EDIT, DONE])
    before, after = (json.loads((workspace / f"got{point}.json").read_text()) for point in (BEFORE, AFTER))
    path = str(workspace / "tariff.py")
    if form == "copilot":
        assert (before["toolName"], before["cwd"]) == ("edit", str(workspace))
        assert isinstance(before["timestamp"], int)
        assert json.loads(before["toolArgs"]) == {
            "path": path,
            "old_str": "hours * 3",
            "new_str": "hours * 2",
        }
        assert after["toolResult"]["resultType"] == "success"
        assert "tariff.py" in after["toolResult"]["textResultForLlm"]
        return
    events = OF[form][1].split()
    assert (before["hook_event_name"], after["hook_event_name"]) == (events[BEFORE], events[AFTER])
    assert before["tool_name"] == ("replace" if form == "gemini" else "Edit")
    expected = {"file_path": path, "old_string": "hours * 3", "new_string": "hours * 2"}
    assert before["tool_input"] == expected
    match form:
        case "gemini":
            assert "tariff.py" in after["tool_response"]["llmContent"]
            assert before["timestamp"].endswith("Z")
        case "vscode":
            assert after["tool_result"]["result_type"] == "success"
        case _:
            assert "tariff.py" in after["tool_response"]


@pytest.mark.parametrize("form", OF)
async def test_their_variables_and_points(begin, workspace, form):
    variable = {"claude": "CLAUDE", "gemini": "GEMINI"}.get(form, "COPILOT")
    for point in (START, PROMPT, STOP):
        bring(workspace, form, point, f'cp /dev/stdin "${variable}_PROJECT_DIR/seen{point}"')
        await play(begin, [DONE])
    assert json.loads((workspace / f"seen{PROMPT}").read_text())["prompt"] == "Do it"
    assert json.loads((workspace / f"seen{START}").read_text())["source"] == "startup"
    assert json.loads((workspace / f"seen{STOP}").read_text())["stop_hook_active"] is False


@pytest.mark.parametrize("form", OF)
async def test_what_is_wrong_after_a_call_is_told_to_the_model(begin, workspace, form):
    """A linter after an edit: the call is made, and what it says is no failure of the hook but what the hook is for."""
    bring(workspace, form, AFTER, "echo line 3 is too long >&2; exit 2")
    editor, _ = await play(begin, [EDIT, DONE])
    assert result(editor)[0] == "ok"
    told = [message.text for message in (await sent(editor))[-1]]
    assert any("says:]" in text and "line 3 is too long" in text for text in told)


STAYS = {"echo run the tests first >&2; exit 2": "exit", "cat answer.json": {"decision": "block", "reason": "run the tests first"},
         "cat  answer.json": {"decision": "deny", "reason": "run the tests first"}}  # fmt: skip


@pytest.mark.parametrize("form", OF)
@pytest.mark.parametrize("command", STAYS)
async def test_a_turn_goes_on_with_what_keeps_it_from_its_end(begin, workspace, form, command):
    """Once is enough here: the hook lets it end when it is told that it has had its say."""
    write(workspace, "answer.json", json.dumps(STAYS[command]))
    bring(workspace, form, STOP, f"grep -q '\"stop_hook_active\": true' && exit 0; {command}")
    script = [{"text": "Finished."}, {"text": "They pass.", "expect": {"last_message_contains": "run the tests first"}}]  # fmt: skip
    editor, done = await play(begin, script)
    assert (done["outcome"], done["summary"]) == ("completed", "They pass.")
    assert len(editor.events_of("model.requested")) == 2
    assert "run the tests first" in editor.events_of("hook.finished")[0]["data"]["refused"]


@pytest.mark.parametrize("form", OF)
async def test_one_that_says_stop_at_the_end_has_no_turn_go_on(begin, workspace, form):
    said = {"continue": False, "stopReason": "enough", "decision": "block", "reason": "run the tests first"}
    write(workspace, "answer.json", json.dumps(said))
    bring(workspace, form, STOP, "cat answer.json")
    _, done = await play(begin, [DONE])
    assert (done["outcome"], done["summary"]) == ("completed", "Done.")


@pytest.mark.parametrize("form", OF)
async def test_they_add_context(begin, workspace, form):
    said = {"additionalContext": "The branch is main."}
    said = said if form == "copilot" else {"hookSpecificOutput": said}
    write(workspace, "answer.json", json.dumps(said))
    bring(workspace, form, PROMPT, "cat answer.json")
    editor, _ = await play(begin, [DONE])
    assert any("The branch is main." in message.text for message in (await sent(editor))[-1])


@pytest.mark.parametrize(("form", "refuses"), [("claude", False), ("gemini", False), ("copilot", True), ("vscode", True)])  # fmt: skip
async def test_a_failing_guard_refuses_where_it_does_there(begin, workspace, form, refuses):
    bring(workspace, form, BEFORE, "exit 7")
    editor, _ = await play(begin, [EDIT, DONE])
    assert result(editor)[0] == ("denied" if refuses else "ok")


@pytest.mark.parametrize("form", OF)
async def test_the_time_out_is_theirs(begin, workspace, form):
    """In seconds or in milliseconds; a hook that hangs holds nothing longer than it says."""
    key, value = {"gemini": ("timeout", 1000), "copilot": ("timeoutSec", 1)}.get(form, ("timeout", 1))
    bring(workspace, form, PROMPT, "sleep 60", **{key: value})
    editor, done = await play(begin, [DONE])
    assert done["outcome"] == "completed"
    (started,) = [e["data"] for e in editor.events_of("hook.started")]
    assert started["calls"][0]["seconds"] == 1
    assert any("time-out" in message.text for message in (await sent(editor))[-1])


async def test_the_folder_and_the_variables_of_copilot_are_shown_and_hold(begin, workspace):
    write(workspace, "guards/check.sh", 'echo "$LEVEL of $WHERE" > ../seen\n')
    more = {"cwd": "guards", "env": {"LEVEL": "high $(touch made)", "WHERE": "$COPILOT_PROJECT_DIR"}}
    bring(workspace, "copilot", PROMPT, "sh check.sh", **more)
    editor, _ = await play(begin, [DONE])
    assert "LEVEL=" in editor.questions[0].message
    assert "guards" in editor.questions[0].message
    assert (workspace / "seen").read_text() == f"high $(touch made) of {workspace}\n"
    assert not (workspace / "made").exists()


@pytest.mark.parametrize("more", [{"cwd": "guards", "command": "sh check.sh"}, {"command": "cd guards && sh check.sh"}])  # fmt: skip
async def test_a_script_in_a_folder_that_it_goes_into_is_part_of_the_yes(begin, workspace, more):
    write(workspace, "guards/check.sh", "exit 2\n")
    write(workspace, ".github/hooks/all.json", json.dumps({"hooks": {"preToolUse": [more]}}))
    answers = [ALLOW_COMMANDS, IGNORE_COMMANDS]
    editor, _ = await play(begin, [EDIT, DONE, EDIT, DONE], answers=answers)
    assert result(editor)[0] == "denied"
    write(workspace, "guards/check.sh", "touch ../made\n")
    await editor.run("Again")
    assert len(editor.questions) == 2
    assert not (workspace / "made").exists()


async def test_a_program_with_arguments_needs_no_shell(begin, workspace):
    words = {"exec": "touch", "args": ["made it", "$HOME; touch made", "${COPILOT_PROJECT_DIR}/there"]}
    write(workspace, ".github/hooks/all.json", json.dumps({"hooks": {"userPromptSubmitted": [words]}}))
    await play(begin, [DONE])
    assert (workspace / "made it").exists()
    assert (workspace / "there").exists()
    assert not (workspace / "made").exists()


OFF = [
    ("claude", {"disableAllHooks": True}), ("gemini", {"hooksConfig": {"enabled": False}}), ("gemini", {"tools": {"enableHooks": False}}),
    ("gemini", {"hooksConfig": {"disabled": ["guard"]}}), ("copilot", {"disableAllHooks": True}),
]  # fmt: skip


@pytest.mark.parametrize(("form", "off"), OFF)
async def test_what_they_turn_off_is_off(begin, workspace, form, off):
    bring(workspace, form, PROMPT, "touch made", name="guard")
    path = workspace / OF[form][0]
    path.write_text(json.dumps({**json.loads(path.read_text()), **off}))
    editor, _ = await play(begin, [DONE], answers=[])
    assert not editor.questions
    assert not (workspace / "made").exists()


FITS = [
    ("claude", "mcp__.*", False), ("gemini", "replac", True), ("gemini", "^write_file$", False), ("copilot", "edi", False), ("copilot", "ed.*", True),
    ("vscode", "**", True), ("vscode", "edit", False),
]  # fmt: skip


@pytest.mark.parametrize(("form", "matcher", "fits"), FITS)
async def test_their_matchers_are_read_as_they_read_them(begin, workspace, form, matcher, fits):
    bring(workspace, form, BEFORE, "exit 2", matcher)
    editor, _ = await play(begin, [EDIT, DONE])
    assert result(editor)[0] == ("denied" if fits else "ok")


@pytest.mark.parametrize("form", OF)
async def test_at_the_end_of_a_session_they_say_goodbye(workspace, form):
    bring(workspace, form, END, "cat > ended.json")
    settings = {"permissionMode": "full", "trusted": True}
    model = scripted(workspace, [DONE])
    async with start_session("stock", workspace, model, settings, answers=[ALLOW_COMMANDS]) as editor:
        await editor.run("Do it")
        assert not (workspace / "ended.json").exists()
    told = json.loads((workspace / "ended.json").read_text())
    assert told["reason"] == ("other" if form in {"claude", "gemini"} else "user_exit")
    assert told.get("hook_event_name", "SessionEnd") == "SessionEnd"


async def test_the_doctor_says_what_of_them_is_not_taken(begin, workspace):
    one = {"type": "command", "command": "true"}
    gemini = {"BeforeModel": [{"hooks": [one]}], "enabled": True, "disabled": ["old"]}
    write(workspace, ".gemini/settings.json", "// ours\n" + json.dumps({"hooks": gemini}))
    copilot = {
        "postToolUse": [{"powershell": "exit"}, {"type": "http", "url": "https://a"}],
        "errorOccurred": [one],
    }
    write(workspace, ".github/hooks/a.json", json.dumps({"version": 1, "hooks": copilot}))
    write(workspace, ".github/hooks/config/policy.json", "not for us")
    write(workspace, ".github/hooks/broken.json", "{")
    editor = await begin("stock", [DONE])
    checks = (await editor.command("outrider.doctor", {}))["checks"]
    said = [one["detail"] for one in checks if one["name"] == "hooks"]
    assert len(said) == 5
    for part in (
        ".gemini/settings.json: hooks.BeforeModel: there is no such point here",
        ".github/hooks/a.json: hooks.postToolUse: only hooks that are a command of this system",
        ".github/hooks/a.json: hooks.errorOccurred: there is no such point here",
        ".github/hooks/broken.json: is not valid JSON",
    ):
        assert part in " | ".join(said)


async def test_a_tool_of_a_server_has_its_name_there():
    from outrider.agent.customization.hook_forms import CLAUDE, COPILOT, GEMINI

    assert [form.names("files__read")[0] for form in (CLAUDE, GEMINI, COPILOT)] == [
        "mcp__files__read",
        "mcp_files_read",
        "files-read",
    ]


@pytest.mark.parametrize("form", OF)
async def test_a_turn_that_reads_runs_none_that_changes(begin, workspace, form):
    """Nor does a guard that cannot run there end what only reads."""
    bring(workspace, form, BEFORE, "touch made")
    read = step(call("read_file", path="tariff.py", called="read"))
    editor = await begin("stock", [read, DONE], {"permissionMode": "full"}, answers=[ALLOW_COMMANDS])
    await editor.run("Look", mode="plan")
    assert result(editor, "read")[0] == "ok"
    assert not (workspace / "made").exists()
