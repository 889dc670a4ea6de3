"""Where git keeps what belongs to a folder whose `.git` is a file that says so (gitrepository-layout(5)).

Whoever wrote that file wrote the path in it: it opens nothing by itself. Only a folder that names the work tree in turn belongs to it.
"""

import re
from pathlib import Path
from typing import Final

_WORK_TREE: Final = re.compile(r"^\s*worktree\s*=\s*\"?([^\"\n]*)", re.MULTILINE)
_MOST_BYTES: Final = 200_000


def named_by(folder: Path) -> list[Path]:
    """The folders that git would go by in this one, by real paths, as its `.git` says. Blocks."""
    said = _said_in(folder / ".git")
    if not said.startswith("gitdir:"):
        return []
    place = (folder / said.removeprefix("gitdir:").strip()).resolve()
    common = _said_in(place / "commondir")
    return [place, *([(place / common).resolve()] if common else [])]


def belonging_to(folder: Path) -> list[Path]:
    """Those of them that know the folder as a work tree of theirs. Blocks."""
    named = named_by(folder)
    if not named:
        return []
    place, *shared = named
    if place.parent.name == "worktrees" and shared == [place.parent.parent]:
        back = _said_in(place / "gitdir")
        return named if back and (place / back).resolve() == (folder / ".git").resolve() else []
    tree = _WORK_TREE.search(_said_in(place / "config"))  # as a submodule has it
    return [place] if tree and (place / tree[1].strip()).resolve() == folder.resolve() else []


def _said_in(path: Path) -> str:
    try:
        if path.is_file() and path.stat().st_size <= _MOST_BYTES:
            return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        pass
    return ""
