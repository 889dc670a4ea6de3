"""Scenario files whose server is killed at each of their events; the end must be the same."""

from pathlib import Path

import pytest

from outrider.testing.crash import play_killed
from outrider.testing.scenario_file import load_scenario
from outrider_protocol.scenario import Scenario

FOLDER = Path(__file__).parents[1] / "scenarios"

KILLED = [
    "commands/command_waits_for_unsaved_changes",
    "edits/delete_and_rename",
    "outcomes/completed",
    "questions/question_with_options",
    "turns/multi_tool_turn_roundtrip",
]


def read(name):
    scenario = load_scenario(FOLDER / f"{name}.json")
    assert isinstance(scenario, Scenario), scenario.message
    return scenario


@pytest.mark.parametrize("name", KILLED)
async def test_a_kill_at_any_event_changes_nothing(name, tmp_path):
    assert "\n".join(map(str, await play_killed(read(name), tmp_path))) == ""


@pytest.mark.parametrize(
    ("name", "every"), [("commands/bash_confirmation_prompt_approved", 8), ("edits/delete_and_rename", 16)]
)
async def test_a_kill_with_signal_9_changes_nothing(name, every, tmp_path):
    failures = await play_killed(read(name), tmp_path, connection="stdio", every=every)
    assert "\n".join(map(str, failures)) == ""
