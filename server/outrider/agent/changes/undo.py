"""Taking changes back, and bringing them back: hunk by hunk, in the text as it is now.

What somebody wrote since stays. Where it overlaps with what is taken back, the user is asked; without an
answer the place is left as it is and named as a conflict.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass

from outrider.agent.changes.conflicts import Questions, Seen, can_go_over, cut, place_of
from outrider.agent.changes.current_state import (
    NOT_BY_UNDO,
    NOT_THERE,
    Standing,
    below_documents,
    gone_by_hand,
    locate,
    look_at,
    standing,
    stands_in,
    text_of,
    what_is_left,
    with_those,
)
from outrider.agent.changes.listing import listed
from outrider.agent.changes.undo_writer import Switching, Writing
from outrider.agent.loop.tool_context import TurnContext
from outrider.agent.services import Services
from outrider.agent.state.state import SessionState
from outrider.permissions.policy.decide import Access
from outrider.ports.text import Snapshot, one_line
from outrider.tools.edit import changes
from outrider.workspace.disk.disk import beside
from outrider.workspace.documents.overlay import ReadProblem, is_saved_as
from outrider.workspace.edits.apply import UNSAVED
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.history.histories import LOST, FileHistory, Histories
from outrider.workspace.history.journal import Journal, Stands
from outrider.workspace.history.patch import Shown
from outrider.workspace.history.records import ChangeRecord, Lasting, Part, are_a_move, hunk_id
from outrider.workspace.paths import IS_LINK, Located, PathProblem, is_link
from outrider.workspace.text.encoding import BOM
from outrider_protocol import OPEN_BOTH
from outrider_protocol.commands import UndoParams, UndoResult
from outrider_protocol.events import Conflict, NotUndoable, UndoFinished, UndonePath, UndoRequested

NOT_AGREED = "nobody agreed to the text that it would get"
"""Why a protected file is left as it is."""
FORESEEN = "others changed the same place since, so you would be asked"
"""Why a hunk may stay, where nobody was asked yet."""
OTHER_ENCODING = "the file was UTF-16 and now has another encoding"
"""Why a text is not put back that only fits the encoding that the file had."""
TIMES_TRIED = 3
"""A change whose file is changed while it is taken back is worked out again."""
MOST_TOGETHER = 50
"""Edits that are taken back with one flush of the log: a cancel waits for them all."""
TIMES_ASKED = 2
"""What is changed while the user is asked about it is shown to them again."""


def lasting(left: Sequence[Lasting]) -> list[NotUndoable]:
    """What commands did that nothing takes back, as it is told."""
    return [NotUndoable(what=one.path, reason=one.reason) for one in left]


@dataclass(frozen=True, slots=True)
class UndoneTurn:
    """A turn whose changes an undo would take back."""

    turn_id: str
    prompt: str


def older_turn(state: SessionState, parts: Sequence[Part]) -> UndoneTurn | None:
    """The turn that changes belong to; None where that is the latest that began, or they belong to none.

    Args:
        state: The session.
        parts: The changes that an undo would take back.
    """
    meant = turn_of(state, parts)
    latest = next((one for one in reversed(state.turns.values()) if one.started), None)
    return None if meant is None or latest is None or meant.turn_id == latest.turn_id else meant


def turn_of(state: SessionState, parts: Sequence[Part]) -> UndoneTurn | None:
    """The turn that changes belong to; None where there are none, or no turn made them."""
    turn = state.turns.get(parts[0].record.turn_id or "") if parts else None
    return None if turn is None else UndoneTurn(turn.turn_id, turn.prompt)


async def take_back(
    services: Services,
    context: TurnContext,
    state: SessionState,
    ending: asyncio.Event,
    params: UndoParams,
    looked: Standing | None,
    *,
    redo: bool,
    is_latest: bool = True,
) -> UndoResult | UndoneTurn | None:
    """Do an undo or a redo that somebody asked for, and record it. None: there is nothing to do.

    Args:
        services: The house.
        context: Where it is recorded.
        state: The session.
        ending: Set when the session is let go of.
        params: What is taken back.
        looked: The session's files as they were just seen: each is looked at again before it is changed.
        redo: Whether it is brought back.
        is_latest: Whether the session is the latest one, or was named.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    journal = state.journal
    named = params.scope or journal.scope_of(params.id)
    is_as_it_was_undone = redo and params.scope is None and params.id is None
    scope = journal.scope_of_redo() if is_as_it_was_undone else named

    def choose(stands: Stands | None = None) -> list[Part]:
        if redo:
            return journal.to_redo(None if is_as_it_was_undone else scope, params.id, stands)
        return journal.to_undo(scope, params.id, stands)

    if looked is None or not looked.is_latest or looked.state is not state:
        looked = await standing(services, state)
    folded = looked.files
    # Where the texts leave nothing to do, what the log names is passed over, and that is no error.
    below = await below_documents(services, journal, folded)
    parts = choose(with_those(below, stands_in(folded))) or choose()
    if params.latest and not redo and scope == "turn" and params.id is None:
        older = older_turn(state, parts)
        if older is not None or not is_latest:
            return older or turn_of(state, parts)
    by_hand = gone_by_hand(journal, folded, parts, choose(), params, redo=redo)
    parts = [one for one in parts if one not in by_hand] if redo else parts
    left = [] if redo else journal.left_by_undo(scope, params.id, parts)
    if not (parts or left or by_hand):
        return None
    if params.dry_run:
        foreseen = await _foreseen(services, journal, folded, parts, redo=redo)
        stays = await what_is_left(services, journal, left, parts)
        return foreseen.model_copy(update={"not_undoable": lasting(stays)})
    context.log.record(UndoRequested(redo=redo, scope=scope, id=params.id))
    taking = TakingBack(services, context, journal, folded, ending, redo=redo)
    result = await taking.take(parts, [] if redo else by_hand)
    left = await what_is_left(services, journal, left, parts)
    stays = [] if redo else [below[one.record.change_id] for one in parts if one.record.change_id in below]
    reason = NOT_BY_UNDO if redo else NOT_THERE
    stays += [NotUndoable(what=folded.path_of(one.record), reason=reason) for one in by_hand]
    told = {(one.what, one.reason): one for one in [*lasting(left), *stays, *result.not_undoable]}
    result = result.model_copy(update={"not_undoable": list(told.values())})
    context.log.record(
        UndoFinished(undone=result.undone, conflicts=result.conflicts, not_undoable=result.not_undoable)
    )
    return result


async def _foreseen(
    services: Services, journal: Journal, folded: Histories, parts: Sequence[Part], *, redo: bool
) -> UndoResult:
    """What would become of these hunks, as the files are now: nobody is asked, so what would be asked about counts as a conflict."""
    made = {one.change_id: one for one in await listed(services, journal)}
    fits = "undone" if redo else "applied"
    undone: dict[str, int] = {}
    conflicts: list[Conflict] = []
    for part in parts:
        path, told = folded.path_of(part.record), made.get(part.record.change_id)
        if told is None or not told.hunks:  # a rename, or an undo's own change
            if told is None or told.state in {None, fits}:
                undone[path] = undone.get(path, 0) + 1
            else:
                conflicts.append(Conflict(path=path, line=1, reason=told.reason or FORESEEN))
            continue
        hunks = {hunk.id: hunk for hunk in told.hunks}
        for number in part.hunks:
            name = hunk_id(part.record.change_id, number)
            if (hunk := hunks.get(name)) is None or hunk.state == fits:
                undone[path] = undone.get(path, 0) + 1
            else:
                conflicts.append(Conflict(path=path, line=hunk.line, reason=told.reason or FORESEEN, id=name))
    return UndoResult(
        change_id="",
        undone=[UndonePath(path=path, hunks=hunks) for path, hunks in undone.items()],
        conflicts=conflicts,
        not_undoable=[],
    )


@dataclass(frozen=True, slots=True)
class _Ready:
    """What is about to be switched in a file."""

    switching: Switching
    file: FileHistory
    after: str
    held: dict[int, str]
    """The hunks that cannot be, and why."""


class TakingBack:
    """One undo or redo."""

    def __init__(
        self,
        services: Services,
        context: TurnContext,
        journal: Journal,
        folded: Histories,
        ending: asyncio.Event,
        *,
        redo: bool,
    ) -> None:
        """Begin one.

        Args:
            services: The house.
            context: Where it is recorded.
            journal: The session's changes.
            folded: The files that they changed, as they are now.
            ending: Set when the session is let go of: nobody is asked any more then.
            redo: Whether hunks are brought back.
        """
        self._services = services
        self._context = context
        self._journal = journal
        self._folded = folded
        self._redo = redo
        self._writing = Writing(context, journal, folded, redo=redo)
        self._questions = Questions(services, context, ending, redo=redo)
        self._parts: Sequence[Part] = ()
        self._agreed: set[tuple[str, str | None]] = set()
        """The changes that may be switched in a protected file, as the user says, with the text that comes of it."""
        self._missed: set[int] = set()
        """The files, by identity, that are gone and named for it."""
        self._away: set[int] = set()
        """The files, by identity, that are gone and for which nobody is asked: they stay so, or go in the end."""

    async def take(self, parts: Sequence[Part], gone_by_hand: Sequence[Part] = ()) -> UndoResult:
        """Take hunks of files back, in this order.

        Args:
            parts: The hunks.
            gone_by_hand: The creation of files that are not there any more: the folders made for them go.
        """
        goes = "delete" if self._redo else "create"
        gone = [self._folded.of(part.record.change_id) for part in parts if part.record.operation == goes]
        self._away = {id(file) for file in gone}
        await self._context.rules.refresh("edit")  # what is protected is asked of them
        ordered = self._parts = self._folded.in_order(parts)
        at = 0
        while at < len(ordered):
            together = self._edits_of_files(ordered[at : at + MOST_TOGETHER])
            if len(together) > 1:
                await self._edits(together)
            else:
                await self._take(ordered[at], ordered[:at])
            at += len(together) or 1
        writing = self._writing
        await writing.finish(gone_by_hand)
        return UndoResult(
            change_id=writing.change_id,
            undone=[UndonePath(path=path, hunks=hunks) for path, hunks in writing.undone.items()],
            conflicts=[self._questions.told(one) for one in writing.conflicts],
            not_undoable=writing.not_undoable,
        )

    async def _take(self, part: Part, before: Sequence[Part]) -> None:
        """Take the hunks of one change back, after those before it."""
        file = self._folded.of(part.record.change_id)
        await self._writing.sweep(part.record)
        if file is None:
            self._writing.no(part.record, LOST)
        elif part.record.operation == "rename":
            await self._rename(part.record, file)
        elif (other := self._missing(part, before)) is not None:
            self._writing.no(part.record, f"it stays, because {one_line(other)} was not restored")
        else:
            await self._hunks(part, file, await self._switch(part.record, file, part.hunks))

    def _missing(self, part: Part, before: Sequence[Part]) -> str | None:
        """The file for which that of a hunk would go, as a command moved it, and which was to come first and did not."""
        for one in before if part.record.operation in {"create", "delete"} else ():
            if are_a_move(one.record, part.record):
                file = self._folded.of(one.record.change_id)
                if file is None or file.is_on(one.record.change_id, 1) is not self._redo:
                    return one.record.path
        return None

    # --- the text of a file --------------------------------------------------------------------------------------

    def _edits_of_files(self, parts: Sequence[Part]) -> list[tuple[Part, FileHistory]]:
        """The first of these that are edits of files which are there, each of another one, with those files."""
        found: list[tuple[Part, FileHistory]] = []
        for part in parts:
            file = self._folded.of(part.record.change_id)
            if (
                file is None
                or not file.exists
                or part.record.operation != "edit"
                or self._folded.is_taken(file)
            ):
                break
            if any(one is file for _, one in found):
                break
            found.append((part, file))
        return found

    async def _edits(self, together: Sequence[tuple[Part, FileHistory]]) -> None:
        """Take the hunks of edits back: the files are looked at together and written together, the rest goes one by one."""
        for part, _ in together:
            await self._writing.sweep(part.record)
        looks = await look_at(self._services, [file for _, file in together])
        ready: list[_Ready] = []
        for (part, file), (located, text) in zip(together, looks, strict=True):
            if isinstance(located, Located) and isinstance(text, str):
                await self._see(file, text)
                record, shown = part.record, Shown(text, file.text)
                taken, held = self._choose(record, file, part.hunks)
                after = file.text_with(record.change_id, taken)
                is_free = bool(taken) and self._why_guarded(record, file, located, taken) is None
                if is_free and after is not None and not self._folded.is_taken(file):
                    change = self._writing.edit(record, located, after, shown)
                    ready.append(_Ready(Switching(record, change, tuple(taken)), file, after, held))
        made = await self._writing.make_all([one.switching for one in ready], again=self._redo)
        done = {id(one.file): (one, written) for one, written in zip(ready, made, strict=True)}
        for part, file in together:
            one, written = done.get(id(file), (None, None))
            if one is None or (isinstance(written, NotWritten) and written.kind == "changed"):
                held = await self._switch(part.record, file, part.hunks)
            else:
                held = one.held
                if isinstance(written, Written):
                    file.take(part.record.change_id, one.switching.hunks, one.after)
                    self._folded.claim(file)
            await self._hunks(part, file, held)

    async def _hunks(self, part: Part, file: FileHistory, held: dict[int, str]) -> None:
        """Ask about the hunks that could not be switched, and why."""
        record = part.record
        while held:
            number = next(iter(held))
            if await self._go_over(record, file, number, held.pop(number)) and held:
                held = await self._switch(
                    record, file, tuple(held)
                )  # what was in the way of others is gone, too

    async def _go_over(self, record: ChangeRecord, file: FileHistory, number: int, reason: str) -> bool:
        """Go over what somebody wrote, if the user says so and it is still what they were shown."""
        for _ in range(TIMES_ASKED):
            seen = await self._ask(record, file, number, reason)
            if not isinstance(seen, Seen):
                reason = seen or reason
                break
            held = await self._switch(record, file, (number,), over=seen)
            if not held:
                return True
            reason = held[number]
        self._conflict(record, file, number, reason)
        return False

    async def _switch(
        self, record: ChangeRecord, file: FileHistory, numbers: Sequence[int], *, over: Seen | None = None
    ) -> dict[int, str]:
        """Switch hunks in the file; gives those that are left as they are, and why.

        Args:
            record: Their change.
            file: The file.
            numbers: Which; those that are already as they should be are passed over.
            over: What somebody wrote that they may go over, as long as it is just that; then it is one.
        """
        change_id, reason = record.change_id, ""
        for _ in range(TIMES_TRIED):
            # The same file may have been edited through a link and deleted by its own name.
            is_there = record.place is not None and record.place == file.real
            path = self._folded.path_of(record) if is_there else file.path
            located = await self._reached(record, path, file.real)
            shown = None if located is None else await self._look(record, file, located)
            if located is None or shown is None:
                return {}
            taken, held = self._choose(record, file, numbers, over)
            if taken and self._folded.is_taken(file):
                made = await self._displace(record, self._folded.there(file), located, shown)
                if isinstance(made, NotWritten) and made.kind != "changed":
                    return held
                over, reason = None, made.message if isinstance(made, NotWritten) else ""
                continue
            before, after = (
                file.text,
                file.gone_over(change_id, taken[0]) if over and taken else file.text_with(change_id, taken),
            )
            if taken and over is None:
                why = await self._why_not_agreed(record, file, located, taken, after)
                if why is not None:
                    self._conflict(record, file, taken[0], why)
                    return held
            done = True
            # What changes no text now may do so once others are taken back: that it is already undone must be known then.
            if before != after or (taken and before is not None):
                change = await self._writing.change(record, file, located, before, after, shown)
                made = await self._writing.make(record, change, tuple(taken), again=self._redo)
                if isinstance(made, NotWritten) and made.kind == "changed":
                    reason = made.message
                    continue  # the user is typing there: what they wrote belongs into it
                done = isinstance(made, Written)
            if done:
                file.take(change_id, taken, after)
                self._folded.claim(file)
            return held
        is_unsaved = reason == UNSAVED
        self._writing.no(
            record, self._with_help(UNSAVED) if is_unsaved else "someone is changing it right now; try again"
        )
        return {}

    def _choose(
        self, record: ChangeRecord, file: FileHistory, numbers: Sequence[int], over: Seen | None = None
    ) -> tuple[list[int], dict[int, str]]:
        """Which hunks are to be switched and can be; and which of them cannot, and why."""
        change_id = record.change_id
        wanted = [
            number
            for number in numbers
            if file.knows(change_id, number) and file.is_on(change_id, number) is not self._redo
        ]
        held = {
            number: reason
            for number in wanted
            if (reason := self._folded.why_held(file, change_id, number)) is not None
        }
        if over is not None and self._folded.there(file).exists == over.exists:
            held = {
                number: reason
                for number, reason in held.items()
                if not place_of(self._folded, file, record, number).reads_like(over.place)
            }
        return [number for number in wanted if number not in held], held

    # --- protected files -----------------------------------------------------------------------------------------

    def _why_guarded(
        self, record: ChangeRecord, file: FileHistory, located: Located, numbers: Sequence[int] | None
    ) -> str | None:
        """Why a file is protected that would get a text which nobody agreed to; None if that is not so.

        An edit of it would ask. What the user or an edit with a yes put there comes back without a question, and so does what this
        very undo takes away again.

        Args:
            record: What is taken back, or brought back.
            file: The file.
            located: Where its text will be.
            numbers: The hunks that are switched; None for a file that comes there as it is.
        """
        guard = self._services.policy.guarded.why("edit", [located.names])
        if record.puts_back and not self._redo:
            return guard.reason if guard else f"{located.shown} was restored after a command had changed it"
        if guard is None:
            return None
        hunks = ((part.record.change_id, number) for part in self._parts for number in part.hunks)
        texts_of = file.holds() if numbers is None else file.brings(hunks, back=self._redo)
        if all(map(self._journal.is_agreed, texts_of)):
            return None
        access = Access("edit", inside=located.inside, paths=[located.names])
        return None if self._context.rules.judge("edit_file", access).verdict == "allow" else guard.reason

    async def _why_not_agreed(
        self,
        record: ChangeRecord,
        file: FileHistory,
        located: Located,
        numbers: Sequence[int] | None,
        after: str | None,
    ) -> str | None:
        """Ask about a text that nobody agreed to in a protected file; a text says why it is not put there."""
        guarded = self._why_guarded(record, file, located, numbers)
        if guarded is None or (record.change_id, after) in self._agreed:
            return None
        hunk, reason = hunk_id(record.change_id, (numbers or (1,))[0]), f"{guarded}; {NOT_AGREED}"
        gets = "the file is deleted." if after is None else f"it reads:\n{cut(after)}"
        message = f"{located.shown}: {reason}.\nWith the {self._questions.what} {gets}"
        choice = await self._questions.choose(message, hunk, located.display, 1)
        if choice == OPEN_BOTH:
            await self._questions.open_both(self._folded.there(file), hunk, after or "")
        if choice != self._questions.take:
            return reason
        self._agreed.add((record.change_id, after))
        return None

    async def _displace(
        self, record: ChangeRecord, there: FileHistory, located: Located, shown: Shown
    ) -> Written | NotWritten:
        """Delete the file that is where another one comes back: as a change that can be brought back, if there is one."""
        again = there.deletion_undone if self._redo or there.creation is None else None
        ends = again or there.creation
        end = next((one for one in self._journal.roots() if one.change_id == ends), None)
        change = await self._writing.change(end or record, there, located, there.text, None, shown)
        if end is not None:
            made = await self._writing.make(end, change, (1,), again=again is not None)
            if isinstance(made, Written):
                there.take(end.change_id, (1,), None)
            return made
        made = await changes.make(self._context, None, self._context.log.new_id("chg"), change)
        if isinstance(made, Written):
            self._folded.see(there, None)
        elif made.kind != "changed":
            self._writing.no(record, made.message)
        return made

    async def _look(self, record: ChangeRecord, file: FileHistory, located: Located) -> Shown | None:
        text = await text_of(self._context.workspace.overlay, located, self._folded.there(file))
        if isinstance(text, ReadProblem):
            self._writing.no(record, text.message)
            return None
        if text is None and located.path is None:
            self._writing.no(record, f"{located.shown} is no longer open in the editor")
            return None
        await self._see(file, text)
        return Shown(text, self._folded.there(file).text)

    async def _see(self, file: FileHistory, text: str | None) -> None:
        if text == self._folded.there(file).text:
            # There is nothing to compare, and a way into a thread and back has its price.
            self._folded.see(file, text)
        else:
            await asyncio.to_thread(self._folded.see, file, text)

    # --- renames -------------------------------------------------------------------------------------------------

    async def _rename(self, record: ChangeRecord, file: FileHistory) -> None:
        there, back = (record.path, record.place), (record.to or "", record.to_place)
        if not self._redo:
            there, back = back, there
        located = await self._reached(record, *there)
        target = None if located is None else await self._reached(record, *back)
        if located is None or target is None:
            return
        if file.path != there[0]:
            self._writing.no(record, f"it is now named {one_line(file.path)}")
            return
        current = await self._context.workspace.overlay.read(located)
        if isinstance(current, ReadProblem):
            if current.kind == "not_found":
                self._writing.no(record, f"{one_line(there[0])} no longer exists")
            else:
                self._writing.no(record, current.message)
            return
        await asyncio.to_thread(self._folded.see, file, current.text)
        reason = self._folded.why_taken(file) or await self._is_open_with_other_text(target, current.text)
        if reason is not None:
            self._stays(record, located, reason)
            return
        change = Change("rename", located, target, current.text, current.text, under_document=True)
        # Before anything is asked, or moved out of its way.
        if (problem := await self._context.workspace.editing.why_stays(change)) is not None:
            self._writing.no(record, f"{one_line(there[0])} was not renamed: {self._with_help(problem)}")
            return
        reason = await self._why_not_agreed(record, file, target, None, current.text)
        reason = reason or await self._is_the_one(record, file, located, target)
        if (reason := reason or await self._make_room(record, located, target, back[1])) is not None:
            self._stays(record, located, reason)
            return
        made = await self._writing.make(record, change, (1,), again=self._redo)
        if isinstance(made, Written):
            self._folded.moved(file, *back)
        elif made.kind == "changed":
            self._writing.no(record, f"{one_line(there[0])} was not renamed: {made.message}")

    async def _is_open_with_other_text(self, target: Located, text: str) -> str | None:
        """Why no file comes below a document: saving it would overwrite what was written in the file."""
        document = await self._context.workspace.overlay.document_of(target)
        if document is None or is_saved_as(document.text, text):
            return None
        shown = await self._context.workspace.overlay.read(target)
        if isinstance(shown, Snapshot) and not shown.unsaved:
            return None  # what it shows is in a file, which is asked about
        return f"{target.shown} is open in the editor with other text: save it elsewhere, or close it"

    def _stays(self, record: ChangeRecord, located: Located, reason: str) -> None:
        """Say why a file keeps its name."""
        hunk = hunk_id(record.change_id, 1)
        self._writing.conflicts.append(Conflict(path=located.display, line=1, reason=reason, id=hunk))

    async def _is_the_one(
        self, record: ChangeRecord, file: FileHistory, located: Located, target: Located
    ) -> str | None:
        """Ask about what may be another file than the one that was renamed; a text says why it keeps its name."""
        reason = file.why_not_renamed()
        if reason is None:
            return None
        message = (
            f"{located.shown}: {reason}.\nWith the {self._questions.what} it is named {target.shown}. It begins:\n"
            f"{cut(file.text or '')}"
        )
        choice = await self._questions.choose(message, hunk_id(record.change_id, 1), located.display, 1)
        if choice == OPEN_BOTH:
            await self._services.runtime.editor.show(located.uri)
        return None if choice == self._questions.take else reason

    async def _make_room(
        self, record: ChangeRecord, located: Located, target: Located, place: str | None
    ) -> str | None:
        """Give another name to what is where a file gets its name back, with a yes; a text says why it is not done.

        Args:
            record: The change.
            located: The file.
            target: Where it is to be.
            place: The real path of that, as the history has it.
        """
        if target.path is None or not await asyncio.to_thread(os.path.lexists, target.path):
            return None
        reason = f"{target.shown} exists again"
        there = await self._context.workspace.overlay.read(target)
        aside = await self._context.workspace.folders.locate(
            str(await asyncio.to_thread(beside, target.path))
        )
        if isinstance(aside, PathProblem):
            return f"{reason}, and {aside.message}"
        if isinstance(there, ReadProblem) or await asyncio.to_thread(is_link, target):
            why = there.message if isinstance(there, ReadProblem) else f"{target.shown} {IS_LINK}"
            return f"{reason}, and cannot be moved aside: {why}"
        message = (
            f"{located.shown}: {reason}.\nWith the {self._questions.what} {located.shown} is named {target.shown}, "
            f"and the current file is renamed to {aside.shown}."
        )
        choice = await self._questions.choose(message, hunk_id(record.change_id, 1), target.display, 1)
        if choice == OPEN_BOTH:
            for one in (target, located):
                await self._services.runtime.editor.show(one.uri)
        if choice != self._questions.take:
            return reason
        other = self._folded.at(target.display, place)
        made: Written | NotWritten | None = None
        for _ in range(TIMES_TRIED):
            there = await self._context.workspace.overlay.read(target)
            text = "" if isinstance(there, ReadProblem) else there.text
            moved = Change("rename", target, aside, text, text)
            made = await changes.make(self._context, None, self._context.log.new_id("chg"), moved)
            if isinstance(made, Written):
                if other is not None:
                    self._folded.moved(other, aside.display, aside.place)
                named = f"what was there is now named {aside.shown}, and keeps that name"
                self._writing.not_undoable.append(NotUndoable(what=target.display, reason=named))
                return None
            if made.kind != "changed":
                break
        return f"{reason}, and could not be moved aside: {made.message if made else ''}"

    # --- conflicts -----------------------------------------------------------------------------------------------

    async def _ask(
        self, record: ChangeRecord, file: FileHistory, number: int, reason: str
    ) -> Seen | str | None:
        """Ask whether a hunk is taken back, or brought back, over what somebody did; gives what was shown if it is.

        Only that title is a yes. What could not be done is not asked about: a text says why.
        """
        if not can_go_over(self._folded, file, record, number):
            return None
        there = self._folded.there(file)
        if not file.exists and id(file) in self._away:
            return None
        seen = Seen(place_of(self._folded, file, record, number), there.exists)
        if (problem := await self._why_stays(record, file, number)) is not None:
            return f"{reason}; {problem}"
        place, hunk = seen.place, hunk_id(record.change_id, number)
        message = f"{one_line(file.path)}{f', line {place.line}' if there.exists else ''}: {reason}.\n"
        what, whole, other = self._questions.what, file.is_whole(record.change_id, number), place.switched
        if not there.exists:
            rest = [(part.record.change_id, one) for part in self._parts for one in part.hunks]
            other = file.brought_back(record.change_id, number, rest)
            message += f"With the {what} it is created again:\n{cut(other)}"
        elif whole and there is file:
            message += f"As it is now:\n{cut(place.now)}\nWith the {what} the file is deleted."
        else:
            message += f"As it is now:\n{cut(place.now)}\nWith the {what}:\n{cut(place.switched)}"
            other = place.switched if whole else file.forced(record.change_id, number)
        choice = await self._questions.choose(message, hunk, file.path, place.line)
        if choice == OPEN_BOTH:
            await self._questions.open_both(there, hunk, other)
        if choice == self._questions.take:
            return seen
        if not there.exists:
            self._away.add(id(file))
        return None

    async def _why_stays(self, record: ChangeRecord, file: FileHistory, number: int) -> str | None:
        """Why a hunk cannot be switched over what somebody did, with what helps; None: nothing is known of."""
        located = await locate(self._services, file.path, file.real)
        if isinstance(located, str):
            return None  # which is said when it is tried
        there, after = self._folded.there(file), None
        if there is file:
            after = file.gone_over(record.change_id, number)
        shown = Shown(there.text, there.text)
        change = await self._writing.change(record, there, located, there.text, after, shown)
        if change.operation == "edit" and await self._is_other_encoding(file, change):
            return OTHER_ENCODING
        problem = await self._context.workspace.editing.why_stays(change)
        return None if problem is None else self._with_help(problem)

    async def _is_other_encoding(self, file: FileHistory, change: Change) -> bool:
        """Whether an edit would put the mark of UTF-16 into a file that is none any more."""
        comes = (change.after or "").startswith(BOM) and not (change.before or "").startswith(BOM)
        found = await self._context.workspace.overlay.on_disk(change.located) if comes else None
        return found is not None and file.encoding != found.encoding

    def _with_help(self, problem: str) -> str:
        """Why something is not done, with what helps."""
        return f"{problem}: save it first, then {self._questions.what}" if problem == UNSAVED else problem

    # --- what is said of it --------------------------------------------------------------------------------------

    async def _reached(self, record: ChangeRecord, path: str, place: str | None) -> Located | None:
        located = await locate(self._services, path, place)
        if isinstance(located, str):
            self._writing.no(record, located)
            return None
        return located

    def _conflict(self, record: ChangeRecord, file: FileHistory, number: int, reason: str) -> None:
        if not self._folded.there(file).exists:
            if id(file) in self._missed:
                return  # all of its hunks have the same reason
            self._missed.add(id(file))
        line = 1 if file.is_whole(record.change_id, number) else file.place(record.change_id, number).line
        hunk = hunk_id(record.change_id, number)
        self._writing.conflicts.append(Conflict(path=file.path, line=line, reason=reason, id=hunk))
