"""Which files the processes of this machine hold open with unsaved text, so that none writes the disk under them.

Each process has two files in the state folder: one that it keeps locked while it lives, so that any death frees it,
and one that lists its paths. Nothing is made before there is something to tell.
"""

import asyncio
import json
import logging
import os
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import cast

from outrider.ports.clock import Clock
from outrider.workspace.disk.folder import flags, try_lock
from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.paths import path_of

PAUSE_SECONDS = 0.2
"""How long what is typed on is not told again."""
_log = logging.getLogger(__name__)
_LOCKED, _LIST = ".held", ".json"


class HeldFiles:
    """What this process holds, told to the others, and what they hold. Everything here blocks."""

    def __init__(self, folder: Path) -> None:
        """Tell and ask in `folder`, which is made when it is needed."""
        self._folder = folder
        self._name = f"{os.getpid()}-{secrets.token_hex(8)}"
        self._lock = -1

    def publish(self, paths: Iterable[Path]) -> None:
        """Tell the others which real paths are held now.

        Raises:
            OSError: It cannot be told.
        """
        held = sorted(map(str, paths))
        if self._lock < 0:
            if not held:
                return
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._folder / f"{self._name}.new"
        new.write_text(json.dumps(held), encoding="ascii")
        new.chmod(0o600)
        new.replace(self._folder / f"{self._name}{_LIST}")
        if self._lock < 0:
            self._lock = self._locked()

    def holder(self, path: Path) -> int | None:
        """The id of another living process that holds a real path; None if there is none."""
        return next((process for process, paths in self._others() if str(path) in paths), None)

    def elsewhere(self) -> frozenset[Path]:
        """All real paths that other living processes hold."""
        return frozenset(Path(path) for _, paths in self._others() for path in paths)

    def _others(self) -> Iterator[tuple[int, list[str]]]:
        with suppress(FileNotFoundError):
            for file in self._folder.iterdir():
                if file.suffix == _LOCKED and file.stem != self._name and self._is_alive(file):
                    yield int(file.stem.partition("-")[0]), _listed(file.with_suffix(_LIST))

    def close(self) -> None:
        """Hold nothing any more."""
        if self._lock >= 0:
            for suffix in (_LOCKED, _LIST):
                (self._folder / f"{self._name}{suffix}").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = -1

    def _locked(self) -> int:
        # It gets its name when it is locked, so that nobody takes it for that of a dead process.
        new = self._folder / f"{self._name}.new"
        lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags("O_CLOEXEC"), 0o600)
        try:
            try_lock(lock)
            new.rename(self._folder / f"{self._name}{_LOCKED}")
        except OSError:
            os.close(lock)
            new.unlink(missing_ok=True)
            raise
        return lock

    def _is_alive(self, file: Path) -> bool:
        """Whether a process keeps it locked; what a dead one left is removed."""
        try:
            probe = os.open(file, os.O_RDWR | flags("O_NOFOLLOW", "O_CLOEXEC"))
        except OSError:
            return False
        try:
            try_lock(probe)
        except BlockingIOError:
            return True
        except OSError:
            return False
        else:
            for left in (file, file.with_suffix(_LIST)):
                left.unlink(missing_ok=True)
            return False
        finally:
            os.close(probe)


def _listed(file: Path) -> list[str]:
    try:
        listed: object = json.loads(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return []
    return cast("list[str]", listed) if isinstance(listed, list) else []


class Publisher:
    """Tells the other processes what is unsaved here, whenever a document changes."""

    def __init__(
        self,
        held: HeldFiles,
        documents: DocumentStore,
        unsaved: Callable[[], Awaitable[tuple[str, ...]]],
        clock: Clock,
    ) -> None:
        """Begin.

        Args:
            held: Where it is told.
            documents: What is open.
            unsaved: Gives the URIs of what is unsaved.
            clock: Counts the pauses; real time, because the log does not know of them.
        """
        self._held = held
        self._unsaved = unsaved
        self._clock = clock
        self._changed = asyncio.Event()
        self._changed.set()
        self._unsubscribe = documents.subscribe(lambda _: self._changed.set())
        self._task = asyncio.create_task(self._run(), name="tell what is unsaved")

    async def close(self) -> None:
        """End, and hold nothing any more."""
        self._unsubscribe()
        self._task.cancel()
        await asyncio.wait([self._task])
        await asyncio.to_thread(self._held.close)

    async def _run(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                paths = [path for uri in await self._unsaved() if (path := path_of(uri)) is not None]
                await asyncio.to_thread(self._publish, paths)
            except OSError as problem:
                _log.warning("other processes could not be informed of unsaved files: %s", problem)
            await self._clock.sleep(PAUSE_SECONDS)

    def _publish(self, paths: list[Path]) -> None:
        self._held.publish({Path(os.path.realpath(path)) for path in paths})
