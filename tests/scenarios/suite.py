"""Where the scenarios are, and how one is read."""

import json
from pathlib import Path

from outrider.testing.scenario_files.scenario_file import load_scenario
from outrider_protocol.scenario import Scenario

FOLDER = Path(__file__).parent
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())
ROWS = MANIFEST["scenarios"]
FILES = {row["name"]: FOLDER / row["file"] for row in ROWS}


def scenario_files():
    """Every scenario file there is; those that are only included begin with `_`."""
    return [path for path in sorted(FOLDER.glob("*/**/*.json")) if not path.name.startswith("_")]


def read(name, **settings):
    """The scenario of that name; `settings` are put over its own."""
    scenario = load_scenario(FILES[name])
    assert isinstance(scenario, Scenario), scenario.message
    return scenario.model_copy(update={"settings": {**scenario.settings, **settings}})


def without_golden(scenario):
    """The scenario, without its transcript, which holds for one editor and one model only."""
    return scenario.model_copy(update={"expect": scenario.expect.model_copy(update={"golden": None})})
