"""Which ways to confine a command work on this machine, tried without Outrider; what does not is skipped with its reason."""

import functools
import shutil
import subprocess
import sys

import pytest

from outrider.processes.launcher import landlock_abi
from outrider.processes.sandbox.landlock import OLDEST_ABI


@functools.cache
def why_no_bubblewrap() -> str | None:
    """Why bubblewrap cannot be used here, as it says itself."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed"
    argv = [
        "bwrap",
        "--unshare-user",
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "true",
    ]
    tried = subprocess.run(argv, capture_output=True, text=True, check=False)
    return f"bubblewrap cannot be used here: {tried.stderr.strip()}" if tried.returncode else None


@functools.cache
def why_no_landlock() -> str | None:
    """Why Landlock cannot be used here."""
    if sys.platform != "linux":
        return "there is no Landlock but on Linux"
    abi = landlock_abi()
    return f"Landlock of version {abi} cannot be used" if abi < OLDEST_ABI else None


needs_bubblewrap = pytest.mark.skipif(why_no_bubblewrap() is not None, reason=why_no_bubblewrap() or "")
needs_landlock = pytest.mark.skipif(why_no_landlock() is not None, reason=why_no_landlock() or "")
in_both_worlds = pytest.mark.parametrize(
    "world",
    [pytest.param("bubblewrap", marks=needs_bubblewrap), pytest.param("landlock", marks=needs_landlock)],
)
