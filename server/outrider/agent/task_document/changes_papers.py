"""Keeps the documents that show what a turn changed as it is, while they are open: after an undo they said what was no more.

What the user left out in one stays left out. A document that is not open is made anew when it is asked for.
"""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from outrider.agent.interaction.review_document import UnderReview, written
from outrider.agent.interaction.shown_documents import FOLDER, paper_of
from outrider.agent.services import Services
from outrider.agent.session.session import Refused
from outrider.agent.session.sessions import Sessions
from outrider.agent.task_document.writing import Writing
from outrider.ports.clock import Clock
from outrider.ports.events import LoggedEvent
from outrider.store.problem import StoreReadError

_AFTER: Final = frozenset({"undo.finished", "session.restored"})
"""Events after which other changes are in place."""

log = logging.getLogger(__name__)


class ChangesPapers:
    """The one of a house."""

    def __init__(self, services: Services, sessions: Sessions, clock: Clock) -> None:
        """Prepare.

        Args:
            services: The services of the server.
            sessions: The sessions, which know what a turn changed.
            clock: Counts how long the editor may take to put a new text in.
        """
        self._services = services
        self._sessions = sessions
        self._new_writing: Callable[[], Writing] = lambda: Writing(
            services.workspace.documents, services.runtime.editor, clock, "changes"
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    def on_event(self, event: LoggedEvent) -> None:
        """Take note of what a session did."""
        if event.type not in _AFTER:
            return
        for turn_id, path in self._open():
            task = asyncio.get_running_loop().create_task(self._follow(event.session_id, turn_id, path))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Do nothing more: the editor may be gone, and who asks for a document gets it made anew."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def shown(self, turn_id: str) -> Path | str | Refused:
        """The document of a turn, up to date; a text says why it cannot be.

        Where it is open, it is brought up to date in the editor, and a message says so: one may see no difference.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        found = await self._sessions.made_by(turn_id)
        if isinstance(found, Refused):
            return found
        path = next((path for one, path in self._open() if one == turn_id), None)
        if path is None:
            return await self._sessions.changes_paper(turn_id)
        made = found[1]
        is_put = await self._put(path, made)
        if not is_put or not made.changes:
            again = await self._sessions.changes_paper(turn_id)
            if not isinstance(again, Path):
                return again
        self._services.runtime.editor.say("info", _told(made))
        return path

    def _open(self) -> list[tuple[str, Path]]:
        """The documents of this kind that are open: their turns, and where they lie."""
        found: list[tuple[str, Path]] = []
        for uri in self._services.workspace.documents.uris():
            if f"/{FOLDER}/" not in uri:
                continue
            path = Path(unquote(urlsplit(uri).path))
            paper = paper_of(self._services.workspace.folders, path)
            if paper is not None and paper.kind == "changes" and paper.item_id is not None:
                found.append((paper.item_id, path))
        return found

    async def _follow(self, session_id: str, turn_id: str, path: Path) -> None:
        try:
            found = await self._sessions.made_by(turn_id)
        except StoreReadError as error:
            log.info("%s was not brought up to date: %s", path, error.problem.message)
            return
        if not isinstance(found, Refused) and found[0] == session_id:
            await self._put(path, found[1])

    async def _put(self, path: Path, made: UnderReview) -> bool:
        """Bring an open document up to date in the editor; False where that takes no edits."""
        async with self._lock:
            writing = self._new_writing()
            if not writing.takes_edits:
                return False  # what is in its buffer, unsaved or not, is the user's
            if problem := await writing.put(path, lambda text: written(made, text)):
                log.info("%s was not brought up to date: %s", path, problem)
            return True


def _told(made: UnderReview) -> str:
    """What showing the changes anew came to."""
    hunks = sum(len(change.hunks) for change in made.changes)
    told = f"Outrider shows the changes anew, with your marks: {hunks} can be kept or undone"
    return (
        f"{told}, {len(made.gone)} cannot any more: {next(iter(made.gone.values()))}."
        if made.gone
        else f"{told}."
    )
