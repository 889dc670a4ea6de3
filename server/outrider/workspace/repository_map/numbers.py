"""What the system says of a file from outside, by which it is known again."""

import os
import stat

Numbers = tuple[int, ...]
"""Device, inode, size, times."""


def numbers_of(path: str) -> Numbers | None:
    """What the system says of a regular file from outside; None where there is none."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return numbers_in(status) if stat.S_ISREG(status.st_mode) else None


def numbers_in(status: os.stat_result) -> Numbers:
    """What a look at a file says."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
