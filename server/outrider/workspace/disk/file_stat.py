"""Whether a file on disk may have been written since: its mark, a few numbers that the system keeps for it.

A mark that was made too soon after the file was written is not believed: within the granularity of the system's
clock a file can be written twice and look the same.
"""

import errno
import os
import signal
import stat
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

GRANULARITY = 2_000_000_000
"""Nanoseconds in which two writes may bear the same time, on the coarsest of file systems."""


_MAY_STILL_COME = 1_000_000_000
"""Nanoseconds after which an empty file counts as empty, where the system does not tell who writes to it."""

if sys.platform == "linux":
    import fcntl


def is_being_written(path: Path) -> bool:
    """Whether somebody is in the middle of writing a file, as an editor is that empties it first. Blocks.

    Linux gives a read lease only for a file that nobody has open for writing (fcntl(2), "Leases"). Where it gives none
    for another reason, and on other systems, a file that was emptied a moment ago counts as one that is being written.

    Args:
        path: The file.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            return False
        if (leased := _can_be_leased(path)) is not None:
            return not leased
    except OSError:
        return False
    return status.st_size == 0 and time.time_ns() - status.st_mtime_ns < _MAY_STILL_COME


def _can_be_leased(path: Path) -> bool | None:
    """Whether nobody has a file open for writing; None where the system does not tell."""
    if sys.platform != "linux":
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        # Who opens the file meanwhile breaks the lease: the usual signal for that would end this process.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return False if error.errno == errno.EAGAIN else None
    finally:
        os.close(descriptor)
    return True


class Status(NamedTuple):
    """What the system says of a file, without what nobody here asks for: there may be a hundred thousand of them."""

    st_mode: int
    st_ino: int
    st_dev: int
    st_nlink: int
    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int


def status_of(found: os.stat_result) -> Status:
    """The part of it that is kept."""
    return Status(
        found.st_mode,
        found.st_ino,
        found.st_dev,
        found.st_nlink,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


@dataclass(frozen=True, slots=True)
class Mark:
    """What a file looked like from outside."""

    numbers: tuple[int, ...]
    """Device, inode, size, times of the last write and of the last change of any kind; empty: there was none."""
    is_firm: bool
    """Whether the same numbers mean the same content."""

    def holds(self, later: "Mark") -> bool:
        """Whether a file with this mark cannot have been written until it had that later one."""
        return self.is_firm and self.numbers == later.numbers


def mark_of(path: Path) -> Mark:
    """The mark of a file now, to be taken before its content is read. Blocks, for one look at the disk."""
    try:
        status = path.stat()
    except OSError:
        return Mark((), is_firm=True)
    if not stat.S_ISREG(status.st_mode):
        return Mark((status.st_dev, status.st_ino), is_firm=True)
    # The time of the last change cannot be set by a program, unlike that of the last write.
    latest = max(status.st_mtime_ns, status.st_ctime_ns)
    numbers = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return Mark(numbers, is_firm=time.time_ns() - latest > GRANULARITY)
