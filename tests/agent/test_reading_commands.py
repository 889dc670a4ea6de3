"""Commands that only read, in a real read-only sandbox: nothing asks, nothing shut is seen, and one that writes all the same asks."""

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
