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
    """Take in what the files are now; gives by path why that is not known."""
    problems: dict[str, str] = {}
    for file in folded.files:
        located = await locate(services, file.path)
        if isinstance(located, str):
            problems[file.path] = located
            continue
        current = await text_of(services.overlay, located, file)
        if isinstance(current, ReadProblem):
            # A folder in the place of a file that is gone may be of these changes, and go with them.
            if current.kind != "directory" or file.exists:
                problems[file.path] = current.message
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


async def locate(services: Services, path: str) -> Located | str:
    """Where a file of the history is; a text says why that is nowhere to look at."""
    located = await services.folders.locate(path)
    if isinstance(located, PathProblem):
        return located.message
    return "a link on its path leads out of the workspace" if leads_out(located, path) else located


def leads_out(located: Located, path: str) -> bool:
    """Whether a path of the workspace is outside by a link: what was approved may have been another place."""
    return not located.inside and not PurePath(path).is_absolute()
