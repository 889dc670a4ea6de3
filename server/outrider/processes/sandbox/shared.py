"""What the commands of one session share: a network that leads nowhere but to the allowed hosts, and a `/tmp`.

The network is kept by descriptors of this process, and by no process of its own: nothing is left of it when the server is
killed. The folder is held by a lock that ends with the server too; what a server left behind is removed by the next one.
"""

import asyncio
import hashlib
import os
import shutil
import stat
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Final

from outrider.processes.sandbox.gateway import Gateway, Reach, Way
from outrider.processes.supervisor import Network, SpawnProblem, Supervisor

MOST_BYTES: Final = 4 * 2**30
"""Of temporary files of a session: they lie on the disk that the log is on, and stay as long as the session."""
TOO_MANY: Final = f"have more than {MOST_BYTES // 2**30} GiB; remove what is not needed there"
_TAKES: Final = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Shared:
    """What one session's commands share. Made at the first command that is confined, gone with the session."""

    def __init__(self, supervisor: Supervisor, folder: Path, reach: Reach | None = None) -> None:
        """Begin with nothing.

        Args:
            supervisor: Has the network made.
            folder: Where the session's temporary files go, a folder of its own beside those of other sessions; it is
                emptied when they begin and removed with the session.
            reach: What the way to allowed hosts needs; None: there is none.
        """
        self._supervisor = supervisor
        self._folder = folder
        self._lock = asyncio.Lock()
        self._held: int | None = None
        self._last: Path | None = None
        self._within: frozenset[str] = frozenset()
        self._network: Network | SpawnProblem | None = None
        self._reach = reach
        self._gateway: Gateway | None = None

    async def network(self) -> Network | SpawnProblem:
        """The network, or why there is none."""
        async with self._lock:
            if self._network is None:
                self._network = await self._supervisor.network()
            return self._network

    @property
    def leads_out(self) -> bool:
        """Whether there can be a way to allowed hosts, in a network."""
        return self._reach is not None

    async def way(self, hosts: Collection[str]) -> Way | SpawnProblem:
        """A way for one command to the hosts that the setting names so, which the caller closes; or why there is none."""
        network = await self.network()
        if isinstance(network, SpawnProblem) or self._reach is None:
            return (
                network if isinstance(network, SpawnProblem) else SpawnProblem("no host can be reached here")
            )
        async with self._lock:
            if self._gateway is None:
                self._gateway = Gateway(network.gate, self._reach)
            try:
                return await self._gateway.open(tuple(hosts))
            except OSError as error:
                return SpawnProblem(f"the allowed hosts cannot be reached: {error.strerror or error}")

    async def tmp(self, within: Collection[str]) -> Path | None:
        """The folder that stands for `/tmp`, None if it cannot be made.

        Args:
            within: The names in `/tmp` at which commands have something else. They cannot touch these; where other names
                are wanted it is another folder, as they could have put something there.
        """
        async with self._lock:
            return await asyncio.to_thread(self._made, within)

    def read_tmp(self, within: Collection[str]) -> Path | None:
        """The folder that stood for `/tmp` last, for a command that only reads; None if there is none for it.

        Args:
            within: See `tmp`.
        """
        return self._last if self._within.issuperset(within) else None

    async def close(self) -> None:
        """Give it up. No command of the session runs any more."""
        async with self._lock:
            if self._gateway is not None:
                await self._gateway.close()
                self._gateway = None
            if isinstance(self._network, Network):
                self._network.close()
            self._network = SpawnProblem("the session is closed")
            await asyncio.to_thread(self._remove)

    def _made(self, within: Collection[str]) -> Path | None:
        try:
            if self._held is None:
                self._folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                _sweep(self._folder.parent)
                self._folder.mkdir(mode=0o700)
                self._held = _hold(self._folder)
            if self._held is None:
                return None  # another server has a session of that name
            named = hashlib.sha256("\0".join(sorted(within)).encode("utf-8", "surrogateescape")).hexdigest()
            place = self._folder / named[:16]
            place.mkdir(mode=0o700, exist_ok=True)
        except OSError:
            return None
        self._last, self._within = place, frozenset(within)
        return place

    def _remove(self) -> None:
        self._last = None
        if self._held is not None:
            _empty(self._folder)
            os.close(self._held)
            self._held = None


class Filling:
    """Looks after the size of the temporary files while a command runs, which is ended where they are too many and become no fewer."""

    def __init__(self, folder: Path) -> None:
        """Look at `folder`."""
        self._folder = folder
        self._size: int | None = None
        self._free = 0

    async def is_full(self) -> bool:
        """Whether there are more bytes than there may be, as already at the last look."""
        return await asyncio.to_thread(self._look)

    def _look(self) -> bool:
        try:
            status = os.statvfs(self._folder)
        except OSError:
            return False  # it is gone, with the session
        free = status.f_bavail * status.f_frsize
        before, self._size = self._size, self._size or 0
        # What was written since the files were counted is room that is gone.
        if before is not None and before + max(self._free - free, 0) <= MOST_BYTES:
            return False
        self._size, self._free = _size_of(self._folder), free
        return before is not None and min(before, self._size) > MOST_BYTES and self._size >= before


def _size_of(folder: Path) -> int:
    """The bytes on the disk of all that is below a folder; no link is followed."""
    size, waiting = 0, [str(folder)]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    return size


def _sweep(folder: Path) -> None:
    """Remove what servers that are gone have left."""
    for path in folder.iterdir():
        if (held := _hold(path)) is not None:
            _empty(path)
            os.close(held)


def _hold(folder: Path) -> int | None:
    """The lock of a folder, for as long as the descriptor is open; None if somebody else has it."""
    import fcntl  # Windows, where no command is confined, has none

    try:
        fd = os.open(folder, _TAKES)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        return None
    return fd


def _empty(folder: Path) -> None:
    """Remove a folder whose content may have any modes; no link is followed."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    for path, names, _ in os.walk(folder):
        for name in (path, *(os.path.join(path, name) for name in names)):  # noqa: PTH118 - many of them
            with suppress(OSError):
                if stat.S_ISDIR(os.lstat(name).st_mode):
                    os.chmod(name, 0o700)  # noqa: PTH101
    shutil.rmtree(folder, ignore_errors=True)
