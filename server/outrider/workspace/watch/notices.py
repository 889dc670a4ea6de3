"""What the system tells of changes in folders, from the moment each of them is watched: inotify(7), on Linux alone.

A name that came or went, and a write through a name in a watched folder, are told as soon as they have happened. Not told is what is
written through another hard link of a file, and what another machine changes on a file system that it shares.
"""

import ctypes
import errno
import os
import struct
import sys
import weakref
from dataclasses import dataclass
from typing import Final

# Of <sys/inotify.h>.
_MODIFY: Final = 0x2
_ATTRIB: Final = 0x4
_CLOSE_WRITE: Final = 0x8
_NAMES: Final = 0x40 | 0x80 | 0x100 | 0x200  # IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE
_DELETE_SELF: Final = 0x400
_MOVE_SELF: Final = 0x800
_LOST: Final = _MOVE_SELF | 0x2000 | 0x4000  # IN_UNMOUNT, IN_Q_OVERFLOW
_IGNORED: Final = 0x8000
_WANTED: Final = _MODIFY | _ATTRIB | _CLOSE_WRITE | _NAMES | _DELETE_SELF | _MOVE_SELF
_ONLY_FOLDERS: Final = 0x1000000 | 0x2000000  # IN_ONLYDIR, IN_DONT_FOLLOW

_HEAD: Final = struct.Struct("iIII")
_AT_ONCE: Final = 64 * 1024
"""Bytes that are read at a time."""
_CANNOT_BE_SEEN: Final = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP})


@dataclass(frozen=True, slots=True)
class Notice:
    """Something that happened."""

    path: str
    is_name: bool
    """Whether the name came or went; else what it names was written, or got other permissions."""


class Notices:
    """Watches folders. Not for several threads at once."""

    def __init__(self, descriptor: int, libc: ctypes.CDLL) -> None:
        self._descriptor = descriptor
        self._add = libc.inotify_add_watch
        self._folders: dict[int, str] = {}
        self._watched: set[str] = set()
        self.is_whole = True
        """Whether everything that was to be watched is: the system has a limit."""
        self._close = weakref.finalize(self, os.close, descriptor)

    @classmethod
    def begin(cls) -> "Notices | None":
        """Begin with no folder; None where the system tells nothing."""
        if sys.platform != "linux":
            return None
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        return None if descriptor < 0 else cls(descriptor, libc)

    def watch(self, folder: str) -> bool:
        """Watch what is directly in a folder; gives whether it was not watched before. Blocks, for one look at the disk."""
        if folder in self._watched:
            return False
        number = self._add(self._descriptor, os.fsencode(folder), _WANTED | _ONLY_FOLDERS)
        if number < 0:
            self.is_whole = self.is_whole and ctypes.get_errno() in _CANNOT_BE_SEEN
            return False
        self._folders[number] = folder
        self._watched.add(folder)
        return True

    def taken(self) -> list[Notice] | None:
        """What has happened since the last time, in order; None where not all of it is known, now and for good."""
        found: list[Notice] = []
        while True:
            try:
                read = os.read(self._descriptor, _AT_ONCE)
            except BlockingIOError:
                return found if self.is_whole else None
            at = 0
            while at < len(read):
                number, mask, _, length = _HEAD.unpack_from(read, at)
                at += _HEAD.size + length
                if mask & _LOST:
                    self.is_whole = False
                elif folder := self._folders.get(number):
                    name = os.fsdecode(read[at - length : at].rstrip(b"\0"))
                    path, is_name = (
                        f"{folder}/{name}" if name else folder,
                        mask & (_NAMES | _DELETE_SELF) != 0,
                    )
                    if is_name or mask & _IGNORED:
                        self._watched.discard(path)  # another folder may have come in its place
                    if not mask & _IGNORED:
                        found.append(Notice(path, is_name))
