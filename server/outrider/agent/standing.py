"""What of a session's changes is in the files as they are now. Only texts say so, whoever took something back."""

import asyncio
from pathlib import PurePath

from outrider.agent.services import Services
from outrider.workspace.history.histories import Histories, histories, texts_named
from outrider.workspace.history.journal import Journal, Stands
from outrider.workspace.overlay import ReadProblem
from outrider.workspace.paths import Located, PathProblem


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
        current = await services.overlay.read(located)
        if isinstance(current, ReadProblem) and current.kind != "not_found":
            problems[file.path] = current.message
            continue
        text = None if isinstance(current, ReadProblem) else current.text
        await asyncio.to_thread(file.look, text)
    return problems


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
