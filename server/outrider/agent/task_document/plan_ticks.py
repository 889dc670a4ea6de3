"""Ticks off in the document of a plan what is done of it, while the plan is followed.

The document is the user's: only the marks of its own steps are set, in the text that is there at that moment. What they wrote
stays, a document that they deleted stays deleted, and what is no step any more is left alone. Only documents of `.outrider/plans/`
are written, as they are Outrider's own record; so no undo takes a mark back, and no check is made stale by one.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from pathlib import Path

from outrider.agent.interaction.plan_document import ticked
from outrider.agent.interaction.shown_documents import paper_of
from outrider.agent.services import Services
from outrider.agent.session.session import Session
from outrider.agent.session.sessions import Sessions
from outrider.agent.task_document.writing import Writing
from outrider.ports.clock import Clock
from outrider.ports.events import LoggedEvent
from outrider.workspace.paths import Located

CLOSE_SECONDS = 2.0
"""How long the end of the server waits for the last mark."""

log = logging.getLogger(__name__)


class PlanTicks:
    """The one of a house."""

    def __init__(self, services: Services, sessions: Sessions, clock: Clock) -> None:
        """Prepare.

        Args:
            services: The services of the server.
            sessions: The sessions, which know what document a turn follows.
            clock: Counts how long the editor may take to put a mark in.
        """
        self._services = services
        self._sessions = sessions
        self._new_writing: Callable[[], Writing] = lambda: Writing(
            services.workspace.documents, services.runtime.editor, clock, "plan"
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._lock = asyncio.Lock()

    def on_event(self, event: LoggedEvent) -> None:
        """Take note of what a session did."""
        if event.type != "plan.updated" or not event.turn_id:
            return
        session = self._sessions.get(event.session_id)
        turn = session.turns.get(event.turn_id) if isinstance(session, Session) else None
        done = [one["text"] for one in event.data["items"] if one["status"] == "done"]
        if turn is None or turn.plan_document is None or not done:
            return
        task = asyncio.get_running_loop().create_task(self._tick(turn.plan_document, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Bring to an end what was begun, and do nothing more."""
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _tick(self, document: str, done: Collection[str]) -> None:
        async with self._lock:
            path = await self._path_of(document)
            writing = self._new_writing()
            if path is None:
                return
            is_open = self._services.workspace.documents.get(path.as_uri()) is not None
            if is_open and not writing.takes_edits:
                return  # what is in its buffer, unsaved or not, is the user's
            if problem := await writing.put(path, lambda text: ticked(text, done)):
                log.info("the plan %s was not ticked off: %s", document, problem)

    async def _path_of(self, document: str) -> Path | None:
        """Where a document lies that is a plan of Outrider's own; None where it is another file."""
        folders = self._services.workspace.folders
        located = await folders.locate(document)
        path = located.path if isinstance(located, Located) and located.inside else None
        paper = paper_of(folders, path) if path is not None else None
        if path is None or paper is None or paper.kind != "plan":
            return None
        return path if await asyncio.to_thread(_is_where_it_seems, path) else None


def _is_where_it_seems(path: Path) -> bool:
    """Whether a plan lies in its workspace folder, with no link followed on the way from there. Blocks."""
    folder = path.parents[2]
    return path.resolve() == folder.resolve() / path.relative_to(folder)
