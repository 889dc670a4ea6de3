"""`python -m outrider.models.text_tools`, as a process."""

import json
import subprocess
import sys
from typing import Any

import pytest

from models.text_tools.tools import DEFINITIONS
from outrider.models.text_tools import FORMATS


def command(*arguments: str, lines: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "outrider.models.text_tools", *arguments],
        input=lines,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def test_list() -> None:
    assert command("--list").stdout.split() == list(FORMATS)


@pytest.mark.parametrize("stream", [[], ["--stream"]])
def test_a_line_for_each_message(stream: list[str]) -> None:
    messages: list[dict[str, Any]] = [
        {
            "text": 'Héllo.\n<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>',
            "tools": DEFINITIONS,
        },
        {"text": "No \ud83d call."},
    ]
    done = command("--format", "hermes", *stream, lines="".join(json.dumps(one) + "\n\n" for one in messages))
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"calls": [{"name": "bash", "arguments": {"command": "ls"}}], "content": "Héllo."},
        {"calls": [], "content": "No \ud83d call."},
    ]


def test_a_line_that_is_no_message_is_said_and_the_others_are_read() -> None:
    lines = 'nonsense\n[]\n{"text": 1}\n{"text": "a", "tools": {}}\n{"text": "ok"}\n'
    done = command("--format", "react", lines=lines)
    assert done.returncode == 1
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == [
        "line 1",
        "line 2",
        "line 3",
        "line 4",
    ]
    assert json.loads(done.stdout) == {"calls": [], "content": "ok"}


def test_an_unknown_format_is_a_mistake_of_usage() -> None:
    assert command("--format", "nope").returncode == 2


def test_without_tools_every_name_counts() -> None:
    text = 'I look.\n[anything(path="a")]'
    lines = "".join(json.dumps({"text": text, **more}) + "\n" for more in ({}, {"tools": []}))
    lines += json.dumps({"text": text, "tools": DEFINITIONS})
    done = command("--format", "pythonic", lines=lines)
    called = {"calls": [{"name": "anything", "arguments": {"path": "a"}}], "content": "I look."}
    none = {"calls": [], "content": text}
    assert [json.loads(line) for line in done.stdout.splitlines()] == [called, called, none]
