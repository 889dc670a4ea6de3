"""The bar of what takes longer than a second: on a terminal alone, and gone before anything else is written."""

import asyncio
import io
import json
import sys

import pytest
from rich.console import Console

from outrider.cli import progress
from outrider.cli.main import main
from outrider.cli.problems import Problems
from outrider.cli.progress import in_progress

CLEARED = "\x1b[2K"


class Terminal(io.StringIO):
    """A terminal, or what is none; tells when something is written."""

    def __init__(self, *, is_one=True):
        super().__init__()
        self._is_one = is_one
        self.written = asyncio.Event()

    def isatty(self):
        return self._is_one

    def write(self, text):
        self.written.set()
        return super().write(text)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(progress, "AFTER_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")


def problems_on(stream):
    return Problems(Console(file=stream, width=60, force_terminal=stream.isatty(), legacy_windows=False))


async def drawn(stream, bar):
    """Wait until the bar is there, and draw it again."""
    async with asyncio.timeout(10):
        await stream.written.wait()
    bar._drawn.refresh()


async def test_it_says_what_is_done_and_how_much_and_is_gone_afterwards(at_once):
    stream = Terminal()
    async with in_progress("replaying", problems_on(stream), 3) as bar:
        await drawn(stream, bar)
        bar.step()
        bar._drawn.refresh()
        shown = stream.getvalue()
        assert "replaying" in shown
        assert "1/3" in shown
    assert stream.getvalue()[len(shown) :].rstrip().endswith((CLEARED, "\x1b[?25h")), "the line is cleared"


async def test_it_is_gone_before_a_warning_and_stays_so(at_once):
    stream = Terminal()
    problems = problems_on(stream)
    async with in_progress("exporting", problems) as bar:
        await drawn(stream, bar)
        problems.warning("careful")
        shown = stream.getvalue()
        assert shown.rindex(CLEARED) < shown.rindex("careful")
        assert bar._drawn is None
    assert "exporting" not in stream.getvalue()[len(shown) :]


async def test_what_is_done_soon_needs_none(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    async with in_progress("exporting", problems_on(stream)):
        await asyncio.sleep(0)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("is_one", "term"), [(False, "xterm"), (True, "dumb")])
async def test_there_is_none_where_it_cannot_be_taken_away(at_once, monkeypatch, is_one, term):
    monkeypatch.setenv("TERM", term)
    stream = Terminal(is_one=is_one)
    async with in_progress("exporting", problems_on(stream)) as bar:
        for _ in range(5):
            await asyncio.sleep(0)
        bar.step()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (["doctor"], "looking at the set-up"),
        (["sessions", "--json"], "reading the log"),
        (["map"], "reading the files"),
        (["tools"], "asking the server"),
        (["models"], "asking the providers"),
        (["changes"], "looking at the files"),
        (["export"], "exporting"),
    ],
)
def test_a_command_that_waits_shows_one_and_standard_output_has_nothing_of_it(
    at_once, tmp_path, monkeypatch, capfd, line, words
):
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    main(line)
    assert words in stream.getvalue()
    out = capfd.readouterr().out
    assert words not in out
    if "--json" in line:
        json.loads(out)
