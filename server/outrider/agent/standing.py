"""What of a session's changes is in the files as they are now. Only texts say so, whoever took something back."""

import asyncio
from pathlib import PurePath

from outrider.agent.services import Services
from outrider.workspace.history.histories import FileHistory, Histories, histories, texts_named
from outrider.workspace.history.journal import Journal, Stands
from outrider.workspace.overlay import Overlay, ReadProblem
from outrider.workspace.paths import Located, PathProblem, is_link


async def histories_of(services: Services, journal: Journal) -> Histories:
    """The files that a session changed, up to its last change.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    blobs = await services.store.blobs(texts_named(journal.records))
    texts = {digest: blob.decode("utf-8", "surrogatepass") for digest, blob in blobs.items()}
    return await asyncio.to_thread(histories, journal, texts)


async def catch_up(services: Services, folded: Histories) -> dict[str, str]:
    """Take in what the files are now; gives by their keys why that is not known."""
    problems: dict[str, str] = {}
    for file in folded.by_claim():
        if folded.is_taken(file):
            await asyncio.to_thread(file.look, None)
            continue
        located = await locate(services, file.path, file.real)
        if isinstance(located, str):
            problems[file.key] = located
            continue
        current = await text_of(services.overlay, located, file)
        if isinstance(current, ReadProblem):
            # A folder in the place of a file that is gone may be of these changes, and go with them.
            if current.kind != "directory" or file.exists:
                problems[file.key] = current.message
            continue
        await asyncio.to_thread(file.look, current)
    return problems


async def text_of(overlay: Overlay, located: Located, file: FileHistory) -> str | ReadProblem | None:
    """What a file of the history is now; None: there is none.

    A document alone does not bring back a file that was taken away: an editor may go on showing what was deleted, and
    only the server that deleted it knew that. What is typed there is unsaved, whatever becomes of the file.
    """
    if file.replaced and await asyncio.to_thread(is_link, located):
        return ReadProblem("unreadable", f"{located.display} is a link now, which a command put in its place")
    current = await overlay.read(located)
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


async def is_elsewhere(services: Services, place: str) -> bool:
    """Whether a real path is in none of today's workspace folders."""
    roots = await services.folders.real_paths()
    return not any(PurePath(place).is_relative_to(root) for root in roots)


async def locate(services: Services, path: str, place: str | None) -> Located | str:
    """Where a file of the history is; a text says why that is nowhere to look at, or another file.

    Args:
        services: The house.
        path: The path that the history has it at.
        place: Its real path then; None where the log does not tell.
    """
    folders = services.folders
    located = await folders.locate(path)
    if isinstance(located, PathProblem):
        return located.message
    if not located.inside and not PurePath(path).is_absolute():
        return "a link on its path leads out of the workspace"
    if place is None or located.resolved is None or str(located.resolved) == place:
        return located
    if await is_elsewhere(services, place):
        return f"it was changed in another folder, at {place}"
    if located.path == located.resolved:
        return f"it was a link when it was changed, which led to {place}"
    return "it is a link now, or is reached through one"
