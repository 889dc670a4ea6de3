"""What the tests of editors share."""

import os
from collections.abc import Iterator
from pathlib import Path

import neovim_driver
import pytest
from neovim_plugin import Neovim

from editors.parking import Begin, beginning
from editors.workbench import Browser, Windows, browser, code_server, free_port, install_extension


def pytest_collection_modifyitems(items):
    """What fails here gets a second try, of which the summary tells: an editor on a busy machine is late now and then."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))


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


@pytest.fixture(scope="session")
def shots() -> Path | None:
    """Where pictures go; None for none."""
    wanted = os.environ.get("OUTRIDER_SHOTS")
    if wanted is None:
        return None
    Path(wanted).mkdir(parents=True, exist_ok=True)
    return Path(wanted)


# The folders of a file of tests: pytest names those of a test after it, and a message that names one would be cut off.
@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small project, and what its windows have beside it."""
    return tmp_path_factory.mktemp("workbench")


@pytest.fixture(scope="module")
def windows(chromium: Browser, extensions: Path, place: Path, shots: Path | None) -> Iterator[Windows]:
    """The windows of a file of tests."""
    with code_server(chromium, place / "home", extensions, shots) as started:
        yield started


@pytest.fixture
def begin(windows: Windows, place: Path) -> Begin:
    """Opens a window on a small project."""
    return beginning(windows, place / "parking")
