"""Doing an edit: open documents through the editor, closed files on the disk.

Nothing is written over a text that is not the one the change was worked out for, and nothing counts as done
until the text itself says so, whatever a client claims.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from outrider.ports.clock import Clock
from outrider.ports.editor import DocumentEdit, Editor
from outrider.ports.text import Hunk, PlacedEdit, Snapshot, TextEncoding
from outrider.workspace import disk
from outrider.workspace.diff import text_hunks
from outrider.workspace.disk import DiskProblem
from outrider.workspace.documents import Document, DocumentStore, Lines, uri_key
from outrider.workspace.encoding import BOM, Decoded, decode, encode
from outrider.workspace.held import HeldFiles
from outrider.workspace.merge import merge
from outrider.workspace.overlay import SIZE_LIMIT, Overlay, read_text, same_text, why_read_only
from outrider.workspace.paths import Located

_CHANGED = "the text is not the one the change was worked out for"
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


@dataclass(frozen=True, slots=True)
class Written:
    """A change that is in place, verified by its text."""

    where: Literal["buffer", "disk"]
    after: str | None
    """The text as it was found."""
    merged: bool
    """Whether it is not the planned one, because somebody typed meanwhile; both are in it."""
    uri: str = ""
    """Of the document that was changed, as the client spells it; empty for the disk."""


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
                return await self._under_buffer(change, document)

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
        seen: list[str] = []

        def done(now: Document | None) -> bool:
            if now is not None and not seen and is_in_place(before, planned, now.text):
                seen.append(now.text)
            return bool(seen)

        def look(changed: str) -> None:
            if uri_key(changed) == uri_key(uri):
                done(self._documents.get(uri))

        # From before it is sent: a text that was in place and was typed over at once was in place.
        unsubscribe = self._documents.subscribe(look)
        try:
            edit = DocumentEdit(document.uri, document.version, self._placed(before, hunks))
            applied = await self._editor.apply(label, [edit])
            settle = self._editor.traits.settle_seconds if applied.claimed else 0.0
            if not done(self._documents.get(uri)) and settle > 0:
                await self._documents.until(uri, done, self._clock, settle)
        finally:
            unsubscribe()
        if seen:
            return Written("buffer", seen[0], merged=seen[0] != planned, uri=document.uri)
        now = self._documents.get(uri)
        reason = f": {applied.reason}" if applied.reason else ""
        message = (
            "the editor said that the edit is applied, but its text does not show it"
            if applied.claimed
            else f"the editor did not apply the edit{reason}"
        )
        # The person typed while it was on its way: it can be worked out again for the text as it is now.
        kind = "changed" if now is not None and now.text != before else "not_applied"
        return NotWritten(kind, message, now.text if now else None)

    def _placed(self, text: str, hunks: list[Hunk]) -> list[PlacedEdit]:
        lines, encoding = Lines(text), self._documents.encoding
        return [
            PlacedEdit(lines.place_of(hunk.start, encoding), lines.place_of(hunk.end, encoding), hunk.new)
            for hunk in hunks
        ]

    async def _under_buffer(self, change: Change, document: Document) -> Written | NotWritten:
        """A change on the disk of a file that is open: only while the buffer holds nothing else."""
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
        return await self._on_disk(replace(change, before=on_disk, after=after), found=change.after)

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
    if change.operation == "create":
        new = encode(change.after or "", change.encoding)
        return disk.create(path, new, parents=change.located.inside) or _verify(path, new)
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
            return disk.delete(path, before)
        case "rename":
            if to is None:
                raise ValueError("a rename needs a new path")
            parents = change.to is not None and change.to.inside
            return disk.rename(path, to, before, parents=parents) or _verify(to, before)


def _verify(path: Path, content: bytes) -> DiskProblem | None:
    found = disk.read_bytes(path, len(content))
    if found == content:
        return None
    return DiskProblem("changed", "was changed by somebody else just after it was written")
