"""What the child knows of the workspace: the tags of its files and of the texts that are open, brought up to date by change.

It reads files and nothing else of the workspace, and none that it was not told of.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest
from itertools import zip_longest
from typing import Final

from outrider.ports.maps import Focus
from outrider.ports.patterns import WORD, linear
from outrider.workspace.disk.file_stat import GRANULARITY
from outrider.workspace.repository_map.cache import Cache
from outrider.workspace.repository_map.graph import SHORTEST_WORD, Entry, Graph, is_test, parts_of
from outrider.workspace.repository_map.numbers import Numbers, numbers_of
from outrider.workspace.repository_map.readers import Job, read_tags
from outrider.workspace.repository_map.repository_map import blocks_of, visible
from outrider.workspace.repository_map.tags import NONE, Tags, Tongue, tongue_of

_UNSETTLED: Final = 0.05
"""Share of the files that may change before the part of the rank from everywhere is worked out anew."""

_OF_OPEN, _OF_READ, _OF_EDITED, _OF_NAMED, _OF_MENTIONED, _OF_WORD = 1.0, 1.0, 2.0, 4.0, 2.0, 0.3
"""What a file weighs that is open, was read, was edited, is named in the task, or defines a name in it, or a mere word."""
_LIKE_A_NAME: Final = linear(
    "map.like-a-name",
    rf"[{WORD}]_[{WORD}]|[a-z0-9][A-Z]|[A-Z][{WORD}]*[a-z][{WORD}]*[A-Z]|^[A-Z][a-z]+$",
)
"""A word that a user would hardly write but for the name in the code."""
_OF_PART: Final = 1.0
"""What all files together weigh whose path or names have a word of the task as a part."""
_MOST_WITH_PART: Final = 40
"""Files; a word that more have says nothing."""
PATHS_SHARE: Final = 0.25
"""Of the map, for files of which there is only room for the path."""
_SHORTEST_PATH: Final = 8
_LOOKED_AT: Final = 4
"""Paths for each that there can be room for: the tests among them take turns with the sources."""
OTHERS: Final = "other files that may matter:"
_SHORTEST_NAMED: Final = 4
"""Characters of a folder or a file, without its end, that a word alone can name."""


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
    _cached: dict[str, tuple[Numbers, Tags]] | None = None
    _changes: int = 0
    """Files that changed since the rank from everywhere was worked out."""

    def refresh(self, files: Mapping[str, str]) -> int:
        """Take in that these are all files; gives how many had to be read.

        Args:
            files: Their paths on disk, by those that are shown.
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
            numbers = numbers_of(path)
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
        jobs = [Job(tongue, path) for _, path, tongue in changed]
        for (shown, path, tongue), found in zip(changed, read_tags(jobs), strict=True):
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
        jobs: list[Job] = []
        for shown, text in texts.items():
            tongue = tongue_of(shown)
            if tongue is None:
                continue
            if text is None:
                self._open.pop(shown, None)
                self._show(shown, tongue)
            else:
                jobs.append(Job(tongue, shown, text.encode("utf-8", "replace")))
        for job, found in zip(jobs, read_tags(jobs), strict=True):
            self._open[job.path] = found[1] if found is not None else NONE
            self._show(job.path, job.tongue)

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
        blocks = blocks_of(ranked[: size // 4], definitions, int((1 - PATHS_SHARE) * size))
        known = {block.partition("\n")[0] for block in blocks} | {*focus.read, *focus.edited}
        room = size - sum(len(block.encode("utf-8", "replace")) + 1 for block in blocks)
        rest = (path for path in ranks if self.graph.entries[path].tags.definitions and path not in known)
        most = _LOOKED_AT * max(room, 0) // _SHORTEST_PATH
        return [*blocks, *_others(nsmallest(most, rest, key=lambda path: (-ranks[path], path)), room)]

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
        for weight, paths in self._with_parts(focus.words):
            for path in paths:
                add(path, weight)
        for word in focus.words:
            definers = self.graph.definers(word)
            weight = _OF_MENTIONED if _LIKE_A_NAME.search(word) else _OF_WORD
            for path in definers:
                add(path, weight / len(definers))
        return weights

    def _with_parts(self, words: Sequence[str]) -> list[tuple[float, list[str]]]:
        """The files whose path or names have a word of the task as a part, with what each of them weighs for it."""
        wanted = {part for word in words for part in parts_of(word) if len(part) >= SHORTEST_WORD}
        found: dict[str, dict[str, float]] = {}
        for path, entry in self.graph.entries.items() if wanted else ():
            for part in wanted & entry.words:
                found.setdefault(part, {})[path] = 1.0
            # Few paths hold a word at all, and to take a path apart is what costs.
            small = path.lower()
            if any(part in small for part in wanted):
                for part in wanted.intersection(parts_of(path)):
                    found.setdefault(part, {})[path] = 3.0
        return [
            (_OF_PART * weight / sum(paths.values()), [path])
            for paths in found.values()
            if len(paths) <= _MOST_WITH_PART
            for path, weight in paths.items()
        ]

    def _of_cache(self) -> dict[str, tuple[Numbers, Tags]]:
        if self._cached is None:
            self._cached = self.cache.load() if self.cache is not None else {}
        return self._cached

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


def _others(paths: Sequence[str], room: int) -> list[str]:
    """A block that names further files, sources and tests in turn, so far as there is room."""
    tests = [path for path in paths if is_test(path)]
    sources = [path for path in paths if not is_test(path)]
    lines, room = [OTHERS], room - len(OTHERS) - 1
    for pair in zip_longest(sources, tests):
        for path in pair:
            line = f"  {visible(path)}" if path is not None else ""
            size = len(line.encode("utf-8", "replace")) + 1
            if line and size <= room:
                lines.append(line)
                room -= size
        if room < _SHORTEST_PATH:
            break
    return ["\n".join(lines)] if len(lines) > 1 else []


def _named(words: Sequence[str], paths: Iterable[str]) -> list[list[str]]:
    """The files that each word names, if it names any: by the end of the path, the name without its end, or a folder."""
    wanted = {word.strip("/"): list[str]() for word in words if len(word) >= _SHORTEST_NAMED}
    for path in paths if wanted else ():
        # An end of a path is in it, and to make all of them is what costs.
        if any(word in path for word in wanted):
            for end in _ends(path).intersection(wanted):
                wanted[end].append(path)
    return [found for found in wanted.values() if found]


def _ends(path: str) -> set[str]:
    parts = path.split("/")
    stem = parts[-1].partition(".")[0]
    return {"/".join(parts[start:]) for start in range(len(parts))} | {*parts, stem}
