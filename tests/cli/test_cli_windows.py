"""What the command line cannot do on Windows it refuses by name; the rest works there, as far as that can be tried here."""

import asyncio
import json
import os
import signal
import sys

import pytest

from outrider.cli import main as command_line
from outrider.cli import terminal


@pytest.fixture
def windows(monkeypatch, tmp_path):
    """A process that looks as if it ran there: its servers, which are processes of their own, do not."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))

    def not_there(*_, **__):
        raise NotImplementedError

    monkeypatch.setattr(asyncio.unix_events._UnixSelectorEventLoop, "add_signal_handler", not_there)
    monkeypatch.delattr(signal, "SIGHUP")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("words", [["chat"], ["chat", "--session", "x"]])
def test_a_chat_is_refused_by_name(windows, words, capsys):
    assert command_line.main(words) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "chat: is not supported on Windows" in said
    assert "`outrider run`" in said


def test_a_task_runs_with_the_answers_that_were_given_ahead(windows, tmp_path, capfd):
    (tmp_path / "a.txt").write_text("one\n")
    edit = {"name": "edit_file", "input": {"path": "a.txt", "old": "one", "new": "two"}}
    script = tmp_path / "s.json"
    script.write_text(json.dumps({"turns": [{"tool_calls": [edit]}, {"text": "Done."}]}))
    before = signal.getsignal(signal.SIGINT)
    words = ["run", "Two.", "-C", str(tmp_path), "--model", f"scripted:{script}", "--yes-to", "edits"]
    assert command_line.main(words) == 0, capfd.readouterr().err
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_no_key_is_read_where_keys_cannot_be_told_from_what_was_typed_before(windows, monkeypatch):
    leader, follower = os.openpty()
    with os.fdopen(leader, "rb"), os.fdopen(follower, "w") as end:
        monkeypatch.setattr(sys, "stdin", end)
        assert terminal.keyboard(end) is None
