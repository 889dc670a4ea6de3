"""The workspace folder of a scenario: made out of texts, and read again at the end. Its functions block."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

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
        path.write_bytes(text.encode())


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
