"""Why a search did not come to its end: a file that says what to ignore is none, or has no end."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NAMES: Final = frozenset({".gitignore", ".ignore", ".rgignore"})
MOST_BYTES: Final = 1_000_000
"""Of such a file; a longer one is named as a reason."""
MOST_LOOKS: Final = 20_000
"""Names that are looked at."""


def odd_ignore_file(folder: Path) -> str | None:
    """What is odd about the first such file of a folder, those above it and those below it; None for nothing. Blocks."""
    above = [one / name for one in (folder, *folder.parents) for name in sorted(NAMES)]
    above += [one / ".git" / "info" / "exclude" for one in (folder, *folder.parents)]
    for path in [*map(str, above), *_below(folder)]:
        try:
            status = os.stat(path)  # noqa: PTH116 - one of many
        except OSError:
            continue
        if stat.S_ISDIR(status.st_mode):
            continue
        if not stat.S_ISREG(status.st_mode):
            return f"{path} is a pipe or a device"
        if status.st_size > MOST_BYTES:
            return f"{path} has {status.st_size} bytes"
    return None


def _below(folder: Path) -> Iterator[str]:
    waiting, left = [str(folder)], MOST_LOOKS
    while waiting and left > 0:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        left -= len(entries)
        yield from (entry.path for entry in entries if entry.name in NAMES)
        waiting += (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
