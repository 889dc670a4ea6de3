"""Identities, injected so that tests own them."""

from typing import Literal, Protocol

IdKind = Literal["ses", "turn", "msg", "call", "open", "chg", "pend", "prog", "job"]


class Ids(Protocol):
    """Makes ids, such as `turn_7c1e…`; never the same twice."""

    def new(self, kind: IdKind) -> str:
        """A fresh id of that kind."""
        ...
