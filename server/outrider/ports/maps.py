"""What the agent wants of a map of the workspace's names, and whoever draws one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Focus:
    """What is at hand. Files go by their paths, as the tools name them."""

    open: Sequence[str] = ()
    read: Sequence[str] = ()
    edited: Sequence[str] = ()
    """What was read or edited is known: it says what matters, and is not shown."""
    words: Sequence[str] = ()
    """Of the task: what may be names, and what may be paths."""


class Maps(Protocol):
    """Draws maps. It takes its time: nobody should wait for it who has something else to do."""

    async def draw(self, focus: Focus, size: int, fewest: int = 0) -> list[str] | None:
        """The names that matter for what is at hand.

        Args:
            focus: What is at hand.
            size: The most bytes of the map.
            fewest: Files that the workspace must have.

        Returns:
            Blocks of lines, one for each file; None where no map can be had.
        """
        ...

    async def kept(self, focus: Focus, size: int, fewest: int = 0) -> list[str] | None:
        """What an earlier map of the workspace, also of another server, still says truly. It is there at once.

        Args:
            focus: What is at hand; what its words name comes first.
            size: The most bytes of it.
            fewest: Files that the workspace must have had.

        Returns:
            Blocks of lines, one for each file that has not changed since; None where none is kept.
        """
        ...

    def look_again(self) -> None:
        """Bring what is known of the files up to date, some time soon."""
        ...
