"""The structure of the code: the linters, the type checker and the import contracts pass, and the services stay small."""

import ast
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import pytest

from outrider.agent.services import Services
from outrider.tools.all import own_tools
from outrider.tools.context import AskContext, EditContext, JobContext, ReadContext, ToolContext

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent


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


def test_the_first_two_commands_of_the_readme_are_one_line_each() -> None:
    first, second = blocks("sh")[:2]
    assert len(first.splitlines()) == 1
    assert len(second.splitlines()) == 1
    assert "outrider demo" in first
    assert "pytest" in second


def test_the_check_before_a_change_runs_the_second_command() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert os.access(ROOT / ".ci" / "run", os.X_OK), ".ci/run is not executable"
    second = blocks("sh")[1]
    if second in script:
        return
    # The script reads the command from the README: check that it reads this one.
    taken = re.search(r'^eval "\$\((?P<reader>.*README\.md)\)"$', script, re.MULTILINE)
    assert taken, ".ci/run must contain the README's second command, or read it from the README"
    found = subprocess.run(
        ["bash", "-c", taken["reader"]], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert found.stdout.rstrip("\n") == second


def test_a_context_and_the_services_have_few_parts() -> None:
    assert len(fields(ToolContext)) <= 15
    assert len(fields(Services)) <= 12


def test_a_tool_gets_only_what_its_effect_needs() -> None:
    gets = {
        "read": {ReadContext, JobContext},
        "ask": {AskContext},
        "edit": {ReadContext, EditContext},
        "execute": {JobContext, ToolContext},
    }
    tools = own_tools().offered("agent")
    wrong = {
        tool.name: context
        for tool in tools
        if (context := get_type_hints(tool.plan)["context"]) not in gets[tool.effect]
    }
    assert tools
    assert not wrong


def test_a_context_that_only_reads_has_no_way_to_an_effect() -> None:
    assert {field.name for field in fields(ReadContext)} == {
        "workspace",
        "knowledge",
        "languages",
        "masking",
        "limits",
    }
    assert not {"editing", "changes"} & set(get_type_hints(get_type_hints(ReadContext)["workspace"]))


def test_the_server_is_composed_in_short_builders() -> None:
    tree = ast.parse((ROOT / "server" / "outrider" / "app.py").read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    builders = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in builders}
    assert lengths["start"] > 0
    assert not {name: length for name, length in lengths.items() if length > 40}
