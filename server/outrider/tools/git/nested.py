"""Repositories within a repository: git looks into those that it tracks, and goes by their settings there."""

import os
from typing import Final

from outrider.tools.git.settings import why_its_settings_run_more
from outrider.tools.git.tracked import tracked_repositories

MOST: Final = 100
"""Repositories that are looked at for one command."""


def why_git_runs_more(folder: str, *, nested: bool = True) -> str | None:
    """Why git may do more in a folder than its arguments say, by the settings of any repository it looks into. Blocks.

    Args:
        folder: Where it runs; a real path.
        nested: Whether it looks into those that are tracked there.
    """
    waiting, seen = [folder], set[str]()
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        if len(seen) > MOST:
            return "git looks into too many repositories within this one"
        if (why := why_its_settings_run_more(one)) is not None or not nested:
            return why
        tracked = tracked_repositories(one)
        if tracked is None:
            return "what git tracks cannot be read, and so not which repositories it looks into"
        waiting += [os.path.realpath(path) for path in tracked if os.path.lexists(f"{path}/.git")]
    return None
