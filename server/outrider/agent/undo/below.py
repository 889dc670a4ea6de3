"""What commands did to files below open documents that show another text: an undo sees the document, not the file."""

import asyncio
import os
from collections.abc import Mapping
from copy import deepcopy

from outrider.agent.services import Services
from outrider.workspace.history.histories import FileHistory, Histories
from outrider.workspace.history.journal import Journal, Stands
from outrider.workspace.history.records import ChangeRecord
from outrider.workspace.overlay import is_alike
from outrider.workspace.paths import Located
from outrider_protocol.events import NotUndoable

REASON = "a command changed it on the disk, and the open document is without that: save the document over it, or load the file and undo again"
"""What is said of it: whose text counts is for the person to say."""


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
    for record in journal.roots():
        file = folded.of(record.change_id)
        if not record.unshown or file is None or _is_on(file, record):
            continue
        located = await services.folders.locate(file.path)
        if not isinstance(located, Located) or await services.overlay.document_of(located) is None:
            continue
        disk = await services.overlay.on_disk(located)
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
