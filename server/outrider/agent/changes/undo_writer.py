"""Writing what takes changes back, with the folders that come and go with it, and what is told of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from outrider.agent.loop.tool_context import TurnContext
from outrider.tools.edit import changes
from outrider.tools.edit.changes import Making, TakesBack
from outrider.workspace.documents.overlay import same_text
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.history.histories import FileHistory, Histories
from outrider.workspace.history.journal import Journal
from outrider.workspace.history.patch import Shown
from outrider.workspace.history.records import ChangeRecord, Part
from outrider.workspace.paths import Located, folders_down
from outrider_protocol.events import Conflict, NotUndoable


def emptied(record: ChangeRecord, made: Change) -> Iterator[str]:
    """The folders that go, if nothing else is in them, with a file that goes: they came with it, or went with it at first."""
    if made.operation not in {"delete", "rename"}:
        return
    there = made.located.display
    if there == (record.to or record.path):
        yield from made_for(record, there)
    yield from _at(record, record, there)


def made_for(record: ChangeRecord, path: str) -> Iterator[str]:
    """The folders that were made for a file."""
    if record.made_folder is not None:
        yield from folders_down(record.made_folder, path)


def brought_back(record: ChangeRecord, made: Change) -> Mapping[str, int]:
    """The folders that come with a file, where they went with it, with their permission bits."""
    if made.operation not in {"create", "rename"}:
        return {}
    return _at(record, record, made.to.display if made.to else made.located.display)


def _at(record: ChangeRecord, last: ChangeRecord, path: str) -> Mapping[str, int]:
    """The folders that went with the last file in them, as they are when another one of them is at `path`."""
    if last.folder is None or not PurePath(record.path).is_relative_to(last.folder):
        return {}
    return _moved(last.folders, PurePath(record.path).relative_to(last.folder), path)


def _moved(folders: Mapping[str, int], below: PurePath, path: str) -> Mapping[str, int]:
    """Folders that are written from one above a file on, as they are when the file is at `path`, so far below that one."""
    folder = PurePath(*PurePath(path).parts[: -len(below.parts)])
    return {str(folder / one): mode for one, mode in folders.items()}


class FoldersOfCalls:
    """The permission bits of the folders that went with any file of a call; looked up once for each call, of which files may be many."""

    def __init__(self, journal: Journal) -> None:
        """Look nothing up yet."""
        self._journal = journal
        self._known: dict[tuple[str | None, str], dict[str, dict[str, int]]] = {}

    def around(self, record: ChangeRecord, made: Change) -> Mapping[str, int]:
        """Those of the folders that a file came back to, though they went with another file of its call."""
        if made.operation not in {"create", "rename"} or record.call_id is None:
            return {}
        path, there = (made.to.display if made.to else made.located.display), PurePath(record.path)
        modes: dict[str, int] = {}
        for folder in there.parents:
            if folders := self._of_call(record).get(str(folder)):
                modes |= _moved(folders, there.relative_to(folder), path)
        return modes

    def _of_call(self, record: ChangeRecord) -> Mapping[str, Mapping[str, int]]:
        key = record.call_id, record.operation
        if key not in self._known:
            went = self._known[key] = {}
            for one in self._journal.changes(record.turn_id):
                if (one.call_id, one.operation) == key and one.folder is not None:
                    went.setdefault(str(PurePath(one.folder)), {}).update(one.folders)
        return self._known[key]


@dataclass(frozen=True, slots=True)
class Switching:
    """A change that switches hunks of another one."""

    record: ChangeRecord
    """That other one."""
    change: Change
    hunks: tuple[int, ...]
    """The hunks, as that one counts them."""


class Writing:
    """The changes of one undo or redo."""

    def __init__(self, context: TurnContext, journal: Journal, folded: Histories, *, redo: bool) -> None:
        """Begin with none.

        Args:
            context: Where they are recorded.
            journal: The session's changes.
            folded: The files that they changed, as they are now.
            redo: Whether hunks are brought back.
        """
        self._context = context
        self._journal = journal
        self._folded = folded
        self._redo = redo
        self.change_id = ""
        """The latest change that was made."""
        self.undone: dict[str, int] = {}
        """How many hunks of which file were switched."""
        self.conflicts: list[Conflict] = []
        self.not_undoable: list[NotUndoable] = []
        self._emptied: set[str] = set()
        """Folders that go with what was in them."""
        self._folders_of_calls = FoldersOfCalls(journal)
        self._modes: dict[str, int] = {}
        """Permission bits of folders that came back."""
        self._made: set[str] = set()
        """The folders that were made; of those in one another at least the topmost."""

    def no(self, record: ChangeRecord, reason: str) -> None:
        """Say why a change is not taken back."""
        self.not_undoable.append(NotUndoable(what=self._folded.path_of(record), reason=reason))

    async def change(
        self,
        record: ChangeRecord,
        file: FileHistory,
        located: Located,
        before: str | None,
        after: str | None,
        shown: Shown,
    ) -> Change:
        """The change from one text to another; a file that comes or goes is taken to the byte, with its mode."""
        if before is not None and after is not None:
            return self.edit(record, located, after, shown)
        there, now = self._modes_of(record)
        if before is None:
            exact, mode = file.to_the_byte(after), there if file.mode == now else file.mode
            return Change("create", located, None, None, exact, file.encoding, mode, under_document=True)
        found = await self._context.workspace.overlay.on_disk(located)
        if found is None or not same_text(before, found.text):
            return Change("delete", located, None, shown.text, None, record.encoding)
        return Change("delete", located, None, found.text, None, found.encoding, found.mode)

    def edit(self, record: ChangeRecord, located: Located, after: str, shown: Shown) -> Change:
        """The change of a text that stays a file."""
        there, now = self._modes_of(record)
        return Change(
            "edit", located, None, shown.text, shown.of(after), record.encoding, there, mode_now=now
        )

    def _modes_of(self, record: ChangeRecord) -> tuple[int | None, int | None]:
        """The permission bits that a file gets, and those that it must have for that."""
        if record.mode_after is None:
            return None, None
        return (record.mode_after, record.mode) if self._redo else (record.mode, record.mode_after)

    async def make(
        self, record: ChangeRecord, change: Change, hunks: tuple[int, ...], *, again: bool
    ) -> Written | NotWritten:
        """Write a change. What did not happen is named, unless the text is not what it was worked out for any more.

        Args:
            record: What is taken back, or done again.
            change: The change that does so.
            hunks: Those of the record.
            again: Whether they are done again.
        """
        return (await self.make_all([Switching(record, change, hunks)], again=again))[0]

    async def make_all(self, wanted: Sequence[Switching], *, again: bool) -> list[Written | NotWritten]:
        """Write changes of different files, as `make` does."""
        makings = [self._making(one, again=again) for one in wanted]
        made = await changes.make_all(self._context, None, makings)
        for one, making, written in zip(wanted, makings, made, strict=True):
            if isinstance(written, Written):
                await self._was_made(one, making.change_id, written)
            elif written.kind != "changed":
                self.no(one.record, written.message)
        return made

    def _making(self, switching: Switching, *, again: bool) -> Making:
        record = switching.record
        undone = self._journal.last_undo(record.change_id) if again else None
        undoes = TakesBack(undone or record.change_id, switching.hunks)
        return Making(self._context.log.new_id("chg"), switching.change, undoes)

    async def _was_made(self, switching: Switching, change_id: str, written: Written) -> None:
        record, change = switching.record, switching.change
        path = self._folded.path_of(record)
        if change.before != change.after or change.operation == "rename":
            self.undone[path] = self.undone.get(path, 0) + len(switching.hunks)
        self.change_id = change_id
        self._name_what_is_gone(record, change)
        self._emptied |= set(emptied(record, change))
        self._made |= {written.made_folder} if written.made_folder is not None else set()
        self._modes |= self._folders_of_calls.around(record, change)
        await self._bring_back(brought_back(record, change))

    def _name_what_is_gone(self, record: ChangeRecord, change: Change) -> None:
        """Name what a file that was made again had besides its text, and has no more."""
        file = self._folded.of(record.change_id) if change.operation == "create" else None
        if file is not None and file.gone is not None and file.gone.besides:
            self.no(record, f"it was restored without: {', '.join(file.gone.besides)}")

    # --- folders -------------------------------------------------------------------------------------------------

    async def sweep(self, record: ChangeRecord) -> None:
        """Remove the folders that are empty by now and in the place of a file that comes back."""
        places = (record.path, record.to or record.path)
        await self._remove(
            [f for f in self._emptied if any(PurePath(f).is_relative_to(one) for one in places)]
        )

    async def finish(self, gone_by_hand: Iterable[Part]) -> None:
        """Remove all folders that are empty by now, and give those that came back what they may be.

        Args:
            gone_by_hand: The creation of files that are not there any more: the folders made for them go, too.
        """
        for one in gone_by_hand:
            self._emptied |= set(made_for(one.record, one.record.path))
        await self._remove(self._emptied)
        fresh = [(one, self._modes[one]) for one in self._modes if self._is_made(one)]
        modes = [(await self._context.workspace.folders.locate(one), mode) for one, mode in fresh]
        await self._context.workspace.editing.set_folder_modes(
            [(f, m) for f, m in modes if isinstance(f, Located)]
        )

    async def _remove(self, folders: Iterable[str]) -> None:
        if located := await self._located(folders):
            await self._context.workspace.editing.remove_folders(located)

    async def _bring_back(self, folders: Mapping[str, int]) -> None:
        """Make folders again; what they may be is said at the end, when all files are in them."""
        if folders:
            self._modes |= folders
            self._made |= await self._context.workspace.editing.make_folders(await self._located(folders))

    async def _located(self, folders: Iterable[str]) -> list[Located]:
        found = [await self._context.workspace.folders.locate(one) for one in folders]
        return [one for one in found if isinstance(one, Located)]

    def _is_made(self, folder: str) -> bool:
        return any(PurePath(folder).is_relative_to(made) for made in self._made)
