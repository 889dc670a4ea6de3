"""The workspace folder of a scenario: made out of texts, and read again at the end. Its functions block."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from outrider.store.reader import Reader
from outrider.store.schema import FILE_NAME, open_reader

_NOT_OURS: Final = frozenset({".git", ".outrider"})
"""Folders of a workspace that are not among its files."""


def fill(folder: Path, files: Mapping[str, str]) -> None:
    """Make a folder with these files, by their path in it.

    Raises:
        ValueError: A path leads out of the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name!r} leads out of the workspace")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))


def files_in(root: Path) -> Iterator[Path]:
    """The files in a folder, in order; a link that leads out of it is none."""
    inside = root.resolve()
    for path in sorted(root.rglob("*")):
        if path.is_file() and path.resolve().is_relative_to(inside):
            yield path


def texts_in(root: Path) -> dict[str, str]:
    """Texts of the files in a folder by their path in it, without `.git`, `.outrider` and links that lead out of it."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes().decode(errors="surrogateescape")
        for path in files_in(root)
        if not _NOT_OURS.intersection(path.relative_to(root).parts)
    }


async def read_contents(state_dir: Path, digests: Iterable[str]) -> dict[str, bytes]:
    """The contents that are stored in a state folder, by content hash; the others are left out.

    Raises:
        StoreReadError: The log is damaged or cannot be read.
    """
    path = state_dir / FILE_NAME
    if not await asyncio.to_thread(path.exists):
        return {}
    reader = Reader(await asyncio.to_thread(open_reader, path), path)
    try:
        return await reader.blobs(digests)
    finally:
        await reader.close()


class Places:
    """Knows the folder that a scenario is played in, and takes it out of texts."""

    def __init__(self, folder: Path) -> None:
        """Of what lies in `folder` (absolute, without links), paths begin with `/` alone."""
        spellings = {str(folder), quote(str(folder))}
        self._folder = re.compile(
            "|".join(f"{re.escape(spelling)}(/|(?![\\w.-]))" for spelling in sorted(spellings))
        )

    def neutral(self, value: Any) -> Any:
        """JSON data, or a text, with `/workspace/a.py` for the file `a.py` of the workspace."""
        match value:
            case str():
                return self._folder.sub("/", value)
            case dict():
                items = cast("dict[str, Any]", value).items()
                return {self.neutral(name): self.neutral(item) for name, item in items}
            case list() | tuple():
                return [self.neutral(item) for item in cast("list[Any]", value)]
            case _:
                return value


def holds(expected: Any, actual: Any) -> bool:
    """Whether `actual` has what `expected` says: objects key by key, everything else equal."""
    if isinstance(expected, dict):
        if not isinstance(actual, dict):
            return False
        given = cast("dict[str, Any]", actual)
        wanted = cast("dict[str, Any]", expected)
        return all(name in given and holds(item, given[name]) for name, item in wanted.items())
    # True is 1 for Python, and not for JSON.
    return bool(expected == actual) and isinstance(expected, bool) == isinstance(actual, bool)
