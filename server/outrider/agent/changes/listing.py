"""What a session changed, as it is now, hunk by hunk. It only reads."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from outrider.agent.changes.current_state import catch_up, histories_of, locate
from outrider.agent.interaction.review_document import UnderReview
from outrider.agent.services import Services
from outrider.ports.text import Snapshot, one_line
from outrider.tools.edit.changes import wire_hunks
from outrider.workspace.edits.review import Proposed
from outrider.workspace.history.histories import GONE, LOST, FileHistory, Histories
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.records import ChangeRecord, hunk_id
from outrider.workspace.text.diff import LineHunk
from outrider.workspace.text.lines import split_lines
from outrider_protocol.commands import ChangedHunk, ChangeInfo
from outrider_protocol.events import WireHunk

_REASONS = {
    "undone": "it is already undone",
    "altered": "it was changed afterwards",
}
MOST_PLACED = 100
"""Hunks of one document that are given at once, the latest first."""
MOST_KNOWN = 8
"""Sessions whose places are kept."""
_NOTHING = WireHunk(line=1, removed="", added="")
"""The one hunk of an empty file that comes or goes."""


async def listed(services: Services, journal: Journal, turn_id: str | None = None) -> list[ChangeInfo]:
    """The changes of a session or of a turn, in the order they were made.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    folded = await histories_of(services, journal)
    problems = await catch_up(services, folded)
    texts = await texts_of(services, journal.roots(turn_id))
    moves = await _moves(services, journal, folded, problems, journal.roots(turn_id))
    return [_info(record, folded, problems, texts, moves) for record in journal.roots(turn_id)]


async def under_review(services: Services, title: str, made: Sequence[ChangeInfo]) -> UnderReview:
    """The hunks in place of some changes, with the texts that they are in."""
    changes: list[Proposed] = []
    texts: dict[str, str] = {}
    gone: dict[str, str] = {}
    for one in made:
        gone |= _gone(one)
        there = [hunk for hunk in one.hunks if hunk.state == "applied"]
        numbers = [int(hunk.id.rpartition("#")[2]) for hunk in there]
        hunks = [LineHunk(hunk.line, hunk.removed, hunk.added) for hunk in there]
        if one.operation == "rename":
            numbers, hunks = ([1], [LineHunk(1, "", "")]) if one.state == "applied" else ([], [])
        if hunks:
            changes.append(
                Proposed(one.change_id, one.path, one.operation, one.to, tuple(hunks), tuple(numbers))
            )
            located = await locate(services, one.path, None)
            now = None if isinstance(located, str) else await services.workspace.texts.read(located)
            texts[one.change_id] = now.text if isinstance(now, Snapshot) else ""
    return UnderReview(title, tuple(changes), texts, is_made=True, gone=gone)


def _gone(one: ChangeInfo) -> dict[str, str]:
    """The hunks of a change that are not in place as they were made, by their ids: where, and why."""
    if one.operation == "rename":
        if one.state == "applied":
            return {}
        why = one.reason or _REASONS["undone"]
        return {hunk_id(one.change_id, 1): f"the renaming of {one.path} to {one.to}: {why}"}
    whole = {"create": f"the new file {one.path}", "delete": f"the deletion of {one.path}"}.get(one.operation)
    gone = {hunk.id: hunk for hunk in one.hunks if hunk.state != "applied"}
    if not one.hunks:  # nothing is known of them any more
        return {hunk_id(one.change_id, 1): f"{whole or one.path}: {one.reason or LOST}"}
    return {
        name: f"{whole or f'{one.path} line {hunk.line}'}: "
        + (_REASONS.get(hunk.state) or one.reason or _REASONS["altered"])
        for name, hunk in gone.items()
    }


@dataclass(frozen=True, slots=True)
class _Move:
    """How a rename stands."""

    state: Literal["applied", "undone", "conflict"]
    reason: str | None
    """Why it cannot be taken back, if it cannot."""


async def _moves(
    services: Services,
    journal: Journal,
    folded: Histories,
    problems: dict[str, str],
    records: list[ChangeRecord],
) -> dict[str, _Move]:
    """How the renames among these changes stand, by their ids."""
    moves: dict[str, _Move] = {}
    for record in records:
        file = folded.of(record.change_id)
        if record.operation != "rename" or file is None:
            continue
        if file.path == record.path or journal.is_undone(record.change_id):
            moves[record.change_id] = _Move("undone", _REASONS["undone"])
            continue
        reason = problems.get(file.key) or folded.why_taken(file) or (None if file.exists else GONE)
        if file.path != record.to:
            reason = f"it is now named {one_line(file.path)}"
        if reason is None and await _is_there_again(services, record):
            reason = f"{one_line(record.path)} exists again"
        moves[record.change_id] = _Move("applied" if reason is None else "conflict", reason)
    return moves


async def _is_there_again(services: Services, record: ChangeRecord) -> bool:
    """Whether something is where a file was renamed; a folder may be of these changes, and go with them."""
    located = await locate(services, record.path, record.place)
    if isinstance(located, str) or located.path is None:
        return False
    path = located.path
    return await asyncio.to_thread(lambda: path.is_symlink() or (path.exists() and not path.is_dir()))


@dataclass(frozen=True, slots=True)
class PlacedHunk:
    """A hunk, and where it is in a document."""

    id: str
    line: int
    """From 1."""
    undone: bool
    """Whether it can be brought back; else it can be taken back."""


class Places:
    """Where the hunks of sessions are in open documents. What was worked out is kept until a session changes more."""

    def __init__(self, services: Services) -> None:
        """Begin with nothing worked out."""
        self._services = services
        self._known: dict[str, tuple[int, Histories]] = {}
        self._looking = asyncio.Lock()

    async def hunk_at(
        self, session_id: str, journal: Journal, path: str, text: str, lines: range
    ) -> str | None:
        """The id of the latest hunk in place that touches some lines of a document; None: there is none.

        Args:
            session_id: The session.
            journal: Its changes.
            path: The document.
            text: Its text.
            lines: The lines, from 1.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        roots = _may_be_at(journal, path)
        if not roots:
            return None
        async with self._looking:
            folded = await self._fold(session_id, journal)
            there = await self._there(folded, roots, path)
            return await asyncio.to_thread(_look, folded, there, text, lines)

    async def hunks_in(self, session_id: str, journal: Journal, path: str, text: str) -> list[PlacedHunk]:
        """The hunks of a session in a document that can be taken back or brought back.

        Args:
            session_id: The session.
            journal: Its changes.
            path: The document.
            text: Its text.

        Raises:
            StoreReadError: the log is damaged or cannot be read.
        """
        roots = _may_be_at(journal, path)
        if not roots:
            return []
        async with self._looking:
            folded = await self._fold(session_id, journal)
            there = await self._there(folded, roots, path)
            return await asyncio.to_thread(_placed, folded, there, text)

    async def _there(
        self, folded: Histories, roots: list[ChangeRecord], path: str
    ) -> list[tuple[ChangeRecord, FileHistory]]:
        """The changes of the files that had a path last, the latest first."""
        located: dict[str | None, bool] = {}
        there: list[tuple[ChangeRecord, FileHistory]] = []
        for record in reversed(roots):
            file = folded.of(record.change_id)
            if file is None or file.path != path:
                continue
            if file.real not in located:
                found = await locate(self._services, path, file.real)
                located[file.real] = not isinstance(found, str)
            if located[file.real]:
                there.append((record, file))
        return there

    async def _fold(self, session_id: str, journal: Journal) -> Histories:
        made = sum(one.state == "applied" for one in journal.records)
        known = self._known.get(session_id)
        if known is None or known[0] != made:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            known = self._known[session_id] = made, await histories_of(self._services, journal)
        return known[1]


def _may_be_at(journal: Journal, path: str) -> list[ChangeRecord]:
    """The changes that may be of the file at a path: none, where nothing was ever there."""
    came = any(one.by_user and one.to == path for one in journal.records)
    edits = [one for one in journal.roots() if one.operation != "rename"]
    return edits if came else [one for one in edits if path in {one.path, one.to}]


def _seen(
    folded: Histories, there: list[tuple[ChangeRecord, FileHistory]], text: str
) -> list[tuple[ChangeRecord, FileHistory]]:
    """The changes of the file that has this text, and not those of others that had its path."""
    for _, file in there:
        folded.see(file, text)
    return [(record, file) for record, file in there if not folded.is_taken(file)]


def _look(
    folded: Histories, there: list[tuple[ChangeRecord, FileHistory]], text: str, lines: range
) -> str | None:
    last = max(len(split_lines(text)), 1)
    for record, file in _seen(folded, there, text):
        for number in record.hunks:
            if not file.is_on(record.change_id, number):
                continue
            place = file.place(record.change_id, number)
            # Lines that went at the end may have stood on one that no cursor comes to.
            first = min(place.line, last)
            if first < lines.stop and first + max(1, len(split_lines(place.now))) > lines.start:
                return hunk_id(record.change_id, number)
    return None


def _placed(folded: Histories, there: list[tuple[ChangeRecord, FileHistory]], text: str) -> list[PlacedHunk]:
    found: list[PlacedHunk] = []
    for record, file in _seen(folded, there, text):
        for number in record.hunks:
            is_known = file.knows(record.change_id, number)
            state = folded.state(file, record.change_id, number) if is_known else "altered"
            if state != "altered" and len(found) < MOST_PLACED:
                line = file.place(record.change_id, number).line
                found.append(PlacedHunk(hunk_id(record.change_id, number), line, state == "undone"))
    return found


def _info(
    record: ChangeRecord,
    folded: Histories,
    problems: dict[str, str],
    texts: dict[str, str],
    moves: dict[str, _Move],
) -> ChangeInfo:
    file = folded.of(record.change_id)
    state: Literal["applied", "undone", "conflict"] | None = None
    if file is None or record.change_id in folded.lost:
        hunks: list[ChangedHunk] = []
        reason: str | None = LOST
    elif record.operation == "rename":
        hunks = []
        state, reason = moves[record.change_id].state, moves[record.change_id].reason
    else:
        hunks = _hunks(record, folded, file, texts)
        reason = problems.get(file.key) or _why_not_undoable(record, folded, file, hunks)
    return ChangeInfo(
        change_id=record.change_id,
        turn_id=record.turn_id,
        step=record.step,
        call_id=record.call_id,
        path=folded.path_of(record),
        to=record.to,
        operation=record.operation,
        hunks=hunks,
        state=state,
        undoable=reason is None,
        reason=reason,
    )


def _why_not_undoable(
    record: ChangeRecord, folded: Histories, file: FileHistory, hunks: list[ChangedHunk]
) -> str | None:
    """Why no hunk of a change can be taken back as it is now; None: one can."""
    states = [hunk.state for hunk in hunks]
    if "applied" in states or not states:
        return None
    if "conflict" in states or ("altered" in states and not file.exists):
        on = [number for number in record.hunks if file.is_on(record.change_id, number)]
        held = (folded.why_held(file, record.change_id, number) for number in on)
        return next((reason for reason in held if reason is not None), None)
    return _REASONS["altered" if "altered" in states else "undone"]


def _hunks(
    record: ChangeRecord, folded: Histories, file: FileHistory, texts: dict[str, str]
) -> list[ChangedHunk]:
    change_id = record.change_id
    made = wire_hunks(texts.get(record.before or "", ""), texts.get(record.planned or "", ""))
    return [
        ChangedHunk(
            id=hunk_id(change_id, number),
            line=file.place(change_id, number).line,
            removed=hunk.removed,
            added=hunk.added,
            state=folded.state(file, change_id, number),
        )
        for number, hunk in enumerate(made or [_NOTHING], 1)
        if file.knows(change_id, number)
    ]


async def texts_of(services: Services, records: list[ChangeRecord]) -> dict[str, str]:
    """The texts before and after changes, by content hash, as far as the log has them."""
    digests = {digest for one in records for digest in (one.before, one.planned) if digest is not None}
    blobs = await services.runtime.store.blobs(digests)
    return {digest: blob.decode("utf-8", "surrogatepass") for digest, blob in blobs.items()}
