"""Finds out what became of a change whose process ended in the middle of it, by what is there now.

A change is in place where its hunks are, whatever somebody wrote beside them since.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Final, Literal

from outrider.workspace.documents.documents import DocumentStore
from outrider.workspace.documents.overlay import Overlay, ReadProblem, as_seen, is_alike
from outrider.workspace.edits.change import NotWritten, Written
from outrider.workspace.edits.verify import is_in_place, without_part
from outrider.workspace.paths import Folders, PathProblem
from outrider.workspace.text.diff import text_hunks
from outrider.workspace.text.merge import merge

NOT_APPLIED: Final = NotWritten("not_applied", "the server stopped before it was applied")
ALTERED: Final = NotWritten("altered", "found changed after the server stopped")
"""What is there is neither the text of before nor the planned one."""


@dataclass(frozen=True, slots=True)
class CutOff:
    """A change that was begun, as the log tells of it."""

    change_id: str
    operation: Literal["edit", "create", "delete", "rename"]
    path: str
    to: str | None
    """The new path of a rename."""
    before: str | None
    planned: str | None
    """The text that it was to leave; None: no file."""


@dataclass(frozen=True, slots=True)
class _Now:
    """A file as it is found."""

    text: str | None
    """None: there is none, or it cannot be read."""
    readable: bool = True
    left_open: str | None = None
    """The document that is left of a file that is gone."""


class Outcomes:
    """Finds out what became of changes that were cut off."""

    def __init__(self, folders: Folders, overlay: Overlay, documents: DocumentStore) -> None:
        """Look in these folders, and at these documents over them."""
        self._folders, self._overlay, self._documents = folders, overlay, documents

    async def became(self, change: CutOff) -> Written | NotWritten:
        """What became of a change."""
        match change.operation:
            case "delete":
                found = await self._deleted(change)
            case "rename":
                found = await self._renamed(change)
            case _:
                found = await asyncio.to_thread(_written, change, await self._look(change, change.path))
        return found if isinstance(found, NotWritten) else await self._where(change, found)

    async def _deleted(self, change: CutOff) -> Written | NotWritten:
        found = await self._look(change, change.path)
        if not found.readable:
            return ALTERED
        if found.text is None:
            return Written("disk", None, merged=False)
        return NOT_APPLIED if found.left_open is None else self._taken_away(change, found, None)

    async def _renamed(self, change: CutOff) -> Written | NotWritten:
        found, left = (
            await self._look(change, change.to or change.path),
            await self._look(change, change.path),
        )
        if found.readable and found.text is None:
            return NOT_APPLIED
        is_gone = left.left_open is not None or (left.readable and left.text is None)
        if found.text is None or not is_gone:
            return ALTERED
        if left.left_open is not None:
            return self._taken_away(change, left, found.text)
        return _there(change, found.text)

    def _taken_away(self, change: CutOff, left: _Now, after: str | None) -> Written:
        """A file is gone from its place, and its document is still open: somebody may have written in it."""
        if not is_alike(left.text, change.before) or left.left_open is None:
            return Written("disk", after, merged=True)
        self._documents.set_outdated(left.left_open)
        return _there(change, after)

    async def _look(self, change: CutOff, path: str) -> _Now:
        """A file, in the way in which the texts of the change were seen."""
        located = await self._folders.locate(path)
        if isinstance(located, PathProblem):
            return _Now(None)
        snapshot = await self._overlay.read(located)
        if isinstance(snapshot, ReadProblem):
            return _Now(None, readable=snapshot.kind == "not_found")
        only_open = snapshot.source == "buffer" and await self._overlay.on_disk(located) is None
        known = change.before if change.planned is None else change.planned
        text = snapshot.text if known is None else as_seen(snapshot.text, known)
        return _Now(text, left_open=snapshot.uri if only_open else None)

    async def _where(self, change: CutOff, written: Written) -> Written:
        located = await self._folders.locate(change.to or change.path)
        if isinstance(located, PathProblem):
            return written
        if (document := await self._overlay.document_of(located)) is None:
            return written
        snapshot = await self._overlay.read(located)
        is_unsaved = not isinstance(snapshot, ReadProblem) and snapshot.unsaved
        return replace(written, where="buffer", uri=document.uri if is_unsaved else "")


def _there(change: CutOff, now: str | None) -> Written:
    return Written("disk", change.planned, merged=False) if is_alike(now, change.planned) else _merged(now)


def _merged(now: str | None) -> Written:
    return Written("disk", now, merged=True)


def _written(change: CutOff, found: _Now) -> Written | NotWritten:
    """What became of an edit, or of a file that was to be made."""
    before, planned, now = change.before, change.planned or "", found.text
    if not found.readable:
        return ALTERED
    if now is None:
        return NOT_APPLIED if before is None else ALTERED
    if is_alike(now, planned):
        return Written("disk", change.planned, merged=False)
    if before is None:
        # There was no file, and there is one that has all that was to be in it.
        all_there = planned and not any(hunk.old for hunk in text_hunks(planned, now))
        return _merged(now) if all_there else ALTERED
    if is_alike(now, before):
        return NOT_APPLIED
    if is_in_place(before, planned, now):
        return _merged(now)
    if (without := without_part(before, planned, now)) is not None:
        return Written("disk", now, merged=False, without=without)
    return ALTERED if merge(before, now, planned).conflicts else NOT_APPLIED
