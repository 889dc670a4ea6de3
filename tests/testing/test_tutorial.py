"""The tutorial holds: its blocks, put together as a reader would, are a test file that passes."""

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import outrider.testing
from outrider.testing import Invocation, OpenItem, ScenarioRun, run_scenario

README = Path(__file__).resolve().parents[1] / "README.md"
SHOWN = 4000
"""Characters of pytest's output that a failure shows."""


def blocks(language):
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.timeout(280)
def test_its_blocks_pass_as_one_file(tmp_path):
    (ini,) = blocks("ini")
    (tmp_path / "pytest.ini").write_text(ini + "filterwarnings = error\n", encoding="utf-8")
    parts = blocks("python")
    (tmp_path / "test_parking.py").write_text("\n\n".join(parts), encoding="utf-8")
    written = sum("def test_" in line for part in parts for line in part.splitlines())
    assert written >= 15
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--timeout=60"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=270, check=False)
    assert done.returncode == 0, done.stdout[-SHOWN:] + done.stderr[-SHOWN:]
    passed = int(re.search(r"(\d+) passed", done.stdout)[1])
    assert passed >= written
    assert "skipped" not in done.stdout


def test_every_block_of_python_is_a_test_or_belongs_to_one():
    for part in blocks("python"):
        names = [node.name for node in ast.parse(part).body if isinstance(node, ast.AsyncFunctionDef)]
        assert names, part
        assert all(name.startswith("test_") for name in names)


@pytest.mark.parametrize(
    "names",
    [
        outrider.testing.__all__,
        inspect.signature(run_scenario).parameters,
        [name for name in vars(ScenarioRun) if not name.startswith("_")],
        OpenItem.__dataclass_fields__,
        Invocation.__dataclass_fields__,
    ],
    ids=["names", "arguments", "ScenarioRun", "OpenItem", "Invocation"],
)
def test_its_reference_names_everything(names):
    reference = README.read_text(encoding="utf-8").partition("\n## Reference\n")[2]
    said = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", reference))))
    assert set(names) - said == set()
