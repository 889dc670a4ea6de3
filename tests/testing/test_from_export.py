"""What a scenario did, exported, is a scenario that does the same."""

from pathlib import Path

import pytest

from outrider.testing.from_export import scenario_of, written
from outrider.testing.play import play
from outrider.testing.scenario_file import load_scenario
from outrider.testing.verdict import play_and_judge
from outrider_protocol.scenario import Scenario
from replayed import exports_of

SCENARIOS = Path(__file__).parent.parent / "scenarios"
KNOWN_STEPS = {"run", "wait", "until", "answer", "steer", "cancel", "restart", "kill", "open"}
"""What leaves a trace in the log: typing, saving and other programs do not."""
NOT_IN_THE_LOG = {
    "editor_that_only_claims_the_edit": "what the editor did wrong",
    "existing_file_needs_overwrite": "a file whose text nobody read",
    "untrusted_repository_says_nothing": "a file whose text nobody read",
}


def recordable():
    for path in sorted(SCENARIOS.glob("*/[!_]*.json")):
        scenario = load_scenario(path)
        if isinstance(scenario, Scenario) and is_recordable(scenario):
            yield pytest.param(path, id=path.stem)


def is_recordable(scenario):
    steps = [step.do for step in scenario.steps]
    first = [answer for answer in scenario.answers if not isinstance(answer, str) and answer.first]
    unknown = scenario.tools or scenario.name in NOT_IN_THE_LOG
    return set(steps) <= KNOWN_STEPS and not first and not unknown


@pytest.mark.parametrize("path", list(recordable()))
async def test_an_exported_scenario_is_a_scenario(path, tmp_path):
    scenario = load_scenario(path)
    (tmp_path / "first").mkdir()
    await play(scenario, tmp_path / "first")
    (export, *_) = await exports_of(tmp_path / "first" / "workspace.state")
    made = scenario_of(export, "again").model_copy(update={"profile": scenario.profile})
    again = Scenario.model_validate(written(made))
    (tmp_path / "second").mkdir()
    failures = await play_and_judge(again, tmp_path / "second", beside=tmp_path)
    assert not failures, "\n".join(map(str, failures))
