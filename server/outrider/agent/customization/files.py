"""Finds the files that a user and a workspace bring for an agent, in the folders of Outrider and of other agents.

A workspace's own count only where it is trusted, and only what really lies in it: a link leads to nothing of it. What is open in the
editor is read as it stands there.
"""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from outrider.permissions.policy.protected_files import Guarded
from outrider.ports.text import spelled_out
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import Folder, Located, PathProblem
from outrider.workspace.workspace import View

MOST_FILES: Final = 500
"""Of one kind, in all folders."""
MOST_BYTES: Final = 200_000
"""Of one file; a longer one is left out."""
DEEPEST: Final = 4
"""Folders below the one that is looked in."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder where files of one kind lie, and how they are called."""

    folder: str
    """Relative to a workspace folder or to the user's home."""
    suffix: str
    """What their names end with; the whole name where it is a name."""
    form: str = ""
    """Whose form they have, where that differs."""
    is_one: bool = False
    """Whether it is about the one file of that name in the folder itself, and not about any further down."""
    is_flat: bool = False
    """Whether files further down do not count."""


@dataclass(frozen=True, slots=True)
class Found:
    """One file."""

    name: str
    """Its path below the folder of its place, without the suffix, parts joined by `:`."""
    path: str
    """As a user and the model read it: relative to the workspace, or absolute."""
    real: Path
    text: str
    place: Place
    folder: Folder | None
    """The workspace folder that it is of; None where it is the user's own."""

    @property
    def source(self) -> str:
        """Whose it is, in one word."""
        return "user" if self.folder is None else "workspace"


class Files:
    """Looks for files in the folders of a user and of a workspace."""

    def __init__(
        self, workspace: View, guarded: Guarded, trusts: Callable[[Path], bool], home: Path | None, own: Path
    ) -> None:
        """Look for the files of `workspace`.

        Args:
            workspace: Its folders and texts.
            guarded: Says which files are hidden.
            trusts: Whether what a workspace folder brings counts.
            home: The user's home; None where there is none.
            own: The folder of Outrider's own configuration.
        """
        self._workspace = workspace
        self._guarded = guarded
        self._trusts = trusts
        self._home = home
        self._own = own

    async def of_user(self, places: Sequence[Place], own: Sequence[Place]) -> list[Found]:
        """The user's: those in Outrider's configuration folder, then those in the places below their home."""
        roots = [(self._own, own), *([(self._home, places)] if self._home is not None else [])]
        return await asyncio.to_thread(lambda: [one for root, below in roots for one in _read(root, below)])

    async def of_workspace(self, places: Sequence[Place]) -> list[Found]:
        """Those of the workspace folders that are trusted."""
        return await self._of_all(places, trusted=True)

    async def withheld(self, places: Sequence[Place], folder: Folder | None = None) -> list[Found]:
        """Those of the workspace folders that are not trusted, or of one of them: none counts."""
        found = await self._of_all(places, trusted=False)
        return [one for one in found if folder is None or one.folder is folder]

    async def _of_all(self, places: Sequence[Place], *, trusted: bool) -> list[Found]:
        found: list[Found] = []
        for folder in self._workspace.folders.folders:
            if self._trusts(folder.path) is trusted:
                found += await self._of_folder(folder, places)
        return found

    async def _of_folder(self, folder: Folder, places: Sequence[Place]) -> list[Found]:
        listed = await asyncio.to_thread(lambda: list(_listed(folder.path, places)))
        if not listed:
            return []
        await self._guarded.refresh()
        found: list[Found] = []
        located = await self._workspace.folders.locate_all([str(path) for _, _, path in listed])
        for (place, name, path), one in zip(listed, located, strict=True):
            if isinstance(one, PathProblem) or not one.inside or one.resolved is None:
                continue
            if self._guarded.why_hidden(one.names) is not None:
                continue
            if (text := await self._text(one, path)) is not None:
                display = spelled_out(self._workspace.folders.display_of(path.as_uri()))
                found.append(Found(name, display, one.resolved, text, place, folder))
        return found

    async def _text(self, located: Located, path: Path) -> str | None:
        """The text of a file; None where it cannot be read."""
        if not located.own:
            snapshot = await self._workspace.overlay.read(located)
            return None if isinstance(snapshot, ReadProblem) else snapshot.text
        # Tools never read our own folder; what the user keeps in it for Outrider does count.
        if (document := self._workspace.documents.get(located.uri)) is not None:
            return document.text
        try:
            return await asyncio.to_thread(lambda: path.read_bytes().decode("utf-8", "replace"))
        except OSError:
            return None


def _read(root: Path, places: Sequence[Place]) -> Iterator[Found]:
    for place, name, path in _listed(root, places):
        try:
            text = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
        yield Found(name, spelled_out(str(path)), path, text, place, None)


def _listed(root: Path, places: Sequence[Place]) -> Iterator[tuple[Place, str, Path]]:
    """The files of some places below a folder, in the order of their names. Blocks."""
    count = 0
    for place in places:
        top = root / place.folder
        for path in (
            _one(top, place.suffix)
            if place.is_one
            else _walk(top, place.suffix, 0 if place.is_flat else DEEPEST)
        ):
            if count == MOST_FILES:
                return
            count += 1
            parts = path.relative_to(top).parts
            is_named = place.suffix[:1] != "."
            name = ":".join(parts[:-1]) if is_named else ":".join(parts).removesuffix(place.suffix)
            yield place, name or top.name, path


def _one(folder: Path, name: str) -> Iterator[Path]:
    path = folder / name
    with suppress(OSError):
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            yield path


def _walk(folder: Path, suffix: str, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        is_named = entry.name.endswith(suffix) and (suffix[:1] == "." or entry.name == suffix)
        try:
            is_wanted = is_named and entry.is_file() and entry.stat().st_size <= MOST_BYTES
            is_folder = not is_named and depth > 0 and not entry.name.startswith(".") and entry.is_dir()
        except OSError:  # a link that leads to itself
            continue
        if is_wanted:
            yield folder / entry.name
        elif is_folder:
            yield from _walk(folder / entry.name, suffix, depth - 1)


def read_json(text: str) -> Any:
    """The value of a file of JSON, with what editors allow in it. Raises ValueError and RecursionError."""
    return json.loads(_without_comments(text))


def _without_comments(text: str) -> str:
    """JSON without the comments and the commas before an end that editors allow in it."""
    out: list[str] = []
    at, end = 0, len(text)
    while at < end:
        sign = text[at]
        if sign == '"':
            close = at + 1
            while close < end and text[close] != '"':
                close += 2 if text[close] == "\\" else 1
            out.append(text[at : close + 1])
            at = close + 1
        elif text.startswith("//", at):
            at = (text.find("\n", at) + 1 or end + 1) - 1
        elif text.startswith("/*", at):
            at = (text.find("*/", at) + 1 or end) + 1
        elif sign == ",":
            following = at + 1
            while following < end and text[following].isspace():
                following += 1
            if following >= end or text[following] not in "}]":
                out.append(sign)
            at += 1
        else:
            out.append(sign)
            at += 1
    return "".join(out)
