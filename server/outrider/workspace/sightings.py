"""Looks whether files still hold the texts that somebody knows: cheap marks first, a text only where its mark moved.

What is open counts as it is in the buffer, all else as it is on the disk. Nothing here blocks the loop, and the
whole look is bounded in time: what could not be looked at is looked at the next time.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from outrider.ports.clock import Clock
from outrider.ports.model import content_hash
from outrider.ports.text import Snapshot
from outrider.workspace.documents import Document, DocumentStore
from outrider.workspace.marks import Mark, mark_of
from outrider.workspace.overlay import Overlay, ReadProblem
from outrider.workspace.paths import Folders, Located, PathProblem

log = logging.getLogger(__name__)

MOST_FILES = 200
"""Files that are looked at; those that were known last."""
MOST_CHANGED = 20
"""Changed files that one look gives; the others are found by the next one."""
LOOK_SECONDS = 2.0
"""How long a look may take."""


@dataclass(frozen=True, slots=True)
class Moved:
    """A file that does not hold the known text any more."""

    path: str
    text: str | None
    """What it holds now; None where there is no text."""
    hash: str | None
    """Its content hash."""
    where: Literal["editor", "disk"]
    why_not: str = ""
    """Why its text cannot be read, where the file is there."""


@dataclass(slots=True)
class _Known:
    """The text of a file at a mark."""

    located: Located
    mark: Mark | Document
    """A document stands for itself: it is another object after every change."""
    hash: str | None


class Sightings:
    """The texts of files, as they were when they were last looked at."""

    def __init__(self, folders: Folders, overlay: Overlay, documents: DocumentStore, clock: Clock) -> None:
        self._folders = folders
        self._overlay = overlay
        self._documents = documents
        self._clock = clock
        self._known: dict[str, _Known] = {}
        self._open: tuple[str, ...] = ()

    async def moved(self, expected: Mapping[str, str | None]) -> list[Moved]:
        """The files that hold something else than is expected of them.

        Args:
            expected: The content hash of each file's text, by path, None where there is none; those that matter
                most come last.
        """
        paths = list(expected)[-MOST_FILES:]
        try:
            async with self._clock.timeout(LOOK_SECONDS):
                return await self._moved(paths, expected)
        except TimeoutError:
            log.warning("the files that the model has seen could not be looked at in %g s", LOOK_SECONDS)
            return []

    async def _moved(self, paths: Sequence[str], expected: Mapping[str, str | None]) -> list[Moved]:
        uris = self._documents.uris()
        if uris != self._open:
            # A file may be open under another path than ours; only the overlay can tell.
            self._known.clear()
            self._open = uris
        moved: list[Moved] = []
        for path in await self._in_doubt(paths, expected):
            if (one := await self._look(path, expected[path])) is not None:
                moved.append(one)
                if len(moved) == MOST_CHANGED:
                    break
        return moved

    async def _in_doubt(self, paths: Sequence[str], expected: Mapping[str, str | None]) -> list[str]:
        """The paths whose texts have to be read to know."""
        doubtful: set[str] = set()
        on_disk: list[tuple[str, _Known, Mark]] = []
        for path in paths:
            known = self._known.get(path)
            if known is None or known.hash != expected[path]:
                doubtful.add(path)
            elif isinstance(known.mark, Mark):
                document = self._documents.get(known.located.uri)
                if document is not None and not document.outdated:
                    doubtful.add(path)  # somebody went on in it, so that it counts again
                else:
                    on_disk.append((path, known, known.mark))
            elif self._documents.get(known.mark.uri) is not known.mark:
                doubtful.add(path)

        def look() -> list[str]:
            return [
                path
                for path, known, mark in on_disk
                if known.located.path is None or not mark.holds(mark_of(known.located.path))
            ]

        if on_disk:
            doubtful.update(await asyncio.to_thread(look))
        return [path for path in paths if path in doubtful]

    def note(self, path: str, located: Located, text: str, digest: str) -> None:
        """Take in what a change left in an open document, so that it need not be looked at.

        Args:
            path: The file, as the model knows it.
            located: Where it is.
            text: The text that the change left.
            digest: Its content hash.
        """
        document = self._documents.get(located.uri)
        if document is not None and not document.outdated and document.text == text:
            self._known[path] = _Known(located, document, digest)

    def hash_of(self, path: str, text: str) -> str | None:
        """The content hash of a document's text, if it had that text when it was last looked at."""
        known = self._known.get(path)
        is_same = known is not None and isinstance(known.mark, Document) and known.mark.text == text
        return known.hash if known is not None and is_same else None

    async def _look(self, path: str, expected: str | None) -> Moved | None:
        def find() -> tuple[Located | PathProblem, Mark]:
            located = self._folders.locate_now(path)
            place = located.path if isinstance(located, Located) else None
            return located, Mark((), is_firm=True) if place is None else mark_of(place)

        located, before = await asyncio.to_thread(find)
        if not isinstance(located, Located) or located.own:
            return None
        found = await self._overlay.read(located)
        document = self._documents.get(found.uri) if isinstance(found, Snapshot) else None
        if isinstance(found, ReadProblem) and found.kind == "vanished":
            return None  # the whole folder: that is not a word about this file
        text = found.text if isinstance(found, Snapshot) else None
        digest = None if text is None else await _hash(text)
        in_buffer = document is not None and not document.outdated and document.text == text
        self._known[path] = _Known(located, document if document and in_buffer else before, digest)
        if digest == expected:
            return None
        why_not = found.message if isinstance(found, ReadProblem) and found.kind != "not_found" else ""
        return Moved(path, text, digest, "editor" if in_buffer else "disk", why_not)


async def _hash(text: str) -> str:
    if len(text) < 100_000:
        return content_hash(text.encode("utf-8", "surrogatepass"))
    return await asyncio.to_thread(lambda: content_hash(text.encode("utf-8", "surrogatepass")))
