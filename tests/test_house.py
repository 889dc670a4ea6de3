"""The house is in order: what the linters, the type checker and the import contracts say, for all of it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
LONGEST_MODULE = 600


def blocks(language: str) -> list[str]:
    """The fenced blocks of the README in a language, in order."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [
        found.strip("\n")
        for found in re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "--quiet", "."],
        ["ruff", "format", "--check", "--quiet", "--diff", "."],
        ["lint-imports", "--no-cache"],
        ["pyright", "--pythonpath", sys.executable],
    ],
    ids=["ruff check", "ruff format", "lint-imports", "pyright"],
)
def test_is_clean(command: list[str]) -> None:
    program, *arguments = command
    # Tools that look for `python` find the one of this environment.
    env = {**os.environ, "PATH": os.pathsep.join([str(BIN), os.environ.get("PATH", os.defpath)])}
    done = subprocess.run(
        [str(BIN / program), *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"{' '.join(command)} ({done.returncode}):\n{done.stdout}{done.stderr}", pytrace=False)


def test_no_module_of_the_server_is_too_long() -> None:
    lengths = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n")
        for path in (ROOT / "server").rglob("*.py")
    }
    assert lengths
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_MODULE} == {}


def test_the_first_two_commands_of_the_readme_are_one_line_each() -> None:
    first, second = blocks("sh")[:2]
    assert len(first.splitlines()) == 1
    assert len(second.splitlines()) == 1
    assert "outrider demo" in first
    assert "pytest" in second


def test_the_check_before_a_change_runs_the_second_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci" / "run", os.X_OK), ".ci/run cannot be executed"
    second = blocks("sh")[1]
    if second in script:
        return
    # It takes the command out of the README: show that what it takes is that one.
    taken = re.search(r'^eval "\$\((?P<reader>.*README\.md)\)"$', script, re.MULTILINE)
    assert taken, ".ci/run neither holds the command nor reads it from the README"
    found = subprocess.run(
        ["bash", "-c", taken["reader"]], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert found.stdout.rstrip("\n") == second
