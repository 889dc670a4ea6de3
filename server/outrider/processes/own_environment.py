"""Keeps the server's own environment from the commands that it runs: they are of the same user, who may look at processes.

Only a process namespace of their own keeps commands from all processes of the user, the editor among them. Without
one, this keeps them from this process: on Linux `/proc/PID/environ` and `/proc/PID/mem` belong to root then (proc(5)), and
what was in the environment at the start is blanked, as root can read it all the same.
"""

import ctypes
import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

_PR_SET_DUMPABLE: Final = 4
_ENV_START: Final = 50
"""Number of the field in `/proc/self/stat` that says where the environment begins; its end follows (proc(5))."""


def hide_environment(env: Mapping[str, str], kept: Collection[str]) -> None:
    """Hide this process's environment from others, as far as the system can. Blocks for a moment.

    Args:
        env: The environment, which this process may still want.
        kept: The variables that commands get anyway.
    """
    if sys.platform != "linux":
        return
    _blank({name for name in env if name not in kept})
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def _blank(names: Collection[str]) -> None:
    """Overwrite the values of variables where they stood when the process began."""
    try:
        stat = Path("/proc/self/stat").read_bytes()
    except OSError:
        return
    # The second field, a name in parentheses, may hold spaces.
    fields = stat[stat.rindex(b")") + 2 :].split()
    start, end = int(fields[_ENV_START - 3]), int(fields[_ENV_START - 2])
    if not 0 < start < end:
        return
    for name in names:
        if name in os.environ:
            # Moves the value to the heap: what stood there is not looked at any more.
            os.environ[name] = os.environ[name]
    block = (ctypes.c_char * (end - start)).from_address(start)
    place = 0
    for entry in block.raw.split(b"\0"):
        name, separator, value = entry.partition(b"=")
        if separator and os.fsdecode(name) in names:
            at = place + len(name) + 1
            block[at : at + len(value)] = bytes(len(value))
        place += len(entry) + 1
