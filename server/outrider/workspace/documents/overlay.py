"""The texts of the workspace as the user sees them: the open buffer first, then the disk.

Never gives the disk's text where a buffer is open, and never alters a text: byte order mark, line ends and form
feeds come as they are, so that what is written back is byte-exact.
"""

import asyncio
import os
import re
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Literal

from outrider.ports.text import Snapshot, TextEncoding, bytes_spelled_out
from outrider.workspace.disk.disk import (
    DiskProblem,
    EntryKind,
    besides,
    list_folder,
    look_through,
    mode_of,
    read_bytes,
)
from outrider.workspace.disk.file_stat import Mark, mark_of
from outrider.workspace.documents.documents import Document, DocumentStore
from outrider.workspace.images import BYTES_LIMIT, SIDE_LIMIT, ImageHead, image_head
from outrider.workspace.paths import OWN_FOLDER, Folders, Located, path_of
from outrider.workspace.text.encoding import BOM, Decoded, NoText, Part, decode, part_of

MOST_CHARACTERS = 8_000_000
"""Of all texts that are kept; with more, it begins anew."""


class FilesBelow:
    """The texts of files under open documents, each with the mark it was read at."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Mark, Decoded]] = {}
        self._lock = Lock()

    def get(self, path: Path) -> tuple[Mark, Decoded | None]:
        """The mark of a file now, and its text where that is known for sure. Blocks, for one look at the disk."""
        mark = mark_of(path)
        known = self._known.get(path)
        return mark, known[1] if known is not None and known[0].holds(mark) else None

    def put(self, path: Path, mark: Mark, text: Decoded) -> None:
        """Keep the text of a file, by the mark that it had before it was read."""
        with self._lock:
            self._known.pop(path, None)
            # Without numbers there was no file yet, and there is none either when it is gone again.
            if not mark.is_firm or not mark.numbers or len(text.text) > MOST_CHARACTERS:
                return
            if len(text.text) + sum(len(one.text) for _, one in self._known.values()) > MOST_CHARACTERS:
                self._known.clear()
            self._known[path] = mark, text


SIZE_LIMIT = 10 * 1024 * 1024
"""Bytes of the biggest file that is read as a whole, and so can be edited."""

ProblemKind = Literal[
    "not_found", "directory", "binary", "too_big", "encoding", "vanished", "own", "unreadable"
]

_USUAL_MODES = frozenset({0o644, 0o664})
"""Of a new file with the common umasks; such a file comes back as any other new one."""
_HIDDEN = frozenset({".git", OWN_FOLDER})
_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Why there is no text."""

    kind: ProblemKind
    message: str


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """There is a text, and it must not be edited."""

    reason: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An image on disk."""

    path: str
    """As it is shown to people and the model."""
    head: ImageHead
    content: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder."""

    name: str
    kind: EntryKind
    unsaved: bool = False
    """Whether a buffer of it differs from the disk."""
    target: str = ""
    """Where a link points to, as it says itself."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The entries of a folder, sorted by name."""

    display: str
    entries: tuple[Entry, ...]
    truncated: bool = False

    def render(self) -> str:
        """The listing as the model reads it, one entry a line."""
        if not self.entries:
            return f"[{self.display} is empty]"
        lines = [_entry_line(entry) for entry in self.entries]
        if self.truncated:
            lines.append(f"[only the first {len(self.entries)} entries are shown]")
        return "\n".join(lines)


def _entry_line(entry: Entry) -> str:
    mark = {"file": "", "directory": "/", "link": f" -> {entry.target}", "other": " [not a regular file]"}
    return f"{entry.name}{mark[entry.kind]}{' [unsaved buffer]' if entry.unsaved else ''}"


def same_text(buffer: str, disk: str) -> bool:
    """Whether a buffer holds what is on disk.

    Editors keep the byte order mark to themselves, and some of them (Emacs) the kind of the line ends.
    """
    disk = disk.removeprefix(BOM)
    buffer = buffer.removeprefix(BOM)
    return buffer == disk or ("\r" in disk and "\r" not in buffer and buffer == disk.replace("\r\n", "\n"))


def is_saved_as(buffer: str, disk: str) -> bool:
    """Whether a buffer has nothing that the disk has not: some editors (Vim) end the last line in the file alone."""
    is_unended = bool(buffer) and not buffer.endswith(("\n", "\r"))
    return same_text(buffer, disk) or (
        is_unended and any(same_text(buffer + end, disk) for end in ("\n", "\r\n"))
    )


def is_alike(one: str | None, other: str | None) -> bool:
    """Whether two texts are one, of which an editor shows the one or the other without mark and line ends."""
    if one is None or other is None:
        return one is other
    if same_text(one, other):
        return True
    # From line ends that are hidden and not all alike nobody could come back to them.
    return one.count("\n") == one.count("\r\n") and same_text(other, one)


def as_seen(text: str, like: str) -> str:
    """A text in the way in which another one of the same file is seen: with or without mark, with its line ends."""
    if ("\r" in text) != ("\r" in like):
        text = text.replace("\r\n", "\n") if "\r" in text else text.replace("\n", "\r\n")
    if text.startswith(BOM) != like.startswith(BOM):
        text = text.removeprefix(BOM) if text.startswith(BOM) else BOM + text
    return text


def why_read_only(text: str) -> str | None:
    """Why an open document of that text must not be edited: editors make its line ends alike when they save."""
    if "\r" not in text:
        return None
    ends = set(_LINE_END.findall(text))
    if "\r" in ends:
        return "it has lone carriage returns as line ends, which editors change"
    return "it has mixed line ends, which editors unify" if len(ends) > 1 else None


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A file, with what it takes to make it again."""

    text: str
    encoding: TextEncoding
    mode: int | None
    """Its permission bits, where they are not what any new file has."""
    besides: tuple[str, ...] = ()
    """What it has besides and would not be made again with, by name: extended attributes and the like."""


@dataclass(frozen=True, slots=True)
class Below:
    """What is on disk of a file, whatever is open."""

    alias: str | None
    """The URI under which somebody opened it by another path."""
    disk: Decoded | ReadProblem


class Overlay:
    """Open buffers over the disk."""

    def __init__(
        self,
        folders: Folders,
        documents: DocumentStore,
        ask: Callable[[Sequence[str]], Awaitable[object]] | None = None,
    ) -> None:
        """Look at folders.

        Args:
            folders: The workspace folders.
            documents: The open documents.
            ask: Has the editor tell what it has of some files, by their URIs, where it tells only when it is asked. Of
                these only what is not as it is on disk counts as open: nothing would tell when the rest is closed.
        """
        self._folders = folders
        self._documents = documents
        self._below = FilesBelow()
        self._ask = ask
        self._in_use = Counter[str]()
        """URIs of documents that stay open while they are changed."""

    async def read(self, located: Located) -> Snapshot | ReadProblem:
        """The text of a file or document as it is now."""
        return (await self.read_all([located]))[0]

    async def text(self, located: Located) -> str | ReadOnly | ReadProblem:
        """The text that an edit begins with: that of the document, without a look at the file below it, else the file's."""
        document = None if located.own or self._ask is not None else self._documents.get(located.uri)
        if document is None or document.outdated:
            found = await self.read(located)
        else:
            found = _of_buffer(located, document, ReadProblem("not_found", ""))
        if isinstance(found, ReadProblem):
            return found
        return ReadOnly(found.read_only) if found.read_only else found.text

    async def read_all(self, files: Sequence[Located]) -> list[Snapshot | ReadProblem]:
        """The texts of several files or documents as they are now."""
        await self._tell([one.uri for one in files if _is_on_disk(one)])
        uris = self._documents.uris()

        def look() -> list[Below | None]:
            return [self.look_now(one, uris) for one in files]

        found = await asyncio.to_thread(look) if any(map(_is_on_disk, files)) else [None] * len(files)
        return [self.over(one, below) for one, below in zip(files, found, strict=True)]

    def look_now(self, located: Located, open_uris: Iterable[str]) -> Below | None:
        """What is on disk of a file, for `over`; None where it is not one of the disk. Blocks."""
        if not _is_on_disk(located):
            return None
        if located.resolved is None:
            return Below(None, ReadProblem("not_found", f"{located.display} does not exist"))
        alias = _alias(located.resolved, open_uris)
        is_open = alias is not None or self._documents.get(located.uri) is not None
        disk = self._read(located, is_open=is_open)
        if isinstance(disk, ReadProblem) and not is_open:
            disk = self._with_vanished_folder(located, disk)
        return Below(alias, disk)

    def over(self, located: Located, below: Below | None) -> Snapshot | ReadProblem:
        """What counts for a file of which that is on disk."""
        if below is None:
            return self._read_elsewhere(located)
        # Looked at after the disk, so that what was typed meanwhile is in it.
        document = self._documents.get(located.uri)
        if document is None and below.alias is not None:
            document = self._documents.get(below.alias)
        if document is not None and not document.outdated:
            return _of_buffer(located, document, below.disk)
        if isinstance(below.disk, ReadProblem):
            return below.disk
        return Snapshot(located.uri, located.display, below.disk.text, "disk", encoding=below.disk.encoding)

    async def refresh(self) -> None:
        """Have the editor tell again what it has of the open documents, where it does not do so by itself."""
        await self._tell(self._documents.uris())

    @asynccontextmanager
    async def opened(self, files: Sequence[Located]) -> AsyncGenerator[None]:
        """Keep the documents of files open while they are changed, also where it is not known what is open.

        A file that is as on disk everywhere has none: it is changed on disk.
        """
        if self._ask is None:
            yield
            return
        uris = [one.uri for one in files if _is_on_disk(one)]
        await self._tell(uris)
        self._in_use.update(uris)
        try:
            yield
        finally:
            self._in_use.subtract(uris)
            await self._close_saved(uris)

    async def _tell(self, uris: Sequence[str]) -> None:
        if self._ask is not None and uris:
            await self._ask(uris)
            await self._close_saved(uris)

    async def _close_saved(self, uris: Sequence[str]) -> None:
        """Let go of documents that are as their files are: the file counts."""
        closing = [uri for uri in uris if self._documents.get(uri) is not None and self._in_use[uri] <= 0]
        for uri, disk in await asyncio.to_thread(self._on_disk, closing) if closing else ():
            if (document := self._documents.get(uri)) is not None and not _is_unsaved(document, disk):
                self._documents.close(uri)

    async def read_part(
        self, located: Located, first: int, last: int | None, width: int, limit: int
    ) -> Part | ReadProblem:
        """Some lines of a file or document that is too big to be read as a whole.

        Args:
            located: What `read` found too big.
            first: The first line wanted, from 1.
            last: The last one; None for all that fit.
            width: The most characters of a line.
            limit: The most bytes of all lines.
        """

        def look(content: Iterator[bytes]) -> Part | NoText:
            return part_of(content, first, last, width, limit)

        if (document := await self.document_of(located)) is not None:
            part = await asyncio.to_thread(look, iter([document.text.encode("utf-8", "replace")]))
        elif located.resolved is not None:
            part = await asyncio.to_thread(look_through, located.resolved, look)
        else:
            return ReadProblem("not_found", f"{located.display} does not exist")
        if isinstance(part, DiskProblem):
            return _as_read_problem(located, part)
        return (
            ReadProblem(part.kind, f"{located.display} {part.message}") if isinstance(part, NoText) else part
        )

    async def read_image(self, located: Located) -> Picture | ReadProblem | None:
        """The image that lies in a file on disk; None where it is none, whatever its name."""
        return await asyncio.to_thread(_image, located)

    async def document_of(self, located: Located) -> Document | None:
        """The open document that counts for a file, even where the client reached it by another path."""
        return (await self.documents_of([located]))[0]

    async def documents_of(self, files: Sequence[Located]) -> list[Document | None]:
        """The open documents that count for several files."""
        found = [self._documents.get(one.uri) for one in files]
        uris = self._documents.uris()
        by_uri = {
            one.uri: one.resolved
            for one, document in zip(files, found, strict=True)
            if document is None and one.resolved is not None
        }
        if uris and by_uri:

            def look() -> dict[str, str]:
                aliases = {uri: _alias(resolved, uris) for uri, resolved in by_uri.items()}
                return {uri: alias for uri, alias in aliases.items() if alias is not None}

            aliases = await asyncio.to_thread(look)
            found = [self._documents.get(aliases.get(one.uri, one.uri)) for one in files]
        return [None if one is None or one.outdated else one for one in found]

    async def on_disk(self, located: Located) -> OnDisk | None:
        """What lies on disk, to the byte, whatever is open; None where there is no file, or no text in it."""
        return (await self.on_disk_all([located]))[0]

    async def on_disk_all(self, files: Sequence[Located]) -> list[OnDisk | None]:
        """What lies on disk of several files."""
        are_open = [self._documents.get(one.uri) is not None for one in files]

        def look() -> list[OnDisk | None]:
            return [self._to_the_byte(one, is_open) for one, is_open in zip(files, are_open, strict=True)]

        return await asyncio.to_thread(look)

    async def unsaved(self) -> tuple[str, ...]:
        """URIs of the open documents that differ from the disk, in the order they were opened."""
        await self.refresh()
        on_disk = await asyncio.to_thread(self._on_disk, self._documents.uris())
        return tuple(
            uri
            for uri, disk in on_disk
            if (document := self._documents.get(uri)) is not None and _is_unsaved(document, disk)
        )

    async def list_directory(self, located: Located, limit: int) -> Listing | ReadProblem:
        """The entries of a folder, buffers that are not on disk included.

        Args:
            located: The folder.
            limit: The most entries wanted.
        """
        if located.own:
            return ReadProblem("own", f"{located.display} belongs to Outrider itself and is not read")
        unsaved = await self.unsaved()
        if located.path is None:
            if located.uri:
                return ReadProblem("not_found", f"{located.display} is not a folder")
            found = [Entry(folder.name, "directory") for folder in self._folders.folders]
        else:
            listed = await asyncio.to_thread(self._list, located)
            if isinstance(listed, ReadProblem):
                return listed
            found = listed
        entries = {entry.name: entry for entry in found}
        for uri in unsaved:
            if name := self._name_in(located, uri):
                known = entries.get(name)
                entries[name] = (
                    Entry(name, known.kind, True, known.target) if known else Entry(name, "file", True)
                )
        named = (replace(entry, name=bytes_spelled_out(entry.name)) for entry in entries.values())
        ordered = sorted(named, key=lambda entry: entry.name)
        return Listing(located.display, tuple(ordered[:limit]), len(ordered) > limit)

    def _list(self, located: Located) -> list[Entry] | ReadProblem:
        if located.resolved is None:
            return ReadProblem("not_found", f"{located.display} does not exist")
        if located.resolved.is_file():
            return ReadProblem("unreadable", f"{located.display} is a file: read it instead")
        found = list_folder(located.resolved)
        if isinstance(found, DiskProblem):
            return self._with_vanished_folder(located, _as_read_problem(located, found))
        return [Entry(one.name, one.kind, target=one.target) for one in found if one.name not in _HIDDEN]

    def _on_disk(self, uris: Iterable[str]) -> list[tuple[str, Decoded | ReadProblem]]:
        """What is on disk under the URIs of documents; our own ones are left out."""
        found: list[tuple[str, Decoded | ReadProblem]] = []
        for uri in uris:
            located = self._folders.locate_now(uri)
            if isinstance(located, Located) and not located.own:
                found.append((uri, read_text(located)))
        return found

    def _read(self, located: Located, *, is_open: bool) -> Decoded | ReadProblem:
        if not is_open or located.resolved is None:
            return read_text(located)
        mark, found = self._below.get(located.resolved)
        if found is None:
            found = read_text(located)
            if isinstance(found, Decoded):
                self._below.put(located.resolved, mark, found)
        return found

    def _to_the_byte(self, located: Located, is_open: bool) -> OnDisk | None:
        found = self._read(located, is_open=is_open)
        if isinstance(found, ReadProblem) or located.resolved is None:
            return None
        return OnDisk(found.text, found.encoding, unusual_mode(located), tuple(besides(located.resolved)))

    def _read_elsewhere(self, located: Located) -> Snapshot | ReadProblem:
        """What is on no disk, or is not read."""
        if located.own:
            return ReadProblem("own", f"{located.display} belongs to Outrider itself and is not read")
        document = self._documents.get(located.uri)
        if document is not None:
            return _of_buffer(located, document, ReadProblem("not_found", ""))
        if not located.uri:
            return ReadProblem("directory", "the workspace is a folder: list it instead")
        return ReadProblem("not_found", f"{located.display} is not open")

    def _with_vanished_folder(self, located: Located, problem: ReadProblem) -> ReadProblem:
        if problem.kind == "not_found" and located.path is not None:
            for folder in self._folders.folders:
                if located.path.is_relative_to(folder.path) and not folder.path.is_dir():
                    return ReadProblem("vanished", f"the workspace folder {folder.path} no longer exists")
        return problem

    def _name_in(self, located: Located, uri: str) -> str | None:
        """The name that an open document has in a folder; None if it is not directly in it."""
        path = path_of(uri)
        if path is None:
            is_top = located.path is None or any(located.path == one.path for one in self._folders.folders)
            return self._folders.display_of(uri) if is_top else None
        return path.name if path.parent == located.path else None


def _is_on_disk(located: Located) -> bool:
    return located.path is not None and not located.own


def _of_buffer(located: Located, document: Document, disk: Decoded | ReadProblem) -> Snapshot | ReadProblem:
    if len(document.text) > SIZE_LIMIT:
        return ReadProblem(
            "too_big",
            f"{located.display} is too big: {len(document.text)} characters, the limit for reading or editing "
            f"a whole file is {SIZE_LIMIT}",
        )
    return Snapshot(
        uri=document.uri,
        path=located.display,
        text=document.text,
        source="buffer",
        version=document.version,
        unsaved=_is_unsaved(document, disk),
        read_only=why_read_only(document.text),
        encoding=disk.encoding if isinstance(disk, Decoded) else "utf-8",
    )


def _is_unsaved(document: Document, disk: Decoded | ReadProblem) -> bool:
    if document.outdated:
        return False
    if isinstance(disk, Decoded):
        is_same = is_saved_as if document.is_saved else same_text
        return not is_same(document.text, disk.text)
    return not _is_missing(disk) or bool(document.text)


def _is_missing(disk: Decoded | ReadProblem) -> bool:
    return isinstance(disk, ReadProblem) and disk.kind == "not_found"


def unusual_mode(located: Located) -> int | None:
    """The permission bits of a file on disk, where they are not those of any new file. Blocks."""
    mode = None if located.resolved is None else mode_of(located.resolved)
    return None if mode is None else unusual(mode)


def unusual(mode: int) -> int | None:
    """Permission bits, where they are not those of any new file."""
    return None if mode in _USUAL_MODES else mode


def _alias(resolved: Path, open_uris: Iterable[str]) -> str | None:
    for uri in open_uris:
        path = path_of(uri)
        if path is not None and path.name and Path(os.path.realpath(path)) == resolved:
            return uri
    return None


def read_text(located: Located) -> Decoded | ReadProblem:
    """The text of a file on disk, whatever is open; a byte order mark stays in it. Blocks."""
    if located.resolved is None:
        return ReadProblem("not_found", f"{located.display} does not exist")
    content = read_bytes(located.resolved, SIZE_LIMIT)
    if isinstance(content, DiskProblem):
        return _as_read_problem(located, content)
    decoded = decode(content)
    if isinstance(decoded, NoText):
        return ReadProblem(decoded.kind, f"{located.display} {decoded.message}")
    return decoded


def _image(located: Located) -> Picture | ReadProblem | None:
    if located.own or located.resolved is None:
        return None
    start = look_through(located.resolved, lambda pieces: next(pieces, b""))
    if isinstance(start, DiskProblem) or (head := image_head(start)) is None:
        return None
    content = read_bytes(located.resolved, BYTES_LIMIT)
    if isinstance(content, DiskProblem):
        return _as_read_problem(located, content)
    if max(head.width, head.height) > SIDE_LIMIT:
        size = f"{head.width} × {head.height} pixels"
        return ReadProblem(
            "too_big", f"{located.display} is too big: {size}, the limit is {SIDE_LIMIT} per side"
        )
    return Picture(located.display, head, content)


def _as_read_problem(located: Located, problem: DiskProblem) -> ReadProblem:
    match problem.kind:
        case "not_found" | "directory" | "too_big" | "vanished":
            return ReadProblem(problem.kind, f"{located.display} {problem.message}")
        case _:
            return ReadProblem("unreadable", f"{located.display} {problem.message}")
