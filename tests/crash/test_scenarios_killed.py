"""Scenario files whose server is killed at their events, one of each kind; the end must be the same.

With `--hypothesis-profile=search` it is killed at every one.
"""

from pathlib import Path

import pytest
from crash_scenario import every_one

from everyday import some
from outrider.agent.loop import recovery
from outrider.testing.scenario_files.crash import play_killed
from outrider.testing.scenario_files.scenario_file import load_scenario
from outrider_protocol.scenario import Scenario

FOLDER = Path(__file__).parents[1] / "scenarios"

KILLED = [
    "commands/command_runs_at_most_once",
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


@pytest.mark.parametrize("name", some(KILLED, 3))
async def test_a_kill_at_any_event_changes_nothing(name, tmp_path):
    failures = await play_killed(read(name), tmp_path, kinds=not every_one())
    assert "\n".join(map(str, failures)) == ""


@pytest.mark.timeout(240)  # a process for each kill
@pytest.mark.parametrize(
    ("name", "every"),
    some(
        [
            ("commands/command_runs_at_most_once", 3),  # as its command has begun, too
            ("commands/bash_confirmation_prompt_approved", 8),
            ("edits/delete_and_rename", 16),
        ],
        1,
    ),
)
async def test_a_kill_with_signal_9_changes_nothing(name, every, tmp_path):
    kinds = not every_one()
    failures = await play_killed(read(name), tmp_path, connection="stdio", every=every, kinds=kinds)
    assert "\n".join(map(str, failures)) == ""


async def test_a_command_that_runs_again_is_seen(tmp_path, monkeypatch):
    found = recovery._found

    async def run_again(context, services, call, registry, *, may_ask):
        if call.call.name == "run_command":
            return None
        return await found(context, services, call, registry, may_ask=may_ask)

    monkeypatch.setattr(recovery, "_found", run_again)
    scenario = read("commands/command_runs_at_most_once")
    failures = "\n".join(map(str, await play_killed(scenario, tmp_path, kinds=not every_one())))
    assert "tool.started: call run" in failures
    assert "interrupted, as it had begun" in failures
