"""Commands that only read, in a real read-only sandbox: nothing asks, nothing shut is seen, and one that writes all the same asks."""

import base64
import subprocess

import pytest
from scripting import DONE, call, results, step

from sandboxes import in_both_worlds


def settings(world):
    return {"sandbox": {"mode": "auto"}, "testing": {"sandboxes": [world]}, "permissionMode": "ask"}


@in_both_worlds
async def test_in_ask_a_search_through_all_files_is_no_question(world, begin, workspace):
    (workspace / ".env").write_text("hours=hunter2\n")
    look = call("run_command", command="grep -rh hours . ; cat $UNKNOWN < /dev/null", called="look")
    editor = await begin("stock", [step(look), DONE], settings(world))
    await editor.run("Go.")
    assert editor.questions == []
    content = results(editor)["look"][1]
    assert "hours" in content
    assert "hunter2" not in content
    assert "hidden from it as secret, or by .outriderignore, so that they look empty: .env" in content


@in_both_worlds
async def test_what_is_hidden_is_said_once_and_again_when_it_is_something_else(world, begin, workspace):
    (workspace / ".env").write_text("hours=hunter2\n")
    (workspace / "notes.txt").write_text("x\n")
    looks = [
        call("run_command", command=f"cat < tariff.py | head -{n}", called=f"look{n}") for n in range(1, 6)
    ]
    turns = [step(*looks[:2]), step(looks[2]), DONE, step(looks[3]), step(looks[4]), DONE]
    editor = await begin("stock", turns, settings(world))
    await editor.run("Go.")
    (workspace / ".outriderignore").write_text("notes.txt\n")
    await editor.run("Go on.", sessionId=editor.session_id)
    told = [results(editor)[f"look{n}"][1] for n in range(1, 6)]
    assert ["hidden from it" in one for one in told] == [True, False, False, True, False]
    assert "notes.txt" in told[3]


@in_both_worlds
@pytest.mark.parametrize("answer", ["Allow once", "Reject"])
async def test_one_that_writes_all_the_same_asks_then(world, answer, begin, workspace):
    look = call("run_command", command='f=made.txt; sed -n "w $f" tariff.py', called="look")
    editor = await begin("stock", [step(look), DONE], settings(world), answers=[answer])
    await editor.run("Go.")
    (question,) = editor.questions
    assert "It failed in a read-only sandbox" in question.message
    assert (workspace / "made.txt").exists() == (answer == "Allow once")


@in_both_worlds
async def test_a_further_name_of_a_secret_file_is_hidden_like_the_first(world, begin, workspace):
    (workspace / ".env").write_text("hours=hunter2\n")
    (workspace / "deep").mkdir()
    (workspace / "deep" / "harmless.txt").hardlink_to(workspace / ".env")
    look = call("run_command", command="cat deep/harmless.txt; cat .en[v]; grep -rh hours .", called="look")
    editor = await begin("stock", [step(look), DONE], settings(world), answers=["Reject"])
    await editor.run("Go.")
    assert "hunter2" not in results(editor)["look"][1]


def _with_a_secret_in_its_history(workspace):
    """A repository whose commits hold a secret file, and where git would keep its text as a loose object."""
    (workspace / "deep").mkdir()
    (workspace / ".env").write_text("hours=hunter2\n")
    (workspace / "deep" / "notes.txt").write_text("one\n")
    for command in ("init -q", "add -A -f", "-c user.name=a -c user.email=a@b.example commit -qm one"):
        subprocess.run(["git", *command.split()], cwd=workspace, check=True)
    named = subprocess.run(
        ["git", "rev-parse", "HEAD:.env"], cwd=workspace, check=True, capture_output=True, text=True
    ).stdout.strip()
    return f".git/objects/{named[:2]}/{named[2:]}"


@in_both_worlds
@pytest.mark.parametrize(
    "command",
    [
        "git -C deep log -p",
        "git -C . show HEAD",
        "git --no-pager -C deep log -p",
        "git -C deep grep hours HEAD -- ..",
        "find .git -type f -exec base64 {} + ; grep -ra . .",
    ],
)
async def test_the_history_shows_no_secret_file_whatever_git_is_told_first(world, command, begin, workspace):
    kept = _with_a_secret_in_its_history(workspace)
    packed = base64.b64encode((workspace / kept).read_bytes()).decode()
    look = call("run_command", command=command, called="look")
    editor = await begin("stock", [step(look), DONE], settings(world))
    await editor.run("Go.")
    content = results(editor)["look"][1]
    assert editor.questions == []
    assert "hunter2" not in content
    assert packed[:40] not in content
    assert ".git" not in content.partition("hidden from it")[2]


@in_both_worlds
@pytest.mark.parametrize("before", ["", "git status; "])
async def test_what_git_keeps_is_no_file_to_look_at(world, before, begin, workspace):
    kept = _with_a_secret_in_its_history(workspace)
    reads = [f"{before}base64 {kept}", f"{before}(printf x; tail -c +3 < {kept}) | zcat"]
    reads += [f"{before}find .git -type f -exec base64 {{}} +"] if before else []
    turns = [step(call("run_command", command=text, called=str(n))) for n, text in enumerate(reads)]
    editor = await begin("stock", [*turns, DONE], settings(world), answers=["Reject"] * len(reads))
    await editor.run("Go.")
    assert len(editor.questions) == len(reads)
    assert [status for status, _ in results(editor).values()] == ["denied"] * len(reads)
