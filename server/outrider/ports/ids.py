"""Identities, injected so that tests own them."""

import secrets
from collections import Counter
from typing import Literal, Protocol

IdKind = Literal["ses", "turn", "msg", "call", "open", "chg", "pend", "prog", "job"]


class Ids(Protocol):
    """Makes ids, such as `turn_7c1e…`; never the same twice."""

    def new(self, kind: IdKind) -> str:
        """A fresh id of that kind."""
        ...


class RandomIds:
    """Ids nobody can guess or meet twice."""

    def new(self, kind: IdKind) -> str:
        """A fresh id of that kind."""
        return f"{kind}_{secrets.token_hex(8)}"


class SequentialIds:
    """Ids for tests: counted per kind, `turn_1`, `turn_2`, …."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def new(self, kind: IdKind) -> str:
        """The next id of that kind."""
        self._counts[kind] += 1
        return f"{kind}_{self._counts[kind]}"

    def used(self, name: str) -> None:
        """Take note of an id that exists: it is not made again."""
        kind, _, number = name.rpartition("_")
        if number.isascii() and number.isdecimal():
            self._counts[kind] = max(self._counts[kind], int(number))
