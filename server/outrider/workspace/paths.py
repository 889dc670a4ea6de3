"""Workspace folders, and what a path means in them.

The only place that says whether a path lies inside the workspace. It decides by real paths: where a link
points to counts, not where it lies. It never opens a file.
"""

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from outrider.ports.text import bytes_put_back, bytes_spelled_out, one_line

OWN_FOLDER = ".outrider"
"""Folder of a workspace folder for documents between the user and Outrider; tools never look into it."""

_LONGEST_NAME = 255
_LONGEST_PATH = 4096
_URI = re.compile(r"(?:file|untitled):|[A-Za-z][A-Za-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Folder:
    """A workspace folder; no two have the same name."""

    name: str
    uri: str
    path: Path


@dataclass(frozen=True, slots=True)
class Located:
    """What a path names. It need not exist."""

    display: str
    """How the model and the user write it; locating it again finds the same."""
    uri: str
    """Empty for the workspace as a whole."""
    path: Path | None
    """None for `untitled:` and for the workspace as a whole."""
    resolved: Path | None
    """`path` with every link followed."""
    inside: bool
    """Whether `resolved` lies in a workspace folder."""
    own: bool
    """Whether it lies in a `.outrider` folder."""

    @property
    def shown(self) -> str:
        """`display` as it stands in what a user or the model reads: on one line, whatever is in the name."""
        return one_line(self.display)

    @property
    def place(self) -> str | None:
        """The real path as the log can hold it; None for what is on no disk."""
        return None if self.resolved is None else bytes_spelled_out(str(self.resolved))

    @property
    def names(self) -> tuple[str, ...]:
        """What a rule may call it: its place in the workspace, its real path, and the path that was given."""
        return (self.display, *(str(path) for path in (self.resolved, self.path) if path is not None))


@dataclass(frozen=True, slots=True)
class PathProblem:
    """Why a path names nothing."""

    message: str


def folders_of(folders: Iterable[tuple[str, str]]) -> "Folders":
    """The workspace folders out of names and URIs, in order; what is not on this machine's disk is left out.

    A name given twice gets a number, so that `<folder name>/…` always means one folder.
    """
    found: list[Folder] = []
    for name, uri in folders:
        path = path_of(uri)
        if path is None or not path.is_absolute():
            continue
        wanted = name.replace("/", "-").strip(". ") or path.name or "root"
        taken, number, unique = {folder.name for folder in found}, 2, wanted
        while unique in taken:
            unique, number = f"{wanted}-{number}", number + 1
        found.append(Folder(unique, uri, path))
    return Folders(found)


def path_of(uri: str) -> Path | None:
    """The path that a `file:` URI names; None for other URIs and other machines."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file" or parts.netloc.lower() not in {"", "localhost"}:
        return None
    # A question mark or a hash that nobody encoded belongs to the name.
    rest = uri[len("file:") :]
    if rest.startswith("//"):
        rest = rest[2 + len(parts.netloc) :]
    name = unquote(rest, errors="surrogateescape")
    return None if "\0" in name or not name else Path(name)


_Root = tuple[str, str]
"""The path of a workspace folder, and where that leads."""


class Folders:
    """The workspace folders, in the client's order."""

    def __init__(self, folders: Sequence[Folder]) -> None:
        self.folders = tuple(folders)

    async def locate(self, path_text: str) -> Located | PathProblem:
        """What a path names: see `locate_now`, which looks at the disk and so runs in a thread here."""
        return await asyncio.to_thread(self.locate_now, path_text)

    async def locate_all(self, paths: Sequence[str]) -> list[Located | PathProblem]:
        """What each of several paths names."""
        if not paths:
            return []

        def look() -> list[Located | PathProblem]:
            roots = self._roots()
            return [self._locate(path, roots) for path in paths]

        return await asyncio.to_thread(look)

    def locate_now(self, path_text: str) -> Located | PathProblem:
        """What a path names.

        Args:
            path_text: A path relative to the one folder, or `<folder name>/…` where there are several (or
                without the name, where exactly one of them has it); an absolute path; a `file:` URI; or
                `untitled:NAME`.
        """
        return self._locate(path_text, self._roots())

    def _locate(self, path_text: str, roots: Sequence[_Root]) -> Located | PathProblem:
        if problem := _unusable(path_text):
            return PathProblem(problem)
        if path_text.lower().startswith("untitled:"):
            name = f"untitled:{unquote(path_text[len('untitled:') :])}"
            return Located(name, path_text, None, None, inside=True, own=False)
        if _URI.match(path_text):
            path = path_of(path_text)
            if path is None or not path.is_absolute():
                return PathProblem(f"{path_text} is not a file on this machine")
            return self._located(path, roots)
        if path_text.startswith("/"):
            return self._located(Path(path_text), roots)
        return self._relative(path_text, roots)

    def _roots(self) -> list[_Root]:
        return [(str(folder.path), os.path.realpath(folder.path)) for folder in self.folders]

    async def real_paths(self) -> list[str]:
        """The real path of each folder. Looks at the disk, in a thread."""
        return [real for _, real in await asyncio.to_thread(self._roots)]

    async def linked(self) -> list[str] | None:
        """The real path of each folder, if a link leads to any of them."""
        real = await self.real_paths()
        return None if real == [str(folder.path) for folder in self.folders] else real

    def straight(self, display: str) -> str | None:
        """The path that a file has as long as no link lies below its folder. Does not look at the disk.

        Args:
            display: How the model and the user write it.

        Returns:
            An absolute path; None for what is on no disk, or in none of these folders.
        """
        if display.lower().startswith("untitled:"):
            return None
        if display.startswith("/"):
            return display
        parts = [part for part in display.split("/") if part not in {"", "."}]
        if len(self.folders) == 1:
            return str(self.folders[0].path.joinpath(*parts))
        found = (one.path.joinpath(*parts[1:]) for one in self.folders if parts[:1] == [one.name])
        return next(map(str, found), None)

    def display_at(self, path: str) -> str | None:
        """How the file of an absolute path is written; None for what is in none of these folders.

        Does not look at the disk.
        """
        return self._display(str(Path(path)))

    def folder_of(self, display: str) -> Folder | None:
        """The workspace folder that a file belongs to, the innermost. Does not look at the disk.

        Args:
            display: How the model and the user write it.
        """
        place = self.straight(display)
        holding = [one for one in self.folders if place and Path(place).is_relative_to(one.path)]
        return max(holding, key=lambda one: len(one.path.parts), default=None)

    def display_of(self, uri: str) -> str:
        """How the model and the user write the document of that URI. Does not look at the disk."""
        path = path_of(uri)
        if path is None:
            return unquote(uri)
        return self._display(str(path)) or str(path)

    def _relative(self, text: str, roots: Sequence[_Root]) -> Located | PathProblem:
        parts = [part for part in text.split("/") if part not in {"", "."}]
        if not self.folders and parts:
            return PathProblem(f"{text} is relative, and no folder is open: give an absolute path")
        if len(self.folders) == 1:
            return self._located(self.folders[0].path.joinpath(*parts), roots)
        if not parts:
            return Located(".", "", None, None, inside=True, own=False)
        for folder in self.folders:
            if parts[0] == folder.name:
                return self._located(folder.path.joinpath(*parts[1:]), roots)
        having = [folder for folder in self.folders if os.path.lexists(folder.path.joinpath(*parts))]
        if len(having) == 1:
            return self._located(having[0].path.joinpath(*parts), roots)
        rest = "/".join(parts)
        named = ", ".join(f"{folder.name}/{rest}" for folder in having or self.folders)
        count = "several" if having else "none"
        return PathProblem(f"{text}: {count} of the workspace folders have it; specify one: {named}")

    def _located(self, path: Path, roots: Sequence[_Root]) -> Located:
        # In text: every step names files, and comparing `Path` objects took most of the time.
        text = str(_as_on_disk(_without_parents(path)))
        real = os.path.realpath(text)
        inside = any(is_within(real, root) for _, root in roots)
        own = any(
            _is_own(one, base)
            for folder, root in roots
            for one, base in ((text, folder), (real, root), (text, root))
        )
        display = self._display(text)
        if display is None and inside:
            # The client may name the folder by a link, and somebody else the file by its real path.
            for folder, root in roots:
                if is_within(text, root):
                    text = os.path.join(folder, _below(text, root)) if text != root else folder  # noqa: PTH118
                    display = self._display(text)
                    break
        path = Path(text)
        resolved = path if real == text else Path(real)
        return Located(display or bytes_spelled_out(text), path.as_uri(), path, resolved, inside, own)

    def _display(self, path: str) -> str | None:
        holding = [folder for folder in self.folders if is_within(path, str(folder.path))]
        if not holding:
            return None
        folder = max(holding, key=lambda one: len(str(one.path)))
        below = bytes_spelled_out(_below(path, str(folder.path))) or "."
        if len(self.folders) > 1:
            return folder.name if below == "." else f"{folder.name}/{below}"
        return f"./{below}" if _URI.match(below) else below


def is_within(path: str, folder: str) -> bool:
    """Whether an absolute path is that of a folder, or of something below it. Does not look at the disk."""
    return path == folder or path.startswith(folder if folder == "/" else f"{folder}/")


def _below(path: str, folder: str) -> str:
    """The rest of a path behind that of a folder which it is in; empty for the folder itself."""
    return path[len(folder) :].lstrip("/")


def _unusable(text: str) -> str | None:
    if not text.strip():
        return "the path is empty"
    if "\0" in text:
        return "a path cannot contain a NUL byte"
    try:
        names = [len(os.fsencode(name)) for name in text.split("/")]
    except UnicodeEncodeError:
        return "the path contains an unpaired surrogate"
    if max(names) > _LONGEST_NAME * 3 or sum(names) + len(names) > _LONGEST_PATH:
        return "the path is too long"
    if not _URI.match(text) and max(names) > _LONGEST_NAME:
        return "a name in the path is too long"
    return None


def _without_parents(path: Path) -> Path:
    """`path` without `..`, each taken from where the links before it lead."""
    if ".." not in path.parts:
        return path
    current = Path(path.anchor)
    for part in path.parts[1:]:
        current = Path(os.path.realpath(current)).parent if part == ".." else current / part
    return current


def _as_on_disk(path: Path) -> Path:
    """A path as the disk has it: its names may have another normal form of Unicode there, or bytes that are no UTF-8.

    A name that is there as it is written is taken so. What is nowhere stays as it is written.
    """
    text = str(path)
    if (text.isascii() and "\\x" not in text) or os.path.lexists(path):
        return path
    found = Path(path.anchor)
    for number, part in enumerate(path.parts[1:], 2):
        name = part if os.path.lexists(found / part) else _name_on_disk(found, part)
        if name is None:
            return found.joinpath(*path.parts[number - 1 :])
        found /= name
    return found


def _name_on_disk(folder: Path, name: str) -> str | None:
    """The name of an entry of a folder that is another spelling of a name; None: there is none."""
    if os.path.lexists(folder / (spelled := bytes_put_back(name))):
        return spelled
    if name.isascii():
        return None
    wanted = normalize("NFC", name)
    try:
        names = (one.name for one in folder.iterdir())
        return min((one for one in names if normalize("NFC", one) == wanted), default=None)
    except OSError:
        return None


def _is_own(path: str, root: str) -> bool:
    return is_within(path, root) and _below(path, root).partition("/")[0].casefold() == OWN_FOLDER


def folders_down(folder: str, path: str) -> list[str]:
    """The folders from one that lies above a file down to it, as they are shown."""
    parents = PurePath(path).parents
    return [str(one) for one in parents if one.is_relative_to(folder)][::-1]


IS_LINK = "is a link; links are not followed or changed"
"""Why a file is neither deleted nor renamed, after its name."""


def dangling(located: Located) -> str | None:
    """Why no file can be made: it, or a folder on its path, is a link to what does not exist. Blocks."""
    path, name = located.path, PurePath(located.display)
    while path is not None and path != path.parent:
        if path.is_symlink() and not path.exists():
            shown = str(name) if name.name == path.name else str(path)
            return f"{shown} is a link to a missing file; nothing is created through links"
        path, name = path.parent, name.parent
    return None


def is_link(located: Located) -> bool:
    """Whether a path is itself a link, wherever that leads. Blocks."""
    return located.path is not None and located.path.is_symlink()
