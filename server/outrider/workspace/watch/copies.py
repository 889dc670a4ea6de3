"""Copies of the files of a workspace, kept aside, so that a change by a command can be undone.

They lie in one temporary file, which goes with the process. What was written to it is never written over: a look at the files keeps
the copies of its moment, whatever later looks add. While a command runs, a list of its copies lies beside it: where the process is
killed, the next one finds both.
"""

import hashlib
import json
import os
import stat
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from outrider.workspace.disk import disk
from outrider.workspace.disk.file_stat import Status
from outrider.workspace.disk.folder import try_lock

MOST_BYTES: Final = 200 * 1024 * 1024
"""Bytes of all files of a workspace that are copied; where there are more, none is."""
LARGEST: Final = 1024 * 1024
"""Bytes of a file that is copied."""
SECONDS: Final = 20.0
"""How long it may take to copy what is new."""
LASTING: Final = 30 * 86400.0
"""Seconds for which a list waits for somebody to go on with the turn whose command was cut off."""
_COPIES: Final = "copies-"
_LIST: Final = ".before"


class _File:
    """A temporary file, as long as anybody has use for it."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self.descriptor, self.path = descriptor, path
        self.end = 0
        self.lists: set[Path] = set()
        """The lists that name it."""
        weakref.finalize(self, _let_go, descriptor, path, self.lists)

    @classmethod
    def made_in(cls, folder: Path | None) -> Self:
        descriptor, path = tempfile.mkstemp(dir=folder, prefix=_COPIES)
        with suppress(OSError):
            try_lock(descriptor)  # it says that this process lives
        return cls(descriptor, Path(path))

    def append(self, content: bytes) -> tuple[int, int]:
        at = self.end
        view = memoryview(content)
        while view:
            written = os.pwrite(self.descriptor, view, self.end)
            self.end += written
            view = view[written:]
        return at, len(content)


def _let_go(descriptor: int, path: Path, lists: Collection[Path]) -> None:
    os.close(descriptor)
    if not lists:
        path.unlink(missing_ok=True)


class Copied(Mapping[str, bytes]):
    """The contents of files at one moment, by path, read when they are asked for."""

    def __init__(self, file: _File, places: Mapping[str, tuple[int, int]], folder: Path | None) -> None:
        """What lies where in the file."""
        self._file = file
        self._places = places
        self._folder = folder

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

    def hold(self, turn_id: str, call_id: str, files: Mapping[str, Status]) -> Callable[[], None]:
        """Have the copies outlive this process until what comes back is called. Both block.

        Args:
            turn_id: The turn whose command runs now.
            call_id: Its call.
            files: What the system said of the files when they were copied.

        Raises:
            OSError: The list of them cannot be written.
        """
        if self._folder is None:
            return lambda: None
        path = self._folder / _name(turn_id, call_id)
        listed = {name: [*place, *files[name]] for name, place in self._places.items()}
        said = json.dumps({"in": self._file.path.name, "turn": turn_id, "files": listed})
        self._file.lists.add(path)
        path.write_text(said, "ascii")

        def release() -> None:
            path.unlink(missing_ok=True)
            self._file.lists.discard(path)

        return release


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
        if old is None and self._folder is not None:
            _sweep(self._folder)
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
        return Copied(file, places, self._folder)


@dataclass(frozen=True, slots=True)
class Lost:
    """A file that is not as it was before a command that was cut off."""

    path: Path
    content: bytes
    """What was in it."""
    mode: int
    """Its permission bits then."""
    is_gone: bool


def lost(folder: Path, turn_id: str, call_id: str) -> tuple[list[Lost], Callable[[], None]] | None:
    """What is not as it was before a command whose process was killed, and what forgets it; None where no copies are left. Blocks.

    Args:
        folder: Where copies are kept.
        turn_id: The turn.
        call_id: The call of the command.
    """
    path = folder / _name(turn_id, call_id)
    try:
        listed: dict[str, Any] = json.loads(path.read_text("ascii"))
        copies = folder / Path(listed["in"]).name
        with copies.open("rb") as file:
            found = list(
                filter(
                    None, (_lost(Path(one), entry, file.fileno()) for one, entry in listed["files"].items())
                )
            )
    except (OSError, ValueError, KeyError, TypeError):
        return None  # there are none, or what is left of them is damaged

    def forget() -> None:
        path.unlink(missing_ok=True)
        _sweep(folder)

    return found, forget


def _lost(path: Path, entry: list[int], descriptor: int) -> Lost | None:
    at, length, *numbers = entry
    was = Status(*numbers)
    mode = stat.S_IMODE(was.st_mode)
    try:
        now = path.lstat()
    except OSError:
        return Lost(path, os.pread(descriptor, length, at), mode, is_gone=True)
    if (was.st_ino, was.st_size, was.st_mtime_ns, was.st_ctime_ns) == (
        now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns,
    ):  # fmt: skip
        return None
    content = os.pread(descriptor, length, at)
    if stat.S_ISREG(now.st_mode) and disk.read_bytes(path, LARGEST) == content:
        return None
    return Lost(path, content, mode, is_gone=False)


def forget(folder: Path, turns: Collection[str]) -> None:
    """Remove what is left of the commands of some turns. Blocks."""
    for path, listed in _lists(folder):
        if listed.get("turn") in turns:
            path.unlink(missing_ok=True)
    _sweep(folder)


def _sweep(folder: Path) -> None:
    """Remove the copies of processes that are gone, but for those that somebody may still ask for."""
    needed: set[Any] = set()
    for path, listed in _lists(folder):
        needed.add(listed.get("in"))
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > LASTING:
                path.unlink()
    for path in folder.glob(f"{_COPIES}*"):
        if path.name not in needed and path.suffix != _LIST:
            with suppress(OSError):
                descriptor = os.open(path, os.O_RDWR)
                try:
                    try_lock(descriptor)
                    path.unlink(missing_ok=True)
                finally:
                    os.close(descriptor)


def _lists(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in folder.glob(f"{_COPIES}*{_LIST}"):
        with suppress(OSError, ValueError):
            listed: Any = json.loads(path.read_text("ascii"))
            if isinstance(listed, dict):
                yield path, listed


def _name(turn_id: str, call_id: str) -> str:
    """The name of a list: ids of calls come from a model."""
    digest = hashlib.sha256(json.dumps([turn_id, call_id]).encode()).hexdigest()[:32]
    return f"{_COPIES}{digest}{_LIST}"
