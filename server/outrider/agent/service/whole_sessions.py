"""What is done to sessions as a whole: they are named, copied, taken in from a file, and deleted."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from outrider.agent.service.export import FOLDER
from outrider.agent.services import Services
from outrider.agent.session.session import Refused
from outrider.agent.session.sessions import Sessions
from outrider.agent.state.record import Record
from outrider.ports.events import LoggedEvent
from outrider.store.exported import check_export, encode_content, events_of
from outrider.store.whole import renamed
from outrider_protocol.commands import (
    DeleteParams,
    DeleteResult,
    ForkFrom,
    ForkResult,
    ImportParams,
    ImportResult,
    RenameParams,
    RenameResult,
)  # fmt: skip
from outrider_protocol.events import (
    EventData,
    SessionForked,
    SessionImported,
    SessionRenamed,
    TurnFinished,
    Usage,
)

IMPORTED = "the session was exported before it ended"
"""Why a turn ends of which an export has only the beginning."""
FORKED = "the session was copied before it began"
"""Why a task ends that waited behind the last turn of a copy."""


async def rename(sessions: Sessions, params: RenameParams) -> RenameResult | Refused:
    """Give a session a name.

    Args:
        sessions: The sessions of the workspace.
        params: Which one, and the name.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    title = " ".join(params.title.split())
    if not title or not title.isprintable():
        return Refused("invalid", "a name is one line of printable characters")
    async with sessions.log_of(params.session_id) as record:
        if isinstance(record, Refused):
            return record
        refused = await _added(record, SessionRenamed(title=title))
    return refused or RenameResult(session_id=params.session_id, title=title)


async def fork(services: Services, sessions: Sessions, params: ForkFrom) -> ForkResult | Refused:
    """Begin a session as a copy of another one, up to the end of one of its turns.

    Args:
        services: The house.
        sessions: The sessions of the workspace.
        params: What is copied, and whether files go back to what they were then.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    store, session_id = services.runtime.store, params.session_id
    await store.flush()
    events = await store.events(session_id)
    if not events:
        return Refused("unknown_id", f"there is no session {session_id!r}")
    ends = {event.turn_id: event.seq for event in events if event.type == "turn.finished"}
    begun = [event.turn_id for event in events if event.type == "turn.started" and event.turn_id]
    last = params.turn_id or next((one for one in reversed(begun) if one in ends), None)
    if last not in begun or last not in ends:
        told = {event.turn_id for event in events if event.type in {"turn.queued", "turn.started"}}
        if told and (last is None or last in told - ends.keys()):
            message = "the turn runs or waits: name an earlier one, or wait for its end"
            return Refused("turn_running", message)
        return Refused(
            "unknown_id",
            f"{session_id} has no turn {last!r} that could be copied"
            if last
            else f"{session_id} has no turns",
        )
    undone = await sessions.undo_after(session_id, last) if params.files else None
    if isinstance(undone, Refused):
        return undone
    until = ends[last]
    turns = _new_turns(services, (event for event in events if event.seq <= until))
    new_id = await sessions.new_id()
    if problem := await store.copy(session_id, new_id, until, turns):
        return Refused("store_failed", problem.message)
    async with sessions.log_of(new_id) as record:
        if isinstance(record, Refused):
            return record
        ended = [turn.turn_id for turn in record.state.queue]
        refused = await _added(record, SessionForked(from_session_id=session_id, from_seq=until))
        # The name that the user gave it belongs to the work, whenever it was given.
        names = [event.data["title"] for event in events if event.type == "session.renamed"]
        if names and names[-1] and refused is None:
            refused = await _added(record, SessionRenamed(title=names[-1]))
        for turn_id in ended if refused is None else ():
            refused = refused or await _added(record, _cancelled(FORKED), turn_id)
    sessions.go_to(new_id)
    return refused or ForkResult(
        session_id=new_id, from_session_id=session_id, turn_id=turns[last], undo=undone
    )


async def take_in(services: Services, sessions: Sessions, params: ImportParams) -> ImportResult | Refused:
    """Put an exported session into the log of this workspace.

    Args:
        services: The house.
        sessions: The sessions of the workspace.
        params: The export, which may be anybody's.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    export = params.export
    if problem := await asyncio.to_thread(check_export, export):
        return Refused("invalid", problem.message)
    new_id = await sessions.new_id()

    def prepared() -> tuple[list[LoggedEvent], dict[str, bytes]]:
        events = events_of(export)
        turns = _new_turns(services, events)
        contents = {digest: encode_content(text) for digest, text in export.contents.items()}
        return [renamed(event, new_id, turns) for event in events], contents

    if problem := await services.runtime.store.take_in(*await asyncio.to_thread(prepared)):
        return Refused("store_failed", problem.message)
    async with sessions.log_of(new_id) as record:
        if isinstance(record, Refused):
            return record
        if refused := await _added(record, SessionImported(from_session_id=export.session_id)):
            return refused
    # Opening it makes it one of this workspace.
    session = await sessions.resume(new_id, end_turns=IMPORTED)
    if isinstance(session, Refused):
        return session
    listed = next((one for one in (await sessions.list()).sessions if one.session_id == new_id), None)
    sessions.go_to(new_id)
    return ImportResult(
        session_id=new_id, title=listed.title if listed else "", turns=listed.turns if listed else 0
    )


async def delete(services: Services, sessions: Sessions, params: DeleteParams) -> DeleteResult | Refused:
    """Remove a session for good: its events, the contents that no other session needs, its recording.

    Args:
        services: The house.
        sessions: The sessions of the workspace.
        params: Which one.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    store, session_id = services.runtime.store, params.session_id
    async with sessions.to_delete(session_id) as turns:
        if isinstance(turns, Refused):
            return turns
        if problem := await store.delete(session_id):
            if problem.reason != "locked":
                return Refused("store_failed", problem.message)
            services.runtime.warn(problem.message)
        for turn_id in turns:
            await store.unmark_failed(turn_id)
    await services.workspace.census.forget(turns)
    store.remove_lock(session_id)
    await asyncio.to_thread(_remove_recording, services.runtime.state_dir / FOLDER, session_id)
    return DeleteResult(session_id=session_id)


def _remove_recording(folder: Path, session_id: str) -> None:
    # An id may come from a client; the names of recordings are ids of ours.
    if (path := folder / f"{session_id}.json").parent == folder:
        path.unlink(missing_ok=True)


def _new_turns(services: Services, events: Iterable[LoggedEvent]) -> dict[str, str]:
    ids = services.runtime.ids
    known = dict.fromkeys(event.turn_id for event in events if event.turn_id is not None)
    return {turn_id: ids.new("turn") for turn_id in known}


def _cancelled(reason: str) -> TurnFinished:
    return TurnFinished(outcome="cancelled", reason=reason, summary="", usage=Usage())


async def _added(record: Record, data: EventData, turn_id: str | None = None) -> Refused | None:
    record.append(data, turn_id=turn_id)
    problem = await record.settled()
    return Refused("store_failed", problem) if problem else None
