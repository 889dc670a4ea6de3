"""Looks whether files still hold the texts that somebody knows: cheap marks first, a text only where its mark moved.

What is open counts as it is in the buffer, all else as it is on disk. Nothing here blocks the loop, and the
whole look is bounded in time: what could not be looked at is looked at the next time.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from outrider.ports.clock import Clock
from outrider.ports.model import content_hash
from outrider.ports.text import Snapshot, bytes_spelled_out
from outrider.workspace.disk.file_stat import Mark, mark_of
from outrider.workspace.documents.documents import Document, DocumentStore
from outrider.workspace.documents.overlay import Below, Overlay, ReadProblem
from outrider.workspace.paths import Folders, Located
from outrider.workspace.search import SearchProblem
from outrider.workspace.watch.snapshot import Census, Count, differences

log = logging.getLogger(__name__)

MOST_FILES = 200
"""Files that are looked at; those that were known last."""
MOST_CHANGED = 20
"""Changed files that one look gives; the others are found by the next one."""
NEWEST_FILES = 20
"""Files that each look includes; those that were known last."""
FRESH_SECONDS = 0.25
"""How long a mark counts for the other files: with a fast model there are many looks in that time."""
LOOK_SECONDS = 2.0
"""How long a look may take."""
_AT_ONCE = 20
"""Files that are read in one go; of a look that takes too long those before it are known."""


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
    looked_at: float = 0.0
    """When its mark was last compared."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What is on disk of a file, at a mark that was taken before."""

    path: str
    located: Located
    mark: Mark
    below: Below | None


class Sightings:
    """The texts of files, as they were when they were last looked at."""

    def __init__(
        self, folders: Folders, overlay: Overlay, documents: DocumentStore, clock: Clock, census: Census
    ) -> None:
        self._folders = folders
        self._overlay = overlay
        self._documents = documents
        self._clock = clock
        self._census = census
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
            log.warning("the files that the model has seen could not be checked in %g s", LOOK_SECONDS)
            return []

    async def count(self) -> Count:
        """All files as they are now, with what is in them where the workspace is small."""
        return await self._census.take(contents=True)

    async def changed_since(self, before: Count) -> list[str]:
        """The files that are different now; none where not all can be looked at.

        Args:
            before: What `count` gave.
        """
        after = await self._census.take(contents=False)
        if before.unseen or after.unseen:
            return []
        try:
            async with self._clock.timeout(LOOK_SECONDS):
                return await asyncio.to_thread(self._different, before, after)
        except TimeoutError:
            log.warning("what changed since the last check could not be determined in %g s", LOOK_SECONDS)
            return []

    async def changed_after(self, seconds: float, now: Count) -> list[str]:
        """The files that were written or made lately, and the folders that lost one, by the times that the system keeps.

        A file that was deleted in a workspace folder itself is not found: too much comes and goes there.

        Args:
            seconds: How long ago it may have been.
            now: What `count` gave; none are told where not all could be looked at.
        """
        return [] if now.unseen else await asyncio.to_thread(self._later, now, now.at - int(seconds * 1e9))

    def _later(self, now: Count, since: int) -> list[str]:
        found = [path for path, status in now.files.items() if status.st_ctime_ns > since]
        # What is written anew changes its folder, too.
        known = {str(Path(path).parent) for path in found} | {str(one.path) for one in self._folders.folders}
        found += [
            path
            for path, entry in now.entries.items()
            if entry.kind == "folder" and entry.status.st_mtime_ns > since and path not in known
        ]
        return self._shown(map(Path, found))

    async def ignored(self, paths: Sequence[str]) -> list[str]:
        """Those of some files that are there and that a search leaves out; none where not all can be listed.

        Args:
            paths: The files, as they are shown.
        """
        listed = await self._census.search.files()
        if isinstance(listed, SearchProblem) or listed.truncated:
            return []
        return await asyncio.to_thread(self._left_out, paths, {*listed.paths, *listed.odd})

    def _left_out(self, paths: Sequence[str], listed: AbstractSet[str]) -> list[str]:
        located = {path: self._folders.locate_now(path) for path in paths}
        return [
            path
            for path, one in located.items()
            if isinstance(one, Located)
            and one.inside
            and one.path is not None
            and one.path.exists()
            and listed.isdisjoint({str(one.path), str(one.resolved)})
        ]

    def _different(self, before: Count, after: Count) -> list[str]:
        found = (one for one in differences(before, after) if one.kind != "mode" and one.is_sure)
        return self._shown(one.path for one in found)

    def _shown(self, paths: Iterable[Path]) -> list[str]:
        located = (self._folders.locate_now(bytes_spelled_out(str(path))) for path in paths)
        shown = (one.display for one in located if isinstance(one, Located) and one.inside and not one.own)
        return sorted(islice(shown, MOST_CHANGED))

    async def _moved(self, paths: Sequence[str], expected: Mapping[str, str | None]) -> list[Moved]:
        await self._overlay.refresh()
        uris = self._documents.uris()
        if uris != self._open:
            # A file may be open under another path than ours; only the overlay can tell.
            self._known.clear()
            self._open = uris
        doubtful, marked = self._in_doubt(paths, expected, has_open=bool(uris))
        moved: list[Moved] = []
        while (doubtful or marked) and len(moved) < MOST_CHANGED:
            looks, doubtful = await asyncio.to_thread(self._look, paths, doubtful, marked, uris)
            marked = []
            found = [await self._moved_at(look, expected[look.path]) for look in looks]
            moved += [one for one in found if one is not None]
        return moved[:MOST_CHANGED]

    def _in_doubt(
        self, paths: Sequence[str], expected: Mapping[str, str | None], *, has_open: bool
    ) -> tuple[set[str], list[tuple[str, Path, Mark]]]:
        """The paths whose texts have to be read to know, and those whose mark has to be compared."""
        doubtful: set[str] = set()
        marked: list[tuple[str, Path, Mark]] = []
        now, older = self._clock.monotonic(), len(paths) - NEWEST_FILES
        for number, path in enumerate(paths):
            known = self._known.get(path)
            if known is None or known.hash != expected[path]:
                doubtful.add(path)
            elif isinstance(known.mark, Mark):
                document = self._documents.get(known.located.uri) if has_open else None
                if known.located.path is None or (document is not None and not document.outdated):
                    doubtful.add(path)  # the user went on in it, so that it counts again
                elif number >= older or now - known.looked_at >= FRESH_SECONDS:
                    known.looked_at = now
                    marked.append((path, known.located.path, known.mark))
            elif self._documents.get(known.mark.uri) is not known.mark:
                doubtful.add(path)
        return doubtful, marked

    def _look(
        self,
        paths: Sequence[str],
        doubtful: AbstractSet[str],
        marked: Sequence[tuple[str, Path, Mark]],
        uris: Sequence[str],
    ) -> tuple[list[_Look], set[str]]:
        """Read the first of the doubtful files; gives the rest beside them. Blocks."""
        moved = {path for path, place, mark in marked if not mark.holds(mark_of(place))}
        waiting = [path for path in paths if path in doubtful or path in moved]
        looks: list[_Look] = []
        for path in waiting[:_AT_ONCE]:
            located = self._folders.locate_now(path)
            if isinstance(located, Located) and not located.own:
                mark = Mark((), is_firm=True) if located.path is None else mark_of(located.path)
                looks.append(_Look(path, located, mark, self._overlay.look_now(located, uris)))
        return looks, set(waiting[_AT_ONCE:])

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

    async def _moved_at(self, look: _Look, expected: str | None) -> Moved | None:
        path, located = look.path, look.located
        found = self._overlay.over(located, look.below)
        document = self._documents.get(found.uri) if isinstance(found, Snapshot) else None
        if isinstance(found, ReadProblem) and found.kind == "vanished":
            return None  # the whole folder: that is not a word about this file
        text = found.text if isinstance(found, Snapshot) else None
        digest = None if text is None else await _hash(text)
        in_buffer = document is not None and not document.outdated and document.text == text
        self._known[path] = _Known(located, document if document and in_buffer else look.mark, digest)
        if digest == expected:
            return None
        why_not = found.message if isinstance(found, ReadProblem) and found.kind != "not_found" else ""
        return Moved(path, text, digest, "editor" if in_buffer else "disk", why_not)


async def _hash(text: str) -> str:
    if len(text) < 100_000:
        return content_hash(text.encode("utf-8", "surrogatepass"))
    return await asyncio.to_thread(lambda: content_hash(text.encode("utf-8", "surrogatepass")))
