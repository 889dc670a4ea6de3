"""The page of scenario files: its example is played, its tables name what there is."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from outrider.testing.scenario_files.crash import play_killed
from outrider.testing.scenario_files.expectations import play_and_judge
from outrider.testing.scenario_files.scenario_file import load_scenario
from outrider_protocol.scenario import Answer, Expect, Scenario, Step

PAGE = Path(__file__).parents[1] / "README.md"


def section():
    return PAGE.read_text("utf-8").partition("## Scenario files")[2]


def first_column(heading):
    table = section().partition(f"| {heading} |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines()[2:]]
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}


@pytest.mark.parametrize("connection", ["in-process", "stdio"])
async def test_the_example_holds(tmp_path, connection):
    path, folder = tmp_path / "example.json", tmp_path / "folder"
    path.write_text(re.search(r"```json\n(.*?)```", section(), re.DOTALL)[1], "utf-8")
    folder.mkdir()
    scenario = load_scenario(path)
    assert isinstance(scenario, Scenario), scenario
    failures = await play_and_judge(scenario, folder, beside=tmp_path, connection=connection)
    assert list(map(str, failures)) == []


@pytest.mark.thorough
async def test_the_example_holds_wherever_its_server_is_killed(tmp_path):
    path, folder = tmp_path / "example.json", tmp_path / "folder"
    path.write_text(re.search(r"```json\n(.*?)```", section(), re.DOTALL)[1], "utf-8")
    folder.mkdir()
    scenario = load_scenario(path)
    assert isinstance(scenario, Scenario), scenario
    assert list(map(str, await play_killed(scenario, folder))) == []


def test_the_example_names_the_schema_of_scenarios():
    example = json.loads(re.search(r"```json\n(.*?)```", section(), re.DOTALL)[1])
    file, _, place = example["$schema"].partition("#/")
    assert json.loads((PAGE.parent / file).read_text("utf-8"))[place]["$ref"] == "#/$defs/Scenario"


def test_the_tables_name_every_step_answer_and_expectation():
    union, _ = get_args(Step)
    steps = {name for step in get_args(union) for name in get_args(step.model_fields["do"].annotation)}
    assert first_column("a step, by its `do`") == steps
    assert first_column("an answer") == set(Answer.model_fields)
    assert first_column("what is expected") == set(Expect.model_fields)
