"""What a project is made of, as its own files say: languages, package manager, tests, virtual environment. Pure.

Only what stands in a file at the top level is told, each with the file that says it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from outrider.ports.text import one_line
from outrider.ports.toml import read_toml

LONGEST: Final = 120
"""Characters of a value that is quoted."""
MOST_SCRIPTS: Final = 12
"""Scripts or targets that are named."""

_LANGUAGES: Final = {
    "pyproject.toml": "Python", "setup.py": "Python", "setup.cfg": "Python", "requirements.txt": "Python", "Pipfile": "Python",
    "package.json": "JavaScript", "tsconfig.json": "TypeScript", "deno.json": "TypeScript (Deno)", "Cargo.toml": "Rust", "go.mod": "Go",
    "pom.xml": "Java (Maven)", "build.gradle": "Java (Gradle)", "build.gradle.kts": "Kotlin (Gradle)", "Gemfile": "Ruby",
    "composer.json": "PHP", "mix.exs": "Elixir", "CMakeLists.txt": "C or C++ (CMake)", "Package.swift": "Swift",
}  # fmt: skip
_MANAGERS: Final = {
    "uv.lock": "uv", "poetry.lock": "Poetry", "pdm.lock": "PDM", "Pipfile.lock": "Pipenv", "pnpm-lock.yaml": "pnpm", "yarn.lock": "Yarn",
    "package-lock.json": "npm", "bun.lock": "Bun",
}  # fmt: skip
_PYTEST: Final = "python -m pytest"
_TESTS: Final = {
    "Cargo.toml": "cargo test", "go.mod": "go test ./...", "tox.ini": "tox", "noxfile.py": "nox", "mix.exs": "mix test",
    "pytest.ini": _PYTEST, "pom.xml": "mvn test", "Package.swift": "swift test",
}  # fmt: skip
_VENVS: Final = (".venv", "venv")
_TOOLS: Final = {
    "ruff": "ruff",
    "mypy": "mypy",
    "pyright": "pyright",
    "black": "black",
    "basedpyright": "basedpyright",
}

NAMES: Final = (
    *_LANGUAGES, *_MANAGERS, *(name for name in _TESTS if name not in _LANGUAGES), "Makefile", "justfile", ".python-version", ".nvmrc",
    *(f"{name}/pyvenv.cfg" for name in _VENVS),
)  # fmt: skip
"""The files that are looked for, at the top level."""


def described(texts: Mapping[str, str]) -> str:
    """What the files say, a line for each matter; empty where they say nothing.

    Args:
        texts: The files that there are, of `NAMES`, by name; empty for one that is too large.
    """
    lines = [*_languages(texts), *_manager(texts), *_venv(texts), *_tests(texts), *_others(texts)]
    return "\n".join(f"- {line}" for line in lines)


def _languages(texts: Mapping[str, str]) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for name, language in _LANGUAGES.items():
        if name in texts:
            found.setdefault(language, []).append(name)
    if "TypeScript" in found:
        found.pop("JavaScript", None)
    if found:
        yield "Languages: " + ", ".join(f"{one} ({', '.join(names)})" for one, names in found.items())


def _manager(texts: Mapping[str, str]) -> Iterator[str]:
    found = [f"{manager} ({name})" for name, manager in _MANAGERS.items() if name in texts]
    said = _toml_or_json(texts, "package.json").get("packageManager")
    if isinstance(said, str):
        found.append(f"{_quoted(said)} (package.json)")
    if found:
        yield "Package manager: " + ", ".join(found)


def _venv(texts: Mapping[str, str]) -> Iterator[str]:
    if name := _venv_of(texts):
        yield f"Virtual environment: {name}; run its programs as {name}/bin/python and so on"


def _venv_of(texts: Mapping[str, str]) -> str:
    return next((name for name in _VENVS if f"{name}/pyvenv.cfg" in texts), "")


def _tests(texts: Mapping[str, str]) -> Iterator[str]:
    found: list[str] = []
    script = _scripts(texts).get("test")
    if isinstance(script, str):
        found.append(f"the script test of package.json is {_quoted(script)}")
    # Another Python would not have the packages that the tests import.
    place = f"{venv}/bin/" if (venv := _venv_of(texts)) else ""
    if _at(_toml_or_json(texts, "pyproject.toml"), "tool", "pytest"):
        found.append(f"{place}{_PYTEST} (set up in pyproject.toml)")
    for name, command in _TESTS.items():
        if name in texts:
            found.append(f"{place if command == _PYTEST else ''}{command} ({name})")
    if "test" in _targets(texts):
        found.append("make test (Makefile)")
    if found:
        yield "Tests: " + "; ".join(found)


def _others(texts: Mapping[str, str]) -> Iterator[str]:
    if scripts := [_quoted(name) for name in _scripts(texts) if name != "test"]:
        yield f"Scripts of package.json: {_some(scripts)}"
    if targets := [_quoted(name) for name in _targets(texts) if name != "test"]:
        yield f"Targets of the Makefile: {_some(targets)}"
    pyproject = _toml_or_json(texts, "pyproject.toml")
    if tools := [tool for tool in _TOOLS if _at(pyproject, "tool", tool)]:
        yield f"Set up in pyproject.toml: {', '.join(tools)}"
    wanted = _at(pyproject, "project").get("requires-python")
    if isinstance(wanted, str):
        yield f"Python version: {_quoted(wanted)} (pyproject.toml)"


def _some(names: list[str]) -> str:
    more = f" and {len(names) - MOST_SCRIPTS} more" if len(names) > MOST_SCRIPTS else ""
    return ", ".join(names[:MOST_SCRIPTS]) + more


def _scripts(texts: Mapping[str, str]) -> Mapping[str, Any]:
    return _at(_toml_or_json(texts, "package.json"), "scripts")


def _targets(texts: Mapping[str, str]) -> list[str]:
    """The plain targets of the Makefile, in order."""
    found: dict[str, None] = {}
    for line in texts.get("Makefile", "").split("\n"):
        name, colon, rest = line.partition(":")
        is_plain = name and all(char.isalnum() or char in "-_" for char in name)
        if colon and is_plain and not rest.startswith("="):
            found[name] = None
    return list(found)


def _toml_or_json(texts: Mapping[str, str], name: str) -> Mapping[str, Any]:
    """What a file says; nothing where it is broken."""
    try:
        said: Any = (read_toml if name.endswith(".toml") else json.loads)(texts.get(name) or "")
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, Any]", said) if isinstance(said, dict) else {}


def _at(said: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        inner = said.get(key)
        if not isinstance(inner, dict):
            return {}
        said = cast("Mapping[str, Any]", inner)
    return said


def _quoted(value: str) -> str:
    return f"`{one_line(value if len(value) <= LONGEST else value[:LONGEST] + '…')}`"
