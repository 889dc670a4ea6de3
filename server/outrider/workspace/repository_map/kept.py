"""The latest map of a workspace as a whole, kept on disk, so that the first request of a new server has one. Blocks.

A block counts as long as its file is the one that it was drawn of, by what the system says of it from outside.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from outrider.ports.maps import Focus
from outrider.workspace.repository_map.graph import SHORTEST_WORD, parts_of
from outrider.workspace.repository_map.numbers import numbers_of

KEPT_BYTES: Final = 48_000
"""Of the map that is kept: more than is told, as which of it matters depends on the task."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Where it is kept."""

    file: Path

    def save(self, blocks: Sequence[str], paths: Mapping[str, str], files: int) -> None:
        """Keep a map.

        Args:
            blocks: The map.
            paths: The files on disk, by the paths that are shown.
            files: How many the workspace has.
        """
        rows = [
            [block, paths[shown], numbers_of(paths[shown])]
            for block in blocks
            if (shown := block.partition("\n")[0]) in paths
        ]
        beside = self.file.with_name(f"{self.file.name}.new")
        with suppress(OSError):  # a later server begins without it
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            beside.write_text(json.dumps({"files": files, "rows": rows}))
            beside.replace(self.file)

    def load(
        self, focus: Focus, size: int, fewest: int, leaves_out: Callable[[str], bool]
    ) -> list[str] | None:
        """See `Maps.kept`; `leaves_out` says which files on disk are not shown."""
        try:
            read: dict[str, Any] = json.loads(self.file.read_text())
            rows: list[tuple[str, str, list[int] | None]] = [tuple(row) for row in read["rows"]]
            if read["files"] < fewest:
                return None
        except (OSError, ValueError, KeyError, TypeError):
            return None
        wanted = {part for word in focus.words for part in parts_of(word) if len(part) >= SHORTEST_WORD}
        known = {*focus.read, *focus.edited}
        # The sort keeps the order of those that the task says as much of.
        rows.sort(key=lambda row: -len(wanted.intersection(parts_of(row[0]))))
        found: list[str] = []
        for block, path, numbers in rows:
            length = len(block.encode("utf-8", "replace")) + 1
            if length > size or block.partition("\n")[0] in known:
                continue
            now = None if leaves_out(path) else numbers_of(path)
            if now is not None and list(now) == numbers:
                found.append(block)
                size -= length
        return found or None
