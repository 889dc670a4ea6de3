"""The files under open documents: what they hold is asked at every step, and read only when their marks have moved."""

from pathlib import Path
from threading import Lock

from outrider.workspace.encoding import Decoded
from outrider.workspace.marks import Mark, mark_of

MOST_CHARACTERS = 8_000_000
"""Of all texts that are kept; with more, it begins anew."""


class FilesBelow:
    """The texts of files under open documents, each with the mark it was read at."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[Mark, Decoded]] = {}
        self._lock = Lock()

    def get(self, path: Path) -> tuple[Mark, Decoded | None]:
        """The mark of a file now, and its text where that is known for sure. Blocks, for one look at the disk."""
        mark = mark_of(path)
        known = self._known.get(path)
        return mark, known[1] if known is not None and known[0].holds(mark) else None

    def put(self, path: Path, mark: Mark, text: Decoded) -> None:
        """Keep the text of a file, by the mark that it had before it was read."""
        with self._lock:
            self._known.pop(path, None)
            # Without numbers there was no file yet, and there is none either when it is gone again.
            if not mark.is_firm or not mark.numbers or len(text.text) > MOST_CHARACTERS:
                return
            if len(text.text) + sum(len(one.text) for _, one in self._known.values()) > MOST_CHARACTERS:
                self._known.clear()
            self._known[path] = mark, text
