"""A lock on an open file that is taken at once or not at all. The system frees it with the file, and so with any death."""

import sys

if sys.platform == "win32":
    import msvcrt

    def try_lock(descriptor: int) -> None:
        """Lock an open file against other processes.

        Raises:
            BlockingIOError: Another process has it.
        """
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, "locked") from error

else:
    import fcntl

    def try_lock(descriptor: int) -> None:
        """Lock an open file against other processes.

        Raises:
            BlockingIOError: Another process has it.
            OSError: The file system has no locks.
        """
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
