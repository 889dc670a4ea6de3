"""What of a session's changes is in the files as they are now. Only texts say so, whoever took something back."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from outrider.agent.services import Services
from outrider.agent.state import SessionState
from outrider.ports.text import Snapshot
from outrider.workspace.disk import mode_of
from outrider.workspace.history.histories import FileHistory, Histories, histories, texts_named
from outrider.workspace.history.journal import Journal, Stands
from outrider.workspace.history.records import Lasting, Part
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
    located = await services.folders.locate_all([file.path for file in files])
    places = [
        await _same(services, one, file.path, file.real) for file, one in zip(files, located, strict=True)
    ]
    read = iter(await services.overlay.read_all([place for place in places if isinstance(place, Located)]))
    return [
        (place, None)
        if isinstance(place, str)
        else (place, await _counting(services.overlay, place, file, next(read)))
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
        return ReadProblem("unreadable", f"{located.display} is a link now, which a command put in its place")
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
    located = await services.folders.locate(path)
    if isinstance(located, PathProblem) or located.path is None:
        return None
    return await asyncio.to_thread(mode_of, located.path)


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
    return await _same(services, await services.folders.locate(path), path, place)


async def _same(
    services: Services, located: Located | PathProblem, path: str, place: str | None
) -> Located | str:
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
