"""Keys of providers: where one is kept, and who looks it up at the moment of a request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from outrider.ports.patterns import linear


@dataclass(frozen=True, slots=True)
class KeySource:
    """Where a key is kept. Exactly one field is set."""

    env: str | None = None
    """Name of an environment variable."""
    command: tuple[str, ...] | None = None
    """Program and arguments that print it."""
    file: str | None = None
    """Path of a file that holds it, absolute or beginning with `~/`."""
    keyring: tuple[str, str] | None = None
    """Service and user name of an entry of the system's keyring."""

    @property
    def can_change(self) -> bool:
        """Whether looking again may give another key while the process runs."""
        return self.env is None

    def __str__(self) -> str:
        """The source in words, for messages. It shows nothing of the key, and not the command, which may hold one."""
        if self.env is not None:
            return f"the environment variable {self.env}"
        if self.file is not None:
            return f"the file {self.file}"
        if self.keyring is not None:
            return f"the keyring entry {self.keyring[1]} of the service {self.keyring[0]}"
        return "the output of apiKeyCommand"


@dataclass(frozen=True, slots=True)
class NoKey:
    """Why there is no key, and what to do about it."""

    message: str


class Secrets(Protocol):
    """Looks up keys."""

    async def key(self, source: KeySource) -> str | NoKey:
        """The key that a source holds now."""
        ...

    def refused(self, source: KeySource, key: str) -> None:
        """Learn that a provider did not take a key: the source is asked again at the next request."""
        ...

    def values(self) -> frozenset[str]:
        """Every key given out so far, so that it can be kept out of logs."""
        ...


MARKER = "[secret {}]"
"""Stands for a secret; the same for the same secret. No shape of a secret fits it."""
PLACEHOLDER = linear("placeholder", r"\[secret \d{1,9}(?:\.\d{1,5})?(?: in [A-Za-z0-9 ]{3,20})?\]")


def originals(shown: str, exact: str) -> Mapping[str, str] | None:
    """What each placeholder of a text stands for, by the text itself; None where the two do not fit.

    Args:
        shown: The text with placeholders.
        exact: The text without. A placeholder stands for the same within one line wherever it is.
    """
    if shown == exact:
        return {}
    found: dict[str, str] = {}
    lines, others = shown.split("\n"), exact.split("\n")
    if len(lines) != len(others):
        return None
    for line, other in zip(lines, others, strict=True):
        if line == other:
            continue
        values = _values(line, other)
        if values is None:
            return None
        for placeholder, value in values.items():
            if found.setdefault(placeholder, value) != value:
                return None
    return found


MOST_TRIES: Final = 1000
"""How often, in one line, a value is tried to end later than it first could: more only where a text repeats itself to waste time."""


def _values(line: str, other: str) -> Mapping[str, str] | None:
    """What the placeholders of a line stand for, so that it says what another one does: each as short as possible."""
    ends = [0, *(end for match in PLACEHOLDER.finditer(line) for end in match.span()), len(line)]
    parts = [line[start:end] for start, end in pairwise(ends)]
    if len(parts) == 1 or not other.startswith(parts[0]):
        return None
    placeholders, texts = parts[1::2], parts[2::2]
    tries = 0
    places: list[tuple[int, int]] = []
    """By placeholder so far: where its value begins, and where the text behind it was looked for last."""
    at, behind = len(parts[0]), len(parts[0]) + 1
    while len(places) < len(placeholders):
        index = len(places)
        end = _end(placeholders, texts, places, other, at, behind)
        if end >= 0:
            places.append((at, end))
            at = end + len(texts[index])
            behind = at + 1
        elif places and tries < MOST_TRIES:  # the one before may end later
            tries += 1
            at, behind = places.pop()
            behind += 1
        else:
            return None
    return {one: other[start:end] for one, (start, end) in zip(placeholders, places, strict=True)}


def _end(
    placeholders: Sequence[str],
    texts: Sequence[str],
    places: Sequence[tuple[int, int]],
    other: str,
    at: int,
    behind: int,
) -> int:
    """Where the next value may end at the earliest; -1 where it cannot."""
    index = len(places)
    text, is_last = texts[index], index == len(texts) - 1
    if (first := placeholders.index(placeholders[index])) < index:
        start, stop = places[first]
        end = at + stop - start
        fits = end >= behind and other.startswith(other[start:stop], at) and other.startswith(text, end)
        return end if fits and (not is_last or end + len(text) == len(other)) else -1
    if is_last:
        end = len(other) - len(text)
        return end if end >= behind and other.endswith(text) else -1
    return other.find(text, behind)
