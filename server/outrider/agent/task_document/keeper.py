"""Keeps the task document up to date, from when it is first used on: which session it is about, and when it is written.

Actions and pages are made from the log and from what waits. Of the document itself only the draft of the user counts.
"""

import asyncio
import logging
from collections import deque
from pathlib import Path

from outrider.agent.interaction import shown_documents
from outrider.agent.services import Services
from outrider.agent.session.sessions import Sessions
from outrider.agent.task_document.conversation import TOLD, Conversation
from outrider.agent.task_document.page import (
    Page,
    Section,
    Standing,
    is_in,
    page_of,
    renewed,
    sections_in,
    session_named,
    taken_apart,
    without,
)
from outrider.agent.task_document.writing import MOST_BYTES, Writing
from outrider.ports.clock import Clock
from outrider.ports.events import LoggedEvent
from outrider.store.problem import StoreReadError
from outrider.workspace.disk.disk import DiskProblem, read_bytes
from outrider.workspace.documents.documents import uri_key

PAUSE_SECONDS = 0.2
"""Between two times that it is written: what happens meanwhile is written at once."""
PAGES_KNOWN = 16
"""The latest pages, whose lines are known for ours wherever they turn up, such as after an undo in the editor."""
DRAFTS_KNOWN = 64
"""Drafts that are known to be sent: an action that is delivered twice comes twice at once."""
MOST_RESTORED = 20
"""Times that a page which somebody took away is put back while nothing else happens."""
PAGE = 2000
"""Events read from the log at once."""

_OF_ALL = frozenset({"approval.requested", "question.asked", "turn.parked", "turn.finished"})
"""Events after which other sessions, too, may wait for the user, or not any more."""
_log = logging.getLogger(__name__)


class TaskDocument:
    """The one task document of a workspace. It costs nothing until it is opened."""

    def __init__(self, services: Services, sessions: Sessions, clock: Clock) -> None:
        """Prepare.

        Args:
            services: The services of the server.
            sessions: Its sessions.
            clock: Counts the pauses; real time, because the log does not know of them.
        """
        self._services = services
        self._sessions = sessions
        self._clock = clock
        self._writing = Writing(services.workspace.documents, services.runtime.editor, clock)
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._chosen = False
        self._wanted: str | None = None
        self._taken: tuple[str, ...] = ()
        """What was written in the document and is done, and may still stand in it."""
        self._offered: deque[str] = deque(maxlen=PAGES_KNOWN)
        """What was written in it when actions were offered: what is asked for elsewhere takes nothing away here."""
        self._state = 0
        """Counts the states that the open document was in: versions are the client's, and begin anew when it is opened again."""
        self._sent: deque[str] = deque(maxlen=DRAFTS_KNOWN)
        """The latest states of which the draft was sent, or is being sent."""
        self._problem = ""
        self._restored = 0
        """How often the page was put back since something happened: not for ever into an editor that garbles it."""
        self._was_open = False
        self._page: Page | None = None
        """The latest."""
        self._loaded: Page | None = None
        """The one that an editor which takes no edits loaded last."""
        self._tried: deque[Page] = deque(maxlen=PAGES_KNOWN)
        self._lock = asyncio.Lock()
        self.told: Conversation | None = None
        """The conversation that is in it, as far as it was read."""
        self._unsubscribe = services.workspace.documents.subscribe(self._on_document)
        if (path := self.path) is not None:
            self._on_document(path.as_uri())

    @property
    def path(self) -> Path | None:
        """Its file, if a folder is open."""
        folders = self._services.workspace.folders.folders
        return folders[0].path / shown_documents.FOLDER / shown_documents.TASK if folders else None

    # --- what happens --------------------------------------------------------------------------------------------

    def on_event(self, event: LoggedEvent) -> None:
        """Take note of what a session did."""
        if self._task is None or event.type not in TOLD:
            return
        if event.type == "turn.started" and not self._is_busy:
            self._wanted, self._chosen = event.session_id, True
        if event.session_id == self._wanted or event.type in _OF_ALL:
            self._restored = 0
            self._news.set()

    @property
    def _is_busy(self) -> bool:
        """Whether the session that it is about has a task that runs here."""
        return any(
            one.id == self._wanted and one.record.state.current is not None for one in self._sessions.running
        )

    def _on_document(self, uri: str) -> None:
        if (
            not uri.endswith(shown_documents.TASK)
            or self.path is None
            or uri_key(uri) != uri_key(self.path.as_uri())
        ):
            return
        self._state += 1
        document = self._services.workspace.documents.get(uri)
        is_open, was_open, self._was_open = document is not None, self._was_open, document is not None
        if is_open and not was_open:
            self._writing.opened_anew()
            self._begin()
        if is_open != was_open:
            self._loaded = None
            self._news.set()
        if document is not None and self._page is not None and not self._writing.takes_edits:
            self._look_whether_loaded(document.text)
        elif document is not None and self._is_gone_from(document.text):
            self._restored += 1
            self._news.set()

    def _is_gone_from(self, text: str) -> bool:
        """Whether the page was loaded from the disk as it was before, or taken back in the editor."""
        return self._page is not None and self._restored < MOST_RESTORED and not is_in(self._page, text)

    def _look_whether_loaded(self, text: str) -> None:
        """Where the editor takes no edits the old page stands in its buffer, and what was sent, until it loads the file anew."""
        found = next((one for one in reversed(self._tried) if is_in(one, text)), None)
        if found is not None and found != self._loaded:
            self._loaded = found
            # An edit that was given up may have come after all, late, when there are newer pages already.
            self._writing.opened_anew()
            self._news.set()
        if self._taken and not taken_apart(text).draft.startswith(self._taken[0]):
            self._taken = ()

    async def opened(self) -> Path | str:
        """Make it, and have it say what there is to say; a text says why that cannot be."""
        path = await shown_documents.task_paper(self._services.workspace.folders)
        if isinstance(path, str):
            return path
        self._begin()
        if self._is_open(path):
            self._news.set()  # some editors tell of an edit only when this is answered
        else:
            await self._update()
        return path

    def done(self, text: str | None) -> None:
        """Something was asked for and is done; what was written for it goes."""
        if self._task is None:
            return
        self._problem = ""
        if text is not None and text.strip() in self._offered and self._is_written(text.strip()):
            self._taken = (*self._taken, text.strip())
        self._news.set()

    def _is_written(self, text: str) -> bool:
        document = (
            self._services.workspace.documents.get(self.path.as_uri()) if self.path is not None else None
        )
        if document is None or not text:
            return bool(text)  # in the file, if anywhere
        return self.draft_in(document.text).startswith(text)

    def not_done(self, message: str) -> None:
        """Something was asked for and could not be done."""
        if self._task is not None:
            self._problem = message
            self._news.set()

    def look(self) -> None:
        """Look whether there is anything new that no event tells of."""
        if self._task is not None:
            self._news.set()

    def forget(self, session_id: str) -> None:
        """A session is gone: what was told of it goes, too."""
        if self._wanted == session_id:
            self._wanted, self._chosen, self.told = None, False, None
        self.look()

    def take(self, draft: str) -> bool:
        """Take the draft of a state of the document to send it; False if that was done before."""
        is_new = draft not in self._sent
        if is_new:
            self._sent.append(draft)
        return is_new

    def put_back(self, draft: str) -> None:
        """A draft that was taken could not be sent."""
        if draft in self._sent:  # more may have been sent meanwhile than are known
            self._sent.remove(draft)

    async def close(self) -> None:
        """End."""
        self._unsubscribe()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    # --- what actions are made of --------------------------------------------------------------------------------

    @property
    def draft(self) -> str:
        """The draft that stands in the document now, by its place in what became of it."""
        return str(self._state)

    def offers(self, draft: str) -> None:
        """Take note of a draft that actions were made for; when one of them is done the draft goes."""
        if draft and draft not in self._offered:
            self._offered.append(draft)

    def told_in(self, text: str) -> Conversation | None:
        """The conversation that a text of the document shows; None where that is not the one that is told now."""
        is_shown = self.told is not None and session_named(text) == self.told.session_id
        return self.told if is_shown else None

    def sections_in(self, text: str) -> list[tuple[Section, range]]:
        """The open items that can be read in a text of the document, and the numbers of their lines."""
        waiting = {item.id for item in self._sessions.waiting}
        found = sections_in(text, self._page) if self._page is not None else []
        return [one for one in found if one[0].item.id in waiting]

    def draft_in(self, text: str) -> str:
        """What the user wrote below the mark and has not sent yet."""
        parts = taken_apart(text)
        return without(text if parts.below is None else parts.below, self._taken).strip()

    # --- writing -------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._task is None or self._task.done():  # a fault has ended it, which is in the log of the server
            self._task = asyncio.get_running_loop().create_task(self._run(), name="keep the task document")
            self._task.add_done_callback(_ended)
            self._news.set()

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._update()
            except (StoreReadError, OSError) as problem:
                _log.warning("the task document could not be updated: %s", problem)
            await self._clock.sleep(PAUSE_SECONDS)

    async def _update(self) -> None:
        async with self._lock:
            if (path := self.path) is None:
                return
            if not self._chosen:
                await self._choose(path)
            await self._catch_up()
            await self._write(path, self._is_open(path))

    def _is_open(self, path: Path) -> bool:
        return self._services.workspace.documents.get(path.as_uri()) is not None

    async def _write(self, path: Path, is_open: bool) -> None:
        here = {session.id for session in self._sessions.running}
        standing = Standing(
            self._sessions.waiting,
            is_open=self.told is not None and self.told.session_id in here,
            is_elsewhere=self.told is not None and self._sessions.is_elsewhere(self.told.session_id),
            on_disk=is_open and not self._writing.takes_edits,
            problem=self._problem,
        )
        page = self._page = page_of(self.told, standing)
        taken = self._taken
        self._tried.append(page)
        tried = tuple(self._tried)
        problem = await self._writing.put(path, lambda text: renewed(text, page, tried, taken))
        if problem is not None:
            _log.info("the task document could not be written: %s", problem)
        elif self._writing.has_to_wait or self._is_open(path) != is_open:
            self._news.set()
        elif is_open and standing.on_disk is self._writing.takes_edits:
            self._news.set()  # it turned out only now which way it goes, and the page says that
        elif self._writing.takes_edits or not is_open:
            self._taken = self._taken[len(taken) :]

    async def _choose(self, path: Path) -> None:
        """The session that it is about at first: the latest that is open here, else the one that it was about before."""
        await self._sessions.look_for_resting()
        begun = [(turn.started_at, one.id) for one in self._sessions.running for turn in one.turns.values()]
        if begun and not self._chosen:
            self._wanted, self._chosen = max(begun)[1], True
        if self._chosen:
            return
        document = self._services.workspace.documents.get(path.as_uri())
        text = document.text if document is not None else await asyncio.to_thread(_text_of, path)
        named = session_named(text) or await asyncio.to_thread(shown_documents.noted_conversation, path)
        known = {summary.session_id for summary in (await self._sessions.list()).sessions}
        if named in known and not self._chosen:
            self._wanted = named
        self._chosen = True

    async def _catch_up(self) -> None:
        if self._wanted is None:
            return
        told = self.told
        if told is None or told.session_id != self._wanted:
            told = Conversation(self._wanted)
            await shown_documents.note_conversation(self._services.workspace.folders, self._wanted)
        while events := await self._services.runtime.store.events(told.session_id, told.last_seq + 1, PAGE):
            for event in events:
                told.apply(event)
        self.told = told


def _ended(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (problem := task.exception()):
        _log.error("the task document is no longer updated", exc_info=problem)


def _text_of(path: Path) -> str:
    content = read_bytes(path, MOST_BYTES)
    return "" if isinstance(content, DiskProblem) else content.decode("utf-8", "replace")
