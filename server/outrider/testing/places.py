"""Texts without the places of this machine: what a scenario says must be true wherever it is played."""

import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote


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
