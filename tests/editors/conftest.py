"""What the tests of editors share."""

import neovim_driver
import pytest
from neovim_plugin import Neovim


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
