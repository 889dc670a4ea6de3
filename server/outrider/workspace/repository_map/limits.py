"""What a process may take that reads foreign text with native code: the system ends the one that wants more."""

import resource
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

SECONDS: Final = 2.0
"""Of the processor, for one text."""
MEMORY: Final = 1024**3
"""Bytes that a process may have besides those it began with."""


def limit_memory() -> None:
    """Limit the memory of this process."""
    with suppress(OSError, ValueError):  # where the system does not tell or cannot do it
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def limited_time() -> Generator[None]:
    """Limit the time of what is done in it."""
    # The default of this signal is the end.
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
