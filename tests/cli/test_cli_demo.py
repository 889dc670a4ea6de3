"""The demo when the user at the keyboard does not simply agree."""

import io

import pytest
from rich.console import Console
from typist import Typist

from outrider.cli.demo import AFTER_REJECTION, run_demo
from outrider.cli.exits import ExitCode


async def played(typed: str) -> tuple[ExitCode, str]:
    stream = io.StringIO()
    code = await run_demo({"events": True}, Console(file=stream, width=300), Typist(typed))
    return code, stream.getvalue()


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def test_after_a_rejection_it_says_that_the_script_goes_on_regardless():
    code, shown = await played("1\n4\n1\n")
    assert code == ExitCode.CHECK_FAILED
    assert shown.count(AFTER_REJECTION) == 1
    assert "they do not pass" in shown
    assert "The sample project was removed" in shown


async def test_a_demo_that_is_left_open_gives_no_hint_that_cannot_work():
    code, shown = await played("\n")
    assert code == ExitCode.NEEDS_INPUT
    assert "The turn waits for:" in shown
    assert "--session" not in shown
    assert "The sample project was removed" in shown
