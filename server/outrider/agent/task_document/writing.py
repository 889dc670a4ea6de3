"""Puts the task document where the user reads it: into the editor's buffer where it is open, else into its file.

What an editor says of an edit proves nothing, so the text is looked at. Each time the new text is worked out from what is
there, and no edit follows one that was not seen yet: what was put in by half is put right by the next one.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from outrider.agent.task_document.page import taken_apart
from outrider.ports.clock import Clock
from outrider.ports.editor import DocumentEdit, Editor
from outrider.ports.text import PlacedEdit
from outrider.workspace.disk.disk import DiskProblem, read_bytes, replace
from outrider.workspace.documents.documents import Document, DocumentStore
from outrider.workspace.documents.saving import told_of_edit
from outrider.workspace.text.diff import text_hunks
from outrider.workspace.text.lines import Lines

MOST_BYTES = 10 * 1024 * 1024
MOST_ROUNDS = 3
"""Edits in a row that are made until the text is as wanted."""
LONG = 100_000
"""Characters from which on the new text is worked out beside the event loop."""
MOST_FAILURES = 2
"""Edits that come to nothing, before any was put in, after which the file is written instead."""

Renew = Callable[[str], str]


class Writing:
    """The one that writes."""

    def __init__(
        self, documents: DocumentStore, editor: Editor, clock: Clock, what: str = "task document"
    ) -> None:
        """Write into `documents` through `editor`, or onto the disk; `what` names the document to the user."""
        self._label = f"Outrider: {what}"
        self._documents = documents
        self._editor = editor
        self._clock = clock
        self._failures = 0
        self._has_taken = False
        """Whether it ever put an edit in: then one that it does not is in the way of what the user does, or comes late."""
        self._unseen: tuple[int, str] | None = None
        """Version and text into which an edit was put that the editor has not told of."""
        self._written = ""
        """The file as it was written last: what else is found in it somebody saved."""
        self.has_to_wait = False
        """Whether it is not up to date yet, and may be a little later."""

    @property
    def takes_edits(self) -> bool:
        """Whether the editor is believed to put edits into the document."""
        is_believed = self._has_taken or self._failures < MOST_FAILURES
        return self._editor.traits.can_apply_edits and is_believed

    def opened_anew(self) -> None:
        """The editor may do better now."""
        self._failures, self._unseen = 0, None

    async def put(self, path: Path, renew: Renew) -> str | None:
        """Bring the document up to date.

        Args:
            path: Its file, which exists.
            renew: Gives the new text for one that is there; where that is long, in a thread.

        Returns:
            Why it is not, if it is not and waiting does not help.
        """
        self.has_to_wait = False
        uri = path.as_uri()
        for _ in range(MOST_ROUNDS):
            document = self._documents.get(uri)
            if document is None or not self.takes_edits:
                break
            wanted = await _wanted(renew, document.text)
            if self._documents.get(uri) != document:
                continue
            if wanted == document.text:
                return None
            if not await self._edit(document, wanted):
                return None
        document = self._documents.get(uri)
        if document is not None and self.takes_edits:
            self.has_to_wait = await _wanted(renew, document.text) != document.text  # somebody types
            return None
        return await asyncio.to_thread(self._write, path, renew, None if document is None else document.text)

    async def _edit(self, document: Document, wanted: str) -> bool:
        """Make the buffer as wanted; whether to go on at once."""
        claimed = self._unseen == (document.version, document.text)
        if not claimed:
            lines, encoding = Lines(document.text), self._documents.encoding
            placed = [
                PlacedEdit(lines.place_of(hunk.start, encoding), lines.place_of(hunk.end, encoding), hunk.new)
                for hunk in text_hunks(document.text, wanted)
            ]
            edit = DocumentEdit(document.uri, document.version, placed)
            claimed = (await self._editor.apply(self._label, [edit])).claimed

        def is_changed(now: Document | None) -> bool:
            return now is None or now.text != document.text

        if claimed:
            told = await told_of_edit(self._editor, self._documents, self._clock, document.uri, is_changed)
        else:  # what was typed there may have been in its way, and is named now
            seconds = self._editor.traits.settle_seconds
            told = await self._documents.until(document.uri, is_changed, self._clock, seconds)
        now = self._documents.get(document.uri)
        if claimed and told:
            self._unseen = None
            self._has_taken = self._has_taken or now is not None
            self._failures = 0
            return True
        if claimed:
            self._unseen = (document.version, document.text)
        elif told and (now is None or now.text != wanted):
            return True
        self._failures += 1  # one that is put in and never answered for holds up all others
        self.has_to_wait = claimed and self.takes_edits
        return not self.has_to_wait

    def _write(self, path: Path, renew: Renew, buffer: str | None) -> str | None:
        """Write the file. What is in the buffer of an editor that takes no edits is in it, unsaved or not. Blocks."""
        if path.parent.is_symlink() or path.is_symlink():
            return "is a link; links are not followed"
        before = read_bytes(path, MOST_BYTES)
        if isinstance(before, DiskProblem):
            return before.message
        try:
            saved = before.decode("utf-8")
        except UnicodeDecodeError:
            return "is not UTF-8 text"
        after = renew(saved if buffer is None else _with_saved(buffer, saved, self._written))
        content = after.encode("utf-8", "replace")
        problem = replace(path, before, content) if content != before else None
        if problem is None:
            self._written = after
        return None if problem is None else problem.message


async def _wanted(renew: Renew, text: str) -> str:
    return renew(text) if len(text) < LONG else await asyncio.to_thread(renew, text)


def _with_saved(buffer: str, saved: str, known: str) -> str:
    """A buffer with what another editor saved below the mark."""
    if saved == known:
        return buffer
    here = {line.strip() for line in taken_apart(buffer).draft.splitlines()}
    new = [
        line for line in taken_apart(saved).draft.splitlines() if line.strip() and line.strip() not in here
    ]
    if not new:
        return buffer
    end = "" if not buffer or buffer.endswith("\n") else "\n"
    return f"{buffer}{end}" + "".join(f"{line}\n" for line in new)
