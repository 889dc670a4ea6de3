"""Finds the files of the workspace that the failures of a check name."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from outrider.tools.context import ToolContext
from outrider.tools.run_command.failures import Failure, Place, spellings
from outrider.workspace.paths import PathProblem
from outrider_protocol.events import CheckFailure

_MOST_LOOKED_UP: Final = 2_000
"""Paths that are looked up for one output."""


def placed(failures: Sequence[Failure], bases: Sequence[Path], context: ToolContext) -> list[CheckFailure]:
    """The failures that are in a file of the workspace that may be seen, each at the likeliest of its places. Blocks.

    Args:
        failures: What an output says.
        bases: The folders that its paths may be relative to, the likeliest first.
        context: Knows the workspace.
    """
    known: dict[Place, str | None] = {}
    looked_up = 0

    def path_of(place: Place) -> str | None:
        nonlocal looked_up
        for base in bases:
            for spelling in spellings(place):
                looked_up += 1
                if looked_up > _MOST_LOOKED_UP:
                    return None
                if (path := _in_workspace(base / spelling, context)) is not None:
                    return path
        return None

    found: dict[tuple[str, int, str], CheckFailure] = {}
    for failure in failures:
        for place in failure.places:
            about = Place(place.path, 0, None, place.within)
            if about not in known:
                known[about] = path_of(about)
            if (path := known[about]) is not None:
                found.setdefault(
                    (path, place.line, failure.message),
                    CheckFailure(
                        path=path,
                        line=max(1, place.line),
                        column=place.column,
                        message=failure.message,
                        severity=failure.weight,
                    ),
                )
                break
    return list(found.values())


def _in_workspace(path: Path, context: ToolContext) -> str | None:
    """How a file is called, if it is one of the workspace that may be seen."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113 - a path that is none is no error
            return None
    except ValueError:
        return None
    located = context.workspace.folders.locate_now(os.path.normpath(path))
    if isinstance(located, PathProblem) or not located.inside or located.own:
        return None
    return None if context.workspace.why_hidden(located.names) is not None else located.display
