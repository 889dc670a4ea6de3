"""The table of sessions, in a terminal of any width."""

import io
import time
from typing import Any

import pytest
from rich.console import Console

from outrider.cli.sessions import sessions_table

IDS = ["ses_0123456789abcdef", "ses_fedcba9876543210"]


def row(number: int, state: str, **more: Any) -> dict[str, Any]:
    fields = {"sessionId": IDS[number], "state": state, "title": "Fix the price of a stay of one hour"}
    return {**fields, "startedAt": "", "lastAt": "2026-01-02T23:30:00.000Z", "turns": 1, **more}


def shown(rows: list[dict[str, Any]], width: int) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    with console.capture() as captured:
        console.print(sessions_table(rows, width), crop=False)
    return captured.get()


@pytest.mark.parametrize("width", [20, 30, 50, 60, 80, 200])
def test_an_id_is_never_cut_and_the_state_is_always_there(width):
    text = shown([row(0, "parked"), row(1, "closed", outcome="budget_exhausted")], width)
    for words in (*IDS, "waits for you", "budget exhausted"):
        assert words in text


def test_there_is_room_for_everything_in_80_columns():
    text = shown([row(0, "parked")], 80)
    for words in ("session", "state", "last used", "turns", "title", "Fix the"):
        assert words in text


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (row(0, "running", outcome="failed"), "running"),
        (row(0, "closed", outcome="cancelled"), "cancelled"),
        (row(0, "idle", outcome="completed"), "completed"),
        (row(0, "closed"), "interrupted"),
        (row(0, "idle"), "idle"),
    ],
)
def test_the_state_is_what_became_of_the_session(given, words):
    assert words in shown([given], 80)


def test_the_time_is_local(monkeypatch):
    monkeypatch.setenv("TZ", "UTC-2")
    time.tzset()
    try:
        assert "2026-01-03 01:30" in shown([row(0, "idle")], 80)
    finally:
        monkeypatch.undo()
        time.tzset()
