"""The entry for the registry of agents."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

from outrider import __version__

FOLDER = Path(__file__).parents[2] / "editors" / "acp"


def test_the_entry_names_this_version_and_how_it_starts():
    entry = json.loads((FOLDER / "agent.json").read_text())
    assert (entry["id"], entry["version"], entry["license"]) == ("outrider", __version__, "Apache-2.0")
    assert entry["distribution"] == {"uvx": {"package": f"outrider=={__version__}", "args": ["acp"]}}


def test_the_icon_takes_the_colour_of_the_client():
    icon = ET.fromstring((FOLDER / "icon.svg").read_text())
    assert (icon.get("width"), icon.get("height")) == ("16", "16")
    colours = {one.get(key) for one in icon.iter() for key in ("fill", "stroke")} - {None}
    assert colours == {"none", "currentColor"}
