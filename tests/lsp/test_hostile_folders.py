"""Files and output that a stranger wrote to hold up whoever matches them: the server answers meanwhile, and ends when it is told to."""

import json
import random
import signal
import string
import sys
import time
from functools import partial

import pytest
from test_serve_process import Process

NAME = "a" * 200
LONG = "src/AuthenticationEntitlementPreferenceSettingsTestUtilities.test.ts"
IGNORE = {".outriderignore": "*a*a*a*a*a*b\n", NAME: "x\n"}
RULES = {
    ".outrider/rules.toml": f'[[rule]]\ndecision = "deny"\ntool = "read"\npath = "{"*a" * 8}*b"\n',
    NAME: "x\n",
}
ORDINARY = {
    ".outriderignore": "*e*n*e*n*t*e*t*e*n*z\n*t*t*t*t*t*t*t*t*z\n*e*e*e*e*e*e*e*e*z\n",
    LONG: "x\n",
}
DEEP = {".outriderignore": "**/" + "a/**/" * 12 + "b\n", "a/" * 60 + "x": "x\n"}
COMMAND = {"command": "grep -rn foo . ; true"}
SHOWN = {"command": "cat long.txt"}
LETTERS = string.ascii_letters + string.digits
_draw = random.Random(20261123)
KEYS = "".join(f"API_KEY={''.join(_draw.choices(LETTERS, k=32))}\n" for _ in range(12_000))


@pytest.fixture
async def run(tmp_path):
    """Begin a turn of a folder with these files that makes one call, and goes on when its result is there."""
    processes = []

    async def begin(files, name, arguments):
        folder = tmp_path / "workspace"
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        turns = [
            {"tool_calls": [{"id": "c1", "name": name, "input": arguments}]},
            {"text": "done", "delay": 60},
        ]
        script = tmp_path / "script.json"
        script.write_text(json.dumps({"turns": turns}))
        process = await Process.start(command=(sys.executable, "-m", "outrider", "serve"))
        processes.append(process)
        await process.initialize(
            workspaceFolders=[{"uri": folder.as_uri(), "name": "w"}],
            initializationOptions={
                "model": f"scripted:{script}",
                "stateDir": str(tmp_path / "state"),
                "permissionMode": "auto-edit",
                "trusted": False,
                "events": True,
            },
        )
        answer = await process.execute("outrider.run", {"prompt": "go"})
        return process, answer["result"]["turnId"]

    yield begin
    for process in processes:
        await process.close()


@pytest.mark.parametrize(
    ("files", "name", "arguments"),
    [
        (IGNORE, "read_file", {"path": NAME}),
        (IGNORE, "run_command", COMMAND),
        (IGNORE, "list_files", {"path": "."}),
        (RULES, "read_file", {"path": NAME}),
        (ORDINARY, "read_file", {"path": LONG}),
        (DEEP, "read_file", {"path": "a/" * 60 + "x"}),
        ({NAME: "x\n"}, "find_files", {"pattern": "*a" * 30 + "*b"}),
        ({"long.txt": "sk-a1A_" * 70_000}, "run_command", SHOWN),
        ({"long.txt": "sk-a1A_ " * 60_000 + "\n"}, "run_command", SHOWN),
        ({"long.txt": KEYS}, "run_command", SHOWN),
    ],
)
async def test_status_and_cancel_are_answered_while_the_work_goes_on(files, name, arguments, run):
    process, turn = await run(files, name, arguments)
    taken, is_finished = [], False

    def is_answer(message, asked):
        nonlocal is_finished
        is_finished = is_finished or message.get("params", {}).get("type") == "tool.finished"
        return message.get("id") == asked and "method" not in message

    while not is_finished:
        begun = time.monotonic()
        asked = process.request("workspace/executeCommand", {"command": "outrider.status", "arguments": [{}]})
        await process.until(partial(is_answer, asked=asked))
        taken.append(time.monotonic() - begun)
    # The bound of the benchmark is 50 ms; here the machine may be busy.
    assert sorted(taken)[(len(taken) - 1) * 95 // 100] < 1
    answer = await process.execute("outrider.cancel", {"turnId": turn})
    assert "result" in answer


@pytest.mark.parametrize(("asked", "code"), [("exit", 1), ("SIGTERM", 143), ("the end of input", 1)])
async def test_it_ends_when_it_is_told_to(asked, code, run):
    process, _ = await run(IGNORE, "read_file", {"path": NAME})
    await process.until(lambda message: message.get("params", {}).get("type") == "tool.started")
    if asked == "exit":
        process.send("exit")
    elif asked == "SIGTERM":
        process.child.send_signal(signal.SIGTERM)
    else:
        process.child.stdin.close()
    assert await process.ended() == code
