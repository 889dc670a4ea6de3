"""What of a session's changes is in the files as they are now. Only texts say so, whoever took something back."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import PurePath

from outrider.agent.services import Services
from outrider.agent.state.state import SessionState
from outrider.ports.text import Snapshot
from outrider.workspace.disk.disk import mode_of
from outrider.workspace.documents.overlay import Overlay, ReadProblem, is_alike
from outrider.workspace.history.histories import FileHistory, Histories, histories, texts_named
from outrider.workspace.history.journal import Journal, Stands
from outrider.workspace.history.records import ChangeRecord, Lasting, Part
from outrider.workspace.paths import Located, PathProblem, is_link
from outrider_protocol.commands import UndoParams
from outrider_protocol.events import NotUndoable


async def histories_of(services: Services, journal: Journal) -> Histories:
    """The files that a session changed, up to its last change.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    blobs = await services.runtime.store.blobs(texts_named(journal.records), readable=True)
    texts = {digest: blob.decode("utf-8", "surrogatepass") for digest, blob in blobs.items()}
    return await asyncio.to_thread(histories, journal, texts)


@dataclass(frozen=True, slots=True)
class Standing:
    """The files that a session changed, as they were seen at one moment."""

    state: SessionState
    at: int
    """The number of the session's latest event then."""
    files: Histories

    @property
    def is_latest(self) -> bool:
        """Whether nothing was recorded since, so that only the files may have moved."""
        return self.state.last_seq == self.at


async def standing(services: Services, state: SessionState) -> Standing:
    """Look at the files that a session changed.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    at = state.last_seq
    folded = await histories_of(services, state.journal)
    await catch_up(services, folded)
    return Standing(state, at, folded)


async def catch_up(services: Services, folded: Histories) -> dict[str, str]:
    """Take in what the files are now; gives by their keys why that is not known."""
    files = folded.claiming
    texts = [
        ReadProblem("unreadable", located) if isinstance(located, str) else text
        for located, text in await look_at(services, files)
    ]
    return await asyncio.to_thread(_take_in, folded, list(zip(files, texts, strict=True)))


async def look_at(
    services: Services, files: Sequence[FileHistory]
) -> list[tuple[Located | str, str | ReadProblem | None]]:
    """Where files of the history are, or why that is nowhere to look at, and what is there; None: there is none."""
    located = await services.workspace.folders.locate_all([file.path for file in files])
    places = [
        await _same(services, one, file.path, file.real) for file, one in zip(files, located, strict=True)
    ]
    read = iter(
        await services.workspace.overlay.read_all([place for place in places if isinstance(place, Located)])
    )
    return [
        (place, None)
        if isinstance(place, str)
        else (place, await _counting(services.workspace.overlay, place, file, next(read)))
        for file, place in zip(files, places, strict=True)
    ]


def _take_in(
    folded: Histories, found: Sequence[tuple[FileHistory, str | ReadProblem | None]]
) -> dict[str, str]:
    problems: dict[str, str] = {}
    for file, text in found:
        if not isinstance(text, ReadProblem):
            folded.see(file, text)
        # A folder in the place of a file that is gone may be of these changes, and go with them.
        elif text.kind != "directory" or file.exists:
            problems[file.key] = text.message
    return problems


async def text_of(overlay: Overlay, located: Located, file: FileHistory) -> str | ReadProblem | None:
    """What is where the history has this file; None: there is none."""
    return await _counting(overlay, located, file, await overlay.read(located))


async def _counting(
    overlay: Overlay, located: Located, file: FileHistory, current: Snapshot | ReadProblem
) -> str | ReadProblem | None:
    """What counts of what was read.

    A document alone does not bring back a file that was taken away: an editor may go on showing what was deleted, and
    only the server that deleted it knew that. What is typed there is unsaved, whatever becomes of the file.
    """
    if file.replaced and await asyncio.to_thread(is_link, located):
        return ReadProblem("unreadable", f"{located.display} is now a link that a command created")
    if isinstance(current, ReadProblem):
        return None if current.kind == "not_found" else current
    is_left = current.source == "buffer" and not file.exists and located.path is not None
    return None if is_left and await overlay.on_disk(located) is None else current.text


def stands_in(folded: Histories) -> Stands:
    """What the texts say about hunks. Where a file is cannot be seen from its text, so renames are left to the log."""

    def stands(change_id: str, number: int) -> bool | None:
        file = folded.of(change_id)
        return file.is_on(change_id, number) if file is not None and file.knows(change_id, number) else None

    return stands


async def what_is_left(
    services: Services, journal: Journal, left: Sequence[Lasting], parts: Sequence[Part]
) -> list[Lasting]:
    """What commands did that is still so once changes are taken back; of modes alone it can be told.

    Args:
        services: The house.
        journal: All changes.
        left: What commands did.
        parts: What was taken back.
    """
    # With a new file its mode is gone; one that was renamed to that path has it where it is now.
    made = {part.record.path for part in parts if part.record.operation == "create"}
    made -= {record.to for record in journal.records if record.operation == "rename"}
    found: list[Lasting] = []
    for one in left:
        path = journal.path_now(one.path, one.number)
        now = None if one.mode is None else await mode_now(services, path)
        is_back = one.mode is not None and (now == one.mode or (now is None and one.path in made))
        if not is_back:
            found.append(one)
    return found


async def mode_now(services: Services, path: str) -> int | None:
    """The permission bits of a file; None where there is none to look at."""
    located = await services.workspace.folders.locate(path)
    if isinstance(located, PathProblem) or located.path is None:
        return None
    return await asyncio.to_thread(mode_of, located.path)


async def is_elsewhere(services: Services, place: str) -> bool:
    """Whether a real path is in none of today's workspace folders."""
    roots = await services.workspace.folders.real_paths()
    return not any(PurePath(place).is_relative_to(root) for root in roots)


async def locate(services: Services, path: str, place: str | None) -> Located | str:
    """Where a file of the history is; a text says why that is nowhere to look at, or another file.

    Args:
        services: The house.
        path: The path that the history has it at.
        place: Its real path then; None where the log does not tell.
    """
    return await _same(services, await services.workspace.folders.locate(path), path, place)


async def _same(
    services: Services, located: Located | PathProblem, path: str, place: str | None
) -> Located | str:
    if isinstance(located, PathProblem):
        return located.message
    if not located.inside and not PurePath(path).is_absolute():
        return "a link in its path leads outside the workspace"
    if place is None or located.place is None or located.place == place:
        return located
    if await is_elsewhere(services, place):
        return f"it was changed in another folder: {place}"
    if located.path == located.resolved:
        return f"when it was changed, it was a link to {place}"
    return "it is now a link, or its path contains one"


REASON = "it was changed on disk, and the open document does not have that change: save the document over it, or reload the file, and undo again"
"""What is said of it: whose text counts is for the user to say."""


async def below_documents(services: Services, journal: Journal, folded: Histories) -> dict[str, NotUndoable]:
    """The changes that are in a file, and not in the document that is open over it.

    Args:
        services: The house.
        journal: The session's changes.
        folded: The files that they changed, as they are seen now.

    Returns:
        By the id of the change what is said of it.
    """
    found: dict[str, NotUndoable] = {}
    for record in journal.roots() if services.workspace.documents.all() else ():
        file = folded.of(record.change_id)
        if not record.on_disk or journal.is_undone(record.change_id) or file is None or _is_on(file, record):
            continue
        located = await services.workspace.folders.locate(file.path)
        if not isinstance(located, Located) or await services.workspace.overlay.document_of(located) is None:
            continue
        disk = await services.workspace.overlay.on_disk(located)
        is_there = located.path is not None and await asyncio.to_thread(os.path.lexists, located.path)
        if disk is None and is_there:
            continue  # there is no telling what is in it
        if await asyncio.to_thread(_is_in, file, record, None if disk is None else disk.text):
            found[record.change_id] = NotUndoable(what=folded.path_of(record), reason=REASON)
    return found


def with_those(below: Mapping[str, NotUndoable], stands: Stands) -> Stands:
    """What the texts say about hunks, with those changes that are in files alone."""
    return lambda change_id, number: change_id in below or stands(change_id, number)


def _is_on(file: FileHistory, record: ChangeRecord) -> bool:
    return any(file.is_on(record.change_id, number) for number in record.hunks)


def _is_in(file: FileHistory, record: ChangeRecord, text: str | None) -> bool:
    """Whether a change is in another text of its file. Blocks."""
    if is_alike(text, file.text):
        return False
    other = deepcopy(file)
    other.look(text)
    return _is_on(other, record)


NOT_THERE = "it no longer exists: someone deleted or moved it"
"""Why a file that the session made is not taken away."""
NOT_BY_UNDO = "it was not removed by an undo: someone deleted or moved it"
"""Why such a file is not made again."""


def gone_by_hand(
    journal: Journal,
    folded: Histories,
    parts: Sequence[Part],
    by_log: Sequence[Part],
    params: UndoParams,
    *,
    redo: bool,
) -> list[Part]:
    """The files that the session made and somebody else took away: no undo has to, and no redo makes them again.

    Args:
        journal: The session's changes.
        folded: The files that they changed.
        parts: What is done, as the texts say.
        by_log: What it would be, as the log alone says.
        params: What was asked for.
        redo: Whether it is a redo.
    """
    if redo and params.scope == "hunk" and params.id is not None:
        return []  # just that is wanted
    found: list[Part] = []
    turns = {one.record.turn_id for one in parts} or {one.record.turn_id for one in by_log}
    for one in parts if redo else by_log:
        file = folded.of(one.record.change_id)
        is_gone = file is not None and not file.exists and not file.is_on(one.record.change_id, 1)
        is_meant = one.record.operation == "create" and not journal.is_undone(one.record.change_id)
        if is_gone and is_meant and one.record.turn_id in turns:
            found.append(one)
    return found
