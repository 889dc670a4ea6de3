"""Doing an edit: open documents through the editor, closed files on the disk.

Nothing is written over a text that is not the one the change was worked out for, and nothing counts as done
until the text itself says so, whatever a client claims.
"""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from outrider.ports.clock import Clock
from outrider.ports.editor import Applied, DocumentEdit, Editor, FileOperation
from outrider.ports.text import Hunk, PlacedEdit, Snapshot, TextEncoding
from outrider.workspace import disk
from outrider.workspace.diff import text_hunks
from outrider.workspace.disk import DiskProblem, folder_files
from outrider.workspace.documents import Document, DocumentStore, Lines, uri_key
from outrider.workspace.encoding import BOM, Decoded, decode, encode
from outrider.workspace.held import HeldFiles
from outrider.workspace.merge import merge
from outrider.workspace.overlay import SIZE_LIMIT, Overlay, ReadProblem, read_text, same_text, why_read_only
from outrider.workspace.paths import Located

_CHANGED = "the text is not the one the change was worked out for"
PART_GONE = "the editor applied only a part of it, which is taken back"
PART_STAYS = "the editor applied only a part of an edit, and let it neither be completed nor be taken back"
"""What the model and the person are told where a part of an edit stays."""
UNCLEAR = (
    "the editor said that the edit is applied, but somebody typed at the same place at once, "
    "so the text does not show whether all of it is there"
)
"""What the model is told of an edit that may be in the text."""
_UNSAVED = "it is open with unsaved changes, which the change on the disk would leave out"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one file, worked out in full."""

    operation: Literal["edit", "create", "delete", "rename"]
    located: Located
    to: Located | None
    """The new place of a rename."""
    before: str | None
    """The text it was worked out for; None: there must be no file."""
    after: str | None
    """The text it leaves, written exactly so; None: no file."""
    encoding: TextEncoding = "utf-8"
    """How a file that it makes, or takes away, holds its text. An edit keeps what it finds."""
    mode: int | None = None
    """Permission bits of such a file, where they are not those of any new one."""
    folder: Located | None = None
    """The folder that goes with the last file in it: with any other file in it nothing is done."""


@dataclass(frozen=True, slots=True)
class Written:
    """A change that is in place, verified by its text."""

    where: Literal["buffer", "disk"]
    after: str | None
    """The text as it was found."""
    merged: bool
    """Whether it is not the planned one, because somebody typed meanwhile; both are in it.

    Of a file that was taken away with the planned text: what they typed is left in its buffer, unsaved.
    """
    uri: str = ""
    """Of the document that was changed, as the client spells it; empty for the disk."""
    without: str | None = None
    """Where only a part of the change is in place, and stays: the text as it was found, but without that part."""


@dataclass(frozen=True, slots=True)
class NotWritten:
    """A change that did not happen."""

    kind: Literal["changed", "exists", "missing", "not_applied", "unsupported", "failed"]
    message: str
    current: str | None = None
    """The text as it is now, where that helps."""


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
        self._listeners: dict[object, Callable[[Change], None]] = {}

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have `listener` called with every change that is on the disk; gives what ends it."""
        key = object()
        self._listeners[key] = listener

        def unsubscribe() -> None:
            self._listeners.pop(key, None)

        return unsubscribe

    async def write(self, change: Change, label: str) -> Written | NotWritten:
        """Do a change, and look whether it is done.

        Args:
            change: The change.
            label: What the editor's undo list calls it.
        """
        if problem := _unfit(change):
            return problem
        document = await self._overlay.document_of(change.located)
        if document is None:
            return await self._on_disk(change)
        match change.operation:
            case "create":
                return NotWritten("exists", "it is open in the editor already", document.text)
            case "edit" if self._editor.traits.can_apply_edits:
                return await self._in_buffer(change, document.uri, label)
            case _:
                return await self._under_buffer(change, document, label)

    async def _in_buffer(self, change: Change, uri: str, label: str) -> Written | NotWritten:
        before, planned = change.before or "", change.after or ""
        if self._editor.traits.debounce_seconds > 0:
            # What the person typed may not have been sent yet; an edit would then meet another text.
            await self._clock.sleep(self._editor.traits.debounce_seconds)
        document = self._documents.get(uri)
        if document is None:
            return NotWritten("changed", "it was closed in the editor meanwhile")
        if document.text != before:
            return NotWritten("changed", _CHANGED, document.text)
        if reason := why_read_only(before):
            return NotWritten("unsupported", reason)
        hunks = text_hunks(before, planned)
        if not hunks:
            return Written("buffer", before, merged=False, uri=document.uri)
        applied, found = await self._send(document, planned, hunks, label)
        if found is not None:
            return Written("buffer", found, merged=found != planned, uri=document.uri)
        now = self._documents.get(uri)
        if now is not None and await asyncio.to_thread(without_part, before, planned, now.text) is not None:
            return await self._repair(change, document.uri, label)
        if (
            now is not None
            and applied.claimed
            and await asyncio.to_thread(_clashes, before, planned, now.text)
        ):
            # Tried again, it could come to stand there twice.
            return NotWritten("not_applied", UNCLEAR, now.text)
        reason = f": {applied.reason}" if applied.reason else ""
        message = (
            "the editor said that the edit is applied, but its text does not show it"
            if applied.claimed
            else f"the editor did not apply the edit{reason}"
        )
        # The person typed while it was on its way: it can be worked out again for the text as it is now.
        kind = "changed" if now is not None and now.text != before else "not_applied"
        return NotWritten(kind, message, now.text if now else None)

    async def _send(
        self, document: Document, planned: str, hunks: list[Hunk], label: str
    ) -> tuple[Applied, str | None]:
        """Have the editor apply hunks; gives its answer, and the text in which they were found."""
        uri, seen = document.uri, list[str]()

        def done(now: Document | None) -> bool:
            if now is not None and not seen and is_in_place(document.text, planned, now.text):
                seen.append(now.text)
            return bool(seen)

        def look(changed: str) -> None:
            if uri_key(changed) == uri_key(uri):
                done(self._documents.get(uri))

        def glance(changed: str) -> None:
            now = self._documents.get(uri) if uri_key(changed) == uri_key(uri) else None
            if now is not None and not seen and now.text == planned:
                seen.append(planned)

        # From before it is sent: a text that was in place and was typed over at once was in place. Editors that
        # wait before they tell of a change send the edit and what was typed into it together.
        unsubscribe = self._documents.subscribe(look)
        leave = self._documents.subscribe(glance, between=True)
        try:
            edit = DocumentEdit(uri, document.version, self._placed(document.text, hunks))
            applied = await self._editor.apply(label, [edit])
            settle = self._editor.traits.settle_seconds if applied.claimed else 0.0
            if not done(self._documents.get(uri)) and settle > 0:
                await self._documents.until(uri, done, self._clock, settle)
        finally:
            unsubscribe()
            leave()
        return applied, seen[0] if seen else None

    async def _repair(self, change: Change, uri: str, label: str) -> Written | NotWritten:
        """Complete an edit of which a part is in the text, else take the part back; else say what is there."""
        before, planned = change.before or "", change.after or ""
        for way in ("complete", "take back", "tell"):
            now = self._documents.get(uri)
            without = await asyncio.to_thread(without_part, before, planned, now.text) if now else None
            if now is None or without is None:
                return NotWritten("not_applied", PART_GONE, now.text if now else None)
            if way == "tell":
                self._editor.say("warning", f"Outrider: {change.located.display}: {PART_STAYS}.")
                return Written("buffer", now.text, merged=False, uri=uri, without=without)
            merged = merge(before, without, planned)
            wanted = merged.text if way == "complete" else without
            if wanted == now.text or (way == "complete" and merged.conflicts):
                continue
            # In one piece, of which there is no part.
            _, found = await self._send(now, wanted, [_in_one(now.text, wanted)], label)
            if found is not None and way == "complete":
                return Written("buffer", found, merged=found != planned, uri=uri)
            if found is not None:
                return NotWritten("not_applied", PART_GONE, found)
        raise AssertionError("the last way always ends")

    def _placed(self, text: str, hunks: list[Hunk]) -> list[PlacedEdit]:
        lines, encoding = Lines(text), self._documents.encoding
        return [
            PlacedEdit(lines.place_of(hunk.start, encoding), lines.place_of(hunk.end, encoding), hunk.new)
            for hunk in hunks
        ]

    async def _under_buffer(self, change: Change, document: Document, label: str) -> Written | NotWritten:
        """A change on the disk of a file that is open: only while the buffer holds nothing else."""
        if change.operation in self._editor.traits.file_operations:
            await self._clock.sleep(self._editor.traits.debounce_seconds)
            document = self._documents.get(document.uri) or document
        if change.located.path is None:
            return NotWritten(
                "unsupported", "the editor cannot be told to change it, and it is not on the disk"
            )
        if not same_text(document.text, change.before or ""):
            return NotWritten("changed", _CHANGED, document.text)
        found = await asyncio.to_thread(read_text, change.located)
        on_disk = found.text if isinstance(found, Decoded) else None
        if on_disk is None or not same_text(document.text, on_disk):
            kind = "unsupported" if change.operation == "edit" else "changed"
            return NotWritten(kind, _UNSAVED, document.text)
        after = change.after and _as_on_disk(change.after, on_disk)
        exact = replace(change, before=on_disk, after=after)
        if change.operation in self._editor.traits.file_operations:
            done = await self._by_editor(exact, document, label)
            if done is not None:
                return done
        written = await self._on_disk(exact, found=change.after)
        if isinstance(written, Written) and change.operation in {"delete", "rename"}:
            return replace(written, merged=self._leaves_unsaved(change, document))
        return written

    def _leaves_unsaved(self, change: Change, document: Document) -> bool:
        """Mark a document whose file was taken away; else whether somebody typed in it meanwhile."""
        now = self._documents.get(document.uri)
        if now is None or now.saves != document.saves:
            return False  # it was closed, or has made the file again
        if now.text == document.text:
            self._documents.set_gone(document.uri, gone=True)
            return False
        what = "deleted" if change.to is None else f"renamed to {change.to.display}"
        text = f"{change.located.display} was {what} while somebody typed in it. What they wrote is only in the editor, unsaved."
        self._editor.say("warning", f"Outrider: {text}")
        return True

    async def _by_editor(self, change: Change, document: Document, label: str) -> Written | NotWritten | None:
        """Have the editor rename or delete a file that is open; None: it did nothing, so it is done on the disk."""
        to = change.to
        if to is not None and await self._overlay.document_of(to) is not None:
            return NotWritten("exists", f"{to.display} is open in the editor already")
        if (problem := await asyncio.to_thread(_in_the_way, change, self._held)) is not None:
            return await self._not_written(change, problem)
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
        if await asyncio.to_thread(_is_there, change):
            now = self._documents.get(document.uri)
            changed = now is not None and now.text != document.text
            return NotWritten("changed", _CHANGED, now.text if now else None) if changed else None
        unsaved = self._leaves_unsaved(change, document)
        if change.folder is not None:
            await asyncio.to_thread(_sweep, change.folder)
        if to is None:
            return Written("disk", None, merged=unsaved)
        found = await self._overlay.read(to)
        if isinstance(found, ReadProblem):
            return NotWritten("failed", f"the editor took it away, and {found.message}")
        same = same_text(found.text, change.after or "")
        return Written("disk", change.after if same else found.text, merged=unsaved or not same)

    async def sweep(self, folder: Located) -> None:
        """Remove a folder of the workspace in which there are only empty ones."""
        if folder.inside and not folder.own:
            await asyncio.to_thread(_sweep, folder)

    async def _on_disk(self, change: Change, found: str | None = None) -> Written | NotWritten:
        if change.located.resolved is None:
            kind = "unsupported" if change.before is None else "missing"
            return NotWritten(kind, f"{change.located.display} is not open in the editor")
        if change.to is not None and await self._overlay.document_of(change.to) is not None:
            return NotWritten("exists", f"{change.to.display} is open in the editor already")
        work = asyncio.ensure_future(asyncio.to_thread(_write, change, self._held))
        # A thread cannot be stopped: whoever cancels waits until it is known what is on the disk.
        try:
            problem = await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])
            raise
        if problem is not None:
            return await self._not_written(change, problem)
        for listener in tuple(self._listeners.values()):
            listener(change)
        self._documents.set_gone((change.to or change.located).uri, gone=False)
        return Written("disk", change.after if found is None else found, merged=False)

    async def _not_written(self, change: Change, problem: DiskProblem) -> NotWritten:
        name = change.to.display if problem.kind == "exists" and change.to else change.located.display
        message = f"{name} {problem.message}"
        match problem.kind:
            case "changed" | "exists":
                now = await self._overlay.read(change.located)
                return NotWritten(problem.kind, message, now.text if isinstance(now, Snapshot) else None)
            case "not_found":
                return NotWritten("missing" if change.before is not None else "failed", message)
            case _:
                return NotWritten("failed", message)


def is_in_place(before: str, planned: str, now: str) -> bool:
    """Whether the change from `before` to `planned` is in `now`, a text that others may have changed as well."""
    if now == planned:
        return True
    merged = merge(before, now, planned)
    if not merged.conflicts and merged.text != now:
        return False  # bringing it in would still change something
    others = text_hunks(planned, now)
    # Among lines that repeat, an absent change can look like a present one and some typing; it is farther away.
    if _size(others) >= _size(text_hunks(before, now)):
        return False
    shift = 0
    for hunk in text_hunks(before, planned):
        start = hunk.start + shift
        end = start + len(hunk.new)
        shift += len(hunk.new) - len(hunk.old)
        for other in others:
            if hunk.new and other.start < end and other.end > start:
                return False
            # Of a deletion nothing is left to be seen, unless the text is still there.
            if not hunk.new and other.start <= start <= other.end and hunk.old in other.new:
                return False
    return True


def _clashes(before: str, planned: str, now: str) -> bool:
    """Whether others changed `before` where the change to `planned` does."""
    return now != before and bool(merge(before, now, planned).conflicts)


def without_part(before: str, planned: str, now: str) -> str | None:
    """`now` without those hunks of the change from `before` to `planned` that are in it; None: there are none.

    What others changed stays. Only for a change that is not in place as a whole.
    """
    if now == before:
        return None
    hunks = text_hunks(before, planned)
    there = [hunk for hunk in hunks if is_in_place(before, _with(before, [hunk]), now)]
    part = _with(before, there)
    if not there or not is_in_place(before, part, now):
        return None
    others = text_hunks(part, now)
    back: list[Hunk] = []
    shift = 0
    for hunk in there:
        start = hunk.start + shift
        shift += len(hunk.new) - len(hunk.old)
        # Nothing of the others is in the hunk, so it is whole, as far away as what they put before it.
        start += sum(len(other.new) - len(other.old) for other in others if other.end <= start)
        back.append(Hunk(start, start + len(hunk.new), hunk.new, hunk.old))
    return _with(now, back)


def _with(text: str, hunks: list[Hunk]) -> str:
    for hunk in reversed(hunks):
        text = text[: hunk.start] + hunk.new + text[hunk.end :]
    return text


def _in_one(before: str, after: str) -> Hunk:
    """The one hunk that makes `before` to `after`, which differ."""
    hunks = text_hunks(before, after)
    start, end = hunks[0].start, hunks[-1].end
    return Hunk(start, end, before[start:end], after[start : len(after) - len(before) + end])


def _size(hunks: list[Hunk]) -> int:
    return sum(len(hunk.old) + len(hunk.new) for hunk in hunks)


def _unfit(change: Change) -> NotWritten | None:
    for located in (change.located, change.to):
        if located is not None and located.own:
            return NotWritten("unsupported", f"{located.display} belongs to Outrider itself")
    if change.operation == "rename" and (change.to is None or change.to.resolved is None):
        return NotWritten("unsupported", "a file cannot get that name")
    try:
        (change.after or "").encode("utf-8")
    except UnicodeEncodeError:
        return NotWritten("failed", "the new text holds half a character (a lone surrogate)")
    return None


def _as_on_disk(text: str, on_disk: str) -> str:
    """`text`, which replaces what `on_disk` holds, with that one's byte order mark and line ends."""
    if "\r\n" in on_disk and "\r" not in text:
        text = text.replace("\n", "\r\n")
    return BOM + text if on_disk.startswith(BOM) and not text.startswith(BOM) else text


def _write(change: Change, held: HeldFiles | None) -> DiskProblem | None:
    """Do a change on the disk and look whether it is there. Blocks."""
    path, to = change.located.resolved, change.to.resolved if change.to else None
    if path is None:
        raise ValueError("a change on the disk needs a path")
    if problem := _in_the_way(change, held):
        return problem
    if change.operation == "create":
        new = encode(change.after or "", change.encoding)
        made = disk.create(path, new, parents=change.located.inside, mode=change.mode)
        return made or _verify(path, new)
    before = disk.read_bytes(path, SIZE_LIMIT)
    if isinstance(before, DiskProblem):
        return before
    decoded = decode(before)
    if not isinstance(decoded, Decoded) or decoded.text != change.before:
        return DiskProblem("changed", disk.CHANGED)
    match change.operation:
        case "edit":
            new = encode(change.after or "", decoded.encoding)
            return disk.replace(path, before, new) or _verify(path, new)
        case "delete":
            problem = disk.delete(path, before)
        case "rename":
            if to is None:
                raise ValueError("a rename needs a new path")
            parents = change.to is not None and change.to.inside
            problem = disk.rename(path, to, before, parents=parents) or _verify(to, before)
    if problem is None and change.folder is not None:
        _sweep(change.folder)
    return problem


def _in_the_way(change: Change, held: HeldFiles | None) -> DiskProblem | None:
    """What a change would do harm to, as far as it can be seen before. Blocks."""
    path, to = change.located.resolved, change.to.resolved if change.to else None
    for one in (path, to):
        if held is not None and one is not None and (holder := held.holder(one)) is not None:
            name = (
                ""
                if one == path or change.to is None
                else f"would take the place of {change.to.display}, which "
            )
            return DiskProblem("failed", f"{name}has unsaved changes in another editor (process {holder})")
    if change.operation in {"delete", "rename"} and change.located.path and change.located.path.is_symlink():
        return DiskProblem("failed", "is a link; neither it nor what it points to is touched")
    if to is not None and os.path.lexists(to):
        return DiskProblem("exists", "exists already")
    if change.folder is not None and path is not None and change.folder.resolved is not None:
        others = folder_files(change.folder.resolved, 2)
        if isinstance(others, DiskProblem) or others != [path]:
            return DiskProblem("changed", f"is not the last file of {change.folder.display} any more")
    return None


def _is_there(change: Change) -> bool:
    """Whether a file is still where a rename or a deletion found it. Blocks."""
    return change.located.resolved is not None and os.path.lexists(change.located.resolved)


def _sweep(folder: Located) -> None:
    """Remove a folder in which there are only empty ones. Blocks."""
    if folder.resolved is not None:
        disk.remove_empty(folder.resolved)


def _verify(path: Path, content: bytes) -> DiskProblem | None:
    found = disk.read_bytes(path, len(content))
    if found == content:
        return None
    return DiskProblem("changed", "was changed by somebody else just after it was written")
