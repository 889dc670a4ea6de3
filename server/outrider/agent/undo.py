"""Taking changes back, and bringing them back: hunk by hunk, in the text as it is now.

What somebody wrote since stays. Where it overlaps with what is taken back, the person is asked; without an
answer the place is left as it is and named as a conflict.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from outrider.agent.below import below_documents, with_those
from outrider.agent.context import TurnContext
from outrider.agent.services import Services
from outrider.agent.standing import Standing, locate, standing, stands_in, text_of, what_is_left
from outrider.agent.state import SessionState
from outrider.agent.undo_by_hand import NOT_BY_UNDO, NOT_THERE, gone_by_hand
from outrider.agent.undo_folders import brought_back, emptied, made_for, modes_around
from outrider.agent.undo_questions import Questions, Seen, can_go_over, cut, place_of
from outrider.ports.text import one_line
from outrider.tools import changes
from outrider.tools.changes import TakesBack
from outrider.workspace.change import Change, NotWritten, Written
from outrider.workspace.disk import beside
from outrider.workspace.editing import UNSAVED
from outrider.workspace.encoding import BOM
from outrider.workspace.history.histories import FileHistory, Histories
from outrider.workspace.history.journal import ChangeRecord, Journal, Lasting, Part, are_a_move, hunk_id
from outrider.workspace.history.shown import Shown
from outrider.workspace.overlay import ReadProblem, same_text
from outrider.workspace.paths import IS_LINK, Located, PathProblem, is_link
from outrider_protocol import OPEN_BOTH
from outrider_protocol.commands import UndoParams, UndoResult
from outrider_protocol.events import Conflict, NotUndoable, UndoFinished, UndonePath, UndoRequested

OTHER_ENCODING = "the file was UTF-16 then, and holds its text in another encoding now"
"""Why a text is not put back that only fits the encoding that the file had."""
TIMES_TRIED = 3
"""A change whose file is changed while it is taken back is worked out again."""
TIMES_ASKED = 2
"""What is changed while the person is asked about it is shown to them again."""


def lasting(left: Sequence[Lasting]) -> list[NotUndoable]:
    """What commands did that nothing takes back, as it is told."""
    return [NotUndoable(what=one.path, reason=one.reason) for one in left]


async def take_back(
    services: Services,
    context: TurnContext,
    state: SessionState,
    ending: asyncio.Event,
    params: UndoParams,
    looked: Standing | None,
    *,
    redo: bool,
) -> UndoResult | None:
    """Do an undo or a redo that somebody asked for, and record it. None: there is nothing to do.

    Args:
        services: The house.
        context: Where it is recorded.
        state: The session.
        ending: Set when the session is let go of.
        params: What is taken back.
        looked: The session's files as they were just seen: each is looked at again before it is changed.
        redo: Whether it is brought back.

    Raises:
        StoreReadError: the log is damaged or cannot be read.
    """
    journal = state.journal
    scope = params.scope or journal.scope_of(params.id)
    choose = journal.to_redo if redo else journal.to_undo
    if looked is None or not looked.is_latest or looked.state is not state:
        looked = await standing(services, state)
    folded = looked.files
    # Where the texts leave nothing to do, what the log names is passed over, and that is no error.
    below = await below_documents(services, journal, folded)
    parts = choose(scope, params.id, with_those(below, stands_in(folded))) or choose(scope, params.id)
    by_hand = gone_by_hand(journal, folded, parts, choose(scope, params.id), params, redo=redo)
    parts = [one for one in parts if one not in by_hand] if redo else parts
    left = [] if redo else journal.left_by_undo(scope, params.id, parts)
    if not (parts or left or by_hand):
        return None
    context.record(UndoRequested(redo=redo, scope=scope, id=params.id))
    taking = TakingBack(services, context, journal, folded, ending, redo=redo)
    result = await taking.take(parts, [] if redo else by_hand)
    left = await what_is_left(services, journal, left, parts)
    stays = [] if redo else [below[one.record.change_id] for one in parts if one.record.change_id in below]
    reason = NOT_BY_UNDO if redo else NOT_THERE
    stays += [NotUndoable(what=one.record.path, reason=reason) for one in by_hand]
    named = {(one.what, one.reason): one for one in [*lasting(left), *stays, *result.not_undoable]}
    result = result.model_copy(update={"not_undoable": list(named.values())})
    context.record(
        UndoFinished(undone=result.undone, conflicts=result.conflicts, not_undoable=result.not_undoable)
    )
    return result


@dataclass(slots=True)
class _Report:
    change_id: str = ""
    """The latest change that was made."""
    undone: dict[str, int] = field(default_factory=dict[str, int])
    conflicts: list[Conflict] = field(default_factory=list[Conflict])
    not_undoable: list[NotUndoable] = field(default_factory=list[NotUndoable])


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
        self._report = _Report()
        self._emptied: set[str] = set()
        """Folders that go with what was in them."""
        self._modes: dict[str, int] = {}
        """Permission bits of folders that came back."""
        self._made: set[str] = set()
        """The folders that were made; of those in one another at least the topmost."""
        self._questions = Questions(services, context, ending, redo=redo)
        self._parts: Sequence[Part] = ()
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
        self._parts = parts
        ordered = self._folded.in_order(parts)
        for at, part in enumerate(ordered):
            file = self._folded.of(part.record.change_id)
            await self._sweep(part.record)
            if file is None:
                self._no(part.record, "its text is not in the log any more")
            elif part.record.operation == "rename":
                await self._rename(part.record, file)
            elif (other := self._missing(part, ordered[:at])) is not None:
                self._no(part.record, f"it stays, as {one_line(other)} does not come back")
            else:
                await self._hunks(part, file)
        for one in gone_by_hand:
            self._emptied |= set(made_for(one.record, one.record.path))
        await self._sweep()
        fresh = [(one, self._modes[one]) for one in self._modes if self._is_made(one)]
        modes = [(await self._context.folders.locate(one), mode) for one, mode in fresh]
        await self._context.editing.set_folder_modes([(f, m) for f, m in modes if isinstance(f, Located)])
        report = self._report
        return UndoResult(
            change_id=report.change_id,
            undone=[UndonePath(path=path, hunks=hunks) for path, hunks in report.undone.items()],
            conflicts=[self._questions.told(one) for one in report.conflicts],
            not_undoable=report.not_undoable,
        )

    def _missing(self, part: Part, before: Sequence[Part]) -> str | None:
        """The file for which that of a hunk would go, as a command moved it, and which was to come first and did not."""
        for one in before if part.record.operation in {"create", "delete"} else ():
            if are_a_move(one.record, part.record):
                file = self._folded.of(one.record.change_id)
                if file is None or file.is_on(one.record.change_id, 1) is not self._redo:
                    return one.record.path
        return None

    async def _sweep(self, record: ChangeRecord | None = None) -> None:
        """Remove the folders that are empty by now: those in the place of a file that comes back, or all."""
        places = None if record is None else (record.path, record.to or record.path)
        emptied = [
            folder
            for folder in self._emptied
            if places is None or any(PurePath(folder).is_relative_to(one) for one in places)
        ]
        if emptied:
            await self._context.editing.remove_folders(await self._located(emptied))

    async def _bring_back(self, folders: Mapping[str, int]) -> None:
        """Make folders again; what they may be is said at the end, when all files are in them."""
        if folders:
            self._modes |= folders
            self._made |= await self._context.editing.make_folders(await self._located(folders))

    async def _located(self, folders: Iterable[str]) -> list[Located]:
        found = [await self._context.folders.locate(one) for one in folders]
        return [one for one in found if isinstance(one, Located)]

    def _is_made(self, folder: str) -> bool:
        return any(PurePath(folder).is_relative_to(made) for made in self._made)

    # --- the text of a file --------------------------------------------------------------------------------------

    async def _hunks(self, part: Part, file: FileHistory) -> None:
        record = part.record
        held = await self._switch(record, file, part.hunks)
        while held:
            number = next(iter(held))
            if await self._go_over(record, file, number, held.pop(number)) and held:
                held = await self._switch(
                    record, file, tuple(held)
                )  # what was in the way of others is gone, too

    async def _go_over(self, record: ChangeRecord, file: FileHistory, number: int, reason: str) -> bool:
        """Go over what somebody wrote, if the person says so and it is still what they were shown."""
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
            located = await self._reached(record, record.path if is_there else file.path, file.real)
            shown = None if located is None else await self._look(record, file, located)
            if located is None or shown is None:
                return {}
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
            there = self._folded.there(file)
            if over is not None and there.exists == over.exists:
                held = {
                    number: reason
                    for number, reason in held.items()
                    if not place_of(self._folded, file, record, number).reads_like(over.place)
                }
            taken = [number for number in wanted if number not in held]
            if taken and self._folded.is_taken(file):
                made = await self._displace(record, there, located, shown)
                if isinstance(made, NotWritten) and made.kind != "changed":
                    return held
                over, reason = None, made.message if isinstance(made, NotWritten) else ""
                continue
            before, after = (
                file.text,
                file.gone_over(change_id, taken[0]) if over and taken else file.text_with(change_id, taken),
            )
            done = True
            # What changes no text now may do so once others are taken back: that it is undone must be known then.
            if before != after or (taken and before is not None):
                change = await self._change(record, file, located, before, after, shown)
                made = await self._make(record, change, tuple(taken), again=self._redo)
                if isinstance(made, NotWritten) and made.kind == "changed":
                    reason = made.message
                    continue  # the person is typing there: what they wrote belongs into it
                done = isinstance(made, Written)
            if done:
                file.take(change_id, taken, after)
                self._folded.claim(file)
            return held
        is_unsaved = reason == UNSAVED
        self._no(
            record, self._with_help(UNSAVED) if is_unsaved else "somebody is changing it right now; try again"
        )
        return {}

    async def _displace(
        self, record: ChangeRecord, there: FileHistory, located: Located, shown: Shown
    ) -> Written | NotWritten:
        """Delete the file that is where another one comes back: as a change that can be brought back, if there is one."""
        again = there.deletion_undone if self._redo or there.creation is None else None
        ends = again or there.creation
        end = next((one for one in self._journal.roots() if one.change_id == ends), None)
        change = await self._change(end or record, there, located, there.text, None, shown)
        if end is not None:
            made = await self._make(end, change, (1,), again=again is not None)
            if isinstance(made, Written):
                there.take(end.change_id, (1,), None)
            return made
        made = await changes.make(self._context, None, self._context.new_id("chg"), change)
        if isinstance(made, Written):
            self._folded.see(there, None)
        elif made.kind != "changed":
            self._no(record, made.message)
        return made

    async def _change(
        self,
        record: ChangeRecord,
        file: FileHistory,
        located: Located,
        before: str | None,
        after: str | None,
        shown: Shown,
    ) -> Change:
        """The change from one text to another; a file that comes or goes is taken to the byte, with its mode."""
        modes = (record.mode, record.mode_after) if record.mode_after is not None else (None, None)
        there, now = modes[::-1] if self._redo else modes
        if before is None:
            exact, mode = file.to_the_byte(after), there if file.mode == now else file.mode
            return Change("create", located, None, None, exact, file.encoding, mode, under_document=True)
        if after is None:
            found = await self._context.overlay.on_disk(located)
            if found is None or not same_text(before, found.text):
                return Change("delete", located, None, shown.text, None, record.encoding)
            return Change("delete", located, None, found.text, None, found.encoding, found.mode)
        return Change(
            "edit", located, None, shown.text, shown.of(after), record.encoding, there, mode_now=now
        )

    async def _make(
        self, record: ChangeRecord, change: Change, hunks: tuple[int, ...], *, again: bool
    ) -> Written | NotWritten:
        """Write a change. What did not happen is named, unless the text is not what it was worked out for any more.

        Args:
            record: What is taken back, or done again.
            change: The change that does so.
            hunks: Those of the record.
            again: Whether they are done again.
        """
        change_id = self._context.new_id("chg")
        undone = self._journal.last_undo(record.change_id) if again else None
        undoes = TakesBack(undone or record.change_id, hunks)
        made = await changes.make(self._context, None, change_id, change, undoes=undoes)
        if isinstance(made, Written):
            self._report.undone[record.path] = self._report.undone.get(record.path, 0) + len(hunks)
            self._report.change_id = change_id
            self._name_what_is_gone(record, change)
            self._emptied |= set(emptied(record, change))
            self._made |= {made.made_folder} if made.made_folder is not None else set()
            self._modes |= modes_around(self._journal, record, change)
            await self._bring_back(brought_back(record, change))
        elif made.kind != "changed":
            self._no(record, made.message)
        return made

    def _name_what_is_gone(self, record: ChangeRecord, change: Change) -> None:
        """Name what a file that was made again had besides its text, and has no more."""
        file = self._folded.of(record.change_id) if change.operation == "create" else None
        if file is not None and file.gone is not None and file.gone.besides:
            self._no(record, f"it was made again without what it had besides: {', '.join(file.gone.besides)}")

    async def _look(self, record: ChangeRecord, file: FileHistory, located: Located) -> Shown | None:
        text = await text_of(self._context.overlay, located, self._folded.there(file))
        if isinstance(text, ReadProblem):
            self._no(record, text.message)
            return None
        if text is None and located.path is None:
            self._no(record, f"{located.shown} is not open in the editor any more")
            return None
        if text == self._folded.there(file).text:
            self._folded.see(
                file, text
            )  # there is nothing to compare, and a way into a thread and back has its price
        else:
            await asyncio.to_thread(self._folded.see, file, text)
        return Shown(text, self._folded.there(file).text)

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
            self._no(record, f"it is named {one_line(file.path)} by now")
            return
        current = await self._context.overlay.read(located)
        if isinstance(current, ReadProblem):
            if current.kind == "not_found":
                self._no(record, f"{one_line(there[0])} does not exist any more")
            else:
                self._no(record, current.message)
            return
        await asyncio.to_thread(self._folded.see, file, current.text)
        if (reason := self._folded.why_taken(file)) is not None:
            self._stays(record, located, reason)
            return
        change = Change("rename", located, target, current.text, current.text, under_document=True)
        # Before anything is asked, or moved out of its way.
        if (problem := await self._context.editing.why_stays(change)) is not None:
            self._no(record, f"{one_line(there[0])} was not renamed: {self._with_help(problem)}")
            return
        reason = await self._is_the_one(record, file, located, target)
        if (reason := reason or await self._make_room(record, located, target, back[1])) is not None:
            self._stays(record, located, reason)
            return
        made = await self._make(record, change, (1,), again=self._redo)
        if isinstance(made, Written):
            self._folded.moved(file, *back)
        elif made.kind == "changed":
            self._no(record, f"{one_line(there[0])} was not renamed: {made.message}")

    def _stays(self, record: ChangeRecord, located: Located, reason: str) -> None:
        """Say why a file keeps its name."""
        hunk = hunk_id(record.change_id, 1)
        self._report.conflicts.append(Conflict(path=located.display, line=1, reason=reason, id=hunk))

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
            await self._services.editor.show(located.uri)
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
        there = await self._context.overlay.read(target)
        aside = await self._context.folders.locate(str(await asyncio.to_thread(beside, target.path)))
        if isinstance(aside, PathProblem):
            return f"{reason}, and {aside.message}"
        if isinstance(there, ReadProblem) or await asyncio.to_thread(is_link, target):
            why = there.message if isinstance(there, ReadProblem) else f"{target.shown} {IS_LINK}"
            return f"{reason}, and cannot be put aside: {why}"
        message = (
            f"{located.shown}: {reason}.\nWith the {self._questions.what} {located.shown} is named {target.shown}, "
            f"and what is there now is named {aside.shown}."
        )
        choice = await self._questions.choose(message, hunk_id(record.change_id, 1), target.display, 1)
        if choice == OPEN_BOTH:
            for one in (target, located):
                await self._services.editor.show(one.uri)
        if choice != self._questions.take:
            return reason
        other = self._folded.at(target.display, place)
        made: Written | NotWritten | None = None
        for _ in range(TIMES_TRIED):
            there = await self._context.overlay.read(target)
            text = "" if isinstance(there, ReadProblem) else there.text
            moved = Change("rename", target, aside, text, text)
            made = await changes.make(self._context, None, self._context.new_id("chg"), moved)
            if isinstance(made, Written):
                if other is not None:
                    self._folded.moved(other, aside.display, str(aside.resolved))
                named = f"what was there is named {aside.shown} now, and stays so"
                self._report.not_undoable.append(NotUndoable(what=target.display, reason=named))
                return None
            if made.kind != "changed":
                break
        return f"{reason}, and could not be put aside: {made.message if made else ''}"

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
            message += f"With the {what} it is made again:\n{cut(other)}"
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
        change = await self._change(record, there, located, there.text, after, shown)
        if change.operation == "edit" and await self._is_other_encoding(file, change):
            return OTHER_ENCODING
        problem = await self._context.editing.why_stays(change)
        return None if problem is None else self._with_help(problem)

    async def _is_other_encoding(self, file: FileHistory, change: Change) -> bool:
        """Whether an edit would put the mark of UTF-16 into a file that is none any more."""
        comes = (change.after or "").startswith(BOM) and not (change.before or "").startswith(BOM)
        found = await self._context.overlay.on_disk(change.located) if comes else None
        return found is not None and file.encoding != found.encoding

    def _with_help(self, problem: str) -> str:
        """Why something is not done, with what helps."""
        return f"{problem}: save it first, then {self._questions.what}" if problem == UNSAVED else problem

    # --- what is said of it --------------------------------------------------------------------------------------

    async def _reached(self, record: ChangeRecord, path: str, place: str | None) -> Located | None:
        located = await locate(self._services, path, place)
        if isinstance(located, str):
            self._no(record, located)
            return None
        return located

    def _no(self, record: ChangeRecord, reason: str) -> None:
        self._report.not_undoable.append(NotUndoable(what=record.path, reason=reason))

    def _conflict(self, record: ChangeRecord, file: FileHistory, number: int, reason: str) -> None:
        if not self._folded.there(file).exists:
            if id(file) in self._missed:
                return  # all of its hunks have the same reason
            self._missed.add(id(file))
        line = 1 if file.is_whole(record.change_id, number) else file.place(record.change_id, number).line
        hunk = hunk_id(record.change_id, number)
        self._report.conflicts.append(Conflict(path=file.path, line=line, reason=reason, id=hunk))
