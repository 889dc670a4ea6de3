"""Which file a program's name stands for, by a search path, and whether a workspace can put one there."""

import os
from collections.abc import Iterator, Sequence

_SYSTEM = "/usr/bin"


def found_as(name: str, search_path: str, cwd: str) -> Iterator[str]:
    """The files that a name may stand for, the one that bash takes first. Blocks.

    Args:
        name: A program's name without a folder.
        search_path: A `PATH`; an empty part of it is the folder where the command runs (bash(1)).
        cwd: That folder.
    """
    for folder in search_path.split(":"):
        file = os.path.join(cwd, folder, name)  # noqa: PTH118 - at each decision
        if os.access(file, os.X_OK) and os.path.isfile(file):  # noqa: PTH113 - same
            yield file


def is_of(file: str, roots: Sequence[str]) -> bool:
    """Whether a file lies in one of some folders, by its name or by where that leads. Blocks.

    Args:
        file: Its absolute path.
        roots: Real paths.
    """
    folder, name = os.path.split(file)
    places = (f"{os.path.realpath(folder)}/{name}", os.path.realpath(file))
    return any(place.startswith(f"{root.rstrip('/')}/") for place in places for root in roots)


def own_program(name: str, search_path: str, cwd: str, roots: Sequence[str]) -> str:
    """What to start for a program that Outrider itself needs: never a file of the workspace. Blocks.

    Args:
        name: Its name.
        search_path: The `PATH` of the command.
        cwd: The folder where it runs.
        roots: The real paths of the workspace folders.
    """
    files = list(found_as(name, search_path, cwd))
    if not files or not is_of(files[0], roots):
        return name
    return next((file for file in files if not is_of(file, roots)), f"{_SYSTEM}/{name}")
