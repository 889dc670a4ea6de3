"""The paths that are nearest to one that is not there."""

import asyncio
import difflib
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

from outrider.tools.context import ReadContext, ToolResult, error
from outrider.workspace.documents.overlay import ReadProblem
from outrider.workspace.paths import Located
from outrider.workspace.search import SearchProblem

MOST_LOOKED_AT: Final = 50_000
"""Files of the workspace."""
MOST_LIKENED: Final = 2_000
"""Names that are compared letter by letter."""
MOST_NAMED: Final = 3
LIKE: Final = 0.75
LENGTHS: Final = 4
"""How much shorter or longer a name may be that is compared."""


async def missing(located: Located, problem: ReadProblem, context: ReadContext) -> ToolResult:
    """What is said of a file or folder that cannot be read; where it is not there, with the nearest ones of the workspace.

    Args:
        located: What was asked for.
        problem: Why it cannot be read.
        context: The turn.
    """
    if problem.kind != "not_found":
        return error(problem.message)
    found = await context.workspace.search.find("**/*", MOST_LOOKED_AT)
    if isinstance(found, SearchProblem):
        return error(problem.message)
    near = await asyncio.to_thread(nearest, located.display, found.paths)
    shown: list[str] = []
    for path in near:
        one = await context.workspace.folders.locate(path)
        if isinstance(one, Located) and one.inside and context.workspace.why_hidden(one.names) is None:
            shown.append(one.shown)
    return error(f"{problem.message}. Nearest: {', '.join(shown[:MOST_NAMED])}" if shown else problem.message)


def nearest(path: str, there: Sequence[str]) -> list[str]:
    """The paths that may have been meant, the likeliest first: with that name elsewhere, else with one like it. Pure."""
    wanted = PurePosixPath(path.casefold())
    known = {one: PurePosixPath(one.casefold()) for one in [*there, *_folders(there)]}
    same = [one for one, pure in known.items() if pure.name == wanted.name]
    if not same:
        near = {pure.name for pure in known.values() if abs(len(pure.name) - len(wanted.name)) <= LENGTHS}
        # Those that begin alike come first, so that the bound takes the right ones.
        likely = sorted(near, key=lambda name: (name[:1] != wanted.name[:1], name))[:MOST_LIKENED]
        names = difflib.get_close_matches(wanted.name, likely, n=MOST_NAMED, cutoff=LIKE)
        same = [one for name in names for one, pure in known.items() if pure.name == name]
        same += [one for one, pure in known.items() if pure.stem == wanted.stem and one not in same]
    parts = set(wanted.parts)
    ordered = sorted(same, key=lambda one: -len(parts & set(known[one].parts)))
    return ordered[: 2 * MOST_NAMED]


def _folders(paths: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for path in paths:
        found |= {str(above): None for above in PurePosixPath(path).parents if str(above) not in {".", "/"}}
    return list(found)
