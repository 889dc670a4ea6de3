"""Doing an edit: open documents through the editor, closed files on disk.

Nothing is written over a text that is not the one the change was worked out for, and nothing counts as done
until the text itself says so, whatever a client claims.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal
from weakref import WeakValueDictionary

from outrider.ports.clock import Clock
from outrider.ports.editor import Applied, DocumentEdit, Editor, FileOperation
from outrider.ports.text import Hunk, Snapshot
from outrider.workspace.disk import disk
from outrider.workspace.disk.disk import DiskProblem
from outrider.workspace.documents.documents import Document, DocumentStore, uri_key
from outrider.workspace.documents.overlay import (
    Overlay,
    ReadProblem,
    is_saved_as,
    read_text,
    same_text,
    why_read_only,
)
from outrider.workspace.documents.saving import told_of_edit
from outrider.workspace.documents.unsaved_elsewhere import HeldFiles
from outrider.workspace.edits import on_disk
from outrider.workspace.edits.change import Change, NotWritten, Written
from outrider.workspace.edits.verify import Landing, before_the_end, clashes, places_of, without_part
from outrider.workspace.paths import Located
from outrider.workspace.text.diff import line_hunks, text_hunks, unified
from outrider.workspace.text.encoding import BOM, Decoded
from outrider.workspace.text.merge import merge


class OneByOne:
    """The files that are being changed. A lock lasts while somebody has it or waits for it."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def alone(self, *files: Located) -> AsyncGenerator[None]:
        """Be the only one that changes these files; whoever is in must not ask for another."""
        async with AsyncExitStack() as stack:
            # In one order, so that two never wait for each other.
            for key in sorted({_key(file) for file in files}):
                await stack.enter_async_context(self._locks.setdefault(key, asyncio.Lock()))
            yield


def _key(file: Located) -> str:
    """What all names of a file have in common."""
    return str(file.resolved) if file.resolved is not None else uri_key(file.uri)


_CHANGED = "the file changed since the edit was computed"
PART_GONE = "the editor applied only a part of it, which was reverted"
PART_STAYS = "the editor applied only a part of an edit, which could not be completed or reverted"
"""What the model and the user are told where a part of an edit stays."""
WRONG_STAYS = "the editor applied the edit at the wrong place because the user typed at the same time, and this could not be corrected"
"""What the model and the user are told of an edit that took something away at a wrong place."""
DOUBTFUL = (
    "the editor reported the edit as applied, but the user typed at the same "
    "time, and the edit seems to be at the wrong place"
)
"""What the model and the user are told of an edit that may have done so."""
UNCLEAR = (
    "the editor reported the edit as applied, but the user typed at the same "
    "place, so it is not certain that all of it is there"
)
"""What the model is told of an edit that may be in the text."""
_WAYS: Final = (*("complete",) * 3, *("take back",) * 3, "tell")
"""How an edit at a wrong place is put right: each way once, and again while parts of it are applied."""
UNSAVED = "it is open with unsaved changes, which writing to disk would discard"
"""Why the file below a document is left alone."""


@dataclass(frozen=True, slots=True)
class _Wrong:
    """What is in a text of an edit that is not there as planned."""

    without: str
    """The text as it was found, but without it."""
    found: str
    back_kind: Literal["changed", "not_applied"]
    """What it is that all of it was taken out again."""
    back: str
    stays: str
    """What is said if it stays."""


class Editing:
    """The one place that writes files and has documents edited."""

    def __init__(
        self,
        overlay: Overlay,
        documents: DocumentStore,
        editor: Editor,
        clock: Clock,
        held: HeldFiles | None = None,
    ) -> None:
        """Get ready to write; `held` says what other processes hold open."""
        self._held = held
        self._overlay = overlay
        self._documents = documents
        self._editor = editor
        self._clock = clock
        self._one_by_one = OneByOne()
        self._listeners: dict[object, Callable[[Change], None]] = {}

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have `listener` called with every change that is on disk; gives what ends it."""
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    @property
    def late_seconds(self) -> float:
        """How late the editor may tell of what was typed and saved, without a word about the save."""
        return 0.0 if self._editor.traits.tells_saves else self._editor.traits.debounce_seconds

    async def held_elsewhere(self) -> frozenset[Path]:
        """The real paths of the files that other processes hold open unsaved."""
        return frozenset() if self._held is None else await asyncio.to_thread(self._held.elsewhere)

    async def write(self, change: Change, label: str) -> Written | NotWritten:
        """Do a change, and look whether it is done.

        Of several changes of one file each begins when the one before is over: an editor answers before it tells the
        new text, and a second edit would be worked out for the old one.

        Args:
            change: The change.
            label: What the editor's undo list calls it.
        """
        return (await self.write_all([change], label))[0]

    async def write_all(self, wanted: Sequence[Change], label: str) -> list[Written | NotWritten]:
        """Do changes of different files, each for itself, whatever becomes of the others.

        Edits of closed files go to the disk in one go: a way into a thread and back has its price.

        Args:
            wanted: The changes.
            label: What the editor's undo list calls them.
        """
        files = [one for change in wanted for one in (change.located, change.to) if one is not None]
        edited = [change.located for change in wanted if change.operation == "edit"]
        async with self._one_by_one.alone(*files), self._overlay.opened(edited):
            edits = [change for change in wanted if _is_edit_of_file(change)]
            documents = await self._overlay.documents_of([change.located for change in edits])
            closed = [one for one, document in zip(edits, documents, strict=True) if document is None]
            problems = await self._in_thread(closed) if closed else []
            done = {
                id(one): await self._ended(one, problem)
                for one, problem in zip(closed, problems, strict=True)
            }
            return [done.get(id(change)) or await self._write(change, label) for change in wanted]

    async def _write(self, change: Change, label: str) -> Written | NotWritten:
        if problem := unfit(change):
            return problem
        written = await self._do(change, label)
        path, mode, now = change.located.resolved, change.mode, change.mode_now
        if isinstance(written, Written) and path is not None and mode is not None and now is not None:
            await asyncio.to_thread(disk.set_mode, path, now, mode)
        return written

    async def _do(self, change: Change, label: str) -> Written | NotWritten:
        document = await self._overlay.document_of(change.located)
        if document is None:
            return await self._on_disk(change)
        if change.operation == "create" and change.under_document:
            return await self._below(change, document)
        match change.operation:
            case "create":
                return NotWritten("exists", "it is already open in the editor", document.text)
            case "edit" if self._editor.traits.can_apply_edits:
                return await self._in_buffer(change, document.uri, label)
            case _:
                return await self._under_buffer(change, document, label)

    async def why_stays(self, change: Change) -> str | None:
        """Why a file cannot be changed as it is now, whatever is at its new place; None: nothing is known of."""
        document = await self._overlay.document_of(change.located)
        if document is not None and change.operation == "edit" and self._editor.traits.can_apply_edits:
            return why_read_only(document.text)
        if document is not None and change.operation != "create":
            found = await asyncio.to_thread(read_text, change.located)
            if not isinstance(found, Decoded) or not is_saved_as(document.text, found.text):
                return UNSAVED
        problem = await asyncio.to_thread(on_disk.in_the_way, change, self._held)
        return f"{change.located.display} {problem.message}" if problem and problem.kind != "exists" else None

    async def _in_buffer(self, change: Change, uri: str, label: str) -> Written | NotWritten:
        before, planned = change.before or "", change.after or ""
        document = await self._told(uri)
        if document is None:
            return NotWritten("changed", "it was closed in the editor in the meantime")
        if document.text != before:
            return NotWritten("changed", _CHANGED, document.text)
        if reason := why_read_only(before):
            return NotWritten("unsupported", reason)
        # It would be in the text in another way than planned, or as what nothing can take back.
        if reason := why_read_only(planned):
            return NotWritten("unsupported", f"with this change {reason}")
        if before == planned:
            return Written("buffer", before, merged=False, uri=document.uri)
        applied, landing = await self._send(document, planned, text_hunks(before, planned), label)
        if landing.found is not None:
            merged = landing.found != planned
            return Written("buffer", landing.found, merged=merged, uri=document.uri, without=landing.into)
        if (misplaced := landing.misplaced) is not None:
            wrong = (
                _Wrong(before, misplaced.after, "not_applied", PART_GONE, PART_STAYS)
                if misplaced.typed == before
                else _Wrong(misplaced.typed, misplaced.after, "changed", _CHANGED, WRONG_STAYS)
            )
            return await self._put_right(change, document.uri, wrong, label)
        now = self._documents.get(uri)
        without = await asyncio.to_thread(without_part, before, planned, now.text) if now else None
        if now is not None and without is not None:
            if applied.claimed and await asyncio.to_thread(clashes, before, planned, without):
                return Written(
                    "buffer", now.text, merged=False, uri=document.uri, without=without, stays=UNCLEAR
                )
            wrong = _Wrong(without, now.text, "not_applied", PART_GONE, PART_STAYS)
            return await self._put_right(change, document.uri, wrong, label)
        if now is not None and applied.claimed:
            # Tried again, it could come to stand there twice, or be built on what it did at a wrong place.
            if await asyncio.to_thread(clashes, before, planned, now.text):
                return NotWritten("not_applied", UNCLEAR, now.text)
            if await asyncio.to_thread(landing.is_doubtful, now.text):
                self._warn(change, DOUBTFUL)
                return NotWritten("not_applied", DOUBTFUL, now.text)
        reason = f": {applied.reason}" if applied.reason else ""
        message = (
            "the editor reported the edit as applied, but its text does not show it"
            if applied.claimed
            else f"the editor did not apply the edit{reason}"
        )
        # The user typed while it was on its way: it can be worked out again for the text as it is now.
        kind = "changed" if now is not None and now.text != before else "not_applied"
        return NotWritten(kind, message, now.text if now else None)

    async def _told(self, uri: str) -> Document | None:
        """The document when the editor has told what the user typed, which an edit would else not meet."""
        if not await self._editor.catch_up([uri]) and self._editor.traits.debounce_seconds > 0:
            await self._clock.sleep(self._editor.traits.debounce_seconds)
        return self._documents.get(uri)

    async def _send(
        self, document: Document, planned: str, hunks: list[Hunk], label: str
    ) -> tuple[Applied, Landing]:
        """Have the editor apply hunks; gives its answer, and what became of them."""
        uri, encoding = document.uri, self._documents.encoding
        hunks = before_the_end(document.text, hunks)
        edit = DocumentEdit(uri, document.version, places_of(document.text, hunks, encoding))
        landing = Landing(document.text, planned, hunks, edit.edits, encoding)

        def done(now: Document | None) -> bool:
            if now is not None:
                landing.saw(now.text)
            return landing.is_known

        def look(changed: str, *, between: bool = False) -> None:
            if uri_key(changed) == uri_key(uri) and (now := self._documents.get(uri)) is not None:
                landing.saw(now.text, between=between)

        # From before it is sent: a text that was in place and was typed over at once was in place. Editors that
        # wait before they tell of a change send the edit and what was typed into it together.
        unsubscribe = self._documents.subscribe(look)
        leave = self._documents.subscribe(partial(look, between=True), between=True)
        try:
            applied = await self._editor.apply(label, [edit])
            landing.answered()
            if applied.claimed:
                await told_of_edit(self._editor, self._documents, self._clock, uri, done)
            else:
                done(self._documents.get(uri))
        finally:
            unsubscribe()
            leave()
        landing.conclude()
        return applied, landing

    async def _put_right(self, change: Change, uri: str, wrong: _Wrong, label: str) -> Written | NotWritten:
        """Complete an edit that is not in the text as planned, else take out what is there; else say what it is."""
        before, planned = change.before or "", change.after or ""
        theirs, found = wrong.without, wrong.found
        tried: set[str] = set()
        for way in _WAYS:
            if way in tried:
                continue
            tried.add(way)
            now = await self._told(uri)
            typed = await asyncio.to_thread(merge, found, now.text, theirs) if now else None
            if now is None or typed is None or typed.conflicts:
                return self._stays(change, wrong, theirs, found, now)
            theirs, found = typed.text, now.text
            if way == "tell":
                self._warn(change, wrong.stays)
                return Written("buffer", found, merged=False, uri=uri, without=theirs, stays=wrong.stays)
            both = await asyncio.to_thread(merge, before, theirs, planned)
            # Among lines that repeat, typing can look like the change itself.
            if way == "complete" and (both.conflicts or both.text == theirs):
                continue
            wanted = both.text if way == "complete" else theirs
            if wanted != found:
                # In small hunks, so that what somebody types between them is not in the way.
                applied, landing = await self._send(now, wanted, text_hunks(found, wanted), label)
                now = self._documents.get(uri)
                if (misplaced := landing.misplaced) is not None:
                    again = await asyncio.to_thread(merge, found, misplaced.typed, theirs)
                    if again.conflicts:
                        return self._stays(change, wrong, misplaced.typed, misplaced.after, now)
                    if misplaced.typed == found:
                        tried.discard(way)  # only a part of it was applied: so it gets on
                    theirs, found = again.text, misplaced.after
                    continue
                if landing.found is None:
                    if now is not None and applied.claimed and landing.is_doubtful(now.text):
                        return self._stays(change, wrong, theirs, found, now)
                    continue
                wanted = landing.found
            if way == "take back":
                return NotWritten(wrong.back_kind, wrong.back, wanted)
            without = theirs if wanted == both.text and theirs != before else None
            return Written("buffer", wanted, merged=wanted != planned, uri=uri, without=without)
        raise AssertionError("the last way always ends")

    def _stays(
        self, change: Change, wrong: _Wrong, without: str, found: str, now: Document | None
    ) -> NotWritten:
        """Say what is left in the text, where somebody typed into it, so that it belongs to both.

        The user is shown what stood there without it: they may have typed that, and it is nowhere else any more.
        """
        gone = "".join(hunk.removed for hunk in line_hunks(without, found)).rstrip()
        self._warn(change, f"{wrong.stays}. Without it the text was:\n{gone}" if gone else wrong.stays)
        did = unified(without, found, change.located.display)
        message = f"{wrong.stays}. It did this:\n{did}"
        return NotWritten("not_applied", message, now.text if now else None)

    def _warn(self, change: Change, problem: str) -> None:
        end = "" if "\n" in problem else "."
        self._editor.say("warning", f"Outrider: {change.located.shown}: {problem}{end}")

    async def _under_buffer(self, change: Change, document: Document, label: str) -> Written | NotWritten:
        """A change on disk of a file that is open: only while the buffer holds nothing else."""
        if change.operation in self._editor.traits.file_operations:
            await self._clock.sleep(self._editor.traits.debounce_seconds)
            document = self._documents.get(document.uri) or document
        if change.located.path is None:
            return NotWritten("unsupported", "the editor cannot apply edits, and the file is not on disk")
        if not is_saved_as(document.text, change.before or ""):
            return NotWritten("changed", _CHANGED, document.text)
        found = await asyncio.to_thread(read_text, change.located)
        exactly = found.text if isinstance(found, Decoded) else None
        if exactly is None or not is_saved_as(document.text, exactly):
            kind = "unsupported" if change.operation == "edit" else "changed"
            return NotWritten(kind, UNSAVED, document.text)
        after = change.after and _as_on_disk(change.after, exactly)
        exact = replace(change, before=exactly, after=after)
        if change.operation in self._editor.traits.file_operations:
            done = await self._by_editor(exact, document, label)
            if isinstance(done, Written) and done.after == exact.after:
                return replace(done, after=change.after)
            if done is not None:
                return done
        written = await self._on_disk(exact, found=change.after)
        if not isinstance(written, Written):
            return written
        unsaved = self._leaves_unsaved(change, document)
        return replace(written, merged=unsaved and change.operation != "edit")

    async def _below(self, change: Change, document: Document) -> Written | NotWritten:
        """Make a file below a document that is open without one."""
        written = await self._on_disk(change)
        now = self._documents.get(document.uri)
        if isinstance(written, Written) and now is not None and not same_text(now.text, change.after or ""):
            text = f"{change.located.shown} was restored on disk; the open buffer has unsaved changes."
            self._editor.say("warning", f"Outrider: {text}")
        return written

    def _leaves_unsaved(self, change: Change, document: Document) -> bool:
        """Mark a document whose file is another one now; else whether somebody typed in it meanwhile."""
        now = self._documents.get(document.uri)
        if now is None or now.saves != document.saves:
            return False  # it was closed, or has made the file again
        if change.operation == "edit" and now.text == change.after:
            return False  # it has loaded it
        if now.text == document.text:
            self._documents.set_outdated(document.uri)
            return False
        what = {
            "edit": "changed on disk",
            "create": "created",
            "delete": "deleted",
            "rename": f"renamed to {change.to.shown}" if change.to else "renamed",
        }[change.operation]
        text = f"{change.located.shown} was {what} while the user typed in it. The typed text is only in the editor, unsaved."
        self._editor.say("warning", f"Outrider: {text}")
        return True

    async def _by_editor(self, change: Change, document: Document, label: str) -> Written | NotWritten | None:
        """Have the editor rename or delete a file that is open; None: it did nothing, so it is done on disk."""
        to = change.to
        if to is not None and await self._overlay.document_of(to) is not None:
            if change.under_document:
                return None
            return NotWritten("exists", f"{to.shown} is already open in the editor")
        if (problem := await asyncio.to_thread(on_disk.in_the_way, change, self._held)) is not None:
            return await self._not_written(change, problem)
        missing = None if to is None else await asyncio.to_thread(on_disk.missing_folder, to)
        kind = "delete" if to is None else "rename"
        operation = FileOperation(kind, document.uri, document.version, to.uri if to else "")
        applied = await self._editor.operate(label, operation)
        # Editors that do it let go of the document; those that refuse it know of a change that is on its way.
        await self._documents.until(
            document.uri,
            lambda now: now is None or (not applied.claimed and now is not document),
            self._clock,
            self._editor.traits.settle_seconds,
        )
        if await asyncio.to_thread(on_disk.is_there, change):
            now = self._documents.get(document.uri)
            changed = now is not None and now.text != document.text
            return NotWritten("changed", _CHANGED, now.text if now else None) if changed else None
        unsaved = self._leaves_unsaved(change, document)
        await asyncio.to_thread(on_disk.move_folders, change)
        if to is None:
            return Written("disk", None, merged=unsaved)
        found = await self._overlay.read(to)
        if isinstance(found, ReadProblem):
            return NotWritten("failed", f"the editor removed it, and {found.message}")
        await self._as_it_was(change, to)
        same = same_text(found.text, change.after or "")
        after = change.after if same else found.text
        return Written("disk", after, merged=unsaved or not same, made_folder=missing)

    async def _as_it_was(self, change: Change, to: Located) -> None:
        """Take back what an editor that writes a file to rename it did to its last line: it was to be renamed."""
        after, found = change.after or "", await asyncio.to_thread(read_text, to)
        if isinstance(found, Decoded) and found.text != after and is_saved_as(after, found.text):
            back = Change("edit", to, None, found.text, after, found.encoding)
            await asyncio.to_thread(on_disk.write, back, self._held)

    async def remove_folders(self, folders: Sequence[Located]) -> None:
        """Remove folders of the workspace, those in which there is nothing."""
        await asyncio.to_thread(disk.remove_folders, [path for one in folders if (path := _own_path(one))])

    async def make_folders(self, folders: Sequence[Located]) -> set[str]:
        """Make those folders of the workspace that are missing; gives these, as they are shown."""
        paths = {path: one.display for one in folders if (path := _own_path(one))}
        return {paths[path] for path in await asyncio.to_thread(disk.make_folders, paths)}

    async def set_folder_modes(self, folders: Sequence[tuple[Located, int]]) -> None:
        """Give those folders of the workspace that are there their permission bits."""
        modes = {path: mode for one, mode in folders if (path := _own_path(one))}
        await asyncio.to_thread(disk.set_folder_modes, modes)

    async def _on_disk(self, change: Change, found: str | None = None) -> Written | NotWritten:
        if change.located.resolved is None:
            kind = "unsupported" if change.before is None else "missing"
            return NotWritten(kind, f"{change.located.shown} is not open in the editor")
        is_open = change.to is not None and await self._overlay.document_of(change.to) is not None
        if change.to is not None and is_open and not change.under_document:
            return NotWritten("exists", f"{change.to.shown} is already open in the editor")
        comes = change.operation in {"create", "rename"}
        missing = (
            await asyncio.to_thread(on_disk.missing_folder, change.to or change.located) if comes else None
        )
        (problem,) = await self._in_thread([change])
        return await self._ended(change, problem, found=found, made_folder=missing)

    async def _in_thread(self, wanted: Sequence[Change]) -> list[DiskProblem | None]:
        """Do changes on disk, in their order."""

        def write() -> list[DiskProblem | None]:
            return [on_disk.write(change, self._held) for change in wanted]

        work = asyncio.ensure_future(asyncio.to_thread(write))
        # A thread cannot be stopped: whoever cancels waits until it is known what is on disk.
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise

    async def _ended(
        self,
        change: Change,
        problem: DiskProblem | None,
        *,
        found: str | None = None,
        made_folder: str | None = None,
    ) -> Written | NotWritten:
        """What came of a change on disk; `found` is its text where it is seen in another way."""
        if problem is not None:
            return await self._not_written(change, problem)
        for listener in tuple(self._listeners.values()):
            listener(change)
        return Written(
            "disk", change.after if found is None else found, merged=False, made_folder=made_folder
        )

    async def _not_written(self, change: Change, problem: DiskProblem) -> NotWritten:
        located, is_place = change.located, problem.kind == "exists"
        if change.to is not None and problem.kind == "not_found":
            is_place = await asyncio.to_thread(on_disk.is_there, change)
        name = change.to.display if is_place and change.to else located.display
        message = f"{name} {problem.message}"
        match problem.kind:
            case "changed" | "exists":
                now = await self._overlay.read(located)
                return NotWritten(problem.kind, message, now.text if isinstance(now, Snapshot) else None)
            case "not_found" if not is_place and change.before is not None:
                return NotWritten("missing", message)
            case _:
                return NotWritten("failed", message)


def _as_on_disk(text: str, on_disk: str) -> str:
    """`text`, which replaces what `on_disk` holds, with that one's byte order mark and line ends."""
    if "\r\n" in on_disk and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return BOM + text if on_disk.startswith(BOM) and not text.startswith(BOM) else text


def _own_path(folder: Located) -> Path | None:
    """The real path of a folder, if it is one of the workspace."""
    return folder.resolved if folder.inside and not folder.own else None


def _is_edit_of_file(change: Change) -> bool:
    """Whether a change is one of the text alone, for which nothing but the file has to be looked at."""
    is_edit = change.operation == "edit" and change.located.resolved is not None
    return is_edit and change.mode is None and unfit(change) is None


def unfit(change: Change) -> NotWritten | None:
    """Why a change cannot be made, whatever is there; None: nothing is known of."""
    for located in (change.located, change.to):
        if located is not None and located.own:
            return NotWritten("unsupported", f"{located.shown} belongs to Outrider itself")
    if change.operation == "rename" and (change.to is None or change.to.resolved is None):
        return NotWritten("unsupported", "a file cannot get that name")
    try:
        (change.after or "").encode("utf-8")
    except UnicodeEncodeError:
        return NotWritten("failed", "the new text contains an unpaired surrogate")
    return None
