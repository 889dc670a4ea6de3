"""Rules at work: what they allow goes, what they forbid does not, and both are in the log; always means what was shown."""

import hashlib

import pytest
from scripting import DONE, FIX, call, results, step

from outrider.testing.editor.answers import Dismiss
from outrider.testing.editor.wire_client import RpcError

MAKE = call("run_command", command="echo one >/dev/null && touch made", called="make")


def resolved(editor):
    return [
        (event["data"]["by"], event["data"]["decision"], len(event["data"].get("rules", [])))
        for event in editor.events_of("approval.resolved")
    ]


async def test_always_shows_the_rules_saves_them_and_they_decide(begin, rules, workspace):
    turns = [step(MAKE), step({**MAKE, "id": "again"}), DONE]
    editor = await begin(
        "stock", turns, answers=["Always allow…", "Back", "Always allow…", "Always in this workspace"]
    )
    await editor.run("Make it.")
    first, shown, again, _ = editor.questions
    assert "Always allow…" in first.titles
    assert "Because of `touch made` it asks: no rule allows it" in first.message
    assert "- allow run_command “echo …”\n- allow run_command “touch made”" in shown.message
    assert "rules.toml" in shown.message
    assert again.message == first.message
    assert resolved(editor) == [("person", "allow_always", 0), ("rule", "allow_once", 2)]
    assert {name: status for name, (status, _) in results(editor).items()} == {"make": "ok", "again": "ok"}
    text = rules()
    assert text.count(f'workspace = "{workspace}"') == 2
    assert text.count("hits = 1") == 2
    listed = await editor.command("outrider.permissions", {})
    assert [rule["text"] for rule in listed["rules"]] == [
        f"allow run_command “echo …” in {workspace}",
        f"allow run_command “touch made” in {workspace}",
    ]
    assert [rule["hits"] for rule in listed["rules"]] == [1, 1]


async def test_the_rules_that_would_be_saved_are_in_the_item_for_who_answers_by_command(begin, rules):
    editor = await begin("bare", [step(FIX), DONE])
    (item,) = (await editor.run("Change it."))["open"]
    assert item["always"] == [{"tool": "edit", "path": "tariff.py"}]
    await editor.command(
        "outrider.answer", {"id": item["id"], "decision": "allow_always", "scope": "everywhere"}
    )
    await editor.event("turn.finished")
    assert 'path = "tariff.py"' in rules()
    assert "workspace" not in rules().replace("workspace'", "")


async def test_a_second_question_that_nobody_answers_saves_nothing(begin, rules):
    editor = await begin("stock", [step(MAKE), DONE], answers=["Always allow…", Dismiss()])
    assert (await editor.run("Make it."))["outcome"] == "needs_input"
    with pytest.raises(FileNotFoundError):
        rules()


@pytest.mark.parametrize("mode", ["ask", "auto-edit", "full"])
async def test_what_a_rule_forbids_does_not_happen_and_is_recorded(mode, begin, rules, workspace):
    rules(
        '[[rule]]\ndecision = "deny"\ntool = "run_command"\ncommand = "touch"\n'
        '[[rule]]\ndecision = "deny"\ntool = "edit"\npath = "*.py"\n'
        '[[rule]]\ndecision = "deny"\ntool = "read_file"\npath = "README.md"\n'
    )
    read = call("read_file", path="README.md", called="read")
    editor = await begin("stock", [step(MAKE, FIX, read), DONE], {"permissionMode": mode})
    await editor.run("Make it.")
    assert resolved(editor) == [("rule", "reject", 1)] * 3
    assert {status for status, _ in results(editor).values()} == {"denied"}
    assert "deny run_command “touch …” everywhere" in results(editor)["make"][1]
    assert not editor.questions
    assert not (workspace / "made").exists()
    assert rules().count("hits = 1") == 3


async def test_an_ask_rule_asks_in_every_mode(begin, rules):
    rules('[[rule]]\ndecision = "ask"\ntool = "edit"\npath = "tariff.py"\n')
    editor = await begin("stock", [step(FIX), DONE], {"permissionMode": "full"}, answers=["Allow once"])
    await editor.run("Change it.")
    assert len(editor.questions) == 1
    assert results(editor)["fix"][0] == "ok"


async def test_commands_that_only_read_go_in_auto_edit_alone(begin):
    look = call("run_command", command="cat tariff.py | wc -l", called="look")
    editor = await begin(
        "stock", [step(look), step(MAKE), DONE], {"permissionMode": "auto-edit"}, answers=["Reject"]
    )
    await editor.run("Look.")
    assert [question.message.splitlines()[0] for question in editor.questions] == [
        f"Run `{MAKE['input']['command']}` in the workspace, without a sandbox."
    ]
    assert results(editor)["look"][0] == "ok"
    assert resolved(editor)[0] == ("mode", "allow_once", 0)


async def test_a_script_that_changes_while_it_is_asked_for_is_asked_for_again(begin, workspace):
    script = workspace / "do.sh"
    script.write_text("echo one\n")
    run = call("run_command", command="bash do.sh", called="run")

    def change_and_allow(question):
        if "echo two" not in script.read_text():
            script.write_text("echo two\n")
        return "Allow once"

    editor = await begin("stock", [step(run), DONE], answers=change_and_allow)
    await editor.run("Run it.")
    assert len(editor.questions) == 2
    assert editor.questions[0].message != editor.questions[1].message
    assert "It runs do.sh as it is now (SHA-256 " in editor.questions[0].message
    assert "two" in results(editor)["run"][1]


async def test_a_grant_does_not_cover_a_script_that_changed(begin, workspace):
    (workspace / "do.sh").write_text("echo one\n")
    run = call("run_command", command="bash do.sh", called="run")
    change = call("run_command", command="echo 'echo two' > do.sh", called="change")
    turns = [step(run), step(change), step({**run, "id": "again"}), DONE]
    editor = await begin("stock", turns, answers=["Allow for this session", "Allow once", "Reject"])
    await editor.run("Run it.")
    assert {name: status for name, (status, _) in results(editor).items()} == {
        "run": "ok",
        "change": "ok",
        "again": "denied",
    }


async def test_a_rule_for_a_script_is_for_what_it_holds(begin, rules, workspace):
    (workspace / "do.sh").write_text("echo one\n")
    run = call("run_command", command="bash do.sh", called="run")
    change = call("run_command", command="echo 'echo two' > do.sh", called="change")
    turns = [step(run), step({**run, "id": "same"}), step(change), step({**run, "id": "again"}), DONE]
    answers = ["Always allow…", "Always in this workspace", "Allow once", "Reject"]
    editor = await begin("stock", turns, answers=answers)
    await editor.run("Run it.")
    digest = hashlib.sha256(b"echo one\n").hexdigest()
    saved = f"allow run_command “bash do.sh …” with the script as it is ({digest[:16]})"
    assert saved in editor.questions[1].message
    assert {name: status for name, (status, _) in results(editor).items()} == {
        "run": "ok",
        "same": "ok",
        "change": "ok",
        "again": "denied",
    }
    (rule,) = (await editor.command("outrider.permissions", {}))["rules"]
    assert rule["script"] == digest


@pytest.mark.parametrize(("script", "status"), [(None, "denied"), ("any", "ok"), ("0" * 64, "denied")])
async def test_a_rule_without_the_right_script_does_not_allow_it(script, status, begin, rules, workspace):
    (workspace / "do.sh").write_text("echo one\n")
    line = f'script = "{script}"\n' if script else ""
    rules(f'[[rule]]\ndecision = "allow"\ntool = "run_command"\ncommand = "bash do.sh"\n{line}')
    editor = await begin("stock", [step(call("run_command", command="bash do.sh")), DONE], answers=["Reject"])
    await editor.run("Run it.")
    assert [status for status, _ in results(editor).values()] == [status]


async def test_a_damaged_ledger_lets_nothing_but_reading_happen(begin, rules):
    rules("[[rule]]\ndecision = \n")
    read = call("read_file", path="tariff.py", called="read")
    editor = await begin("stock", [step(read), step(FIX), DONE], {"permissionMode": "full"})
    await editor.run("Change it.")
    assert {name: status for name, (status, _) in results(editor).items()} == {"read": "ok", "fix": "denied"}
    (said,) = [said.text for said in editor.said if "rules.toml, line 2" in said.text]
    assert said.endswith("Until this is fixed, Outrider only reads")
    checks = {check["name"]: check for check in (await editor.command("outrider.doctor"))["checks"]}
    assert checks["permissions"]["status"] == "fail"
    assert "rules.toml, line 2" in checks["permissions"]["detail"]
    listed = await editor.command("outrider.permissions", {})
    assert "line 2" in listed["problem"]


async def test_the_doctor_names_a_damaged_file_of_the_workspace(begin, workspace):
    (workspace / ".outrider").mkdir()
    (workspace / ".outrider" / "rules.toml").write_text("[[rule")
    editor = await begin("stock", [DONE])
    checks = {check["name"]: check for check in (await editor.command("outrider.doctor"))["checks"]}
    assert checks["permissions"]["status"] == "warn"
    assert checks["permissions"]["detail"].endswith("asks before every edit and command")


async def test_the_list_and_the_doctor_name_a_rule_about_no_tool_there_is(begin, rules):
    rules('[[rule]]\ndecision = "deny"\ntool = "bash"\n')
    editor = await begin("stock", [DONE])
    (listed,) = (await editor.command("outrider.permissions", {}))["rules"]
    assert listed["text"].endswith("(does nothing: there is no tool 'bash', only run_command)")
    checks = {check["name"]: check for check in (await editor.command("outrider.doctor"))["checks"]}
    assert checks["permissions"]["status"] == "warn"
    assert checks["permissions"]["detail"].endswith("there is no tool 'bash', only run_command")
    with pytest.raises(RpcError, match="there is no tool 'bash'"):
        await editor.command(
            "outrider.permissions", {"action": "add", "rule": {"decision": "deny", "tool": "bash"}}
        )


async def test_rules_are_added_removed_and_opened_by_command(begin, rules):
    editor = await begin("vscode", [DONE])
    new = {"decision": "deny", "tool": "run_command", "command": "git push", "scope": "everywhere"}
    added = await editor.command("outrider.permissions", {"action": "add", "rule": new})
    (rule,) = added["rules"]
    assert rule["text"] == "deny run_command “git push …” everywhere"
    assert rule["origin"] == "person"
    wide = {"decision": "allow", "tool": "run_command", "command": "bash"}
    with pytest.raises(RpcError, match="bash alone would allow any program"):
        await editor.command("outrider.permissions", {"action": "add", "rule": wide})
    await editor.command("outrider.permissions", {"action": "open"})
    removed = await editor.command("outrider.permissions", {"action": "remove", "id": rule["id"]})
    assert removed["rules"] == []
    assert "[[rule]]" not in rules()
    for wrong in ({"action": "add"}, {"action": "remove"}, {"action": "list", "id": "x"}):
        with pytest.raises(RpcError):
            await editor.command("outrider.permissions", wrong)
