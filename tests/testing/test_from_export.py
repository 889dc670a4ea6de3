"""What a scenario did, exported, is a scenario that does the same."""

from pathlib import Path

import pytest

from everyday import some
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.testing.scenario_files.from_export import Untold, scenario_of, written
from outrider.testing.scenario_files.play import play
from outrider.testing.scenario_files.scenario_file import load_scenario
from outrider_protocol.scenario import Scenario
from replayed import exports_of

SCENARIOS = Path(__file__).parent.parent / "scenarios"
KNOWN_STEPS = {"run", "wait", "until", "answer", "steer", "cancel", "restart", "kill", "open", "undo", "redo"}
"""What leaves a trace in the log: typing, saving and other programs do not."""
NOT_IN_THE_LOG = {
    "editor_that_only_claims_the_edit": "what the editor did wrong",
    "late_click_on_a_parked_question": "refused: no step clicks late",
    "existing_file_needs_overwrite": "a file whose text nobody read",
    "untrusted_repository_says_nothing": "a file whose text nobody read",
    "ask_rule_prompts_even_when_mode_would_allow": "the rules of the user",
}


def recordable():
    for path in sorted(SCENARIOS.glob("*/[!_]*.json")):
        scenario = load_scenario(path)
        if isinstance(scenario, Scenario) and is_recordable(scenario):
            yield pytest.param(path, id=path.stem)


def is_recordable(scenario):
    steps = [step.do for step in scenario.steps]
    steps += [step.do for answer in scenario.answers if not isinstance(answer, str) for step in answer.first]
    return set(steps) <= KNOWN_STEPS and scenario.name not in NOT_IN_THE_LOG


@pytest.mark.parametrize("path", some(recordable(), 24))
async def test_an_exported_scenario_is_a_scenario(path, tmp_path):
    scenario = load_scenario(path)
    (tmp_path / "first").mkdir()
    await play(scenario, tmp_path / "first")
    (export, *_) = await exports_of(tmp_path / "first" / "workspace.state")
    told = scenario_of(export, "again")
    assert isinstance(told, Scenario), told.message
    made = told.model_copy(update={"profile": scenario.profile})
    again = Scenario.model_validate(written(made))
    (tmp_path / "second").mkdir()
    failures = await play_and_judge(again, tmp_path / "second", beside=tmp_path)
    assert not failures, "\n".join(map(str, failures))


def told(**change):
    return Scenario.model_validate(
        {
            "version": 1,
            "name": "told",
            "workspace": {"a.py": "x = 1\n"},
            "settings": {"permissionMode": "full"},
            "model": {
                "turns": [
                    {
                        "tool_calls": [
                            {
                                "name": "edit_file",
                                "input": {"path": "a.py", "old": "1", "new": "2"},
                                "id": "e",
                            }
                        ]
                    },
                    {"text": "Done."},
                ]
            },
            "steps": [{"do": "run", "prompt": "Go"}],
            **change,
        }
    )


async def export_of_played(scenario, folder):
    await play(scenario, folder)
    (export,) = await exports_of(folder / "workspace.state")
    return export


async def test_redo_is_told_from_undo(tmp_path):
    steps = [{"do": "run", "prompt": "Go"}, {"do": "undo"}, {"do": "redo"}]
    (tmp_path / "first").mkdir()
    made = scenario_of(await export_of_played(told(steps=steps), tmp_path / "first"), "again")
    assert [step.do for step in made.steps if step.do != "wait"] == ["run", "undo", "redo"]
    assert "How far an undo was to go" in made.description
    (tmp_path / "second").mkdir()
    assert not await play_and_judge(made, tmp_path / "second", beside=tmp_path)


async def test_what_the_editor_did_not_answer_is_refused(tmp_path):
    scenario = told(
        tools=[{"name": "weather", "replies": [{"how": "never"}]}],
        model={"turns": [{"tool_calls": [{"name": "weather", "input": {}, "id": "w"}]}, {"text": "Done."}]},
        steps=[
            {"do": "run", "prompt": "Go", "wait": False},
            {"do": "until", "event": {"type": "tool.asked"}},
            {"do": "cancel"},
            {"do": "wait"},
        ],
    )
    made = scenario_of(await export_of_played(scenario, tmp_path), "again")
    assert isinstance(made, Untold)
    assert "the editor did not answer the call w of its own tool" in made.message


async def test_an_export_that_does_not_hold_together_is_a_problem(tmp_path):
    export = await export_of_played(told(), tmp_path)
    made = scenario_of(export.model_copy(update={"contents": {}}), "again")
    assert isinstance(made, Untold)
    assert "does not hold together" in made.message
