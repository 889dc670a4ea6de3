"""What the tests of editors share."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import neovim_driver
import pytest
from neovim_plugin import Neovim

from editors.parking import BEFORE, CHECK, Begin
from editors.workbench import Browser, Workbench, browser, free_port, install_extension, workbench


@pytest.fixture
def plugin(tmp_path):
    """Starts a Neovim with the plugin, and ends it."""
    running = []

    def start(turns=(), **options):
        version = options.get("version", "0.11")
        if neovim_driver.program(version) is None:
            pytest.skip(f"Neovim {version} is not installed: .ci/install-neovim does that, on Linux")
        running.append(Neovim(tmp_path, list(turns), **options))
        return running[-1]

    yield start
    for one in running:
        one.quit()


@pytest.fixture(scope="session")
def extensions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension, installed from its package."""
    folder = tmp_path_factory.mktemp("vscode") / "extensions"
    install_extension(folder)
    return folder


@pytest.fixture(scope="session")
def profile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """Where the browser keeps what it loaded, and from which port."""
    return tmp_path_factory.mktemp("chromium"), free_port()


# Not for longer: while it runs, no test in the same process can have an event loop.
@pytest.fixture(scope="module")
def chromium(profile: tuple[Path, int]) -> Iterator[Browser]:
    """The browser of a file of tests: its windows load four seconds faster than those of a new one."""
    with browser(*profile) as started:
        yield started


@pytest.fixture
def begin(chromium: Browser, extensions: Path, tmp_path: Path) -> Iterator[Begin]:
    """Starts a workbench on a small project."""
    project = tmp_path / "parking"
    project.mkdir()
    (project / "tariff.py").write_text(BEFORE, encoding="utf-8")
    (project / "check.py").write_text(CHECK, encoding="utf-8")
    wanted = os.environ.get("OUTRIDER_SHOTS")
    shots = Path(wanted) if wanted else None
    if shots is not None:
        shots.mkdir(parents=True, exist_ok=True)

    def start(turns: list[dict[str, Any]], **options: Any) -> AbstractContextManager[Workbench]:
        where = options.pop("workspace", project)
        return workbench(chromium, where, tmp_path / "home", extensions, turns, shots=shots, **options)

    yield start
