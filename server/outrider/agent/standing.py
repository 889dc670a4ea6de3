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
        current = await services.overlay.read(located)
        if isinstance(current, ReadProblem) and current.kind != "not_found":
            problems[file.key] = current.message
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
    if not any(PurePath(place).is_relative_to(root) for root in await folders.real_paths()):
        return f"it was changed in another folder, at {place}"
    if located.path == located.resolved:
        return f"it was a link when it was changed, which led to {place}"
    return "it is a link now, or is reached through one"
