"""Whether a file on the disk may have been written since: its mark, a few numbers that the system keeps for it.

A mark that was made too soon after the file was written is not believed: within the granularity of the system's
clock a file can be written twice and look the same.
"""

import stat
import time
from dataclasses import dataclass
from pathlib import Path

GRANULARITY = 2_000_000_000
"""Nanoseconds in which two writes may bear the same time, on the coarsest of file systems."""


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
