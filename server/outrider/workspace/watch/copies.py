"""Copies of the files of a workspace, kept aside, so that a change by a command can be undone.

They lie in one temporary file that has no name, so it goes with the process however that ends. What was written to it is
never written over: a look at the files keeps the copies of its moment, whatever later looks add.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Self

from outrider.workspace.disk import disk
from outrider.workspace.disk.file_stat import Status

MOST_BYTES: Final = 200 * 1024 * 1024
"""Bytes of all files of a workspace that are copied; where there are more, none is."""
LARGEST: Final = 1024 * 1024
"""Bytes of a file that is copied."""
SECONDS: Final = 20.0
"""How long it may take to copy what is new."""


class _File:
    """A temporary file without a name, as long as anybody has use for it."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.end = 0

    @classmethod
    def made_in(cls, folder: Path | None) -> Self:
        descriptor, path = tempfile.mkstemp(dir=folder, prefix="copies-")
        file = cls(descriptor)
        Path(path).unlink()
        return file

    def __del__(self) -> None:
        os.close(self.descriptor)

    def append(self, content: bytes) -> tuple[int, int]:
        at = self.end
        view = memoryview(content)
        while view:
            written = os.pwrite(self.descriptor, view, self.end)
            self.end += written
            view = view[written:]
        return at, len(content)


class Copied(Mapping[str, bytes]):
    """The contents of files at one moment, by path, read when they are asked for."""

    def __init__(self, file: _File, places: Mapping[str, tuple[int, int]]) -> None:
        """What lies where in the file."""
        self._file = file
        self._places = places

    def __getitem__(self, path: str) -> bytes:
        """The content of one; blocks."""
        at, length = self._places[path]
        return os.pread(self._file.descriptor, length, at)

    def __iter__(self) -> Iterator[str]:
        """The paths."""
        return iter(self._places)

    def __len__(self) -> int:
        """How many there are."""
        return len(self._places)

    def __contains__(self, path: object) -> bool:
        """Whether there is a copy; reads nothing."""
        return path in self._places


class Copies:
    """The copies of one workspace."""

    def __init__(self, folder: Path | None) -> None:
        """Begin with none.

        Args:
            folder: Where the file is made; None for the system's own folder.
        """
        self._folder = folder
        self._file: _File | None = None
        self._places: dict[str, tuple[int, int]] = {}
        # A look that was given up may still be copying.
        self._one = threading.Lock()

    def update(self, files: Mapping[str, Status], is_known: Callable[[str], bool]) -> Copied | str:
        """Copy what is new; gives all copies, or why there are none. Blocks.

        Args:
            files: All files, by path.
            is_known: Which of them are as they were at the latest update.
        """
        if sum(size for one in files.values() if (size := one.st_size) <= LARGEST) > MOST_BYTES:
            return f"the files of the workspace have more than {MOST_BYTES // (1024 * 1024)} MB"
        with self._one:
            try:
                return self._update(files, is_known)
            except OSError as problem:
                return f"the files of the workspace cannot be copied ({problem.strerror or problem})"

    def _update(self, files: Mapping[str, Status], is_known: Callable[[str], bool]) -> Copied | str:
        end = time.monotonic() + SECONDS
        old = self._file
        file = _File.made_in(self._folder) if old is None or old.end > 2 * MOST_BYTES else old
        places: dict[str, tuple[int, int]] = {}
        for path, status in files.items():
            if status.st_size > LARGEST:
                continue
            if time.monotonic() > end:
                return f"it took more than {SECONDS:g} s to copy the files of the workspace"
            if (place := self._places.get(path)) is not None and is_known(path):
                if old is not None and file is not old:
                    place = file.append(os.pread(old.descriptor, place[1], place[0]))
                places[path] = place
            elif isinstance(content := disk.read_bytes(Path(path), LARGEST), bytes):
                places[path] = file.append(content)
        self._file, self._places = file, places
        return Copied(file, places)
