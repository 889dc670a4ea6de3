"""Sockets that programs outside of the sandbox listen at, by their paths.

A path that a command can see is a way out: connecting to a socket is no writing, and no namespace but that of mounts
governs it. The kernel lists the sockets of one network namespace only (proc_pid_net(5)), and a path as the program gave
it, which may be relative to a folder that nobody knows.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

LISTING: Final = Path("/proc/net/unix")
_DATAGRAM: Final = "0002"
_ACCEPTS: Final = 0x10000
"""The flag of a socket that listens."""
_FIELDS: Final = 7
"""Before the path: number, references, protocol, flags, type, state, inode."""


def listening(folders: Sequence[Path], listing: str) -> list[str]:
    """The real paths of sockets that take connections or messages, in order, each once. Blocks.

    Args:
        folders: Where a relative path may begin: the workspace folders.
        listing: What `LISTING` holds.
    """
    found: set[str] = set()
    for path in _bound(listing):
        places = [path] if path.startswith("/") else [str(folder / path) for folder in folders]
        for place in places:
            try:
                if stat.S_ISSOCK(os.lstat(place).st_mode):
                    found.add(os.path.realpath(place))
            except OSError:
                continue  # gone, or of another mount namespace
    return sorted(found)


def _bound(listing: str) -> Iterator[str]:
    for line in listing.split("\n")[1:]:
        fields = line.split(None, _FIELDS)
        if len(fields) <= _FIELDS or fields[_FIELDS].startswith("@"):
            continue
        try:
            accepts = int(fields[3], 16) & _ACCEPTS
        except ValueError:
            continue  # the rest of a name with a line end in it
        if accepts or fields[4] == _DATAGRAM:
            yield fields[_FIELDS]
