"""What a turn says of how its changes were checked: a command is no check of what it changed itself."""

import pytest
from scripting import DONE, FIX, call, step

FULL = {"permissionMode": "full"}


def run(command, called):
    return call("run_command", command=command, called=called)


CASES = {
    "only a command that changes": ([run("echo more >> tariff.py", "a")], "unverified"),
    "only a command that makes a file": ([run("echo more > new.txt", "a")], "unverified"),
    "only a command that makes what is no text": ([run("printf '\\0' > new.bin", "a")], "unverified"),
    "an edit and a command that changes": ([FIX, run("echo more >> tariff.py", "a")], "unverified"),
    "a command that changes and a check": ([run("echo more >> tariff.py", "a"), run("true", "b")], "checked"),
    "a check that leaves a cache": ([FIX, run("printf '\\0' > cache.bin", "a")], "checked"),
    "a check that failed": ([FIX, run("false", "a")], "check_failed"),
    "a command that only reads": ([run("true", "a")], "no_changes"),
}


@pytest.mark.parametrize("case", CASES)
async def test_the_reason_says_what_was_checked(case, begin):
    calls, reason = CASES[case]
    editor = await begin("stock", [*(step(one) for one in calls), DONE], FULL)
    await editor.run("Go.")
    (finished,) = editor.events_of("turn.finished")
    assert (finished["data"]["outcome"], finished["data"]["reason"]) == ("completed", reason)
