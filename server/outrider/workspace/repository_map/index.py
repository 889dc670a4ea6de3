"""What the child knows of the workspace: the tags of its files and of the texts that are open, brought up to date by change.

It reads files and nothing else of the workspace, and none that it was not told of.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import PurePosixPath
from typing import Final

from outrider.ports.maps import Focus
from outrider.workspace.marks import GRANULARITY
from outrider.workspace.repository_map.cache import Cache, Numbers
from outrider.workspace.repository_map.graph import Entry, Graph
from outrider.workspace.repository_map.languages import Tongue, tongue_of
from outrider.workspace.repository_map.rendering import blocks_of
from outrider.workspace.repository_map.tags import MOST_BYTES, NONE, Tagger, Tags

MANY: Final = 200
"""Files from which several processes read them."""
MOST_PROCESSES: Final = 4
_AT_ONCE: Final = 50
"""Files that one of them gets at a time."""
_UNSETTLED: Final = 0.05
"""Share of the files that may change before the part of the rank from everywhere is worked out anew."""

_OF_OPEN, _OF_READ, _OF_EDITED, _OF_NAMED, _OF_MENTIONED, _OF_WORD = 1.0, 1.0, 2.0, 4.0, 2.0, 0.3
"""What a file weighs that is open, was read, was edited, is named in the task, or defines a name in it, or a mere word."""
_LIKE_A_NAME: Final = re.compile(r"\w_\w|[a-z0-9][A-Z]|[A-Z]\w*[a-z]\w*[A-Z]|^[A-Z][a-z]+$")
"""A word that a person would hardly write but for the name in the code."""
_SHORTEST_NAMED: Final = 4
"""Characters of a folder or a file, without its end, that a word alone can name."""

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    """On the disk."""
    numbers: Numbers
    is_firm: bool
    """Whether the same numbers mean the same text."""


@dataclass(slots=True)
class Index:
    """The tags of one workspace. Files go by their paths as they are shown."""

    cache: Cache | None = None
    graph: Graph = field(default_factory=Graph)
    _files: dict[str, _File] = field(default_factory=dict[str, _File])
    _open: dict[str, Tags] = field(default_factory=dict[str, Tags])
    """Of the texts that are open, which count before those of the disk."""
    _on_disk: dict[str, Tags] = field(default_factory=dict[str, Tags])
    _tagger: Tagger = field(default_factory=Tagger)
    _cached: dict[str, tuple[Numbers, Tags]] | None = None
    _changes: int = 0
    """Files that changed since the rank from everywhere was worked out."""

    def refresh(self, files: Mapping[str, str]) -> int:
        """Take in that these are all files; gives how many had to be read.

        Args:
            files: Their paths on the disk, by those that are shown.
        """
        for shown in [shown for shown in self._files if shown not in files]:
            self._forget(shown)
        read = self.update(files)
        if self._changes > _UNSETTLED * len(self.graph.entries):
            self.graph.settle()
            self._changes = 0
        return read

    def update(self, files: Mapping[str, str]) -> int:
        """Look at some files again; gives how many had to be read."""
        cached = self._of_cache()
        changed: list[tuple[str, str, Tongue]] = []
        now = time.time_ns()
        for shown, path in files.items():
            if (tongue := tongue_of(path)) is None:
                continue
            numbers = _numbers_of(path)
            if numbers is None:
                self._forget(shown)
                continue
            known = self._files.get(shown)
            if known is not None and known.is_firm and known.numbers == numbers and known.path == path:
                continue
            before = cached.get(path)
            if before is not None and before[0] == numbers:
                self._take(shown, tongue, _File(path, numbers, is_firm=True), before[1])
            else:
                changed.append((shown, path, tongue))
        kept: dict[str, tuple[Numbers, Tags]] = {}
        for (shown, path, tongue), found in zip(changed, self._read(changed), strict=True):
            if found is None:
                self._forget(shown)
                continue
            numbers, tags = found
            # Within the granularity of the clock a file can be written twice and look the same.
            is_firm = now - max(numbers[-2:]) > GRANULARITY
            self._take(shown, tongue, _File(path, numbers, is_firm), tags)
            if is_firm:
                kept[path] = found
        if self.cache is not None and (kept or cached):
            listed = {one.path for one in self._files.values()}
            self.cache.save(kept, [path for path in cached if path not in listed])
        self._cached = {}
        return len(changed)

    def set_texts(self, texts: Mapping[str, str | None]) -> None:
        """Take in texts that are open, unsaved ones too; None for one that is not open any more."""
        for shown, text in texts.items():
            if (tongue := tongue_of(shown)) is None:
                continue
            if text is not None:
                self._open[shown] = self._tagger.tags_of(tongue, text.encode("utf-8", "replace"))
            else:
                self._open.pop(shown, None)
            self._show(shown, tongue)

    def map(self, focus: Focus, size: int) -> list[str]:
        """The map for what is at hand, in blocks of lines.

        Args:
            focus: What is at hand.
            size: The most bytes of it.
        """
        mentioned = frozenset(word for word in focus.words if _LIKE_A_NAME.search(word))
        at_hand = self._at_hand(focus)
        ranks = self.graph.ranks(at_hand, mentioned)
        ranked = self.graph.definitions(ranks, at_hand, mentioned, frozenset([*focus.read, *focus.edited]))
        definitions = {one.path: self.graph.entries[one.path].tags.definitions for one in ranked}
        # A definition takes some bytes at least.
        return blocks_of(ranked[: size // 4], definitions, size)

    def _at_hand(self, focus: Focus) -> dict[str, float]:
        weights: dict[str, float] = {}

        def add(path: str, weight: float) -> None:
            weights[path] = weights.get(path, 0.0) + weight

        for paths, weight in (
            (focus.open, _OF_OPEN),
            (focus.read, _OF_READ),
            (focus.edited, _OF_EDITED),
        ):
            for path in dict.fromkeys(paths):
                add(path, weight)
        for paths in _named(focus.words, self.graph.entries):
            for path in paths:
                add(path, _OF_NAMED / len(paths))
        for word in focus.words:
            definers = self.graph.definers(word)
            weight = _OF_MENTIONED if _LIKE_A_NAME.search(word) else _OF_WORD
            for path in definers:
                add(path, weight / len(definers))
        return weights

    def _of_cache(self) -> dict[str, tuple[Numbers, Tags]]:
        if self._cached is None:
            self._cached = self.cache.load() if self.cache is not None else {}
        return self._cached

    def _read(self, files: Sequence[tuple[str, str, Tongue]]) -> Iterable[tuple[Numbers, Tags] | None]:
        wanted = [(path, tongue) for _, path, tongue in files]
        processes = min(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, MOST_PROCESSES
        )
        if len(wanted) < MANY or processes < 2:
            return [_tags_in(self._tagger, path, tongue) for path, tongue in wanted]
        pieces = [wanted[start : start + _AT_ONCE] for start in range(0, len(wanted), _AT_ONCE)]
        with ProcessPoolExecutor(processes, get_context("fork")) as pool:
            return [one for piece in pool.map(_tags_of_some, pieces) for one in piece]

    def _take(self, shown: str, tongue: Tongue, file: _File, tags: Tags) -> None:
        self._files[shown], self._on_disk[shown] = file, tags
        self._show(shown, tongue)

    def _forget(self, shown: str) -> None:
        self._files.pop(shown, None)
        self._on_disk.pop(shown, None)
        if (tongue := tongue_of(shown)) is not None:
            self._show(shown, tongue)

    def _show(self, shown: str, tongue: Tongue) -> None:
        """Have the graph know what counts of a file."""
        tags = self._open.get(shown, self._on_disk.get(shown))
        self._changes += 1
        if tags is None:
            self.graph.remove(shown)
        else:
            self.graph.put(shown, Entry(tags, tongue.family))


def _named(words: Sequence[str], paths: Iterable[str]) -> list[list[str]]:
    """The files that each word names, if it names any: by the end of the path, the name without its end, or a folder."""
    wanted = {word.strip("/"): list[str]() for word in words if len(word) >= _SHORTEST_NAMED}
    for path in paths:
        for end in _ends(path):
            if end in wanted:
                wanted[end].append(path)
    return [found for found in wanted.values() if found]


def _ends(path: str) -> set[str]:
    parts = PurePosixPath(path).parts
    stem = parts[-1].partition(".")[0]
    return {"/".join(parts[start:]) for start in range(len(parts))} | {*parts, stem}


def _tags_of_some(files: Sequence[tuple[str, Tongue]]) -> list[tuple[Numbers, Tags] | None]:
    """The same for a process of the pool."""
    tagger = Tagger()
    return [_tags_in(tagger, path, tongue) for path, tongue in files]


def _tags_in(tagger: Tagger, path: str, tongue: Tongue) -> tuple[Numbers, Tags] | None:
    """The mark and the tags of a file; None where there is no regular file."""
    try:
        file = os.open(path, _FLAGS)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > MOST_BYTES:
            return _numbers(status), NONE
        with os.fdopen(os.dup(file), "rb") as content:
            return _numbers(status), tagger.tags_of(tongue, content.read(MOST_BYTES + 1))
    except OSError:
        return None
    finally:
        os.close(file)


def _numbers_of(path: str) -> Numbers | None:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return _numbers(status) if stat.S_ISREG(status.st_mode) else None


def _numbers(status: os.stat_result) -> Numbers:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
