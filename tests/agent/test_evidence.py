"""What a turn says of how its changes were checked: by what a command is, its exit code, and what was changed since."""

import pytest
from scripting import DONE, FIX, call, result, step

from everyday import some

FULL = {"permissionMode": "full"}
GOOD = "python3 -m py_compile tariff.py"
BAD = "python3 -m py_compile nosuch.py"


def run(command, called):
    return call("run_command", command=command, called=called)


CASES = {
    "only a command that changes": ([run("echo more >> tariff.py", "a")], "unverified"),
    "only a command that makes a file": ([run("echo more > new.txt", "a")], "unverified"),
    "only a command that makes what is no text": ([run("printf '\\0' > new.bin", "a")], "unverified"),
    "an edit and a command that changes": ([FIX, run("echo more >> tariff.py", "a")], "unverified"),
    "a command that changes and a check": ([run("echo more >> tariff.py", "a"), run(GOOD, "b")], "checked"),
    "a check that leaves a cache": ([FIX, run(f"printf '\\0' > cache.bin && {GOOD}", "a")], "checked"),
    "a check that changes a text": ([FIX, run(f"echo more >> tariff.py && {GOOD}", "a")], "unverified"),
    "a check that failed": ([FIX, run(BAD, "a")], "check_failed"),
    "a check that failed, and something that did not": ([FIX, run(BAD, "a"), run("ls", "b")], "check_failed"),
    "a check that failed in a pipe": ([FIX, run(f"{BAD} 2>&1 | tail -5", "a")], "check_failed"),
    "a check whose exit code is lost": ([FIX, run(f"{BAD} || true", "a")], "unverified"),
    "a check, and then a change": ([run(GOOD, "a"), FIX], "unverified"),
    "a check, and then a note": ([FIX, run(GOOD, "a"), run("echo more > notes.md", "b")], "checked"),
    "a check, and its log taken away": (
        [FIX, run(f"{GOOD} > out.log", "a"), run("rm out.log", "b")],
        "checked",
    ),
    "a check whose log stays": ([FIX, run(f"{GOOD} > out.log", "a")], "unverified"),
    "a check, and a file made and taken away": (
        [FIX, run(GOOD, "a"), run("echo x > draft.py", "b"), run("rm draft.py", "c")],
        "checked",
    ),
    "a check, and a change that is taken back": (
        [
            FIX,
            run(GOOD, "a"),
            run("cp tariff.py x && echo more >> tariff.py", "b"),
            run("mv x tariff.py", "c"),
        ],
        "checked",
    ),
    "a check, and a file of before deleted": (
        [FIX, run(GOOD, "a"), run("rm tariff.py", "b")],
        "unverified",
    ),
    "a file made and taken away": ([run("echo x > draft.py", "a"), run("rm draft.py", "b")], "no_changes"),
    "a look": ([FIX, run("ls", "a")], "unverified"),
    "a command that failed after a check": ([FIX, run(GOOD, "a"), run("git commit -m x", "b")], "checked"),
    "a program that is not there": ([FIX, run("pyright-of-nobody; mypy-of-nobody", "a")], "unverified"),
    "all tests after one that failed": ([FIX, run(f"{BAD}", "a"), run(GOOD, "b")], "check_failed"),
    "a command that only reads": ([run("true", "a")], "no_changes"),
}


@pytest.mark.parametrize("case", some(CASES, 12))
async def test_the_reason_says_what_was_checked(case, begin):
    calls, reason = CASES[case]
    editor = await begin("stock", [*(step(one) for one in calls), DONE], FULL)
    await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    assert (finished["data"]["outcome"], finished["data"]["reason"]) == ("completed", reason)


NOTHING_LEFT = ("no_changes", "nothing is left of its changes")
STALE = ("unverified", "unverified: no check was run after the last change")
UNDONE = {
    "all of the turn": ([FIX], "turn", NOTHING_LEFT),
    "a part of it": ([call("write_file", path="a.py", content="", called="a"), FIX], "step", STALE),
    "what a command changed": ([run("echo more >> tariff.py", "a")], "turn", NOTHING_LEFT),
}


@pytest.mark.parametrize("case", UNDONE)
async def test_a_check_does_not_stand_after_an_undo_and_does_again_after_a_redo(case, begin):
    calls, scope, left = UNDONE[case]
    check = step(run(GOOD, "check"))
    editor = await begin("stock", [*(step(one) for one in calls), check, DONE], FULL)
    ended = await editor.run("Go.")
    assert ended["done"]["state"] == "checked"
    await editor.command("outrider.undo", {"scope": scope})
    now = (await editor.wait_turn(editor.turn_id))["done"]
    assert (now["state"], now["line"]) == left
    assert [one["stale"] for one in now["checks"]] == [True]
    await editor.command("outrider.redo", {})
    assert (await editor.wait_turn(editor.turn_id))["done"] == ended["done"]


async def test_an_undo_of_a_later_turn_leaves_the_check_of_one_before_and_the_other_way_round_not(begin):
    more = call("edit_file", path="tariff.py", old="hours * 2", new="hours * 4", called="more")
    turns = [step(FIX), step(run(GOOD, "a")), DONE, step(more), step(run(GOOD, "b")), DONE]
    editor = await begin("stock", turns, FULL)
    first = await editor.run("Go.")
    second = await editor.run("Go on.", sessionId=editor.session_id)

    async def states():
        return [(await editor.wait_turn(one["turnId"]))["done"]["state"] for one in (first, second)]

    assert await states() == ["checked", "checked"]
    await editor.command("outrider.undo", {"scope": "turn"})
    assert await states() == ["checked", "no_changes"]
    await editor.command("outrider.redo", {})
    assert await states() == ["checked", "checked"]
    await editor.command("outrider.undo", {"scope": "session"})
    assert await states() == ["no_changes", "unverified"], (
        "it stands neither, whatever is told of its own change"
    )


async def test_a_turn_that_goes_on_after_an_undo_does_not_count_the_check_of_before(begin):
    script = {"purposes": {"summary": [{"text": "Half."}]}}
    made = call("write_file", path="a.py", content="", called="a")
    editor = await begin("stock", [step(made), step(FIX), step(run(GOOD, "b")), DONE], FULL, script=script)
    assert (await editor.run("Go.", limits={"steps": 3}))["done"]["state"] == "checked"
    await editor.command("outrider.undo", {"scope": "step"})
    going = await editor.command("outrider.continue", {"sessionId": editor.session_id})
    assert (await editor.wait_turn(going["turnId"]))["done"]["state"] == "unverified"


READ_OUT = step(call("read_file", path="out/a.txt"))
IGNORED = {
    "an edit": [step(call("edit_file", path="out/a.txt", old="old", new="new"))],
    "a command": [READ_OUT, step(run("echo new > out/a.txt", "b"))],
    "a check of itself": [READ_OUT, step(run(f"{GOOD} && date > out/a.txt", "a"))],
    "somebody else": [
        READ_OUT, step(call("ask_user", question="Is it right?", options=["Yes", "No"])),
    ],
}  # fmt: skip


@pytest.mark.parametrize("is_ignored", [True, False])
@pytest.mark.parametrize("case", IGNORED)
async def test_a_change_of_an_ignored_file_makes_no_check_stale(case, is_ignored, begin, workspace):
    (workspace / "out").mkdir()
    (workspace / "out" / "a.txt").write_text("old\n")
    if is_ignored:
        (workspace / ".gitignore").write_text("out/\n")
    editor = await begin("stock", [step(FIX), step(run(GOOD, "a")), *IGNORED[case], DONE], FULL)

    def change(_):
        (workspace / "out" / "a.txt").write_text("theirs\n")
        return "Yes"

    editor.answers = change
    await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["reason"] == ("checked" if is_ignored else "unverified")
    assert [one["stale"] for one in finished["data"]["done"]["checks"]][-1] == (not is_ignored)
    assert [one["data"]["paths"] for one in editor.events_of("workspace.ignored")] == [
        ["out/a.txt"]
    ] * is_ignored


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("tariff.py", "unverified"),
        ("never_read.py", "unverified"),
        ("README.md", "checked"),
        ("never_read.md", "checked"),
        (".outrider/note.py", "checked"),
    ],
)
async def test_what_somebody_else_changes_after_a_check_counts(path, reason, begin):
    question = call("ask_user", question="Is it right?", options=["Yes", "No"])
    read = call("read_file", path="README.md")
    editor = await begin("stock", [step(read), step(FIX), step(run(GOOD, "a")), step(question), DONE], FULL)

    def change(_):
        (editor.root / path).parent.mkdir(exist_ok=True)
        with (editor.root / path).open("a") as file:
            file.write("# more\n")
        return "Yes"

    editor.answers = change
    await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    assert finished["data"]["reason"] == reason


@pytest.mark.parametrize(
    ("command", "unseen"),
    [
        (f"{GOOD}; ls", GOOD),
        (f"{GOOD} | tail -3; echo done", GOOD),
        (f"{GOOD} || true", GOOD),
        (f"{BAD}; {GOOD}", ""),
        (f"{GOOD} && echo done", ""),
        ("echo pytest; ls", ""),
        (f"{BAD}; false", ""),
    ],
)
async def test_a_check_that_the_exit_code_does_not_show_is_named(command, unseen, begin):
    editor = await begin("stock", [step(FIX), step(run(command, "a")), DONE], FULL)
    await editor.run("Go.")
    said = result(editor, 1)[1]
    told = f"this exit code does not show that `{unseen}` passed; run it last, or join what follows with &&"
    assert (told in said) == bool(unseen)
    assert ("does not show" in said) == bool(unseen)


NONE = "./pytest -q nosuch.py"
FOUND_NONE = "./pytest -q tests"
VAIN = {
    "no tests": ([FIX, run(FOUND_NONE, "a")], f"unverified: `{FOUND_NONE}` found no tests"),
    "a wrong call": ([FIX, run(NONE, "a")], f"unverified: `{NONE}` was called in a wrong way and ran no tests"),
    "no program": ([FIX, run("mypy-of-nobody || pyright .nosuch", "a")], "unverified: no check was run"),
    "no tests, then a change": ([run(FOUND_NONE, "a"), FIX], "unverified: no check was run after the last change"),
    "no tests, then a check": ([FIX, run(FOUND_NONE, "a"), run(GOOD, "b")], f"checked: build (`{GOOD}`)"),
    "nothing changed": ([run(FOUND_NONE, "a")], ""),
}  # fmt: skip


def pytest_as_it_ends(workspace):
    """A program of that name that ends like it where there are no tests, and where there is no such file."""
    program = workspace / "pytest"
    program.write_text('#!/bin/sh\n[ "$2" = tests ] && exit 5\nexit 4\n')
    program.chmod(0o755)


@pytest.mark.parametrize("case", VAIN)
async def test_a_check_that_checked_nothing_is_named_with_why(case, begin, workspace):
    pytest_as_it_ends(workspace)
    calls, line = VAIN[case]
    editor = await begin("stock", [*(step(one) for one in calls), DONE], FULL)
    done = await editor.run("Go.")
    assert done["done"]["line"] == line


async def test_a_demanded_check_that_found_no_tests_says_so(begin, workspace):
    pytest_as_it_ends(workspace)
    check = FOUND_NONE
    editor = await begin("stock", [step(FIX), DONE, DONE], FULL)
    done = await editor.run("Go.", acceptance=[check])
    assert (done["reason"], done["done"]["line"]) == (
        "check_failed",
        f"check failed: `{check}` (found no tests)",
    )


async def test_the_end_of_a_turn_says_what_was_checked_in_one_line(begin):
    plan = call(
        "update_plan", items=[{"text": "Fix it", "status": "done"}, {"text": "Tell of it"}], called="p"
    )
    editor = await begin("stock", [step(plan), step(FIX), step(run(f"{GOOD} | tail -3", "a")), DONE], FULL)
    await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    done = finished["data"]["done"]
    (check,) = done["checks"]
    assert 0 <= check["seconds"] < 60
    assert done == {
        "state": "checked",
        "line": f"checked: build (`{GOOD}`); 1 item of the plan is open",
        "changed": ["tariff.py"],
        "checks": [
            {
                "kind": "build",
                "command": GOOD,
                "exitCode": 0,
                "ok": True,
                "stale": False,
                "seconds": check["seconds"],
            }
        ],
        "notRun": [],
        "openItems": ["Tell of it"],
    }


async def test_who_waits_for_a_turn_is_told_the_same_and_files_that_commands_changed_are_named(begin):
    change = run("echo x > new.txt; echo '# more' >> README.md", "a")
    editor = await begin("stock", [step(FIX), step(change), DONE], FULL)
    done = await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    assert done["done"] == finished["data"]["done"]
    assert done["done"]["changed"] == ["README.md", "new.txt", "tariff.py"]
