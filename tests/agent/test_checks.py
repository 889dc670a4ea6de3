"""The checks of a task: run when the model stops after a change, by the same permissions; a failure goes back to it."""

import json

import pytest
from scripting import FIX, call, step

from outrider.cli.main import main
from sandboxes import needs_bubblewrap

FULL = {"permissionMode": "full"}
CHECK = "grep -q 'hours \\* 2' tariff.py"
FAILED = f"check failed: `{CHECK}` (exit code 1)"
WRONG = {
    "name": "edit_file",
    "input": {"path": "tariff.py", "old": "hours * 3", "new": "hours * 4"},
    "id": "wrong",
}
RIGHT = {
    "name": "edit_file",
    "input": {"path": "tariff.py", "old": "hours * 4", "new": "hours * 2"},
    "id": "right",
}
SAID = {"text": "All tests pass."}


def told_of(editor):
    return [(one["data"]["attempt"], one["data"]["failed"]) for one in editor.events_of("verify.finished")]


def end_of(editor):
    (finished,) = editor.events_of("turn.finished")
    return finished["data"]["reason"], finished["data"]["done"]["line"]


async def test_a_failed_check_goes_back_to_the_model_which_repairs_it(begin):
    back = {"expect": {"messages_contain": ["the checks of this task were run", CHECK, "exit code 1"]}}
    editor = await begin("stock", [step(WRONG), SAID, {**step(RIGHT), **back}, SAID], FULL)
    await editor.run("Go.", acceptance=[CHECK])
    assert told_of(editor) == [(1, [CHECK]), (2, [])]
    assert end_of(editor) == ("checked", f"checked: `{CHECK}`")


async def test_it_goes_back_three_times_at_most(begin):
    def again(number):
        return {
            "name": "write_file",
            "input": {"path": f"note{number}.txt", "text": "x"},
            "id": f"w{number}",
        }

    turns = [one for number in range(5) for one in (step(again(number)), SAID)][:8]
    editor = await begin("stock", turns, FULL)
    await editor.run("Go.", acceptance=["false"])
    assert told_of(editor) == [(number, ["false"]) for number in (1, 2, 3, 4)]
    told = [one["data"].get("told") is not None for one in editor.events_of("verify.finished")]
    assert told == [True, True, True, False]
    assert end_of(editor) == ("check_failed", "check failed: `false` (exit code 1)")


async def test_a_model_that_changes_nothing_more_ends_the_turn(begin):
    editor = await begin("stock", [step(WRONG), SAID, SAID], FULL)
    await editor.run("Go.", acceptance=[CHECK])
    assert told_of(editor) == [(1, [CHECK])]
    assert end_of(editor)[0] == "check_failed"


async def test_without_a_change_nothing_is_run(begin):
    editor = await begin("stock", [SAID], FULL)
    await editor.run("Go.", acceptance=["false"])
    assert not editor.events_of("verify.started")
    assert end_of(editor) == ("no_changes", "nothing was changed, so its checks did not run")


async def test_a_check_is_asked_for_as_any_command(begin):
    editor = await begin(
        "stock", [step(FIX), SAID], {"verify": ["rm -f nosuch"]}, answers=["Allow once", "Reject"]
    )
    await editor.run("Go.")
    assert told_of(editor) == [(1, [])]
    assert end_of(editor) == ("unverified", "not run: `rm -f nosuch` (you refused it)")
    _, check = editor.events_of("approval.requested")
    assert check["data"]["summary"].startswith("Run the task's check `rm -f nosuch` in the workspace, ")
    assert check["data"]["title"] == "Run: rm -f nosuch"
    assert editor.questions[-1].message.startswith("Run the task's check `rm -f nosuch`")


REFUSED = "python3 tariff.py"


@pytest.mark.parametrize("how", ["task", "settings"])
async def test_a_check_that_was_refused_is_named_and_nothing_counts_as_checked(how, begin):
    demanded = [REFUSED, "true"]
    settings = {"permissionMode": "auto-edit", **({"verify": demanded} if how == "settings" else {})}
    editor = await begin("stock", [step(FIX), SAID], settings, answers=["Reject"])
    done = await editor.run("Go.", **({"acceptance": demanded} if how == "task" else {}))
    assert end_of(editor) == ("unverified", f"not run: `{REFUSED}` (you refused it); checked: `true`")
    assert done["done"]["notRun"] == [{"command": REFUSED, "reason": "refused"}]
    assert done["done"]["state"] == "unverified"
    assert len(editor.questions) == 1


DENIES = '[[rule]]\ndecision = "deny"\ntool = "run_command"\ncommand = "python3"\n'


def deny(workspace):
    """A rule of the project that lets no Python run."""
    (workspace / ".outrider").mkdir()
    (workspace / ".outrider" / "rules.toml").write_text(DENIES)


async def test_a_check_that_a_rule_denies_is_named(begin, workspace):
    deny(workspace)
    editor = await begin("stock", [step(FIX), SAID, SAID], FULL)
    done = await editor.run("Go.", acceptance=[REFUSED, "false"])
    assert done["done"]["line"] == (
        f"check failed: `false` (exit code 1); not run: `{REFUSED}` (it was not allowed)"
    )
    assert done["done"]["notRun"] == [{"command": REFUSED, "reason": "not_allowed"}]


@pytest.mark.parametrize("decision", ["allow_once", "reject"])
async def test_what_the_user_says_of_a_check_reaches_the_model(decision, begin):
    told = {**SAID, "expect": {"messages_contain": [f"$ {REFUSED}", "It is slow."]}}
    editor = await begin(
        "bare", [step(FIX), SAID, told], {"permissionMode": "auto-edit", "limits": {"askSeconds": 0}}
    )
    done = await editor.run("Go.", acceptance=[REFUSED, "true"])
    assert done["outcome"] == "needs_input"
    answer = {"id": done["open"][0]["id"], "decision": decision, "note": "It is slow."}
    await editor.command("outrider.answer", answer)
    done = await editor.wait_turn()
    assert done["outcome"] == "completed"
    assert done["reason"] == ("checked" if decision == "allow_once" else "unverified")
    assert told_of(editor) == [(1, [])], "it is not asked for again"
    assert len(editor.events_of("model.requested")) == 3


async def test_a_check_that_was_refused_is_asked_for_again_after_a_change(begin):
    more = call("write_file", path="more.txt", content="x", called="more")
    editor = await begin(
        "stock",
        [step(FIX), SAID, step(more), SAID],
        {"permissionMode": "auto-edit"},
        answers=["Reject", "Allow once"],
    )
    await editor.run("Go.", acceptance=[REFUSED, "test -e more.txt"])
    assert end_of(editor) == ("checked", f"checked: `{REFUSED}`, `test -e more.txt`")


async def test_a_check_whose_turn_was_cancelled_before_it_is_named(begin):
    editor = await begin(
        "bare", [step(FIX), SAID], {"permissionMode": "auto-edit", "limits": {"askSeconds": 0}}
    )
    await editor.run("Go.", acceptance=[REFUSED])
    await editor.command("outrider.cancel", {"turnId": editor.turn_id})
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["done"]["notRun"] == [{"command": REFUSED, "reason": "ended"}]


async def test_a_check_that_changes_a_text_is_no_evidence(begin):
    editor = await begin("stock", [step(FIX), SAID], {**FULL, "verify": ["echo '# more' >> tariff.py"]})
    await editor.run("Go.")
    assert end_of(editor)[0] == "unverified"


async def test_a_check_that_hangs_is_ended_and_has_failed(begin):
    limits = {"commandSeconds": 0.5}
    editor = await begin("stock", [step(FIX), SAID, SAID], {**FULL, "limits": limits})
    await editor.run("Go.", acceptance=["sleep 60"])
    assert end_of(editor) == ("check_failed", "check failed: `sleep 60` (did not end by itself)")


HOSTILE = {
    "one that prints without a break": "head -c 3000000 /dev/zero | tr '\\0' x; exit 1",
    "one that leaves processes behind": "for i in 1 2 3; do (setsid sleep 600 &) ; done; exit 1",
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_a_check_that_does_harm_has_failed_and_the_turn_ends(case, begin):
    editor = await begin("stock", [step(FIX), SAID, SAID], FULL)
    await editor.run("Go.", acceptance=[HOSTILE[case]])
    assert end_of(editor)[0] == "check_failed"
    (result,) = [
        one["data"]["content"]
        for one in editor.events_of("tool.finished")
        if one["data"]["name"] == "run_command"
    ]
    assert len(result) < 100_000
    assert ("3 processes it left behind were ended" in result) == ("setsid" in HOSTILE[case])


@needs_bubblewrap
@pytest.mark.parametrize("answer", ["Reject", "Run outside once"])
async def test_a_check_that_needs_the_network_asks_to_leave_the_sandbox(answer, begin):
    check = "mkdir -p build; echo getaddrinfo failed; exit 1"
    editor = await begin(
        "stock",
        [step(FIX), SAID, SAID],
        {"permissionMode": "auto", "sandbox": "auto", "testing": {"clock": None, "ids": "sequential"}},
        answers=[answer],
    )
    await editor.run("Go.", acceptance=[check])
    assert [one.message.splitlines()[0] for one in editor.questions] == [
        f"Run `{check}` again, outside the sandbox."
    ]
    assert end_of(editor) == ("check_failed", f"check failed: `{check}` (exit code 1)")


async def test_the_editor_is_told_the_line_in_the_words_of_the_log(begin):
    editor = await begin("stock", [step(WRONG), SAID, SAID], FULL)
    await editor.run("Go.", acceptance=[CHECK])
    assert end_of(editor)[1] == FAILED
    assert any(one.text.endswith(f"({FAILED})") for one in editor.said)


def test_a_run_with_a_check_that_did_not_run_does_not_exit_as_if_it_had(tmp_path, capfd):
    (tmp_path / "tariff.py").write_text("def price(hours):\n    return hours * 3\n")
    (tmp_path / "script.json").write_text(json.dumps({"turns": [step(FIX), SAID]}))
    deny(tmp_path)
    arguments = ["run", "Go.", "-C", str(tmp_path), "--model", "scripted:script.json", "--yes-to", "edits"]
    arguments += ["--check", REFUSED, "--check", "true", "--state-dir", str(tmp_path / "state")]
    assert main(arguments) == 5
    assert f"not run: `{REFUSED}` (it was not allowed)" in " ".join(capfd.readouterr().out.split())


@pytest.mark.parametrize(("check", "code"), [(CHECK, 5), ("true", 0)])
def test_the_exit_code_of_a_run_says_whether_a_check_failed(check, code, tmp_path, capfd):
    (tmp_path / "tariff.py").write_text("def price(hours):\n    return hours * 3\n")
    script = {"turns": [step(WRONG), SAID, SAID][: 3 if code else 2]}
    (tmp_path / "script.json").write_text(json.dumps(script))
    arguments = ["run", "Go.", "-C", str(tmp_path), "--model", "scripted:script.json", "--yes-to", "edits"]
    arguments += ["--check", check, "--state-dir", str(tmp_path / "state")]
    assert main(arguments) == code
    ended = FAILED.replace(":", " ·", 1)  # its first words are the mark of the line
    assert (ended in " ".join(capfd.readouterr().out.split())) is bool(code)
