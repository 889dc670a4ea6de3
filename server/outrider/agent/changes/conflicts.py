"""What an undo asks the user about: places that somebody changed since. Only one title is a yes."""

import asyncio
from dataclasses import dataclass

from outrider.agent.interaction import shown_documents
from outrider.agent.loop.tool_context import TurnContext
from outrider.agent.services import Services
from outrider.ports.editor import Answered
from outrider.ports.text import one_line
from outrider.workspace.history.histories import EXISTS_AGAIN, FileHistory, Histories
from outrider.workspace.history.records import ChangeRecord
from outrider.workspace.history.weave import Place
from outrider.workspace.text.encoding import BOM
from outrider_protocol import KEEP_MINE, OPEN_BOTH, TAKE_THE_REDO, TAKE_THE_UNDO
from outrider_protocol.events import Conflict, UndoAsked

MOST_ASKED = 5
"""Conflicts that are asked about one by one; further ones are only named."""
MOST_SHOWN = 300
"""Characters of each version in a question."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the user was shown of a conflict."""

    place: Place
    exists: bool
    """Whether there was the file."""


class Questions:
    """The questions of one undo or redo."""

    def __init__(
        self, services: Services, context: TurnContext, ending: asyncio.Event, *, redo: bool
    ) -> None:
        """Begin with none asked.

        Args:
            services: The house.
            context: Where they are recorded.
            ending: Set when the session is let go of: nobody is asked any more then.
            redo: Whether they are about what is brought back.
        """
        self._services = services
        self._runtime = services.runtime
        self._context = context
        self._ending = ending
        self.what = "redo" if redo else "undo"
        """What is done."""
        self.take = TAKE_THE_REDO if redo else TAKE_THE_UNDO
        """The title that is a yes."""
        self._asked = 0
        self._answers = True
        self._not_asked: dict[str, str] = {}
        """Why nobody was asked about a hunk that could be asked about."""

    async def choose(self, message: str, hunk: str, path: str, line: int) -> str | None:
        """What the user says about a hunk; None without an answer, and where they are not asked any more."""
        if not self._answers or self._asked >= MOST_ASKED:
            why = (
                f"after {MOST_ASKED} questions"
                if self._answers
                else "because an earlier question was not answered"
            )
            self._not_asked[hunk] = f"not asked about, {why}"
            return None
        self._asked += 1
        choice = await self._answer(message)
        self._context.log.record(UndoAsked(id=hunk, path=path, line=line, choice=choice))
        self._answers = choice is not None
        return choice

    def told(self, conflict: Conflict) -> Conflict:
        """What was left as it is, with why nobody was asked about it where that is so."""
        why = self._not_asked.get(conflict.id or "")
        return conflict.model_copy(update={"reason": f"{conflict.reason}; {why}"}) if why else conflict

    async def _answer(self, message: str) -> str | None:
        asking = asyncio.ensure_future(
            self._runtime.editor.ask(
                message, [KEEP_MINE, self.take, OPEN_BOTH], seconds=self._context.limits.ask_seconds
            )
        )
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait({asking, ending}, return_when=asyncio.FIRST_COMPLETED)
            answer = asking.result() if asking.done() else None
        finally:
            asking.cancel()
            ending.cancel()
        return answer.title if isinstance(answer, Answered) else None

    async def open_both(self, there: FileHistory, hunk: str, text: str) -> None:
        """Show the file as it is, and as it would be."""
        folders = self._services.workspace.folders
        made = await shown_documents.both_papers(folders, hunk, there.path, there.text or "", self.what, text)
        if isinstance(made, str):
            self._runtime.editor.say("warning", made)
            return
        shown = await asyncio.gather(*(self._runtime.editor.show(paper.as_uri()) for paper in made))
        if not all(shown):
            mine, other = made
            paths = f"now: {mine}; with the {self.what}: {other}"
            self._runtime.editor.say("info", f"{one_line(there.path)} {paths}")


def can_go_over(folded: Histories, file: FileHistory, record: ChangeRecord, number: int) -> bool:
    """Whether a hunk can be switched over what somebody did since."""
    change_id = record.change_id
    if folded.is_taken(file):
        return folded.why_held(file, change_id, number) == EXISTS_AGAIN
    if not file.exists:
        return file.brings_back(change_id, (number,))
    return file.is_whole(change_id, number) or file.may_go_over(change_id, number)


def place_of(folded: Histories, file: FileHistory, record: ChangeRecord, number: int) -> Place:
    """Where a hunk is, with what is there now and what would be."""
    change_id = record.change_id
    if folded.is_taken(file):
        return Place(1, folded.there(file).text or "", file.text_with(change_id, (number,)) or "")
    if file.brings_back(change_id, (number,)):
        return Place(1, "", file.brought_back(change_id, number))
    # The whole of a file, which somebody wrote where it is to go.
    return (
        Place(1, file.text or "", "") if file.is_whole(change_id, number) else file.place(change_id, number)
    )


def cut(text: str) -> str:
    """A version of a place, as long as a question may show it, without what cannot be seen of it."""
    text = text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")
    if not text:
        return "(nothing)"
    left = len(text) - MOST_SHOWN
    return text.rstrip("\n") if left <= 0 else f"{text[:MOST_SHOWN]} … {left} further characters"
