"""What others put on the disk while a command runs, as far as it is known here: saved buffers, and other sessions.

That is not the command's doing, and an undo of the command must not take it back. Not every editor tells in time that
it saved, and other processes tell only what they hold unsaved: where it may be theirs, it counts as nobody's.
"""

import time
from pathlib import Path

from outrider.tools.context import ToolContext
from outrider.workspace.change import Change
from outrider.workspace.documents import Document, uri_key
from outrider.workspace.encoding import BOM
from outrider.workspace.overlay import same_text

_CLOCK_STEP = 20_000_000
"""Nanoseconds by which the time of a file may be behind."""


class Meanwhile:
    """Listens from the moment it is made until it is asked to stop."""

    def __init__(self, context: ToolContext) -> None:
        """Begin to listen."""
        self._documents, self._editing, self._clock = context.documents, context.editing, context.clock
        self._saves = {uri_key(one.uri): one.saves for one in self._documents.all()}
        self._texts: dict[str, list[str | None]] = {}
        """What was put there, by the key of the URI; None where the file was taken away."""
        self._held: frozenset[Path] = frozenset()
        """Real paths that other processes held unsaved at the beginning."""
        self._shown: dict[str, dict[int, int]] = {}
        """When an open document first had a text, in nanoseconds since the epoch, by the key of the URI and of the text."""
        self._late = 0
        """Nanoseconds by which the editor may have told of a text after it saved it."""
        for document in self._documents.all():
            self._has(document, 0)
        self._stops = (
            self._documents.subscribe(self._happened),
            self._editing.subscribe(self._written),
        )

    async def hear_out(self) -> None:
        """Wait, after the command, for what an editor may be late to tell."""
        if (late := self._editing.late_seconds) > 0:
            await self._clock.sleep(late)
            self._late = int(late * 1e9)

    async def look(self) -> None:
        """See what other processes hold, before the command begins."""
        self._held = await self._editing.held_elsewhere()

    def stop(self) -> None:
        """Listen no longer."""
        for stop in self._stops:
            stop()

    def wrote(self, path: Path | None) -> bool:
        """Whether somebody else wrote the file of that path."""
        return path is not None and uri_key(path.as_uri()) in self._texts

    def is_theirs(self, path: Path | None, text: str | None) -> bool:
        """Whether what is there now is what somebody else put there, or nothing where they took it away."""
        for theirs in self._texts.get(uri_key(path.as_uri()), ()) if path is not None else ():
            if theirs is None or text is None:
                if theirs is text:
                    return True
            # Some editors end the last line on the disk alone.
            elif same_text(theirs, text) or same_text(f"{theirs}\n", text):
                return True
        return False

    def may_be_theirs(self, path: Path | None, text: str | None) -> bool:
        """Whether what is there now may be what somebody else put there, though nobody said so. Blocks.

        An editor that loads what the command wrote has the text later than the disk; one that saves has it before.
        """
        if path is None:
            return False
        if self.wrote(path) or path.resolve() in self._held:
            return True
        since = None if text is None else self._shown.get(uri_key(path.as_uri()), {}).get(_key(text))
        try:
            return since is not None and since <= path.stat().st_ctime_ns + _CLOCK_STEP + self._late
        except OSError:
            return True

    def _has(self, document: Document, since: int) -> None:
        self._shown.setdefault(uri_key(document.uri), {}).setdefault(_key(document.text), since)

    def _happened(self, uri: str) -> None:
        key, document = uri_key(uri), self._documents.get(uri)
        if document is None:
            self._saves.pop(key, None)
            return
        # A document that is opened has the text of a disk that the person looks at; one that comes back was loaded.
        self._has(document, time.time_ns() if key in self._shown else 0)
        if document.saves > self._saves.get(key, 0):
            self._texts.setdefault(key, []).append(document.text)
        self._saves[key] = document.saves

    def _written(self, change: Change) -> None:
        if change.located.path is not None:
            left = None if change.operation in {"delete", "rename"} else change.after
            self._texts.setdefault(uri_key(change.located.uri), []).append(left)
        if change.to is not None:
            self._texts.setdefault(uri_key(change.to.uri), []).append(change.after)


def _key(text: str) -> int:
    """What a text has in common with the ones that editors and the disk make of it."""
    return hash(text.removeprefix(BOM).replace("\r\n", "\n").removesuffix("\n"))
