"""Which files and names matter for the files at hand: PageRank over the graph of who uses whose names. Pure.

A file points to the files that define the names it uses. The rank is personalised: the walk begins anew at the files at hand.
It is linear in where it begins, so it is put together of two parts: one from everywhere, which is kept, and one from the files
at hand, which is pushed through their neighbourhood and so costs little however big the workspace is (forward push: Andersen,
Chung and Lang, "Local Graph Partitioning using PageRank Vectors", 2006).
"""

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from math import log, sqrt
from typing import Final

from outrider.ports.patterns import linear
from outrider.workspace.repository_map.tags import FAMILIES, Definition, Tags

SHORTEST_WORD: Final = 4
"""Characters of a part of a name that a word of the task can mean."""
_PARTS: Final = linear("map.parts", r"[A-Z]+[a-z0-9]*|[a-z0-9]+")
RESTART: Final = 0.15
"""How likely the walk begins anew at each step."""
ROUNDS: Final = 8
"""Of the part from everywhere; what is left after them is 0.85 to that power."""
FROM_EVERYWHERE: Final = 0.1
"""The share of that part, where there are files at hand."""
SMALLEST: Final = 5e-4
"""A smaller share of the rank is not pushed on."""
MOST_DEFINERS: Final = 12
"""A name that more files define says nothing of which is meant."""
MOST_OWNERS: Final = 4
"""The same for a member of something whose kind is not known."""
RANKED: Final = 200
"""Files, the first ones, whose names are ranked."""
MENTIONED: Final = 10.0
"""How much more a name weighs that the task mentions."""
_OWN, _OWN_AT_HAND = 0.1, 0.5
"""How much of a file's rank its definitions have by themselves, whoever uses them."""
_MEMBER: Final = 0.3
_ORDINARY: Final = frozenset(name for kind in (str, bytes, list, dict, set) for name in dir(kind)) | {
    "push", "map", "filter", "forEach", "reduce", "concat", "slice", "has", "set", "add", "size", "length", "toString", "then",
    "catch", "call", "bind", "close", "read", "write", "clone", "iter", "collect", "unwrap", "into", "each", "equals", "contains",
}  # fmt: skip
"""Members that texts and collections have, in this language or another: most uses of them are of those."""
NEXT_OF_FILE: Final = 0.8
"""How much each further name of a file counts, beside the one before it: a map that shows few files whole shows too few."""
OF_TESTS: Final = 0.1
"""How much a name of a test or an example counts, beside one of a source."""
NAMED: Final = 1_000.0
"""How much more a name counts that the task names: it comes first."""
_TESTS: Final = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "e2e", "fixtures", "mocks", "__mocks__", "examples",
    "example", "benchmarks", "docs", "doc"})  # fmt: skip
"""Folders of what uses the sources."""
_PRIVATE: Final = 0.2
_SHORT: Final = 0.4
_HEADERS: Final = frozenset({"impl"})
"""Kinds that define no name of their own."""
_WITHOUT_OWNER: Final = frozenset({"c", "c_sharp", "java", "ruby"})
"""Languages in which a method may be called by its name alone, by those that inherit it."""


class Entry:
    """A file in the graph."""

    __slots__ = ("defined", "family", "tags", "words")

    def __init__(self, tags: Tags, family: str) -> None:
        """Take in a file.

        Args:
            tags: Its names.
            family: Of its language: names are looked for in the same one.
        """
        self.tags = tags
        self.family = family
        names = [_called(one) for one in tags.definitions if one.kind not in _HEADERS]
        if family in _WITHOUT_OWNER:
            names += [name[1:] for name in names if name.startswith(".")]
        self.defined = frozenset(names)
        """What others call its names: a method with a dot before it."""
        self.words = frozenset(
            word for one in tags.definitions for word in parts_of(one.name) if len(word) >= SHORTEST_WORD
        )
        """What its names are made of, in small letters."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """A definition and its share."""

    path: str
    number: int
    """Its place among the definitions of the file."""
    share: float


@dataclass(slots=True)
class Graph:
    """The files by path, and who defines which name."""

    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])
    _definers: dict[tuple[str, str], dict[str, None]] = field(
        default_factory=dict[tuple[str, str], dict[str, None]]
    )
    _users: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """How many files use a name."""
    _everywhere: Mapping[str, float] | None = None

    def put(self, path: str, entry: Entry) -> None:
        """Take in a file, or what it is now."""
        self.remove(path)
        self.entries[path] = entry
        for name in sorted(entry.defined):
            self._definers.setdefault((entry.family, name), {})[path] = None
        for name in entry.tags.references:
            self._users[entry.family, name] = self._users.get((entry.family, name), 0) + 1

    def remove(self, path: str) -> None:
        """Forget a file, if it is known."""
        entry = self.entries.pop(path, None)
        if entry is None:
            return
        for name in sorted(entry.defined):
            definers = self._definers[entry.family, name]
            del definers[path]
            if not definers:
                del self._definers[entry.family, name]
        for name in entry.tags.references:
            self._users[entry.family, name] -= 1

    def settle(self) -> None:
        """Work out anew the part of the rank that comes from everywhere. Takes longer than all else here."""
        ranks = dict.fromkeys(self.entries, 1 / max(len(self.entries), 1))
        edges = {path: _together(self._uses(path, frozenset())) for path in self.entries}
        for _ in range(ROUNDS if ranks else 0):
            flowed = dict.fromkeys(self.entries, 0.0)
            for path, targets in edges.items():
                for target, share in targets.items():
                    flowed[target] += ranks[path] * share
            # What flows nowhere, as from a file that uses no other's names, begins anew as well.
            new = (1 - (1 - RESTART) * sum(flowed.values())) / len(self.entries)
            ranks = {path: new + (1 - RESTART) * flow for path, flow in flowed.items()}
        self._everywhere = ranks

    def definers(self, name: str) -> list[str]:
        """The files that define a name, in whatever language; none where it is defined all over the place."""
        found: dict[str, None] = {}
        for family in FAMILIES:
            for called in (name, f".{name}"):
                found |= self._definers.get((family, called), {})
        return list(found) if len(found) <= MOST_DEFINERS else []

    def ranks(self, at_hand: Mapping[str, float], mentioned: frozenset[str]) -> dict[str, float]:
        """The rank of each file that has any.

        Args:
            at_hand: Where the walk begins, and with which weight.
            mentioned: Names that weigh more.
        """
        if self._everywhere is None:
            self.settle()
        everywhere = self._everywhere or {}
        known = {path: weight for path, weight in at_hand.items() if path in self.entries and weight > 0}
        if not known:
            return {path: rank for path, rank in everywhere.items() if path in self.entries}
        ranks = {path: FROM_EVERYWHERE * rank for path, rank in everywhere.items() if path in self.entries}
        for path, rank in self._pushed(known, mentioned).items():
            ranks[path] = ranks.get(path, 0.0) + (1 - FROM_EVERYWHERE) * rank
        return ranks

    def definitions(
        self,
        ranks: Mapping[str, float],
        at_hand: Collection[str],
        mentioned: frozenset[str],
        without: Collection[str],
    ) -> list[Ranked]:
        """The definitions of the first files, the one with the biggest share first.

        A name's share is what flows to its file by that name; what nobody uses still has a little of its file's rank.

        Args:
            ranks: The rank of each file.
            at_hand: Files whose own names matter more.
            mentioned: Names that weigh more.
            without: Files that are not wanted.
        """
        first = nsmallest(RANKED, ranks, key=lambda path: (-ranks[path], path))
        flows: dict[tuple[str, str], float] = {}
        for path in first:
            for target, name, share in self._uses(path, mentioned):
                flows[target, name] = flows.get((target, name), 0.0) + ranks[path] * share
        found: list[Ranked] = []
        for path in first:
            if path in without:
                continue
            definitions = self.entries[path].tags.definitions
            own = (_OWN_AT_HAND if path in at_hand else _OWN) * ranks[path] / max(len(definitions), 1)
            for number, one in enumerate(definitions):
                if one.kind not in _HEADERS:
                    share = own * _weight(one.name, mentioned) + flows.get((path, one.name), 0.0)
                    found.append(Ranked(path, number, share))
        found.sort(key=lambda one: (-one.share, one.path, one.number))
        return sorted(self._spread(found, mentioned), key=lambda one: (-one.share, one.path, one.number))

    def _spread(self, ranked: Iterable[Ranked], mentioned: frozenset[str]) -> Iterator[Ranked]:
        """Definitions with the shares by which they are shown, without overloads and without what tests define again."""
        shown: set[tuple[str, int | None, str]] = set()
        of_tests: set[str] = set()
        files: dict[str, int] = {}
        for one in ranked:
            definition = self.entries[one.path].tags.definitions[one.number]
            name, is_of_tests = definition.name, is_test(one.path)
            known = (one.path, definition.within, name)
            if known in shown or (is_of_tests and name in of_tests):
                continue
            shown.add(known)
            if is_of_tests:
                of_tests.add(name)
            before = files.get(one.path, 0)
            files[one.path] = before + 1
            factor = NEXT_OF_FILE**before * (OF_TESTS if is_of_tests else 1.0)
            yield replace(one, share=one.share * factor * (NAMED if name in mentioned else 1.0))

    def _pushed(self, at_hand: Mapping[str, float], mentioned: frozenset[str]) -> dict[str, float]:
        total = sum(at_hand.values())
        waiting = {path: weight / total for path, weight in at_hand.items()}
        queue, ranks = deque(waiting), dict[str, float]()
        edges: dict[str, dict[str, float]] = {}
        while queue:
            path = queue.popleft()
            share = waiting.pop(path, 0.0)
            if share < SMALLEST:
                ranks[path] = ranks.get(path, 0.0) + share
                continue
            ranks[path] = ranks.get(path, 0.0) + RESTART * share
            if path not in edges:
                edges[path] = _together(self._uses(path, mentioned))
            for target, part in edges[path].items():
                if target not in waiting:
                    queue.append(target)
                waiting[target] = waiting.get(target, 0.0) + (1 - RESTART) * share * part
        return ranks

    def _uses(self, path: str, mentioned: frozenset[str]) -> Iterator[tuple[str, str, float]]:
        """What a file uses of others: the file, the name, and its share of all that it uses."""
        entry = self.entries[path]
        found: list[tuple[list[str], str, float]] = []
        for called, count in entry.tags.references.items():
            name = called.removeprefix(".")
            is_member = called != name
            if called in entry.defined or name in entry.defined or (is_member and name in _ORDINARY):
                continue
            definers = list(self._definers.get((entry.family, called), ()))
            if is_member:
                definers += self._definers.get((entry.family, name), ())
            if 0 < len(definers) <= (MOST_OWNERS if is_member else MOST_DEFINERS):
                # What everybody uses, as the methods of strings, says little of what this file is about.
                rarity = 1 / (1 + log(self._users[entry.family, called]))
                weight = sqrt(count) * rarity * _weight(name, mentioned) * (_MEMBER if is_member else 1.0)
                found.append((definers, name, weight))
        total = sum(weight for _, _, weight in found)
        for definers, name, weight in found:
            for target in definers:
                yield target, name, weight / total / len(definers)


def is_test(path: str) -> bool:
    """Whether a file is one that only uses the sources: a test, a mock, an example."""
    *folders, name = path.lower().split("/")
    stem = name.partition(".")[0]
    return (
        not _TESTS.isdisjoint(folders)
        or stem.startswith("test_")
        or stem.endswith(("_test", "_spec", "test", "mock"))
        or ".test." in name
        or ".spec." in name
    )


def parts_of(name: str) -> list[str]:
    """What a name is made of, in small letters: `parse_HTTPHeader` of parse and httpheader."""
    return [part.lower() for part in _PARTS.findall(name)]


def _called(definition: Definition) -> str:
    return f".{definition.name}" if definition.kind == "method" else definition.name


def _together(uses: Iterable[tuple[str, str, float]]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for target, _, share in uses:
        shares[target] = shares.get(target, 0.0) + share
    return shares


def _weight(name: str, mentioned: frozenset[str]) -> float:
    """How much a name says, by itself: a private or a very short one says little of what is meant."""
    weight = MENTIONED if name in mentioned else 1.0
    if name.startswith("_"):
        weight *= _PRIVATE
    return weight * (_SHORT if len(name) < 4 else 1.0)
